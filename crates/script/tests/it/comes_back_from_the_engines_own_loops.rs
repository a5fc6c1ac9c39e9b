//! A loop in the engine's own code cannot be interrupted: under watch the caller is answered all
//! the same.

use std::time::{Duration, Instant};

use gambrel_model::{Action, Call, End, Job, Pace};
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
    let pace = Pace { timeout: Duration::from_secs(1), ..Pace::default() };
    let call = Call { body, cwd: folder.path().into(), pace, ..Call::default() };
    let action = WatchedModules::new(ScriptSettings::default());
    let began = Instant::now();
    let outcome = action.run(&[Job { call: &call, errand: None }]).pop().unwrap();
    assert_eq!(outcome.end, End::Late);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // The thread that was given up must not keep the test's process busy for minutes.
    std::mem::forget(action);
}
