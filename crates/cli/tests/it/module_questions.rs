//! `select`, `input` and `editor` of a module, answered through a ticket or at a terminal.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::test_project::{TestProject, text, wait_until};

const CALL: &str =
    r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"deploy"}}"#;

/// A module that blocks every tool call, with the answer as its reason.
fn asking_module(question: &str) -> String {
    format!(
        "export default (pi) => pi.on('tool_call', async (_, ctx) => {{\n\
           const answer = await ctx.ui.{question};\n\
           return {{ block: true, reason: String(answer) }};\n\
         }});\n"
    )
}

/// Answers a module's question through its ticket, and returns the module's reason.
fn answer_by_ticket(question: &str, answers: &[&[&str]]) -> String {
    let project = TestProject::new().with("GAMBREL_UI", "page");
    project.file(".omp/hooks/a.ts", &asking_module(question));
    let waiting = project.start(&["fire", "--from", "omp"], CALL.as_bytes());
    let open = || project.json(&["approvals", "--json"])[0]["ticket"].as_str().map(str::to_owned);
    wait_until("the module's question is open", || open().is_some());
    let ticket = open().unwrap();
    for answer in answers {
        let args = [&[answer[0], ticket.as_str()], &answer[1..]].concat();
        project.run(&args, b"");
    }
    let reply = waiting.wait_with_output().unwrap().stdout;
    let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
    reply["reason"].as_str().unwrap().to_owned()
}

#[test]
fn accepts_only_listed_options() {
    let question = "select('Where to?', ['staging', 'production'])";
    let wrong: &[&str] = &["approve", "--message", "the moon"];
    assert_eq!(
        answer_by_ticket(question, &[wrong, &["approve", "--message", "production"]]),
        "production"
    );
    assert_eq!(answer_by_ticket(question, &[&["deny"]]), "undefined");
}

#[test]
fn returns_text_or_undefined() {
    assert_eq!(
        answer_by_ticket("input('Why?', 'a reason')", &[&["approve", "-m", "it is late"]]),
        "it is late"
    );
    assert_eq!(
        answer_by_ticket("editor('Text', 'as it was')", &[&["approve", "-m", "a\nb"]]),
        "a\nb"
    );
    assert_eq!(answer_by_ticket("input('Why?')", &[&["deny"]]), "undefined");
}

#[test]
fn lists_the_choices_of_a_ticket() {
    let project = TestProject::new().with("GAMBREL_UI", "page");
    let module = "export default (pi) => pi.on('tool_call', async (_, ctx) => {\n\
        await ctx.ui.select('Where to?', ['a', 'b']);\n});\n";
    project.file(".omp/hooks/a.ts", module);
    let waiting = project.start(&["fire", "--from", "omp"], CALL.as_bytes());
    let first = || project.json(&["approvals", "--json"])[0].clone();
    wait_until("the module's question is open", || first()["ticket"].is_string());
    let ticket = first();
    assert_eq!(ticket["wants"], json!({"choice": ["a", "b"]}));
    let refused = project.run(&["approve", ticket["ticket"].as_str().unwrap()], b"");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("a, b"), "{}", text(&refused.stderr));
    project.run(&["deny", ticket["ticket"].as_str().unwrap()], b"");
    assert_eq!(text(&waiting.wait_with_output().unwrap().stdout), "{}\n");
}

/// Answers a module's question at a terminal with these lines.
fn answer_at_terminal(question: &str, lines: &str) -> String {
    answer_at_prompts(question, &[("", lines)])
}

