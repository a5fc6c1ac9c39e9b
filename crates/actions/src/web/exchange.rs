//! One attempt: a connection, a request, and a response read up to a cap, within one time limit.

use std::time::Duration;

use gambrel_model::outcome::Captured;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};

use super::client::HttpClients;
use super::error::ExchangeError;
use super::prepared_request::PreparedRequest;

/// The most bytes of a response body that are kept.
pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// The response of a receiver.
pub(crate) struct HttpResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Captured,
}

/// Sends a request once.
pub(crate) async fn send_once(
    clients: &HttpClients,
    prepared: &PreparedRequest,
    limit: Duration,
) -> Result<HttpResponse, ExchangeError> {
    tokio::time::timeout(limit, send_and_read(clients, prepared))
        .await
        .unwrap_or(Err(ExchangeError::TimedOut(limit)))
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

    let failed = |error| ExchangeError::no_response(target.authority(), error);
    let response = request.send().await.map_err(failed)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = read_body(response).await.map_err(|error| ExchangeError::BrokeOff {
        authority: target.authority(),
        source: error.without_url(),
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
