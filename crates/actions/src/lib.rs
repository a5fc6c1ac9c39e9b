//! Runs calls: shell commands, rules, webhooks, MCP tools and child pipelines. Depends on the calls
//! and outcomes of the model; not on events, dialects, verdicts or the ledger's storage.

mod attempt;
mod batch;
mod capture;
mod child_pipeline;
mod command;
mod deadlines;
mod detach;
mod environ;
mod handoff;
mod isolation;
#[cfg(feature = "mcp")]
mod mcp;
mod orphans;
mod path_lookup;
mod posix_spawn;
mod private_view;
mod process;
mod process_table;
mod recheck;
mod redact;
mod rule;
mod running_file;
mod settings;
mod shell;
mod shell_bypass;
mod sidefile;
mod signals;
mod spill;
mod supervise;
mod watchdog;
mod watchdog_client;
#[cfg(feature = "http")]
mod web;

pub use child_pipeline::ChildPipelineAction;
pub use isolation::{try_isolation, try_verified_exec};
#[cfg(feature = "mcp")]
pub use mcp::McpAction;
pub use posix_spawn::{end_process_after, reset_signals, stdout_was_closed};
pub use redact::Redact;
pub use rule::RuleAction;
pub use running_file::end_orphans;
pub use settings::{SUPERVISE_WORD, Settings, WATCHDOG_WORD};
pub use shell::ShellAction;
pub use signals::SignalGuard;
pub use supervise::supervise_main;
pub use watchdog::watchdog_main;
pub use watchdog_client::start_helper;
#[cfg(feature = "http")]
pub use web::{
    ApprovalChannel, Fetcher, ListenFn, ListenerHandle, ResolveFn, WebSettings, WebhookAction,
};
