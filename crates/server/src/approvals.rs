//! The page of open approvals, for a browser that has shown the key.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::callback::{answer_ticket, read_body};
use crate::response::{CallbackResponse, ResponseFormat};
use crate::state::{AppState, now_ms};
use crate::{auth, form, page};

const ANSWERED_BY: &str = "approvals page";

/// The list, or how to get it. A key in the address is replaced by a cookie at once, because
/// browsers store and show addresses.
pub(crate) async fn show_list(
    State(state): State<Arc<AppState>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let pairs = form::parse_query(&query.unwrap_or_default());
    if let Some(key) = form::first_value(&pairs, "key") {
        return match auth::pass_cookie(&state).filter(|_| auth::is_key(&state, key)) {
            Some(cookie) => redirect_with_cookie(cookie),
            None => state.reject_wrong_link().into_response_as(ResponseFormat::Html),
        };
    }
    if !auth::has_cookie(&state, &headers) {
        return list_closed(&state).into_response_as(ResponseFormat::Html);
    }
    match state.tickets().await {
        Ok(tickets) => {
            let page = page::list_page(&tickets, now_ms());
            CallbackResponse::new(StatusCode::OK, json!({ "status": "open" }), page)
                .into_response_as(ResponseFormat::Html)
        }
        Err(reply) => reply.into_response_as(ResponseFormat::Html),
    }
}

/// All questions that are answered or expired.
pub(crate) async fn show_history(
    State(state): State<Arc<AppState>>,
    headers: HeaderMap,
) -> Response {
    if !auth::has_cookie(&state, &headers) {
        return list_closed(&state).into_response_as(ResponseFormat::Html);
    }
    let reply = match state.tickets().await {
        Ok(tickets) => {
            let page = page::history_page(&tickets, now_ms());
            CallbackResponse::new(StatusCode::OK, json!({ "status": "closed" }), page)
        }
        Err(reply) => reply,
    };
    reply.into_response_as(ResponseFormat::Html)
}

/// An answer from the list.
pub(crate) async fn post_answer(
    State(state): State<Arc<AppState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let reader = ResponseFormat::from_headers(&headers);
    if !auth::has_cookie(&state, &headers) {
        return list_closed(&state).into_response_as(reader);
    }
    match record_answer(&state, id, body).await {
        Ok(reply) if reply.is_success() && reader == ResponseFormat::Html => {
            (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
        }
        Ok(reply) | Err(reply) => reply.into_response_as(reader),
    }
}

async fn record_answer(
    state: &AppState,
    id: String,
    body: Body,
) -> Result<CallbackResponse, CallbackResponse> {
    let body = read_body(body).await?;
    let ticket = state.query_ledger(move |ledger| ledger.find_ticket(&id)).await?;
    answer_ticket(
        state,
        ticket.ok_or_else(CallbackResponse::unknown_link)?,
        &body,
        None,
        ANSWERED_BY,
    )
    .await
}

fn redirect_with_cookie(cookie: axum::http::HeaderValue) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response();
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

/// The response for a browser without the key.
pub(crate) fn list_closed(state: &AppState) -> CallbackResponse {
    let (why, help) = match state.config.key {
        Some(_) => (
            "The list of open approvals needs the link that `gambrel serve` has printed.",
            "Open that link once in this browser; `gambrel approvals` shows the same in a terminal.",
        ),
        None => (
            "Only the links of single questions are answered here.",
            "For the list of open approvals run `gambrel serve`, or `gambrel approvals` in a terminal.",
        ),
    };
    let body = json!({ "status": "unknown", "error": why, "help": help });
    CallbackResponse::new(
        StatusCode::NOT_FOUND,
        body,
        page::notice_page("Nothing to see here", why, help),
    )
}
