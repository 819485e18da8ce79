//! Joins consecutive TCP segments of a connection into a super-frame, which the kernel or a card segments (GSO, TSO): the inverse of
//! [`split`](super::split). It joins segments only if segmentation restores the same bytes: checksums are valid, lengths equal, and
//! IPv4 identifications count up.

use super::offload::OFFLOAD;
use packet::checksum::Sum;
use packet::ethernet::ethertype;
use packet::ipv4::protocol;
use packet::vlan::untagged;
use std::ops::Range;

/// VIRTIO_NET_HDR_F_NEEDS_CSUM.
const OPEN_CHECKSUM: u8 = 1;
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
/// Minimum and maximum lengths of headers, bytes.
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP: usize = 20;
/// Bytes of the Ethernet header with two tags, IPv6's and TCP's with all options.
const HEADERS: usize = 22 + IPV6 + 60;
/// Length of the longest packet of IP.
const MAX_PACKET_LEN: usize = 65_535;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
/// ECN echo: segmentation copies it to all frames. CWR, which only the first frame would keep, is excluded.
const ECE: u8 = 0x40;

/// First part of a message: the offload header, followed by the headers of a super-frame. A frame that is sent unchanged has an
/// offload header only.
pub struct Front {
    bytes: [u8; OFFLOAD + HEADERS],
    len: usize,
}

impl Front {
    /// Offload header of a frame that is sent unchanged.
    pub const PLAIN: Front = Front {
        bytes: [0; OFFLOAD + HEADERS],
        len: OFFLOAD,
    };

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A TCP segment with payload, and the offsets of its parts.
struct Segment<'a> {
    frame: &'a [u8],
    ipv6: bool,
    network: usize,
    transport: usize,
    payload: Range<usize>,
}

impl<'a> Segment<'a> {
    /// Reads a frame. `None` for frames without a TCP segment, and for segments that segmentation would not restore.
    fn of(frame: &'a [u8]) -> Option<Segment<'a>> {
        let (kind, packet) = untagged(frame)?;
        let network = frame.len() - packet.len();
        let (ipv6, header, length, inner) = match kind {
            ethertype::IPV4 => {
                let header: &[u8; IPV4] = packet.first_chunk()?;
                // No options and no fragments.
                let plain = header[0] == 0x45 && header[6] & 0xBF == 0 && header[7] == 0;
                let valid = plain && is_usual([header[10], header[11]], header, Sum::default());
                let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
                (false, IPV4, valid.then_some(length)?, header[9])
            }
            ethertype::IPV6 => {
                let header: &[u8; IPV6] = packet.first_chunk()?;
                let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
                (true, IPV6, length + IPV6, header[6])
            }
            _ => return None,
        };
        let transport = network + header;
        let end = network + length;
        let tcp = frame.get(transport..end)?;
        // Segmentation would lose padding and trailers.
        if inner != protocol::TCP || tcp.len() < TCP || end != frame.len() {
            return None;
        }
        let payload = usize::from(tcp[12] >> 4) * 4;
        let fits = payload >= TCP && payload < tcp.len() && transport + payload <= HEADERS;
        let flags = tcp[13];
        if !fits || flags & ACK == 0 || flags & !(ACK | PSH | FIN | ECE) != 0 {
            return None;
        }
        Some(Segment {
            frame,
            ipv6,
            network,
            transport,
            payload: transport + payload..end,
        })
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.frame[at], self.frame[at + 1]])
    }

    fn sequence(&self) -> u32 {
        let at = self.transport + 4;
        u32::from(self.word(at)) << 16 | u32::from(self.word(at + 2))
    }

    fn flags(&self) -> u8 {
        self.frame[self.transport + 13]
    }

    /// The sum over the pseudo-header of a segment of `length` bytes.
    fn pseudo(&self, length: usize) -> Sum {
        let addresses = match self.ipv6 {
            true => self.network + 8..self.network + 40,
            false => self.network + 12..self.network + 20,
        };
        Sum::default()
            .plus(&self.frame[addresses])
            .plus(&[0, protocol::TCP])
            .plus(&(length as u32).to_be_bytes())
    }

    fn has_valid_checksum(&self) -> bool {
        let tcp = &self.frame[self.transport..self.payload.end];
        is_usual([tcp[16], tcp[17]], tcp, self.pseudo(tcp.len()))
    }

    /// Whether `next` is segment `index` of a super-frame that begins with this one, after `passed` bytes of payload.
    fn goes_on(&self, next: &Segment<'_>, index: usize, passed: usize) -> bool {
        let same = |range: Range<usize>| self.frame[range.clone()] == next.frame[range];
        let (network, tcp) = (self.network, self.transport);
        if (network, tcp, self.ipv6) != (next.network, next.transport, next.ipv6)
            || self.payload.start != next.payload.start
            || self.sequence().wrapping_add(passed as u32) != next.sequence()
        {
            return false;
        }
        let ip = match self.ipv6 {
            // All but the length.
            true => same(0..network + 4) && same(network + 6..tcp),
            // All but the length, the identification and the checksum.
            false => {
                let expected = self.word(network + 4).wrapping_add(index as u16);
                expected == next.word(network + 4)
                    && same(0..network + 2)
                    && same(network + 6..network + 10)
                    && same(network + 12..tcp)
            }
        };
        let ends = FIN | PSH;
        ip && same(tcp..tcp + 4)
            && same(tcp + 8..tcp + 13)
            && self.flags() & !ends == next.flags() & !ends
            && same(tcp + 14..tcp + 16)
            && same(tcp + 18..self.payload.start)
            && next.has_valid_checksum()
    }

    /// The offload header and the headers of a super-frame with `payload` bytes and these flags, which begins with this segment.
    fn front(&self, payload: usize, flags: u8) -> Front {
        let mut front = Front::PLAIN;
        let headers = self.payload.start;
        front.len = OFFLOAD + headers;
        let (offload, frame) = front.bytes[..front.len].split_at_mut(OFFLOAD);
        offload[0] = OPEN_CHECKSUM;
        offload[1] = if self.ipv6 { TCP_IPV6 } else { TCP_IPV4 };
        let words = [headers, self.payload.len(), self.transport, 16];
        for (place, word) in offload[2..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&(word as u16).to_ne_bytes());
        }
        frame.copy_from_slice(&self.frame[..headers]);
        let mut put = |at: usize, value: u16| {
            frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
        };
        let tcp = headers - self.transport + payload;
        let network = self.network;
        match self.ipv6 {
            true => put(network + 4, tcp as u16),
            false => {
                put(network + 2, (IPV4 + tcp) as u16);
                put(network + 10, 0);
            }
        }
        // The card adds the sum over the segment.
        put(self.transport + 16, !self.pseudo(tcp).checksum());
        frame[self.transport + 13] = flags;
        if !self.ipv6 {
            let sum = Sum::default().plus(&frame[network..self.transport]);
            frame[network + 10..network + 12].copy_from_slice(&sum.checksum().to_be_bytes());
        }
        front
    }
}

