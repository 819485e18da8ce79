//! `router::Router` and Linux's router get the same packets and send the same frames by the same ports. Without the rights to
//! make a namespace the tests say that they were skipped.
//!
//! Not compared: the identification of the router's own IPv4 packets, the flow label of its IPv6 packets, and timestamps in
//! options, which are by the clock.
//!
//! The environment variable `WIRE_ROUTER_PACKETS` has another number of random packets than 10,000 of each version.

use ::capture::clock::now_ns;
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options, Port};
use node::random::Random;
use node::{Frame, Node, Out, Time};
use packet::arp::Arp;
use packet::checksum::{Sum, checksum};
use packet::ethernet::Mac;
use packet::ipv4::protocol;
use router::router::{Config, PortConfig, Router, reason};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// MTU of each link.
const MTUS: [usize; 3] = [1500, 1400, 1280];
/// Maximum time that the kernel may take for an answer on a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
const ROUTES: [&str; 14] = [
    "10.9.0.0/16 via 10.0.1.2",
    "10.8.0.0/16 via 10.0.2.2",
    "10.9.9.0/24 via 10.0.2.3",
    "10.4.0.0/16 via 10.0.0.3",
    "blackhole 10.7.0.0/16",
    "unreachable 10.6.0.0/16",
    "prohibit 10.5.0.0/16",
    "10.8.0.0/16 via 10.0.0.3 table 100",
    "throw 10.8.8.0/24 table 100",
    "fd09::/16 via fd00:1::2",
    "fd08::/16 via fd00:2::2",
    "blackhole fd07::/16",
    "unreachable fd06::/16",
    "prohibit fd05::/16",
];
const RULES: [&str; 3] = [
    "from 10.0.1.0/27 to 10.8.0.0/16 lookup 100",
    "from 10.0.2.59 prohibit",
    "to 10.3.0.0/16 ipproto udp unreachable",
];

/// Frames that leave each port.
type Sent = Vec<Vec<Vec<u8>>>;

fn router_mac(port: usize) -> [u8; 6] {
    [2, 0, 0, 0, 1, port as u8]
}

fn peer_mac(port: usize, host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 2 + port as u8, host]
}

fn peers(port: usize) -> Vec<(IpAddr, [u8; 6])> {
    (2..=60_u8)
        .flat_map(|host| {
            let mac = peer_mac(port, host);
            let six = Ipv6Addr::new(0xFD00, port as u16, 0, 0, 0, 0, 0, host.into());
            [
                (IpAddr::from([10, 0, port as u8, host]), mac),
                (IpAddr::from(six), mac),
            ]
        })
        .collect()
}

/// A kernel with three ports, and the far ends of its links.
struct Kernel {
    _namespaces: Vec<Namespace>,
    ports: Vec<Port>,
    sentinels: u8,
}

