//! `select`, `input` and `editor` of a module, answered through a ticket or at a terminal.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::ground::{Ground, text, until};

const CALL: &str =
    r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"deploy"}}"#;

/// A module that refuses every tool with what it was told.
fn module(question: &str) -> String {
    format!(
        "export default (pi) => pi.on('tool_call', async (_, ctx) => {{\n\
           const said = await ctx.ui.{question};\n\
           return {{ block: true, reason: String(said) }};\n\
         }});\n"
    )
}

/// What a module was told that asks `question`, when a person answers with these arguments.
fn told(question: &str, answers: &[&[&str]]) -> String {
    let ground = Ground::new().with("GAMBREL_UI", "page");
    ground.file(".omp/hooks/a.ts", &module(question));
    let waiting = ground.start(&["fire", "--from", "omp"], CALL.as_bytes());
    let open = || ground.json(&["approvals", "--json"])[0]["ticket"].as_str().map(str::to_owned);
    until("the module's question is open", || open().is_some());
    let ticket = open().unwrap();
    for answer in answers {
        let args = [&[answer[0], ticket.as_str()], &answer[1..]].concat();
        ground.run(&args, b"");
    }
    let reply = waiting.wait_with_output().unwrap().stdout;
    let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
    reply["reason"].as_str().unwrap().to_owned()
}

#[test]
fn an_option_is_chosen_and_nothing_else_is_taken() {
    let question = "select('Where to?', ['staging', 'production'])";
    let wrong: &[&str] = &["approve", "--message", "the moon"];
    assert_eq!(told(question, &[wrong, &["approve", "--message", "production"]]), "production");
    assert_eq!(told(question, &[&["deny"]]), "undefined");
}

#[test]
fn words_are_typed_or_not() {
    assert_eq!(
        told("input('Why?', 'a reason')", &[&["approve", "-m", "it is late"]]),
        "it is late"
    );
    assert_eq!(told("editor('Text', 'as it was')", &[&["approve", "-m", "a\nb"]]), "a\nb");
    assert_eq!(told("input('Why?')", &[&["deny"]]), "undefined");
}

#[test]
fn what_is_wanted_is_in_the_list() {
    let ground = Ground::new().with("GAMBREL_UI", "page");
    let module = "export default (pi) => pi.on('tool_call', async (_, ctx) => {\n\
        await ctx.ui.select('Where to?', ['a', 'b']);\n});\n";
    ground.file(".omp/hooks/a.ts", module);
    let waiting = ground.start(&["fire", "--from", "omp"], CALL.as_bytes());
    let first = || ground.json(&["approvals", "--json"])[0].clone();
    until("the module's question is open", || first()["ticket"].is_string());
    let ticket = first();
    assert_eq!(ticket["wants"], json!({"choice": ["a", "b"]}));
    let refused = ground.run(&["approve", ticket["ticket"].as_str().unwrap()], b"");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("a, b"), "{}", text(&refused.stderr));
    ground.run(&["deny", ticket["ticket"].as_str().unwrap()], b"");
    assert_eq!(text(&waiting.wait_with_output().unwrap().stdout), "{}\n");
}

/// What a module was told that asks at a terminal where a person types these lines.
fn typed(question: &str, lines: &str) -> String {
    talked(question, &[("", lines)])
}

/// The same for a person who types each piece when something stands on the screen.
fn talked(question: &str, pieces: &[(&str, &str)]) -> String {
    let ground = Ground::new().with("GAMBREL_UI", "tty");
    ground.file(".omp/hooks/a.ts", &module(question));
    ground.file("event.json", CALL);
    let mut terminal = ground.at_a_terminal("fire --from omp < event.json > reply.json");
    let mut keys = terminal.stdin.take().unwrap();
    let screen = watched(terminal.stdout.take().unwrap());
    for (seen, piece) in pieces {
        until(seen, || screen.lock().unwrap().contains(seen));
        keys.write_all(piece.as_bytes()).unwrap();
    }
    terminal.wait().unwrap();
    drop(keys);
    let reply = std::fs::read(ground.root.join("reply.json")).unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&reply)
        .unwrap_or_else(|error| panic!("{error}: {}", screen.lock().unwrap()));
    reply["reason"].as_str().unwrap().to_owned()
}

