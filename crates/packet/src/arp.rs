//! ARP for IPv4 over Ethernet (RFC 826), and reverse ARP (RFC 903), which has the same form.

use crate::BadHeader;
use crate::ethernet::{Ethernet, Mac, ethertype};
use crate::field;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// Ethernet, IPv4, and the lengths of their addresses.
const FAMILY: [u8; 6] = [0, 1, 8, 0, 6, 4];

/// What an ARP packet wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Who has the target's address?
    Request,
    /// The sender has its address.
    Reply,
    /// Another, such as those of reverse ARP: 3 asks for the target's IP address, 4 states it.
    Other(u16),
}

/// An ARP packet: its meaning, which is all there is to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// What it wants.
    pub operation: Operation,
    /// The sender's MAC address.
    pub sender_mac: Mac,
    /// The sender's IP address.
    pub sender: Ipv4Addr,
    /// The target's MAC address; zero in a request.
    pub target_mac: Mac,
    /// The target's IP address.
    pub target: Ipv4Addr,
}

impl Arp {
    /// Reads a packet, from behind the Ethernet header; padding may follow.
    ///
    /// # Errors
    /// When it is cut off, or not for IPv4 over Ethernet.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Arp, BadHeader> {
        let (packet, _) = field::split::<28>(bytes, "ARP packet cut off")?;
        if field::bytes::<0, 6, 28>(packet) != FAMILY {
            return Err(BadHeader("ARP for other addresses than IPv4 on Ethernet"));
        }
        let operation = match field::u16::<6, 28>(packet) {
            1 => Operation::Request,
            2 => Operation::Reply,
            other => Operation::Other(other),
        };
        Ok(Arp {
            operation,
            sender_mac: Mac(field::bytes::<8, 6, 28>(packet)),
            sender: Ipv4Addr::from(field::bytes::<14, 4, 28>(packet)),
            target_mac: Mac(field::bytes::<18, 6, 28>(packet)),
            target: Ipv4Addr::from(field::bytes::<24, 4, 28>(packet)),
        })
    }

    /// The question who has `target`.
    pub fn request(sender_mac: Mac, sender: Ipv4Addr, target: Ipv4Addr) -> Arp {
        let (operation, target_mac) = (Operation::Request, Mac::default());
        Arp {
            operation,
            sender_mac,
            sender,
            target_mac,
            target,
        }
    }

    /// The answer to a request: `mac` has the target's address.
    pub fn reply(&self, mac: Mac) -> Arp {
        Arp {
            operation: Operation::Reply,
            sender_mac: mac,
            sender: self.target,
            target_mac: self.sender_mac,
            target: self.sender,
        }
    }

    /// Appends the packet.
    pub fn build(&self, out: &mut Vec<u8>) {
        let operation = match self.operation {
            Operation::Request => 1,
            Operation::Reply => 2,
            Operation::Other(other) => other,
        };
        out.extend(FAMILY);
        out.extend(u16::to_be_bytes(operation));
        out.extend(self.sender_mac.0);
        out.extend(self.sender.octets());
        out.extend(self.target_mac.0);
        out.extend(self.target.octets());
    }

    /// Appends a whole frame, without padding: a request to all, anything else to the target.
    pub fn build_frame(&self, out: &mut Vec<u8>) {
        let destination = match self.operation {
            Operation::Request => Mac::BROADCAST,
            _ => self.target_mac,
        };
        let (source, tags) = (self.sender_mac, &[][..]);
        let header = Ethernet {
            destination,
            source,
            tags,
            ethertype: ethertype::ARP,
        };
        header.build(out, |out| self.build(out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_its_reply_read_back() {
        let (us, them) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        let request = Arp::request(us, [10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let reply = request.reply(them);
        assert_eq!((reply.sender, reply.target_mac), ([10, 0, 0, 2].into(), us));
        for packet in [
            request,
            reply,
            Arp {
                operation: Operation::Other(9),
                ..reply
            },
        ] {
            let mut frame = Vec::new();
            packet.build_frame(&mut frame);
            assert_eq!(Arp::parse(&frame[14..]), Ok(packet));
            frame[15] = 6;
            assert!(Arp::parse(&frame[14..]).is_err());
            assert!(Arp::parse(&frame[14..41]).is_err());
        }
    }
}
