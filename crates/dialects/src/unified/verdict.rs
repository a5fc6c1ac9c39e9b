//! Success or failure, and what the author wanted a failure to mean.

use gambrel_model::{End, Hook, Outcome, Verdict};

/// How much of a command's complaint is quoted.
const LINE: usize = 300;

/// 0 passes; everything else fails, and what that means stands in the hook's terms.
pub fn read(hook: &Hook, outcome: &Outcome) -> Verdict {
    let terms = &hook.draft.terms;
    let sentence = || format!("`{}` failed: {}", hook.title(), summary(hook, outcome));
    match &outcome.end {
        End::Exited(0) | End::Answered | End::Detached => Verdict::default(),
        End::Late => terms.late.because(&sentence()).unheard("late: it was killed at its deadline"),
        // Nobody waits for it, so nothing hangs on it.
        End::Unstarted(why) if !terms.waits => {
            Verdict::default().unheard(format!("not started: {why}"))
        }
        End::Unstarted(why) => {
            terms.failed.because(&sentence()).unheard(format!("not started: {why}"))
        }
        End::Exited(_) | End::Signalled(_) => terms.failed.because(&sentence()),
    }
}

/// How it ended, and the first thing it said about that.
fn summary(hook: &Hook, outcome: &Outcome) -> String {
    let end = match &outcome.end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(number) => format!("ended by signal {number}"),
        End::Late => format!("not done after {} seconds", hook.draft.terms.timeout.as_secs_f64()),
        End::Unstarted(why) => why.clone(),
        other => other.word().to_owned(),
    };
    let stderr = outcome.stderr.text();
    let line = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    line.map_or(end.clone(), |line| {
        format!("{end}: {}", line.chars().take(LINE).collect::<String>())
    })
}
