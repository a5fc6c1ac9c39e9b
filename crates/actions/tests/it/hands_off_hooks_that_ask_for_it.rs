//! A hook whose first line asks to continue in the background is handed to a supervisor with its
//! pipes. Its timeout stays, and its later output is recorded.

use std::time::Duration;

use gambrel_model::{AsyncMarker, Call, End};

use crate::hook_fixture::{HookFixture, stdout_text, wait_until};

fn async_call(fixture: &HookFixture, text: &str) -> Call {
    let marker = AsyncMarker { flag: "async".to_owned(), millis: "asyncTimeout".to_owned() };
    Call { async_marker: Some(marker), ..fixture.sh_call(text) }
}

const UNTIL_GO: &str = "while [ ! -e go ]; do sleep 0.05; done";

#[test]
fn outlives_the_caller_and_records_its_output() {
    let fixture = HookFixture::new();
    let mut call = async_call(
        &fixture,
        &format!(
            "echo '{{\"async\":true}}'; echo early >&2; {UNTIL_GO}; cat; echo late >&2; exit 3"
        ),
    );
    // More than a pipe holds: the supervisor writes the rest.
    let event = "0123456789abcdef".repeat(20_000);
    call.stdin = Some(event.clone().into_bytes().into());
    let record = fixture.path("record");
    assert!(fixture.spawn_host(&call, Some(&record)).wait().unwrap().success());
    let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
    assert_eq!(outcome.end, End::Detached, "{outcome:?}");
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("left running")));
    assert!(
        !record.exists() && !fixture.living_pids().is_empty(),
        "the caller is gone, the hook is not"
    );
    std::fs::write(fixture.path("go"), "").unwrap();
    let outcome = fixture.wait_for_outcome(&record);
    assert_eq!(outcome.end, End::EndedUnobserved, "{outcome:?}");
    assert_eq!(stdout_text(&outcome), format!("{{\"async\":true}}\n{event}"));
    assert_eq!(outcome.stderr.to_text(), "early\nlate\n");
    fixture.assert_no_processes_left();
}

#[test]
fn keeps_the_requested_timeout() {
    let fixture = HookFixture::new();
    let call = async_call(
        &fixture,
        "printf '{\"async\":true,\"asyncTimeout\":400}'; trap '' TERM; setsid sleep 1000 & sleep 1000",
    );
    let record = fixture.path("record");
    fixture.spawn_host(&call, Some(&record)).wait().unwrap();
    assert_eq!(fixture.wait_for_outcome(&fixture.path("outcome")).end, End::Detached);
    let outcome = fixture.wait_for_outcome(&record);
    assert_eq!(outcome.end, End::TimedOut, "{outcome:?}");
    assert!(
        outcome.cut_short_by.as_ref().unwrap().to_string().contains("after 0.4 s"),
        "{outcome:?}"
    );
    fixture.assert_no_processes_left();
}

#[test]
fn keeps_its_own_timeout_by_default() {
    let fixture = HookFixture::new();
    let mut call = async_call(&fixture, "echo '{\"async\":true}'; sleep 1000");
    call.limits.timeout = Duration::from_millis(800);
    let record = fixture.path("record");
    fixture.spawn_host(&call, Some(&record)).wait().unwrap();
    assert_eq!(fixture.wait_for_outcome(&record).end, End::TimedOut);
    fixture.assert_no_processes_left();
}

#[test]
fn waits_for_the_other_hooks() {
    let fixture = HookFixture::new();
    let leaves = async_call(&fixture, &format!("echo '{{\"async\":true}}'; {UNTIL_GO}"));
    let stays = async_call(&fixture, "sleep 0.4; echo '{\"async\":false}'; exit 2");
    let outcomes = fixture.run_all(&[leaves, stays]);
    let ends: Vec<End> = outcomes.into_iter().map(|outcome| outcome.end).collect();
    assert_eq!(ends, [End::Detached, End::Exited(2)]);
    assert!(!fixture.living_pids().is_empty());
    std::fs::write(fixture.path("go"), "").unwrap();
    fixture.assert_no_processes_left();
}

#[test]
fn continues_in_a_thread_without_a_supervisor() {
    let mut fixture = HookFixture::new();
    fixture.settings.supervisor = None;
    let call =
        async_call(&fixture, &format!("echo '{{\"async\":true}}'; {UNTIL_GO}; echo x > made"));
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::Detached);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("detach: no supervisor here")));
    std::fs::write(fixture.path("go"), "").unwrap();
    wait_until("its work", || fixture.path("made").exists());
    fixture.assert_no_processes_left();
}

#[test]
fn waits_for_it_if_the_supervisor_cannot_start() {
    let mut fixture = HookFixture::new();
    fixture.settings.supervisor = Some("/no/such/supervisor".into());
    let call = async_call(&fixture, "echo '{\"async\":true}'; sleep 0.1; echo done");
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::Exited(0), "{outcome:?}");
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("not left running")));
    assert!(stdout_text(&outcome).ends_with("done\n"));
    fixture.assert_no_processes_left();
}
