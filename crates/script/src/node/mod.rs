//! The Node surface of modules: the table of builtins, the host functions behind them, and the guard
//! of the programs that they start. Knows no syntax tree, request or outcome.

pub mod builtin_lookup;
mod builtins;
pub mod host;
pub mod host_functions;
mod process_guard;
mod tagged_processes;

pub(crate) use process_guard::{GuardedGroup, ProcessGuard};
