//! Reads the outcome of an action. The policy of the hook has the verdict of a failure.

use gambrel_model::text::truncate_chars;
use gambrel_model::{CarryUpdate, End, Event, Hook, Outcome, Verdict};
use serde_json::Value;

use super::{answer, rule};
use crate::event_parts::text_field;

/// Maximum length of a quoted line of stderr.
const MAX_LINE_CHARS: usize = 300;

/// Reads an outcome. Every end but success has a verdict in the hook's policy.
pub fn read_outcome(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let policy = &hook.draft.policy;
    let sentence = || match (answer::sends_question(hook), failure_summary(hook, outcome)) {
        (true, why) => answer::unsent_text(hook, &why),
        (false, why) => format!("`{}` failed: {why}", hook.title()),
    };

    let failed = |why: String| policy.on_failure.with_reason(&sentence()).with_gate_failure(why);
    if let Some(no) = answer::rejection_reason(outcome) {
        return policy.on_reject.with_reason(&no);
    }
    match &outcome.end {
        End::Answered if outcome.failure.is_some() && answer::sends_question(hook) => {
            let why = outcome.failure.clone().unwrap_or_default();
            failed(format!("not asked: {why}"))
        }
        End::Answered if outcome.failure.is_some() => policy.on_failure.with_reason(&sentence()),
        End::Answered if hook.draft.action == "rule" => rule::read_match(event, hook, outcome),
        End::Answered if answer::sends_question(hook) => outcome
            .answer
            .as_ref()
            .map_or_else(Verdict::default, |a| answer::approval_verdict(event, a)),
        End::Exited(0)
        | End::Answered
        | End::NotApplicable
        | End::Detached
        | End::EndedUnobserved => Verdict::default(),
        End::TimedOut if answer::sends_question(hook) => {
            answer::timeout_verdict(event, hook, outcome)
        }
        End::TimedOut => policy
            .on_timeout
            .with_reason(&sentence())
            .with_gate_failure("late: it was killed at its deadline"),
        // The failure of a detached hook has no effect.
        End::FailedToStart(why) if !policy.limits.blocking => {
            Verdict::default().with_gate_failure(format!("not started: {why}"))
        }
        End::FailedToStart(why) => failed(format!("not started: {why}")),
        // The shell's exit codes for a command that is missing or not executable.
        End::Exited(code @ (126 | 127)) => failed(format!("not started: exit code {code}")),
        // A signal is no answer.
        End::Signalled(number) if policy.limits.blocking => {
            failed(format!("ended by signal {number}"))
        }
        End::Exited(_) | End::Signalled(_) => policy.on_failure.with_reason(&sentence()),
    }
}

/// The values that the next action sees.
pub fn carry_update(hook: &Hook, outcome: &Outcome) -> CarryUpdate {
    let ok = outcome.is_success() && answer::rejection_reason(outcome).is_none();
    let mut update = CarryUpdate { ok, ..CarryUpdate::default() };
    let Some(answer) = &outcome.answer else { return update };
    match hook.draft.action.as_str() {
        "webhook" if answer.get("action").is_some_and(Value::is_string) => {
            update.answer = Some(text_field(answer, "body").unwrap_or_default());
        }
        "spawn" => update.output = Some(text_field(answer, "output").unwrap_or_default()),
        _ => {}
    }
    update
}

/// How the action ended, with the first line of stderr.
fn failure_summary(hook: &Hook, outcome: &Outcome) -> String {
    let end = match &outcome.end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(number) => format!("ended by signal {number}"),
        End::TimedOut if outcome.cut_short_by.is_some() => {
            outcome.timeout_reason(hook.draft.policy.limits.timeout)
        }
        End::TimedOut => {
            format!("not done after {}", answer::seconds_text(hook.draft.policy.limits.timeout))
        }
        End::FailedToStart(why) => why.clone(),
        End::Answered => outcome.failure.clone().unwrap_or_default(),
        End::NotApplicable | End::Detached | End::EndedUnobserved => String::new(),
    };
    let stderr = outcome.stderr.to_text();
    let line = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    line.map_or(end.clone(), |line| format!("{end}: {}", truncate_chars(line, MAX_LINE_CHARS, "…")))
}
