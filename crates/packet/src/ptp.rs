//! PTP, the Precision Time Protocol (IEEE 1588-2019): the messages, over Ethernet (annex E) and over UDP and IPv4 (annex C).
//!
//! Version 2 of the protocol, whatever its minor version; TLVs behind a message are passed over.

use crate::BadHeader;
use crate::ethernet::{Ethernet, Mac, ethertype};
use crate::ip::upper_layer;
use crate::ipv4::{Ipv4, protocol};
use crate::udp::Udp;
use crate::vlan::untagged;
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;

/// Its type in an Ethernet header.
pub const ETHERTYPE: u16 = 0x88F7;
/// To which all messages go but those of [`PEER_GROUP`].
pub const GROUP: Mac = Mac([0x01, 0x1B, 0x19, 0, 0, 0]);
/// To which those go that measure a link's delay: no bridge forwards it.
pub const PEER_GROUP: Mac = Mac([0x01, 0x80, 0xC2, 0, 0, 0x0E]);
/// UDP port of messages that are stamped, and of all others.
pub const EVENT_PORT: u16 = 319;
/// UDP port of messages that are not stamped.
pub const GENERAL_PORT: u16 = 320;
/// Flag: the time of departure comes in another message.
pub const TWO_STEP: u16 = 0x0200;
/// Flag: the timescale is that of PTP, which counts TAI seconds since 1970.
pub const TIMESCALE: u16 = 0x0008;
/// Flag: TAI less UTC is known.
pub const UTC_OFFSET_VALID: u16 = 0x0004;
/// The flags of an Announce that tell of the grandmaster's time, and not of who sends the message: those two, leap seconds, and what is traceable.
pub const TIME_FLAGS: u16 = 0x003F;
/// Bytes of the header.
const HEADER: usize = 34;

/// What names a clock: an EUI-64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClockIdentity(pub [u8; 8]);

impl ClockIdentity {
    /// The one made from a MAC address, as 7.5.2.2.2 of the edition of 2008 has it and as linuxptp makes it.
    pub const fn of(Mac([a, b, c, d, e, f]): Mac) -> ClockIdentity {
        ClockIdentity([a, b, c, 0xFF, 0xFE, d, e, f])
    }
}

impl fmt::Display for ClockIdentity {
    /// As linuxptp writes it: `020000.fffe.000001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = u64::from_be_bytes(self.0);
        let (high, middle, low) = (number >> 40, number >> 24 & 0xFFFF, number & 0xFF_FFFF);
        write!(f, "{high:06x}.{middle:04x}.{low:06x}")
    }
}

/// A port of a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortIdentity {
    /// The clock.
    pub clock: ClockIdentity,
    /// Its port, from 1.
    pub port: u16,
}

/// A time: seconds and nanoseconds since the epoch of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Of which a message carries 48 bits.
    pub seconds: u64,
    /// Below 1,000,000,000.
    pub nanoseconds: u32,
}

impl Timestamp {
    const BYTES: usize = 10;

    fn parse(bytes: &[u8; Timestamp::BYTES]) -> Result<Timestamp, BadHeader> {
        let [a, b, c, d, e, f, nanoseconds @ ..] = *bytes;
        let time = Timestamp {
            seconds: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
            nanoseconds: u32::from_be_bytes(nanoseconds),
        };
        match time.nanoseconds < 1_000_000_000 {
            true => Ok(time),
            false => Err(BadHeader("PTP timestamp of more than 999,999,999 ns")),
        }
    }

    fn build(self, out: &mut Vec<u8>) {
        out.extend(&self.seconds.to_be_bytes()[2..]);
        out.extend(self.nanoseconds.to_be_bytes());
    }
}

/// How good a clock says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quality {
    /// 6 for one set by a primary reference, 248 by default, 255 for one that is only a slave.
    pub class: u8,
    /// A code: 0x21 for 100 ns, 0xFE for unknown.
    pub accuracy: u8,
    /// Scaled, 0xFFFF for unknown.
    pub variance: u16,
}

