//! `gambrel install` and `uninstall`: entries in an agent's settings that call us, written into the
//! file as it is. Comments, order and everything that is not ours stay.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gambrel::{Gambrel, Setup};
use gambrel_dialects::claude::bridge;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::json;

use crate::args::InstallArgs;
use crate::{look, printer};

/// The caller's dialect.
const DIALECT: &str = "claude";
/// A hook here replaces what the host does itself; a bridge without a hook behind it would break
/// it.
const LEFT_OUT: [&str; 1] = ["WorktreeCreate"];

/// Writes the entries that are not there yet.
pub fn run(folder: Option<PathBuf>, args: &InstallArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::open(look::setup(folder, None)?);
    let path = settings_file(&gambrel, args)?;
    let (before, root) = open(&path)?;
    let hooks = hooks_of(&root, &path)?;
    let mut added = Vec::new();
    for event in events() {
        let groups = hooks.array_value_or_create(event);
        let groups = groups.with_context(|| format!("{}: `{event}` is no list", path.display()))?;
        if !groups.elements().iter().any(|group| ours(group).next().is_some()) {
            groups.append(entry(&gambrel, event)?);
            groups.ensure_multiline();
            added.push(event);
        }
    }
    write(&path, &before, &root)?;
    tell(args, &path, "added", &added);
    Ok(0)
}

/// Takes our entries out; lists and maps that this leaves empty go too.
pub fn undo(folder: Option<PathBuf>, args: &InstallArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::open(look::setup(folder, None)?);
    let path = settings_file(&gambrel, args)?;
    let (before, root) = open(&path)?;
    let hooks = root.object_value().and_then(|top| top.object_value("hooks"));
    let mut removed = Vec::new();
    for property in hooks.iter().flat_map(CstObject::properties) {
        let name = property.decoded_name().unwrap_or_default();
        let Some(groups) = property.array_value() else { continue };
        if !clean(&groups) {
            continue;
        }
        removed.push(name);
        if groups.elements().is_empty() {
            property.remove();
        }
    }
    let emptied = hooks.is_some_and(|h| h.properties().is_empty() && !removed.is_empty());
    if let Some(property) = root.object_value().and_then(|top| top.get("hooks")).filter(|_| emptied)
    {
        property.remove();
    }
    write(&path, &before, &root)?;
    tell(args, &path, "removed", &removed.iter().map(String::as_str).collect::<Vec<_>>());
    Ok(0)
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
    Ok(setup.root(None).join(".claude/settings.json"))
}

fn open(path: &Path) -> anyhow::Result<(String, CstRootNode)> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let source = if text.trim().is_empty() { "{}\n" } else { &text };
    let root = CstRootNode::parse(source, &ParseOptions::default());
    let root = root.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    Ok((text, root))
}

fn hooks_of(root: &CstRootNode, path: &Path) -> anyhow::Result<CstObject> {
    let top = root.object_value_or_create();
    let top = top.with_context(|| format!("{}: is no JSON object", path.display()))?;
    top.object_value_or_create("hooks")
        .with_context(|| format!("{}: `hooks` is no object", path.display()))
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

/// Through a file beside it, so that a settings file is never half there.
fn write(path: &Path, before: &str, root: &CstRootNode) -> anyhow::Result<()> {
    let text = root.to_string();
    if text == before || (before.is_empty() && text.trim() == "{}") {
        return Ok(());
    }
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = real.parent().context("a settings file has a folder")?;
    fs::create_dir_all(folder)?;
    let beside = folder.join(format!(".settings.json.{}", std::process::id()));
    let mut file = fs::File::create_new(&beside).with_context(|| beside.display().to_string())?;
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

fn tell(args: &InstallArgs, path: &Path, what: &str, events: &[&str]) {
    if args.json {
        return printer::json(&json!({"file": path, what: events}));
    }
    match events.len() {
        0 => printer::out(&format!("{}: nothing to do\n", path.display())),
        n => printer::out(&format!("{}: {what} {n} entries\n", path.display())),
    }
}
