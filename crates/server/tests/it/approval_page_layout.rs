//! How the page of a question looks in a real browser: desktop and phone, light and dark.

use std::path::Path;

use gambrel_model::ticket::{OpenedTicket, Ticket};
use gambrel_model::{AnswerEffects, QuestionContext};
use serde_json::Value;

use crate::browser::{Browser, Tab};
use crate::fixture::{KEY, ServerFixture, new_ticket, now_ms, path_of};
use crate::page_layout::{DESKTOP, PHONE, assert_readable, is_too_wide, save_views};

const DIFF: &str = "@@ -41,4 +41,4 @@\n fn total(cart: &Cart) -> Money {\n     let sum = \
    cart.lines().map(Line::price).sum();\n-    sum + shipping(cart)\n+    sum + shipping(cart) - \
    discount(cart)\n }\n";

fn link(fixture: &ServerFixture, opened: &OpenedTicket) -> String {
    format!("{}{}", fixture.listening.base(), path_of(opened))
}

fn list(fixture: &ServerFixture) -> String {
    format!("{}/?key={}", fixture.listening.base(), KEY.replace(' ', "%20"))
}

fn full_ticket(key: &str, context: QuestionContext) -> Ticket {
    let shown = [("At", "on_tool_before"), ("Tool", "Bash"), ("Stage", "release")];
    let effects = AnswerEffects {
        approve: "lets this one call run".into(),
        reject: "blocks the call".into(),
        silence: "gambrel blocks the call".into(),
        reader: "the agent".into(),
    };
    let context = QuestionContext {
        agent: "Claude Code".into(),
        machine: "ada-laptop".into(),
        branch: "release/2.4".into(),
        effects,
        ..context
    };
    Ticket {
        title: "Deploy to production?".into(),
        session: "b7c1f0de".into(),
        project: "/home/ada/shop".into(),
        shown: shown.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
        context,
        ..new_ticket(key)
    }
}

fn command_ticket(key: &str) -> Ticket {
    let context = QuestionContext {
        command: "make deploy ENV=production VERSION=2.4.1".into(),
        why: "Two people look at every deploy.\nThe agent says: Release 2.4.1 after green tests"
            .into(),
        ..QuestionContext::default()
    };
    full_ticket(key, context)
}

fn diff_ticket(key: &str) -> Ticket {
    let context = QuestionContext {
        path: "src/checkout/total.rs".into(),
        diff: DIFF.into(),
        why: "Changes of prices need a look.".into(),
        ..QuestionContext::default()
    };
    Ticket { title: "Change how totals are computed?".into(), ..full_ticket(key, context) }
}

fn call_ticket(key: &str) -> Ticket {
    let shown = [
        ("Tool", "mcp__db__delete_rows"),
        ("input.table", "users"),
        ("input.where", "created_at < '2020-01-01'"),
    ];
    let context =
        QuestionContext { why: "Rows do not come back.".into(), ..QuestionContext::default() };
    Ticket {
        title: "Delete rows?".into(),
        shown: shown.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
        ..full_ticket(key, context)
    }
}

/// The distance of an element's top and bottom from the top of the window.
fn edges(tab: &mut Tab<'_>, selector: &str) -> (f64, f64) {
    let script = format!(
        "(() => {{ const r = document.querySelector('{selector}').getBoundingClientRect(); \
         return [r.top, r.bottom]; }})()"
    );
    let found = tab.evaluate(&script);
    let edge = |index: usize| found.get(index).and_then(Value::as_f64).unwrap();
    (edge(0), edge(1))
}

#[test]
fn is_readable_on_every_device_and_scheme() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::with_list();
    let command = fixture.open_ticket_with(command_ticket("command"));
    let diff = fixture.open_ticket_with(diff_ticket("diff"));
    let answered = fixture.open_ticket("answered");
    fixture.post(&path_of(&answered), "action=reject&message=too+soon").send();
    let links = [&command, &diff, &answered].map(|opened| link(&fixture, opened));
    let mut tab = browser.open(&list(&fixture));
    for url in links.iter().chain([&format!("{}/history", fixture.listening.base())]) {
        tab.navigate(url);
        assert_readable(&mut tab, url);
    }
}

#[test]
fn puts_what_matters_first() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket_with(command_ticket("order"));
    let ledger = &fixture.config.ledger;
    let asked = now_ms() - 130_000;
    ledger.update_ticket(&opened.ticket.id, &mut |ticket| ticket.at = asked).unwrap();
    let mut tab = browser.open(&link(&fixture, &opened));
    tab.show_as("light", DESKTOP);
    let order =
        ["h1", "pre.command", ".why", "dl.facts", ".effects", "textarea", "details", ".buttons"];
    let tops: Vec<f64> = order.iter().map(|selector| edges(&mut tab, selector).0).collect();
    assert!(tops.is_sorted(), "{order:?} are at {tops:?}");
    let text = tab.text();
    let sentence = "Approve lets this one call run, Reject blocks the call, and without an answer \
        gambrel blocks the call; the agent can read your message.";
    for words in [sentence, "Claude Code", "ada-laptop", "release/2.4", "2 minutes ago"] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(!text.contains("b7c1f0de"), "the session is a detail: {text}");
    tab.click("summary");
    tab.wait_for_text("b7c1f0de");
}

