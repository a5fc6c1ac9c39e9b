//! What the extensions edition of oh-my-pi adds: fields that go from hand to hand, a new shell for
//! every handler, handlers that do not wait, events that follow, and a clock for each handler.

use gambrel_model::End;
use gambrel_script::{Pulse, ScriptSettings};
use serde_json::{Value, json};

use crate::stand::{Stand, bash, emit};

fn run(factory: &str, body: Value) -> Value {
    let stand = Stand::new();
    stand.write("m.ts", &format!("export default function (pi) {{\n{factory}\n}}\n"));
    stand.answer("m.ts", body)
}

fn with(event: Value, terms: Value) -> Value {
    let mut body = emit(event);
    body.as_object_mut().unwrap().extend(terms.as_object().unwrap().clone());
    body
}

#[test]
fn fields_that_are_given_go_on_and_others_stay() {
    let factory = r#"
        pi.on("tool_result", (e) => ({ content: e.content + "a", isError: false }));
        pi.on("tool_result", () => ({ content: undefined, details: 0 }));
        pi.on("tool_result", (e) => ({ saw: [e.content, e.details, e.isError] }));"#;
    let chain = json!({"content": "given", "details": "given", "isError": "given"});
    let event = json!({"type": "tool_result", "content": "c", "details": 1, "isError": true});
    let answer = run(factory, with(event, json!({"chain": chain})));
    assert_eq!(answer["results"][2]["saw"], json!(["ca", 0, false]));
}

#[test]
fn a_lone_text_becomes_a_list() {
    let factory = r#"
        pi.on("start", () => ({ parts: "one" }));
        pi.on("start", (e) => ({ parts: [...e.parts, "two"] }));
        pi.on("start", (e) => ({ saw: e.parts }));"#;
    let event = json!({"type": "start", "parts": []});
    let answer = run(factory, with(event, json!({"chain": {"parts": "list"}, "fresh": "shell"})));
    assert_eq!(answer["results"][2]["saw"], json!(["one", "two"]));
}

#[test]
fn a_new_shell_shares_what_is_in_it() {
    let factory = r#"
        pi.on("context", (e) => { e.mark = 1; e.messages.push("b"); });
        pi.on("context", (e) => ({ saw: [e.mark ?? null, e.messages.length] }));"#;
    let event = json!({"type": "context", "messages": ["a"]});
    let answer = run(factory, with(event, json!({"fresh": "shell", "changes": true})));
    assert_eq!(answer["results"][1]["saw"], json!([null, 2]));
    assert_eq!(answer["event"], json!({"messages": ["a", "b"]}));
}

#[test]
fn a_lone_handler_has_a_shell_of_its_own() {
    let factory = r#"pi.on("context", (e) => { e.messages = []; });"#;
    let event = json!({"type": "context", "messages": ["a"]});
    let answer = run(factory, with(event, json!({"fresh": "shell", "changes": true})));
    assert_eq!(answer.get("event"), None);
}

#[test]
fn a_round_ends_with_a_true_result_or_with_certain_values() {
    let factory = r#"
        pi.on("ask", () => 0);
        pi.on("ask", () => ({ decision: "approve" }));
        pi.on("ask", () => ({ decision: "block" }));
        pi.on("ask", () => ({ n: 4 }));"#;
    let event = json!({"type": "ask"});
    let results = |stop: Value| {
        let answer = run(factory, with(event.clone(), json!({"stop": stop})));
        answer["results"].as_array().unwrap().len()
    };
    assert_eq!(results(json!(true)), 2);
    assert_eq!(results(json!({"decision": "block"})), 3);
    assert_eq!(results(json!("n")), 4);
    assert_eq!(results(Value::Null), 4);
}

#[test]
fn handlers_together_do_not_wait_for_one_another() {
    let factory = r#"
        let open;
        const gate = new Promise((done) => { open = done; });
        pi.on("bye", async () => { await gate; return { n: 1 }; });
        pi.on("bye", () => { throw new Error("noted"); });
        pi.on("bye", () => { open(); return { n: 3 }; });"#;
    let answer = run(factory, with(json!({"type": "bye"}), json!({"together": true})));
    assert_eq!(answer["results"], json!([{"n": 1}, null, {"n": 3}]));
    assert_eq!(answer["errors"][0]["error"], "noted");
    let lone = r#"pi.on("bye", () => { pi.appendEntry("once"); });"#;
    let answer = run(lone, with(json!({"type": "bye"}), json!({"together": true})));
    assert_eq!(answer["effects"].as_array().unwrap().len(), 1);
}

#[test]
fn modules_that_are_called_at_once_do_not_wait_for_one_another() {
    let stand = Stand::new();
    let waits = r#"import { existsSync } from "node:fs";
        const pause = () => new Promise((done) => setTimeout(done, 5));
        export default (pi) => pi.on("bye", async (e) => { while (!existsSync(e.sign)) await pause(); });"#;
    let signs = r#"import { writeFileSync } from "node:fs";
        export default (pi) => pi.on("bye", (e) => writeFileSync(e.sign, ""));"#;
    stand.write("waits.ts", waits);
    stand.write("signs.ts", signs);
    let body = emit(json!({"type": "bye", "sign": stand.path("sign")}));
    let outcomes = stand.at_once(&["waits.ts", "signs.ts"], &body);
    assert!(outcomes.iter().all(|outcome| outcome.end == End::Answered), "{outcomes:?}");
}

#[test]
fn events_follow_one_another_unless_one_closes_the_door() {
    let factory = r#"
        pi.on("second", (e) => ({ saw: e.n }));
        pi.on("first", (e) => ({ handled: e.n === 1 }));"#;
    let then = json!([{"event": {"type": "second", "n": 2}, "catch": true}]);
    let told = |n: u32, closes: bool| {
        let terms = json!({"stop": "handled", "closes": closes, "then": then});
        run(factory, with(json!({"type": "first", "n": n}), terms))["then"][0]["results"].clone()
    };
    assert_eq!(told(0, true), json!([{"saw": 2}]));
    assert_eq!(told(1, true), Value::Null);
    assert_eq!(told(1, false), json!([{"saw": 2}]));
}

#[test]
fn an_error_in_an_event_that_follows_has_its_place() {
    let factory = "pi.on(\"second\", () => { throw new Error(\"there\"); });";
    let then = json!([{"event": {"type": "second"}, "catch": true}]);
    let answer = run(factory, with(json!({"type": "first"}), json!({"then": then})));
    let error = &answer["then"][0]["errors"][0];
    assert!(error["at"].as_str().unwrap().ends_with("m.ts:2"), "{error}");
    assert_eq!((&error["event"], error.get("stack")), (&json!("second"), None));
}

#[test]
fn every_handler_after_the_first_has_the_whole_time() {
    let pulse = Pulse::default();
    let stand = Stand::with(ScriptSettings { pulse: pulse.clone(), ..ScriptSettings::default() });
    let text = "export default (pi) => { for (let n = 0; n < 3; n++) pi.on(\"tool_call\", async () => { await null; }); };";
    stand.write("m.ts", text);
    assert_eq!(stand.answer("m.ts", bash("ls"))["handlers"], 3);
    assert_eq!(pulse.beats(), 2);
}
