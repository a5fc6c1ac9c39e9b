//! Reads and writes the context JSON of pi-teams, version 1, with its limits.

use std::path::PathBuf;

use gambrel_model::description::value_text;
use gambrel_model::text::{sanitize_name, truncate_bytes};
use gambrel_model::{
    Call, CallerContext, Complaint, Event, Facts, Hook, ParsedEvent, Program, SideFile, TaskFacts,
    TeamFacts, iso_time,
};
use serde_json::{Map, Value, json};

use super::config::teams_root;
use super::{HOOK_CONTRACT_VERSION, TEAMS};
use crate::event_parts::{event_error, event_name, parse_object, text_field};

/// Limits of the context (`contracts/teams/CONTRACT.md#context`).
const MAX_SUBJECT_CHARS: usize = 1_000;
const MAX_DESCRIPTION_CHARS: usize = 8_000;
const MAX_LIST_COUNT: usize = 200;
/// Linux takes at most 128 KiB in one environment string; this leaves room for the name.
const MAX_ENV_BYTES: usize = 120 * 1024;
/// Keys of the context that are never omitted, even if it is too large.
const CONTEXT_KEYS: [&str; 6] = ["version", "event", "team", "member", "timestamp", "task"];
const TEAM_KEYS: [&str; 4] = ["id", "dir", "taskListId", "style"];
#[rustfmt::skip]
const TASK_KEYS: [&str; 9] = [
    "id", "subject", "description", "owner", "status", "blockedBy", "blocks", "createdAt", "updatedAt",
];

/// Parses a context JSON.
pub fn parse_event(native: &[u8], context: &CallerContext) -> Result<ParsedEvent, Complaint> {
    let native = parse_object(native)?;
    let name = event_name(&native, "event", context).unwrap_or_default();
    let Some(row) = TEAMS.find_spec(&name) else {
        let message = format!("`event` is idle, task_completed or task_failed, not `{name}`");
        return Err(event_error(message));
    };
    let team = native.get("team").cloned().unwrap_or_default();
    let field = |key: &str| text_field(&team, key).unwrap_or_default();
    let task = native.get("task").filter(|task| task.is_object());
    let facts = Facts {
        team: Some(TeamFacts {
            id: field("id"),
            dir: field("dir").into(),
            list: field("taskListId"),
            style: field("style"),
        }),
        member: text_field(&native, "member"),
        task: task.map(task_fact),
        ..Facts::default()
    };
    let session = field("id");
    Ok(ParsedEvent { session, facts, ..ParsedEvent::new(&TEAMS, row, name, native) })
}

fn task_fact(task: &Value) -> TaskFacts {
    let field = |key: &str| text_field(task, key).unwrap_or_default();
    TaskFacts {
        id: task.get("id").map(value_text).unwrap_or_default(),
        subject: field("subject"),
        description: field("description"),
        owner: text_field(task, "owner"),
        status: field("status"),
        native: task.clone(),
    }
}

/// The team of an event. A caller without a team gets one below the teams' root, named by its
/// session. It is not in the project, so that logs do not appear there.
pub fn team_of(event: &Event) -> TeamFacts {
    let named = event.facts.team.clone().unwrap_or_default();
    let id = if named.id.is_empty() { event.session.clone() } else { named.id };
    let or = |value: String, other: &str| if value.is_empty() { other.to_owned() } else { value };
    let dir = match named.dir.as_os_str().is_empty() {
        true => {
            let root = teams_root(&event.context.env).unwrap_or_else(|| event.project.clone());
            root.join(sanitize_name(&id))
        }
        false => named.dir,
    };
    TeamFacts { list: or(named.list, &id), style: or(named.style, "normal"), id, dir }
}

/// Builds the context, within the limits of pi-teams.
pub fn build_context(event: &Event, own_name: &str) -> Value {
    let team = team_of(event);
    let task = match own_name {
        "idle" => Value::Null,
        _ => event.facts.task.as_ref().map_or(Value::Null, |task| task_json(task, event)),
    };
    let own = json!({
        "version": HOOK_CONTRACT_VERSION,
        "event": own_name,
        "team": {"id": team.id, "dir": team.dir, "taskListId": team.list, "style": team.style},
        "member": event.facts.member,
        "timestamp": event_timestamp(event),
        "task": task,
    });
    if event.is_from(&TEAMS) { with_unknown(own, &event.native) } else { own }
}

/// A warning for the log if the caller's context has another version than hooks receive.
pub fn version_warning(event: &Event) -> Option<String> {
    let version = event.native.get("version").filter(|_| event.is_from(&TEAMS))?;
    let is_same = version.as_u64() == Some(HOOK_CONTRACT_VERSION);
    (!is_same).then(|| {
        format!(
            "contract version {version} is not supported; the hook received version \
             {HOOK_CONTRACT_VERSION}"
        )
    })
}

/// Adds the caller's unknown fields, so that a hook receives the fields of newer callers.
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

/// The time of the event. A pi-teams caller sends it, and it may be null.
pub fn event_timestamp(event: &Event) -> Option<String> {
    match event.is_from(&TEAMS) {
        true => text_field(&event.native, "timestamp"),
        false => Some(iso_time(event.at, true)),
    }
}

