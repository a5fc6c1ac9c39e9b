//! A slow receiver cannot delay the answer past its time limit.

use std::io::Write;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use gambrel_actions::{WebSettings, WebhookAction};
use gambrel_model::{Call, End, Limits, WebhookRequest};

use crate::http_receiver::{
    Receiver, hold_open, post_request, run_call, send_request, webhook_call,
};

fn write_slowly(stream: &mut TcpStream, head: &[u8]) {
    let _ = stream.write_all(head);
    for _ in 0..60 {
        if stream.write_all(b"x").is_err() {
            return;
        }
        sleep(Duration::from_millis(500));
    }
}

fn slow_receivers() -> [Receiver; 3] {
    [
        Receiver::new(|_, stream| hold_open(stream)),
        Receiver::new(|_, stream| write_slowly(stream, b"HTTP/1.1 200 OK\r\nx-slow: ")),
        Receiver::new(|_, stream| {
            write_slowly(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n")
        }),
    ]
}

#[test]
fn times_out_at_the_exchange_limit() {
    for receiver in slow_receivers() {
        let outcome =
            send_request(&WebhookRequest { exchange_ms: 300, ..post_request(&receiver.url("/")) });
        assert_eq!(outcome.end, End::TimedOut);
        assert!(outcome.elapsed >= Duration::from_millis(300), "{:?}", outcome.elapsed);
        assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
    }
}

#[test]
fn times_out_at_the_timeout_or_the_budget() {
    let short = Duration::from_millis(300);
    for receiver in slow_receivers() {
        for (timeout, budget) in [(short, None), (Duration::from_secs(9), Some(short))] {
            let call = webhook_call(&post_request(&receiver.url("/")));
            let limits = Limits { timeout, budget, retries: 2, ..call.limits.clone() };
            let limits = if budget.is_none() { Limits { retries: 0, ..limits } } else { limits };
            let action = WebhookAction::new(WebSettings::default());
            let outcome = run_call(&action, &Call { limits, ..call });
            assert_eq!(outcome.end, End::TimedOut);
            assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
        }
    }
}
