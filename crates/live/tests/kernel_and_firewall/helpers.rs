//! Helpers for FTP and TFTP: the kernel and our router get the same control connections, with announcements of all forms, broken ones
//! among them, and the same attempts to open what was announced.

use super::{Pair, compare_connections, hex, kernel, packets, without_surplus};
use crate::kernel_and_router::ours_at;
use node::random::Random;
use packet::ipv4::protocol;
use packet::tcp::{Tcp, flag};
use packet::udp::Udp;
use std::net::IpAddr;

const RULES: &str = "table inet helpers {
    ct helper file-transfer { type \"ftp\" protocol tcp; l3proto inet; }
    ct helper boot { type \"tftp\" protocol udp; l3proto FAMILY; }
    chain first {
        type filter hook prerouting priority filter; policy accept;
        tcp dport 21 ct helper set \"file-transfer\" ct mark set 7
        udp dport 69 ct helper set \"boot\"
    }
    chain forward {
        type filter hook forward priority filter; policy drop;
        ct state established,related accept
        tcp dport 21 ct state new accept
        udp dport 69 accept
    }
}
";

/// The client on port 0, the server on port 1, and another host on port 2.
const HOSTS: [(usize, u8); 3] = [(0, 2), (1, 3), (2, 4)];

fn address(is_v4: bool, host: usize) -> IpAddr {
    packets::address(is_v4, HOSTS[host])
}

/// A TCP connection of two hosts, the one that opens it first.
#[derive(Clone, Debug)]
struct Connection {
    is_v4: bool,
    hosts: [usize; 2],
    ports: [u16; 2],
    next: [u32; 2],
}

/// A frame with a packet from one host to another, and the router's port at which it arrives.
fn frame(
    is_v4: bool,
    hosts: [usize; 2],
    number: u8,
    upper: impl Fn(packet::checksum::Pseudo, &mut Vec<u8>),
) -> (usize, Vec<u8>) {
    let hosts = hosts.map(|host| HOSTS[host]);
    (hosts[0].0, packets::frame(is_v4, hosts, number, upper))
}

impl Connection {
    fn segment(&mut self, side: usize, flags: u8, data: &[u8]) -> (usize, Vec<u8>) {
        let tcp = Tcp {
            source_port: self.ports[side],
            destination_port: self.ports[1 - side],
            sequence: self.next[side],
            acknowledgement: if flags & flag::ACK == 0 {
                0
            } else {
                self.next[1 - side]
            },
            flags,
            window: 30_000,
            urgent: 0,
            options: &[],
        };
        let controls = u32::from(flags & flag::SYN != 0);
        self.next[side] = self.next[side].wrapping_add(data.len() as u32 + controls);
        let hosts = [self.hosts[side], self.hosts[1 - side]];
        frame(self.is_v4, hosts, protocol::TCP, |pseudo, out| {
            tcp.build(pseudo, out, |out| out.extend(data));
        })
    }

    fn open(&mut self) -> Vec<(usize, Vec<u8>)> {
        vec![
            self.segment(0, flag::SYN, &[]),
            self.segment(1, flag::SYN | flag::ACK, &[]),
            self.segment(0, flag::ACK, &[]),
        ]
    }
}

fn datagram(is_v4: bool, hosts: [usize; 2], ports: [u16; 2], data: &[u8]) -> (usize, Vec<u8>) {
    let udp = Udp {
        source_port: ports[0],
        destination_port: ports[1],
    };
    frame(is_v4, hosts, protocol::UDP, |pseudo, out| {
        udp.build(pseudo, out, |out| out.extend(data));
    })
}

/// A line of one side with a valid or broken announcement of a host's port.
fn line(random: &mut Random, is_v4: bool, side: usize, host: usize, port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let six = match address(is_v4, host) {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{a},{b},{c},{d},{high},{low}")
        }
        IpAddr::V6(_) => format!("10,0,0,2,{high},{low}"),
    };
    let of = address(is_v4, host);
    let family = if is_v4 { 1 } else { 2 };
    let bar = ['|', '!', '~', '1', ' '][if random.chance(0.8) {
        0
    } else {
        random.index(5)
    }];
    let mut text = match (side, random.below(5)) {
        (0, 0 | 1) => format!("PORT {six}\r\n"),
        (0, 2 | 3) => format!("EPRT {bar}{family}{bar}{of}{bar}{port}{bar}\r\n"),
        (0, _) => {
            ["USER x\r\n", "PASV\r\n", "EPSV\r\n", "TYPE I\r\n", "PO"][random.index(5)].into()
        }
        (_, 0 | 1) => format!("227 Entering Passive Mode ({six}).\r\n"),
        (_, 2 | 3) => format!("229 Extended Passive Mode ({bar}{bar}{bar}{port}{bar})\r\n"),
        (_, _) => [
            "220 ready\r\n",
            "150 ok\r\n",
            "226 done\r\n",
            "227 no\r\n",
            "22",
        ][random.index(5)]
        .into(),
    };
    if random.chance(0.1) {
        text = text.to_lowercase();
    }
    let mut bytes = text.into_bytes();
    match random.below(12) {
        0 => {
            let at = random.index(bytes.len());
            bytes[at] = b"0,|.() \r\n9x"[random.index(11)];
        }
        1 => bytes.truncate(1 + random.index(bytes.len())),
        2 => {
            let at = random.index(bytes.len());
            bytes.insert(at, b"17,| "[random.index(5)]);
        }
        _ => {}
    }
    bytes
}

