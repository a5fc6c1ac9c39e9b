//! A wait on the spot (`Atomics.wait`). The deadline cannot interrupt it, so it ends there by itself.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::OpError;
use crate::desk::Desk;

/// The longest wait where nothing else ends it.
const MOST: Duration = Duration::from_secs(60);

/// Sleeps for `ms`, or, without it, for as long as the call may last.
pub fn sleep(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let asked = args["ms"].as_f64().and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    let left = desk.wire.until().map(|end| end.saturating_duration_since(Instant::now()));
    std::thread::sleep(asked.unwrap_or(Duration::MAX).min(left.unwrap_or(MOST)));
    Ok(Value::Null)
}
