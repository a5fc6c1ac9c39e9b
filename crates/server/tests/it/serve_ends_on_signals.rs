//! `serve` has the list, shares its port with no process, and ends cleanly on signals.

use gambrel_server::listen;

use crate::fixture::{KEY, ServerFixture, port_of, server_config};
use crate::http_client::TestRequest;
use crate::test_process::TestProcess;

fn send_signal(signal: &str, process: u32) {
    let kill = std::process::Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(kill.unwrap().success());
}

#[test]
fn ends_on_a_signal_while_a_page_follows() {
    for signal in ["-TERM", "-INT"] {
        let root = tempfile::tempdir().unwrap();
        let mut serving = TestProcess::start("serve", root.path(), 0);
        let port = port_of(&serving.base);
        let welcome = TestRequest::get(port, &format!("/?key={}", KEY.replace(' ', "+"))).send();
        let cookie = welcome.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let cookie = format!("Cookie: {cookie}");
        assert_eq!(TestRequest::get(port, "/").with_header(&cookie).send().status, 200);
        let _follows =
            TestRequest::get(port, "/events").with_header(&cookie).open_stream().unwrap();
        send_signal(signal, serving.id());
        assert!(serving.wait_for_exit().success(), "{signal}");
    }
}

#[test]
fn takes_another_port_than_a_run() {
    let fixture = ServerFixture::new();
    let serving = TestProcess::start("serve", &fixture.dir, fixture.port);
    assert_ne!(serving.base, fixture.listening.base());
    let health = TestRequest::get(port_of(&serving.base), "/healthz").send().json();
    assert_eq!(health["gambrel"], fixture.config.ledger_id);
}

#[test]
fn runs_share_the_port_of_serve() {
    let root = tempfile::tempdir().unwrap();
    let serving = TestProcess::start("serve", root.path(), 0);
    let listening = listen(&server_config(root.path()), port_of(&serving.base)).unwrap();
    assert_eq!(listening.base(), serving.base);
}
