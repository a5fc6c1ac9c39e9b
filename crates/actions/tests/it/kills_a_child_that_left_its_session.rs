//! Neither a new session nor the loss of all parents hides a process from the timeout.

use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, eventually, in_time};

#[test]
fn kills_a_child_that_left_its_session() {
    let stand = Stand::new();
    let mut call =
        stand.sh("setsid sleep 1000 & setsid sh -c 'setsid sleep 1000 & exit' & sleep 1000");
    call.limits.timeout = Duration::from_millis(500);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    in_time(&outcome, &call);
    assert_eq!(stand.living(), Vec::<u32>::new());
}

#[test]
fn ends_a_daemon_that_a_good_hook_left() {
    let stand = Stand::new();
    let mut call = stand.sh("setsid sh -c 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & exit'");
    call.limits.timeout = Duration::from_secs(2);
    // Only a reaper can know of it: in a process of its own.
    stand.host(&call, None).wait().unwrap();
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    assert!(
        outcome.remarks.iter().any(|remark| remark.starts_with("leak: 1 process still runs")),
        "{outcome:?}"
    );
    eventually("its end", || stand.living().is_empty());
}

/// Double fork, a session of its own and no environment: nothing but being our child shows whose
/// it is.
const HIDES: &str =
    "env -i setsid sh -c 'echo $$ > hidden; exec sleep 60' </dev/null >/dev/null 2>&1 &";

fn hidden_pid(stand: &Stand) -> String {
    let read = || std::fs::read_to_string(stand.path("hidden")).unwrap_or_default();
    eventually("the hidden one", || read().ends_with('\n'));
    read().trim().to_owned()
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains("(sleep)") && !stat.contains(") Z")
}

#[test]
fn kills_one_that_hides_when_its_hook_is_late() {
    let stand = Stand::new();
    let mut call = stand.sh(&format!("({HIDES}) & wait; sleep 1000"));
    call.limits.timeout = Duration::from_millis(500);
    stand.host(&call, None).wait().unwrap();
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(outcome.end, End::TimedOut);
    in_time(&outcome, &call);
    let pid = hidden_pid(&stand);
    assert!(!lives(&pid), "process {pid} is left: {outcome:?}");
    stand.nobody_is_left();
}

#[test]
fn ends_one_that_hides_with_the_time_of_its_hook() {
    let stand = Stand::new();
    let mut call =
        stand.sh(&format!("({HIDES}) & wait; until test -s hidden; do sleep 0.01; done"));
    call.limits.timeout = Duration::from_secs(2);
    stand.host(&call, None).wait().unwrap();
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    let pid = hidden_pid(&stand);
    assert!(lives(&pid), "it may finish: {outcome:?}");
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("leak: ")), "{outcome:?}");
    eventually("its end", || !lives(&pid));
    stand.nobody_is_left();
}
