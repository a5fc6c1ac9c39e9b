//! Messages and halts that an earlier caller could not receive. A later firing delivers them and
//! removes them once its reply is out.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use gambrel_model::text::truncate_chars;
use gambrel_model::{
    Audience, Claim, Decision, Event, Ledger, LedgerError, Message, Moment, MomentKind, Powers,
    Ruling, SessionState, Undelivered, Verdict,
};

use crate::delivery::remove_delivered;

/// The sender of gambrel's own messages.
pub const GAMBREL: &str = "gambrel";

/// Maximum length of a lost text in a warning.
const MAX_LOST_CHARS: usize = 500;

/// The count of prompts that a session has had.
pub const PROMPTS: &str = "prompts";

/// The undelivered messages that this caller can receive.
pub fn collect_deliverable(event: &Event) -> (Verdict, Vec<Undelivered>) {
    let mut seed = Verdict::default();
    let mut delivered = Vec::new();
    for entry in &event.undelivered {
        let Verdict { ruling, reasons, messages, .. } = &entry.verdict;
        let own = entry.claim.as_ref().is_some_and(|claim| claim.firing == event.id);
        let texts = messages.iter().filter(|message| own && can_deliver(event, message.to));
        let mut part = Verdict { messages: texts.cloned().collect(), ..Verdict::default() };
        seed.messages.extend(part.messages.iter().map(to_agent_now));
        if *ruling != Ruling::Silent {
            let halt = entry.verdict.undelivered_halt(event.spec);
            if halt.ruling == Ruling::Halt {
                (part.ruling, part.reasons) = (*ruling, reasons.clone());
            }
            seed = seed.then(halt);
        }
        if !is_nothing(&part) || is_nothing(&entry.verdict) {
            let claim = entry.claim.clone().filter(|_| own);
            delivered.push(Undelivered { verdict: part, claim, ..entry.clone() });
        }
    }
    (seed, delivered)
}

/// Claims the messages that this caller can receive, so that no parallel firing delivers them too.
/// Halts need no claim.
pub fn claim_messages(
    ledger: &dyn Ledger,
    event: &Event,
    state: &mut SessionState,
) -> Result<(), LedgerError> {
    let wanted = |entry: &Undelivered| {
        entry.verdict.messages.iter().any(|message| can_deliver(event, message.to))
    };
    if !state.undelivered.iter().any(wanted) {
        return Ok(());
    }
    let own = ledger.new_claim(&event.id);
    let free =
        |entry: &Undelivered| entry.claim.as_ref().is_none_or(|claim| !ledger.is_held(claim));
    let mut stored = Vec::new();
    let claimed = ledger.update_session(&event.session_key, &mut |kept| {
        for entry in kept.undelivered.iter_mut().filter(|entry| wanted(entry) && free(entry)) {
            entry.claim = Some(own.clone());
        }
        stored.clone_from(&kept.undelivered);
    });
    if claimed.is_err() {
        stored = std::mem::take(&mut state.undelivered);
        stored.iter_mut().for_each(|entry| entry.claim = None);
    }
    state.undelivered = stored;
    claimed
}

/// Moves undelivered messages to the event's session. They are stored there before they are removed
/// here, so a kill in between loses nothing.
pub fn adopt_messages(
    ledger: &dyn Ledger,
    event: &Event,
    other: &str,
    is_wanted: &dyn Fn(&Undelivered) -> bool,
) -> Result<Vec<Undelivered>, LedgerError> {
    let own = ledger.new_claim(&event.id);
    let mut adopted = Vec::new();
    ledger.update_session(other, &mut |kept| {
        let free = |entry: &Undelivered| {
            entry.claim.as_ref().is_none_or(|claim| *claim == own || !ledger.is_held(claim))
        };
        let wanted = kept.undelivered.iter_mut().filter(|entry| is_wanted(entry) && free(entry));
        adopted = wanted
            .map(|entry| {
                entry.claim = Some(own.clone());
                Undelivered { claim: None, ..entry.clone() }
            })
            .collect();
    })?;
    ledger.update_session(&event.session_key, &mut |kept| {
        for entry in &adopted {
            if !kept.undelivered.iter().any(|old| old.id == entry.id) {
                kept.keep_undelivered(entry.clone());
            }
        }
    })?;
    ledger.update_session(other, &mut |kept| {
        kept.undelivered.retain(|entry| entry.claim.as_ref() != Some(&own));
    })?;
    Ok(adopted)
}

