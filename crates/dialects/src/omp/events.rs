//! The event table of oh-my-pi, and its tools. Native names are written only here.

use std::borrow::Cow;
use std::sync::OnceLock;

use gambrel_model::{
    EventSpec, Moment, MomentKind, Order, PatchRule, Powers, Slot, Subject, ToolKind, ToolWord,
};

/// Words reach the agent with its next message, and the person as notices.
const LATER: Powers = Powers::MESSAGE_NEXT_TURN.union(Powers::MESSAGE_USER);
/// A handler may refuse, and nothing else.
const BLOCK: Powers = Powers::DENY;
/// A caller that can be refused.
const REFUSED: Powers = Powers::DENY.union(LATER);

/// An event that nobody answers.
const fn told(name: &'static str, moment: Moment) -> EventSpec {
    EventSpec::new(name, moment).with_caller_powers(LATER)
}

/// An event that a handler can cancel: the first that does ends the asking.
const fn gate(name: &'static str, moment: Moment) -> EventSpec {
    EventSpec::new(name, moment)
        .with_order(Order::UntilRefused)
        .with_rewrites(PatchRule::Last, &[])
        .with_hook_powers(BLOCK)
        .with_caller_powers(REFUSED)
}

/// An event that only this dialect has.
const fn only(name: &'static str) -> EventSpec {
    told(name, Moment::Other(Cow::Borrowed(name)))
}

/// One that a handler can answer in its host's stead.
const fn answered(name: &'static str) -> EventSpec {
    only(name).with_rewrites(PatchRule::Chain, &[])
}

const fn result(moment: Moment) -> EventSpec {
    told("tool_result", moment)
        .with_rewrites(PatchRule::Last, &[Slot::Output])
        .with_subject(Subject::Tool)
}

/// Words with the answer itself.
const NOW: Powers = Powers::MESSAGE_AGENT.union(Powers::MESSAGE_USER);

/// Every event of both editions and of pi, and a last row for unknown names. The names of one
/// moment are in the order in which they fire.
pub static EVENTS: &[EventSpec] = &[
    told("session_start", Moment::SessionStart),
    gate("session_before_switch", Moment::SessionSwitchBefore),
    told("session_switch", Moment::SessionSwitch),
    gate("session_before_branch", Moment::SessionBranchBefore),
    told("session_branch", Moment::SessionBranch),
    gate("session_before_compact", Moment::CompactBefore),
    told("session.compacting", Moment::CompactBefore)
        .with_hook_powers(Powers::MESSAGE_AGENT)
        .with_caller_powers(NOW)
        .as_duplicate(),
    told("session_compact", Moment::CompactAfter),
    gate("session_before_tree", Moment::SessionTreeBefore),
    told("session_tree", Moment::SessionTree),
    told("session_shutdown", Moment::SessionEnd).with_caller_powers(Powers::MESSAGE_USER),
    told("context", Moment::Context).with_rewrites(PatchRule::Chain, &[Slot::ChatMessages]),
    gate("input", Moment::IterationStart).with_rewrites(PatchRule::Chain, &[Slot::Prompt]),
    told("before_agent_start", Moment::IterationStart)
        .with_rewrites(PatchRule::First, &[Slot::InjectedMessage])
        .with_hook_powers(Powers::MESSAGE_AGENT)
        .with_caller_powers(NOW),
    told("agent_start", Moment::AgentStart),
    told("session_stop", Moment::IterationEnd)
        .with_rewrites(PatchRule::Chain, &[])
        .with_hook_powers(BLOCK)
        .with_caller_powers(REFUSED),
    told("agent_end", Moment::IterationEnd),
    told("turn_start", Moment::TurnStart),
    told("turn_end", Moment::TurnEnd),
    told("auto_compaction_start", Moment::AutoCompaction),
    told("auto_compaction_end", Moment::AutoCompaction),
    told("auto_retry_start", Moment::AutoRetry),
    told("auto_retry_end", Moment::AutoRetry),
    told("ttsr_triggered", Moment::Ttsr),
    told("todo_reminder", Moment::Todo),
    // A handler may return another input; a caller of the hooks edition cannot accept it.
    gate("tool_call", Moment::ToolBefore)
        .with_subject(Subject::Tool)
        .with_rewrites(PatchRule::Last, &[Slot::Input])
        .with_caller_accepts(&[]),
    result(Moment::ToolAfter),
    result(Moment::ToolFailed),
    answered("user_bash"),
    answered("user_python"),
    only("message_start"),
    only("message_update"),
    only("message_end"),
    only("tool_execution_start"),
    only("tool_execution_update"),
    only("tool_execution_end"),
    only("tool_approval_requested"),
    only("tool_approval_resolved"),
    only("before_provider_request"),
    only("after_provider_response"),
    only("retry_fallback_applied"),
    only("retry_fallback_succeeded"),
    only("resources_discover"),
    only("goal_updated"),
    only("credential_disabled"),
    only("mcp_notification"),
    // pi, the same product's elder relative.
    gate("session_before_fork", Moment::Other(Cow::Borrowed("session_before_fork"))),
    only("model_select"),
    only("thinking_level_select"),
    only("session_fork"),
    only("session_info_changed"),
    only("agent_settled"),
    only("before_provider_headers"),
    told("", Moment::Other(Cow::Borrowed(""))),
];

