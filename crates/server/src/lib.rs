//! Where answers come in: callback links and the page of open approvals, on this machine only.
//! It asks and tells the ledger; it knows no hook, no dialect, and never decides anything itself.

mod access;
mod approvals;
mod callback;
mod connection_limit;
mod connections;
mod gate;
mod guesses;
mod listen;
mod live;
mod page;
mod pairs;
mod place;
mod posted;
mod probe;
mod reply;
mod room;
mod routes;
mod serve;

pub use listen::{ListenError, Listening, listen};
pub use room::Desk;
pub use serve::serve;
