//! If errors of a handler are caught, a hung handler is abandoned and the others run, within a
//! common limit. A gate fails as a whole.

use std::time::Duration;

use gambrel_model::{End, Outcome};
use gambrel_script::ScriptSettings;
use serde_json::{Value, json};

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body, emit_body};

/// Handlers that never return.
const HUNG: [&str; 4] = [
    "async () => { for (;;) {} }",
    "() => { for (;;) {} }",
    "() => new Promise((done) => setTimeout(done, 1e9))",
    "() => new Promise(() => {})",
];

fn emit_result(dir: &ModuleDir, handlers: &[&str]) -> Outcome {
    let on = |handler: &&str| format!("pi.on(\"tool_result\", {handler});");
    let all: String = handlers.iter().map(on).collect();
    dir.write_file("m.ts", &format!("export default (pi: any) => {{ {all} }};"));
    let event = json!({"type": "tool_result", "toolName": "bash", "content": [], "isError": false});
    dir.call("m.ts", emit_body(event))
}

fn error_texts(answer: &Value) -> Vec<&str> {
    let errors = answer["errors"].as_array().unwrap().iter();
    errors.map(|error| error["error"].as_str().unwrap()).collect()
}

#[test]
fn keeps_the_results_of_other_handlers() {
    for lost in HUNG {
        let dir = ModuleDir { timeout: Duration::from_millis(400), ..ModuleDir::new() };
        let outcome = emit_result(&dir, &["() => ({ n: 1 })", lost, "async () => ({ n: 3 })"]);
        assert_eq!(outcome.end, End::Answered, "{lost}: {outcome:?}");
        let answer = outcome.answer.unwrap();
        assert_eq!(answer["results"], json!([{"n": 1}, null, {"n": 3}]), "{lost}");
        let why = error_texts(&answer);
        assert_eq!(why.len(), 1, "{lost}: {why:?}");
        assert!(
            why[0].contains("timed out after 400ms") || why[0].contains("no longer happen"),
            "{why:?}"
        );
        // A new engine handles the next event.
        assert_eq!(
            emit_result(&dir, &["() => ({ n: 4 })"]).answer.unwrap()["results"],
            json!([{"n": 4}])
        );
    }
}

#[test]
fn abandons_the_first_handler() {
    for lost in HUNG {
        let dir = ModuleDir { timeout: Duration::from_millis(400), ..ModuleDir::new() };
        let answer = emit_result(&dir, &[lost, "() => ({ n: 2 })"]).answer.unwrap();
        assert_eq!(answer["results"], json!([null, {"n": 2}]), "{lost}");
    }
}

#[test]
fn hung_handlers_share_one_extension() {
    let dir = ModuleDir { timeout: Duration::from_millis(400), ..ModuleDir::new() };
    let mut handlers = vec!["() => ({ n: 1 })"];
    handlers.extend([HUNG[0]; 40]);
    let outcome = emit_result(&dir, &handlers);
    assert!(outcome.elapsed < Duration::from_secs(5), "{:?}", outcome.elapsed);
    let answer = outcome.answer.unwrap();
    assert_eq!(answer["results"][0], json!({"n": 1}));
    assert_eq!(error_texts(&answer).len(), 40);
}

#[test]
fn a_single_hung_handler_times_out() {
    for lost in &HUNG[..3] {
        let dir = ModuleDir { timeout: Duration::from_millis(300), ..ModuleDir::new() };
        assert_eq!(emit_result(&dir, &[lost]).end, End::TimedOut, "{lost}");
    }
}

#[test]
fn keeps_results_from_before_the_budget_ended() {
    for lost in &HUNG[..3] {
        let budget = Some(Duration::from_millis(800));
        let dir = ModuleDir { budget, ..ModuleDir::new() };
        let outcome = emit_result(&dir, &["() => ({ n: 1 })", lost, "() => ({ n: 3 })"]);
        assert!(outcome.elapsed < Duration::from_secs(5), "{:?}", outcome.elapsed);
        let answer = outcome.answer.unwrap();
        assert_eq!(answer["results"], json!([{"n": 1}, null, null]), "{lost}");
        assert_eq!(error_texts(&answer).last(), Some(&"no time was left for it"), "{lost}");
    }
}

#[test]
fn a_gate_times_out_as_a_whole() {
    let dir = ModuleDir { timeout: Duration::from_millis(300), ..ModuleDir::new() };
    for lost in &HUNG[..3] {
        let factory = format!(
            "pi.on('tool_call', () => ({{}})); pi.on('tool_call', {lost}); pi.on('tool_call', () => ({{ block: true }}));"
        );
        dir.write_file("m.ts", &format!("export default (pi: any) => {{ {factory} }};"));
        assert_eq!(dir.call("m.ts", bash_body("ls")).end, End::TimedOut, "{lost}");
    }
}

#[test]
fn keeps_earlier_results_in_a_sidecar() {
    run_in_each_host(|host| {
        let settings = ScriptSettings { full_host: host.clone(), ..ScriptSettings::default() };
        let dir =
            ModuleDir { timeout: Duration::from_secs(5), ..ModuleDir::with_settings(settings) };
        let text = format!(
            "import 'node:net'; export default (pi: any) => {{ pi.on('tool_result', () => ({{ n: 1 }})); pi.on('tool_result', {}); }};",
            HUNG[2]
        );
        dir.write_file("m.ts", &text);
        let event =
            json!({"type": "tool_result", "toolName": "bash", "content": [], "isError": false});
        let outcome = dir.call("m.ts", emit_body(event));
        assert_eq!(outcome.end, End::Answered, "{host:?} {outcome:?}");
        let answer = outcome.answer.unwrap();
        assert_eq!(answer["results"], json!([{"n": 1}, null]), "{host:?}");
        assert_eq!(error_texts(&answer), ["handler timed out after 5000ms"], "{host:?}");
    });
}
