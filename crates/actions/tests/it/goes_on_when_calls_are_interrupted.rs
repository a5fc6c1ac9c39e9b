//! A system call that a signal interrupts is made again: no exit code and no output is lost.

use std::process::Command;

use gambrel_model::End;

use crate::stand::{Stand, host, text};

#[test]
fn goes_on_when_calls_are_interrupted() {
    let stand = Stand::new();
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED goes_on_when_calls_are_interrupted: strace is not installed");
        assert!(std::env::var_os("CI").is_none(), "strace is required in CI");
        return;
    }
    // Long enough for a watchdog, and with something that stays.
    let mut wanted = stand.sh("cat; sleep 0.1; (sleep 0.5) >/dev/null 2>&1 & echo out; exit 3");
    wanted.stdin = Some(vec![b'x'; 200_000]);
    let call = stand.path("call.json");
    std::fs::write(&call, serde_json::to_vec(&wanted).unwrap()).unwrap();
    // Each of the first calls once, and many of them.
    for first in ["1", "2", "3", "4", "5", "6", "7", "8", "1+2", "2+3"] {
        let _ = std::fs::remove_file(stand.path("outcome"));
        let calls = "waitid,poll,write,pwrite64";
        let mut command = Command::new("strace");
        command.args(["-qq", "-e", &format!("trace={calls}"), "-e"]);
        command.arg(format!("inject={calls}:error=EINTR:when={first}"));
        command.arg("-o").arg(stand.path("trace")).arg(host()).arg("run");
        command.arg(stand.path("outcome")).env("CALL_FILE", &call);
        command.env("RUNNING_FILE", stand.path("running"));
        let output = command.output().unwrap();
        if !output.status.success() && !stand.path("outcome").exists() {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(told.contains("ptrace"), "{first}: {told}");
            eprintln!("SKIPPED goes_on_when_calls_are_interrupted: strace may not trace here");
            return;
        }
        let trace = std::fs::read_to_string(stand.path("trace")).unwrap();
        assert!(trace.contains("EINTR") && trace.contains("INJECTED"), "{trace}");
        let outcome = stand.outcome(&stand.path("outcome"));
        assert_eq!(outcome.end, End::Exited(3), "{first}: {:?}", outcome.remarks);
        assert!(text(&outcome).ends_with("xout\n"), "{first}");
        let refused = |remark: &String| remark.contains("watchdog");
        assert!(!outcome.remarks.iter().any(refused), "{first}: {:?}", outcome.remarks);
    }
    stand.nobody_is_left();
}
