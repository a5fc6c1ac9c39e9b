//! An agent that is one process per prompt: the prompt on stdin, its output in a file.

use std::time::Duration;

use gambrel_model::call::{TeeTarget, WatchdogStart};
use gambrel_model::text::truncate_chars;
use gambrel_model::{Call, End, Limits, Outcome, Program, Shell};

use super::{AgentJob, TurnEnd};
use crate::context::RunContext;

/// The timeout of an agent that has none.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 86_400);
const AGENT_KILL_GRACE: Duration = Duration::from_secs(5);
/// The most characters of an agent's last words in an error.
const MAX_LAST_WORDS: usize = 300;

/// Runs the command of an agent.
pub fn run_command(context: &RunContext<'_>, command: &str, job: &AgentJob) -> TurnEnd {
    let call = Call {
        program: Program::Shell { shell: Shell::BashOrSh, text: command.to_owned() },
        env: job.env.clone(),
        stdin: Some(job.blocks().join("\n\n").into_bytes().into()),
        cwd: job.cwd.clone(),
        limits: Limits {
            timeout: job.timeout.unwrap_or(NO_TIMEOUT),
            leftover_timeout: Some(Duration::ZERO),
            kill_grace: AGENT_KILL_GRACE,
            watchdog: WatchdogStart::Immediately,
            ..Limits::default()
        },
        tee_stdout: Some(choose_output(job)),
        ..Call::default()
    };
    let outcome = (context.run_call)(&call);
    if (context.interrupted)().is_some() {
        return TurnEnd::Interrupted;
    }
    describe_end(&outcome)
}

/// Where the printed text goes. If the agent writes the output itself, its text stays, and the
/// printed text goes to the log beside it.
pub fn choose_output(job: &AgentJob) -> TeeTarget {
    let log = job.output.with_extension("log");
    if job.is_follow_up {
        let path = if log.exists() { log } else { job.output.clone() };
        return TeeTarget { path, if_taken: None };
    }
    TeeTarget { path: job.output.clone(), if_taken: Some(log) }
}

fn describe_end(outcome: &Outcome) -> TurnEnd {
    let failed = |what: String| {
        let words = last_words(outcome);
        TurnEnd::Failed(if words.is_empty() { what } else { format!("{what}: {words}") })
    };
    match &outcome.end {
        End::Exited(0) => TurnEnd::Completed,
        End::Exited(code) => failed(format!("the agent exited with code {code}")),
        End::Signalled(signal) => failed(format!("signal {signal} ended the agent")),
        End::TimedOut => TurnEnd::TimedOut,
        End::FailedToStart(why) => TurnEnd::Failed(format!("the agent did not start: {why}")),
        other => failed(format!("the agent ended as `{}`", other.trail_word())),
    }
}

/// The last line of what the agent wrote to stderr.
fn last_words(outcome: &Outcome) -> String {
    let text = outcome.stderr.to_text();
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    truncate_chars(line.trim(), MAX_LAST_WORDS, "…")
}
