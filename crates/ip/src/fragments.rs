//! Fragments of IP packets: cutting them, and putting them together (RFC 791 section 3.2, RFC 8200 section 4.5).
//!
//! Rules are Linux's. A fragment within data that is there already is ignored; one that overlaps it in
//! part spoils the packet (RFC 8200, and RFC 5722 for the reasons), and so does an end that does not fit. A packet that is
//! not whole after 30 s over IPv4, 60 s over IPv6, is given up. All packets in the making together have
//! at most [`MAX_BYTES`].

use crate::header::{MAX_PACKET, Packet};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::ops::Range;
use node::{Frame, Out, Time};
use packet::checksum::checksum;
use packet::ecn;
use packet::ethernet::ethertype;
use packet::ipv4::{Ipv4View, protocol};
use packet::ipv6::Ipv6View;

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Bytes of all frames that wait for others, each with `OVERHEAD` more.
pub const MAX_BYTES: usize = 4 << 20;
/// Bytes that a waiting frame counts for besides its own.
const OVERHEAD: usize = 256;
const IPV6_HEADER: usize = 40;
/// Bytes of the fragment header of IPv6.
const FRAGMENT_HEADER: usize = 8;
const TIMEOUT_V4: Time = Time::from_secs(30);
const TIMEOUT_V6: Time = Time::from_secs(60);
/// Why fragments are dropped.
const MISSING: &str = "another fragment is missing";
const SPOILED: &str = "fragments do not fit together";
const FULL: &str = "too many fragments wait";

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// Source and destination of a fragment that was taken, and the offset of its end in the frame.
pub(crate) fn ends(frame: &[u8]) -> Option<(IpAddr, IpAddr, usize)> {
    let fragment = Fragment::read(frame)?;
    Some((
        fragment.key.source,
        fragment.key.destination,
        fragment.payload.end,
    ))
}

/// Sends an IP packet in fragments of at most `mtu` bytes, in order, or as it is if it is no longer.
///
/// The frame has no tag, and the packet no extension headers. `identification` is what the fragments share;
/// IPv4 takes its lower half.
pub fn cut(
    frame: Frame,
    mtu: usize,
    identification: u32,
    out: &mut Out,
    mut send: impl FnMut(Frame, &mut Out),
) {
    let is_v4 = u16_at(&frame, 12) == Some(ethertype::IPV4);
    let header = match is_v4 {
        true => usize::from(frame[ETHERNET] & 15) * 4,
        false => IPV6_HEADER,
    };
    let length = frame.len() - ETHERNET;
    let own = header + if is_v4 { 0 } else { FRAGMENT_HEADER };
    // A fragment but the last has whole units of eight bytes.
    let step = mtu.saturating_sub(own) & !7;
    if length <= mtu || step == 0 {
        return send(frame, out);
    }
    let (headers, payload) = frame.split_at(ETHERNET + header);
    for (index, piece) in payload.chunks(step).enumerate() {
        let offset = index * step;
        let more = offset + piece.len() < payload.len();
        let mut fragment = out.frame();
        fragment.extend(headers);
        let ip = &mut fragment[ETHERNET..];
        if is_v4 {
            ip[2..4].copy_from_slice(&((header + piece.len()) as u16).to_be_bytes());
            ip[4..6].copy_from_slice(&(identification as u16).to_be_bytes());
            let place = (offset / 8) as u16 | u16::from(more) << 13;
            ip[6..8].copy_from_slice(&place.to_be_bytes());
            ip[10..12].fill(0);
            let sum = checksum(&ip[..header]);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            let next = core::mem::replace(&mut ip[6], protocol::FRAGMENT);
            let length = (FRAGMENT_HEADER + piece.len()) as u16;
            ip[4..6].copy_from_slice(&length.to_be_bytes());
            let place = (offset as u16 | u16::from(more)).to_be_bytes();
            fragment.extend(&[next, 0, place[0], place[1]]);
            fragment.extend(&identification.to_be_bytes());
        }
        fragment.extend(piece);
        send(fragment, out);
    }
    out.done(frame);
}

/// Fields that the fragments of one packet share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    /// Of IPv4; of IPv6 it is no part of the key.
    protocol: u8,
    identification: u32,
}

/// A frame as a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    key: Key,
    /// Payload of the whole packet.
    protocol: u8,
    /// Bytes before the payload in the frame that the whole packet keeps.
    header: usize,
    /// The payload in the frame.
    payload: Range<usize>,
    /// Where it begins in that of the whole packet.
    offset: usize,
    more: bool,
}

