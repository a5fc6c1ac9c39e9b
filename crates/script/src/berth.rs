//! Where a module lies between calls. One call has it at a time; others wait, but not for ever: a
//! dialog may be open in it for hours.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::slot::Slot;

/// A place for one module.
pub struct Berth {
    place: Mutex<Place>,
    free: Condvar,
}

struct Place {
    slot: Option<Slot>,
    /// How many wait for it: waking costs a call of the system, also where nobody sleeps.
    waiting: usize,
}

impl Default for Berth {
    fn default() -> Self {
        let place = Place { slot: Some(Slot::default()), waiting: 0 };
        Self { place: Mutex::new(place), free: Condvar::new() }
    }
}

impl Berth {
    /// Takes the module, waiting no longer than `patience` for whoever has it; also how long that
    /// was.
    pub fn take(&self, patience: Duration) -> Option<(Slot, Duration)> {
        let mut place = self.place();
        if let Some(slot) = place.slot.take() {
            return Some((slot, Duration::ZERO));
        }
        let began = Instant::now();
        while let Some(left) = patience.checked_sub(began.elapsed()) {
            place.waiting += 1;
            place = self.free.wait_timeout(place, left).unwrap_or_else(PoisonError::into_inner).0;
            place.waiting -= 1;
            if let Some(slot) = place.slot.take() {
                return Some((slot, began.elapsed()));
            }
        }
        None
    }

    /// Gives it back.
    pub fn give(&self, slot: Slot) {
        let mut place = self.place();
        place.slot = Some(slot);
        if place.waiting > 0 {
            self.free.notify_one();
        }
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
