//! Every open approval in one place, for one who has the key and for nobody else.

use crate::scene::{KEY, Scene, path_of};

#[test]
fn without_one_there_is_no_list() {
    let scene = Scene::new();
    scene.open("concealed");
    for ask in [scene.get("/"), scene.get("/events"), scene.get("/").with("Cookie: gambrel_1=")] {
        let got = ask.with("Accept: text/html").send();
        assert_eq!(got.status, 404);
        assert!(got.body.contains("gambrel serve") && !got.body.contains("concealed"), "{got:?}");
    }
    assert_eq!(scene.get("/?key=").send().status, 404);
    assert!(scene.get("/?key=").send().header("set-cookie").is_none());
}

#[test]
fn the_key_is_swapped_for_a_cookie() {
    let scene = Scene::with_list();
    let opened = scene.open("shown");
    let wrong = scene.get("/?key=wrong").send();
    assert_eq!((wrong.status, wrong.header("set-cookie")), (404, None));
    let right = scene.get(&format!("/?key={}", KEY.replace(' ', "+"))).send();
    assert_eq!((right.status, right.header("location")), (303, Some("/")));
    let cookie = right.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(KEY), "{cookie}");
    let list = scene.get("/").with(&scene.cookie()).send();
    assert_eq!(list.status, 200);
    assert!(list.body.contains("git push for shown"), "{list:?}");
    assert!(!list.body.contains(&opened.token), "{list:?}");
    let port = scene.port;
    for bad in [format!("gambrel_{port}=x"), format!("gambrel_{port}="), "gambrel_1=x".to_owned()] {
        assert_eq!(scene.get("/").with(&format!("Cookie: {bad}")).send().status, 404, "{bad}");
    }
}

#[test]
fn answers_from_the_list_need_it_too() {
    let scene = Scene::with_list();
    let opened = scene.open("answer");
    let cookie = scene.cookie();
    let path = format!("/approvals/{}", opened.ticket.id);
    assert_eq!(scene.post(&path, "action=approve").send().status, 404);
    let foreign =
        scene.post(&path, "action=approve").with(&cookie).with("Origin: http://x.example");
    assert_eq!(foreign.send().status, 403);
    assert_eq!(scene.get(&path).with(&cookie).send().status, 405);
    assert_eq!(scene.post(&path, "").with(&cookie).send().status, 400);
    assert_eq!(scene.post("/approvals/0", "action=approve").with(&cookie).send().status, 404);
    assert_eq!(scene.answer(&opened), None);
    let person = scene.post(&path, "action=approve").with(&cookie).with("Accept: text/html").send();
    assert_eq!((person.status, person.header("location")), (303, Some("/")));
    assert_eq!(scene.answer(&opened).unwrap().by, "approvals page");
    assert_eq!(scene.post(&path, "action=reject").with(&cookie).send().status, 409);
    assert_eq!(scene.post(&path_of(&opened), "action=reject").send().status, 409);
    let list = scene.get("/").with(&cookie).send().body;
    assert!(list.contains("Nothing waits for you") && list.contains("Approved"), "{list}");
}

#[test]
fn keys_cannot_be_guessed_for_long() {
    let scene = Scene::with_list();
    let tried: Vec<u16> = (0..12).map(|n| scene.get(&format!("/?key={n}")).send().status).collect();
    assert_eq!(tried[..10], [404; 10]);
    assert_eq!(tried[10..], [429; 2]);
    assert!(scene.cookie().contains("gambrel_"));
}
