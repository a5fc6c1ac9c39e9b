//! Receives answers: callback links and the page of open approvals. It listens on this machine only,
//! unless the user says otherwise. Answers go to the ledger; this crate decides nothing.

mod answer_body;
mod approvals;
mod auth;
mod callback;
mod connection_limit;
mod connections;
mod form;
mod link_ports;
mod listen;
mod origin_check;
mod page;
mod port;
mod probe;
mod rate_limit;
mod response;
mod routes;
mod serve;
mod sse;
mod state;

pub use link_ports::is_served;
pub use listen::{ListenError, Listener, listen};
pub use serve::{ServeAddress, ServedAddress, serve};
pub use state::ServerConfig;
