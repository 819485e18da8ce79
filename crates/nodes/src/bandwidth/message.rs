//! Probes of a [prober](super::prober) and what a [reflector](super::reflector) says of them, in UDP payloads.
//!
//! Big-endian, so short that either fits into the shortest Ethernet frame, 60 bytes and the FCS:
//!
//! | bytes | field |
//! |---|---|
//! | 0-1 | magic `0x5754` |
//! | 2 | 0: a probe; 1: a reply |
//! | 3 | version, 0 |
//! | 4-5 | session: which prober |
//! | 6-9 | sequence: the low 32 bits of the probe's number, from 0 |
//! | 10-17 | of a reply: when the probe's first bit came, picoseconds of the reflector's clock |

use alloc::vec::Vec;
use measure::probe::offset;
use node::Time;

const MAGIC: u16 = 0x5754;
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
    /// Reads the payload of a datagram; `None` of anything else, or where it is cut short.
    pub fn parse(payload: &[u8]) -> Option<Message> {
        let bytes = payload.first_chunk::<PROBE>()?;
        let [high, low, kind, version, rest @ ..] = *bytes;
        if u16::from_be_bytes([high, low]) != MAGIC || version != 0 {
            return None;
        }
        let came = match kind {
            0 => None,
            1 => {
                let stamp = payload.get(PROBE..)?.first_chunk()?;
                Some(Time::from_ps(u64::from_be_bytes(*stamp)))
            }
            _ => return None,
        };
        let [a, b, c, d, e, f] = rest;
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
        out.extend_from_slice(&MAGIC.to_be_bytes());
        out.extend_from_slice(&[u8::from(self.came.is_some()), 0]);
        out.extend_from_slice(&self.session.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        if let Some(came) = self.came {
            out.extend_from_slice(&came.as_ps().to_be_bytes());
        }
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
            for at in [0, 1, 2, 3] {
                let mut wrong = bytes.clone();
                wrong[at] ^= 0x80;
                assert_eq!(Message::parse(&wrong), None, "byte {at}");
            }
        }
    }
}
