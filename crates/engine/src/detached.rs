//! The record that a supervisor needs to read the outcome of a detached hook. It rebuilds the event
//! and the hook in another process, after the caller has exited.

use std::time::{Duration, Instant};

use gambrel_model::decision::text_excerpt;
use gambrel_model::ledger::{FiringState, RecordedFiring};
use gambrel_model::{
    Audience, CallerContext, Dialect, Draft, Event, FiringPhase, Hook, Ledger, LedgerError,
    Outcome, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::delivery::queue_messages;
use crate::journal::new_record;
use crate::removed_text::RemovedText;
use crate::undelivered;

/// How long the outcome of a quick hook waits for the end of its firing.
const FIRING_END_TIMEOUT: Duration = Duration::from_secs(60);
const FIRING_READ_INTERVAL: Duration = Duration::from_millis(100);

/// A detached hook and its event.
#[derive(Debug, Serialize, Deserialize)]
pub struct DetachedHook {
    /// Context of the event.
    pub arrival: CallerContext,
    /// The caller's dialect.
    pub from: String,
    /// The native payload.
    pub native: Value,
    /// The hook's dialect.
    pub dialect: String,
    /// The hook, as written.
    pub draft: Draft,
}

impl DetachedHook {
    /// The record of one hook at one event.
    pub fn from_event(event: &Event, hook: &Hook) -> Self {
        let arrival = CallerContext {
            cwd: event.project.clone(),
            event_name: Some(event.name.clone()),
            ..(*event.context).clone()
        };
        Self {
            arrival,
            from: event.dialect.name.to_owned(),
            native: event.native.clone(),
            dialect: hook.dialect.name.to_owned(),
            draft: hook.draft.clone(),
        }
    }
}

/// Records the outcome of a detached hook and stores its messages for the session. Its ruling has
/// no effect.
pub fn record_detached_outcome(
    dialects: &'static [&'static Dialect],
    ledger: &dyn Ledger,
    detached: DetachedHook,
    outcome: &Outcome,
) -> Result<(), LedgerError> {
    let named = |name: &str| dialects.iter().find(|d| d.name == name).copied();
    let (Some(caller), Some(dialect)) = (named(&detached.from), named(&detached.dialect)) else {
        return Ok(());
    };
    let native = detached.native.to_string();
    let Ok(event) = caller.receive_event(native.as_bytes(), detached.arrival) else {
        return Ok(());
    };
    let mut draft = detached.draft;
    // Also a hook that asked to continue in the background.
    draft.policy.limits.blocking = false;
    let (Some(hook), _) = Hook::from_draft(dialect, draft) else { return Ok(()) };
    let verdict = hook.format.read_outcome(&event, &hook, outcome).verdict;
    let verdict = match &outcome.changed {
        Some(file) => crate::swap::doubt_verdict(verdict, &hook, file),
        None => verdict,
    };
    let mut verdict = verdict.attributed_to(&hook.id);
    let mut body = late_body(&hook, outcome, &verdict);
    if has_text(&body, &verdict) {
        let removed = find_removed(ledger, &event);
        removed.hide_in_hook_texts(&mut body);
        removed.hide_in_verdict(&mut verdict);
    }
    let mut record = new_record(&event, FiringPhase::Late, body);
    let kept = keep_messages(ledger, &event, &hook, verdict);
    if let Err(error) = &kept {
        record.body["troubles"] = json!([error.to_string()]);
    }
    ledger.append_journal(&[record]).and(kept)
}

fn has_text(body: &Value, verdict: &Verdict) -> bool {
    let has = |key: &str| body[key].as_str().is_some_and(|text| !text.is_empty());
    has("stdout") || has("stderr") || !undelivered::is_nothing(verdict)
}

/// What other hooks of the firing removed: this one may repeat it. A hook that is quick ends before
/// its firing, which says more once it has ended.
fn find_removed(ledger: &dyn Ledger, event: &Event) -> RemovedText {
    let read = || ledger.firing(&event.id).ok().flatten();
    let mut firing = read();
    let end = Instant::now() + FIRING_END_TIMEOUT;
    while RemovedText::can_be_of(event)
        && firing.as_ref().is_some_and(|firing| firing.state == FiringState::Running)
        && Instant::now() < end
    {
        std::thread::sleep(FIRING_READ_INTERVAL);
        firing = read();
    }
    RemovedText::from_recorded(event, firing.as_ref().map(RecordedFiring::new).as_ref())
}

fn late_body(hook: &Hook, outcome: &Outcome, verdict: &Verdict) -> Value {
    json!({
        "hook": hook.id, "source": hook.draft.source.location(), "outcome": outcome.end.trail_word(),
        "end": outcome.end, "ms": (outcome.elapsed.as_secs_f64() * 10_000.0).round() / 10.0,
        "attempts": outcome.attempts, "verdict": verdict.ruling.as_str(),
        "stdout": text_excerpt(&outcome.stdout.to_text()),
        "stderr": text_excerpt(&outcome.stderr.to_text()),
        "remarks": outcome.remarks, "changed": outcome.changed,
    })
}

/// Stores the hook's messages for the session. The error contains the messages, so that they are
/// not lost.
fn keep_messages(
    ledger: &dyn Ledger,
    event: &Event,
    hook: &Hook,
    verdict: Verdict,
) -> Result<(), LedgerError> {
    // A late refusal becomes a message.
    let Verdict { messages, .. } = verdict.reasons_to_notices(Audience::AgentNow);
    if messages.is_empty() {
        return Ok(());
    }
    let lost = Verdict { messages: messages.clone(), ..Verdict::default() };
    let id = format!("{}:{}", event.id, hook.id);
    queue_messages(ledger, &event.session_key, id, &hook.id, messages).map_err(|error| {
        let public = format!("{}: {}", undelivered::describe_lost(&lost), error.public);
        LedgerError { public, ..error }
    })
}
