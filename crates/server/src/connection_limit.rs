//! Limits the number of connections. When all slots are taken, the connection that waited longest
//! for its client is closed, so that slow clients cannot keep a browser out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// A request of this age may be closed too when all slots are taken: its body comes slowly.
const SLOW_REQUEST_TIMEOUT: Duration = Duration::from_millis(500);

/// All connections of one listener.
pub(crate) struct ConnectionLimit {
    max_slots: usize,
    slots: Mutex<Vec<Arc<ConnectionSlot>>>,
    slot_freed: Notify,
}

/// One connection: since when it waits for its client, and whether a request is being answered.
pub(crate) struct ConnectionSlot {
    state: Mutex<ConnectionState>,
    /// Already closed; its slot is free once its task has ended.
    ended: AtomicBool,
}

struct ConnectionState {
    since: Instant,
    answering: bool,
    /// A page that follows the list may stay open.
    follows: bool,
    task: Option<AbortHandle>,
}

impl ConnectionLimit {
    pub(crate) fn new(max_slots: usize) -> Arc<Self> {
        Arc::new(Self { max_slots, slots: Mutex::default(), slot_freed: Notify::new() })
    }

    /// Takes a slot, and closes the slowest connection if needed. Waits only while every slot is
    /// busy.
    pub(crate) async fn take_slot(self: &Arc<Self>) -> ConnectionSlotGuard {
        loop {
            let slot_freed = self.slot_freed.notified();
            if let Some(slot) = self.try_take_slot() {
                return ConnectionSlotGuard { limit: Arc::clone(self), slot };
            }
            tokio::select! {
                () = slot_freed => {}
                () = tokio::time::sleep(SLOW_REQUEST_TIMEOUT / 4) => {}
            }
        }
    }

    fn try_take_slot(&self) -> Option<Arc<ConnectionSlot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= self.max_slots {
            let slowest = slots.iter().filter_map(|slot| Some((slot.wait_duration()?, slot)));
            if let Some((_, slot)) = slowest.max_by_key(|(spent, _)| *spent) {
                slot.close();
            }
            return None;
        }
        let slot = Arc::new(ConnectionSlot::new());
        slots.push(Arc::clone(&slot));
        Some(slot)
    }
}

/// Returns the slot when the connection is gone.
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
        let mut slots = self.limit.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
        drop(slots);
        self.limit.slot_freed.notify_waiters();
    }
}

impl ConnectionSlot {
    fn new() -> Self {
        let (since, answering, follows) = (Instant::now(), false, false);
        let state = ConnectionState { since, answering, follows, task: None };
        Self { state: Mutex::new(state), ended: AtomicBool::new(false) }
    }

    /// Sets the task that serves it.
    pub(crate) fn set_task(&self, task: AbortHandle) {
        self.update_state(|state| state.task = Some(task));
    }

    /// Records that the head of a request has arrived.
    pub(crate) fn begin_request(&self) {
        self.update_state(|state| (state.since, state.answering) = (Instant::now(), true));
    }

    /// Records that the response is ready: the connection waits for the next request, unless this
    /// one is a stream.
    pub(crate) fn finish_request(&self, follows: bool) {
        self.update_state(|state| {
            (state.since, state.answering, state.follows) = (Instant::now(), false, follows);
        });
    }

    /// How long it has waited for its client; `None` if it may not be closed.
    fn wait_duration(&self) -> Option<Duration> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = state.since.elapsed();
        let busy = state.answering && spent < SLOW_REQUEST_TIMEOUT;
        let ended = self.ended.load(Ordering::Relaxed);
        (!busy && !state.follows && !ended && state.task.is_some()).then_some(spent)
    }

    fn close(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.update_state(|state| {
            if let Some(task) = &state.task {
                task.abort();
            }
        });
    }

    fn update_state(&self, change: impl FnOnce(&mut ConnectionState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
