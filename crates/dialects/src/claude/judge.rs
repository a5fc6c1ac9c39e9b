//! `prompt` and `agent` handlers: a question in words, answered by the user's own model command
//! with `{"ok": …, "reason": …}`. Which model that is, nobody here knows.

use gambrel_model::{
    Audience, Call, EventSpec, Hook, MomentKind, Program, Ruling, Shell, Verdict, lossy_json,
};
use serde_json::Value;

use super::events::{Voice, voice};
use super::output::{noticed, ruled};
use super::stdout::trimmed;
use crate::payload::text;

/// Under this name the handler's config holds the user's command.
pub const COMMAND: &str = "modelCommand";
/// So many turns may an agent take to find its answer.
const TURNS: &str = "50";
const PLACE: &str = "$ARGUMENTS";
const FORM: &str = "Answer with one JSON object and nothing else: {\"ok\": true} if the condition is met, \
     or {\"ok\": false, \"reason\": \"…\"} if it is not. Add \"impossible\": true if it can never be met.";
const UNMET: &str = "the condition of a prompt hook is not met";

/// Whether a hook is answered by a model.
pub fn is_asked(hook: &Hook) -> bool {
    hook.draft.config.get(COMMAND).is_some()
}

/// The model's command, with the question on its stdin.
pub fn stage(hook: &Hook, input: &Value) -> Call {
    let config = &hook.draft.config;
    let word = |key: &str| text(config, key).unwrap_or_default();
    let arguments = input.to_string();
    let written = word("prompt");
    let question = match written.contains(PLACE) {
        true => written.replace(PLACE, &arguments),
        false => format!("{written}\n\n{arguments}"),
    };
    let env = [
        ("GAMBREL_HANDLER", word("type")),
        ("GAMBREL_MODEL", word("model")),
        ("GAMBREL_MAX_TURNS", TURNS.into()),
    ];
    Call {
        program: Program::Shell { shell: Shell::BashOrSh, text: word(COMMAND) },
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        stdin: Some(format!("{question}\n\n{FORM}\n").into_bytes()),
        ..Call::default()
    }
}

/// What a model said.
pub struct Judgement {
    ok: bool,
    reason: Option<String>,
    impossible: bool,
}

/// Reads an answer: the object itself, in a fence, or inside the envelope of a command that wraps
/// its result.
pub fn heard(stdout: &str) -> Result<Judgement, String> {
    let bare = trimmed(stdout);
    let fenced = bare.strip_prefix("```").and_then(|rest| {
        let inside = rest.split_once('\n')?.1;
        Some(inside.rsplit_once("```")?.0.trim())
    });
    let value: Value = lossy_json::from_text(fenced.unwrap_or(bare))
        .map_err(|_| "the model did not answer with one JSON object".to_owned())?;
    if let (None, Some(inner)) = (value.get("ok"), value.get("result").and_then(Value::as_str)) {
        return heard(inner);
    }
    let ok = value.get("ok").and_then(Value::as_bool);
    Ok(Judgement {
        ok: ok.ok_or("the model's answer has no `ok` that is true or false")?,
        reason: text(&value, "reason").filter(|reason| !reason.trim().is_empty()),
        impossible: value.get("impossible").and_then(Value::as_bool).unwrap_or(false),
    })
}

impl Judgement {
    /// What it means at an event.
    pub fn verdict(self, row: &EventSpec, hook: &Hook) -> Verdict {
        if self.ok || voice(row) == Voice::Request {
            return Verdict::default();
        }
        let reason = self.reason.as_deref().unwrap_or(UNMET);
        // What can never be met must not keep the agent going for ever.
        if self.impossible && row.kind() == MomentKind::Close {
            return noticed(row, reason);
        }
        let goes_on = hook.draft.config.get("continueOnBlock") == Some(&Value::Bool(true));
        let after = row.kind() == MomentKind::Report;
        let verdict = match after && !goes_on {
            true => ruled(row, Ruling::Halt, reason),
            false => ruled(row, Ruling::Deny, reason),
        };
        match verdict.ruling.refuses()
            || verdict.messages.iter().any(|say| say.to == Audience::User)
        {
            true => verdict,
            false => verdict.then(noticed(row, reason)),
        }
    }
}
