//! Generates the TypeScript declarations for module authors: a hand-written part, and the events of
//! the dialect's table.

use std::fmt::Write;

use gambrel_model::{EventSpec, Moment, Slot};

use super::events::{EVENTS, ResultRule, TOOLS, result_rule};
use super::fields::{EXTRA_RESULT_FIELDS, PAYLOADS, TOOL_FIELDS, find_payload};

/// The hand-written part.
const HANDWRITTEN: &str = include_str!("declarations.ts");
/// The placeholder of the events.
const EVENTS_PLACEHOLDER: &str = "@EVENTS@\n";
/// The module that declares everything.
const MODULE_NAME: &str = "gambrel/hooks";
/// Other names under which modules import the same types.
const OTHER_MODULE_NAMES: [&str; 5] = [
    "@oh-my-pi/pi-coding-agent",
    "@oh-my-pi/pi-coding-agent/hooks",
    "@oh-my-pi/pi-coding-agent/extensibility/hooks",
    "@mariozechner/pi-coding-agent",
    "@mariozechner/pi-coding-agent/hooks",
];

/// Generates the text of `hooks.d.ts`.
pub fn generate_declarations() -> String {
    let mut text = HANDWRITTEN.replacen(EVENTS_PLACEHOLDER, &generate_events(), 1);
    for name in OTHER_MODULE_NAMES {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\ndeclare module \"{name}\" {{\n  export * from \"{MODULE_NAME}\";\n}}\n"
        );
    }
    text
}

fn distinct_rows() -> impl Iterator<Item = &'static EventSpec> {
    let first = |row: &&EventSpec| {
        EVENTS.iter().find(|other| other.name == row.name).is_some_and(|o| std::ptr::eq(o, *row))
    };
    EVENTS.iter().filter(|row| !row.name.is_empty()).filter(first)
}

fn generate_events() -> String {
    let mut text = String::new();
    let mut table = String::new();
    for row in distinct_rows() {
        let name = to_pascal_case(row.name);
        let fields = [tool_fields(row), find_payload(PAYLOADS, row.name)].concat();
        text += &write_interface(&format!("{name}Event"), Some(row.name), &fields);
        let answer = result_fields(row);
        let result = if answer.is_empty() { "undefined".to_owned() } else { result_name(row) };
        if !answer.is_empty() {
            text += &write_interface(&result, None, &answer);
        }
        let _ = writeln!(table, "    \"{}\": [{name}Event, {result}];", row.name);
    }

    for tool in TOOLS {
        let (name, word) = (to_pascal_case(tool.name), tool.name);
        let _ = write!(
            text,
            "\n  export type {name}ToolResultEvent = ToolResultEvent & {{ toolName: \"{word}\" }};"
        );
    }
    format!(
        "{text}\n\n  /** Every event with the argument and the result of its handlers. */\n  \
         export interface HookEvents {{\n{table}  }}\n\n"
    )
}

fn tool_fields(row: &EventSpec) -> &'static [(&'static str, &'static str)] {
    match row.moment {
        Moment::ToolBefore | Moment::ToolAfter | Moment::ToolFailed => TOOL_FIELDS,
        _ => &[],
    }
}

/// The keys of a result that gambrel reads, and whether the caller receives other keys too. `None`
/// if results are not read.
pub fn result_keys(row: &EventSpec) -> Option<(Vec<&'static str>, bool)> {
    let (more, open): (&[&str], bool) = match result_rule(row) {
        ResultRule::Call | ResultRule::Result | ResultRule::Context | ResultRule::Start => {
            (&[], false)
        }
        ResultRule::Cancel => (&["reason"], true),
        ResultRule::Input | ResultRule::Stop => (&[], true),
        ResultRule::First | ResultRule::Last | ResultRule::Shutdown | ResultRule::Observe => {
            return None;
        }
    };
    let own = result_fields(row).into_iter().map(|(field, _)| field.trim_end_matches('?'));
    Some((own.chain(more.iter().copied()).collect(), open))
}

/// The fields of a handler's result.
fn result_fields(row: &EventSpec) -> Vec<(&'static str, &'static str)> {
    let mut fields = match result_rule(row) {
        ResultRule::Call => vec![("block?", "boolean"), ("reason?", "string")],
        ResultRule::Input => vec![("handled?", "boolean")],
        ResultRule::Cancel => vec![("cancel?", "boolean")],
        _ => Vec::new(),
    };
    for slot in row.rewritable {
        fields.extend_from_slice(match slot {
            Slot::Output => {
                &[("content?", "Content[]"), ("details?", "unknown"), ("isError?", "boolean")]
            }
            Slot::ChatMessages => &[("messages?", "AgentMessage[]")],
            Slot::Prompt => &[("text?", "string"), ("images?", "ImageContent[]")],
            Slot::InjectedMessage => &[("message?", "CustomMessagePayload")],
            // Only the newer edition uses it.
            Slot::Input => &[("input?", "Record<string, unknown>")],
            _ => &[],
        });
    }
    fields.extend_from_slice(find_payload(EXTRA_RESULT_FIELDS, row.name));
    fields
}

/// The name of a result type, as in oh-my-pi's own types.
fn result_name(row: &EventSpec) -> String {
    let of_session = row.name.starts_with("session");
    format!("{}{}", to_pascal_case(row.name), if of_session { "Result" } else { "EventResult" })
}

fn write_interface(name: &str, event: Option<&str>, fields: &[(&str, &str)]) -> String {
    let mut text = format!("\n  export interface {name} {{\n");
    if let Some(event) = event {
        let _ = writeln!(text, "    type: \"{event}\";");
    }
    for (field, kind) in fields {
        let _ = writeln!(text, "    {field}: {kind};");
    }
    text + "  }\n"
}

fn to_pascal_case(name: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    name.split(['_', '.']).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_fields() {
        let names: Vec<&str> = distinct_rows().map(|row| row.name).collect();
        let described: Vec<&str> = PAYLOADS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, described);
        assert!(EXTRA_RESULT_FIELDS.iter().all(|(name, _)| names.contains(name)));
        assert_eq!(names.len(), 52);
    }

    #[test]
    fn replaces_the_placeholder_once() {
        assert_eq!(HANDWRITTEN.matches(EVENTS_PLACEHOLDER).count(), 1);
        assert!(
            !generate_declarations().contains(EVENTS_PLACEHOLDER)
                && generate_declarations().contains("tool_call")
        );
    }

    #[test]
    fn the_file_in_the_repository_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../types/omp/hooks.d.ts");
        let there = std::fs::read_to_string(path).unwrap_or_default();
        if std::env::var_os("GAMBREL_BLESS").is_some() {
            assert!(std::fs::write(path, generate_declarations()).is_ok());
            return;
        }
        assert!(
            there == generate_declarations(),
            "types/omp/hooks.d.ts is stale: GAMBREL_BLESS=1 cargo test -p gambrel-dialects fresh"
        );
    }
}
