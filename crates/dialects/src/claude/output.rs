//! Checks the JSON output of a hook against its schema and turns it into a verdict. Exit codes are
//! handled in `verdict`.

use gambrel_model::{Audience, EventSpec, Powers, Ruling, Slot, Tool, Verdict};
use serde_json::{Map, Value, json};

use super::event_row::{ReplyForm, StdoutUse};
use super::events::event_row;
use super::schema;
use super::tool_result::parse_tool_response;
use super::tools::TOOLS;

/// The fields of an object.
pub type JsonObject = Map<String, Value>;

/// The reason of a refusal without a reason of its own.
pub const BLOCKED: &str = "Blocked by hook";
const STOPPED: &str = "Stopped by hook";

/// The prefix of slots that only this dialect has.
pub const SLOT_PREFIX: &str = "claude.";

/// Paths to watch. The lists of all hooks are joined.
pub const WATCH_PATHS: &str = "watchPaths";
/// Permissions for later calls. The lists of all hooks that allow are joined.
pub const UPDATED_PERMISSIONS: &str = "updatedPermissions";

/// The path of a new worktree.
pub const WORKTREE_PATH: &str = "worktreePath";
/// The rewritten input in the hook's own form. `Slot::Input` has the neutral form.
pub const UPDATED_INPUT: &str = "updatedInput";

/// Maximum length of `classifierContext`.
const MAX_CLASSIFIER_CHARS: usize = 2_000;

/// Fields of `hookSpecificOutput` that have a neutral meaning.
const NEUTRAL_FIELDS: [&str; 7] = [
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    UPDATED_INPUT,
    "additionalContext",
    "updatedToolOutput",
    "decision",
];

/// The event and the tool that an answer is about, by the names that the hook received.
pub struct AnswerContext<'s> {
    /// The row of the hook's event.
    pub row: &'s EventSpec,
    /// The event's name. All events newer than the table share one row.
    pub name: &'s str,
    /// The tool of the event.
    pub tool: Option<&'s str>,
}

/// Why an answer cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It does not fit the schema of its event.
    #[error("{0}")]
    Mismatch(String),
    #[error("the model did not answer with one JSON object")]
    NoObject,
    #[error("the model's answer has no `ok` that is true or false")]
    NoOk,
}

/// The verdict of an answer.
pub fn read_answer(
    answer_context: &AnswerContext<'_>,
    fields: &JsonObject,
) -> Result<Verdict, AnswerError> {
    if let Some(why) = schema::find_mismatch(answer_context.row, answer_context.name, fields) {
        return Err(AnswerError::Mismatch(why));
    }
    let mut verdict = read_common_fields(answer_context.row, fields);
    if let Some(own) = object_of(fields, "hookSpecificOutput") {
        verdict = verdict.then(read_specific(answer_context, own));
    }
    // A refused tool call needs no rewritten input.
    if verdict.ruling.is_refusal() {
        verdict.patch.remove(&Slot::Input);
        verdict.patch.remove(&own_slot(UPDATED_INPUT));
    }
    Ok(verdict)
}

fn read_common_fields(row: &EventSpec, fields: &JsonObject) -> Verdict {
    let reason = text_of(fields, "reason");
    let mut verdict = Verdict::default();
    if flag_of(fields, "continue") == Some(false) {
        verdict = verdict.then(halt_verdict(row, text_of(fields, "stopReason")));
    }

    let plain = matches!(event_row(row).reply, ReplyForm::Block | ReplyForm::Permission);
    verdict = verdict.then(match text_of(fields, "decision") {
        Some("block") if plain => {
            Verdict::ruling_within_powers(row, Ruling::Deny, reason.unwrap_or(BLOCKED))
        }
        Some("block") => {
            Verdict::notice_within_powers(row, &format!("`decision` has no effect at {}", row.name))
        }
        Some("approve") if plain => {
            Verdict::ruling_within_powers(row, Ruling::Allow, reason.unwrap_or_default())
        }
        _ => Verdict::default(),
    });

    if let Some(message) = text_of(fields, "systemMessage").filter(|message| !message.is_empty()) {
        verdict = verdict.then(Verdict::notice_within_powers(row, message));
    }
    match text_of(fields, "terminalSequence")
        .filter(|_| event_row(row).stdout != StdoutUse::Discarded)
    {
        Some(sequence) if is_harmless(sequence) => {
            verdict.with_rewrite(own_slot("terminalSequence"), json!(sequence))
        }
        Some(_) => verdict
            .then(Verdict::notice_within_powers(row, "a hook's `terminalSequence` was dropped")),
        None => verdict,
    }
}

