//! The border between the engine and the room that runs things. An action knows calls and
//! outcomes; it never hears of events, dialects or decisions.

use crate::call::Call;
use crate::outcome::Outcome;

/// One way to run a call: a row of the table `ACTIONS`.
pub trait Action: Send + Sync {
    /// The word by which a configuration asks for it.
    fn name(&self) -> &'static str;

    /// Runs all jobs at once and returns their outcomes in the same order. The only place where
    /// a firing waits. Never panics for a job's sake and never waits past a job's deadline by
    /// more than its grace.
    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome>;
}

/// A call, and what a supervisor needs when nobody waits for it.
pub struct Job<'a> {
    /// What to run.
    pub call: &'a Call,
    /// Written when a call is left to a supervisor, and handed to it unread, so that it can record
    /// and read the outcome after the caller has gone.
    pub record: Option<&'a (dyn Fn() -> String + Sync)>,
}
