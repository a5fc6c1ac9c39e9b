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

use crate::activity::Activity;
use crate::approvals::list_closed;
use crate::response::{CallbackResponse, ResponseFormat};
use crate::state::{AppState, now_ms};
use crate::{auth, page};

const POLL_INTERVAL: Duration = Duration::from_millis(300);
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Sends one event now, and one at every change.
pub(crate) async fn follow_list(
    State(state): State<Arc<AppState>>,
    headers: HeaderMap,
) -> Response {
    if !auth::has_cookie(&state, &headers) {
        return list_closed(&state).into_response_as(ResponseFormat::from_headers(&headers));
    }
    let Ok(slot) = Arc::clone(&state.followers).try_acquire_owned() else {
        return too_many_followers().into_response_as(ResponseFormat::from_headers(&headers));
    };
    let follower = Follower { state, seen: None, _permit: slot };
    let changes = stream::unfold(follower, async |mut follower| {
        let event = follower.next_event().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Sse::new(changes).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response()
}

/// The response to one page too many.
pub(crate) fn too_many_followers() -> CallbackResponse {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    CallbackResponse::refusal(status, "Too many pages follow the list.", "Close some.")
}

/// What was sent last: the states of tickets, and the version of runs and firings.
type SeenState = (Vec<(String, TicketState)>, Vec<(String, u64)>);

struct Follower {
    state: Arc<AppState>,
    seen: Option<SeenState>,
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
            let activity = self.state.activity().await;
            let version = activity.as_ref().map(|activity| activity.version()).unwrap_or_default();
            let states = (ticket_states(&tickets, now_ms()), version);
            if self.seen.as_ref() != Some(&states) {
                self.seen = Some(states);
                return Some(sse_event(&tickets, activity.as_deref()));
            }
        }
    }
}

fn ticket_states(tickets: &[Ticket], now: u64) -> Vec<(String, TicketState)> {
    tickets.iter().map(|ticket| (ticket.id.clone(), ticket.state_at(now))).collect()
}

fn sse_event(tickets: &[Ticket], activity: Option<&Activity>) -> Event {
    let now = now_ms();
    let open = tickets.iter().filter(|ticket| ticket.state_at(now) == TicketState::Open).count();
    let html = page::list_entries(tickets, activity, now).into_string();
    Event::default().event("list").data(json!({ "open": open, "html": html }).to_string())
}
