//! Messages of nfnetlink: a netlink header, a header of four bytes, and attributes.
//!
//! Numbers are as <linux/netfilter/nfnetlink.h> and nfnetlink_queue.h have them. Attributes of netfilter are in network
//! order, the headers in the machine's.

use crate::kernel::netlink::{self, Message, attributes, messages};

/// Length of the netlink header and the four bytes of nfnetlink behind it.
pub const HEADER: usize = netlink::HEADER + 4;
/// The subsystem of queues, in the upper byte of a message's type.
const QUEUE: u16 = 3;
/// A packet for us.
const PACKET: u16 = QUEUE << 8;
/// An answer to one packet.
pub const VERDICT: u16 = QUEUE << 8 | 1;
/// Something about the queue itself.
pub const CONFIG: u16 = QUEUE << 8 | 2;
/// An answer to all packets up to one.
pub const VERDICT_BATCH: u16 = QUEUE << 8 | 3;
const NFQA_PACKET_HDR: u16 = 1;
/// The verdict and the packet's number.
pub const NFQA_VERDICT_HDR: u16 = 2;
const NFQA_MARK: u16 = 3;
const NFQA_IFINDEX_INDEV: u16 = 5;
const NFQA_IFINDEX_OUTDEV: u16 = 6;
const NFQA_HWADDR: u16 = 9;
/// The packet's bytes, from the IP header on.
pub const NFQA_PAYLOAD: u16 = 10;
const NFQA_CAP_LEN: u16 = 13;
const NFQA_SKB_INFO: u16 = 14;
/// Of NFQA_SKB_INFO: checksums are not complete, or segments are glued together.
const UNFINISHED: u32 = 3;

/// Begins a message at the end of `bytes`: its type, flags, sequence number, family and what it is about.
pub fn begin(
    bytes: &mut Vec<u8>,
    kind: u16,
    flags: i32,
    sequence: u32,
    family: u8,
    about: u16,
) -> Message<'_> {
    let [high, low] = about.to_be_bytes();
    Message::begin(bytes, kind, flags, sequence).raw(&[family, 0, high, low])
}

/// A packet that waits for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its number in its queue.
    pub id: u32,
    /// Its EtherType.
    pub protocol: u16,
    /// The hook, as <linux/netfilter.h> counts them.
    pub hook: u8,
    /// The interface that it came in by; zero for none.
    pub from: u32,
    /// The interface that it is to leave by; zero where that is not known yet.
    pub to: u32,
    /// Its mark (`fwmark`).
    pub mark: u32,
    /// The Ethernet address of who sent it.
    pub source: Option<[u8; 6]>,
    /// Where its bytes begin, from the IP header on.
    pub start: usize,
    /// Where they end.
    pub end: usize,
    /// Its whole length, where that is more than was given.
    pub whole: Option<u32>,
    /// Whether its checksums are not complete, or it is a chain of segments: it cannot leave but by the kernel's hand.
    pub unfinished: bool,
}

/// What the kernel has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    Packet(Packet),
    /// The acknowledgement of a request: an error number, or zero for one that was done.
    Acknowledgement(i32),
    /// Anything else.
    Other,
}

/// Reads the message at the beginning of a datagram; `None` where no whole message is.
pub fn read(bytes: &[u8]) -> Option<Incoming> {
    let message = messages(bytes).next()?;
    Some(match message.kind {
        PACKET => packet(bytes, message.body).map_or(Incoming::Other, Incoming::Packet),
        kind if i32::from(kind) == libc::NLMSG_ERROR => {
            Incoming::Acknowledgement(message.code().saturating_neg())
        }
        _ => Incoming::Other,
    })
}

fn packet(bytes: &[u8], body: &[u8]) -> Option<Packet> {
    let mut packet = Packet::default();
    let mut named = false;
    for (kind, value) in attributes(body.get(HEADER - netlink::HEADER..)?) {
        match kind {
            NFQA_PACKET_HDR if value.len() >= 7 => {
                packet.id = number(value)?;
                packet.protocol = u16::from_be_bytes([value[4], value[5]]);
                packet.hook = value[6];
                named = true;
            }
            NFQA_MARK => packet.mark = number(value)?,
            NFQA_IFINDEX_INDEV => packet.from = number(value)?,
            NFQA_IFINDEX_OUTDEV => packet.to = number(value)?,
            NFQA_HWADDR if value.len() >= 10 && value[..2] == [0, 6] => {
                packet.source = value[4..].first_chunk().copied();
            }
            NFQA_PAYLOAD => {
                packet.start = value.as_ptr().addr() - bytes.as_ptr().addr();
                packet.end = packet.start + value.len();
            }
            NFQA_SKB_INFO => packet.unfinished = number(value)? & UNFINISHED != 0,
            NFQA_CAP_LEN => packet.whole = Some(number(value)?),
            _ => {}
        }
    }
    named.then_some(packet)
}

fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        begin(&mut bytes, PACKET, 0, 7, 2, 5)
            .with(NFQA_PACKET_HDR, &[0, 0, 1, 2, 8, 0, 2])
            .with_be32(NFQA_IFINDEX_INDEV, 3)
            .with_be32(NFQA_IFINDEX_OUTDEV, 4)
            .with(NFQA_HWADDR, &[0, 6, 0, 0, 2, 0, 0, 0, 0, 9, 0, 0])
            .with_be32(NFQA_CAP_LEN, 70_000)
            .with(NFQA_PAYLOAD, b"packet")
            .end();
        bytes
    }

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        let bytes = sample();
        let read = read(&bytes);
        let Some(Incoming::Packet(packet)) = read else {
            panic!("{read:?}")
        };
        assert_eq!(&bytes[packet.start..packet.end], b"packet");
        assert_eq!((packet.id, packet.protocol, packet.hook), (258, 0x800, 2));
        assert_eq!((packet.from, packet.to), (3, 4));
        assert_eq!(packet.source, Some([2, 0, 0, 0, 0, 9]));
        assert_eq!(packet.whole, Some(70_000));
    }

    #[test]
    fn a_message_that_ends_early_is_none() {
        let bytes = sample();
        for len in 0..bytes.len() {
            assert_eq!(read(&bytes[..len]), None);
        }
        for len in 16..bytes.len() {
            // Its own length agrees, its attributes do not.
            let mut bytes = bytes[..len].to_vec();
            bytes[..4].copy_from_slice(&(len as u32).to_ne_bytes());
            if let Some(Incoming::Packet(packet)) = read(&bytes) {
                assert!(packet.end <= len && packet.start <= packet.end);
            }
        }
    }
}
