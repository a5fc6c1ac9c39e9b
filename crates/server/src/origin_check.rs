//! Checks every request's host and origin, and sets the security headers of every response. A
//! foreign page in the same browser can reach this machine too: it must neither read nor act.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::response::{CallbackResponse, ResponseFormat};
use crate::state::AppState;

const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// Passes requests for this server that come from its own pages or from no page.
pub(crate) async fn check_origin(
    State(state): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match find_refusal(request.method(), request.headers(), state.port) {
        Some(reply) => reply.into_response_as(ResponseFormat::from_headers(request.headers())),
        None => next.run(request).await,
    };
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn find_refusal(method: &Method, headers: &HeaderMap, port: u16) -> Option<CallbackResponse> {
    if !header_text(headers, "host").is_some_and(|host| is_own_host(host, port)) {
        let why = "This is not the name of this server.";
        let help = format!("Use http://localhost:{port}.");
        return Some(CallbackResponse::refusal(StatusCode::MISDIRECTED_REQUEST, why, &help));
    }
    let acts = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    if acts && is_foreign_page(headers, port) {
        let why = "This was sent by a page of another site.";
        return Some(CallbackResponse::refusal(
            StatusCode::FORBIDDEN,
            why,
            "Open the link itself and answer.",
        ));
    }
    None
}

fn is_own_host(host: &str, port: u16) -> bool {
    let names = ["localhost", "127.0.0.1", "[::1]"];
    let (name, at) = host.rsplit_once(':').unwrap_or((host, ""));
    at == port.to_string() && names.iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

/// Whether a page of another site sent the request. Only browsers send these headers, and no page
/// can set them. A page without a referrer has the origin `null`, also this server's own: then
/// `sec-fetch-site` decides.
fn is_foreign_page(headers: &HeaderMap, port: u16) -> bool {
    let site = header_text(headers, "sec-fetch-site");
    let origin = headers.get(header::ORIGIN).map(|value| value.to_str().unwrap_or("odd"));
    let foreign = match origin {
        None => false,
        Some("null") => site != Some("same-origin"),
        Some(origin) => !origin.strip_prefix("http://").is_some_and(|host| is_own_host(host, port)),
    };
    foreign || site.is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

/// The value of a header that occurs once.
fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}