impl Fragment {
    /// Reads a fragment; `None` when the frame is none, or is broken. A fragment header of IPv6 is found right behind
    /// the first header.
    pub fn read(frame: &[u8]) -> Option<Fragment> {
        let packet = frame.get(ETHERNET..)?;
        match u16_at(frame, 12)? {
            ethertype::IPV4 => {
                let ip = Ipv4View::new(packet).ok()?;
                if !ip.is_fragment() || !ip.is_checksum_valid() {
                    return None;
                }
                let start = ETHERNET + ip.header_length();
                let end = start + ip.payload().len();
                Some(Fragment {
                    key: Key {
                        source: ip.source().into(),
                        destination: ip.destination().into(),
                        protocol: ip.protocol(),
                        identification: ip.identification().into(),
                    },
                    protocol: ip.protocol(),
                    header: start,
                    payload: start..end,
                    offset: ip.fragment_offset(),
                    more: ip.more_fragments(),
                })
            }
            ethertype::IPV6 => {
                let ip = Ipv6View::new(packet).ok()?;
                if ip.next_header() != protocol::FRAGMENT {
                    return None;
                }
                let header = ip.payload().first_chunk::<FRAGMENT_HEADER>()?;
                let [next, _, high, low, id @ ..] = *header;
                let place = u16::from_be_bytes([high, low]);
                let start = ETHERNET + IPV6_HEADER;
                let length = ip.payload().len() - FRAGMENT_HEADER;
                let (offset, more) = (usize::from(place & !7), place & 1 == 1);
                if offset + length > MAX_PACKET || (more && !length.is_multiple_of(8)) {
                    return None;
                }
                Some(Fragment {
                    key: Key {
                        source: ip.source().into(),
                        destination: ip.destination().into(),
                        protocol: 0,
                        identification: u32::from_be_bytes(id),
                    },
                    protocol: next,
                    header: start,
                    payload: start + FRAGMENT_HEADER..start + FRAGMENT_HEADER + length,
                    offset,
                    more,
                })
            }
            _ => None,
        }
    }

    /// The fragment, as if it were a whole packet.
    pub(crate) fn packet(&self) -> Packet {
        Packet {
            source: self.key.source,
            destination: self.key.destination,
            protocol: self.protocol,
            ecn: ecn::NOT_ECT,
            end: self.payload.end,
            payload: self.payload.start,
        }
    }

    /// The receiver of the packet.
    pub fn destination(&self) -> IpAddr {
        self.key.destination
    }
}

/// The flag that forbids fragments, in the byte of an IPv4 header that has it (RFC 791 section 3.1).
const DONT_FRAGMENT: u8 = 0x40;

/// A packet in the making.
#[derive(Debug)]
struct Partial {
    /// Payload that is there, as ranges in order, none within another. A range grows only at the end of the last one, as in
    /// Linux.
    runs: Vec<Range<usize>>,
    pieces: Vec<(Fragment, Frame)>,
    /// Bytes of payload that are there, and as many as are known to be there in the end.
    have: usize,
    length: usize,
    has_end: bool,
    /// Memory that its frames account for, in bytes.
    bytes: usize,
    expires: Time,
}

/// Relation of a fragment to its packet.
#[derive(Debug, PartialEq, Eq)]
enum Fit {
    New,
    Known,
    Spoils,
}

