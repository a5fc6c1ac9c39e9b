//! Builds the call of a hook: program, environment of Claude Code, and one JSON line on stdin.

use std::collections::BTreeMap;
use std::sync::Arc;

use gambrel_model::ledger::SESSION_FILES;
use gambrel_model::template::{Style, expand_plain, expand_shell};
use gambrel_model::{Call, Event, EventSpec, Hook, Program, Shell, SideFile, Subject};
use serde_json::Value;

use super::events::event_row;
use super::hook_input::hook_input;
use super::spill::{session_name, state_folder};
use super::stdout::async_marker;
use super::{CLAUDE, PLUGIN_DIR_KEY};
use super::{model_handler, remote_handlers};
use crate::event_parts::text_field;

const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";
const PLUGIN_DATA: &str = "CLAUDE_PLUGIN_DATA";
const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
const ENV_FILE: &str = "CLAUDE_ENV_FILE";
const EFFORT: &str = "CLAUDE_EFFORT";
const AGENT: &str = "CLAUDE_CODE_AGENT";
const PID: &str = "CLAUDE_PID";
/// The prefix of telemetry settings. Claude Code removes them from the environment of hooks.
const TELEMETRY_PREFIX: &str = "OTEL_";
const TELEMETRY_LOG: &str = "CLAUDE_CODE_OTEL_DIAG_STDERR";
/// Variables that Claude Code always sets, with the values used for other callers.
const DEFAULT_VARIABLES: [(&str, &str); 4] = [
    ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
    ("CLAUDE_CODE_CHILD_SESSION", "1"),
    ("CLAUDE_CODE_SESSION_ATTENDED", "0"),
    ("AI_AGENT", "gambrel"),
];

/// Builds the call of a handler of any type.
pub fn stage_call(event: &Event, hook: &Hook) -> Call {
    let row =
        hook.event_spec_for(event).or_else(|| hook.specs.first().copied()).unwrap_or(event.spec);
    let mut call = match hook.draft.config.get("type").and_then(Value::as_str) {
        Some("http") => {
            remote_handlers::stage_http(hook, hook_input(event, hook, row), &event.context.env)
        }
        Some("mcp_tool") => {
            remote_handlers::stage_mcp_tool(event, hook, &hook_input(event, hook, row))
        }
        Some("prompt" | "agent") => {
            model_handler::stage_model_call(hook, &hook_input(event, hook, row))
        }
        _ => return stage_command(event, hook, row),
    };

    // Variables of the call take precedence: a server's plugin may differ from its hook's plugin.
    let own = build_env(event, folder_variables(event, &hook.draft.config));
    call.env.splice(0..0, own);
    Call { cwd: event.cwd.clone(), limits: hook.draft.policy.limits.clone(), ..call }
}

/// A command, in shell form or in exec form.
fn stage_command(event: &Event, hook: &Hook, row: &EventSpec) -> Call {
    let folders = folder_variables(event, &hook.draft.config);
    let policy = &hook.draft.policy;
    let (file, mut files) = env_file(event, row);
    files.extend(data_folder(&hook.draft.config));
    let mut env = build_env(event, folders.clone());
    env.extend(file.map(|path| (ENV_FILE.to_owned(), path)));
    Call {
        program: build_program(&hook.draft.config, &folders),
        env,
        files,
        remove_env: variables_to_remove(row, &hook.draft.config, &event.context.env),
        stdin: Some(input_line(event, hook, row)),
        cwd: event.cwd.clone(),
        limits: policy.limits.clone(),
        async_marker: policy.limits.blocking.then(async_marker),
        ..Call::default()
    }
}

/// The caller's own line if no hook has rewritten the event; else a new one.
fn input_line(event: &Event, hook: &Hook, row: &EventSpec) -> Arc<Vec<u8>> {
    let own = event.is_from(&CLAUDE) && event.patched.is_empty();
    if let Some(line) = event.context.raw_line.as_ref().filter(|_| own) {
        return Arc::clone(line);
    }
    let mut line = serde_json::to_vec(&hook_input(event, hook, row)).unwrap_or_default();
    line.push(b'\n');
    Arc::new(line)
}

