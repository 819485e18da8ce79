//! Why a packet passes a pipeline, and why it goes no further.

use core::fmt;

/// What makes a packet pass through ingress or egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It came in.
    Arrival,
    /// It begins anew as it came.
    Resubmit,
    /// It begins anew as it would have left.
    Recirculate,
    /// It comes back in the other direction of a NIC.
    Loopback,
    /// It is to leave by a port; the number tells copies apart.
    Egress(u32, u32),
}

/// Why a packet, or a copy of one, went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drop {
    /// The program said so in ingress.
    Ingress,
    /// The program said so in egress.
    Egress,
    /// The program said so, in an architecture with one block.
    Program,
    /// The program named no port.
    NoPort,
    /// Its multicast group has no ports.
    NoGroup,
    /// `assert(false)`
    Assert,
    /// `assume(false)`
    Assume,
    /// It went round in the parser or a loop for too long.
    Steps,
    /// It, or its copies, passed too often.
    Passes,
}

impl Drop {
    /// As a short noun phrase.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Drop::Ingress => "dropped in ingress",
            Drop::Egress => "dropped in egress",
            Drop::Program => "dropped by the program",
            Drop::NoPort => "no egress port",
            Drop::NoGroup => "multicast group without ports",
            Drop::Assert => "assertion failed",
            Drop::Assume => "assumption failed",
            Drop::Steps => "too many steps",
            Drop::Passes => "too many passes",
        }
    }
}

impl fmt::Display for Drop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}
