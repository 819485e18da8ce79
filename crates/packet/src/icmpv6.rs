//! ICMPv6 (RFC 4443) and neighbour discovery (RFC 4861).

use crate::BadHeader;
use crate::checksum::Pseudo;
use crate::ethernet::Mac;
use crate::field;
use alloc::vec::Vec;
use core::net::Ipv6Addr;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmpv6 {
    /// A packet, whose beginning is the payload, did not get there.
    Unreachable {
        /// Why: 0 no route, 1 forbidden, 3 address, 4 port ...
        code: u8,
    },
    /// It was too long.
    TooBig {
        /// What would have been short enough, in bytes.
        mtu: u32,
    },
    /// It took too long.
    TimeExceeded {
        /// 0 on its way, 1 when it was put together.
        code: u8,
    },
    /// Are you there?
    EchoRequest {
        /// Which pinger asks.
        identification: u16,
        /// Its how manieth question.
        sequence: u16,
    },
    /// Yes, and what was asked.
    EchoReply {
        /// From the request.
        identification: u16,
        /// From the request.
        sequence: u16,
    },
    /// Who has this address? Options are the payload.
    NeighbourSolicitation {
        /// The address.
        target: Ipv6Addr,
    },
    /// I have. Options are the payload.
    NeighbourAdvertisement {
        /// The address.
        target: Ipv6Addr,
        /// Router, solicited, override: bits 2, 1 and 0.
        flags: u8,
    },
    /// Anything else.
    Other {
        /// Type.
        kind: u8,
        /// Code.
        code: u8,
        /// The four bytes behind the checksum.
        rest: u32,
    },
}

impl Icmpv6 {
    /// Type, code, and the four bytes behind the checksum.
    fn parts(self) -> (u8, u8, u32) {
        let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        match self {
            Icmpv6::Unreachable { code } => (1, code, 0),
            Icmpv6::TooBig { mtu } => (2, 0, mtu),
            Icmpv6::TimeExceeded { code } => (3, code, 0),
            Icmpv6::EchoRequest {
                identification,
                sequence,
            } => (128, 0, pair(identification, sequence)),
            Icmpv6::EchoReply {
                identification,
                sequence,
            } => (129, 0, pair(identification, sequence)),
            Icmpv6::NeighbourSolicitation { .. } => (135, 0, 0),
            Icmpv6::NeighbourAdvertisement { flags, .. } => (136, 0, u32::from(flags) << 29),
            Icmpv6::Other { kind, code, rest } => (kind, code, rest),
        }
    }

    /// Appends the message and then what `payload` appends; fills in the checksum. `pseudo` is that
    /// of the IPv6 header, for protocol 58.
    pub fn build(&self, pseudo: Pseudo, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        let (kind, code, rest) = self.parts();
        out.extend([kind, code, 0, 0]);
        out.extend(rest.to_be_bytes());
        if let Icmpv6::NeighbourSolicitation { target }
        | Icmpv6::NeighbourAdvertisement { target, .. } = self
        {
            out.extend(target.octets());
        }
        payload(out);
        let sum = pseudo.sum(out.len() - start).plus(&out[start..]).checksum();
        field::put_u16(out, start + 2, sum);
    }
}

/// A message whose header - for neighbour discovery, target included - is all there. No method
/// panics.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6View<'a> {
    header: &'a [u8; 8],
    rest: &'a [u8],
    target: Option<Ipv6Addr>,
}

