//! Runs calls: shell commands, rules, webhooks, MCP tools and child pipelines. Depends on the calls
//! and outcomes of the model; not on events, dialects, verdicts or the ledger's storage.

mod agent_process;
mod attempt;
mod batch;
mod child_pipeline;
mod command;
mod detach;
mod error;
mod handoff;
#[cfg(feature = "mcp")]
mod mcp;
mod outcome;
mod parent_pause;
mod recheck;
mod rule;
mod shell;
mod shell_bypass;
mod sidefile;
mod supervise;
#[cfg(feature = "http")]
mod web;

pub use agent_process::start_agent;
pub use child_pipeline::ChildPipelineAction;
pub use gambrel_process::isolation::{try_isolation, try_verified_exec};
pub use gambrel_process::posix_spawn::{end_process_after, reset_signals};
pub use gambrel_process::redact::Redact;
pub use gambrel_process::running_file::end_orphans;
pub use gambrel_process::settings::{SUPERVISE_WORD, Settings, SignalPolicy, WATCHDOG_WORD};
pub use gambrel_process::signals::SignalGuard;
pub use gambrel_process::watchdog::watchdog_main;
pub use gambrel_process::watchdog_client::start_helper;
#[cfg(feature = "mcp")]
pub use mcp::McpAction;
pub use rule::RuleAction;
pub use shell::ShellAction;
pub use supervise::supervise_main;
#[cfg(feature = "http")]
pub use web::{
    AddFactsFn, ApprovalChannel, ExchangeError, Fetcher, ListenFn, ListenerHandle, RequestError,
    ResolveFn, TlsError, WebSettings, WebhookAction,
};
