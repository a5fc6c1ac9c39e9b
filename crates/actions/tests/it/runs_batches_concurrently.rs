//! The calls of a batch run at once, and their outcomes keep their order.

use std::time::Duration;

use gambrel_model::{Call, End};

use crate::hook_fixture::{HookFixture, stdout_text};

#[test]
fn runs_64_calls_at_once() {
    let fixture = HookFixture::new();
    // Each call waits for all the others, so a sequential run would time out.
    let wait = "touch here-$N; while [ $(ls | grep -c here-) -lt 64 ]; do sleep 0.1; done; echo $N";
    let calls: Vec<Call> = (0..64)
        .map(|number| {
            let mut call = fixture.sh_call(wait);
            call.env.push(("N".to_owned(), number.to_string()));
            call.limits.timeout = Duration::from_secs(60);
            call
        })
        .collect();
    for (number, outcome) in fixture.run_all(&calls).iter().enumerate() {
        assert_eq!(
            (outcome.end.clone(), stdout_text(outcome)),
            (End::Exited(0), format!("{number}\n"))
        );
    }
    fixture.assert_no_processes_left();
}

#[test]
fn runs_more_calls_than_the_limit() {
    let fixture = HookFixture::new();
    let calls: Vec<Call> =
        (0..300).map(|number| fixture.exec_call(&["echo", &number.to_string()])).collect();
    for (number, outcome) in fixture.run_all(&calls).iter().enumerate() {
        assert_eq!(stdout_text(outcome), format!("{number}\n"), "{outcome:?}");
    }
    fixture.assert_no_processes_left();
}

#[test]
fn keeps_other_calls_when_one_times_out() {
    let fixture = HookFixture::new();
    let mut late = fixture.sh_call("sleep 1000");
    late.limits.timeout = Duration::from_millis(300);
    let calls = [
        late,
        fixture.sh_call("sleep 1; echo fine"),
        fixture.exec_call(&["/no/such"]),
        fixture.sh_call("exit 3"),
    ];
    let ends: Vec<End> = fixture.run_all(&calls).into_iter().map(|outcome| outcome.end).collect();
    assert!(matches!(
        ends.as_slice(),
        [End::TimedOut, End::Exited(0), End::FailedToStart(_), End::Exited(3)]
    ));
    fixture.assert_no_processes_left();
}
