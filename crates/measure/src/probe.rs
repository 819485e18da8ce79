//! The test payload by which a meter knows a generator's frames.
//!
//! 18 bytes, big-endian, at the start of a UDP payload - so that a probe over IPv4 fits into the
//! shortest Ethernet frame, 60 bytes and the FCS:
//!
//! | bytes | field |
//! |---|---|
//! | 0-1 | magic `0x5750` |
//! | 2-3 | stream: which generator |
//! | 4-5 | checksum of the 18 bytes (RFC 1071) |
//! | 6-9 | sequence in the stream, from 0; behind 2^32 - 1 comes 0 again |
//! | 10-17 | departure: when the first bit was asked to leave, picoseconds of the run |
//!
//! Magic and checksum have 32 bits together: of random payloads one in 4,300,000,000 is taken for a probe. A probe with a
//! wrong bit is none.
//!
//! The departure is the scheduled one: a frame that had to wait for its port shows the wait as delay.
//! It is the scheduled departure that paper 000 section 6.3.1 measures arrivals against.

use node::Time;
use packet::checksum::Sum;
use packet::ip::upper_layer;
use packet::ipv4::protocol;

/// Bytes of a probe.
pub const LEN: usize = 18;
/// What a probe begins with.
pub const MAGIC: u16 = 0x5750;
/// A test payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which generator sent it.
    pub stream: u16,
    /// Its place in the stream, modulo 2^32.
    pub sequence: u32,
    /// When its first bit was asked to leave.
    pub departure: Time,
}

impl Probe {
    /// Writes the payload.
    pub fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..2].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[2..4].copy_from_slice(&self.stream.to_be_bytes());
        bytes[6..10].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[10..].copy_from_slice(&self.departure.as_ps().to_be_bytes());
        let checksum = Sum::default().plus(&bytes).checksum();
        bytes[4..6].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    /// Reads the payload; `None` when it is too short, does not begin with [`MAGIC`], or its checksum is wrong.
    pub fn from_bytes(payload: &[u8]) -> Option<Probe> {
        let bytes = payload.first_chunk::<LEN>()?;
        let [m0, m1, s0, s1, _, _, q0, q1, q2, q3, departure @ ..] = *bytes;
        let is_probe = [m0, m1] == MAGIC.to_be_bytes() && Sum::default().plus(bytes).is_valid();
        is_probe.then(|| Probe {
            stream: u16::from_be_bytes([s0, s1]),
            sequence: u32::from_be_bytes([q0, q1, q2, q3]),
            departure: Time::from_ps(u64::from_be_bytes(departure)),
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
    use node::random::Random;

    #[test]
    fn a_probe_reads_back_as_it_was_written() {
        let mut random = Random::new(1);
        for _ in 0..1_000 {
            let probe = Probe {
                stream: random.bits() as u16,
                sequence: random.bits() as u32,
                departure: Time::from_ps(random.bits()),
            };
            let bytes = probe.to_bytes();
            assert_eq!(Probe::from_bytes(&bytes), Some(probe));
            assert_eq!(Probe::from_bytes(&bytes[..17]), None);
            // A wrong bit, wherever it is, leaves no probe.
            let mut wrong = bytes;
            let bit = random.below(8 * LEN as u64) as usize;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Probe::from_bytes(&wrong), None, "bit {bit}");
        }
        assert_eq!(Probe::from_bytes(&[0; 18]), None);
    }

    #[test]
    fn the_bytes_are_those_that_are_written_down() {
        let probe = Probe {
            stream: 7,
            sequence: 0x0102_0304,
            departure: Time::from_ps(67_200),
        };
        // 0x5750 + 7 + 0x0102 + 0x0304 + 1 + 0x0680 = 0x61de.
        let bytes = b"\x57\x50\x00\x07\x9e\x21\x01\x02\x03\x04\0\0\0\0\0\x01\x06\x80";
        assert_eq!(probe.to_bytes(), *bytes);
    }

    #[test]
    fn random_payloads_are_no_probes_even_where_they_begin_as_one_does() {
        let mut random = Random::new(2);
        let mut found = 0;
        for _ in 0..200_000 {
            let mut bytes = [0; LEN];
            for chunk in bytes.chunks_mut(8) {
                chunk.copy_from_slice(&random.bits().to_be_bytes()[..chunk.len()]);
            }
            assert_eq!(Probe::from_bytes(&bytes), None);
            bytes[..2].copy_from_slice(&MAGIC.to_be_bytes());
            found += usize::from(Probe::from_bytes(&bytes).is_some());
        }
        // One in 65,535 has the right checksum by chance.
        assert!((0..=12).contains(&found), "{found}");
    }
}
