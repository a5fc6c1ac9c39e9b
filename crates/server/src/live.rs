//! The list as it changes, for pages that stay open. The ledger is read only while somebody looks.

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

use crate::approvals::closed;
use crate::reply::{Reader, Reply};
use crate::room::{Room, now};
use crate::{access, page};

const LOOK: Duration = Duration::from_millis(300);
const ALIVE: Duration = Duration::from_secs(15);

/// One event now, and one at every change.
pub(crate) async fn events(State(room): State<Arc<Room>>, headers: HeaderMap) -> Response {
    if !access::is_known(&room, &headers) {
        return closed(&room).to(Reader::of(&headers));
    }
    let Ok(slot) = Arc::clone(&room.followers).try_acquire_owned() else {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let reply = Reply::refused(status, "Too many pages follow the list.", "Close some.");
        return reply.to(Reader::of(&headers));
    };
    let follower = Follower { room, seen: None, _seat: slot };
    let changes = stream::unfold(follower, async |mut follower| {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Sse::new(changes).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
}

struct Follower {
    room: Arc<Room>,
    seen: Option<Vec<(String, TicketState)>>,
    _seat: OwnedSemaphorePermit,
}

impl Follower {
    /// The next change; nothing when the listener ends.
    async fn next(&mut self) -> Option<Event> {
        let mut stopped = self.room.stopped.clone();
        loop {
            if self.seen.is_some() {
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    _ = stopped.wait_for(|stop| *stop) => return None,
                }
            }
            // A ledger that cannot be read just now has not changed.
            let Ok(tickets) = self.room.tickets().await else {
                self.seen.get_or_insert_default();
                continue;
            };
            let state = state(&tickets, now());
            if self.seen.as_ref() != Some(&state) {
                self.seen = Some(state);
                return Some(told(&tickets));
            }
        }
    }
}

fn state(tickets: &[Ticket], now: u64) -> Vec<(String, TicketState)> {
    tickets.iter().map(|ticket| (ticket.id.clone(), ticket.state_at(now))).collect()
}

fn told(tickets: &[Ticket]) -> Event {
    let now = now();
    let open = tickets.iter().filter(|ticket| ticket.state_at(now) == TicketState::Open).count();
    let html = page::entries(tickets, now).into_string();
    Event::default().event("list").data(json!({ "open": open, "html": html }).to_string())
}