fn task_json(task: &TaskFacts, event: &Event) -> Value {
    let mut object: Map<String, Value> = match &task.native {
        Value::Object(native) if event.is_from(&TEAMS) => native.clone(),
        native => board_fields(native),
    };
    let time = iso_time(event.at, true);
    let default = |object: &mut Map<String, Value>, key: &str, value: Value| {
        object.entry(key).or_insert(value);
    };
    object.insert("id".into(), json!(task.id));
    object.insert("subject".into(), json!(cut_utf16(&task.subject, MAX_SUBJECT_CHARS)));
    object.insert("description".into(), json!(cut_utf16(&task.description, MAX_DESCRIPTION_CHARS)));
    default(&mut object, "owner", json!(task.owner));
    default(&mut object, "status", json!(task.status));
    for key in ["blockedBy", "blocks"] {
        let list = object.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        object.insert(key.into(), list.into_iter().take(MAX_LIST_COUNT).collect());
    }
    default(&mut object, "metadata", json!({}));
    default(&mut object, "createdAt", json!(time));
    default(&mut object, "updatedAt", json!(time));
    Value::Object(object)
}

/// The fields of a task on another board that pi-teams has, too.
fn board_fields(native: &Value) -> Map<String, Value> {
    let field = |key: &'static str| Some((key.to_owned(), native.get(key)?.clone()));
    let time = |key: &'static str| {
        let at = native.get(key)?.as_u64()?;
        Some((key.to_owned(), json!(iso_time(at, true))))
    };
    let lists = ["blockedBy", "blocks", "metadata"].into_iter().filter_map(field);
    let fields = lists.filter(|(_, value)| value.is_array() || value.is_object());
    fields.chain(["createdAt", "updatedAt"].into_iter().filter_map(time)).collect()
}

/// Cuts a text above the limit to one unit less and an ellipsis, in UTF-16 units.
fn cut_utf16(text: &str, limit: usize) -> String {
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

/// Builds the call of a script, with the variables of pi-teams and a file with the whole context.
pub fn stage_call(event: &Event, hook: &Hook) -> Call {
    let own_name = &hook.draft.event;
    let context = build_context(event, own_name);
    let whole = context.to_string();
    let file = context_file(event);
    let mut env = vec![
        ("PI_TEAMS_HOOK_EVENT", own_name.clone()),
        ("PI_TEAMS_HOOK_CONTEXT_VERSION", HOOK_CONTRACT_VERSION.to_string()),
        ("PI_TEAMS_HOOK_CONTEXT_JSON", context_for_env(context, &whole)),
        ("PI_TEAMS_HOOK_CONTEXT_FILE", file.display().to_string()),
    ];
    env.extend(flat_variables(event, own_name));

    let argv = hook.draft.config.get("argv").and_then(Value::as_array);
    let argv = argv.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned));
    let policy = &hook.draft.policy;
    Call {
        program: Program::Exec(argv.collect()),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        cwd: event.cwd.clone(),
        files: vec![SideFile { path: file, text: Some(whole), temporary: true, lasting: false }],
        limits: policy.limits.clone(),
        ..Call::default()
    }
}

fn context_file(event: &Event) -> PathBuf {
    let name = format!("gambrel-{}-context.json", event.id);
    let folder = event.context.env.get("TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from);
    folder.join(name)
}

/// The context for the environment. If it is too large, `metadata` and all unknown fields are
/// removed, and then the long texts. The file has the whole context.
fn context_for_env(mut context: Value, whole: &str) -> String {
    if whole.len() <= MAX_ENV_BYTES {
        return whole.to_owned();
    }
    retain_keys(&mut context, &CONTEXT_KEYS);
    retain_keys(&mut context["team"], &TEAM_KEYS);
    if context["task"].is_object() {
        retain_keys(&mut context["task"], &TASK_KEYS);
        context["task"]["metadata"] = json!({"truncated": true});
    }
    let text = context.to_string();
    if text.len() <= MAX_ENV_BYTES {
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

fn retain_keys(object: &mut Value, known: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|key, _| known.contains(&key.as_str()));
    }
}

/// One variable for each simple field. Optional fields only if they have a value.
fn flat_variables(event: &Event, own_name: &str) -> Vec<(&'static str, String)> {
    let team = team_of(event);
    let task = event.facts.task.as_ref().filter(|_| own_name != "idle");
    let always = [
        ("PI_TEAMS_TEAM_ID", team.id),
        ("PI_TEAMS_TEAM_DIR", team.dir.display().to_string()),
        ("PI_TEAMS_TASK_LIST_ID", team.list),
        ("PI_TEAMS_STYLE", team.style),
    ];
    let sometimes = [
        ("PI_TEAMS_MEMBER", event.facts.member.clone()),
        ("PI_TEAMS_EVENT_TIMESTAMP", event_timestamp(event)),
        ("PI_TEAMS_TASK_ID", task.map(|t| t.id.clone())),
        // The contract has no limit here, but the kernel has.
        ("PI_TEAMS_TASK_SUBJECT", task.map(|t| truncate_bytes(&t.subject, MAX_ENV_BYTES, ""))),
        ("PI_TEAMS_TASK_OWNER", task.and_then(|t| t.owner.clone())),
        ("PI_TEAMS_TASK_STATUS", task.map(|t| t.status.clone())),
    ];
    let present = |(name, value): (&'static str, Option<String>)| {
        value.filter(|value| !value.is_empty()).map(|value| (name, value))
    };
    always.into_iter().chain(sometimes.into_iter().filter_map(present)).collect()
}
