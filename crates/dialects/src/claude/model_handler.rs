//! `prompt` and `agent` handlers: the user's model command answers a prompt with
//! `{"ok": …, "reason": …}`.

use gambrel_model::{
    Audience, Call, EventSpec, Hook, MomentKind, Program, Ruling, Shell, Verdict, lossy_json,
};
use serde_json::Value;

use super::event_row::ReplyForm;
use super::events::event_row;
use super::output::AnswerError;
use super::stdout::trim_javascript;
use crate::event_parts::text_field;

/// The key of the user's model command in the handler's config.
pub const MODEL_COMMAND_KEY: &str = "modelCommand";
/// Maximum number of turns of an agent.
const MAX_AGENT_TURNS: &str = "50";
const ARGUMENTS_PLACEHOLDER: &str = "$ARGUMENTS";
const ANSWER_FORMAT: &str = "Answer with one JSON object and nothing else: {\"ok\": true} if the condition is met, \
     or {\"ok\": false, \"reason\": \"…\"} if it is not. Add \"impossible\": true if it can never be met.";
const UNMET_REASON: &str = "the condition of a prompt hook is not met";

/// Whether a model answers for the hook.
pub fn asks_model(hook: &Hook) -> bool {
    hook.draft.config.get(MODEL_COMMAND_KEY).is_some()
}

/// Builds the call of the model command, with the prompt on stdin.
pub fn stage_model_call(hook: &Hook, input: &Value) -> Call {
    let config = &hook.draft.config;
    let word = |key: &str| text_field(config, key).unwrap_or_default();
    let arguments = input.to_string();
    let written = word("prompt");
    let question = match written.contains(ARGUMENTS_PLACEHOLDER) {
        true => written.replace(ARGUMENTS_PLACEHOLDER, &arguments),
        false => format!("{written}\n\n{arguments}"),
    };

    let env = [
        ("GAMBREL_HANDLER", word("type")),
        ("GAMBREL_MODEL", word("model")),
        ("GAMBREL_MAX_TURNS", MAX_AGENT_TURNS.into()),
    ];
    Call {
        program: Program::Shell { shell: Shell::BashOrSh, text: word(MODEL_COMMAND_KEY) },
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        stdin: Some(format!("{question}\n\n{ANSWER_FORMAT}\n").into_bytes().into()),
        ..Call::default()
    }
}

/// The answer of a model.
pub struct ModelAnswer {
    ok: bool,
    reason: Option<String>,
    impossible: bool,
}

/// Parses a model's answer: a JSON object, also inside a code fence or as the `result` of another
/// object.
pub fn parse_answer(stdout: &str) -> Result<ModelAnswer, AnswerError> {
    let bare = trim_javascript(stdout);
    let fenced = bare.strip_prefix("```").and_then(|rest| {
        let inside = rest.split_once('\n')?.1;
        Some(inside.rsplit_once("```")?.0.trim())
    });
    let value: Value =
        lossy_json::from_text(fenced.unwrap_or(bare)).map_err(|_| AnswerError::NoObject)?;
    if let (None, Some(inner)) = (value.get("ok"), value.get("result").and_then(Value::as_str)) {
        return parse_answer(inner);
    }
    let ok = value.get("ok").and_then(Value::as_bool);
    Ok(ModelAnswer {
        ok: ok.ok_or(AnswerError::NoOk)?,
        reason: text_field(&value, "reason").filter(|reason| !reason.trim().is_empty()),
        impossible: value.get("impossible").and_then(Value::as_bool).unwrap_or(false),
    })
}

impl ModelAnswer {
    /// The verdict of the answer at an event.
    pub fn into_verdict(self, row: &EventSpec, hook: &Hook) -> Verdict {
        if self.ok || event_row(row).reply == ReplyForm::Request {
            return Verdict::default();
        }
        let reason = self.reason.as_deref().unwrap_or(UNMET_REASON);
        // A condition that can never be met must not keep the agent running.
        if self.impossible && row.kind() == MomentKind::Close {
            return Verdict::notice_within_powers(row, reason);
        }
        let goes_on = hook.draft.config.get("continueOnBlock") == Some(&Value::Bool(true));
        let after = row.kind() == MomentKind::Report;
        let verdict = match after && !goes_on {
            true => Verdict::ruling_within_powers(row, Ruling::Halt, reason),
            false => Verdict::ruling_within_powers(row, Ruling::Deny, reason),
        };
        match verdict.ruling.is_refusal()
            || verdict.messages.iter().any(|message| message.to == Audience::User)
        {
            true => verdict,
            false => verdict.then(Verdict::notice_within_powers(row, reason)),
        }
    }
}
