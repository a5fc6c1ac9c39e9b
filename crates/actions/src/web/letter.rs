//! A request made ready to be sent, more than once if need be: everything in it was checked before
//! the first byte goes out. It knows no connection.

use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::request::{CALLBACK_MARKER, FetchRequest, WebhookRequest};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde_json::Value;

use super::signature;
use super::target::Target;

const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";
/// The mark of the link as it looks after a URL was put together.
const ENCODED: &str = "%EE%80%80callback%EE%80%80";
/// What decides how a message is cut is nobody's to set.
const OURS: [&str; 4] = ["content-length", "transfer-encoding", "connection", "upgrade"];

/// A request that can be sent.
pub(crate) struct Letter {
    pub target: Target,
    pub method: Method,
    pub body: Option<Vec<u8>>,
    headers: HeaderMap,
    keys: Vec<Vec<u8>>,
    id: String,
}

impl Letter {
    /// Of a request whose marks are filled; the error says why it cannot be sent. `id` names it,
    /// unless it has a name already.
    pub fn of(request: &WebhookRequest, id: &str) -> Result<Self, String> {
        let target = Target::read(&request.url, &request.allow)?;
        let method = method(&request.method)?;
        let body = match &request.body {
            Value::Null => None,
            body => Some(serde_json::to_vec(body).map_err(|error| error.to_string())?),
        };
        let mut headers = checked(&request.headers)?;
        if body.is_some() && !headers.contains_key(CONTENT_TYPE) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let own = headers.get(ID).and_then(|value| value.to_str().ok()).unwrap_or(id).to_owned();
        headers.insert(ID, value(ID, &own)?);
        let keys = signature::keys(&request.sign)?;
        Ok(Self { target, method, body, headers, keys, id: own })
    }

    /// Of a request that is sent as it is: no name, no signature.
    pub fn plain(wanted: &FetchRequest) -> Result<Self, String> {
        Ok(Self {
            target: Target::read(&wanted.url, &wanted.allow)?,
            method: method(&wanted.method)?,
            body: wanted.body.clone(),
            headers: checked(&wanted.headers)?,
            keys: Vec::new(),
            id: String::new(),
        })
    }

    /// The headers of a try that is made now.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        if self.keys.is_empty() {
            return headers;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let signed =
            signature::sign(&self.keys, &self.id, now, self.body.as_deref().unwrap_or_default());
        headers.insert(TIMESTAMP, HeaderValue::from(now));
        if let Ok(signed) = HeaderValue::from_str(&signed) {
            headers.insert(SIGNATURE, signed);
        }
        headers
    }

    /// What a record may show of it.
    pub fn shown(&self) -> Vec<String> {
        vec![self.method.to_string(), self.target.shown()]
    }
}

/// Headers as they were given, and who we are.
pub(crate) fn checked(given: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, text) in given {
        let known = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("refused: {name:?} cannot be the name of a header"))?;
        if OURS.contains(&known.as_str()) {
            return Err(format!("refused: the header {name} is not to be set"));
        }
        headers.append(known, value(name, text)?);
    }
    let own = concat!("gambrel/", env!("CARGO_PKG_VERSION"));
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(own));
    Ok(headers)
}

fn value(name: &str, text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| {
        format!("refused: the header {name} has a line break or a control character in it")
    })
}

fn method(word: &str) -> Result<Method, String> {
    let word = if word.is_empty() { "POST".to_owned() } else { word.to_ascii_uppercase() };
    match Method::from_bytes(word.as_bytes()) {
        Ok(method) if method != Method::CONNECT && method != Method::TRACE => Ok(method),
        _ => Err(format!("refused: {word:?} is not a method to send a request with")),
    }
}

/// Puts the link of a question, or nothing, where its mark stands.
pub(crate) fn fill(request: &mut WebhookRequest, link: &str) {
    let quoted: String = link
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    request.url = request.url.replace(CALLBACK_MARKER, &quoted).replace(ENCODED, &quoted);
    for (_, value) in &mut request.headers {
        *value = value.replace(CALLBACK_MARKER, link);
    }
    fill_value(&mut request.body, link);
}

fn fill_value(value: &mut Value, link: &str) {
    match value {
        Value::String(text) if text.contains(CALLBACK_MARKER) => {
            *text = text.replace(CALLBACK_MARKER, link)
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill_value(item, link)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill_value(field, link)),
        _ => {}
    }
}
