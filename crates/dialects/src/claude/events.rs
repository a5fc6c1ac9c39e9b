//! The table of the 33 events: one row per event with every property. Hooks and callers of this
//! dialect have the same powers. `event_row.rs` has the columns.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Duration;

use gambrel_model::{EventSpec, Moment, Powers, Slot, Subject};
use serde_json::json;

use Subject::{Cause, Tool};

use super::event_row::{ClaudeEvent, HandlerTypes, ReplyForm, StdoutUse, event};
use super::hook_input;
use super::schema::record::FieldShape::{
    Any, Fields, Flag, List, Number, Object, Text, TextOrNull, Whole, Word,
};
use super::schema::record::{SchemaField, optional, required};

/// A moment that only this dialect fires.
const fn own_moment(name: &'static str) -> Moment {
    Moment::Other(Cow::Borrowed(name))
}

/// Claude Code discards the output of hooks.
const NO_OUTPUT: Powers = Powers::empty();
const SHOW: Powers = Powers::MESSAGE_USER;
const MESSAGES: Powers = Powers::MESSAGE_AGENT.union(SHOW);
/// A hook may refuse; Claude Code ignores `continue: false`.
const REFUSE: Powers = Powers::DENY.union(SHOW);
const STOP: Powers = REFUSE.union(Powers::HALT);
const BLOCK: Powers = STOP.union(Powers::MESSAGE_AGENT);
const REQUEST: Powers = STOP.union(Powers::ALLOW);
const SWITCH: Powers = STOP.union(Powers::ALLOW).union(Powers::ASK);
const PERMIT: Powers = BLOCK.union(Powers::ALLOW).union(Powers::ASK).union(Powers::DEFER);