#[test]
fn announced_connections_are_related_as_with_linuxs_helpers() {
    let Some(mut kernel) = kernel("helpers") else {
        return;
    };
    let count = std::env::var("WIRE_FIREWALL_PACKETS").ok();
    let count: u64 = count.map_or(3_000, |count| count.parse().expect("a number"));
    let seed = std::env::var("WIRE_FIREWALL_SEED").ok();
    let seed: u64 = seed.map_or(1, |seed| seed.parse().expect("a number"));
    let (mut sent, mut data, mut passed, mut differences) = (0, 0, 0, 0);
    for part in 0..count.div_ceil(300) {
        let mut random = Random::new(seed * 1_000 + part);
        let family = ["inet", "ip", "ip6"][random.index(3)];
        let rules = RULES.replace("FAMILY", family);
        let mut pair = Pair::new(&kernel, &rules);
        let mut exchange = |pair: &mut Pair, (port, frame): (usize, Vec<u8>)| {
            let mut theirs = kernel.answers(port, &frame);
            let now = pair.now();
            let (mut ours, drops) = ours_at(&mut pair.router, now, port, &frame);
            without_surplus(&mut theirs);
            without_surplus(&mut ours);
            sent += 1;
            if theirs == ours {
                return theirs.iter().any(|frames| !frames.is_empty());
            }
            differences += 1;
            let frames = [vec![vec![frame]], theirs, ours].map(|frames| hex(&frames));
            println!(
                "part {part} {drops:?}\n sent{}\n kernel{}\n ours{}",
                frames[0], frames[1], frames[2]
            );
            false
        };
        for number in 0..6_u16 {
            let is_v4 = random.chance(0.6);
            let own_port = 2_000 + number;
            if random.chance(0.25) {
                // TFTP: a request, perhaps none, and an answer from another port.
                let opcode = [1, 2, 3, 4, 5, 9][random.index(6)];
                let request = [&[0, opcode][..], b"file\0octet\0"].concat();
                let request = &request[..if random.chance(0.9) { request.len() } else { 1 }];
                exchange(&mut pair, datagram(is_v4, [0, 1], [own_port, 69], request));
                let from = if random.chance(0.8) { 1 } else { 2 };
                let to = own_port + u16::from(random.chance(0.2));
                for _ in 0..2 {
                    let answer = datagram(is_v4, [from, 0], [40_000, to], &[0, 3, 0, 1]);
                    data += 1;
                    passed += u32::from(exchange(&mut pair, answer));
                }
                continue;
            }
            let mut control = Connection {
                is_v4,
                hosts: [0, 1],
                ports: [own_port, 21],
                next: [random.bits() as u32, random.bits() as u32],
            };
            for one in control.open() {
                exchange(&mut pair, one);
            }
            for _ in 0..8 {
                let side = random.index(2);
                // Most hosts announce their own address.
                let host = if random.chance(0.85) {
                    side
                } else {
                    random.index(3)
                };
                let port = 40_000 + random.below(4) as u16;
                // The line before it; without one the helper does not know that a line begins.
                if random.chance(0.9) {
                    let before = control.segment(side, flag::ACK | flag::PSH, b"200 before\r\n");
                    exchange(&mut pair, before);
                }
                let text = line(&mut random, is_v4, side, host, port);
                let again = control.clone();
                let one = control.segment(side, flag::ACK | flag::PSH, &text);
                if !exchange(&mut pair, one) {
                    // The sender retransmits a dropped segment as a whole.
                    control = again;
                    let one = control.segment(side, flag::ACK | flag::PSH, b"NOOP\r\n");
                    exchange(&mut pair, one);
                }
                let opener = if random.chance(0.9) { 1 - side } else { 2 };
                let mut wanted = Connection {
                    is_v4,
                    hosts: [opener, side],
                    ports: [
                        20 + number * 100 + random.below(50) as u16,
                        if random.chance(0.85) { port } else { port + 1 },
                    ],
                    next: [random.bits() as u32, random.bits() as u32],
                };
                if opener == side {
                    continue;
                }
                data += 1;
                let begun = wanted.clone();
                let is_open = exchange(&mut pair, wanted.segment(0, flag::SYN, &[]));
                passed += u32::from(is_open);
                if random.chance(0.2) {
                    // A repeated SYN belongs to the same connection.
                    exchange(&mut pair, begun.clone().segment(0, flag::SYN, &[]));
                }
                if is_open && random.chance(0.6) {
                    exchange(&mut pair, wanted.segment(1, flag::SYN | flag::ACK, &[]));
                    exchange(&mut pair, wanted.segment(0, flag::ACK, &[]));
                }
            }
            if random.chance(0.3) {
                // Expectations end with their control connection.
                let reset = control.segment(1, flag::RST | flag::ACK, &[]);
                exchange(&mut pair, reset);
            }
        }
        let now = pair.now();
        let (_, difference) = compare_connections(&kernel, &pair.router, now);
        if let Some(difference) = difference {
            differences += 1;
            println!("part {part} {difference}");
        }
    }
    println!("{sent} packets, {data} attempts, {passed} passed");
    assert_eq!(differences, 0);
    assert!(passed * 6 > data && passed < data, "{passed} of {data}");
}
