//! SYN proxy: clients open connections with the proxy, which opens them with the server when a client has answered.
//!
//! A SYN is answered with a cookie (RFC 4987 section 3.6), which costs no state; the client's ACK shows that its address is real,
//! and only then is a SYN sent to the server. The options of the client's SYN come back in the echo of the proxy's timestamp, and
//! the maximum segment size in the cookie. From then on the server's sequence numbers and timestamps are translated to those
//! that the proxy has chosen.

use super::SynProxy;
use crate::conntrack::sequence::shift;
use crate::conntrack::{Direction, Headers, Proxied};
use core::net::IpAddr;
use ip::header::{self, ETHERNET};
use node::{Frame, Time};
use packet::ipv4::protocol;
use packet::tcp::{TcpOption, TcpView, flag};
use siphasher::sip::SipHasher13;

/// Segment sizes that a cookie can carry, bytes: those of Linux.
const SIZES_V4: [u16; 4] = [536, 1300, 1440, 1460];
const SIZES_V6: [u16; 4] = [1220, 1420, 1440, 8940];
/// Time of which a cookie has the number.
const PERIOD: Time = Time::from_secs(60);
/// Periods for which a cookie is good.
const MAX_AGE: u32 = 2;
/// Bits of a timestamp that carry options.
const OPTION_BITS: u32 = 0x3F;
/// Shift that says that the client does not scale.
const NO_SCALE: u8 = 15;
const SELECTIVE_BIT: u32 = 1 << 4;
const MAX_SCALE: u8 = 14;
const TCP_HEADER: usize = 20;
const CHECKSUM: usize = 16;

/// Options of a SYN or SYN-ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size, bytes.
    pub mss: Option<u16>,
    /// Shift of windows.
    pub scale: Option<u8>,
    /// The sender's timestamp, and the echo of the other's.
    pub timestamps: Option<(u32, u32)>,
    /// Whether selective acknowledgements are welcome.
    pub selective: bool,
}

impl Options {
    /// Reads the options of a segment.
    pub fn read(segment: &TcpView) -> Options {
        let mut options = Options::default();
        for option in segment.options() {
            match option {
                TcpOption::MaximumSegment(size) => options.mss = Some(size),
                TcpOption::WindowScale(scale) => options.scale = Some(scale.min(MAX_SCALE)),
                TcpOption::Timestamps(own, echo) => options.timestamps = Some((own, echo)),
                TcpOption::SackPermitted => options.selective = true,
                _ => {}
            }
        }
        options
    }

    /// Appends the options, in Linux's order.
    fn write(&self, frame: &mut Frame) {
        if let Some(mss) = self.mss {
            frame.extend(&[2, 4]);
            frame.extend(&mss.to_be_bytes());
        }
        match (self.timestamps, self.selective) {
            (Some((own, echo)), selective) => {
                frame.extend(if selective { &[4, 2] } else { &[1, 1] });
                frame.extend(&[8, 10]);
                frame.extend(&own.to_be_bytes());
                frame.extend(&echo.to_be_bytes());
            }
            (None, true) => frame.extend(&[1, 1, 4, 2]),
            (None, false) => {}
        }
        if let Some(scale) = self.scale {
            frame.extend(&[1, 3, 3, scale]);
        }
    }
}

/// Counts since the router was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// SYNs of clients, answered with a cookie.
    pub syns: u64,
    /// ACKs with a good cookie: SYNs sent to servers.
    pub valid: u64,
    /// ACKs with another.
    pub invalid: u64,
    /// SYNs that were sent to servers again.
    pub retransmitted: u64,
}

/// A segment to send.
#[derive(Clone, Copy, Debug)]
struct Segment {
    ends: [IpAddr; 2],
    ports: [u16; 2],
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    window: u16,
    options: Options,
}

