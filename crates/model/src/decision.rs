//! The merged verdict of all hooks and the trail: every considered hook, whether it ran, why not,
//! its outcome and its verdict.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::carry::Carry;
use crate::complaint::Complaint;
use crate::degrade::Loss;
use crate::event::Event;
use crate::hook::Hook;
use crate::ledger::Undelivered;
use crate::outcome::{End, Outcome};
use crate::text::cut_at_word;
use crate::verdict::{Audience, Ruling, Slot, Verdict};

/// The decision of all hooks.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Decision {
    /// Id of the firing.
    pub id: String,
    /// The neutral moment.
    pub moment: String,
    /// The session it belongs to.
    pub session: String,
    /// The key under which the ledger stores the session.
    pub session_key: String,
    /// The merged verdict of all hooks.
    pub merged: Verdict,
    /// The part that the caller receives.
    pub for_caller: Verdict,
    /// The part that is stored for the session.
    pub later: Verdict,
    /// Flags to set in the session state.
    pub session_flags: Vec<String>,
    /// Undelivered entries that this reply delivers, each with the delivered part.
    pub delivered: Vec<Undelivered>,
    /// Differences between the merged verdict and `for_caller`.
    pub losses: Vec<Loss>,
    /// Every hook that was considered, in order.
    pub trail: Vec<Step>,
    /// Configuration mistakes that concern this firing.
    pub complaints: Vec<Complaint>,
    /// Failures of the environment, such as a full disk or a locked ledger.
    pub warnings: Vec<String>,
    /// What dialects left at the end.
    pub carry: Carry,
    /// Hooks of this moment whose matcher did not match; listed lazily, because there may be
    /// thousands.
    pub unmatched: Option<UnmatchedHooks>,
}

/// Lists the steps of unmatched hooks.
#[derive(Clone)]
pub struct UnmatchedHooks(pub Arc<dyn Fn() -> Vec<Step> + Send + Sync>);

impl fmt::Debug for UnmatchedHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bystanders")
    }
}

/// One hook's part in a firing.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The hook's id.
    pub hook: String,
    /// The hook's title.
    pub title: String,
    /// The name that its author gave it, if any.
    pub name: Option<String>,
    /// Its dialect.
    pub dialect: String,
    /// The name of its action.
    pub action: String,
    /// `path:line`.
    pub source: String,
    /// Whether it ran.
    pub ran: bool,
    /// How it ended; `None` when it did not run.
    pub outcome: Option<Outcome>,
    /// Whether it succeeded by the rules of its dialect; `None` when it did not run.
    pub ok: Option<bool>,
    /// The ruling that its dialect read from the outcome.
    pub verdict: Ruling,
    /// Why it did not run, or remarks about the run.
    pub why: String,
    /// True when it ran again on rewritten input.
    pub recheck: bool,
    /// The slots that it rewrote.
    pub rewrote: Vec<Slot>,
}

/// The caller's native answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Data.
    pub stdout: Vec<u8>,
    /// Text for the user.
    pub stderr: String,
    /// The exit code.
    pub exit: i32,
}

impl Reply {
    /// A reply of one line of JSON.
    pub fn from_json(value: &Value) -> Self {
        Self { stdout: format!("{value}\n").into_bytes(), ..Self::default() }
    }
}

impl Step {
    /// The step of a hook that did not run, with the reason.
    pub fn from_skipped_hook(hook: &Hook, why: &str) -> Self {
        Self {
            hook: hook.id.clone(),
            title: hook.title(),
            name: hook.author_name().map(str::to_owned),
            dialect: hook.dialect.name.to_owned(),
            action: hook.draft.action.clone(),
            source: hook.draft.source.location(),
            why: why.to_owned(),
            ..Self::default()
        }
    }

