//! One question and its link: looking at it shows it, posting to it answers it. Previews, scanners
//! and prefetching only ever look.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use gambrel_model::ticket::{AnswerResult, Ticket, TicketState};
use serde_json::json;

use crate::reply::{Reader, Reply};
use crate::room::{Room, now};
use crate::{page, pairs, posted};

const BODY_BYTES: usize = 64 << 10;
const BODY_TIME: Duration = Duration::from_secs(10);
const BY: &str = "bearer of the link";

/// The page of a question.
pub(crate) async fn show(State(room): State<Arc<Room>>, uri: Uri) -> Response {
    let link = Link::new(&uri);
    let shown = find(&room, &link).await.map(|ticket| question(&ticket, &link));
    shown.unwrap_or_else(|reply| reply).to(Reader::Person)
}

/// The answer to a question.
pub(crate) async fn act(
    State(room): State<Arc<Room>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let link = Link::new(&uri);
    let reply = answered(&room, &link, body).await.unwrap_or_else(|reply| reply);
    reply.to(Reader::of(&headers))
}

/// The whole of a body that is not too long and does not take too long.
pub(crate) async fn whole(body: Body) -> Result<Bytes, Reply> {
    let read = tokio::time::timeout(BODY_TIME, to_bytes(body, BODY_BYTES)).await;
    let late = |_| Reply::refused(StatusCode::REQUEST_TIMEOUT, "The answer took too long.", "");
    let help = "Say it in fewer words: 64 KiB at most.";
    let large = |_| Reply::refused(StatusCode::PAYLOAD_TOO_LARGE, "The answer is too long.", help);
    read.map_err(late)?.map_err(large)
}

/// What a link says.
struct Link {
    token: String,
    action: Option<String>,
}

impl Link {
    /// A token needs no decoding; one that looks as if it did is as wrong as any other.
    fn new(uri: &Uri) -> Self {
        let pairs = pairs::of_query(uri.query().unwrap_or_default());
        let named = |name| pairs::value(&pairs, name).map(str::to_owned);
        let token = uri.path().strip_prefix("/callback/").map(str::to_owned);
        let token = token.or_else(|| named("token")).unwrap_or_default();
        Self { token, action: named("action") }
    }
}

async fn find(room: &Room, link: &Link) -> Result<Ticket, Reply> {
    let token = link.token.clone();
    let found = room.ask(move |ledger| ledger.ticket_by_token(&token)).await?;
    found.ok_or_else(|| room.wrong())
}

fn question(ticket: &Ticket, link: &Link) -> Reply {
    let now = now();
    match (&ticket.answer, ticket.state_at(now)) {
        (Some(answer), _) => {
            let said = json!({ "status": "answered", "action": answer.action });
            Reply::new(StatusCode::OK, said, page::answered(ticket, answer, None, now))
        }
        (None, TicketState::Open) => {
            let page = page::question(ticket, &link.token, link.action.as_deref(), now);
            Reply::new(StatusCode::OK, json!({ "status": "open" }), page)
        }
        (None, _) => Reply::expired(ticket),
    }
}

async fn answered(room: &Room, link: &Link, body: Body) -> Result<Reply, Reply> {
    let body = whole(body).await?;
    let ticket = find(room, link).await?;
    settle(room, ticket, &body, link.action.as_deref(), BY).await
}

/// Brings an answer to the ledger, which knows whether it is the first. A question that is over
/// says so, whatever is wrong with the answer.
pub(crate) async fn settle(
    room: &Room,
    ticket: Ticket,
    body: &[u8],
    asked: Option<&str>,
    by: &str,
) -> Result<Reply, Reply> {
    if let Some(before) = ticket.answer.clone() {
        return Ok(Reply::taken(AnswerResult::AlreadyAnswered(before), &ticket));
    }
    if ticket.state_at(now()) != TicketState::Open {
        return Ok(Reply::expired(&ticket));
    }
    let answer = posted::answer(body, asked, by)?;
    let id = ticket.id.clone();
    let taken = room.ask(move |ledger| ledger.answer_ticket(&id, &answer)).await?;
    room.changed().await;
    Ok(Reply::taken(taken, &ticket))
}
