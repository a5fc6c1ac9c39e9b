//! Types for those who write modules: hand-written words about the API, and the events from the
//! table that the dialect itself works by. Knows TypeScript as text only.

use std::fmt::Write;

use gambrel_model::{EventSpec, Moment, Slot};

use super::events::{EVENTS, Rule, TOOLS, rule};
use super::fields::{MORE, PAYLOADS, Payload, TOOL};

/// Everything that is not about one event.
const WRITTEN: &str = include_str!("declarations.ts");
/// Where the events go in it.
const GAP: &str = "@EVENTS@\n";
/// The module that declares everything.
const OWN: &str = "gambrel/hooks";
/// Names by which modules import the same types from elsewhere.
const OTHERS: [&str; 5] = [
    "@oh-my-pi/pi-coding-agent",
    "@oh-my-pi/pi-coding-agent/hooks",
    "@oh-my-pi/pi-coding-agent/extensibility/hooks",
    "@mariozechner/pi-coding-agent",
    "@mariozechner/pi-coding-agent/hooks",
];

/// The text of `hooks.d.ts`.
pub fn declarations() -> String {
    let mut text = WRITTEN.replacen(GAP, &events(), 1);
    for name in OTHERS {
        // Writing to a string cannot fail.
        let _ = write!(text, "\ndeclare module \"{name}\" {{\n  export * from \"{OWN}\";\n}}\n");
    }
    text
}

fn rows() -> impl Iterator<Item = &'static EventSpec> {
    let first = |row: &&EventSpec| {
        EVENTS.iter().find(|other| other.name == row.name).is_some_and(|o| std::ptr::eq(o, *row))
    };
    EVENTS.iter().filter(|row| !row.name.is_empty()).filter(first)
}

fn events() -> String {
    let mut text = String::new();
    let mut table = String::new();
    for row in rows() {
        let name = pascal(row.name);
        let fields = [of_tool(row), payload(PAYLOADS, row.name)].concat();
        text += &interface(&format!("{name}Event"), Some(row.name), &fields);
        let answer = answer(row);
        let result = if answer.is_empty() { "undefined".to_owned() } else { result_name(row) };
        if !answer.is_empty() {
            text += &interface(&result, None, &answer);
        }
        let _ = writeln!(table, "    \"{}\": [{name}Event, {result}];", row.name);
    }
    for tool in TOOLS {
        let (name, word) = (pascal(tool.name), tool.name);
        let _ = write!(
            text,
            "\n  export type {name}ToolResultEvent = ToolResultEvent & {{ toolName: \"{word}\" }};"
        );
    }
    format!(
        "{text}\n\n  /** Every event: what its handlers are given, and what they may return. */\n  \
         export interface HookEvents {{\n{table}  }}\n\n"
    )
}

fn of_tool(row: &EventSpec) -> &'static [(&'static str, &'static str)] {
    match row.moment {
        Moment::ToolBefore | Moment::ToolAfter | Moment::ToolFailed => TOOL,
        _ => &[],
    }
}

fn payload(table: &'static [Payload], name: &str) -> &'static [(&'static str, &'static str)] {
    table.iter().find(|(known, _)| *known == name).map(|(_, fields)| *fields).unwrap_or_default()
}

/// The keys of a result that somebody reads, and whether others are handed on to the caller.
/// Nothing where a result is not read.
pub fn result_keys(row: &EventSpec) -> Option<(Vec<&'static str>, bool)> {
    let (more, open): (&[&str], bool) = match rule(row) {
        Rule::Call | Rule::Result | Rule::Context | Rule::Start => (&[], false),
        Rule::Cancel => (&["reason"], true),
        Rule::Input | Rule::Stop => (&[], true),
        Rule::First | Rule::Last | Rule::Farewell | Rule::Observe => return None,
    };
    let own = answer(row).into_iter().map(|(field, _)| field.trim_end_matches('?'));
    Some((own.chain(more.iter().copied()).collect(), open))
}

/// What the table lets a handler say.
fn answer(row: &EventSpec) -> Vec<(&'static str, &'static str)> {
    let mut fields = match rule(row) {
        Rule::Call => vec![("block?", "boolean"), ("reason?", "string")],
        Rule::Input => vec![("handled?", "boolean")],
        Rule::Cancel => vec![("cancel?", "boolean")],
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
            // Only the newer edition heeds it.
            Slot::Input => &[("input?", "Record<string, unknown>")],
            _ => &[],
        });
    }
    fields.extend_from_slice(payload(MORE, row.name));
    fields
}

/// As the product's own types are called.
fn result_name(row: &EventSpec) -> String {
    let of_session = row.name.starts_with("session");
    format!("{}{}", pascal(row.name), if of_session { "Result" } else { "EventResult" })
}

fn interface(name: &str, event: Option<&str>, fields: &[(&str, &str)]) -> String {
    let mut text = format!("\n  export interface {name} {{\n");
    if let Some(event) = event {
        let _ = writeln!(text, "    type: \"{event}\";");
    }
    for (field, kind) in fields {
        let _ = writeln!(text, "    {field}: {kind};");
    }
    text + "  }\n"
}

fn pascal(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split(['_', '.']).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_fields_and_no_fields_are_without_an_event() {
        let names: Vec<&str> = rows().map(|row| row.name).collect();
        let described: Vec<&str> = PAYLOADS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, described);
        assert!(MORE.iter().all(|(name, _)| names.contains(name)));
        assert_eq!(names.len(), 52);
    }

    #[test]
    fn the_gap_is_filled_once() {
        assert_eq!(WRITTEN.matches(GAP).count(), 1);
        assert!(!declarations().contains(GAP) && declarations().contains("tool_call"));
    }

    #[test]
    fn the_file_in_the_repository_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../types/omp/hooks.d.ts");
        let there = std::fs::read_to_string(path).unwrap_or_default();
        if std::env::var_os("GAMBREL_BLESS").is_some() {
            assert!(std::fs::write(path, declarations()).is_ok());
            return;
        }
        assert!(
            there == declarations(),
            "types/omp/hooks.d.ts is stale: GAMBREL_BLESS=1 cargo test -p gambrel-dialects fresh"
        );
    }
}
