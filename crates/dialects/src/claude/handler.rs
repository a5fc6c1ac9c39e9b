//! Reads one handler of a matcher group. A handler that cannot run becomes a disabled draft with a
//! reason, so that a gate is never silently absent.

use gambrel_document::{DocumentFields, DocumentNode};
use gambrel_model::{Complaint, Disabled, Draft, EventSpec, MatcherText, Subject};
use serde_json::{Value, json};

use super::PLUGIN_DIR_KEY;
use super::config::SettingsReader;
use super::event_row::ClaudeEvent;
use super::field_types::check_optional_fields;
use super::findings;
use super::frontmatter_owner::SKILL;
use super::hook_policy::read_policy;
use super::if_rule::IfRule;
use super::model_handler;
use super::self_reference;

/// An event of a settings file.
#[derive(Clone, Copy)]
pub struct NamedEvent<'r> {
    /// Its name, as written.
    pub name: &'r str,
    /// Its row.
    pub row: &'static EventSpec,
    /// The whole row, with the columns of this dialect.
    pub table_row: &'static ClaudeEvent,
}

/// The properties that all handlers of a matcher group share.
pub struct MatcherGroup<'r> {
    /// Its event.
    pub event: NamedEvent<'r>,
    /// The matcher of the group.
    pub matcher: MatcherText,
    /// Why the handlers of the group are disabled, if they are.
    pub disabled: Option<String>,
}

/// A handler type: the value of `type`, the action that runs it, its required fields and its
/// optional fields.
struct HandlerType {
    name: &'static str,
    action: &'static str,
    required_fields: &'static [&'static str],
    optional_fields: &'static [&'static str],
}

const fn handler_type(
    name: &'static str,
    action: &'static str,
    required_fields: &'static [&'static str],
    optional_fields: &'static [&'static str],
) -> HandlerType {
    HandlerType { name, action, required_fields, optional_fields }
}

static HANDLER_TYPES: [HandlerType; 5] = [
    handler_type(
        "command",
        "shell",
        &["command"],
        &["args", "shell", "async", "asyncRewake", "rewakeMessage", "rewakeSummary"],
    ),
    handler_type("http", "webhook", &["url"], &["headers", "allowedEnvVars"]),
    handler_type("mcp_tool", "mcp_tool", &["server", "tool"], &["input"]),
    handler_type("prompt", "shell", &["prompt"], &["model", "continueOnBlock"]),
    handler_type("agent", "shell", &["prompt"], &["model"]),
];

/// Optional fields of every type.
const COMMON_FIELDS: &[&str] = &["type", "if", "timeout", "onFailure", "statusMessage", "once"];

/// The draft of a handler; `None` if it is not a map.
pub fn read_handler(
    reader: &mut SettingsReader<'_>,
    group: &MatcherGroup<'_>,
    node: &DocumentNode<'_>,
) -> Option<Draft> {
    if !node.is_map() {
        let message = format!("a handler is a map, not {}", node.kind());
        let help = "write {\"type\": \"command\", \"command\": \"…\"}";
        reader.add_error(node, message, Some(help.into()));
        return None;
    }

    let mut fields = DocumentFields::new(reader.document, node);
    let kind = read_type(&mut fields);
    let calls_gambrel = is_gambrel_entry(&fields, kind);
    let idle = disabled_reason(&mut fields, group, kind)
        .or_else(|| Some(Disabled::broken(check_references(reader, &mut fields, kind?)?)));
    let terms = read_policy(
        &mut fields,
        group.event.table_row,
        kind.map_or("", |kind| kind.name),
        reader.roots,
    );
    if let Some(kind) = kind {
        warn_unknown_fields(&mut fields, node, kind);
    }
    let status = fields.read_str("statusMessage").filter(|text| !text.trim().is_empty());
    let in_skill = reader.owner.as_ref().is_some_and(|owner| owner.kind == SKILL);
    let once = fields.read_flag("once") == Some(true) && in_skill;
    if reader.roots.notes.is_some() {
        let found = findings::check_once(&fields, in_skill);
        fields.complaints.extend(found);
    }
    reader.complaints.append(&mut fields.complaints);

    let config = build_config(reader, node, kind);
    Some(Draft {
        event: group.event.name.to_owned(),
        source: reader.file.source_at(reader.document.span_of(node)),
        matcher: group.matcher.clone(),
        action: kind.map_or("shell", |kind| kind.action).to_owned(),
        dedup_key: Some(dedup_key(&config)),
        config,
        policy: terms,
        disabled: reader.disabled.clone().map(Disabled::off).or(idle),
        once,
        status: status.map(str::to_owned),
        calls_gambrel,
        ..Draft::default()
    })
}

