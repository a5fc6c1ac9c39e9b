//! The action `spawn`: a child pipeline in its own folder. It gets inputs and a minimal
//! environment, but no secrets and no hook variables of its parent.

use std::path::PathBuf;

use gambrel_model::request::to_body;
use gambrel_model::template::{Style, expand_json};
use gambrel_model::text::{sanitize_name_with, truncate_chars};
use gambrel_model::{Call, Carry, Event, Hook, SpawnRequestBody};
use serde_json::json;

use super::variables::variable_value;
use crate::event_parts::{string_list, text_field};

/// The variable with the ids of the spawn hooks around a process, outermost first.
const CHILD_VARIABLE: &str = "GAMBREL_CHILD";
/// The variable with the agent of the parent's run.
const AGENT_VARIABLE: &str = "GAMBREL_AGENT";
/// Maximum nesting of child pipelines.
const MAX_CHILD_DEPTH: usize = 3;
/// Maximum length of a caller's text in a folder name.
const MAX_NAME_CHARS: usize = 100;
/// Variables that every program needs, and variables of gambrel.
const INHERITED_VARIABLES: [&str; 15] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TZ",
    "TERM",
    "TMPDIR",
    "XDG_*",
    "GAMBREL_STATE_DIR",
    "GAMBREL_TRUST",
    "GAMBREL_STRICT",
    "GAMBREL_RUNNER",
];

/// Builds the call: the child's pipeline, folder, inputs and environment.
pub fn stage_spawn(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let config = &hook.draft.config;
    let lookup = |name: &str| variable_value(event, carry, name);
    let inputs = config.get("inputs").cloned().unwrap_or_else(|| json!({}));
    let iteration = variable_value(event, carry, "ITERATION").filter(|text| !text.is_empty());
    let spawn = SpawnRequestBody {
        pipeline: text_field(config, "pipeline").unwrap_or_default(),
        children: session_folder(event).join("children"),
        name: format!(
            "{}-{}",
            hook.draft.event,
            path_component(iteration.as_deref().unwrap_or("0"))
        ),
        inputs: expand_json(&inputs, Style::Dollar, &lookup),
        firing_key: event.firing_key.as_ref().map(|key| format!("{key}/{}", hook.id)),
    };

    let passed = string_list(config, "pass_env");
    let keep =
        INHERITED_VARIABLES.iter().map(|name| (*name).to_owned()).chain(passed.iter().cloned());
    let secret = |name: &String| {
        let value = event.context.env.get(name).or_else(|| event.context.secrets.get(name))?;
        Some((name.clone(), value.clone()))
    };
    let mut env: Vec<(String, String)> = passed.iter().filter_map(secret).collect();
    env.push((CHILD_VARIABLE.to_owned(), hook_chain(event, hook)));
    // A runner names its agent, which a child without one of its own uses.
    let agent = event.facts.vars.get(AGENT_VARIABLE);
    env.extend(agent.map(|agent| (AGENT_VARIABLE.to_owned(), agent.clone())));
    Call { env, inherit: Some(keep.collect()), body: to_body(&spawn), ..Call::default() }
}

/// The folder of the parent's session: from the caller, else below the folder of runs.
fn session_folder(event: &Event) -> PathBuf {
    let named = event.facts.vars.get("SESSION_DIR").filter(|dir| !dir.is_empty());
    let session = path_component(if event.session.is_empty() { "session" } else { &event.session });
    let usual = || event.project.join(".gambrel/runs").join(session);
    named.map_or_else(usual, |dir| event.cwd.join(dir))
}

/// Turns a caller's text into one safe path component.
fn path_component(word: &str) -> String {
    sanitize_name_with(&truncate_chars(word, MAX_NAME_CHARS, ""), '_')
}

fn hook_chain(event: &Event, hook: &Hook) -> String {
    match event.context.env.get(CHILD_VARIABLE).filter(|outer| !outer.is_empty()) {
        Some(outer) => format!("{outer}:{}", hook.id),
        None => hook.id.clone(),
    }
}

/// Why a spawn hook does not run: it would start itself, or nest too deep.
pub fn skip_reason(event: &Event, hook: &Hook) -> Option<String> {
    if hook.draft.action != "spawn" {
        return None;
    }
    let outer: Vec<&str> = event.context.env.get(CHILD_VARIABLE)?.split(':').collect();
    if outer.contains(&hook.id.as_str()) {
        return Some("this child pipeline was started by the same hook".into());
    }
    (outer.len() >= MAX_CHILD_DEPTH)
        .then(|| format!("children nest at most {MAX_CHILD_DEPTH} deep"))
}
