//! After a successful call, programs that it started may finish within the call's timeout. The
//! outcome names them.

use std::path::Path;
use std::time::{Duration, Instant};

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body};

const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

fn wait_for_file(path: &Path) {
    let until = Instant::now() + WAIT_TIMEOUT;
    while !path.exists() {
        assert!(Instant::now() < until, "nobody wrote {}", path.display());
        std::thread::yield_now();
    }
}

/// Runs a handler, drops the action, and then lets the program finish.
fn run_and_release(dir: ModuleDir, code: &str, head: &str) -> Vec<String> {
    let (go, done) = (dir.path("go"), dir.path("done"));
    let wait = json!("while ! [ -e \"$1\" ]; do sleep 0.02; done; touch \"$2\"");
    let words = format!("'sh', ['-c', {wait}, 'sh', {}, {}]", json!(go), json!(done));
    let code = code.replace("PROGRAM", &words);
    dir.write_file(
        "m.ts",
        &format!(
            "{head} import {{ spawn, execFile }} from 'node:child_process';
             export default (pi: any) => {{ pi.on('tool_call', async () => {{ {code} }}); }};"
        ),
    );

    let outcome = dir.call("m.ts", bash_body("ls"));
    assert_eq!(outcome.answer.unwrap()["errors"], json!([]), "{code}");
    let ModuleDir { folder, action, .. } = dir;
    drop(action);

    assert!(!done.exists());
    std::fs::write(go, "").unwrap();
    wait_for_file(&done);
    drop(folder);
    outcome.remarks
}

const CODES: &[&str] = &[
    "spawn(PROGRAM, { detached: true, stdio: 'ignore' }).unref();",
    "spawn(PROGRAM);",
    "execFile(PROGRAM, () => {});",
    "pi.exec(PROGRAM);",
    "(async () => { await pi.exec(PROGRAM); })();",
];

#[test]
fn programs_finish_in_the_embedded_engine() {
    for code in CODES {
        let settings = ScriptSettings { full_host: FullHost::Disabled, ..Default::default() };
        let remarks = run_and_release(ModuleDir::with_settings(settings), code, "");
        assert_eq!(remarks, ["leak: 1 process still runs (sh)"], "{code}");
    }
}

#[test]
fn programs_finish_in_a_full_host() {
    run_in_each_host(|host| {
        for code in CODES {
            let settings = ScriptSettings { full_host: host.clone(), ..Default::default() };
            run_and_release(ModuleDir::with_settings(settings), code, "import 'node:net';");
        }
    });
}

#[test]
fn timers_fire_in_a_full_host() {
    run_in_each_host(|host| {
        let settings = ScriptSettings { full_host: host.clone(), ..Default::default() };
        let ModuleDir { folder, action, .. } = {
            let dir = ModuleDir::with_settings(settings);
            let done = json!(dir.path("done"));
            dir.write_file("m.ts", &format!("import 'node:net'; import fs from 'node:fs'; export default (pi: any) => {{ pi.on('tool_call', () => {{ setTimeout(() => {{ console.log('nobody listens'); fs.writeFileSync({done}, ''); }}, 50); }}); }};"));
            dir.answer("m.ts", bash_body("ls"));
            dir
        };
        drop(action);
        wait_for_file(&folder.path().join("done"));
    });
}

#[test]
fn leftovers_end_at_the_call_timeout() {
    let dir = ModuleDir { timeout: Duration::from_secs(2), ..ModuleDir::new() };
    let pid = dir.path("pid");
    let code = format!(
        "pi.exec('sh', ['-c', 'echo $$ > \"$1.new\"; mv \"$1.new\" \"$1\"; exec sleep 600', 'sh', {}]); return {{ fine: true }};",
        json!(pid)
    );
    let outcome = dir.run_handler(&code);
    assert_eq!(outcome.answer.unwrap()["results"], json!([{"fine": true}]));
    wait_for_file(&pid);

    let number = std::fs::read_to_string(&pid).unwrap();
    let ModuleDir { folder, action, .. } = dir;
    drop(action);
    let until = Instant::now() + WAIT_TIMEOUT;
    while cfg!(target_os = "linux") && Path::new("/proc").join(number.trim()).exists() {
        assert!(Instant::now() < until, "it still runs");
        std::thread::yield_now();
    }
    drop(folder);
}
