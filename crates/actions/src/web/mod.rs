//! The action `webhook`: sends HTTP requests to checked addresses only. Depends on requests,
//! outcomes and tickets of the model.
//!
//! A request resolves its host once, checks every address against private ranges and connects to
//! the checked address. A question opens a ticket in the ledger, which stores only the hash of its
//! token. A question that could not be asked is a failure, never "nobody answered".

mod action;
mod address;
mod ask;
mod async_action;
mod client;
mod error;
mod exchange;
mod fetch;
mod prepared_request;
mod retry;
mod settings;
mod signature;
mod target;

pub use action::WebhookAction;
pub use error::{ExchangeError, RequestError, TlsError};
pub use fetch::Fetcher;
pub use settings::{AddFactsFn, ApprovalChannel, ListenFn, ListenerHandle, ResolveFn, WebSettings};
#[cfg(feature = "mcp")]
pub(crate) use {
    async_action::AsyncAction, client::HttpClients, exchange::MAX_BODY_BYTES,
    prepared_request::check_headers, target::Target,
};
