//! The pages in a real browser, with its own rules about forms, cookies and policies.

use gambrel_model::ticket::{AnswerKind, OpenedTicket, Ticket};

use crate::browser::Browser;
use crate::fixture::{KEY, ServerFixture, new_ticket, now_ms, path_of, wait_until};

fn link(fixture: &ServerFixture, opened: &OpenedTicket) -> String {
    format!("{}{}", fixture.listening.base(), path_of(opened))
}

fn list(fixture: &ServerFixture) -> String {
    format!("{}/?key={}", fixture.listening.base(), KEY.replace(' ', "%20"))
}

#[test]
fn approves_once_in_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("main");
    let mut tab = browser.open(&link(&fixture, &opened));
    for words in ["Run git push for main?", "git push origin main", "s-1", "/home/ada/my project"] {
        tab.wait_for_text(words);
    }
    tab.wait_for_text("in 59 minutes");
    let styled = tab.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius");
    assert_ne!(styled, "0px", "the style sheet was not used");
    tab.click("button.approve");
    tab.wait_for_text("Approved");
    tab.wait_for_text("By the bearer of the link");
    assert_eq!(fixture.answer_of(&opened).unwrap().action, "approve");
    let first = fixture.answer_of(&opened);
    let again = "(() => { const again = new XMLHttpRequest(); \
        again.open('POST', location.href, false); \
        again.send('action=reject'); return again.status; })()";
    assert_eq!(tab.evaluate(again), 409);
    tab.navigate(&link(&fixture, &opened));
    tab.wait_for_text("Approved");
    assert_eq!(fixture.answer_of(&opened), first);
}

#[test]
fn rejects_with_a_message() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("message");
    let mut tab = browser.open(&link(&fixture, &opened));
    tab.type_into("textarea", "Not on a Friday — \"ask\" <again> & again");
    tab.click("button.reject");
    tab.wait_for_text("Rejected");
    tab.wait_for_text("Not on a Friday — \"ask\" <again> & again");
    let answer = fixture.answer_of(&opened).unwrap();
    assert_eq!(answer.action, "reject");
    assert_eq!(answer.message, "Not on a Friday — \"ask\" <again> & again");
}

#[test]
fn chooses_an_option_or_dismisses() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let options = ["staging", "production <eu> & \"us\"", "nowhere"].map(str::to_owned);
    let wants = AnswerKind::Choice(options.to_vec());
    let opened = fixture.open_ticket_with(Ticket { wants: wants.clone(), ..new_ticket("where") });
    let mut tab = browser.open(&link(&fixture, &opened));
    tab.wait_for_text("production <eu> & \"us\"");
    // No option is selected yet, so the browser itself blocks the form.
    tab.click("button.approve");
    assert_eq!(fixture.answer_of(&opened), None);
    tab.click(".option:nth-of-type(2) input");
    tab.click("button.approve");
    tab.wait_for_text("Answered");
    let answer = fixture.answer_of(&opened).unwrap();
    assert_eq!((answer.action.as_str(), &answer.message), ("approve", &options[1]));
    let other = fixture.open_ticket_with(Ticket { wants, ..new_ticket("again") });
    tab.navigate(&link(&fixture, &other));
    tab.click("button.reject");
    tab.wait_for_text("Dismissed");
    assert_eq!(fixture.answer_of(&other).unwrap().action, "reject");
}

#[test]
fn enters_a_line_or_edits_a_text() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let line = fixture.open_ticket_with(Ticket {
        wants: AnswerKind::Line("a name".into()),
        ..new_ticket("line")
    });
    let mut tab = browser.open(&link(&fixture, &line));
    tab.type_into("input[name=message]", "night <build>");
    tab.click("button.approve");
    tab.wait_for_text("Answered");
    assert_eq!(fixture.answer_of(&line).unwrap().message, "night <build>");
    let there = "first\nsecond </textarea>";
    let text = fixture
        .open_ticket_with(Ticket { wants: AnswerKind::Text(there.into()), ..new_ticket("text") });
    tab.navigate(&link(&fixture, &text));
    tab.click("button.approve");
    tab.wait_for_text("Answered");
    assert_eq!(fixture.answer_of(&text).unwrap().message, there);
}

#[test]
fn shows_the_first_answer_to_the_second_user() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("two");
    let mut tab = browser.open(&link(&fixture, &opened));
    tab.wait_for_text("Waiting for you");
    fixture.post(&path_of(&opened), "action=reject&message=too+soon").send();
    tab.click("button.approve");
    tab.wait_for_text("Another answer came first");
    tab.wait_for_text("Rejected");
    tab.wait_for_text("too soon");
    assert_eq!(fixture.answer_of(&opened).unwrap().action, "reject");
}

