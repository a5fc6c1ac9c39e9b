//! What is owed to a session: words and halts that an earlier caller could not be told. They seed
//! a later firing, and are struck off once its reply is out.

use gambrel_model::{
    Audience, Claim, Decision, Event, Ledger, LedgerError, Message, Moment, MomentKind, Powers,
    Reason, Ruling, SessionState, Undelivered, Verdict,
};

/// Who owes what gambrel itself has to say.
pub const GAMBREL: &str = "gambrel";

/// So much of something lost is told.
const MAX_LOST_CHARS: usize = 500;

/// The count of prompts that a session has had.
pub const PROMPTS: &str = "prompts";

/// What this caller can be told of the session's debts, and how much of each that pays.
pub fn collect_deliverable(event: &Event, state: &SessionState) -> (Verdict, Vec<Undelivered>) {
    let mut seed = Verdict::default();
    let mut paid = Vec::new();
    for debt in &state.undelivered {
        let Verdict { ruling, reasons, messages: says, .. } = &debt.verdict;
        let own = debt.claim.as_ref().is_some_and(|claim| claim.firing == event.id);
        let words = says.iter().filter(|say| own && can_deliver(event, say.to));
        let mut part = Verdict { messages: words.cloned().collect(), ..Verdict::default() };
        seed.messages.extend(part.messages.iter().map(to_agent_now));
        if *ruling != Ruling::Silent && apply_halt(event, &debt.verdict, &mut seed) {
            (part.ruling, part.reasons) = (*ruling, reasons.clone());
        }
        if !is_nothing(&part) || is_nothing(&debt.verdict) {
            paid.push(Undelivered { verdict: part, ..debt.clone() });
        }
    }
    (seed, paid)
}

/// Claims the words that this caller can be told, so that no firing beside this one tells them too.
/// Without the claim they stay where they are. Halts need none: everybody is told.
pub fn claim_messages(
    ledger: &dyn Ledger,
    event: &Event,
    state: &mut SessionState,
) -> Result<(), LedgerError> {
    let wanted =
        |debt: &Undelivered| debt.verdict.messages.iter().any(|say| can_deliver(event, say.to));
    if !state.undelivered.iter().any(wanted) {
        return Ok(());
    }
    let own = ledger.claim(&event.id);
    let free = |debt: &Undelivered| debt.claim.as_ref().is_none_or(|claim| !ledger.is_held(claim));
    let mut owed = Vec::new();
    let claimed = ledger.update_session(&event.session_key(), &mut |kept| {
        for debt in kept.undelivered.iter_mut().filter(|debt| wanted(debt) && free(debt)) {
            debt.claim = Some(own.clone());
        }
        owed.clone_from(&kept.undelivered);
    });
    if claimed.is_err() {
        owed = std::mem::take(&mut state.undelivered);
        owed.iter_mut().for_each(|debt| debt.claim = None);
    }
    state.undelivered = owed;
    claimed
}

/// Moves debts of another session to the event's own. They are kept there before they are removed
/// here: a kill in between moves them again, and never loses them.
pub fn adopt_messages(
    ledger: &dyn Ledger,
    event: &Event,
    other: &str,
    is_wanted: &dyn Fn(&Undelivered) -> bool,
) -> Result<Vec<Undelivered>, LedgerError> {
    let own = ledger.claim(&event.id);
    let mut adopted = Vec::new();
    ledger.update_session(other, &mut |kept| {
        let free = |debt: &Undelivered| {
            debt.claim.as_ref().is_none_or(|claim| *claim == own || !ledger.is_held(claim))
        };
        let wanted = kept.undelivered.iter_mut().filter(|debt| is_wanted(debt) && free(debt));
        adopted = wanted
            .map(|debt| {
                debt.claim = Some(own.clone());
                Undelivered { claim: None, ..debt.clone() }
            })
            .collect();
    })?;
    ledger.update_session(&event.session_key(), &mut |kept| {
        for debt in &adopted {
            if !kept.undelivered.iter().any(|old| old.id == debt.id) {
                kept.keep_undelivered(debt.clone());
            }
        }
    })?;
    ledger.update_session(other, &mut |kept| {
        kept.undelivered.retain(|debt| debt.claim.as_ref() != Some(&own));
    })?;
    Ok(adopted)
}

