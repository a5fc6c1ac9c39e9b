//! A page that stays open is told of every change, and only of changes.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value;

use crate::scene::{DEADLINE, Scene, path_of};

struct Events(BufReader<TcpStream>);

impl Events {
    fn of(scene: &Scene) -> Self {
        let stream = scene.get("/events").with(&scene.cookie()).open().unwrap();
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).unwrap();
        assert!(status.contains(" 200 "), "{status}");
        Self(lines)
    }

    /// Signs of life keep the socket's own limit from ever being reached.
    fn next(&mut self) -> Value {
        let end = Instant::now() + DEADLINE;
        while Instant::now() < end {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "it ended");
            if let Some(told) = line.strip_prefix("data:") {
                return serde_json::from_str(told).unwrap();
            }
        }
        panic!("nothing was told within {DEADLINE:?}");
    }
}

#[test]
fn as_questions_come_and_are_answered() {
    let scene = Scene::with_list();
    let first = scene.open("first");
    let mut events = Events::of(&scene);
    let told = events.next();
    assert_eq!(told["open"], 1);
    assert!(told["html"].as_str().unwrap().contains("git push for first"));
    // Not through the server: another process writes to the same ledger.
    scene.open("second");
    let told = events.next();
    assert_eq!(told["open"], 2);
    assert!(told["html"].as_str().unwrap().contains("git push for second"));
    scene.post(&path_of(&first), "action=approve&message=fine").send();
    let told = events.next();
    assert_eq!(told["open"], 1);
    let html = told["html"].as_str().unwrap();
    assert!(html.contains("Approved") && html.contains("fine"), "{html}");
}

#[test]
fn until_the_listener_ends() {
    let scene = Scene::with_list();
    let mut events = Events::of(&scene);
    assert_eq!(events.next()["open"], 0);
    drop(scene);
    let mut rest = String::new();
    events.0.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "it was cut off: {rest:?}");
}

#[test]
fn for_so_many_pages_at_once() {
    let scene = Scene::with_list();
    let cookie = scene.cookie();
    let _open: Vec<_> = (0..32).map(|_| Events::of(&scene)).collect();
    assert_eq!(scene.get("/events").with(&cookie).send().status, 503);
    assert_eq!(scene.get("/").with(&cookie).send().status, 200);
}
