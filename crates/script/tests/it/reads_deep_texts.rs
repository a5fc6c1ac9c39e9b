//! A text that is nested without measure: an answer or a refusal, and memory as its length asks for,
//! not as its depth does.

use std::process::Command;

use gambrel_model::End;
use serde_json::json;

use crate::stand::{Stand, bash};

const DEEP: usize = 40_000;
const MOST_KIB: u64 = 300 << 10;

#[test]
fn in_a_process_whose_memory_is_counted() {
    let this = std::env::current_exe().unwrap();
    let words = ["--ignored", "--exact", "--nocapture", "reads_deep_texts::alone"];
    let told = Command::new(this).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&told.stdout);
    assert!(told.status.success() && said.contains("1 passed"), "{told:?}");
}

#[test]
#[ignore = "measures its own process: run by the test above"]
fn alone() {
    let stand = Stand::new();
    for (open, close) in [("{", "}"), ("if(1){", "}"), ("(()=>{", "})()"), ("[", "]")] {
        let deep = format!("{}{}", open.repeat(DEEP), close.repeat(DEEP));
        let text = format!("export default (pi) => {{ pi.on('tool_call', () => {{ {deep} }}); }}");
        stand.write("m.ts", &text);
        for body in [json!({"op": "load"}), bash("ls")] {
            let outcome = stand.call("m.ts", body);
            assert!(
                matches!(outcome.end, End::Answered | End::Unstarted(_)),
                "{open}: {outcome:?}"
            );
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    assert!(peak.is_none_or(|kib| kib < MOST_KIB), "{peak:?} KiB");
}
