//! Temporary.
use gambrel_model::{Action, Call, Job, Pace};
use std::time::{Duration, Instant};
fn main() {
    let folder = tempfile::tempdir().unwrap();
    let cases = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    for (n, code) in cases.lines().enumerate() {
        let path = folder.path().join(format!("{n}.mjs"));
        std::fs::write(&path, format!("export default (pi) => {{ pi.on('tool_call', async (event, ctx) => {{ {code} }}); }};")).unwrap();
        let action = gambrel_script::ModuleAction::new(Default::default());
        let body = serde_json::json!({"op":"emit","path":path,"event":{"type":"tool_call","toolName":"bash","input":{"command":"rm -rf /"}},"ctx":{"cwd":"/"}});
        let call = Call {
            body,
            pace: Pace { timeout: Duration::from_secs(1), ..Pace::default() },
            ..Call::default()
        };
        let began = Instant::now();
        let outcome = action.run(&[Job { call: &call, errand: None }]).remove(0);
        let ran = began.elapsed();
        drop(action);
        println!(
            "{:8.2} s +{:6.2} {:?} {} | {code}",
            ran.as_secs_f64(),
            (began.elapsed() - ran).as_secs_f64(),
            outcome.end,
            outcome.answer.map(|a| a["errors"][0]["error"].to_string()).unwrap_or_default()
        );
    }
}
