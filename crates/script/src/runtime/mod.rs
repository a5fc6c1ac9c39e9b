//! The embedded QuickJS engine and the calls of modules: instances, deadlines, event loop, outcomes.
//! Knows no syntax tree and no host function by name.

pub mod answer;
mod clock;
pub mod compiled;
mod console;
mod engine;
mod event_loop;
mod flat_json;
mod host_state;
mod instance;
mod loader;
mod module;
mod module_lock;
mod status_line;
mod threaded;
mod unknown_keys;

pub(crate) use clock::Clock;
pub(crate) use engine::{CallResult, Invocation};
pub(crate) use event_loop::Interrupted;
pub(crate) use host_state::{CallEnv, Completion, HostState};
pub(crate) use module::{CachedModule, PendingCall};
pub(crate) use module_lock::ModuleMutex;
pub use threaded::TimeBoundModules;
