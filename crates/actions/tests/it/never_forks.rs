//! No child is started by copying this process: the cost of a hook must not grow with the host.

use std::process::Command;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, host_program};

#[test]
fn never_forks() {
    let fixture = HookFixture::new();
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED never_forks: strace is not installed");
        assert!(std::env::var_os("CI").is_none(), "strace is required in CI");
        return;
    }
    let call = fixture.path("call.json");
    // Long enough for a watchdog, with a changed PATH and a bare name: these make other
    // implementations fork.
    let mut wanted = fixture.exec_call(&["sleep", "0.5"]);
    wanted.env.push(("PATH".to_owned(), "/usr/bin:/bin".to_owned()));
    std::fs::write(&call, serde_json::to_vec(&wanted).unwrap()).unwrap();
    let trace = fixture.path("trace");
    let mut command = Command::new("strace");
    command.args(["-e", "trace=process", "-o"]).arg(&trace).arg(host_program());
    command.arg("run").arg(fixture.path("outcome")).env("CALL_FILE", &call);
    command.env("KILL_WITH_PARENT", "1");
    let output = command.output().unwrap();
    if !output.status.success() && !fixture.path("outcome").exists() {
        eprintln!("SKIPPED never_forks: strace may not trace here");
        return;
    }
    assert_eq!(fixture.wait_for_outcome(&fixture.path("outcome")).end, End::Exited(0));
    let trace = std::fs::read_to_string(trace).unwrap();
    let births = trace.lines().filter(|line| {
        ["fork(", "vfork(", "clone(", "clone3("].iter().any(|call| line.starts_with(call))
    });
    let births: Vec<&str> = births.collect();
    assert_eq!(births.len(), 2, "the hook and the watchdog: {births:?}");
    for birth in births {
        assert!(birth.contains("CLONE_VM") && birth.contains("CLONE_VFORK"), "{birth}");
    }
    fixture.assert_no_processes_left();
}