#[test]
fn shows_arguments_by_name() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let opened = fixture.open_ticket_with(call_ticket("call"));
    let mut tab = browser.open(&link(&fixture, &opened));
    let rows = "[...document.querySelectorAll('dl.input .fact')].map((row) => row.innerText)";
    let shown = tab.evaluate(rows);
    assert_eq!(shown[0], "table\nusers");
    assert_eq!(shown[1], "where\ncreated_at < '2020-01-01'");
    let tool = tab.evaluate("document.querySelector('p.path').innerText");
    assert_eq!(tool, "mcp__db__delete_rows");
    let order = ["h1", "p.path", "dl.input", ".why", "dl.facts", ".effects", "details"];
    let tops: Vec<f64> = order.iter().map(|selector| edges(&mut tab, selector).0).collect();
    assert!(tops.is_sorted(), "{order:?} are at {tops:?}");
    assert_eq!(tab.evaluate("document.querySelector('details').open"), false);
}

#[test]
fn shows_long_commands_whole_with_buttons_in_view() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let lines: String = (1..=150).map(|line| format!("echo line {line} && ")).collect();
    let long_word = "x".repeat(400);
    let command = format!("{lines}\necho {long_word}\n{lines}\necho the end");
    let context = QuestionContext { command: command.clone(), ..QuestionContext::default() };
    let opened = fixture.open_ticket_with(full_ticket("long", context));
    let mut tab = browser.open(&link(&fixture, &opened));
    for size in [DESKTOP, PHONE] {
        tab.show_as("light", size);
        let shown = tab.evaluate("document.querySelector('pre.command').textContent");
        assert_eq!(shown, command.as_str());
        let scrolls = "(() => { const p = document.querySelector('pre.command'); \
            return p.scrollHeight > p.clientHeight + 1 || p.scrollWidth > p.clientWidth + 1; })()";
        assert_eq!(tab.evaluate(scrolls), false, "all of it is on the page in {size:?}");
        assert!(!is_too_wide(&mut tab), "{size:?}");
        tab.evaluate("scrollTo(0, 0)");
        let (top, bottom) = edges(&mut tab, "button.approve");
        assert!(top > 0.0 && bottom <= f64::from(size.1), "{size:?}: {top} {bottom}");
    }
}

#[test]
fn marks_characters_that_would_hide_a_part() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::new();
    let command = "ls\u{202e} fr- mr\u{1b}[8m; rm -rf ~".to_owned();
    let context = QuestionContext { command, ..QuestionContext::default() };
    let opened = fixture.open_ticket_with(full_ticket("hidden", context));
    let mut tab = browser.open(&link(&fixture, &opened));
    let shown = tab.evaluate("document.querySelector('pre.command').textContent");
    assert_eq!(shown, "ls\u{fffd} fr- mr\u{fffd}[8m; rm -rf ~");
}

/// Draws the pictures of the documentation: `cargo test -p gambrel-server -- --ignored`.
#[test]
#[ignore = "writes docs/pictures"]
fn draws_documentation_pictures() {
    let Some(mut browser) = Browser::start() else { return };
    let fixture = ServerFixture::with_list();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let command = fixture.open_ticket_with(command_ticket("command"));
    let mut tab = browser.open(&link(&fixture, &command));
    save_views(&mut tab, "approval");
    tab.show_as("light", (760, 600));
    tab.save_picture(&docs.join("approval.png"));
    let diff = fixture.open_ticket_with(diff_ticket("diff"));
    tab.navigate(&link(&fixture, &diff));
    save_views(&mut tab, "diff");
    tab.show_as("dark", PHONE);
    tab.save_picture(&docs.join("approval-phone.png"));
    let call = fixture.open_ticket_with(call_ticket("call"));
    tab.navigate(&link(&fixture, &call));
    save_views(&mut tab, "call");
    let lines: String = (1..=40).map(|line| format!("echo line {line} && ")).collect();
    let context = QuestionContext { command: lines, ..QuestionContext::default() };
    let long = fixture.open_ticket_with(full_ticket("long", context));
    tab.navigate(&link(&fixture, &long));
    save_views(&mut tab, "long-command");
    fixture.post(&path_of(&long), "action=reject&message=too+soon").send();
    tab.navigate(&link(&fixture, &long));
    save_views(&mut tab, "answered");
    tab.navigate(&list(&fixture));
    save_views(&mut tab, "questions");
    tab.navigate(&format!("{}/history", fixture.listening.base()));
    save_views(&mut tab, "history");
}