impl Kernel {
    fn new(limited: bool) -> Result<Kernel, NetnsError> {
        let (kernel, outside) = (Namespace::new()?, Namespace::new()?);
        let mut script = String::from(
            "set -e; cd /proc/sys/net; echo 1 >ipv4/ip_forward; echo 1 >ipv6/conf/all/forwarding; \
             for file in ipv4/conf/*/rp_filter ipv6/conf/*/accept_dad; do echo 0 >$file; done\n",
        );
        if !limited {
            script += "echo 0 >ipv6/icmp/ratelimit; echo 0 >ipv4/icmp_ratemask; \
                echo 1000000 >ipv4/icmp_msgs_per_sec; echo 1000000 >ipv4/icmp_msgs_burst\n";
        }
        for (port, mtu) in MTUS.iter().enumerate() {
            let (name, far) = (format!("k{port}"), format!("n{port}"));
            let own = VethEnd {
                namespace: &kernel,
                name: &name,
                mac: Some(router_mac(port)),
            };
            let end = VethEnd {
                namespace: &outside,
                name: &far,
                mac: Some(peer_mac(port, 2)),
            };
            veth([own, end], 1500)?;
            script += &format!(
                "echo 0 >ipv6/conf/{name}/accept_dad; echo 0 >ipv6/conf/{name}/disable_ipv6; \
                 ip link set {name} mtu {mtu}; ip addr add 10.0.{port}.1/24 brd + dev {name}; \
                 ip -6 addr add fd00:{port}::1/64 nodad dev {name}\n"
            );
            let mac = Mac(peer_mac(port, 7));
            script += &format!("ip neigh replace fe80::7 lladdr {mac} nud permanent dev {name}\n");
            for (address, mac) in peers(port) {
                let mac = Mac(mac);
                script +=
                    &format!("ip neigh replace {address} lladdr {mac} nud permanent dev {name}\n");
            }
        }
        // The order of rules without a priority is the reverse in Linux.
        for (index, rule) in RULES.iter().enumerate() {
            script += &format!("ip rule add {rule} priority {}\n", 100 + index);
        }
        for route in ROUTES {
            let six = if route.contains("fd0") { "-6" } else { "" };
            script += &format!("ip {six} route add {route}\n");
        }
        let output = kernel.command("sh").args(["-c", &script]).output();
        let output = output.expect("a shell");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let ports = (0..MTUS.len()).map(|port| {
            let name = format!("n{port}").parse().unwrap();
            let open = || port::open(&name, &Options::default());
            Ok(outside.enter(open)?.expect("a port on the far end"))
        });
        Ok(Kernel {
            ports: ports.collect::<Result<_, NetnsError>>()?,
            _namespaces: vec![kernel, outside],
            sentinels: 0,
        })
    }

    /// Sends a frame to a port; gives the frames that leave each.
    fn answers(&mut self, from: usize, frame: &[u8]) -> Vec<Vec<Vec<u8>>> {
        self.sentinels = self.sentinels % 100 + 1;
        assert_eq!(self.ports[from].tx.send(&[frame]).unwrap(), 1);
        let mut all = Vec::new();
        for port in 0..self.ports.len() {
            // A last question whose answer comes after all others.
            let sender = [10, 0, port as u8, 140 + self.sentinels];
            let mut last = Vec::new();
            let own = [10, 0, port as u8, 1];
            Arp::request(Mac(peer_mac(port, 2)), sender.into(), own.into()).build_frame(&mut last);
            let port = &mut self.ports[port];
            assert_eq!(port.tx.send(&[&last]).unwrap(), 1);
            let (mut found, mut ended) = (Vec::new(), false);
            let until = now_ns() + ANSWER_TIMEOUT.as_nanos() as u64;
            while !ended && now_ns() < until {
                let wait = Duration::from_millis(100);
                let receive = &mut |packet: live::port::Received<'_>| {
                    let bytes = packet.bytes;
                    match bytes.get(38..42) == Some(&sender) && bytes[12..14] == [8, 6] {
                        true => ended = true,
                        false if !is_own_business(bytes) => found.push(normal(bytes)),
                        false => {}
                    }
                };
                port.rx.receive(wait, receive).unwrap();
            }
            assert!(ended, "the kernel has not answered for {ANSWER_TIMEOUT:?}");
            all.push(found);
        }
        all
    }
}

/// Whether a frame is a message of the kernel about its links.
fn is_own_business(frame: &[u8]) -> bool {
    match frame[12..14] {
        [8, 6] => frame[21] == 1,
        [0x86, 0xDD] if frame[20] == 0 => true,
        [0x86, 0xDD] => frame[20] == 58 && matches!(frame[54], 131..=135 | 143),
        _ => false,
    }
}

/// Clears timestamp options of a packet; `true` when there are any.
fn without_stamps(packet: &mut [u8]) -> bool {
    let header = (usize::from(packet[0] & 15) * 4).min(packet.len());
    let (mut at, mut found) = (20, false);
    while at + 4 < header && packet[at] != 0 {
        let length = match packet[at] {
            1 => 1,
            _ => usize::from(packet[at + 1]).max(2),
        };
        if packet[at] == 68 {
            found = true;
            packet[(at + 4).min(header)..(at + length).clamp(at + 4, header)].fill(0);
        }
        at += length;
    }
    found
}

