//! An open page receives every change of the list, and only changes.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value;

use crate::fixture::{ServerFixture, TEST_TIMEOUT, path_of};

struct Events(BufReader<TcpStream>);

impl Events {
    fn of(fixture: &ServerFixture) -> Self {
        let stream = fixture.get("/events").with_header(&fixture.cookie()).open_stream().unwrap();
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).unwrap();
        assert!(status.contains(" 200 "), "{status}");
        Self(lines)
    }

    /// Keep-alive events keep the socket's own timeout from being reached.
    fn next(&mut self) -> Value {
        let end = Instant::now() + TEST_TIMEOUT;
        while Instant::now() < end {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "it ended");
            if let Some(data) = line.strip_prefix("data:") {
                return serde_json::from_str(data).unwrap();
            }
        }
        panic!("no event within {TEST_TIMEOUT:?}");
    }
}

#[test]
fn sends_new_and_answered_questions() {
    let fixture = ServerFixture::with_list();
    let first = fixture.open_ticket("first");
    let mut events = Events::of(&fixture);
    let event = events.next();
    assert_eq!(event["open"], 1);
    assert!(event["html"].as_str().unwrap().contains("git push for first"));
    // Written directly to the ledger, as another process would.
    fixture.open_ticket("second");
    let event = events.next();
    assert_eq!(event["open"], 2);
    assert!(event["html"].as_str().unwrap().contains("git push for second"));
    fixture.post(&path_of(&first), "action=approve&message=fine").send();
    let event = events.next();
    assert_eq!(event["open"], 1);
    let html = event["html"].as_str().unwrap();
    assert!(html.contains("Approved") && html.contains("fine"), "{html}");
}

#[test]
fn ends_with_the_listener() {
    let fixture = ServerFixture::with_list();
    let mut events = Events::of(&fixture);
    assert_eq!(events.next()["open"], 0);
    drop(fixture);
    let mut rest = String::new();
    events.0.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "it was cut off: {rest:?}");
}

#[test]
fn limits_the_number_of_followers() {
    let fixture = ServerFixture::with_list();
    let cookie = fixture.cookie();
    let _open: Vec<_> = (0..32).map(|_| Events::of(&fixture)).collect();
    assert_eq!(fixture.get("/events").with_header(&cookie).send().status, 503);
    assert_eq!(fixture.get("/").with_header(&cookie).send().status, 200);
}
