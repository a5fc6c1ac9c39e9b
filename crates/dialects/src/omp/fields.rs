//! The fields of events and of results, with their TypeScript types as text.

const SWITCH_REASON: &str = "\"new\" | \"resume\" | \"fork\"";
/// Fields of events about tools.
pub const TOOL_FIELDS: &[(&str, &str)] =
    &[("toolName", "string"), ("toolCallId", "string"), ("input", "Record<string, unknown>")];

const MESSAGE_FIELDS: &[(&str, &str)] = &[("message", "AgentMessage")];
/// The abort signal of a handler. The action that runs handlers creates it.
pub const SIGNAL_FIELD: (&str, &str) = ("signal", "EventSignal");
/// Fields that only the caller knows.
const ANY_FIELDS: &[(&str, &str)] = &[("[field: string]", "unknown")];

/// An event's name, and its fields with their types, without `type`.
pub type EventPayload = (&'static str, &'static [(&'static str, &'static str)]);

/// The fields of every event. Events about tools also have the fields of `TOOL_FIELDS`.
pub const PAYLOADS: &[EventPayload] = &[
    ("session_start", &[]),
    ("session_before_switch", &[("reason", SWITCH_REASON), ("targetSessionFile?", "string")]),
    ("session_switch", &[("reason", SWITCH_REASON), ("previousSessionFile", "string | undefined")]),
    ("session_before_branch", &[("entryId", "string")]),
    ("session_branch", &[("previousSessionFile", "string | undefined")]),
    (
        "session_before_compact",
        &[
            ("preparation", "Record<string, unknown>"),
            ("branchEntries", "SessionEntry[]"),
            ("customInstructions?", "string"),
            SIGNAL_FIELD,
        ],
    ),
    ("session.compacting", &[("sessionId", "string"), ("messages", "AgentMessage[]")]),
    ("session_compact", &[("compactionEntry", "SessionEntry"), ("fromExtension?", "boolean")]),
    ("session_before_tree", &[("preparation", "TreePreparation"), SIGNAL_FIELD]),
    (
        "session_tree",
        &[
            ("newLeafId", "string | null"),
            ("oldLeafId", "string | null"),
            ("summaryEntry?", "SessionEntry"),
            ("fromExtension?", "boolean"),
        ],
    ),
    ("session_shutdown", &[]),
    ("context", &[("messages", "AgentMessage[]")]),
    (
        "input",
        &[
            ("text", "string"),
            ("images?", "ImageContent[]"),
            ("source", "\"interactive\" | \"rpc\" | \"extension\""),
        ],
    ),
    (
        "before_agent_start",
        &[("prompt", "string"), ("images?", "ImageContent[]"), ("systemPrompt?", "string[]")],
    ),
    ("agent_start", &[]),
    (
        "session_stop",
        &[
            ("messages", "AgentMessage[]"),
            ("turn_id", "number"),
            ("last_assistant_message?", "AgentMessage"),
            ("session_id", "string"),
            ("session_file?", "string"),
            ("stop_hook_active", "boolean"),
            SIGNAL_FIELD,
        ],
    ),
    ("agent_end", &[("messages", "AgentMessage[]"), ("willContinue?", "boolean")]),
    ("turn_start", &[("turnIndex", "number"), ("timestamp", "number")]),
    (
        "turn_end",
        &[
            ("turnIndex", "number"),
            ("message", "AgentMessage"),
            ("toolResults", "ToolResultMessage[]"),
        ],
    ),
    ("auto_compaction_start", &[("reason", "string"), ("action?", "string")]),
    (
        "auto_compaction_end",
        &[
            ("result", "CompactionResult | undefined"),
            ("aborted", "boolean"),
            ("willRetry", "boolean"),
            ("errorMessage?", "string"),
        ],
    ),
    (
        "auto_retry_start",
        &[
            ("attempt", "number"),
            ("maxAttempts", "number"),
            ("delayMs", "number"),
            ("errorMessage", "string"),
        ],
    ),
    ("auto_retry_end", &[("success", "boolean"), ("attempt", "number"), ("finalError?", "string")]),
    ("ttsr_triggered", &[("rules", "Array<Record<string, unknown>>")]),
    ("todo_reminder", &[("todos", "TodoItem[]"), ("attempt", "number"), ("maxAttempts", "number")]),
    ("tool_call", &[]),
    ("tool_result", &[("content", "Content[]"), ("details", "unknown"), ("isError?", "boolean")]),
    ("user_bash", &[("command", "string"), ("excludeFromContext", "boolean"), ("cwd", "string")]),
    ("user_python", &[("code", "string"), ("excludeFromContext", "boolean"), ("cwd", "string")]),
    ("message_start", MESSAGE_FIELDS),
    (
        "message_update",
        &[("message", "AgentMessage"), ("assistantMessageEvent", "Record<string, unknown>")],
    ),
    ("message_end", MESSAGE_FIELDS),
    (
        "tool_execution_start",
        &[
            ("toolCallId", "string"),
            ("toolName", "string"),
            ("args", "unknown"),
            ("intent?", "string"),
        ],
    ),
    (
        "tool_execution_update",
        &[
            ("toolCallId", "string"),
            ("toolName", "string"),
            ("args", "unknown"),
            ("partialResult", "unknown"),
        ],
    ),
    (
        "tool_execution_end",
        &[
            ("toolCallId", "string"),
            ("toolName", "string"),
            ("result", "unknown"),
            ("isError", "boolean"),
        ],
    ),
    (
        "tool_approval_requested",
        &[
            ("sessionId", "string"),
            ("toolCallId", "string"),
            ("toolName", "string"),
            ("reason?", "string"),
            ("approvalMode", "string"),
        ],
    ),
    (
        "tool_approval_resolved",
        &[
            ("sessionId", "string"),
            ("toolCallId", "string"),
            ("toolName", "string"),
            ("approved", "boolean"),
            ("reason?", "string"),
        ],
    ),
    ("before_provider_request", &[("payload", "unknown")]),
    (
        "after_provider_response",
        &[
            ("status", "number"),
            ("headers", "Record<string, string>"),
            ("requestId?", "string | null"),
            ("metadata?", "unknown"),
        ],
    ),
    ("retry_fallback_applied", &[("from", "string"), ("to", "string"), ("role", "string")]),
    ("retry_fallback_succeeded", &[("model", "string"), ("role", "string")]),
    ("resources_discover", &[("cwd", "string"), ("reason", "\"startup\" | \"reload\"")]),
    ("goal_updated", &[("goal", "unknown"), ("state?", "unknown")]),
    ("credential_disabled", &[("provider", "string"), ("disabledCause", "string")]),
    ("mcp_notification", &[("server", "string"), ("method", "string"), ("params", "unknown")]),
    ("session_before_fork", &[("entryId", "string")]),
    ("model_select", ANY_FIELDS),
    ("thinking_level_select", ANY_FIELDS),
    ("session_fork", ANY_FIELDS),
    ("session_info_changed", ANY_FIELDS),
    ("agent_settled", ANY_FIELDS),
    ("before_provider_headers", ANY_FIELDS),
];

/// Fields of results that do not follow from the event table.
pub const EXTRA_RESULT_FIELDS: &[EventPayload] = &[
    ("before_agent_start", &[("systemPrompt?", "string | string[]")]),
    (
        "session_stop",
        &[
            ("decision?", "\"block\""),
            ("continue?", "boolean"),
            ("reason?", "string"),
            ("additionalContext?", "string"),
        ],
    ),
    ("user_bash", &[("result?", "Record<string, unknown>")]),
    ("user_python", &[("result?", "Record<string, unknown>")]),
    ("session_before_branch", &[("skipConversationRestore?", "boolean")]),
    ("session_before_compact", &[("compaction?", "CompactionResult")]),
    ("session_before_tree", &[("summary?", "{ summary: string; details?: unknown }")]),
    (
        "session.compacting",
        &[
            ("context?", "string[]"),
            ("prompt?", "string"),
            ("preserveData?", "Record<string, unknown>"),
        ],
    ),
];

/// The fields of an event in such a table.
pub fn find_payload(
    table: &'static [EventPayload],
    name: &str,
) -> &'static [(&'static str, &'static str)] {
    table.iter().find(|(known, _)| *known == name).map(|(_, fields)| *fields).unwrap_or_default()
}
