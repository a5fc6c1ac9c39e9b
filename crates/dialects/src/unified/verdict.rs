//! Success or failure, and what the author wanted a failure to mean.

use gambrel_model::{End, Event, Hook, Outcome, PreviousHook, Verdict};
use serde_json::Value;

use super::{answer, child, rule};
use crate::payload::text;

/// How much of a command's complaint is quoted.
const LINE: usize = 300;

/// What was asked for passes; everything else fails, and what that means stands in the hook's
/// terms.
pub fn read(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let terms = &hook.draft.policy;
    let sentence = || match (answer::asks(hook), summary(hook, outcome)) {
        (true, why) => answer::unsent(hook, &why),
        (false, why) => format!("`{}` failed: {why}", hook.title()),
    };
    if let Some(no) = answer::rejection(outcome) {
        return terms.on_reject.with_reason(&no);
    }
    match &outcome.end {
        End::Answered if outcome.failure.is_some() && answer::asks(hook) => {
            let why = outcome.failure.clone().unwrap_or_default();
            terms.on_failure.with_reason(&sentence()).with_gate_failure(format!("not asked: {why}"))
        }
        End::Answered if outcome.failure.is_some() => terms.on_failure.with_reason(&sentence()),
        End::Answered if hook.draft.action == "rule" => rule::read(event, hook, outcome),
        End::Answered if answer::asks(hook) => {
            outcome.answer.as_ref().map_or_else(Verdict::default, |a| answer::approval(event, a))
        }
        End::Exited(0)
        | End::Answered
        | End::NotApplicable
        | End::Detached
        | End::EndedUnobserved => Verdict::default(),
        End::TimedOut if answer::asks(hook) => answer::unanswered(event, hook, outcome),
        End::TimedOut => terms
            .on_timeout
            .with_reason(&sentence())
            .with_gate_failure("late: it was killed at its deadline"),
        // Nobody waits for it, so nothing hangs on it.
        End::FailedToStart(why) if !terms.blocking => {
            Verdict::default().with_gate_failure(format!("not started: {why}"))
        }
        End::FailedToStart(why) => terms
            .on_failure
            .with_reason(&sentence())
            .with_gate_failure(format!("not started: {why}")),
        // The shell's words for a command that is not there, or may not be run.
        End::Exited(code @ (126 | 127)) => terms
            .on_failure
            .with_reason(&sentence())
            .with_gate_failure(format!("not started: exit code {code}")),
        // A signal is no answer.
        End::Signalled(number) if terms.blocking => terms
            .on_failure
            .with_reason(&sentence())
            .with_gate_failure(format!("ended by signal {number}")),
        End::Exited(_) | End::Signalled(_) => terms.on_failure.with_reason(&sentence()),
    }
}

/// What the next action sees of this one.
pub fn leave(hook: &Hook, outcome: &Outcome, last: &mut PreviousHook) {
    last.ok = Some(outcome.is_success() && answer::rejection(outcome).is_none());
    let Some(answer) = &outcome.answer else { return };
    match hook.draft.action.as_str() {
        "webhook" if answer.get("action").is_some_and(Value::is_string) => {
            last.answer = text(answer, "body").unwrap_or_default();
        }
        "spawn" => last.output = child::output(answer),
        _ => {}
    }
}

/// How it ended, and the first thing it said about that.
fn summary(hook: &Hook, outcome: &Outcome) -> String {
    let end = match &outcome.end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(number) => format!("ended by signal {number}"),
        End::TimedOut if outcome.cut_short_by.is_some() => {
            outcome.timeout_reason(hook.draft.policy.timeout)
        }
        End::TimedOut => {
            format!("not done after {} seconds", hook.draft.policy.timeout.as_secs_f64())
        }
        End::FailedToStart(why) => why.clone(),
        End::Answered => outcome.failure.clone().unwrap_or_default(),
        End::NotApplicable | End::Detached | End::EndedUnobserved => String::new(),
    };
    let stderr = outcome.stderr.text();
    let line = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    line.map_or(end.clone(), |line| {
        format!("{end}: {}", line.chars().take(LINE).collect::<String>())
    })
}
