//! The action `webhook`: requests over HTTP, each to an address that was looked at first. It knows
//! requests, outcomes and tickets; no event and no decision.

mod action;
mod address;
mod ask;
mod client;
mod exchange;
mod fetch;
mod letter;
mod retry;
mod settings;
mod signature;
mod target;
mod turn;

pub use action::WebhookAction;
pub use fetch::Fetcher;
pub use settings::{Desk, Listen, Listening, Lookup, WebSettings};
#[cfg(feature = "mcp")]
pub(crate) use {
    client::{Net, NoClient},
    exchange::{KEPT, reason},
    letter::checked,
    target::Target,
    turn::Turn,
};
