//! Packets without Ethernet, and Linux's cooked header (SLL2), which says in its place what the kernel knows.

use alloc::vec::Vec;

/// The link type of cooked packets: [`Cooked`].
pub const LINUX_SLL2: u16 = 276;
/// The older form of it, which does not name the interface.
pub const LINUX_SLL: u16 = 113;
/// The link type of packets behind the family of their addresses, in the byte order of the machine
/// that wrote them.
pub const NULL: u16 = 0;
/// The same in the order of networks.
pub const LOOP: u16 = 108;
/// The link type of packets that begin with their IP header, of either version.
pub const RAW: u16 = 101;
const IPV4: u16 = 228;
const IPV6: u16 = 229;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
/// What Linux calls 802.2 behind a length in place of a type.
const LLC: u16 = 4;
/// The same without 802.2, as Novell sent IPX.
const NOVELL: u16 = 1;

/// Bytes of an Ethernet header.
const HEADER: usize = 14;

/// What stands before a packet of link type [`LINUX_SLL2`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cooked {
    /// The protocol of what follows: an EtherType, mostly.
    pub protocol: u16,
    /// The number of the interface.
    pub interface: u32,
    /// The kind of the interface, an ARPHRD number.
    pub kind: u16,
    /// Whom the packet is for: PACKET_HOST and so on, from 0.
    pub direction: u8,
    /// Bytes of the sender's address, of which no more than eight are kept.
    pub address_len: u8,
    /// The sender's address.
    pub address: [u8; 8],
}

impl Cooked {
    /// Bytes that it takes.
    pub const LENGTH: usize = 20;

    /// As it stands in a file.
    pub fn bytes(&self) -> [u8; Cooked::LENGTH] {
        let mut bytes = [0; Cooked::LENGTH];
        bytes[..2].copy_from_slice(&self.protocol.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.interface.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.kind.to_be_bytes());
        bytes[10] = self.direction;
        bytes[11] = self.address_len;
        bytes[12..].copy_from_slice(&self.address);
        bytes
    }
}

/// Whether packets of a link type begin with their IP header, of either version: [`RAW`], or the
/// numbers 12 and 14 that systems have for it themselves, and that some programs wrote to files.
pub const fn is_raw_ip(link_type: u16) -> bool {
    matches!(link_type, RAW | 12 | 14)
}

/// Whether packets of a link type may have an Ethernet frame made of them.
pub const fn has_ethernet(link_type: u16) -> bool {
    is_raw_ip(link_type)
        || matches!(
            link_type,
            NULL | LOOP | IPV4 | IPV6 | LINUX_SLL | LINUX_SLL2
        )
}