/// Claims the one run of a hook that runs once in a session; what it says is why it does not run.
pub fn claim_once(ledger: &dyn Ledger, event: &Event, name: &str) -> Result<(), OnceRefusal> {
    let own = ledger.claim(&event.id);
    let mut refusal = None;
    let claimed = ledger.update_session(&event.session_key(), &mut |kept| {
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

/// Why a hook that runs once does not run now.
pub enum OnceRefusal {
    /// It has run, or runs.
    Taken(&'static str),
    /// Nobody can tell.
    Unknown(String),
}

fn is_nothing(verdict: &Verdict) -> bool {
    verdict.messages.is_empty() && verdict.ruling == Ruling::Silent
}

/// The next turn is this one; what is for the person stays so.
fn to_agent_now(say: &Message) -> Message {
    let ear = if say.to == Audience::User { Audience::User } else { Audience::AgentNow };
    Message { to: ear, ..say.clone() }
}

/// Words for the next turn wait for a turn to begin, or for the session's end; others for any
/// event that carries words.
fn can_deliver(event: &Event, ear: Audience) -> bool {
    let can = event.spec.caller_powers;
    let begins = matches!(event.moment, Moment::SessionStart | Moment::IterationStart);
    match ear {
        Audience::AgentNow | Audience::AgentNextTurn if event.moment == Moment::SessionEnd => true,
        Audience::AgentNextTurn => {
            begins
                && (can.contains(Powers::MESSAGE_AGENT) || can.contains(Powers::MESSAGE_NEXT_TURN))
        }
        Audience::AgentNow => {
            can.contains(Powers::MESSAGE_AGENT) || can.contains(Powers::MESSAGE_NEXT_TURN)
        }
        Audience::User => can.contains(Powers::MESSAGE_USER),
    }
}

/// A halt is paid where it can be said; until then gates hear it as a refusal, again and again.
fn apply_halt(event: &Event, owed: &Verdict, seed: &mut Verdict) -> bool {
    let sayable = event.spec.caller_powers.contains(Powers::HALT);
    let ruling = match (sayable, event.kind()) {
        (true, _) => Ruling::Halt,
        (false, MomentKind::Gate) if event.spec.caller_powers.contains(Powers::DENY) => {
            Ruling::Deny
        }
        // Where nothing can be said of it, the person hears it again and again.
        _ => {
            seed.messages.extend(owed.reasons.iter().map(|reason| Message {
                to: Audience::User,
                text: format!("a hook stopped this session: {}", reason.text),
                hook: reason.hook.clone(),
            }));
            return false;
        }
    };
    seed.ruling = seed.ruling.max(ruling);
    for reason in &owed.reasons {
        let text = format!("a hook stopped this session: {}", reason.text);
        seed.reasons.push(Reason { ruling, text, hook: reason.hook.clone() });
    }
    sayable
}

/// Keeps what could not be said, under a name of its own.
pub fn keep_undelivered(ledger: &dyn Ledger, decision: &Decision) -> Result<(), LedgerError> {
    let owed = &decision.later;
    if is_nothing(owed) {
        return Ok(());
    }
    let debt = Undelivered::new(decision.id.clone(), "hooks", owed.clone());
    // What stays owed is owed once, however often it is said again.
    let paid = |old: &Undelivered| decision.delivered.iter().any(|paid| paid.id == old.id);
    let is_known = |state: &SessionState| {
        state.undelivered.iter().any(|old| old.verdict == debt.verdict && !paid(old))
    };
    let stored = ledger.update_session(&decision.session_key, &mut |state| {
        if !is_known(state) {
            state.keep_undelivered(debt.clone());
        }
    });
    let Err(error) = stored else { return Ok(()) };
    if ledger.session_state(&decision.session_key).is_ok_and(|state| is_known(&state)) {
        return Ok(());
    }
    store_aside(ledger, &decision.session_key, &debt, error)
}

/// Keeps something for a session. Where its state cannot be changed, the ledger stores it aside.
pub fn keep_for_session(
    ledger: &dyn Ledger,
    session: &str,
    debt: &Undelivered,
) -> Result<(), LedgerError> {
    match ledger.update_session(session, &mut |state| state.keep_undelivered(debt.clone())) {
        Ok(()) => Ok(()),
        Err(error) => store_aside(ledger, session, debt, error),
    }
}

/// Tells both refusals if this is refused too.
fn store_aside(
    ledger: &dyn Ledger,
    session: &str,
    debt: &Undelivered,
    first: LedgerError,
) -> Result<(), LedgerError> {
    ledger.store_aside(session, debt).map_err(|second| {
        let why = format!("{}; {second}", first.why);
        LedgerError { why, ..first }
    })
}

/// What a user must know of something that could not be kept.
pub fn describe_lost(owed: &Verdict) -> String {
    if owed.ruling != Ruling::Silent {
        let reasons: Vec<&str> = owed.reasons.iter().map(|reason| reason.text.as_str()).collect();
        let reasons: String = reasons.join("; ").chars().take(MAX_LOST_CHARS).collect();
        return format!(
            "a hook stopped this session (`{reasons}`) and this cannot be kept for later events: \
             stop the session yourself"
        );
    }
    let texts: Vec<&str> = owed.messages.iter().map(|say| say.text.as_str()).collect();
    let texts: String = texts.join("; ").chars().take(MAX_LOST_CHARS).collect();
    format!("a message of a hook for a later event is lost (`{texts}`)")
}

/// Strikes off what a reply has told, and notes what the session was told or ran for good. Of a debt
/// that it told in part the rest stays.
pub fn mark_delivered(ledger: &dyn Ledger, decision: &Decision) -> Result<(), LedgerError> {
    if decision.delivered.is_empty() && decision.session_flags.is_empty() {
        return Ok(());
    }
    ledger.update_session(&decision.session_key, &mut |state| {
        state.undelivered.retain_mut(|debt| {
            match decision.delivered.iter().find(|p| p.id == debt.id) {
                Some(paid) => {
                    remove_delivered(&mut debt.verdict, &paid.verdict);
                    let own = debt.claim.as_ref().is_some_and(|claim| claim.firing == decision.id);
                    debt.claim = debt.claim.take().filter(|_| !own);
                    !is_nothing(&debt.verdict)
                }
                None => true,
            }
        });
        for name in &decision.session_flags {
            *state.counts.entry(name.clone()).or_default() += 1;
            state.claims.remove(name);
        }
    })
}

/// Gives back what a firing has claimed, where its reply did not arrive: a later one tells it.
pub fn release_claims(ledger: &dyn Ledger, decision: &Decision) -> Result<(), LedgerError> {
    if decision.delivered.is_empty() && decision.session_flags.is_empty() {
        return Ok(());
    }
    ledger.update_session(&decision.session_key, &mut |state| {
        let own = |claim: &Claim| claim.firing == decision.id;
        for debt in &mut state.undelivered {
            debt.claim = debt.claim.take().filter(|claim| !own(claim));
        }
        state.claims.retain(|_, claim| !own(claim));
    })
}

fn remove_delivered(owed: &mut Verdict, told: &Verdict) {
    owed.messages.retain(|say| !told.messages.contains(say));
    if told.ruling == owed.ruling {
        owed.ruling = Ruling::Silent;
        owed.reasons.clear();
    }
}

/// The name under which refusals of the same end are counted: of a task, of one of the session's
/// agents, or of the session itself.
pub fn refusal_count_key(event: &Event) -> String {
    let (name, facts) = (&event.name, &event.facts);
    match (&facts.task, facts.agent.as_ref().or(facts.member.as_ref())) {
        (Some(task), _) => format!("refused:{name}:{}", task.id),
        (None, Some(agent)) => format!("refused:{name}@{agent}:"),
        (None, None) => format!("refused:{name}:"),
    }
}

/// A person's next prompt: how often the end of the last turn was refused counts no longer.
pub fn reset_turn_counts(state: &mut SessionState) {
    let of_turn = |name: &str| name.starts_with("refused:") && name.ends_with(':');
    state.counts.retain(|name, _| !of_turn(name));
}

/// Counts a refusal of an end. An end that was not refused resets the count. A task's count is
/// never reset: the reopen limit of pi-teams counts for a task's whole life.
pub fn count_refusal(ledger: &dyn Ledger, event: &Event, refused: bool) -> Result<(), LedgerError> {
    let forgets = event.facts.refusals > 0 && event.facts.task.is_none();
    if event.kind() != MomentKind::Close || !(refused || forgets) {
        return Ok(());
    }
    let name = refusal_count_key(event);
    ledger.update_session(&event.session_key(), &mut |state| match refused {
        true => *state.counts.entry(name.clone()).or_default() += 1,
        false => drop(state.counts.remove(&name)),
    })
}
