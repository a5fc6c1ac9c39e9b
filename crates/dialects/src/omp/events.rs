//! The table of contract 004: its events, and its tools. Native words stand here only.

use gambrel_model::{
    EventSpec, Moment, Order, PatchRule, Powers, Slot, Subject, ToolKind, ToolWord,
};

/// Words reach the agent with its next message, and the person as notices.
const LATER: Powers = Powers::NEXT.and(Powers::SHOW);
/// A handler may refuse, and nothing else.
const BLOCK: Powers = Powers::DENY;
/// A caller that can be refused.
const REFUSED: Powers = Powers::DENY.and(LATER);

/// An event that nobody answers.
const fn told(name: &'static str, moment: Moment) -> EventSpec {
    EventSpec::new(name, moment).can(LATER)
}

/// An event that a handler can cancel: the first that does ends the asking.
const fn gate(name: &'static str, moment: Moment) -> EventSpec {
    EventSpec::new(name, moment)
        .order(Order::UntilRefused)
        .rewrites(PatchRule::Last, &[])
        .may(BLOCK)
        .can(REFUSED)
}

const fn result(moment: Moment) -> EventSpec {
    told("tool_result", moment).rewrites(PatchRule::Last, &[Slot::Output]).subject(Subject::Tool)
}

/// Words with the answer itself.
const NOW: Powers = Powers::TELL.and(Powers::SHOW);

/// Every event of the contract, and a last row for those that it does not know.
pub static EVENTS: &[EventSpec] = &[
    told("session_start", Moment::SessionStart),
    gate("session_before_switch", Moment::SessionSwitchBefore),
    told("session_switch", Moment::SessionSwitch),
    gate("session_before_branch", Moment::SessionBranchBefore),
    told("session_branch", Moment::SessionBranch),
    gate("session_before_compact", Moment::CompactBefore),
    told("session.compacting", Moment::CompactBefore).may(Powers::TELL).can(NOW).echo(),
    told("session_compact", Moment::CompactAfter),
    gate("session_before_tree", Moment::SessionTreeBefore),
    told("session_tree", Moment::SessionTree),
    told("session_shutdown", Moment::SessionEnd).can(Powers::SHOW),
    told("context", Moment::Context).rewrites(PatchRule::Chain, &[Slot::Messages]),
    told("before_agent_start", Moment::IterationStart)
        .rewrites(PatchRule::First, &[Slot::Message])
        .may(Powers::TELL)
        .can(NOW),
    told("agent_start", Moment::AgentStart),
    told("agent_end", Moment::IterationEnd),
    told("turn_start", Moment::TurnStart),
    told("turn_end", Moment::TurnEnd),
    told("auto_compaction_start", Moment::AutoCompaction),
    told("auto_compaction_end", Moment::AutoCompaction),
    told("auto_retry_start", Moment::AutoRetry),
    told("auto_retry_end", Moment::AutoRetry),
    told("ttsr_triggered", Moment::Ttsr),
    told("todo_reminder", Moment::Todo),
    // The newer edition may replace the input; a caller of the contract's own cannot take that.
    gate("tool_call", Moment::ToolBefore)
        .subject(Subject::Tool)
        .rewrites(PatchRule::Last, &[Slot::Input])
        .heeds(&[]),
    result(Moment::ToolAfter),
    result(Moment::ToolFailed),
    told("", Moment::Other(std::borrow::Cow::Borrowed(""))),
];

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
