//! Pages of other sites and names that were pointed at this machine neither read nor act.

use crate::scene::{Scene, path_of};

#[test]
fn a_name_that_is_not_ours() {
    let scene = Scene::new();
    let opened = scene.open("host");
    let port = scene.port;
    let foreign = [
        String::new(),
        "Host: evil.example".to_owned(),
        format!("Host: evil.example:{port}"),
        format!("Host: localhost.evil.example:{port}"),
        "Host: localhost".to_owned(),
        "Host: localhost:1".to_owned(),
        format!("Host: localhost:{port}\r\nHost: evil.example"),
        "Host: 0.0.0.0".to_owned(),
    ];
    for host in &foreign {
        for path in ["/healthz", "/", &path_of(&opened), "/style.css", "/nowhere"] {
            let got = scene.get(path).host(host).send();
            assert!(matches!(got.status, 400 | 421), "{host} {path}: {got:?}");
        }
        let got = scene.post(&path_of(&opened), "action=approve").host(host).send();
        assert!(matches!(got.status, 400 | 421), "{host}: {got:?}");
    }
    assert_eq!(scene.answer(&opened), None);
    for ours in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"] {
        let got = scene.get(&path_of(&opened)).host(&format!("Host: {ours}:{port}")).send();
        assert_eq!(got.status, 200, "{ours}");
    }
}

#[test]
fn a_page_that_is_not_ours() {
    let scene = Scene::new();
    let opened = scene.open("origin");
    let foreign: [&[&str]; 8] = [
        &["Origin: https://evil.example"],
        &["Origin: http://localhost:1"],
        &["Origin: http://localhost"],
        &["Origin: null"],
        &["Origin: null", "Sec-Fetch-Site: cross-site"],
        &["Sec-Fetch-Site: cross-site"],
        &["Sec-Fetch-Site: same-site"],
        &["Origin: \u{e9}"],
    ];
    for headers in foreign {
        let ask = scene.post(&path_of(&opened), "action=approve");
        let got = headers.iter().fold(ask, |ask, header| ask.with(header)).send();
        assert_eq!(got.status, 403, "{headers:?}: {got:?}");
        assert_eq!(scene.answer(&opened), None, "{headers:?}");
    }
}

#[test]
fn our_own_page_and_plain_programs() {
    let scene = Scene::new();
    let ours = format!("Origin: http://localhost:{}", scene.port);
    let good: [&[&str]; 4] = [
        &[&ours, "Sec-Fetch-Site: same-origin"],
        &["Origin: null", "Sec-Fetch-Site: same-origin"],
        &["Sec-Fetch-Site: none"],
        &[],
    ];
    for (at, headers) in good.into_iter().enumerate() {
        let opened = scene.open(&format!("ours {at}"));
        let ask = scene.post(&path_of(&opened), "action=approve");
        let got = headers.iter().fold(ask, |ask, header| ask.with(header)).send();
        assert_eq!(got.status, 200, "{headers:?}: {got:?}");
    }
}

#[test]
fn a_link_in_somebody_elses_page_can_be_opened() {
    let scene = Scene::new();
    let opened = scene.open("link");
    let got = scene.get(&path_of(&opened)).with("Sec-Fetch-Site: cross-site").send();
    assert_eq!(got.status, 200);
}
