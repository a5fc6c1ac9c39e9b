//! The routes of the server.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gambrel_model::PublicUrl;
use serde_json::json;

use crate::response::{CallbackResponse, ResponseFormat};
use crate::state::AppState;
use crate::{approvals, callback, origin_check, sse};

/// The path of the event stream.
pub(crate) const EVENTS_PATH: &str = "/events";

/// Builds the router.
pub(crate) fn build_router(state: Arc<AppState>) -> Router {
    let callback = || get(callback::show_question).post(callback::post_answer);
    Router::new()
        .route("/", get(approvals::show_list))
        .route("/history", get(approvals::show_history))
        .route("/approvals/{id}", post(approvals::post_answer))
        .route("/callback", callback())
        .route("/callback/{token}", callback())
        .route(EVENTS_PATH, get(sse::follow_list))
        .route("/healthz", get(show_health))
        .fallback(async || CallbackResponse::unknown_link().into_response_as(ResponseFormat::Html))
        .layer(from_fn_with_state(Arc::clone(&state), origin_check::check_origin))
        .with_state(state)
}

async fn show_health(State(state): State<Arc<AppState>>) -> Response {
    let public_url = state.config.public_url.as_ref().map(PublicUrl::as_str);
    let body = json!({ "gambrel": state.config.ledger_id, "public_url": public_url }).to_string();
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}
