//! The 33 events, each once: first version, native name, moment, what a matcher looks at, and what
//! an answer may do. Hooks and callers of this dialect have the same powers: the product hears what
//! it allows.

use std::borrow::Cow;

use gambrel_model::{Event, EventSpec, Moment, Order, PatchRule, Powers, Slot, Subject};

use Subject::{Cause, None as Anything, Tool};

const fn row(
    name: &'static str,
    moment: Moment,
    subject: Subject,
    powers: Powers,
    slots: &'static [Slot],
) -> EventSpec {
    EventSpec {
        name,
        moment,
        subject,
        order: Order::Parallel,
        patch: PatchRule::Last,
        rewritable: slots,
        caller_accepts: slots,
        hook_powers: powers,
        caller_powers: powers,
        duplicate_of_earlier: false,
    }
}

/// A moment that only this dialect has.
const fn only(name: &'static str) -> Moment {
    Moment::Other(Cow::Borrowed(name))
}

/// Output is discarded here.
const DEAF: Powers = Powers::NONE;
const SHOW: Powers = Powers::MESSAGE_USER;
const WORDS: Powers = Powers::MESSAGE_AGENT.union(SHOW);
/// A refusal and nothing finer; `continue: false` is ignored.
const REFUSE: Powers = Powers::DENY.union(SHOW);
const STOP: Powers = REFUSE.union(Powers::HALT);
const BLOCK: Powers = STOP.union(Powers::MESSAGE_AGENT);
const REQUEST: Powers = STOP.union(Powers::ALLOW);
const SWITCH: Powers = STOP.union(Powers::ALLOW).union(Powers::ASK);
const PERMIT: Powers = BLOCK.union(Powers::ALLOW).union(Powers::ASK).union(Powers::DEFER);

const FIXED: &[Slot] = &[];
const INPUT: &[Slot] = &[Slot::Input];
const OUTPUT: &[Slot] = &[Slot::Output];

/// Two tables from one list of rows: what a row says of its event, and the first published 2.1
/// version of Claude Code that loads a hook for it.
macro_rules! events {
    ($(row($since:literal, $($cell:expr),* $(,)?)),* $(,)?) => {
        /// Every event; the last row, without a name, is for those of a later day.
        pub static EVENTS: &[EventSpec] = &[$(row($($cell),*)),*];
        /// In the order of the events.
        const SINCE: &[&str] = &[$($since),*];
    };
}

// The versions were found by loading: the one before rejects or ignores a hook for the event. The
// table has all events of 2.1.325.
events![
    row("2.1.0", "SessionStart", Moment::SessionStart, Cause("source"), WORDS, FIXED),
    row("2.1.10", "Setup", only("setup"), Cause("trigger"), WORDS, FIXED),
    row(
        "2.1.64",
        "InstructionsLoaded",
        only("instructions_loaded"),
        Cause("load_reason"),
        DEAF,
        FIXED
    ),
    row("2.1.0", "UserPromptSubmit", Moment::IterationStart, Anything, BLOCK, FIXED),
    row(
        "2.1.116",
        "UserPromptExpansion",
        only("user_prompt_expansion"),
        Cause("command_name"),
        BLOCK,
        FIXED
    ),
    row("2.1.152", "MessageDisplay", only("message_display"), Anything, SHOW, FIXED),
    row("2.1.0", "PreToolUse", Moment::ToolBefore, Tool, PERMIT, INPUT),
    row("2.1.0", "PermissionRequest", Moment::ToolPermission, Tool, REQUEST, INPUT),
    row("2.1.88", "PermissionDenied", only("permission_denied"), Tool, SHOW, FIXED),
    row("2.1.0", "PostToolUse", Moment::ToolAfter, Tool, BLOCK, OUTPUT),
    row("2.1.0", "PostToolUseFailure", Moment::ToolFailed, Tool, BLOCK, FIXED),
    row("2.1.118", "PostToolBatch", only("post_tool_batch"), Anything, BLOCK, FIXED),
    row("2.1.0", "Notification", Moment::Notification, Cause("notification_type"), DEAF, FIXED),
    row("2.1.0", "SubagentStart", Moment::SubagentStart, Cause("agent_type"), WORDS, FIXED),
    row("2.1.0", "SubagentStop", Moment::SubagentStop, Cause("agent_type"), BLOCK, FIXED),
    row("2.1.84", "TaskCreated", Moment::TaskCreated, Anything, REFUSE, FIXED),
    row("2.1.33", "TaskCompleted", Moment::TaskCompleted, Anything, STOP, FIXED),
    row("2.1.33", "TeammateIdle", Moment::MemberIdle, Anything, STOP, FIXED),
    row("2.1.0", "Stop", Moment::IterationEnd, Anything, BLOCK, FIXED),
    row("2.1.78", "StopFailure", Moment::Error, Cause("error"), DEAF, FIXED),
    row("2.1.48", "ConfigChange", only("config_change"), Cause("source"), STOP, FIXED),
    row("2.1.83", "CwdChanged", only("cwd_changed"), Anything, SHOW, FIXED),
    row("2.1.219", "DirectoryAdded", only("directory_added"), Cause("source"), SHOW, FIXED),
    row("2.1.83", "FileChanged", only("file_changed"), Cause("file_path"), SHOW, FIXED),
    row("2.1.50", "WorktreeCreate", only("worktree_create"), Anything, Powers::DENY, FIXED),
    row("2.1.50", "WorktreeRemove", only("worktree_remove"), Anything, DEAF, FIXED),
    row("2.1.0", "PreCompact", Moment::CompactBefore, Cause("trigger"), STOP, FIXED),
    row("2.1.76", "PostCompact", Moment::CompactAfter, Cause("trigger"), SHOW, FIXED),
    row("2.1.251", "PreModelSwitch", only("pre_model_switch"), Cause("to_model"), SWITCH, FIXED),
    row("2.1.251", "PostModelSwitch", only("post_model_switch"), Cause("to_model"), WORDS, FIXED),
    row("2.1.0", "SessionEnd", Moment::SessionEnd, Cause("reason"), DEAF, FIXED),
    row("2.1.63", "Elicitation", only("elicitation"), Cause("mcp_server_name"), STOP, FIXED),
    row(
        "2.1.63",
        "ElicitationResult",
        only("elicitation_result"),
        Cause("mcp_server_name"),
        STOP,
        FIXED
    ),
    row("2.1.326", "", only(""), Anything, SHOW, FIXED),
];

