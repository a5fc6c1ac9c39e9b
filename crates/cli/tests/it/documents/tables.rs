//! Tables of the documents that come from tables of the source: hook points, fields of actions,
//! variables and events. A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
//! A test compares it; with `GAMBREL_BLESS=1` it writes the table instead.

use std::fmt::Write;

use gambrel_dialects::DIALECTS;
use gambrel_model::{Dialect, EventSpec, Moment, MomentKind, Powers, Slot};
use serde_json::Value;

use super::cargo_lines::repository;
use super::fresh_root::read_repository_file;
use crate::test_project::TestProject;

const END: &str = "<!-- end of table -->";

/// A document, the name of a table in it, and its text.
type DocumentTable = (&'static str, &'static str, fn(&Value) -> String);

const TABLES: [DocumentTable; 12] = [
    ("docs/hooks-yaml.md", "hook points", hook_points),
    ("docs/hooks-yaml.md", "other hook points", other_hook_points),
    ("docs/hooks-yaml.md", "fields of every action", shared_fields),
    ("docs/hooks-yaml.md", "shell", |schema| own_fields(schema, "shell")),
    ("docs/hooks-yaml.md", "webhook", |schema| own_fields(schema, "webhook")),
    ("docs/hooks-yaml.md", "spawn", |schema| own_fields(schema, "spawn")),
    ("docs/hooks-yaml.md", "rule", rule_fields),
    ("docs/hooks-yaml.md", "file", |schema| field_table(schema, "", |_| true)),
    ("docs/agents/claude-code.md", "events", |_| event_table("claude")),
    ("docs/agents/oh-my-pi.md", "events", |_| event_table("omp")),
    ("docs/agents/pi-teams.md", "events", |_| event_table("teams")),
    ("docs/agents/iteratr.md", "events", |_| event_table("iteratr")),
];

/// Of a field with more words, the page has a section.
const MAX_SHOWN_WORDS: usize = 12;
const ACTIONS: [&str; 4] = ["shell", "webhook", "spawn", "rule"];

fn is_shared(schema: &Value, field: &str) -> bool {
    ACTIONS.iter().all(|action| fields_of(schema, action).contains_key(field))
}

fn fields_of<'s>(schema: &'s Value, action: &str) -> &'s serde_json::Map<String, Value> {
    schema["definitions"][action]["properties"].as_object().unwrap()
}

/// Rows of fields: name, accepted value, default, meaning.
fn field_table(schema: &Value, of: &str, wanted: impl Fn(&str) -> bool) -> String {
    let owner = if of.is_empty() { schema } else { &schema["definitions"][of] };
    let required = owner["required"].as_array().cloned().unwrap_or_default();
    let mut table = "| field | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    for (name, field) in owner["properties"].as_object().unwrap() {
        if !wanted(name) {
            continue;
        }
        let meaning = field["description"].as_str().unwrap_or("The hook points below.");
        // Some defaults are words of the description.
        let (meaning, described) = match meaning.split_once(" Default: ") {
            Some((meaning, default)) => (meaning, Some(default.trim_end_matches('.'))),
            None => (meaning, None),
        };
        let default = match (&field["default"], described) {
            (Value::Null, Some(described)) => format!("`{described}`"),
            (Value::Null, None) if required.contains(&Value::String(name.clone())) => {
                "required".to_owned()
            }
            (Value::Null, None) => "–".to_owned(),
            (value, _) => format!("`{value}`"),
        };
        let (form, meaning) = (value_form(field), meaning.replace('|', r"\|"));
        let _ = writeln!(table, "| `{name}` | {form} | {default} | {meaning} |");
    }
    table
}

