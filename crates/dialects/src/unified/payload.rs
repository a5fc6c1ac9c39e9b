//! A hook point and its variables in; a command with its environment out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gambrel_model::complaint::nearest_word;
use gambrel_model::moment::to_snake_case;
use gambrel_model::template::{Style, expand_plain, expand_shell};
use gambrel_model::{
    Call, CallerContext, Carry, Complaint, Dialect, Event, Facts, Hook, Moment, Program, Scope,
    Shell, SourceSpan, TaskFacts, Tool, ToolKind,
};
use serde_json::Value;

use super::{Unified, child, events, rule, variables, webhook};
use crate::payload::{Heard, event_name, loose_text, object, row, text};

/// Understands `{"hook_point":"on_iteration_complete","vars":{…}}`.
pub fn receive(
    dialect: &'static Unified,
    native: &[u8],
    arrival: CallerContext,
) -> Result<Event, Complaint> {
    let native = object(native)?;
    let name = event_name(&native, "hook_point", &arrival).unwrap_or_default();
    let known = events::named(&name);
    let unknown = || name.strip_prefix("on_").filter(|rest| !rest.is_empty());
    let Some(row) = known.or_else(|| unknown().and_then(|_| row(dialect, ""))) else {
        return Err(no_point(&name));
    };
    let vars = vars(&native)?;
    let session = vars.get("SESSION").cloned();
    let session = session.or_else(|| text(&native, "session")).unwrap_or_default();
    let cwd = text(&native, "cwd");
    let facts = facts(&native, vars);
    let heard = Heard { row, name: name.clone(), session, cwd, facts, native };
    let mut event = heard.into_event(dialect, arrival);
    if let (None, Some(rest)) = (known, unknown()) {
        event.moment = Moment::Other(to_snake_case(rest).into());
    }
    Ok(event)
}

fn no_point(name: &str) -> Complaint {
    if name.is_empty() {
        let complaint = Complaint::error(SourceSpan::default(), "`hook_point` is missing");
        return complaint.with_help("name one, like \"hook_point\": \"on_iteration_start\"");
    }
    let complaint = Complaint::error(SourceSpan::default(), format!("`{name}` is no hook point"));
    let prefixed = events::named(&format!("on_{name}")).map(|row| row.name);
    match prefixed.or_else(|| nearest_word(name, events::names())) {
        Some(near) => complaint.with_help(format!("did you mean `{near}`?")),
        None => complaint.with_help("hook points begin with `on_`"),
    }
}

fn vars(native: &Value) -> Result<BTreeMap<String, String>, Complaint> {
    match native.get("vars") {
        Some(Value::Object(vars)) => {
            Ok(vars.iter().map(|(name, value)| (name.clone(), loose_text(value))).collect())
        }
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(_) => {
            let complaint = Complaint::error(SourceSpan::default(), "`vars` should be an object");
            Err(complaint.with_help("write \"vars\": {\"SESSION\": \"…\"}"))
        }
    }
}

fn facts(native: &Value, vars: BTreeMap<String, String>) -> Facts {
    let filled = |name: &str| vars.get(name).filter(|value| !value.is_empty()).cloned();
    let either = |key: &str, name: &str| text(native, key).or_else(|| filled(name));
    Facts {
        tool: native.get("tool").filter(|tool| !tool.is_null()).map(tool),
        task: native.get("task").filter(|task| !task.is_null()).map(task),
        prompt: either("prompt", "PROMPT"),
        member: either("member", "MEMBER"),
        cause: text(native, "cause"),
        iteration: filled("ITERATION").and_then(|text| text.trim().parse().ok()),
        stage: filled("STAGE"),
        error: filled(variables::ERROR),
        vars,
        ..Facts::default()
    }
}

/// `{"kind":"shell","name":"Bash","args":{…}}`. A tool of a known kind bears our word for it, so
/// that a matcher means the same whoever calls; its own name stays in the payload.
fn tool(tool: &Value) -> Tool {
    let field = |key: &str| tool.get(key).map(loose_text).unwrap_or_default();
    let (kind, name) = (field("kind"), field("name"));
    let args = ["args", "input"].iter().find_map(|key| tool.get(key)).cloned().unwrap_or_default();
    let word = if kind.is_empty() { name.as_str() } else { kind.as_str() };
    let ours = Unified.tools().iter().find(|known| known.name == word);
    let native = Tool::from_native(Unified.tools(), ours.map_or(&name, |w| w.name), &args);
    let kind = match ours {
        Some(_) => native.kind,
        None => ToolKind::parse(&kind).unwrap_or(native.kind),
    };
    let result = tool.get("result").and_then(|result| serde_json::from_value(result.clone()).ok());
    Tool { kind, id: tool.get("id").map(loose_text), result, ..native }
}

fn task(task: &Value) -> TaskFacts {
    let field = |key: &str| task.get(key).map(loose_text).unwrap_or_default();
    if !task.is_object() {
        return TaskFacts { id: loose_text(task), ..TaskFacts::default() };
    }
    TaskFacts {
        id: field("id"),
        subject: field("subject"),
        description: field("description"),
        owner: text(task, "owner"),
        status: field("status"),
        native: task.clone(),
    }
}

/// What an action of any type is run with.
pub fn stage(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let call = match hook.draft.action.as_str() {
        "webhook" => webhook::stage(event, hook, carry),
        "spawn" => child::stage(event, hook, carry),
        "rule" => rule::stage(event, hook, carry),
        _ => return command(event, hook, carry),
    };
    Call { cwd: folder(event, hook), limits: hook.draft.policy.limits(), ..call }
}

/// A command in bash where there is one, with every variable filled in and in its environment.
fn command(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let config = &hook.draft.config;
    let lookup = |name: &str| variables::value(event, carry, name);
    let command = text(config, "command").unwrap_or_default();
    let filled = expand_shell(&command, Style::Dollar, &lookup);
    let plain = |value: &Value| expand_plain(&loose_text(value), Style::Dollar, &lookup);
    let mut env = variables::environment(event, carry);
    let own = config.get("env").and_then(Value::as_object);
    env.extend(own.into_iter().flatten().map(|(name, value)| (name.clone(), plain(value))));
    env.extend(filled.env);
    let passed = webhook::list(config, "pass_env");
    env.extend(
        passed.iter().filter_map(|name| Some((name.clone(), event.secrets.get(name)?.clone()))),
    );
    // An `ERROR` of gambrel's own environment is not the event's; nor is what came from
    // the user's secrets a hook's, unless it is passed on by name.
    let names = std::iter::once(variables::ERROR).chain(event.secrets.keys().map(String::as_str));
    let set = |gone: &&str| env.iter().any(|(name, _)| name == gone);
    let unset = names.filter(|name| !set(name)).map(str::to_owned).collect();
    let cwd = folder(event, hook);
    Call {
        program: Program::Shell { shell: Shell::BashOrSh, text: filled.text },
        env,
        remove_env: unset,
        cwd: config.get("cwd").map_or(cwd.clone(), |path| cwd.join(plain(path))),
        limits: hook.draft.policy.limits(),
        ..Call::default()
    }
}

/// Actions run in the project's folder. For the project's own hooks this is the folder of their
/// file, because the trusted scripts are there.
fn folder(event: &Event, hook: &Hook) -> PathBuf {
    let source = &hook.draft.source;
    match source.scope {
        Scope::Project | Scope::Local => source.base.clone(),
        _ if event.is_from(&Unified) => event.cwd.clone(),
        _ => event.project.clone(),
    }
}
