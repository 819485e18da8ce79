//! A lock that outlives a panic.

use std::sync::{Mutex, PoisonError};

/// Locks; what a thread that panicked left behind is still a count of frames.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
