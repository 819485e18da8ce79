//! Random packets for a router: of known and impossible addresses, with options, cut off, and longer than the next link.

use super::{MTUS, peer_mac, router_mac};
use node::random::Random;
use packet::checksum::{Sum, checksum};
use packet::ipv4::protocol;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn draw<'a, T: ?Sized>(random: &mut Random, all: &[&'a T]) -> &'a T {
    all[random.below(all.len() as u64) as usize]
}

fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.bits() as u8).collect()
}

/// The payload of a packet, and its protocol.
fn payload(random: &mut Random, ends: (IpAddr, IpAddr), room: usize) -> (u8, Vec<u8>) {
    let v4 = ends.0.is_ipv4();
    let size = match random.below(4) {
        0 => random.below(40) as usize,
        1 => random.below(1480) as usize,
        2 => [
            1212, 1220, 1240, 1252, 1260, 1332, 1352, 1360, 1372, 1380, 1440, 1472,
        ][random.below(12) as usize],
        _ => 64,
    };
    let data = bytes(random, size.min(room.saturating_sub(8)));
    let icmp = if v4 { protocol::ICMP } else { protocol::ICMPV6 };
    let mut message = vec![0; 8];
    let kind = match random.below(6) {
        0 | 1 => protocol::UDP,
        2 => protocol::TCP,
        3 | 4 => icmp,
        _ => return (200, data),
    };
    match kind {
        protocol::UDP => {
            message[..4].copy_from_slice(&[4, 0, 0, 53]);
            let length = (8 + data.len()) as u16;
            message[4..6].copy_from_slice(&length.to_be_bytes());
        }
        protocol::TCP => {
            message = vec![
                4, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0, 1, 0, 0, 0, 0, 0,
            ];
            message[13] = random.bits() as u8 & 0x3F;
        }
        _ => {
            let kinds: &[u8] = match v4 {
                true => &[8, 0, 3, 4, 5, 11, 12, 13, 17, 42],
                false => &[128, 129, 1, 2, 3, 4, 100, 200],
            };
            message[0] = kinds[random.below(kinds.len() as u64) as usize];
            message[1] = random.below(3) as u8;
            message[4..8].copy_from_slice(&bytes(random, 4));
        }
    }
    message.extend(data);
    let at = match kind {
        protocol::UDP => 6,
        protocol::TCP => 16,
        _ => 2,
    };
    let pseudo = match (kind, v4) {
        (protocol::ICMP, true) => Sum::default(),
        _ => ip::header::pseudo(ends.0, ends.1, kind).sum(message.len()),
    };
    let sum = pseudo.plus(&message).udp_checksum();
    message[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    if random.chance(0.05) {
        message[at] ^= 1;
    }
    (kind, message)
}

fn options(random: &mut Random) -> Vec<u8> {
    let mut all = Vec::new();
    while random.chance(0.6) && all.len() < 30 {
        let option: Vec<u8> = match random.below(8) {
            0 => vec![1],
            1 | 2 => {
                let places = 1 + random.below(4) as usize;
                let mut option = vec![7, (3 + 4 * places) as u8, 4 + 4 * random.below(4) as u8];
                option.resize(3 + 4 * places, 0);
                option
            }
            3 => {
                let flag = [0, 1, 3, 2][random.below(4) as usize];
                let each = if flag == 0 { 4 } else { 8 };
                let mut option = vec![
                    68,
                    4 + each,
                    5 + 4 * random.below(3) as u8,
                    flag | (random.bits() as u8 & 0xF0),
                ];
                option.resize(4 + usize::from(each), 0);
                if flag == 3 && random.chance(0.5) {
                    option[4..8].copy_from_slice(&[10, 0, 1, 1]);
                }
                option
            }
            4 => vec![148, 4, 0, 0],
            5 => vec![[131, 137][random.below(2) as usize], 7, 4, 10, 0, 1, 2],
            6 => vec![0],
            _ => {
                let length = random.below(12) as u8;
                let mut option = vec![random.bits() as u8 | 0x20, length];
                option.extend(bytes(random, usize::from(length).saturating_sub(2)));
                option
            }
        };
        all.extend(option);
    }
    all.truncate(40);
    all.resize(all.len().next_multiple_of(4), 0);
    all
}

/// An IPv4 packet for a port, most of them of hosts that the router knows.
pub fn v4(random: &mut Random, port: usize) -> Vec<u8> {
    let host = 2 + random.below(59) as u8;
    let near = Ipv4Addr::new(10, 0, port as u8, host);
    let source = match random.below(12) {
        0 => draw(
            random,
            &[
                "0.0.0.0",
                "0.1.2.3",
                "127.0.0.1",
                "224.0.0.1",
                "255.255.255.255",
                "240.0.0.1",
            ],
        )
        .parse()
        .unwrap(),
        1 => draw(
            random,
            &["10.0.0.1", "10.0.1.1", "10.0.2.1", "10.0.1.77", "10.0.2.77"],
        )
        .parse()
        .unwrap(),
        2 => draw(
            random,
            &[
                "10.9.0.7",
                "10.8.3.1",
                "10.7.0.1",
                "10.6.0.1",
                "198.51.100.7",
                "10.4.0.1",
            ],
        )
        .parse()
        .unwrap(),
        3 => Ipv4Addr::new(10, 0, port as u8, 2 + random.below(4) as u8),
        _ => near,
    };
    let last = random.below(4) as u8;
    let destination: Ipv4Addr = match random.below(10) {
        0 => draw(random, &["10.0.0.1", "10.0.1.1", "10.0.2.1"])
            .parse()
            .unwrap(),
        1 => draw(
            random,
            &[
                "0.0.0.0",
                "0.1.2.3",
                "127.0.0.1",
                "224.0.0.1",
                "224.0.1.1",
                "239.1.2.3",
                "255.255.255.255",
                "240.0.0.1",
                "10.0.0.255",
                "10.0.1.255",
            ],
        )
        .parse()
        .unwrap(),
        2 => draw(
            random,
            &[
                "10.7.1.1",
                "10.6.1.1",
                "10.5.1.1",
                "198.51.100.1",
                "10.3.0.1",
            ],
        )
        .parse()
        .unwrap(),
        3 | 4 => Ipv4Addr::new(10, 0, random.below(3) as u8, 2 + last),
        _ => Ipv4Addr::new(
            10,
            [9, 8, 4][random.below(3) as usize],
            [0, 8, 9][random.below(3) as usize],
            last,
        ),
    };
    let options = if random.chance(0.25) {
        options(random)
    } else {
        Vec::new()
    };
    let header = 20 + options.len();
    let (protocol, body) = payload(random, (source.into(), destination.into()), 1500 - header);
    let mut frame = vec![0; 12];
    frame[..6].copy_from_slice(&match random.below(30) {
        0 => [0xFF; 6],
        1 => [2, 9, 9, 9, 9, 9],
        2 => [1, 0, 0x5E, 0, 0, 1],
        _ => router_mac(port),
    });
    frame[6..12].copy_from_slice(&peer_mac(port, source.octets()[3]));
    frame.extend([8, 0]);
    let mut ip = vec![0; 20];
    ip[0] = 0x40 | (header / 4) as u8;
    ip[1] = if random.chance(0.3) {
        random.bits() as u8
    } else {
        0
    };
    ip[2..4].copy_from_slice(&((header + body.len()) as u16).to_be_bytes());
    ip[4..6].copy_from_slice(&bytes(random, 2));
    ip[6..8].copy_from_slice(&match random.below(10) {
        0 => [0x20, 0],
        1 => [random.below(32) as u8, random.bits() as u8],
        2 => [random.bits() as u8, random.bits() as u8],
        3..=6 => [0x40, 0],
        _ => [0, 0],
    });
    ip[8] = [0, 1, 1, 2, 255, 64, 64, 64][random.below(8) as usize];
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&source.octets());
    ip[16..20].copy_from_slice(&destination.octets());
    ip.extend(options);
    match random.below(40) {
        0 => ip[0] = random.bits() as u8,
        1 => ip[2..4].copy_from_slice(&(random.below(1600) as u16).to_be_bytes()),
        _ => {}
    }
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    if random.chance(0.02) {
        ip[11] ^= 1;
    }
    frame.extend(ip);
    frame.extend(body);
    match random.below(12) {
        0 => frame.resize(frame.len().max(60), 0),
        1 => frame.truncate(15 + random.below(frame.len() as u64 - 14) as usize),
        _ => {}
    }
    frame.truncate(14 + MTUS[port]);
    frame
}

