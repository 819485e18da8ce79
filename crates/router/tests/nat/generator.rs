//! Random configurations and packets.

use super::model::Model;
use super::packets::*;
use core::net::Ipv4Addr;
use node::Time;
use node::random::Random;
use router::nat::Config;
use router::nat::config::*;

pub fn pick<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.index(of.len())]
}

const BEHAVIOURS: [Behaviour; 3] = [
    Behaviour::EndpointIndependent,
    Behaviour::AddressDependent,
    Behaviour::AddressAndPortDependent,
];
const INSIDE_PORTS: [u16; 7] = [80, 600, 1_030, 5_000, 5_001, 5_002, 5_003];
const PROTOCOLS: [u8; 5] = [47, 50, 33, 136, 132];

pub fn config(random: &mut Random) -> Config {
    if random.below(8) == 0 {
        return Config {
            external: vec![Ipv4Addr::new(192, 0, 2, 1).into()],
            ..Config::linux()
        };
    }
    let yes = |random: &mut Random| random.below(2) == 0;
    let seconds = |random: &mut Random| Time::from_secs(1 + random.below(40));
    let last = pick(random, &[1, 1, 2, 3]);
    let first_port = pick(random, &[1_024, 5_000, 65_520]);
    let length = 1 + random.below(15) as u16;
    let filtering = pick(random, &BEHAVIOURS);
    let overload = filtering == BEHAVIOURS[2] && yes(random);
    let pooling = pick(random, &[Pooling::Paired, Pooling::Arbitrary]);
    let may_block = !overload && pooling == Pooling::Paired && yes(random);
    let forward = match random.below(3) {
        0 => vec![],
        _ => vec![
            Forward {
                protocol: Transport::Tcp,
                external: "192.0.2.1:80".parse().unwrap(),
                inside: "10.0.0.2:80".parse().unwrap(),
            },
            Forward {
                protocol: Transport::Udp,
                external: format!("192.0.2.1:{first_port}").parse().unwrap(),
                inside: "10.0.0.3:5000".parse().unwrap(),
            },
        ],
    };
    Config {
        external: vec![AddressRange {
            first: [192, 0, 2, 1].into(),
            last: [192, 0, 2, last].into(),
        }],
        mapping: pick(random, &BEHAVIOURS),
        filtering,
        ports: pick(random, &[Ports::Preserve, Ports::Sequential, Ports::Random]),
        overload,
        reuse: yes(random),
        port_range: PortRange::new(first_port, first_port + length).unwrap(),
        low_ports: pick(
            random,
            &[LowPorts::SameRange, LowPorts::Linux, LowPorts::Any],
        ),
        parity: yes(random),
        contiguity: yes(random),
        pooling,
        hairpin: yes(random),
        refresh: pick(random, &[Refresh::Outbound, Refresh::Both]),
        unsolicited: pick(
            random,
            &[Unsolicited::Drop, Unsolicited::Hold, Unsolicited::Local],
        ),
        unsolicited_occupies: yes(random),
        pickup: yes(random),
        udp: seconds(random),
        udp_well_known: seconds(random),
        udp_unreplied: yes(random).then(|| seconds(random)),
        tcp_established: seconds(random) * 4,
        tcp_transitory: seconds(random),
        icmp: seconds(random),
        other: seconds(random),
        short_timeouts: true,
        port_blocks: may_block.then(|| PortBlocks {
            size: 1 + random.below(u64::from(length).min(4)) as u16,
            per_host: 1 + random.below(3) as u16,
        }),
        sessions: pick(random, &[3, 20, 1_000]),
        sessions_per_host: pick(random, &[2, 10, 1_000]),
        forward,
    }
}

/// A world with a few inside hosts and a few remote ones.
pub struct Generator {
    pub random: Random,
}

impl Generator {
    pub fn inside(&mut self) -> End {
        let host = Ipv4Addr::new(10, 0, 0, pick(&mut self.random, &[2, 3, 4]));
        (host, pick(&mut self.random, &INSIDE_PORTS))
    }

