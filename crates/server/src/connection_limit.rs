//! The places for connections. When all are taken, the one that has kept us waiting longest goes:
//! somebody who sends a byte a second must not keep a person's browser out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// A request that is this old may be ended too when all places are taken: its body comes slowly.
const SLOW_REQUEST_TIMEOUT: Duration = Duration::from_millis(500);

/// All connections of one listener.
pub(crate) struct ConnectionLimit {
    most: usize,
    taken: Mutex<Vec<Arc<ConnectionSlot>>>,
    left: Notify,
}

/// One connection: since when it is waited for, and whether its request is being answered.
pub(crate) struct ConnectionSlot {
    state: Mutex<ConnectionState>,
    /// Ended already; its place is free once its task is gone.
    ended: AtomicBool,
}

struct ConnectionState {
    since: Instant,
    answering: bool,
    /// A page that follows the list stays as long as it likes.
    follows: bool,
    task: Option<AbortHandle>,
}

impl ConnectionLimit {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default(), left: Notify::new() })
    }

    /// A place, at the cost of whoever is slowest. Waits only while every place is at work.
    pub(crate) async fn take(self: &Arc<Self>) -> ConnectionSlotGuard {
        loop {
            let left = self.left.notified();
            if let Some(slot) = self.try_take() {
                return ConnectionSlotGuard { limit: Arc::clone(self), slot };
            }
            tokio::select! {
                () = left => {}
                () = tokio::time::sleep(SLOW_REQUEST_TIMEOUT / 4) => {}
            }
        }
    }

    fn try_take(&self) -> Option<Arc<ConnectionSlot>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.len() >= self.most {
            let slowest = taken.iter().filter_map(|slot| Some((slot.wait_used()?, slot)));
            if let Some((_, slot)) = slowest.max_by_key(|(spent, _)| *spent) {
                slot.end();
            }
            return None;
        }
        let slot = Arc::new(ConnectionSlot::new());
        taken.push(Arc::clone(&slot));
        Some(slot)
    }
}

/// Gives the place back when the connection is gone, however it went.
pub(crate) struct ConnectionSlotGuard {
    limit: Arc<ConnectionLimit>,
    slot: Arc<ConnectionSlot>,
}

impl ConnectionSlotGuard {
    pub(crate) fn slot(&self) -> Arc<ConnectionSlot> {
        Arc::clone(&self.slot)
    }
}

impl Drop for ConnectionSlotGuard {
    fn drop(&mut self) {
        let mut taken = self.limit.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
        drop(taken);
        self.limit.left.notify_waiters();
    }
}

impl ConnectionSlot {
    fn new() -> Self {
        let (since, answering, follows) = (Instant::now(), false, false);
        let state = ConnectionState { since, answering, follows, task: None };
        Self { state: Mutex::new(state), ended: AtomicBool::new(false) }
    }

    /// The task that serves it.
    pub(crate) fn served_by(&self, task: AbortHandle) {
        self.change(|state| state.task = Some(task));
    }

    /// The head of a request has come.
    pub(crate) fn begin(&self) {
        self.change(|state| (state.since, state.answering) = (Instant::now(), true));
    }

    /// The answer is ready: the next request is waited for, unless this one goes on.
    pub(crate) fn finish(&self, follows: bool) {
        self.change(|state| {
            (state.since, state.answering, state.follows) = (Instant::now(), false, follows);
        });
    }

    /// How long it has kept us waiting; nothing for one that may not be ended.
    fn wait_used(&self) -> Option<Duration> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = state.since.elapsed();
        let busy = state.answering && spent < SLOW_REQUEST_TIMEOUT;
        let ended = self.ended.load(Ordering::Relaxed);
        (!busy && !state.follows && !ended && state.task.is_some()).then_some(spent)
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.change(|state| {
            if let Some(task) = &state.task {
                task.abort();
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut ConnectionState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
