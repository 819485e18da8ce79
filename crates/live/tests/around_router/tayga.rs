//! The same random packets through another translator and through the stateless one, both ways, compared byte by byte; here with tayga.
//!
//! A kernel forwards between a link and tayga's interface, and so counts two hops more. Not compared: hop limits, and with
//! them the checksums of IPv4 headers; the identification of IPv4 packets that were no fragments, which each translator chooses.
//! Differences of the kinds in [`known`] are counted.

use super::{have, kernels, wait_for};
use live::port::Port;
use node::random::Random;
use node::{Frame, Node, Out, Time};
use packet::arp::Arp;
use packet::checksum::checksum;
use packet::ethernet::Mac;
use packet::ipv4::protocol;
use router::router::{Config, PortConfig, Router};
use router::siit;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

const PACKETS: usize = 6_000;
const PEER: [u8; 6] = [2, 0, 0, 0, 9, 2];
const KERNEL: [u8; 6] = [2, 0, 0, 0, 9, 1];
pub(super) const SETUP: &str = "cd /proc/sys/net; echo 1 >ipv4/ip_forward; echo 1 >ipv6/conf/all/forwarding; \
    for file in ipv4/conf/*/rp_filter; do echo 0 >$file; done; \
    ip link set k address 02:00:00:00:09:01; ip addr add 10.9.0.1/24 dev k; \
    ip -6 addr add fd09::1/64 dev k nodad; \
    ip neigh replace 10.9.0.2 lladdr 02:00:00:00:09:02 nud permanent dev k; \
    ip neigh replace fd09::2 lladdr 02:00:00:00:09:02 nud permanent dev k; \
    ip route add 198.51.100.0/24 via 10.9.0.2; ip -6 route add 2001:db8:46::/64 via fd09::2";

/// The IPv6 host, its IPv4 address, and an IPv4 host.
pub(super) const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub(super) const HOST_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0x46, 0, 0, 0, 0, 2);
const REMOTE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
pub(super) const PREFIX: &str = "2001:db8:64::/96";

fn remote_v6() -> Ipv6Addr {
    "2001:db8:64::198.51.100.7".parse().unwrap()
}