    pub fn remote(&mut self) -> End {
        let host = Ipv4Addr::new(198, 51, 100, pick(&mut self.random, &[7, 8]));
        (host, pick(&mut self.random, &[53, 5_000]))
    }

    fn flags(&mut self) -> u8 {
        let likely = [SYN, SYN, SYN | ACK, ACK, ACK, FIN | ACK, RST, RST | ACK];
        match self.random.below(10) {
            0 => self.random.below(64) as u8,
            _ => pick(&mut self.random, &likely),
        }
    }

    /// A packet between two ends, of a protocol.
    pub fn packet(
        &mut self,
        protocol: u8,
        source: End,
        destination: End,
        outbound: bool,
    ) -> Packet {
        let body = match protocol {
            TCP => Body::Tcp(self.flags()),
            UDP => Body::Udp(self.random.below(4) > 0),
            ICMP if self.random.below(12) == 0 => Body::Message(pick(&mut self.random, &[9, 40])),
            ICMP => {
                let types = [8, 8, 13, 15, 17].map(|kind: u8| kind);
                let kind = pick(&mut self.random, &types);
                let answer = if kind == 8 { 0 } else { kind + 1 };
                let odd = self.random.below(10) == 0;
                Body::Query(if outbound != odd { kind } else { answer })
            }
            other => Body::Other(other),
        };
        let mut packet = Packet::new(source, destination, body);
        // The identifier of a query is at the end that has sent it, and others have none.
        match packet.body {
            Body::Query(kind) if is_request(kind) => {
                packet.source.1 |= packet.destination.1;
                packet.destination.1 = 0;
            }
            Body::Query(_) => {
                packet.destination.1 |= packet.source.1;
                packet.source.1 = 0;
            }
            Body::Message(_) | Body::Other(_) => {
                packet.source.1 = 0;
                packet.destination.1 = 0;
            }
            _ => {}
        }
        // The identifier 0 looks like the port of a protocol that has none.
        if protocol == ICMP && self.random.below(8) == 0 {
            (packet.source.1, packet.destination.1) = (0, 0);
        }
        packet.data = (0..self.random.below(40)).map(|n| n as u8 ^ 0x5A).collect();
        packet.has_options = self.random.below(5) == 0;
        packet.padding = pick(&mut self.random, &[0, 0, 3, 10]);
        packet
    }

    pub fn protocol(&mut self) -> u8 {
        match self.random.below(10) {
            0..4 => UDP,
            4..7 => TCP,
            7..9 => ICMP,
            _ => pick(&mut self.random, &PROTOCOLS),
        }
    }

    /// An error of a router or host about a packet.
    pub fn error(&mut self, from: Ipv4Addr, about: Packet) -> Packet {
        let mut about = about;
        about.padding = 0;
        if matches!(about.body, Body::Message(_)) {
            about.body = Body::Udp(true);
        }
        let header = if about.has_options { 24 } else { 20 };
        let mut length = header + 8 + self.random.index(40);
        // Half of TCP's checksum cannot be corrected.
        length += usize::from(length == header + 17);
        let mut to = (about.source.0, 0);
        if self.random.below(8) == 0 {
            to.0 = Ipv4Addr::new(192, 0, 2, 2);
        }
        let kind = pick(&mut self.random, &[3, 4, 11, 12]);
        let body = Body::Error(kind, Box::new(about), length);
        let mut packet = Packet::new((from, 0), to, body);
        packet.has_options = self.random.below(5) == 0;
        packet
    }

    /// An external endpoint: one in use or a guess.
    pub fn external(&mut self, model: &Model, protocol: u8) -> End {
        let mut known = model.targets();
        known.retain(|(known, _)| *known == protocol);
        if known.is_empty() || self.random.below(6) == 0 {
            let port = 1_024 + self.random.below(12) as u16;
            return (Ipv4Addr::new(192, 0, 2, 1), port);
        }
        known[self.random.index(known.len())].1
    }
}
