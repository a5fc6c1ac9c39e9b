//! The fields that each event sends to a hook. What the product always sends is demanded; a caller
//! of `fire` may leave out more.

use gambrel_model::EventSpec;
use serde_json::json;

use super::record::Shape::{
    Any, Fields, Flag, List, Number, Object, Text, TextOrNull, Whole, Word,
};
use super::record::{Field, Record, may, must};

/// In every event.
const COMMON: &[Field] = &[
    must("session_id", Text),
    must("transcript_path", Text),
    must("cwd", Text),
    may("prompt_id", Text),
    may("effort", Fields(&[may("level", Text)])),
    may("agent_id", Text),
    may("agent_type", Text),
];

const MODES: &[&str] = &["default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"];
/// Only what happens in a turn of the agent has a mode.
const MODE: Field = may("permission_mode", Word(MODES));

const TOOL_NAME: Field = must("tool_name", Text);
const TOOL_INPUT: Field = must("tool_input", Object);
const TOOL_USE: Field = must("tool_use_id", Text);
const SERVER: Field = may("mcp_server", Fields(&[may("name", Text), may("source", Text)]));
const DURATION: Field = may("duration_ms", Number);
const ACTIVE: Field = must("stop_hook_active", Flag);
const LAST_WORDS: Field = may("last_assistant_message", Text);
const BACKGROUND: Field = may("background_tasks", List(&Any));
const CRONS: Field = may("session_crons", List(&Any));
const TRIGGER: Field = must("trigger", Word(&["manual", "auto"]));
const FORM: Field = may("mode", Word(&["form", "url"]));
const SERVER_NAME: Field = must("mcp_server_name", Text);
const ELICITATION: Field = may("elicitation_id", Text);
const FILE: Field = must("file_path", Text);
const AGENT: &[Field] = &[must("agent_id", Text), must("agent_type", Text)];

const TOOL: &[Field] = &[MODE, TOOL_NAME, TOOL_INPUT, TOOL_USE, SERVER];
const TASK: &[Field] = &[
    must("task_id", Text),
    must("task_subject", Text),
    may("task_description", Text),
    may("teammate_name", Text),
    may("team_name", Text),
];
const SWITCH: &[Field] = &[
    must("from_model", Text),
    must("to_model", Text),
    may("requested_model", TextOrNull),
    may("context_tokens", Whole),
    may("prompt_cache_warm", Flag),
    may("cache_ttl", Word(&["5m", "1h"])),
    may("estimated_cache_write_usd", Number),
    may("pricing", Word(&["configured", "catalog", "default"])),
];
const CALL: &[Field] = &[TOOL_NAME, TOOL_INPUT, TOOL_USE, must("tool_response", Any)];

const STARTS: &[&str] = &["startup", "resume", "clear", "compact", "fork"];
const PROMPTERS: &[&str] =
    &["user", "sdk", "system", "loop_wakeup", "schedule_wakeup", "poll_event"];
const LOADS: &[&str] =
    &["session_start", "nested_traversal", "path_glob_match", "include", "compact"];
const SETTINGS: &[&str] =
    &["user_settings", "project_settings", "local_settings", "policy_settings", "skills"];
const ENDS: &[&str] = &["clear", "resume", "logout", "prompt_input_exit", "other"];
const ERRORS: &[&str] = &[
    "authentication_failed",
    "oauth_org_not_allowed",
    "account_on_hold",
    "verification_required",
    "billing_error",
    "rate_limit",
    "overloaded",
    "invalid_request",
    "model_not_found",
    "server_error",
    "unknown",
    "max_output_tokens",
    "cloud_credential_error",
];