/// The accepted values of a field, for people.
fn value_form(field: &Value) -> String {
    let choices = field["enum"].as_array().or_else(|| field["anyOf"][0]["enum"].as_array());
    if choices.is_some_and(|words| words.len() > MAX_SHOWN_WORDS) {
        return "a [variable](#variables)".to_owned();
    }
    if let Some(words) = choices {
        let words = words.iter().filter_map(Value::as_str);
        return words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    let types = match &field["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        Value::String(word) => vec![word.as_str()],
        _ => Vec::new(),
    };
    let word = match types.first().copied() {
        Some("boolean") => "true or false",
        Some("number") => "seconds",
        Some("integer") => "a whole number",
        Some("string") => "text",
        Some("array") => "a list",
        Some("object") => "a map",
        None if !field["$ref"].is_null() => "a map",
        _ => "any",
    };
    word.to_owned()
}

/// The fields of every action; a default may differ by the type.
fn shared_fields(schema: &Value) -> String {
    let mut table = "| field | value | shell | webhook | spawn | rule | meaning |\n\
                     |---|---|---|---|---|---|---|\n"
        .to_owned();
    for (name, field) in fields_of(schema, "shell").iter().filter(|(n, _)| is_shared(schema, n)) {
        let default = |action: &&str| match &fields_of(schema, action)[name]["default"] {
            Value::Null => "–".to_owned(),
            value => format!("`{value}`"),
        };
        let defaults: Vec<String> = ACTIONS.iter().map(default).collect();
        let meaning = field["description"].as_str().unwrap().replace('|', r"\|");
        let form = if name == "type" {
            ACTIONS.map(|action| format!("`{action}`")).join(", ")
        } else {
            value_form(field)
        };
        let _ = writeln!(table, "| `{name}` | {form} | {} | {meaning} |", defaults.join(" | "));
    }
    table
}

fn own_fields(schema: &Value, action: &str) -> String {
    field_table(schema, action, |name| !is_shared(schema, name))
}

/// The fields of a rule stand in the action or under `rule`.
fn rule_fields(schema: &Value) -> String {
    let all = serde_json::json!({"definitions": {"rule": fields_of(schema, "rule")["rule"]}});
    field_table(&all, "rule", |_| true)
}

fn hook_points(schema: &Value) -> String {
    point_table(schema, |moment| !matches!(moment, Moment::Other(_)))
}

fn other_hook_points(schema: &Value) -> String {
    point_table(schema, |moment| matches!(moment, Moment::Other(_)))
}

/// The products whose events have a column in the tables of hook points.
const PRODUCTS: [&str; 4] = ["claude", "omp", "teams", "iteratr"];

/// Rows of hook points, with the events of each product at that moment.
fn point_table(schema: &Value, wanted: impl Fn(&Moment) -> bool) -> String {
    let products = PRODUCTS.map(find_dialect);
    let heads: Vec<&str> = products.iter().map(|dialect| dialect.properties.product).collect();
    let mut table = format!(
        "| hook point | kind | {} |\n|---|---|{}\n",
        heads.join(" | "),
        "---|".repeat(products.len())
    );
    let points = schema["definitions"]["hooks"]["properties"].as_object().unwrap();
    for (name, row) in hook_point_rows().into_iter().filter(|(_, row)| wanted(&row.moment)) {
        assert!(points.contains_key(&name), "{name}");
        let alias = row.moment.yaml_key();
        let names =
            if alias == name { format!("`{alias}`") } else { format!("`{name}`, `{alias}`") };
        let events = products.iter().map(|dialect| {
            let here = (dialect.events)().iter().filter(|event| event.moment == row.moment);
            let names: Vec<&str> = here.map(|event| event.name).collect();
            if names.is_empty() { "–".to_owned() } else { names.join(", ") }
        });
        let events: Vec<String> = events.collect();
        let kind = kind_word(own_event(row).unwrap_or(row));
        let _ = writeln!(table, "| {names} | {kind} | {} |", events.join(" | "));
    }
    table
}

/// Every hook point with a row: those of the table, then the other events of products.
fn hook_point_rows() -> Vec<(String, &'static EventSpec)> {
    let own = (find_dialect("unified").events)().iter();
    let mut rows: Vec<(String, &EventSpec)> =
        own.filter(|row| !row.name.is_empty()).map(|row| (row.name.to_owned(), row)).collect();
    for event in own_events() {
        let name = event.moment.yaml_key();
        if !rows.iter().any(|(known, _)| *known == name) {
            rows.push((name, event));
        }
    }
    rows
}

/// The events of products that have no neutral moment.
fn own_events() -> impl Iterator<Item = &'static EventSpec> {
    let rows = PRODUCTS.into_iter().flat_map(|name| (find_dialect(name).events)());
    rows.filter(|row| !row.name.is_empty() && matches!(row.moment, Moment::Other(_)))
}

/// The event of the one product that has this moment: its agent decides whether a hook can refuse.
fn own_event(row: &EventSpec) -> Option<&'static EventSpec> {
    own_events().find(|event| event.moment == row.moment)
}

fn find_dialect(name: &str) -> &'static Dialect {
    DIALECTS.iter().find(|dialect| dialect.name == name).unwrap()
}

fn kind_word(row: &EventSpec) -> &'static str {
    match row.kind() {
        MomentKind::Gate => "gate",
        MomentKind::Close => "close",
        MomentKind::Report => "report",
    }
}

/// Rows of a product's events.
fn event_table(name: &str) -> String {
    let mut table = "| event | moment | kind | a hook here may | the product accepts |\n\
                     |---|---|---|---|---|\n"
        .to_owned();
    for row in (find_dialect(name).events)().iter().filter(|row| !row.name.is_empty()) {
        let may = power_words(row.hook_powers, row.rewritable);
        let mut accepts = power_words(row.caller_powers, row.caller_accepts);
        if accepts == may {
            accepts = "the same".to_owned();
        }
        let (moment, kind) = (row.moment.name(), kind_word(row));
        let _ = writeln!(table, "| {} | {moment} | {kind} | {may} | {accepts} |", row.name);
    }
    table
}

