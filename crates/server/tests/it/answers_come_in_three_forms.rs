//! JSON, a form, or a word in the link; anything else is told what would be right.

use crate::scene::{Scene, path_of};

#[test]
fn json_is_kept_as_it_was_posted() {
    let scene = Scene::new();
    let opened = scene.open("json");
    let body = "{ \"action\": \"approve\", \"message\": \"Looks good\", \"build\": [1, 2] }";
    let got = scene.post(&path_of(&opened), body).with("Content-Type: application/json").send();
    assert_eq!(got.status, 200, "{got:?}");
    assert_eq!(got.json()["status"], "recorded");
    assert_eq!(got.json()["action"], "approve");
    let answer = scene.answer(&opened).unwrap();
    assert_eq!((answer.action.as_str(), answer.message.as_str()), ("approve", "Looks good"));
    assert_eq!(answer.body, body);
    assert_eq!(answer.by, "bearer of the link");
    assert!(answer.at >= opened.ticket.at);
}

#[test]
fn a_form_becomes_json() {
    let scene = Scene::new();
    let opened = scene.open("form");
    let got = scene.post(&path_of(&opened), "action=reject&message=not+%22now%22").send();
    assert_eq!(got.status, 200, "{got:?}");
    let answer = scene.answer(&opened).unwrap();
    assert_eq!(answer.message, "not \"now\"");
    assert_eq!(answer.body, r#"{"action":"reject","message":"not \"now\""}"#);
}

#[test]
fn a_word_in_the_link_is_enough() {
    let scene = Scene::new();
    let opened = scene.open("word");
    let got = scene.post(&format!("{}?action=continue", path_of(&opened)), "").send();
    assert_eq!(got.json()["action"], "continue");
    assert_eq!(scene.answer(&opened).unwrap().body, r#"{"action":"continue"}"#);
}

#[test]
fn the_token_may_be_in_the_query_and_be_appended_to() {
    let scene = Scene::new();
    for (at, separator) in ["?", "&"].into_iter().enumerate() {
        let opened = scene.open(&format!("query {at}"));
        let link = format!("/callback?token={}{separator}action=approve", opened.token);
        assert_eq!(scene.get(&link).send().status, 200);
        assert_eq!(scene.answer(&opened), None);
        assert_eq!(scene.post(&link, "").send().status, 200);
        assert_eq!(scene.answer(&opened).unwrap().action, "approve");
    }
}

#[test]
fn a_person_gets_a_page_and_a_program_gets_json() {
    let scene = Scene::new();
    let opened = scene.open("person");
    let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
    let got = scene.post(&path_of(&opened), "action=approve").with(browser).send();
    assert_eq!(got.status, 200);
    assert!(got.header("content-type").unwrap().starts_with("text/html"), "{got:?}");
    assert!(got.body.contains("Approved") && got.body.contains("bearer of the link"), "{got:?}");
    let again = scene.post(&path_of(&opened), "action=reject").with(browser).send();
    assert_eq!(again.status, 409);
    assert!(again.body.contains("Approved") && again.body.contains("came first"), "{again:?}");
}

#[test]
fn what_says_nothing_is_told_what_would() {
    let scene = Scene::new();
    let opened = scene.open("nothing");
    for body in ["", "{}", "{", "[]", "{\"action\":7}", "action=", "message=hello", "action=%07"] {
        let got = scene.post(&path_of(&opened), body).send();
        assert_eq!(got.status, 400, "{body}: {got:?}");
        assert!(got.json()["help"].as_str().unwrap().contains("\"action\":\"approve\""));
    }
    assert_eq!(scene.answer(&opened), None);
}

#[test]
fn sixty_four_kibibytes_and_no_more() {
    let scene = Scene::new();
    let opened = scene.open("long");
    let body = |length: usize| {
        let start = "action=approve&message=";
        format!("{start}{}", "x".repeat(length - start.len()))
    };
    let got = scene.post(&path_of(&opened), &body((64 << 10) + 1)).send();
    assert_eq!(got.status, 413, "{got:?}");
    assert_eq!(scene.answer(&opened), None);
    assert_eq!(scene.post(&path_of(&opened), &body(64 << 10)).send().status, 200);
    assert!(scene.answer(&opened).unwrap().message.len() > 65_000);
}
