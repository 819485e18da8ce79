//! An end of datagrams: an address of its own, neighbours that are found by ARP, UDP over IPv4.

use crate::wire;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::{Frame, Out, Port, StampId};
use packet::arp::{Arp, Operation};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::udp::{Udp, UdpView};

/// Neighbours that are known at once: the oldest are forgotten.
const KNOWN: usize = 1024;

/// Where a datagram comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub address: Ipv4Addr,
    /// Of the next hop.
    pub mac: Mac,
    pub port: u16,
}

/// What a frame is to an end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// A datagram for it: who sent it, and where its payload is.
    Datagram(Peer, core::ops::Range<usize>),
    /// An answer to who has an address.
    Resolved,
    /// Nothing for it, or nothing more to be done about.
    Other,
}

/// An end.
#[derive(Debug)]
pub(crate) struct Endpoint {
    mac: Mac,
    address: Ipv4Addr,
    /// Its own UDP port.
    port: u16,
    known: Vec<(Ipv4Addr, Mac)>,
    scratch: Vec<u8>,
}

impl Endpoint {
    pub fn new(mac: Mac, address: Ipv4Addr, port: u16) -> Endpoint {
        Endpoint {
            mac,
            address,
            port,
            known: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Looks at a frame from the network; questions who it is are answered.
    pub fn look(&mut self, port: Port, frame: &Frame, out: &mut Out) -> Came {
        self.seen(port, frame, out).unwrap_or(Came::Other)
    }

    fn seen(&mut self, port: Port, frame: &Frame, out: &mut Out) -> Option<Came> {
        let packet = frame.get(wire::ETHERNET..)?;
        match wire::u16_at(frame, 12)? {
            ethertype::ARP => {
                let arp = Arp::parse(packet).ok()?;
                if arp.target != self.address {
                    return None;
                }
                self.learn(arp.sender, arp.sender_mac);
                if arp.operation != Operation::Request {
                    return Some(Came::Resolved);
                }
                self.scratch.clear();
                arp.reply(self.mac).build_frame(&mut self.scratch);
                let mut answer = out.frame();
                answer.extend(&self.scratch);
                out.send(port, answer);
                None
            }
            ethertype::IPV4 if frame[..6] == self.mac.0 => {
                let ip = Ipv4View::new(packet).ok()?;
                let wanted = ip.destination() == self.address && ip.protocol() == protocol::UDP;
                if !wanted || ip.is_fragment() || !ip.is_checksum_valid() {
                    return None;
                }
                let udp = UdpView::new(ip.payload()).ok()?;
                let valid = udp.checksum() == 0 || udp.is_checksum_valid(ip.pseudo());
                if udp.destination_port() != self.port || !valid {
                    return None;
                }
                let start = wire::ETHERNET + ip.header_length() + 8;
                let peer = Peer {
                    address: ip.source(),
                    mac: Mac(*frame.get(6..)?.first_chunk()?),
                    port: udp.source_port(),
                };
                Some(Came::Datagram(peer, start..start + udp.payload().len()))
            }
            _ => None,
        }
    }

    fn learn(&mut self, address: Ipv4Addr, mac: Mac) {
        match self.known.iter_mut().find(|(known, _)| *known == address) {
            Some(known) => known.1 = mac,
            None => {
                if self.known.len() == KNOWN {
                    self.known.remove(0);
                }
                self.known.push((address, mac));
            }
        }
    }

    /// The MAC address of a neighbour, if it is known.
    pub fn known(&self, address: Ipv4Addr) -> Option<Mac> {
        let mut known = self.known.iter();
        known
            .find(|(known, _)| *known == address)
            .map(|&(_, mac)| mac)
    }

    /// The MAC address of a neighbour. If it is not known, the neighbour is asked.
    pub fn resolve(&mut self, port: Port, address: Ipv4Addr, out: &mut Out) -> Option<Mac> {
        if let Some(mac) = self.known(address) {
            return Some(mac);
        }
        self.scratch.clear();
        Arp::request(self.mac, self.address, address).build_frame(&mut self.scratch);
        let mut question = out.frame();
        question.extend(&self.scratch);
        out.send(port, question);
        None
    }

    /// A frame with a datagram for a peer; with `stamp` it is told when that has left.
    pub fn datagram(
        &mut self,
        to: Peer,
        stamp: Option<StampId>,
        out: &mut Out,
        payload: impl FnOnce(&mut Vec<u8>),
    ) -> Frame {
        self.scratch.clear();
        let ethernet = Ethernet {
            destination: to.mac,
            source: self.mac,
            tags: &[],
            ethertype: ethertype::IPV4,
        };
        let ip = Ipv4::new(self.address, to.address, protocol::UDP);
        let udp = Udp {
            source_port: self.port,
            destination_port: to.port,
        };
        ethernet.build(&mut self.scratch, |out| {
            ip.build(out, |out| udp.build(ip.pseudo(), out, payload));
        });
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        if let Some(stamp) = stamp {
            frame.ask_for_stamp(stamp);
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ends_find_each_other_and_talk() {
        let end = |n: u8| Endpoint::new(Mac([2, 0, 0, 0, 0, n]), Ipv4Addr::new(10, 0, 0, n), 123);
        let (mut a, mut b) = (end(1), end(2));
        let (mut out, to) = (Out::default(), Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(a.resolve(Port(0), to, &mut out), None);
        let question = out.sends().next().unwrap().frame;
        assert_eq!(b.look(Port(0), &question, &mut out), Came::Other);
        let answer = out.sends().next().unwrap().frame;
        assert_eq!(a.look(Port(0), &answer, &mut out), Came::Resolved);
        let mac = a.resolve(Port(0), to, &mut out).unwrap();
        let peer = Peer {
            address: to,
            mac,
            port: 123,
        };
        let mut frame = a.datagram(peer, None, &mut out, |out| out.extend(b"hello"));
        let Came::Datagram(from, place) = b.look(Port(0), &frame, &mut out) else {
            panic!("it is for b");
        };
        assert_eq!((from.address.octets()[3], from.port), (1, 123));
        assert_eq!(&frame[place], b"hello");
        // Not to another port or address, and not when it is damaged.
        let mut other = Endpoint::new(Mac([2, 0, 0, 0, 0, 2]), to, 124);
        assert_eq!(other.look(Port(0), &frame, &mut out), Came::Other);
        assert_eq!(end(3).look(Port(0), &frame, &mut out), Came::Other);
        *frame.last_mut().unwrap() ^= 1;
        assert_eq!(b.look(Port(0), &frame, &mut out), Came::Other);
    }
}
