//! The verdict of all hooks together, with its trail: every hook that was considered, whether it
//! ran, why not, what came back and how it was read. The trail is the log and the explanation.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::carry::Carry;
use crate::complaint::Complaint;
use crate::degrade::Loss;
use crate::ledger::Undelivered;
use crate::outcome::{End, Outcome};
use crate::verdict::{Audience, Ruling, Verdict};

/// What all hooks decided.
#[derive(Debug, Clone, Default)]
pub struct Decision {
    /// Names the firing.
    pub id: String,
    /// The neutral moment.
    pub moment: String,
    /// The session it belongs to.
    pub session: String,
    /// The name under which the ledger keeps what belongs to that session.
    pub session_key: String,
    /// What the hooks meant together.
    pub merged: Verdict,
    /// What the caller is told.
    pub for_caller: Verdict,
    /// What stays owed to the session.
    pub later: Verdict,
    /// What the session is to remember by name.
    pub session_flags: Vec<String>,
    /// Debts that this answer pays, each with as much of it as is told.
    pub delivered: Vec<Undelivered>,
    /// What could not be said as meant.
    pub losses: Vec<Loss>,
    /// Every hook that was considered, in order.
    pub trail: Vec<Step>,
    /// A person's mistakes that were met on the way.
    pub complaints: Vec<Complaint>,
    /// What the world refused (a full disk, a locked ledger), for stderr.
    pub warnings: Vec<String>,
    /// What dialects left at the end.
    pub carry: Carry,
    /// Hooks of this moment whose matcher was not met; told only when somebody asks, since there
    /// may be thousands.
    pub unmatched: Option<UnmatchedHooks>,
}

/// Tells the steps of hooks that were passed over.
#[derive(Clone)]
pub struct UnmatchedHooks(pub Arc<dyn Fn() -> Vec<Step> + Send + Sync>);

impl fmt::Debug for UnmatchedHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bystanders")
    }
}

/// One hook's part in a firing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The hook's id.
    pub hook: String,
    /// What a person calls it.
    pub title: String,
    /// Its dialect.
    pub dialect: String,
    /// The word of its action.
    pub action: String,
    /// `path:line`.
    pub source: String,
    /// Whether it ran.
    pub ran: bool,
    /// How it ended; `None` when it did not run.
    pub outcome: Option<Outcome>,
    /// Whether it did what was asked of it, as its dialect sees that; `None` when it did not run.
    #[serde(default)]
    pub ok: Option<bool>,
    /// How its dialect read that.
    pub verdict: Ruling,
    /// Why it did not run, or what is worth knowing about how it did.
    pub why: String,
    /// True when it was asked again about rewritten input.
    pub recheck: bool,
}

/// The caller's native answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Data.
    pub stdout: Vec<u8>,
    /// For people.
    pub stderr: String,
    /// The exit code.
    pub exit: i32,
}

impl Step {
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
            "outcome": outcome.map_or("skipped", |o| o.end.word()),
            "code": code,
            "ms": outcome.map_or(0.0, |o| (o.elapsed.as_secs_f64() * 10_000.0).round() / 10.0),
            "verdict": self.verdict.word(), "why": self.why,
        });
        if let Some(outcome) = outcome {
            step["attempts"] = json!(outcome.attempts);
            step["command"] = json!(outcome.command);
            step["stdout"] = json!(text_excerpt(&outcome.stdout.text()));
            step["stderr"] = json!(text_excerpt(&outcome.stderr.text()));
        }
        if let Some(file) = outcome.and_then(|outcome| outcome.changed.as_ref()) {
            step["changed"] = json!(file);
        }
        if self.recheck {
            step["recheck"] = json!(true);
        }
        step
    }
}

/// What a trail keeps of a stream.
const MAX_EXCERPT_BYTES: usize = 2_000;

fn text_excerpt(text: &str) -> String {
    if text.len() <= MAX_EXCERPT_BYTES {
        return text.to_owned();
    }
    let mut end = MAX_EXCERPT_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}

impl Decision {
    /// The neutral decision: what `--json` prints whatever the caller's dialect.
    pub fn to_json(&self) -> Value {
        let reasons: Vec<Value> = self
            .merged
            .reasons
            .iter()
            .map(|r| json!({"hook": r.hook, "text": r.text, "ruling": r.ruling.word()}))
            .collect();
        let words =
            |ear: Audience| self.merged.messages_for(ear).map(Value::from).collect::<Vec<_>>();
        let mut context = words(Audience::AgentNow);
        context.extend(words(Audience::AgentNextTurn));
        let patch = match self.merged.patch.is_empty() {
            true => Value::Null,
            false => json!(self.merged.patch),
        };
        json!({
            "id": self.id, "moment": self.moment, "session": self.session,
            "ruling": self.merged.ruling.word(), "said": self.for_caller.ruling.word(),
            "reasons": reasons, "context": context, "notices": words(Audience::User),
            "patch": patch,
            "trail": self.full_trail().iter().map(Step::to_json).collect::<Vec<_>>(),
            "losses": self.losses,
            "complaints": self.complaints.iter().map(complaint_json).collect::<Vec<_>>(),
            "troubles": self.warnings,
        })
    }

    /// The trail with everybody who was passed over.
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
