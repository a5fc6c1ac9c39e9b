//! Runs a JavaScript probe in the embedded engine and, if installed, in Node, and compares the
//! answers.

use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use gambrel_model::End;
use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::module_dir::{ModuleDir, bash_body};

const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// The result of the function `probe` in `text`, compared with Node's result. `<base>` replaces the
/// directory of the run.
pub fn probe(text: &str) -> Value {
    let ours = probe_embedded(text);
    if let Some(theirs) = probe_node(text) {
        assert_same(&ours, &theirs, "");
    }
    ours
}

/// The result in the embedded engine only.
pub fn probe_embedded(text: &str) -> Value {
    let settings = ScriptSettings { full_host: FullHost::Disabled, ..ScriptSettings::default() };
    let dir = ModuleDir { timeout: PROBE_TIMEOUT, ..ModuleDir::with_settings(settings) };
    dir.write_file("probe.mjs", text);
    dir.write_file(
        "m.ts",
        "import { probe } from './probe.mjs';
export default (pi: any) => { pi.on('tool_call', async () => ({ json: JSON.stringify(await probe()) })); };",
    );

    let mut body = bash_body("ls");
    body["ctx"]["cwd"] = json!(dir.folder.path());
    let outcome = dir.call("m.ts", body);
    assert_eq!(outcome.end, End::Answered, "{outcome:?}");
    let answer = outcome.answer.unwrap();
    let Some(json) = answer["results"][0]["json"].as_str() else { panic!("{answer}") };
    replace_base(json, &dir)
}

fn replace_base(json: &str, dir: &ModuleDir) -> Value {
    let base = dir.folder.path().to_str().unwrap();
    serde_json::from_str(&json.replace(base, "<base>")).unwrap()
}

/// Node's result. Without Node it prints one line and returns `None`.
fn probe_node(text: &str) -> Option<Value> {
    static REPORTED: Once = Once::new();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&paths).any(|p| p.join("node").is_file()) {
        REPORTED.call_once(|| eprintln!("SKIPPED: node is not installed, nothing to compare with"));
        return None;
    }

    let dir = ModuleDir::new();
    dir.write_file("probe.mjs", text);
    dir.write_file(
        "run.mjs",
        "import { writeFileSync } from 'node:fs'; import { probe } from './probe.mjs';
writeFileSync('told.json', JSON.stringify(await probe()));",
    );

    let mut child = Command::new("node")
        .arg("run.mjs")
        .current_dir(dir.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();

    let deadline = Instant::now() + PROBE_TIMEOUT;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("node did not end");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(status.success(), "{status}");
    Some(replace_base(&std::fs::read_to_string(dir.path("told.json")).unwrap(), &dir))
}

/// Asserts equality and names the first difference.
fn assert_same(ours: &Value, theirs: &Value, at: &str) {
    match (ours, theirs) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter()
                .zip(b)
                .enumerate()
                .for_each(|(n, (a, b))| assert_same(a, b, &format!("{at}/{n}")));
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().zip(b).for_each(|((k, a), (_, b))| assert_same(a, b, &format!("{at}/{k}")));
        }
        _ => assert_eq!(ours, theirs, "ours and node's at {at}"),
    }
}
