//! Dispatch in oh-my-pi's extensions edition: chained fields, shallow copies of events, concurrent
//! handlers, following events, and a timeout for each handler.

use gambrel_model::End;
use gambrel_script::{Heartbeat, ScriptSettings};
use serde_json::{Value, json};

use crate::module_dir::{ModuleDir, bash_body, emit_body};

fn run(factory: &str, body: Value) -> Value {
    let dir = ModuleDir::new();
    dir.write_file("m.ts", &format!("export default function (pi) {{\n{factory}\n}}\n"));
    dir.answer("m.ts", body)
}

fn with_policy(event: Value, terms: Value) -> Value {
    let mut body = emit_body(event);
    body.as_object_mut().unwrap().extend(terms.as_object().unwrap().clone());
    body
}

#[test]
fn passes_given_fields_to_the_next_handler() {
    let factory = r#"
        pi.on("tool_result", (e) => ({ content: e.content + "a", isError: false }));
        pi.on("tool_result", () => ({ content: undefined, details: 0 }));
        pi.on("tool_result", (e) => ({ saw: [e.content, e.details, e.isError] }));"#;
    let chain = json!({"content": "given", "details": "given", "isError": "given"});
    let event = json!({"type": "tool_result", "content": "c", "details": 1, "isError": true});
    let answer = run(factory, with_policy(event, json!({"chain": chain})));
    assert_eq!(answer["results"][2]["saw"], json!(["ca", 0, false]));
}

#[test]
fn turns_a_single_text_into_a_list() {
    let factory = r#"
        pi.on("start", () => ({ parts: "one" }));
        pi.on("start", (e) => ({ parts: [...e.parts, "two"] }));
        pi.on("start", (e) => ({ saw: e.parts }));"#;
    let event = json!({"type": "start", "parts": []});
    let answer =
        run(factory, with_policy(event, json!({"chain": {"parts": "list"}, "fresh": "shell"})));
    assert_eq!(answer["results"][2]["saw"], json!(["one", "two"]));
}

#[test]
fn handlers_get_shallow_copies_of_the_event() {
    let factory = r#"
        pi.on("context", (e) => { e.mark = 1; e.messages.push("b"); });
        pi.on("context", (e) => ({ saw: [e.mark ?? null, e.messages.length] }));"#;
    let event = json!({"type": "context", "messages": ["a"]});
    let answer = run(factory, with_policy(event, json!({"fresh": "shell", "changes": true})));
    assert_eq!(answer["results"][1]["saw"], json!([null, 2]));
    assert_eq!(answer["event"], json!({"messages": ["a", "b"]}));
}

#[test]
fn a_single_handler_gets_a_shallow_copy() {
    let factory = r#"pi.on("context", (e) => { e.messages = []; });"#;
    let event = json!({"type": "context", "messages": ["a"]});
    let answer = run(factory, with_policy(event, json!({"fresh": "shell", "changes": true})));
    assert_eq!(answer.get("event"), None);
}

#[test]
fn a_round_ends_at_a_stop_result() {
    let factory = r#"
        pi.on("ask", () => 0);
        pi.on("ask", () => ({ decision: "approve" }));
        pi.on("ask", () => ({ decision: "block" }));
        pi.on("ask", () => ({ n: 4 }));"#;
    let event = json!({"type": "ask"});
    let results = |stop: Value| {
        let answer = run(factory, with_policy(event.clone(), json!({"stop": stop})));
        answer["results"].as_array().unwrap().len()
    };
    assert_eq!(results(json!(true)), 2);
    assert_eq!(results(json!({"decision": "block"})), 3);
    assert_eq!(results(json!("n")), 4);
    assert_eq!(results(Value::Null), 4);
}

#[test]
fn runs_handlers_concurrently() {
    let factory = r#"
        let open;
        const gate = new Promise((done) => { open = done; });
        pi.on("bye", async () => { await gate; return { n: 1 }; });
        pi.on("bye", () => { throw new Error("noted"); });
        pi.on("bye", () => { open(); return { n: 3 }; });"#;
    let answer = run(factory, with_policy(json!({"type": "bye"}), json!({"together": true})));
    assert_eq!(answer["results"], json!([{"n": 1}, null, {"n": 3}]));
    assert_eq!(answer["errors"][0]["error"], "noted");
    let lone = r#"pi.on("bye", () => { pi.appendEntry("once"); });"#;
    let answer = run(lone, with_policy(json!({"type": "bye"}), json!({"together": true})));
    assert_eq!(answer["effects"].as_array().unwrap().len(), 1);
}

#[test]
fn runs_modules_of_a_batch_concurrently() {
    let dir = ModuleDir::new();
    let waits = r#"import { existsSync } from "node:fs";
        const pause = () => new Promise((done) => setTimeout(done, 5));
        export default (pi) => pi.on("bye", async (e) => { while (!existsSync(e.sign)) await pause(); });"#;
    let signs = r#"import { writeFileSync } from "node:fs";
        export default (pi) => pi.on("bye", (e) => writeFileSync(e.sign, ""));"#;
    dir.write_file("waits.ts", waits);
    dir.write_file("signs.ts", signs);
    let body = emit_body(json!({"type": "bye", "sign": dir.path("sign")}));
    let outcomes = dir.call_all(&["waits.ts", "signs.ts"], &body);
    assert!(outcomes.iter().all(|outcome| outcome.end == End::Answered), "{outcomes:?}");
}

#[test]
fn runs_following_events_unless_cancelled() {
    let factory = r#"
        pi.on("second", (e) => ({ saw: e.n }));
        pi.on("first", (e) => ({ handled: e.n === 1 }));"#;
    let then = json!([{"event": {"type": "second", "n": 2}, "catch": true}]);
    let second_results = |n: u32, closes: bool| {
        let terms = json!({"stop": "handled", "closes": closes, "then": then});
        run(factory, with_policy(json!({"type": "first", "n": n}), terms))["then"][0]["results"]
            .clone()
    };
    assert_eq!(second_results(0, true), json!([{"saw": 2}]));
    assert_eq!(second_results(1, true), Value::Null);
    assert_eq!(second_results(1, false), json!([{"saw": 2}]));
}

#[test]
fn errors_of_following_events_have_positions() {
    let factory = "pi.on(\"second\", () => { throw new Error(\"there\"); });";
    let then = json!([{"event": {"type": "second"}, "catch": true}]);
    let answer = run(factory, with_policy(json!({"type": "first"}), json!({"then": then})));
    let error = &answer["then"][0]["errors"][0];
    assert!(error["at"].as_str().unwrap().ends_with("m.ts:2"), "{error}");
    assert_eq!((&error["event"], error.get("stack")), (&json!("second"), None));
}

#[test]
fn counts_every_handler_after_the_first() {
    let pulse = Heartbeat::default();
    let dir = ModuleDir::with_settings(ScriptSettings {
        heartbeat: pulse.clone(),
        ..ScriptSettings::default()
    });
    let text = "export default (pi) => { for (let n = 0; n < 3; n++) pi.on(\"tool_call\", async () => { await null; }); };";
    dir.write_file("m.ts", text);
    assert_eq!(dir.answer("m.ts", bash_body("ls"))["handlers"], 3);
    assert_eq!(pulse.handler_count(), 2);
}