impl Partial {
    /// Takes a fragment's range down.
    fn fit(&mut self, fragment: &Fragment) -> Fit {
        let start = fragment.offset;
        let mut end = start + fragment.payload.len();
        if fragment.more {
            if !end.is_multiple_of(8) {
                end &= !7;
            }
            if end > self.length {
                if self.has_end {
                    return Fit::Spoils;
                }
                self.length = end;
            }
        } else {
            if end < self.length || (self.has_end && end != self.length) {
                return Fit::Spoils;
            }
            self.has_end = true;
            self.length = end;
        }
        if start >= end {
            return Fit::Spoils;
        }
        let before = self.runs.partition_point(|run| run.end <= start);
        match self.runs.get(before) {
            None => match self.runs.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => self.runs.push(start..end),
            },
            Some(run) if run.start >= end => self.runs.insert(before, start..end),
            Some(run) if run.start <= start && end <= run.end => return Fit::Known,
            Some(_) => return Fit::Spoils,
        }
        self.have += end - start;
        Fit::New
    }

    fn is_whole(&self) -> bool {
        self.has_end && self.have == self.length
    }

    /// The ECN codepoint of the whole packet: no mark gets lost (RFC 3168 section 5.3). `None` when a fragment is marked and
    /// another is of a transport that does not understand marks.
    fn ecn(&self) -> Option<u8> {
        let codepoint = |frame: &Frame| match frame[ETHERNET] >> 4 {
            4 => frame[ETHERNET + 1] & ecn::CE,
            _ => frame[ETHERNET + 1] >> 4 & ecn::CE,
        };
        let has = |wanted| {
            self.pieces
                .iter()
                .any(|(_, frame)| codepoint(frame) == wanted)
        };
        match has(ecn::CE) {
            true => (!has(ecn::NOT_ECT)).then_some(ecn::CE),
            false => self.pieces.first().map(|(_, frame)| codepoint(frame)),
        }
    }

    /// The whole packet in a frame of its own; `None` when it is longer than any, or its ECN codepoints contradict each other.
    fn assemble(&mut self, out: &mut Out) -> Option<Frame> {
        self.pieces.sort_unstable_by_key(|(piece, _)| piece.offset);
        let codepoint = self.ecn()?;
        let (first, frame) = self.pieces.first()?;
        let mut whole = out.frame();
        whole.extend(&frame[..first.header]);
        let length = first.header - ETHERNET + self.length;
        let is_v4 = first.key.source.is_ipv4();
        let counted = if is_v4 { length } else { self.length };
        if counted > MAX_PACKET {
            out.done(whole);
            return None;
        }
        let ip = &mut whole[ETHERNET..];
        if is_v4 {
            ip[2..4].copy_from_slice(&(counted as u16).to_be_bytes());
            ip[6..8].fill(0);
            ip[10..12].fill(0);
            let sum = checksum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            ip[4..6].copy_from_slice(&(counted as u16).to_be_bytes());
            ip[6] = first.protocol;
        }
        ecn::set(&mut whole[ETHERNET..], codepoint);
        for (piece, frame) in &self.pieces {
            let payload = &frame[piece.payload.clone()];
            let length = match piece.more {
                true => payload.len() & !7,
                false => payload.len(),
            };
            whole.extend(&payload[..length]);
        }
        Some(whole)
    }
}

/// Puts packets together.
#[derive(Debug, Default)]
pub struct Reassembly {
    partial: BTreeMap<Key, Partial>,
    bytes: usize,
    /// When the first packet in the making is given up.
    next: Option<Time>,
    longest: Longest,
}

/// The longest fragment of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// Length with the IP header, bytes.
    pub length: usize,
    /// Whether one of this length forbids further fragmentation; IPv4 only.
    pub is_final: bool,
}

impl Longest {
    fn of(pieces: &[(Fragment, Frame)]) -> Longest {
        let lengths = pieces.iter().map(|(piece, frame)| Longest {
            length: piece.payload.end - ETHERNET,
            is_final: frame[ETHERNET] >> 4 == 4 && frame[ETHERNET + 6] & DONT_FRAGMENT != 0,
        });
        let longest = lengths.max_by_key(|one| (one.length, one.is_final));
        longest.unwrap_or_default()
    }
}

impl Reassembly {
    /// Size of all frames that wait, bytes, each with its overhead.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The longest fragment of the packet that [`take`](Reassembly::take) has returned last.
    pub fn longest(&self) -> Longest {
        self.longest
    }

