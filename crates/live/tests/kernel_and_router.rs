//! `router::Router` and Linux's router get the same packets and send the same frames by the same ports. Without the rights to
//! make a namespace the tests say that they were skipped.
//!
//! Not compared: the identification of the router's own IPv4 packets, the flow label of its IPv6 packets, and timestamps in
//! options, which are by the clock.
//!
//! The environment variable `WIRE_ROUTER_PACKETS` has another number of random packets than 10,000 of each version.

mod hop_limit;
mod labels;
mod packets;
mod redirects;
mod vlans;
mod vrfs;

use crate::kernel_and_interface::collect;
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options, Port};
use node::random::Random;
use node::{Frame, Node, Out, Time};
use packet::arp::Arp;
use packet::ethernet::Mac;
use packet::ipv4::protocol;
use router::router::{Config, PortConfig, Router, reason};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// MTU of each link.
const MTUS: [usize; 3] = [1500, 1400, 1280];
const ROUTES: [&str; 15] = [
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
    "fd0b::/16 via fe80::7 dev k2",
];
const RULES: [&str; 3] = [
    "from 10.0.1.0/27 to 10.8.0.0/16 lookup 100",
    "from 10.0.2.59 prohibit",
    "to 10.3.0.0/16 ipproto udp unreachable",
];

/// Frames that leave each port.
pub(crate) type Sent = Vec<Vec<Vec<u8>>>;

pub(crate) fn router_mac(port: usize) -> [u8; 6] {
    [2, 0, 0, 0, 1, port as u8]
}

pub(crate) fn peer_mac(port: usize, host: u8) -> [u8; 6] {
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
pub(crate) struct Kernel {
    namespaces: Vec<Namespace>,
    ports: Vec<Port>,
    sentinels: u8,
}

/// Configuration that the kernel and our router share.
pub(crate) struct Setup<'a> {
    /// Commands for a shell in the kernel's namespace before its ports get addresses.
    pub before: &'a str,
    /// The same after that.
    pub after: &'a str,
    pub routes: &'a [&'a str],
    pub rules: &'a [&'a str],
}

/// One table of routes, and rules.
const PLAIN: Setup = Setup {
    before: "",
    after: "",
    routes: &ROUTES,
    rules: &RULES,
};

