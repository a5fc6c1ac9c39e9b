//! Why a request is refused, why it has no response, and why a question cannot be asked. Their
//! texts are reasons in outcomes; none holds a URL's path or query, which may be a secret.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use gambrel_model::ledger::LedgerError;
use gambrel_model::request::BodyError;
use reqwest::Url;
use reqwest::header::{InvalidHeaderName, InvalidHeaderValue};
use tokio::task::JoinError;

use super::exchange::MAX_BODY_BYTES;
use super::signature::SECRET_PREFIX;

/// Why a request is not sent; a retry would not help.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Whoever made the request already refused it.
    #[error("{0}")]
    Refused(String),
    /// The call holds no request.
    #[error(transparent)]
    Call(#[from] BodyError),
    /// The body cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The URL has a character that no URL has.
    #[error("refused: the URL contains a space or a control character")]
    UrlCharacters,
    /// The URL cannot be parsed.
    #[error("refused: not a URL: {0}")]
    NotUrl(#[source] <Url as FromStr>::Err),
    /// The URL holds a secret.
    #[error("refused: the URL contains a user name or a password; send them in a header")]
    UrlCredentials,
    /// The URL leads to another machine without encryption.
    #[error("refused: http is for this machine only; use https")]
    PlainHttp,
    /// The URL has another scheme.
    #[error("refused: `{0}` is not https")]
    Scheme(String),
    /// The address belongs to a private network.
    #[error(
        "refused: {address}{} is {kind}; only the user's own configuration can allow it",
        host.as_ref().map(|name| format!(" ({name})")).unwrap_or_default()
    )]
    PrivateAddress {
        /// The address.
        address: IpAddr,
        /// The name that was resolved to it.
        host: Option<String>,
        /// The kind of network.
        kind: &'static str,
    },
    /// A header has an impossible name.
    #[error("refused: `{}` is not a valid header name", .0.escape_debug())]
    HeaderName(String, #[source] InvalidHeaderName),
    /// A header frames the message.
    #[error("refused: the header `{0}` cannot be set")]
    ReservedHeader(String),
    /// A header has an impossible value.
    #[error("refused: the header `{0}` has a line break or a control character in it")]
    HeaderValue(String, #[source] InvalidHeaderValue),
    /// The method is unknown or opens a tunnel.
    #[error("refused: `{}` is not a supported HTTP method", .0.escape_debug())]
    Method(String),
    /// A secret is not what its prefix says.
    #[error("a signing secret begins with `{SECRET_PREFIX}`, but the rest is not base64")]
    SecretEncoding(#[source] base64::DecodeError),
    /// A secret has no bytes.
    #[error("a signing secret is empty")]
    EmptySecret,
    /// There is no message id.
    #[error("no random numbers: {0}")]
    NoRandom(#[from] getrandom::Error),
}

/// Why there is no response. A retry may help, except after a refusal.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// Nothing was sent.
    #[error(transparent)]
    Refused(#[from] RequestError),
    /// The host has no address.
    #[error("`{authority}` was not found: {source}")]
    HostNotFound {
        /// Host and port.
        authority: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// There is no TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The client could not be built.
    #[error(transparent)]
    NoClient(reqwest::Error),
    /// The receiver did not answer.
    #[error("{}", no_response_text(authority, source))]
    NoResponse {
        /// Host and port.
        authority: String,
        /// The client's error.
        source: reqwest::Error,
    },
    /// The receiver answered in part.
    #[error("the answer of `{authority}` broke off: {}", root_cause(source))]
    BrokeOff {
        /// Host and port.
        authority: String,
        /// The client's error.
        source: reqwest::Error,
    },
    /// The time limit has passed.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The answer is too long to be useful.
    #[error("the answer is longer than {} MiB", MAX_BODY_BYTES >> 20)]
    LongAnswer,
    /// There is nothing to run the request on.
    #[error("no async runtime: {0}")]
    NoRuntime(#[source] io::Error),
}

impl ExchangeError {
    /// The receiver did not answer. Removes the URL from the error.
    pub(crate) fn no_response(authority: String, error: reqwest::Error) -> Self {
        Self::NoResponse { authority, source: error.without_url() }
    }
}

/// Why a connection cannot be encrypted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TlsError {
    /// The machine's certificates cannot be read.
    #[error("no trust store: {0}")]
    NoTrustStore(#[source] rustls::Error),
    /// The protocol versions do not fit.
    #[error("no TLS: {0}")]
    NoProtocol(#[source] rustls::Error),
}

/// Why a question cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("this host cannot listen for answers")]
    NoChannel,
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    NoThread(#[from] JoinError),
    #[error(transparent)]
    Listener(Box<dyn Error + Send + Sync>),
    #[error("could not listen for the answer: {0}")]
    NoListenerThread(#[source] JoinError),
}

/// Why there is no response. The error's own message would hold the URL.
fn no_response_text(authority: &str, error: &reqwest::Error) -> String {
    let mut source: Option<&(dyn Error + 'static)> = error.source();
    while let Some(inner) = source {
        match inner.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => {
                return format!("connection refused: `{authority}`");
            }
            Some(io::ErrorKind::ConnectionReset) => {
                return format!("connection reset: `{authority}`");
            }
            _ => source = inner.source(),
        }
    }

    let why = root_cause(error);
    match (error.is_connect(), error.is_timeout()) {
        (_, true) => format!("no connection in time: `{authority}`"),
        (true, _) => format!("no connection: `{authority}`: {why}"),
        _ => format!("no answer: `{authority}`: {why}"),
    }
}

/// The message of the root cause.
fn root_cause(error: &reqwest::Error) -> String {
    let mut words = "it broke off".to_owned();
    let mut source = error.source();
    while let Some(inner) = source {
        words = inner.to_string();
        source = inner.source();
    }
    words
}
