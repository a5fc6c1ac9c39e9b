//! Every answer forbids framing, caching, referrers and anything from elsewhere.

use crate::scene::{Scene, path_of};

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

#[test]
fn good_and_bad_ones_alike() {
    let scene = Scene::with_list();
    let opened = scene.open("guards");
    let cookie = scene.cookie();
    let asks = [
        scene.get("/healthz"),
        scene.get("/style.css"),
        scene.get("/app.js"),
        scene.get("/"),
        scene.get("/").with(&cookie),
        scene.get("/?key=wrong"),
        scene.get("/nowhere"),
        scene.get("/callback/wrong"),
        scene.get(&path_of(&opened)),
        scene.get("/").host("Host: evil.example"),
        scene.post("/", ""),
        scene.post(&path_of(&opened), ""),
        scene.post(&path_of(&opened), "action=approve"),
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
fn pages_load_nothing_from_elsewhere_and_have_no_code_of_their_own() {
    let scene = Scene::with_list();
    let opened = scene.open("guards");
    let cookie = scene.cookie();
    for ask in [scene.get(&path_of(&opened)), scene.get("/").with(&cookie)] {
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