    /// The shape of a step in `--json` and in the journal.
    pub fn to_json(&self) -> Value {
        let outcome = self.outcome.as_ref();
        let code = outcome.and_then(|o| match o.end {
            End::Exited(code) => Some(code),
            _ => None,
        });
        let mut step = json!({
            "hook": self.hook, "title": self.title, "dialect": self.dialect,
            "action": self.action, "source": self.source, "ran": self.ran,
            "outcome": outcome.map_or("skipped", |o| o.end.trail_word()),
            "code": code,
            "ms": outcome.map_or(0.0, |o| (o.elapsed.as_secs_f64() * 10_000.0).round() / 10.0),
            "verdict": self.verdict.as_str(), "why": self.why,
        });
        if let Some(outcome) = outcome {
            step["attempts"] = json!(outcome.attempts);
            step["command"] = json!(outcome.command);
            step["stdout"] = json!(text_excerpt(&outcome.stdout.to_text()));
            step["stderr"] = json!(text_excerpt(&outcome.stderr.to_text()));
        }
        if let Some(file) = outcome.and_then(|outcome| outcome.changed.as_ref()) {
            step["changed"] = json!(file);
        }
        if let Some(approver) = outcome.and_then(|o| approver_json(o.answer.as_ref()?)) {
            step["approver"] = approver;
        }
        if !self.rewrote.is_empty() {
            step["rewrote"] = json!(self.rewrote);
        }
        if self.recheck {
            step["recheck"] = json!(true);
        }
        step
    }
}

/// Maximum length of an excerpt.
const MAX_EXCERPT_BYTES: usize = 2_000;

/// An excerpt of a stream for the trail.
pub fn text_excerpt(text: &str) -> String {
    match cut_at_word(text, MAX_EXCERPT_BYTES) {
        kept if kept.len() < text.len() => format!("{kept}… ({} bytes in all)", text.len()),
        whole => whole.to_owned(),
    }
}

/// Who answered a question of a hook, and how.
fn approver_json(answer: &Value) -> Option<Value> {
    let by = answer.get("by")?.as_str()?;
    let word = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(json!({"by": by, "action": word("action"), "message": word("message")}))
}

impl Decision {
    /// The decision about an event, without any hook.
    pub fn from_event(event: &Event) -> Self {
        Self {
            id: event.id.clone(),
            moment: event.moment.name().to_owned(),
            session: event.session.clone(),
            session_key: event.session_key.clone(),
            ..Self::default()
        }
    }

    /// A decision of which the caller receives this verdict.
    pub fn with_caller_verdict(verdict: Verdict) -> Self {
        Self { for_caller: verdict, ..Self::default() }
    }

    /// The neutral decision: what `--json` prints whatever the caller's dialect.
    pub fn to_json(&self) -> Value {
        let reasons: Vec<Value> = self
            .merged
            .reasons
            .iter()
            .map(|r| json!({"hook": r.hook, "text": r.text, "ruling": r.ruling.as_str()}))
            .collect();
        let texts = |audience: Audience| {
            self.merged.messages_for(audience).map(Value::from).collect::<Vec<_>>()
        };
        let mut context = texts(Audience::AgentNow);
        context.extend(texts(Audience::AgentNextTurn));
        let patch =
            if self.merged.patch.is_empty() { Value::Null } else { json!(self.merged.patch) };
        json!({
            "id": self.id, "moment": self.moment, "session": self.session,
            "ruling": self.merged.ruling.as_str(), "said": self.for_caller.ruling.as_str(),
            "reasons": reasons, "context": context, "notices": texts(Audience::User),
            "patch": patch,
            "trail": self.full_trail().iter().map(Step::to_json).collect::<Vec<_>>(),
            "losses": self.losses,
            "complaints": self.complaints.iter().map(complaint_json).collect::<Vec<_>>(),
            "troubles": self.warnings,
        })
    }

    /// The trail with the unmatched hooks.
    pub fn full_trail(&self) -> Vec<Step> {
        let passed_over = self.unmatched.as_ref().map(|b| (b.0)()).unwrap_or_default();
        self.trail.iter().cloned().chain(passed_over).collect()
    }
}

/// A complaint as lists and decisions show it.
pub fn complaint_json(complaint: &Complaint) -> Value {
    json!({
        "file": complaint.spot.path, "line": complaint.spot.line,
        "column": complaint.spot.column, "severity": complaint.severity,
        "message": complaint.message, "help": complaint.help,
    })
}
