//! A module in a process of its own does not outlive the program that started it, even where both
//! are past asking.

use std::path::Path;

use crate::ground::{Ground, text, until};

const CALL: &str = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;
/// Needs a full host, tells the number of its process, and never comes back.
const STUCK: &str = "import 'node:net'; import { writeFileSync, renameSync } from 'node:fs';
export default (pi) => pi.on('tool_call', (event, ctx) => {
  writeFileSync(ctx.cwd + '/pid.new', String(process.pid)); renameSync(ctx.cwd + '/pid.new', ctx.cwd + '/pid');
  for (;;) {}
});
";

/// Whether a process still runs; one that nobody has reaped yet does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Ends what a failed test would leave running.
struct Leftover(String);

impl Drop for Leftover {
    fn drop(&mut self) {
        if runs(&self.0) {
            let _ended = std::process::Command::new("kill").args(["-9", &self.0]).status();
        }
    }
}

/// Fires, waits for the number that the module writes, and kills us without a word.
fn ends_with_us(module: &str) {
    let ground = Ground::new();
    ground.file(".omp/hooks/stuck.ts", module);
    let mut fired = ground.start(&["fire", "--from", "omp"], CALL.as_bytes());
    let mark = ground.root.join("pid");
    until("the module has begun", || mark.exists());
    let left = Leftover(text(&std::fs::read(&mark).unwrap()).trim().to_owned());
    assert!(runs(&left.0), "it looks at the wrong process");
    // Not to be caught: nothing of ours runs after it.
    fired.kill().unwrap();
    fired.wait().unwrap();
    until("the process has gone", || !runs(&left.0));
}

#[test]
fn a_looping_sidecar_ends_when_we_are_killed() {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let full_host = |p: &Path| p.join("bun").is_file() || p.join("node").is_file();
    match cfg!(target_os = "linux") && std::env::split_paths(&paths).any(|p| full_host(&p)) {
        true => ends_with_us(STUCK),
        false => eprintln!("SKIPPED: no bun or node here, or no /proc to see them in"),
    }
}

const WAITS: &str = "'sh', ['-c', 'echo $$ > pid.new; mv pid.new pid; exec sleep 600']";
/// In a session of its own, where no signal to its group comes.
const AWAY: &str = "'sh', ['-c', 'setsid sh -c \"echo \\\\$\\\\$ > pid.new; mv pid.new pid; exec sleep 600\" & wait']";

#[test]
fn programs_of_a_module_end_when_we_are_killed() {
    if !cfg!(target_os = "linux") {
        eprintln!("SKIPPED: no /proc to see them in");
        return;
    }
    for waits in ["await pi.exec", "await new Promise((done) => spawn", "spawnSync"] {
        let close = if waits.contains("Promise") { ").on('exit', done))" } else { ")" };
        for program in [WAITS, AWAY] {
            ends_with_us(&format!(
                "import {{ spawn, spawnSync }} from 'node:child_process';
                 export default (pi) => pi.on('tool_call', async () => {{ {waits}({program}{close}; }});\n"
            ));
        }
    }
}

#[test]
fn told_to_go_we_go_with_the_code_that_says_so() {
    let module = "import fs from 'fs'; import { spawn } from 'child_process';
        export default (pi) => pi.on('tool_call', async (e, ctx) => {
          const child = spawn('sleep', ['600']); fs.writeFileSync(ctx.cwd + '/pid.new', String(child.pid)); fs.renameSync(ctx.cwd + '/pid.new', ctx.cwd + '/pid');
          await new Promise((r) => child.on('exit', r));
        });\n";
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let ground = Ground::new();
        ground.file(".omp/hooks/slow.ts", module);
        let mut fired = ground.start(&["fire", "--from", "omp"], CALL.as_bytes());
        let mark = ground.root.join("pid");
        until("the module has begun", || mark.exists());
        let left = Leftover(text(&std::fs::read(&mark).unwrap()).trim().to_owned());
        let told = std::process::Command::new("kill")
            .args(["-s", signal, &fired.id().to_string()])
            .status();
        assert!(told.unwrap().success());
        assert_eq!(fired.wait().unwrap().code(), Some(code), "{signal}");
        until("its program has gone", || !runs(&left.0));
    }
}

/// It may finish its work, but not for ever: the limit of its call is that of all that it left.
#[test]
fn what_a_program_that_ended_well_left_elsewhere_has_its_time() {
    let ground = Ground::new().with("GAMBREL_OMP_EDITION", "extensions");
    let config = ground.base.join("home/.config/gambrel");
    std::fs::create_dir_all(&config).unwrap();
    let limit = "omp: {edition: extensions, extensionHandlers: {toolCallTimeoutMs: 2000}}\n";
    std::fs::write(config.join("config.yaml"), limit).unwrap();
    let module = "import { execFileSync } from 'child_process';
        export default (pi) => pi.on('tool_call', () => { execFileSync('sh', ['-c', 'setsid sleep 600 > /dev/null 2>&1 & echo $! > pid; sleep 0.5']); });\n";
    ground.file(".omp/hooks/daemon.ts", module);
    let decision = ground.decide("omp", CALL);
    assert_eq!(decision["ruling"], "silent", "{decision}");
    let pid = std::fs::read_to_string(ground.root.join("pid")).unwrap();
    let left = Leftover(pid.trim().to_owned());
    assert!(runs(&left.0), "it was not let finish");
    until("its time is over", || !runs(&left.0));
}
