//! What a hook is run with: its program, the environment of the contract, one JSON line on stdin.

use std::collections::BTreeMap;

use gambrel_model::{Call, Event, EventSpec, Hook, Program, Shell};
use serde_json::Value;

use super::Claude;
use super::events::has_env_file;
use super::native::input;
use super::stdout::parting;
use super::{judge, reach};

const PLUGIN_ROOT: &str = "CLAUDE_PLUGIN_ROOT";
const PLUGIN_DATA: &str = "CLAUDE_PLUGIN_DATA";
const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
const ENV_FILE: &str = "CLAUDE_ENV_FILE";
const USUAL: [(&str, &str); 4] = [
    ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
    ("CLAUDE_CODE_CHILD_SESSION", "1"),
    ("CLAUDE_CODE_SESSION_ATTENDED", "0"),
    ("AI_AGENT", "gambrel"),
];

/// What a handler of any type is run with.
pub fn stage(event: &Event, hook: &Hook) -> Call {
    let row = hook.row_for(event).or_else(|| hook.rows.first().copied()).unwrap_or(event.row);
    let mut call = match hook.draft.config.get("type").and_then(Value::as_str) {
        Some("http") => reach::http(hook, input(event, hook, row), &event.env),
        Some("mcp_tool") => reach::tool(hook, &input(event, hook, row), &event.env),
        Some("prompt" | "agent") => judge::stage(hook, &input(event, hook, row)),
        _ => return command(event, hook, row),
    };
    call.env.extend(env(event, folders(event, hook)));
    Call { cwd: event.cwd.clone(), pace: hook.draft.terms.pace(), ..call }
}

/// A command, in shell form or in exec form.
fn command(event: &Event, hook: &Hook, row: &EventSpec) -> Call {
    let folders = folders(event, hook);
    let terms = &hook.draft.terms;
    Call {
        program: program(&hook.draft.config, &folders),
        env: env(event, folders),
        unset: unset(row, &hook.draft.config, &event.env),
        stdin: Some(line(event, hook, row)),
        cwd: event.cwd.clone(),
        pace: terms.pace(),
        parting: terms.waits.then(parting),
        ..Call::default()
    }
}

/// The caller's own line as long as it is true; else one made anew.
fn line(event: &Event, hook: &Hook, row: &EventSpec) -> Vec<u8> {
    let own = event.is_from(&Claude) && event.patched.is_empty();
    let mut line = match event.line.as_ref().filter(|_| own) {
        Some(line) => line.to_vec(),
        None => serde_json::to_vec(&input(event, hook, row)).unwrap_or_default(),
    };
    line.push(b'\n');
    line
}

/// The folders that commands refer to.
fn folders(event: &Event, hook: &Hook) -> Vec<(&'static str, String)> {
    let written = |key: &str| hook.draft.config.get(key)?.as_str().map(str::to_owned);
    let all = [
        (PROJECT_DIR, Some(event.project.display().to_string())),
        (PLUGIN_ROOT, written("pluginRoot")),
        (PLUGIN_DATA, written("pluginData")),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn env(event: &Event, folders: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    let mut env = folders;
    env.push(("CLAUDE_CODE_SESSION_ID", event.session.clone()));
    env.push(("CLAUDECODE", "1".into()));
    // What the product always sets, where no live one has set it.
    for (name, usual) in USUAL {
        if !event.env.contains_key(name) {
            env.push((name, usual.into()));
        }
    }
    env.extend(effort(event).map(|level| ("CLAUDE_EFFORT", level.to_owned())));
    env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// How hard the model was told to think, where the caller says so.
fn effort(event: &Event) -> Option<&str> {
    event.native.get("effort")?.get("level")?.as_str().filter(|_| event.is_from(&Claude))
}

/// What a caller may have around it that this hook would not see under its own host.
fn unset(row: &EventSpec, config: &Value, env: &BTreeMap<String, String>) -> Vec<String> {
    let mut names = Vec::new();
    if env.get("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB").is_some_and(|value| value == "1") {
        names.extend(["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"].map(str::to_owned));
    }
    if !has_env_file(row) {
        names.push(ENV_FILE.to_owned());
    }
    for (key, name) in [("pluginRoot", PLUGIN_ROOT), ("pluginData", PLUGIN_DATA)] {
        if config.get(key).is_none() {
            names.push(name.to_owned());
        }
    }
    names
}

fn program(config: &Value, folders: &[(&str, String)]) -> Program {
    let command = config.get("command").and_then(Value::as_str).unwrap_or_default();
    if let Some(args) = config.get("args").and_then(Value::as_array) {
        let args = args.iter().filter_map(Value::as_str);
        let words = std::iter::once(command).chain(args);
        return Program::Exec(words.map(|word| filled(word, folders)).collect());
    }
    let shell = match config.get("shell").and_then(Value::as_str) {
        Some("powershell") => Shell::PowerShell,
        Some("bash") => Shell::Bash,
        _ => Shell::Sh,
    };
    Program::Shell { shell, text: command.to_owned() }
}

/// Only the exec form is filled in here, element by element and in one pass; a shell does its own.
fn filled(word: &str, folders: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let inner = &rest[at + 2..];
        let known = folders
            .iter()
            .find_map(|(name, value)| Some((value, inner.strip_prefix(name)?.strip_prefix('}')?)));
        rest = match known {
            Some((value, after)) => {
                out.push_str(value);
                after
            }
            None => {
                out.push_str("${");
                inner
            }
        };
    }
    out + rest
}
