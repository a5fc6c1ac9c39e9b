//! `gambrel install` and `uninstall`: entries in an agent's settings that call us, written into the
//! file as it is. Comments, order and everything that is not ours stay.

mod entry;
mod installed;
mod restore;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gambrel::Gambrel;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::json;

use self::entry::{Entry, ours};
use self::installed::{Found, Installed};
use crate::args::{InstallArgs, SettingsPlace, UninstallArgs};
use crate::{look, printer, trust};

/// The caller's dialect.
const DIALECT: &str = "claude";
/// Where the events stand.
const HOOKS: &str = "hooks";
/// A byte order mark.
const MARK: char = '\u{feff}';

/// Writes the entries that are not there yet, and brings older ones up to date.
pub fn run(folder: Option<PathBuf>, args: &InstallArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, None)?);
    let loaded = gambrel.load_hooks(None);
    let program = entry::program(gambrel.setup(), !args.place.user && !args.place.local)?;
    let settings = Settings::open(settings_file(&gambrel, &args.place)?)?;
    let hooks = settings.hooks()?;
    let mut empty: Vec<&str> = settings.no_hooks_yet.then_some(HOOKS).into_iter().collect();
    let mut changes = Changes::default();
    for row in entry::events(&loaded, args) {
        let Some(entry) = Entry::new(&gambrel, &program, row) else { continue };
        let own = hooks.array_value(row.name);
        let groups = hooks.array_value_or_create(row.name);
        let groups =
            groups.with_context(|| format!("{}: `{}` is no list", settings.shown(), row.name))?;
        let there: Vec<CstObject> = groups.elements().iter().flat_map(ours).collect();
        if !there.is_empty() {
            if there.iter().filter(|handler| entry.refresh(handler)).count() > 0 {
                changes.updated.push(row.name);
            }
            continue;
        }
        let bare = groups.elements().is_empty();
        groups.append(entry.to_group());
        if bare {
            groups.ensure_multiline();
            empty.extend(own.map(|_| row.name));
        }
        changes.added.push(row.name);
    }
    let made = !settings.path.exists();
    let after = settings.write()?;
    if !changes.is_empty() {
        let mut installed = Installed::open(gambrel.setup());
        let found = Found { made, empty: &empty, before: &settings.before, after: &after };
        told(installed.remember(&settings.path, &found));
    }
    changes.waiting = trust::waiting(&gambrel, &loaded);
    changes.show(&settings.path, args.json);
    Ok(0)
}

/// What `install` did.
#[derive(Default)]
struct Changes {
    added: Vec<&'static str>,
    updated: Vec<&'static str>,
    /// How many hooks wait for `gambrel trust`.
    waiting: usize,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.updated.is_empty()
    }

    fn show(&self, path: &Path, as_json: bool) {
        let Self { added, updated, waiting } = self;
        if as_json {
            return printer::json(&json!({
                "file": path, "added": added, "updated": updated, "waiting_for_trust": waiting,
            }));
        }
        let path = path.display();
        if self.is_empty() {
            printer::out(&format!("{path}: nothing to do\n"));
        }
        if !added.is_empty() {
            let names = added.join(", ");
            printer::out(&format!("{path}: added {} entries: {names}\n", added.len()));
        }
        if !updated.is_empty() {
            let names = updated.join(", ");
            printer::out(&format!("{path}: updated {} entries: {names}\n", updated.len()));
        }
        printer::out(&trust::waiting_line(*waiting));
    }
}

/// Takes our entries out; lists and maps that this leaves empty go too, unless they are the
/// author's, and so does a file that we made.
pub fn undo(folder: Option<PathBuf>, args: &UninstallArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, None)?);
    let settings = Settings::open(settings_file(&gambrel, &args.place)?)?;
    let mut installed = Installed::open(gambrel.setup());
    if let Some(original) = installed.original(&settings.path, &settings.before) {
        return restore(&settings, &mut installed, &original, args);
    }
    let keeps = |name: &str| installed.was_empty(&settings.path, name);
    let top = settings.root.object_value();
    let hooks = top.as_ref().and_then(|top| top.object_value(HOOKS));
    let mut removed = Vec::new();
    for property in hooks.iter().flat_map(CstObject::properties) {
        let name = property.decoded_name().unwrap_or_default();
        let Some(groups) = property.array_value() else { continue };
        if !clean(&groups) {
            continue;
        }
        if groups.elements().is_empty() {
            leave(property, &groups.children(), CstInputValue::Array(Vec::new()), keeps(&name));
        }
        removed.push(name);
    }
    let property = top.as_ref().and_then(|top| top.get(HOOKS));
    let emptied = hooks.filter(|hooks| hooks.properties().is_empty() && !removed.is_empty());
    if let (Some(property), Some(hooks)) = (property, emptied) {
        leave(property, &hooks.children(), CstInputValue::Object(Vec::new()), keeps(HOOKS));
    }
    let bare = settings.root.to_string().split_whitespace().collect::<String>() == "{}";
    match bare && installed.made(&settings.path) {
        true => settings.remove()?,
        false => drop(settings.write()?),
    }
    told(installed.forget(&settings.path));
    let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
    tell(args, &settings.path, "removed", &removed);
    Ok(0)
}

