//! One engine for the lifecycle hooks of AI coding agents.
//!
//! A host loads the hooks of a folder, fires events in the words of any dialect it speaks, and
//! reads the decision. This crate is where the program is put together: which dialects there are,
//! which actions, which ledger.
//!
//! ```
//! use gambrel::{Gambrel, Setup};
//!
//! let folder = std::env::temp_dir();
//! let gambrel = Gambrel::new(Setup::in_memory(folder));
//! let event = gambrel.receive("gambrel", br#"{"moment":"tool.before","session":"s",
//!     "facts":{"tool":{"kind":"shell","args":{"command":"ls"}}}}"#)?;
//! let fired = gambrel.fire(event);
//! assert_eq!(fired.decision.merged.ruling, gambrel::Ruling::Silent);
//! # Ok::<(), gambrel::Complaint>(())
//! ```

mod account;
mod app;
mod board;
mod coverage;
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
mod setup;
mod team;
#[cfg(feature = "js")]
mod terminal;
mod trial;
mod wrap;

pub use account::{account_home, real_path};
pub use app::{Gambrel, fresh_key};
pub use board::BoardRequest;
#[cfg(feature = "mcp")]
pub use board::serve_mcp;
pub use gambrel_actions as actions;
pub use gambrel_dialects::teams::HOOK_CONTRACT_VERSION;
pub use gambrel_dialects::teams::leader::IdleReport;
pub use gambrel_dialects::{DIALECTS, StartPreferences};
pub use gambrel_engine::now_ms;
pub use gambrel_engine::{
    Candidate, Coverage, FireResult, FiringObserver, FiringProgress, Loaded, Options, Selection,
    Trust, TrustMode,
};
pub use gambrel_ledger as ledger;
pub use gambrel_model as model;
pub use gambrel_model::{Complaint, Decision, Event, ReceivedEvent, Reply, Ruling, Verdict};
pub use gambrel_process as process;
pub use gambrel_runner as runner;
#[cfg(feature = "js")]
pub use gambrel_script as script;
#[cfg(feature = "http")]
pub use gambrel_server as server;
pub use project_env::StateDirError;
pub use run::{native_dialects, plan_sources};
pub use setup::{QuestionNotice, Setup, TerminalUse};
pub use team::{IdleResult, TeamError, TeamHookResult};
pub use trial::NOT_REPLAYED;
pub use wrap::{ToolCall, ToolError, ToolOutput};

/// The example of the library guide, compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryGuideExample;
