//! Processes with the same ledger share one port; other programs keep theirs.

use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::time::Duration;

use gambrel_server::{ListenError, ServerConfig, listen};

use crate::fixture::{ServerFixture, open_ticket, path_of, port_of, server_config, wait_until};
use crate::http_client::TestRequest;
use crate::test_process::TestProcess;

#[test]
fn shares_a_listener_within_a_process() {
    let fixture = ServerFixture::on_reserved_port();
    let second = listen(&fixture.config, fixture.port).unwrap();
    assert_eq!(second.base(), fixture.listening.base());
    let opened = fixture.open_ticket("two");
    let port = fixture.port;
    let config = fixture.config.clone();
    drop(fixture.listening);
    assert_eq!(TestRequest::post(port, &path_of(&opened), "action=approve").send().status, 200);
    drop(second);
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), "it still listens");
    let again = listen(&config, port).unwrap();
    assert_eq!(port_of(again.base()), port);
}

#[test]
fn skips_a_port_of_another_program() {
    let stranger = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = stranger.local_addr().unwrap().port();
    let root = tempfile::tempdir().unwrap();
    let config = server_config(root.path());
    let listening = listen(&config, port).unwrap();
    let ours = port_of(listening.base());
    assert!(ours > port && ours <= port + 50, "{port} {ours}");
    let opened = open_ticket(&config, "stranger");
    assert_eq!(TestRequest::get(ours, &path_of(&opened)).send().status, 200);
    // A silent program gets the health request only.
    let (mut stream, _) = stranger.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut request = String::new();
    stream.read_to_string(&mut request).unwrap();
    assert!(request.starts_with("GET /healthz ") && !request.contains(&opened.token), "{request}");
}

#[test]
fn skips_a_port_taken_on_ipv6() {
    let Ok(stranger) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        eprintln!("SKIPPED: this machine has no IPv6 loopback address");
        return;
    };
    let port = stranger.local_addr().unwrap().port();
    let root = tempfile::tempdir().unwrap();
    let listening = listen(&server_config(root.path()), port).unwrap();
    assert_ne!(port_of(listening.base()), port);
}

#[test]
fn uses_another_port_for_another_ledger() {
    let fixture = ServerFixture::new();
    let root = tempfile::tempdir().unwrap();
    let other = listen(&server_config(root.path()), fixture.port).unwrap();
    assert_ne!(other.base(), fixture.listening.base());
    let health = TestRequest::get(port_of(other.base()), "/healthz").send().json();
    assert_eq!(health["gambrel"], root.path().display().to_string());
    let opened = fixture.open_ticket("mine");
    assert_eq!(TestRequest::get(port_of(other.base()), &path_of(&opened)).send().status, 404);
}

#[test]
fn takes_over_the_port_of_a_dead_process() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("state of things");
    let mut first = TestProcess::start("listen", &dir, 0);
    let port = port_of(&first.base);
    let config = server_config(&dir);
    let listening = listen(&config, port).unwrap();
    assert_eq!(listening.base(), first.base);
    let (served, taken) = (open_ticket(&config, "served"), open_ticket(&config, "taken over"));
    assert_eq!(TestRequest::post(port, &path_of(&served), "action=approve").send().status, 200);
    first.kill();
    let got = wait_until("we take the port over", || {
        TestRequest::post(port, &path_of(&taken), "action=approve").try_send().ok()
    });
    assert_eq!(got.status, 200, "{got:?}");
    assert_eq!(TestRequest::post(port, &path_of(&served), "action=reject").send().status, 409);
}

#[test]
fn dropping_a_shared_listener_keeps_the_server() {
    let root = tempfile::tempdir().unwrap();
    let first = TestProcess::start("listen", root.path(), 0);
    let config = server_config(root.path());
    let listening = listen(&config, port_of(&first.base)).unwrap();
    drop(listening);
    assert_eq!(TestRequest::get(port_of(&first.base), "/healthz").send().status, 200);
}

#[test]
fn reports_the_ports_that_are_taken() {
    let taken: Vec<_> = (65_500..=65_535)
        .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
        .collect();
    assert!(!taken.is_empty());
    let root = tempfile::tempdir().unwrap();
    let config = ServerConfig { ledger_id: "nobody else".into(), ..server_config(root.path()) };
    match listen(&config, 65_530) {
        Err(error @ ListenError::AllTaken { from: 65_530, to: 65_535 }) => {
            assert!(error.to_string().contains("65530"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
