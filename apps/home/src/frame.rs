//! Frames that the control program sends: ARP and echo replies, UDP datagrams.

pub mod six;

use core::net::{Ipv4Addr, SocketAddr};
use dhcp::datagram;
use node::{Frame, Out};
use packet::arp::Arp;
use packet::checksum::{checksum, update};
use packet::ethernet::{Mac, ethertype};

/// Offset of an IPv4 header in a frame without tags, bytes.
pub const IP: usize = 14;

/// Builds frames in reused buffers.
#[derive(Debug, Default)]
pub struct Frames(Out);

impl Frames {
    /// A frame with a UDP datagram of hop limit 64. MAC addresses: source, destination.
    pub fn datagram(
        &mut self,
        macs: (Mac, Mac),
        from: impl Into<SocketAddr>,
        to: impl Into<SocketAddr>,
        payload: &[u8],
    ) -> Frame {
        let (from, to) = (from.into(), to.into());
        datagram::frame([macs.0.0, macs.1.0], from, to, payload, &mut self.0)
    }

    /// Returns the buffer of a frame.
    pub fn done(&mut self, frame: Frame) {
        self.0.done(frame);
    }
}

/// A frame with an ARP packet.
pub fn arp(to: Mac, from: Mac, packet: &Arp) -> Vec<u8> {
    let mut frame = Vec::with_capacity(42);
    frame.extend(to.0);
    frame.extend(from.0);
    frame.extend(ethertype::ARP.to_be_bytes());
    packet.build(&mut frame);
    frame
}

/// Sets the hop limit of an IPv4 packet in a frame without tags and options.
pub fn set_hops(frame: &mut [u8], hops: u8) {
    frame[IP + 8] = hops;
    frame[IP + 10..IP + 12].fill(0);
    let sum = checksum(&frame[IP..IP + 20]);
    frame[IP + 10..IP + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Reply to an echo request in a frame without tags, with source and destination swapped. `None` when the
/// frame is not an echo request, or is a fragment.
pub fn pong(frame: &[u8], mac: Mac) -> Option<Vec<u8>> {
    let head = usize::from(*frame.get(IP)? & 15) * 4;
    let icmp = IP + head;
    let is_echo = frame.get(IP + 9) == Some(&1) && frame.get(icmp..icmp + 2) == Some(&[8, 0]);
    let fragment = frame.get(IP + 6..IP + 8)?;
    if head < 20 || !is_echo || fragment[0] & 0x3F != 0 || fragment[1] != 0 {
        return None;
    }
    let mut reply = frame.to_vec();
    reply.copy_within(6..12, 0);
    reply[6..12].copy_from_slice(&mac.0);
    reply.copy_within(IP + 12..IP + 16, IP + 16);
    reply[IP + 12..IP + 16].copy_from_slice(&frame[IP + 16..IP + 20]);
    reply[icmp] = 0;
    let old = u16::from_be_bytes([*frame.get(icmp + 2)?, *frame.get(icmp + 3)?]);
    let new = update(old, 0x0800, 0);
    reply[icmp + 2..icmp + 4].copy_from_slice(&new.to_be_bytes());
    Some(reply)
}

/// Hop limit of an IP packet in a frame without tags; 0 when the frame is too short.
pub fn hops(frame: &[u8]) -> u8 {
    let is_v6 = frame.get(IP).is_some_and(|first| first >> 4 == 6);
    let at = if is_v6 { IP + 7 } else { IP + 8 };
    frame.get(at).copied().unwrap_or(0)
}

/// Whether an IPv4 packet in a frame without tags is a later fragment.
pub fn is_later_fragment(frame: &[u8]) -> bool {
    frame
        .get(IP + 6..IP + 8)
        .is_some_and(|field| u16::from_be_bytes([field[0], field[1]]) & 0x1FFF != 0)
}

/// The broadcast address of the /30 of a gateway.
pub fn broadcast_of(gateway: Ipv4Addr) -> Ipv4Addr {
    (u32::from(gateway) + 2).into()
}