/// What an Announce message says of who sends it, and of the grandmaster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announce {
    /// TAI less UTC, seconds.
    pub utc_offset: i16,
    /// The grandmaster's first priority: the lower, the better.
    pub priority1: u8,
    /// The grandmaster's quality.
    pub quality: Quality,
    /// The grandmaster's second priority.
    pub priority2: u8,
    /// The grandmaster.
    pub grandmaster: ClockIdentity,
    /// Clocks between the grandmaster and who receives this, less one.
    pub steps_removed: u16,
    /// Where the grandmaster has its time from: 0xA0 for an oscillator of its own.
    pub time_source: u8,
}

/// What a message says behind its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// From a master: when this left, or about when.
    Sync(Timestamp),
    /// From a slave, which notes when this leaves.
    DelayReq(Timestamp),
    /// From one end of a link to the other.
    PdelayReq(Timestamp),
    /// When that request came, and whose it was.
    PdelayResp(Timestamp, PortIdentity),
    /// When the Sync of this number left.
    FollowUp(Timestamp),
    /// When a Delay_Req came, and whose it was.
    DelayResp(Timestamp, PortIdentity),
    /// When the answer left, and whose request it answered.
    PdelayRespFollowUp(Timestamp, PortIdentity),
    /// What a master is worth.
    Announce(Timestamp, Announce),
    /// Signaling and management, which are not read.
    Other(u8),
}

impl Body {
    /// The message's type, in the low 4 bits.
    pub fn kind(&self) -> u8 {
        match self {
            Body::Sync(_) => 0x0,
            Body::DelayReq(_) => 0x1,
            Body::PdelayReq(_) => 0x2,
            Body::PdelayResp(..) => 0x3,
            Body::FollowUp(_) => 0x8,
            Body::DelayResp(..) => 0x9,
            Body::PdelayRespFollowUp(..) => 0xA,
            Body::Announce(..) => 0xB,
            Body::Other(kind) => *kind & 0xF,
        }
    }

    /// The standard's name of it.
    pub fn name(&self) -> &'static str {
        match self.kind() {
            0x0 => "Sync",
            0x1 => "Delay_Req",
            0x2 => "Pdelay_Req",
            0x3 => "Pdelay_Resp",
            0x8 => "Follow_Up",
            0x9 => "Delay_Resp",
            0xA => "Pdelay_Resp_Follow_Up",
            0xB => "Announce",
            0xC => "Signaling",
            0xD => "Management",
            _ => "reserved message",
        }
    }

    /// Whether messages of the type are stamped when they leave and come.
    pub fn is_event(&self) -> bool {
        self.kind() < 0x8
    }

    /// Whether messages of the type concern one link alone.
    pub fn is_peer(&self) -> bool {
        matches!(self.kind(), 0x2 | 0x3 | 0xA)
    }

    /// What hardware of version 1 looks at instead of the type (table 42 of the edition of 2008).
    fn control(&self) -> u8 {
        match self.kind() {
            0x0 => 0,
            0x1 => 1,
            0x8 => 2,
            0x9 => 3,
            0xD => 4,
            _ => 5,
        }
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which standard uses the message: 12 bits, 0 for IEEE 1588 itself, 0x100 for gPTP (802.1AS).
    pub sdo: u16,
    /// The minor version: 1 for the edition of 2019, 0 for that of 2008. 4 bits.
    pub minor_version: u8,
    /// The domain: clocks of one take no notice of another.
    pub domain: u8,
    /// [`TWO_STEP`] and others.
    pub flags: u16,
    /// What is to be added to the time in it: 2^-16 ns.
    pub correction: i64,
    /// Four bytes whose meaning depends on the type.
    pub specific: [u8; 4],
    /// Who sends it.
    pub source: PortIdentity,
    /// Its number.
    pub sequence: u16,
    /// The mean interval between messages of its type, as a power of two of a second.
    pub log_interval: i8,
    /// The rest.
    pub body: Body,
}

