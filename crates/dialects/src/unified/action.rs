//! Reads one action of a hook point. An action that cannot run becomes a disabled draft with a
//! reason, so that it is never silently absent.

use std::sync::Arc;
use std::time::Duration;

use gambrel_document::{DocumentFields, DocumentNode};
use gambrel_model::complaint::nearest_word;
use gambrel_model::condition::Condition;
use gambrel_model::{
    Complaint, Disabled, Draft, EventSpec, HookPolicy, MatcherText, Moment, Severity, Source,
    SourceSpan, SpannedText, Subject,
};

use serde_json::{Value, json};

use super::config::ConfigReader;
use super::{UNIFIED, events, hook_policy, notes, rule, variables, webhook};

/// An action type.
pub struct ActionType {
    /// The value of `type`, which is also the name of the action.
    pub name: &'static str,
    /// The required field.
    pub required_field: &'static str,
    /// Optional fields that not every type has.
    pub optional_fields: &'static [&'static str],
    /// The default of `await`.
    pub waits: bool,
    /// The default timeout.
    pub timeout: Duration,
    /// The default number of retries.
    pub retries: u64,
}

/// The three action types of agent-pipelines, and `rule` of gambrel.
pub const ACTION_TYPES: [ActionType; 4] = [
    ActionType {
        name: "shell",
        required_field: "command",
        optional_fields: &["env", "cwd", "pass_env", "trust_files"],
        waits: false,
        timeout: Duration::from_secs(300),
        retries: 3,
    },
    ActionType {
        name: "webhook",
        required_field: "url",
        optional_fields: &[
            "method",
            "headers",
            "body",
            "callback_port",
            "on_timeout",
            "on_reject",
            "sign",
        ],
        waits: false,
        timeout: Duration::from_secs(3_600),
        retries: 3,
    },
    ActionType {
        name: "spawn",
        required_field: "pipeline",
        optional_fields: &["inputs", "pass_env", "trust_files"],
        waits: true,
        timeout: Duration::from_secs(3_600),
        retries: 0,
    },
    ActionType {
        name: "rule",
        required_field: "rule",
        optional_fields: &["block", "ask", "say", "redact", "fact", "message", "with"],
        waits: true,
        timeout: Duration::from_secs(10),
        retries: 0,
    },
];

