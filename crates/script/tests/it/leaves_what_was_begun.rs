//! What a module starts and does not wait for may finish its work when its call ended well, though
//! not past the call's own time; the outcome says what was left.

use std::path::Path;
use std::time::{Duration, Instant};

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::each;
use crate::stand::{Stand, bash};

const DEADLINE: Duration = Duration::from_secs(20);

fn there(path: &Path) {
    let until = Instant::now() + DEADLINE;
    while !path.exists() {
        assert!(Instant::now() < until, "nobody wrote {}", path.display());
        std::thread::yield_now();
    }
}

/// Runs one handler, lets the action go, and only then lets the program finish.
fn finishes(stand: Stand, code: &str, head: &str) -> Vec<String> {
    let (go, done) = (stand.path("go"), stand.path("done"));
    let wait = json!("while ! [ -e \"$1\" ]; do sleep 0.02; done; touch \"$2\"");
    let words = format!("'sh', ['-c', {wait}, 'sh', {}, {}]", json!(go), json!(done));
    let code = code.replace("PROGRAM", &words);
    stand.write(
        "m.ts",
        &format!(
            "{head} import {{ spawn, execFile }} from 'node:child_process';
             export default (pi: any) => {{ pi.on('tool_call', async () => {{ {code} }}); }};"
        ),
    );
    let outcome = stand.call("m.ts", bash("ls"));
    assert_eq!(outcome.answer.unwrap()["errors"], json!([]), "{code}");
    let Stand { folder, action, .. } = stand;
    drop(action);
    assert!(!done.exists());
    std::fs::write(go, "").unwrap();
    there(&done);
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
fn in_the_embedded_engine() {
    for code in CODES {
        let settings = ScriptSettings { full_host: FullHost::Nobody, ..Default::default() };
        let remarks = finishes(Stand::with(settings), code, "");
        assert_eq!(remarks, ["leak: 1 process still runs (sh)"], "{code}");
    }
}

#[test]
fn in_a_full_host() {
    each(|host| {
        for code in CODES {
            let settings = ScriptSettings { full_host: host.clone(), ..Default::default() };
            finishes(Stand::with(settings), code, "import 'node:net';");
        }
    });
}

#[test]
fn timers_of_a_full_host_ring() {
    each(|host| {
        let settings = ScriptSettings { full_host: host.clone(), ..Default::default() };
        let Stand { folder, action, .. } = {
            let stand = Stand::with(settings);
            let done = json!(stand.path("done"));
            stand.write("m.ts", &format!("import 'node:net'; import fs from 'node:fs'; export default (pi: any) => {{ pi.on('tool_call', () => {{ setTimeout(() => {{ console.log('nobody listens'); fs.writeFileSync({done}, ''); }}, 50); }}); }};"));
            stand.answer("m.ts", bash("ls"));
            stand
        };
        drop(action);
        there(&folder.path().join("done"));
    });
}

#[test]
fn what_is_left_ends_when_the_call_would_have() {
    let stand = Stand { timeout: Duration::from_secs(2), ..Stand::new() };
    let pid = stand.path("pid");
    let code = format!(
        "pi.exec('sh', ['-c', 'echo $$ > \"$1.new\"; mv \"$1.new\" \"$1\"; exec sleep 600', 'sh', {}]); return {{ fine: true }};",
        json!(pid)
    );
    let outcome = stand.handler(&code);
    assert_eq!(outcome.answer.unwrap()["results"], json!([{"fine": true}]));
    there(&pid);
    let number = std::fs::read_to_string(&pid).unwrap();
    let Stand { folder, action, .. } = stand;
    drop(action);
    let until = Instant::now() + DEADLINE;
    while cfg!(target_os = "linux") && Path::new("/proc").join(number.trim()).exists() {
        assert!(Instant::now() < until, "it still runs");
        std::thread::yield_now();
    }
    drop(folder);
}
