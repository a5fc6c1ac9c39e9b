//! All requests of a batch go out at once, and one that waits costs the others nothing.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use gambrel_actions::{WebSettings, WebhookAction};
use gambrel_model::{Action, Call, End, Job, WebhookRequest};

use crate::receiver::{Receiver, answer, call, hold, post};

#[test]
fn while_others_are_answered() {
    // The quick ones are answered only when all of them are there together with ten slow ones.
    let gate = Arc::new(Barrier::new(20));
    let slow_gate = Arc::clone(&gate);
    let slow = Receiver::new(move |got, stream| {
        if got.earlier < 10 {
            slow_gate.wait();
        }
        hold(stream);
    });
    let quick = Receiver::new(move |_, stream| {
        gate.wait();
        answer(stream, "200 OK", "", "quick");
    });
    let late = WebhookRequest { exchange_ms: 4000, ..post(&slow.url("/")) };
    let mut calls: Vec<Call> = (0..200).map(|_| call(&late)).collect();
    calls.extend((0..10).map(|_| call(&post(&quick.url("/")))));
    let jobs: Vec<Job> = calls.iter().map(|call| Job { call, record: None }).collect();
    let outcomes = WebhookAction::new(WebSettings::default()).run(&jobs);
    assert!(outcomes[..200].iter().all(|outcome| outcome.end == End::TimedOut));
    assert!(outcomes[200..].iter().all(|outcome| outcome.stdout.text() == "quick"));
    // Each has its own time: none waited for another's limit.
    for outcome in &outcomes {
        assert!(outcome.elapsed < Duration::from_secs(7), "{:?}", outcome.elapsed);
    }
    let slowest = outcomes[200..].iter().map(|outcome| outcome.elapsed).max().unwrap();
    assert!(slowest < Duration::from_secs(4), "{slowest:?}");
}
