//! Waiting for descriptors.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// A descriptor that is waited for until it can be read.
pub fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    }
}

/// Waits until one of the descriptors is ready, or so long; one below zero is passed over. Comes back early on a signal.
pub fn for_any(polls: &mut [libc::pollfd], wait: Duration) -> io::Result<()> {
    let timeout = libc::timespec {
        tv_sec: wait.as_secs().min(1 << 30) as libc::time_t,
        tv_nsec: wait.subsec_nanos().into(),
    };
    let count = polls.len() as libc::nfds_t;
    // SAFETY: so many valid entries, and a valid timeout.
    if unsafe { libc::ppoll(polls.as_mut_ptr(), count, &timeout, std::ptr::null()) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

/// Waits until the descriptor is ready for one of `events`, or so long. Comes back early on a signal.
pub fn for_event(fd: RawFd, events: i16, wait: Duration) -> io::Result<()> {
    let poll = libc::pollfd {
        events,
        ..readable(fd)
    };
    for_any(&mut [poll], wait)
}
