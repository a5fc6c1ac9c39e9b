//! A module's processes do not outlive gambrel, even if gambrel is killed.

use std::path::Path;

use crate::test_project::{TestProject, report_missing_part, text, wait_until};

const CALL: &str = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;
/// Needs a sidecar, records its process id, and never returns.
const STUCK: &str = "import 'node:net'; import { writeFileSync, renameSync } from 'node:fs';
export default (pi) => pi.on('tool_call', (event, ctx) => {
  writeFileSync(ctx.cwd + '/pid.new', String(process.pid)); renameSync(ctx.cwd + '/pid.new', ctx.cwd + '/pid');
  for (;;) {}
});
";

/// Whether a process still runs. A zombie does not.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Kills a process that a failed test would leave running.
struct Leftover(String);

impl Drop for Leftover {
    fn drop(&mut self) {
        if is_running(&self.0) {
            let _ended = std::process::Command::new("kill").args(["-9", &self.0]).status();
        }
    }
}

/// Fires, waits for the recorded process id, kills `fire`, and checks that the process ends.
fn assert_ends_with_fire(module: &str) {
    let project = TestProject::new();
    project.file(".omp/hooks/stuck.ts", module);
    let mut fired = project.start(&["fire", "--from", "omp"], CALL.as_bytes());
    let mark = project.root.join("pid");
    wait_until("the module has begun", || mark.exists());
    let left = Leftover(text(&std::fs::read(&mark).unwrap()).trim().to_owned());
    assert!(is_running(&left.0), "the recorded process does not run");
    // SIGKILL: no code of gambrel runs after it.
    fired.kill().unwrap();
    fired.wait().unwrap();
    wait_until("the process has gone", || !is_running(&left.0));
}

#[test]
fn a_looping_sidecar_ends_when_fire_is_killed() {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let full_host = |p: &Path| p.join("bun").is_file() || p.join("node").is_file();
    match cfg!(target_os = "linux") && std::env::split_paths(&paths).any(|p| full_host(&p)) {
        true => assert_ends_with_fire(STUCK),
        false => report_missing_part("bun or node, and /proc to see them in"),
    }
}

const WAITS: &str = "'sh', ['-c', 'echo $$ > pid.new; mv pid.new pid; exec sleep 600']";
/// In its own session, out of reach of signals to the process group.
const AWAY: &str = "'sh', ['-c', 'setsid sh -c \"echo \\\\$\\\\$ > pid.new; mv pid.new pid; exec sleep 600\" & wait']";

