//! Entries in the agent's settings: which events have one, its content, and updates of old entries.

use std::fs;

use gambrel::{Gambrel, Loaded, Setup};
use gambrel_dialects::claude::self_reference;
use gambrel_engine::hooked_events;
use gambrel_model::text::quote;
use gambrel_model::{EventSpec, Moment};
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject};

use super::{DIALECT, InstallArgs};
use crate::args::UsageError;

/// Events that get an entry: a fixed set that gambrel always needs, and every event that a hook
/// uses here.
pub fn select_events(loaded: &Loaded, args: &InstallArgs) -> Vec<&'static EventSpec> {
    let Some(dialect) = Gambrel::dialect_by_name(DIALECT) else { return Vec::new() };
    let hooked = hooked_events(loaded, dialect);
    let wanted = |row: &&EventSpec| {
        let has_hook = hooked.iter().any(|hooked| hooked.name == row.name);
        args.all_events || is_always_reported(row) || has_hook
    };
    let rows = dialect.events().iter().filter(|row| !row.name.is_empty());
    rows.filter(|row| row.reportable).filter(wanted).collect()
}

fn is_always_reported(row: &EventSpec) -> bool {
    matches!(
        row.moment,
        Moment::ToolBefore
            | Moment::ToolAfter
            | Moment::ToolFailed
            | Moment::IterationStart
            | Moment::IterationEnd
            | Moment::SubagentStop
            | Moment::TaskCompleted
            | Moment::SessionStart
            | Moment::SessionEnd
    )
}

/// The entry of one event.
pub struct SettingsEntry {
    /// The command line.
    pub command: String,
    /// The agent's timeout in seconds.
    timeout: u64,
    /// Whether a failure of gambrel blocks the tool.
    pub fails_closed: bool,
}

impl SettingsEntry {
    /// Builds the entry of an event. Only tool calls are blocked if gambrel is missing. Prompts
    /// must still reach the agent, so that the user can repair the settings.
    pub fn new(program: &str, row: &'static EventSpec) -> Option<Self> {
        let timeout = row.host_timeout?.as_secs().max(1);
        let fails_closed = row.moment == Moment::ToolBefore;
        let command = match fails_closed {
            true => self_reference::fail_closed_command(program, row.name),
            false => self_reference::plain_command(program),
        };
        Some(Self { command, timeout, fails_closed })
    }

    /// One matcher group with one handler.
    pub fn to_group(&self) -> CstInputValue {
        let text = |text: &str| CstInputValue::String(text.into());
        let mut handler = vec![
            ("type".into(), text("command")),
            ("command".into(), text(&self.command)),
            ("timeout".into(), CstInputValue::Number(self.timeout.to_string())),
        ];
        if self.fails_closed {
            handler.push((ON_FAILURE.into(), text("block")));
        }
        let handlers = CstInputValue::Array(vec![CstInputValue::Object(handler)]);
        CstInputValue::Object(vec![("hooks".into(), handlers)])
    }

    /// Updates a handler that an earlier version wrote; keeps its `timeout`. Returns whether it
    /// changed.
    pub fn update_handler(&self, handler: &CstObject) -> bool {
        let is = |key: &str, value: &str| string_value(handler, key).as_deref() == Some(value);
        let failure = if self.fails_closed {
            is(ON_FAILURE, "block")
        } else {
            handler.get(ON_FAILURE).is_none()
        };

        if is("command", &self.command) && handler.get("args").is_none() && failure {
            return false;
        }

        if let Some(command) = handler.get("command") {
            command.set_value(CstInputValue::String(self.command.clone()));
        }
        if let Some(args) = handler.get("args") {
            args.remove();
        }
        match (self.fails_closed, handler.get(ON_FAILURE)) {
            (true, Some(property)) => property.set_value(CstInputValue::String("block".into())),
            (true, None) => {
                handler.append(ON_FAILURE, CstInputValue::String("block".into()));
            }
            (false, Some(property)) => property.remove(),
            (false, None) => {}
        }
        true
    }
}

const ON_FAILURE: &str = "onFailure";

/// The text of a property.
pub fn string_value(object: &CstObject, key: &str) -> Option<String> {
    object.get(key)?.value()?.as_string_lit()?.decoded_value().ok()
}

/// The handlers of a group that `install` wrote.
pub fn own_handlers(group: &CstNode) -> impl Iterator<Item = CstObject> + use<> {
    let handlers = group.as_object().and_then(|group| group.array_value("hooks"));
    let handlers = handlers.map(|list| list.elements()).unwrap_or_default();
    handlers.into_iter().filter_map(|handler| handler.as_object()).filter(|handler| {
        let Some(command) = string_value(handler, "command") else { return false };
        let args = handler_args(handler);
        let hosted = match &args {
            Some(args) => args.iter().any(|arg| arg == "--hosted"),
            None => command.contains(" --hosted"),
        };
        // Calls without `--hosted` were written by the user.
        hosted && self_reference::is_gambrel_entry(&command, args.as_deref())
    })
}

/// The arguments of a handler in exec form.
fn handler_args(handler: &CstObject) -> Option<Vec<String>> {
    let args = handler.array_value("args")?.elements();
    args.iter().map(|arg| arg.as_string_lit()?.decoded_value().ok()).collect()
}

/// The program name for entries: `gambrel` if PATH finds this program, otherwise its path. A shared
/// settings file never gets a path of this machine.
pub fn program_name(setup: &Setup, is_shared: bool) -> anyhow::Result<String> {
    let own = std::env::current_exe().ok().and_then(|exe| fs::canonicalize(exe).ok());
    let path = setup.env.get("PATH").map(String::as_str).unwrap_or_default();
    let found = std::env::split_paths(path).map(|folder| folder.join("gambrel"));
    let first = found.filter_map(|file| fs::canonicalize(file).ok()).find(|file| file.is_file());

    match own {
        _ if is_shared && first.is_some() => Ok("gambrel".to_owned()),
        _ if is_shared => anyhow::bail!(UsageError(
            "`gambrel` is not on PATH, and this project's settings file is shared: put it on PATH, \
             or use --local (this project, not shared) or --user (all your projects)"
                .into()
        )),
        Some(own) if first.as_ref() != Some(&own) => Ok(quote(&own.display().to_string())),
        _ => Ok("gambrel".to_owned()),
    }
}
