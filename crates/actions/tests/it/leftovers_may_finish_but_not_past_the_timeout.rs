//! What a good hook leaves behind may do its work, and is ended with the hook's own time.

use std::time::{Duration, Instant};

use gambrel_model::End;

use crate::stand::{Stand, eventually};

#[test]
fn leftovers_may_finish_but_not_past_the_timeout() {
    let stand = Stand::new();
    let mut call = stand.sh(
        "(sleep 0.6; echo x > finished) >/dev/null 2>&1 & (trap '' TERM; sleep 1000; sleep 1000) >/dev/null 2>&1 & :",
    );
    call.limits.timeout = Duration::from_secs(3);
    call.leak_record = Some(stand.path("killed").display().to_string());
    let begun = Instant::now();
    stand.host(&call, None).wait().unwrap();
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    assert!(outcome.elapsed < Duration::from_secs(2), "{:?}", outcome.elapsed);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("leak: ")), "{outcome:?}");
    eventually("the work of the first", || stand.path("finished").exists());
    stand.nobody_is_left();
    assert!(begun.elapsed() >= Duration::from_secs(3), "nobody was killed before the time");
    let killed = || std::fs::read_to_string(stand.path("killed")).unwrap_or_default();
    eventually("a record of it", || killed().parse().is_ok_and(|count: usize| count >= 2));
}

#[test]
fn a_budget_and_the_time_of_waiting_do_not_end_leftovers() {
    let stand = Stand::new();
    let mut call =
        stand.sh("(until test -e go; do sleep 0.05; done; echo x > finished) >/dev/null 2>&1 & :");
    call.limits.timeout = Duration::from_millis(3_000);
    call.limits.budget = Some(Duration::from_millis(2_800));
    call.limits.leftover_timeout = Some(Duration::from_secs(60));
    let begun = Instant::now();
    stand.host(&call, None).wait().unwrap();
    assert_eq!(stand.outcome(&stand.path("outcome")).end, End::Exited(0));
    while begun.elapsed() < Duration::from_millis(3_500) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::write(stand.path("go"), "").unwrap();
    eventually("its work", || stand.path("finished").exists());
    stand.nobody_is_left();
}