fn is_router(source: &[u8]) -> bool {
    matches!(source, [10, 0, 0..=2, 1])
        || matches!(
            source,
            [0xFD, 0, 0, 0..=2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        )
        || source.starts_with(&[0xFE, 0x80])
}

/// A frame without the fields that are not compared.
fn normal(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    match frame[12..14] {
        [8, 0] => {
            frame.truncate(14 + usize::from(u16::from_be_bytes([frame[16], frame[17]])));
            if is_router(&frame[26..30]) {
                for at in [18, 19, 24, 25] {
                    frame[at] = 0;
                }
            }
            let header = 14 + usize::from(frame[14] & 15) * 4;
            if without_stamps(&mut frame[14..]) {
                frame[24..26].fill(0);
            }
            // A timestamp reply (RFC 792).
            if frame[23] == protocol::ICMP
                && frame.get(header) == Some(&14)
                && is_router(&frame[26..30])
            {
                frame[header + 2..header + 4].fill(0);
                frame[header + 12..].fill(0);
            }
            // Those of the packet that an error quotes, too.
            let is_quote = frame[23] == protocol::ICMP && is_router(&frame[26..30]);
            if is_quote && frame.len() > header + 28 && without_stamps(&mut frame[header + 8..]) {
                frame[header + 2..header + 4].fill(0);
            }
        }
        [0x86, 0xDD] => {
            frame.truncate(54 + usize::from(u16::from_be_bytes([frame[18], frame[19]])));
            if is_router(&frame[22..38]) {
                frame[15] &= 0xF0;
                frame[16..18].fill(0);
            }
        }
        _ => frame.truncate(42),
    }
    frame
}

fn router(limited: bool) -> Router {
    let port = |number: usize| PortConfig {
        address: vec![
            format!("10.0.{number}.1/24").parse().unwrap(),
            format!("fd00:{number}::1/64").parse().unwrap(),
        ],
        mac: Some(Mac(router_mac(number))),
        mtu: MTUS[number],
        ..PortConfig::default()
    };
    let mut router = Router::new(Config {
        port: (0..3).map(port).collect(),
        route: ROUTES.iter().map(|text| text.parse().unwrap()).collect(),
        rule: RULES.iter().map(|text| text.parse().unwrap()).collect(),
        icmp_limit: limited,
        ..Config::default()
    })
    .expect("a good configuration");
    let mut out = Out::default();
    for port in 0..3 {
        let link_local = ("fe80::7".parse().unwrap(), peer_mac(port, 7));
        for (address, mac) in peers(port).into_iter().chain([link_local]) {
            let mut frame = Vec::new();
            match address {
                IpAddr::V4(address) => {
                    let own = [10, 0, port as u8, 1];
                    Arp::request(Mac(mac), address, own.into()).build_frame(&mut frame);
                }
                address => {
                    let own = Ipv6Addr::new(0xFD00, port as u16, 0, 0, 0, 0, 0, 1);
                    ip::discovery::request(mac, address, own.into(), None, &mut frame);
                }
            }
            router.frames(
                Time::ZERO,
                node::Port(port as u16),
                &mut vec![Frame::new(&frame)],
                &mut out,
            );
        }
    }
    router
}

fn ours(router: &mut Router, from: usize, frame: &[u8]) -> (Sent, Vec<(&'static str, u64)>) {
    let mut out = Out::default();
    let mut frames = vec![Frame::new(frame)];
    router.frames(
        Time::from_secs(1),
        node::Port(from as u16),
        &mut frames,
        &mut out,
    );
    let mut all = vec![Vec::new(); MTUS.len()];
    for sent in out.sends() {
        if !is_own_business(&sent.frame) {
            all[usize::from(sent.port.0)].push(normal(&sent.frame));
        }
    }
    (all, out.drops().to_vec())
}

/// Redirects and errors about packets without a route, of which Linux limits the number whatever its settings: those that it
/// sends at once are compared.
#[derive(Default)]
struct Limited {
    sent: BTreeMap<[u8; 4], usize>,
}

/// A reason for a redirect takes the other errors away for a second.
const NO_MORE: usize = 100;

impl Limited {
    fn remove_surplus(&mut self, all: &mut [Vec<Vec<u8>>]) {
        for frames in all.iter_mut() {
            frames.retain(|frame| {
                if frame[12..14] != [8, 0] || frame[23] != 1 || !is_router(&frame[26..30]) {
                    return true;
                }
                let header = 14 + usize::from(frame[14] & 15) * 4;
                let to = [frame[30], frame[31], frame[32], frame[33]];
                let count = self.sent.entry(to).or_default();
                match frame[header..header + 2] {
                    [5, _] => *count < NO_MORE,
                    [3, 0 | 1 | 13] => {
                        *count += 1;
                        *count <= 5
                    }
                    _ => true,
                }
            });
        }
    }

    /// A packet has been sent back by its port of arrival, or an error about it was not allowed: the limits count those, too.
    fn note(&mut self, port: usize, sent: &[u8], ours: &[Vec<Vec<u8>>], drops: &[(&str, u64)]) {
        let Some(source) = sent.get(26..30).filter(|_| sent[12..14] == [8, 0]) else {
            return;
        };
        let routes = [reason::NO_ROUTE, reason::PROHIBITED, reason::UNREACHABLE];
        let silent = ours.iter().all(Vec::is_empty);
        let silent = silent && drops.iter().any(|drop| routes.contains(&drop.0));
        let back = |frame: &Vec<u8>| frame.get(26..30) == Some(source);
        if silent || ours[port].iter().any(back) {
            let source = [source[0], source[1], source[2], source[3]];
            self.sent.insert(source, NO_MORE);
        }
    }
}

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

fn v4(random: &mut Random, port: usize) -> Vec<u8> {
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

fn v6(random: &mut Random, port: usize) -> Vec<u8> {
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

/// Compares random packets, 10,000 with one kernel.
fn compare(seed: u64, make: fn(&mut Random, usize) -> Vec<u8>) {
    let count = std::env::var("WIRE_ROUTER_PACKETS").ok();
    let count: u64 = count.map_or(10_000, |count| count.parse().expect("a number"));
    for part in 0..count.div_ceil(10_000) {
        compare_some(seed + 2 * part, count.min(10_000) as usize, make);
    }
}

fn compare_some(seed: u64, count: usize, make: fn(&mut Random, usize) -> Vec<u8>) {
    let mut kernel = match Kernel::new(false) {
        Ok(kernel) => kernel,
        Err(error) => return println!("skipped: a kernel's router: {error}"),
    };
    let mut router = router(false);
    let mut random = Random::new(seed);
    let mut limited = [Limited::default(), Limited::default()];
    let (mut different, mut forwarded) = (0, 0);
    for round in 0..count {
        let port = random.below(3) as usize;
        let frame = make(&mut random, port);
        let mut theirs = kernel.answers(port, &frame);
        let (mut ours, drops) = ours(&mut router, port, &frame);
        limited[0].remove_surplus(&mut theirs);
        limited[1].remove_surplus(&mut ours);
        limited
            .iter_mut()
            .for_each(|side| side.note(port, &frame, &ours, &drops));
        forwarded += usize::from(theirs.iter().any(|frames| !frames.is_empty()));
        if theirs != ours {
            different += 1;
            if different <= 12 {
                let hex = |all: &[Vec<Vec<u8>>]| {
                    let mut text = String::new();
                    for (port, frames) in all.iter().enumerate() {
                        for frame in frames {
                            let bytes: String = frame
                                .iter()
                                .take(110)
                                .map(|byte| format!("{byte:02x}"))
                                .collect();
                            text += &format!("\n    {port} {:5} {bytes}", frame.len());
                        }
                    }
                    text
                };
                let sent = hex(&[vec![frame]]);
                println!(
                    "{round} port {port} {drops:?}\n sent{sent}\n kernel{}\n ours{}",
                    hex(&theirs),
                    hex(&ours)
                );
            }
        }
    }
    assert_eq!(
        different, 0,
        "of {count}; the kernel sent something for {forwarded}"
    );
    assert!(forwarded * 3 > count, "{forwarded} of {count}");
}

#[test]
fn random_packets_of_ipv4_are_forwarded_and_refused_as_by_linux() {
    compare(1, v4);
}

#[test]
fn random_packets_of_ipv6_are_forwarded_and_refused_as_by_linux() {
    compare(2, v6);
}
