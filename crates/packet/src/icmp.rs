//! ICMP for IPv4 (RFC 792).

use crate::BadHeader;
use crate::checksum::{Sum, checksum};
use crate::field;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmp {
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
    /// A packet, whose beginning is the payload, did not get there.
    Unreachable {
        /// Why: 0 net, 1 host, 2 protocol, 3 port, 4 too long ...
        code: u8,
        /// With code 4: what would have been short enough, in bytes (RFC 1191).
        mtu: u16,
    },
    /// There is a better way.
    Redirect {
        /// For what: 0 net, 1 host ...
        code: u8,
        /// By this router.
        gateway: Ipv4Addr,
    },
    /// A packet, whose beginning is the payload, took too long.
    TimeExceeded {
        /// 0 on its way, 1 when it was put together.
        code: u8,
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

impl Icmp {
    /// Type, code, and the four bytes behind the checksum.
    fn parts(self) -> (u8, u8, u32) {
        let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        match self {
            Icmp::EchoReply {
                identification,
                sequence,
            } => (0, 0, pair(identification, sequence)),
            Icmp::Unreachable { code, mtu } => (3, code, mtu.into()),
            Icmp::Redirect { code, gateway } => (5, code, gateway.to_bits()),
            Icmp::EchoRequest {
                identification,
                sequence,
            } => (8, 0, pair(identification, sequence)),
            Icmp::TimeExceeded { code } => (11, code, 0),
            Icmp::Other { kind, code, rest } => (kind, code, rest),
        }
    }

    /// Appends the message and then what `payload` appends; fills in the checksum.
    pub fn build(&self, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        let (kind, code, rest) = self.parts();
        out.extend([kind, code, 0, 0]);
        out.extend(rest.to_be_bytes());
        payload(out);
        let sum = checksum(&out[start..]);
        field::put_u16(out, start + 2, sum);
    }
}

/// A message whose header is all there. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct IcmpView<'a> {
    header: &'a [u8; 8],
    payload: &'a [u8],
}

impl<'a> IcmpView<'a> {
    /// Looks at a message, which goes to the end of `bytes`. The checksum is not looked at.
    ///
    /// # Errors
    /// When the header is cut off.
    pub fn new(bytes: &'a [u8]) -> Result<IcmpView<'a>, BadHeader> {
        let (header, payload) = field::split::<8>(bytes, "ICMP header cut off")?;
        Ok(IcmpView { header, payload })
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
    pub fn message(&self) -> Icmp {
        let (identification, sequence) = (
            field::u16::<4, 8>(self.header),
            field::u16::<6, 8>(self.header),
        );
        let (code, rest) = (self.header[1], field::u32::<4, 8>(self.header));
        match (self.header[0], code) {
            (0, 0) => Icmp::EchoReply {
                identification,
                sequence,
            },
            (3, _) => Icmp::Unreachable {
                code,
                mtu: sequence,
            },
            (5, _) => Icmp::Redirect {
                code,
                gateway: Ipv4Addr::from_bits(rest),
            },
            (8, 0) => Icmp::EchoRequest {
                identification,
                sequence,
            },
            (11, _) => Icmp::TimeExceeded { code },
            (kind, _) => Icmp::Other { kind, code, rest },
        }
    }

    /// The checksum.
    pub fn checksum(&self) -> u16 {
        field::u16::<2, 8>(self.header)
    }

    /// Whether it is right.
    pub fn is_checksum_valid(&self) -> bool {
        Sum::default()
            .plus(self.header)
            .plus(self.payload)
            .is_valid()
    }

    /// What is behind the first eight bytes: an echo's data, or the beginning of the packet that
    /// is talked about.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_reads_back() {
        let (identification, sequence) = (7, 9);
        for message in [
            Icmp::EchoRequest {
                identification,
                sequence,
            },
            Icmp::EchoReply {
                identification,
                sequence,
            },
            Icmp::Unreachable { code: 4, mtu: 1400 },
            Icmp::Redirect {
                code: 1,
                gateway: Ipv4Addr::new(10, 0, 0, 1),
            },
            Icmp::TimeExceeded { code: 0 },
            Icmp::Other {
                kind: 13,
                code: 0,
                rest: 0x0102_0304,
            },
        ] {
            let mut packet = Vec::new();
            message.build(&mut packet, |out| out.extend(b"payload"));
            let view = IcmpView::new(&packet).unwrap();
            assert_eq!((view.message(), view.payload()), (message, &b"payload"[..]));
            assert!(view.is_checksum_valid());
            assert!(IcmpView::new(&packet[..7]).is_err());
        }
    }
}
