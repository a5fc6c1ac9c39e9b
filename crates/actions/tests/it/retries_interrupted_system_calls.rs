//! A system call that a signal interrupts is made again: no exit code and no output is lost.

use std::process::Command;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, host_program, stdout_text};

#[test]
fn retries_interrupted_system_calls() {
    let fixture = HookFixture::new();
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED retries_interrupted_system_calls: strace is not installed");
        assert!(std::env::var_os("CI").is_none(), "strace is required in CI");
        return;
    }
    // Long enough for a watchdog, and with a leftover process.
    let mut wanted =
        fixture.sh_call("cat; sleep 0.1; (sleep 0.5) >/dev/null 2>&1 & echo out; exit 3");
    // More than a large pipe holds, so that there are several writes.
    wanted.stdin = Some(vec![b'x'; 3_000_000].into());
    let call = fixture.path("call.json");
    std::fs::write(&call, serde_json::to_vec(&wanted).unwrap()).unwrap();
    // Interrupts each of the first calls once, or many of them.
    for first in ["1", "2", "3", "4", "5", "6", "7", "8", "1+2", "2+3"] {
        let _ = std::fs::remove_file(fixture.path("outcome"));
        let calls = "waitid,poll,write,pwrite64";
        let mut command = Command::new("strace");
        command.args(["-qq", "-e", &format!("trace={calls}"), "-e"]);
        command.arg(format!("inject={calls}:error=EINTR:when={first}"));
        command.arg("-o").arg(fixture.path("trace")).arg(host_program()).arg("run");
        command.arg(fixture.path("outcome")).env("CALL_FILE", &call);
        command.env("RUNNING_FILE", fixture.path("running"));
        let output = command.output().unwrap();
        if !output.status.success() && !fixture.path("outcome").exists() {
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(message.contains("ptrace"), "{first}: {message}");
            eprintln!("SKIPPED retries_interrupted_system_calls: strace may not trace here");
            return;
        }
        let trace = std::fs::read_to_string(fixture.path("trace")).unwrap();
        assert!(trace.contains("EINTR") && trace.contains("INJECTED"), "{trace}");
        let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
        assert_eq!(outcome.end, End::Exited(3), "{first}: {:?}", outcome.remarks);
        assert!(stdout_text(&outcome).ends_with("xout\n"), "{first}");
        let refused = |remark: &String| remark.contains("watchdog");
        assert!(!outcome.remarks.iter().any(refused), "{first}: {:?}", outcome.remarks);
    }
    fixture.assert_no_processes_left();
}
