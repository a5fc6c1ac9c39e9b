//! Failed attempts are retried, counted, and limited by the budget.

use std::time::Duration;

use gambrel_model::{Call, End};

use crate::hook_fixture::{HookFixture, stdout_text};

fn counting_call(fixture: &HookFixture, retries: u32) -> Call {
    let mut call = fixture.sh_call("echo x >> count; test $(wc -l < count) -ge 3 && echo third");
    call.limits.retries = retries;
    call
}

#[test]
fn retries_until_it_succeeds() {
    let fixture = HookFixture::new();
    let outcome = fixture.run(&counting_call(&fixture, 5));
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Exited(0), 3));
    assert_eq!(stdout_text(&outcome), "third\n");
    fixture.assert_no_processes_left();
}

#[test]
fn returns_the_last_failure_after_all_attempts() {
    let fixture = HookFixture::new();
    let mut call = counting_call(&fixture, 1);
    call.limits.retry_delay = Duration::from_millis(120);
    let outcome = fixture.run(&call);
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Exited(1), 2));
    assert!(outcome.elapsed >= Duration::from_millis(120));
    fixture.assert_no_processes_left();
}

#[test]
fn retries_after_a_timeout() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("test -e seen && echo again && exit; touch seen; sleep 1000");
    call.limits.timeout = Duration::from_secs(2);
    call.limits.retries = 1;
    let outcome = fixture.run(&call);
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Exited(0), 2));
    fixture.assert_no_processes_left();
}

#[test]
fn limits_attempts_by_the_budget() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("exit 1");
    call.limits.retries = 5;
    call.limits.retry_delay = Duration::from_secs(3600);
    call.limits.budget = Some(Duration::from_secs(2));
    let outcome = fixture.run(&call);
    assert_eq!((outcome.end.clone(), outcome.attempts), (End::Exited(1), 1));
    assert_eq!(outcome.remarks, ["budget: no time for another attempt"]);
    let mut call = fixture.sh_call("sleep 1000");
    call.limits.timeout = Duration::MAX;
    call.limits.budget = Some(Duration::from_millis(200));
    assert_eq!(fixture.run(&call).end, End::TimedOut);
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
}
