//! A loop in the engine's own code cannot be interrupted, but the caller is answered in time.

use std::time::{Duration, Instant};

use gambrel_model::{Action, Call, End, Job, Limits};
use gambrel_script::{ScriptSettings, TimeBoundModules};
use serde_json::json;

#[test]
fn abandons_a_loop_in_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("join.ts");
    let text =
        "export default (pi) => pi.on('tool_call', () => { new Array(2 ** 32 - 1).join('x'); });";
    std::fs::write(&path, text).unwrap();
    let event = json!({"type": "tool_call", "toolName": "bash", "input": {}});
    let body = json!({"op": "emit", "path": path, "event": event, "ctx": {}});
    let limits = Limits { timeout: Duration::from_secs(1), ..Limits::default() };
    let call = Call { body, cwd: folder.path().into(), limits, ..Call::default() };
    let action = TimeBoundModules::new(ScriptSettings::default());
    let began = Instant::now();
    let outcome = action.run(&[Job { call: &call, record: None }]).pop().unwrap();
    assert_eq!(outcome.end, End::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // The abandoned thread must not delay the end of the test process.
    std::mem::forget(action);
}

#[test]
fn abandons_a_loop_beside_an_open_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ask.ts");
    let text = "export default (pi) => pi.on('tool_call', (e, ctx) => { ctx.ui.confirm('a', 'b'); new Array(2 ** 32 - 1).join('x'); });";
    std::fs::write(&path, text).unwrap();
    let event = json!({"type": "tool_call", "toolName": "bash", "input": {}});
    let body = json!({"op": "emit", "path": path, "event": event, "ctx": {"hasUI": true}});
    let limits = Limits { timeout: Duration::from_secs(1), ..Limits::default() };
    let call = Call { body, cwd: folder.path().into(), limits, ..Call::default() };
    let ask = |_: &gambrel_script::Question| {
        std::thread::sleep(Duration::from_secs(60));
        None
    };
    let ask = Some(std::sync::Arc::new(ask) as gambrel_script::AskFn);
    let action = TimeBoundModules::new(ScriptSettings { ask, ..ScriptSettings::default() });
    let outcome = action.run(&[Job { call: &call, record: None }]).pop().unwrap();
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.elapsed < Duration::from_secs(10), "{:?}", outcome.elapsed);
    std::mem::forget(action);
}

#[test]
fn allows_deep_recursion() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.ts");
    let text = "const depth = (n) => (n ? 1 + depth(n - 1) : 0);
        export default (pi) => pi.on('tool_call', () => ({ depth: depth(5000), end: (() => { try { return depth(1e9); } catch (e) { return e.message; } })() }));";
    std::fs::write(&path, text).unwrap();
    let event = json!({"type": "tool_call", "toolName": "bash", "input": {}});
    let body = json!({"op": "emit", "path": path, "event": event, "ctx": {}});
    let limits = Limits { timeout: Duration::from_secs(60), ..Limits::default() };
    let call = Call { body, cwd: folder.path().into(), limits, ..Call::default() };
    let action = TimeBoundModules::new(ScriptSettings::default());
    let outcome = action.run(&[Job { call: &call, record: None }]).pop().unwrap();
    let expected = json!([{"depth": 5000, "end": "Maximum call stack size exceeded"}]);
    assert_eq!(outcome.answer.unwrap()["results"], expected);
}