/// Neither the link nor Enter in a field answers: that takes a press of a button.
#[test]
fn answers_only_by_a_press_of_a_button() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket("focus");
    let mut tab = browser.open(&format!("{}?action=approve", link(&fixture, &opened)));
    tab.wait_for_text("Waiting for you");
    assert_eq!(tab.evaluate("document.activeElement === document.body"), true);
    tab.press_enter();
    tab.type_into("textarea", "thinking");
    tab.press_enter();
    tab.type_into("textarea", "aloud");
    assert_eq!(tab.evaluate("document.querySelector('textarea').value"), "thinking\naloud");
    assert_eq!(fixture.answer_of(&opened), None);

    let wants = AnswerKind::Line(String::new());
    let line = fixture.open_ticket_with(Ticket { wants, ..new_ticket("line") });
    tab.navigate(&link(&fixture, &line));
    tab.type_into("input[name=message]", "a name");
    tab.press_enter();
    // The page would have changed by now: the server is on this machine.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(fixture.answer_of(&line), None);
    tab.click("button.approve");
    tab.wait_for_text("Answered");
    assert_eq!(fixture.answer_of(&line).unwrap().message, "a name");
}

#[test]
fn shows_the_history_of_answers() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::with_list();
    for number in 1..=7 {
        let opened = fixture.open_ticket(&format!("question {number}"));
        let answer = format!("action=approve&message=answer+{number}");
        fixture.post(&path_of(&opened), &answer).send();
    }
    let expires = now_ms() + 20;
    fixture.open_ticket_with(Ticket { expires, ..new_ticket("nobody") });
    let mut tab = browser.open(&list(&fixture));
    tab.wait_for_text("answer 7");
    assert!(!tab.text().contains("answer 2"), "only the latest are on the first page");
    tab.click("#past-more a");
    tab.wait_for_text("Earlier questions");
    for words in ["answer 1", "answer 7", "git push for nobody", "Expired"] {
        tab.wait_for_text(words);
    }
    tab.click("article:nth-of-type(2) summary");
    tab.wait_for_text("git push origin main");
}

#[test]
fn shows_late_and_wrong_links() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket_with(Ticket { expires: now_ms() + 20, ..new_ticket("late") });
    wait_until("it expires", || (now_ms() > opened.ticket.expires).then_some(()));
    let mut tab = browser.open(&link(&fixture, &opened));
    tab.wait_for_text("Expired");
    assert_eq!(tab.evaluate("document.querySelectorAll('form').length"), 0);
    tab.navigate(&format!("{}/callback/wrong", fixture.listening.base()));
    tab.wait_for_text("No such question");
    tab.navigate(&format!("{}/", fixture.listening.base()));
    tab.wait_for_text("gambrel serve");
}

#[test]
fn disables_buttons_at_expiry() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let opened =
        fixture.open_ticket_with(Ticket { expires: now_ms() + 20_000, ..new_ticket("soon") });
    let mut tab = browser.open(&link(&fixture, &opened));
    assert_eq!(tab.evaluate("document.querySelector('button.approve').disabled"), false);
    // Moves the page's clock forward, not the test's.
    tab.evaluate("{ const then = Date.now() + 30000; Date.now = () => then; }");
    wait_until("the buttons are off", || {
        (tab.evaluate("document.querySelector('button.approve').disabled") == true).then_some(())
    });
}

#[test]
fn updates_the_list_and_keeps_typed_text() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::with_list();
    let mut tab = browser.open(&list(&fixture));
    tab.wait_for_text("Nothing waits for you");
    assert_eq!(tab.evaluate("location.search"), "", "the key stays in the address");
    let first = fixture.open_ticket("first");
    tab.wait_for_text("git push for first");
    assert!(!tab.text().contains("Nothing waits"));
    let card = format!("#ticket-{}", first.ticket.id);
    tab.type_into(&format!("{card} textarea"), "half a thought");
    let second = fixture.open_ticket("second");
    tab.wait_for_text("git push for second");
    let typed = tab.evaluate(&format!("document.querySelector('{card} textarea').value"));
    assert_eq!(typed, "half a thought");
    fixture.post(&path_of(&second), "action=reject").send();
    tab.wait_for_text("Rejected");
    tab.click(&format!("{card} button.approve"));
    tab.wait_for_text("Nothing waits for you");
    tab.wait_for_text("By the approvals page");
    assert_eq!(fixture.answer_of(&first).unwrap().message, "half a thought");
}
