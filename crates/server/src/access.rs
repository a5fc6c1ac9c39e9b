//! Who may see every open approval: one who has shown the key, and whose browser remembers that.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use subtle::ConstantTimeEq;

use crate::room::Room;

/// Whether a key opens the list.
pub(crate) fn opens(room: &Room, key: &str) -> bool {
    room.desk.key.as_deref().is_some_and(|ours| same(ours, key))
}

/// Whether this browser has shown the key before.
pub(crate) fn is_known(room: &Room, headers: &HeaderMap) -> bool {
    let name = cookie_name(room.port);
    let mut cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let shown = |cookie: &str| {
        cookie
            .trim()
            .split_once('=')
            .is_some_and(|(key, value)| key == name && same(&room.pass, value))
    };
    room.desk.key.is_some() && cookies.any(|line| line.split(';').any(shown))
}

/// What lets a browser remember.
pub(crate) fn cookie(room: &Room) -> Option<HeaderValue> {
    let name = cookie_name(room.port);
    let text = format!("{name}={}; Path=/; HttpOnly; SameSite=Strict", room.pass);
    HeaderValue::from_str(&text).ok()
}

/// Browsers do not tell ports apart, so the name does.
fn cookie_name(port: u16) -> String {
    format!("gambrel_{port}")
}

fn same(ours: &str, theirs: &str) -> bool {
    !ours.is_empty() && bool::from(ours.as_bytes().ct_eq(theirs.as_bytes()))
}
