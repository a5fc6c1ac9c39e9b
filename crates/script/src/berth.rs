//! Where a module lies between calls. One call has it at a time; others wait, but not for ever: a
//! dialog may be open in it for hours.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::slot::Slot;

/// A place for one module.
pub struct Berth {
    slot: Mutex<Option<Slot>>,
    free: Condvar,
}

impl Default for Berth {
    fn default() -> Self {
        Self { slot: Mutex::new(Some(Slot::default())), free: Condvar::new() }
    }
}

impl Berth {
    /// Takes the module, waiting no longer than `patience` for whoever has it.
    pub fn take(&self, patience: Duration) -> Option<Slot> {
        let began = Instant::now();
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(slot) = slot.take() {
                return Some(slot);
            }
            let left = patience.checked_sub(began.elapsed())?;
            slot = self.free.wait_timeout(slot, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Gives it back.
    pub fn give(&self, slot: Slot) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(slot);
        self.free.notify_one();
    }
}