/// Warns of fields that handlers of this type do not have.
fn warn_unknown_fields(
    fields: &mut DocumentFields<'_>,
    node: &DocumentNode<'_>,
    kind: &HandlerType,
) {
    let known = [COMMON_FIELDS, kind.required_fields, kind.optional_fields];
    let is_known = |name: &str| known.iter().any(|part| part.contains(&name));
    if !node.entries().iter().all(|(key, _)| is_known(key.text().unwrap_or_default())) {
        fields.warn_unknown_keys(&known.concat());
    }
}

fn read_type(fields: &mut DocumentFields<'_>) -> Option<&'static HandlerType> {
    if !fields.has_key("type") {
        let help = "add \"type\": \"command\"";
        fields.add_error("type", "this handler has no `type`, so it never runs", help);
        return None;
    }
    let word = fields.read_word("type", &HANDLER_TYPES.each_ref().map(|kind| kind.name))?;
    HANDLER_TYPES.iter().find(|kind| kind.name == word)
}

/// Why a handler cannot run, if it cannot. All checks run, so that every mistake is reported.
fn disabled_reason(
    fields: &mut DocumentFields<'_>,
    group: &MatcherGroup<'_>,
    kind: Option<&HandlerType>,
) -> Option<Disabled> {
    let Some(kind) = kind else {
        return Some(Disabled::broken("its `type` is missing or not known"));
    };
    let missing = check_required(fields, kind);
    let odd = check_optional_fields(fields, kind.name);
    let guarded = check_if_rule(fields, group.event.row);
    let unsupported = (!group.event.table_row.accepts_handler(kind.name)).then(|| {
        let event =
            if group.event.row.name.is_empty() { "an unknown event" } else { group.event.row.name };
        let why = format!("{event} takes no {} handlers, so it never runs", kind.name);
        fields.add_error("type", why.clone(), "use a command here");
        why
    });
    let broken = missing.or(group.disabled.clone()).or(odd).or(unsupported);
    broken.map(Disabled::broken).or(guarded.map(Disabled::off))
}

fn check_required(fields: &mut DocumentFields<'_>, kind: &HandlerType) -> Option<String> {
    let mut idle = None;
    for need in kind.required_fields {
        if !fields.has_key(need) {
            let message = format!("`{need}` is missing: a {} handler needs it", kind.name);
            fields.add_error(need, message, &format!("add \"{need}\": \"…\""));
        } else if let Some(text) = fields.read_str(need) {
            if !text.trim().is_empty() {
                continue;
            }
            fields.add_error(need, format!("`{need}` is empty"), "give it a value");
        }
        idle = Some(format!("its `{need}` is missing or not a text"));
    }
    idle
}

/// Whether the handler is an entry of `gambrel install`. Running it would call gambrel again.
fn is_gambrel_entry(fields: &DocumentFields<'_>, kind: Option<&HandlerType>) -> bool {
    if kind.is_none_or(|kind| kind.name != "command") {
        return false;
    }
    let command = fields.node("command").and_then(DocumentNode::text).unwrap_or_default();
    let args = fields.node("args").and_then(DocumentNode::items);
    let args: Option<Vec<String>> =
        args.and_then(|args| args.iter().map(|arg| arg.text().map(str::to_owned)).collect());
    self_reference::is_gambrel_entry(command, args.as_deref())
}

/// Checks `if`. A hook with an invalid rule is reported and runs on every event, so that a gate
/// never opens by mistake.
fn check_if_rule(fields: &mut DocumentFields<'_>, row: &EventSpec) -> Option<String> {
    if !fields.has_key("if") {
        return None;
    }
    let rule = fields.read_spanned("if");
    if row.subject != Subject::Tool {
        let message = format!("`if` is about a tool and {} has none, so it never runs", row.name);
        let spot = rule.map(|rule| rule.spot);
        fields.complaints.extend(
            spot.map(|spot| Complaint::warning(spot, &message).with_help("leave `if` out here")),
        );
        return Some(format!("disabled: {message}"));
    }
    let rule = rule?;
    let doubt = match IfRule::parse(&rule.text) {
        Ok(understood) => understood.warning().map(|why| Complaint::warning(rule.spot, why)),
        Err(why) => Some(
            Complaint::error(rule.spot, format!("{why}, so the hook always runs"))
                .with_help("write one rule such as `Bash(git push *)` or `Edit(src/**)`"),
        ),
    };
    fields.complaints.extend(doubt);
    None
}

/// Why a handler lacks something that other files define: an allowed address, a server or a model
/// command.
fn check_references(
    reader: &SettingsReader<'_>,
    fields: &mut DocumentFields<'_>,
    kind: &HandlerType,
) -> Option<String> {
    let shared = reader.shared;
    let written = |key: &str| fields.node(key).and_then(DocumentNode::text).unwrap_or_default();
    match kind.name {
        "http" => {
            let url = written("url").to_owned();
            let refused = shared.http_allowlists.refusal_reason(reader.file.place.scope, &url)?;
            fields.add_error("url", refused.clone(), "add it there, or use an allowed address");
            Some(refused)
        }
        "mcp_tool" if shared.servers.get(written("server"), reader.file.place.scope).is_none() => {
            let own = reader.file.place.scope.is_own();
            let whose =
                if own { " of the user (a project's servers are for its own hooks)" } else { "" };
            let why = format!("no server `{}` in .mcp.json{whose}", written("server"));
            let known = shared.servers.server_names().join(", ");
            let help = match known.is_empty() {
                true => "add it under \"mcpServers\" in .mcp.json".to_owned(),
                false => format!("known are {known}"),
            };
            fields.add_error("server", why.clone(), &help);
            Some(why)
        }
        "prompt" | "agent" if model_command(reader, kind.name).is_none() => {
            let why = format!("no model command is set for {} handlers", kind.name);
            let help = "put `model: {command: \"claude -p\"}` into gambrel/config.yaml in your \
                 configuration folder, or set GAMBREL_MODEL_COMMAND";
            fields.add_error("type", why.clone(), help);
            Some(why)
        }
        _ => None,
    }
}

/// The user's model command for a handler type.
fn model_command<'r>(reader: &'r SettingsReader<'_>, word: &str) -> Option<&'r String> {
    let preferences = &reader.shared.preferences;
    if word == "prompt" { preferences.model.as_ref() } else { preferences.agent.as_ref() }
}

/// The handler as written, with its plugin, skill or agent, and the settings of other files.
fn build_config(
    reader: &SettingsReader<'_>,
    node: &DocumentNode,
    kind: Option<&HandlerType>,
) -> Value {
    let mut config = node.to_value();
    if let Some(owner) = &reader.owner {
        owner.add_to_config(&mut config);
    }
    if let Some(kind) = kind {
        add_shared_settings(reader, &mut config, kind);
    }
    if let Some(folder) = reader.plugin_folder() {
        reader.shared.plugins.add_to_config(&mut config, &folder);
    }
    config
}

/// Adds the settings of other files that a handler needs.
fn add_shared_settings(reader: &SettingsReader<'_>, config: &mut Value, kind: &HandlerType) {
    let shared = reader.shared;
    let named = |key: &str| config.get(key).and_then(Value::as_str).unwrap_or_default();
    let added = match kind.name {
        "http" => {
            let asked =
                config.get("allowedEnvVars").and_then(Value::as_array).into_iter().flatten();
            let asked = asked.filter_map(Value::as_str).map(str::to_owned).collect();
            let may = shared.http_allowlists.allowed_variables(reader.file.place.scope, asked);
            vec![("allowedEnvVars", json!(may)), ("reachable", json!(shared.preferences.allow))]
        }
        "mcp_tool" => {
            let scope = reader.file.place.scope;
            let server = shared.servers.get(named("server"), scope).cloned().unwrap_or_default();
            vec![("serverDefinition", server), ("reachable", json!(shared.preferences.allow))]
        }
        "prompt" | "agent" => model_command(reader, kind.name)
            .map(|c| (model_handler::MODEL_COMMAND_KEY, json!(c)))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    };
    for (key, value) in added {
        config[key] = value;
    }
}

/// The usual size of a key.
const DEDUP_KEY_BYTES: usize = 160;

/// Handlers with the same key run once. Copies in different plugins, skills or agents stay apart.
fn dedup_key(config: &Value) -> String {
    let keys =
        ["type", "command", "args", "shell", "if", "url", "server", "tool", "input", "prompt"];
    // A handler has few fields: comparing them is faster than hashing every key.
    let field = |key: &str| config.as_object()?.iter().find(|(name, _)| *name == key);
    let mut text = String::with_capacity(DEDUP_KEY_BYTES);
    for key in keys.iter().chain(&[PLUGIN_DIR_KEY, "owner"]) {
        match field(key).map(|(_, value)| value) {
            Some(Value::String(part)) => text.push_str(part),
            Some(part) => text.push_str(&part.to_string()),
            None => {}
        }
        // No command contains a NUL, so two parts cannot be mistaken for one.
        text.push('\0');
    }
    text
}