/// The verdict of `continue: false`. At an event without `HALT` and `DENY`, the ruling stays in the
/// verdict, so that `Verdict::within_hook_powers` records the loss and notifies the user. At an
/// event with `DENY` but without `HALT` it becomes a message: dropping the ruling later would also
/// drop a refusal of the same hook.
fn halt_verdict(row: &EventSpec, reason: Option<&str>) -> Verdict {
    if row.hook_powers.contains(Powers::HALT)
        || row.hook_powers.contains(Powers::DENY)
        || !row.hook_powers.contains(Powers::MESSAGE_USER)
    {
        return Verdict::ruling_within_powers(row, Ruling::Halt, reason.unwrap_or(STOPPED));
    }
    let event = if row.name.is_empty() { "this event" } else { row.name };
    let wish = format!("a hook asked to stop the session, which {event} cannot do");
    let text = reason.map_or_else(|| wish.clone(), |reason| format!("{wish}: {reason}"));
    Verdict::with_ruling(Ruling::Halt, text)
}

/// Whether a terminal sequence only sets titles, shows notices (OSC 0, 1, 2, 9, 99, 777) or rings.
fn is_harmless(sequence: &str) -> bool {
    let mut rest = sequence;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('\u{7}') {
            rest = after;
            continue;
        }
        let Some(inside) = rest.strip_prefix("\u{1b}]") else { return false };
        let number = inside.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let ends = [("\u{7}", 1), ("\u{1b}\\", 2)];
        let ends = ends.iter().filter_map(|(end, length)| Some((inside.find(end)?, *length)));
        let Some((at, length)) = ends.min() else { return false };
        let plain = !inside[..at].chars().any(char::is_control);
        if !plain || !["0", "1", "2", "9", "99", "777"].contains(&number) {
            return false;
        }
        rest = &inside[at + length..];
    }
    true
}

fn read_specific(answer_context: &AnswerContext<'_>, own: &JsonObject) -> Verdict {
    let row = answer_context.row;
    let mut verdict = match event_row(row).reply {
        ReplyForm::Permission => read_permission(answer_context, own),
        ReplyForm::Request => read_request(answer_context, own),
        ReplyForm::Action => read_action(row, own),
        ReplyForm::Exit | ReplyForm::Block => Verdict::default(),
    };
    let context = text_of(own, "additionalContext").filter(|text| !text.is_empty());
    if let Some(context) = context.filter(|_| row.hook_powers.contains(Powers::MESSAGE_AGENT)) {
        verdict = verdict.with_message(Audience::AgentNow, context);
    }

    // At an event without an output to rewrite, the engine records the loss.
    if let Some(output) = own.get("updatedToolOutput").filter(|output| !output.is_null()) {
        let rewrite = json!({"content": parse_tool_response(output).content, "native": output});
        verdict = verdict.with_rewrite(Slot::Output, rewrite);
    }

    // Null counts as absent.
    let is_native = |(name, value): &(&String, &Value)| {
        !NEUTRAL_FIELDS.contains(&name.as_str()) && !value.is_null()
    };
    for (name, value) in own.iter().filter(is_native) {
        verdict = match (name.as_str(), value) {
            (WATCH_PATHS, Value::Array(_)) => {
                verdict.with_rewrite(own_list(WATCH_PATHS), value.clone())
            }
            ("classifierContext", Value::String(text)) => {
                let cut: String = text.chars().take(MAX_CLASSIFIER_CHARS).collect();
                verdict.with_rewrite(own_slot(name), json!(cut))
            }
            _ => verdict.with_rewrite(own_slot(name), value.clone()),
        };
    }
    verdict
}