/// Makes an Ethernet frame of a packet of another link type, in `frame`: with the sender's address if that is known, and zeros in
/// place of what is not, as on the loopback. Tells the bytes that stood before its content; `None` where none can be made.
pub fn put_ethernet(link_type: u16, packet: &[u8], frame: &mut Vec<u8>) -> Option<usize> {
    let half = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let mut source = [0; 6];
    let (header, protocol) = match link_type {
        _ if is_raw_ip(link_type) || matches!(link_type, IPV4 | IPV6) => {
            match packet.first()? >> 4 {
                4 => (0, ETHERTYPE_IPV4),
                6 => (0, ETHERTYPE_IPV6),
                _ => return None,
            }
        }
        // The family in the byte order of the machine that wrote it, and as its system counts.
        NULL | LOOP => match (packet.first()?, packet.get(3)?) {
            (2, 0) | (0, 2) => (4, ETHERTYPE_IPV4),
            (24 | 28 | 30, 0) | (0, 24 | 28 | 30) => (4, ETHERTYPE_IPV6),
            _ => return None,
        },
        LINUX_SLL => {
            if half(4)? == 6 {
                source.copy_from_slice(packet.get(6..12)?);
            }
            (16, half(14)?)
        }
        LINUX_SLL2 => {
            if *packet.get(11)? == 6 {
                source.copy_from_slice(packet.get(12..18)?);
            }
            (Cooked::LENGTH, half(0)?)
        }
        _ => return None,
    };
    let content = packet.get(header..)?;
    let kind = match protocol {
        LLC | NOVELL => u16::try_from(content.len())
            .ok()
            .filter(|&len| len <= 1500)?,
        // Numbers below are Linux's own, of CAN and others that no Ethernet carries.
        0x0600.. => protocol,
        _ => return None,
    };
    frame.clear();
    frame.reserve(HEADER + content.len());
    frame.extend([0; 6]);
    frame.extend(source);
    frame.extend(kind.to_be_bytes());
    frame.extend_from_slice(content);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(link_type: u16, packet: &[u8]) -> Option<Vec<u8>> {
        assert!(has_ethernet(link_type));
        let mut frame = alloc::vec![7; 3];
        put_ethernet(link_type, packet, &mut frame).map(|_| frame)
    }

    #[test]
    fn a_cooked_packet_keeps_its_sender_and_its_protocol() {
        let cooked = Cooked {
            protocol: 0x0806,
            interface: 5,
            kind: 1,
            direction: 1,
            address_len: 6,
            address: [2, 0, 0, 0, 0, 9, 0, 0],
        };
        let packet = [&cooked.bytes()[..], &[0xAA, 0xBB]].concat();
        let frame = [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 9, 8, 6, 0xAA, 0xBB];
        assert_eq!(made(LINUX_SLL2, &packet).unwrap(), frame);
        let mut older = alloc::vec![0, 1, 0, 1, 0, 6];
        older.extend([2, 0, 0, 0, 0, 9, 0, 0, 8, 6, 0xAA, 0xBB]);
        assert_eq!(made(LINUX_SLL, &older).unwrap(), frame);
        for cut in 0..Cooked::LENGTH {
            assert_eq!(made(LINUX_SLL2, &packet[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn a_packet_of_ip_tells_its_version() {
        let of =
            |link_type, packet: &[u8]| made(link_type, packet).map(|frame| frame[12..14].to_vec());
        let (v4, v6) = (Some(alloc::vec![8, 0]), Some(alloc::vec![0x86, 0xDD]));
        assert_eq!(of(RAW, &[0x45, 0]), v4);
        assert_eq!(of(RAW, &[0x60, 0]), v6);
        assert_eq!(of(NULL, &[2, 0, 0, 0, 0x45]), v4);
        assert_eq!(of(LOOP, &[0, 0, 0, 30, 0x60]), v6);
        for number in [12, 14] {
            assert_eq!(of(number, &[0x45, 0]), v4);
            assert_eq!(of(number, &[0x60, 0]), v6);
        }
        assert_eq!(of(RAW, &[0x25, 0]), None);
        assert_eq!(of(RAW, &[]), None);
        assert_eq!(of(NULL, &[7, 0, 0, 0]), None);
    }

    #[test]
    fn what_no_ethernet_carries_is_none() {
        let can = Cooked {
            protocol: 0x000C,
            ..Cooked::default()
        };
        assert_eq!(made(LINUX_SLL2, &can.bytes()), None);
        assert_eq!(put_ethernet(105, &[0; 64], &mut Vec::new()), None);
        assert!(!has_ethernet(105));
        let llc = Cooked {
            protocol: LLC,
            ..Cooked::default()
        };
        let packet = [&llc.bytes()[..], &[0x42; 38]].concat();
        assert_eq!(made(LINUX_SLL2, &packet).unwrap()[12..14], [0, 38]);
        let novell = Cooked {
            protocol: NOVELL,
            ..Cooked::default()
        };
        let packet = [&novell.bytes()[..], &[0xFF; 30]].concat();
        assert_eq!(made(LINUX_SLL2, &packet).unwrap()[12..14], [0, 30]);
    }
}
