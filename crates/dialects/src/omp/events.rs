//! The event table of oh-my-pi, and its tools. Native names are written only here.

use std::borrow::Cow;
use std::sync::OnceLock;

use gambrel_model::{
    EventSpec, Kind, Moment, Order, PatchRule, Powers, Slot, Subject, ToolKind, ToolWord,
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

/// An event that only this dialect has.
const fn only(name: &'static str) -> EventSpec {
    told(name, Moment::Other(Cow::Borrowed(name)))
}

/// One that a handler can answer in its host's stead.
const fn answered(name: &'static str) -> EventSpec {
    only(name).rewrites(PatchRule::Chain, &[])
}

const fn result(moment: Moment) -> EventSpec {
    told("tool_result", moment).rewrites(PatchRule::Last, &[Slot::Output]).subject(Subject::Tool)
}

/// Words with the answer itself.
const NOW: Powers = Powers::TELL.and(Powers::SHOW);

/// Every event of both editions and of pi, and a last row for unknown names. The names of one
/// moment are in the order in which they fire.
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
    gate("input", Moment::IterationStart).rewrites(PatchRule::Chain, &[Slot::Prompt]),
    told("before_agent_start", Moment::IterationStart)
        .rewrites(PatchRule::First, &[Slot::Message])
        .may(Powers::TELL)
        .can(NOW),
    told("agent_start", Moment::AgentStart),
    told("session_stop", Moment::IterationEnd)
        .rewrites(PatchRule::Chain, &[])
        .may(BLOCK)
        .can(REFUSED),
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
        .subject(Subject::Tool)
        .rewrites(PatchRule::Last, &[Slot::Input])
        .heeds(&[]),
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
            let slots = row.slots;
            row.heeds(slots)
        }
        // Each sees a result as the one before it left it; every message counts, and each sees the
        // system prompt as it stands.
        Rule::Result | Rule::Start => {
            let slots = row.slots;
            row.rewrites(PatchRule::Chain, slots)
        }
        Rule::Farewell => row.order(Order::Together),
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
        (Moment::IterationStart, _) if row.may.has(BLOCK) => Rule::Input,
        (Moment::IterationStart, _) => Rule::Start,
        (Moment::IterationEnd, _) if row.may.has(BLOCK) => Rule::Stop,
        (Moment::SessionEnd, _) => Rule::Farewell,
        (Moment::Other(_), _) if row.patch == PatchRule::Chain => Rule::First,
        (_, Kind::Gate) if row.may.has(BLOCK) => Rule::Cancel,
        (_, Kind::Gate) => Rule::Last,
        _ => Rule::Observe,
    }
}

/// The events that happen together with this one for callers that have one name for both: what
/// merely has happened is told once.
pub fn others(row: &EventSpec) -> impl Iterator<Item = &'static EventSpec> {
    let (moment, name, kind) = (row.moment.clone(), row.name, row.kind());
    let same = move |other: &&EventSpec| other.moment == moment && other.name != name;
    EVENTS.iter().filter(move |_| kind != Kind::Report).filter(same)
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
                Rule::Call => new.heeds == [Slot::Input] && old.heeds.is_empty(),
                Rule::Result => new.patch == PatchRule::Chain && old.patch == PatchRule::Last,
                Rule::Start => new.patch == PatchRule::Chain && old.patch == PatchRule::First,
                Rule::Farewell => new.order == Order::Together && old.order == Order::InTurn,
                _ => (old.patch, old.order, old.heeds) == (new.patch, new.order, new.heeds),
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
