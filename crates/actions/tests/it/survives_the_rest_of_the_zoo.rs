//! Hooks that close their streams, dribble, multiply, or turn against their host.

use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, eventually, in_time, text};

#[test]
fn waits_for_one_that_closed_its_streams() {
    let stand = Stand::new();
    let outcome = stand.run(&stand.sh("exec <&- >&- 2>&-; sleep 0.4; exit 3"));
    assert_eq!(outcome.end, End::Exited(3));
    assert!(outcome.elapsed >= Duration::from_millis(400) && outcome.remarks.is_empty());
    stand.nobody_is_left();
}

#[test]
fn keeps_what_a_dribbling_one_had_said() {
    let stand = Stand::new();
    let mut call = stand.sh("while :; do printf x; sleep 0.05; done");
    call.limits.timeout = Duration::from_millis(700);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(text(&outcome).starts_with("xx"), "{outcome:?}");
    assert_eq!(stand.living(), Vec::<u32>::new());
}

#[test]
fn ends_one_that_floods_for_ever() {
    let stand = Stand::new();
    let mut call = stand.sh("yes & yes >&2");
    call.limits.timeout = Duration::from_millis(700);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.stdout.is_truncated() && outcome.stderr.is_truncated());
    in_time(&outcome, &call);
    assert_eq!(stand.living(), Vec::<u32>::new());
}

#[test]
fn ends_a_hundred_and_fifty_that_left_their_session() {
    let stand = Stand::new();
    let mut call = stand.sh(
        "trap '' TERM; i=0; while [ $i -lt 150 ]; do (trap '' TERM; setsid sleep 1000 &); i=$((i+1)); done; touch all; sleep 1000",
    );
    call.limits.timeout = Duration::from_secs(4);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    in_time(&outcome, &call);
    stand.nobody_is_left();
}

#[test]
fn ends_one_that_kills_its_host() {
    let stand = Stand::new();
    let mut call = stand.sh("sleep 1; kill -9 $PPID; touch done; sleep 1000");
    call.limits.timeout = Duration::from_secs(600);
    stand.host(&call, None).wait().unwrap();
    eventually("the deed", || stand.path("done").exists() || stand.living().is_empty());
    assert!(!stand.path("outcome").exists(), "the host did not survive it");
    stand.nobody_is_left();
}
