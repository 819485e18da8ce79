//! What a middlebox makes of frames: a number by which a packet is known again at the far end, dummies, and replies.

use crate::bandwidth::message::Message;
use alloc::vec::Vec;
use node::link::FCS;
use packet::crc32c::Crc32c;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::flow;
use packet::ip::IpView;
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::udp::Udp;
use packet::vlan::untagged;

/// Bytes of the headers of dummies and replies: Ethernet, IPv4, UDP.
const HEADERS: usize = 14 + 20 + 8;

/// A number that a packet keeps on its way through switches and routers: over its five-tuple, IPv4's identification, and all that IP carries.
/// `None` for what is not IP.
pub fn print(frame: &[u8]) -> Option<u32> {
    let (kind, packet) = untagged(frame)?;
    let ip = IpView::new(kind, packet).ok()?;
    let identification = match ip {
        IpView::V4(ip) => ip.identification(),
        IpView::V6(_) => 0,
    };
    let sum = Crc32c::default()
        .plus(&flow::hash(frame).to_be_bytes())
        .plus(&identification.to_be_bytes());
    Some(sum.plus(ip.payload()).value())
}

/// A dummy that goes the way of an application's IPv4 packet, padded with zeros to `size` bytes with FCS; `None` beside others.
pub fn dummy(like: &[u8], message: Message, port: u16, size: u16, out: &mut Vec<u8>) -> Option<()> {
    let (ip, macs) = ipv4(like)?;
    let length = usize::from(size).saturating_sub(FCS + HEADERS);
    let addresses = (ip.source(), ip.destination());
    build(macs, addresses, port, message, length, out);
    Some(())
}

/// What tells the sender of an IPv4 packet when that came; `None` of others.
pub fn reply(of: &[u8], message: Message, port: u16, out: &mut Vec<u8>) -> Option<()> {
    let (ip, [destination, source]) = ipv4(of)?;
    let addresses = (ip.destination(), ip.source());
    build([source, destination], addresses, port, message, 0, out);
    Some(())
}

/// The packet in a frame without tags, and its destination and source MAC address.
fn ipv4(frame: &[u8]) -> Option<(Ipv4View<'_>, [Mac; 2])> {
    let (kind, packet) = untagged(frame)?;
    let ip = (kind == ethertype::IPV4)
        .then(|| Ipv4View::new(packet).ok())
        .flatten()?;
    let mac = |at: usize| Some(Mac(*frame.get(at..)?.first_chunk()?));
    Some((ip, [mac(0)?, mac(6)?]))
}

fn build(
    [destination, source]: [Mac; 2],
    (from, to): (core::net::Ipv4Addr, core::net::Ipv4Addr),
    port: u16,
    message: Message,
    length: usize,
    out: &mut Vec<u8>,
) {
    let ethernet = Ethernet {
        destination,
        source,
        tags: &[],
        ethertype: ethertype::IPV4,
    };
    let ip = Ipv4::new(from, to, protocol::UDP);
    let udp = Udp {
        source_port: port,
        destination_port: port,
    };
    ethernet.build(out, |out| {
        ip.build(out, |out| {
            udp.build(ip.pseudo(), out, |out| {
                let end = out.len() + length;
                message.build(out);
                out.resize(end.max(out.len()), 0);
            });
        });
    });
}
