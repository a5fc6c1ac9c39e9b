//! Where a failing handler costs the others nothing, neither does one that does not come back; but
//! together they have an end. A gate is another matter: there the call fails.

use std::time::Duration;

use gambrel_model::{End, Outcome};
use gambrel_script::ScriptSettings;
use serde_json::{Value, json};

use crate::full_hosts::each;
use crate::stand::{Stand, bash, emit};

/// Ways not to come back.
const LOST: [&str; 4] = [
    "async () => { for (;;) {} }",
    "() => { for (;;) {} }",
    "() => new Promise((done) => setTimeout(done, 1e9))",
    "() => new Promise(() => {})",
];

fn fired(stand: &Stand, handlers: &[&str]) -> Outcome {
    let on = |handler: &&str| format!("pi.on(\"tool_result\", {handler});");
    let all: String = handlers.iter().map(on).collect();
    stand.write("m.ts", &format!("export default (pi: any) => {{ {all} }};"));
    let event = json!({"type": "tool_result", "toolName": "bash", "content": [], "isError": false});
    stand.call("m.ts", emit(event))
}

fn errors(answer: &Value) -> Vec<&str> {
    let errors = answer["errors"].as_array().unwrap().iter();
    errors.map(|error| error["error"].as_str().unwrap()).collect()
}

#[test]
fn what_came_before_counts_and_what_comes_after_is_asked() {
    for lost in LOST {
        let stand = Stand { timeout: Duration::from_millis(400), ..Stand::new() };
        let outcome = fired(&stand, &["() => ({ n: 1 })", lost, "async () => ({ n: 3 })"]);
        assert_eq!(outcome.end, End::Answered, "{lost}: {outcome:?}");
        let answer = outcome.answer.unwrap();
        assert_eq!(answer["results"], json!([{"n": 1}, null, {"n": 3}]), "{lost}");
        let why = errors(&answer);
        assert_eq!(why.len(), 1, "{lost}: {why:?}");
        assert!(
            why[0].contains("timed out after 400ms") || why[0].contains("can happen"),
            "{why:?}"
        );
        // A fresh engine serves the next event.
        assert_eq!(
            fired(&stand, &["() => ({ n: 4 })"]).answer.unwrap()["results"],
            json!([{"n": 4}])
        );
    }
}

#[test]
fn the_first_of_them_may_be_the_one() {
    for lost in LOST {
        let stand = Stand { timeout: Duration::from_millis(400), ..Stand::new() };
        let answer = fired(&stand, &[lost, "() => ({ n: 2 })"]).answer.unwrap();
        assert_eq!(answer["results"], json!([null, {"n": 2}]), "{lost}");
    }
}

#[test]
fn many_of_them_have_one_more_time_together() {
    let stand = Stand { timeout: Duration::from_millis(400), ..Stand::new() };
    let mut handlers = vec!["() => ({ n: 1 })"];
    handlers.extend([LOST[0]; 40]);
    let outcome = fired(&stand, &handlers);
    assert!(outcome.elapsed < Duration::from_secs(5), "{:?}", outcome.elapsed);
    let answer = outcome.answer.unwrap();
    assert_eq!(answer["results"][0], json!({"n": 1}));
    assert_eq!(errors(&answer).len(), 40);
}

#[test]
fn with_nobody_else_it_is_late() {
    for lost in &LOST[..3] {
        let stand = Stand { timeout: Duration::from_millis(300), ..Stand::new() };
        assert_eq!(fired(&stand, &[lost]).end, End::TimedOut, "{lost}");
    }
}

#[test]
fn what_was_said_before_the_budget_ended_counts() {
    for lost in &LOST[..3] {
        let budget = Some(Duration::from_millis(800));
        let stand = Stand { budget, ..Stand::new() };
        let outcome = fired(&stand, &["() => ({ n: 1 })", lost, "() => ({ n: 3 })"]);
        assert!(outcome.elapsed < Duration::from_secs(5), "{:?}", outcome.elapsed);
        let answer = outcome.answer.unwrap();
        assert_eq!(answer["results"], json!([{"n": 1}, null, null]), "{lost}");
        assert_eq!(errors(&answer).last(), Some(&"no time was left for it"), "{lost}");
    }
}

#[test]
fn a_gate_fails_as_a_whole() {
    let stand = Stand { timeout: Duration::from_millis(300), ..Stand::new() };
    for lost in &LOST[..3] {
        let factory = format!(
            "pi.on('tool_call', () => ({{}})); pi.on('tool_call', {lost}); pi.on('tool_call', () => ({{ block: true }}));"
        );
        stand.write("m.ts", &format!("export default (pi: any) => {{ {factory} }};"));
        assert_eq!(stand.call("m.ts", bash("ls")).end, End::TimedOut, "{lost}");
    }
}

#[test]
fn in_a_sidecar_what_was_said_before_counts() {
    each(|host| {
        let settings = ScriptSettings { full_host: host.clone(), ..ScriptSettings::default() };
        let stand = Stand { timeout: Duration::from_secs(5), ..Stand::with(settings) };
        let text = format!(
            "import 'node:net'; export default (pi: any) => {{ pi.on('tool_result', () => ({{ n: 1 }})); pi.on('tool_result', {}); }};",
            LOST[2]
        );
        stand.write("m.ts", &text);
        let event =
            json!({"type": "tool_result", "toolName": "bash", "content": [], "isError": false});
        let outcome = stand.call("m.ts", emit(event));
        assert_eq!(outcome.end, End::Answered, "{host:?} {outcome:?}");
        let answer = outcome.answer.unwrap();
        assert_eq!(answer["results"], json!([{"n": 1}, null]), "{host:?}");
        assert_eq!(errors(&answer), ["handler timed out after 5000ms"], "{host:?}");
    });
}
