//! Applies the results of quality gates to a board. The dialect computes what changes; this stores
//! it. Every step can be repeated: a process that was killed in between leaves nothing done twice.

use gambrel_dialects::teams::gate::{
    GateEvent, QualityGateChange, apply_quality_gate, find_follow_up, follow_up_task, gate_messages,
};
use gambrel_model::ledger::{Boards, InboxMessage, Task};
use gambrel_model::{LedgerError, LedgerErrorKind};

/// What a gate did to a board.
#[derive(Debug, Default)]
pub(crate) struct GateEffects {
    /// Lines for the user.
    pub notices: Vec<String>,
    /// Messages that were sent to members.
    pub messages: Vec<InboxMessage>,
}

/// Applies one result. `task` is the task as the gate saw it, if it was still there.
pub(crate) fn apply_gate(
    (boards, name): (&dyn Boards, &str),
    event: GateEvent<'_>,
    task: Option<&Task>,
) -> Result<GateEffects, LedgerError> {
    let mut change = QualityGateChange { at: event.at, ..QualityGateChange::default() };
    let mut known = task.cloned();
    if let Some(task) = task {
        let updated = boards.update_task(name, Some(&task.id), &mut |_, task| {
            change = apply_quality_gate(event, task);
            Ok(())
        });
        known = match updated {
            Ok(task) => Some(task),
            // It was removed meanwhile.
            Err(error) if error.kind == LedgerErrorKind::Refused => None,
            Err(error) => return Err(error),
        };
    }
    let follow_up = match &known {
        Some(task) => add_follow_up((boards, name), event, task)?,
        None => None,
    };
    let messages = gate_messages(event, (known.as_ref(), change), follow_up.as_ref());
    for message in &messages {
        boards.send(name, message)?;
    }
    let notices = describe_change(event, (known.as_ref(), change), follow_up.as_ref());
    Ok(GateEffects { notices, messages })
}

fn add_follow_up(
    (boards, name): (&dyn Boards, &str),
    event: GateEvent<'_>,
    task: &Task,
) -> Result<Option<Task>, LedgerError> {
    let Some(draft) = follow_up_task(event, task) else { return Ok(None) };
    if let Some(earlier) = find_follow_up(&boards.tasks(name)?, event) {
        return Ok(Some(earlier.clone()));
    }
    let added = boards.update_task(name, None, &mut |_, task| {
        let Task { subject, description, owner, metadata, .. } = draft.clone();
        *task = Task { subject, description, owner, metadata, ..task.clone() };
        task.priority = gambrel_runner::DEFAULT_PRIORITY;
        Ok(())
    })?;
    Ok(Some(added))
}

/// What the user reads about a failed gate.
fn describe_change(
    event: GateEvent<'_>,
    (task, change): (Option<&Task>, QualityGateChange),
    follow_up: Option<&Task>,
) -> Vec<String> {
    let (Some(_), Some(task)) = (&event.result.failure, task) else { return Vec::new() };
    let mut lines = Vec::new();
    if change.reopened && !event.is_before_completion {
        lines.push(format!("task {} was reopened", task.id));
    }
    if change.suppressed {
        let max = event.result.policy.max_reopens;
        lines.push(format!("task {} was not reopened: the limit is {max}", task.id));
    }
    lines.extend(follow_up.map(|added| format!("task {} was added to repair it", added.id)));
    lines
}
