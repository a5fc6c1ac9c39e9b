//! Neither a new session nor the loss of all parents hides a process from the timeout.

use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, eventually, in_time};

#[test]
fn kills_a_child_that_left_its_session() {
    let stand = Stand::new();
    let mut call =
        stand.sh("setsid sleep 1000 & setsid sh -c 'setsid sleep 1000 & exit' & sleep 1000");
    call.pace.timeout = Duration::from_millis(500);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::Late);
    in_time(&outcome, &call);
    assert_eq!(stand.living(), Vec::<u32>::new());
}

#[test]
fn ends_a_daemon_that_a_good_hook_left() {
    let stand = Stand::new();
    let mut call = stand.sh("setsid sh -c 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & exit'");
    call.pace.timeout = Duration::from_secs(2);
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
