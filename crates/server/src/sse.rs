//! Server-sent events: sends the list to open pages whenever it changes. The ledger is read only
//! while a page is open.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use gambrel_model::ticket::{Ticket, TicketState};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use crate::approvals::list_closed;
use crate::response::{CallbackResponse, ResponseFormat};
use crate::state::{AppState, now_ms};
use crate::{auth, page};

const POLL_INTERVAL: Duration = Duration::from_millis(300);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Sends one event now, and one at every change.
pub(crate) async fn follow_list(
    State(state): State<Arc<AppState>>,
    headers: HeaderMap,
) -> Response {
    if !auth::has_cookie(&state, &headers) {
        return list_closed(&state).into_response_as(ResponseFormat::from_headers(&headers));
    }
    let Ok(slot) = Arc::clone(&state.followers).try_acquire_owned() else {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let reply =
            CallbackResponse::refusal(status, "Too many pages follow the list.", "Close some.");
        return reply.into_response_as(ResponseFormat::from_headers(&headers));
    };
    let follower = Follower { state, seen: None, _permit: slot };
    let changes = stream::unfold(follower, async |mut follower| {
        let event = follower.next_event().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Sse::new(changes).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response()
}

struct Follower {
    state: Arc<AppState>,
    seen: Option<Vec<(String, TicketState)>>,
    _permit: OwnedSemaphorePermit,
}

impl Follower {
    /// The next change; `None` when the listener ends.
    async fn next_event(&mut self) -> Option<Event> {
        let mut stopped = self.state.stopped.clone();
        loop {
            if self.seen.is_some() {
                tokio::select! {
                    () = tokio::time::sleep(POLL_INTERVAL) => {}
                    _ = stopped.wait_for(|stop| *stop) => return None,
                }
            }
            // A ledger that cannot be read now counts as unchanged.
            let Ok(tickets) = self.state.tickets().await else {
                self.seen.get_or_insert_default();
                continue;
            };
            let states = ticket_states(&tickets, now_ms());
            if self.seen.as_ref() != Some(&states) {
                self.seen = Some(states);
                return Some(sse_event(&tickets));
            }
        }
    }
}

fn ticket_states(tickets: &[Ticket], now: u64) -> Vec<(String, TicketState)> {
    tickets.iter().map(|ticket| (ticket.id.clone(), ticket.state_at(now))).collect()
}

fn sse_event(tickets: &[Ticket]) -> Event {
    let now = now_ms();
    let open = tickets.iter().filter(|ticket| ticket.state_at(now) == TicketState::Open).count();
    let html = page::list_entries(tickets, now).into_string();
    Event::default().event("list").data(json!({ "open": open, "html": html }).to_string())
}
