//! Leftover processes of a successful hook may finish, and are killed at the hook's timeout.

use std::time::{Duration, Instant};

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, wait_until};

#[test]
fn kills_leftovers_at_the_timeout() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call(
        "(sleep 0.6; echo x > finished) >/dev/null 2>&1 & (trap '' TERM; sleep 1000; sleep 1000) >/dev/null 2>&1 & :",
    );
    call.limits.timeout = Duration::from_secs(3);
    call.leak_record = Some(fixture.path("killed").display().to_string());
    let begun = Instant::now();
    fixture.spawn_host(&call, None).wait().unwrap();
    let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    assert!(outcome.elapsed < Duration::from_secs(2), "{:?}", outcome.elapsed);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("leak: ")), "{outcome:?}");
    wait_until("the work of the first", || fixture.path("finished").exists());
    fixture.assert_no_processes_left();
    assert!(begun.elapsed() >= Duration::from_secs(3), "a process was killed too early");
    let killed = || std::fs::read_to_string(fixture.path("killed")).unwrap_or_default();
    wait_until("a record of it", || killed().parse().is_ok_and(|count: usize| count >= 2));
}

#[test]
fn leftovers_outlive_the_budget() {
    let fixture = HookFixture::new();
    let mut call = fixture
        .sh_call("(until test -e go; do sleep 0.05; done; echo x > finished) >/dev/null 2>&1 & :");
    call.limits.timeout = Duration::from_millis(3_000);
    call.limits.budget = Some(Duration::from_millis(2_800));
    call.limits.leftover_timeout = Some(Duration::from_secs(60));
    let begun = Instant::now();
    fixture.spawn_host(&call, None).wait().unwrap();
    assert_eq!(fixture.wait_for_outcome(&fixture.path("outcome")).end, End::Exited(0));
    while begun.elapsed() < Duration::from_millis(3_500) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::write(fixture.path("go"), "").unwrap();
    wait_until("its work", || fixture.path("finished").exists());
    fixture.assert_no_processes_left();
}
