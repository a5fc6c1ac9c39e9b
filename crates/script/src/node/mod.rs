//! The Node surface of modules: the table of builtins and the host functions behind them. Knows no
//! syntax tree, request or outcome.

pub mod builtin_lookup;
mod builtins;
pub mod host;
pub mod host_functions;
