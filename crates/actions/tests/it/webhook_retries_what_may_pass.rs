//! Which failures are tried again, how long is waited, and that a message keeps its name.

use std::time::{Duration, Instant};

use gambrel_actions::{WebSettings, WebhookAction};
use gambrel_model::{Call, End, Limits, Outcome, WebhookRequest};

use crate::receiver::{Receiver, answer, call, post, run};

fn tried(receiver: &Receiver, retries: u32, budget: Option<Duration>) -> Outcome {
    let request = WebhookRequest { sign: vec!["key".to_owned()], ..post(&receiver.url("/")) };
    let call = call(&request);
    let pace = Limits { retries, budget, ..call.limits.clone() };
    run(&WebhookAction::new(WebSettings::default()), &Call { limits: pace, ..call })
}

/// These statuses one after the other, then 200.
fn after(statuses: &'static [(&'static str, &'static str)]) -> Receiver {
    Receiver::new(move |got, stream| match statuses.get(got.earlier) {
        Some((status, headers)) => answer(stream, status, headers, "not yet"),
        None => answer(stream, "200 OK", "", "now"),
    })
}

#[test]
fn one_name_over_all_tries() {
    let receiver = after(&[
        ("500 Internal Server Error", ""),
        ("503 Service Unavailable", ""),
        ("408 Request Timeout", ""),
        ("429 Too Many Requests", ""),
    ]);
    let outcome = tried(&receiver, 4, None);
    assert!(outcome.is_success());
    assert_eq!((outcome.attempts, outcome.stdout.text().as_str()), (5, "now"));
    let got = receiver.got();
    let first = got[0].header("webhook-id").unwrap();
    assert!(got.iter().all(|one| one.header("webhook-id").unwrap() == first));
    assert!(got.iter().all(|one| one.header("webhook-signature").is_some()));
    let other = tried(&receiver, 0, None);
    assert!(other.is_success());
    assert_ne!(receiver.got()[5].header("webhook-id").unwrap(), first);
}

#[test]
fn the_last_failure_is_told() {
    let receiver = after(&[("500 Internal Server Error", ""); 9]);
    let outcome = tried(&receiver, 2, None);
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Answered, 3));
    assert_eq!(outcome.failure.as_deref(), Some("HTTP 500 Internal Server Error"));
    assert_eq!(outcome.stdout.text(), "not yet");
    assert!(!outcome.is_success());
}

#[test]
fn a_refusal_is_final() {
    for status in ["404 Not Found", "400 Bad Request", "401 Unauthorized", "410 Gone"] {
        let receiver = Receiver::new(move |_, stream| answer(stream, status, "", ""));
        let outcome = tried(&receiver, 3, None);
        assert_eq!((outcome.attempts, receiver.got().len()), (1, 1), "{status}");
        assert_eq!(outcome.failure, Some(format!("HTTP {status}")));
    }
}

#[test]
fn a_receiver_that_hangs_up_is_tried_again() {
    let receiver = Receiver::new(|got, stream| {
        if got.earlier > 1 {
            answer(stream, "200 OK", "", "");
        }
    });
    let outcome = tried(&receiver, 3, None);
    assert!(outcome.is_success());
    assert_eq!(outcome.attempts, 3);
}

#[test]
fn as_long_as_the_receiver_asks_for() {
    let receiver = after(&[("429 Too Many Requests", "retry-after: 1\r\n")]);
    let begun = Instant::now();
    assert!(tried(&receiver, 1, None).is_success());
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[test]
fn but_never_past_the_budget() {
    let receiver = after(&[("503 Service Unavailable", "retry-after: 30\r\n")]);
    let outcome = tried(&receiver, 1, Some(Duration::from_secs(3)));
    assert_eq!(outcome.attempts, 1);
    assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
    assert_eq!(outcome.remarks, ["budget: no time for another attempt"]);
}
