//! A hook that says on its first line that it goes on alone is not waited for: it runs on with its
//! pipes, its time is kept, and what it says later is recorded.

use std::time::Duration;

use gambrel_model::{AsyncMarker, Call, End};

use crate::stand::{Stand, eventually, text};

fn asking(stand: &Stand, text: &str) -> Call {
    let parting = AsyncMarker { flag: "async".to_owned(), millis: "asyncTimeout".to_owned() };
    Call { async_marker: Some(parting), ..stand.sh(text) }
}

const UNTIL_GO: &str = "while [ ! -e go ]; do sleep 0.05; done";

#[test]
fn it_outlives_its_caller_and_its_words_are_recorded() {
    let stand = Stand::new();
    let mut call = asking(
        &stand,
        &format!(
            "echo '{{\"async\":true}}'; echo early >&2; {UNTIL_GO}; cat; echo late >&2; exit 3"
        ),
    );
    // More than a pipe takes: the rest is fed by whoever has it now.
    let event = "0123456789abcdef".repeat(20_000);
    call.stdin = Some(event.clone().into_bytes());
    let record = stand.path("record");
    assert!(stand.host(&call, Some(&record)).wait().unwrap().success());
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(outcome.end, End::Detached, "{outcome:?}");
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("left running")));
    assert!(!record.exists() && !stand.living().is_empty(), "the caller is gone, the hook is not");
    std::fs::write(stand.path("go"), "").unwrap();
    let outcome = stand.outcome(&record);
    assert_eq!(outcome.end, End::EndedUnobserved, "{outcome:?}");
    assert_eq!(text(&outcome), format!("{{\"async\":true}}\n{event}"));
    assert_eq!(outcome.stderr.text(), "early\nlate\n");
    stand.nobody_is_left();
}

#[test]
fn the_time_that_it_asked_for_is_kept() {
    let stand = Stand::new();
    let call = asking(
        &stand,
        "printf '{\"async\":true,\"asyncTimeout\":400}'; trap '' TERM; setsid sleep 1000 & sleep 1000",
    );
    let record = stand.path("record");
    stand.host(&call, Some(&record)).wait().unwrap();
    assert_eq!(stand.outcome(&stand.path("outcome")).end, End::Detached);
    let outcome = stand.outcome(&record);
    assert_eq!(outcome.end, End::TimedOut, "{outcome:?}");
    assert!(outcome.cut_short_by.as_ref().unwrap().contains("after 0.4 s"), "{outcome:?}");
    stand.nobody_is_left();
}

#[test]
fn without_such_a_time_its_own_is_kept() {
    let stand = Stand::new();
    let mut call = asking(&stand, "echo '{\"async\":true}'; sleep 1000");
    call.limits.timeout = Duration::from_millis(800);
    let record = stand.path("record");
    stand.host(&call, Some(&record)).wait().unwrap();
    assert_eq!(stand.outcome(&record).end, End::TimedOut);
    stand.nobody_is_left();
}

#[test]
fn its_neighbours_are_waited_for() {
    let stand = Stand::new();
    let leaves = asking(&stand, &format!("echo '{{\"async\":true}}'; {UNTIL_GO}"));
    let stays = asking(&stand, "sleep 0.4; echo '{\"async\":false}'; exit 2");
    let outcomes = stand.run_all(&[leaves, stays]);
    let ends: Vec<End> = outcomes.into_iter().map(|outcome| outcome.end).collect();
    assert_eq!(ends, [End::Detached, End::Exited(2)]);
    assert!(!stand.living().is_empty());
    std::fs::write(stand.path("go"), "").unwrap();
    stand.nobody_is_left();
}

#[test]
fn a_host_without_supervisor_keeps_it() {
    let mut stand = Stand::new();
    stand.settings.supervisor = None;
    let call = asking(&stand, &format!("echo '{{\"async\":true}}'; {UNTIL_GO}; echo x > made"));
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::Detached);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("detach: no supervisor here")));
    std::fs::write(stand.path("go"), "").unwrap();
    eventually("its work", || stand.path("made").exists());
    stand.nobody_is_left();
}

#[test]
fn where_nobody_can_take_it_it_is_waited_for() {
    let mut stand = Stand::new();
    stand.settings.supervisor = Some("/no/such/supervisor".into());
    let call = asking(&stand, "echo '{\"async\":true}'; sleep 0.1; echo done");
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::Exited(0), "{outcome:?}");
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("not left running")));
    assert!(text(&outcome).ends_with("done\n"));
    stand.nobody_is_left();
}
