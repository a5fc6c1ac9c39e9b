//! The tables of oh-my-pi's events and tools.

use std::borrow::Cow;
use std::sync::OnceLock;

use gambrel_model::{
    EventSpec, Moment, MomentKind, Order, PatchRule, Powers, Slot, Subject, ToolKind, ToolWord,
};

/// A caller delivers messages to the agent with its next turn, and to the user as notices.
const LATER: Powers = Powers::MESSAGE_NEXT_TURN.union(Powers::MESSAGE_USER);
/// A handler may only refuse.
const BLOCK: Powers = Powers::DENY;
/// A caller that can be refused.
const REFUSED: Powers = Powers::DENY.union(LATER);

/// An event without an answer.
const fn plain_event(name: &'static str, moment: Moment) -> EventSpec {
    EventSpec::new(name, moment).with_caller_powers(LATER)
}

/// An event that a handler can cancel. The first refusal ends the firing.
const fn gate_event(name: &'static str, moment: Moment) -> EventSpec {
    EventSpec::new(name, moment)
        .with_order(Order::UntilRefused)
        .with_rewrites(PatchRule::Last, &[])
        .with_hook_powers(BLOCK)
        .with_caller_powers(REFUSED)
}

/// An event without a neutral moment.
const fn own_event(name: &'static str) -> EventSpec {
    plain_event(name, Moment::Other(Cow::Borrowed(name)))
}

/// An event that a handler can answer instead of the host.
const fn answered_event(name: &'static str) -> EventSpec {
    own_event(name).with_rewrites(PatchRule::Chain, &[])
}

const fn result_event(moment: Moment) -> EventSpec {
    plain_event("tool_result", moment)
        .with_rewrites(PatchRule::Last, &[Slot::Output])
        .with_subject(Subject::Tool)
}

/// A caller delivers messages with the reply.
const NOW: Powers = Powers::MESSAGE_AGENT.union(Powers::MESSAGE_USER);

/// Every event of both editions and of pi, and a last row for unknown names. Events of one moment
/// are in the order in which they fire.
pub static EVENTS: &[EventSpec] = &[
    plain_event("session_start", Moment::SessionStart),
    gate_event("session_before_switch", Moment::SessionSwitchBefore),
    plain_event("session_switch", Moment::SessionSwitch),
    gate_event("session_before_branch", Moment::SessionBranchBefore),
    plain_event("session_branch", Moment::SessionBranch),
    gate_event("session_before_compact", Moment::CompactBefore),
    plain_event("session.compacting", Moment::CompactBefore)
        .with_hook_powers(Powers::MESSAGE_AGENT)
        .with_caller_powers(NOW)
        .as_duplicate(),
    plain_event("session_compact", Moment::CompactAfter),
    gate_event("session_before_tree", Moment::SessionTreeBefore),
    plain_event("session_tree", Moment::SessionTree),
    plain_event("session_shutdown", Moment::SessionEnd).with_caller_powers(Powers::MESSAGE_USER),
    plain_event("context", Moment::Context).with_rewrites(PatchRule::Chain, &[Slot::ChatMessages]),
    gate_event("input", Moment::IterationStart).with_rewrites(PatchRule::Chain, &[Slot::Prompt]),
    plain_event("before_agent_start", Moment::IterationStart)
        .with_rewrites(PatchRule::First, &[Slot::InjectedMessage])
        .with_hook_powers(Powers::MESSAGE_AGENT)
        .with_caller_powers(NOW),
    plain_event("agent_start", Moment::AgentStart),
    plain_event("session_stop", Moment::IterationEnd)
        .with_rewrites(PatchRule::Chain, &[])
        .with_hook_powers(BLOCK)
        .with_caller_powers(REFUSED)
        .with_end_veto(),
    plain_event("agent_end", Moment::IterationEnd).with_end_veto(),
    plain_event("turn_start", Moment::TurnStart),
    plain_event("turn_end", Moment::TurnEnd),
    plain_event("auto_compaction_start", Moment::AutoCompaction),
    plain_event("auto_compaction_end", Moment::AutoCompaction),
    plain_event("auto_retry_start", Moment::AutoRetry),
    plain_event("auto_retry_end", Moment::AutoRetry),
    plain_event("ttsr_triggered", Moment::Ttsr),
    plain_event("todo_reminder", Moment::Todo),
    // A handler may return another input; a caller of the hooks edition cannot accept it.
    gate_event("tool_call", Moment::ToolBefore)
        .with_subject(Subject::Tool)
        .with_rewrites(PatchRule::Last, &[Slot::Input])
        .with_caller_accepts(&[]),
    result_event(Moment::ToolAfter),
    result_event(Moment::ToolFailed),
    answered_event("user_bash"),
    answered_event("user_python"),
    own_event("message_start"),
    own_event("message_update"),
    own_event("message_end"),
    own_event("tool_execution_start"),
    own_event("tool_execution_update"),
    own_event("tool_execution_end"),
    own_event("tool_approval_requested"),
    own_event("tool_approval_resolved"),
    own_event("before_provider_request"),
    own_event("after_provider_response"),
    own_event("retry_fallback_applied"),
    own_event("retry_fallback_succeeded"),
    own_event("resources_discover"),
    own_event("goal_updated"),
    own_event("credential_disabled"),
    own_event("mcp_notification"),
    // Events of pi, the predecessor of oh-my-pi.
    gate_event("session_before_fork", Moment::Other(Cow::Borrowed("session_before_fork"))),
    own_event("model_select"),
    own_event("thinking_level_select"),
    own_event("session_fork"),
    own_event("session_info_changed"),
    own_event("agent_settled"),
    own_event("before_provider_headers"),
    plain_event("", Moment::Other(Cow::Borrowed(""))),
];

