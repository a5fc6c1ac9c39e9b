//! A timeout ends the hook and everything below it.

use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, in_time};

#[test]
fn kills_grandchildren_on_timeout() {
    let stand = Stand::new();
    let mut call = stand.sh("sh -c 'sleep 1000 & sleep 1000 & wait' & sleep 1000; echo never");
    call.limits.timeout = Duration::from_millis(400);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("killed ")), "{outcome:?}");
    in_time(&outcome, &call);
    assert_eq!(stand.living(), Vec::<u32>::new(), "all are gone when the answer is there");
}
