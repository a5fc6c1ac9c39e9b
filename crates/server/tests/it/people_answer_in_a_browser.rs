//! The pages in a real browser, with its own rules about forms, cookies and policies.

use base64::Engine as _;
use gambrel_model::ticket::{AnswerKind, OpenedTicket, Ticket};
use serde_json::json;

use crate::browser::{Browser, Tab};
use crate::scene::{KEY, Scene, asked, now, path_of, until};

fn link(scene: &Scene, opened: &OpenedTicket) -> String {
    format!("{}{}", scene.listening.base(), path_of(opened))
}

fn list(scene: &Scene) -> String {
    format!("{}/?key={}", scene.listening.base(), KEY.replace(' ', "%20"))
}

#[test]
fn they_read_and_approve_and_a_second_click_changes_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::new();
    let opened = scene.open("main");
    let mut tab = browser.open(&link(&scene, &opened));
    for words in ["Run git push for main?", "git push origin main", "s-1", "/home/ada/my project"] {
        tab.reads(words);
    }
    tab.reads("in 59 minutes");
    let styled = tab.run("getComputedStyle(document.querySelector('.card')).borderRadius");
    assert_ne!(styled, "0px", "the style sheet was not used");
    tab.click("button.approve");
    tab.reads("Approved");
    tab.reads("By the bearer of the link");
    assert_eq!(scene.answer(&opened).unwrap().action, "approve");
    let first = scene.answer(&opened);
    let again = "(() => { const again = new XMLHttpRequest(); \
        again.open('POST', location.href, false); \
        again.send('action=reject'); return again.status; })()";
    assert_eq!(tab.run(again), 409);
    tab.go(&link(&scene, &opened));
    tab.reads("Approved");
    assert_eq!(scene.answer(&opened), first);
}

#[test]
fn they_reject_with_a_message() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::new();
    let opened = scene.open("message");
    let mut tab = browser.open(&link(&scene, &opened));
    tab.type_into("textarea", "Not on a Friday — \"ask\" <again> & again");
    tab.click("button.reject");
    tab.reads("Rejected");
    tab.reads("Not on a Friday — \"ask\" <again> & again");
    let answer = scene.answer(&opened).unwrap();
    assert_eq!(answer.action, "reject");
    assert_eq!(answer.message, "Not on a Friday — \"ask\" <again> & again");
}

#[test]
fn they_choose_one_of_several_or_dismiss() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::new();
    let options = ["staging", "production <eu> & \"us\"", "nowhere"].map(str::to_owned);
    let wants = AnswerKind::Choice(options.to_vec());
    let opened = scene.open_with(Ticket { wants: wants.clone(), ..asked("where") });
    let mut tab = browser.open(&link(&scene, &opened));
    tab.reads("production <eu> & \"us\"");
    // Nothing is chosen yet, so the browser itself keeps the answer back.
    tab.click("button.approve");
    assert_eq!(scene.answer(&opened), None);
    tab.click(".option:nth-of-type(2) input");
    tab.click("button.approve");
    tab.reads("Answered");
    let answer = scene.answer(&opened).unwrap();
    assert_eq!((answer.action.as_str(), &answer.message), ("approve", &options[1]));
    let other = scene.open_with(Ticket { wants, ..asked("again") });
    tab.go(&link(&scene, &other));
    tab.click("button.reject");
    tab.reads("Dismissed");
    assert_eq!(scene.answer(&other).unwrap().action, "reject");
}

#[test]
fn they_write_a_line_or_change_a_text() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::new();
    let line =
        scene.open_with(Ticket { wants: AnswerKind::Line("a name".into()), ..asked("line") });
    let mut tab = browser.open(&link(&scene, &line));
    tab.type_into("input[name=message]", "night <build>");
    tab.click("button.approve");
    tab.reads("Answered");
    assert_eq!(scene.answer(&line).unwrap().message, "night <build>");
    let there = "first\nsecond </textarea>";
    let text = scene.open_with(Ticket { wants: AnswerKind::Text(there.into()), ..asked("text") });
    tab.go(&link(&scene, &text));
    tab.click("button.approve");
    tab.reads("Answered");
    assert_eq!(scene.answer(&text).unwrap().message, there);
}

#[test]
fn the_second_of_two_is_told_who_was_first() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::new();
    let opened = scene.open("two");
    let mut tab = browser.open(&link(&scene, &opened));
    tab.reads("Waiting for you");
    scene.post(&path_of(&opened), "action=reject&message=too+soon").send();
    tab.click("button.approve");
    tab.reads("Another answer came first");
    tab.reads("Rejected");
    tab.reads("too soon");
    assert_eq!(scene.answer(&opened).unwrap().action, "reject");
}

