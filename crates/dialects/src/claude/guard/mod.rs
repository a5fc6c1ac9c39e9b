//! `if` of a handler: one permission rule that the tool must meet before the hook is asked. In
//! every doubt the hook runs: a guard fires more often, never less. Nothing here starts anything.

mod bound;
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

pub use rule::Rule;

use super::tools::TOOLS;

/// Why a hook's `if` keeps it from an event. A rule that cannot be read keeps it from nothing.
pub fn objection(event: &Event, hook: &Hook) -> Option<String> {
    let text = hook.draft.config.get("if").and_then(Value::as_str)?;
    let rule = Rule::parse(text).ok()?;
    let tool = event.facts.tool.as_ref()?;
    let (name, input) = tool.to_native(TOOLS);
    let asked = Asked { name: &name, input: &input, event, base: &hook.draft.source.base };
    rule.objection(&asked).map(|why| format!("if `{text}`: {why}"))
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
