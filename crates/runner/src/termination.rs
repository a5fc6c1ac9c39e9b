//! Whether a node has ended. Pure, but for the queue, whose answer is given.

use crate::plan::{PlanNode, TerminationKind};
use crate::state::HistoryEntry;

/// The text by which an agent says that a queue is done.
const COMPLETION_SIGNAL: &str = "<promise>COMPLETE</promise>";

/// How a node goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeProgress {
    /// Another iteration.
    Continue,
    /// The node is complete, and why.
    Complete(String),
    /// The agent decided `error`, and why.
    Failed(String),
}

/// What the queue says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAnswer {
    /// Nothing is left.
    Empty,
    /// Something is left, or the command failed.
    HasWork,
}

/// Whether a node has ended after its newest iteration.
pub fn check_termination(
    node: &PlanNode,
    history: &[HistoryEntry],
    output: &str,
    is_session_complete: bool,
    ask_queue: impl FnOnce() -> QueueAnswer,
) -> NodeProgress {
    let own: Vec<&HistoryEntry> = history.iter().filter(|entry| entry.stage == node.id).collect();
    let Some(last) = own.last() else { return NodeProgress::Continue };
    if last.decision == "error" {
        return NodeProgress::Failed(last.reason.clone());
    }

    let complete = |reason: &str| NodeProgress::Complete(reason.to_owned());
    let reached = last.iteration >= node.termination.max;
    match node.termination.kind {
        TerminationKind::Fixed if last.decision == "stop" => complete("agent_stop"),
        TerminationKind::Fixed if last.iteration >= node.termination.fixed_count() => {
            complete("fixed_iterations")
        }
        TerminationKind::Judgment if has_consensus(node, &own) => complete("consensus"),
        TerminationKind::Queue if output.contains(COMPLETION_SIGNAL) => {
            complete("completion_signal")
        }
        TerminationKind::Queue if ask_queue() == QueueAnswer::Empty => complete("queue_empty"),
        TerminationKind::Session if is_session_complete => complete("session_complete"),
        _ if reached => complete("max_iterations"),
        _ => NodeProgress::Continue,
    }
}

/// Whether enough iterations in a row, the newest included, decided `stop`.
fn has_consensus(node: &PlanNode, own: &[&HistoryEntry]) -> bool {
    let needed = node.termination.consensus.unwrap_or(1) as usize;
    let first = node.termination.min_iterations.unwrap_or(1);
    let stops = own.iter().rev().take_while(|entry| entry.decision == "stop").count();
    own.last().is_some_and(|last| last.iteration >= first) && stops >= needed
}
