//! Messages that are queued for a session and delivered outside a firing.

use gambrel_engine::{PendingDelivery, mark_delivered, pending_delivery, queue_messages};
use gambrel_ledger::MemoryLedger;
use gambrel_model::ledger::Sessions;
use gambrel_model::{Audience, Claim, Message, Ruling, SessionState, Undelivered, Verdict};

const KEY: &str = "run:/tmp/a run";

fn message(text: &str) -> Message {
    Message::new(Audience::AgentNow, text, "a hook")
}

fn pending_texts(ledger: &MemoryLedger) -> Vec<String> {
    let pending = pending_delivery(ledger, KEY).unwrap();
    pending.messages.into_iter().map(|message| message.text).collect()
}

#[test]
fn messages_are_deduplicated_by_id() {
    let ledger = MemoryLedger::new();
    for (id, texts) in [("1", ["a", "b"]), ("1", ["a", "b"]), ("2", ["a", "c"])] {
        let messages = texts.map(message).to_vec();
        queue_messages(&ledger, KEY, id, "a hook", messages).unwrap();
    }
    assert_eq!(pending_texts(&ledger), ["a", "b", "a", "c"]);
    assert_eq!(ledger.session_state(KEY).unwrap().undelivered.len(), 2);
}

#[test]
fn only_what_was_delivered_is_removed() {
    let ledger = MemoryLedger::new();
    queue_messages(&ledger, KEY, "1", "a hook", vec![message("a")]).unwrap();
    let pending = pending_delivery(&ledger, KEY).unwrap();
    queue_messages(&ledger, KEY, "1", "a hook", vec![message("late")]).unwrap();
    queue_messages(&ledger, KEY, "2", "a hook", vec![message("a")]).unwrap();
    mark_delivered(&ledger, KEY, &pending.entries).unwrap();
    assert_eq!(pending_texts(&ledger), ["late", "a"]);
    mark_delivered(&ledger, KEY, &pending_delivery(&ledger, KEY).unwrap().entries).unwrap();
    assert_eq!(pending_delivery(&ledger, KEY).unwrap(), PendingDelivery::default());
    assert_eq!(ledger.session_state(KEY).unwrap(), SessionState::default());
}

#[test]
fn halts_have_all_their_reasons() {
    let ledger = MemoryLedger::new();
    ledger
        .update_session(KEY, &mut |state| {
            for (id, why) in [("1", "the budget"), ("2", "the time")] {
                let verdict = Verdict::with_ruling(Ruling::Halt, why);
                state.keep_undelivered(Undelivered::new(id, "a hook", verdict));
            }
        })
        .unwrap();
    let pending = pending_delivery(&ledger, KEY).unwrap();
    let halt = pending.halt.unwrap();
    let reasons: Vec<&str> = halt.reasons.iter().map(|reason| reason.text.as_str()).collect();
    assert_eq!((halt.ruling, reasons), (Ruling::Halt, vec!["the budget", "the time"]));
    mark_delivered(&ledger, KEY, &pending.entries[..1]).unwrap();
    assert_eq!(pending_delivery(&ledger, KEY).unwrap().halt.unwrap().reasons.len(), 1);
}

#[test]
fn messages_of_a_running_firing_are_left_to_it() {
    let ledger = MemoryLedger::new();
    let own = ledger.new_claim("another firing");
    let dead = Claim { start: own.start + 1, ..own.clone() };
    for (id, claim) in [("held", &own), ("dead", &dead)] {
        queue_messages(&ledger, KEY, id, "a hook", vec![message(id)]).unwrap();
        let mut take = |state: &mut SessionState| {
            let entry = state.undelivered.iter_mut().find(|entry| entry.id == id);
            entry.unwrap().claim = Some(claim.clone());
        };
        ledger.update_session(KEY, &mut take).unwrap();
    }
    assert_eq!(pending_texts(&ledger), ["dead"]);
    mark_delivered(&ledger, KEY, &pending_delivery(&ledger, KEY).unwrap().entries).unwrap();
    let left = ledger.session_state(KEY).unwrap().undelivered;
    assert_eq!((left.len(), &left[0].claim), (1, &Some(own)));
}
