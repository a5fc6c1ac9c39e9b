//! What an agent left: `result.json`, or the older `status.json`. Both are made into one form.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::folder::IterationFiles;
use crate::state::HistoryEntry;

/// Marks a `result.json` that the runner made from `status.json`.
const DERIVED_KEY: &str = "derived_from";
const DECISIONS: [&str; 3] = ["continue", "stop", "error"];
/// The most bytes of a file that an agent writes for the runner.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The decision of an iteration, and the normalised `result.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationResult {
    /// What goes into the history, without its place and time.
    pub history: HistoryEntry,
    /// What is written to `result.json`.
    pub result: Value,
}

/// A file that an agent may have written.
enum AgentFile {
    Missing,
    Invalid(String),
    Object(Map<String, Value>),
}

/// Reads what the agent left. An agent that works through a spec may leave nothing: it goes on.
pub fn read_spec_result(files: &IterationFiles, summary: String) -> IterationResult {
    let is_written = |path: &Path| !matches!(read_object(path), AgentFile::Missing);
    let is_derived = matches!(
        read_object(&files.result),
        AgentFile::Object(result) if result.contains_key(DERIVED_KEY)
    );
    if is_written(&files.status) || (is_written(&files.result) && !is_derived) {
        let mut read = read_result(files);
        if read.history.summary.is_empty() {
            read.history.summary = summary;
        }
        return read;
    }
    let mut read = error_result(String::new());
    read.history.decision = "continue".to_owned();
    read.history.summary.clone_from(&summary);
    read.result["summary"] = json!(summary);
    read.result["signals"]["risk"] = json!("low");
    read.history.signals = read.result["signals"].clone();
    read
}

/// Reads what the agent left.
pub fn read_result(files: &IterationFiles) -> IterationResult {
    let status = read_object(&files.status);
    match read_object(&files.result) {
        // Written by the runner for an earlier prompt of the same iteration.
        AgentFile::Object(result) if result.contains_key(DERIVED_KEY) => from_status(status),
        AgentFile::Object(result) => from_result(&result),
        AgentFile::Invalid(why) => match status {
            AgentFile::Missing => error_result(format!("Agent wrote invalid result.json: {why}")),
            status => from_status(status),
        },
        AgentFile::Missing => from_status(status),
    }
}

/// `usage` of a file that the agent wrote. A file that cannot be read reports nothing.
pub(crate) fn read_usage_field(path: &Path) -> Option<Value> {
    match read_object(path) {
        AgentFile::Object(mut object) => object.remove("usage"),
        AgentFile::Missing | AgentFile::Invalid(_) => None,
    }
}

fn read_object(path: &Path) -> AgentFile {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return AgentFile::Missing,
        Err(error) => return AgentFile::Invalid(error.to_string()),
    };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes) {
        return AgentFile::Invalid(error.to_string());
    }
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return AgentFile::Invalid(format!("more than {MAX_FILE_BYTES} bytes"));
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(object)) => AgentFile::Object(object),
        Ok(_) => AgentFile::Invalid("it is not an object".to_owned()),
        Err(error) => AgentFile::Invalid(error.to_string()),
    }
}

fn error_result(reason: String) -> IterationResult {
    let signals = json!({"plateau_suspected": false, "risk": "high", "notes": reason});
    let result = json!({
        "summary": "", "work": {"items_completed": [], "files_touched": []},
        "artifacts": {"outputs": [], "paths": []}, "signals": signals,
        DERIVED_KEY: "status.json",
    });
    let decision = "error".to_owned();
    let history = HistoryEntry { decision, reason, signals, ..HistoryEntry::default() };
    IterationResult { history, result }
}

/// A `result.json`, with defaults for what is missing or has a wrong type.
fn from_result(object: &Map<String, Value>) -> IterationResult {
    let value = Value::Object(object.clone());
    let signals = &value["signals"];
    let plateau = signals["plateau_suspected"].as_bool().unwrap_or(false);
    let risk = signals["risk"].as_str().unwrap_or("low");
    let notes = signals["notes"].as_str().unwrap_or_default();
    let written = value["decision"].as_str().filter(|word| DECISIONS.contains(word));
    let decision = written.unwrap_or(match (risk, plateau) {
        ("high", _) => "error",
        (_, true) => "stop",
        _ => "continue",
    });

    let reason = value["reason"].as_str().filter(|text| !text.is_empty()).unwrap_or(notes);
    let signals = json!({"plateau_suspected": plateau, "risk": risk, "notes": notes});
    let summary = value["summary"].as_str().unwrap_or_default().to_owned();
    let items = text_list(&value["work"]["items_completed"]);
    let files = text_list(&value["work"]["files_touched"]);
    let mut result = object.clone();
    result.insert("summary".into(), json!(summary));
    result.insert("work".into(), json!({"items_completed": items, "files_touched": files}));
    let artifacts = &value["artifacts"];
    let artifacts = json!({
        "outputs": text_list(&artifacts["outputs"]), "paths": text_list(&artifacts["paths"]),
    });
    result.insert("artifacts".into(), artifacts);
    result.insert("signals".into(), signals.clone());
    let history = HistoryEntry {
        decision: decision.to_owned(),
        reason: reason.to_owned(),
        summary,
        files_touched: files,
        items_completed: items,
        signals,
        ..HistoryEntry::default()
    };
    IterationResult { history, result: Value::Object(result) }
}

/// A `status.json`. Without a decision of the three it is an error.
fn from_status(status: AgentFile) -> IterationResult {
    let status = match status {
        AgentFile::Missing => {
            return error_result("Agent did not write result.json or status.json".to_owned());
        }
        AgentFile::Invalid(why) => {
            return error_result(format!("Agent wrote invalid status.json: {why}"));
        }
        AgentFile::Object(status) => Value::Object(status),
    };
    let decision = status["decision"].as_str().unwrap_or_default().to_owned();
    if !DECISIONS.contains(&decision.as_str()) {
        return error_result(format!(
            "Agent wrote status.json with the decision `{decision}`, not one of {}",
            DECISIONS.join(", ")
        ));
    }

    let errors = text_list(&status["errors"]);
    let written = status["reason"].as_str().filter(|text| !text.is_empty());
    let reason = written.map(str::to_owned).or_else(|| errors.first().cloned()).unwrap_or_default();
    let is_risky = decision == "error" || !errors.is_empty();
    let signals = json!({
        "plateau_suspected": decision == "stop",
        "risk": if is_risky { "high" } else { "low" }, "notes": reason,
    });
    let items = text_list(&status["work"]["items_completed"]);
    let files = text_list(&status["work"]["files_touched"]);
    let summary = status["summary"].as_str().unwrap_or_default().to_owned();
    let result = json!({
        "decision": decision, "summary": summary,
        "work": {"items_completed": items, "files_touched": files},
        "artifacts": {"outputs": [], "paths": []}, "signals": signals,
        DERIVED_KEY: "status.json",
    });
    let history = HistoryEntry {
        decision,
        reason,
        summary,
        files_touched: files,
        items_completed: items,
        signals,
        ..HistoryEntry::default()
    };
    IterationResult { history, result }
}

fn text_list(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}
