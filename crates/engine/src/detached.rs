//! What a supervisor needs to judge a hook that nobody waited for: enough to build the event and
//! the hook again in another process, after the caller has gone.

use gambrel_model::{
    Audience, CallerContext, Dialect, Draft, Event, FiringPhase, Hook, Ledger, LedgerError,
    Message, Outcome, Undelivered, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::journal::new_record;
use crate::undelivered;

/// A hook's part of a firing, in writing.
#[derive(Debug, Serialize, Deserialize)]
pub struct DetachedHook {
    /// When and where the event came in.
    pub arrival: CallerContext,
    /// The caller's dialect.
    pub from: String,
    /// What the caller sent.
    pub native: Value,
    /// The hook's dialect.
    pub dialect: String,
    /// The hook, as written.
    pub draft: Draft,
}

impl DetachedHook {
    /// The errand of one hook at one event.
    pub fn from_event(event: &Event, hook: &Hook) -> Self {
        let arrival = CallerContext {
            id: event.id.clone(),
            at: event.at,
            cwd: event.project.clone(),
            env: event.env.clone(),
            secrets: event.secrets.clone(),
            caller: event.caller,
            event_name: Some(event.name.clone()),
        };
        Self {
            arrival,
            from: event.dialect.name().to_owned(),
            native: event.native.clone(),
            dialect: hook.dialect.name().to_owned(),
            draft: hook.draft.clone(),
        }
    }
}

/// Records how a detached hook ended, and keeps its words for the session. Its ruling comes too
/// late to be one.
pub fn record_detached_outcome(
    dialects: &'static [&'static dyn Dialect],
    ledger: &dyn Ledger,
    errand: DetachedHook,
    outcome: &Outcome,
) -> Result<(), LedgerError> {
    let named = |name: &str| dialects.iter().find(|d| d.name() == name).copied();
    let (Some(caller), Some(dialect)) = (named(&errand.from), named(&errand.dialect)) else {
        return Ok(());
    };
    let native = errand.native.to_string();
    let Ok(event) = caller.receive_event(native.as_bytes(), errand.arrival) else { return Ok(()) };
    let mut draft = errand.draft;
    // Also one that was waited for until it asked not to be.
    draft.policy.blocking = false;
    let (Some(hook), _) = Hook::build(dialect, draft) else { return Ok(()) };
    let verdict = dialect.read_outcome(&event, &hook, outcome);
    let verdict = match &outcome.changed {
        Some(file) => crate::swap::doubt_verdict(verdict, &hook, file),
        None => verdict,
    };
    let verdict = verdict.attributed_to(&hook.id);
    let mut record = new_record(&event, FiringPhase::Late, late_body(&hook, outcome, &verdict));
    let kept = keep_messages(ledger, &event, &hook, verdict);
    if let Err(error) = &kept {
        record.body["troubles"] = json!([error.to_string()]);
    }
    ledger.append_journal(&[record]).and(kept)
}

fn late_body(hook: &Hook, outcome: &Outcome, verdict: &Verdict) -> Value {
    json!({
        "hook": hook.id, "source": hook.draft.source.location(), "outcome": outcome.end.word(),
        "end": outcome.end, "ms": outcome.elapsed.as_secs_f64() * 1_000.0,
        "attempts": outcome.attempts, "verdict": verdict.ruling.word(),
        "stdout": outcome.stdout.text().chars().take(2_000).collect::<String>(),
        "stderr": outcome.stderr.text().chars().take(2_000).collect::<String>(),
        "remarks": outcome.remarks, "changed": outcome.changed,
    })
}

/// Keeps the hook's words for the session. The error tells the words, too: nobody else will.
fn keep_messages(
    ledger: &dyn Ledger,
    event: &Event,
    hook: &Hook,
    mut words: Verdict,
) -> Result<(), LedgerError> {
    // A refusal that comes after the fact is still worth hearing.
    for reason in std::mem::take(&mut words.reasons) {
        words.messages.push(Message {
            to: Audience::AgentNow,
            text: reason.text,
            hook: reason.hook,
        });
    }
    if words.messages.is_empty() {
        return Ok(());
    }
    let verdict = Verdict { messages: words.messages, ..Verdict::default() }.truncate_texts();
    let debt = Undelivered::new(format!("{}:{}", event.id, hook.id), hook.id.clone(), verdict);
    undelivered::keep_for_session(ledger, &event.session_key(), &debt).map_err(|error| {
        let doing = format!("{}: {}", undelivered::describe_lost(&debt.verdict), error.doing);
        LedgerError { doing, ..error }
    })
}
