//! Locks that outlive a panic: what they guard is valid after every step.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic of another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
