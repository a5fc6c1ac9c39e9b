//! One action of a hook point, with its type's own fields. What cannot run is kept with the
//! reason, so that it is never silently absent.

use std::time::Duration;

use gambrel_model::complaint::nearest_word;
use gambrel_model::condition::Condition;
use gambrel_model::{
    Complaint, Dialect, Draft, EventSpec, HookPolicy, MatcherText, Moment, Severity, Source,
    SourceSpan, SpannedText, Subject,
};

use serde_json::{Value, json};

use super::config::Reading;
use super::{Unified, events, notes, rule, terms, variables, webhook};
use crate::document::{Content, Document, Fields, Node};

/// A type of action.
pub struct Type {
    /// Its word, which is its action's.
    pub word: &'static str,
    /// The one field without which it means nothing.
    pub needs: &'static str,
    /// What only some types have.
    pub takes: &'static [&'static str],
    /// Whether it is waited for unless the author says otherwise.
    pub waits: bool,
    /// How long, unless the author says otherwise.
    pub timeout: Duration,
    /// Attempts after the first when it is to be tried again.
    pub retries: u64,
}

/// The three action types of agent-pipelines with their fields, and gambrel's own.
const TYPES: [Type; 4] = [
    Type {
        word: "shell",
        needs: "command",
        takes: &["env", "cwd", "pass_env", "trust_files"],
        waits: false,
        timeout: Duration::from_secs(300),
        retries: 3,
    },
    Type {
        word: "webhook",
        needs: "url",
        takes: &["method", "headers", "body", "callback_port", "on_timeout", "on_reject", "sign"],
        waits: false,
        timeout: Duration::from_secs(3_600),
        retries: 3,
    },
    Type {
        word: "spawn",
        needs: "pipeline",
        takes: &["inputs", "pass_env"],
        waits: true,
        timeout: Duration::from_secs(3_600),
        retries: 0,
    },
    Type {
        word: "rule",
        needs: "rule",
        takes: &["block", "ask", "say", "redact", "fact", "message", "with"],
        waits: true,
        timeout: Duration::from_secs(10),
        retries: 0,
    },
];

/// Fields that every type has; those after `when` are ours.
const SHARED: [&str; 12] = [
    "type",
    "await",
    "timeout",
    "on_failure",
    "retries",
    "retry_delay",
    "when",
    "name",
    "priority",
    "matcher",
    "tools",
    "strict",
];

/// The draft of an action; `None` only when it is not even a map.
pub fn draft(reading: &mut Reading<'_>, row: &'static EventSpec, node: &Node) -> Option<Draft> {
    if !matches!(node.content, Content::Map(_)) {
        let message = format!("an action is a map, not {}", node.kind());
        reading.error(node, message, "write `- type: shell` and `command: \"…\"` under it");
        return None;
    }
    let mut fields = Fields::of(reading.document, node);
    let kind = kind(&mut fields);
    let mut pattern = None;
    let terms = match kind {
        Some(kind) => {
            pattern = own_fields(&mut fields, kind, row, reading.document);
            terms::terms(&mut fields, kind, row)
        }
        None => HookPolicy::default(),
    };
    let (name, priority) = (fields.text("name"), fields.whole("priority").unwrap_or(0));
    let strict = fields.flag("strict") == Some(true);
    let (matcher, when) = (matcher(&mut fields, row), condition(&mut fields, row));
    let broken = fields.complaints.iter().find(|c| c.severity == Severity::Error);
    let idle = reading.off.clone().or(broken.map(|complaint| complaint.message.clone()));
    // A question that cannot be asked because of a mistake denies too
    // (`contracts/unified/CONTRACT.md#approvals-at-gates`).
    let asks = kind.is_some_and(|kind| kind.word == "webhook") && terms.blocking;
    let lax = fields.node("on_failure").and_then(Node::text) == Some("continue");
    let strict = strict || (broken.is_some() && asks && !lax && events::is_neutral_gate(row));
    if kind.is_some_and(|kind| kind.word == "webhook") {
        webhook::check_url(&mut fields);
    }
    reading.complaints.append(&mut fields.complaints);
    strays(reading, node, kind);
    if let Some(kind) = kind.filter(|_| idle.is_none()) {
        notes::add(reading, row, node, kind, &terms);
    }
    Some(Draft {
        event: row.name.to_owned(),
        source: Source {
            spot: reading.document.spot_of(node),
            scope: reading.file.place.scope,
            base: reading.file.base.clone(),
        },
        name,
        matcher,
        when,
        action: kind.map_or("shell", |kind| kind.word).to_owned(),
        config: config(reading, node, kind),
        policy: terms,
        priority,
        disabled: idle,
        strict,
        pattern,
        ..Draft::default()
    })
}