/// Fields of every type. Those after `when` are gambrel's own.
pub const COMMON_FIELDS: [&str; 12] = [
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

/// The draft of an action; `None` if it is not a map.
pub fn read_action(
    reader: &mut ConfigReader<'_>,
    row: &'static EventSpec,
    node: &DocumentNode,
) -> Option<Draft> {
    if !node.is_map() {
        let message = format!("an action is a map, not {}", node.kind());
        reader.add_error(node, message, "write `- type: shell` and `command: \"…\"` under it");
        return None;
    }

    let mut fields = DocumentFields::new(reader.document, node);
    let kind = read_type(&mut fields);
    let pattern = kind.and_then(|kind| check_own_fields(&mut fields, kind, row));
    let policy = kind
        .map_or_else(HookPolicy::default, |kind| hook_policy::read_policy(&mut fields, kind, row));
    let (name, priority) = (fields.read_text("name"), fields.read_integer("priority").unwrap_or(0));
    let strict = fields.read_flag("strict") == Some(true);
    let (matcher, when) = (read_matcher(&mut fields, row), read_condition(&mut fields, row));

    let broken = fields.complaints.iter().find(|c| c.severity == Severity::Error);
    let off = reader.disabled.clone().map(Disabled::off);
    let idle = off.or(broken.map(|complaint| Disabled::broken(&complaint.message)));
    // A question that cannot be sent because of a mistake denies too
    // (`contracts/unified/CONTRACT.md#approvals-at-gates`).
    let asks = kind.is_some_and(|kind| kind.name == "webhook") && policy.limits.blocking;
    let lax = fields.node("on_failure").and_then(DocumentNode::text) == Some("continue");
    let strict = strict || (broken.is_some() && asks && !lax && events::is_neutral_gate(row));
    if kind.is_some_and(|kind| kind.name == "webhook") {
        webhook::check_url(&mut fields);
    }

    reader.complaints.append(&mut fields.complaints);
    warn_stray_fields(reader, node, kind);
    if let Some(kind) = kind.filter(|_| idle.is_none()) {
        notes::add_notes(reader, row, node, kind, &policy);
    }

    Some(Draft {
        event: row.name.to_owned(),
        source: Source {
            base: reader.base(),
            ..reader.file.source_at(reader.document.span_of(node))
        },
        name,
        matcher,
        when,
        action: kind.map_or("shell", |kind| kind.name).to_owned(),
        config: build_config(reader, node, kind),
        policy,
        priority,
        disabled: idle,
        strict,
        pattern,
        ..Draft::default()
    })
}

/// The action as written, with the fields of `rule:` on the top level, and the reachable hosts.
fn build_config(
    reader: &ConfigReader<'_>,
    node: &DocumentNode,
    kind: Option<&ActionType>,
) -> Value {
    let mut config = node.to_value();
    if let Some(Value::Object(inner)) = config.get("rule").cloned() {
        for (key, value) in inner {
            config[key] = value;
        }
    }
    if kind.is_some_and(|kind| kind.name == "webhook") && !reader.reachable.is_empty() {
        config["reachable"] = json!(reader.reachable);
    }
    config
}

fn read_type(fields: &mut DocumentFields<'_>) -> Option<&'static ActionType> {
    if fields.has_key("type") {
        let word = fields.read_word("type", &ACTION_TYPES.map(|kind| kind.name))?;
        return ACTION_TYPES.iter().find(|kind| kind.name == word);
    }
    // A rule does not need `type`.
    let is_rule =
        fields.has_key("rule") || rule::EFFECT_FIELDS.iter().any(|word| fields.has_key(word));
    if is_rule {
        return ACTION_TYPES.iter().find(|kind| kind.name == "rule");
    }
    let likely = ACTION_TYPES
        .iter()
        .find(|kind| fields.has_key(kind.required_field))
        .unwrap_or(&ACTION_TYPES[0]);
    fields.add_error("type", "this action has no `type`", &format!("add `type: {}`", likely.name));
    None
}

/// Checks the fields of an action type. Returns the pattern of a rule.
fn check_own_fields(
    fields: &mut DocumentFields<'_>,
    kind: &ActionType,
    row: &EventSpec,
) -> Option<(String, SpannedText)> {
    if kind.name == "rule" {
        let Some(node) = fields.node("rule").filter(|node| node.is_map()) else {
            return rule::read_fields(fields, row);
        };
        return fields.read_inner(node, |inner| {
            let pattern = rule::read_fields(inner, row);
            inner.warn_unknown_keys(kind.optional_fields);
            pattern
        });
    }
    let need = kind.required_field;
    let written = fields.has_key(need);
    let text = fields.read_text(need);
    if !written || text.as_ref().is_some_and(|text| text.trim().is_empty()) {
        let message = format!("a {} action needs `{need}`", kind.name);
        fields.add_error(need, message, &format!("add `{need}: \"…\"`"));
    }
    for key in ["pass_env", "trust_files"] {
        if kind.optional_fields.contains(&key) {
            let _ = fields.read_texts(key);
        }
    }
    match kind.name {
        "webhook" => webhook::read_fields(fields),
        "spawn" => drop(fields.read_map("inputs", PAIRS_HELP)),
        _ => {
            fields.read_text_map("env", PAIRS_HELP);
            let _ = fields.read_text("cwd");
        }
    }
    None
}

/// The remedy for a field that is not a map of names and values.
pub const PAIRS_HELP: &str = "write `name: value` lines under it";

/// Reads `matcher` or `tools`: everything, a list of exact names, or a pattern.
fn read_matcher(fields: &mut DocumentFields<'_>, row: &EventSpec) -> MatcherText {
    if let Some(tools) = fields.has_key("tools").then(|| fields.read_texts("tools")).flatten() {
        return read_tools(fields, row, tools);
    }
    let Some(written) = fields.read_spanned("matcher") else { return MatcherText::All };
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
    let names: Arc<[String]> = names.map(str::to_owned).collect();
    fields.complaints.extend(names.iter().filter_map(|name| warn_native_tool(name, &written.spot)));
    MatcherText::Names(names)
}

/// Reads `tools: [shell, edit]`, the neutral names of tools.
fn read_tools(fields: &mut DocumentFields<'_>, row: &EventSpec, tools: Vec<String>) -> MatcherText {
    if row.subject != Subject::Tool {
        let message = format!("{} has no tool, so its hooks run whatever `tools` says", row.name);
        fields.add_error("tools", message, "use `when` instead");
    }
    if fields.has_key("matcher") {
        let message = "`tools` and `matcher` say the same thing: only `tools` counts";
        fields.add_error("matcher", message, "leave one of them out");
    }
    let spot = fields.node("tools").map(|node| fields.span_of(node)).unwrap_or_default();
    fields.complaints.extend(tools.iter().filter_map(|name| warn_native_tool(name, &spot)));
    MatcherText::Names(tools.into())
}

/// Warns of a native tool name, which matches in only some callers.
fn warn_native_tool(name: &str, spot: &SourceSpan) -> Option<Complaint> {
    let words: Vec<&str> = UNIFIED.tools.iter().map(|word| word.name).collect();
    if words.contains(&name) || name.contains("__") {
        return None;
    }
    let message = format!("`{name}` is not a neutral tool name: it matches only in some callers");
    let help = format!("for every caller's tools write {}", words.join(", "));
    Some(Complaint::warning(spot.clone(), message).with_help(help))
}

fn read_condition(fields: &mut DocumentFields<'_>, row: &EventSpec) -> Option<SpannedText> {
    let when = fields.read_spanned("when")?;
    // `Hook::build` reports an invalid condition.
    let Ok(parsed) = Condition::parse(&when.text) else { return Some(when) };
    for name in parsed.variables() {
        if let Some((message, help)) = doubtful_variable(name, row) {
            let at = when.span_at(when.text.find(name).unwrap_or(0));
            fields.complaints.push(Complaint::warning(at, message).with_help(help));
        }
    }
    Some(when)
}

fn doubtful_variable(name: &str, row: &EventSpec) -> Option<(String, String)> {
    if name == variables::ERROR && row.moment != Moment::Error {
        let message = format!("`{name}` is set in on_error only, and empty at {}", row.name);
        return Some((message, "move the action to `on_error`".into()));
    }
    if variables::is_known(name) {
        return None;
    }
    let near = nearest_word(name, variables::known_names())?;
    let message = format!("`{name}` is not a gambrel variable: it is read from the environment");
    Some((message, format!("did you mean `${{{near}}}`?")))
}

/// Warns of unknown fields, and of fields that belong to another action type.
fn warn_stray_fields(
    reader: &mut ConfigReader<'_>,
    node: &DocumentNode,
    kind: Option<&ActionType>,
) {
    let has_field = |kind: &ActionType, key: &str| {
        kind.required_field == key || kind.optional_fields.contains(&key)
    };
    let other = |key: &str| ACTION_TYPES.iter().find(|other| has_field(other, key));
    let own = ACTION_TYPES
        .iter()
        .flat_map(|other| other.optional_fields.iter().copied().chain([other.required_field]));
    let mut known = COMMON_FIELDS.to_vec();
    for key in own {
        if !known.contains(&key) {
            known.push(key);
        }
    }
    let mut fields = DocumentFields::new(reader.document, node);
    fields.warn_unknown_keys(&known);
    reader.complaints.append(&mut fields.complaints);
    for (key, _) in node.entries() {
        let name = key.text().unwrap_or_default();
        let Some((owner, kind)) = other(name).zip(kind).filter(|(_, k)| !has_field(k, name)) else {
            continue;
        };
        let message = format!("`{name}` belongs to `type: {}`", owner.name);
        reader.add_warning(key, message, &format!("a {} action does not read it", kind.name));
    }
}
