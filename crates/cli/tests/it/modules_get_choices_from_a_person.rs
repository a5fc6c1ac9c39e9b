//! `select`, `input` and `editor` of a module, answered through a ticket.

use serde_json::json;

use crate::ground::{Ground, text, until};

const CALL: &str =
    r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"deploy"}}"#;

/// What a module was told that asks `question`, when a person answers with these arguments.
fn told(question: &str, answers: &[&[&str]]) -> String {
    let ground = Ground::new().with("GAMBREL_UI", "page");
    let module = format!(
        "export default (pi) => pi.on('tool_call', async (_, ctx) => {{\n\
           const said = await ctx.ui.{question};\n\
           return {{ block: true, reason: String(said) }};\n\
         }});\n"
    );
    ground.file(".omp/hooks/a.ts", &module);
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
