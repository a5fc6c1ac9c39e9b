//! The action `spawn`: a child pipeline in a folder of its own, with inputs and nothing else of its
//! parent's: no secrets, no hook variables, and of the environment only what any program needs.

use std::path::PathBuf;

use gambrel_model::request::to_body;
use gambrel_model::template::{Style, expand_json};
use gambrel_model::{Call, Carry, Event, Hook, SpawnRequestBody};
use serde_json::{Value, json};

use super::variables::value;
use super::webhook::list;
use crate::payload::text;

/// Names the hooks that started the children that a process is inside of, outermost first.
const CHILD: &str = "GAMBREL_CHILD";
/// Children nest at most this deep.
const DEEPEST: usize = 3;
/// What a folder's name holds of a caller's word.
const LONGEST: usize = 100;
/// What any program needs to find its way, and where gambrel keeps its own things.
const NEEDED: [&str; 15] = [
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

/// The child's pipeline, folder, inputs and environment.
pub fn stage(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let config = &hook.draft.config;
    let lookup = |name: &str| value(event, carry, name);
    let inputs = config.get("inputs").cloned().unwrap_or_else(|| json!({}));
    let iteration = value(event, carry, "ITERATION").filter(|text| !text.is_empty());
    let spawn = SpawnRequestBody {
        pipeline: text(config, "pipeline").unwrap_or_default(),
        children: session_folder(event).join("children"),
        name: format!("{}-{}", hook.draft.event, step(iteration.as_deref().unwrap_or("0"))),
        inputs: expand_json(&inputs, Style::Dollar, &lookup),
    };
    let passed = list(config, "pass_env");
    let keep = NEEDED.iter().map(|name| (*name).to_owned()).chain(passed.iter().cloned());
    let secret = |name: &String| {
        let value = event.env.get(name).or_else(|| event.secrets.get(name))?;
        Some((name.clone(), value.clone()))
    };
    let mut env: Vec<(String, String)> = passed.iter().filter_map(secret).collect();
    env.push((CHILD.to_owned(), chain(event, hook)));
    Call { env, inherit: Some(keep.collect()), body: to_body(&spawn), ..Call::default() }
}

/// The parent's session: as the caller says, else where runs are kept.
fn session_folder(event: &Event) -> PathBuf {
    let named = event.facts.vars.get("SESSION_DIR").filter(|dir| !dir.is_empty());
    let session = step(if event.session.is_empty() { "session" } else { &event.session });
    let usual = || event.project.join(".gambrel/runs").join(session);
    named.map_or_else(usual, |dir| event.cwd.join(dir))
}

/// A caller's word as one step of a path: it leads nowhere else, and a folder can bear it.
fn step(word: &str) -> String {
    word.chars().take(LONGEST).map(safe).collect()
}

fn safe(c: char) -> char {
    if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' }
}

fn chain(event: &Event, hook: &Hook) -> String {
    match event.env.get(CHILD).filter(|outer| !outer.is_empty()) {
        Some(outer) => format!("{outer}:{}", hook.id),
        None => hook.id.clone(),
    }
}

/// Why a spawn hook does not run here: it would start itself, or too deep.
pub fn objection(event: &Event, hook: &Hook) -> Option<String> {
    if hook.draft.action != "spawn" {
        return None;
    }
    let outer: Vec<&str> = event.env.get(CHILD)?.split(':').collect();
    if outer.contains(&hook.id.as_str()) {
        return Some("this is a child that the same hook has started".into());
    }
    (outer.len() >= DEEPEST).then(|| format!("children nest at most {DEEPEST} deep"))
}

/// What a child left as its output, as later actions see it.
pub fn output(answer: &Value) -> String {
    text(answer, "output").unwrap_or_default()
}
