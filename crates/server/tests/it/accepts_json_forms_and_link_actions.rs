//! Answers come as JSON, as a form, or as an action in the link; other requests get help.

use crate::fixture::{ServerFixture, path_of};

#[test]
fn keeps_posted_json_unchanged() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("json");
    let body = "{ \"action\": \"approve\", \"message\": \"Looks good\", \"build\": [1, 2] }";
    let got =
        fixture.post(&path_of(&opened), body).with_header("Content-Type: application/json").send();
    assert_eq!(got.status, 200, "{got:?}");
    assert_eq!(got.json()["status"], "recorded");
    assert_eq!(got.json()["action"], "approve");
    let answer = fixture.answer_of(&opened).unwrap();
    assert_eq!((answer.action.as_str(), answer.message.as_str()), ("approve", "Looks good"));
    assert_eq!(answer.body, body);
    assert_eq!(answer.by, "bearer of the link");
    assert!(answer.at >= opened.ticket.at);
}

#[test]
fn converts_a_form_to_json() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("form");
    let got = fixture.post(&path_of(&opened), "action=reject&message=not+%22now%22").send();
    assert_eq!(got.status, 200, "{got:?}");
    let answer = fixture.answer_of(&opened).unwrap();
    assert_eq!(answer.message, "not \"now\"");
    assert_eq!(answer.body, r#"{"action":"reject","message":"not \"now\""}"#);
}

#[test]
fn accepts_an_action_in_the_link() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("word");
    let got = fixture.post(&format!("{}?action=continue", path_of(&opened)), "").send();
    assert_eq!(got.json()["action"], "continue");
    assert_eq!(fixture.answer_of(&opened).unwrap().body, r#"{"action":"continue"}"#);
}

#[test]
fn accepts_a_token_in_the_query() {
    let fixture = ServerFixture::new();
    for (at, separator) in ["?", "&"].into_iter().enumerate() {
        let opened = fixture.open_ticket(&format!("query {at}"));
        let link = format!("/callback?token={}{separator}action=approve", opened.token);
        assert_eq!(fixture.get(&link).send().status, 200);
        assert_eq!(fixture.answer_of(&opened), None);
        assert_eq!(fixture.post(&link, "").send().status, 200);
        assert_eq!(fixture.answer_of(&opened).unwrap().action, "approve");
    }
}

#[test]
fn answers_browsers_with_a_page() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("person");
    let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
    let got = fixture.post(&path_of(&opened), "action=approve").with_header(browser).send();
    assert_eq!(got.status, 200);
    assert!(got.header("content-type").unwrap().starts_with("text/html"), "{got:?}");
    assert!(got.body.contains("Approved") && got.body.contains("bearer of the link"), "{got:?}");
    let again = fixture.post(&path_of(&opened), "action=reject").with_header(browser).send();
    assert_eq!(again.status, 409);
    assert!(again.body.contains("Approved") && again.body.contains("came first"), "{again:?}");
}

#[test]
fn explains_answers_without_an_action() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("nothing");
    for body in ["", "{}", "{", "[]", "{\"action\":7}", "action=", "message=hello", "action=%07"] {
        let got = fixture.post(&path_of(&opened), body).send();
        assert_eq!(got.status, 400, "{body}: {got:?}");
        assert!(got.json()["help"].as_str().unwrap().contains("\"action\":\"approve\""));
    }
    assert_eq!(fixture.answer_of(&opened), None);
}

#[test]
fn accepts_bodies_up_to_64_kib() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("long");
    let body = |length: usize| {
        let start = "action=approve&message=";
        format!("{start}{}", "x".repeat(length - start.len()))
    };
    let got = fixture.post(&path_of(&opened), &body((64 << 10) + 1)).send();
    assert_eq!(got.status, 413, "{got:?}");
    assert_eq!(fixture.answer_of(&opened), None);
    assert_eq!(fixture.post(&path_of(&opened), &body(64 << 10)).send().status, 200);
    assert!(fixture.answer_of(&opened).unwrap().message.len() > 65_000);
}