const INPUT: &[Slot] = &[Slot::Input];
const OUTPUT: &[Slot] = &[Slot::Output];

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
const SWITCH_FIELDS: &[SchemaField] = &[
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

const WATCH: SchemaField = optional("watchPaths", List(&Text));
const TITLE: SchemaField = optional("sessionTitle", Text);
const SUPPRESS: SchemaField = optional("suppressOriginalPrompt", Flag);

// A first version is the first published 2.1 version of Claude Code that loads a hook for the event.
// The version before rejects or ignores it. The table has all events of 2.1.325.
/// Every event. The last row, without a name, is for events newer than the table.
pub static TABLE: &[ClaudeEvent] = &[
    event("SessionStart", "2.1.0", Moment::SessionStart)
        .subject(Cause("source"))
        .powers(MESSAGES)
        .stdout(StdoutUse::Context)
        .handlers(HandlerTypes::Commands)
        .env_file()
        .usual_cause("startup")
        .input(
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
        )
        .output(&[
            optional("initialUserMessage", Text),
            TITLE,
            WATCH,
            optional("reloadSkills", Flag),
        ]),
    event("Setup", "2.1.10", own_moment("setup"))
        .subject(Cause("trigger"))
        .powers(MESSAGES)
        .handlers(HandlerTypes::Commands)
        .env_file()
        .input(&[], &[required("trigger", Word(&["init", "maintenance"]))]),
    event("InstructionsLoaded", "2.1.64", own_moment("instructions_loaded"))
        .subject(Cause("load_reason"))
        .powers(NO_OUTPUT)
        .stdout(StdoutUse::Discarded)
        .input(
            &[FILE],
            &[
                required("memory_type", Word(&["User", "Project", "Local", "Managed"])),
                required("load_reason", Word(LOADS)),
                optional("globs", List(&Text)),
                optional("trigger_file_path", Text),
                optional("parent_file_path", Text),
            ],
        ),
    event("UserPromptSubmit", "2.1.0", Moment::IterationStart)
        .powers(BLOCK)
        .stdout(StdoutUse::Context)
        .handlers(HandlerTypes::Models)
        .host_timeout(Duration::from_secs(30))
        .foreign_fields(|event| json!({"prompt": event.facts.prompt.clone().unwrap_or_default()}))
        .input(
            &[MODE],
            &[
                required("prompt", Text),
                optional("source", Word(PROMPTERS)),
                optional("session_title", Text),
            ],
        )
        .output(&[TITLE, SUPPRESS]),
    event("UserPromptExpansion", "2.1.116", own_moment("user_prompt_expansion"))
        .subject(Cause("command_name"))
        .powers(BLOCK)
        .stdout(StdoutUse::Context)
        .handlers(HandlerTypes::Models)
        .input(
            &[MODE],
            &[
                required("expansion_type", Text),
                required("command_name", Text),
                required("command_args", Text),
                required("command_source", Text),
                required("prompt", Text),
            ],
        )
        .output(&[SUPPRESS]),
    event("MessageDisplay", "2.1.152", own_moment("message_display"))
        .powers(SHOW)
        .host_timeout(Duration::from_secs(10))
        .input(
            &[],
            &[
                required("turn_id", Text),
                required("message_id", Text),
                required("index", Whole),
                required("final", Flag),
                required("delta", Text),
            ],
        )
        .output(&[optional("displayContent", Text)]),
    event("PreToolUse", "2.1.0", Moment::ToolBefore)
        .subject(Tool)
        .powers(PERMIT)
        .rewrites(INPUT)
        .reply(ReplyForm::Permission)
        .handlers(HandlerTypes::Models)
        .input(TOOL, &[]),
    event("PermissionRequest", "2.1.0", Moment::ToolPermission)
        .subject(Tool)
        .powers(REQUEST)
        .rewrites(INPUT)
        .reply(ReplyForm::Request)
        .handlers(HandlerTypes::Models)
        .input_needs_allow()
        .input(
            &[MODE, TOOL_NAME, TOOL_INPUT, SERVER],
            &[optional("permission_suggestions", List(&Object))],
        ),
    event("PermissionDenied", "2.1.88", own_moment("permission_denied"))
        .subject(Tool)
        .powers(SHOW)
        .handlers(HandlerTypes::Models)
        .input(&[TOOL_NAME, TOOL_INPUT, TOOL_USE, SERVER], &[required("reason", Text)])
        .output(&[optional("retry", Flag)]),
    event("PostToolUse", "2.1.0", Moment::ToolAfter)
        .subject(Tool)
        .powers(BLOCK)
        .rewrites(OUTPUT)
        .handlers(HandlerTypes::Models)
        .input(TOOL, &[required("tool_response", Any), DURATION])
        .output(&[optional("updatedMCPToolOutput", Any), optional("classifierContext", Text)]),
    event("PostToolUseFailure", "2.1.0", Moment::ToolFailed)
        .subject(Tool)
        .powers(BLOCK)
        .handlers(HandlerTypes::Models)
        .input(TOOL, &[required("error", Text), optional("is_interrupt", Flag), DURATION]),
    event("PostToolBatch", "2.1.118", own_moment("post_tool_batch"))
        .powers(BLOCK)
        .handlers(HandlerTypes::Models)
        .input(&[MODE], &[required("tool_calls", List(&Fields(CALL)))]),
    event("Notification", "2.1.0", Moment::Notification)
        .subject(Cause("notification_type"))
        .powers(NO_OUTPUT)
        .foreign_fields(|event| json!({"message": event.facts.prompt.clone().unwrap_or_default()}))
        .input(
            &[],
            &[
                required("message", Text),
                optional("title", Text),
                required("notification_type", Text),
            ],
        ),
    event("SubagentStart", "2.1.0", Moment::SubagentStart)
        .subject(Cause("agent_type"))
        .powers(MESSAGES)
        .foreign_fields(|event| json!({"agent_id": hook_input::agent_id(event)}))
        .input(AGENT, &[]),
    event("SubagentStop", "2.1.0", Moment::SubagentStop)
        .subject(Cause("agent_type"))
        .powers(BLOCK)
        .handlers(HandlerTypes::Models)
        .can_veto_end()
        .foreign_fields(hook_input::subagent_stop_fields)
        .input(
            &[MODE, ACTIVE, LAST_WORDS, BACKGROUND, CRONS],
            &[
                required("agent_id", Text),
                required("agent_type", Text),
                required("agent_transcript_path", Text),
            ],
        ),
    event("TaskCreated", "2.1.84", Moment::TaskCreated)
        .powers(REFUSE)
        .handlers(HandlerTypes::Models)
        .foreign_fields(hook_input::task_fields)
        .input(TASK, &[]),
    event("TaskCompleted", "2.1.33", Moment::TaskCompleted)
        .powers(STOP)
        .reply(ReplyForm::Exit)
        .handlers(HandlerTypes::Models)
        .can_veto_end()
        .foreign_fields(hook_input::task_fields)
        .input(TASK, &[]),
    event("TeammateIdle", "2.1.33", Moment::MemberIdle)
        .powers(STOP)
        .reply(ReplyForm::Exit)
        .handlers(HandlerTypes::Models)
        .can_veto_end()
        .foreign_fields(hook_input::idle_fields)
        .input(&[], &[required("teammate_name", Text), required("team_name", Text)]),
    event("Stop", "2.1.0", Moment::IterationEnd)
        .powers(BLOCK)
        .handlers(HandlerTypes::Models)
        .can_veto_end()
        .foreign_fields(|event| json!({"stop_hook_active": event.facts.refusals > 0}))
        .input(&[MODE, ACTIVE, LAST_WORDS, BACKGROUND, CRONS], &[]),
    event("StopFailure", "2.1.78", Moment::Error)
        .subject(Cause("error"))
        .powers(NO_OUTPUT)
        .narrow_names()
        .usual_cause("unknown")
        .foreign_fields(|event| json!({"error_details": event.facts.error}))
        .input(&[LAST_WORDS], &[required("error", Word(ERRORS)), optional("error_details", Text)]),
    event("ConfigChange", "2.1.48", own_moment("config_change"))
        .subject(Cause("source"))
        .powers(STOP)
        .cannot_refuse("policy_settings")
        .input(&[], &[required("source", Word(SETTINGS)), optional("file_path", Text)]),
    event("CwdChanged", "2.1.83", own_moment("cwd_changed"))
        .powers(SHOW)
        .env_file()
        .input(&[], &[required("old_cwd", Text), required("new_cwd", Text)])
        .output(&[WATCH]),
    event("DirectoryAdded", "2.1.219", own_moment("directory_added"))
        .subject(Cause("source"))
        .powers(SHOW)
        .input(
            &[],
            &[
                required("directory", Text),
                required("source", Word(&["slash_command", "register_repo_root"])),
            ],
        ),
    event("FileChanged", "2.1.83", own_moment("file_changed"))
        .subject(Cause("file_path"))
        .powers(SHOW)
        .env_file()
        .narrow_names()
        .input(&[FILE], &[required("event", Word(&["change", "add", "unlink"]))])
        .output(&[WATCH]),
    event("WorktreeCreate", "2.1.50", own_moment("worktree_create"))
        .powers(Powers::DENY)
        .reply(ReplyForm::Exit)
        .stdout(StdoutUse::WorktreePath)
        .unreported()
        .input(&[], &[required("name", Text)])
        .output(&[optional("worktreePath", Text)]),
    event("WorktreeRemove", "2.1.50", own_moment("worktree_remove"))
        .powers(NO_OUTPUT)
        .stdout(StdoutUse::Discarded)
        .input(&[], &[required("worktree_path", Text)]),
    event("PreCompact", "2.1.0", Moment::CompactBefore)
        .subject(Cause("trigger"))
        .powers(STOP)
        .usual_cause("auto")
        .foreign_fields(hook_input::instructions_fields)
        .input(&[TRIGGER], &[required("custom_instructions", TextOrNull)]),
    event("PostCompact", "2.1.76", Moment::CompactAfter)
        .subject(Cause("trigger"))
        .powers(SHOW)
        .usual_cause("auto")
        .foreign_fields(hook_input::summary_fields)
        .input(&[TRIGGER], &[required("compact_summary", Text)]),
    event("PreModelSwitch", "2.1.251", own_moment("pre_model_switch"))
        .subject(Cause("to_model"))
        .powers(SWITCH)
        .reply(ReplyForm::Permission)
        .input(SWITCH_FIELDS, &[required("source", Word(&["command", "picker", "sdk"]))]),
    event("PostModelSwitch", "2.1.251", own_moment("post_model_switch"))
        .subject(Cause("to_model"))
        .powers(MESSAGES)
        .input(
            SWITCH_FIELDS,
            &[required("source", Word(&["command", "picker", "sdk", "auto", "resume"]))],
        ),
    event("SessionEnd", "2.1.0", Moment::SessionEnd)
        .subject(Cause("reason"))
        .powers(NO_OUTPUT)
        .stdout(StdoutUse::Discarded)
        .host_timeout(Duration::from_millis(1_500))
        .usual_cause("other")
        .input(&[], &[required("reason", Word(ENDS))]),
    event("Elicitation", "2.1.63", own_moment("elicitation"))
        .subject(Cause("mcp_server_name"))
        .powers(STOP)
        .reply(ReplyForm::Action)
        .input(
            &[SERVER_NAME, FORM, ELICITATION],
            &[
                required("message", Text),
                optional("url", Text),
                optional("requested_schema", Object),
            ],
        ),
    event("ElicitationResult", "2.1.63", own_moment("elicitation_result"))
        .subject(Cause("mcp_server_name"))
        .powers(STOP)
        .reply(ReplyForm::Action)
        .input(
            &[SERVER_NAME, FORM, ELICITATION],
            &[
                required("action", Word(&["accept", "decline", "cancel"])),
                optional("content", Object),
            ],
        ),
    event("", "2.1.326", own_moment("")).powers(SHOW),
];

/// The part of the table that the engine reads.
pub fn event_specs() -> &'static [EventSpec] {
    static SPECS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    SPECS.get_or_init(|| TABLE.iter().map(|event| event.spec.clone()).collect())
}

/// The whole row of an event. An event without a row is newer than the table.
pub fn event_row(spec: &EventSpec) -> &'static ClaudeEvent {
    let known = TABLE.iter().find(|event| event.spec.name == spec.name);
    known.unwrap_or(&TABLE[TABLE.len() - 1])
}

/// The first published 2.1 version of Claude Code that has an event.
pub fn first_version(spec: &EventSpec) -> &'static str {
    event_row(spec).since
}