    /// As [`take`](Reassembly::take); an IPv4 packet whose longest fragment forbids further fragmentation forbids it, too, as in
    /// Linux. An ICMP error about the packet quotes that flag.
    pub fn take_marked(
        &mut self,
        now: Time,
        fragment: Fragment,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let mut whole = self.take(now, fragment, frame, out)?;
        if self.longest.is_final {
            whole[ETHERNET + 6] |= DONT_FRAGMENT;
            let ip = &mut whole[ETHERNET..];
            let header = usize::from(ip[0] & 15) * 4;
            ip[10..12].fill(0);
            let sum = checksum(&ip[..header]);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(whole)
    }

    /// Takes a frame that is a fragment; gives the packet, if that is whole now. Its time of arrival is that of the fragment that
    /// came last.
    pub fn take(
        &mut self,
        now: Time,
        fragment: Fragment,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let (key, arrived) = (fragment.key, frame.arrived());
        let size = frame.len() + OVERHEAD;
        // One that is the whole packet has nothing to do with others (RFC 6946).
        let alone = fragment.offset == 0 && !fragment.more;
        if self.bytes + size > MAX_BYTES && !alone {
            out.drop(frame, FULL);
            return None;
        }
        let timeout = match key.source {
            IpAddr::V4(_) => TIMEOUT_V4,
            IpAddr::V6(_) => TIMEOUT_V6,
        };
        let new = || Partial {
            runs: Vec::new(),
            pieces: Vec::new(),
            have: 0,
            length: 0,
            has_end: false,
            bytes: 0,
            expires: now + timeout,
        };
        let mut own;
        let partial = match alone {
            true => {
                own = new();
                &mut own
            }
            false => self.partial.entry(key).or_insert_with(new),
        };
        match partial.fit(&fragment) {
            Fit::New => {}
            Fit::Known => {
                out.done(frame);
                return None;
            }
            Fit::Spoils => {
                out.drop(frame, SPOILED);
                if !alone {
                    self.give_up(key, SPOILED, out);
                }
                return None;
            }
        }
        partial.pieces.push((fragment, frame));
        if !partial.is_whole() {
            partial.bytes += size;
            self.bytes += size;
            let expires = partial.expires;
            self.next = Some(self.next.map_or(expires, |next| next.min(expires)));
            return None;
        }
        self.longest = Longest::of(&partial.pieces);
        let whole = partial.assemble(out);
        let pieces = core::mem::take(&mut partial.pieces);
        for (_, frame) in pieces {
            match &whole {
                Some(_) => out.done(frame),
                None => out.drop(frame, SPOILED),
            }
        }
        if !alone {
            self.give_up(key, SPOILED, out);
        }
        let mut whole = whole?;
        whole.set_arrived(arrived);
        Some(whole)
    }

    /// Forgets a packet, and drops what there is of it.
    fn give_up(&mut self, key: Key, reason: &'static str, out: &mut Out) {
        if let Some(partial) = self.partial.remove(&key) {
            self.bytes -= partial.bytes;
            for (_, frame) in partial.pieces {
                out.drop(frame, reason);
            }
            self.next = self.partial.values().map(|partial| partial.expires).min();
        }
    }

    /// When [`wake`](Reassembly::wake) has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        self.next
    }

    /// Gives up packets whose time is over. `late` sees the first fragment of each of which that has come: its sender is
    /// notified (RFC 1122 section 3.3.2, RFC 8200 section 4.5).
    pub fn wake(&mut self, now: Time, out: &mut Out, mut late: impl FnMut(&Frame, &mut Out)) {
        while self.next.is_some_and(|next| next <= now) {
            let mut all = self.partial.iter();
            let Some(key) = all.find_map(|(key, partial)| (partial.expires <= now).then_some(*key))
            else {
                return;
            };
            let pieces = self.partial.get(&key).map(|partial| &partial.pieces);
            let first = pieces.and_then(|all| all.iter().find(|(piece, _)| piece.offset == 0));
            if let Some((_, frame)) = first {
                late(frame, out);
            }
            self.give_up(key, MISSING, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use node::random::Random;

    #[test]
    fn a_mark_of_a_fragment_is_one_of_the_packet() {
        let mut random = Random::new(1);
        let mut seen = [0; 3];
        for round in 0..2_000u32 {
            let ends: [IpAddr; 2] = match round % 2 {
                0 => [Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()],
                _ => [Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            };
            let mut out = Out::default();
            let mut packet = Frame::new(&[0; ETHERNET + 40 + 3_000]);
            header::write(&mut packet, ends[0], ends[1], protocol::UDP);
            let capable = [ecn::NOT_ECT, ecn::ECT_0, ecn::ECT_1][random.below(3) as usize];
            let (mut codepoints, mut all) = (Vec::new(), Vec::new());
            cut(packet, 1_280, round, &mut out, |mut piece, _| {
                let is_marked = random.chance(0.2);
                let codepoint = if is_marked { ecn::CE } else { capable };
                ecn::set(&mut piece[ETHERNET..], codepoint);
                codepoints.push(codepoint);
                all.push(piece);
            });
            let mut reassembly = Reassembly::default();
            let mut whole = None;
            for piece in all {
                let fragment = Fragment::read(&piece);
                let fragment = fragment.expect("a fragment with a right checksum");
                whole = reassembly.take(Time::ZERO, fragment, piece, &mut out);
            }
            let marks = codepoints.iter().filter(|&&codepoint| codepoint == ecn::CE);
            let wanted = match (marks.count(), capable) {
                (0, _) => Some(capable),
                (marks, ecn::NOT_ECT) if marks < codepoints.len() => None,
                _ => Some(ecn::CE),
            };
            seen[wanted.map_or(0, |codepoint| 1 + usize::from(codepoint == ecn::CE))] += 1;
            let came = whole.map(|frame| header::read(&frame).expect("a whole packet").ecn);
            assert_eq!(came, wanted, "{codepoints:?}");
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
    }
}
