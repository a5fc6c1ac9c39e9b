//! `fetch`: hands a request to whoever the composition lets open connections, and its answer back.
//! It opens none itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::{FetchRequest, FetchResponse};
use serde_json::{Value, json};

use super::{OpError, Sink, bytes};
use crate::desk::Desk;

/// The longest that one exchange may take.
const LIMIT: Duration = Duration::from_secs(30);
/// What a module is told that may not.
pub const OFF: &str =
    "modules may not open connections here; GAMBREL_FETCH=1 in the environment allows it";

/// Makes a request; reports `{status, words, headers, body}`.
pub fn fetch(desk: &Desk, args: Value, sink: Sink) {
    let Some(fetcher) = desk.settings.fetch.as_ref().map(Arc::clone) else {
        return sink.end(Err(OpError::new(OFF).code("ERR_ACCESS_DENIED")));
    };
    let left = desk.wire.until().map(|at| at.saturating_duration_since(Instant::now()));
    let limit = left.map_or(LIMIT, |left| left.min(LIMIT));
    let wanted = FetchRequest { allow: desk.surround().reachable, limit, ..wanted(&args) };
    sink.run(move || fetcher(&wanted).map(told).map_err(OpError::new));
}

fn wanted(args: &Value) -> FetchRequest {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let headers = args["headers"].as_array().into_iter().flatten();
    FetchRequest {
        url: text(&args["url"]),
        method: text(&args["method"]),
        headers: headers.map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        body: args["body"].as_str().map(bytes::unpacked),
        ..FetchRequest::default()
    }
}

fn told(answer: FetchResponse) -> Value {
    let FetchResponse { status, words, headers, body } = answer;
    json!({"status": status, "words": words, "headers": headers, "body": bytes::packed(&body)})
}
