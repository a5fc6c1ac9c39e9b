//! The embedded JavaScript engine behind the `module` action. It knows calls and outcomes of the
//! model and the API that oh-my-pi gives to a module; it knows no dialect, no verdict, and
//! does nothing that a module wants done: that comes back as effects.

mod action;
mod answer;
mod berth;
mod clock;
mod compiled;
mod console;
mod desk;
mod documents;
mod engine;
mod graph;
mod keeper;
mod loader;
mod merged;
mod natives;
mod ops;
mod parcel;
mod plain;
mod positions;
mod request;
mod resolve;
mod rows;
mod scan;
mod seat;
mod settings;
mod shims;
mod sidecar;
mod sight;
mod slot;
mod status;
mod strays;
mod transpile;
mod turn;
mod unknown_keys;
mod watch;

pub use action::ModuleAction;
pub use graph::imports;
pub use settings::{Ask, AskKind, Asker, Fetcher, FullHost, Pulse, ScriptSettings, Standing};
pub use watch::WatchedModules;
