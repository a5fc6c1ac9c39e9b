//! Gives one call at a time access to a module. Other calls wait with a timeout, because a dialog
//! may keep a module busy for hours.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::module::CachedModule;

/// Holds one module between calls.
pub struct ModuleMutex {
    location: Mutex<ModuleLocation>,
    released: Condvar,
}

struct ModuleLocation {
    module: Option<CachedModule>,
    /// Number of waiting calls. Notifying costs a system call even if none waits.
    waiting: usize,
}

impl Default for ModuleMutex {
    fn default() -> Self {
        let location = ModuleLocation { module: Some(CachedModule::default()), waiting: 0 };
        Self { location: Mutex::new(location), released: Condvar::new() }
    }
}

impl ModuleMutex {
    /// Takes the module, waiting at most `timeout` for another call. Also returns the time waited.
    pub fn acquire(&self, timeout: Duration) -> Option<(CachedModule, Duration)> {
        let mut location = self.lock_location();
        if let Some(module) = location.module.take() {
            return Some((module, Duration::ZERO));
        }

        let began = Instant::now();
        while let Some(left) = timeout.checked_sub(began.elapsed()) {
            location.waiting += 1;
            location = self
                .released
                .wait_timeout(location, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            location.waiting -= 1;
            if let Some(module) = location.module.take() {
                return Some((module, began.elapsed()));
            }
        }
        None
    }

    /// Returns the module.
    pub fn release(&self, module: CachedModule) {
        let mut location = self.lock_location();
        location.module = Some(module);

        if location.waiting > 0 {
            self.released.notify_one();
        }
    }

    fn lock_location(&self) -> MutexGuard<'_, ModuleLocation> {
        self.location.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
