//! One firing, from a parsed event to a recorded decision. It only orders the steps; it knows no
//! dialect, action or store by name.

use std::fs;
use std::io::Write;
use std::path::Path;

use gambrel_model::{
    Debt, Decision, Duty, Ear, Event, Kind, LedgerError, Moment, Powers, Ruling, SessionState,
    Verdict,
};
use serde_json::Value;

use crate::budget::Budget;
use crate::fold::{Fold, running};
use crate::select::{Selection, select};
use crate::{Engine, debts, journal};

/// Fires every matching hook and returns what they decided together.
pub fn fire(engine: &Engine<'_>, event: &mut Event) -> Decision {
    let mut troubles = Vec::new();
    let state = remember(engine, event, &mut troubles);
    let unknown = troubles.clone();
    let event: &Event = event;
    let budget = Budget::new(engine, event);
    let Selection { candidates, bystanders, complaints } =
        select(engine, event, &budget, &mut troubles);
    let asked: Vec<&str> = running(&candidates).map(|c| c.hook.id.as_str()).collect();
    journal::accepted(engine, event, &asked, &mut troubles);
    let mut fold = Fold::new(engine, event, budget, troubles);
    fold.decision.complaints.extend(complaints);
    let paid = fold.seed(&state);
    fold.miss_session(unknown);
    for group in candidates.chunk_by(|a, b| a.hook.dialect.name() == b.hook.dialect.name()) {
        fold.group(group);
    }
    fold.recheck(&candidates);
    fold.refuse_unread();
    fold.strict();
    fold.add_notices();
    let mut decision = fold.decide(paid);
    decision.bystanders = Some(bystanders);
    conclude(engine, event, &mut decision);
    decision
}

/// The event with what is remembered of its session; for looking, so nothing is counted.
pub fn recall(engine: &Engine<'_>, event: &mut Event) {
    let state = engine.ledger.session(&event.memory()).unwrap_or_default();
    let prompts = state.counts.get(debts::PROMPTS).copied().unwrap_or(0);
    event.seen.clone_from(&state.counts);
    let begins = u64::from(begins(event));
    event.facts.iteration.get_or_insert(prompts + begins);
    event.facts.refusals = state.counts.get(&debts::refusals_of(event)).copied().unwrap_or(0);
}

/// Adds what the ledger remembers of the event's session: prompts so far, refusals in a row. What
/// is in its way is what nobody knows of the session now.
fn remember(engine: &Engine<'_>, event: &mut Event, troubles: &mut Vec<String>) -> SessionState {
    let state = engine.ledger.session(&event.memory());
    let mut state = state.unwrap_or_else(|error| {
        troubles.push(error.to_string());
        halts_only(engine, event, troubles)
    });
    if event.moment == Moment::SessionStart && event.session.is_empty() {
        forget(engine, event, &mut state, troubles);
    }
    if engine.options.hosted && event.row.can.has(Powers::SHOW) && !event.session.is_empty() {
        adopt_unnamed(engine, event, &mut state, troubles);
    }
    event.seen.clone_from(&state.counts);
    if event.facts.iteration.is_none() {
        if begins(event) {
            *state.counts.entry(debts::PROMPTS.into()).or_default() += 1;
            let counted = engine.ledger.amend(&event.memory(), &mut |kept| {
                *kept.counts.entry(debts::PROMPTS.into()).or_default() += 1;
                debts::begin_turn(kept);
            });
            troubles.extend(counted.err().map(|error| error.to_string()));
        }
        event.facts.iteration = Some(state.counts.get(debts::PROMPTS).copied().unwrap_or(0));
    }
    if event.kind() == Kind::Close {
        event.facts.refusals = state.counts.get(&debts::refusals_of(event)).copied().unwrap_or(0);
    }
    let claimed = debts::claim(engine.ledger, event, &mut state);
    troubles.extend(claimed.err().map(|error| error.to_string()));
    state
}

/// What can still be known of a session whose state cannot be read: whether a hook stopped it.
fn halts_only(engine: &Engine<'_>, event: &Event, troubles: &mut Vec<String>) -> SessionState {
    let (owed, errors) = engine.ledger.halts(&event.memory());
    for text in errors.iter().map(ToString::to_string) {
        if !troubles.contains(&text) {
            troubles.push(text);
        }
    }
    SessionState { owed, ..SessionState::default() }
}