#[test]
fn the_button_that_the_link_names_has_the_focus() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::new();
    let opened = scene.open("focus");
    let mut tab = browser.open(&format!("{}?action=reject", link(&scene, &opened)));
    until("the button has the focus", || {
        (tab.run("document.activeElement.value") == "reject").then_some(())
    });
    assert_eq!(scene.answer(&opened), None);
    let key = |kind: &str| {
        json!({ "type": kind, "key": "Enter", "code": "Enter", "text": "\r",
            "windowsVirtualKeyCode": 13 })
    };
    tab.call("Input.dispatchKeyEvent", key("keyDown"));
    tab.call("Input.dispatchKeyEvent", key("keyUp"));
    tab.reads("Rejected");
}

#[test]
fn late_and_wrong_links_say_so() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::new();
    let opened = scene.open_with(Ticket { expires: now() + 20, ..asked("late") });
    until("it expires", || (now() > opened.ticket.expires).then_some(()));
    let mut tab = browser.open(&link(&scene, &opened));
    tab.reads("Expired");
    assert_eq!(tab.run("document.querySelectorAll('form').length"), 0);
    tab.go(&format!("{}/callback/wrong", scene.listening.base()));
    tab.reads("No such question");
    tab.go(&format!("{}/", scene.listening.base()));
    tab.reads("gambrel serve");
}

#[test]
fn a_question_that_expires_while_it_is_looked_at_cannot_be_answered() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::new();
    let opened = scene.open_with(Ticket { expires: now() + 20_000, ..asked("soon") });
    let mut tab = browser.open(&link(&scene, &opened));
    assert_eq!(tab.run("document.querySelector('button').disabled"), false);
    // The page's clock is put forward, not the test's.
    tab.run("{ const then = Date.now() + 30000; Date.now = () => then; }");
    until("the buttons are off", || {
        (tab.run("document.querySelector('button').disabled") == true).then_some(())
    });
}

#[test]
fn the_list_shows_what_comes_and_keeps_what_is_typed() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::with_list();
    let mut tab = browser.open(&list(&scene));
    tab.reads("Nothing waits for you");
    assert_eq!(tab.run("location.search"), "", "the key stays in the address");
    let first = scene.open("first");
    tab.reads("git push for first");
    assert!(!tab.text().contains("Nothing waits"));
    let card = format!("#ticket-{}", first.ticket.id);
    tab.type_into(&format!("{card} textarea"), "half a thought");
    let second = scene.open("second");
    tab.reads("git push for second");
    let typed = tab.run(&format!("document.querySelector('{card} textarea').value"));
    assert_eq!(typed, "half a thought");
    scene.post(&path_of(&second), "action=reject").send();
    tab.reads("Rejected");
    tab.click(&format!("{card} button.approve"));
    tab.reads("Nothing waits for you");
    tab.reads("By the approvals page");
    assert_eq!(scene.answer(&first).unwrap().message, "half a thought");
}

/// Draws the pictures of the documentation anew: `cargo test -p gambrel-server -- --ignored`.
#[test]
#[ignore = "writes docs/*.png"]
fn draws_the_pictures() {
    let Some(mut browser) = Browser::start() else { return };
    let scene = Scene::with_list();
    let diff = "diff --git a/src/pay.rs b/src/pay.rs\n@@ -41,7 +41,7 @@ fn total(cart: &Cart)\n     \
        let sum = cart.lines().map(Line::price).sum();\n-    sum + shipping(cart)\n+    sum + \
        shipping(cart) - discount(cart)\n }\n";
    let shown = [("Tool", "Bash"), ("Command", "git push origin main"), ("Changes", diff)];
    let opened = scene.open_with(Ticket {
        title: "Push two commits to main?".into(),
        session: "b7c1f0de".into(),
        project: "/home/ada/shop".into(),
        shown: shown.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
        ..asked("picture")
    });
    let mut tab = browser.open(&link(&scene, &opened));
    picture(&mut tab, "light", 760, "approval-light.png");
    let mut tab = browser.open(&list(&scene));
    tab.reads("Push two commits");
    picture(&mut tab, "dark", 390, "approval-dark-phone.png");
}

fn picture(tab: &mut Tab<'_>, scheme: &str, width: u32, name: &str) {
    let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
    tab.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
    let size = json!({ "width": width, "height": 600, "deviceScaleFactor": 1.5, "mobile": true });
    tab.call("Emulation.setDeviceMetricsOverride", size);
    let height = tab.run("document.documentElement.scrollHeight");
    let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
    let shot = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
    let shot = tab.call("Page.captureScreenshot", shot);
    let bytes = base64::engine::general_purpose::STANDARD.decode(shot["data"].as_str().unwrap());
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::create_dir_all(&docs).unwrap();
    std::fs::write(docs.join(name), bytes.unwrap()).unwrap();
}
