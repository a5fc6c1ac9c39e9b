//! Every response forbids framing, caching, referrers and foreign content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gambrel_model::sha256;

use crate::fixture::{ServerFixture, path_of};

/// The policy of a page: it allows exactly the style sheet and the script in it.
fn policy_of(page: &str) -> String {
    let hash = |tag: &str| {
        let (_, rest) = page.split_once(&format!("<{tag}>")).unwrap();
        let (text, _) = rest.split_once(&format!("</{tag}>")).unwrap();
        format!("'sha256-{}'", STANDARD.encode(sha256(text)))
    };
    format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; \
         form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        hash("style"),
        hash("script")
    )
}

#[test]
fn sets_security_headers_on_every_response() {
    let fixture = ServerFixture::with_list();
    let opened = fixture.open_ticket("guards");
    let cookie = fixture.cookie();
    let policy = policy_of(&fixture.get(&path_of(&opened)).send().body);
    let asks = [
        fixture.get("/healthz"),
        fixture.get("/history").with_header(&cookie),
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
        assert_eq!(got.header("content-security-policy"), Some(policy.as_str()), "{got:?}");
        assert_eq!(got.header("cache-control"), Some("no-store"), "{got:?}");
        assert_eq!(got.header("referrer-policy"), Some("no-referrer"), "{got:?}");
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"), "{got:?}");
        assert_eq!(got.header("access-control-allow-origin"), None, "{got:?}");
    }
}

#[test]
fn pages_have_no_foreign_content() {
    let fixture = ServerFixture::with_list();
    let opened = fixture.open_ticket("guards");
    let cookie = fixture.cookie();
    let pages = [
        fixture.get(&path_of(&opened)),
        fixture.get("/").with_header(&cookie),
        fixture.get("/history").with_header(&cookie),
    ];
    for ask in pages {
        let page = ask.send().body;
        assert!(
            page.contains("<html lang=\"en\">") && page.contains("name=\"viewport\""),
            "{page}"
        );
        for bad in ["http://", "https://", " style=", " onclick", "<link", " src=", "javascript:"] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert_eq!(page.matches("<style").count(), 1, "{page}");
    }
}