impl Setup<'_> {
    /// Whether this machine's kernel accepts a command in a new namespace. Otherwise prints the reason of the skip.
    pub(crate) fn is_possible(test: &str, command: &str) -> bool {
        let done = Namespace::new().map(|empty| empty.command("sh").args(["-c", command]).output());
        match done {
            Err(error) => println!("skipped: {test}: {error}"),
            Ok(Ok(output)) if output.status.success() => return true,
            Ok(_) => println!(
                "skipped: {test}: this kernel refuses `{command}`; .ci/guest runs this program under one that has all modules"
            ),
        }
        false
    }

    /// Commands that make the interfaces `k0` to `k2` of a namespace the router's ports.
    fn script(&self) -> String {
        let mut script = format!(
            "set -e; cd /proc/sys/net; echo 1 >ipv4/ip_forward; echo 1 >ipv6/conf/all/forwarding; \
             for file in ipv4/conf/*/rp_filter ipv6/conf/*/accept_dad; do echo 0 >$file; done\n{}\n",
            self.before
        );
        // Without limits, as far as Linux has settings for them.
        script += "echo 0 >ipv6/icmp/ratelimit; echo 0 >ipv4/icmp_ratemask; \
                echo 1000000 >ipv4/icmp_msgs_per_sec; echo 1000000 >ipv4/icmp_msgs_burst\n";
        for (port, mtu) in MTUS.iter().enumerate() {
            let name = format!("k{port}");
            script += &format!(
                "echo 0 >ipv6/conf/{name}/accept_dad; echo 0 >ipv6/conf/{name}/disable_ipv6; \
                 ip link set {name} mtu {mtu}; ip addr add 10.0.{port}.1/24 brd + dev {name}; \
                 ip -6 addr add fd00:{port}::1/64 nodad dev {name}\n"
            );
            // In one process: an emulated machine starts ten processes a second.
            script += "ip -batch - <<END\n";
            let link_local = ("fe80::7".parse().expect("an address"), peer_mac(port, 7));
            for (address, mac) in peers(port).into_iter().chain([link_local]) {
                let mac = Mac(mac);
                script +=
                    &format!("neigh replace {address} lladdr {mac} nud permanent dev {name}\n");
            }
            script += "END\n";
        }
        script += self.after;
        script.push('\n');
        // The order of rules without a priority is the reverse in Linux.
        for (index, rule) in self.rules.iter().enumerate() {
            script += &format!("ip rule add {rule} priority {}\n", 100 + index);
        }
        for route in self.routes {
            let six = if route.contains("fd") || route.contains("::") {
                "-6"
            } else {
                ""
            };
            script += &format!("ip {six} route add {route}\n");
        }
        script
    }

    fn apply(&self, kernel: &Namespace) {
        let script = self.script();
        let output = kernel.command("sh").args(["-c", &script]).output();
        let output = output.expect("a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    }
}

impl Kernel {
    pub(crate) fn new() -> Result<Kernel, NetnsError> {
        Kernel::with(&PLAIN)
    }

    fn with(setup: &Setup) -> Result<Kernel, NetnsError> {
        let (kernel, outside) = (Namespace::new()?, Namespace::new()?);
        for port in 0..MTUS.len() {
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
        }
        setup.apply(&kernel);
        let ports = (0..MTUS.len()).map(|port| {
            let name = format!("n{port}").parse().unwrap();
            let open = || port::open(&name, &Options::default());
            Ok(outside.enter(open)?.expect("a port on the far end"))
        });
        Ok(Kernel {
            ports: ports.collect::<Result<_, NetnsError>>()?,
            namespaces: vec![kernel, outside],
            sentinels: 0,
        })
    }

    /// The namespace with the router.
    pub(crate) fn namespace(&self) -> &Namespace {
        &self.namespaces[0]
    }

    /// Sends a frame to a port; gives the frames that leave each.
    pub(crate) fn answers(&mut self, from: usize, frame: &[u8]) -> Vec<Vec<Vec<u8>>> {
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
            let mut found = Vec::new();
            collect(port, sender, |bytes| {
                if !is_own_business(bytes) {
                    found.push(normal(bytes));
                }
            });
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
        [0x86, 0xDD] => frame[20] == 58 && matches!(frame.get(54), Some(131..=135 | 143)),
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
    let header = match frame[12..14] {
        [8, 0] => 34,
        [0x86, 0xDD] => 54,
        _ => 0,
    };
    // A packet that was cut off below its labels.
    if frame.len() < header {
        return frame;
    }
    match frame[12..14] {
        [8, 0] => {
            // A packet below labels may have any length in its header.
            let length = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            frame.truncate(length.max(header));
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
        // Labels stay in front of their packet.
        [0x88, 0x47] => {}
        _ => frame.truncate(42),
    }
    frame
}

fn router() -> Router {
    router_with(Config::default())
}

/// The same router with further keys.
pub(crate) fn router_with(config: Config) -> Router {
    router_with_ports(|_, _| {}, config)
}

/// The same with changes of its ports, by their number.
pub(crate) fn router_with_ports(change: impl Fn(usize, &mut PortConfig), config: Config) -> Router {
    router_of(&PLAIN, change, config)
}

/// A router with a setup's routes and rules, further keys, and changes of its ports.
fn router_of(setup: &Setup, change: impl Fn(usize, &mut PortConfig), config: Config) -> Router {
    let port = |number: usize| {
        let mut port = PortConfig {
            address: vec![
                format!("10.0.{number}.1/24").parse().unwrap(),
                format!("fd00:{number}::1/64").parse().unwrap(),
            ],
            mac: Some(Mac(router_mac(number))),
            mtu: MTUS[number],
            name: Some(format!("k{number}")),
            ..PortConfig::default()
        };
        change(number, &mut port);
        port
    };
    let mut router = Router::new(Config {
        port: (0..3).map(port).collect(),
        // Ports have numbers here, and names in Linux.
        route: setup
            .routes
            .iter()
            .map(|text| text.replace("dev k", "dev ").parse().unwrap())
            .collect(),
        rule: setup
            .rules
            .iter()
            .map(|text| text.parse().unwrap())
            .collect(),
        icmp_limit: false,
        ..config
    })
    .unwrap_or_else(|error| panic!("a good configuration: {error:?}"));
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
    ours_at(router, Time::from_secs(1), from, frame)
}

/// The frames that leave each port of our router after a frame at a time, and its drops.
pub(crate) fn ours_at(
    router: &mut Router,
    now: Time,
    from: usize,
    frame: &[u8],
) -> (Sent, Vec<(&'static str, u64)>) {
    let mut out = Out::default();
    let mut frames = vec![Frame::new(frame)];
    router.frames(now, node::Port(from as u16), &mut frames, &mut out);
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

    /// A packet has been sent back by its port of arrival or caused a redirect, or an error about it was not allowed: the limits
    /// count those, too.
    fn note(&mut self, port: usize, sent: &[u8], ours: &[Vec<Vec<u8>>], drops: &[(&str, u64)]) {
        let Some(source) = sent.get(26..30).filter(|_| sent[12..14] == [8, 0]) else {
            return;
        };
        let routes = [reason::NO_ROUTE, reason::PROHIBITED, reason::UNREACHABLE];
        let silent = ours.iter().all(Vec::is_empty);
        let silent = silent && drops.iter().any(|drop| routes.contains(&drop.0));
        // With labels the source is later.
        let back = |frame: &Vec<u8>| {
            let places: &[usize] = match frame[12..14] {
                [0x88, 0x47] => &[26, 30, 34, 38, 42],
                _ => &[26],
            };
            places
                .iter()
                .any(|at| frame.get(*at..at + 4) == Some(source))
        };
        // It need not have left: it may have been too long for the labels.
        let redirects = |frame: &Vec<u8>| {
            let is_own = frame[12..14] == [8, 0] && frame[23] == 1 && is_router(&frame[26..30]);
            is_own && frame.get(14 + usize::from(frame[14] & 15) * 4) == Some(&5)
        };
        let mut sent_back = ours[port].iter();
        if silent || sent_back.any(|frame| back(frame) || redirects(frame)) {
            let source = [source[0], source[1], source[2], source[3]];
            self.sent.insert(source, NO_MORE);
        }
    }
}

/// Number of random packets of a test.
fn count_of_packets() -> usize {
    let count = std::env::var("WIRE_ROUTER_PACKETS").ok();
    count.map_or(10_000, |count| count.parse().expect("a number"))
}

/// Compares random packets, 10,000 with one kernel.
fn compare(seed: u64, make: fn(&mut Random, usize) -> Vec<u8>) {
    let count = count_of_packets();
    for part in 0..count.div_ceil(10_000) as u64 {
        let mut kernel = match Kernel::new() {
            Ok(kernel) => kernel,
            Err(error) => return println!("skipped: a kernel's router: {error}"),
        };
        let mut router = router();
        compare_frames(
            (seed + 2 * part, count.min(10_000)),
            make,
            &mut |port, frame| kernel.answers(port, frame),
            &mut |port, frame| ours(&mut router, port, frame),
        );
    }
}

/// Frames that leave each port after a frame by a port.
type Exchange<'a, T> = &'a mut dyn FnMut(usize, &[u8]) -> T;

/// Compares `count` random frames.
fn compare_frames(
    (seed, count): (u64, usize),
    make: fn(&mut Random, usize) -> Vec<u8>,
    theirs: Exchange<Sent>,
    ours: Exchange<(Sent, Vec<(&'static str, u64)>)>,
) {
    let mut random = Random::new(seed);
    let mut limited = [Limited::default(), Limited::default()];
    let (mut different, mut forwarded) = (0, 0);
    for round in 0..count {
        let port = random.below(3) as usize;
        let frame = make(&mut random, port);
        let mut theirs = theirs(port, &frame);
        let (mut ours, drops) = ours(port, &frame);
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
    assert!(forwarded * 4 > count, "{forwarded} of {count}");
}

#[test]
fn random_packets_of_ipv4_are_forwarded_and_refused_as_by_linux() {
    compare(1, packets::v4);
}

#[test]
fn random_packets_of_ipv6_are_forwarded_and_refused_as_by_linux() {
    compare(2, packets::v6);
}
