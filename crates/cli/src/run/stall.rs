//! Finds a live run whose agent has written nothing for long.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gambrel_runner::{Plan, RunFolder, RunState, RunStep};

/// How long an agent may write nothing before it is shown.
const STALL_WINDOW: Duration = Duration::from_secs(5 * 60);

/// An agent that has written nothing for long.
#[derive(Debug, Clone, Copy)]
pub struct AgentStall {
    /// The last write, or the agent's start, in milliseconds since the epoch.
    pub since_ms: u64,
    /// How long ago that was, in milliseconds.
    pub silent_ms: u64,
}

impl AgentStall {
    /// The stall of a live run, if its agent works and writes nothing.
    pub fn find(plan: &Plan, state: &RunState, folder: &Path, now_ms: u64) -> Option<Self> {
        let folder = RunFolder::new(folder.to_owned());
        let cursor = &state.cursor;
        let output = match cursor.step {
            RunStep::Agent => folder.iteration_files(plan, cursor.node(), cursor.iteration).output,
            RunStep::Delivery => folder.path.join("delivery.md"),
            _ => return None,
        };
        // The newest line of the log is the one that says that the agent starts.
        let writes = [write_ms(&output), write_ms(&output.with_extension("log"))];
        let since_ms = writes.into_iter().flatten().fold(state.last_ms, u64::max);
        let silent_ms = now_ms.saturating_sub(since_ms);
        let is_long = u128::from(silent_ms) > STALL_WINDOW.as_millis();
        is_long.then_some(Self { since_ms, silent_ms })
    }

    /// How long nothing was written, as text.
    pub fn describe(&self) -> String {
        format!("no output for {} min", self.silent_ms / 60_000)
    }
}

/// When a file was last written, in milliseconds since the epoch.
fn write_ms(path: &Path) -> Option<u64> {
    let written: SystemTime = std::fs::metadata(path).ok()?.modified().ok()?;
    u64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}
