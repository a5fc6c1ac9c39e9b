//! `if` of a handler: a permission rule that the tool call must match, or the hook does not run. If
//! the match is uncertain, the hook runs. Starts no process and reads no file.

mod path;
mod rule;
mod shell;
mod wildcard;
mod word;
mod wrapper;

#[cfg(test)]
mod tests;

use gambrel_model::{Event, Hook};
use serde_json::Value;

pub use rule::{IfRule, RuleMatch};

use super::tools::TOOLS;

/// Why a hook's `if` skips an event.
pub fn skip_reason(event: &Event, hook: &Hook) -> Option<String> {
    match match_rule(event, hook)? {
        (text, RuleMatch::NoMatch(why)) => Some(format!("if `{text}`: {why}")),
        _ => None,
    }
}

/// Why a hook runs although it is uncertain whether its `if` matches.
pub fn run_remark(event: &Event, hook: &Hook) -> Option<String> {
    match match_rule(event, hook)? {
        (text, RuleMatch::Doubtful(why)) => {
            Some(format!("if `{text}`: met in doubt, because {why}"))
        }
        _ => None,
    }
}

/// A hook's `if`, and whether it matches an event; `None` without a valid rule.
fn match_rule<'h>(event: &Event, hook: &'h Hook) -> Option<(&'h str, RuleMatch)> {
    let text = hook.draft.config.get("if").and_then(Value::as_str)?;
    let rule = IfRule::parse(text).ok()?;
    let tool = event.facts.tool.as_ref()?;
    let (name, input) = tool.to_native(TOOLS);
    let query = IfQuery { name: &name, input: &input, event, base: &hook.draft.source.base };
    Some((text, rule.match_call(&query)))
}

/// The tool call that a rule is compared with, in this dialect's names.
pub struct IfQuery<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// The tool's arguments.
    pub input: &'a Value,
    /// The event, for its folders.
    pub event: &'a Event,
    /// The folder of the file that contains the rule.
    pub base: &'a std::path::Path,
}

impl IfQuery<'_> {
    /// The first of these arguments that is a text.
    pub fn text_argument(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.input.get(key)?.as_str())
    }
}
