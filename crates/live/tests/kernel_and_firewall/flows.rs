//! Random packets of connections that open, send data and end, with retransmissions, segments outside the window, resets, errors
//! about them, and fragments.

use crate::kernel_and_router::{peer_mac, router_mac};
use node::random::Random;
use packet::checksum::{Sum, checksum};
use packet::ipv4::protocol;
use std::net::{IpAddr, Ipv6Addr};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const URG: u8 = 32;
/// A protocol of which the tracker knows nothing.
const OTHER: u8 = 200;

/// A host: its port of the router, and its number on the link.
#[derive(Clone, Copy, Debug)]
struct Host {
    port: usize,
    number: u8,
}

impl Host {
    fn address(self, is_v4: bool) -> IpAddr {
        match is_v4 {
            true => IpAddr::from([10, 0, self.port as u8, self.number]),
            false => {
                Ipv6Addr::new(0xFD00, self.port as u16, 0, 0, 0, 0, 0, self.number.into()).into()
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Flow {
    is_v4: bool,
    protocol: u8,
    hosts: [Host; 2],
    ports: [u16; 2],
    /// Next sequence numbers of both sides.
    next: [u32; 2],
    scale: [Option<u8>; 2],
    stage: u32,
    /// IP packets that were sent, and by which side.
    history: Vec<(usize, Vec<u8>)>,
}

/// All flows of a test.
#[derive(Default)]
pub struct Flows(Vec<Flow>);

fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.bits() as u8).collect()
}

/// An IP packet.
fn ip(random: &mut Random, ends: [IpAddr; 2], number: u8, payload: &[u8]) -> Vec<u8> {
    let hops = if random.chance(0.03) { 1 } else { 64 };
    match ends {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            let mut ip = vec![0x45, 0, 0, 0];
            ip[1] = [0, 0, 0, 0x20, 0xB8, 0x28][random.index(6)];
            ip[2..4].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
            ip.extend(bytes(random, 2));
            ip.extend([
                if random.chance(0.5) { 0x40 } else { 0 },
                0,
                hops,
                number,
                0,
                0,
            ]);
            ip.extend(source.octets());
            ip.extend(destination.octets());
            let sum = checksum(&ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            ip.extend(payload);
            ip
        }
        [IpAddr::V6(source), IpAddr::V6(destination)] => {
            let mut ip = vec![0x60, 0, 0, 0];
            if random.chance(0.3) {
                (ip[0], ip[1]) = (0x62 | random.below(4) as u8, 0x0F);
            }
            ip.extend((payload.len() as u16).to_be_bytes());
            ip.extend([number, hops]);
            ip.extend(source.octets());
            ip.extend(destination.octets());
            ip.extend(payload);
            ip
        }
        _ => unreachable!("addresses of one version"),
    }
}

/// Makes a length in a header wrong, or cuts the message; its checksum will be right.
fn break_lengths(random: &mut Random, number: u8, message: &mut Vec<u8>) {
    match (number, random.below(3)) {
        (_, 0) => message.truncate(random.index(message.len() + 1)),
        (protocol::TCP, _) if message.len() > 12 => {
            message[12] = (random.below(16) as u8) << 4 | message[12] & 15;
        }
        (protocol::UDP, _) if message.len() > 5 => {
            let length = match random.below(3) {
                0 => random.below(9),
                1 => (message.len() as u64 + random.below(3)).saturating_sub(1),
                _ => random.below(70_000) & 0xFFFF,
            };
            message[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            let more = bytes(random, 8);
            message.extend(more);
        }
    }
}

/// Puts extension headers before the message of an IPv6 packet, some of which are longer than the packet.
fn extend(random: &mut Random, packet: &[u8]) -> Vec<u8> {
    let mut headers = Vec::new();
    let mut next = packet[6];
    for _ in 0..1 + random.below(2) {
        // Destination options, of padding alone.
        let mut header = vec![next, 0, 1, 4, 0, 0, 0, 0];
        if random.chance(0.2) {
            header[1] = random.bits() as u8;
        }
        next = 60;
        header.extend(&headers);
        headers = header;
    }
    let mut extended = packet[..40].to_vec();
    extended[6] = next;
    let length = (packet.len() - 40 + headers.len()) as u16;
    extended[4..6].copy_from_slice(&length.to_be_bytes());
    extended.extend(headers);
    extended.extend(&packet[40..]);
    extended
}

/// Fills in the checksum of a message of TCP, UDP or ICMP.
fn finish(ends: [IpAddr; 2], number: u8, message: &mut [u8]) {
    let at = match number {
        protocol::TCP => 16,
        protocol::UDP => 6,
        protocol::ICMP | protocol::ICMPV6 => 2,
        // The place is of no importance: Linux rejects packets of other protocols only if their payload sums up as ICMP's.
        _ => 18,
    };
    if message.len() < at + 2 {
        return;
    }
    message[at..at + 2].fill(0);
    let sum = match number {
        protocol::TCP | protocol::UDP => {
            ip::header::pseudo(ends[0], ends[1], number).sum(message.len())
        }
        _ if ends[0].is_ipv4() => Sum::default(),
        _ => ip::header::pseudo(ends[0], ends[1], number).sum(message.len()),
    };
    let sum = sum.plus(message).udp_checksum();
    message[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

impl Flow {
    fn new(random: &mut Random) -> Flow {
        let is_v4 = random.chance(0.6);
        let first = random.index(3);
        // Some flows go to the router itself.
        let number = if random.chance(0.1) {
            1
        } else {
            2 + random.below(3) as u8
        };
        let second = (first + 1 + random.index(2)) % 3;
        let icmp = if is_v4 {
            protocol::ICMP
        } else {
            protocol::ICMPV6
        };
        let foreign = [protocol::ICMP, protocol::ICMPV6][usize::from(is_v4)];
        let kinds = [
            protocol::TCP,
            protocol::TCP,
            protocol::TCP,
            protocol::UDP,
            icmp,
            [OTHER, OTHER, protocol::GRE, foreign][random.index(4)],
        ];
        let ports = [22, 80, 443, 53, 8080];
        Flow {
            is_v4,
            protocol: kinds[random.index(kinds.len())],
            hosts: [
                Host {
                    port: first,
                    number: 2 + random.below(3) as u8,
                },
                Host {
                    port: second,
                    number,
                },
            ],
            ports: [1020 + random.below(12) as u16, ports[random.index(5)]],
            next: [random.bits() as u32, random.bits() as u32],
            scale: [0, 1].map(|_| random.chance(0.7).then(|| random.below(16) as u8)),
            stage: if random.chance(0.15) { 3 } else { 0 },
            history: Vec::new(),
        }
    }

    fn ends(&self, side: usize) -> [IpAddr; 2] {
        [side, 1 - side].map(|side| self.hosts[side].address(self.is_v4))
    }

    /// A TCP segment; takes its data into account if it `counts`.
    fn segment(
        &mut self,
        random: &mut Random,
        side: usize,
        flags: u8,
        shift: [u32; 2],
        data: usize,
    ) -> Vec<u8> {
        let mut tcp = Vec::new();
        tcp.extend(self.ports[side].to_be_bytes());
        tcp.extend(self.ports[1 - side].to_be_bytes());
        tcp.extend(self.next[side].wrapping_add(shift[0]).to_be_bytes());
        let acknowledges = flags & ACK != 0 || random.chance(0.05);
        let acknowledged = match acknowledges {
            true => self.next[1 - side].wrapping_add(shift[1]),
            false => 0,
        };
        tcp.extend(acknowledged.to_be_bytes());
        tcp.extend([0x50, flags]);
        let window: u16 = [0, 100, 1000, 29_200, 65_535, 8192][random.index(6)];
        tcp.extend(window.to_be_bytes());
        tcp.extend([0; 4]);
        let mut options = Vec::new();
        if flags & SYN != 0 && random.chance(0.9) {
            options.extend([2, 4, 5, 0xB4]);
            if let Some(scale) = self.scale[side] {
                options.extend([1, 3, 3, scale]);
            }
            if random.chance(0.7) {
                options.extend([1, 1, 4, 2]);
            }
        } else if flags & ACK != 0 && random.chance(0.2) {
            let end = self.next[1 - side].wrapping_add(random.below(3000) as u32);
            options.extend([1, 1, 5, 10]);
            options.extend(end.wrapping_sub(100).to_be_bytes());
            options.extend(end.to_be_bytes());
        }
        tcp[12] = ((20 + options.len()) as u8 / 4) << 4;
        tcp.extend(options);
        tcp.extend(bytes(random, data));
        if shift[0] == 0 {
            let controls = u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
            self.next[side] = self.next[side].wrapping_add(data as u32 + controls);
        }
        tcp
    }

    /// The next segment of an ordinary connection, and its side.
    fn ordinary(&mut self, random: &mut Random) -> (usize, Vec<u8>) {
        self.stage += 1;
        let none = [0, 0];
        match self.stage {
            1 => (0, self.segment(random, 0, SYN, none, 0)),
            2 => (1, self.segment(random, 1, SYN | ACK, none, 0)),
            3 => (0, self.segment(random, 0, ACK, none, 0)),
            stage if stage < 12 || random.chance(0.3) => {
                let side = random.index(2);
                let data = [0, 1, 100, 400][random.index(4)];
                (
                    side,
                    self.segment(
                        random,
                        side,
                        ACK | if data > 0 { PSH } else { 0 },
                        none,
                        data,
                    ),
                )
            }
            12..16 => {
                let side = random.index(2);
                (side, self.segment(random, side, FIN | ACK, none, 0))
            }
            16 => {
                self.stage = random.below(3) as u32 * 12;
                let side = random.index(2);
                (side, self.segment(random, side, ACK, none, 0))
            }
            _ => {
                self.stage = 15;
                let side = random.index(2);
                (side, self.segment(random, side, ACK, none, 0))
            }
        }
    }

    fn tcp(&mut self, random: &mut Random) -> (usize, Vec<u8>) {
        let side = random.index(2);
        let far = |random: &mut Random| match random.below(4) {
            0 => 1,
            1 => random.below(70_000) as u32,
            2 => (random.below(70_000) as u32).wrapping_neg(),
            _ => random.bits() as u32,
        };
        match random.below(20) {
            0 => {
                let all = [
                    SYN,
                    SYN | ACK,
                    FIN | ACK,
                    ACK,
                    RST,
                    RST | ACK,
                    URG | ACK,
                    0,
                    SYN | FIN,
                    FIN,
                    63,
                ];
                let flags = all[random.index(all.len())];
                (side, self.segment(random, side, flags, [0, 0], 0))
            }
            1 => {
                let shift = [far(random), 0];
                let data = random.index(100);
                (side, self.segment(random, side, ACK, shift, data))
            }
            2 => {
                let shift = [0, far(random)];
                (side, self.segment(random, side, ACK, shift, 0))
            }
            3 => {
                let flags = [RST, RST | ACK][random.index(2)];
                let shift = if random.chance(0.5) {
                    [0, 0]
                } else {
                    [far(random), 0]
                };
                (side, self.segment(random, side, flags, shift, 0))
            }
            4 => {
                let shift = [far(random), far(random)];
                let flags = [SYN, SYN | ACK, FIN | ACK][random.index(3)];
                (side, self.segment(random, side, flags, shift, 0))
            }
            _ => self.ordinary(random),
        }
    }

    /// An ICMP error about a packet that was sent, from its receiver or a router before it.
    fn error(&self, random: &mut Random) -> Option<(usize, Vec<u8>)> {
        let (side, about) = self.history.get(random.index(self.history.len().max(1)))?;
        let mut quote = about.clone();
        quote.truncate([28, 48, 60, 100, 24, 45][random.index(6)]);
        if random.chance(0.1) {
            let at = random.index(quote.len());
            quote[at] ^= 1;
        }
        let from = 1 - side;
        let mut ends = self.ends(from);
        if random.chance(0.4) {
            ends[0] = Host {
                port: self.hosts[from].port,
                number: 4,
            }
            .address(self.is_v4);
        }
        if random.chance(0.1) {
            ends[1] = Host {
                port: self.hosts[*side].port,
                number: 5,
            }
            .address(self.is_v4);
        }
        let (number, kinds): (u8, &[[u8; 2]]) = match self.is_v4 {
            true => (
                protocol::ICMP,
                &[[3, 1], [3, 3], [3, 4], [11, 0], [12, 0], [4, 0]],
            ),
            false => (
                protocol::ICMPV6,
                &[[1, 0], [1, 4], [2, 0], [3, 0], [4, 1], [100, 0]],
            ),
        };
        let mut message = kinds[random.index(kinds.len())].to_vec();
        message.extend([0, 0, 0, 0, 5, 0]);
        message.extend(quote);
        finish(ends, number, &mut message);
        Some((from, ip(random, ends, number, &message)))
    }

    fn message(&mut self, random: &mut Random) -> (usize, Vec<u8>) {
        let side = random.index(2);
        let size = random.index(120);
        match self.protocol {
            protocol::UDP => {
                let mut udp = Vec::new();
                udp.extend(self.ports[side].to_be_bytes());
                udp.extend(self.ports[1 - side].to_be_bytes());
                let size = if random.chance(0.2) {
                    600 + random.index(2400)
                } else {
                    size
                };
                udp.extend((8 + size as u16).to_be_bytes());
                udp.extend([0, 0]);
                udp.extend(bytes(random, size));
                (side, udp)
            }
            protocol::ICMP | protocol::ICMPV6 => {
                let kinds: [u8; 8] = match self.is_v4 {
                    true => [8, 8, 8, 0, 0, 0, 13, 42],
                    false => [128, 128, 128, 129, 129, 129, 139, 200],
                };
                let mut icmp = vec![
                    kinds[random.index(3) + if side == 0 { 0 } else { 3 }],
                    0,
                    0,
                    0,
                ];
                if random.chance(0.05) {
                    icmp[0] = kinds[6 + random.index(2)];
                }
                icmp.extend(self.ports[0].to_be_bytes());
                icmp.extend(bytes(random, 2 + size));
                (side, icmp)
            }
            protocol::TCP => self.tcp(random),
            _ => (side, bytes(random, 20)),
        }
    }

    /// The next IP packet, and its side.
    fn next(&mut self, random: &mut Random) -> (usize, Vec<u8>) {
        match random.below(20) {
            0 | 1 if !self.history.is_empty() => {
                return self.history[random.index(self.history.len())].clone();
            }
            2 => {
                if let Some(error) = self.error(random) {
                    return error;
                }
            }
            _ => {}
        }
        let (side, mut message) = self.message(random);
        let ends = self.ends(side);
        if self.protocol != OTHER && random.chance(0.04) {
            break_lengths(random, self.protocol, &mut message);
        }
        if self.protocol != OTHER || random.chance(0.5) {
            finish(ends, self.protocol, &mut message);
        }
        if self.protocol != OTHER && random.chance(0.02) {
            let at = message.len().saturating_sub(1);
            message.get_mut(at).iter_mut().for_each(|byte| **byte ^= 1);
        }
        if self.protocol == protocol::TCP && random.chance(0.01) {
            message.truncate(random.index(message.len().max(1)));
        }
        let mut packet = ip(random, ends, self.protocol, &message);
        // Linux puts options for the destination before a fragment header, RFC 8200 section 4.5 after it.
        if !self.is_v4 && packet.len() < 1000 && random.chance(0.05) {
            packet = extend(random, &packet);
        }
        if self.history.len() < 12 {
            self.history.push((side, packet.clone()));
        }
        (side, packet)
    }
}

/// Cuts an IP packet into fragments of the same size.
fn cut(random: &mut Random, packet: &[u8], max: usize) -> Vec<Vec<u8>> {
    let is_v4 = packet[0] >> 4 == 4;
    let header = if is_v4 { 20 } else { 40 };
    let own = if is_v4 { header } else { header + 8 };
    let wants = packet.len() > max || (is_v4 && packet.len() > 100 && random.chance(0.1));
    if !wants {
        return vec![packet.to_vec()];
    }
    let step = match packet.len() > max {
        true => (max - own) & !7,
        false => 48,
    };
    let identification = random.bits() as u32;
    let count = (packet.len() - header).div_ceil(step);
    let pieces = packet[header..].chunks(step).enumerate();
    let mut all: Vec<Vec<u8>> = pieces
        .map(|(index, piece)| {
            let mut fragment = packet[..header].to_vec();
            let more = index + 1 < count;
            if is_v4 {
                fragment[2..4].copy_from_slice(&((header + piece.len()) as u16).to_be_bytes());
                let place = (index * step / 8) as u16 | u16::from(more) << 13;
                let kept = u16::from(fragment[6] & 0x40) << 8;
                fragment[6..8].copy_from_slice(&(place | kept).to_be_bytes());
                fragment[10..12].fill(0);
                let sum = checksum(&fragment);
                fragment[10..12].copy_from_slice(&sum.to_be_bytes());
            } else {
                fragment[4..6].copy_from_slice(&((piece.len() + 8) as u16).to_be_bytes());
                let next = std::mem::replace(&mut fragment[6], 44);
                fragment.extend([next, 0]);
                fragment.extend(((index * step) as u16 | u16::from(more)).to_be_bytes());
                fragment.extend(identification.to_be_bytes());
            }
            fragment.extend(piece);
            fragment
        })
        .collect();
    if random.chance(0.1) {
        all.truncate(1);
    }
    all
}

impl Flows {
    /// The next frames, and the ports of the router at which they arrive.
    pub fn next(&mut self, random: &mut Random) -> Vec<(usize, Vec<u8>)> {
        if self.0.is_empty() || (self.0.len() < 40 && random.chance(0.15)) {
            self.0.push(Flow::new(random));
        }
        let number = random.index(self.0.len());
        let flow = &mut self.0[number];
        let (side, packet) = flow.next(random);
        // The router sends nothing by itself.
        let host = flow.hosts[side];
        if host.number == 1 {
            return Vec::new();
        }
        let frames = cut(random, &packet, 1280);
        let frames = frames.into_iter().map(|packet| {
            let mut frame = router_mac(host.port).to_vec();
            frame.extend(peer_mac(host.port, host.number));
            frame.extend(if packet[0] >> 4 == 4 {
                [8, 0]
            } else {
                [0x86, 0xDD]
            });
            frame.extend(packet);
            (host.port, frame)
        });
        frames.collect()
    }
}
