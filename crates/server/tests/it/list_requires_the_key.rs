//! The list of open approvals needs the key.

use crate::fixture::{KEY, ServerFixture, path_of};

#[test]
fn shows_no_list_without_a_key() {
    let fixture = ServerFixture::new();
    fixture.open_ticket("concealed");
    for ask in [
        fixture.get("/"),
        fixture.get("/events"),
        fixture.get("/").with_header("Cookie: gambrel_1="),
    ] {
        let got = ask.with_header("Accept: text/html").send();
        assert_eq!(got.status, 404);
        assert!(got.body.contains("gambrel serve") && !got.body.contains("concealed"), "{got:?}");
    }
    assert_eq!(fixture.get("/?key=").send().status, 404);
    assert!(fixture.get("/?key=").send().header("set-cookie").is_none());
}

#[test]
fn replaces_the_key_by_a_cookie() {
    let fixture = ServerFixture::with_list();
    let opened = fixture.open_ticket("shown");
    let wrong = fixture.get("/?key=wrong").send();
    assert_eq!((wrong.status, wrong.header("set-cookie")), (404, None));
    let right = fixture.get(&format!("/?key={}", KEY.replace(' ', "+"))).send();
    assert_eq!((right.status, right.header("location")), (303, Some("/")));
    let cookie = right.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(KEY), "{cookie}");
    let list = fixture.get("/").with_header(&fixture.cookie()).send();
    assert_eq!(list.status, 200);
    assert!(list.body.contains("git push for shown"), "{list:?}");
    assert!(!list.body.contains(&opened.token), "{list:?}");
    let port = fixture.port;
    for bad in [format!("gambrel_{port}=x"), format!("gambrel_{port}="), "gambrel_1=x".to_owned()] {
        assert_eq!(
            fixture.get("/").with_header(&format!("Cookie: {bad}")).send().status,
            404,
            "{bad}"
        );
    }
}

#[test]
fn answers_from_the_list_need_the_cookie() {
    let fixture = ServerFixture::with_list();
    let opened = fixture.open_ticket("answer");
    let cookie = fixture.cookie();
    let path = format!("/approvals/{}", opened.ticket.id);
    assert_eq!(fixture.post(&path, "action=approve").send().status, 404);
    let foreign = fixture
        .post(&path, "action=approve")
        .with_header(&cookie)
        .with_header("Origin: http://x.example");
    assert_eq!(foreign.send().status, 403);
    assert_eq!(fixture.get(&path).with_header(&cookie).send().status, 405);
    assert_eq!(fixture.post(&path, "").with_header(&cookie).send().status, 400);
    assert_eq!(
        fixture.post("/approvals/0", "action=approve").with_header(&cookie).send().status,
        404
    );
    assert_eq!(fixture.answer_of(&opened), None);
    let person = fixture
        .post(&path, "action=approve")
        .with_header(&cookie)
        .with_header("Accept: text/html")
        .send();
    assert_eq!((person.status, person.header("location")), (303, Some("/")));
    assert_eq!(fixture.answer_of(&opened).unwrap().by, "approvals page");
    assert_eq!(fixture.post(&path, "action=reject").with_header(&cookie).send().status, 409);
    assert_eq!(fixture.post(&path_of(&opened), "action=reject").send().status, 409);
    let list = fixture.get("/").with_header(&cookie).send().body;
    assert!(list.contains("Nothing waits for you") && list.contains("Approved"), "{list}");
}

#[test]
fn limits_wrong_keys() {
    let fixture = ServerFixture::with_list();
    let tried: Vec<u16> =
        (0..12).map(|n| fixture.get(&format!("/?key={n}")).send().status).collect();
    assert_eq!(tried[..10], [404; 10]);
    assert_eq!(tried[10..], [429; 2]);
    assert!(fixture.cookie().contains("gambrel_"));
}
