//! A text that is nested without measure: an answer or a refusal, and memory as its length asks for,
//! not as its depth does.

use std::process::Command;

use gambrel_model::End;
use serde_json::json;

use crate::stand::{Stand, bash};

const DEEP: usize = 40_000;
const MOST_KIB: u64 = 300 << 10;

/// Tells the process that it is the one whose memory is counted.
const ALONE: &str = "GAMBREL_TEST_ALONE";

#[test]
fn in_a_process_whose_memory_is_counted() {
    if std::env::var_os(ALONE).is_some() {
        return alone();
    }
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", "reads_deep_texts::in_a_process_whose_memory_is_counted"]);
    let told = this.env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&told.stdout);
    assert!(told.status.success() && said.contains("1 passed"), "{told:?}");
}

fn alone() {
    let stand = Stand::new();
    for (open, close) in [("{", "}"), ("if(1){", "}"), ("(()=>{", "})()"), ("[", "]")] {
        let deep = format!("{}{}", open.repeat(DEEP), close.repeat(DEEP));
        let text = format!("export default (pi) => {{ pi.on('tool_call', () => {{ {deep} }}); }}");
        stand.write("m.ts", &text);
        for body in [json!({"op": "load"}), bash("ls")] {
            let outcome = stand.call("m.ts", body);
            assert!(
                matches!(outcome.end, End::Answered | End::FailedToStart(_)),
                "{open}: {outcome:?}"
            );
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    assert!(peak.is_some_and(|kib| kib < MOST_KIB), "{peak:?} KiB");
}
