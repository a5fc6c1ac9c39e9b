//! A receiver cannot hold us longer than its limit, whatever it does with its bytes.

use std::io::Write;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use gambrel_actions::{WebSettings, WebhookAction};
use gambrel_model::{Call, End, Limits, WebhookRequest};

use crate::receiver::{Receiver, call, hold, post, run, send};

fn drip(stream: &mut TcpStream, head: &[u8]) {
    let _ = stream.write_all(head);
    for _ in 0..60 {
        if stream.write_all(b"x").is_err() {
            return;
        }
        sleep(Duration::from_millis(500));
    }
}

fn behaviours() -> [Receiver; 3] {
    [
        Receiver::new(|_, stream| hold(stream)),
        Receiver::new(|_, stream| drip(stream, b"HTTP/1.1 200 OK\r\nx-slow: ")),
        Receiver::new(|_, stream| drip(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n")),
    ]
}

#[test]
fn by_the_limit_of_the_exchange() {
    for receiver in behaviours() {
        let outcome = send(&WebhookRequest { exchange_ms: 300, ..post(&receiver.url("/")) });
        assert_eq!(outcome.end, End::TimedOut);
        assert!(outcome.elapsed >= Duration::from_millis(300), "{:?}", outcome.elapsed);
        assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
    }
}

#[test]
fn by_the_timeout_or_the_budget() {
    let short = Duration::from_millis(300);
    for receiver in behaviours() {
        for (timeout, budget) in [(short, None), (Duration::from_secs(9), Some(short))] {
            let call = call(&post(&receiver.url("/")));
            let pace = Limits { timeout, budget, retries: 2, ..call.limits.clone() };
            let pace = if budget.is_none() { Limits { retries: 0, ..pace } } else { pace };
            let action = WebhookAction::new(WebSettings::default());
            let outcome = run(&action, &Call { limits: pace, ..call });
            assert_eq!(outcome.end, End::TimedOut);
            assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
        }
    }
}
