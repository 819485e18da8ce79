//! Waiting for a descriptor.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// Waits until the descriptor is ready for one of `events`, or so long. Comes back early on a signal.
pub fn for_event(fd: RawFd, events: i16, wait: Duration) -> io::Result<()> {
    let mut poll = libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    let timeout = libc::timespec {
        tv_sec: wait.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: wait.subsec_nanos().into(),
    };
    // SAFETY: one valid pollfd, and a valid timeout.
    if unsafe { libc::ppoll(&mut poll, 1, &timeout, std::ptr::null()) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}
