//! Pages of other sites and foreign host names can neither read nor act.

use crate::fixture::{ServerFixture, path_of};

#[test]
fn refuses_foreign_host_names() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("host");
    let port = fixture.port;
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
            let got = fixture.get(path).with_host(host).send();
            assert!(matches!(got.status, 400 | 421), "{host} {path}: {got:?}");
        }
        let got = fixture.post(&path_of(&opened), "action=approve").with_host(host).send();
        assert!(matches!(got.status, 400 | 421), "{host}: {got:?}");
    }
    assert_eq!(fixture.answer_of(&opened), None);
    for ours in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"] {
        let got = fixture.get(&path_of(&opened)).with_host(&format!("Host: {ours}:{port}")).send();
        assert_eq!(got.status, 200, "{ours}");
    }
}

#[test]
fn refuses_posts_of_foreign_pages() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("origin");
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
        let ask = fixture.post(&path_of(&opened), "action=approve");
        let got = headers.iter().fold(ask, |ask, header| ask.with_header(header)).send();
        assert_eq!(got.status, 403, "{headers:?}: {got:?}");
        assert_eq!(fixture.answer_of(&opened), None, "{headers:?}");
    }
}

#[test]
fn accepts_own_pages_and_programs() {
    let fixture = ServerFixture::new();
    let ours = format!("Origin: http://localhost:{}", fixture.port);
    let good: [&[&str]; 4] = [
        &[&ours, "Sec-Fetch-Site: same-origin"],
        &["Origin: null", "Sec-Fetch-Site: same-origin"],
        &["Sec-Fetch-Site: none"],
        &[],
    ];
    for (at, headers) in good.into_iter().enumerate() {
        let opened = fixture.open_ticket(&format!("ours {at}"));
        let ask = fixture.post(&path_of(&opened), "action=approve");
        let got = headers.iter().fold(ask, |ask, header| ask.with_header(header)).send();
        assert_eq!(got.status, 200, "{headers:?}: {got:?}");
    }
}

#[test]
fn opens_links_from_foreign_pages() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("link");
    let got = fixture.get(&path_of(&opened)).with_header("Sec-Fetch-Site: cross-site").send();
    assert_eq!(got.status, 200);
}
