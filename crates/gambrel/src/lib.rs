//! One engine for the lifecycle hooks of AI coding agents, as a library.
//!
//! A host builds a [`Gambrel`] for a folder, fires events, and reads the decision. Hooks of Claude
//! Code, oh-my-pi, pi-teams, iteratr and agent-pipelines run, whatever the host is.
//!
//! ```
//! use gambrel::{Gambrel, HostEvent, Setup, ToolCall, TrustMode};
//! use serde_json::json;
//!
//! # let folder = std::env::temp_dir().join("gambrel-crate-root");
//! # std::fs::create_dir_all(folder.join(".gambrel"))?;
//! // In the folder: `.gambrel/hooks.yaml`.
//! let hooks = "hooks:
//!   on_tool_before:
//!     - {type: rule, block: 'rm -rf', message: no recursive rm}
//! ";
//! std::fs::write(folder.join(".gambrel/hooks.yaml"), hooks)?;
//!
//! let mut setup = Setup::in_memory(&folder);
//! setup.options.trust = TrustMode::All; // otherwise as `gambrel trust` says
//! let gambrel = Gambrel::new(setup);
//!
//! let call = ToolCall::new("bash", json!({"command": "rm -rf build"}));
//! let fired = gambrel.fire_event(&HostEvent::tool_before("session", &call))?;
//! assert!(fired.decision.merged.ruling.is_refusal());
//! assert_eq!(fired.decision.merged.ruling_reasons(), ["no recursive rm"]);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is public
//!
//! | to | items |
//! |---|---|
//! | build | [`Gambrel`], [`Setup`], [`Options`], [`TrustMode`], [`SignalPolicy`] |
//! | say what happened | [`HostEvent`], [`Moment`], [`event`]; or the JSON of an agent with [`Gambrel::receive`] |
//! | fire | [`Gambrel::fire`], [`Gambrel::fire_event`], [`Gambrel::wrap`], [`FiringObserver`] |
//! | read the result | [`FireResult`], [`Decision`], [`Verdict`], [`Ruling`], [`Message`], [`Step`], [`Reply`], [`Complaint`] |
//! | see hooks that would run | [`Gambrel::load_hooks`], [`Gambrel::explain`], [`Candidate`] |
//! | run calls of hooks in another way | [`action`] |
//!
//! Everything else is for the command line and hidden here: it may change at any time. The inner
//! crates are not part of the interface, so a host cannot come to depend on how the engine is split.
//! Types that a host only reads, such as [`Decision`] and [`Step`], are `#[non_exhaustive]`: they may
//! get more fields.
//!
//! # Features
//!
//! None is on by default. A hook whose action is not built in counts as a gate that failed, and the
//! trail says so.
//!
//! | feature | adds |
//! |---|---|
//! | `http` | webhooks, questions that wait for a person, the server of approvals |
//! | `js` | TypeScript and JavaScript modules (QuickJS) |
//! | `mcp` | hooks that call tools of MCP servers, and the board over MCP; includes `http` |
//!
//! # Threads and signals
//!
//! [`Gambrel::fire`] blocks until the last awaited hook has ended. `Gambrel` is `Send` and `Sync`: an
//! async host calls it on a thread for blocking work (`examples/async_host.rs`). With
//! [`SignalPolicy::Return`] a signal ends the hooks and the host goes on.

mod account;
pub mod action;
mod app;
mod board;
mod coverage;
pub mod event;
mod host_event;
mod lazy_action;
#[cfg(feature = "js")]
mod modules;
#[cfg(feature = "http")]
mod network;
mod path_cache;
mod project_env;
mod quality_gate;
mod question_facts;
mod run;
mod secrets;
mod setup;
mod team;
#[cfg(feature = "js")]
mod terminal;
mod trial;
mod wrap;

pub use app::Gambrel;
pub use gambrel_actions::{SignalGuard, SignalPolicy};
pub use gambrel_engine::{
    Candidate, FireResult, FiringObserver, FiringProgress, Loaded, Options, Selection, TrustMode,
};
pub use gambrel_model::{
    Audience, Complaint, Decision, Hook, LedgerError, Loss, Message, Moment, Patch, Reason,
    ReceivedEvent, Reply, Ruling, Severity, Slot, SourceSpan, Step, Verdict,
};
pub use host_event::HostEvent;
pub use setup::Setup;
pub use wrap::{ToolCall, ToolError, ToolOutput, WrappedCall};

// For the command line of this workspace, which is built with the same version.
#[doc(hidden)]
pub use account::{account_home, real_path};
#[doc(hidden)]
pub use app::fresh_key;
#[doc(hidden)]
pub use board::BoardRequest;
#[cfg(feature = "mcp")]
#[doc(hidden)]
pub use board::serve_mcp;
#[doc(hidden)]
pub use gambrel_dialects::teams::HOOK_CONTRACT_VERSION;
#[doc(hidden)]
pub use gambrel_dialects::teams::leader::IdleReport;
#[doc(hidden)]
pub use gambrel_dialects::{DIALECTS, StartPreferences};
#[doc(hidden)]
pub use gambrel_engine::{Coverage, Trust, now_ms};
#[doc(hidden)]
pub use gambrel_model::Event;
#[doc(hidden)]
pub use project_env::StateDirError;
#[doc(hidden)]
pub use run::{native_dialects, plan_sources};
#[doc(hidden)]
pub use setup::{QuestionNotice, TerminalUse};
#[doc(hidden)]
pub use team::{IdleResult, TeamError, TeamHookResult};
#[doc(hidden)]
pub use trial::NOT_REPLAYED;

/// The example of the library guide, compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryGuideExample;

/// A host cannot build what it only reads, so that later versions can add fields.
///
/// ```compile_fail,E0639
/// let _ = gambrel::Decision { ..Default::default() };
/// ```
///
/// ```compile_fail,E0639
/// let _ = gambrel::Step { ..Default::default() };
/// ```
///
/// ```compile_fail,E0004
/// use gambrel::FiringProgress::{Decided, HooksEnded, HooksStarted};
/// fn observe(progress: &gambrel::FiringProgress<'_>) {
///     match progress {
///         HooksStarted(..) | HooksEnded(..) | Decided(..) => {}
///     }
/// }
/// ```
#[cfg(doctest)]
struct ReadOnlyTypesExample;
