//! Success or failure, and what the author wanted a failure to mean.

use gambrel_model::{End, Event, Hook, Last, Outcome, Verdict};
use serde_json::Value;

use super::{answer, child, rule};
use crate::payload::text;

/// How much of a command's complaint is quoted.
const LINE: usize = 300;

/// What was asked for passes; everything else fails, and what that means stands in the hook's
/// terms.
pub fn read(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let terms = &hook.draft.terms;
    let sentence = || match (answer::asks(hook), summary(hook, outcome)) {
        (true, why) => answer::unsent(hook, &why),
        (false, why) => format!("`{}` failed: {why}", hook.title()),
    };
    if let Some(no) = answer::rejection(outcome) {
        return terms.rejected.because(&no);
    }
    match &outcome.end {
        End::Answered if outcome.fault.is_some() && answer::asks(hook) => {
            let why = outcome.fault.clone().unwrap_or_default();
            terms.failed.because(&sentence()).unheard(format!("not asked: {why}"))
        }
        End::Answered if outcome.fault.is_some() => terms.failed.because(&sentence()),
        End::Answered if hook.draft.action == "rule" => rule::read(event, hook, outcome),
        End::Answered if answer::asks(hook) => {
            outcome.answer.as_ref().map_or_else(Verdict::default, |a| answer::approval(event, a))
        }
        End::Exited(0) | End::Answered | End::Passed | End::Detached | End::Ended => {
            Verdict::default()
        }
        End::Late if answer::asks(hook) => answer::unanswered(event, hook, outcome),
        End::Late => terms.late.because(&sentence()).unheard("late: it was killed at its deadline"),
        // Nobody waits for it, so nothing hangs on it.
        End::Unstarted(why) if !terms.waits => {
            Verdict::default().unheard(format!("not started: {why}"))
        }
        End::Unstarted(why) => {
            terms.failed.because(&sentence()).unheard(format!("not started: {why}"))
        }
        // The shell's words for a command that is not there, or may not be run.
        End::Exited(code @ (126 | 127)) => {
            terms.failed.because(&sentence()).unheard(format!("not started: exit code {code}"))
        }
        // A signal is no answer.
        End::Signalled(number) if terms.waits => {
            terms.failed.because(&sentence()).unheard(format!("ended by signal {number}"))
        }
        End::Exited(_) | End::Signalled(_) => terms.failed.because(&sentence()),
    }
}

/// What the next action sees of this one.
pub fn leave(hook: &Hook, outcome: &Outcome, last: &mut Last) {
    last.ok = Some(outcome.succeeded() && answer::rejection(outcome).is_none());
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
        End::Late if outcome.cut.is_some() => outcome.lateness(hook.draft.terms.timeout),
        End::Late => format!("not done after {} seconds", hook.draft.terms.timeout.as_secs_f64()),
        End::Unstarted(why) => why.clone(),
        End::Answered => outcome.fault.clone().unwrap_or_default(),
        End::Passed | End::Detached | End::Ended => String::new(),
    };
    let stderr = outcome.stderr.text();
    let line = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    line.map_or(end.clone(), |line| {
        format!("{end}: {}", line.chars().take(LINE).collect::<String>())
    })
}
