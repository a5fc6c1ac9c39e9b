//! A wrong link says nothing about why it is wrong, and only so many can be tried.

use crate::scene::{Scene, path_of};

#[test]
fn whatever_is_wrong_with_them() {
    let scene = Scene::new();
    let opened = scene.open("right");
    let mut bent = opened.token.clone();
    bent.replace_range(0..1, if bent.starts_with('A') { "B" } else { "A" });
    let long = "a".repeat(5000);
    let wrong =
        ["x", &opened.token[1..], &bent, &opened.ticket.id, &long, "%ff", "..%2f..%2fsecret"];
    let page = scene.get("/callback").send().body;
    for token in wrong {
        let got = scene.get(&format!("/callback/{token}")).send();
        assert_eq!((got.status, &got.body), (404, &page), "{token}");
    }
    let got = scene.post("/callback/x", "action=approve").send();
    assert_eq!((got.status, &got.json()["status"]), (404, &"unknown".into()), "{got:?}");
    assert_eq!(scene.answer(&opened), None);
}

#[test]
fn ten_a_minute_may_be_tried_and_right_ones_always() {
    let scene = Scene::new();
    let opened = scene.open("right");
    for number in 0..10 {
        let got = scene.post(&format!("/callback/guess{number}"), "action=approve").send();
        assert_eq!(got.status, 404, "{number}");
    }
    for number in 0..20 {
        let got = scene.post(&format!("/callback/more{number}"), "action=approve").send();
        assert_eq!(got.status, 429, "{number}");
    }
    assert_eq!(scene.get("/callback/look").send().status, 429);
    assert_eq!(scene.get(&path_of(&opened)).send().status, 200);
    assert_eq!(scene.post(&path_of(&opened), "action=approve").send().status, 200);
}