impl Message {
    /// One of this domain, of the standard's own use.
    pub const fn new(domain: u8, source: PortIdentity, sequence: u16, body: Body) -> Message {
        Message {
            sdo: 0,
            minor_version: 1,
            domain,
            flags: 0,
            correction: 0,
            specific: [0; 4],
            source,
            sequence,
            log_interval: 0x7F,
            body,
        }
    }

    /// Reads a message; padding may follow.
    ///
    /// # Errors
    /// When it is cut off, of another version, or its length is not that of its type.
    pub fn parse(bytes: &[u8]) -> Result<Message, BadHeader> {
        const SHORT: BadHeader = BadHeader("PTP message cut off");
        let header = bytes.first_chunk::<HEADER>().ok_or(SHORT)?;
        if header[1] & 0xF != 2 {
            return Err(BadHeader("PTP of another version than 2"));
        }
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let body = bytes.get(HEADER..length).ok_or(SHORT)?;
        let time = || match body.first_chunk() {
            Some(bytes) => Timestamp::parse(bytes),
            None => Err(SHORT),
        };
        let port = || match body.get(10..).and_then(|rest| rest.first_chunk::<10>()) {
            Some(bytes) => Ok(identity(bytes)),
            None => Err(SHORT),
        };
        let body = match header[0] & 0xF {
            0x0 => Body::Sync(time()?),
            0x1 => Body::DelayReq(time()?),
            0x2 => Body::PdelayReq(time()?),
            0x3 => Body::PdelayResp(time()?, port()?),
            0x8 => Body::FollowUp(time()?),
            0x9 => Body::DelayResp(time()?, port()?),
            0xA => Body::PdelayRespFollowUp(time()?, port()?),
            0xB => Body::Announce(time()?, announce(body.first_chunk().ok_or(SHORT)?)),
            other => Body::Other(other),
        };
        let [.., log_interval] = *header;
        Ok(Message {
            sdo: u16::from(header[0] >> 4) << 8 | u16::from(header[5]),
            minor_version: header[1] >> 4,
            domain: header[4],
            flags: u16::from_be_bytes([header[6], header[7]]),
            correction: i64::from_be_bytes(chunk(header, 8)),
            specific: chunk(header, 16),
            source: identity(&chunk(header, 20)),
            sequence: u16::from_be_bytes([header[30], header[31]]),
            log_interval: log_interval as i8,
            body,
        })
    }

    /// Appends the message. Of those that are not read only the header.
    pub fn build(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let [major_sdo, minor_sdo] = (self.sdo & 0xFFF).to_be_bytes();
        out.push(major_sdo << 4 | self.body.kind());
        out.push(self.minor_version << 4 | 2);
        out.extend([0, 0, self.domain, minor_sdo]);
        out.extend(self.flags.to_be_bytes());
        out.extend(self.correction.to_be_bytes());
        out.extend(self.specific);
        self.source.build(out);
        out.extend(self.sequence.to_be_bytes());
        out.extend([self.body.control(), self.log_interval as u8]);
        match self.body {
            Body::Sync(time) | Body::DelayReq(time) | Body::FollowUp(time) => time.build(out),
            Body::PdelayReq(time) => {
                time.build(out);
                out.extend([0; 10]);
            }
            Body::PdelayResp(time, port)
            | Body::DelayResp(time, port)
            | Body::PdelayRespFollowUp(time, port) => {
                time.build(out);
                port.build(out);
            }
            Body::Announce(time, announce) => {
                time.build(out);
                announce.build(out);
            }
            Body::Other(_) => {}
        }
        let length = (out.len() - start) as u16;
        out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Appends a whole frame, without padding, to the group that messages of its type go to.
    pub fn build_frame(&self, source: Mac, over: Over, out: &mut Vec<u8>) {
        let peer = self.body.is_peer();
        let (destination, kind) = match over {
            Over::Ethernet if peer => (PEER_GROUP, ETHERTYPE),
            Over::Ethernet => (GROUP, ETHERTYPE),
            Over::Udp(_) => (group_mac(group(peer)), ethertype::IPV4),
        };
        let header = Ethernet {
            destination,
            source,
            tags: &[],
            ethertype: kind,
        };
        header.build(out, |out| match over {
            Over::Ethernet => self.build(out),
            Over::Udp(address) => {
                let mut ip = Ipv4::new(address, group(peer), protocol::UDP);
                ip.hop_limit = 1;
                let port = match self.body.is_event() {
                    true => EVENT_PORT,
                    false => GENERAL_PORT,
                };
                let udp = Udp {
                    source_port: port,
                    destination_port: port,
                };
                ip.build(out, |out| {
                    udp.build(ip.pseudo(), out, |out| self.build(out))
                });
            }
        });
    }
}

/// What carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Ethernet.
    Ethernet,
    /// UDP and IPv4, from this address.
    Udp(Ipv4Addr),
}

