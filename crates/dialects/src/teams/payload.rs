//! Reads and writes the context JSON of pi-teams, version 1, with its limits.

use std::path::PathBuf;

use gambrel_model::{
    Call, CallerContext, Complaint, Event, Facts, Hook, Program, SideFile, SourceSpan, TaskFacts,
    TeamFacts,
};
use serde_json::{Map, Value, json};

use super::Teams;
use super::config::teams_root;
use crate::payload::{Heard, event_name, iso_time, object, row, text};

/// Limits of the context (`contracts/teams/CONTRACT.md#context`).
const SUBJECT: usize = 1_000;
const DESCRIPTION: usize = 8_000;
const LIST: usize = 200;
/// Linux takes at most 128 KiB in one environment string; this leaves room for the name.
const ENV_STRING: usize = 120 * 1024;
/// Keys of the context that are never omitted, even if there is little room.
const CONTEXT: [&str; 6] = ["version", "event", "team", "member", "timestamp", "task"];
const TEAM: [&str; 4] = ["id", "dir", "taskListId", "style"];
#[rustfmt::skip]
const TASK: [&str; 9] = [
    "id", "subject", "description", "owner", "status", "blockedBy", "blocks", "createdAt", "updatedAt",
];

/// Understands a context JSON.
pub fn receive(
    dialect: &'static Teams,
    native: &[u8],
    arrival: CallerContext,
) -> Result<Event, Complaint> {
    let native = object(native)?;
    let name = event_name(&native, "event", &arrival).unwrap_or_default();
    let Some(row) = row(dialect, &name) else {
        let message = format!("`event` is idle, task_completed or task_failed, not `{name}`");
        return Err(Complaint::error(SourceSpan::default(), message));
    };
    let team = native.get("team").cloned().unwrap_or_default();
    let field = |key: &str| text(&team, key).unwrap_or_default();
    let task = native.get("task").filter(|task| task.is_object());
    let facts = Facts {
        team: Some(TeamFacts {
            id: field("id"),
            dir: field("dir").into(),
            list: field("taskListId"),
            style: field("style"),
        }),
        member: text(&native, "member"),
        task: task.map(task_fact),
        ..Facts::default()
    };
    let session = field("id");
    Ok(Heard { row, name, session, cwd: None, facts, native }.into_event(dialect, arrival))
}

fn task_fact(task: &Value) -> TaskFacts {
    let field = |key: &str| text(task, key).unwrap_or_default();
    TaskFacts {
        id: task.get("id").map(crate::payload::loose_text).unwrap_or_default(),
        subject: field("subject"),
        description: field("description"),
        owner: text(task, "owner"),
        status: field("status"),
        native: task.clone(),
    }
}

/// The team of an event; for a caller that has none, one under the teams' root (never in the
/// project, where its logs would lie about), named by team or session.
pub fn team(event: &Event) -> TeamFacts {
    let named = event.facts.team.clone().unwrap_or_default();
    let id = match named.id.is_empty() {
        true => event.session.clone(),
        false => named.id,
    };
    let or = |value: String, other: &str| if value.is_empty() { other.to_owned() } else { value };
    let dir = match named.dir.as_os_str().is_empty() {
        true => {
            let root = teams_root(&event.env).unwrap_or_else(|| event.project.clone());
            root.join(sanitized(&id))
        }
        false => named.dir,
    };
    TeamFacts { list: or(named.list, &id), style: or(named.style, "normal"), id, dir }
}

/// Replaces every character outside `[a-zA-Z0-9_-]` by `-`.
fn sanitized(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' };
    name.chars().map(safe).collect()
}

/// The whole context, within the limits of pi-teams.
pub fn context(event: &Event, own_name: &str) -> Value {
    let team = team(event);
    let task = match own_name {
        "idle" => Value::Null,
        _ => event.facts.task.as_ref().map_or(Value::Null, |task| task_json(task, event)),
    };
    let own = json!({
        "version": 1,
        "event": own_name,
        "team": {"id": team.id, "dir": team.dir, "taskListId": team.list, "style": team.style},
        "member": event.facts.member,
        "timestamp": timestamp(event),
        "task": task,
    });
    match event.is_from(&Teams) {
        true => with_unknown(own, &event.native),
        false => own,
    }
}

/// Adds fields that a newer caller sends, so that they reach the hook.
fn with_unknown(mut own: Value, native: &Value) -> Value {
    add_missing(&mut own, native);
    add_missing(&mut own["team"], &native["team"]);
    own
}

fn add_missing(own: &mut Value, native: &Value) {
    let (Some(own), Some(native)) = (own.as_object_mut(), native.as_object()) else { return };
    for (key, value) in native {
        own.entry(key).or_insert_with(|| value.clone());
    }
}

/// The event's own time when a teams caller sent one; null stays null.
pub fn timestamp(event: &Event) -> Option<String> {
    match event.is_from(&Teams) {
        true => text(&event.native, "timestamp"),
        false => Some(iso_time(event.at, true)),
    }
}

