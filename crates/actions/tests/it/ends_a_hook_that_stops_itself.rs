//! A stopped hook is late like any other.

use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, in_time};

#[test]
fn ends_a_hook_that_stops_itself() {
    let stand = Stand::new();
    let mut call = stand.sh("kill -STOP $$; echo never");
    call.limits.timeout = Duration::from_millis(300);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::TimedOut);
    in_time(&outcome, &call);
    assert_eq!(stand.living(), Vec::<u32>::new());
}
