//! Access to the list of open approvals: a browser that has shown the key gets a cookie.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use subtle::ConstantTimeEq;

use crate::state::AppState;

/// Whether a key opens the list.
pub(crate) fn is_key(state: &AppState, key: &str) -> bool {
    state.config.key.as_deref().is_some_and(|ours| equals_secret(ours, key))
}

/// Whether this browser has the cookie.
pub(crate) fn has_cookie(state: &AppState, headers: &HeaderMap) -> bool {
    let name = cookie_name(state.port);
    let mut cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let is_pass = |cookie: &str| {
        cookie
            .trim()
            .split_once('=')
            .is_some_and(|(key, value)| key == name && equals_secret(&state.cookie_value, value))
    };
    state.config.key.is_some() && cookies.any(|line| line.split(';').any(is_pass))
}

/// The cookie for a browser that has shown the key.
pub(crate) fn pass_cookie(state: &AppState) -> Option<HeaderValue> {
    let name = cookie_name(state.port);
    let text = format!("{name}={}; Path=/; HttpOnly; SameSite=Strict", state.cookie_value);
    HeaderValue::from_str(&text).ok()
}

/// The cookie's name. Browsers send cookies to every port, so the name holds the port.
fn cookie_name(port: u16) -> String {
    format!("gambrel_{port}")
}

fn equals_secret(ours: &str, theirs: &str) -> bool {
    !ours.is_empty() && bool::from(ours.as_bytes().ct_eq(theirs.as_bytes()))
}
