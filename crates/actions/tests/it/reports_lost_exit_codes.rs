//! A host that ignores SIGCHLD loses the exit codes of its children. The outcome reports that and
//! has no exit code.

use std::process::{Command, Stdio};

use crate::hook_fixture::{HookFixture, host_program, start_failure};

#[test]
fn reports_lost_exit_codes() {
    let fixture = HookFixture::new();
    for text in ["exit 2", "exit 0", "sleep 0.3; exit 2"] {
        let call = fixture.path("call.json");
        std::fs::write(&call, serde_json::to_vec(&fixture.sh_call(text)).unwrap()).unwrap();
        let _ = std::fs::remove_file(fixture.path("outcome"));
        let mut command = Command::new("env");
        command.arg("--ignore-signal=CHLD").arg(host_program());
        command.arg("run").arg(fixture.path("outcome")).env("CALL_FILE", &call);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
        let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
        let why = start_failure(&outcome);
        assert!(why.contains("its exit code was lost") && why.contains("SIGCHLD"), "{text}: {why}");
    }
    fixture.assert_no_processes_left();
}
