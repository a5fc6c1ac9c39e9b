//! The page of everything that waits for an answer, for one who has the key to it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::callback::{settle, whole};
use crate::reply::{Reader, Reply};
use crate::room::{Room, now};
use crate::{access, page, pairs};

const BY: &str = "approvals page";

/// The list, or how to get it. A key in the address is swapped for a cookie at once: addresses are
/// remembered and shown.
pub(crate) async fn list(
    State(room): State<Arc<Room>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let pairs = pairs::of_query(&query.unwrap_or_default());
    if let Some(key) = pairs::value(&pairs, "key") {
        return match access::cookie(&room).filter(|_| access::opens(&room, key)) {
            Some(cookie) => welcome(cookie),
            None => room.wrong().to(Reader::Person),
        };
    }
    if !access::is_known(&room, &headers) {
        return closed(&room).to(Reader::Person);
    }
    match room.tickets().await {
        Ok(tickets) => {
            let page = page::list(&tickets, now());
            Reply::new(StatusCode::OK, json!({ "status": "open" }), page).to(Reader::Person)
        }
        Err(reply) => reply.to(Reader::Person),
    }
}

/// An answer from the list.
pub(crate) async fn act(
    State(room): State<Arc<Room>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let reader = Reader::of(&headers);
    if !access::is_known(&room, &headers) {
        return closed(&room).to(reader);
    }
    match answered(&room, id, body).await {
        Ok(reply) if reply.is_good() && reader == Reader::Person => {
            (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
        }
        Ok(reply) | Err(reply) => reply.to(reader),
    }
}

async fn answered(room: &Room, id: String, body: Body) -> Result<Reply, Reply> {
    let body = whole(body).await?;
    let ticket = room.ask(move |ledger| ledger.ticket(&id)).await?;
    settle(room, ticket.ok_or_else(Reply::unknown)?, &body, None, BY).await
}

fn welcome(cookie: axum::http::HeaderValue) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response();
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

/// What one without the key is told.
pub(crate) fn closed(room: &Room) -> Reply {
    let (why, help) = match room.desk.key {
        Some(_) => (
            "The list of open approvals needs the link that `gambrel serve` has printed.",
            "Open that link once in this browser; `gambrel approvals` shows the same in a terminal.",
        ),
        None => (
            "Only the links of single questions are answered here.",
            "For the list of open approvals run `gambrel serve`, or `gambrel approvals` in a terminal.",
        ),
    };
    let said = json!({ "status": "unknown", "error": why, "help": help });
    Reply::new(StatusCode::NOT_FOUND, said, page::notice("Nothing to see here", why, help))
}
