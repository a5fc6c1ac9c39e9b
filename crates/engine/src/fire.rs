//! One firing, from an event that was understood to a decision that was written down: the house's
//! straight line in one screen.

use std::fs;
use std::io::Write;
use std::path::Path;

use gambrel_model::{Decision, Duty, Event, Kind, LedgerError, Moment, Ruling, SessionState};
use serde_json::Value;

use crate::fold::{Fold, running};
use crate::select::{Selection, select};
use crate::{Engine, debts, journal};

/// Fires every matching hook and returns what they decided together.
pub fn fire(engine: &Engine<'_>, event: &mut Event) -> Decision {
    let mut troubles = Vec::new();
    let state = remember(engine, event, &mut troubles);
    let event: &Event = event;
    let Selection { candidates, bystanders } = select(engine, event, &mut troubles);
    let asked: Vec<&str> = running(&candidates).map(|c| c.hook.id.as_str()).collect();
    journal::accepted(engine.ledger, event, &asked, &mut troubles);
    let mut fold = Fold::new(engine, event, troubles);
    let paid = fold.seed(&state);
    for group in candidates.chunk_by(|a, b| a.hook.dialect.name() == b.hook.dialect.name()) {
        fold.group(group);
    }
    fold.recheck(&candidates);
    fold.strict();
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

/// Adds what the ledger remembers of the event's session: prompts so far, refusals in a row.
fn remember(engine: &Engine<'_>, event: &mut Event, troubles: &mut Vec<String>) -> SessionState {
    let state = engine.ledger.session(&event.memory());
    let mut state = state.unwrap_or_else(|error| {
        troubles.push(error.to_string());
        SessionState::default()
    });
    if event.moment == Moment::SessionStart && event.session.is_empty() {
        forget(engine, event, &mut state, troubles);
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
    state
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
    let refused = decision.meant.ruling == Ruling::Deny;
    let kept = debts::owe(engine.ledger, decision)
        .and_then(|()| debts::count_refusal(engine.ledger, event, refused))
        .and_then(|()| mark(engine, event, decision));
    decision.troubles.extend(kept.err().map(|error| error.to_string()));
    journal::finished(engine.ledger, event, decision);
}

/// What later events of the session are to see.
fn mark(engine: &Engine<'_>, event: &Event, decision: &Decision) -> Result<(), LedgerError> {
    // What was refused has not happened.
    let happened = event.kind() != Kind::Gate || decision.meant.ruling < Ruling::Deny;
    let others = engine.loaded.dialects().filter(|dialect| !event.is_from(*dialect));
    let of_event =
        std::iter::once(event.from).chain(others).flat_map(|dialect| dialect.marks(event));
    let of_event = of_event.filter(|_| happened);
    let mut names: Vec<String> = decision.marks.iter().cloned().chain(of_event).collect();
    names.retain(|name| !event.seen.contains_key(name));
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
