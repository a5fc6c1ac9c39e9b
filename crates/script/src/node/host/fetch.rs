//! `fetch`: passes a request to the fetch function of the settings, and returns its response. Opens
//! no connection itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::{FetchRequest, FetchResponse};
use serde_json::{Value, json};

use super::{OpError, Sink, bytes};
use crate::runtime::HostState;

/// The longest duration of one request.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
/// The error if the settings have no fetch function.
pub const FETCH_DISABLED: &str =
    "modules may not open connections; set `GAMBREL_FETCH=1` to allow it";

/// Makes a request; reports `{status, words, headers, body}`.
pub fn fetch_url(state: &HostState, args: Value, sink: Sink) {
    let Some(fetch_fn) = state.settings.fetch.as_ref().map(Arc::clone) else {
        return sink.end(Err(OpError::new(FETCH_DISABLED).with_code("ERR_ACCESS_DENIED")));
    };

    let left = state.tripwire.deadline().map(|at| at.saturating_duration_since(Instant::now()));
    let limit = left.map_or(FETCH_TIMEOUT, |left| left.min(FETCH_TIMEOUT));
    let request = FetchRequest { allow: state.call_env().reachable, limit, ..build_request(&args) };
    sink.run_in_thread(move || {
        let response = fetch_fn(&request).map_err(|error| OpError::new(error.to_string()))?;
        Ok(response_to_json(response))
    });
}

fn build_request(args: &Value) -> FetchRequest {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let headers = args["headers"].as_array().into_iter().flatten();
    FetchRequest {
        url: text(&args["url"]),
        method: text(&args["method"]),
        headers: headers.map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        body: args["body"].as_str().map(bytes::unpack_bytes),
        ..FetchRequest::default()
    }
}

fn response_to_json(answer: FetchResponse) -> Value {
    let FetchResponse { status, words, headers, body } = answer;
    json!({"status": status, "words": words, "headers": headers, "body": bytes::pack_bytes(&body)})
}
