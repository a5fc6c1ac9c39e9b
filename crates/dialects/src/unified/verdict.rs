//! Success or failure, and what the author wanted a failure to mean.

use gambrel_model::{End, Event, Hook, Kind, Last, Outcome, Ruling, Verdict};
use serde_json::Value;

use super::{child, rule, webhook};
use crate::payload::text;

/// How much of a command's complaint is quoted.
const LINE: usize = 300;

/// What was asked for passes; everything else fails, and what that means stands in the hook's
/// terms.
pub fn read(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let terms = &hook.draft.terms;
    let sentence = || format!("`{}` failed: {}", hook.title(), summary(hook, outcome));
    if let Some(no) = rejection(outcome) {
        return terms.rejected.because(&no);
    }
    match &outcome.end {
        End::Answered if outcome.fault.is_some() => terms.failed.because(&sentence()),
        End::Answered if hook.draft.action == "rule" => rule::read(event, hook, outcome),
        End::Exited(0) | End::Answered | End::Passed | End::Detached | End::Ended => {
            Verdict::default()
        }
        End::Late => late(event, hook, outcome, &sentence()),
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
        End::Exited(_) | End::Signalled(_) => terms.failed.because(&sentence()),
    }
}

/// A host that cannot wait any longer is told where the answer will be found; nothing passes in
/// the meantime.
fn late(event: &Event, hook: &Hook, outcome: &Outcome, sentence: &str) -> Verdict {
    let pending = outcome.answer.as_ref().and_then(|answer| text(answer, "pending"));
    match pending {
        Some(ticket) if event.kind() == Kind::Gate => {
            let help = format!("waiting for approval, ticket {ticket}: try again once it is given");
            Verdict::ruled(Ruling::Deny, help)
        }
        Some(ticket) => hook.draft.terms.late.because(&format!("waiting for approval, {ticket}")),
        None => {
            let late = hook.draft.terms.late.because(sentence);
            late.unheard("late: it was killed at its deadline")
        }
    }
}

fn rejection(outcome: &Outcome) -> Option<String> {
    let answered = outcome.end == End::Answered && outcome.fault.is_none();
    outcome.answer.as_ref().filter(|_| answered).and_then(webhook::rejection)
}

/// What the next action sees of this one.
pub fn leave(hook: &Hook, outcome: &Outcome, last: &mut Last) {
    last.ok = Some(outcome.succeeded() && rejection(outcome).is_none());
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