fn task_json(task: &TaskFacts, event: &Event) -> Value {
    let mut object: Map<String, Value> = match &task.native {
        Value::Object(native) if event.is_from(&Teams) => native.clone(),
        _ => Map::new(),
    };
    let time = iso_time(event.at, true);
    let default = |object: &mut Map<String, Value>, key: &str, value: Value| {
        object.entry(key).or_insert(value);
    };
    object.insert("id".into(), json!(task.id));
    object.insert("subject".into(), json!(cut(&task.subject, SUBJECT)));
    object.insert("description".into(), json!(cut(&task.description, DESCRIPTION)));
    default(&mut object, "owner", json!(task.owner));
    default(&mut object, "status", json!(task.status));
    for key in ["blockedBy", "blocks"] {
        let list = object.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        object.insert(key.into(), list.into_iter().take(LIST).collect());
    }
    default(&mut object, "metadata", json!({}));
    default(&mut object, "createdAt", json!(time));
    default(&mut object, "updatedAt", json!(time));
    Value::Object(object)
}

/// Cuts a text above the limit to one unit less and an ellipsis, in UTF-16 units.
fn cut(text: &str, limit: usize) -> String {
    if text.encode_utf16().count() <= limit {
        return text.to_owned();
    }
    let mut units = 0;
    let kept: String = text
        .chars()
        .take_while(|c| {
            units += c.len_utf16();
            units < limit
        })
        .collect();
    kept + "…"
}

/// The variables of pi-teams, and a file with the whole context.
pub fn stage(event: &Event, hook: &Hook) -> Call {
    let own_name = &hook.draft.event;
    let context = context(event, own_name);
    let whole = context.to_string();
    let file = context_file(event);
    let mut env = vec![
        ("PI_TEAMS_HOOK_EVENT", own_name.clone()),
        ("PI_TEAMS_HOOK_CONTEXT_VERSION", "1".into()),
        ("PI_TEAMS_HOOK_CONTEXT_JSON", bounded(context, &whole)),
        ("PI_TEAMS_HOOK_CONTEXT_FILE", file.display().to_string()),
    ];
    env.extend(flat(event, own_name));
    let argv = hook.draft.config.get("argv").and_then(Value::as_array);
    let argv = argv.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned));
    let terms = &hook.draft.policy;
    Call {
        program: Program::Exec(argv.collect()),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        cwd: event.cwd.clone(),
        files: vec![SideFile { path: file, text: Some(whole), temporary: true, lasting: false }],
        limits: terms.limits(),
        ..Call::default()
    }
}

fn context_file(event: &Event) -> PathBuf {
    let name = format!("gambrel-{}-context.json", event.id);
    let folder = event.env.get("TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from);
    folder.join(name)
}

/// A context that is too large for the environment loses its `metadata`, marked, with all unknown
/// fields, and then its long texts. The file has the whole context.
fn bounded(mut context: Value, whole: &str) -> String {
    if whole.len() <= ENV_STRING {
        return whole.to_owned();
    }
    keep(&mut context, &CONTEXT);
    keep(&mut context["team"], &TEAM);
    if context["task"].is_object() {
        keep(&mut context["task"], &TASK);
        context["task"]["metadata"] = json!({"truncated": true});
    }
    let text = context.to_string();
    if text.len() <= ENV_STRING {
        return text;
    }
    if context["task"].is_object() {
        for key in ["blockedBy", "blocks"] {
            context["task"][key] = json!([]);
        }
        context["task"]["description"] = json!("");
    }
    context.to_string()
}

fn keep(object: &mut Value, known: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|key, _| known.contains(&key.as_str()));
    }
}

/// The flat variables; optional ones only if they have a value.
fn flat(event: &Event, own_name: &str) -> Vec<(&'static str, String)> {
    let team = team(event);
    let task = event.facts.task.as_ref().filter(|_| own_name != "idle");
    let always = [
        ("PI_TEAMS_TEAM_ID", team.id),
        ("PI_TEAMS_TEAM_DIR", team.dir.display().to_string()),
        ("PI_TEAMS_TASK_LIST_ID", team.list),
        ("PI_TEAMS_STYLE", team.style),
    ];
    let sometimes = [
        ("PI_TEAMS_MEMBER", event.facts.member.clone()),
        ("PI_TEAMS_EVENT_TIMESTAMP", timestamp(event)),
        ("PI_TEAMS_TASK_ID", task.map(|t| t.id.clone())),
        ("PI_TEAMS_TASK_SUBJECT", task.map(|t| limited(&t.subject))),
        ("PI_TEAMS_TASK_OWNER", task.and_then(|t| t.owner.clone())),
        ("PI_TEAMS_TASK_STATUS", task.map(|t| t.status.clone())),
    ];
    let present = |(name, value): (&'static str, Option<String>)| {
        value.filter(|value| !value.is_empty()).map(|value| (name, value))
    };
    always.into_iter().chain(sometimes.into_iter().filter_map(present)).collect()
}

/// Untruncated by contract; but what the kernel refuses is of no use to the hook.
fn limited(subject: &str) -> String {
    let mut end = subject.len().min(ENV_STRING);
    while !subject.is_char_boundary(end) {
        end -= 1;
    }
    subject[..end].to_owned()
}
