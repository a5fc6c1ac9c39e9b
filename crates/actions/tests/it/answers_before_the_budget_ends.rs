//! A budget is the caller's wait: grace and kill happen inside it.

use std::time::Duration;

use gambrel_model::{Call, CutShort, End, Outcome};

use crate::hook_fixture::{HookFixture, stdout_text};

/// Runs a call up to four times and returns the first outcome inside the budget: the machine may be
/// busy.
fn run_in_budget(fixture: &HookFixture, call: &Call) -> Outcome {
    let budget = call.limits.budget.unwrap();
    let runs = (0..4).map(|_| fixture.run(call));
    let found = runs.into_iter().find(|outcome| outcome.elapsed < budget);
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
    found.unwrap_or_else(|| panic!("always longer than {budget:?}"))
}

fn is_cut_by_budget(outcome: &Outcome) -> bool {
    matches!(outcome.cut_short_by, Some(CutShort::Budget(_)))
}

#[test]
fn kills_a_hook_that_ignores_term_inside_the_budget() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("trap '' TERM; echo here; while :; do sleep 1; done");
    call.limits.budget = Some(Duration::from_secs(1));
    call.limits.kill_grace = Duration::from_millis(700);
    let outcome = run_in_budget(&fixture, &call);
    assert_eq!((outcome.end.clone(), stdout_text(&outcome)), (End::TimedOut, "here\n".to_owned()));
    assert!(is_cut_by_budget(&outcome), "{:?}", outcome.remarks);
}

#[test]
fn ends_the_grace_with_the_budget() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("trap '' TERM; while :; do sleep 1; done");
    call.limits.timeout = Duration::from_millis(700);
    call.limits.kill_grace = Duration::from_millis(700);
    call.limits.budget = Some(Duration::from_secs(1));
    let outcome = run_in_budget(&fixture, &call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(!is_cut_by_budget(&outcome), "{:?}", outcome.remarks);
}

#[test]
fn answers_inside_the_budget_while_a_pipe_is_open() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("sleep 1000 & sleep 0.85; echo done");
    call.limits.kill_grace = Duration::ZERO;
    call.limits.budget = Some(Duration::from_secs(1));
    let took = (0..4).map(|_| fixture.run(&call).elapsed).min();
    assert!(took < call.limits.budget, "{took:?}");
    fixture.assert_no_processes_left();
}

#[test]
fn sends_term_before_the_budget_ends() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("trap 'echo bye; exit 0' TERM; while :; do sleep 0.02; done");
    call.limits.budget = Some(Duration::from_secs(3));
    let outcome = fixture.run(&call);
    assert_eq!((outcome.end.clone(), stdout_text(&outcome)), (End::TimedOut, "bye\n".to_owned()));
    assert!(is_cut_by_budget(&outcome), "{:?}", outcome.remarks);
    fixture.assert_no_processes_left();
}
