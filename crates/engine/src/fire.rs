//! One firing, from a parsed event to a recorded decision. It only orders the steps; it knows no
//! dialect, action or store by name.

use gambrel_model::event::session_key;
use gambrel_model::{
    Audience, CutShort, Decision, Event, LedgerError, Moment, MomentKind, Powers, Ruling,
    SessionState, Undelivered, Verdict,
};

use crate::budget::Budget;
use crate::firing::{Firing, selected_to_run};
use crate::hide_removed::hide_removed;
use crate::select::{SelectedHooks, select_hooks};
use crate::side_files::write_files;
use crate::{Engine, journal, notices, undelivered};

/// Fires every matching hook and returns the decision.
pub fn fire_event(engine: &Engine<'_>, event: &Event) -> Decision {
    let mut troubles = event.session_errors.clone();
    let budget = Budget::new(engine, event);
    let SelectedHooks { candidates, unmatched, complaints } =
        select_hooks(engine, event, &budget, &mut troubles);
    let asked: Vec<&str> = selected_to_run(&candidates).map(|c| c.hook.id.as_str()).collect();
    // Without a hook to run, one record at the end is enough.
    let is_met = !asked.is_empty();
    if is_met {
        let accepted = journal::accepted_record(engine, event, &asked);
        troubles.extend(journal::append_record(engine.ledger, accepted));
    }
    let mut fold = Firing::new(engine, event, budget, troubles);
    fold.decision.complaints.extend(complaints);
    fold.load_recorded_outcomes();
    let delivered = fold.add_undelivered();
    fold.mark_session_unreadable();
    for group in candidates.chunk_by(|a, b| a.hook.dialect.name == b.hook.dialect.name) {
        fold.run_group(group);
    }
    fold.recheck_gates(&candidates);
    fold.refuse_unread();
    fold.deny_gate_failures();
    fold.add_notices();
    let removed = std::mem::take(&mut fold.removed);
    let mut decision = fold.into_decision(delivered);
    decision.unmatched = Some(unmatched);
    hide_removed(engine, event, &mut decision, &removed);
    finish_firing(engine, event, &mut decision);
    let finished = match is_met {
        true => journal::finished_record(event, &decision, &removed),
        false => journal::unmet_record(engine, event, &decision),
    };
    if let Some(trouble) = journal::append_record(engine.ledger, finished) {
        notices::add_late_warning(event, &mut decision, trouble);
    }
    decision
}

/// Adds the session's counts to the event without changing them, for `explain`.
pub fn load_session_counts(engine: &Engine<'_>, event: &mut Event) {
    let state = engine.ledger.session_state(&event.session_key).unwrap_or_default();
    let prompts = state.counts.get(undelivered::PROMPTS).copied().unwrap_or(0);
    event.session_counts = state.counts;
    let begins = u64::from(begins_iteration(event));
    event.facts.iteration.get_or_insert(prompts + begins);
    event.facts.refusals = undelivered::refusals_before(event);
}

/// Adds the session state to the event: undelivered messages, prompts so far, refusals in a row.
/// Counts a prompt and claims the messages that this caller can receive.
pub fn load_session(engine: &Engine<'_>, event: &mut Event) {
    let mut troubles = Vec::new();
    let state = engine.ledger.session_state(&event.session_key);
    let mut state = state.unwrap_or_else(|error| {
        troubles.push(error.to_string());
        load_halts(engine, event, &mut troubles)
    });
    if event.moment == Moment::SessionStart && event.session.is_empty() {
        clear_session(engine, event, &mut state, &mut troubles);
    }
    if engine.options.hosted
        && event.spec.caller_powers.contains(Powers::MESSAGE_USER)
        && !event.session.is_empty()
    {
        adopt_unnamed_session(engine, event, &mut state, &mut troubles);
    }
    event.session_counts = std::mem::take(&mut state.counts);
    let counted = count_iteration(engine, event);
    troubles.extend(counted.err().map(|error| error.to_string()));
    if event.kind() == MomentKind::Close {
        event.facts.refusals = undelivered::refusals_before(event);
    }
    let claimed = undelivered::claim_messages(engine.ledger, event, &mut state);
    troubles.extend(claimed.err().map(|error| error.to_string()));
    event.undelivered = state.undelivered;
    event.session_errors = troubles;
}

/// Counts the prompt of an iteration that has no number, and resets the counts of the last turn. A
/// caller that numbers its iterations counts them itself.
fn count_iteration(engine: &Engine<'_>, event: &mut Event) -> Result<(), LedgerError> {
    let begins = begins_iteration(event);
    let is_counted = begins && event.facts.iteration.is_none();
    let prompts = count_of(event, undelivered::PROMPTS) + u64::from(is_counted);
    event.facts.iteration.get_or_insert(prompts);
    let resets = begins && undelivered::reset_turn_counts(&mut event.session_counts);
    if !is_counted && !resets {
        return Ok(());
    }
    engine.ledger.update_session(&event.session_key, &mut |kept| {
        if is_counted {
            *kept.counts.entry(undelivered::PROMPTS.into()).or_default() += 1;
        }
        undelivered::reset_turn_counts(&mut kept.counts);
    })
}

fn count_of(event: &Event, name: &str) -> u64 {
    event.session_counts.get(name).copied().unwrap_or(0)
}

