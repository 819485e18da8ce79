//! Who may connect to this process, how many at a time, and for how long: one policy for all that listens.
//!
//! | listener | connections | strangers | of an address | until it has said who it is | silence before the end |
//! |---|---|---|---|---|---|
//! | [`OPENFLOW`]: `ptcp:`, `pssl:`, `punix:` | 4096 | 1024 | 1024 | 10 s | OpenFlow's echo requests tell |
//! | [`P4RUNTIME`] | 256 | 64 | 64 | 10 s | 75 s; an HTTP/2 ping every 30 s keeps who is there |
//! | [`REST`] | 64 | 16 | 32 | 10 s | 60 s; a request is whole in 10 s (head) and 30 s (body) |
//! | [`CONTROL`]: the socket of `--control` | 64 | | | | none: a terminal may rest for an hour |
//! | [`COUNTS`]: the socket of a relay | 1 | | | | 1 s for the answer |
//!
//! A connection that would be one too many, or take one of the last [`SPARE`] descriptors that the process may have, is closed at
//! once: these are for ports that open again and files that are written. The last place is for this machine. How connections are
//! told apart, and which one gives way to another, is in [`Gate`]. Where accepting fails, since there are no descriptors or no memory,
//! nothing is accepted for [`PAUSE`]. A [`Gate`] counts all of it.
#![forbid(unsafe_code)]

mod gate;
#[cfg(feature = "http")]
pub mod http;
pub mod unix;

pub use gate::{Busy, Counts, Gate, Permit, Visitor, spare_after};

use node::budget;
use std::io;
use std::time::Duration;

/// How long nothing is accepted after accepting failed.
pub const PAUSE: Duration = Duration::from_millis(100);
/// So many descriptors are left for what is no connection; where the process may have few, a quarter of these.
pub const SPARE: u64 = 32;

/// What one that listens allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most connections at a time.
    pub connections: usize,
    /// The most that have not said who they are.
    pub strangers: usize,
    /// The most of an address, or of a network of IPv6 with 64 bits; this machine's own has no such limit.
    pub per_address: usize,
    /// How long a far end may take until it has said who it is, TLS included.
    pub opening: Duration,
    /// How long nothing may come or go afterwards.
    pub idle: Duration,
}

/// For ever, as far as a process goes.
const NO_LIMIT: Duration = Duration::from_secs(u32::MAX as u64);

/// Switches and controllers.
pub const OPENFLOW: Limits = Limits {
    connections: 4096,
    strangers: 1024,
    per_address: 1024,
    opening: Duration::from_secs(10),
    idle: NO_LIMIT,
};
/// Controllers that speak P4Runtime.
pub const P4RUNTIME: Limits = Limits {
    connections: 256,
    strangers: 64,
    per_address: 64,
    opening: Duration::from_secs(10),
    idle: Duration::from_secs(75),
};
/// Who asks a controller.
pub const REST: Limits = Limits {
    connections: 64,
    strangers: 16,
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
    strangers: 64,
    per_address: 64,
    opening: NO_LIMIT,
    idle: NO_LIMIT,
};
/// Who asks a relay for its counts.
pub const COUNTS: Limits = Limits {
    connections: 1,
    strangers: 1,
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