type Row = (&'static str, &'static [Field], &'static [Field]);

/// Every event: what it shares with others, and what only it has.
pub const INPUTS: &[Row] = &[
    (
        "SessionStart",
        &[],
        &[
            must("source", Word(STARTS)),
            may("model", Text),
            may("session_title", Text),
            may("seconds_since_last_response", Number),
            may("context_tokens", Whole),
            may("prompt_cache_likely_expired", Flag),
            may("estimated_cache_write_usd", Number),
        ],
    ),
    ("Setup", &[], &[must("trigger", Word(&["init", "maintenance"]))]),
    (
        "InstructionsLoaded",
        &[FILE],
        &[
            must("memory_type", Word(&["User", "Project", "Local", "Managed"])),
            must("load_reason", Word(LOADS)),
            may("globs", List(&Text)),
            may("trigger_file_path", Text),
            may("parent_file_path", Text),
        ],
    ),
    (
        "UserPromptSubmit",
        &[MODE],
        &[must("prompt", Text), may("source", Word(PROMPTERS)), may("session_title", Text)],
    ),
    (
        "UserPromptExpansion",
        &[MODE],
        &[
            must("expansion_type", Text),
            must("command_name", Text),
            must("command_args", Text),
            must("command_source", Text),
            must("prompt", Text),
        ],
    ),
    (
        "MessageDisplay",
        &[],
        &[
            must("turn_id", Text),
            must("message_id", Text),
            must("index", Whole),
            must("final", Flag),
            must("delta", Text),
        ],
    ),
    ("PreToolUse", TOOL, &[]),
    (
        "PermissionRequest",
        &[MODE, TOOL_NAME, TOOL_INPUT, SERVER],
        &[may("permission_suggestions", List(&Object))],
    ),
    ("PermissionDenied", &[TOOL_NAME, TOOL_INPUT, TOOL_USE, SERVER], &[must("reason", Text)]),
    ("PostToolUse", TOOL, &[must("tool_response", Any), DURATION]),
    ("PostToolUseFailure", TOOL, &[must("error", Text), may("is_interrupt", Flag), DURATION]),
    ("PostToolBatch", &[MODE], &[must("tool_calls", List(&Fields(CALL)))]),
    (
        "Notification",
        &[],
        &[must("message", Text), may("title", Text), must("notification_type", Text)],
    ),
    ("SubagentStart", AGENT, &[]),
    (
        "SubagentStop",
        &[MODE, ACTIVE, LAST_WORDS, BACKGROUND, CRONS],
        &[must("agent_id", Text), must("agent_type", Text), must("agent_transcript_path", Text)],
    ),
    ("TaskCreated", TASK, &[]),
    ("TaskCompleted", TASK, &[]),
    ("TeammateIdle", &[], &[must("teammate_name", Text), must("team_name", Text)]),
    ("Stop", &[MODE, ACTIVE, LAST_WORDS, BACKGROUND, CRONS], &[]),
    ("StopFailure", &[LAST_WORDS], &[must("error", Word(ERRORS)), may("error_details", Text)]),
    ("ConfigChange", &[], &[must("source", Word(SETTINGS)), may("file_path", Text)]),
    ("CwdChanged", &[], &[must("old_cwd", Text), must("new_cwd", Text)]),
    (
        "DirectoryAdded",
        &[],
        &[must("directory", Text), must("source", Word(&["slash_command", "register_repo_root"]))],
    ),
    ("FileChanged", &[FILE], &[must("event", Word(&["change", "add", "unlink"]))]),
    ("WorktreeCreate", &[], &[must("name", Text)]),
    ("WorktreeRemove", &[], &[must("worktree_path", Text)]),
    ("PreCompact", &[TRIGGER], &[must("custom_instructions", TextOrNull)]),
    ("PostCompact", &[TRIGGER], &[must("compact_summary", Text)]),
    ("PreModelSwitch", SWITCH, &[must("source", Word(&["command", "picker", "sdk"]))]),
    (
        "PostModelSwitch",
        SWITCH,
        &[must("source", Word(&["command", "picker", "sdk", "auto", "resume"]))],
    ),
    ("SessionEnd", &[], &[must("reason", Word(ENDS))]),
    (
        "Elicitation",
        &[SERVER_NAME, FORM, ELICITATION],
        &[must("message", Text), may("url", Text), may("requested_schema", Object)],
    ),
    (
        "ElicitationResult",
        &[SERVER_NAME, FORM, ELICITATION],
        &[must("action", Word(&["accept", "decline", "cancel"])), may("content", Object)],
    ),
];

/// What an event sends.
pub fn record(row: &EventSpec) -> Record {
    let record = Record::default().needing("hook_event_name", json!({"const": row.name}));
    let known = INPUTS.iter().find(|(name, ..)| *name == row.name);
    let (_, shared, own) = known.copied().unwrap_or_default();
    record.and(COMMON).and(shared).and(own)
}
