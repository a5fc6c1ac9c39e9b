//! The log of a run: lines are appended through the ledger, which refuses a second writer.

use gambrel_model::Ledger;
use gambrel_model::ledger::RunLog;

use crate::context::RunError;
use crate::log_line::LogLine;

/// Appends lines to the log of a run.
pub struct RunLogWriter<'r> {
    ledger: &'r dyn Ledger,
    log: RunLog,
    last: u64,
}

impl<'r> RunLogWriter<'r> {
    /// Opens the log, and reads its lines. A line that was cut off at the end is dropped.
    pub fn open(ledger: &'r dyn Ledger, log: RunLog) -> Result<(Self, Vec<LogLine>), RunError> {
        let stored = ledger.read(&log)?;
        let mut lines = Vec::with_capacity(stored.lines.len());
        for (index, value) in stored.lines.iter().enumerate() {
            let line = serde_json::from_value(value.clone()).map_err(|error| RunError::Log {
                path: log.folder.join("events.jsonl").display().to_string(),
                line: index + 1,
                why: error.to_string(),
            })?;
            lines.push(line);
        }
        let last = lines.len() as u64;
        Ok((Self { ledger, log, last }, lines))
    }

    /// Appends lines at once, durably.
    pub fn append(&mut self, lines: &[LogLine]) -> Result<(), RunError> {
        let values: Vec<_> =
            lines.iter().filter_map(|line| serde_json::to_value(line).ok()).collect();
        self.last = self.ledger.append(&self.log, self.last, &values)?;
        Ok(())
    }
}
