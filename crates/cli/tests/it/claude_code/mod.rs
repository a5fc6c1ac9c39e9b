//! End-to-end tests with the real Claude Code. Released versions run with a scripted model, a fresh
//! home and an installed gambrel; the tests check the requests to the model.

pub mod model;
mod session;
pub mod versions;

mod approvals;
mod gate_failures;
mod hook_effects;
mod mcp_tools;
mod plugin;
mod runs;
mod untrusted_hooks;
