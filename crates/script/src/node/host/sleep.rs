//! A synchronous sleep (`Atomics.wait`). The deadline cannot interrupt it, so it ends at the
//! deadline by itself.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::OpError;
use crate::runtime::HostState;

/// The longest sleep if the call has no deadline.
const MAX_SLEEP_TIMEOUT: Duration = Duration::from_secs(60);

/// Sleeps for `ms`, or until the call's deadline if that is earlier.
pub fn sleep_blocking(state: &HostState, args: Value) -> Result<Value, OpError> {
    let requested =
        args["ms"].as_f64().and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    let left = state.tripwire.deadline().map(|end| end.saturating_duration_since(Instant::now()));
    std::thread::sleep(requested.unwrap_or(Duration::MAX).min(left.unwrap_or(MAX_SLEEP_TIMEOUT)));
    Ok(Value::Null)
}
