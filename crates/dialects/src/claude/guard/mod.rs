//! `if` of a handler: one permission rule that the tool must meet before the hook is asked. In
//! every doubt the hook runs: a guard fires more often, never less. Nothing here starts anything.

mod path;
mod rule;
mod shell;
mod wild;
mod word;
mod wrapper;

#[cfg(test)]
mod tests;

use gambrel_model::{Event, Hook};
use serde_json::Value;

pub use rule::{Answer, Rule};

use super::tools::TOOLS;

/// Why a hook's `if` keeps it from an event.
pub fn objection(event: &Event, hook: &Hook) -> Option<String> {
    match answer(event, hook)? {
        (text, Answer::NotMet(why)) => Some(format!("if `{text}`: {why}")),
        _ => None,
    }
}

/// Why a hook runs although it is not sure that its `if` is met.
pub fn remark(event: &Event, hook: &Hook) -> Option<String> {
    match answer(event, hook)? {
        (text, Answer::InDoubt(why)) => Some(format!("if `{text}`: met in doubt, because {why}")),
        _ => None,
    }
}

/// A hook's `if`, and whether an event meets it. A rule that cannot be read keeps nothing back.
fn answer<'h>(event: &Event, hook: &'h Hook) -> Option<(&'h str, Answer)> {
    let text = hook.draft.config.get("if").and_then(Value::as_str)?;
    let rule = Rule::parse(text).ok()?;
    let tool = event.facts.tool.as_ref()?;
    let (name, input) = tool.to_native(TOOLS);
    let asked = Asked { name: &name, input: &input, event, base: &hook.draft.source.base };
    Some((text, rule.answer(&asked)))
}

/// The tool that a rule is asked about, in this dialect's words.
pub struct Asked<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its arguments.
    pub input: &'a Value,
    /// The event, for its folders.
    pub event: &'a Event,
    /// The folder of the file in which the rule is written.
    pub base: &'a std::path::Path,
}

impl Asked<'_> {
    /// The first of these arguments that is a text.
    pub fn text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.input.get(key)?.as_str())
    }
}