/// 224.0.1.129, and for what concerns one link 224.0.0.107.
fn group(peer: bool) -> Ipv4Addr {
    match peer {
        true => Ipv4Addr::new(224, 0, 0, 107),
        false => Ipv4Addr::new(224, 0, 1, 129),
    }
}

/// The MAC address of a group (RFC 1112 section 6.4).
fn group_mac(group: Ipv4Addr) -> Mac {
    let [_, b, c, d] = group.octets();
    Mac([0x01, 0x00, 0x5E, b & 0x7F, c, d])
}

/// Where the message in a frame begins, and whether it came over Ethernet itself; `None` for a frame without one. Nothing of the
/// message is looked at.
pub fn find(frame: &[u8]) -> Option<(usize, bool)> {
    let (kind, packet) = untagged(frame)?;
    if kind == ETHERTYPE {
        return Some((frame.len() - packet.len(), true));
    }
    if kind != ethertype::IPV4 {
        return None;
    }
    let (protocol::UDP, at) = upper_layer(frame)? else {
        return None;
    };
    let port = u16::from_be_bytes(*frame.get(at + 2..)?.first_chunk()?);
    let is_ptp = matches!(port, EVENT_PORT | GENERAL_PORT);
    (is_ptp && frame.len() >= at + 8).then_some((at + 8, false))
}

/// Adds to the correction of a message that begins at `at` of a frame, which has to be a whole one. The sum saturates. A UDP checksum
/// before it is given up: IPv4 allows that.
pub fn correct(frame: &mut [u8], (at, ethernet): (usize, bool), by: i64) {
    if let Some(field) = frame.get_mut(at + 8..at + 16) {
        let bytes: [u8; 8] = core::array::from_fn(|n| field[n]);
        let sum = i64::from_be_bytes(bytes).saturating_add(by);
        field.copy_from_slice(&sum.to_be_bytes());
        if !ethernet {
            frame[at - 2..at].fill(0);
        }
    }
}

fn chunk<const N: usize>(header: &[u8; HEADER], at: usize) -> [u8; N] {
    core::array::from_fn(|n| header[at + n])
}

fn identity(bytes: &[u8; 10]) -> PortIdentity {
    PortIdentity {
        clock: ClockIdentity(core::array::from_fn(|n| bytes[n])),
        port: u16::from_be_bytes([bytes[8], bytes[9]]),
    }
}

impl PortIdentity {
    fn build(self, out: &mut Vec<u8>) {
        out.extend(self.clock.0);
        out.extend(self.port.to_be_bytes());
    }
}

/// What an Announce message has from its timestamp on.
fn announce(body: &[u8; 30]) -> Announce {
    let half = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    Announce {
        utc_offset: half(10) as i16,
        priority1: body[13],
        quality: Quality {
            class: body[14],
            accuracy: body[15],
            variance: half(16),
        },
        priority2: body[18],
        grandmaster: ClockIdentity(core::array::from_fn(|n| body[19 + n])),
        steps_removed: half(27),
        time_source: body[29],
    }
}

