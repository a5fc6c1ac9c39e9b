//! Attempts are made, counted, and bounded by the budget.

use std::time::Duration;

use gambrel_model::{Call, End};

use crate::stand::{Stand, text};

fn counting(stand: &Stand, retries: u32) -> Call {
    let mut call = stand.sh("echo x >> count; test $(wc -l < count) -ge 3 && echo third");
    call.limits.retries = retries;
    call
}

#[test]
fn retries_until_it_succeeds() {
    let stand = Stand::new();
    let outcome = stand.run(&counting(&stand, 5));
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Exited(0), 3));
    assert_eq!(text(&outcome), "third\n");
    stand.nobody_is_left();
}

#[test]
fn gives_the_last_failure_after_all_attempts() {
    let stand = Stand::new();
    let mut call = counting(&stand, 1);
    call.limits.retry_delay = Duration::from_millis(120);
    let outcome = stand.run(&call);
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Exited(1), 2));
    assert!(outcome.elapsed >= Duration::from_millis(120));
    stand.nobody_is_left();
}

#[test]
fn a_late_attempt_is_followed_by_another() {
    let stand = Stand::new();
    let mut call = stand.sh("test -e seen && echo again && exit; touch seen; sleep 1000");
    call.limits.timeout = Duration::from_secs(2);
    call.limits.retries = 1;
    let outcome = stand.run(&call);
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Exited(0), 2));
    stand.nobody_is_left();
}

#[test]
fn the_budget_caps_attempts_and_pauses() {
    let stand = Stand::new();
    let mut call = stand.sh("exit 1");
    call.limits.retries = 5;
    call.limits.retry_delay = Duration::from_secs(3600);
    call.limits.budget = Some(Duration::from_secs(2));
    let outcome = stand.run(&call);
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Exited(1), 1));
    assert_eq!(outcome.remarks, ["budget: no time for another attempt"]);
    let mut call = stand.sh("sleep 1000");
    call.limits.timeout = Duration::MAX;
    call.limits.budget = Some(Duration::from_millis(200));
    assert_eq!(stand.run(&call).end, End::TimedOut);
    assert_eq!(stand.living(), Vec::<u32>::new());
}
