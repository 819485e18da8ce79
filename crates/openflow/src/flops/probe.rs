//! Probes: UDP packets whose last bytes tell which they are, whatever a switch does to their headers.

use ::node::Time;
use alloc::vec::Vec;
use packet::checksum::{self, Sum};

/// The last bytes of a probe: a mark, the checksum of them all (RFC 1071), the stream, and the
/// number within it.
const MARK: [u8; 4] = *b"oflp";
const TAIL: usize = 18;
/// Ethernet, IPv4 and UDP.
pub(super) const HEADERS: usize = 14 + 20 + 8;
/// Minimum length of a probe without FCS, bytes.
pub const MIN_PROBE_LEN: usize = 64;
/// Maximum length of a probe without FCS, bytes, so that it passes everywhere.
pub const MAX_PROBE_LEN: usize = 1514;

/// The headers that a probe has before a switch changes any.
pub mod headers {
    /// Ethernet source.
    pub const SOURCE: [u8; 6] = [2, 0, 0, 0, 0, 1];
    /// Ethernet destination.
    pub const DESTINATION: [u8; 6] = [2, 0, 0, 0, 0, 2];
    /// IPv4 source.
    pub const IP_SOURCE: [u8; 4] = [10, 1, 0, 1];
    /// The IPv4 destination of flow 0; others count up from it.
    pub const IP_DESTINATION: u32 = 0x0a02_0000;
    /// UDP source port.
    pub const UDP_SOURCE: u16 = 5000;
    /// UDP destination port.
    pub const UDP_DESTINATION: u16 = 5001;
    /// The VLAN of a tagged probe: id 100, priority 0.
    pub const VLAN: u16 = 100;
}

/// A stream of probes with an even gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Its number, which its probes carry.
    pub number: u32,
    /// When the first leaves.
    pub start: Time,
    /// From one to the next.
    pub gap: Time,
    /// How many; `u64::MAX` until it is stopped.
    pub count: u64,
    /// Bytes of each without FCS: [`MIN_PROBE_LEN`] to [`MAX_PROBE_LEN`].
    pub length: usize,
    /// The first flow that they belong to, and how many flows they go round.
    pub flows: (u32, u32),
    /// Whether they have a VLAN tag, within their length.
    pub tagged: bool,
    /// Whether they go by the cable, and not through the switch.
    pub by_cable: bool,
}

impl Stream {
    /// The gap at a rate in bits a second, counted as the paper does: the frame's own bytes.
    pub fn gap_at(rate: u64, length: usize) -> Time {
        let bits = 8 * length as u128 * 1_000_000_000_000;
        Time::from_ps((bits / u128::from(rate.max(1))).min(1 << 60) as u64)
    }

    /// Writes a probe.
    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        use headers::*;
        let length = self.length.clamp(MIN_PROBE_LEN, MAX_PROBE_LEN);
        out.clear();
        out.extend(DESTINATION);
        out.extend(SOURCE);
        if self.tagged {
            out.extend([0x81, 0]);
            out.extend(VLAN.to_be_bytes());
        }
        out.extend([8, 0]);
        let (at, ip) = (out.len(), length - out.len());
        let flow = u64::from(self.flows.0) + number % u64::from(self.flows.1.max(1));
        out.extend([0x45, 0]);
        out.extend((ip as u16).to_be_bytes());
        out.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        out.extend(IP_SOURCE);
        out.extend(IP_DESTINATION.wrapping_add(flow as u32).to_be_bytes());
        let sum = checksum::checksum(&out[at..]);
        out[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        out.extend(UDP_SOURCE.to_be_bytes());
        out.extend(UDP_DESTINATION.to_be_bytes());
        out.extend(((ip - 20) as u16).to_be_bytes());
        // Without a checksum, which IPv4 allows.
        out.extend([0, 0]);
        let tail = length - TAIL;
        out.resize(tail, 0);
        out.extend(MARK);
        out.extend([0; 2]);
        out.extend(self.number.to_be_bytes());
        out.extend(number.to_be_bytes());
        let sum = checksum::checksum(&out[tail..]);
        out[tail + 4..tail + 6].copy_from_slice(&sum.to_be_bytes());
    }
}

/// What a probe says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub stream: u32,
    pub number: u64,
}

/// Reads a probe's last bytes; `None` for other frames.
pub fn read(frame: &[u8]) -> Option<Tag> {
    let tail: &[u8; TAIL] = frame.last_chunk()?;
    // A tag taken off leaves a frame that is shorter, never one without the IP header.
    if frame.len() < HEADERS || tail[..4] != MARK || !Sum::default().plus(tail).is_valid() {
        return None;
    }
    let [_, _, _, _, _, _, a, b, c, d, number @ ..] = *tail;
    Some(Tag {
        stream: u32::from_be_bytes([a, b, c, d]),
        number: u64::from_be_bytes(number),
    })
}

/// A probe that has come back.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The data channel: [`GENERATE`](super::GENERATE), [`CAPTURE`](super::CAPTURE), or an end of the
    /// [`CABLE`](super::CABLE).
    pub channel: u16,
    /// Which probe.
    pub tag: Tag,
    /// When its first bit left; `None` for one of a stream that is not under way.
    pub left: Option<Time>,
    /// When its first bit arrived.
    pub at: Time,
    pub frame: &'a [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_reads_back_and_one_with_a_wrong_bit_is_none() {
        for (length, tagged) in [
            (MIN_PROBE_LEN, false),
            (MIN_PROBE_LEN, true),
            (MAX_PROBE_LEN, false),
        ] {
            let stream = Stream {
                number: 7,
                start: Time::ZERO,
                gap: Time::from_us(1),
                count: 1,
                length,
                flows: (0, 4),
                tagged,
                by_cable: false,
            };
            let mut frame = Vec::new();
            stream.write(0x0102_0304_0506, &mut frame);
            assert_eq!(frame.len(), length);
            let tag = Tag {
                stream: 7,
                number: 0x0102_0304_0506,
            };
            assert_eq!(read(&frame), Some(tag));
            for bit in 8 * (length - TAIL)..8 * length {
                let mut wrong = frame.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read(&wrong), None, "{bit}");
            }
            // The headers are the switch's to change.
            for bit in 0..8 * HEADERS {
                let mut changed = frame.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read(&changed), Some(tag), "{bit}");
            }
        }
    }
}