#[test]
fn programs_of_a_module_end_when_fire_is_killed() {
    if !cfg!(target_os = "linux") {
        eprintln!("SKIPPED: no /proc to see them in");
        return;
    }
    for waits in ["await pi.exec", "await new Promise((done) => spawn", "spawnSync"] {
        let close = if waits.contains("Promise") { ").on('exit', done))" } else { ")" };
        for program in [WAITS, AWAY] {
            assert_ends_with_fire(&format!(
                "import {{ spawn, spawnSync }} from 'node:child_process';
                 export default (pi) => pi.on('tool_call', async () => {{ {waits}({program}{close}; }});\n"
            ));
        }
    }
}

#[test]
fn exits_with_the_code_of_the_signal() {
    let module = "import fs from 'fs'; import { spawn } from 'child_process';
        export default (pi) => pi.on('tool_call', async (e, ctx) => {
          const child = spawn('sleep', ['600']); fs.writeFileSync(ctx.cwd + '/pid.new', String(child.pid)); fs.renameSync(ctx.cwd + '/pid.new', ctx.cwd + '/pid');
          await new Promise((r) => child.on('exit', r));
        });\n";
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let project = TestProject::new();
        project.file(".omp/hooks/slow.ts", module);
        let mut fired = project.start(&["fire", "--from", "omp"], CALL.as_bytes());
        let mark = project.root.join("pid");
        wait_until("the module has begun", || mark.exists());
        let left = Leftover(text(&std::fs::read(&mark).unwrap()).trim().to_owned());
        let killed = std::process::Command::new("kill")
            .args(["-s", signal, &fired.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        assert_eq!(fired.wait().unwrap().code(), Some(code), "{signal}");
        wait_until("its program has gone", || !is_running(&left.0));
    }
}

/// A leftover process may finish its work within the time limit of its call.
#[test]
fn kills_leftovers_of_a_program_at_the_time_limit() {
    let project = TestProject::new().with("GAMBREL_OMP_EDITION", "extensions");
    let config = project.base.join("home/.config/gambrel");
    std::fs::create_dir_all(&config).unwrap();
    let limit = "omp: {edition: extensions, extensionHandlers: {toolCallTimeoutMs: 2000}}\n";
    std::fs::write(config.join("config.yaml"), limit).unwrap();
    let module = "import { execFileSync } from 'child_process';
        export default (pi) => pi.on('tool_call', () => { execFileSync('sh', ['-c', 'setsid sleep 600 > /dev/null 2>&1 & echo $! > pid; sleep 0.5']); });\n";
    project.file(".omp/hooks/daemon.ts", module);
    let decision = project.decide("omp", CALL);
    assert_eq!(decision["ruling"], "silent", "{decision}");
    let pid = std::fs::read_to_string(project.root.join("pid")).unwrap();
    let left = Leftover(pid.trim().to_owned());
    assert!(is_running(&left.0), "it was killed too early");
    wait_until("its time is over", || !is_running(&left.0));
}

/// Starts a process in its own session, without environment and parent, and runs on.
const HIDDEN: &str = "'sh', ['-c', '(setsid env -i /bin/sh -c \"echo \\\\$\\\\$ > pid.new; mv pid.new pid; exec sleep 600\" > /dev/null 2>&1 &); END']";

#[test]
fn ends_hidden_processes_at_the_timeout_of_their_program() {
    if !cfg!(target_os = "linux") {
        eprintln!("SKIPPED: no list of children in /proc");
        return;
    }
    let ways = [
        "spawnSync(PROGRAM, { timeout: 700 });",
        "await new Promise((done) => spawn(PROGRAM, { timeout: 700 }).on('close', done));",
        "await pi.exec(PROGRAM, { timeout: 700 });",
    ];
    for way in ways {
        let project = TestProject::new();
        let code = way.replace("PROGRAM", &HIDDEN.replace("END", "sleep 600"));
        let module = format!(
            "import {{ spawn, spawnSync }} from 'node:child_process';
             export default (pi) => pi.on('tool_call', async () => {{ {code} }});\n"
        );
        project.file(".omp/hooks/hidden.ts", &module);
        let decision = project.decide("omp", CALL);
        let pid = std::fs::read_to_string(project.root.join("pid")).unwrap();
        let left = Leftover(pid.trim().to_owned());
        assert_eq!(decision["ruling"], "silent", "{decision}");
        assert!(!is_running(&left.0), "{way}: the process still runs");
    }
}

#[test]
fn kills_hidden_leftovers_of_a_program_at_the_time_limit() {
    let project = TestProject::new().with("GAMBREL_OMP_EDITION", "extensions");
    let config = project.base.join("home/.config/gambrel");
    std::fs::create_dir_all(&config).unwrap();
    let limit = "omp: {edition: extensions, extensionHandlers: {toolCallTimeoutMs: 2000}}\n";
    std::fs::write(config.join("config.yaml"), limit).unwrap();
    let program = HIDDEN.replace("END", "sleep 0.5");
    let module = format!(
        "import {{ execFileSync }} from 'child_process';
         export default (pi) => pi.on('tool_call', () => {{ execFileSync({program}); }});\n"
    );
    project.file(".omp/hooks/daemon.ts", &module);
    let decision = project.decide("omp", CALL);
    assert_eq!(decision["ruling"], "silent", "{decision}");
    let pid = std::fs::read_to_string(project.root.join("pid")).unwrap();
    let left = Leftover(pid.trim().to_owned());
    assert!(is_running(&left.0), "it was killed too early");
    wait_until("its time is over", || !is_running(&left.0));
}
