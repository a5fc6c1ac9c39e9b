//! The action `rule`: a look at a value with a regular expression. The cheapest hook there is: it
//! starts nothing and waits for nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use gambrel_model::action::{Action, Job};
use gambrel_model::outcome::{End, Outcome};
use gambrel_model::pattern::Pattern;
use gambrel_model::request::{RegexCheck, from_body};
use serde_json::{Value, json};

/// So many patterns are kept compiled; then all are forgotten.
const KEPT: usize = 1_000;

/// Looks at values.
#[derive(Default)]
pub struct RuleAction {
    compiled: Mutex<HashMap<String, Pattern>>,
}

impl RuleAction {
    fn one(&self, body: &Value) -> Outcome {
        let begun = Instant::now();
        let looked = from_body::<RegexCheck>(body).and_then(|look| self.look(&look));
        let outcome = match looked {
            Ok(answer) => Outcome { answer: Some(answer), ..Outcome::from_end(End::Answered) },
            Err(why) => Outcome::from_end(End::FailedToStart(why)),
        };
        Outcome { elapsed: begun.elapsed(), ..outcome }
    }

    fn look(&self, look: &RegexCheck) -> Result<Value, String> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if !compiled.contains_key(&look.pattern) {
            if compiled.len() >= KEPT {
                compiled.clear();
            }
            compiled.insert(look.pattern.clone(), Pattern::compile(&look.pattern)?);
        }
        let Some(pattern) = compiled.get(&look.pattern) else { return Ok(Value::Null) };
        let found = first(pattern, &look.value);
        let value =
            found.as_ref().and(look.with.as_ref()).map(|with| clean(pattern, &look.value, with));
        Ok(json!({"matched": found.is_some(), "found": found, "value": value}))
    }
}

impl Action for RuleAction {
    fn name(&self) -> &'static str {
        "rule"
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        jobs.iter().map(|job| self.one(&job.call.body)).collect()
    }
}

/// The first match in any text of a value.
fn first(pattern: &Pattern, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => pattern.find_match(text).map(str::to_owned),
        Value::Array(items) => items.iter().find_map(|item| first(pattern, item)),
        Value::Object(fields) => fields.values().find_map(|field| first(pattern, field)),
        _ => None,
    }
}

fn clean(pattern: &Pattern, value: &Value, with: &str) -> Value {
    match value {
        Value::String(text) => Value::String(pattern.replace_all(text, with)),
        Value::Array(items) => items.iter().map(|item| clean(pattern, item, with)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), clean(pattern, field, with))).collect()
        }
        other => other.clone(),
    }
}
