//! The input schema of each event. Fields that Claude Code always sends are required; a caller of
//! `fire` may leave out more.

use gambrel_model::EventSpec;
use serde_json::json;

use super::record::FieldShape::{
    Any, Fields, Flag, List, Number, Object, Text, TextOrNull, Whole, Word,
};
use super::record::{RecordSchema, SchemaField, optional, required};

/// Fields of every event.
const COMMON: &[SchemaField] = &[
    required("session_id", Text),
    required("transcript_path", Text),
    required("cwd", Text),
    optional("prompt_id", Text),
    optional("effort", Fields(&[optional("level", Text)])),
    optional("agent_id", Text),
    optional("agent_type", Text),
];

const MODES: &[&str] = &["default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"];
/// Only events in a turn of the agent have a mode.
const MODE: SchemaField = optional("permission_mode", Word(MODES));

const TOOL_NAME: SchemaField = required("tool_name", Text);
const TOOL_INPUT: SchemaField = required("tool_input", Object);
const TOOL_USE: SchemaField = required("tool_use_id", Text);
const SERVER: SchemaField =
    optional("mcp_server", Fields(&[optional("name", Text), optional("source", Text)]));
const DURATION: SchemaField = optional("duration_ms", Number);
const ACTIVE: SchemaField = required("stop_hook_active", Flag);
const LAST_WORDS: SchemaField = optional("last_assistant_message", Text);
const BACKGROUND: SchemaField = optional("background_tasks", List(&Any));
const CRONS: SchemaField = optional("session_crons", List(&Any));
const TRIGGER: SchemaField = required("trigger", Word(&["manual", "auto"]));
const FORM: SchemaField = optional("mode", Word(&["form", "url"]));
const SERVER_NAME: SchemaField = required("mcp_server_name", Text);
const ELICITATION: SchemaField = optional("elicitation_id", Text);
const FILE: SchemaField = required("file_path", Text);
const AGENT: &[SchemaField] = &[required("agent_id", Text), required("agent_type", Text)];

const TOOL: &[SchemaField] = &[MODE, TOOL_NAME, TOOL_INPUT, TOOL_USE, SERVER];
const TASK: &[SchemaField] = &[
    required("task_id", Text),
    required("task_subject", Text),
    optional("task_description", Text),
    optional("teammate_name", Text),
    optional("team_name", Text),
];
const SWITCH: &[SchemaField] = &[
    required("from_model", Text),
    required("to_model", Text),
    optional("requested_model", TextOrNull),
    optional("context_tokens", Whole),
    optional("prompt_cache_warm", Flag),
    optional("cache_ttl", Word(&["5m", "1h"])),
    optional("estimated_cache_write_usd", Number),
    optional("pricing", Word(&["configured", "catalog", "default"])),
];
const CALL: &[SchemaField] = &[TOOL_NAME, TOOL_INPUT, TOOL_USE, required("tool_response", Any)];

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

