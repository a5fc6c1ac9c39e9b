//! The style sheet and the script. Both are part of each page, so that a page needs no second
//! request; the content policy allows exactly these two texts.

use std::sync::LazyLock;

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gambrel_model::sha256;
use maud::{Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
/// Counts down and keeps the list up to date.
const SCRIPT: &str = include_str!("app.js");

static CONTENT_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; connect-src 'self'; \
         form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        hash_source(STYLE),
        hash_source(SCRIPT)
    );
    let nothing = HeaderValue::from_static("default-src 'none'");
    HeaderValue::from_str(&policy).unwrap_or(nothing)
});

/// The policy of every response.
pub(crate) fn content_policy() -> HeaderValue {
    CONTENT_POLICY.clone()
}

/// The element of the style sheet.
pub(super) fn style_element() -> Markup {
    html! { style { (PreEscaped(STYLE)) } }
}

/// The element of the script.
pub(super) fn script_element() -> Markup {
    html! { script { (PreEscaped(SCRIPT)) } }
}

/// The source of a policy that allows one text.
fn hash_source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(sha256(text)))
}
