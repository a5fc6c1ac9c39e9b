//! The library with other parts: a sixth dialect, a ledger in memory, actions of a test.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod a_sixth_dialect;
mod missing_actions_are_reported;
mod rewrites;
mod stage_door;
#[cfg(feature = "js")]
mod tools_are_wrapped;
mod toy;
