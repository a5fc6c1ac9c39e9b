//! A closed question rejects answers and says so.

use gambrel_model::ticket::Ticket;

use crate::fixture::{ServerFixture, new_ticket, now_ms, path_of, wait_until};

#[test]
fn rejects_answers_after_expiry() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket_with(Ticket { expires: now_ms() + 30, ..new_ticket("late") });
    wait_until("it expires", || (now_ms() > opened.ticket.expires).then_some(()));
    let got = fixture.post(&path_of(&opened), "action=approve").send();
    assert_eq!((got.status, &got.json()["status"]), (410, &"expired".into()), "{got:?}");
    // This also holds for an answer without an action.
    assert_eq!(fixture.post(&path_of(&opened), "").send().status, 410);
    let page = fixture.get(&path_of(&opened)).send();
    assert_eq!(page.status, 410);
    assert!(page.body.contains("Expired") && !page.body.contains("<form"), "{page:?}");
    assert_eq!(fixture.answer_of(&opened), None);
}

#[test]
fn rejects_answers_to_spent_tickets() {
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("given up");
    fixture
        .config
        .ledger
        .update_ticket(&opened.ticket.id, &mut |ticket| ticket.spent = true)
        .unwrap();
    assert_eq!(fixture.post(&path_of(&opened), "action=approve").send().status, 410);
    assert_eq!(fixture.answer_of(&opened), None);
}
