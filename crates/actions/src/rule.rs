//! The action `rule`: checks a value with a regular expression. It starts no process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use gambrel_model::action::{Action, Job};
use gambrel_model::json_texts::map_texts;
use gambrel_model::outcome::{End, Outcome};
use gambrel_model::pattern::{Pattern, PatternError};
use gambrel_model::request::{BodyError, RegexCheck, from_body};
use serde_json::{Value, json};

/// Compiled patterns kept; beyond that all are dropped.
const MAX_PATTERN_COUNT: usize = 1_000;

/// Why a value cannot be checked.
#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

/// Checks values with regular expressions.
#[derive(Default)]
pub struct RuleAction {
    compiled: Mutex<BTreeMap<String, Pattern>>,
}

impl RuleAction {
    fn run_check(&self, body: &Value) -> Outcome {
        let begun = Instant::now();
        let outcome = match self.check_body(body) {
            Ok(answer) => Outcome { answer: Some(answer), ..Outcome::from_end(End::Answered) },
            Err(why) => Outcome::failed_to_start(why),
        };
        Outcome { elapsed: begun.elapsed(), ..outcome }
    }

    fn check_body(&self, body: &Value) -> Result<Value, RuleError> {
        Ok(self.check_value(&from_body::<RegexCheck>(body)?)?)
    }

    fn check_value(&self, check: &RegexCheck) -> Result<Value, PatternError> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if !compiled.contains_key(&check.pattern) {
            if compiled.len() >= MAX_PATTERN_COUNT {
                compiled.clear();
            }
            compiled.insert(check.pattern.clone(), Pattern::compile(&check.pattern)?);
        }

        let Some(pattern) = compiled.get(&check.pattern) else { return Ok(Value::Null) };
        let found = find_first_match(pattern, &check.value);
        let value = found
            .as_ref()
            .and(check.with.as_ref())
            .map(|with| map_texts(&check.value, &|text| pattern.replace_all(text, with)));
        Ok(json!({"matched": found.is_some(), "found": found, "value": value}))
    }
}

impl Action for RuleAction {
    fn name(&self) -> &'static str {
        "rule"
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        jobs.iter().map(|job| self.run_check(&job.call.body)).collect()
    }
}

/// The first match in any text of a value.
fn find_first_match(pattern: &Pattern, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => pattern.find_match(text).map(str::to_owned),
        Value::Array(items) => items.iter().find_map(|item| find_first_match(pattern, item)),
        Value::Object(fields) => fields.values().find_map(|field| find_first_match(pattern, field)),
        _ => None,
    }
}
