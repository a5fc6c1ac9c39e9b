//! Writes the reply for a pipeline: whether to stop, the result of each action, and variables.

use gambrel_model::{Audience, Decision, End, Event, Moment, Reply, Ruling, Step};
use serde_json::{Value, json};

use super::NAME;
use super::variables::status_text;

/// Writes `abort` for a halt and for a refused start of an iteration, and `deny` for other
/// refusals.
pub fn write_reply(event: &Event, decision: &Decision) -> Reply {
    let verdict = &decision.for_caller;
    let denied = verdict.ruling == Ruling::Deny;
    let abort =
        verdict.ruling == Ruling::Halt || (denied && event.spec.moment == Moment::IterationStart);
    let words = |audiences: &[Audience]| -> Vec<&str> {
        verdict
            .messages
            .iter()
            .filter(|message| audiences.contains(&message.to))
            .map(|message| message.text.as_str())
            .collect()
    };
    let why = || match verdict.ruling_reasons().join("\n") {
        empty if empty.is_empty() => "a hook refused without a reason".to_owned(),
        reasons => reasons,
    };
    let own = decision.trail.iter().filter(|step| step.dialect == NAME);
    let last = decision.carry.previous_of(NAME);
    let mut answer = json!({
        "abort": abort,
        "reason": abort.then(why),
        "actions": own.map(action_json).collect::<Vec<_>>(),
        "vars": {
            "LAST_HOOK_STATUS": status_text(last.ok),
            "HOOK_RESPONSE": last.answer,
            "SPAWN_OUTPUT": last.output,
        },
        "context": words(&[Audience::AgentNow, Audience::AgentNextTurn]),
        "notices": words(&[Audience::User]),
    });
    if denied && !abort {
        answer["deny"] = json!(why());
    }
    Reply { exit: i32::from(abort), ..Reply::from_json(&answer) }
}

fn action_json(step: &Step) -> Value {
    let outcome = step.outcome.as_ref();
    let status = match outcome.map(|outcome| &outcome.end) {
        None => "skipped",
        Some(End::Detached) => "started",
        Some(_) if step.ok == Some(true) => "success",
        Some(_) => "failed",
    };
    let mut action = json!({
        "type": step.action,
        "status": status,
        "attempts": outcome.map_or(0, |outcome| outcome.attempts),
        "name": step.title,
        "source": step.source,
    });
    if let Some(End::Exited(code)) = outcome.map(|outcome| &outcome.end) {
        action["exit"] = json!(code);
    }
    if !step.why.is_empty() {
        action["why"] = json!(step.why);
    }
    if step.recheck {
        action["recheck"] = json!(true);
    }
    action
}
