//! A router whose clock is moved by hand, and frames for it.

use node::{Frame, Node, Out, Port, Time};
use packet::arp::Arp;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, protocol};
use packet::ipv6::Ipv6;
use router::router::{Config, PortConfig, Router};
use std::net::IpAddr;

/// A router, and the time.
pub struct Hand {
    pub router: Router,
    pub now: Time,
    pub out: Out,
}

/// Port, and the frame that has left by it.
pub type Sent = Vec<(u16, Vec<u8>)>;

/// Ports with the addresses 10.0.N.1/24 and fd00:N::1/64.
pub fn ports(count: usize) -> Vec<PortConfig> {
    let port = |number: usize| PortConfig {
        address: vec![
            format!("10.0.{number}.1/24").parse().unwrap(),
            format!("fd00:{number}::1/64").parse().unwrap(),
        ],
        mac: Some(Mac(router_mac(number as u16))),
        ..PortConfig::default()
    };
    (0..count).map(port).collect()
}

pub fn config(count: usize, routes: &[&str]) -> Config {
    Config {
        port: ports(count),
        route: routes.iter().map(|text| text.parse().unwrap()).collect(),
        ..Config::default()
    }
}

pub fn router_mac(port: u16) -> [u8; 6] {
    [2, 0, 0, 0, 1, port as u8]
}

/// MAC address of the host 10.0.PORT.HOST and fd00:PORT::HOST.
pub fn host_mac(port: u16, host: u8) -> [u8; 6] {
    [2, 0, 0, 1, port as u8, host]
}

pub fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

impl Hand {
    pub fn new(config: Config) -> Hand {
        Hand {
            router: Router::new(config).expect("a good configuration"),
            now: Time::ZERO,
            out: Out::default(),
        }
    }

    pub fn send(&mut self, port: u16, frame: &[u8]) -> Sent {
        let mut frames = vec![Frame::new(frame)];
        self.router
            .frames(self.now, Port(port), &mut frames, &mut self.out);
        self.taken()
    }

    fn taken(&mut self) -> Sent {
        let sent = self.out.sends();
        sent.map(|sent| (sent.port.0, sent.frame.to_vec()))
            .collect()
    }

    /// Lets the router hear of a host of a port.
    pub fn learn(&mut self, port: u16, host: u8) {
        let mut frame = Vec::new();
        let mac = host_mac(port, host);
        Arp::request(
            Mac(mac),
            [10, 0, port as u8, host].into(),
            [10, 0, port as u8, 1].into(),
        )
        .build_frame(&mut frame);
        self.send(port, &frame);
        frame.clear();
        let [six, own] = [host, 1].map(|host| address(&format!("fd00:{port}::{host}")));
        ip::discovery::request(mac, six, own, None, &mut frame);
        self.send(port, &frame);
    }

    /// Lets time pass to the next timer; gives what leaves then.
    pub fn wake(&mut self) -> Sent {
        self.now = self.router.next_wake().expect("a timer").max(self.now);
        self.router.wake(self.now, &mut self.out);
        self.taken()
    }

    pub fn drops(&self, reason: &str) -> u64 {
        let drops = self.out.drops().iter();
        drops
            .filter(|drop| drop.0 == reason)
            .map(|drop| drop.1)
            .sum()
    }

    pub fn counter(&self, name: &str) -> u64 {
        self.router.statistics().get(name).expect("a counter")
    }
}

/// A UDP datagram with `size` bytes of data, from a host of a port.
pub fn udp(port: u16, host: u8, to: &str, size: usize, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let to = address(to);
    let mut frame = Vec::new();
    let ethernet = Ethernet {
        destination: Mac(router_mac(port)),
        source: Mac(host_mac(port, host)),
        tags: &[],
        ethertype: if to.is_ipv4() {
            ethertype::IPV4
        } else {
            ethertype::IPV6
        },
    };
    let mut datagram = vec![4, 0, 0, 53, 0, 0, 0, 0];
    datagram[4..6].copy_from_slice(&((8 + size) as u16).to_be_bytes());
    datagram.resize(8 + size, 7);
    ethernet.build(&mut frame, |out| match to {
        IpAddr::V4(to) => {
            let ip = Ipv4::new([10, 0, port as u8, host].into(), to, protocol::UDP);
            ip.build(out, |out| out.extend(&datagram));
        }
        IpAddr::V6(to) => {
            let IpAddr::V6(from) = address(&format!("fd00:{port}::{host}")) else {
                unreachable!("an IPv6 address")
            };
            Ipv6::new(from, to, protocol::UDP).build(out, |out| out.extend(&datagram));
        }
    });
    change(&mut frame);
    if to.is_ipv4() {
        frame[24..26].fill(0);
        let sum = packet::checksum::checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    frame
}

/// Type and code of the ICMP message in a frame, and its source.
pub fn icmp(frame: &[u8]) -> Option<(u8, u8, IpAddr)> {
    match (&frame[12..14], frame[14] >> 4) {
        ([8, 0], 4) if frame[23] == protocol::ICMP => {
            let source: [u8; 4] = frame[26..30].try_into().unwrap();
            Some((frame[34], frame[35], source.into()))
        }
        ([0x86, 0xDD], 6) if frame[20] == protocol::ICMPV6 => {
            let source: [u8; 16] = frame[22..38].try_into().unwrap();
            Some((frame[54], frame[55], source.into()))
        }
        _ => None,
    }
}
