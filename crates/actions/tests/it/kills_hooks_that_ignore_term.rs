//! SIGKILL cannot be ignored; a hook that handles SIGTERM may clean up first.

use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, assert_in_time, stdout_text};

#[test]
fn kills_a_hook_that_ignores_term() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("trap '' TERM HUP INT; echo here; while :; do sleep 1; done");
    call.limits.timeout = Duration::from_millis(400);
    let outcome = fixture.run(&call);
    assert_eq!((outcome.end.clone(), stdout_text(&outcome)), (End::TimedOut, "here\n".to_owned()));
    assert_in_time(&outcome, &call);
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
}

#[test]
fn lets_a_hook_clean_up_in_its_grace() {
    let fixture = HookFixture::new();
    let mut call =
        fixture.sh_call("trap 'echo bye; exit 0' TERM; echo here; while :; do sleep 0.02; done");
    call.limits.timeout = Duration::from_millis(400);
    call.limits.kill_grace = Duration::from_millis(600);
    let outcome = fixture.run(&call);
    assert_eq!(
        (outcome.end.clone(), stdout_text(&outcome)),
        (End::TimedOut, "here\nbye\n".to_owned())
    );
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
}

#[test]
fn shortens_a_grace_that_would_delay_the_answer() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("trap '' TERM; while :; do sleep 1; done");
    call.limits.timeout = Duration::from_millis(300);
    call.limits.kill_grace = Duration::from_secs(60);
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.remarks.contains(&"grace: cut to 700 ms".to_owned()), "{outcome:?}");
    assert_in_time(&outcome, &call);
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
}
