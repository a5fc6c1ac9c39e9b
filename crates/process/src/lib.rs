//! Starts processes and ends them with all their descendants: spawn, tags, capture, deadlines,
//! signals, the sweep and the watchdog. It knows programs and times; not hooks, calls or verdicts.
//!
//! `SignalPolicy` decides what SIGTERM, SIGINT and SIGHUP do: the host handles them, they end the
//! processes and then this one, or they end the processes and the call returns.

pub mod capture;
pub mod command;
pub mod deadlines;
pub mod environ;
pub mod error;
pub mod group;
pub mod isolation;
mod lock;
pub mod orphans;
pub mod owner;
pub mod path_lookup;
pub mod posix_spawn;
pub mod private_view;
pub mod process;
pub mod process_table;
pub mod redact;
mod redacted_file;
pub mod running_file;
pub mod settings;
pub mod signals;
mod spill;
pub mod tee;
pub mod watchdog;
pub mod watchdog_client;
