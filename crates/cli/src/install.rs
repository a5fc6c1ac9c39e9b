//! `gambrel install` and `uninstall`: entries in an agent's settings that call us, written into the
//! file as it is. Comments, order and everything that is not ours stay.

mod installed;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gambrel::{Gambrel, Setup};
use gambrel_dialects::claude::bridge;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::json;

use self::installed::Installed;
use crate::args::InstallArgs;
use crate::{look, printer};

/// The caller's dialect.
const DIALECT: &str = "claude";
/// A hook here replaces what the host does itself; a bridge without a hook behind it would break
/// it.
const LEFT_OUT: [&str; 1] = ["WorktreeCreate"];
/// Where the events stand.
const HOOKS: &str = "hooks";
/// A byte order mark.
const MARK: char = '\u{feff}';

/// Writes the entries that are not there yet.
pub fn run(folder: Option<PathBuf>, args: &InstallArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::open(look::setup(folder, None)?);
    let settings = Settings::open(settings_file(&gambrel, args)?)?;
    let hooks = settings.hooks()?;
    let mut empty: Vec<&str> = settings.no_hooks_yet.then_some(HOOKS).into_iter().collect();
    let mut added = Vec::new();
    for event in events() {
        let own = hooks.array_value(event);
        let groups = hooks.array_value_or_create(event);
        let groups =
            groups.with_context(|| format!("{}: `{event}` is no list", settings.shown()))?;
        if groups.elements().iter().any(|group| ours(group).next().is_some()) {
            continue;
        }
        let bare = groups.elements().is_empty();
        groups.append(entry(&gambrel, event)?);
        if bare {
            groups.ensure_multiline();
            empty.extend(own.map(|_| event));
        }
        added.push(event);
    }
    let made = !settings.path.exists();
    settings.write()?;
    if !added.is_empty() {
        let mut installed = Installed::open(gambrel.setup());
        told(installed.remember(&settings.path, made, &empty));
    }
    tell(args, &settings.path, "added", &added);
    Ok(0)
}

/// Takes our entries out; lists and maps that this leaves empty go too, unless they are the
/// author's, and so does a file that we made.
pub fn undo(folder: Option<PathBuf>, args: &InstallArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::open(look::setup(folder, None)?);
    let settings = Settings::open(settings_file(&gambrel, args)?)?;
    let mut installed = Installed::open(gambrel.setup());
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
        false => settings.write()?,
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

/// Every event that a hook may hang on.
fn events() -> impl Iterator<Item = &'static str> {
    let rows = Gambrel::dialect(DIALECT).map(|dialect| dialect.events()).unwrap_or_default();
    let names = rows.iter().map(|row| row.name);
    names.filter(|name| !name.is_empty() && !LEFT_OUT.contains(name))
}

fn settings_file(gambrel: &Gambrel, args: &InstallArgs) -> anyhow::Result<PathBuf> {
    let setup = gambrel.setup();
    if args.user {
        let named = setup.env.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let folder = named.or_else(|| Some(setup.home()?.join(".claude")));
        return Ok(folder.context("there is no home folder: set HOME")?.join("settings.json"));
    }
    Ok(look::project(setup).join(".claude/settings.json"))
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

    /// Through a file beside it, so that a settings file is never half there.
    fn write(&self) -> anyhow::Result<()> {
        let mark = self.before.starts_with(MARK).then_some(MARK);
        let text: String = mark.into_iter().chain(self.root.to_string().chars()).collect();
        if text == self.before || (self.before.is_empty() && text.trim() == "{}") {
            return Ok(());
        }
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

/// The handlers of a group that are nothing but a call of ours.
fn ours(group: &CstNode) -> impl Iterator<Item = CstNode> + use<> {
    let handlers = group.as_object().and_then(|group| group.array_value("hooks"));
    let handlers = handlers.map(|list| list.elements()).unwrap_or_default();
    handlers.into_iter().filter(|handler| {
        let command = handler.as_object().and_then(|h| h.get("command")?.value()?.as_string_lit());
        let command = command.and_then(|text| text.decoded_value().ok());
        // What a person wrote by hand to call gambrel is theirs.
        command.is_some_and(|c| bridge::is_ours(&c, None) && c.contains(" --hosted"))
    })
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

/// One group with one handler. A gate whose bridge fails is refused by the host.
fn entry(gambrel: &Gambrel, event: &str) -> anyhow::Result<CstInputValue> {
    let native = json!({"hook_event_name": event, "session_id": ""}).to_string();
    let event = gambrel.receive(DIALECT, native.as_bytes());
    let event = event.map_err(|complaint| anyhow::anyhow!(complaint.message))?;
    let text = |text: &str| CstInputValue::String(text.into());
    let mut handler =
        vec![("type".into(), text("command")), ("command".into(), text(&command(gambrel.setup())))];
    if let Some(patience) = event.from.patience(&event).map(|p| p.as_secs().max(1)) {
        handler.push(("timeout".into(), CstInputValue::Number(patience.to_string())));
    }
    if event.kind() == gambrel::model::Kind::Gate {
        handler.push(("onFailure".into(), text("block")));
    }
    let handlers = CstInputValue::Array(vec![CstInputValue::Object(handler)]);
    Ok(CstInputValue::Object(vec![("hooks".into(), handlers)]))
}

/// By name where that finds this program, else by its path.
fn command(setup: &Setup) -> String {
    let own = std::env::current_exe().ok().and_then(|exe| fs::canonicalize(exe).ok());
    let path = setup.env.get("PATH").map(String::as_str).unwrap_or_default();
    let found = std::env::split_paths(path).map(|folder| folder.join("gambrel"));
    let first = found.filter_map(|file| fs::canonicalize(file).ok()).next();
    let program = match own {
        Some(own) if first.as_ref() != Some(&own) => {
            format!("'{}'", own.display().to_string().replace('\'', r"'\''"))
        }
        _ => "gambrel".to_owned(),
    };
    format!("{program} fire --from {DIALECT} --hosted")
}

fn tell(args: &InstallArgs, path: &Path, what: &str, events: &[&str]) {
    if args.json {
        return printer::json(&json!({"file": path, what: events}));
    }
    match events.len() {
        0 => printer::out(&format!("{}: nothing to do\n", path.display())),
        n => printer::out(&format!("{}: {what} {n} entries\n", path.display())),
    }
}
