//! All wrong links get the same response, and only a limited number can be tried.

use crate::fixture::{ServerFixture, path_of};

#[test]
fn answers_all_wrong_links_alike() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("right");
    let mut bent = opened.token.clone();
    bent.replace_range(0..1, if bent.starts_with('A') { "B" } else { "A" });
    let long = "a".repeat(5000);
    let wrong =
        ["x", &opened.token[1..], &bent, &opened.ticket.id, &long, "%ff", "..%2f..%2fsecret"];
    let page = fixture.get("/callback").send().body;
    for token in wrong {
        let got = fixture.get(&format!("/callback/{token}")).send();
        assert_eq!((got.status, &got.body), (404, &page), "{token}");
    }
    let got = fixture.post("/callback/x", "action=approve").send();
    assert_eq!((got.status, &got.json()["status"]), (404, &"unknown".into()), "{got:?}");
    assert_eq!(fixture.answer_of(&opened), None);
}

#[test]
fn limits_wrong_links_but_not_right_ones() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("right");
    for number in 0..10 {
        let got = fixture.post(&format!("/callback/guess{number}"), "action=approve").send();
        assert_eq!(got.status, 404, "{number}");
    }
    for number in 0..20 {
        let got = fixture.post(&format!("/callback/more{number}"), "action=approve").send();
        assert_eq!(got.status, 429, "{number}");
    }
    assert_eq!(fixture.get("/callback/look").send().status, 429);
    assert_eq!(fixture.get(&path_of(&opened)).send().status, 200);
    assert_eq!(fixture.post(&path_of(&opened), "action=approve").send().status, 200);
}