/// As written; the fields of a `rule:` beside the others, and where requests may go.
fn config(reading: &Reading<'_>, node: &Node, kind: Option<&Type>) -> Value {
    let mut config = node.to_value();
    if let Some(Value::Object(inner)) = config.get("rule").cloned() {
        for (key, value) in inner {
            config[key] = value;
        }
    }
    if kind.is_some_and(|kind| kind.word == "webhook") && !reading.reachable.is_empty() {
        config["reachable"] = json!(reading.reachable);
    }
    config
}

fn kind(fields: &mut Fields<'_>) -> Option<&'static Type> {
    if fields.has("type") {
        let word = fields.word("type", &TYPES.map(|kind| kind.word))?;
        return TYPES.iter().find(|kind| kind.word == word);
    }
    // Ours, and short: a rule needs no other word.
    let is_rule = fields.has("rule") || rule::DOES.iter().any(|word| fields.has(word));
    if is_rule {
        return TYPES.iter().find(|kind| kind.word == "rule");
    }
    let meant = TYPES.iter().find(|kind| fields.has(kind.needs)).unwrap_or(&TYPES[0]);
    fields.complain("type", "this action has no `type`", &format!("add `type: {}`", meant.word));
    None
}

/// The fields that only this type has; the pattern, if it has one.
fn own_fields(
    fields: &mut Fields<'_>,
    kind: &Type,
    row: &EventSpec,
    document: &Document<'_>,
) -> Option<(String, SpannedText)> {
    if kind.word == "rule" {
        let Some(inner) = fields.node("rule").filter(|n| matches!(n.content, Content::Map(_)))
        else {
            return rule::look(fields, row);
        };
        let mut inner = Fields::of(document, inner);
        let pattern = rule::look(&mut inner, row);
        inner.only(kind.takes);
        fields.complaints.append(&mut inner.complaints);
        return pattern;
    }
    let need = kind.needs;
    let written = fields.has(need);
    let text = fields.text(need);
    if !written || text.as_ref().is_some_and(|text| text.trim().is_empty()) {
        let message = format!("a {} action needs `{need}`", kind.word);
        fields.complain(need, message, &format!("add `{need}: \"…\"`"));
    }
    if kind.takes.contains(&"pass_env") {
        let _ = fields.texts("pass_env");
    }
    match kind.word {
        "webhook" => webhook::look(fields),
        "spawn" => map(fields, "inputs"),
        _ => {
            map(fields, "env");
            let _ = fields.text("cwd");
            let _ = fields.texts("trust_files");
        }
    }
    None
}

/// Complains of a field that should be a map and is not.
pub fn map(fields: &mut Fields<'_>, key: &str) {
    let node = fields.node(key);
    if let Some(node) = node.filter(|node| !matches!(node.content, Content::Map(_))) {
        let message = format!("`{key}` should be a map, but is {}", node.kind());
        fields.complain(key, message, "write `name: value` lines under it");
    }
}

/// Everything, a list of exact words, or a pattern.
fn matcher(fields: &mut Fields<'_>, row: &EventSpec) -> MatcherText {
    if let Some(tools) = fields.has("tools").then(|| fields.texts("tools")).flatten() {
        return kinds(fields, row, tools);
    }
    let Some(written) = fields.quoted("matcher") else { return MatcherText::All };
    let text = written.text.trim();
    if text.is_empty() || text == "*" {
        return MatcherText::All;
    }
    if row.subject != Subject::Tool {
        let message = format!("{} has no tool, so its hooks run whatever `matcher` says", row.name);
        fields
            .complaints
            .push(Complaint::warning(written.spot, message).with_help("use `when` instead"));
        return MatcherText::All;
    }
    let in_list = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | ',' | '|' | '-');
    if !text.chars().all(in_list) {
        return MatcherText::Pattern(written);
    }
    let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    fields.complaints.extend(names.iter().filter_map(|name| unusual(name, &written.spot)));
    MatcherText::Names(names)
}

