//! A stopped hook times out like any other.

use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, assert_in_time};

#[test]
fn kills_a_hook_that_stops_itself() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("kill -STOP $$; echo never");
    call.limits.timeout = Duration::from_millis(300);
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    assert_in_time(&outcome, &call);
    assert_eq!(fixture.living_pids(), Vec::<u32>::new());
}
