//! Fields of an answer's headers, as archives of traces record them.

use ip::header::{ETHERNET, ICMP, ICMPV6, Packet, TCP};

const ICMP_HEADER: usize = 8;

/// Fields of an answer's IP header, and of its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// TTL or hop limit with which it arrived.
    pub ttl: u8,
    /// TOS or traffic class.
    pub traffic_class: u8,
    /// Bytes of the packet from the IP header on.
    pub length: u16,
    /// Identification of IPv4.
    pub identification: Option<u16>,
    /// Message in the packet.
    pub message: Message,
}

/// Message of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// ICMP, or ICMPv6 after IPv6: type and code, and the probe as an error quotes it.
    Icmp([u8; 2], Option<Quote>),
    /// A TCP segment, with its flags.
    Tcp(u8),
}

impl Default for Message {
    fn default() -> Message {
        Message::Icmp([0, 0], None)
    }
}

/// IP header of a probe, as an ICMP error quotes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quote {
    /// TTL or hop limit with which the probe arrived.
    pub ttl: u8,
    /// TOS or traffic class.
    pub traffic_class: u8,
    /// Bytes of the packet from the IP header on.
    pub length: u16,
}

impl Envelope {
    /// Reads a whole packet in a frame; `is_error` says that the ICMP message quotes a packet.
    pub(super) fn read(frame: &[u8], packet: &Packet, is_error: bool) -> Option<Envelope> {
        let is_v4 = packet.source.is_ipv4();
        let outer = quote(frame.get(ETHERNET..packet.end)?, is_v4)?;
        let payload = frame.get(packet.payload..packet.end)?;
        let message = match packet.protocol {
            TCP => Message::Tcp(*payload.get(13)?),
            ICMP | ICMPV6 => {
                let quoted = payload.get(ICMP_HEADER..).filter(|_| is_error);
                let quoted = quoted.and_then(|quoted| quote(quoted, is_v4));
                Message::Icmp([*payload.first()?, *payload.get(1)?], quoted)
            }
            _ => return None,
        };
        let identification = [frame[ETHERNET + 4], frame[ETHERNET + 5]];
        Some(Envelope {
            ttl: outer.ttl,
            traffic_class: outer.traffic_class,
            length: outer.length,
            identification: is_v4.then(|| u16::from_be_bytes(identification)),
            message,
        })
    }
}

/// Fields of an IP header.
fn quote(ip: &[u8], is_v4: bool) -> Option<Quote> {
    let header = ip.get(..if is_v4 { 20 } else { 40 })?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    Some(match is_v4 {
        true => Quote {
            ttl: header[8],
            traffic_class: header[1],
            length: word(2),
        },
        false => Quote {
            ttl: header[7],
            traffic_class: (word(0) >> 4) as u8,
            length: word(4).saturating_add(40),
        },
    })
}
