//! Which address leads where.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;

use crate::reply::{Reader, Reply};
use crate::room::Room;
use crate::{approvals, callback, gate, live, page};

/// Where pages follow the list.
pub(crate) const EVENTS: &str = "/events";

/// Everything that is answered.
pub(crate) fn router(room: Arc<Room>) -> Router {
    let callback = || get(callback::show).post(callback::act);
    Router::new()
        .route("/", get(approvals::list))
        .route("/approvals/{id}", post(approvals::act))
        .route("/callback", callback())
        .route("/callback/{token}", callback())
        .route(EVENTS, get(live::events))
        .route("/healthz", get(health))
        .route("/style.css", get(|| asset("text/css; charset=utf-8", page::STYLE)))
        .route("/app.js", get(|| asset("text/javascript; charset=utf-8", page::SCRIPT)))
        .fallback(async || Reply::unknown().to(Reader::Person))
        .layer(from_fn_with_state(Arc::clone(&room), gate::gate))
        .with_state(room)
}

async fn health(State(room): State<Arc<Room>>) -> Response {
    let said = json!({ "gambrel": room.desk.mark }).to_string();
    ([(CONTENT_TYPE, "application/json")], said).into_response()
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], text).into_response()
}