impl<'a> Icmpv6View<'a> {
    /// Looks at a message, which goes to the end of `bytes`. The checksum is not looked at.
    ///
    /// # Errors
    /// When the header is cut off.
    pub fn new(bytes: &'a [u8]) -> Result<Icmpv6View<'a>, BadHeader> {
        let (header, rest) = field::split::<8>(bytes, "ICMPv6 header cut off")?;
        let target = match header[0] {
            135 | 136 => {
                let (target, _) = field::split::<16>(rest, "ICMPv6 target address cut off")?;
                Some(Ipv6Addr::from(*target))
            }
            _ => None,
        };
        Ok(Icmpv6View {
            header,
            rest,
            target,
        })
    }

    /// Its type.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// Its code, whose meaning is that of the type.
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// What it says. Bits that mean nothing in a message are not kept.
    pub fn message(&self) -> Icmpv6 {
        let (identification, sequence) = (
            field::u16::<4, 8>(self.header),
            field::u16::<6, 8>(self.header),
        );
        let (code, rest) = (self.header[1], field::u32::<4, 8>(self.header));
        match (self.header[0], code, self.target) {
            (1, _, _) => Icmpv6::Unreachable { code },
            (2, 0, _) => Icmpv6::TooBig { mtu: rest },
            (3, _, _) => Icmpv6::TimeExceeded { code },
            (128, 0, _) => Icmpv6::EchoRequest {
                identification,
                sequence,
            },
            (129, 0, _) => Icmpv6::EchoReply {
                identification,
                sequence,
            },
            (135, _, Some(target)) => Icmpv6::NeighbourSolicitation { target },
            (136, _, Some(target)) => Icmpv6::NeighbourAdvertisement {
                target,
                flags: (rest >> 29) as u8,
            },
            (kind, _, _) => Icmpv6::Other { kind, code, rest },
        }
    }

    /// The checksum.
    pub fn checksum(&self) -> u16 {
        field::u16::<2, 8>(self.header)
    }

    /// Whether it is right; `pseudo` is that of the IPv6 header, for protocol 58.
    pub fn is_checksum_valid(&self, pseudo: Pseudo) -> bool {
        pseudo
            .sum(8 + self.rest.len())
            .plus(self.header)
            .plus(self.rest)
            .is_valid()
    }

    /// How many bytes the message's own fields have.
    pub fn header_length(&self) -> usize {
        if self.target.is_some() { 24 } else { 8 }
    }

    /// What is behind the message's own fields: data, options, the beginning of a packet.
    pub fn payload(&self) -> &'a [u8] {
        self.rest
            .get(self.header_length() - 8..)
            .unwrap_or_default()
    }

    /// The MAC address in a message of neighbour discovery: the source's in a solicitation, the
    /// target's in an advertisement.
    pub fn link_layer_address(&self) -> Option<Mac> {
        let wanted = match self.message() {
            Icmpv6::NeighbourSolicitation { .. } => 1,
            Icmpv6::NeighbourAdvertisement { .. } => 2,
            _ => return None,
        };
        let mut options = self.payload();
        while let &[kind, length @ 1..=255, ..] = options {
            let option = options.get(..usize::from(length) * 8)?;
            if kind == wanted && length == 1 {
                return option.last_chunk().map(|mac| Mac(*mac));
            }
            options = &options[option.len()..];
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_reads_back() {
        let pseudo = Pseudo::ipv6([1; 16], [2; 16], 58);
        let (identification, sequence, target) = (7, 9, Ipv6Addr::LOCALHOST);
        for (message, mac) in [
            (Icmpv6::Unreachable { code: 4 }, None),
            (Icmpv6::TooBig { mtu: 1280 }, None),
            (Icmpv6::TimeExceeded { code: 0 }, None),
            (
                Icmpv6::EchoRequest {
                    identification,
                    sequence,
                },
                None,
            ),
            (
                Icmpv6::EchoReply {
                    identification,
                    sequence,
                },
                None,
            ),
            (
                Icmpv6::NeighbourSolicitation { target },
                Some(Mac([2, 0, 0, 0, 0, 1])),
            ),
            (
                Icmpv6::NeighbourAdvertisement { target, flags: 6 },
                Some(Mac([2, 0, 0, 0, 0, 2])),
            ),
            (
                Icmpv6::Other {
                    kind: 143,
                    code: 0,
                    rest: 1,
                },
                None,
            ),
        ] {
            let options = [1, 1, 2, 0, 0, 0, 0, 1, 2, 1, 2, 0, 0, 0, 0, 2];
            let mut packet = Vec::new();
            message.build(pseudo, &mut packet, |out| out.extend(options));
            let view = Icmpv6View::new(&packet).unwrap();
            assert_eq!((view.message(), view.payload()), (message, &options[..]));
            assert_eq!(view.link_layer_address(), mac);
            assert!(view.is_checksum_valid(pseudo));
            assert!(Icmpv6View::new(&packet[..7]).is_err());
        }
    }

    #[test]
    fn options_without_sense_hold_no_address() {
        let pseudo = Pseudo::ipv6([1; 16], [2; 16], 58);
        let message = Icmpv6::NeighbourSolicitation {
            target: Ipv6Addr::LOCALHOST,
        };
        for options in [
            &[1][..],
            &[1, 1, 2],
            &[1, 0, 0, 0, 0, 0, 0, 0],
            &[3, 1, 0, 0, 0, 0, 0, 0],
        ] {
            let mut packet = Vec::new();
            message.build(pseudo, &mut packet, |out| out.extend(options));
            assert_eq!(Icmpv6View::new(&packet).unwrap().link_layer_address(), None);
        }
    }
}
