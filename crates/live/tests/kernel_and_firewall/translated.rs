//! Helpers behind a NAT: the kernel's nf_nat_ftp and nf_nat_tftp and ours get the same connections of hosts inside and outside, with
//! announcements of all forms, retransmissions, and selective acknowledgements of data whose numbers have changed.

use super::{compare_connections, hex, kernel, load, packets, without_surplus};
use crate::kernel_and_router::{Kernel, Sent, ours_at, router_with_ports};
use node::Time;
use node::random::Random;
use packet::ipv4::{Ipv4View, protocol};
use packet::tcp::{Tcp, TcpOption, TcpView, flag};
use packet::udp::{Udp, UdpView};
use packets::Host;
use router::nat;
use router::router::{Config, Router};
use std::time::Instant;

const RULES: &str = "table ip helpers {
    ct helper file-transfer { type \"ftp\" protocol tcp; }
    ct helper boot { type \"tftp\" protocol udp; }
    chain first {
        type filter hook prerouting priority filter; policy accept;
        tcp dport 21 ct helper set \"file-transfer\"
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
/// The kernel's NAT; ours has keys.
const NAT: &str = "table ip nat {
    chain first {
        type nat hook prerouting priority dstnat; policy accept;
        iifname \"k1\" tcp dport 21 dnat to 10.0.0.9:21
        iifname \"k1\" udp dport 69 dnat to 10.0.0.9:69
    }
    chain last {
        type nat hook postrouting priority srcnat; policy accept;
        oifname \"k1\" masquerade
    }
}
";
/// The router's address outside.
const ROUTER: Host = (1, 1);
const SERVER: Host = (1, 3);
const INSIDE_SERVER: Host = (0, 9);

fn config() -> Config {
    let external = |port: u16| format!("10.0.1.1:{port}").parse().unwrap();
    let inside = |port: u16| format!("10.0.0.9:{port}").parse().unwrap();
    let forward = |protocol, port| nat::Forward {
        protocol,
        external: external(port),
        inside: inside(port),
    };
    Config {
        firewall: Some(RULES.to_owned()),
        nat: Some(nat::Config {
            forward: vec![
                forward(nat::Transport::Tcp, 21),
                forward(nat::Transport::Udp, 69),
            ],
            ..nat::Config::linux()
        }),
        ..Config::default()
    }
}

/// Both routers, and counts.
struct Trial {
    kernel: Kernel,
    router: Router,
    start: Instant,
    sent: u32,
    differences: u32,
    rewritten: u32,
}

impl Trial {
    fn now(&self) -> Time {
        Time::from_secs(1) + Time::from_ns(self.start.elapsed().as_nanos() as u64)
    }

    /// Sends a frame to a port of both; the frame that leaves, if they agree on one.
    fn exchange(&mut self, port: usize, frame: &[u8]) -> Option<Vec<u8>> {
        let mut theirs: Sent = self.kernel.answers(port, frame);
        let now = self.now();
        let (mut ours, drops) = ours_at(&mut self.router, now, port, frame);
        without_surplus(&mut theirs);
        without_surplus(&mut ours);
        self.sent += 1;
        if theirs != ours {
            self.differences += 1;
            let sent = hex(&vec![vec![frame.to_vec()]]);
            let [theirs, ours] = [theirs, ours].map(|frames| hex(&frames));
            println!("{drops:?}\n sent{sent}\n kernel{theirs}\n ours{ours}");
            return None;
        }
        let forwarded = |frame: &Vec<u8>| frame[12..14] == [8, 0] && frame[22] != 64;
        theirs.into_iter().flatten().find(forwarded)
    }
}

/// One end of a connection: its host, the host to which it sends, and the ports of both.
#[derive(Clone, Copy, Debug)]
struct End {
    hosts: [Host; 2],
    ports: [u16; 2],
}

/// A TCP connection with the numbers that each side has sent and received.
struct Connection {
    ends: [End; 2],
    next: [u32; 2],
    /// Numbers that each side may acknowledge, as it has received them.
    received: [Vec<u32>; 2],
    /// Segments of each side: sequence number, flags, data.
    history: [Vec<(u32, u8, Vec<u8>)>; 2],
}

impl Connection {
    /// A connection, whose second end is known when its first packet has arrived.
    fn new(random: &mut Random, first: End) -> Connection {
        let [from, to] = first.hosts;
        let [own, other] = first.ports;
        let back = End {
            hosts: [to, from],
            ports: [other, own],
        };
        Connection {
            ends: [first, back],
            next: [random.bits() as u32, random.bits() as u32],
            received: [Vec::new(), Vec::new()],
            history: [Vec::new(), Vec::new()],
        }
    }

    fn frame(
        &self,
        random: &mut Random,
        side: usize,
        (sequence, flags, data): &(u32, u8, Vec<u8>),
    ) -> Vec<u8> {
        let received = &self.received[side];
        // Most acknowledge the latest.
        let old = received.get(random.index(received.len().max(1))).copied();
        let latest = received.last().copied().unwrap_or(0);
        let acknowledgement = if random.chance(0.2) {
            old.unwrap_or(0)
        } else {
            latest
        };
        // Of what was sent; beyond that a segment is invalid.
        let block = [acknowledgement, latest];
        let mut edges = [[0; 8]];
        edges[0][..4].copy_from_slice(&block[0].to_be_bytes());
        edges[0][4..].copy_from_slice(&block[1].to_be_bytes());
        let mut options = Vec::new();
        if *flags & flag::SYN != 0 {
            options.push(TcpOption::SackPermitted);
        } else if random.chance(0.2) {
            options.push(TcpOption::Sack(&edges));
        }
        let End { hosts, ports } = self.ends[side];
        let tcp = Tcp {
            source_port: ports[0],
            destination_port: ports[1],
            sequence: *sequence,
            acknowledgement: if flags & flag::ACK == 0 {
                0
            } else {
                acknowledgement
            },
            flags: *flags,
            window: 30_000,
            urgent: 0,
            options: &options,
        };
        packets::frame(true, hosts, protocol::TCP, |pseudo, out| {
            tcp.build(pseudo, out, |out| out.extend(data));
        })
    }

    /// Sends a segment. Returns its data as the other side receives it.
    fn send(
        &mut self,
        trial: &mut Trial,
        random: &mut Random,
        side: usize,
        flags: u8,
        data: &[u8],
    ) -> Option<Vec<u8>> {
        let segment = (self.next[side], flags, data.to_vec());
        let frame = self.frame(random, side, &segment);
        let passed = trial.exchange(self.ends[side].hosts[0].0, &frame)?;
        let controls = u32::from(flags & flag::SYN != 0);
        self.next[side] = self.next[side].wrapping_add(data.len() as u32 + controls);
        self.history[side].push(segment);
        self.arrive(side, flags, &passed)
    }

    /// Receives a segment of the other side. Returns its data.
    fn arrive(&mut self, side: usize, flags: u8, passed: &[u8]) -> Option<Vec<u8>> {
        let ip = Ipv4View::new(&passed[14..]).expect("an IPv4 header");
        let segment = TcpView::new(ip.payload()).expect("a TCP header");
        assert!(segment.is_checksum_valid(ip.pseudo()), "checksum");
        let controls = u32::from(flags & flag::SYN != 0);
        let end = segment
            .sequence()
            .wrapping_add(segment.payload().len() as u32 + controls);
        let received = &mut self.received[1 - side];
        if received
            .last()
            .is_none_or(|last| (end.wrapping_sub(*last) as i32) > 0)
        {
            received.push(end);
        }
        if side == 0 && flags & flag::SYN != 0 {
            let from = ip.source().octets();
            let to = ip.destination().octets();
            self.ends[1] = End {
                hosts: [to, from].map(|of| (usize::from(of[2]), of[3])),
                ports: [segment.destination_port(), segment.source_port()],
            };
        }
        Some(segment.payload().to_vec())
    }

    fn open(&mut self, trial: &mut Trial, random: &mut Random) -> bool {
        self.send(trial, random, 0, flag::SYN, &[]).is_some()
            && self
                .send(trial, random, 1, flag::SYN | flag::ACK, &[])
                .is_some()
            && self.send(trial, random, 0, flag::ACK, &[]).is_some()
    }

    /// Sends a former segment again.
    fn retransmit(&mut self, trial: &mut Trial, random: &mut Random) {
        let side = random.index(2);
        let history = &self.history[side];
        let Some(segment) = history.get(random.index(history.len().max(1))).cloned() else {
            return;
        };
        let frame = self.frame(random, side, &segment);
        let port = self.ends[side].hosts[0].0;
        if let Some(passed) = trial.exchange(port, &frame) {
            self.arrive(side, segment.1 & !flag::SYN, &passed);
        }
    }
}

/// A line of one side that announces a port of a host, in one of the forms, some of them unusual.
fn announcement(random: &mut Random, side: usize, host: Host, port: u16) -> String {
    let [high, low] = port.to_be_bytes();
    let (net, number) = (host.0, host.1);
    let zeros = ["", "0", "00"][if random.chance(0.3) {
        random.index(3)
    } else {
        0
    }];
    let six = format!("{zeros}10,0,{net},{zeros}{number},{high},{low}");
    let bar = if random.chance(0.7) { '|' } else { '!' };
    let text = match (side, random.below(2)) {
        (0, 0) => format!("PORT {six}\r\n"),
        (0, _) => format!("EPRT {bar}1{bar}10.0.{net}.{number}{bar}{zeros}{port}{bar}\r\n"),
        (_, 0) => format!("227 Entering Passive Mode ({six}).\r\n"),
        (_, _) => format!("229 Extended Passive Mode ({bar}{bar}{bar}{zeros}{port}{bar})\r\n"),
    };
    if random.chance(0.1) {
        text.to_lowercase()
    } else {
        text
    }
}

/// The port in an announcement as it has arrived.
fn port_in(data: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(data).ok()?;
    let rest = if text.starts_with("229") || text.starts_with("227") {
        &text[text.find('(')?..]
    } else {
        &text[text.find(' ')?..]
    };
    let numbers = rest.split(|letter: char| !letter.is_ascii_digit());
    let numbers: Vec<u16> = numbers.filter_map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [_, _, _, _, high, low] if rest.contains(',') => Some(high << 8 | low),
        [.., port] => Some(port),
        [] => None,
    }
}

/// A control connection with announcements, and the connections that are announced.
fn transfer(trial: &mut Trial, random: &mut Random, number: u16) -> [u32; 2] {
    let is_inside = random.chance(0.6);
    let (client, server) = match is_inside {
        true => ([(0, 2), (2, 4)][random.index(2)], SERVER),
        false => ((1, 4), ROUTER),
    };
    let own_server = if is_inside { SERVER } else { INSIDE_SERVER };
    let first = End {
        hosts: [client, server],
        ports: [3_000 + number, 21],
    };
    let mut control = Connection::new(random, first);
    let (mut tried, mut opened) = (0, 0);
    if !control.open(trial, random) {
        return [0, 0];
    }
    for step in 0..10_u16 {
        let side = random.index(2);
        if random.chance(0.9) {
            control.send(
                trial,
                random,
                side,
                flag::ACK | flag::PSH,
                b"200 before\r\n",
            );
        }
        if random.chance(0.3) {
            control.retransmit(trial, random);
        }
        let host = match (side, random.chance(0.9)) {
            (0, true) => client,
            (_, true) => own_server,
            _ => (1, 5),
        };
        let port = 20_000 + number * 100 + step * 7;
        let mut text = announcement(random, side, host, port);
        if random.chance(0.05) {
            text.truncate(random.index(text.len()) + 1);
        }
        let arrived = control.send(trial, random, side, flag::ACK | flag::PSH, text.as_bytes());
        if random.chance(0.4) {
            control.retransmit(trial, random);
        }
        let Some(arrived) = arrived else {
            // The sender repeats it whole.
            control.send(trial, random, side, flag::ACK | flag::PSH, b"NOOP\r\n");
            continue;
        };
        trial.rewritten += u32::from(arrived != text.as_bytes());
        let Some(port) = port_in(&arrived) else {
            continue;
        };
        // Usually the other side opens the connection, rarely another host.
        let End { hosts, .. } = control.ends[1 - side];
        let opener = if random.chance(0.9) { hosts[0] } else { (1, 6) };
        let end = End {
            hosts: [opener, hosts[1]],
            ports: [
                100 + number * 50 + step,
                if random.chance(0.9) { port } else { port + 1 },
            ],
        };
        let mut data = Connection::new(random, end);
        tried += 1;
        if !data.open(trial, random) {
            continue;
        }
        opened += 1;
        for _ in 0..random.below(3) {
            let side = random.index(2);
            data.send(trial, random, side, flag::ACK, &[7; 40]);
        }
        if random.chance(0.5) {
            let side = random.index(2);
            data.send(trial, random, side, flag::ACK | flag::FIN, &[]);
        }
    }
    if random.chance(0.3) {
        control.send(trial, random, 1, flag::RST | flag::ACK, &[]);
    }
    [tried, opened]
}

/// A request of TFTP, and answers from another port.
fn boot(trial: &mut Trial, random: &mut Random, number: u16) {
    let datagram = |hosts, ports: [u16; 2], data: &[u8]| {
        let udp = Udp {
            source_port: ports[0],
            destination_port: ports[1],
        };
        packets::frame(true, hosts, protocol::UDP, |pseudo, out| {
            udp.build(pseudo, out, |out| out.extend(data));
        })
    };
    let (client, server) = match random.chance(0.7) {
        true => ((0, 2), SERVER),
        false => ((1, 4), ROUTER),
    };
    let opcode = [1, 2, 3, 9][random.index(4)];
    let request = [&[0, opcode][..], b"file\0octet\0"].concat();
    let request = datagram([client, server], [5_000 + number, 69], &request);
    let Some(passed) = trial.exchange(client.0, &request) else {
        return;
    };
    let ip = Ipv4View::new(&passed[14..]).expect("an IPv4 header");
    let port = UdpView::new(ip.payload())
        .expect("a datagram")
        .source_port();
    let host = |of: [u8; 4]| (usize::from(of[2]), of[3]);
    let (from, to) = (host(ip.destination().octets()), host(ip.source().octets()));
    let from = if random.chance(0.85) { from } else { (1, 6) };
    for _ in 0..2 {
        let answer = datagram([from, to], [40_000 + number, port], &[0, 3, 0, 1]);
        let Some(passed) = trial.exchange(from.0, &answer) else {
            return;
        };
        let ip = Ipv4View::new(&passed[14..]).expect("an IPv4 header");
        let Ok(udp) = UdpView::new(ip.payload()) else {
            return;
        };
        let (own, other) = (host(ip.destination().octets()), host(ip.source().octets()));
        let ports = [udp.destination_port(), udp.source_port()];
        let answer = datagram([own, other], ports, &[0, 4, 0, 1]);
        trial.exchange(own.0, &answer);
    }
}

#[test]
fn announcements_behind_a_nat_are_rewritten_as_by_linux() {
    let Some(kernel) = kernel("helpers behind a NAT") else {
        return;
    };
    let seed = std::env::var("WIRE_FIREWALL_SEED").ok();
    let seed: u64 = seed.map_or(1, |seed| seed.parse().expect("a number"));
    let count = std::env::var("WIRE_FIREWALL_PACKETS").ok();
    let count: u32 = count.map_or(5_000, |count| count.parse().expect("a number"));
    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel has the machine's clock"
    )]
    let start = Instant::now();
    let new_router = || router_with_ports(|number, port| port.outside = number == 1, config());
    let mut trial = Trial {
        router: new_router(),
        kernel,
        start,
        sent: 0,
        differences: 0,
        rewritten: 0,
    };
    let (mut tried, mut opened, mut part) = (0, 0, 0);
    while trial.sent < count && trial.differences < 8 {
        let mut random = Random::new(seed * 100_000 + part);
        load(&trial.kernel, &format!("{RULES}{NAT}"));
        trial.router = new_router();
        for number in 0..6 {
            if random.chance(0.2) {
                boot(&mut trial, &mut random, number);
            } else {
                let counts = transfer(&mut trial, &mut random, number);
                tried += counts[0];
                opened += counts[1];
            }
        }
        let now = trial.now();
        let (_, difference) = compare_connections(&trial.kernel, &trial.router, now);
        if let Some(difference) = difference {
            trial.differences += 1;
            println!("part {part} {difference}");
        }
        part += 1;
    }
    println!(
        "{} packets, {} announcements rewritten, {opened} of {tried} connections",
        trial.sent, trial.rewritten
    );
    assert_eq!(trial.differences, 0);
    assert!(
        opened * 3 > tried && trial.rewritten * 4 > tried,
        "{opened}"
    );
}
