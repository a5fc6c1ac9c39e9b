//! Previews, scanners and prefetching look at links in every way they know; nothing comes of it.

use crate::scene::{Scene, path_of};

#[test]
fn whatever_the_method_that_only_looks() {
    let scene = Scene::new();
    let opened = scene.open("look");
    let path = path_of(&opened);
    let links = [path.clone(), format!("{path}?action=approve"), format!("{path}?action=reject")];
    for link in &links {
        for method in ["GET", "HEAD", "OPTIONS"] {
            let ask = crate::caller::Ask::new(scene.port, method, link);
            let got = ask.with("Purpose: prefetch").send();
            let expected = if method == "OPTIONS" { 405 } else { 200 };
            assert_eq!(got.status, expected, "{method} {link}: {got:?}");
            assert_eq!(scene.answer(&opened), None, "{method} {link}");
        }
        for method in ["PUT", "DELETE", "PATCH", "TRACE", "ANY"] {
            let got = crate::caller::Ask::new(scene.port, method, link).send();
            assert_eq!(got.status, 405, "{method} {link}");
        }
    }
    assert_eq!(scene.answer(&opened), None);
    assert_eq!(scene.post(&path, "action=approve").send().status, 200);
}

#[test]
fn the_page_offers_what_the_link_names() {
    let scene = Scene::new();
    let opened = scene.open("offer");
    let page = |query: &str| scene.get(&format!("{}{query}", path_of(&opened))).send().body;
    assert!(page("?action=reject").contains("value=\"reject\" autofocus"));
    assert!(page("?action=approve").contains("value=\"approve\" autofocus"));
    assert!(page("?action=continue").contains("value=\"continue\" autofocus"));
    assert!(!page("").contains("autofocus"));
}

#[test]
fn an_answered_one_shows_its_answer() {
    let scene = Scene::new();
    let opened = scene.open("shown");
    scene.post(&path_of(&opened), "action=reject&message=not+on+a+Friday").send();
    let page = scene.get(&path_of(&opened)).send();
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<p class=\"state rejected\" role=\"status\">Rejected</p>"));
    assert!(page.body.contains("Rejected") && page.body.contains("not on a Friday"), "{page:?}");
    assert!(!page.body.contains("<form"), "{page:?}");
}
