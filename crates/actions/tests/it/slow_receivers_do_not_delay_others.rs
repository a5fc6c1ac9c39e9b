//! All requests of a batch are sent at once, and a slow one does not delay the others.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use gambrel_actions::{WebSettings, WebhookAction};
use gambrel_model::{Action, Call, End, Job, WebhookRequest};

use crate::http_receiver::{Receiver, hold_open, post_request, send_response, webhook_call};

#[test]
fn slow_receivers_do_not_delay_others() {
    // The quick requests are answered only when all of them and ten slow ones have arrived.
    let gate = Arc::new(Barrier::new(20));
    let slow_gate = Arc::clone(&gate);
    let slow = Receiver::new(move |got, stream| {
        if got.earlier < 10 {
            slow_gate.wait();
        }
        hold_open(stream);
    });
    let quick = Receiver::new(move |_, stream| {
        gate.wait();
        send_response(stream, "200 OK", "", "quick");
    });
    let late = WebhookRequest { exchange_ms: 4000, ..post_request(&slow.url("/")) };
    let mut calls: Vec<Call> = (0..200).map(|_| webhook_call(&late)).collect();
    calls.extend((0..10).map(|_| webhook_call(&post_request(&quick.url("/")))));
    let jobs: Vec<Job> = calls.iter().map(|call| Job { call, record: None }).collect();
    let outcomes = WebhookAction::new(WebSettings::default()).run(&jobs);
    let not_late: Vec<_> =
        outcomes[..200].iter().filter(|outcome| outcome.end != End::TimedOut).collect();
    assert!(not_late.is_empty(), "{not_late:?}");
    assert!(outcomes[200..].iter().all(|outcome| outcome.stdout.to_text() == "quick"));
    // Each has its own timeout: none waited for another's.
    for outcome in &outcomes {
        assert!(outcome.elapsed < Duration::from_secs(7), "{:?}", outcome.elapsed);
    }
    let slowest = outcomes[200..].iter().map(|outcome| outcome.elapsed).max().unwrap();
    assert!(slowest < Duration::from_secs(4), "{slowest:?}");
}