type FieldRow = (&'static str, &'static [SchemaField], &'static [SchemaField]);

/// Every event with its shared fields and its own fields.
pub const INPUTS: &[FieldRow] = &[
    (
        "SessionStart",
        &[],
        &[
            required("source", Word(STARTS)),
            optional("model", Text),
            optional("session_title", Text),
            optional("seconds_since_last_response", Number),
            optional("context_tokens", Whole),
            optional("prompt_cache_likely_expired", Flag),
            optional("estimated_cache_write_usd", Number),
        ],
    ),
    ("Setup", &[], &[required("trigger", Word(&["init", "maintenance"]))]),
    (
        "InstructionsLoaded",
        &[FILE],
        &[
            required("memory_type", Word(&["User", "Project", "Local", "Managed"])),
            required("load_reason", Word(LOADS)),
            optional("globs", List(&Text)),
            optional("trigger_file_path", Text),
            optional("parent_file_path", Text),
        ],
    ),
    (
        "UserPromptSubmit",
        &[MODE],
        &[
            required("prompt", Text),
            optional("source", Word(PROMPTERS)),
            optional("session_title", Text),
        ],
    ),
    (
        "UserPromptExpansion",
        &[MODE],
        &[
            required("expansion_type", Text),
            required("command_name", Text),
            required("command_args", Text),
            required("command_source", Text),
            required("prompt", Text),
        ],
    ),
    (
        "MessageDisplay",
        &[],
        &[
            required("turn_id", Text),
            required("message_id", Text),
            required("index", Whole),
            required("final", Flag),
            required("delta", Text),
        ],
    ),
    ("PreToolUse", TOOL, &[]),
    (
        "PermissionRequest",
        &[MODE, TOOL_NAME, TOOL_INPUT, SERVER],
        &[optional("permission_suggestions", List(&Object))],
    ),
    ("PermissionDenied", &[TOOL_NAME, TOOL_INPUT, TOOL_USE, SERVER], &[required("reason", Text)]),
    ("PostToolUse", TOOL, &[required("tool_response", Any), DURATION]),
    (
        "PostToolUseFailure",
        TOOL,
        &[required("error", Text), optional("is_interrupt", Flag), DURATION],
    ),
    ("PostToolBatch", &[MODE], &[required("tool_calls", List(&Fields(CALL)))]),
    (
        "Notification",
        &[],
        &[required("message", Text), optional("title", Text), required("notification_type", Text)],
    ),
    ("SubagentStart", AGENT, &[]),
    (
        "SubagentStop",
        &[MODE, ACTIVE, LAST_WORDS, BACKGROUND, CRONS],
        &[
            required("agent_id", Text),
            required("agent_type", Text),
            required("agent_transcript_path", Text),
        ],
    ),
    ("TaskCreated", TASK, &[]),
    ("TaskCompleted", TASK, &[]),
    ("TeammateIdle", &[], &[required("teammate_name", Text), required("team_name", Text)]),
    ("Stop", &[MODE, ACTIVE, LAST_WORDS, BACKGROUND, CRONS], &[]),
    (
        "StopFailure",
        &[LAST_WORDS],
        &[required("error", Word(ERRORS)), optional("error_details", Text)],
    ),
    ("ConfigChange", &[], &[required("source", Word(SETTINGS)), optional("file_path", Text)]),
    ("CwdChanged", &[], &[required("old_cwd", Text), required("new_cwd", Text)]),
    (
        "DirectoryAdded",
        &[],
        &[
            required("directory", Text),
            required("source", Word(&["slash_command", "register_repo_root"])),
        ],
    ),
    ("FileChanged", &[FILE], &[required("event", Word(&["change", "add", "unlink"]))]),
    ("WorktreeCreate", &[], &[required("name", Text)]),
    ("WorktreeRemove", &[], &[required("worktree_path", Text)]),
    ("PreCompact", &[TRIGGER], &[required("custom_instructions", TextOrNull)]),
    ("PostCompact", &[TRIGGER], &[required("compact_summary", Text)]),
    ("PreModelSwitch", SWITCH, &[required("source", Word(&["command", "picker", "sdk"]))]),
    (
        "PostModelSwitch",
        SWITCH,
        &[required("source", Word(&["command", "picker", "sdk", "auto", "resume"]))],
    ),
    ("SessionEnd", &[], &[required("reason", Word(ENDS))]),
    (
        "Elicitation",
        &[SERVER_NAME, FORM, ELICITATION],
        &[required("message", Text), optional("url", Text), optional("requested_schema", Object)],
    ),
    (
        "ElicitationResult",
        &[SERVER_NAME, FORM, ELICITATION],
        &[required("action", Word(&["accept", "decline", "cancel"])), optional("content", Object)],
    ),
];

/// The input schema of an event.
pub fn input_record(row: &EventSpec) -> RecordSchema {
    let record =
        RecordSchema::default().with_required("hook_event_name", json!({"const": row.name}));
    let known = INPUTS.iter().find(|(name, ..)| *name == row.name);
    let (_, shared, own) = known.copied().unwrap_or_default();
    record.with_fields(COMMON).with_fields(shared).with_fields(own)
}
