//! A request ready to be sent, more than once if needed: every part of it is checked before the
//! first byte goes out.

use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::json_texts::edit_texts;
use gambrel_model::request::{CALLBACK_MARKER, FetchRequest, WebhookRequest};
use gambrel_model::text::{UNRESERVED, percent_encode};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde_json::Value;

use super::error::RequestError;
use super::signature;
use super::target::Target;

const ID_HEADER: &str = "webhook-id";
const TIMESTAMP_HEADER: &str = "webhook-timestamp";
const SIGNATURE_HEADER: &str = "webhook-signature";
/// The callback marker after URL encoding.
const ENCODED_MARKER: &str = "%EE%80%80callback%EE%80%80";
/// Headers that frame a message; no hook may set them.
const RESERVED_HEADERS: [&str; 4] =
    ["content-length", "transfer-encoding", "connection", "upgrade"];

/// A request that can be sent.
pub(crate) struct PreparedRequest {
    pub target: Target,
    pub method: Method,
    pub body: Option<Vec<u8>>,
    headers: HeaderMap,
    keys: Vec<Vec<u8>>,
    id: String,
}

impl PreparedRequest {
    /// From a request whose markers are filled in; the error says why it cannot be sent. `id` is
    /// its message id, unless it already has one.
    pub fn from_webhook(request: &WebhookRequest, id: &str) -> Result<Self, RequestError> {
        let target = Target::parse(&request.url, &request.allow)?;
        let method = parse_method(&request.method)?;
        let body = match &request.body {
            Value::Null => None,
            body => Some(serde_json::to_vec(body)?),
        };

        let mut headers = check_headers(&request.headers)?;
        if body.is_some() && !headers.contains_key(CONTENT_TYPE) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let own =
            headers.get(ID_HEADER).and_then(|value| value.to_str().ok()).unwrap_or(id).to_owned();
        headers.insert(ID_HEADER, header_value(ID_HEADER, &own)?);
        let keys = signature::parse_keys(&request.sign)?;
        Ok(Self { target, method, body, headers, keys, id: own })
    }

    /// From a request that is sent unchanged, without message id and signature.
    pub fn from_fetch(request: &FetchRequest) -> Result<Self, RequestError> {
        Ok(Self {
            target: Target::parse(&request.url, &request.allow)?,
            method: parse_method(&request.method)?,
            body: request.body.clone(),
            headers: check_headers(&request.headers)?,
            keys: Vec::new(),
            id: String::new(),
        })
    }

    /// The headers of an attempt made now.
    pub fn signed_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if self.keys.is_empty() {
            return headers;
        }

        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let signed = signature::sign_message(
            &self.keys,
            &self.id,
            now,
            self.body.as_deref().unwrap_or_default(),
        );
        headers.insert(TIMESTAMP_HEADER, HeaderValue::from(now));
        if let Ok(signed) = HeaderValue::from_str(&signed) {
            headers.insert(SIGNATURE_HEADER, signed);
        }
        headers
    }

    /// The method and the redacted URL, for records.
    pub fn recorded_command(&self) -> Vec<String> {
        vec![self.method.to_string(), self.target.redacted_url()]
    }
}

/// Checks the given headers and adds a user agent.
pub(crate) fn check_headers(given: &[(String, String)]) -> Result<HeaderMap, RequestError> {
    let mut headers = HeaderMap::new();
    for (name, text) in given {
        let known = HeaderName::from_bytes(name.as_bytes())
            .map_err(|error| RequestError::HeaderName(name.clone(), error))?;
        if RESERVED_HEADERS.contains(&known.as_str()) {
            return Err(RequestError::ReservedHeader(name.clone()));
        }
        headers.append(known, header_value(name, text)?);
    }
    let own = concat!("gambrel/", env!("CARGO_PKG_VERSION"));
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(own));
    Ok(headers)
}

fn header_value(name: &str, text: &str) -> Result<HeaderValue, RequestError> {
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|error| RequestError::HeaderValue(name.to_owned(), error))
}

fn parse_method(word: &str) -> Result<Method, RequestError> {
    let word = if word.is_empty() { "POST".to_owned() } else { word.to_ascii_uppercase() };
    match Method::from_bytes(word.as_bytes()) {
        Ok(method) if method != Method::CONNECT && method != Method::TRACE => Ok(method),
        _ => Err(RequestError::Method(word)),
    }
}

/// Puts the callback link, or nothing, in place of its marker.
pub(crate) fn fill_callback(request: &mut WebhookRequest, link: &str) {
    let encoded_link = percent_encode(link.as_bytes(), UNRESERVED);
    request.url =
        request.url.replace(CALLBACK_MARKER, &encoded_link).replace(ENCODED_MARKER, &encoded_link);
    for (_, value) in &mut request.headers {
        *value = value.replace(CALLBACK_MARKER, link);
    }
    edit_texts(&mut request.body, &|text| *text = text.replace(CALLBACK_MARKER, link));
}