/// The variables for folders that a handler or a server refers to.
pub fn folder_variables(event: &Event, config: &Value) -> Vec<(&'static str, String)> {
    let written = |key: &str| config.get(key)?.as_str().map(str::to_owned);
    let all = [
        (PROJECT_DIR, Some(event.project.display().to_string())),
        (PLUGIN_ROOT, written(PLUGIN_DIR_KEY)),
        (PLUGIN_DATA, written("pluginData")),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn build_env(event: &Event, folders: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    let mut env = folders;
    env.push(("CLAUDE_CODE_SESSION_ID", event.session.clone()));
    env.push(("CLAUDECODE", "1".into()));
    // A live Claude Code has set these already.
    for (name, usual) in DEFAULT_VARIABLES {
        if !event.context.env.contains_key(name) {
            env.push((name, usual.into()));
        }
    }
    env.extend(effort_level(event).map(|level| (EFFORT, level.to_owned())));
    env.extend(session_agent(event).map(|name| (AGENT, name)));
    let caller = event.context.caller_pid.filter(|_| !event.context.env.contains_key(PID));
    env.extend(caller.map(|pid| (PID, pid.to_string())));
    env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The effort level of the model, if the caller sends one.
fn effort_level(event: &Event) -> Option<&str> {
    event.native.get("effort")?.get("level")?.as_str().filter(|_| event.is_from(&CLAUDE))
}

/// The agent that the whole session runs as. A sub-agent has an id too, and does not count.
fn session_agent(event: &Event) -> Option<String> {
    let inside = event.native.get("agent_id").is_some();
    let named = text_field(&event.native, "agent_type").filter(|name| !name.is_empty() && !inside);
    named.filter(|_| event.is_from(&CLAUDE))
}

/// The file in which a hook may set variables for the session: the caller's own, else one in the
/// state folder.
fn env_file(event: &Event, row: &EventSpec) -> (Option<String>, Vec<SideFile>) {
    let given = event.context.env.get(ENV_FILE).is_some_and(|path| !path.is_empty());
    let folder = state_folder(event).filter(|_| event_row(row).has_env_file && !given);
    let Some(folder) = folder else { return (None, Vec::new()) };
    let path = folder.join(SESSION_FILES).join(format!("{}.env", session_name(event)));
    let shown = path.display().to_string();
    let file = SideFile { path, text: Some(String::new()), temporary: false, lasting: true };
    (Some(shown), vec![file])
}

/// The plugin's data folder, which must exist when its hooks run.
fn data_folder(config: &Value) -> Option<SideFile> {
    let path = config.get("pluginData")?.as_str()?.into();
    Some(SideFile { path, text: None, temporary: false, lasting: true })
}

/// Variables of the caller's environment that Claude Code would not pass to this hook.
fn variables_to_remove(
    row: &EventSpec,
    config: &Value,
    env: &BTreeMap<String, String>,
) -> Vec<String> {
    let own = |name: &&String| name.starts_with(TELEMETRY_PREFIX) || *name == TELEMETRY_LOG;
    let mut names: Vec<String> = env.keys().filter(own).cloned().collect();
    if env.get("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB").is_some_and(|value| value == "1") {
        names.extend(["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"].map(str::to_owned));
    }
    if !event_row(row).has_env_file {
        names.push(ENV_FILE.to_owned());
    }
    if row.subject != Subject::Tool {
        names.push(EFFORT.to_owned());
    }
    for (key, name) in [(PLUGIN_DIR_KEY, PLUGIN_ROOT), ("pluginData", PLUGIN_DATA)] {
        if config.get(key).is_none() {
            names.push(name.to_owned());
        }
    }
    names
}

fn build_program(config: &Value, folders: &[(&str, String)]) -> Program {
    let command = config.get("command").and_then(Value::as_str).unwrap_or_default();
    if let Some(args) = config.get("args").and_then(Value::as_array) {
        let args = args.iter().filter_map(Value::as_str);
        let words = std::iter::once(command).chain(args);
        let folder = |name: &str| find_folder(folders, name).cloned();
        let expand = |word| expand_plain(word, Style::Dollar, &folder);
        return Program::Exec(words.map(expand).collect());
    }
    let shell = match config.get("shell").and_then(Value::as_str) {
        Some("powershell") => Shell::PowerShell,
        Some("bash") => Shell::Bash,
        _ => Shell::Sh,
    };
    Program::Shell { shell, text: shell_text(command, shell, folders) }
}

/// Expands a plugin's folders before the shell reads the command, so that they also work inside
/// single quotes. The paths are quoted, so that the shell reads them as data.
fn shell_text(command: &str, shell: Shell, folders: &[(&str, String)]) -> String {
    let own = |name: &str| find_folder(folders, name).filter(|_| name != PROJECT_DIR).cloned();
    match shell {
        // PowerShell quotes differently, so only a path that needs no quotes is expanded.
        Shell::PowerShell => expand_plain(command, Style::Dollar, &|name| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
            own(name).filter(|path| path.chars().all(plain))
        }),
        _ => expand_shell(command, Style::Dollar, &own).text,
    }
}

/// The folder in a variable.
pub fn find_folder<'f>(folders: &'f [(&str, String)], name: &str) -> Option<&'f String> {
    folders.iter().find(|(known, _)| *known == name).map(|(_, path)| path)
}