/// Nobody has changed the file since: it becomes what it was, byte for byte.
fn restore(
    settings: &Settings,
    installed: &mut Installed,
    original: &str,
    args: &UninstallArgs,
) -> anyhow::Result<u8> {
    let hooks = settings.root.object_value().and_then(|top| top.object_value(HOOKS));
    let lists = hooks.iter().flat_map(CstObject::properties);
    let own = lists.filter(|list| {
        let groups = list.array_value().map(|groups| groups.elements()).unwrap_or_default();
        groups.iter().any(|group| ours(group).next().is_some())
    });
    let removed: Vec<String> = own.filter_map(|list| list.decoded_name()).collect();
    match installed.made(&settings.path) && original.is_empty() {
        true => settings.remove()?,
        false => settings.replace(original)?,
    }
    told(installed.forget(&settings.path));
    let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
    tell(args, &settings.path, "removed", &removed);
    Ok(0)
}

/// Removes what we made and have emptied; what is its author's stays, with the notes in it.
fn leave(property: CstObjectProp, children: &[CstNode], empty: CstInputValue, keeps: bool) {
    match children.iter().any(CstNode::is_comment) {
        true => {}
        false if keeps => property.set_value(empty),
        false => property.remove(),
    }
}

/// Less would come back on taking it out again; the entries are there all the same.
fn told(noted: anyhow::Result<()>) {
    if let Err(error) = noted {
        printer::warn(&format!("what was there before could not be noted: {error:#}"));
    }
}

fn settings_file(gambrel: &Gambrel, place: &SettingsPlace) -> anyhow::Result<PathBuf> {
    let setup = gambrel.setup();
    if place.user {
        let named = setup.env.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let folder = named.or_else(|| Some(setup.home()?.join(".claude")));
        return Ok(folder.context("there is no home folder: set HOME")?.join("settings.json"));
    }
    let name = if place.local { "settings.local.json" } else { "settings.json" };
    Ok(look::project(setup).join(".claude").join(name))
}

/// A settings file that is being changed.
struct Settings {
    path: PathBuf,
    /// As it was.
    before: String,
    /// Whether it had `hooks` with nothing in them.
    no_hooks_yet: bool,
    root: CstRootNode,
}

impl Settings {
    fn open(path: PathBuf) -> anyhow::Result<Self> {
        let before = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let text = before.strip_prefix(MARK).unwrap_or(&before);
        let source = if text.trim().is_empty() { "{}\n" } else { text };
        let root = CstRootNode::parse(source, &ParseOptions::default());
        let root = root.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        let hooks = root.object_value().and_then(|top| top.object_value(HOOKS));
        let no_hooks_yet = hooks.is_some_and(|hooks| hooks.properties().is_empty());
        Ok(Self { path, before, no_hooks_yet, root })
    }

    fn shown(&self) -> impl std::fmt::Display {
        self.path.display()
    }

    fn hooks(&self) -> anyhow::Result<CstObject> {
        let top = self.root.object_value_or_create();
        let top = top.with_context(|| format!("{}: is no JSON object", self.shown()))?;
        top.object_value_or_create(HOOKS)
            .with_context(|| format!("{}: `hooks` is no object", self.shown()))
    }

    /// Writes the changed tree, if it is changed; returns the file's text.
    fn write(&self) -> anyhow::Result<String> {
        let mark = self.before.starts_with(MARK).then_some(MARK);
        let text: String = mark.into_iter().chain(self.root.to_string().chars()).collect();
        if text == self.before || (self.before.is_empty() && text.trim() == "{}") {
            return Ok(self.before.clone());
        }
        self.replace(&text)?;
        Ok(text)
    }

    /// Through a file beside it, so that a settings file is never half there.
    fn replace(&self, text: &str) -> anyhow::Result<()> {
        let real = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = real.parent().context("a settings file has a folder")?;
        fs::create_dir_all(folder)?;
        let beside = folder.join(format!(".settings.json.{}", std::process::id()));
        let file = fs::File::create_new(&beside);
        let mut file = file.with_context(|| beside.display().to_string())?;
        file.write_all(text.as_bytes())?;
        if let Ok(known) = fs::metadata(&real) {
            file.set_permissions(known.permissions())?;
        }
        file.sync_all()?;
        if let Err(error) = fs::rename(&beside, &real) {
            fs::remove_file(&beside)?;
            bail!("{}: {error}", real.display());
        }
        Ok(())
    }

    fn remove(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.path).with_context(|| self.shown().to_string())
    }
}

fn clean(groups: &CstArray) -> bool {
    let mut any = false;
    for group in groups.elements() {
        let mut found = false;
        for handler in ours(&group) {
            (any, found) = (true, true);
            handler.remove();
        }
        let left = group.as_object().and_then(|g| g.array_value("hooks"));
        if found && left.is_some_and(|list| list.elements().is_empty()) {
            group.remove();
        }
    }
    any
}

fn tell(args: &UninstallArgs, path: &Path, what: &str, events: &[&str]) {
    if args.json {
        return printer::json(&json!({"file": path, what: events}));
    }
    match events.len() {
        0 => printer::out(&format!("{}: nothing to do\n", path.display())),
        n => printer::out(&format!("{}: {what} {n} entries\n", path.display())),
    }
}
