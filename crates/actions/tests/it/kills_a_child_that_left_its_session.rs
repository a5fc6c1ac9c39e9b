//! A process with a new session or without parents is still killed at the timeout.

use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, assert_in_time, wait_until};

#[test]
fn kills_a_child_that_left_its_session() {
    let fixture = HookFixture::new();
    let mut call =
        fixture.sh_call("setsid sleep 1000 & setsid sh -c 'setsid sleep 1000 & exit' & sleep 1000");
    call.limits.timeout = Duration::from_millis(500);
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert_in_time(&outcome, &call);
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
}

#[test]
fn kills_a_daemon_of_a_successful_hook_at_the_deadline() {
    let fixture = HookFixture::new();
    let mut call =
        fixture.sh_call("setsid sh -c 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & exit'");
    call.limits.timeout = Duration::from_secs(2);
    // Only a subreaper can find it, so the host runs in its own process.
    fixture.spawn_host(&call, None).wait().unwrap();
    let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    assert!(
        outcome.remarks.iter().any(|remark| remark.starts_with("leak: 1 process still runs")),
        "{outcome:?}"
    );
    wait_until("its end", || fixture.living_pids().is_empty());
}

/// Double fork, its own session and no environment: only its parent process shows which hook
/// started it.
const HIDDEN_SLEEP: &str =
    "env -i setsid sh -c 'echo $$ > hidden; exec sleep 60' </dev/null >/dev/null 2>&1 &";

fn hidden_pid(fixture: &HookFixture) -> String {
    let read = || std::fs::read_to_string(fixture.path("hidden")).unwrap_or_default();
    wait_until("the hidden one", || read().ends_with('\n'));
    read().trim().to_owned()
}

fn is_sleeping(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains("(sleep)") && !stat.contains(") Z")
}

#[test]
fn kills_a_hidden_process_of_a_late_hook() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call(&format!("({HIDDEN_SLEEP}) & wait; sleep 1000"));
    call.limits.timeout = Duration::from_millis(500);
    fixture.spawn_host(&call, None).wait().unwrap();
    let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
    assert_eq!(outcome.end, End::TimedOut);
    assert_in_time(&outcome, &call);
    let pid = hidden_pid(&fixture);
    assert!(!is_sleeping(&pid), "process {pid} is left: {outcome:?}");
    fixture.assert_no_processes_left();
}

#[test]
fn kills_a_hidden_process_at_the_deadline() {
    let fixture = HookFixture::new();
    let mut call = fixture
        .sh_call(&format!("({HIDDEN_SLEEP}) & wait; until test -s hidden; do sleep 0.01; done"));
    call.limits.timeout = Duration::from_secs(2);
    fixture.spawn_host(&call, None).wait().unwrap();
    let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    let pid = hidden_pid(&fixture);
    assert!(is_sleeping(&pid), "it may finish: {outcome:?}");
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("leak: ")), "{outcome:?}");
    wait_until("its end", || !is_sleeping(&pid));
    fixture.assert_no_processes_left();
}
