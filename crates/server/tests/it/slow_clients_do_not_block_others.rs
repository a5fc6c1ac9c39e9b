//! Hundreds of slow connections delay another client by less than a second.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::fixture::{ServerFixture, path_of};

const SLOW_COUNT: usize = 256;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// More rounds in a full test run.
fn rounds() -> usize {
    if std::env::var_os("GAMBREL_TEST_FULL").is_some() { 200 } else { 5 }
}

/// Opens connections that send `text` byte by byte, and replaces closed ones.
fn keep_slow_clients(port: u16, text: &str, over: &AtomicBool, ready: &AtomicBool) {
    let open = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok().map(|stream| (stream, 0));
    let mut slow: Vec<_> = (0..SLOW_COUNT).filter_map(|_| open()).collect();
    while !over.load(Ordering::Relaxed) {
        for (stream, sent) in &mut slow {
            let byte = &text.as_bytes()[*sent..*sent + 1];
            let ended = stream.write_all(byte).is_err() || *sent + 1 >= text.len();
            *sent += 1;
            if ended && let Some(fresh) = open() {
                (*stream, *sent) = fresh;
            }
        }
        ready.store(true, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn request_while_clients_are_slow(fixture: &ServerFixture, text: &str) {
    let (over, ready) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| keep_slow_clients(fixture.port, text, &over, &ready));
        while !ready.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut longest = Duration::ZERO;
        for _ in 0..rounds() {
            let begun = Instant::now();
            let status = fixture.get("/healthz").send().status;
            longest = longest.max(begun.elapsed());
            assert_eq!(status, 200);
            std::thread::sleep(Duration::from_millis(50));
        }
        over.store(true, Ordering::Relaxed);
        assert!(longest < ANSWER_TIMEOUT, "{text:?}: {longest:?}");
    });
}

#[test]
fn serves_while_clients_never_finish_the_head() {
    let fixture = ServerFixture::new();
    let head = format!("GET /healthz HTTP/1.1\r\nHost: localhost:{}\r\nX: ", fixture.port);
    request_while_clients_are_slow(&fixture, &format!("{head}{}", "x".repeat(10_000)));
}

#[test]
fn accepts_an_answer_while_clients_are_slow() {
    let fixture = ServerFixture::with_list();
    let opened = fixture.open_ticket("slow");
    let (over, ready) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| keep_slow_clients(fixture.port, &"G".repeat(10_000), &over, &ready));
        while !ready.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let begun = Instant::now();
        let posted = fixture.post(&path_of(&opened), r#"{"action":"approve"}"#).send();
        let took = begun.elapsed();
        let listed = fixture.get("/").with_header(&fixture.cookie()).send();
        over.store(true, Ordering::Relaxed);
        assert_eq!((posted.status, listed.status), (200, 200));
        assert!(took < ANSWER_TIMEOUT, "{took:?}");
    });
    assert!(fixture.answer_of(&opened).is_some());
}

#[test]
fn serves_while_clients_never_send_the_body() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("slow");
    let (path, port) = (path_of(&opened), fixture.port);
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 60000\r\n\r\n");
    let slow: Vec<_> = (0..SLOW_COUNT)
        .map(|_| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    for _ in 0..rounds() {
        let begun = Instant::now();
        assert_eq!(fixture.get("/healthz").send().status, 200);
        assert!(begun.elapsed() < ANSWER_TIMEOUT, "{:?}", begun.elapsed());
    }
    drop(slow);
    assert!(fixture.answer_of(&opened).is_none());
}
