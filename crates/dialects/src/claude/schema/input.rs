//! The fields that each event sends to a hook. Only the event's name and the session are demanded:
//! callers other than the product leave the rest out, and later ones add to it.

use gambrel_model::EventSpec;
use serde_json::json;

use super::record::Shape::{
    Any, Fields, Flag, List, Number, Object, Text, TextOrNull, Whole, Word,
};
use super::record::{Field, Record, may, must};

/// In every event.
const COMMON: &[Field] = &[
    must("session_id", Text),
    may("transcript_path", Text),
    may("cwd", Text),
    may("prompt_id", Text),
    may("effort", Fields(&[may("level", Text)])),
    may("agent_id", Text),
    may("agent_type", Text),
];

const MODES: &[&str] = &["default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"];
/// Only what happens in a turn of the agent has a mode.
const MODE: Field = may("permission_mode", Word(MODES));

const TOOL_NAME: Field = may("tool_name", Text);
const TOOL_INPUT: Field = may("tool_input", Object);
const TOOL_USE: Field = may("tool_use_id", Text);
const SERVER: Field = may("mcp_server", Fields(&[may("name", Text), may("source", Text)]));
const DURATION: Field = may("duration_ms", Number);
const ACTIVE: Field = may("stop_hook_active", Flag);
const LAST_WORDS: Field = may("last_assistant_message", Text);
const BACKGROUND: Field = may("background_tasks", List(&Any));
const CRONS: Field = may("session_crons", List(&Any));
const TRIGGER: Field = may("trigger", Word(&["manual", "auto"]));
const FORM: Field = may("mode", Word(&["form", "url"]));
const SERVER_NAME: Field = may("mcp_server_name", Text);
const ELICITATION: Field = may("elicitation_id", Text);
const FILE: Field = may("file_path", Text);

const TOOL: &[Field] = &[MODE, TOOL_NAME, TOOL_INPUT, TOOL_USE, SERVER];
const TASK: &[Field] = &[
    may("task_id", Text),
    may("task_subject", Text),
    may("task_description", Text),
    may("teammate_name", Text),
    may("team_name", Text),
];
const SWITCH: &[Field] = &[
    may("from_model", Text),
    may("to_model", Text),
    may("requested_model", TextOrNull),
    may("context_tokens", Whole),
    may("prompt_cache_warm", Flag),
    may("cache_ttl", Word(&["5m", "1h"])),
    may("estimated_cache_write_usd", Number),
    may("pricing", Word(&["configured", "catalog", "default"])),
];
const CALL: &[Field] = &[TOOL_NAME, TOOL_INPUT, TOOL_USE, may("tool_response", Any)];

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
            may("source", Word(STARTS)),
            may("model", Text),
            may("session_title", Text),
            may("seconds_since_last_response", Number),
            may("context_tokens", Whole),
            may("prompt_cache_likely_expired", Flag),
            may("estimated_cache_write_usd", Number),
        ],
    ),
    ("Setup", &[], &[may("trigger", Word(&["init", "maintenance"]))]),
    (
        "InstructionsLoaded",
        &[FILE],
        &[
            may("memory_type", Word(&["User", "Project", "Local", "Managed"])),
            may("load_reason", Word(LOADS)),
            may("globs", List(&Text)),
            may("trigger_file_path", Text),
            may("parent_file_path", Text),
        ],
    ),
    (
        "UserPromptSubmit",
        &[MODE],
        &[may("prompt", Text), may("source", Word(PROMPTERS)), may("session_title", Text)],
    ),
    (
        "UserPromptExpansion",
        &[MODE],
        &[
            may("expansion_type", Text),
            may("command_name", Text),
            may("command_args", Text),
            may("command_source", Text),
            may("prompt", Text),
        ],
    ),
    (
        "MessageDisplay",
        &[],
        &[
            may("turn_id", Text),
            may("message_id", Text),
            may("index", Whole),
            may("final", Flag),
            may("delta", Text),
        ],
    ),
    ("PreToolUse", TOOL, &[]),
    (
        "PermissionRequest",
        &[MODE, TOOL_NAME, TOOL_INPUT, SERVER],
        &[may("permission_suggestions", List(&Object))],
    ),
    ("PermissionDenied", &[TOOL_NAME, TOOL_INPUT, TOOL_USE, SERVER], &[may("reason", Text)]),
    ("PostToolUse", TOOL, &[may("tool_response", Any), DURATION]),
    ("PostToolUseFailure", TOOL, &[may("error", Text), may("is_interrupt", Flag), DURATION]),
    ("PostToolBatch", &[MODE], &[may("tool_calls", List(&Fields(CALL)))]),
    (
        "Notification",
        &[],
        &[may("message", Text), may("title", Text), may("notification_type", Text)],
    ),
    ("SubagentStart", &[], &[]),
    (
        "SubagentStop",
        &[MODE, ACTIVE, LAST_WORDS, BACKGROUND, CRONS],
        &[may("agent_transcript_path", Text)],
    ),
    ("TaskCreated", TASK, &[]),
    ("TaskCompleted", TASK, &[]),
    ("TeammateIdle", &[], &[may("teammate_name", Text), may("team_name", Text)]),
    ("Stop", &[MODE, ACTIVE, LAST_WORDS, BACKGROUND, CRONS], &[]),
    ("StopFailure", &[LAST_WORDS], &[may("error", Word(ERRORS)), may("error_details", Text)]),
    ("ConfigChange", &[FILE], &[may("source", Word(SETTINGS))]),
    ("CwdChanged", &[], &[may("old_cwd", Text), may("new_cwd", Text)]),
    (
        "DirectoryAdded",
        &[],
        &[may("directory", Text), may("source", Word(&["slash_command", "register_repo_root"]))],
    ),
    ("FileChanged", &[FILE], &[may("event", Word(&["change", "add", "unlink"]))]),
    ("WorktreeCreate", &[], &[may("name", Text)]),
    ("WorktreeRemove", &[], &[may("worktree_path", Text)]),
    ("PreCompact", &[TRIGGER], &[may("custom_instructions", TextOrNull)]),
    ("PostCompact", &[TRIGGER], &[may("compact_summary", Text)]),
    ("PreModelSwitch", SWITCH, &[may("source", Word(&["command", "picker", "sdk"]))]),
    (
        "PostModelSwitch",
        SWITCH,
        &[may("source", Word(&["command", "picker", "sdk", "auto", "resume"]))],
    ),
    ("SessionEnd", &[], &[may("reason", Word(ENDS))]),
    (
        "Elicitation",
        &[SERVER_NAME, FORM, ELICITATION],
        &[may("message", Text), may("url", Text), may("requested_schema", Object)],
    ),
    (
        "ElicitationResult",
        &[SERVER_NAME, FORM, ELICITATION],
        &[may("action", Word(&["accept", "decline", "cancel"])), may("content", Object)],
    ),
];

/// What an event sends.
pub fn record(row: &EventSpec) -> Record {
    let record = Record::default().needing("hook_event_name", json!({"const": row.name}));
    let known = INPUTS.iter().find(|(name, ..)| *name == row.name);
    let (_, shared, own) = known.copied().unwrap_or_default();
    record.and(COMMON).and(shared).and(own)
}
