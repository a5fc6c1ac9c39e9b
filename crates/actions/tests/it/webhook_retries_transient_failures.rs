//! Which failures are retried, after which delay, and with the same message id.

use std::time::{Duration, Instant};

use gambrel_actions::{WebSettings, WebhookAction};
use gambrel_model::{Call, End, Limits, Outcome, WebhookRequest};

use crate::http_receiver::{Receiver, post_request, run_call, send_response, webhook_call};

fn send_with_retries(receiver: &Receiver, retries: u32, budget: Option<Duration>) -> Outcome {
    let request =
        WebhookRequest { sign: vec!["key".to_owned()], ..post_request(&receiver.url("/")) };
    let call = webhook_call(&request);
    let limits = Limits { retries, budget, ..call.limits.clone() };
    run_call(&WebhookAction::new(WebSettings::default()), &Call { limits, ..call })
}

/// Answers with these statuses in order, then with 200.
fn failing_receiver(statuses: &'static [(&'static str, &'static str)]) -> Receiver {
    Receiver::new(move |got, stream| match statuses.get(got.earlier) {
        Some((status, headers)) => send_response(stream, status, headers, "not yet"),
        None => send_response(stream, "200 OK", "", "now"),
    })
}

#[test]
fn keeps_the_message_id_over_all_attempts() {
    let receiver = failing_receiver(&[
        ("500 Internal Server Error", ""),
        ("503 Service Unavailable", ""),
        ("408 Request Timeout", ""),
        ("429 Too Many Requests", ""),
    ]);
    let outcome = send_with_retries(&receiver, 4, None);
    assert!(outcome.is_success());
    assert_eq!((outcome.attempts, outcome.stdout.to_text().as_str()), (5, "now"));
    let got = receiver.got();
    let first = got[0].header("webhook-id").unwrap();
    assert!(got.iter().all(|one| one.header("webhook-id").unwrap() == first));
    assert!(got.iter().all(|one| one.header("webhook-signature").is_some()));
    let other = send_with_retries(&receiver, 0, None);
    assert!(other.is_success());
    assert_ne!(receiver.got()[5].header("webhook-id").unwrap(), first);
}

#[test]
fn returns_the_last_failure() {
    let receiver = failing_receiver(&[("500 Internal Server Error", ""); 9]);
    let outcome = send_with_retries(&receiver, 2, None);
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Answered, 3));
    assert_eq!(outcome.failure.as_deref(), Some("HTTP 500 Internal Server Error"));
    assert_eq!(outcome.stdout.to_text(), "not yet");
    assert!(!outcome.is_success());
}

#[test]
fn does_not_retry_client_errors() {
    for status in ["404 Not Found", "400 Bad Request", "401 Unauthorized", "410 Gone"] {
        let receiver = Receiver::new(move |_, stream| send_response(stream, status, "", ""));
        let outcome = send_with_retries(&receiver, 3, None);
        assert_eq!((outcome.attempts, receiver.got().len()), (1, 1), "{status}");
        assert_eq!(outcome.failure, Some(format!("HTTP {status}")));
    }
}

#[test]
fn retries_after_a_closed_connection() {
    let receiver = Receiver::new(|got, stream| {
        if got.earlier > 1 {
            send_response(stream, "200 OK", "", "");
        }
    });
    let outcome = send_with_retries(&receiver, 3, None);
    assert!(outcome.is_success());
    assert_eq!(outcome.attempts, 3);
}

#[test]
fn waits_for_the_retry_after_header() {
    let receiver = failing_receiver(&[("429 Too Many Requests", "retry-after: 1\r\n")]);
    let begun = Instant::now();
    assert!(send_with_retries(&receiver, 1, None).is_success());
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[test]
fn does_not_retry_past_the_budget() {
    let receiver = failing_receiver(&[("503 Service Unavailable", "retry-after: 30\r\n")]);
    let outcome = send_with_retries(&receiver, 1, Some(Duration::from_secs(3)));
    assert_eq!(outcome.attempts, 1);
    assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
    assert_eq!(outcome.remarks, ["budget: no time for another attempt"]);
}