impl Segment {
    /// Writes the segment as an IP packet into an empty frame.
    fn write(&self, frame: &mut Frame) {
        let [source, destination] = self.ends;
        let at = ETHERNET + header::length(source);
        frame.resize(at + TCP_HEADER);
        frame[..].fill(0);
        let tcp = &mut frame[at..];
        tcp[..2].copy_from_slice(&self.ports[0].to_be_bytes());
        tcp[2..4].copy_from_slice(&self.ports[1].to_be_bytes());
        tcp[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        tcp[8..12].copy_from_slice(&self.acknowledgement.to_be_bytes());
        tcp[13] = self.flags;
        tcp[14..16].copy_from_slice(&self.window.to_be_bytes());
        self.options.write(frame);
        let length = frame.len() - at;
        frame[at + 12] = (length as u8 / 4) << 4;
        header::write(frame, source, destination, protocol::TCP);
        let sum = header::pseudo(source, destination, protocol::TCP).sum(length);
        let sum = sum.plus(&frame[at..]).checksum();
        frame[at + CHECKSUM..at + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The proxy: the key of its cookies, and its counters. It has no other state.
#[derive(Debug)]
pub struct Proxy {
    hasher: SipHasher13,
    /// Counts since the proxy was made.
    pub counters: Counters,
}

impl Proxy {
    /// A proxy whose cookies have this key.
    pub fn new(key: [u64; 2]) -> Proxy {
        Proxy {
            hasher: SipHasher13::new_with_keys(key[0], key[1]),
            counters: Counters::default(),
        }
    }

    fn hash(&self, ends: [IpAddr; 2], ports: [u16; 2], count: u32) -> u32 {
        let mut bytes = [0; 40];
        for (place, end) in ends.into_iter().enumerate() {
            match end {
                IpAddr::V4(end) => bytes[16 * place..][..4].copy_from_slice(&end.octets()),
                IpAddr::V6(end) => bytes[16 * place..][..16].copy_from_slice(&end.octets()),
            }
        }
        bytes[32..34].copy_from_slice(&ports[0].to_be_bytes());
        bytes[34..36].copy_from_slice(&ports[1].to_be_bytes());
        bytes[36..].copy_from_slice(&count.to_be_bytes());
        self.hasher.hash(&bytes) as u32
    }

    /// Sequence number of the SYN-ACK: a secret, the client's number, the period in the highest byte, and the size below.
    fn cookie(&self, now: Time, ends: [IpAddr; 2], ports: [u16; 2], first: u32, size: u32) -> u32 {
        let period = period(now);
        // The first hash is of no period.
        let secret = self.hash(ends, ports, u32::MAX);
        let low = self.hash(ends, ports, period).wrapping_add(size) & 0xFF_FFFF;
        secret
            .wrapping_add(first)
            .wrapping_add(period << 24)
            .wrapping_add(low)
    }

    /// The segment size in a cookie that this proxy has made.
    fn check(
        &self,
        now: Time,
        ends: [IpAddr; 2],
        ports: [u16; 2],
        first: u32,
        cookie: u32,
    ) -> Option<u16> {
        let rest = cookie
            .wrapping_sub(self.hash(ends, ports, u32::MAX))
            .wrapping_sub(first);
        let age = period(now).wrapping_sub(rest >> 24) & 0xFF;
        if age >= MAX_AGE {
            return None;
        }
        let made = period(now).wrapping_sub(age);
        let size = rest.wrapping_sub(self.hash(ends, ports, made)) & 0xFF_FFFF;
        sizes(ends[0]).get(size as usize).copied()
    }

    /// Writes the SYN-ACK that answers a client's SYN into an empty frame.
    pub fn answer(
        &mut self,
        now: Time,
        server: SynProxy,
        headers: &Headers,
        syn: &TcpView,
        frame: &mut Frame,
    ) {
        self.counters.syns += 1;
        let client = Options::read(syn);
        let ends = [headers.source, headers.destination];
        let ports = [syn.source_port(), syn.destination_port()];
        let wanted = client.mss.unwrap_or(0);
        let size = sizes(ends[0])
            .iter()
            .rposition(|size| *size <= wanted)
            .unwrap_or(0);
        let mut options = Options {
            mss: server.mss.filter(|_| client.mss.is_some()),
            ..Options::default()
        };
        if let Some((own, _)) = client.timestamps.filter(|_| server.timestamps) {
            let scales = client.scale.filter(|_| server.scale.is_some());
            options.selective = client.selective && server.selective;
            options.scale = scales.and(server.scale);
            let bits = u32::from(scales.unwrap_or(NO_SCALE))
                | if options.selective { SELECTIVE_BIT } else { 0 };
            options.timestamps = Some((milliseconds(now) & !OPTION_BITS | bits, own));
        }
        let segment = Segment {
            ends: [ends[1], ends[0]],
            ports: [ports[1], ports[0]],
            sequence: self.cookie(now, ends, ports, syn.sequence(), size as u32),
            acknowledgement: syn.sequence().wrapping_add(1),
            flags: flag::SYN | flag::ACK,
            window: 0,
            options,
        };
        segment.write(frame);
    }

    /// Writes the SYN to the server that follows a client's ACK into an empty frame; `false` when the cookie is not good. `first`
    /// is the sequence number after the client's SYN. The acknowledgement of the SYN is the cookie, for [`start`].
    pub fn open(
        &mut self,
        now: Time,
        server: Option<SynProxy>,
        headers: &Headers,
        ack: &TcpView,
        first: u32,
        frame: &mut Frame,
    ) -> bool {
        let ends = [headers.source, headers.destination];
        let ports = [ack.source_port(), ack.destination_port()];
        let cookie = ack.acknowledgement().wrapping_sub(1);
        let syn = first.wrapping_sub(1);
        let Some(mss) = self.check(now, ends, ports, syn, cookie) else {
            self.counters.invalid += 1;
            return false;
        };
        self.counters.valid += 1;
        self.counters.retransmitted += u64::from(server.is_none());
        let mut options = Options {
            mss: Some(mss),
            timestamps: Options::read(ack).timestamps,
            ..Options::default()
        };
        if let Some((_, echo)) = options.timestamps {
            let scale = (echo & 15) as u8;
            options.scale = (scale != NO_SCALE).then_some(scale);
            options.selective = echo & SELECTIVE_BIT != 0;
        }
        let segment = Segment {
            ends,
            ports,
            sequence: syn,
            acknowledgement: cookie,
            flags: flag::SYN,
            window: ack.window(),
            options,
        };
        segment.write(frame);
        true
    }
}

fn period(now: Time) -> u32 {
    (now.as_ps() / PERIOD.as_ps()) as u32
}

fn milliseconds(now: Time) -> u32 {
    (now.as_ps() / Time::from_ms(1).as_ps()) as u32
}

fn sizes(of: IpAddr) -> [u16; 4] {
    match of.is_ipv4() {
        true => SIZES_V4,
        false => SIZES_V6,
    }
}

/// Notes the numbers that the proxy has chosen, from the SYN to the server.
pub fn start(proxied: &mut Proxied, syn: &TcpView) {
    proxied.initial = syn.acknowledgement();
    if let Some((_, echo)) = Options::read(syn).timestamps {
        proxied.timestamp = echo;
    }
}

/// Writes the two segments that follow the server's SYN-ACK, into empty frames: the ACK to the server, and the one to the client
/// that opens its window. `window` is the client's. Returns the translation, which the second segment needs and the first does not.
#[must_use]
pub fn join(
    proxied: &Proxied,
    window: u32,
    headers: &Headers,
    answer: &TcpView,
    [to_server, to_client]: [&mut Frame; 2],
) -> Proxied {
    let read = Options::read(answer);
    let timestamps = |swapped: bool| {
        let (own, echo) = read.timestamps?;
        Some(if swapped { (echo, own) } else { (own, echo) })
    };
    let segment = Segment {
        ends: [headers.destination, headers.source],
        ports: [answer.destination_port(), answer.source_port()],
        sequence: answer.acknowledgement(),
        acknowledgement: answer.sequence().wrapping_add(1),
        flags: flag::ACK,
        window: window.min(0xFFFF) as u16,
        options: Options {
            timestamps: timestamps(true),
            ..Options::default()
        },
    };
    segment.write(to_server);
    let segment = Segment {
        ends: [headers.source, headers.destination],
        ports: [answer.source_port(), answer.destination_port()],
        sequence: answer.sequence().wrapping_add(1),
        acknowledgement: answer.acknowledgement(),
        flags: flag::ACK,
        window: answer.window() >> read.scale.unwrap_or(0),
        options: Options {
            timestamps: timestamps(false),
            ..Options::default()
        },
    };
    segment.write(to_client);
    let mut joined = *proxied;
    if let Some((own, _)) = read.timestamps {
        joined.timestamp_offset = own.wrapping_sub(proxied.timestamp);
    }
    joined.offset = Some(proxied.initial.wrapping_sub(answer.sequence()));
    joined
}

/// Translates the sequence numbers and timestamps of a segment.
pub fn translate(proxied: &Proxied, direction: Direction, tcp: &mut [u8]) {
    let Some(&[flags]) = tcp.get(13..14) else {
        return;
    };
    let end = (usize::from(tcp[12] >> 4) * 4).min(tcp.len());
    let is_reply = direction == Direction::Reply;
    let offset = proxied.offset.unwrap_or(0);
    match is_reply {
        true => shift(tcp, 4, offset),
        false if flags & flag::ACK != 0 => shift(tcp, 8, offset.wrapping_neg()),
        false => {}
    }
    let mut at = TCP_HEADER;
    while at + 1 < end {
        let length = match tcp[at] {
            0 => break,
            1 => 1,
            _ => usize::from(tcp[at + 1]),
        };
        if at + length > end || length == 0 {
            break;
        }
        match (tcp[at], length, is_reply) {
            (8, 10, true) => shift(tcp, at + 2, proxied.timestamp_offset.wrapping_neg()),
            (8, 10, false) => shift(tcp, at + 6, proxied.timestamp_offset),
            (5, 10.., false) if (length - 2).is_multiple_of(8) => {
                for edge in (at + 2..at + length).step_by(4) {
                    shift(tcp, edge, offset.wrapping_neg());
                }
            }
            _ => {}
        }
        at += length;
    }
}
