//! Recorded outcomes of firings that have a key: one file per key, one line per hook. A torn line
//! counts as not recorded. The files are removed by age, like other files of sessions.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use gambrel_model::ledger::{LedgerResult, SESSION_FILES};
use gambrel_model::{Captured, Outcome, sha256, to_hex};
use serde::{Deserialize, Serialize};

use super::state_dir::{Durable, StateDir, io_error, refused_error};
use crate::redact::Redactor;

/// One line of the file. Streams are stored as text, so that secrets in them are redacted.
#[derive(Serialize, Deserialize)]
struct RecordedOutcome {
    key: String,
    hook: String,
    stdout: RecordedStream,
    stderr: RecordedStream,
    outcome: Outcome,
}

#[derive(Serialize, Deserialize)]
struct RecordedStream {
    head: String,
    tail: String,
}

impl RecordedStream {
    /// Moves the bytes out of a stream.
    fn take_from(stream: &mut Captured) -> Self {
        let to_text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            head: to_text(std::mem::take(&mut stream.bytes)),
            tail: to_text(std::mem::take(&mut stream.tail)),
        }
    }

    fn put_into(self, stream: &mut Captured) {
        (stream.bytes, stream.tail) = (self.head.into_bytes(), self.tail.into_bytes());
    }
}

/// Appends the outcome of a hook.
pub(super) fn record_outcome(
    folder: &StateDir,
    redactor: &Redactor,
    (key, hook): (&str, &str),
    outcome: &Outcome,
) -> LedgerResult {
    let name = file_name(key);
    let path = folder.path_of(&name);
    let line = format_line(&path, redactor, (key, hook), outcome)?;
    folder
        .open_private(&name, OpenOptions::new().append(true))
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|error| io_error("recording an outcome in", &path, &error))
}

/// Replaces all outcomes of a firing.
pub(super) fn replace_outcomes(
    folder: &StateDir,
    redactor: &Redactor,
    key: &str,
    outcomes: &BTreeMap<String, Outcome>,
) -> LedgerResult {
    let name = file_name(key);
    let path = folder.path_of(&name);
    let mut text = String::new();
    for (hook, outcome) in outcomes {
        text += &format_line(&path, redactor, (key, hook), outcome)?;
    }
    folder.replace_file(&name, text.as_bytes(), Durable::No)
}

fn format_line(
    path: &Path,
    redactor: &Redactor,
    (key, hook): (&str, &str),
    outcome: &Outcome,
) -> LedgerResult<String> {
    let mut outcome = outcome.clone();
    let record = RecordedOutcome {
        key: key.to_owned(),
        hook: hook.to_owned(),
        stdout: RecordedStream::take_from(&mut outcome.stdout),
        stderr: RecordedStream::take_from(&mut outcome.stderr),
        outcome,
    };

    let mut value = serde_json::to_value(&record)
        .map_err(|error| refused_error("recording an outcome in", path, error))?;
    redactor.redact_value(&mut value);
    // Names of hooks and keys are compared later, so they stay as they are.
    value["key"] = key.into();
    value["hook"] = hook.into();
    // A line of its own, also after a torn one.
    Ok(format!("\n{value}\n"))
}

/// The recorded outcomes of a firing, by hook. The first record of a hook counts.
pub(super) fn recorded_outcomes(
    folder: &StateDir,
    key: &str,
) -> LedgerResult<BTreeMap<String, Outcome>> {
    let name = file_name(key);
    let Some(text) = folder.read_existing(&name)? else { return Ok(BTreeMap::new()) };
    let mut outcomes = BTreeMap::new();
    let records = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    for record in records.filter(|record: &RecordedOutcome| record.key == key) {
        let mut outcome = record.outcome;
        record.stdout.put_into(&mut outcome.stdout);
        record.stderr.put_into(&mut outcome.stderr);
        outcomes.entry(record.hook).or_insert(outcome);
    }
    Ok(outcomes)
}

fn file_name(key: &str) -> String {
    let hash = to_hex(&sha256(key)[..16]);
    format!("{SESSION_FILES}/firing-{hash}.jsonl")
}
