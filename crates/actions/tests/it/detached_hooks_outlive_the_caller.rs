//! A detached hook runs to its end, keeps its limits, and has its outcome recorded.

use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, stdout_text};

#[test]
fn a_detached_hook_outlives_the_caller() {
    let fixture = HookFixture::new();
    let mut call = fixture
        .sh_call("cat; echo $SECRET-$KNOWN; while [ ! -e go ]; do sleep 0.05; done; echo done >&2");
    call.stdin = Some(b"event\n".to_vec().into());
    call.env.push(("KNOWN".to_owned(), "known".to_owned()));
    call.remove_env.push("SECRET".to_owned());
    call.limits.blocking = false;
    let record = fixture.path("record");
    let status = fixture.spawn_host(&call, Some(&record)).wait().unwrap();
    assert!(status.success());
    let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
    assert_eq!(outcome.end, End::Detached);
    assert_eq!(outcome.command.first().map(String::as_str), Some("/bin/sh"), "{outcome:?}");
    assert!(
        !record.exists() && !fixture.living_pids().is_empty(),
        "the caller is gone, the hook is not"
    );
    std::fs::write(fixture.path("go"), "").unwrap();
    let outcome = fixture.wait_for_outcome(&record);
    assert_eq!(
        (outcome.end.clone(), stdout_text(&outcome)),
        (End::Exited(0), "event\n-known\n".to_owned())
    );
    assert_eq!(outcome.stderr.to_text(), "done\n");
    fixture.assert_no_processes_left();
}

#[test]
fn enforces_the_timeout_of_a_detached_hook() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("trap '' TERM; setsid sleep 1000 & sleep 1000");
    call.limits.blocking = false;
    call.limits.timeout = Duration::from_millis(600);
    let record = fixture.path("record");
    fixture.spawn_host(&call, Some(&record)).wait().unwrap();
    assert_eq!(fixture.wait_for_outcome(&record).end, End::TimedOut);
    fixture.assert_no_processes_left();
}

#[test]
fn retries_a_detached_hook() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("echo x >> count; test $(wc -l < count) -ge 2");
    call.limits.blocking = false;
    call.limits.retries = 3;
    let record = fixture.path("record");
    fixture.spawn_host(&call, Some(&record)).wait().unwrap();
    let outcome = fixture.wait_for_outcome(&record);
    assert_eq!((outcome.end, outcome.attempts), (End::Exited(0), 2));
    fixture.assert_no_processes_left();
}

#[test]
fn reports_and_records_a_failed_start() {
    let fixture = HookFixture::new();
    let mut call = fixture.exec_call(&["no-such-program-anywhere"]);
    call.limits.blocking = false;
    let record = fixture.path("record");
    fixture.spawn_host(&call, Some(&record)).wait().unwrap();
    for file in [fixture.path("outcome"), record] {
        assert!(matches!(fixture.wait_for_outcome(&file).end, End::FailedToStart(_)));
    }
    fixture.assert_no_processes_left();
}

#[test]
fn runs_in_a_thread_without_a_supervisor() {
    let mut fixture = HookFixture::new();
    fixture.settings.supervisor = None;
    let mut call = fixture.sh_call("echo x > made; sleep 0.2");
    call.limits.blocking = false;
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::Detached);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("detach: no supervisor here")));
    crate::hook_fixture::wait_until("its work", || fixture.path("made").exists());
    fixture.assert_no_processes_left();
}

#[test]
fn fails_to_start_with_a_missing_supervisor() {
    let mut fixture = HookFixture::new();
    fixture.settings.supervisor = Some("/no/such/supervisor".into());
    let mut call = fixture.sh_call("echo x");
    call.limits.blocking = false;
    assert!(matches!(fixture.run(&call).end, End::FailedToStart(_)));
    fixture.assert_no_processes_left();
}
