//! Parses an event (a hook point and its variables), and builds the calls of actions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gambrel_model::description::value_text;
use gambrel_model::moment::to_snake_case;
use gambrel_model::template::{Style, expand_plain, expand_shell};
use gambrel_model::{
    Call, CallerContext, Carry, Complaint, Event, Facts, Hook, Moment, ParsedEvent, Program, Scope,
    Shell, TaskFacts, Tool, ToolKind,
};
use serde_json::{Value, json};

use super::product_events::suggest_point;
use super::{UNIFIED, child_pipeline, events, rule, variables, webhook};
use crate::event_parts::{event_error, event_name, parse_object, string_list, text_field};

/// Parses `{"hook_point":"on_iteration_complete","vars":{…}}`.
pub fn parse_event(native: &[u8], context: &CallerContext) -> Result<ParsedEvent, Complaint> {
    let native = parse_object(native)?;
    let name = event_name(&native, "hook_point", context).unwrap_or_default();
    let known = events::find_row(&name);
    let unknown = || name.strip_prefix("on_").filter(|rest| !rest.is_empty());
    let Some(row) = known.or_else(|| unknown().and_then(|_| UNIFIED.find_spec(""))) else {
        return Err(unknown_point(&name));
    };

    let vars = parse_vars(&native)?;
    let session = vars.get("SESSION").cloned();
    let session = session.or_else(|| text_field(&native, "session")).unwrap_or_default();
    let cwd = text_field(&native, "cwd");
    let facts = parse_facts(&native, vars);
    let parsed = ParsedEvent::new(&UNIFIED, row, name.clone(), native);
    let moment = match (known, unknown()) {
        (None, Some(rest)) => Moment::Other(to_snake_case(rest).into()),
        _ => parsed.moment.clone(),
    };
    Ok(ParsedEvent { moment, session, cwd, facts, ..parsed })
}

fn unknown_point(name: &str) -> Complaint {
    if name.is_empty() {
        let complaint = event_error("`hook_point` is missing");
        return complaint.with_help("name one, like \"hook_point\": \"on_iteration_start\"");
    }
    let message = format!("`{name}` is not a hook point");
    let complaint = event_error(message);
    match suggest_point(name) {
        Some(near) => complaint.with_help(format!("did you mean `{near}`?")),
        None => complaint.with_help("hook points begin with `on_`"),
    }
}

fn parse_vars(native: &Value) -> Result<BTreeMap<String, String>, Complaint> {
    match native.get("vars") {
        Some(Value::Object(vars)) => {
            Ok(vars.iter().map(|(name, value)| (name.clone(), value_text(value))).collect())
        }
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(_) => {
            let complaint = event_error("`vars` should be an object");
            Err(complaint.with_help("write \"vars\": {\"SESSION\": \"…\"}"))
        }
    }
}

fn parse_facts(native: &Value, vars: BTreeMap<String, String>) -> Facts {
    let filled = |name: &str| vars.get(name).filter(|value| !value.is_empty()).cloned();
    let either = |key: &str, name: &str| text_field(native, key).or_else(|| filled(name));
    Facts {
        tool: native.get("tool").filter(|tool| !tool.is_null()).map(parse_tool),
        task: native.get("task").filter(|task| !task.is_null()).map(parse_task),
        prompt: either("prompt", "PROMPT"),
        member: either("member", "MEMBER"),
        cause: text_field(native, "cause"),
        iteration: filled("ITERATION").and_then(|text| text.trim().parse().ok()),
        stage: filled("STAGE"),
        error: filled(variables::ERROR),
        vars,
        ..Facts::default()
    }
}

/// Reads `{"kind":"shell","name":"Bash","args":{…}}`. A tool of a known kind gets its neutral name,
/// so that a matcher works for every caller. The payload keeps the tool's own name.
fn parse_tool(tool: &Value) -> Tool {
    let field = |key: &str| tool.get(key).map(value_text).unwrap_or_default();
    let (kind, name) = (field("kind"), field("name"));
    let args = ["args", "input"].iter().find_map(|key| tool.get(key)).cloned().unwrap_or_default();
    let word = if kind.is_empty() { name.as_str() } else { kind.as_str() };
    let ours = UNIFIED.tools.iter().find(|known| known.name == word);
    let native = Tool::from_native(UNIFIED.tools, ours.map_or(&name, |w| w.name), &args);
    let kind = match ours {
        Some(_) => native.kind,
        None => ToolKind::parse(&kind).unwrap_or(native.kind),
    };
    let result = tool.get("result").and_then(|result| serde_json::from_value(result.clone()).ok());
    Tool { kind, id: tool.get("id").map(value_text), result, ..native }
}