/// Reads the halts of a session whose state cannot be read.
fn load_halts(engine: &Engine<'_>, event: &Event, troubles: &mut Vec<String>) -> SessionState {
    let (halts, errors) = engine.ledger.read_halts(&event.session_key);
    for text in errors.iter().map(ToString::to_string) {
        if !troubles.contains(&text) {
            troubles.push(text);
        }
    }
    SessionState { undelivered: halts, ..SessionState::default() }
}

/// An unreadable event did not name its session. Its messages for the user go to the project's next
/// session that can receive messages.
fn adopt_unnamed_session(
    engine: &Engine<'_>,
    event: &Event,
    state: &mut SessionState,
    troubles: &mut Vec<String>,
) {
    let unnamed = session_key("", &event.project);
    let is_ours = |entry: &Undelivered| entry.from == undelivered::GAMBREL;
    let known = engine.ledger.session_state(&unnamed);
    if known.as_ref().is_ok_and(|known| !known.undelivered.iter().any(is_ours)) {
        return;
    }
    let adopted =
        known.and_then(|_| undelivered::adopt_messages(engine.ledger, event, &unnamed, &is_ours));
    match adopted {
        Ok(adopted) => state.undelivered.extend(adopted),
        Err(error) => troubles.push(error.to_string()),
    }
}

/// A prompt that is fired under two names is one prompt.
fn begins_iteration(event: &Event) -> bool {
    event.moment == Moment::IterationStart
        && !event.dialect.caller.session_memory(event).already_fired
}

/// A session without a name begins: it must not receive the messages of the previous one.
fn clear_session(
    engine: &Engine<'_>,
    event: &Event,
    state: &mut SessionState,
    troubles: &mut Vec<String>,
) {
    if *state != SessionState::default() {
        *state = SessionState::default();
        let kept = engine
            .ledger
            .update_session(&event.session_key, &mut |kept| *kept = SessionState::default());
        troubles.extend(kept.err().map(|error| error.to_string()));
    }
}

/// Writes files and stores undelivered messages.
fn finish_firing(engine: &Engine<'_>, event: &Event, decision: &mut Decision) {
    if engine.options.trial.is_none() {
        write_files(engine, event, decision);
    }
    decision.session_flags.retain(|name| !event.session_counts.contains_key(name));
    let refused = decision.merged.ruling == Ruling::Deny;
    let kept = match will_repeat(event, decision) {
        true => Ok(()),
        false => undelivered::keep_undelivered(engine.ledger, event, decision),
    };
    if let Err(error) = kept {
        let text = format!("{}: {error}", undelivered::describe_lost(&decision.later));
        report_lost(engine, event, decision, text);
    }
    let kept = undelivered::count_refusal(engine.ledger, event, refused)
        .and_then(|()| set_session_flags(engine, event, decision));
    let spent = engine.ledger.spend_answers();
    for error in [kept.err(), spent.err()].into_iter().flatten() {
        report_lost(engine, event, decision, error.to_string());
    }
}

/// Whether a signal ended hooks of a firing with a key. It is fired again, and then they are heard.
fn will_repeat(event: &Event, decision: &Decision) -> bool {
    let outcomes = decision.trail.iter().filter_map(|step| step.outcome.as_ref());
    let mut ended = outcomes.map(|outcome| &outcome.cut_short_by);
    event.firing_key.is_some() && ended.any(|cut| *cut == Some(CutShort::Interrupted))
}

/// State for later events could not be stored: tells the user, and denies at a gate under
/// `--strict`.
fn report_lost(engine: &Engine<'_>, event: &Event, decision: &mut Decision, text: String) {
    let mut more = Verdict::default();
    if event.spec.caller_powers.contains(Powers::MESSAGE_USER) {
        more = Verdict::with_only_message(Audience::User, format!("gambrel: {text}"));
    }
    if engine.options.strict && event.kind() == MomentKind::Gate {
        more = more.then(Verdict::with_ruling(Ruling::Deny, format!("strict: {text}")));
    }
    let more = more.attributed_to(undelivered::GAMBREL);
    decision.merged = std::mem::take(&mut decision.merged).then(more.clone());
    decision.for_caller =
        std::mem::take(&mut decision.for_caller).then(more.degrade_for(event.spec).now);
    decision.warnings.push(text);
}

/// Sets the flags that later events of the session see.
fn set_session_flags(
    engine: &Engine<'_>,
    event: &Event,
    decision: &Decision,
) -> Result<(), LedgerError> {
    // A refused event has not happened.
    let happened = event.kind() != MomentKind::Gate || decision.merged.ruling < Ruling::Deny;
    let others = engine.loaded.dialects().filter(|dialect| !event.is_from(dialect));
    let of_event = std::iter::once(event.dialect)
        .chain(others)
        .flat_map(|dialect| dialect.caller.session_memory(event).flags);
    let names: Vec<String> =
        of_event.filter(|name| happened && !event.session_counts.contains_key(name)).collect();
    if names.is_empty() {
        return Ok(());
    }
    engine.ledger.update_session(&event.session_key, &mut |kept| {
        for name in &names {
            *kept.counts.entry(name.clone()).or_default() += 1;
        }
    })
}