/// The first published 2.1 version of Claude Code that knows an event. An event without a row of its
/// own is newer than the table.
pub fn since(row: &EventSpec) -> &'static str {
    let at = EVENTS.iter().position(|known| known.name == row.name);
    let at = at.unwrap_or(EVENTS.len() - 1);
    SINCE.get(at).copied().unwrap_or_default()
}

/// The form in which an event's answer carries its ruling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// `permissionDecision` of the event's own output.
    Permission,
    /// `decision.behavior` of the event's own output.
    Request,
    /// `action` of the event's own output.
    Action,
    /// The exit code alone.
    Exit,
    /// `decision: "block"`.
    Block,
}

/// How an event's ruling is spelled.
pub fn voice(row: &EventSpec) -> Voice {
    match &row.moment {
        Moment::ToolBefore => Voice::Permission,
        Moment::ToolPermission => Voice::Request,
        Moment::TaskCompleted | Moment::MemberIdle => Voice::Exit,
        Moment::Other(name) => match name.as_ref() {
            "pre_model_switch" => Voice::Permission,
            "elicitation" | "elicitation_result" => Voice::Action,
            "worktree_create" => Voice::Exit,
            _ => Voice::Block,
        },
        _ => Voice::Block,
    }
}

/// Whether an event takes handlers of a type. Commands are taken everywhere.
pub fn takes(row: &EventSpec, kind: &str) -> bool {
    let first = row.moment == Moment::SessionStart || row.moment == only("setup");
    match kind {
        "http" => !first,
        "prompt" | "agent" => asks_a_model(row),
        _ => true,
    }
}

fn asks_a_model(row: &EventSpec) -> bool {
    const OTHERS: [&str; 3] = ["user_prompt_expansion", "permission_denied", "post_tool_batch"];
    match &row.moment {
        Moment::Other(name) => OTHERS.contains(&name.as_ref()),
        moment => matches!(
            moment,
            Moment::IterationStart
                | Moment::ToolBefore
                | Moment::ToolPermission
                | Moment::ToolAfter
                | Moment::ToolFailed
                | Moment::SubagentStop
                | Moment::TaskCreated
                | Moment::TaskCompleted
                | Moment::MemberIdle
                | Moment::IterationEnd
        ),
    }
}

/// Whether plain text on stdout is context for the agent.
pub fn plain_is_context(row: &EventSpec) -> bool {
    matches!(row.moment, Moment::SessionStart | Moment::IterationStart)
        || row.moment == only("user_prompt_expansion")
}

/// Whether everything that hooks say is thrown away, the signs for a terminal included.
pub fn discards(row: &EventSpec) -> bool {
    row.moment == Moment::SessionEnd
        || [only("instructions_loaded"), only("worktree_remove")].contains(&row.moment)
}

/// Whether stdout names the folder of a worktree.
pub fn makes_worktree(row: &EventSpec) -> bool {
    row.moment == only("worktree_create")
}

/// Whether a hook may leave variables for the session in `CLAUDE_ENV_FILE`.
pub fn has_env_file(row: &EventSpec) -> bool {
    row.moment == Moment::SessionStart
        || [only("setup"), only("cwd_changed"), only("file_changed")].contains(&row.moment)
}

/// Whether a list of names is recognised by the narrower alphabet.
pub fn has_narrow_names(row: &EventSpec) -> bool {
    row.moment == Moment::Error || row.moment == only("file_changed")
}

/// Whether this one event of a kind that can be refused cannot: a change of managed settings.
pub fn cannot_refuse(row: &EventSpec, event: &Event) -> bool {
    row.moment == only("config_change") && event.facts.cause.as_deref() == Some("policy_settings")
}
