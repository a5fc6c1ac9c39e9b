//! One handler of a matcher group. What cannot run is kept as an idle draft with its reason, so
//! that a gate is never silently absent.

use gambrel_model::{Complaint, Draft, EventSpec, MatcherText, Source, Subject};
use serde_json::{Value, json};

use super::bridge;
use super::config::Reading;
use super::events::takes;
use super::guard::Rule;
use super::judge;
use super::kinds::misfit;
use super::owner::SKILL;
use super::terms::terms;
use crate::document::{Content, Fields, Node};

/// What a matcher group gives to each of its handlers.
pub struct Group {
    /// The event.
    pub row: &'static EventSpec,
    /// Which of its kind.
    pub matcher: MatcherText,
    /// Why none of its handlers runs, if none does.
    pub idle: Option<String>,
}

/// One handler type: its word, the action that would run it, what it cannot do without, and
/// what else it may have.
struct Type {
    word: &'static str,
    action: &'static str,
    needs: &'static [&'static str],
    takes: &'static [&'static str],
}

const TYPES: &[Type] = &[
    Type {
        word: "command",
        action: "shell",
        needs: &["command"],
        takes: &["args", "shell", "async", "asyncRewake", "rewakeMessage", "rewakeSummary"],
    },
    Type {
        word: "http",
        action: "webhook",
        needs: &["url"],
        takes: &["headers", "allowedEnvVars"],
    },
    Type { word: "mcp_tool", action: "mcp_tool", needs: &["server", "tool"], takes: &["input"] },
    Type {
        word: "prompt",
        action: "shell",
        needs: &["prompt"],
        takes: &["model", "continueOnBlock"],
    },
    Type { word: "agent", action: "shell", needs: &["prompt"], takes: &["model"] },
];

/// Fields that every type has.
const SHARED: &[&str] = &["type", "if", "timeout", "onFailure", "statusMessage", "once"];

/// The draft of a handler; `None` only when it is not even a map.
pub fn handler(reading: &mut Reading<'_>, group: &Group, node: &Node) -> Option<Draft> {
    if !matches!(node.content, Content::Map(_)) {
        let message = format!("a handler is a map, not {}", node.kind());
        let help = "write {\"type\": \"command\", \"command\": \"…\"}";
        reading.complain(node, message, Some(help.into()));
        return None;
    }
    let mut fields = Fields::of(reading.document, node);
    let kind = kind(&mut fields);
    let calls_gambrel = calls_gambrel(&fields, kind);
    let idle = idle(&mut fields, group, kind)
        .or_else(|| kind.and_then(|kind| unmet(reading, &mut fields, kind)));
    let terms = terms(&mut fields, group.row, kind.map_or("", |kind| kind.word), reading.roots);
    if let Some(kind) = kind {
        fields.only(&[SHARED, kind.needs, kind.takes].concat());
    }
    let status = fields.text("statusMessage").filter(|text| !text.trim().is_empty());
    let in_skill = reading.owner.as_ref().is_some_and(|owner| owner.kind == SKILL);
    let once = fields.flag("once") == Some(true) && in_skill;
    reading.complaints.append(&mut fields.complaints);
    let config = config(reading, node, kind);
    Some(Draft {
        event: group.row.name.to_owned(),
        source: Source {
            spot: reading.document.spot_of(node),
            scope: reading.file.place.scope,
            base: reading.file.base.clone(),
        },
        matcher: group.matcher.clone(),
        action: kind.map_or("shell", |kind| kind.action).to_owned(),
        dedup_key: Some(twin(&config)),
        config,
        policy: terms,
        disabled: reading.off.clone().or(idle),
        once,
        status,
        calls_gambrel,
        ..Draft::default()
    })
}

