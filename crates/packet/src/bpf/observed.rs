//! Metadata of a packet that filters read.

/// A packet as it was observed: its bytes, of its link type, and what else is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed<'a> {
    /// The packet from its link-layer header on, as far as it was captured.
    pub bytes: &'a [u8],
    /// Its length on the wire in bytes, which `len`, `less` and `greater` ask for.
    pub length: u32,
    /// The kernel's packet type: one of the constants here. `None` where the direction is not
    /// known.
    pub packet_type: Option<u8>,
    /// The number of the interface in its system, if that is known.
    pub interface: Option<u32>,
}

impl<'a> Observed<'a> {
    /// `PACKET_HOST`: received, for this host.
    pub const RECEIVED: u8 = 0;
    /// `PACKET_OUTGOING`: sent by this host.
    pub const SENT: u8 = 4;

    /// A packet that is there from end to end, and of which nothing else is known.
    pub fn whole(bytes: &'a [u8]) -> Observed<'a> {
        Observed {
            bytes,
            length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            packet_type: None,
            interface: None,
        }
    }
}