fn power_words(powers: Powers, slots: &[Slot]) -> String {
    let words = [
        (Powers::ALLOW, "allow"),
        (Powers::ASK, "ask"),
        (Powers::DENY, "refuse"),
        (Powers::HALT, "halt"),
        (Powers::MESSAGE_AGENT, "tell the agent"),
        (Powers::MESSAGE_NEXT_TURN, "tell it later"),
        (Powers::MESSAGE_USER, "tell the user"),
    ];
    let slots = slots.iter().filter_map(|slot| match slot {
        Slot::Input => Some("rewrite the input"),
        Slot::Output => Some("rewrite the output"),
        Slot::ChatMessages => Some("rewrite the messages"),
        Slot::Prompt => Some("rewrite the prompt"),
        // Fields of one product: its contract lists them.
        Slot::InjectedMessage | Slot::Native(_) | Slot::List(_) => None,
    });
    let words = words.into_iter().filter(|(power, _)| powers.contains(*power));
    let words: Vec<&str> = words.map(|(_, word)| word).chain(slots).collect();
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}

#[test]
fn tables_of_documents_are_those_of_the_source() {
    let schema = TestProject::new().json(&["schema", "unified"]);
    let bless = std::env::var_os("GAMBREL_BLESS").is_some();
    let mut stale = Vec::new();
    for (document, name, write) in TABLES {
        let text = read_repository_file(document);
        let start = format!("<!-- table: {name} -->\n\n");
        let (before, rest) =
            text.split_once(&start).unwrap_or_else(|| panic!("{document} has no `{start}`"));
        let (shown, after) = rest.split_once(END).unwrap();
        let table = format!("{}\n", write(&schema));
        if shown == table {
            continue;
        }
        if bless {
            let file = repository().join(document);
            std::fs::write(file, format!("{before}{start}{table}{END}{after}")).unwrap();
        }
        stale.push(format!("{document}: {name}"));
    }
    assert!(stale.is_empty() || bless, "run again with GAMBREL_BLESS=1: {stale:#?}");
}

/// Every name that a file of hooks may have is in its reference.
#[test]
fn the_reference_names_everything_in_the_schema() {
    let schema = TestProject::new().json(&["schema", "unified"]);
    let page = read_repository_file("docs/hooks-yaml.md");
    let mut names: Vec<&str> = ACTIONS.to_vec();
    let keys = |map: &'static str| schema["definitions"][map]["properties"].as_object().unwrap();
    names.extend(
        ["hooks", "shell", "webhook", "spawn", "rule"]
            .iter()
            .flat_map(|m| keys(m).keys())
            .map(String::as_str),
    );
    let rule = &keys("rule")["rule"]["properties"];
    names.extend(rule.as_object().unwrap().keys().map(String::as_str));
    let facts = rule["fact"]["anyOf"][0]["enum"].as_array().unwrap();
    names.extend(facts.iter().map(|fact| fact.as_str().unwrap()));
    let tools = &keys("shell")["tools"]["items"]["anyOf"][0]["enum"];
    names.extend(tools.as_array().unwrap().iter().map(|tool| tool.as_str().unwrap()));
    assert!(names.len() > 120, "{}", names.len());
    let missing: Vec<&&str> =
        names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/hooks-yaml.md does not name {missing:?}");
}

/// The members of an interface in the types of oh-my-pi.
fn interface_members<'t>(types: &'t str, name: &str) -> Vec<&'t str> {
    let start = format!("  export interface {name} ");
    let (_, rest) = types.split_once(&start).unwrap_or_else(|| panic!("no `{start}`"));
    let body = rest.split("\n  }").next().unwrap_or_default();
    // Members have four blanks; comments and further lines of a member do not fit.
    let members = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = members.map(|line| line.trim_start_matches("readonly "));
    let is_name = |c: char| c.is_ascii_alphanumeric();
    names
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|line| line.split(|c| !is_name(c)).next())
        .collect()
}

#[test]
fn the_page_of_modules_names_every_member() {
    let types = read_repository_file("types/omp/hooks.d.ts");
    let page = read_repository_file("docs/typescript-modules.md");
    let mut missing = Vec::new();
    for (interface, prefix, least) in [
        ("HookAPI", "", 8),
        ("HookContext", "", 9),
        ("HookUIContext", "ui.", 10),
        ("HookCommandContext", "", 4),
    ] {
        let members = interface_members(&types, interface);
        assert!(members.len() >= least, "{interface}: {members:?}");
        let shown = |name: &str| {
            let start = format!("`{prefix}{name}");
            name == "ui" || ["`", "("].iter().any(|end| page.contains(&format!("{start}{end}")))
        };
        missing.extend(members.into_iter().filter(|name| !shown(name)));
    }
    assert!(missing.is_empty(), "docs/typescript-modules.md does not name {missing:?}");
}
