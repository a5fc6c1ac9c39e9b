//! The table of the 33 events: first version, native name, moment, subject of the matcher, powers
//! and rewritable slots. Hooks and callers of this dialect have the same powers.

use std::borrow::Cow;
use std::time::Duration;

use gambrel_model::{Event, EventSpec, Moment, Order, PatchRule, Powers, Slot, Subject};

use Subject::{Cause, None as Anything, Tool};

/// The timeout if neither the hook, its type nor its event sets another.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

const fn row(
    name: &'static str,
    moment: Moment,
    subject: Subject,
    powers: Powers,
    slots: &'static [Slot],
) -> EventSpec {
    let can_veto_end = matches!(
        moment,
        Moment::IterationEnd | Moment::SubagentStop | Moment::TaskCompleted | Moment::MemberIdle
    );
    EventSpec {
        name,
        subject,
        order: Order::Parallel,
        patch: PatchRule::Last,
        rewritable: slots,
        caller_accepts: slots,
        hook_powers: powers,
        caller_powers: powers,
        duplicate_of_earlier: false,
        can_veto_end,
        // A hook of this event makes the worktree.
        reportable: !matches!(name.as_bytes(), b"WorktreeCreate"),
        input_needs_allow: matches!(moment, Moment::ToolPermission),
        host_timeout: Some(host_timeout(name, &moment)),
        moment,
    }
}

/// How long Claude Code waits for hooks of an event.
const fn host_timeout(name: &str, moment: &Moment) -> Duration {
    match moment {
        Moment::IterationStart => Duration::from_secs(30),
        Moment::SessionEnd => Duration::from_millis(1_500),
        _ if matches!(name.as_bytes(), b"MessageDisplay") => Duration::from_secs(10),
        _ => DEFAULT_TIMEOUT,
    }
}

/// A moment that only this dialect fires.
const fn own_moment(name: &'static str) -> Moment {
    Moment::Other(Cow::Borrowed(name))
}

/// Claude Code discards the output of hooks.
const NO_OUTPUT: Powers = Powers::NONE;
const SHOW: Powers = Powers::MESSAGE_USER;
const MESSAGES: Powers = Powers::MESSAGE_AGENT.union(SHOW);
/// A hook may refuse; Claude Code ignores `continue: false`.
const REFUSE: Powers = Powers::DENY.union(SHOW);
const STOP: Powers = REFUSE.union(Powers::HALT);
const BLOCK: Powers = STOP.union(Powers::MESSAGE_AGENT);
const REQUEST: Powers = STOP.union(Powers::ALLOW);
const SWITCH: Powers = STOP.union(Powers::ALLOW).union(Powers::ASK);
const PERMIT: Powers = BLOCK.union(Powers::ALLOW).union(Powers::ASK).union(Powers::DEFER);

const FIXED: &[Slot] = &[];
const INPUT: &[Slot] = &[Slot::Input];
const OUTPUT: &[Slot] = &[Slot::Output];

/// Makes two tables from one list of rows: the event specs and the first versions. A first version
/// is the first published 2.1 version of Claude Code that loads a hook for the event.
macro_rules! events {
    ($(row($since:literal, $($cell:expr),* $(,)?)),* $(,)?) => {
        /// Every event. The last row, without a name, is for events newer than the table.
        pub static EVENTS: &[EventSpec] = &[$(row($($cell),*)),*];
        /// The first versions, in the order of the events.
        const SINCE: &[&str] = &[$($since),*];
    };
}