fn kind(fields: &mut Fields<'_>) -> Option<&'static Type> {
    if !fields.has("type") {
        let help = "add \"type\": \"command\"";
        fields.complain("type", "this handler has no `type`, so it never runs", help);
        return None;
    }
    let words: Vec<&'static str> = TYPES.iter().map(|kind| kind.word).collect();
    let word = fields.word("type", &words)?;
    TYPES.iter().find(|kind| kind.word == word)
}

/// Why a handler cannot run, if it cannot. Every part is read, so that every mistake is told.
fn idle(fields: &mut Fields<'_>, group: &Group, kind: Option<&Type>) -> Option<String> {
    let Some(kind) = kind else { return Some("its `type` is missing or not known".into()) };
    let missing = missing(fields, kind);
    let odd = misfit(fields, kind.word);
    let guarded = guarded(fields, group.row);
    let unheard = (!takes(group.row, kind.word)).then(|| {
        let event = if group.row.name.is_empty() { "an unknown event" } else { group.row.name };
        let why = format!("{event} takes no {} handlers, so it never runs", kind.word);
        fields.complain("type", why.clone(), "use a command here");
        why
    });
    missing.or(group.idle.clone()).or(odd).or(unheard).or(guarded)
}

fn missing(fields: &mut Fields<'_>, kind: &Type) -> Option<String> {
    let mut idle = None;
    for need in kind.needs {
        if !fields.has(need) {
            let message = format!("`{need}` is missing: a {} handler needs it", kind.word);
            fields.complain(need, message, &format!("add \"{need}\": \"…\""));
        } else if let Some(text) = fields.text(need) {
            if !text.trim().is_empty() {
                continue;
            }
            fields.complain(need, format!("`{need}` is empty"), "say what is to run");
        }
        idle = Some(format!("its `{need}` is missing or not a text"));
    }
    idle
}

/// Whether the handler is an entry of `gambrel install`: running it from here would be a circle.
fn calls_gambrel(fields: &Fields<'_>, kind: Option<&Type>) -> bool {
    if kind.is_none_or(|kind| kind.word != "command") {
        return false;
    }
    let command = fields.node("command").and_then(Node::text).unwrap_or_default();
    let args = fields.node("args").and_then(Node::items);
    let args: Option<Vec<String>> =
        args.and_then(|args| args.iter().map(|arg| arg.text().map(str::to_owned)).collect());
    bridge::is_ours(command, args.as_deref())
}

/// Reads `if`. A rule that cannot be understood is told, and its hook runs: better asked too often.
fn guarded(fields: &mut Fields<'_>, row: &EventSpec) -> Option<String> {
    if !fields.has("if") {
        return None;
    }
    let rule = fields.quoted("if");
    if row.subject != Subject::Tool {
        let message = format!("`if` is about a tool and {} has none, so it never runs", row.name);
        let spot = rule.map(|rule| rule.spot);
        fields.complaints.extend(
            spot.map(|spot| Complaint::warning(spot, &message).with_help("leave `if` out here")),
        );
        return Some(format!("disabled: {message}"));
    }
    let rule = rule?;
    let doubt = match Rule::parse(&rule.text) {
        Ok(understood) => understood.doubt().map(|why| Complaint::warning(rule.spot, why)),
        Err(why) => Some(
            Complaint::error(rule.spot, format!("{why}, so the hook always runs"))
                .with_help("write one rule such as `Bash(git push *)` or `Edit(src/**)`"),
        ),
    };
    fields.complaints.extend(doubt);
    None
}

/// What a handler needs that is written elsewhere, and is not there.
fn unmet(reading: &Reading<'_>, fields: &mut Fields<'_>, kind: &Type) -> Option<String> {
    let settled = reading.settled;
    let written = |key: &str| fields.node(key).and_then(Node::text).unwrap_or_default();
    match kind.word {
        "http" => {
            let url = written("url").to_owned();
            let refused = settled.fences.refuses(reading.file.place.scope, &url)?;
            fields.complain("url", refused.clone(), "add it there, or call an address that is");
            Some(refused)
        }
        "mcp_tool"
            if settled.servers.get(written("server"), reading.file.place.scope).is_none() =>
        {
            let own = reading.file.place.scope.is_own();
            let whose =
                if own { " of yours (a project's servers are for its own hooks)" } else { "" };
            let why = format!("no server `{}` in .mcp.json{whose}", written("server"));
            let known = settled.servers.names().join(", ");
            let help = match known.is_empty() {
                true => "add it under \"mcpServers\" in .mcp.json".to_owned(),
                false => format!("known are {known}"),
            };
            fields.complain("server", why.clone(), &help);
            Some(why)
        }
        "prompt" | "agent" if command(reading, kind.word).is_none() => {
            let why = format!("no command answers {} handlers", kind.word);
            let help = "put `model: {command: \"claude -p\"}` into gambrel/config.yaml in your \
                 configuration folder, or set GAMBREL_MODEL_COMMAND";
            fields.complain("type", why.clone(), help);
            Some(why)
        }
        _ => None,
    }
}

/// The user's command that answers a type of handler.
fn command<'r>(reading: &'r Reading<'_>, word: &str) -> Option<&'r String> {
    let preferences = &reading.settled.preferences;
    if word == "prompt" { preferences.model.as_ref() } else { preferences.agent.as_ref() }
}

/// As written, with the plugin, skill or agent that it belongs to, and what it needs of other files.
fn config(reading: &Reading<'_>, node: &Node, kind: Option<&Type>) -> Value {
    let mut config = node.to_value();
    if let Some(owner) = &reading.owner {
        owner.note(&mut config);
    }
    if let Some(kind) = kind {
        borrow(reading, &mut config, kind);
    }
    if let Some(folder) = reading.plugin() {
        reading.settled.plugins.note(&mut config, &folder);
    }
    config
}

/// What a handler needs of other files.
fn borrow(reading: &Reading<'_>, config: &mut Value, kind: &Type) {
    let settled = reading.settled;
    let named = |key: &str| config.get(key).and_then(Value::as_str).unwrap_or_default();
    let added = match kind.word {
        "http" => {
            let asked =
                config.get("allowedEnvVars").and_then(Value::as_array).into_iter().flatten();
            let asked = asked.filter_map(Value::as_str).map(str::to_owned).collect();
            let may = settled.fences.variables(reading.file.place.scope, asked);
            vec![("allowedEnvVars", json!(may)), ("reachable", json!(settled.preferences.allow))]
        }
        "mcp_tool" => {
            let scope = reading.file.place.scope;
            let server = settled.servers.get(named("server"), scope).cloned().unwrap_or_default();
            vec![("serverDefinition", server), ("reachable", json!(settled.preferences.allow))]
        }
        "prompt" | "agent" => {
            command(reading, kind.word).map(|c| (judge::COMMAND, json!(c))).into_iter().collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in added {
        config[key] = value;
    }
}

/// Two handlers with the same text are one, wherever they stand; a plugin's copies are its own.
fn twin(config: &Value) -> String {
    let keys =
        ["type", "command", "args", "shell", "if", "url", "server", "tool", "input", "prompt"];
    let mut text = String::new();
    for key in keys.iter().chain(&["pluginRoot", "owner"]) {
        match config.get(*key) {
            Some(Value::String(part)) => text.push_str(part),
            Some(part) => text.push_str(&part.to_string()),
            None => {}
        }
        // A mark that no command can hold, so that two parts cannot pass for one.
        text.push('\0');
    }
    text
}