/// Whether a checksum is valid and has the form that a card writes. Zero has two forms in ones' complement.
fn is_usual(checksum: [u8; 2], bytes: &[u8], sum: Sum) -> bool {
    !matches!(checksum, [0, 0] | [0xFF, 0xFF]) && sum.plus(bytes).is_valid()
}

/// Finds the longest super-frame that begins with the first frame, which has at most `longest` bytes. Returns its front, and the range
/// of each frame's payload in `payloads`. `None` if the first frame must be sent unchanged.
pub fn coalesce(
    frames: &[&[u8]],
    longest: usize,
    payloads: &mut Vec<Range<usize>>,
) -> Option<Front> {
    payloads.clear();
    // The common case is a frame that cannot be joined: detect it first.
    let [first, second, ..] = frames else {
        return None;
    };
    if second.len() > first.len() || first.len() > longest {
        return None;
    }
    let first = Segment::of(first)?;
    let ends = FIN | PSH;
    if first.flags() & ends != 0 {
        return None;
    }
    let each = first.payload.len();
    let mut passed = each;
    let mut flags = first.flags();
    let room = MAX_PACKET_LEN - (first.payload.start - first.network);
    payloads.push(first.payload.clone());
    for (index, frame) in frames.iter().enumerate().skip(1) {
        let Some(next) = Segment::of(frame) else {
            break;
        };
        let length = next.payload.len();
        let fits = length <= each && passed + length <= room;
        if !fits || !first.goes_on(&next, index, passed) {
            break;
        }
        passed += length;
        payloads.push(next.payload.clone());
        flags |= next.flags();
        if length < each || next.flags() & ends != 0 {
            break;
        }
    }
    if payloads.len() < 2 || !first.has_valid_checksum() {
        payloads.clear();
        return None;
    }
    Some(first.front(passed, flags))
}

#[cfg(test)]
mod tests {
    use super::super::offload::Offload;
    use super::super::split::split;
    use super::*;
    use node::random::Random;
    use packet::ipv4::Ipv4;
    use packet::ipv6::Ipv6;
    use packet::tcp::{Tcp, TcpOption};

