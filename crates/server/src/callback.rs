//! One question and its link: GET shows it, POST answers it. Previews, scanners and prefetching use
//! GET only.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use gambrel_model::ticket::{AnswerResult, Ticket, TicketState};
use serde_json::json;

use crate::response::{CallbackResponse, ResponseFormat};
use crate::state::{AppState, now_ms};
use crate::{answer_body, form, page};

const MAX_BODY_BYTES: usize = 64 << 10;
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
const ANSWERED_BY: &str = "bearer of the link";

/// Shows a question.
pub(crate) async fn show_question(State(state): State<Arc<AppState>>, uri: Uri) -> Response {
    let link = CallbackLink::new(&uri);
    let shown = find_ticket(&state, &link).await.map(|ticket| describe_ticket(&ticket, &link));
    shown.unwrap_or_else(|reply| reply).into_response_as(ResponseFormat::Html)
}

/// Receives the answer to a question.
pub(crate) async fn post_answer(
    State(state): State<Arc<AppState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let link = CallbackLink::new(&uri);
    let reply = answer_by_link(&state, &link, body).await.unwrap_or_else(|reply| reply);
    reply.into_response_as(ResponseFormat::from_headers(&headers))
}

/// Reads a whole body, within the limits of length and time.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, CallbackResponse> {
    let read = tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY_BYTES)).await;
    let late =
        |_| CallbackResponse::refusal(StatusCode::REQUEST_TIMEOUT, "The answer took too long.", "");
    let help = "Say it in fewer words: 64 KiB at most.";
    let large = |_| {
        CallbackResponse::refusal(StatusCode::PAYLOAD_TOO_LARGE, "The answer is too long.", help)
    };
    read.map_err(late)?.map_err(large)
}

/// The parts of a link.
struct CallbackLink {
    token: String,
    action: Option<String>,
}

impl CallbackLink {
    /// Reads a link. A token needs no decoding; an encoded one is as wrong as any other.
    fn new(uri: &Uri) -> Self {
        let pairs = form::parse_query(uri.query().unwrap_or_default());
        let named = |name| form::first_value(&pairs, name).map(str::to_owned);
        let token = uri.path().strip_prefix("/callback/").map(str::to_owned);
        let token = token.or_else(|| named("token")).unwrap_or_default();
        Self { token, action: named("action") }
    }
}

async fn find_ticket(state: &AppState, link: &CallbackLink) -> Result<Ticket, CallbackResponse> {
    let token = link.token.clone();
    let found = state.query_ledger(move |ledger| ledger.ticket_by_token(&token)).await?;
    found.ok_or_else(|| state.reject_wrong_link())
}

fn describe_ticket(ticket: &Ticket, link: &CallbackLink) -> CallbackResponse {
    let now = now_ms();
    match (&ticket.answer, ticket.state_at(now)) {
        (Some(answer), _) => {
            let body = json!({ "status": "answered", "action": answer.action });
            CallbackResponse::new(
                StatusCode::OK,
                body,
                page::answered_page(ticket, answer, None, now),
            )
        }
        (None, TicketState::Open) => {
            let page = page::question_page(ticket, &link.token, link.action.as_deref(), now);
            CallbackResponse::new(StatusCode::OK, json!({ "status": "open" }), page)
        }
        (None, _) => CallbackResponse::question_expired(ticket),
    }
}

async fn answer_by_link(
    state: &AppState,
    link: &CallbackLink,
    body: Body,
) -> Result<CallbackResponse, CallbackResponse> {
    let body = read_body(body).await?;
    let ticket = find_ticket(state, link).await?;
    answer_ticket(state, ticket, &body, link.action.as_deref(), ANSWERED_BY).await
}

/// Passes an answer to the ledger, which knows whether it is the first. A closed question says so,
/// even for an invalid answer.
pub(crate) async fn answer_ticket(
    state: &AppState,
    ticket: Ticket,
    body: &[u8],
    link_action: Option<&str>,
    by: &str,
) -> Result<CallbackResponse, CallbackResponse> {
    if let Some(before) = ticket.answer.clone() {
        return Ok(CallbackResponse::from_result(AnswerResult::AlreadyAnswered(before), &ticket));
    }
    if ticket.state_at(now_ms()) != TicketState::Open {
        return Ok(CallbackResponse::question_expired(&ticket));
    }

    let answer = answer_body::parse_answer(body, link_action, by)?;
    let id = ticket.id.clone();
    let result = state.query_ledger(move |ledger| ledger.answer_ticket(&id, &answer)).await?;
    state.clear_cache().await;
    Ok(CallbackResponse::from_result(result, &ticket))
}
