//! `gambrel install` and `uninstall`: adds and removes entries in an agent's settings that call
//! gambrel. Comments, order and all other content stay.

mod args;
mod entry;
mod install_records;
mod mcp_entry;
mod restore;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gambrel::Gambrel;
use gambrel_dialects::claude::CLAUDE;
use gambrel_dialects::claude::settings_files::{SETTINGS_DIR, user_settings_dir};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::json;

use self::args::SettingsFileArgs;
pub use self::args::{InstallArgs, UninstallArgs};
use self::entry::{SettingsEntry, own_handlers};
use self::install_records::{InstallRecords, SettingsChange};
use self::mcp_entry::ServerEdit;
use crate::{open, printer, trust};

/// The caller's dialect.
const DIALECT: &str = CLAUDE.name;
/// The key of the events.
const HOOKS_KEY: &str = "hooks";
/// A byte order mark.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Adds missing entries and updates old ones.
pub fn run(folder: Option<PathBuf>, args: &InstallArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let loaded = gambrel.load_hooks(None);
    let program = entry::program_name(
        gambrel.setup(),
        !args.settings_file.user && !args.settings_file.local,
    )?;
    let server = args.mcp.then(|| ServerEdit::prepare(&gambrel, &program)).transpose()?;
    let settings = SettingsEdit::open(settings_file(&gambrel, &args.settings_file)?)?;
    let hooks = settings.hooks_object()?;
    let mut empty: Vec<&str> = settings.had_empty_hooks.then_some(HOOKS_KEY).into_iter().collect();

    let mut changes = Changes::default();
    for row in entry::select_events(&loaded, args) {
        let Some(entry) = SettingsEntry::new(&program, row) else { continue };
        let own = hooks.array_value(row.name);
        let groups = hooks.array_value_or_create(row.name);
        let groups = groups.with_context(|| {
            format!("{}: `{}` is not a list", settings.display_path(), row.name)
        })?;
        let there: Vec<CstObject> = groups.elements().iter().flat_map(own_handlers).collect();
        if !there.is_empty() {
            if there.iter().filter(|handler| entry.update_handler(handler)).count() > 0 {
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

    let created = !settings.path.exists();
    let after = settings.write_changes()?;
    if !changes.is_empty() {
        let mut installed = InstallRecords::open(gambrel.setup());
        let found =
            SettingsChange { created, empty: &empty, before: &settings.before, after: &after };
        warn_unrecorded(installed.record_install(&settings.path, &found));
    }

    if let Some(server) = server {
        changes.server = Some((server.write(&gambrel)?, server.is_added));
    }
    changes.waiting = trust::count_waiting(&gambrel, &loaded);
    changes.print_changes(&settings.path, args.json);
    Ok(0)
}

/// The changes of one `install`.
#[derive(Default)]
struct Changes {
    added: Vec<&'static str>,
    updated: Vec<&'static str>,
    /// The file of the MCP server, and whether its entry is new.
    server: Option<(PathBuf, bool)>,
    /// How many hooks wait for `gambrel trust`.
    waiting: usize,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.updated.is_empty()
    }

    fn print_changes(&self, path: &Path, as_json: bool) {
        let Self { added, updated, server, waiting } = self;
        if as_json {
            let mut shown = json!({
                "file": path, "added": added, "updated": updated, "waiting_for_trust": waiting,
            });
            if let Some((file, is_added)) = server {
                shown["mcp"] = json!({"file": file, "added": is_added});
            }
            return printer::print_json(&shown);
        }
        let path = path.display();
        if self.is_empty() {
            printer::print(&format!("{path}: nothing to do\n"));
        }
        if !added.is_empty() {
            let names = added.join(", ");
            printer::print(&format!(
                "{path}: added {}: {names}\n",
                format_entry_count(added.len())
            ));
        }
        if !updated.is_empty() {
            let names = updated.join(", ");
            printer::print(&format!(
                "{path}: updated {}: {names}\n",
                format_entry_count(updated.len())
            ));
        }
        if let Some((file, is_added)) = server {
            let what = if *is_added { "added the server gambrel" } else { "nothing to do" };
            printer::print(&format!("{}: {what}\n", file.display()));
        }
        printer::print(&trust::waiting_line(*waiting));
    }
}

/// Removes gambrel's entries. Also removes lists and maps that become empty, and the file, unless
/// the user wrote them.
pub fn uninstall(folder: Option<PathBuf>, args: &UninstallArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let settings = SettingsEdit::open(settings_file(&gambrel, &args.settings_file)?)?;
    let server = match args.settings_file.user {
        true => None,
        false => mcp_entry::remove_server(&gambrel).unwrap_or_else(|error| {
            printer::warn(&format!("gambrel: the MCP server is not removed: {error:#}"));
            None
        }),
    };
    let server = server.as_deref();
    let mut installed = InstallRecords::open(gambrel.setup());
    if let Some(original) = installed.original_text(&settings.path, &settings.before) {
        let removed = restore_original(&settings, &mut installed, &original)?;
        print_removed(args, &settings.path, &removed, server);
        return Ok(0);
    }

    let keeps = |name: &str| installed.was_empty(&settings.path, name);
    let top = settings.root.object_value();
    let hooks = top.as_ref().and_then(|top| top.object_value(HOOKS_KEY));

    let mut removed = Vec::new();
    for property in hooks.iter().flat_map(CstObject::properties) {
        let name = property.decoded_name().unwrap_or_default();
        let Some(groups) = property.array_value() else { continue };
        if !remove_handlers(&groups) {
            continue;
        }
        if groups.elements().is_empty() {
            remove_emptied(
                property,
                &groups.children(),
                CstInputValue::Array(Vec::new()),
                keeps(&name),
            );
        }
        removed.push(name);
    }

    let property = top.as_ref().and_then(|top| top.get(HOOKS_KEY));
    let emptied = hooks.filter(|hooks| hooks.properties().is_empty() && !removed.is_empty());
    if let (Some(property), Some(hooks)) = (property, emptied) {
        remove_emptied(
            property,
            &hooks.children(),
            CstInputValue::Object(Vec::new()),
            keeps(HOOKS_KEY),
        );
    }

    match settings.is_bare() && installed.was_created(&settings.path) {
        true => settings.remove_file()?,
        false => drop(settings.write_changes()?),
    }

    warn_unrecorded(installed.remove_record(&settings.path));
    print_removed(args, &settings.path, &removed, server);
    Ok(0)
}

/// Restores a file that did not change since `install`, byte for byte. Returns the events.
fn restore_original(
    settings: &SettingsEdit,
    installed: &mut InstallRecords,
    original: &str,
) -> anyhow::Result<Vec<String>> {
    let hooks = settings.root.object_value().and_then(|top| top.object_value(HOOKS_KEY));
    let lists = hooks.iter().flat_map(CstObject::properties);
    let own = lists.filter(|list| {
        let groups = list.array_value().map(|groups| groups.elements()).unwrap_or_default();
        groups.iter().any(|group| own_handlers(group).next().is_some())
    });
    let removed: Vec<String> = own.filter_map(|list| list.decoded_name()).collect();
    match installed.was_created(&settings.path) && original.is_empty() {
        true => settings.remove_file()?,
        false => settings.replace_file(original)?,
    }

    warn_unrecorded(installed.remove_record(&settings.path));
    Ok(removed)
}

/// Removes a list or map that became empty. Keeps it if the user wrote it or if it has comments.
fn remove_emptied(
    property: CstObjectProp,
    children: &[CstNode],
    empty: CstInputValue,
    keeps: bool,
) {
    match children.iter().any(CstNode::is_comment) {
        true => {}
        false if keeps => property.set_value(empty),
        false => property.remove(),
    }
}

/// Warns about a failed record. The entries are written, but `uninstall` may restore less.
fn warn_unrecorded(recorded: anyhow::Result<()>) {
    if let Err(error) = recorded {
        printer::warn(&format!(
            "gambrel: cannot record the previous settings, so `uninstall` may restore less: {error:#}"
        ));
    }
}

fn settings_file(gambrel: &Gambrel, place: &SettingsFileArgs) -> anyhow::Result<PathBuf> {
    let setup = gambrel.setup();
    if place.user {
        let folder = user_settings_dir(&setup.env, setup.home());
        return Ok(folder.context("no home folder: set HOME")?.join("settings.json"));
    }
    let name = if place.local { "settings.local.json" } else { "settings.json" };
    Ok(open::project_folder(setup).join(SETTINGS_DIR).join(name))
}

/// An open settings file.
struct SettingsEdit {
    path: PathBuf,
    /// The text before any change.
    before: String,
    /// Whether `hooks` existed and was empty.
    had_empty_hooks: bool,
    root: CstRootNode,
}

impl SettingsEdit {
    fn open(path: PathBuf) -> anyhow::Result<Self> {
        let before = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let text = before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&before);
        let source = if text.trim().is_empty() { "{}\n" } else { text };
        let root = CstRootNode::parse(source, &ParseOptions::default());
        let root = root.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;

        let hooks = root.object_value().and_then(|top| top.object_value(HOOKS_KEY));
        let had_empty_hooks = hooks.is_some_and(|hooks| hooks.properties().is_empty());
        Ok(Self { path, before, had_empty_hooks, root })
    }

    /// Whether nothing is left in it.
    fn is_bare(&self) -> bool {
        self.root.to_string().split_whitespace().collect::<String>() == "{}"
    }

    fn display_path(&self) -> impl std::fmt::Display {
        self.path.display()
    }

    fn hooks_object(&self) -> anyhow::Result<CstObject> {
        let top = self.root.object_value_or_create();
        let top = top.with_context(|| format!("{}: not a JSON object", self.display_path()))?;
        top.object_value_or_create(HOOKS_KEY)
            .with_context(|| format!("{}: `hooks` is not an object", self.display_path()))
    }

    /// Writes the file if it changed. Returns its text.
    fn write_changes(&self) -> anyhow::Result<String> {
        let mark = self.before.starts_with(BYTE_ORDER_MARK).then_some(BYTE_ORDER_MARK);
        let text: String = mark.into_iter().chain(self.root.to_string().chars()).collect();
        if text == self.before || (self.before.is_empty() && text.trim() == "{}") {
            return Ok(self.before.clone());
        }
        self.replace_file(&text)?;
        Ok(text)
    }

    /// Replaces the file atomically, through a temporary file in the same folder.
    fn replace_file(&self, text: &str) -> anyhow::Result<()> {
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

    fn remove_file(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.path).with_context(|| self.display_path().to_string())
    }
}

fn format_entry_count(count: usize) -> String {
    format!("{count} {}", if count == 1 { "entry" } else { "entries" })
}

/// Removes gambrel's handlers. Returns whether there were any.
fn remove_handlers(groups: &CstArray) -> bool {
    let mut any = false;
    for group in groups.elements() {
        let mut found = false;
        for handler in own_handlers(&group) {
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

/// Prints the events whose entries are removed, and the file whose MCP server is.
fn print_removed(args: &UninstallArgs, path: &Path, events: &[String], server: Option<&Path>) {
    if args.json {
        let mut shown = json!({"file": path, "removed": events});
        if let Some(file) = server {
            shown["mcp"] = json!({"file": file, "removed": true});
        }
        return printer::print_json(&shown);
    }
    match events.len() {
        0 => printer::print(&format!("{}: nothing to do\n", path.display())),
        n => printer::print(&format!("{}: removed {}\n", path.display(), format_entry_count(n))),
    }
    if let Some(file) = server {
        printer::print(&format!("{}: removed the server gambrel\n", file.display()));
    }
}
