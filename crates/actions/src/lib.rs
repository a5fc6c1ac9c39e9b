//! Starts processes for hooks. It knows calls and outcomes of the model, and no event, dialect,
//! verdict or ledger.

mod attempt;
mod batch;
mod bell;
mod capture;
mod command;
mod detach;
mod direct;
mod environ;
mod guard;
mod handover;
mod isolation;
mod limits;
mod lookup;
#[cfg(feature = "mcp")]
mod mcp;
mod orphans;
mod pipeline;
mod private_view;
mod process;
mod recheck;
mod rule;
mod running;
mod settings;
mod shell;
mod sidefile;
mod spawn;
mod spill;
mod supervise;
mod tree;
mod veil;
mod watchdog;
#[cfg(feature = "http")]
mod web;

pub use bell::Bell;
pub use guard::start_helper;
pub use isolation::{try_isolation, try_verified_exec};
#[cfg(feature = "mcp")]
pub use mcp::McpAction;
pub use pipeline::SpawnAction;
pub use rule::RuleAction;
pub use running::end_orphans;
pub use settings::{SUPERVISE_WORD, Settings, WATCHDOG_WORD};
pub use shell::ShellAction;
pub use spawn::{end_process_after, reset_signals, stdout_was_closed};
pub use supervise::supervise_main;
pub use veil::Veil;
pub use watchdog::watchdog_main;
#[cfg(feature = "http")]
pub use web::{Desk, Fetcher, Listen, Listening, Lookup, WebSettings, WebhookAction};
