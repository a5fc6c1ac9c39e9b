//! One snippet of JavaScript in our engine and, where there is one, in Node: the same answer, and
//! the one that was written down.

use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use gambrel_model::End;
use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::stand::{Stand, bash};

const LIMIT: Duration = Duration::from_secs(60);

/// What the function `probe` of `text` gives, checked against Node's own answer. `<base>` stands
/// for the folder that it ran in.
pub fn probe(text: &str) -> Value {
    let ours = embedded(text);
    if let Some(theirs) = node(text) {
        compare(&ours, &theirs, "");
    }
    ours
}

/// The same in our engine only.
pub fn embedded(text: &str) -> Value {
    let settings = ScriptSettings { full_host: FullHost::Nobody, ..ScriptSettings::default() };
    let stand = Stand { timeout: LIMIT, ..Stand::with(settings) };
    stand.write("probe.mjs", text);
    stand.write(
        "m.ts",
        "import { probe } from './probe.mjs';
export default (pi: any) => { pi.on('tool_call', async () => ({ json: JSON.stringify(await probe()) })); };",
    );
    let mut body = bash("ls");
    body["ctx"]["cwd"] = json!(stand.folder.path());
    let outcome = stand.call("m.ts", body);
    assert_eq!(outcome.end, End::Answered, "{outcome:?}");
    let answer = outcome.answer.unwrap();
    let Some(told) = answer["results"][0]["json"].as_str() else { panic!("{answer}") };
    based(told, &stand)
}

fn based(told: &str, stand: &Stand) -> Value {
    let base = stand.folder.path().to_str().unwrap();
    serde_json::from_str(&told.replace(base, "<base>")).unwrap()
}

/// Node's answer; said aloud, once, where there is no Node.
fn node(text: &str) -> Option<Value> {
    static SAID: Once = Once::new();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&paths).any(|p| p.join("node").is_file()) {
        SAID.call_once(|| eprintln!("SKIPPED: node is not installed, nothing to compare with"));
        return None;
    }
    let stand = Stand::new();
    stand.write("probe.mjs", text);
    stand.write(
        "run.mjs",
        "import { writeFileSync } from 'node:fs'; import { probe } from './probe.mjs';
writeFileSync('told.json', JSON.stringify(await probe()));",
    );
    let mut child = Command::new("node")
        .arg("run.mjs")
        .current_dir(stand.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + LIMIT;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > until => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("node did not end");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(status.success(), "{status}");
    Some(based(&std::fs::read_to_string(stand.path("told.json")).unwrap(), &stand))
}

/// Names the first place where they differ.
fn compare(ours: &Value, theirs: &Value, at: &str) {
    match (ours, theirs) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(n, (a, b))| compare(a, b, &format!("{at}/{n}")));
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().zip(b).for_each(|((k, a), (_, b))| compare(a, b, &format!("{at}/{k}")));
        }
        _ => assert_eq!(ours, theirs, "ours and node's at {at}"),
    }
}
