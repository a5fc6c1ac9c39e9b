//! A receiver cannot hold us longer than its limit, whatever it does with its bytes.

use std::io::Write;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use gambrel_actions::{WebSettings, WebhookAction};
use gambrel_model::{Call, End, Pace, Request};

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
        let outcome = send(&Request { exchange_ms: 300, ..post(&receiver.url("/")) });
        assert_eq!(outcome.end, End::Late);
        assert!(outcome.took >= Duration::from_millis(300), "{:?}", outcome.took);
        assert!(outcome.took < Duration::from_secs(3), "{:?}", outcome.took);
    }
}

#[test]
fn by_the_timeout_or_the_budget() {
    let short = Duration::from_millis(300);
    for receiver in behaviours() {
        for (timeout, budget) in [(short, None), (Duration::from_secs(9), Some(short))] {
            let call = call(&post(&receiver.url("/")));
            let pace = Pace { timeout, budget, retries: 2, ..call.pace.clone() };
            let pace = if budget.is_none() { Pace { retries: 0, ..pace } } else { pace };
            let action = WebhookAction::new(WebSettings::default());
            let outcome = run(&action, &Call { pace, ..call });
            assert_eq!(outcome.end, End::Late);
            assert!(outcome.took < Duration::from_secs(3), "{:?}", outcome.took);
        }
    }
}
