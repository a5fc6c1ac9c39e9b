//! Delivery of stored messages outside a firing: queue them for a session, read what waits there,
//! and remove what has arrived.

use gambrel_model::{Ledger, LedgerError, Message, Ruling, SessionState, Undelivered, Verdict};

use crate::undelivered::{is_nothing, store_aside};

/// What waits for a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PendingDelivery {
    /// All messages, oldest first.
    pub messages: Vec<Message>,
    /// The ruling that stopped the session, with all its reasons.
    pub halt: Option<Verdict>,
    /// The entries of both, for [`mark_delivered`].
    pub entries: Vec<Undelivered>,
}

/// What waits for a session. Leaves out messages that a running firing is delivering.
pub fn pending_delivery(
    ledger: &dyn Ledger,
    session_key: &str,
) -> Result<PendingDelivery, LedgerError> {
    let mut pending = PendingDelivery::default();
    for mut entry in ledger.session_state(session_key)?.undelivered {
        if entry.claim.as_ref().is_some_and(|claim| ledger.is_held(claim)) {
            entry.verdict.messages.clear();
            entry.claim = None;
        }
        if is_nothing(&entry.verdict) {
            continue;
        }
        pending.messages.extend_from_slice(&entry.verdict.messages);
        if entry.is_halt() {
            let Verdict { ruling, reasons, .. } = entry.verdict.clone();
            let halt = Verdict { ruling, reasons, ..Verdict::default() };
            pending.halt = Some(pending.halt.take().unwrap_or_default().then(halt));
        }
        pending.entries.push(entry);
    }
    Ok(pending)
}

/// Removes delivered entries. The undelivered part of an entry stays.
pub fn mark_delivered(
    ledger: &dyn Ledger,
    session_key: &str,
    entries: &[Undelivered],
) -> Result<(), LedgerError> {
    if entries.is_empty() {
        return Ok(());
    }
    ledger.update_session(session_key, &mut |state| remove_delivered(state, entries))
}

/// Releases the claims of entries whose prompt failed, so that a later firing delivers them.
pub fn release_delivery(
    ledger: &dyn Ledger,
    session_key: &str,
    entries: &[Undelivered],
) -> Result<(), LedgerError> {
    let is_own = |stored: &Undelivered| {
        entries.iter().any(|entry| entry.id == stored.id && entry.claim == stored.claim)
    };
    if entries.is_empty() {
        return Ok(());
    }
    ledger.update_session(session_key, &mut |state| {
        state.undelivered.iter_mut().filter(|stored| is_own(stored)).for_each(|stored| {
            stored.claim = None;
        });
    })
}

/// Stores messages for a session. Equal messages are stored once for each id. If the state of the
/// session cannot be changed now, they are stored aside.
pub fn queue_messages(
    ledger: &dyn Ledger,
    session_key: &str,
    id: impl Into<String>,
    from: &str,
    messages: Vec<Message>,
) -> Result<(), LedgerError> {
    let verdict = Verdict { messages, ..Verdict::default() }.truncate_texts();
    let entry = Undelivered::new(id, from, verdict);
    match ledger.update_session(session_key, &mut |state| state.merge_undelivered(&entry)) {
        Ok(()) => Ok(()),
        Err(error) => store_aside(ledger, session_key, &entry, error),
    }
}

/// Removes what was delivered from the state, and the claim of the firing that delivered it.
pub(crate) fn remove_delivered(state: &mut SessionState, entries: &[Undelivered]) {
    state.undelivered.retain_mut(|stored| {
        let Some(delivered) = entries.iter().find(|entry| entry.id == stored.id) else {
            return true;
        };
        stored.verdict.messages.retain(|message| !delivered.verdict.messages.contains(message));
        if delivered.verdict.ruling == stored.verdict.ruling {
            stored.verdict.ruling = Ruling::Silent;
            stored.verdict.reasons.clear();
        }
        stored.claim = stored.claim.take().filter(|claim| delivered.claim.as_ref() != Some(claim));
        !is_nothing(&stored.verdict)
    });
}
