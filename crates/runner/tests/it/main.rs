//! Tests of the runner without processes of hooks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod compiles_pipelines;
mod compiles_stages;
mod fixture;
mod refuses_bad_plans;
