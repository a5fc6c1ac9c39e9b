//! A batch runs together and its outcomes keep their order.

use std::time::Duration;

use gambrel_model::{Call, End};

use crate::stand::{Stand, text};

#[test]
fn runs_sixty_four_at_once() {
    let stand = Stand::new();
    // Each waits for all the others: one after the other they would all be late.
    let wait = "touch here-$N; while [ $(ls | grep -c here-) -lt 64 ]; do sleep 0.1; done; echo $N";
    let calls: Vec<Call> = (0..64)
        .map(|number| {
            let mut call = stand.sh(wait);
            call.env.push(("N".to_owned(), number.to_string()));
            call.limits.timeout = Duration::from_secs(60);
            call
        })
        .collect();
    for (number, outcome) in stand.run_all(&calls).iter().enumerate() {
        assert_eq!((outcome.end.clone(), text(outcome)), (End::Exited(0), format!("{number}\n")));
    }
    stand.nobody_is_left();
}

#[test]
fn runs_more_than_may_run_at_once() {
    let stand = Stand::new();
    let calls: Vec<Call> =
        (0..300).map(|number| stand.exec(&["echo", &number.to_string()])).collect();
    for (number, outcome) in stand.run_all(&calls).iter().enumerate() {
        assert_eq!(text(outcome), format!("{number}\n"), "{outcome:?}");
    }
    stand.nobody_is_left();
}

#[test]
fn a_late_one_does_not_hold_up_or_harm_the_others() {
    let stand = Stand::new();
    let mut late = stand.sh("sleep 1000");
    late.limits.timeout = Duration::from_millis(300);
    let calls =
        [late, stand.sh("sleep 1; echo fine"), stand.exec(&["/no/such"]), stand.sh("exit 3")];
    let ends: Vec<End> = stand.run_all(&calls).into_iter().map(|outcome| outcome.end).collect();
    assert!(matches!(
        ends.as_slice(),
        [End::TimedOut, End::Exited(0), End::FailedToStart(_), End::Exited(3)]
    ));
    stand.nobody_is_left();
}