fn parse_task(task: &Value) -> TaskFacts {
    let field = |key: &str| task.get(key).map(value_text).unwrap_or_default();
    if !task.is_object() {
        return TaskFacts { id: value_text(task), ..TaskFacts::default() };
    }
    TaskFacts {
        id: field("id"),
        subject: field("subject"),
        description: field("description"),
        owner: text_field(task, "owner"),
        status: field("status"),
        native: task.clone(),
    }
}

/// A sample of an event, with the facts of a neutral event.
pub fn sample_event(event: &Event, name: &str) -> Value {
    let Facts { tool, task, prompt, member, cause, iteration, stage, error, .. } = &event.facts;
    let number = iteration.map(|number| number.to_string());
    let vars = [
        ("SESSION", Some(&event.session)),
        ("ITERATION", number.as_ref()),
        ("STAGE", stage.as_ref()),
        (variables::ERROR, error.as_ref()),
    ];
    let vars: BTreeMap<&str, &String> =
        vars.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let mut sample = json!({
        "hook_point": name, "vars": vars, "cwd": event.cwd.display().to_string(),
        "tool": tool, "task": task, "prompt": prompt, "member": member, "cause": cause,
    });
    if let Some(fields) = sample.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    sample
}

/// Builds the call of an action of any type.
pub fn stage_call(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let call = match hook.draft.action.as_str() {
        "webhook" => webhook::stage_webhook(event, hook, carry),
        "spawn" => child_pipeline::stage_spawn(event, hook, carry),
        "rule" => rule::stage_rule(event, hook, carry),
        _ => return stage_command(event, hook, carry),
    };
    Call { cwd: working_folder(event, hook), limits: hook.draft.policy.limits.clone(), ..call }
}

/// Builds the call of a command: bash if it is installed, else sh. Variables are expanded in the
/// command, and set in its environment.
fn stage_command(event: &Event, hook: &Hook, carry: &Carry) -> Call {
    let config = &hook.draft.config;
    let lookup = |name: &str| variables::variable_value(event, carry, name);
    let command = text_field(config, "command").unwrap_or_default();
    let filled = expand_shell(&command, Style::Dollar, &lookup);
    let plain = |value: &Value| expand_plain(&value_text(value), Style::Dollar, &lookup);

    let mut env = variables::command_env(event, carry);
    let own = config.get("env").and_then(Value::as_object);
    env.extend(own.into_iter().flatten().map(|(name, value)| (name.clone(), plain(value))));
    env.extend(filled.env);
    let passed = string_list(config, "pass_env");
    env.extend(
        passed
            .iter()
            .filter_map(|name| Some((name.clone(), event.context.secrets.get(name)?.clone()))),
    );

    // Removes an `ERROR` of gambrel's own environment, and the user's secrets that are not in
    // `pass_env`.
    let names =
        std::iter::once(variables::ERROR).chain(event.context.secrets.keys().map(String::as_str));
    let set = |gone: &&str| env.iter().any(|(name, _)| name == gone);
    let unset = names.filter(|name| !set(name)).map(str::to_owned).collect();
    let cwd = working_folder(event, hook);
    Call {
        program: Program::Shell { shell: Shell::BashOrSh, text: filled.text },
        env,
        remove_env: unset,
        cwd: config.get("cwd").map_or(cwd.clone(), |path| cwd.join(plain(path))),
        limits: hook.draft.policy.limits.clone(),
        ..Call::default()
    }
}

/// The working folder of an action: the project's folder. For the project's own hooks, it is the
/// folder of their file, because the trusted scripts are there.
fn working_folder(event: &Event, hook: &Hook) -> PathBuf {
    let source = &hook.draft.source;
    match source.scope {
        Scope::Project | Scope::Local => source.base.clone(),
        _ if event.is_from(&UNIFIED) => event.cwd.clone(),
        _ => event.project.clone(),
    }
}
