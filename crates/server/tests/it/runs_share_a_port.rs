//! Whoever waits for answers of one ledger has one port; strangers are left alone.

use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::time::Duration;

use gambrel_server::{Desk, ListenError, listen};

use crate::another_process::Another;
use crate::caller::Ask;
use crate::scene::{Scene, desk, open, path_of, port_of, until};

#[test]
fn two_in_one_process_are_one() {
    let scene = Scene::new();
    let second = listen(&scene.desk, scene.port).unwrap();
    assert_eq!(second.base(), scene.listening.base());
    let opened = scene.open("two");
    let port = scene.port;
    let desk = scene.desk.clone();
    drop(scene.listening);
    assert_eq!(Ask::post(port, &path_of(&opened), "action=approve").send().status, 200);
    drop(second);
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), "it still listens");
    let again = listen(&desk, port).unwrap();
    assert_eq!(port_of(again.base()), port);
}

#[test]
fn a_port_with_a_stranger_on_it_is_left_to_the_stranger() {
    let stranger = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = stranger.local_addr().unwrap().port();
    let root = tempfile::tempdir().unwrap();
    let desk = desk(root.path());
    let listening = listen(&desk, port).unwrap();
    let ours = port_of(listening.base());
    assert!(ours > port && ours <= port + 50, "{port} {ours}");
    let opened = open(&desk, "stranger");
    assert_eq!(Ask::get(ours, &path_of(&opened)).send().status, 200);
    // A silent one is asked who it is, and nothing else.
    let (mut asked, _) = stranger.accept().unwrap();
    asked.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut said = String::new();
    asked.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("GET /healthz ") && !said.contains(&opened.token), "{said}");
}

#[test]
fn a_stranger_on_the_other_loopback_address_is_one_too() {
    let Ok(stranger) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        eprintln!("SKIPPED: this machine has no IPv6 loopback address");
        return;
    };
    let port = stranger.local_addr().unwrap().port();
    let root = tempfile::tempdir().unwrap();
    let listening = listen(&desk(root.path()), port).unwrap();
    assert_ne!(port_of(listening.base()), port);
}

#[test]
fn another_ledger_has_another_port() {
    let scene = Scene::new();
    let root = tempfile::tempdir().unwrap();
    let other = listen(&desk(root.path()), scene.port).unwrap();
    assert_ne!(other.base(), scene.listening.base());
    let health = Ask::get(port_of(other.base()), "/healthz").send().json();
    assert_eq!(health["gambrel"], root.path().display().to_string());
    let opened = scene.open("mine");
    assert_eq!(Ask::get(port_of(other.base()), &path_of(&opened)).send().status, 404);
}

#[test]
fn another_process_serves_us_and_we_take_over_when_it_dies() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("state of things");
    let mut first = Another::start("listen", &dir, 0);
    let port = port_of(&first.base);
    let desk = desk(&dir);
    let listening = listen(&desk, port).unwrap();
    assert_eq!(listening.base(), first.base);
    let (served, taken) = (open(&desk, "served"), open(&desk, "taken over"));
    assert_eq!(Ask::post(port, &path_of(&served), "action=approve").send().status, 200);
    first.kill();
    let got = until("we take the port over", || {
        Ask::post(port, &path_of(&taken), "action=approve").try_send().ok()
    });
    assert_eq!(got.status, 200, "{got:?}");
    assert_eq!(Ask::post(port, &path_of(&served), "action=reject").send().status, 409);
}

#[test]
fn one_who_only_shares_leaves_at_once() {
    let root = tempfile::tempdir().unwrap();
    let first = Another::start("listen", root.path(), 0);
    let desk = desk(root.path());
    let listening = listen(&desk, port_of(&first.base)).unwrap();
    drop(listening);
    assert_eq!(Ask::get(port_of(&first.base), "/healthz").send().status, 200);
}

#[test]
fn a_port_that_is_not_ours_to_take_is_an_error_with_its_number() {
    let taken: Vec<_> = (65_500..=65_535)
        .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
        .collect();
    assert!(!taken.is_empty());
    let root = tempfile::tempdir().unwrap();
    let desk = Desk { mark: "nobody else".into(), ..desk(root.path()) };
    match listen(&desk, 65_530) {
        Err(error @ ListenError::AllTaken { from: 65_530, to: 65_535 }) => {
            assert!(error.to_string().contains("65530"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
