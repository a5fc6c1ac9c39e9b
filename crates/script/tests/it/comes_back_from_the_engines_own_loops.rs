//! A loop in the engine's own code cannot be interrupted: under watch the caller is answered all
//! the same.

use std::time::{Duration, Instant};

use gambrel_model::{Action, Call, End, Job, Limits};
use gambrel_script::{ScriptSettings, WatchedModules};
use serde_json::json;

#[test]
fn a_join_of_four_billion_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("join.ts");
    let text =
        "export default (pi) => pi.on('tool_call', () => { new Array(2 ** 32 - 1).join('x'); });";
    std::fs::write(&path, text).unwrap();
    let event = json!({"type": "tool_call", "toolName": "bash", "input": {}});
    let body = json!({"op": "emit", "path": path, "event": event, "ctx": {}});
    let pace = Limits { timeout: Duration::from_secs(1), ..Limits::default() };
    let call = Call { body, cwd: folder.path().into(), limits: pace, ..Call::default() };
    let action = WatchedModules::new(ScriptSettings::default());
    let began = Instant::now();
    let outcome = action.run(&[Job { call: &call, record: None }]).pop().unwrap();
    assert_eq!(outcome.end, End::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // The thread that was given up must not keep the test's process busy for minutes.
    std::mem::forget(action);
}

/// A person's time is nobody's excuse for a loop.
#[test]
fn an_open_question_does_not_stop_the_watch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ask.ts");
    let text = "export default (pi) => pi.on('tool_call', (e, ctx) => { ctx.ui.confirm('a', 'b'); new Array(2 ** 32 - 1).join('x'); });";
    std::fs::write(&path, text).unwrap();
    let event = json!({"type": "tool_call", "toolName": "bash", "input": {}});
    let body = json!({"op": "emit", "path": path, "event": event, "ctx": {"hasUI": true}});
    let pace = Limits { timeout: Duration::from_secs(1), ..Limits::default() };
    let call = Call { body, cwd: folder.path().into(), limits: pace, ..Call::default() };
    let ask = |_: &gambrel_script::Ask| {
        std::thread::sleep(Duration::from_secs(60));
        None
    };
    let ask = Some(std::sync::Arc::new(ask) as gambrel_script::Asker);
    let action = WatchedModules::new(ScriptSettings { ask, ..ScriptSettings::default() });
    let outcome = action.run(&[Job { call: &call, record: None }]).pop().unwrap();
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.elapsed < Duration::from_secs(10), "{:?}", outcome.elapsed);
    std::mem::forget(action);
}

#[test]
fn functions_may_call_one_another_deeply() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.ts");
    let text = "const depth = (n) => (n ? 1 + depth(n - 1) : 0);
        export default (pi) => pi.on('tool_call', () => ({ depth: depth(5000), end: (() => { try { return depth(1e9); } catch (e) { return e.message; } })() }));";
    std::fs::write(&path, text).unwrap();
    let event = json!({"type": "tool_call", "toolName": "bash", "input": {}});
    let body = json!({"op": "emit", "path": path, "event": event, "ctx": {}});
    let pace = Limits { timeout: Duration::from_secs(60), ..Limits::default() };
    let call = Call { body, cwd: folder.path().into(), limits: pace, ..Call::default() };
    let action = WatchedModules::new(ScriptSettings::default());
    let outcome = action.run(&[Job { call: &call, record: None }]).pop().unwrap();
    let expected = json!([{"depth": 5000, "end": "Maximum call stack size exceeded"}]);
    assert_eq!(outcome.answer.unwrap()["results"], expected);
}
