//! Label switched paths: two edge routers and one between them, with a host on each side.

use crate::hand::{address, icmp};
use ip::header::{self, ETHERNET};
use node::random::Random;
use node::{Frame, Node, Out, Port, Time};
use packet::mpls::Label;
use router::router::{Config, PortConfig, Router, reason};
use std::collections::VecDeque;
use std::net::IpAddr;

const SENDER: [u8; 6] = [2, 0, 0, 0, 0, 0xA];

/// 10.0.0.2 - edge - between - edge - 10.0.3.2, and the same of IPv6: fd00:0::2 ... fd00:3::2. Links are 10.0.N.0/24.
struct Path {
    routers: Vec<Router>,
    far: ip::host::Host,
    now: Time,
    out: Out,
    /// Frames that came back to the sender.
    received: Vec<Vec<u8>>,
    /// Frames on the links between routers.
    seen: Vec<Vec<u8>>,
}

fn ports(number: usize, mtu: usize) -> Vec<PortConfig> {
    let port = |link: usize, host: u8| PortConfig {
        address: vec![
            format!("10.0.{link}.{host}/24").parse().unwrap(),
            format!("fd00:{link}::{host}/64").parse().unwrap(),
        ],
        mpls: (1..3).contains(&link),
        mtu: if link == 2 { mtu } else { 1500 },
        ..PortConfig::default()
    };
    // The sender and the far host are .2 on their links.
    vec![
        port(number, if number == 0 { 1 } else { 2 }),
        port(number + 1, 1),
    ]
}

impl Path {
    fn new(labels: [&[&str]; 3], routes: [&[&str]; 3], propagate: bool, mtu: usize) -> Path {
        let routers = (0..3).map(|number| {
            Router::new(Config {
                port: ports(number, mtu),
                route: routes[number].iter().map(|r| r.parse().unwrap()).collect(),
                mpls: labels[number].iter().map(|r| r.parse().unwrap()).collect(),
                ttl_propagate: propagate,
                icmp_limit: false,
                ..Config::default()
            })
            .expect("a good configuration")
        });
        let far = ip::Interface::new(ip::Config {
            mac: [2, 0, 0, 0, 0, 0xB],
            addresses: vec![
                "10.0.3.2/24".parse().unwrap(),
                "fd00:3::2/64".parse().unwrap(),
            ],
            routes: ["10.0.3.1", "fd00:3::1"]
                .map(|via| ip::routes::Route::default_via(address(via)))
                .into(),
            limits_errors: false,
            ..ip::Config::default()
        });
        let mut path = Path {
            routers: routers.collect(),
            far: far.into(),
            now: Time::ZERO,
            out: Out::default(),
            received: Vec::new(),
            seen: Vec::new(),
        };
        // The first router learns the sender's MAC address.
        for (own, router) in [("10.0.0.2", "10.0.0.1"), ("fd00:0::2", "fd00:0::1")] {
            let mut frame = Vec::new();
            ip::discovery::request(SENDER, address(own), address(router), None, &mut frame);
            path.send(&frame);
        }
        path.received.clear();
        path
    }

    /// Sends a frame from the sender, and lets all that comes of it happen.
    fn send(&mut self, frame: &[u8]) {
        let mut waiting = VecDeque::from([(0, Port(0), Frame::new(frame))]);
        while let Some((node, port, frame)) = waiting.pop_front() {
            let mut frames = vec![frame];
            match node {
                3 => self.far.frames(self.now, port, &mut frames, &mut self.out),
                _ => self.routers[node].frames(self.now, port, &mut frames, &mut self.out),
            }
            let sent: Vec<_> = self
                .out
                .sends()
                .map(|one| (one.port.0, one.frame))
                .collect();
            for (port, frame) in sent {
                match (node, port) {
                    (0, 0) => self.received.push(frame.to_vec()),
                    (3, _) => waiting.push_back((2, Port(1), frame)),
                    (node, port) => {
                        self.seen.push(frame.to_vec());
                        match port {
                            0 => waiting.push_back((node - 1, Port(1), frame)),
                            _ => waiting.push_back((node + 1, Port(0), frame)),
                        }
                    }
                }
            }
        }
    }

    fn drops(&self, why: &str) -> u64 {
        let all = self.out.drops().iter();
        all.filter(|drop| drop.0 == why).map(|drop| drop.1).sum()
    }
}

