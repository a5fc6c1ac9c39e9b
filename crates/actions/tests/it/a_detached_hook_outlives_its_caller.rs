//! Nobody waits for it; it runs, its time is kept, and its outcome is recorded all the same.

use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, text};

#[test]
fn a_detached_hook_outlives_its_caller() {
    let stand = Stand::new();
    let mut call =
        stand.sh("cat; echo $SECRET-$KNOWN; while [ ! -e go ]; do sleep 0.05; done; echo done >&2");
    call.stdin = Some(b"event\n".to_vec());
    call.env.push(("KNOWN".to_owned(), "known".to_owned()));
    call.remove_env.push("SECRET".to_owned());
    call.limits.blocking = false;
    let record = stand.path("record");
    let status = stand.host(&call, Some(&record)).wait().unwrap();
    assert!(status.success());
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(outcome.end, End::Detached);
    assert_eq!(outcome.command.first().map(String::as_str), Some("/bin/sh"), "{outcome:?}");
    assert!(!record.exists() && !stand.living().is_empty(), "the caller is gone, the hook is not");
    std::fs::write(stand.path("go"), "").unwrap();
    let outcome = stand.outcome(&record);
    assert_eq!(
        (outcome.end.clone(), text(&outcome)),
        (End::Exited(0), "event\n-known\n".to_owned())
    );
    assert_eq!(outcome.stderr.text(), "done\n");
    stand.nobody_is_left();
}

#[test]
fn its_timeout_is_enforced() {
    let stand = Stand::new();
    let mut call = stand.sh("trap '' TERM; setsid sleep 1000 & sleep 1000");
    call.limits.blocking = false;
    call.limits.timeout = Duration::from_millis(600);
    let record = stand.path("record");
    stand.host(&call, Some(&record)).wait().unwrap();
    assert_eq!(stand.outcome(&record).end, End::TimedOut);
    stand.nobody_is_left();
}

#[test]
fn its_retries_are_made() {
    let stand = Stand::new();
    let mut call = stand.sh("echo x >> count; test $(wc -l < count) -ge 2");
    call.limits.blocking = false;
    call.limits.retries = 3;
    let record = stand.path("record");
    stand.host(&call, Some(&record)).wait().unwrap();
    let outcome = stand.outcome(&record);
    assert_eq!((outcome.end, outcome.attempts), (End::Exited(0), 2));
    stand.nobody_is_left();
}

#[test]
fn one_that_cannot_start_is_reported_at_once_and_recorded() {
    let stand = Stand::new();
    let mut call = stand.exec(&["no-such-program-anywhere"]);
    call.limits.blocking = false;
    let record = stand.path("record");
    stand.host(&call, Some(&record)).wait().unwrap();
    for file in [stand.path("outcome"), record] {
        assert!(matches!(stand.outcome(&file).end, End::FailedToStart(_)));
    }
    stand.nobody_is_left();
}

#[test]
fn a_host_without_supervisor_says_so() {
    let mut stand = Stand::new();
    stand.settings.supervisor = None;
    let mut call = stand.sh("echo x > made; sleep 0.2");
    call.limits.blocking = false;
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::Detached);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("detach: no supervisor here")));
    crate::stand::eventually("its work", || stand.path("made").exists());
    stand.nobody_is_left();
}

#[test]
fn a_supervisor_that_is_missing_is_a_hook_that_did_not_start() {
    let mut stand = Stand::new();
    stand.settings.supervisor = Some("/no/such/supervisor".into());
    let mut call = stand.sh("echo x");
    call.limits.blocking = false;
    assert!(matches!(stand.run(&call).end, End::FailedToStart(_)));
    stand.nobody_is_left();
}
