//! Frames for the tests, and an interface that is given them one after the other.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ip::interface::{Config, Interface, Received};
use node::{Frame, Out, Time, When};
use packet::arp::Arp;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::icmpv6::Icmpv6;
use packet::ipv4::{Ipv4, protocol};
use packet::ipv6::Ipv6;
use packet::udp::Udp;

pub const PEER: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub const BROADCAST: [u8; 6] = [0xFF; 6];

pub fn v4(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

pub fn v6(last: u16) -> IpAddr {
    Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, last).into()
}

/// The configuration of 10.0.0.2 and fd00::2.
pub fn config() -> Config {
    Config {
        mac: OWN,
        addresses: vec![
            "10.0.0.2/24".parse().unwrap(),
            "fd00::2/64".parse().unwrap(),
        ],
        ..Config::default()
    }
}

/// An interface with everything that belongs to it.
pub struct Hand {
    pub interface: Interface,
    pub out: Out,
    pub now: Time,
}

impl Hand {
    pub fn new(config: Config) -> Hand {
        Hand {
            interface: Interface::new(config),
            out: Out::default(),
            now: Time::ZERO,
        }
    }

    /// Delivers a frame. Packets for upper layers are refused, as by closed ports.
    pub fn frame(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        let now = self.now;
        match self
            .interface
            .handle_frame(now, Frame::new(frame), &mut self.out)
        {
            Received::Packet(frame, packet) => {
                self.interface.unclaimed(now, frame, &packet, &mut self.out);
            }
            Received::Consumed => {}
            Received::Other(frame) => self.out.done(frame),
        }
        self.sent()
    }

    /// Sends a packet.
    pub fn send(&mut self, to: IpAddr, packet: &[u8]) -> Vec<Vec<u8>> {
        let frame = Frame::new(packet);
        self.interface
            .send_any(self.now, to, When::Now, frame, &mut self.out);
        self.sent()
    }

    /// Advances time to `end` and returns the frames that were sent, each with its time in milliseconds.
    pub fn until(&mut self, end: Time) -> Vec<(u64, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some(time) = self.interface.poll_timeout().filter(|time| *time <= end) {
            self.now = self.now.max(time);
            self.interface.poll_transmit(self.now, &mut self.out);
            let ms = self.now.as_ns() / 1_000_000;
            all.extend(self.sent().into_iter().map(|frame| (ms, frame)));
        }
        self.now = end;
        all
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        self.out
            .sends()
            .map(|departure| departure.frame.to_vec())
            .collect()
    }
}

/// An IP packet in a frame.
pub fn packet(
    mac: [u8; 6],
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    hops: u8,
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = Vec::new();
    let ethernet = Ethernet {
        destination: Mac(mac),
        source: Mac(PEER),
        tags: &[],
        ethertype: match from {
            IpAddr::V4(_) => ethertype::IPV4,
            IpAddr::V6(_) => ethertype::IPV6,
        },
    };
    ethernet.build(&mut frame, |out| match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut ip = Ipv4::new(from, to, protocol);
            ip.hop_limit = hops;
            ip.build(out, |out| out.extend(payload));
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut ip = Ipv6::new(from, to, protocol);
            ip.hop_limit = hops;
            ip.build(out, |out| out.extend(payload));
        }
        _ => panic!("two versions"),
    });
    frame
}

/// An ICMP or ICMPv6 message: type, code, the next four bytes, data; the checksum is filled in.
pub fn message(
    from: IpAddr,
    to: IpAddr,
    kind: [u8; 2],
    rest: [u8; 4],
    data: &[u8],
) -> (u8, Vec<u8>) {
    let mut message = vec![kind[0], kind[1], 0, 0];
    message.extend(rest);
    message.extend(data);
    let (protocol, sum) = match from.is_ipv4() {
        true => (protocol::ICMP, packet::checksum::Sum::default()),
        false => {
            let pseudo = ip::header::pseudo(from, to, protocol::ICMPV6);
            (protocol::ICMPV6, pseudo.sum(message.len()))
        }
    };
    let sum = sum.plus(&message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    (protocol, message)
}

/// An echo request.
pub fn echo(mac: [u8; 6], from: IpAddr, to: IpAddr, data: &[u8]) -> Vec<u8> {
    let kind = if from.is_ipv4() { 8 } else { 128 };
    let (protocol, message) = message(from, to, [kind, 0], [0, 7, 0, 9], data);
    packet(mac, from, to, protocol, 64, &message)
}

/// A datagram.
pub fn udp(mac: [u8; 6], from: IpAddr, to: IpAddr, ports: [u16; 2], data: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    let udp = Udp {
        source_port: ports[0],
        destination_port: ports[1],
    };
    let pseudo = ip::header::pseudo(from, to, protocol::UDP);
    udp.build(pseudo, &mut datagram, |out| out.extend(data));
    packet(mac, from, to, protocol::UDP, 64, &datagram)
}

/// An ARP request.
pub fn arp(mac: [u8; 6], sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let mut frame = Vec::new();
    Arp::request(Mac(mac), sender.into(), target.into()).build_frame(&mut frame);
    frame
}

/// A message of neighbour discovery with options.
pub fn discovery(from: Ipv6Addr, to: Ipv6Addr, message: Icmpv6, options: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let ethernet = Ethernet {
        destination: Mac(ip::discovery::group_mac(to.into()).unwrap_or(OWN)),
        source: Mac(PEER),
        tags: &[],
        ethertype: ethertype::IPV6,
    };
    let mut ip = Ipv6::new(from, to, protocol::ICMPV6);
    ip.hop_limit = 255;
    ethernet.build(&mut frame, |out| {
        ip.build(out, |out| {
            message.build(ip.pseudo(), out, |out| out.extend(options))
        });
    });
    frame
}

/// Type and code of an ICMP or ICMPv6 message in a frame, and its part after the checksum.
pub fn icmp(frame: &[u8]) -> ([u8; 2], &[u8]) {
    let packet = ip::header::read(frame).expect("an IP packet");
    assert!(ip::header::is_valid(frame, &packet), "a right checksum");
    let message = &frame[packet.payload..packet.end];
    ([message[0], message[1]], &message[4..])
}
