//! A timeout ends the hook and everything below it.

use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, assert_in_time};

#[test]
fn kills_grandchildren_on_timeout() {
    let fixture = HookFixture::new();
    let mut call =
        fixture.sh_call("sh -c 'sleep 1000 & sleep 1000 & wait' & sleep 1000; echo never");
    call.limits.timeout = Duration::from_millis(400);
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("killed ")), "{outcome:?}");
    assert_in_time(&outcome, &call);
    assert_eq!(fixture.living_pids(), Vec::<u32>::new(), "all are gone when the answer is there");
}
