//! Probes of a [prober](super::prober) and what a [reflector](super::reflector) says of them, in UDP payloads.
//!
//! Big-endian, so short that either fits into the shortest Ethernet frame, 60 bytes and the FCS:
//!
//! | bytes | field |
//! |---|---|
//! | 0-1 | magic: `0x5754` of a probe, `0x5755` of a reply |
//! | 2-3 | checksum of the message (RFC 1071) |
//! | 4-5 | session: which prober |
//! | 6-9 | sequence: the low 32 bits of the probe's number, from 0 |
//! | 10-17 | of a reply: when the probe's first bit came, picoseconds of the reflector's clock |

use alloc::vec::Vec;
use measure::probe::offset;
use node::Time;
use packet::checksum::Sum;

const PROBE_MAGIC: u16 = 0x5754;
const REPLY_MAGIC: u16 = 0x5755;
/// Bytes of a probe.
pub const PROBE: usize = 10;
/// Bytes of a reply.
pub const REPLY: usize = 18;

/// What both say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which prober.
    pub session: u16,
    /// Which of its probes.
    pub sequence: u32,
    /// In a reply, when that came, by the reflector's clock; a probe has none.
    pub came: Option<Time>,
}

impl Message {
    /// Reads the payload of a datagram; `None` of anything else, where it is cut short, or where its
    /// checksum is wrong.
    pub fn parse(payload: &[u8]) -> Option<Message> {
        let bytes = payload.first_chunk::<PROBE>()?;
        let [high, low, _, _, a, b, c, d, e, f] = *bytes;
        let (length, came) = match u16::from_be_bytes([high, low]) {
            PROBE_MAGIC => (PROBE, None),
            REPLY_MAGIC => {
                let stamp = payload.get(PROBE..)?.first_chunk()?;
                (REPLY, Some(Time::from_ps(u64::from_be_bytes(*stamp))))
            }
            _ => return None,
        };
        if !Sum::default().plus(&payload[..length]).is_valid() {
            return None;
        }
        Some(Message {
            session: u16::from_be_bytes([a, b]),
            sequence: u32::from_be_bytes([c, d, e, f]),
            came,
        })
    }

    /// The message that a frame carries, if it does: over IPv4 or IPv6, behind any tags.
    pub fn of_frame(frame: &[u8]) -> Option<Message> {
        Message::parse(frame.get(offset(frame)?..)?)
    }

    /// Writes the payload.
    pub fn build(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let magic = match self.came {
            Some(_) => REPLY_MAGIC,
            None => PROBE_MAGIC,
        };
        out.extend_from_slice(&magic.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.session.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        if let Some(came) = self.came {
            out.extend_from_slice(&came.as_ps().to_be_bytes());
        }
        let checksum = Sum::default().plus(&out[start..]).checksum();
        out[start + 2..start + 4].copy_from_slice(&checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back_as_they_were_written_and_nothing_else_does() {
        for came in [None, Some(Time::from_us(7))] {
            let message = Message {
                session: 0x1234,
                sequence: 0xFFFF_FFFE,
                came,
            };
            let mut bytes = Vec::new();
            message.build(&mut bytes);
            let length = if came.is_some() { REPLY } else { PROBE };
            assert_eq!(bytes.len(), length);
            assert_eq!(Message::parse(&bytes), Some(message));
            assert_eq!(Message::parse(&bytes[..length - 1]), None);
            // A wrong bit anywhere, a flip of the magic to the other among them.
            for at in 0..8 * length {
                let mut wrong = bytes.clone();
                wrong[at / 8] ^= 1 << (at % 8);
                assert_eq!(Message::parse(&wrong), None, "bit {at}");
            }
            // Padding after it is none of it.
            bytes.extend([7; 30]);
            assert_eq!(Message::parse(&bytes), Some(message));
        }
    }

    #[test]
    fn random_payloads_are_no_messages() {
        let mut random = node::random::Random::new(3);
        let mut found = 0;
        for _ in 0..200_000 {
            let mut payload: Vec<u8> = (0..REPLY).map(|_| random.below(256) as u8).collect();
            payload[0] = 0x57;
            payload[1] = 0x54 + random.below(2) as u8;
            found += usize::from(Message::parse(&payload).is_some());
        }
        // Of payloads with the magic, one in 65,536 has the right checksum.
        assert!(found < 12, "{found}");
    }
}
