//! Requests of a hook's own code: one attempt each, through the same client and the same address
//! checks as every other request.

use gambrel_model::request::{FetchRequest, FetchResponse};
use tokio::runtime::Builder;

use super::client::HttpClients;
use super::error::ExchangeError;
use super::exchange::{HttpResponse, send_once};
use super::prepared_request::PreparedRequest;
use super::settings::WebSettings;

/// Sends requests for modules.
pub struct Fetcher {
    clients: HttpClients,
}

impl Fetcher {
    /// Creates a fetcher. Opens nothing before the first request.
    pub fn new(settings: &WebSettings) -> Self {
        Self { clients: HttpClients::new(settings) }
    }

    /// Sends a request and waits for the whole response; the error's text is for the
    /// module's author.
    pub fn fetch(&self, request: &FetchRequest) -> Result<FetchResponse, ExchangeError> {
        let prepared = PreparedRequest::from_fetch(request)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ExchangeError::NoRuntime)?;
        let result = runtime.block_on(send_once(&self.clients, &prepared, request.limit));
        // Do not wait for a name that is still being resolved.
        runtime.shutdown_background();
        let response = result?;
        if response.body.is_truncated() {
            return Err(ExchangeError::LongAnswer);
        }
        Ok(to_fetch_response(response))
    }
}

fn to_fetch_response(response: HttpResponse) -> FetchResponse {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = response.headers.iter();
    FetchResponse {
        status: response.status.as_u16(),
        words: response.status.canonical_reason().unwrap_or_default().to_owned(),
        headers: headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
        body: response.body.bytes,
    }
}
