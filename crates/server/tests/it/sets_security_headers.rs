//! Every response forbids framing, caching, referrers and foreign content.

use crate::fixture::{ServerFixture, path_of};

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

#[test]
fn sets_security_headers_on_every_response() {
    let fixture = ServerFixture::with_list();
    let opened = fixture.open_ticket("guards");
    let cookie = fixture.cookie();
    let asks = [
        fixture.get("/healthz"),
        fixture.get("/style.css"),
        fixture.get("/app.js"),
        fixture.get("/"),
        fixture.get("/").with_header(&cookie),
        fixture.get("/?key=wrong"),
        fixture.get("/nowhere"),
        fixture.get("/callback/wrong"),
        fixture.get(&path_of(&opened)),
        fixture.get("/").with_host("Host: evil.example"),
        fixture.post("/", ""),
        fixture.post(&path_of(&opened), ""),
        fixture.post(&path_of(&opened), "action=approve"),
    ];
    for ask in asks {
        let got = ask.send();
        assert_eq!(got.header("content-security-policy"), Some(POLICY), "{got:?}");
        assert_eq!(got.header("cache-control"), Some("no-store"), "{got:?}");
        assert_eq!(got.header("referrer-policy"), Some("no-referrer"), "{got:?}");
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"), "{got:?}");
        assert_eq!(got.header("access-control-allow-origin"), None, "{got:?}");
    }
}

#[test]
fn pages_have_no_foreign_or_inline_content() {
    let fixture = ServerFixture::with_list();
    let opened = fixture.open_ticket("guards");
    let cookie = fixture.cookie();
    for ask in [fixture.get(&path_of(&opened)), fixture.get("/").with_header(&cookie)] {
        let page = ask.send().body;
        assert!(
            page.contains("<html lang=\"en\">") && page.contains("name=\"viewport\""),
            "{page}"
        );
        for bad in ["http://", "https://", " style=", " onclick", "<style", "javascript:"] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
        assert_eq!(page.matches("<script").count(), 1, "{page}");
    }
}
