//! How long a module takes to load and an event to dispatch, printed in microseconds. With the
//! word `warm` only dispatch, many times: for a profiler.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring tool, not production")]

use std::time::{Duration, Instant};

use gambrel_model::{Action, Call, Job};
use gambrel_script::{ModuleAction, ScriptSettings};
use serde_json::json;

const GUARD: &str = r#"import type { HookAPI } from "@oh-my-pi/pi-coding-agent/hooks";
export default function (pi: HookAPI): void {
	pi.on("tool_call", async (event, ctx) => {
		if (event.toolName !== "bash") return;
		const cmd = String(event.input.command ?? "");
		if (!cmd.includes("rm -rf")) return;
		if (!ctx.hasUI) return { block: true, reason: "rm -rf blocked (no UI)" };
	});
}
"#;

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guard.ts");
    std::fs::write(&path, GUARD).unwrap();
    let body = |name: &str| {
        json!({"op": "emit", "path": path, "stop": "block", "catch": false, "ctx": {"cwd": "/"},
               "event": {"type": name, "toolName": "bash", "input": {"command": "rm -rf /"}}})
    };
    let hears = Call { body: body("tool_call"), ..Call::default() };
    let deaf = Call { body: body("agent_end"), ..Call::default() };
    let once = |action: &ModuleAction, call: &Call| {
        let began = Instant::now();
        let outcome = action.run(&[Job { call, errand: None }]);
        assert!(outcome[0].answer.is_some(), "{outcome:?}");
        began.elapsed()
    };
    if std::env::args().nth(1).is_some_and(|word| word == "warm") {
        let action = ModuleAction::new(ScriptSettings::default());
        let times = (0..300_000).map(|_| once(&action, &hears));
        println!("later call, handler answers:   {:8.2} µs", median(times.collect()));
        return;
    }
    let cold = |call: &Call| {
        let times = (0..50).map(|_| once(&ModuleAction::new(ScriptSettings::default()), call));
        median(times.collect())
    };
    println!("first call, module loaded:     {:8.1} µs", cold(&hears));
    println!("first call, event not heard:   {:8.1} µs", cold(&deaf));
    let action = ModuleAction::new(ScriptSettings::default());
    let warm = |call: &Call| median((0..30_000).map(|_| once(&action, call)).collect());
    println!("later call, handler answers:   {:8.1} µs", warm(&hears));
    println!("later call, event not heard:   {:8.1} µs", warm(&deaf));
    let before = resident();
    let many: Vec<_> = (0..40).map(|_| ModuleAction::new(ScriptSettings::default())).collect();
    many.iter().for_each(|action| _ = once(action, &hears));
    println!("memory of one loaded module:   {:8.1} KiB", (resident() - before) / 40.0);
}

/// Resident memory in KiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
