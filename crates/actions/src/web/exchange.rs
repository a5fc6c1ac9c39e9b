//! One attempt: a connection, a request, and a response read up to a cap, within one time limit.

use std::error::Error;
use std::io;
use std::time::Duration;

use gambrel_model::outcome::Captured;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};

use super::client::{ClientError, HttpClients};
use super::prepared_request::PreparedRequest;

/// The most bytes of a response body that are kept.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// The response of a receiver.
pub(crate) struct HttpResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Captured,
}

/// Why there is no response.
pub(crate) enum ExchangeError {
    /// Nothing was sent; a retry would not help.
    Refused(String),
    /// A retry may help.
    Failed(String),
    /// The limit has passed.
    TimedOut,
}

/// Sends a request once.
pub(crate) async fn send_once(
    clients: &HttpClients,
    prepared: &PreparedRequest,
    limit: Duration,
) -> Result<HttpResponse, ExchangeError> {
    tokio::time::timeout(limit, send_and_read(clients, prepared))
        .await
        .unwrap_or(Err(ExchangeError::TimedOut))
}

async fn send_and_read(
    clients: &HttpClients,
    prepared: &PreparedRequest,
) -> Result<HttpResponse, ExchangeError> {
    let target = &prepared.target;
    let client = clients.client_for(target).await?;
    let mut request = client.request(prepared.method.clone(), target.url.clone());
    request = request.headers(prepared.signed_headers());
    if let Some(body) = &prepared.body {
        request = request.body(body.clone());
    }

    let failed =
        |error: reqwest::Error| ExchangeError::Failed(failure_reason(&target.authority(), &error));
    let response = request.send().await.map_err(failed)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = read_body(response).await.map_err(|error| {
        let why = root_cause(&error);
        ExchangeError::Failed(format!("the answer of `{}` broke off: {why}", target.authority()))
    })?;
    Ok(HttpResponse { status, headers, body })
}

async fn read_body(mut response: Response) -> Result<Captured, reqwest::Error> {
    let announced = response.content_length();
    let mut body = Captured::default();
    while let Some(chunk) = response.chunk().await? {
        let free_bytes = MAX_BODY_BYTES - body.bytes.len();
        body.bytes.extend_from_slice(chunk.get(..free_bytes).unwrap_or(&chunk));
        body.total += chunk.len() as u64;
        if chunk.len() > free_bytes {
            body.total = body.total.max(announced.unwrap_or_default());
            break;
        }
    }
    Ok(body)
}

/// Why there is no response, without any part of the URL.
pub(crate) fn failure_reason(authority: &str, error: &reqwest::Error) -> String {
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

/// The message of the root cause. The error's own message would hold the URL.
fn root_cause(error: &reqwest::Error) -> String {
    let mut words = "it broke off".to_owned();
    let mut source = error.source();
    while let Some(inner) = source {
        words = inner.to_string();
        source = inner.source();
    }
    words
}

impl From<ClientError> for ExchangeError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(why) => Self::Refused(why),
            ClientError::Failed(why) => Self::Failed(why),
        }
    }
}