/// Claims the single run of a `once` hook.
pub fn claim_once(ledger: &dyn Ledger, event: &Event, name: &str) -> Result<(), OnceRefusal> {
    let own = ledger.new_claim(&event.id);
    let mut refusal = None;
    let claimed = ledger.update_session(&event.session_key, &mut |kept| {
        let other = kept.claims.get(name).filter(|claim| **claim != own && ledger.is_held(claim));
        refusal = match (kept.counts.contains_key(name), other) {
            (true, _) => Some("once: it has run in this session"),
            (false, Some(_)) => Some("once: another event of this session is running it"),
            (false, None) => None,
        };
        if refusal.is_none() {
            kept.claims.insert(name.to_owned(), own.clone());
        }
    });
    match (claimed, refusal) {
        (Err(error), _) => Err(OnceRefusal::Unknown(format!("once: {error}"))),
        (Ok(()), Some(why)) => Err(OnceRefusal::Taken(why)),
        (Ok(()), None) => Ok(()),
    }
}

/// Why a `once` hook does not run now.
pub enum OnceRefusal {
    /// It has run, or runs.
    Taken(&'static str),
    /// The session state cannot be read.
    Unknown(String),
}

pub(crate) fn is_nothing(verdict: &Verdict) -> bool {
    verdict.messages.is_empty() && verdict.ruling == Ruling::Silent
}

/// Messages for the next turn are delivered now; messages for the user stay.
fn to_agent_now(message: &Message) -> Message {
    let mut message = message.clone();
    if message.to != Audience::User {
        message.to = Audience::AgentNow;
    }
    message
}

/// Next-turn messages are delivered at turn start or session end; all others at the first event
/// that accepts messages.
fn can_deliver(event: &Event, audience: Audience) -> bool {
    let can = event.spec.caller_powers;
    let begins = matches!(event.moment, Moment::SessionStart | Moment::IterationStart);
    let reaches_agent = can.intersects(Powers::MESSAGE_AGENT.union(Powers::MESSAGE_NEXT_TURN));
    match audience {
        Audience::AgentNow | Audience::AgentNextTurn if event.moment == Moment::SessionEnd => true,
        Audience::AgentNextTurn => begins && reaches_agent,
        Audience::AgentNow => reaches_agent,
        Audience::User => can.contains(Powers::MESSAGE_USER),
    }
}

/// Stores the part that the caller could not receive. Equal messages of two firings are both stored;
/// a halt is stored once.
pub fn keep_undelivered(
    ledger: &dyn Ledger,
    event: &Event,
    decision: &Decision,
) -> Result<(), LedgerError> {
    if is_nothing(&decision.later) {
        return Ok(());
    }

    let id = event.firing_key.as_ref().unwrap_or(&event.id);
    let entry = Undelivered::new(id.clone(), "hooks", decision.later.clone());
    let stored = ledger.update_session(&decision.session_key, &mut |state| {
        if let Some(entry) = missing_part(state, &entry, decision) {
            state.keep_undelivered(entry);
        }
    });
    let Err(error) = stored else { return Ok(()) };

    let is_stored = |state: &SessionState| missing_part(state, &entry, decision).is_none();
    if ledger.session_state(&decision.session_key).is_ok_and(|state| is_stored(&state)) {
        return Ok(());
    }
    store_aside(ledger, &decision.session_key, &entry, error)
}

/// The part of an entry that the session does not have yet. Messages are compared by the entry's id,
/// halts by their reasons.
fn missing_part(
    state: &SessionState,
    entry: &Undelivered,
    decision: &Decision,
) -> Option<Undelivered> {
    if state.undelivered.iter().any(|old| old.id == entry.id) {
        return None;
    }

    let mut missing = entry.clone();
    let is_delivered = |old: &Undelivered| decision.delivered.iter().any(|new| new.id == old.id);
    let is_same_halt = |old: &Undelivered| {
        (old.verdict.ruling, &old.verdict.reasons) == (entry.verdict.ruling, &entry.verdict.reasons)
    };
    if entry.is_halt()
        && state.undelivered.iter().any(|old| is_same_halt(old) && !is_delivered(old))
    {
        missing.verdict.ruling = Ruling::Silent;
        missing.verdict.reasons.clear();
    }
    (!is_nothing(&missing.verdict)).then_some(missing)
}

/// Stores an entry aside. Reports both errors if that fails too.
pub(crate) fn store_aside(
    ledger: &dyn Ledger,
    session: &str,
    entry: &Undelivered,
    first: LedgerError,
) -> Result<(), LedgerError> {
    ledger.store_aside(session, entry).map_err(|second| {
        let detail = format!("{}; {second}", first.detail);
        LedgerError { detail, ..first }
    })
}

/// Describes a verdict that could not be stored.
pub fn describe_lost(stored: &Verdict) -> String {
    if stored.ruling != Ruling::Silent {
        let reasons: Vec<&str> = stored.reasons.iter().map(|reason| reason.text.as_str()).collect();
        let reasons = truncate_chars(&reasons.join("; "), MAX_LOST_CHARS, "…");
        return format!(
            "a hook stopped this session (`{reasons}`) and this cannot be kept for later events: \
             stop the session yourself"
        );
    }
    let texts: Vec<&str> = stored.messages.iter().map(|message| message.text.as_str()).collect();
    let texts = truncate_chars(&texts.join("; "), MAX_LOST_CHARS, "…");
    format!("a message of a hook for a later event is lost (`{texts}`)")
}

/// Called once a reply has reached its caller: removes delivered messages and sets the session
/// flags.
pub fn confirm_reply(ledger: &dyn Ledger, decision: &Decision) -> Result<(), LedgerError> {
    if decision.delivered.is_empty() && decision.session_flags.is_empty() {
        return Ok(());
    }
    ledger.update_session(&decision.session_key, &mut |state| {
        remove_delivered(state, &decision.delivered);
        for name in &decision.session_flags {
            *state.counts.entry(name.clone()).or_default() += 1;
            state.claims.remove(name);
        }
    })
}

/// Releases the claims of a firing whose reply did not arrive; a later firing delivers the
/// messages.
pub fn release_claims(ledger: &dyn Ledger, decision: &Decision) -> Result<(), LedgerError> {
    if decision.delivered.is_empty() && decision.session_flags.is_empty() {
        return Ok(());
    }
    ledger.update_session(&decision.session_key, &mut |state| {
        let own = |claim: &Claim| claim.firing == decision.id;
        for entry in &mut state.undelivered {
            entry.claim = entry.claim.take().filter(|claim| !own(claim));
        }
        state.claims.retain(|_, claim| !own(claim));
    })
}

/// The refusals in a row of the event's subject, without that of an earlier firing with the same key.
pub fn refusals_before(event: &Event) -> u64 {
    let counts = &event.session_counts;
    let count = counts.get(&refusal_count_key(event)).copied().unwrap_or(0);
    let is_repeated =
        last_refusal(event).is_some_and(|(name, key)| counts.get(&name) == Some(&key));
    count.saturating_sub(u64::from(is_repeated))
}

/// The count that names the firing with the last refusal, and its value for this firing; `None` if
/// the firing has no key.
fn last_refusal(event: &Event) -> Option<(String, u64)> {
    let mut hasher = DefaultHasher::new();
    event.firing_key.as_ref()?.hash(&mut hasher);
    Some((format!("last-{}", refusal_count_key(event)), hasher.finish()))
}

/// The counter of refusals of one subject: a task, a sub-agent or the session.
fn refusal_count_key(event: &Event) -> String {
    let (name, facts) = (&event.name, &event.facts);
    match (&facts.task, facts.agent.as_ref().or(facts.member.as_ref())) {
        (Some(task), _) => format!("refused:{name}:{}", task.id),
        (None, Some(agent)) => format!("refused:{name}@{agent}:"),
        (None, None) => format!("refused:{name}:"),
    }
}

/// Removes the refusal counts of the last turn when the next one begins. Returns whether there were
/// any.
pub fn reset_turn_counts(counts: &mut BTreeMap<String, u64>) -> bool {
    let of_turn = |name: &str| name.starts_with("refused:") && name.ends_with(':');
    let before = counts.len();
    counts.retain(|name, _| !of_turn(name));
    counts.len() < before
}

/// Counts a refusal of an end, once for a firing that is repeated. An end that is not refused resets
/// the count. A task's count is never reset: the reopen limit of pi-teams holds for a task's whole
/// life.
pub fn count_refusal(ledger: &dyn Ledger, event: &Event, refused: bool) -> Result<(), LedgerError> {
    let forgets = event.facts.refusals > 0 && event.facts.task.is_none();
    if event.kind() != MomentKind::Close || !(refused || forgets) {
        return Ok(());
    }
    let name = refusal_count_key(event);
    let last = last_refusal(event);
    ledger.update_session(&event.session_key, &mut |state| {
        if !refused {
            state.counts.remove(&name);
            return;
        }
        let before = last.clone().and_then(|(name, key)| state.counts.insert(name, key));
        if before.is_none() || before != last.as_ref().map(|(_, key)| *key) {
            *state.counts.entry(name.clone()).or_default() += 1;
        }
    })
}
