//! From what a module's handlers said to an outcome.

use std::path::Path;

use gambrel_model::{End, Outcome, lossy_json};
use serde_json::{Map, Value, json};

use crate::graph::LoadError;

/// The report of one handler that has nothing to say, as the engine's script writes it.
const QUIET: &str = r#"{"handlers":1,"results":[null],"truthy":[false],"errors":[]}"#;
/// How many fields an answer has.
const FIELDS: usize = 5;

/// What nobody had to run for.
pub fn nothing() -> Value {
    let lists = ["results", "truthy", "errors", "effects"];
    // With room for all of it at once: this is made for every event.
    let mut fields = Map::with_capacity(FIELDS);
    fields.insert("handlers".into(), json!(0));
    fields.extend(lists.map(|name| (name.to_owned(), Value::Array(Vec::new()))));
    Value::Object(fields)
}

/// An outcome with an answer.
pub fn answered(answer: Value) -> Outcome {
    Outcome { answer: Some(answer), ..Outcome::from_end(End::Answered) }
}

/// A module that could not be loaded.
pub fn unstarted(error: &LoadError) -> Outcome {
    Outcome::from_end(End::FailedToStart(error.to_string()))
}

/// A call that came to nothing but an error.
pub fn failed(
    message: &str,
    stack: &str,
    effects: Vec<Value>,
    whose: &Whose<'_>,
    place: impl Fn(&str) -> Option<String>,
) -> Outcome {
    let text = broken(message, stack, whose).to_string();
    answered(read(&text, effects, whose, place).0)
}

/// A call whose time was over. What it wanted done before that is still told.
pub fn late(why: String, effects: Vec<Value>) -> Outcome {
    let mut answer = nothing();
    answer["effects"] = Value::Array(effects);
    Outcome { answer: Some(answer), remarks: vec![why], ..Outcome::from_end(End::TimedOut) }
}

/// Whose handlers they were, for errors that no handler told.
pub struct Whose<'a> {
    /// The module's file.
    pub path: &'a Path,
    /// The event, or nothing for a command.
    pub event: Option<&'a str>,
}

/// Reads what the engine's script reported: places instead of stacks, and the effects. The flag
/// says whether the engine must not be used again.
pub fn read(
    text: &str,
    effects: Vec<Value>,
    whose: &Whose<'_>,
    place: impl Fn(&str) -> Option<String>,
) -> (Value, bool) {
    if text == QUIET {
        return (of(Value::Null, false, effects), false);
    }
    let mut answer: Value = match lossy_json::from_text(text) {
        Ok(answer @ Value::Object(_)) => answer,
        Ok(_) => broken("the handlers' answer is no object", "", whose),
        Err(error) => broken(&format!("the handlers' answer cannot be read: {error}"), "", whose),
    };
    if let Some(failed) = answer["failed"].as_str() {
        answer = broken(failed, answer["stack"].as_str().unwrap_or_default(), whose);
    }
    let mut spoiled = false;
    let mut settled = |round: &mut Value| {
        let Some(errors) = round.get_mut("errors") else { return };
        for error in errors.as_array_mut().into_iter().flatten() {
            spoiled |= error["fatal"] == true || is_out_of_memory(error);
            settle(error, &place);
        }
    };
    settled(&mut answer);
    if let Some(then) = answer.get_mut("then") {
        then.as_array_mut().into_iter().flatten().for_each(settled);
    }
    answer["effects"] = Value::Array(effects);
    (answer, spoiled)
}

/// The answer of one handler with this result, made at once instead of being read.
pub fn one(result: Value, effects: Vec<Value>) -> Value {
    of(result, true, effects)
}

fn of(result: Value, truthy: bool, effects: Vec<Value>) -> Value {
    let mut fields = Map::with_capacity(FIELDS);
    fields.insert("handlers".into(), json!(1));
    fields.insert("results".into(), Value::Array(vec![result]));
    fields.insert("truthy".into(), Value::Array(vec![json!(truthy)]));
    fields.insert("errors".into(), Value::Array(Vec::new()));
    fields.insert("effects".into(), Value::Array(effects));
    Value::Object(fields)
}

/// An answer that is nothing but one error.
fn broken(message: &str, stack: &str, whose: &Whose<'_>) -> Value {
    let mut answer = nothing();
    answer["handlers"] = json!(1);
    answer["errors"] = json!([{
        "hookPath": whose.path, "event": whose.event, "error": message, "stack": stack,
    }]);
    answer
}

fn is_out_of_memory(error: &Value) -> bool {
    error["error"].as_str().is_some_and(|text| text.contains("out of memory"))
}

fn settle(error: &mut Value, place: impl Fn(&str) -> Option<String>) {
    let Some(fields) = error.as_object_mut() else { return };
    fields.remove("fatal");
    let stack = fields.remove("stack");
    let at = stack.as_ref().and_then(Value::as_str).and_then(place);
    fields.insert("at".into(), json!(at));
}
