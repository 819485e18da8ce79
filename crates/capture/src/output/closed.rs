//! Whether the process was started with its standard output closed, as `>&-` does.
//!
//! The standard library opens `/dev/null` in place of a closed standard stream before `main`, so that
//! output would be lost silently. This code runs earlier and records the closed stream.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs when the program has been loaded.
#[used]
// SAFETY: the section holds pointers to functions of this type, which libc calls before `main`; this one needs nothing of the
// standard library.
#[unsafe(link_section = ".init_array")]
static CHECK_AT_LOAD: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: a plain system call that changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags < 0, Ordering::Relaxed);
}

/// Whether standard output was closed when the process began.
#[must_use]
pub fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}