    /// A segment with valid checksums.
    fn segment(
        ipv6: bool,
        tag: bool,
        identification: u16,
        sequence: u32,
        flags: u8,
        payload: &[u8],
    ) -> Vec<u8> {
        let tcp = Tcp {
            source_port: 80,
            destination_port: 258,
            sequence,
            acknowledgement: 5,
            flags,
            window: 256,
            urgent: 0,
            options: &[TcpOption::Timestamps(7, 9)],
        };
        let mut frame = vec![2; 12];
        if tag {
            frame.extend([0x81, 0x00, 0x00, 0x05]);
        }
        if ipv6 {
            frame.extend(ethertype::IPV6.to_be_bytes());
            let ip = Ipv6::new([0xFD; 16].into(), [0xFC; 16].into(), protocol::TCP);
            ip.build(&mut frame, |out| {
                tcp.build(ip.pseudo(), out, |out| out.extend(payload));
            });
        } else {
            frame.extend(ethertype::IPV4.to_be_bytes());
            let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::TCP);
            let ip = Ipv4 {
                identification,
                ..ip
            };
            ip.build(&mut frame, |out| {
                tcp.build(ip.pseudo(), out, |out| out.extend(payload));
            });
        }
        frame
    }

    /// Frames after coalescing and segmentation, and the number of messages.
    fn sent(frames: &[Vec<u8>]) -> (Vec<Vec<u8>>, usize) {
        let slices: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).collect();
        let (mut at, mut out, mut calls, mut payloads) = (0, Vec::new(), 0, Vec::new());
        while at < slices.len() {
            calls += 1;
            let Some(front) = coalesce(&slices[at..], 1518, &mut payloads) else {
                out.push(frames[at].clone());
                at += 1;
                continue;
            };
            let offload = Offload::read(front.bytes());
            let mut whole = front.bytes()[OFFLOAD..].to_vec();
            for (frame, payload) in slices[at..].iter().zip(&payloads) {
                whole.extend(&frame[payload.clone()]);
            }
            assert!(whole.len() <= MAX_PACKET_LEN + 18);
            let count = split(&whole, &offload, &mut Vec::new(), &mut |piece| {
                out.push(piece.to_vec())
            });
            assert_eq!(count, payloads.len());
            at += count;
        }
        (out, calls)
    }

    #[test]
    fn a_window_of_segments_is_one_super_frame_and_comes_out_as_it_went_in() {
        for (ipv6, tag) in [(false, false), (true, false), (false, true), (true, true)] {
            let payload = [7; 1400];
            let mut frames: Vec<Vec<u8>> = (0..40)
                .map(|n| {
                    let (id, at) = (65_530u16.wrapping_add(n), u32::from(n) * 1400);
                    segment(
                        ipv6,
                        tag,
                        id,
                        (u32::MAX - 2_800).wrapping_add(at),
                        ACK,
                        &payload,
                    )
                })
                .collect();
            let end = segment(ipv6, tag, 34, 53_199, ACK | PSH | FIN, b"end");
            frames.push(end);
            assert_eq!(sent(&frames), (frames.clone(), 1), "{ipv6} {tag}");
        }
    }

    #[test]
    fn whatever_the_segments_are_what_leaves_is_what_was_given() {
        let mut random = Random::new(46);
        let (mut frames_in_all, mut calls_in_all) = (0, 0);
        for _ in 0..2_000 {
            let ipv6 = random.index(2) == 0;
            let each = 1 + random.index(1_400);
            let (mut id, mut sequence) = (random.index(65_536) as u16, random.bits() as u32);
            let frames: Vec<Vec<u8>> = (0..2 + random.index(30))
                .map(|_| {
                    let length = match random.index(12) {
                        0 => random.index(1_400),
                        _ => each,
                    };
                    let payload: Vec<u8> = (0..length).map(|_| random.index(256) as u8).collect();
                    let flags = match random.index(16) {
                        0 => random.index(256) as u8,
                        1 => ACK | PSH,
                        _ => ACK,
                    };
                    let mut frame = segment(ipv6, false, id, sequence, flags, &payload);
                    if random.index(12) == 0 {
                        let at = random.index(frame.len());
                        frame[at] ^= 1 << random.index(8);
                    }
                    if random.index(40) == 0 {
                        frame.truncate(random.index(frame.len()));
                    }
                    if random.index(20) == 0 {
                        frame.resize(frame.len() + random.index(9), 0);
                    }
                    id = id.wrapping_add(u16::from(random.index(20) != 0));
                    sequence =
                        sequence.wrapping_add(length as u32 + u32::from(random.index(20) == 0));
                    frame
                })
                .collect();
            let (out, calls) = sent(&frames);
            for (index, (out, frame)) in out.iter().zip(&frames).enumerate() {
                assert_eq!(out, frame, "frame {index} of {}", frames.len());
            }
            assert_eq!(out.len(), frames.len());
            frames_in_all += frames.len();
            calls_in_all += calls;
        }
        assert!(
            calls_in_all * 4 < frames_in_all * 3,
            "{calls_in_all} {frames_in_all}"
        );
    }
}
