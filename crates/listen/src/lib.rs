//! Connection limits and timeouts of all listeners.
//!
//! | listener | connections | unidentified | per address | identification timeout | idle timeout |
//! |---|---|---|---|---|---|
//! | [`OPENFLOW`]: `ptcp:`, `pssl:`, `punix:` | 4096 | 1024 | 1024 | 10 s | none: OpenFlow's echo requests detect it |
//! | [`P4RUNTIME`] | 256 | 64 | 64 | 10 s | 75 s; an HTTP/2 ping every 30 s |
//! | [`REST`] | 64 | 16 | 32 | 10 s | 60 s; 10 s for a request's head and 30 s for its body |
//! | [`CONTROL`]: the socket of `--control` | 64 | | | | none |
//! | [`COUNTS`]: the socket of a relay | 1 | | | | 1 s |
//!
//! A connection beyond a limit is closed at once, and so is one that would use one of the last
//! [`SPARE`] file descriptors: these are reserved for ports that reopen and for output files. The
//! last place is reserved for loopback. [`Gate`] defines when a connection is identified and which
//! one is evicted. After accept(2) fails for lack of descriptors or memory, the listener pauses for
//! [`PAUSE`]. A [`Gate`] counts all of this.
#![forbid(unsafe_code)]

mod gate;
#[cfg(feature = "http")]
pub mod http;
pub mod unix;

pub use gate::{Busy, Counts, Gate, Permit, Visitor, spare_after};

use node::budget;
use std::io;
use std::time::Duration;

/// Pause of a listener after accept(2) failed.
pub const PAUSE: Duration = Duration::from_millis(100);
/// File descriptors reserved for other uses than connections, or a quarter of the process's limit if
/// that is less.
pub const SPARE: u64 = 32;

/// Limits of one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of unidentified connections.
    pub unidentified: usize,
    /// Maximum per IPv4 address or IPv6 /64; loopback has no such limit.
    pub per_address: usize,
    /// Time within which a peer must identify itself, including the TLS handshake.
    pub opening: Duration,
    /// Time without traffic after which an identified connection is closed.
    pub idle: Duration,
}

/// No timeout in practice.
const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

/// Switches and controllers.
pub const OPENFLOW: Limits = Limits {
    connections: 4096,
    unidentified: 1024,
    per_address: 1024,
    opening: Duration::from_secs(10),
    idle: NO_LIMIT,
};
/// Controllers that speak P4Runtime.
pub const P4RUNTIME: Limits = Limits {
    connections: 256,
    unidentified: 64,
    per_address: 64,
    opening: Duration::from_secs(10),
    idle: Duration::from_secs(75),
};
/// Who asks a controller.
pub const REST: Limits = Limits {
    connections: 64,
    unidentified: 16,
    per_address: 32,
    opening: Duration::from_secs(10),
    idle: Duration::from_secs(60),
};
/// Memory of P4Runtime's requests, decoded, and of answers that wait. A batch of 100,000 entries takes some 200 MiB.
pub const P4RUNTIME_MEMORY: budget::Limits = budget::Limits {
    each: 256 << 20,
    reserved: 1 << 20,
    all: 1 << 30,
};
/// Memory of REST's requests.
pub const REST_MEMORY: budget::Limits = budget::Limits {
    each: 1 << 20,
    reserved: 512 << 10,
    all: 16 << 20,
};
/// Who controls a pipeline that runs.
pub const CONTROL: Limits = Limits {
    connections: 64,
    unidentified: 64,
    per_address: 64,
    opening: NO_LIMIT,
    idle: NO_LIMIT,
};
/// Who asks a relay for its counts.
pub const COUNTS: Limits = Limits {
    connections: 1,
    unidentified: 1,
    per_address: 1,
    opening: Duration::from_secs(1),
    idle: Duration::from_secs(1),
};

/// How long to wait after accepting failed; `None` when the next connection can be accepted at once, since only this one had gone.
#[must_use]
pub fn pause_after(error: &io::Error) -> Option<Duration> {
    match error.kind() {
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::Interrupted => None,
        _ => Some(PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn only_a_lack_of_the_systems_makes_it_wait() {
        let after = |errno: Errno| pause_after(&io::Error::from(errno));
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert_eq!(after(errno), Some(PAUSE), "{errno}");
        }
        assert_eq!(after(Errno::CONNABORTED), None);
        assert_eq!(after(Errno::INTR), None);
    }
}
