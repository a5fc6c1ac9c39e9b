//! Firings of a turn on threads of their own: a hook may wait for a person, and the run goes on
//! reading what the agent says.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use gambrel_model::{Complaint, Decision};

use crate::agent::AcpInput;
use crate::context::FireHooks;
use crate::firing::{FiringName, PreparedFiring};

/// A firing about a tool call.
pub(crate) struct FiringJob<'p> {
    /// The call.
    pub call: String,
    /// The firing.
    pub firing: PreparedFiring<'p>,
}

/// A firing about a tool call that has ended.
pub struct FiredTool {
    /// The call.
    pub call: String,
    /// What the firing is about.
    pub name: FiringName,
    /// The decision.
    pub decision: Result<Decision, Complaint>,
}

/// Fires until there are no more jobs.
pub(crate) fn run_firings(
    fire: &FireHooks<'_>,
    jobs: &Mutex<Receiver<FiringJob<'_>>>,
    results: &Sender<AcpInput<FiredTool>>,
) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(FiringJob { call, firing }) = job else { return };
        let decision = fire(&firing.request);
        let fired = FiredTool { call, name: firing.name, decision };
        if results.send(AcpInput::Done(fired)).is_err() {
            return;
        }
    }
}
