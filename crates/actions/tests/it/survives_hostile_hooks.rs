//! Hooks that close their streams, write slowly, multiply, or kill their host.

use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, assert_in_time, stdout_text, wait_until};

#[test]
fn waits_for_a_hook_that_closed_its_streams() {
    let fixture = HookFixture::new();
    let outcome = fixture.run(&fixture.sh_call("exec <&- >&- 2>&-; sleep 0.4; exit 3"));
    assert_eq!(outcome.end, End::Exited(3));
    assert!(outcome.elapsed >= Duration::from_millis(400) && outcome.remarks.is_empty());
    fixture.assert_no_processes_left();
}

#[test]
fn keeps_the_output_of_a_slow_writer() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("while :; do printf x; sleep 0.05; done");
    call.limits.timeout = Duration::from_millis(700);
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(stdout_text(&outcome).starts_with("xx"), "{outcome:?}");
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
}

#[test]
fn kills_a_hook_that_writes_endlessly() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("yes & yes >&2");
    call.limits.timeout = Duration::from_millis(700);
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.stdout.is_truncated() && outcome.stderr.is_truncated());
    assert_in_time(&outcome, &call);
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
}

#[test]
fn kills_150_processes_that_left_their_session() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call(
        "trap '' TERM; i=0; while [ $i -lt 150 ]; do (trap '' TERM; setsid sleep 1000 &); i=$((i+1)); done; touch all; sleep 1000",
    );
    call.limits.timeout = Duration::from_secs(4);
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert_in_time(&outcome, &call);
    fixture.assert_no_processes_left();
}

#[test]
fn kills_a_hook_that_killed_its_host() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("sleep 1; kill -9 $PPID; touch done; sleep 1000");
    call.limits.timeout = Duration::from_secs(600);
    fixture.spawn_host(&call, None).wait().unwrap();
    wait_until("the kill", || fixture.path("done").exists() || fixture.living_pids().is_empty());
    assert!(!fixture.path("outcome").exists(), "the host did not survive it");
    fixture.assert_no_processes_left();
}
