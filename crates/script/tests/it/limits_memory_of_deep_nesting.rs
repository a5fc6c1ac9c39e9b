//! A deeply nested source is answered or rejected, and its memory use grows with its length, not
//! its depth.

use std::process::Command;

use gambrel_model::End;
use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body};

const NESTING_DEPTH: usize = 40_000;
const MAX_PEAK_KIB: u64 = 300 << 10;

/// Set in the process whose memory is measured.
const MEASURED_VAR: &str = "GAMBREL_TEST_ALONE";

#[test]
fn deep_nesting_needs_little_memory() {
    if std::env::var_os(MEASURED_VAR).is_some() {
        return measure_memory();
    }
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", "limits_memory_of_deep_nesting::deep_nesting_needs_little_memory"]);
    let output = this.env(MEASURED_VAR, "1").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("1 passed"), "{output:?}");
}

fn measure_memory() {
    let dir = ModuleDir::new();
    for (open, close) in [("{", "}"), ("if(1){", "}"), ("(()=>{", "})()"), ("[", "]")] {
        let deep = format!("{}{}", open.repeat(NESTING_DEPTH), close.repeat(NESTING_DEPTH));
        let text = format!("export default (pi) => {{ pi.on('tool_call', () => {{ {deep} }}); }}");
        dir.write_file("m.ts", &text);
        for body in [json!({"op": "load"}), bash_body("ls")] {
            let outcome = dir.call("m.ts", body);
            assert!(
                matches!(outcome.end, End::Answered | End::FailedToStart(_)),
                "{open}: {outcome:?}"
            );
        }
    }

    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    assert!(peak.is_some_and(|kib| kib < MAX_PEAK_KIB), "{peak:?} KiB");
}
