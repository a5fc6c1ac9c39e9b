//! A question that is over takes no answer, and says so.

use gambrel_model::ticket::Ticket;

use crate::scene::{Scene, asked, now, path_of, until};

#[test]
fn after_its_time() {
    let scene = Scene::new();
    let opened = scene.open_with(Ticket { expires: now() + 30, ..asked("late") });
    until("it expires", || (now() > opened.ticket.expires).then_some(()));
    let got = scene.post(&path_of(&opened), "action=approve").send();
    assert_eq!((got.status, &got.json()["status"]), (410, &"expired".into()), "{got:?}");
    // Over is over, also for an answer that says nothing.
    assert_eq!(scene.post(&path_of(&opened), "").send().status, 410);
    let page = scene.get(&path_of(&opened)).send();
    assert_eq!(page.status, 410);
    assert!(page.body.contains("Expired") && !page.body.contains("<form"), "{page:?}");
    assert_eq!(scene.answer(&opened), None);
}

#[test]
fn when_nobody_waits_any_more() {
    let scene = Scene::new();
    let opened = scene.open("given up");
    scene.desk.ledger.update_ticket(&opened.ticket.id, &mut |ticket| ticket.spent = true).unwrap();
    assert_eq!(scene.post(&path_of(&opened), "action=approve").send().status, 410);
    assert_eq!(scene.answer(&opened), None);
}
