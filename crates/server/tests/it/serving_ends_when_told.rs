//! `serve` has the list, shares with nobody, and goes in good order.

use gambrel_server::listen;

use crate::another_process::Another;
use crate::caller::Ask;
use crate::scene::{KEY, Scene, desk, port_of};

fn tell(signal: &str, process: u32) {
    let kill = std::process::Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(kill.unwrap().success());
}

#[test]
fn by_a_signal_while_a_page_follows() {
    for signal in ["-TERM", "-INT"] {
        let root = tempfile::tempdir().unwrap();
        let mut serving = Another::start("serve", root.path(), 0);
        let port = port_of(&serving.base);
        let welcome = Ask::get(port, &format!("/?key={}", KEY.replace(' ', "+"))).send();
        let cookie = welcome.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let cookie = format!("Cookie: {cookie}");
        assert_eq!(Ask::get(port, "/").with(&cookie).send().status, 200);
        let _follows = Ask::get(port, "/events").with(&cookie).open().unwrap();
        tell(signal, serving.id());
        assert!(serving.ended().success(), "{signal}");
    }
}

#[test]
fn it_goes_elsewhere_when_a_run_has_the_port() {
    let scene = Scene::new();
    let serving = Another::start("serve", &scene.dir, scene.port);
    assert_ne!(serving.base, scene.listening.base());
    let health = Ask::get(port_of(&serving.base), "/healthz").send().json();
    assert_eq!(health["gambrel"], scene.desk.mark);
}

#[test]
fn runs_share_what_it_serves() {
    let root = tempfile::tempdir().unwrap();
    let serving = Another::start("serve", root.path(), 0);
    let listening = listen(&desk(root.path()), port_of(&serving.base)).unwrap();
    assert_eq!(listening.base(), serving.base);
}