/// The same of IPv6.
pub fn v6(random: &mut Random, port: usize) -> Vec<u8> {
    let near = Ipv6Addr::new(
        0xFD00,
        port as u16,
        0,
        0,
        0,
        0,
        0,
        2 + random.below(4) as u16,
    );
    let source: Ipv6Addr = match random.below(12) {
        0 => draw(
            random,
            &[
                "::",
                "::1",
                "ff02::1",
                "fe80::7",
                "ff0e::1",
                "::ffff:10.0.0.2",
            ],
        )
        .parse()
        .unwrap(),
        1 => draw(
            random,
            &[
                "fd00:0::1",
                "fd00:1::1",
                "fd09::1",
                "fd06::1",
                "2001:db8::1",
            ],
        )
        .parse()
        .unwrap(),
        _ => near,
    };
    let last = 2 + random.below(4) as u16;
    let destination: Ipv6Addr = match random.below(10) {
        0 => draw(random, &["fd00:0::1", "fd00:1::1", "fd00:2::1"])
            .parse()
            .unwrap(),
        1 => draw(
            random,
            &["::", "::1", "ff0e::1", "ff05::2", "ff00::1", "ff01::1"],
        )
        .parse()
        .unwrap(),
        2 => draw(random, &["fd07::1", "fd06::1", "fd05::1", "2001:db8::1"])
            .parse()
            .unwrap(),
        3 | 4 => {
            // Not back by the link from which the packet came: Linux redirects.
            let other = (port as u16 + 1 + random.below(2) as u16) % 3;
            Ipv6Addr::new(0xFD00, other, 0, 0, 0, 0, 0, last)
        }
        _ => match port {
            1 => Ipv6Addr::new(0xFD08, 0, 0, 0, 0, 0, 0, last),
            2 => Ipv6Addr::new(0xFD09, 0, 0, 0, 0, 0, 0, last),
            _ => Ipv6Addr::new(
                [0xFD08, 0xFD09][random.below(2) as usize],
                0,
                0,
                0,
                0,
                0,
                0,
                last,
            ),
        },
    };
    let mut extensions = Vec::new();
    if random.chance(0.2) {
        let mut options = Vec::new();
        while random.chance(0.6) && options.len() < 40 {
            options.extend(match random.below(6) {
                0 => vec![0],
                1 => vec![1, 2, 0, 0],
                2 => vec![5, 2, 0, 0],
                3 => vec![0x1E, 1, 7],
                4 => vec![[0x5E, 0x9E, 0xDE][random.below(3) as usize], 1, 7],
                _ => vec![random.bits() as u8 & 0x3F, random.below(20) as u8],
            });
        }
        let length = (options.len() + 2).next_multiple_of(8);
        let padding = length - 2 - options.len();
        match padding {
            0 => {}
            1 => options.push(0),
            more => {
                options.extend([1, more as u8 - 2]);
                options.resize(length - 2, 0);
            }
        }
        extensions = vec![0, (length / 8 - 1) as u8];
        extensions.extend(options);
    }
    let (protocol, body) = payload(
        random,
        (source.into(), destination.into()),
        1460 - extensions.len(),
    );
    let mut frame = vec![0; 12];
    frame[..6].copy_from_slice(&match random.below(30) {
        0 => [0xFF; 6],
        1 => [2, 9, 9, 9, 9, 9],
        2 => [0x33, 0x33, 0, 0, 0, 1],
        _ => router_mac(port),
    });
    frame[6..12].copy_from_slice(&peer_mac(port, source.octets()[15]));
    frame.extend([0x86, 0xDD]);
    let mut ip = vec![0; 40];
    ip[0] = 0x60;
    if random.chance(0.3) {
        ip[0] |= random.bits() as u8 & 15;
        ip[1..4].copy_from_slice(&bytes(random, 3));
    }
    ip[4..6].copy_from_slice(&((extensions.len() + body.len()) as u16).to_be_bytes());
    ip[7] = [0, 1, 1, 2, 255, 64, 64, 64][random.below(8) as usize];
    ip[8..24].copy_from_slice(&source.octets());
    ip[24..40].copy_from_slice(&destination.octets());
    match extensions.first_mut() {
        Some(next) => {
            ip[6] = 0;
            *next = protocol;
        }
        None => ip[6] = protocol,
    }
    match random.below(40) {
        0 => ip[0] = random.bits() as u8,
        1 => ip[4..6].copy_from_slice(&(random.below(1600) as u16).to_be_bytes()),
        _ => {}
    }
    frame.extend(ip);
    frame.extend(extensions);
    frame.extend(body);
    if random.chance(0.08) {
        frame.truncate(15 + random.below(frame.len() as u64 - 14) as usize);
    }
    frame.truncate(14 + MTUS[port]);
    frame
}