// The version before the listed one rejects or ignores a hook for the event. The table has all
// events of 2.1.325.
events![
    row("2.1.0", "SessionStart", Moment::SessionStart, Cause("source"), MESSAGES, FIXED),
    row("2.1.10", "Setup", own_moment("setup"), Cause("trigger"), MESSAGES, FIXED),
    row(
        "2.1.64",
        "InstructionsLoaded",
        own_moment("instructions_loaded"),
        Cause("load_reason"),
        NO_OUTPUT,
        FIXED
    ),
    row("2.1.0", "UserPromptSubmit", Moment::IterationStart, Anything, BLOCK, FIXED),
    row(
        "2.1.116",
        "UserPromptExpansion",
        own_moment("user_prompt_expansion"),
        Cause("command_name"),
        BLOCK,
        FIXED
    ),
    row("2.1.152", "MessageDisplay", own_moment("message_display"), Anything, SHOW, FIXED),
    row("2.1.0", "PreToolUse", Moment::ToolBefore, Tool, PERMIT, INPUT),
    row("2.1.0", "PermissionRequest", Moment::ToolPermission, Tool, REQUEST, INPUT),
    row("2.1.88", "PermissionDenied", own_moment("permission_denied"), Tool, SHOW, FIXED),
    row("2.1.0", "PostToolUse", Moment::ToolAfter, Tool, BLOCK, OUTPUT),
    row("2.1.0", "PostToolUseFailure", Moment::ToolFailed, Tool, BLOCK, FIXED),
    row("2.1.118", "PostToolBatch", own_moment("post_tool_batch"), Anything, BLOCK, FIXED),
    row(
        "2.1.0",
        "Notification",
        Moment::Notification,
        Cause("notification_type"),
        NO_OUTPUT,
        FIXED
    ),
    row("2.1.0", "SubagentStart", Moment::SubagentStart, Cause("agent_type"), MESSAGES, FIXED),
    row("2.1.0", "SubagentStop", Moment::SubagentStop, Cause("agent_type"), BLOCK, FIXED),
    row("2.1.84", "TaskCreated", Moment::TaskCreated, Anything, REFUSE, FIXED),
    row("2.1.33", "TaskCompleted", Moment::TaskCompleted, Anything, STOP, FIXED),
    row("2.1.33", "TeammateIdle", Moment::MemberIdle, Anything, STOP, FIXED),
    row("2.1.0", "Stop", Moment::IterationEnd, Anything, BLOCK, FIXED),
    row("2.1.78", "StopFailure", Moment::Error, Cause("error"), NO_OUTPUT, FIXED),
    row("2.1.48", "ConfigChange", own_moment("config_change"), Cause("source"), STOP, FIXED),
    row("2.1.83", "CwdChanged", own_moment("cwd_changed"), Anything, SHOW, FIXED),
    row("2.1.219", "DirectoryAdded", own_moment("directory_added"), Cause("source"), SHOW, FIXED),
    row("2.1.83", "FileChanged", own_moment("file_changed"), Cause("file_path"), SHOW, FIXED),
    row("2.1.50", "WorktreeCreate", own_moment("worktree_create"), Anything, Powers::DENY, FIXED),
    row("2.1.50", "WorktreeRemove", own_moment("worktree_remove"), Anything, NO_OUTPUT, FIXED),
    row("2.1.0", "PreCompact", Moment::CompactBefore, Cause("trigger"), STOP, FIXED),
    row("2.1.76", "PostCompact", Moment::CompactAfter, Cause("trigger"), SHOW, FIXED),
    row(
        "2.1.251",
        "PreModelSwitch",
        own_moment("pre_model_switch"),
        Cause("to_model"),
        SWITCH,
        FIXED
    ),
    row(
        "2.1.251",
        "PostModelSwitch",
        own_moment("post_model_switch"),
        Cause("to_model"),
        MESSAGES,
        FIXED
    ),
    row("2.1.0", "SessionEnd", Moment::SessionEnd, Cause("reason"), NO_OUTPUT, FIXED),
    row("2.1.63", "Elicitation", own_moment("elicitation"), Cause("mcp_server_name"), STOP, FIXED),
    row(
        "2.1.63",
        "ElicitationResult",
        own_moment("elicitation_result"),
        Cause("mcp_server_name"),
        STOP,
        FIXED
    ),
    row("2.1.326", "", own_moment(""), Anything, SHOW, FIXED),
];

/// The first published 2.1 version of Claude Code that has an event. An event without a row is
/// newer than the table.
pub fn first_version(row: &EventSpec) -> &'static str {
    let at = EVENTS.iter().position(|known| known.name == row.name);
    let at = at.unwrap_or(EVENTS.len() - 1);
    SINCE.get(at).copied().unwrap_or_default()
}

/// The form of the ruling in the reply to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyForm {
    /// `hookSpecificOutput.permissionDecision`.
    Permission,
    /// `hookSpecificOutput.decision.behavior`.
    Request,
    /// `hookSpecificOutput.action`.
    Action,
    /// Only the exit code.
    Exit,
    /// `decision: "block"`.
    Block,
}

/// The reply form of an event.
pub fn reply_form(row: &EventSpec) -> ReplyForm {
    match &row.moment {
        Moment::ToolBefore => ReplyForm::Permission,
        Moment::ToolPermission => ReplyForm::Request,
        Moment::TaskCompleted | Moment::MemberIdle => ReplyForm::Exit,
        Moment::Other(name) => match name.as_ref() {
            "pre_model_switch" => ReplyForm::Permission,
            "elicitation" | "elicitation_result" => ReplyForm::Action,
            "worktree_create" => ReplyForm::Exit,
            _ => ReplyForm::Block,
        },
        _ => ReplyForm::Block,
    }
}

/// Whether an event accepts handlers of a type. Every event accepts commands.
pub fn accepts_handler(row: &EventSpec, kind: &str) -> bool {
    let first = row.moment == Moment::SessionStart || row.moment == own_moment("setup");
    match kind {
        "http" => !first,
        "prompt" | "agent" => accepts_model_handlers(row),
        _ => true,
    }
}

fn accepts_model_handlers(row: &EventSpec) -> bool {
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

/// Whether the agent receives plain text on stdout as context.
pub fn plain_is_context(row: &EventSpec) -> bool {
    matches!(row.moment, Moment::SessionStart | Moment::IterationStart)
        || row.moment == own_moment("user_prompt_expansion")
}

/// Whether Claude Code discards all output of hooks, including terminal sequences.
pub fn discards_output(row: &EventSpec) -> bool {
    row.moment == Moment::SessionEnd
        || [own_moment("instructions_loaded"), own_moment("worktree_remove")].contains(&row.moment)
}

/// Whether stdout is the path of a new worktree.
pub fn makes_worktree(row: &EventSpec) -> bool {
    row.moment == own_moment("worktree_create")
}

/// Whether a hook may set variables for the session in `CLAUDE_ENV_FILE`.
pub fn has_env_file(row: &EventSpec) -> bool {
    row.moment == Moment::SessionStart
        || [own_moment("setup"), own_moment("cwd_changed"), own_moment("file_changed")]
            .contains(&row.moment)
}

/// Whether a matcher is a list of names only if it uses the smaller set of characters.
pub fn has_narrow_names(row: &EventSpec) -> bool {
    row.moment == Moment::Error || row.moment == own_moment("file_changed")
}

/// Whether an event cannot be refused although its row allows it: a change of managed settings.
pub fn cannot_refuse(row: &EventSpec, event: &Event) -> bool {
    row.moment == own_moment("config_change")
        && event.facts.cause.as_deref() == Some("policy_settings")
}
