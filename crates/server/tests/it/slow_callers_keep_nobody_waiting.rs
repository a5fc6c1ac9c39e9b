//! Hundreds of connections that send a byte now and then cost a person less than a second.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::scene::{Scene, path_of};

const SLOW_COUNT: usize = 256;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// More rounds where there is time for them.
fn rounds() -> usize {
    if std::env::var_os("GAMBREL_TEST_FULL").is_some() { 200 } else { 5 }
}

/// Opens connections that send `text` byte by byte, and new ones for those that are ended.
fn keep_slow(port: u16, text: &str, over: &AtomicBool, ready: &AtomicBool) {
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

fn look_while_slow_callers_write(scene: &Scene, text: &str) {
    let (over, ready) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| keep_slow(scene.port, text, &over, &ready));
        while !ready.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut longest = Duration::ZERO;
        for _ in 0..rounds() {
            let begun = Instant::now();
            let status = scene.get("/healthz").send().status;
            longest = longest.max(begun.elapsed());
            assert_eq!(status, 200);
            std::thread::sleep(Duration::from_millis(50));
        }
        over.store(true, Ordering::Relaxed);
        assert!(longest < ANSWER_TIMEOUT, "{text:?}: {longest:?}");
    });
}

#[test]
fn who_never_ends_the_head_of_a_request() {
    let scene = Scene::new();
    let head = format!("GET /healthz HTTP/1.1\r\nHost: localhost:{}\r\nX: ", scene.port);
    look_while_slow_callers_write(&scene, &format!("{head}{}", "x".repeat(10_000)));
}

#[test]
fn an_answer_still_counts_while_others_are_slow() {
    let scene = Scene::with_list();
    let opened = scene.open("slow");
    let (over, ready) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| keep_slow(scene.port, &"G".repeat(10_000), &over, &ready));
        while !ready.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let begun = Instant::now();
        let said = scene.post(&path_of(&opened), r#"{"action":"approve"}"#).send();
        let took = begun.elapsed();
        let listed = scene.get("/").with(&scene.cookie()).send();
        over.store(true, Ordering::Relaxed);
        assert_eq!((said.status, listed.status), (200, 200));
        assert!(took < ANSWER_TIMEOUT, "{took:?}");
    });
    assert!(scene.answer(&opened).is_some());
}

#[test]
fn who_sends_the_head_and_never_the_body() {
    let scene = Scene::new();
    let opened = scene.open("slow");
    let (path, port) = (path_of(&opened), scene.port);
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
        assert_eq!(scene.get("/healthz").send().status, 200);
        assert!(begun.elapsed() < ANSWER_TIMEOUT, "{:?}", begun.elapsed());
    }
    drop(slow);
    assert!(scene.answer(&opened).is_none());
}
