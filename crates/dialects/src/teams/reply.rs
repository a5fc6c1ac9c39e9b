//! The `result` object of the hook log, and an exit code.

use gambrel_model::{Decision, Ear, Event, Reply, Step, Verdict};
use serde_json::{Value, json};

use super::verdict::result;

/// The contract's own hook answers in its own shape; words of other dialects' hooks are added to
/// its stdout, their refusals make it fail.
pub fn reply(event: &Event, decision: &Decision) -> Reply {
    let own = decision.trail.iter().find(|step| step.ran && step.dialect == event.from.name());
    let mut result = own.map_or_else(nothing_ran, own_result);
    let words = spoken(&decision.said);
    if !words.is_empty() {
        let before = result["stdout"].as_str().unwrap_or_default().to_owned();
        let joined = match before.is_empty() {
            true => words,
            false => format!("{}\n{words}", before.trim_end_matches('\n')),
        };
        result["stdout"] = json!(joined);
    }
    let own_failed = own.and_then(|step| step.outcome.as_ref()).is_some_and(|o| !o.succeeded());
    let refused = decision.said.ruling.refuses();
    if refused && !own_failed {
        result["refused"] = json!(decision.said.why().join("\n"));
    }
    let notices: Vec<&str> = decision.said.words(Ear::Person).collect();
    Reply {
        stdout: format!("{result}\n").into_bytes(),
        stderr: notices.iter().map(|notice| format!("{notice}\n")).collect(),
        exit: i32::from(own_failed || refused),
    }
}

fn own_result(step: &Step) -> Value {
    let path = step.source.as_str();
    step.outcome.as_ref().map_or_else(nothing_ran, |outcome| result(path, outcome))
}

fn nothing_ran() -> Value {
    json!({"ran": false, "contractVersion": 1})
}

fn spoken(said: &Verdict) -> String {
    let words = said.words(Ear::Agent).chain(said.words(Ear::Next));
    words.collect::<Vec<_>>().join("\n")
}