/// `tools: [shell, edit]`: our words for kinds of tools, whoever calls.
fn kinds(fields: &mut Fields<'_>, row: &EventSpec, tools: Vec<String>) -> MatcherText {
    if row.subject != Subject::Tool {
        let message = format!("{} has no tool, so its hooks run whatever `tools` says", row.name);
        fields.complain("tools", message, "use `when` instead");
    }
    if fields.has("matcher") {
        let message = "`tools` and `matcher` say the same thing: only `tools` counts";
        fields.complain("matcher", message, "leave one of them out");
    }
    let spot = fields.node("tools").map(|node| fields.spot(node)).unwrap_or_default();
    fields.complaints.extend(tools.iter().filter_map(|name| unusual(name, &spot)));
    MatcherText::Names(tools)
}

/// A caller's own word for a tool is met by its own tools only.
fn unusual(name: &str, spot: &SourceSpan) -> Option<Complaint> {
    let words: Vec<&str> = Unified.tools().iter().map(|word| word.name).collect();
    if words.contains(&name) || name.contains("__") {
        return None;
    }
    let message = format!("`{name}` is not one of our words for tools: callers without it pass by");
    let help = format!("for every caller's tools write {}", words.join(", "));
    Some(Complaint::warning(spot.clone(), message).with_help(help))
}

fn condition(fields: &mut Fields<'_>, row: &EventSpec) -> Option<SpannedText> {
    let when = fields.quoted("when")?;
    // What is no condition at all is told when the hook is built.
    let Ok(parsed) = Condition::parse(&when.text) else { return Some(when) };
    for name in parsed.variables() {
        if let Some((message, help)) = doubt(name, row) {
            let at = when.span_at(when.text.find(name).unwrap_or(0));
            fields.complaints.push(Complaint::warning(at, message).with_help(help));
        }
    }
    Some(when)
}

fn doubt(name: &str, row: &EventSpec) -> Option<(String, String)> {
    if name == variables::ERROR && row.moment != Moment::Error {
        let message = format!("`{name}` is set in on_error only, and empty at {}", row.name);
        return Some((message, "move the action to `on_error`".into()));
    }
    if variables::is_known(name) {
        return None;
    }
    let near = nearest_word(name, variables::names())?;
    let message = format!("`{name}` is no variable of ours: it is read from the environment");
    Some((message, format!("did you mean `${{{near}}}`?")))
}

/// Fields that nobody reads, or that another type would.
fn strays(reading: &mut Reading<'_>, node: &Node, kind: Option<&Type>) {
    let other =
        |key: &str| TYPES.iter().find(|other| other.needs == key || other.takes.contains(&key));
    let mut known = SHARED.to_vec();
    known.extend(TYPES.iter().flat_map(|other| other.takes.iter().copied().chain([other.needs])));
    let mut fields = Fields::of(reading.document, node);
    fields.only(&known);
    reading.complaints.append(&mut fields.complaints);
    for (key, _) in node.entries() {
        let name = key.text().unwrap_or_default();
        let Some((owner, kind)) = other(name).zip(kind).filter(|(o, k)| o.word != k.word) else {
            continue;
        };
        let message = format!("`{name}` belongs to `type: {}`", owner.word);
        reading.warn(key, message, &format!("a {} action does not read it", kind.word));
    }
}
