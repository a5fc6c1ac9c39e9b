//! The library with other parts: a custom dialect, a ledger in memory, actions of a test.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod custom_dialect;
mod examples;
mod harness;
mod host_events;
mod missing_actions;
mod public_types;
mod queued_messages;
mod rewrites;
mod signals_return_to_the_host;
mod toy;
#[cfg(feature = "js")]
mod wrapped_tools;