/// The same events as the newer edition has them.
pub fn newer() -> &'static [EventSpec] {
    static ROWS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    ROWS.get_or_init(|| EVENTS.iter().cloned().map(renewed).collect())
}

fn renewed(row: EventSpec) -> EventSpec {
    match rule(&row) {
        Rule::Call => {
            let slots = row.rewritable;
            row.with_caller_accepts(slots)
        }
        // Each sees a result as the one before it left it; every message counts, and each sees the
        // system prompt as it stands.
        Rule::Result | Rule::Start => {
            let slots = row.rewritable;
            row.with_rewrites(PatchRule::Chain, slots)
        }
        Rule::Farewell => row.with_order(Order::Parallel),
        _ => row,
    }
}

/// How handlers of an event take turns, and what counts of what they return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A tool call: the first block ends the asking; what fails blocks.
    Call,
    /// A tool's result, which may be replaced.
    Result,
    /// The messages of one call of the model: a chain.
    Context,
    /// What the person typed: a chain, until somebody has handled it.
    Input,
    /// Messages before the agent starts.
    Start,
    /// The end of the agent's work, which may be put off.
    Stop,
    /// Nobody waits long for those who say farewell.
    Farewell,
    /// The first true result is the answer.
    First,
    /// The last true result counts; a true `cancel` ends the asking.
    Cancel,
    /// The last true result counts.
    Last,
    /// Results are discarded.
    Observe,
}

/// The rule of a row.
pub fn rule(row: &EventSpec) -> Rule {
    match (&row.moment, row.kind()) {
        (Moment::ToolBefore, _) => Rule::Call,
        (Moment::ToolAfter | Moment::ToolFailed, _) => Rule::Result,
        (Moment::Context, _) => Rule::Context,
        (Moment::IterationStart, _) if row.hook_powers.contains(BLOCK) => Rule::Input,
        (Moment::IterationStart, _) => Rule::Start,
        (Moment::IterationEnd, _) if row.hook_powers.contains(BLOCK) => Rule::Stop,
        (Moment::SessionEnd, _) => Rule::Farewell,
        (Moment::Other(_), _) if row.patch == PatchRule::Chain => Rule::First,
        (_, MomentKind::Gate) if row.hook_powers.contains(BLOCK) => Rule::Cancel,
        (_, MomentKind::Gate) => Rule::Last,
        _ => Rule::Observe,
    }
}

/// The events that happen together with this one for callers that have one name for both: what
/// merely has happened is told once.
pub fn others(row: &EventSpec) -> impl Iterator<Item = &'static EventSpec> {
    let (moment, name, kind) = (row.moment.clone(), row.name, row.kind());
    let same = move |other: &&EventSpec| other.moment == moment && other.name != name;
    EVENTS.iter().filter(move |_| kind != MomentKind::Report).filter(same)
}

/// The event that comes before this one in the same moment, if its caller fires both.
pub fn before(row: &EventSpec) -> Option<&'static EventSpec> {
    let at = |name: &str| EVENTS.iter().position(|row| row.name == name);
    others(row).find(|other| at(other.name) < at(row.name))
}

/// The tools; a single edit is flat, several are a list.
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
    fn the_newer_edition_differs_where_it_should() {
        for (old, new) in EVENTS.iter().zip(newer()) {
            let differs = match rule(old) {
                Rule::Call => new.caller_accepts == [Slot::Input] && old.caller_accepts.is_empty(),
                Rule::Result => new.patch == PatchRule::Chain && old.patch == PatchRule::Last,
                Rule::Start => new.patch == PatchRule::Chain && old.patch == PatchRule::First,
                Rule::Farewell => new.order == Order::Parallel && old.order == Order::Sequential,
                _ => {
                    (old.patch, old.order, old.caller_accepts)
                        == (new.patch, new.order, new.caller_accepts)
                }
            };
            assert!(differs && rule(old) == rule(new), "{}", old.name);
        }
    }

    #[test]
    fn only_what_can_be_refused_has_two_names() {
        let pairs: Vec<_> =
            EVENTS.iter().filter_map(|row| Some((before(row)?.name, row.name))).collect();
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