/// Transport header and data, with a right checksum between two addresses unless it is a fragment.
fn transport(random: &mut Random, number: u8, ends: [IpAddr; 2], whole: bool) -> Vec<u8> {
    let size = match random.below(8) {
        0 => random.index(1_400),
        _ => random.index(80),
    };
    let header = match number {
        protocol::TCP => 20,
        _ => 8,
    };
    let mut bytes: Vec<u8> = (0..header + size).map(|_| random.bits() as u8).collect();
    let at = match number {
        protocol::TCP => {
            bytes[12] = 0x50;
            16
        }
        protocol::UDP => {
            let length = bytes.len() as u16;
            bytes[4..6].copy_from_slice(&length.to_be_bytes());
            6
        }
        protocol::ICMP | protocol::ICMPV6 => 2,
        _ => return bytes,
    };
    if !whole {
        return bytes;
    }
    bytes[at..at + 2].fill(0);
    let length = bytes.len();
    let sum = match number {
        protocol::ICMP => return with_icmp(bytes),
        _ => ip::header::pseudo(ends[0], ends[1], number)
            .sum(length)
            .plus(&bytes),
    };
    let sum = if number == protocol::UDP {
        sum.udp_checksum()
    } else {
        sum.checksum()
    };
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// An ICMP message with its checksum.
pub(super) fn with_icmp(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[2..4].fill(0);
    let sum = checksum(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

pub(super) fn v4(
    random: &mut Random,
    ends: [Ipv4Addr; 2],
    number: u8,
    body: &[u8],
    fragment: u16,
) -> Vec<u8> {
    let options = 4 * [0, 0, 0, 1, 2][random.index(5)];
    let mut ip = vec![0x45 + (options / 4) as u8, random.bits() as u8 & !3];
    ip.extend((20 + options as u16 + body.len() as u16).to_be_bytes());
    ip.extend((random.bits() as u16 | 1).to_be_bytes());
    ip.extend(fragment.to_be_bytes());
    ip.extend([64, number, 0, 0]);
    ip.extend(ends[0].octets());
    ip.extend(ends[1].octets());
    ip.extend(vec![1; options]);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.extend(body);
    ip
}

pub(super) fn v6(
    random: &mut Random,
    ends: [Ipv6Addr; 2],
    number: u8,
    body: &[u8],
    fragment: Option<u16>,
) -> Vec<u8> {
    let class = random.bits() as u8 & !3;
    let mut ip = vec![0x60 | class >> 4, class << 4 | random.bits() as u8 & 15];
    ip.extend([random.bits() as u8, random.bits() as u8]);
    let length = body.len() + if fragment.is_some() { 8 } else { 0 };
    ip.extend((length as u16).to_be_bytes());
    ip.extend([if fragment.is_some() { 44 } else { number }, 64]);
    ip.extend(ends[0].octets());
    ip.extend(ends[1].octets());
    if let Some(place) = fragment {
        ip.extend([number, 0]);
        ip.extend(place.to_be_bytes());
        ip.extend((random.bits() as u32).to_be_bytes());
    }
    ip.extend(body);
    ip
}

/// A random packet of one version between both hosts, as a frame.
fn packet(random: &mut Random, is_v4: bool) -> Vec<u8> {
    let number = match random.below(8) {
        0..=2 => protocol::UDP,
        3..=4 => protocol::TCP,
        5..=6 if is_v4 => protocol::ICMP,
        5..=6 => protocol::ICMPV6,
        _ => 50,
    };
    let is_icmp = matches!(number, protocol::ICMP | protocol::ICMPV6);
    let fragment = (!is_icmp && random.below(6) == 0).then(|| {
        (
            random.below(2) * (1 + random.below(900)),
            random.below(2) == 0,
        )
    });
    let inner = |random: &mut Random, is_v4: bool, back: bool| {
        let number = [protocol::UDP, protocol::TCP][random.index(2)];
        let (from, to) = if is_v4 != back { (0, 1) } else { (1, 0) };
        match is_v4 {
            true => {
                let ends = [[REMOTE, HOST][from], [REMOTE, HOST][to]];
                let body = transport(random, number, ends.map(IpAddr::V4), true);
                v4(random, ends, number, &body, 0)
            }
            false => {
                let ends = [[remote_v6(), HOST_V6][from], [remote_v6(), HOST_V6][to]];
                let body = transport(random, number, ends.map(IpAddr::V6), true);
                v6(random, ends, number, &body, None)
            }
        }
    };
    let mut body = match (is_icmp, is_v4) {
        (true, true) if random.below(2) == 0 => {
            let mut body = vec![[3, 11][random.index(2)], random.below(14) as u8, 0, 0];
            if body[0] == 11 {
                body[1] &= 1;
            }
            body.extend([0, 0, 5, 100]);
            body.extend(inner(random, true, true));
            body
        }
        (true, false) if random.below(2) == 0 => {
            let mut body = vec![1 + random.below(3) as u8, 0, 0, 0, 0, 0, 5, 100];
            body[1] = match body[0] {
                1 => random.below(5) as u8,
                3 => random.below(2) as u8,
                _ => 0,
            };
            if body[0] != 2 {
                body[4..].fill(0);
            }
            body.extend(inner(random, false, true));
            body
        }
        _ => Vec::new(),
    };
    let ends_v4 = [REMOTE, HOST];
    let ends_v6 = [HOST_V6, remote_v6()];
    let ends = match is_v4 {
        true => ends_v4.map(IpAddr::V4),
        false => ends_v6.map(IpAddr::V6),
    };
    if body.is_empty() {
        body = transport(random, number, ends, fragment.is_none());
        if is_icmp {
            body[0] = match is_v4 {
                true => [8, 0][random.index(2)],
                false => [128, 129][random.index(2)],
            };
            body[1] = 0;
        }
        if number == protocol::UDP && is_v4 && fragment.is_none() && random.below(8) == 0 {
            body[6..8].fill(0);
        }
    }
    if is_icmp {
        body = match is_v4 {
            true => with_icmp(body),
            false => {
                body[2..4].fill(0);
                let sum = ip::header::pseudo(ends[0], ends[1], number).sum(body.len());
                let sum = sum.plus(&body).checksum();
                body[2..4].copy_from_slice(&sum.to_be_bytes());
                body
            }
        };
    }
    if fragment.is_some_and(|(_, more)| more) {
        body.resize(body.len().next_multiple_of(8), 0);
    }
    match is_v4 {
        true => {
            let flags = [0, 0x4000][random.index(2)];
            let place = fragment.map_or(flags, |(at, more)| at as u16 | u16::from(more) << 13);
            frame(&v4(random, ends_v4, number, &body, place))
        }
        false => {
            let place = fragment.map(|(at, more)| (at as u16) << 3 | u16::from(more));
            frame(&v6(random, ends_v6, number, &body, place))
        }
    }
}

/// A packet as a frame to the translator.
pub(super) fn frame(packet: &[u8]) -> Vec<u8> {
    let kind = match packet[0] >> 4 {
        4 => [8, 0],
        _ => [0x86, 0xDD],
    };
    [&KERNEL[..], &PEER, &kind, packet].concat()
}

/// A packet without Ethernet header, padding, and the fields that are not compared.
fn normal(frame: &[u8]) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    match packet[0] >> 4 {
        4 => {
            packet.truncate(u16::from_be_bytes([packet[2], packet[3]]).into());
            if packet[6] & 0x3F == 0 && packet[7] == 0 {
                packet[4..6].fill(0);
            }
            packet[8] = 0;
            packet[10..12].fill(0);
        }
        _ => {
            packet.truncate(40 + usize::from(u16::from_be_bytes([packet[4], packet[5]])));
            packet[7] = 0;
        }
    }
    packet
}

/// A packet without the flag that forbids fragments.
fn without_flag(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if packet[0] >> 4 == 4 && packet.len() <= 1_260 {
        packet[6] &= !0x40;
    }
    packet
}

/// An error without the flag, and without identification, flag and checksum of the IPv4 packet that it quotes, which its own
/// checksum covers.
fn without_quoted_header(packet: &[u8]) -> Vec<u8> {
    let mut packet = without_flag(packet);
    if packet[0] >> 4 == 4 {
        packet[22..24].fill(0);
        packet[32..36].fill(0);
        packet[38..40].fill(0);
    }
    packet
}

/// Known differences between tayga's packet and ours for one that was sent.
fn known(sent: &[u8], tayga: &[Vec<u8>], ours: &[Vec<u8>]) -> Option<&'static str> {
    let is_v4 = sent[12] == 8;
    let number = if is_v4 { sent[23] } else { sent[20] };
    let is_error = |packet: &[u8]| match packet[0] >> 4 {
        4 => packet[9] == protocol::ICMP && matches!(packet[20], 3 | 11 | 12),
        _ => packet[6] == protocol::ICMPV6 && packet[40] < 128,
    };
    match (tayga, ours) {
        ([], [_, ..]) if is_v4 && number == protocol::UDP => {
            Some("tayga drops UDP without a checksum")
        }
        ([], [_]) if !is_v4 && number == protocol::ICMPV6 && sent[54..56] == [1, 3] => {
            Some("tayga drops `address unreachable`")
        }
        ([theirs], [own]) => {
            let is_quote = is_error(theirs) && is_error(own);
            let equal = |clean: fn(&[u8]) -> Vec<u8>| clean(theirs) == clean(own);
            match is_quote {
                false if equal(without_flag) => {
                    Some("tayga forbids to cut short packets (RFC 6145)")
                }
                true if equal(without_quoted_header) => {
                    Some("the same, and another identification, in a quoted packet")
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Another translator behind a port, and ours. A host there answers pings.
pub(super) struct Pair {
    port: Port,
    router: Router,
    last_host: Ipv4Addr,
    drops: Vec<(&'static str, u64)>,
}

impl Pair {
    /// Ours is a router with the translator of `config` on one link, which knows its neighbour.
    pub(super) fn new(mut port: Port, config: Config, last_host: Ipv4Addr) -> Pair {
        let address = ["10.9.0.1/24", "fd09::1/64"].map(|text| text.parse().unwrap());
        let routes = [
            "198.51.100.0/24 via 10.9.0.2",
            "2001:db8:46::/64 via fd09::2",
        ];
        let router = Router::new(Config {
            port: vec![PortConfig {
                address: address.into(),
                mac: Some(Mac(KERNEL)),
                outside: config.nat64.is_some(),
                ..PortConfig::default()
            }],
            route: routes.map(|text| text.parse().unwrap()).into(),
            ..config
        });
        let mut request = Vec::new();
        Arp::request(Mac(PEER), [10, 9, 0, 2].into(), [10, 9, 0, 1].into())
            .build_frame(&mut request);
        port.tx.send(&[&request]).unwrap();
        let mut pair = Pair {
            port,
            router: router.expect("a good configuration"),
            last_host,
            drops: Vec::new(),
        };
        pair.ours(&request);
        let [own, peer] = ["fd09::1", "fd09::2"].map(|text| text.parse().unwrap());
        let mut solicitation = Vec::new();
        ip::discovery::request(PEER, peer, own, None, &mut solicitation);
        pair.ours(&solicitation);
        pair
    }

    /// Packets that the router sends for a frame.
    fn ours(&mut self, frame: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Out::default();
        let mut frames = vec![Frame::new(frame)];
        let port = node::Port(0);
        self.router.frames(Time::ZERO, port, &mut frames, &mut out);
        self.drops = out.drops().to_vec();
        out.sends().map(|sent| normal(&sent.frame)).collect()
    }

    /// Packets of the other translator and of ours, for a frame of its own each.
    pub(super) fn send(&mut self, frames: [&[u8]; 2]) -> [Vec<Vec<u8>>; 2] {
        let theirs = answers(&mut self.port, frames[0], self.last_host);
        let theirs = theirs.iter().map(|frame| normal(frame)).collect();
        [theirs, self.ours(frames[1])]
    }

    /// Drops of ours because of the last frame.
    pub(super) fn drops(&self) -> &[(&'static str, u64)] {
        &self.drops
    }
}

/// Frames received up to the reply to a ping of `last`, which is sent after the frame.
fn answers(port: &mut Port, frame: &[u8], last_host: Ipv4Addr) -> Vec<Vec<u8>> {
    assert_eq!(port.tx.send(&[frame]).unwrap(), 1);
    let mut found = Vec::new();
    // A reply to a later ping proves that the translator has processed the packet.
    let mut last = false;
    let mut ping = [KERNEL, PEER].concat();
    ping.extend([8, 0]);
    let body = with_icmp(vec![8, 0, 0, 0, 0x7A, 0x7A, 0, 1]);
    let mut random = Random::new(3);
    let mut packet = v4(&mut random, [REMOTE, last_host], protocol::ICMP, &body, 0);
    packet[1] = 0;
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 15) * 4;
    let sum = checksum(&packet[..header]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    ping.extend(packet);
    assert_eq!(port.tx.send(&[&ping]).unwrap(), 1);
    for _ in 0..100 {
        let receive = &mut |packet: live::port::Received<'_>| {
            let bytes = packet.bytes;
            let is_ip = matches!(bytes[12..14], [8, 0] | [0x86, 0xDD]);
            if bytes[..6] != PEER || !is_ip {
                return;
            }
            match bytes.get(26..30) == Some(&last_host.octets()) && bytes.get(34) == Some(&0) {
                true => last = true,
                false => found.push(bytes.to_vec()),
            }
        };
        port.rx.receive(Duration::from_millis(20), receive).unwrap();
        if last {
            return found;
        }
    }
    panic!("{last_host} does not answer");
}

/// A frame, the packets of another translator and ours for it, and our drops.
type Unknown = (
    Vec<u8>,
    Vec<Vec<u8>>,
    Vec<Vec<u8>>,
    Vec<(&'static str, u64)>,
);

/// Result of a comparison.
#[derive(Default)]
pub(super) struct Compared {
    same: usize,
    dropped: usize,
    differences: BTreeMap<&'static str, usize>,
    unknown: Vec<Unknown>,
}

/// The kind of a known difference between another translator's packets and ours for a frame.
pub(super) type Known = fn(&[u8], &[Vec<u8>], &[Vec<u8>]) -> Option<&'static str>;

/// Gives the same random packets to another translator, behind a port, and to ours. `last_host` answers pings there.
pub(super) fn compare(port: Port, last_host: Ipv4Addr, known: Known) -> Compared {
    let siit = siit::Config {
        prefix: PREFIX.parse().unwrap(),
        pairs: vec![(HOST, HOST_V6).into()],
        ..siit::Config::default()
    };
    let config = Config {
        siit: Some(siit),
        ..Config::default()
    };
    let mut pair = Pair::new(port, config, last_host);
    let mut random = Random::new(7);
    let mut all = Compared::default();
    for _ in 0..PACKETS {
        let is_v4 = random.below(2) == 0;
        let frame = packet(&mut random, is_v4);
        let [theirs, ours] = pair.send([&frame, &frame]);
        if theirs == ours {
            all.same += 1;
            all.dropped += usize::from(ours.is_empty());
        } else if let Some(difference) = known(&frame, &theirs, &ours) {
            *all.differences.entry(difference).or_default() += 1;
        } else {
            all.unknown.push((frame, theirs, ours, pair.drops.clone()));
        }
    }
    all
}

impl Compared {
    /// Prints the differences; there must be none that is not known.
    pub(super) fn check(&self) {
        let Compared {
            same,
            dropped,
            differences,
            unknown,
        } = self;
        println!("{same} the same, of these {dropped} dropped by both; {differences:?}");
        let hex = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        for (frame, theirs, ours, drops) in unknown.iter().take(8) {
            println!("sent  {}", hex(&frame[14..]));
            theirs
                .iter()
                .for_each(|packet| println!("tayga {}", hex(packet)));
            ours.iter()
                .for_each(|packet| println!("ours  {}", hex(packet)));
            println!("{drops:?}");
        }
        assert!(unknown.is_empty(), "{} unknown differences", unknown.len());
        assert!(*same > PACKETS / 2);
    }
}

#[test]
fn tayga_and_the_translator_send_the_same_packets() {
    if !have(&["tayga"]) || !std::path::Path::new("/dev/net/tun").exists() {
        println!("skipped: tayga and /dev/net/tun are needed");
        return;
    }
    let Some((kernels, mut ports)) = kernels(&[SETUP]) else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("wireline-tayga-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("tayga.conf");
    let text = format!(
        "tun-device nat64\nipv4-addr 192.0.2.1\nipv6-addr 2001:db8:99::1\nprefix {PREFIX}\nmap {HOST} {HOST_V6}\n"
    );
    std::fs::write(&file, text).unwrap();
    let tayga = kernels.start(0, &format!("tayga -d -c {}", file.display()));
    let up = "echo 0 >/proc/sys/net/ipv6/conf/nat64/disable_ipv6 && ip link set nat64 up && ip route replace 192.0.2.0/24 dev nat64 && \
              ip -6 route replace 2001:db8:64::/96 dev nat64";
    assert!(
        wait_for(10, || kernels.try_output(0, up).0),
        "no interface of tayga"
    );
    let compared = compare(ports.remove(0), [192, 0, 2, 1].into(), known);
    drop(tayga);
    std::fs::remove_dir_all(&folder).unwrap();
    compared.check();
}