fn read_permission(answer_context: &AnswerContext<'_>, own: &JsonObject) -> Verdict {
    let row = answer_context.row;
    let reason = text_of(own, "permissionDecisionReason").unwrap_or_default();
    let decision = text_of(own, "permissionDecision");
    let known = [Ruling::Allow, Ruling::Ask, Ruling::Defer, Ruling::Deny];
    let verdict = match known.into_iter().find(|ruling| decision == Some(ruling.as_str())) {
        Some(Ruling::Deny) if reason.is_empty() => {
            Verdict::ruling_within_powers(row, Ruling::Deny, BLOCKED)
        }
        Some(ruling) => Verdict::ruling_within_powers(row, ruling, reason),
        None => Verdict::default(),
    };
    with_rewritten_input(verdict, answer_context, own)
}

fn read_request(answer_context: &AnswerContext<'_>, own: &JsonObject) -> Verdict {
    let Some(decision) = object_of(own, "decision") else { return Verdict::default() };
    if text_of(decision, "behavior") == Some("allow") {
        let allowed = with_rewritten_input(
            Verdict::ruling_within_powers(answer_context.row, Ruling::Allow, ""),
            answer_context,
            decision,
        );
        return match decision.get(UPDATED_PERMISSIONS) {
            Some(more) => allowed.with_rewrite(own_list(UPDATED_PERMISSIONS), more.clone()),
            None => allowed,
        };
    }
    let message = text_of(decision, "message").filter(|text| !text.is_empty());
    let interrupts = flag_of(decision, "interrupt") == Some(true);
    let ruling = if interrupts { Ruling::Halt } else { Ruling::Deny };
    Verdict::ruling_within_powers(answer_context.row, ruling, message.unwrap_or(BLOCKED))
}

/// The ruling of an elicitation. The answer itself goes into slots of this dialect.
fn read_action(row: &EventSpec, own: &JsonObject) -> Verdict {
    match text_of(own, "action") {
        Some("decline" | "cancel") => Verdict::ruling_within_powers(row, Ruling::Deny, BLOCKED),
        _ => Verdict::default(),
    }
}

fn with_rewritten_input(
    verdict: Verdict,
    answer_context: &AnswerContext<'_>,
    from: &JsonObject,
) -> Verdict {
    let input = object_of(from, UPDATED_INPUT)
        .filter(|_| answer_context.row.rewritable.contains(&Slot::Input));
    match (input, answer_context.tool) {
        (Some(input), Some(name)) => {
            let given = Value::Object(input.clone());
            let tool = Tool::from_native(TOOLS, name, &given);
            verdict
                .with_rewrite(Slot::Input, tool.args)
                .with_rewrite(own_slot(UPDATED_INPUT), given)
        }
        _ => verdict,
    }
}

/// The slot of a field that only this dialect has.
pub fn own_slot(field: &str) -> Slot {
    Slot::Native(format!("{SLOT_PREFIX}{field}"))
}

/// The slot of a list that all hooks extend.
pub fn own_list(field: &str) -> Slot {
    Slot::List(format!("{SLOT_PREFIX}{field}"))
}

// The schema has checked the types of known fields. Any other field of a wrong type counts as
// absent.

fn text_of<'a>(fields: &'a JsonObject, key: &str) -> Option<&'a str> {
    fields.get(key)?.as_str()
}

fn flag_of(fields: &JsonObject, key: &str) -> Option<bool> {
    fields.get(key)?.as_bool()
}

fn object_of<'a>(fields: &'a JsonObject, key: &str) -> Option<&'a JsonObject> {
    fields.get(key)?.as_object()
}