impl Announce {
    fn build(&self, out: &mut Vec<u8>) {
        let Quality {
            class,
            accuracy,
            variance,
        } = self.quality;
        out.extend(self.utc_offset.to_be_bytes());
        out.extend([0, self.priority1, class, accuracy]);
        out.extend(variance.to_be_bytes());
        out.push(self.priority2);
        out.extend(self.grandmaster.0);
        out.extend(self.steps_removed.to_be_bytes());
        out.push(self.time_source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Timestamp = Timestamp {
        seconds: 0x1234_5678_9ABC,
        nanoseconds: 999_999_999,
    };
    const PORT: PortIdentity = PortIdentity {
        clock: ClockIdentity::of(Mac([2, 0, 0, 0, 0, 7])),
        port: 3,
    };

    fn all() -> [Message; 8] {
        let announce = Announce {
            utc_offset: 37,
            priority1: 127,
            quality: Quality {
                class: 6,
                accuracy: 0x21,
                variance: 0x4E5D,
            },
            priority2: 128,
            grandmaster: ClockIdentity([1, 2, 3, 4, 5, 6, 7, 8]),
            steps_removed: 2,
            time_source: 0x20,
        };
        [
            Body::Sync(TIME),
            Body::DelayReq(TIME),
            Body::PdelayReq(TIME),
            Body::PdelayResp(TIME, PORT),
            Body::FollowUp(TIME),
            Body::DelayResp(TIME, PORT),
            Body::PdelayRespFollowUp(TIME, PORT),
            Body::Announce(TIME, announce),
        ]
        .map(|body| Message {
            flags: TWO_STEP,
            correction: -5 << 16,
            log_interval: -3,
            ..Message::new(24, PORT, 0xFFFE, body)
        })
    }

    #[test]
    fn every_message_reads_back_over_ethernet_and_over_udp() {
        let lengths = [44, 44, 54, 54, 44, 54, 54, 64];
        for (message, length) in all().into_iter().zip(lengths) {
            for over in [Over::Ethernet, Over::Udp([10, 0, 0, 1].into())] {
                let mut frame = Vec::new();
                message.build_frame(Mac([2, 0, 0, 0, 0, 7]), over, &mut frame);
                let (at, ethernet) = find(&frame).expect("PTP");
                assert_eq!(ethernet, over == Over::Ethernet);
                assert_eq!(frame.len() - at, length, "{}", message.body.name());
                assert_eq!(Message::parse(&frame[at..]), Ok(message));
                correct(&mut frame, (at, ethernet), 7 << 16);
                let corrected = Message::parse(&frame[at..]).unwrap();
                assert_eq!(corrected.correction, 2 << 16);
                // Padding is no part of it; what is cut off is no message.
                frame.extend([0xFF; 9]);
                assert_eq!(Message::parse(&frame[at..]), Ok(corrected));
                let cut = &frame[at..at + length - 1];
                assert!(Message::parse(cut).is_err());
            }
        }
    }

    #[test]
    fn what_is_no_message_of_version_2_is_refused() {
        let mut bytes = Vec::new();
        all()[0].build(&mut bytes);
        let with = |at: usize, byte: u8| {
            let mut changed = bytes.clone();
            changed[at] = byte;
            Message::parse(&changed)
        };
        assert!(with(1, 0x01).is_err(), "version 1");
        assert!(with(3, 33).is_err(), "a length below the header's");
        assert!(with(40, 0x3C).is_err(), "more than a second of nanoseconds");
        assert_eq!(with(0, 0x0D).unwrap().body, Body::Other(0xD));
        assert_eq!(find(&[0; 60]), None);
    }

    #[test]
    fn an_identity_is_written_as_linuxptp_writes_it() {
        let shown = alloc::string::ToString::to_string(&PORT.clock);
        assert_eq!(shown, "020000.fffe.000007");
    }
}
