//! The page of one run, and its updates, for a browser that has shown the key.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use gambrel_model::RunTimeline;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use crate::approvals::list_closed;
use crate::response::{CallbackResponse, ResponseFormat};
use crate::sse::{KEEP_ALIVE_INTERVAL, too_many_followers};
use crate::state::{AppState, now_ms};
use crate::{auth, page};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A page that shows a running agent counts its time.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);

/// Shows a run.
pub(crate) async fn show_run(
    State(state): State<Arc<AppState>>,
    Path(session): Path<String>,
    headers: HeaderMap,
) -> Response {
    if !auth::has_cookie(&state, &headers) {
        return list_closed(&state).into_response_as(ResponseFormat::Html);
    }
    let reply = match read_run(&state, &session).await {
        Some(timeline) => {
            let page = page::run_page(&timeline, now_ms());
            CallbackResponse::new(StatusCode::OK, json!({ "status": "run" }), page)
        }
        None => unknown_run(),
    };
    reply.into_response_as(ResponseFormat::Html)
}

/// Sends the picture of a run at every change.
pub(crate) async fn follow_run(
    State(state): State<Arc<AppState>>,
    Path(session): Path<String>,
    headers: HeaderMap,
) -> Response {
    let format = ResponseFormat::from_headers(&headers);
    if !auth::has_cookie(&state, &headers) {
        return list_closed(&state).into_response_as(format);
    }
    let Ok(slot) = Arc::clone(&state.followers).try_acquire_owned() else {
        return too_many_followers().into_response_as(format);
    };
    let follower =
        RunFollower { state, session, seen: None, unchanged: Duration::ZERO, _slot: slot };
    let changes = stream::unfold(follower, async |mut follower| {
        let event = follower.next_event().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Sse::new(changes).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response()
}

struct RunFollower {
    state: Arc<AppState>,
    session: String,
    /// The revision and the status that were sent.
    seen: Option<(u64, String)>,
    unchanged: Duration,
    _slot: OwnedSemaphorePermit,
}

impl RunFollower {
    /// The next change; `None` when the listener ends.
    async fn next_event(&mut self) -> Option<Event> {
        let mut stopped = self.state.stopped.clone();
        loop {
            if self.seen.is_some() {
                tokio::select! {
                    () = tokio::time::sleep(POLL_INTERVAL) => self.unchanged += POLL_INTERVAL,
                    _ = stopped.wait_for(|stop| *stop) => return None,
                }
            }
            // A run that cannot be read now counts as unchanged.
            let Some(timeline) = read_run(&self.state, &self.session).await else {
                self.seen.get_or_insert_default();
                continue;
            };
            let version = (timeline.summary.revision, timeline.summary.status.clone());
            let is_due = version.1 == "running" && self.unchanged >= REFRESH_INTERVAL;
            if self.seen.as_ref() != Some(&version) || is_due {
                self.seen = Some(version);
                self.unchanged = Duration::ZERO;
                let html = page::run_entries(&timeline, now_ms()).into_string();
                return Some(
                    Event::default().event("run").data(json!({ "html": html }).to_string()),
                );
            }
        }
    }
}

async fn read_run(state: &AppState, session: &str) -> Option<RunTimeline> {
    let read = Arc::clone(&state.config.activity.as_ref()?.read_run);
    let session = session.to_owned();
    tokio::task::spawn_blocking(move || read(&session)).await.ok().flatten()
}

fn unknown_run() -> CallbackResponse {
    let why = "No such run is in this project.";
    let help =
        "See `gambrel runs`; `gambrel serve` shows the runs of the folder it was started in.";
    let json = json!({ "status": "unknown", "error": why, "help": help });
    CallbackResponse::new(StatusCode::NOT_FOUND, json, page::notice_page("No such run", why, help))
}
