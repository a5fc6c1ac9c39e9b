//! A background process of a hook does not delay the answer, and is reported.

use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, stdout_text};

#[test]
fn answers_while_a_background_child_holds_the_pipe() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("sleep 1000 & echo done");
    call.limits.timeout = Duration::from_secs(4);
    let outcome = fixture.run(&call);
    assert_eq!((outcome.end.clone(), stdout_text(&outcome)), (End::Exited(0), "done\n".to_owned()));
    assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
    let leak =
        outcome.remarks.iter().find(|remark| remark.starts_with("leak: 1 process still runs"));
    assert!(leak.is_some(), "{:?}", outcome.remarks);
    fixture.assert_no_processes_left();
}

#[test]
fn reports_leftovers_without_a_watchdog() {
    let mut fixture = HookFixture::new();
    fixture.settings.supervisor = None;
    let outcome = fixture.run(&fixture.sh_call("sleep 3 >/dev/null 2>&1 & echo done"));
    assert_eq!(outcome.end, End::Exited(0));
    let remark = outcome.remarks.first().map(String::as_str).unwrap_or_default();
    assert!(remark.ends_with("no watchdog here kills them"), "{remark}");
    fixture.assert_no_processes_left();
}
