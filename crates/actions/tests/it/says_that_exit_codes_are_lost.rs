//! A host that ignores SIGCHLD loses the exit codes of its children: that is said, and never taken
//! for an exit code.

use std::process::{Command, Stdio};

use crate::stand::{Stand, host, unstarted};

#[test]
fn says_that_exit_codes_are_lost() {
    let stand = Stand::new();
    for text in ["exit 2", "exit 0", "sleep 0.3; exit 2"] {
        let call = stand.path("call.json");
        std::fs::write(&call, serde_json::to_vec(&stand.sh(text)).unwrap()).unwrap();
        let _ = std::fs::remove_file(stand.path("outcome"));
        let mut command = Command::new("env");
        command.arg("--ignore-signal=CHLD").arg(host());
        command.arg("run").arg(stand.path("outcome")).env("CALL_FILE", &call);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
        let outcome = stand.outcome(&stand.path("outcome"));
        let why = unstarted(&outcome);
        assert!(why.contains("its exit code was lost") && why.contains("SIGCHLD"), "{text}: {why}");
    }
    stand.nobody_is_left();
}
