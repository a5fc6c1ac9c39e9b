//! What a hook leaves in the background does not delay the answer, and is reported.

use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, text};

#[test]
fn answers_while_a_background_child_holds_the_pipe() {
    let stand = Stand::new();
    let mut call = stand.sh("sleep 1000 & echo done");
    call.limits.timeout = Duration::from_secs(4);
    let outcome = stand.run(&call);
    assert_eq!((outcome.end.clone(), text(&outcome)), (End::Exited(0), "done\n".to_owned()));
    assert!(outcome.elapsed < Duration::from_secs(3), "{:?}", outcome.elapsed);
    let leak =
        outcome.remarks.iter().find(|remark| remark.starts_with("leak: 1 process still runs"));
    assert!(leak.is_some(), "{:?}", outcome.remarks);
    stand.nobody_is_left();
}

#[test]
fn says_when_nobody_will_end_it() {
    let mut stand = Stand::new();
    stand.settings.supervisor = None;
    let outcome = stand.run(&stand.sh("sleep 3 >/dev/null 2>&1 & echo done"));
    assert_eq!(outcome.end, End::Exited(0));
    let remark = outcome.remarks.first().map(String::as_str).unwrap_or_default();
    assert!(remark.ends_with("no watchdog here ends them"), "{remark}");
    stand.nobody_is_left();
}