/// The same, but types each piece after a text appeared on the screen.
fn answer_at_prompts(question: &str, pieces: &[(&str, &str)]) -> String {
    let project = TestProject::new().with("GAMBREL_UI", "tty");
    project.file(".omp/hooks/a.ts", &asking_module(question));
    project.file("event.json", CALL);
    let mut terminal = project.start_in_terminal("fire --from omp < event.json > reply.json");
    let mut keys = terminal.stdin.take().unwrap();
    let screen = collect_output(terminal.stdout.take().unwrap());
    for (seen, piece) in pieces {
        wait_until(seen, || screen.lock().unwrap().contains(seen));
        keys.write_all(piece.as_bytes()).unwrap();
    }
    terminal.wait().unwrap();
    drop(keys);
    let reply = std::fs::read(project.root.join("reply.json")).unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&reply)
        .unwrap_or_else(|error| panic!("{error}: {}", screen.lock().unwrap()));
    reply["reason"].as_str().unwrap().to_owned()
}

/// Collects the output of a terminal.
fn collect_output(mut from: impl Read + Send + 'static) -> Arc<Mutex<String>> {
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
fn reads_answers_at_a_terminal() {
    assert_eq!(answer_at_terminal("confirm('Sure?', 'It is late')", "y\n"), "true");
    assert_eq!(answer_at_terminal("confirm('Sure?', 'It is late')", "\n"), "false");
    assert_eq!(
        answer_at_terminal("select('Where to?', ['staging', 'production'])", "2\n"),
        "production"
    );
    assert_eq!(
        answer_at_terminal("select('Where to?', ['staging', 'production'])", "\n"),
        "undefined"
    );
    assert_eq!(answer_at_terminal("input('Why?')", "it is late\n"), "it is late");
    assert_eq!(answer_at_terminal("editor('Text')", "one\ntwo\n.\n"), "one\ntwo");
    assert_eq!(answer_at_terminal("editor('Text', 'as it was')", ".\n"), "as it was");
}

#[test]
fn asks_again_for_a_mistyped_number() {
    let question = "select('Where to?', ['staging', 'production'])";
    assert_eq!(answer_at_terminal(question, "7\ntwo\n2\n"), "production");
    assert_eq!(answer_at_terminal(question, "7\n0\nx\n"), "undefined");
}

#[test]
fn an_abandoned_question_takes_no_later_answer() {
    let next = ".then(async (a) => [a, await ctx.ui.confirm('Second')])";
    let late = format!("confirm('First', '', {{ timeout: 300 }}){next}");
    assert_eq!(answer_at_prompts(&late, &[("asks: Second", "y\n")]), "false,true");
    let aborted = format!("confirm('First', '', {{ signal: AbortSignal.timeout(300) }}){next}");
    assert_eq!(answer_at_prompts(&aborted, &[("asks: Second", "y\n")]), "false,true");
}

#[test]
fn asks_one_question_at_a_time() {
    let both =
        "confirm && await Promise.all(['One', 'Two', 'Three'].map((t) => ctx.ui.confirm(t)))";
    let pieces = [("asks: One", "y\n"), ("asks: Two", "n\n"), ("asks: Three", "y\n")];
    assert_eq!(answer_at_prompts(both, &pieces), "true,false,true");
}

#[test]
fn a_restarted_call_finds_its_answer() {
    let project = TestProject::new().with("GAMBREL_UI", "page");
    project.file(".omp/hooks/a.ts", &asking_module("input('Why?')"));
    let open = || project.json(&["approvals", "--json"]);
    let mut first = project.start(&["fire", "--from", "omp"], CALL.as_bytes());
    wait_until("the module's question is open", || open()[0]["ticket"].is_string());
    first.kill().unwrap();
    first.wait().unwrap();
    let ticket = open()[0]["ticket"].as_str().unwrap().to_owned();
    project.run(&["approve", &ticket, "-m", "it is late"], b"");
    let other = CALL.replace(r#""1""#, r#""2""#);
    let mut other = project.start(&["fire", "--from", "omp"], other.as_bytes());
    wait_until("another call asks anew", || {
        open().as_array().is_some_and(|open| open.iter().any(|t| t["ticket"] != ticket.as_str()))
    });
    other.kill().unwrap();
    other.wait().unwrap();
    let again = project.run(&["fire", "--from", "omp"], CALL.as_bytes());
    assert_eq!(text(&again.stdout), "{\"block\":true,\"reason\":\"it is late\"}\n");
}