/// The table for the extensions edition.
pub fn extensions_events() -> &'static [EventSpec] {
    static ROWS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    ROWS.get_or_init(|| EVENTS.iter().cloned().map(to_extensions).collect())
}

fn to_extensions(row: EventSpec) -> EventSpec {
    match result_rule(&row) {
        ResultRule::Call => {
            let slots = row.rewritable;
            row.with_caller_accepts(slots)
        }
        // Each handler sees the result or the system prompt of the previous one, and every message
        // counts.
        ResultRule::Result | ResultRule::Start => {
            let slots = row.rewritable;
            row.with_rewrites(PatchRule::Chain, slots)
        }
        ResultRule::Shutdown => row.with_order(Order::Parallel),
        _ => row,
    }
}

/// How handlers of an event run, and which of their results count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultRule {
    /// A tool call: the first block ends the firing, and an error blocks.
    Call,
    /// A tool's result: handlers may replace it.
    Result,
    /// The messages of a model call: each handler sees the changes of the previous one.
    Context,
    /// The user's input: each handler sees the changes of the previous one, until one handles it.
    Input,
    /// The start of the agent: handlers may add messages.
    Start,
    /// The end of the agent's work: handlers may refuse it.
    Stop,
    /// The end of the session: handlers have little time.
    Shutdown,
    /// The first truthy result is the answer.
    First,
    /// The last truthy result counts; a truthy `cancel` ends the firing.
    Cancel,
    /// The last truthy result counts.
    Last,
    /// Results are discarded.
    Observe,
}

/// The rule of a row.
pub fn result_rule(row: &EventSpec) -> ResultRule {
    match (&row.moment, row.kind()) {
        (Moment::ToolBefore, _) => ResultRule::Call,
        (Moment::ToolAfter | Moment::ToolFailed, _) => ResultRule::Result,
        (Moment::Context, _) => ResultRule::Context,
        (Moment::IterationStart, _) if row.hook_powers.contains(BLOCK) => ResultRule::Input,
        (Moment::IterationStart, _) => ResultRule::Start,
        (Moment::IterationEnd, _) if row.hook_powers.contains(BLOCK) => ResultRule::Stop,
        (Moment::SessionEnd, _) => ResultRule::Shutdown,
        (Moment::Other(_), _) if row.patch == PatchRule::Chain => ResultRule::First,
        (_, MomentKind::Gate) if row.hook_powers.contains(BLOCK) => ResultRule::Cancel,
        (_, MomentKind::Gate) => ResultRule::Last,
        _ => ResultRule::Observe,
    }
}

/// The other events of the same moment. Callers of other dialects fire them together with this one.
/// A Report has none, so that it is reported once.
pub fn same_moment(row: &EventSpec) -> impl Iterator<Item = &'static EventSpec> {
    let (moment, name, kind) = (row.moment.clone(), row.name, row.kind());
    let same = move |other: &&EventSpec| other.moment == moment && other.name != name;
    EVENTS.iter().filter(move |_| kind != MomentKind::Report).filter(same)
}

/// The event that fires before this one in the same moment.
pub fn earlier_twin(row: &EventSpec) -> Option<&'static EventSpec> {
    let at = |name: &str| EVENTS.iter().position(|row| row.name == name);
    same_moment(row).find(|other| at(other.name) < at(row.name))
}

/// The tools. A single edit has flat arguments, several edits are a list.
pub static TOOLS: &[ToolWord] = &[
    ToolWord::new(ToolKind::Shell, "shell", "bash", &[]),
    ToolWord::new(ToolKind::Read, "read", "read", &[]),
    ToolWord::new(ToolKind::Write, "write", "write", &[]),
    ToolWord::new(
        ToolKind::Edit,
        "edit",
        "edit",
        &[
            ("edits[].old", "oldText"),
            ("edits[].new", "newText"),
            ("edits[].all", "all"),
            ("edits[].old", "edits[].oldText"),
            ("edits[].new", "edits[].newText"),
        ],
    ),
    ToolWord::new(ToolKind::Search, "grep", "grep", &[]),
    ToolWord::new(ToolKind::Search, "glob", "find", &[]),
    ToolWord::new(ToolKind::Search, "glob", "glob", &[]),
    ToolWord::new(ToolKind::Fetch, "fetch", "web_fetch", &[]),
    ToolWord::new(ToolKind::Fetch, "fetch", "fetch", &[]),
    ToolWord::new(ToolKind::Task, "task", "task", &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extensions_edition_differs_in_four_rules() {
        for (old, new) in EVENTS.iter().zip(extensions_events()) {
            let differs = match result_rule(old) {
                ResultRule::Call => {
                    new.caller_accepts == [Slot::Input] && old.caller_accepts.is_empty()
                }
                ResultRule::Result => new.patch == PatchRule::Chain && old.patch == PatchRule::Last,
                ResultRule::Start => new.patch == PatchRule::Chain && old.patch == PatchRule::First,
                ResultRule::Shutdown => {
                    new.order == Order::Parallel && old.order == Order::Sequential
                }
                _ => {
                    (old.patch, old.order, old.caller_accepts)
                        == (new.patch, new.order, new.caller_accepts)
                }
            };
            assert!(differs && result_rule(old) == result_rule(new), "{}", old.name);
        }
    }

    #[test]
    fn three_moments_have_two_events() {
        let pairs: Vec<_> =
            EVENTS.iter().filter_map(|row| Some((earlier_twin(row)?.name, row.name))).collect();
        assert_eq!(
            pairs,
            [
                ("session_before_compact", "session.compacting"),
                ("input", "before_agent_start"),
                ("session_stop", "agent_end"),
            ]
        );
    }
}
