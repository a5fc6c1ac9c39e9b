//! The room that starts processes for hooks. It knows calls and outcomes of the model, and
//! nothing of events, dialects, verdicts or the ledger.

mod attempt;
mod batch;
mod bell;
mod capture;
mod command;
mod detach;
mod direct;
mod environ;
mod guard;
mod limits;
mod lookup;
mod orphans;
mod process;
mod settings;
mod shell;
mod sidefile;
mod spawn;
mod spill;
mod supervise;
mod tree;
mod veil;
mod watchdog;

pub use settings::{SUPERVISE_WORD, Settings, WATCHDOG_WORD};
pub use shell::ShellAction;
pub use supervise::supervise_main;
pub use veil::Veil;
pub use watchdog::watchdog_main;