/// An echo request with `size` bytes of data to the far host.
fn ping(v4: bool, hops: u8, size: usize, whole: bool) -> Frame {
    let [from, to] = match v4 {
        true => ["10.0.0.2", "10.0.3.2"].map(address),
        false => ["fd00:0::2", "fd00:3::2"].map(address),
    };
    let mut frame = Frame::new(&[]);
    ip::icmp::write_echo(&mut frame, from, to, (7, 9), size);
    frame[..6].copy_from_slice(&[2, 0, 10, 0, 0, 1]);
    frame[6..12].copy_from_slice(&SENDER);
    match v4 {
        true => {
            let ip = &mut frame[ETHERNET..ETHERNET + 20];
            ip[6] = if whole { 0x40 } else { 0 };
            ip[8] = hops;
            ip[10..12].fill(0);
            let sum = packet::checksum::checksum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        false => frame[ETHERNET + 7] = hops,
    }
    frame
}

const LABELS: [&[&str]; 3] = [
    &[],
    &["100 as 200 via inet 10.0.2.2", "300 via inet 10.0.1.1"],
    &["200 dev lo"],
];
const ROUTES: [&[&str]; 3] = [
    &[
        "10.0.3.0/24 encap mpls 100 via 10.0.1.2",
        "fd00:3::/64 encap mpls 100 via fd00:1::2",
    ],
    &[],
    &[
        "10.0.0.0/24 encap mpls 300 via 10.0.2.1",
        "fd00:0::/64 encap mpls 300 via fd00:2::1",
    ],
];

/// The stack in the extensions of an error (RFC 4950), read by the tool that traces routes.
fn stack(error: &[u8]) -> Vec<(u32, u8)> {
    let at = if error[12..14] == [8, 0] { 34 } else { 54 };
    let message = &error[at..];
    let words = if at == 34 {
        message[5] * 4
    } else {
        message[4].wrapping_mul(8)
    };
    if words == 0 {
        return Vec::new();
    }
    let extensions = &message[8 + usize::from(words)..];
    assert_eq!(extensions[0], 0x20);
    assert!(packet::checksum::Sum::default().plus(extensions).is_valid());
    assert_eq!(extensions[6..8], [1, 1]);
    let entries = extensions[8..].chunks_exact(4);
    entries
        .map(|entry| Label::split(entry).expect("an entry").0)
        .map(|label| (label.label, label.ttl))
        .collect()
}

/// The address and the stack of each router that traceroute finds, until the far host answers.
fn trace(path: &mut Path, v4: bool) -> Vec<(IpAddr, Vec<(u32, u8)>)> {
    let mut found = Vec::new();
    for hops in 1..9 {
        path.received.clear();
        let request = ping(v4, hops, 56, false);
        path.send(&request);
        let [answer] = &path.received[..] else {
            panic!("{hops}: {:?} {:?}", path.received, path.out.drops());
        };
        let packet = header::read(answer).expect("a packet");
        assert!(header::is_valid(answer, &packet));
        let (kind, _, from) = icmp(answer).expect("an ICMP message");
        if kind == 0 || kind == 129 {
            break;
        }
        assert_eq!(kind, if v4 { 11 } else { 3 });
        // The quote is the packet as it was sent, but for its TTL and checksum.
        let quote = if v4 { 42 } else { 62 };
        assert_eq!(answer[quote + 12..quote + 40], request[26..54]);
        found.push((from, stack(answer)));
    }
    found
}

#[test]
fn with_propagated_ttls_a_trace_shows_the_routers_between_and_their_labels() {
    for v4 in [true, false] {
        let mut path = Path::new(LABELS, ROUTES, true, 1500);
        let name = |link: u8, host: u8| match v4 {
            true => address(&format!("10.0.{link}.{host}")),
            false => address(&format!("fd00:{link}::{host}")),
        };
        assert_eq!(
            trace(&mut path, v4),
            [
                (name(0, 1), vec![]),
                (name(1, 2), vec![(100, 1)]),
                (name(2, 2), vec![(200, 1)]),
            ]
        );
    }
}

#[test]
fn without_propagation_the_path_is_one_hop() {
    for v4 in [true, false] {
        let mut path = Path::new(LABELS, ROUTES, false, 1500);
        let found = trace(&mut path, v4);
        let names = if v4 {
            ["10.0.0.1", "10.0.2.2"]
        } else {
            ["fd00:0::1", "fd00:2::2"]
        };
        let expected = names.map(|name| (address(name), vec![]));
        assert_eq!(found, expected);
    }
}

#[test]
fn the_stack_on_each_link_is_the_one_of_the_routes() {
    let labels: [&[&str]; 3] = [
        &[],
        &[
            "100 as 200/201 via inet 10.0.2.2",
            "300 as 301 via inet 10.0.1.1",
        ],
        &["200 dev lo", "201 dev lo"],
    ];
    let first: [&[&str]; 3] = [
        &["10.0.3.0/24 encap mpls 100/17 ttl 9 via 10.0.1.2"],
        &[],
        &["10.0.0.0/24 encap mpls 300 via 10.0.2.1"],
    ];
    let mut last = labels;
    last[0] = &["301 dev lo"];
    last[2] = &["200 dev lo", "201 dev lo", "17 dev lo"];
    let mut path = Path::new(last, first, true, 1500);
    path.seen.clear();
    let request = ping(true, 64, 56, false);
    path.send(&request);
    let stacks: Vec<Vec<(u32, u8)>> = path
        .seen
        .iter()
        .filter(|frame| frame[12..14] == [0x88, 0x47])
        .map(|frame| {
            let (mut rest, mut stack) = (&frame[14..], Vec::new());
            loop {
                let (label, is_bottom, after) = Label::split(rest).expect("a stack");
                stack.push((label.label, label.ttl));
                rest = after;
                if is_bottom {
                    break stack;
                }
            }
        })
        .collect();
    assert_eq!(
        stacks,
        [
            // Both labels have the TTL of the route.
            vec![(100, 9), (17, 9)],
            // The top one is replaced by two.
            vec![(200, 8), (201, 8), (17, 9)],
            // The answer of the far host has its TTL less one.
            vec![(300, 63)],
            vec![(301, 62)],
        ]
    );
    let [answer] = &path.received[..] else {
        panic!("{:?}", path.out.drops());
    };
    assert_eq!((icmp(answer).unwrap().0, answer[22]), (0, 61));
}

#[test]
fn a_packet_of_any_length_passes_or_is_reported_with_the_mtu_less_the_labels() {
    let mut random = Random::new(4);
    for _ in 0..60 {
        let (v4, whole) = (random.chance(0.5), random.chance(0.5));
        let mtu = 1280 + random.below(150) as usize;
        let size = random.below(1452) as usize;
        let mut path = Path::new(LABELS, ROUTES, true, mtu);
        let request = ping(v4, 64, size, whole);
        let length = request.len() - ETHERNET;
        path.send(&request);
        for frame in &path.seen {
            let on_small = frame[6..12] == [2, 0, 10, 0, 2, 1] || frame[..6] == [2, 0, 10, 0, 2, 1];
            assert!(frame.len() - ETHERNET <= if on_small { mtu } else { 1500 });
        }
        // The first router leaves room for its label.
        let room = if length + 4 > 1500 { 1496 } else { mtu - 4 };
        if length > mtu - 4 && (whole || !v4) {
            let [error] = &path.received[..] else {
                panic!("{:?}", path.received.len());
            };
            let (kind, ..) = icmp(error).unwrap();
            let told = match v4 {
                true => u16::from_be_bytes([error[40], error[41]]).into(),
                false => u32::from_be_bytes(error[58..62].try_into().unwrap()),
            };
            assert_eq!((kind, told), (if v4 { 3 } else { 2 }, room as u32));
        } else {
            let answers = path.received.iter();
            let bytes: usize = answers.map(|frame| frame.len() - 34).sum();
            // An IPv4 answer may come in fragments, which hold the message together.
            assert_eq!(bytes + 34, request.len());
        }
    }
}

#[test]
fn labels_that_cannot_be_followed_are_dropped_with_their_reasons() {
    let mut path = Path::new(LABELS, ROUTES, true, 1500);
    let inner = ping(true, 64, 56, false);
    let labelled = |labels: &[u32], inner: &[u8]| {
        let labels: Vec<Label> = labels
            .iter()
            .map(|&label| Label {
                label,
                class: 0,
                ttl: 9,
            })
            .collect();
        let mut frame = inner[..12].to_vec();
        frame.extend([0x88, 0x47]);
        packet::mpls::build(&labels, &mut frame);
        frame.extend(&inner[14..]);
        frame
    };
    // The sender's port takes no labels.
    path.send(&labelled(&[100], &inner));
    assert_eq!(path.drops(reason::LABELS_REFUSED), 1);
    let mut send = |frame: &[u8]| {
        let mut frame = Frame::new(frame);
        frame[..6].copy_from_slice(&[2, 0, 10, 0, 1, 2]);
        let mut frames = vec![frame];
        path.routers[1].frames(Time::ZERO, Port(0), &mut frames, &mut path.out);
        path.out.sends().count()
    };
    assert_eq!(send(&labelled(&[101], &inner)), 0);
    assert_eq!(send(&labelled(&[3], &inner)), 0);
    assert_eq!(send(&labelled(&[200; 17], &inner)), 0);
    let mut other = inner.to_vec();
    other[14] = 0x15;
    // A label that is replaced may be on anything.
    send(&labelled(&[100], &other));
    send(&labelled(&[100], &inner[..20]));
    assert_eq!(send(&labelled(&[0], &other)), 0);
    assert_eq!(send(&labelled(&[2], &inner)), 0);
    assert_eq!(send(&labelled(&[0], &inner[..20])), 0);
    for (why, count) in [
        (reason::NO_LABEL, 2),
        (reason::BAD_LABELS, 1),
        (reason::NOT_IP, 2),
        (reason::BAD_HEADER, 1),
    ] {
        assert_eq!(path.drops(why), count, "{why}");
    }
    assert_eq!(path.routers[1].statistics().get("labelled"), Some(2));
}
