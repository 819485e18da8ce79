//! Starting threads, of which a user, a control group or the machine may have no more; and locks between them.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Starts a thread.
///
/// # Errors
/// That the system has no room for one, and where to look.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(body).map_err(told)
}

/// Starts a thread of a scope.
///
/// # Errors
/// As [`spawn`].
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let builder = Builder::new().name(name.into());
    builder.spawn_scoped(scope, body).map_err(told)
}

/// Locks what is whole after every single step, so that a panic elsewhere does it no harm.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn told(error: io::Error) -> io::Error {
    let text = format!(
        "no thread can be started: {error}; the limit is that of the user (ulimit -u), of the control group (pids.max) or \
         of the memory"
    );
    io::Error::new(error.kind(), text)
}
