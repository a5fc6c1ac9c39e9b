//! What every request must satisfy and every answer carries. A page of somebody else's, open in
//! the same browser, reaches this machine too: it must neither read nor act.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::reply::{Reader, Reply};
use crate::room::Room;

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const ALWAYS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// Lets through what is meant for us and was sent by us or by no page at all.
pub(crate) async fn gate(State(room): State<Arc<Room>>, request: Request, next: Next) -> Response {
    let mut response = match refusal(request.method(), request.headers(), room.port) {
        Some(reply) => reply.to(Reader::of(request.headers())),
        None => next.run(request).await,
    };
    for (name, value) in ALWAYS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal(method: &Method, headers: &HeaderMap, port: u16) -> Option<Reply> {
    if !text(headers, "host").is_some_and(|host| is_ours(host, port)) {
        let why = "This is not the name of this server.";
        let help = format!("Use http://localhost:{port}.");
        return Some(Reply::refused(StatusCode::MISDIRECTED_REQUEST, why, &help));
    }
    let acts = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    if acts && comes_from_elsewhere(headers, port) {
        let why = "This was sent by a page of another site.";
        return Some(Reply::refused(
            StatusCode::FORBIDDEN,
            why,
            "Open the link itself and answer.",
        ));
    }
    None
}

fn is_ours(host: &str, port: u16) -> bool {
    let names = ["localhost", "127.0.0.1", "[::1]"];
    let (name, at) = host.rsplit_once(':').unwrap_or((host, ""));
    at == port.to_string() && names.iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

/// Only browsers send these headers, and no page can set them. A page that sends no referrer has
/// the origin `null`, ours too: then only the browser's word that it is the same one counts.
fn comes_from_elsewhere(headers: &HeaderMap, port: u16) -> bool {
    let site = text(headers, "sec-fetch-site");
    let origin = headers.get(header::ORIGIN).map(|value| value.to_str().unwrap_or("odd"));
    let foreign = match origin {
        None => false,
        Some("null") => site != Some("same-origin"),
        Some(origin) => !origin.strip_prefix("http://").is_some_and(|host| is_ours(host, port)),
    };
    foreign || site.is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

/// One header, given once.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}
