//! Writes the reply: the `result` object of the hook log, and an exit code.

use gambrel_model::{Decision, Event, Message, Reply, Ruling, Step};
use serde_json::{Value, json};

use super::HOOK_CONTRACT_VERSION;
use super::verdict::result_json;

/// The result of the pi-teams hook. Messages of other dialects' hooks are added to its stdout, and
/// their refusals make it fail.
pub fn write_reply(event: &Event, decision: &Decision) -> Reply {
    // An outcome that was recorded by an earlier firing with the same key counts, too.
    let is_own = |step: &&Step| step.outcome.is_some() && step.dialect == event.dialect.name;
    let own = decision.trail.iter().find(is_own);
    let mut result = own.map_or_else(nothing_ran, own_result);
    let (own_notices, words) = split_messages(event, decision);
    if !words.is_empty() {
        let before = result["stdout"].as_str().unwrap_or_default().to_owned();
        let joined = match before.is_empty() {
            true => words,
            false => format!("{}\n{words}", before.trim_end_matches('\n')),
        };
        result["stdout"] = json!(joined);
    }

    let own_failed = own.and_then(|step| step.outcome.as_ref()).is_some_and(|o| !o.is_success());
    // An idle member cannot receive a halt. The halt stays undelivered, but the reply is a failure.
    let refused = decision.for_caller.ruling.is_refusal() || decision.merged.ruling == Ruling::Halt;
    if refused && !own_failed {
        result["refused"] = json!(decision.merged.ruling_reasons().join("\n"));
    }
    let stderr = own_notices.iter().map(|notice| format!("{notice}\n")).collect();
    Reply { stderr, exit: i32::from(own_failed || refused), ..Reply::from_json(&result) }
}

fn own_result(step: &Step) -> Value {
    let path = step.source.as_str();
    step.outcome.as_ref().map_or_else(nothing_ran, |outcome| result_json(path, outcome))
}

fn nothing_ran() -> Value {
    json!({
        "ran": false, "timedOut": false, "exitCode": null, "durationMs": 0,
        "stdout": "", "stderr": "", "contractVersion": HOOK_CONTRACT_VERSION,
    })
}

/// The messages of the pi-teams hook, which its result contains already, and the messages of all
/// other hooks as one text.
fn split_messages<'d>(event: &Event, decision: &'d Decision) -> (Vec<&'d str>, String) {
    let own = |hook: &str| {
        let mut steps = decision.trail.iter();
        steps.any(|step| step.hook == hook && step.dialect == event.dialect.name)
    };
    let messages = decision.for_caller.messages.iter();
    let (own, foreign): (Vec<&Message>, Vec<&Message>) =
        messages.partition(|message| own(&message.hook));
    let text = |message: &&'d Message| message.text.as_str();
    (own.iter().map(text).collect(), foreign.iter().map(text).collect::<Vec<_>>().join("\n"))
}
