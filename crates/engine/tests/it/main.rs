//! The order of work in one firing, with scripted actions and two small dialects. No test starts a
//! process.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod carry_between_hooks;
mod engine_fixture;
mod group_order;
mod observed_firings;
mod recheck_after_rewrite;
mod repeated_firings;
mod skip_reasons;
mod strict_and_budget;
mod test_dialect;
mod undelivered_messages;
