//! The last signal cannot be ignored, and the polite one is heard where it is.

use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, in_time, text};

#[test]
fn survives_a_hook_that_ignores_term() {
    let stand = Stand::new();
    let mut call = stand.sh("trap '' TERM HUP INT; echo here; while :; do sleep 1; done");
    call.limits.timeout = Duration::from_millis(400);
    let outcome = stand.run(&call);
    assert_eq!((outcome.end.clone(), text(&outcome)), (End::TimedOut, "here\n".to_owned()));
    in_time(&outcome, &call);
    assert_eq!(stand.living(), Vec::<u32>::new());
}

#[test]
fn lets_a_hook_clean_up_in_its_grace() {
    let stand = Stand::new();
    let mut call =
        stand.sh("trap 'echo bye; exit 0' TERM; echo here; while :; do sleep 0.02; done");
    call.limits.timeout = Duration::from_millis(400);
    call.limits.kill_grace = Duration::from_millis(600);
    let outcome = stand.run(&call);
    assert_eq!((outcome.end.clone(), text(&outcome)), (End::TimedOut, "here\nbye\n".to_owned()));
    assert_eq!(stand.living(), Vec::<u32>::new());
}

#[test]
fn cuts_a_grace_that_would_delay_the_answer() {
    let stand = Stand::new();
    let mut call = stand.sh("trap '' TERM; while :; do sleep 1; done");
    call.limits.timeout = Duration::from_millis(300);
    call.limits.kill_grace = Duration::from_secs(60);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.remarks.contains(&"grace: cut to 700 ms".to_owned()), "{outcome:?}");
    in_time(&outcome, &call);
    assert_eq!(stand.living(), Vec::<u32>::new());
}