/// What stands on a screen so far.
fn watched(mut from: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let screen = Arc::new(Mutex::new(String::new()));
    let shown = Arc::clone(&screen);
    std::thread::spawn(move || {
        let mut piece = [0; 1024];
        while let Ok(got @ 1..) = from.read(&mut piece) {
            shown.lock().unwrap().push_str(&text(&piece[..got]));
        }
    });
    screen
}

#[test]
fn at_a_terminal_they_are_typed() {
    assert_eq!(typed("confirm('Sure?', 'It is late')", "y\n"), "true");
    assert_eq!(typed("confirm('Sure?', 'It is late')", "\n"), "false");
    assert_eq!(typed("select('Where to?', ['staging', 'production'])", "2\n"), "production");
    assert_eq!(typed("select('Where to?', ['staging', 'production'])", "\n"), "undefined");
    assert_eq!(typed("input('Why?')", "it is late\n"), "it is late");
    assert_eq!(typed("editor('Text')", "one\ntwo\n.\n"), "one\ntwo");
    assert_eq!(typed("editor('Text', 'as it was')", ".\n"), "as it was");
}

#[test]
fn a_mistyped_number_is_asked_for_again_and_then_no_more() {
    let question = "select('Where to?', ['staging', 'production'])";
    assert_eq!(typed(question, "7\ntwo\n2\n"), "production");
    assert_eq!(typed(question, "7\n0\nx\n"), "undefined");
}

#[test]
fn a_question_that_was_given_up_takes_no_answer_from_the_next() {
    let next = ".then(async (a) => [a, await ctx.ui.confirm('Second')])";
    let late = format!("confirm('First', '', {{ timeout: 300 }}){next}");
    assert_eq!(talked(&late, &[("asks: Second", "y\n")]), "false,true");
    let aborted = format!("confirm('First', '', {{ signal: AbortSignal.timeout(300) }}){next}");
    assert_eq!(talked(&aborted, &[("asks: Second", "y\n")]), "false,true");
}

#[test]
fn one_question_at_a_time_in_the_order_of_asking() {
    let both =
        "confirm && await Promise.all(['One', 'Two', 'Three'].map((t) => ctx.ui.confirm(t)))";
    let pieces = [("asks: One", "y\n"), ("asks: Two", "n\n"), ("asks: Three", "y\n")];
    assert_eq!(talked(both, &pieces), "true,false,true");
}

#[test]
fn one_who_was_killed_finds_its_answer_and_another_call_asks_anew() {
    let ground = Ground::new().with("GAMBREL_UI", "page");
    ground.file(".omp/hooks/a.ts", &module("input('Why?')"));
    let open = || ground.json(&["approvals", "--json"]);
    let mut first = ground.start(&["fire", "--from", "omp"], CALL.as_bytes());
    until("the module's question is open", || open()[0]["ticket"].is_string());
    first.kill().unwrap();
    first.wait().unwrap();
    let ticket = open()[0]["ticket"].as_str().unwrap().to_owned();
    ground.run(&["approve", &ticket, "-m", "it is late"], b"");
    let other = CALL.replace(r#""1""#, r#""2""#);
    let mut other = ground.start(&["fire", "--from", "omp"], other.as_bytes());
    until("another call asks anew", || {
        open().as_array().is_some_and(|open| open.iter().any(|t| t["ticket"] != ticket.as_str()))
    });
    other.kill().unwrap();
    other.wait().unwrap();
    let again = ground.run(&["fire", "--from", "omp"], CALL.as_bytes());
    assert_eq!(text(&again.stdout), "{\"block\":true,\"reason\":\"it is late\"}\n");
}
