//! A budget is what somebody else waits: grace and killing happen inside it.

use std::time::Duration;

use gambrel_model::{Call, End, Outcome};

use crate::stand::{Stand, text};

/// The machine may be busy with something else once, but not every time.
fn in_budget(stand: &Stand, call: &Call) -> Outcome {
    let budget = call.limits.budget.unwrap();
    let runs = (0..4).map(|_| stand.run(call));
    let found = runs.into_iter().find(|outcome| outcome.elapsed < budget);
    assert_eq!(stand.living(), Vec::<u32>::new());
    found.unwrap_or_else(|| panic!("always longer than {budget:?}"))
}

fn cut_short(outcome: &Outcome) -> bool {
    outcome.cut_short_by.as_ref().is_some_and(|why| why.starts_with("the budget was over after "))
}

#[test]
fn a_hook_that_ignores_term_is_killed_inside_it() {
    let stand = Stand::new();
    let mut call = stand.sh("trap '' TERM; echo here; while :; do sleep 1; done");
    call.limits.budget = Some(Duration::from_secs(1));
    call.limits.kill_grace = Duration::from_millis(700);
    let outcome = in_budget(&stand, &call);
    assert_eq!((outcome.end.clone(), text(&outcome)), (End::TimedOut, "here\n".to_owned()));
    assert!(cut_short(&outcome), "{:?}", outcome.remarks);
}

#[test]
fn the_grace_of_the_own_timeout_ends_with_it() {
    let stand = Stand::new();
    let mut call = stand.sh("trap '' TERM; while :; do sleep 1; done");
    call.limits.timeout = Duration::from_millis(700);
    call.limits.kill_grace = Duration::from_millis(700);
    call.limits.budget = Some(Duration::from_secs(1));
    let outcome = in_budget(&stand, &call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(!cut_short(&outcome), "{:?}", outcome.remarks);
}

#[test]
fn a_pipe_that_is_held_open_does_not_outlast_it() {
    let stand = Stand::new();
    let mut call = stand.sh("sleep 1000 & sleep 0.85; echo done");
    call.limits.kill_grace = Duration::ZERO;
    call.limits.budget = Some(Duration::from_secs(1));
    let took = (0..4).map(|_| stand.run(&call).elapsed).min();
    assert!(took < call.limits.budget, "{took:?}");
    stand.nobody_is_left();
}

#[test]
fn a_polite_hook_still_hears_of_its_end() {
    let stand = Stand::new();
    let mut call = stand.sh("trap 'echo bye; exit 0' TERM; while :; do sleep 0.02; done");
    call.limits.budget = Some(Duration::from_secs(3));
    let outcome = stand.run(&call);
    assert_eq!((outcome.end.clone(), text(&outcome)), (End::TimedOut, "bye\n".to_owned()));
    assert!(cut_short(&outcome), "{:?}", outcome.remarks);
    stand.nobody_is_left();
}
