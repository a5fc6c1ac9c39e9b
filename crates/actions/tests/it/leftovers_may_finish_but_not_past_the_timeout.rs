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
    call.pace.timeout = Duration::from_secs(3);
    let begun = Instant::now();
    stand.host(&call, None).wait().unwrap();
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    assert!(outcome.took < Duration::from_secs(2), "{:?}", outcome.took);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("leak: ")), "{outcome:?}");
    eventually("the work of the first", || stand.path("finished").exists());
    stand.nobody_is_left();
    assert!(begun.elapsed() >= Duration::from_secs(3), "nobody was killed before the time");
}
