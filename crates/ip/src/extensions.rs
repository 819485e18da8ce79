//! Extension headers of IPv6 with options, hop-by-hop and for the destination (RFC 8200 sections 4.2, 4.3 and 4.6), with the rules
//! of Linux (`ip6_parse_tlv`).

use packet::ipv4::protocol;

/// Bytes of an IPv6 header, and the offset of the byte in it that names what follows.
const HEADER: usize = 40;
const NEXT_HEADER: usize = 6;
/// One byte of padding; any number of bytes; router alert.
const PAD: u8 = 0;
const PAD_MORE: u8 = 1;
const ROUTER_ALERT: u8 = 5;
/// Security label (RFC 5570); in situ measurement (RFC 9486), which begins at a multiple of four bytes.
const CALIPSO: u8 = 7;
const IOAM: u8 = 0x31;
/// Maximum number of bytes of padding in a row: more are a covert channel (RFC 4942 section 2.1.9.5).
const MAX_PADDING: usize = 7;

/// Reason for which a packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is dropped without an error.
    Silent,
    /// Its sender gets an error about the option at this offset in the packet, bytes.
    Option(u32),
}

/// The upper layer of a packet, after headers with options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// Its protocol, or another extension header.
    pub protocol: u8,
    /// Offset in the packet, bytes.
    pub at: usize,
    /// Offset of the byte that names the protocol.
    pub named: usize,
}

impl Upper {
    /// The upper layer of a whole packet.
    pub fn of(packet: &[u8]) -> Upper {
        let mut upper = Upper {
            protocol: packet.get(NEXT_HEADER).copied().unwrap_or(protocol::NONE),
            at: HEADER,
            named: NEXT_HEADER,
        };
        while let Some(length) = upper.options(packet).map(<[u8]>::len) {
            upper = Upper {
                protocol: packet[upper.at],
                at: upper.at + length,
                named: upper.at,
            };
        }
        upper
    }

    /// The header with options that begins here, if there is one, whole: hop-by-hop options come first of all.
    fn options<'a>(&self, packet: &'a [u8]) -> Option<&'a [u8]> {
        match self.protocol {
            protocol::HOP_BY_HOP if self.at == HEADER => {}
            protocol::DESTINATION => {}
            _ => return None,
        }
        let words = usize::from(*packet.get(self.at + 1)?);
        packet.get(self.at..self.at + 8 + 8 * words)
    }
}

/// Reason for which a router does not send a packet on because of its hop-by-hop options.
pub fn refusal(packet: &[u8]) -> Option<Refusal> {
    match packet.get(NEXT_HEADER) {
        Some(&protocol::HOP_BY_HOP) => refusal_at(packet, HEADER),
        _ => None,
    }
}

/// Reason for which the receiver does not take a packet because of its options.
pub(crate) fn refusal_of_receiver(packet: &[u8]) -> Option<Refusal> {
    let mut upper = Upper {
        protocol: *packet.get(NEXT_HEADER)?,
        at: HEADER,
        named: NEXT_HEADER,
    };
    while let Some(header) = upper.options(packet) {
        if let Some(refusal) = refusal_at(packet, upper.at) {
            return Some(refusal);
        }
        upper = Upper {
            protocol: header[0],
            at: upper.at + header.len(),
            named: upper.at,
        };
    }
    None
}

fn refusal_at(packet: &[u8], start: usize) -> Option<Refusal> {
    let length = packet
        .get(start + 1)
        .map(|words| 8 + 8 * usize::from(*words));
    let Some(options) = length.and_then(|length| packet.get(start..start + length)) else {
        return Some(Refusal::Silent);
    };
    let (mut at, mut padding) = (2, 0);
    while at < options.len() {
        let kind = options[at];
        if kind == PAD {
            at += 1;
            padding += 1;
            if padding > MAX_PADDING {
                return Some(Refusal::Silent);
            }
            continue;
        }
        let size = options.get(at + 1).map(|size| usize::from(*size) + 2);
        let Some(option) = size.and_then(|size| options.get(at..at + size)) else {
            return Some(Refusal::Silent);
        };
        let bad = Some(Refusal::Option((start + at) as u32));
        match kind {
            PAD_MORE => {
                padding += option.len();
                if padding > MAX_PADDING || option[2..].iter().any(|byte| *byte != 0) {
                    return Some(Refusal::Silent);
                }
            }
            ROUTER_ALERT if option.len() == 4 => padding = 0,
            ROUTER_ALERT => return Some(Refusal::Silent),
            // No domain of labels is known.
            CALIPSO => return Some(Refusal::Silent),
            IOAM if !(start + at).is_multiple_of(4) => return Some(Refusal::Silent),
            // The two highest bits of an unknown option say what becomes of the packet.
            _ => match kind >> 6 {
                0 => padding = 0,
                1 => return Some(Refusal::Silent),
                _ => return bad,
            },
        }
        at += option.len();
    }
    None
}
