//! Turns the output of a command into a message for the agent. Failures and timeouts are part of
//! the message.

use gambrel_model::{Audience, End, Event, Hook, Moment, Outcome, SideEffect, Verdict};

use super::config::is_immediate;

/// Reads an outcome. Only a hook with `pipe_output` sends a message; no hook refuses.
/// A hook of `on_error` lets the run go on.
pub fn read_outcome(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let text = output_text(hook, outcome);
    let mut verdict = match hook.draft.policy.forwards_output && !text.is_empty() {
        true => Verdict::with_only_message(output_audience(hook), text),
        false => Verdict::default(),
    };
    if event.moment == Moment::Error {
        verdict.side_effects.push(SideEffect::Recover);
    }
    if is_immediate(hook) && !verdict.messages.is_empty() {
        let heading = immediate_heading(event);
        verdict.side_effects.push(SideEffect::FollowUp { heading, hook: String::new() });
    }
    match &outcome.end {
        End::TimedOut => verdict.with_gate_failure("late: it was killed at its deadline"),
        End::FailedToStart(why) => verdict.with_gate_failure(format!("not started: {why}")),
        _ => verdict,
    }
}

/// What iteratr writes before output that it sends at once.
fn immediate_heading(event: &Event) -> String {
    let iteration = event.facts.iteration.unwrap_or_default();
    format!(
        "[POST-ITERATION HOOKS - iteration #{iteration}]\n\
         The following output is from post-iteration hooks (linting, vetting, etc.).\n\
         If there are errors or issues, fix them now. Do NOT pick a new task.\n\
         When done fixing (or if no issues), STOP immediately.\n\n"
    )
}

/// The audience of a hook's output. Hooks after an iteration send it to the next iteration.
fn output_audience(hook: &Hook) -> Audience {
    let later = [Moment::IterationEnd, Moment::TaskCompleted];
    match hook.specs.iter().any(|row| later.contains(&row.moment)) {
        true => Audience::AgentNextTurn,
        false => Audience::AgentNow,
    }
}

fn output_text(hook: &Hook, outcome: &Outcome) -> String {
    let stdout = outcome.stdout.to_text();
    let stderr = outcome.stderr.to_text();
    let both =
        if stderr.is_empty() { stdout.clone() } else { format!("{stdout}\n[stderr]\n{stderr}") };
    let failed = |why: &str| format!("[Hook command failed: {why}]\n{both}");
    match &outcome.end {
        // The text of a timeout does not include stderr.
        End::TimedOut if outcome.cut_short_by.is_some() => {
            let why = outcome.timeout_reason(hook.draft.policy.limits.timeout);
            format!("[Hook {why}]\nPartial output:\n{stdout}")
        }
        End::TimedOut => {
            let seconds = hook.draft.policy.limits.timeout.as_secs();
            format!("[Hook timed out after {seconds}s]\nPartial output:\n{stdout}")
        }
        End::Exited(0)
        | End::Answered
        | End::NotApplicable
        | End::Detached
        | End::EndedUnobserved => both,
        End::Exited(code) => failed(&format!("exit status {code}")),
        End::Signalled(number) => failed(&format!("signal: {}", signal_name(*number))),
        End::FailedToStart(why) => failed(why),
    }
}

/// A signal's name as Go prints it, because iteratr is written in Go.
fn signal_name(number: i32) -> String {
    const SIGNAL_NAMES: [&str; 15] = [
        "hangup",
        "interrupt",
        "quit",
        "illegal instruction",
        "trace/breakpoint trap",
        "aborted",
        "bus error",
        "floating point exception",
        "killed",
        "user defined signal 1",
        "segmentation fault",
        "user defined signal 2",
        "broken pipe",
        "alarm clock",
        "terminated",
    ];
    let word = usize::try_from(number - 1).ok().and_then(|at| SIGNAL_NAMES.get(at));
    word.map_or_else(|| format!("signal {number}"), |word| (*word).to_owned())
}
