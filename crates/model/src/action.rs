//! The trait between the engine and the code that runs calls. An action must not know events,
//! dialects or decisions.

use crate::call::Call;
use crate::outcome::Outcome;

/// One way to run a call: a row of the table `ACTIONS`.
pub trait Action: Send + Sync {
    /// The name that a configuration uses.
    fn name(&self) -> &'static str;

    /// Runs all jobs at once and returns their outcomes in the same order. Only here does a firing
    /// wait. It waits at most until a job's deadline plus its kill grace.
    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome>;
}

/// A call, and the record that a supervisor needs for a detached hook.
pub struct Job<'a> {
    /// What to run.
    pub call: &'a Call,
    /// Builds the text that is handed to a supervisor, which records the outcome after the caller
    /// has exited.
    pub record: Option<&'a (dyn Fn() -> String + Sync)>,
}
