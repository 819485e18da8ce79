//! The test payload by which a meter knows a generator's frames.
//!
//! 18 bytes, big-endian, at the start of a UDP payload - so that a probe over IPv4 fits into the
//! shortest Ethernet frame, 60 bytes and the FCS:
//!
//! | bytes | field |
//! |---|---|
//! | 0-1 | magic `0x5750` |
//! | 2-3 | stream: which generator |
//! | 4-9 | sequence in the stream, from 0 |
//! | 10-17 | departure: when the first bit was asked to leave, picoseconds of the run |
//!
//! The departure is the scheduled one: a frame that had to wait for its port shows the wait as delay.
//! It is the scheduled departure that paper 000 section 6.3.1 measures arrivals against.

use node::Time;
use packet::ip::upper_layer;
use packet::ipv4::protocol;

/// Bytes of a probe.
pub const LEN: usize = 18;
/// What a probe begins with.
pub const MAGIC: u16 = 0x5750;
/// The highest sequence; the next one is 0 again.
pub const LAST_SEQUENCE: u64 = (1 << 48) - 1;

/// A test payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which generator sent it.
    pub stream: u16,
    /// Its place in the stream, up to [`LAST_SEQUENCE`].
    pub sequence: u64,
    /// When its first bit was asked to leave.
    pub departure: Time,
}

impl Probe {
    /// Writes the payload; bits of the sequence above 48 are cut off.
    pub fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..2].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[2..4].copy_from_slice(&self.stream.to_be_bytes());
        bytes[4..10].copy_from_slice(&self.sequence.to_be_bytes()[2..]);
        bytes[10..].copy_from_slice(&self.departure.as_ps().to_be_bytes());
        bytes
    }

    /// Reads the payload; `None` when it is too short or does not begin with [`MAGIC`].
    pub fn from_bytes(payload: &[u8]) -> Option<Probe> {
        let bytes = payload.first_chunk::<LEN>()?;
        let number = |range: core::ops::Range<usize>| {
            bytes[range]
                .iter()
                .fold(0, |number: u64, &byte| number << 8 | u64::from(byte))
        };
        (number(0..2) == u64::from(MAGIC)).then(|| Probe {
            stream: number(2..4) as u16,
            sequence: number(4..10),
            departure: Time::from_ps(number(10..18)),
        })
    }
}

/// Where the UDP payload of a frame begins: over IPv4 or IPv6, behind any VLAN tags and extension headers, not in a later
/// fragment.
pub fn offset(frame: &[u8]) -> Option<usize> {
    match upper_layer(frame)? {
        (protocol::UDP, at) => Some(at + 8),
        _ => None,
    }
}

/// The probe that a frame carries, if it does.
pub fn parse(frame: &[u8]) -> Option<Probe> {
    Probe::from_bytes(frame.get(offset(frame)?..)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_reads_back_as_it_was_written() {
        let probe = Probe {
            stream: 7,
            sequence: LAST_SEQUENCE,
            departure: Time::from_ps(67_200),
        };
        assert_eq!(Probe::from_bytes(&probe.to_bytes()), Some(probe));
        assert_eq!(Probe::from_bytes(&probe.to_bytes()[..17]), None);
        assert_eq!(Probe::from_bytes(&[0; 18]), None);
    }
}