/// An event that could not be read did not name its session: what the user is to be told of it goes
/// to the next session of the project that can be told anything.
fn adopt_unnamed(
    engine: &Engine<'_>,
    event: &Event,
    state: &mut SessionState,
    troubles: &mut Vec<String>,
) {
    let unnamed = format!("@{}", event.project.display());
    let is_ours = |debt: &Debt| debt.from == debts::GAMBREL;
    let known = engine.ledger.session(&unnamed);
    if known.as_ref().is_ok_and(|known| !known.owed.iter().any(is_ours)) {
        return;
    }
    let adopted = known.and_then(|_| debts::adopt(engine.ledger, event, &unnamed, &is_ours));
    match adopted {
        Ok(adopted) => state.owed.extend(adopted),
        Err(error) => troubles.push(error.to_string()),
    }
}

/// A prompt that is fired under two names is one prompt.
fn begins(event: &Event) -> bool {
    event.moment == Moment::IterationStart && !event.from.echoes(event)
}

/// A session without a name begins: what was owed to the one before it is not this one's.
fn forget(
    engine: &Engine<'_>,
    event: &Event,
    state: &mut SessionState,
    troubles: &mut Vec<String>,
) {
    if *state != SessionState::default() {
        *state = SessionState::default();
        let kept =
            engine.ledger.amend(&event.memory(), &mut |kept| *kept = SessionState::default());
        troubles.extend(kept.err().map(|error| error.to_string()));
    }
}

/// Carries out duties, keeps what is owed, and writes down what was decided.
fn conclude(engine: &Engine<'_>, event: &Event, decision: &mut Decision) {
    for Duty::WriteFile { path, text } in &decision.said.duties {
        if let Err(error) = write(path, &veiled(engine, path, text)) {
            decision.troubles.push(format!("{}: not written: {error}", path.display()));
        }
    }
    decision.marks.retain(|name| !event.seen.contains_key(name));
    let refused = decision.meant.ruling == Ruling::Deny;
    if let Err(error) = debts::owe(engine.ledger, decision) {
        let text = format!("{}: {error}", debts::describe_lost(&decision.owed));
        tell_lost(engine, event, decision, text);
    }
    let kept = debts::count_refusal(engine.ledger, event, refused)
        .and_then(|()| mark(engine, event, decision));
    let spent = engine.ledger.spend_answers();
    for error in [kept.err(), spent.err()].into_iter().flatten() {
        tell_lost(engine, event, decision, error.to_string());
    }
    journal::finished(engine.ledger, event, decision);
}

/// What a later event of the session would have to know could not be kept: the user is told, and
/// whoever is strict takes that at a gate for a refusal.
fn tell_lost(engine: &Engine<'_>, event: &Event, decision: &mut Decision, text: String) {
    let mut more = Verdict::default();
    if event.row.can.has(Powers::SHOW) {
        more = Verdict::says(Ear::Person, format!("gambrel: {text}"));
    }
    if engine.options.strict && event.kind() == Kind::Gate {
        more = more.then(Verdict::ruled(Ruling::Deny, format!("strict: {text}")));
    }
    let more = more.by(debts::GAMBREL);
    decision.meant = std::mem::take(&mut decision.meant).then(more.clone());
    decision.said = std::mem::take(&mut decision.said).then(more.said_by(event.row).said);
    decision.troubles.push(text);
}

/// What later events of the session are to see.
fn mark(engine: &Engine<'_>, event: &Event, decision: &Decision) -> Result<(), LedgerError> {
    // What was refused has not happened.
    let happened = event.kind() != Kind::Gate || decision.meant.ruling < Ruling::Deny;
    let others = engine.loaded.dialects().filter(|dialect| !event.is_from(*dialect));
    let of_event =
        std::iter::once(event.from).chain(others).flat_map(|dialect| dialect.marks(event));
    let names: Vec<String> =
        of_event.filter(|name| happened && !event.seen.contains_key(name)).collect();
    if names.is_empty() {
        return Ok(());
    }
    engine.ledger.amend(&event.memory(), &mut |kept| {
        for name in &names {
            *kept.counts.entry(name.clone()).or_default() += 1;
        }
    })
}

/// The text as the ledger would write it. JSON stays JSON, also where a number is a secret.
fn veiled(engine: &Engine<'_>, path: &Path, text: &str) -> String {
    let json = path.extension().is_some_and(|ending| ending == "json");
    let read = json.then(|| serde_json::from_str(text).ok()).flatten();
    let before = read.unwrap_or_else(|| Value::from(text));
    let mut value = before.clone();
    engine.ledger.veil(&mut value);
    match value {
        value if value == before => text.to_owned(),
        Value::String(clean) => clean,
        value => format!("{value:#}\n"),
    }
}

/// For the user alone: what hooks print may hold anything.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
