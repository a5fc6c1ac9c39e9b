//! What a hook removed from a text is hidden in everything that its firing has stored besides the
//! journal: recorded outcomes, spilled output, questions, files that verdicts ask for, and what is
//! kept for a later event. Runs after the last hook; until then a firing that is repeated needs the texts.

use gambrel_model::ledger::LedgerResult;
use gambrel_model::{Captured, Decision, Event, Outcome, SideEffect, Step, Ticket};

use crate::Engine;
use crate::removed_text::RemovedText;
use crate::side_files::write_private;

/// The text of a spill file in place of output that may repeat what a hook removed.
const SPILL_NOTE: &str = "left out: a hook removed text of this event\n";

/// Hides removed words. A failure is a warning and changes no decision.
pub(crate) fn hide_removed(
    engine: &Engine<'_>,
    event: &Event,
    decision: &mut Decision,
    removed: &RemovedText,
) {
    if removed.is_empty() {
        return;
    }
    for effect in &mut decision.for_caller.side_effects {
        if let SideEffect::WriteFile { text, .. } | SideEffect::AddFile { text, .. } = effect {
            removed.hide_in_text(text);
        }
    }
    removed.hide_in_verdict(&mut decision.later);
    let outcomes = decision.trail.iter().filter_map(|step| step.outcome.as_ref());
    let spills = outcomes.flat_map(|outcome| [&outcome.stdout.spill, &outcome.stderr.spill]);
    let failures: Vec<String> = spills
        .flatten()
        .filter_map(|path| Some((path, write_private(path, SPILL_NOTE).err()?)))
        .map(|(path, error)| format!("{}: not overwritten: {error}", path.display()))
        .collect();
    decision.warnings.extend(failures);
    let hidden = hide_in_questions(engine, &decision.trail, removed);
    decision.warnings.extend(hidden.err().map(|error| error.to_string()));
    if let Some(key) = &event.firing_key {
        let hidden = hide_in_recorded(engine, key, removed);
        decision.warnings.extend(hidden.err().map(|error| error.to_string()));
    }
}

/// The questions of hooks that ran may quote what another hook removed.
fn hide_in_questions(engine: &Engine<'_>, trail: &[Step], removed: &RemovedText) -> LedgerResult {
    let hide = |text: &str| {
        let mut text = text.to_owned();
        removed.hide_in_text(&mut text);
        text
    };
    let asked = |ticket: &Ticket| {
        let mut ran = trail.iter().filter(|step| step.ran);
        ran.any(|step| step.hook == ticket.hook || step.source == ticket.hook)
    };
    for ticket in engine.ledger.list_tickets()?.iter().filter(|ticket| asked(ticket)) {
        engine.ledger.update_ticket(&ticket.id, &mut |kept| {
            kept.title = hide(&kept.title);
            kept.shown.iter_mut().for_each(|(_, text)| *text = hide(text));
            kept.context = kept.context.map_texts(&hide);
        })?;
    }
    Ok(())
}

fn hide_in_recorded(engine: &Engine<'_>, key: &str, removed: &RemovedText) -> LedgerResult {
    let mut outcomes = engine.ledger.recorded_outcomes(key)?;
    for outcome in outcomes.values_mut() {
        hide_in_outcome(outcome, removed);
    }
    if outcomes.is_empty() { Ok(()) } else { engine.ledger.replace_outcomes(key, &outcomes) }
}

fn hide_in_outcome(outcome: &mut Outcome, removed: &RemovedText) {
    hide_in_stream(&mut outcome.stdout, removed);
    hide_in_stream(&mut outcome.stderr, removed);
    if let Some(answer) = &mut outcome.answer {
        removed.hide_in(answer);
    }
    let texts = outcome.command.iter_mut().chain(&mut outcome.remarks);
    texts.chain(&mut outcome.failure).for_each(|text| removed.hide_in_text(text));
}

fn hide_in_stream(stream: &mut Captured, removed: &RemovedText) {
    let length = |stream: &Captured| (stream.bytes.len() + stream.tail.len()) as u64;
    let dropped = stream.total.saturating_sub(length(stream));
    for bytes in [&mut stream.bytes, &mut stream.tail] {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        removed.hide_in_text(&mut text);
        *bytes = text.into_bytes();
    }
    stream.total = length(stream) + dropped;
}
