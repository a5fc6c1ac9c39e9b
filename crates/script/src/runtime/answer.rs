//! Builds outcomes from the reports of a module's handlers.

use std::path::Path;

use gambrel_model::{End, Outcome, lossy_json};
use serde_json::{Map, Value, json};

use crate::frontend::LoadError;

/// The report of a single handler that returned nothing, as the engine's script writes it.
const QUIET_REPORT: &str = r#"{"handlers":1,"results":[null],"truthy":[false],"errors":[]}"#;
/// The number of fields of an answer.
const ANSWER_FIELD_COUNT: usize = 5;

/// The answer if no handler ran.
pub fn empty_answer() -> Value {
    let lists = ["results", "truthy", "errors", "effects"];
    // Allocated once, because this runs for every event.
    let mut fields = Map::with_capacity(ANSWER_FIELD_COUNT);
    fields.insert("handlers".into(), json!(0));
    fields.extend(lists.map(|name| (name.to_owned(), Value::Array(Vec::new()))));
    Value::Object(fields)
}

/// An outcome with an answer.
pub fn answered_outcome(answer: Value) -> Outcome {
    Outcome { answer: Some(answer), ..Outcome::from_end(End::Answered) }
}

/// The outcome of a module that could not be loaded.
pub fn unloadable_outcome(error: &LoadError) -> Outcome {
    Outcome::from_end(End::FailedToStart(error.to_string()))
}

/// An outcome with one error and no results.
pub fn failed_outcome(
    message: &str,
    stack: &str,
    effects: Vec<Value>,
    site: &CallSite<'_>,
    locate: impl Fn(&str) -> Option<String>,
) -> Outcome {
    let text = error_answer(message, stack, site).to_string();
    answered_outcome(parse_report(&text, effects, site, locate).0)
}

/// The outcome of a call that timed out. It keeps the effects requested before the timeout.
pub fn timed_out_outcome(why: String, effects: Vec<Value>) -> Outcome {
    let mut answer = empty_answer();
    answer["effects"] = Value::Array(effects);
    Outcome { answer: Some(answer), remarks: vec![why], ..Outcome::from_end(End::TimedOut) }
}

/// The module and event of a call, for errors that no handler reported.
pub struct CallSite<'a> {
    /// The module's file.
    pub path: &'a Path,
    /// The event; `None` for a command.
    pub event: Option<&'a str>,
}

/// Parses a report of the engine's script. Replaces stacks by source positions and adds the
/// effects. The flag is true if the engine must not be used again.
pub fn parse_report(
    text: &str,
    effects: Vec<Value>,
    site: &CallSite<'_>,
    locate: impl Fn(&str) -> Option<String>,
) -> (Value, bool) {
    if text == QUIET_REPORT {
        return (single_answer(Value::Null, false, effects), false);
    }
    let mut answer: Value = match lossy_json::from_text(text) {
        Ok(answer @ Value::Object(_)) => answer,
        Ok(_) => error_answer("the handlers' answer is not an object", "", site),
        Err(error) => {
            error_answer(&format!("the handlers' answer cannot be read: {error}"), "", site)
        }
    };

    if let Some(failed) = answer["failed"].as_str() {
        answer = error_answer(failed, answer["stack"].as_str().unwrap_or_default(), site);
    }

    let mut unusable = false;
    let mut map_errors = |round: &mut Value| {
        let Some(errors) = round.get_mut("errors") else { return };
        for error in errors.as_array_mut().into_iter().flatten() {
            unusable |= error["fatal"] == true || is_out_of_memory(error);
            map_error_position(error, &locate);
        }
    };

    map_errors(&mut answer);
    if let Some(then) = answer.get_mut("then") {
        then.as_array_mut().into_iter().flatten().for_each(map_errors);
    }
    answer["effects"] = Value::Array(effects);
    (answer, unusable)
}

/// The answer of a single handler with this result. Needs no report.
pub fn single_answer(result: Value, truthy: bool, effects: Vec<Value>) -> Value {
    let mut fields = Map::with_capacity(ANSWER_FIELD_COUNT);
    fields.insert("handlers".into(), json!(1));
    fields.insert("results".into(), Value::Array(vec![result]));
    fields.insert("truthy".into(), Value::Array(vec![json!(truthy)]));
    fields.insert("errors".into(), Value::Array(Vec::new()));
    fields.insert("effects".into(), Value::Array(effects));
    Value::Object(fields)
}

/// An answer with one error and no results.
fn error_answer(message: &str, stack: &str, site: &CallSite<'_>) -> Value {
    let mut answer = empty_answer();
    answer["handlers"] = json!(1);
    answer["errors"] = json!([{
        "hookPath": site.path, "event": site.event, "error": message, "stack": stack,
    }]);
    answer
}

fn is_out_of_memory(error: &Value) -> bool {
    error["error"].as_str().is_some_and(|text| text.contains("out of memory"))
}

fn map_error_position(error: &mut Value, locate: impl Fn(&str) -> Option<String>) {
    let Some(fields) = error.as_object_mut() else { return };
    fields.remove("fatal");
    let stack = fields.remove("stack");
    let at = stack.as_ref().and_then(Value::as_str).and_then(locate);
    fields.insert("at".into(), json!(at));
}
