//! Checks every request's host and origin, and sets the security headers of every response. A
//! foreign page in the same browser can reach this machine too: it must neither read nor act. From
//! other machines, through the public address, only the links of single questions answer.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tokio::net::TcpStream;

use crate::page;
use crate::response::{CallbackResponse, ResponseFormat};
use crate::state::AppState;

const SECURITY_HEADERS: [(HeaderName, &str); 3] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];
/// Headers that only a proxy or a tunnel adds.
const PROXY_HEADERS: [&str; 4] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"];
/// The only paths that answer under the public address.
const CALLBACK_PATH: &str = "/callback";

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionReach {
    /// This machine: a browser, or a tunnel that ends here.
    Loopback,
    /// Another machine, on an address that the user had bound.
    Network,
}

impl ConnectionReach {
    /// Where the connection arrived decides: a peer can choose every header.
    pub(crate) fn of_stream(stream: &TcpStream) -> Self {
        let address = stream.local_addr().map(|local| local.ip().to_canonical());
        match address.is_ok_and(|address| address.is_loopback()) {
            true => Self::Loopback,
            false => Self::Network,
        }
    }
}

/// By which address a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestAddress {
    Local,
    Public,
    Unknown,
}

/// Passes requests for this server that come from its own pages or from no page.
pub(crate) async fn check_origin(
    State(state): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match find_refusal(&state, &request) {
        Some(reply) => reply.into_response_as(ResponseFormat::from_headers(request.headers())),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, page::content_policy());
    response
}

fn find_refusal(state: &AppState, request: &Request) -> Option<CallbackResponse> {
    let address = request_address(state, request);
    match address {
        RequestAddress::Local => {}
        RequestAddress::Public if is_callback(request.uri().path()) => {}
        RequestAddress::Public => return Some(CallbackResponse::unknown_link()),
        RequestAddress::Unknown => {
            let why = "This is not the name of this server.";
            let help = format!("Use http://localhost:{}.", state.port);
            return Some(CallbackResponse::refusal(StatusCode::MISDIRECTED_REQUEST, why, &help));
        }
    }
    let acts = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if acts && is_foreign_page(state, request.headers()) {
        let why = "This was sent by a page of another site.";
        return Some(CallbackResponse::refusal(
            StatusCode::FORBIDDEN,
            why,
            "Open the link itself and answer.",
        ));
    }
    None
}

fn request_address(state: &AppState, request: &Request) -> RequestAddress {
    let headers = request.headers();
    let Some(host) = header_text(headers, "host") else { return RequestAddress::Unknown };
    let is_loopback = request.extensions().get() == Some(&ConnectionReach::Loopback);
    let is_public = state.config.public_url.as_ref().is_some_and(|url| url.is_host(host));
    let is_forwarded = PROXY_HEADERS.iter().any(|name| headers.contains_key(*name));
    match is_own_host(host, state.port) {
        // A proxy may put its own name for this server in the place of the public one.
        true if is_loopback && is_forwarded => RequestAddress::Public,
        true if is_loopback => RequestAddress::Local,
        _ if is_public => RequestAddress::Public,
        _ => RequestAddress::Unknown,
    }
}

fn is_callback(path: &str) -> bool {
    path.strip_prefix(CALLBACK_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_own_host(host: &str, port: u16) -> bool {
    let names = ["localhost", "127.0.0.1", "[::1]"];
    let (name, at) = host.rsplit_once(':').unwrap_or((host, ""));
    at == port.to_string() && names.iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

/// Whether a page of another site sent the request. Only browsers send these headers, and no page
/// can set them. A page without a referrer has the origin `null`, also this server's own: then
/// `sec-fetch-site` decides.
fn is_foreign_page(state: &AppState, headers: &HeaderMap) -> bool {
    let site = header_text(headers, "sec-fetch-site");
    let origin = headers.get(header::ORIGIN).map(|value| value.to_str().unwrap_or("odd"));
    let foreign = match origin {
        None => false,
        Some("null") => site != Some("same-origin"),
        Some(origin) => !is_own_origin(state, origin),
    };
    foreign || site.is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

fn is_own_origin(state: &AppState, origin: &str) -> bool {
    let is_local = || origin.strip_prefix("http://").is_some_and(|h| is_own_host(h, state.port));
    let public_url = state.config.public_url.as_ref();
    public_url.is_some_and(|url| url.as_str().eq_ignore_ascii_case(origin)) || is_local()
}

/// The value of a header that occurs once.
fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}
