//! Previews, scanners and prefetching read links in many ways; none of them answers.

use crate::fixture::{ServerFixture, path_of};

#[test]
fn reading_methods_never_answer() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("look");
    let path = path_of(&opened);
    let links = [path.clone(), format!("{path}?action=approve"), format!("{path}?action=reject")];
    for link in &links {
        for method in ["GET", "HEAD", "OPTIONS"] {
            let ask = crate::http_client::TestRequest::new(fixture.port, method, link);
            let got = ask.with_header("Purpose: prefetch").send();
            let expected = if method == "OPTIONS" { 405 } else { 200 };
            assert_eq!(got.status, expected, "{method} {link}: {got:?}");
            assert_eq!(fixture.answer_of(&opened), None, "{method} {link}");
        }
        for method in ["PUT", "DELETE", "PATCH", "TRACE", "ANY"] {
            let got = crate::http_client::TestRequest::new(fixture.port, method, link).send();
            assert_eq!(got.status, 405, "{method} {link}");
        }
    }
    assert_eq!(fixture.answer_of(&opened), None);
    assert_eq!(fixture.post(&path, "action=approve").send().status, 200);
}

#[test]
fn offers_the_word_of_the_link_without_focus() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("offer");
    let page = |query: &str| fixture.get(&format!("{}{query}", path_of(&opened))).send().body;
    assert!(page("?action=continue").contains("value=\"continue\">continue</button>"));
    for query in ["", "?action=approve", "?action=reject", "?action=continue"] {
        assert!(!page(query).contains("autofocus"), "{query}");
    }
}

#[test]
fn shows_the_answer_of_an_answered_question() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("shown");
    fixture.post(&path_of(&opened), "action=reject&message=not+on+a+Friday").send();
    let page = fixture.get(&path_of(&opened)).send();
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<p class=\"state rejected\" role=\"status\">Rejected</p>"));
    assert!(page.body.contains("Rejected") && page.body.contains("not on a Friday"), "{page:?}");
    assert!(!page.body.contains("<form"), "{page:?}");
}
