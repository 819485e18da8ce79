//! A router with a proxy, hosts that are members, and an upstream router played by the test.

use hosts::host;
use ip::header;
use multicast::member::{self, Member};
use multicast::message::{self, Message, Query, RecordKind, Version, parse_frame};
use multicast::proxy::{self, Proxy};
use node::random::Random;
use node::{Frame, Node, Out, Port, Time};
use packet::ethernet::Mac;
use router::router::{Config, PortConfig, Router};
use std::net::IpAddr;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

struct World {
    router: Router,
    out: Out,
    /// Hosts of the ports 1 and 2.
    hosts: Vec<(u16, Box<dyn Node>, Out)>,
    now: Time,
    /// Frames that have left upstream.
    upstream: Vec<Vec<u8>>,
    /// Frames on the downstream links, with their port.
    links: Vec<(u16, Vec<u8>)>,
}

fn member(groups: &[&str], version: Version, at: u64, until: u64) -> member::Config {
    member::Config {
        groups: groups
            .iter()
            .map(|text| text.parse().expect("a group"))
            .collect(),
        version,
        at: Time::from_secs(at),
        until: Some(Time::from_secs(until)),
    }
}

impl World {
    fn new(proxy: proxy::Config, members: Vec<(u16, member::Config)>) -> World {
        let port = |number: u8| PortConfig {
            address: vec![
                format!("10.0.{number}.1/24").parse().unwrap(),
                format!("fd00:{number}::1/64").parse().unwrap(),
            ],
            mac: Some(Mac([2, 0, 0, 0, 1, number])),
            ..PortConfig::default()
        };
        let config = Config {
            port: (0..3).map(port).collect(),
            ..Config::default()
        };
        let proxy = Proxy::new(proxy, 1).unwrap();
        let router = Router::new(config)
            .unwrap()
            .with_services(None, vec![Box::new(proxy)])
            .unwrap();
        let hosts = members
            .into_iter()
            .enumerate()
            .map(|(number, (port, config))| {
                let base = host::Config {
                    address: vec![
                        format!("10.0.{port}.{}/24", 10 + number).parse().unwrap(),
                        format!("fe80::{port}:{number}/64").parse().unwrap(),
                    ],
                    ..host::Config::default()
                };
                let node = host::with_services(
                    base,
                    Vec::new(),
                    vec![Box::new(Member::new(config, number as u64).unwrap())],
                    1,
                );
                (port, node.unwrap(), Out::default())
            });
        World {
            router,
            out: Out::default(),
            hosts: hosts.collect(),
            now: Time::ZERO,
            upstream: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Delivers all pending messages.
    fn settle(&mut self) {
        loop {
            let sent: Vec<(u16, Vec<u8>)> = self
                .out
                .sends()
                .map(|sent| (sent.port.0, sent.frame.to_vec()))
                .collect();
            let mut back = Vec::new();
            for (port, bytes) in &sent {
                if *port == 0 {
                    self.upstream.push(bytes.clone());
                    continue;
                }
                self.links.push((*port, bytes.clone()));
                for (at, host, out) in self.hosts.iter_mut().filter(|(at, ..)| at == port) {
                    host.frames(self.now, Port(0), &mut vec![Frame::new(bytes)], out);
                    back.extend(out.sends().map(|sent| (*at, sent.frame.to_vec())));
                }
            }
            for (at, host, out) in &mut self.hosts {
                if host.next_wake().is_some_and(|wake| wake <= self.now) {
                    host.wake(self.now, out);
                }
                back.extend(out.sends().map(|sent| (*at, sent.frame.to_vec())));
            }
            if sent.is_empty() && back.is_empty() {
                return;
            }
            for (port, bytes) in back {
                self.router.frames(
                    self.now,
                    Port(port),
                    &mut vec![Frame::new(&bytes)],
                    &mut self.out,
                );
                // The other hosts of the link hear it too.
                for (at, host, out) in self.hosts.iter_mut().filter(|(at, ..)| *at == port) {
                    host.frames(self.now, Port(0), &mut vec![Frame::new(&bytes)], out);
                    let more: Vec<_> = out.sends().map(|sent| (*at, sent.frame.to_vec())).collect();
                    for (port, bytes) in more {
                        self.router.frames(
                            self.now,
                            Port(port),
                            &mut vec![Frame::new(&bytes)],
                            &mut self.out,
                        );
                    }
                }
            }
        }
    }

    fn run(&mut self, until: Time) {
        loop {
            self.settle();
            let wakes = self
                .hosts
                .iter()
                .filter_map(|(_, host, _)| host.next_wake());
            let next = wakes
                .chain(self.router.next_wake())
                .min()
                .unwrap_or(Time::MAX);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if self.router.next_wake().is_some_and(|wake| wake <= self.now) {
                self.router.wake(self.now, &mut self.out);
            }
        }
        self.now = until;
    }

    /// The downstream ports, and the upstream port, by which a packet leaves that has arrived at a port.
    fn packet(&mut self, port: u16, source: IpAddr, group: IpAddr, hops: u8) -> Vec<u16> {
        let mut frame = Frame::new(&message::mac_of(group).0);
        frame.extend(&[2, 0, 0, 0, 9, 9]);
        frame.extend(if group.is_ipv4() {
            &[8, 0]
        } else {
            &[0x86, 0xDD]
        });
        frame.resize(14 + header::length(group) + 30);
        header::write(&mut frame, source, group, 17);
        match group {
            IpAddr::V4(_) => {
                frame[22] = hops;
                frame[24..26].fill(0);
                let sum = packet::checksum::checksum(&frame[14..34]);
                frame[24..26].copy_from_slice(&sum.to_be_bytes());
            }
            IpAddr::V6(_) => frame[21] = hops,
        }
        self.router.frames(
            self.now,
            Port(port),
            &mut vec![Frame::new(&frame)],
            &mut self.out,
        );
        let sent: Vec<(u16, Vec<u8>)> = self
            .out
            .sends()
            .map(|sent| (sent.port.0, sent.frame.to_vec()))
            .collect();
        for (port, bytes) in &sent {
            assert_eq!(bytes[..6], message::mac_of(group).0);
            assert_eq!(bytes[6..12], [2, 0, 0, 0, 1, *port as u8]);
            let read = header::read(bytes).expect("a packet");
            assert_eq!((read.source, read.destination), (source, group));
            let hop = if group.is_ipv4() {
                bytes[22]
            } else {
                bytes[21]
            };
            assert_eq!(hop, hops - 1);
            if group.is_ipv4() {
                assert_eq!(packet::checksum::checksum(&bytes[14..34]), 0);
            }
        }
        let mut ports: Vec<u16> = sent.into_iter().map(|(port, _)| port).collect();
        ports.sort();
        ports
    }

    fn drops(&self, reason: &str) -> u64 {
        let drops = self.out.drops().iter();
        drops
            .filter(|(known, _)| *known == reason)
            .map(|(_, count)| count)
            .sum()
    }

    /// Messages that have left upstream since the last call.
    fn reports(&mut self) -> Vec<Message> {
        let frames = std::mem::take(&mut self.upstream);
        let messages = frames.iter().filter_map(|frame| parse_frame(frame, 14));
        messages
            .map(|received| received.expect("a good message").message)
            .collect()
    }
}

#[test]
fn members_of_all_versions_get_packets_from_upstream_while_they_are_members() {
    for (group, sources) in [
        ("239.1.1.1", ["10.0.0.9", "10.0.0.8"]),
        ("ff05::1", ["fd00::9", "fd00::8"]),
    ] {
        for version in [Version::Two, Version::Three] {
            let mut world = World::new(
                proxy::Config::default(),
                vec![(1, member(&[group], version, 5, 60))],
            );
            let (group, source) = (ip(group), ip(sources[0]));
            world.run(Time::from_secs(4));
            world.reports();
            assert_eq!(world.packet(0, source, group, 5), [0; 0]);
            assert_eq!(world.drops("group without members"), 1);
            world.run(Time::from_secs(7));
            assert_eq!(
                world.packet(0, source, group, 5),
                [1],
                "{group} {version:?}"
            );
            assert_eq!(world.packet(0, source, group, 1), [0; 0]);
            assert_eq!(world.drops("hop limit used up"), 1);
            // Upstream the proxy has joined.
            let joined = world.reports();
            let is_join = |message: &Message| matches!(message, Message::Records(records) if records[0].group == group && records[0].kind == RecordKind::ToExclude);
            assert!(joined.iter().any(is_join), "{joined:?}");
            // From downstream it goes upstream, and to the other links with members.
            assert_eq!(
                world.packet(
                    2,
                    ip(if group.is_ipv4() {
                        "10.0.2.9"
                    } else {
                        "fd00:2::9"
                    }),
                    group,
                    5
                ),
                [0, 1]
            );
            assert_eq!(
                world.packet(
                    1,
                    ip(if group.is_ipv4() {
                        "10.0.1.9"
                    } else {
                        "fd00:1::9"
                    }),
                    group,
                    5
                ),
                [0]
            );
            world.run(Time::from_secs(65));
            assert_eq!(
                world.packet(0, source, group, 5),
                [0; 0],
                "{group} {version:?}: it has left"
            );
            let left = world.reports();
            let is_leave = |message: &Message| matches!(message, Message::Records(records) if records[0].is_leave() && records[0].group == group);
            assert!(left.iter().any(is_leave), "{left:?}");
        }
    }
}

#[test]
fn an_old_router_upstream_gets_old_reports() {
    let mut world = World::new(
        proxy::Config::default(),
        vec![(1, member(&["239.1.1.1"], Version::Three, 5, 60))],
    );
    world.run(Time::from_secs(2));
    let query = Message::Query(Query {
        version: Version::Two,
        group: None,
        sources: Vec::new(),
        max_response: Time::from_secs(1),
        suppress: false,
        robustness: 0,
        interval: Time::ZERO,
    });
    let mut frame = Frame::new(&[]);
    message::build_frame(
        &query,
        ip("10.0.0.254"),
        Mac([2, 0, 0, 0, 9, 9]),
        &mut frame,
    );
    world
        .router
        .frames(world.now, Port(0), &mut vec![frame], &mut world.out);
    world.run(Time::from_secs(10));
    assert!(
        world
            .reports()
            .contains(&Message::Report(Version::Two, ip("239.1.1.1")))
    );
    world.run(Time::from_secs(70));
    assert!(world.reports().contains(&Message::Leave(ip("239.1.1.1"))));
}

#[test]
fn sources_are_followed_and_merged_upstream() {
    let members = vec![
        (
            1,
            member(&["232.1.1.1 from 10.0.0.9"], Version::Three, 1, 200),
        ),
        (
            2,
            member(&["232.1.1.1 from 10.0.0.8"], Version::Three, 1, 200),
        ),
    ];
    let mut world = World::new(proxy::Config::default(), members);
    world.run(Time::from_secs(10));
    let group = ip("232.1.1.1");
    for (source, ports) in [
        ("10.0.0.9", vec![1]),
        ("10.0.0.8", vec![2]),
        ("10.0.0.7", vec![]),
    ] {
        assert_eq!(world.packet(0, ip(source), group, 9), ports);
    }
    let messages = world.reports();
    let mut sources: Vec<IpAddr> = messages
        .iter()
        .flat_map(|message| match message {
            Message::Records(records) => records
                .iter()
                .filter(|record| record.kind == RecordKind::Allow)
                .flat_map(|record| record.sources.clone())
                .collect(),
            _ => Vec::new(),
        })
        .chain(messages.iter().flat_map(|message| {
            match message {
                Message::Records(records) => records
                    .iter()
                    .filter(|record| record.kind == RecordKind::ToInclude)
                    .flat_map(|record| record.sources.clone())
                    .collect(),
                _ => Vec::new(),
            }
        }))
        .collect();
    sources.sort();
    sources.dedup();
    assert_eq!(sources, [ip("10.0.0.8"), ip("10.0.0.9")]);
}

#[test]
fn what_belongs_to_a_link_stays_there() {
    let mut world = World::new(
        proxy::Config::default(),
        vec![(
            1,
            member(&["239.1.1.1", "ff02::99"], Version::Three, 1, 200),
        )],
    );
    world.run(Time::from_secs(10));
    for group in ["224.0.0.251", "ff02::fb", "ff02::99", "ff01::1"] {
        let source = if group.starts_with('f') {
            "fd00::9"
        } else {
            "10.0.0.9"
        };
        assert_eq!(world.packet(0, ip(source), ip(group), 9), [0; 0], "{group}");
    }
    assert_eq!(world.packet(0, ip("0.0.0.0"), ip("239.1.1.1"), 9), [0; 0]);
    assert_eq!(world.drops("packet to a group from no host"), 1);
}

#[test]
fn groups_without_number_fill_the_table_and_no_more() {
    let mut world = World::new(
        proxy::Config {
            groups: 100,
            ..proxy::Config::default()
        },
        Vec::new(),
    );
    world.run(Time::from_secs(1));
    let mut random = Random::new(1);
    let (mut bytes_in, mut sent) = (0, 0);
    for number in 0..20_000u32 {
        let group = IpAddr::from([239, 1, (number >> 8) as u8, number as u8]);
        let message = match random.below(3) {
            0 => Message::Leave(group),
            _ => Message::Report(Version::Two, group),
        };
        let mut frame = Frame::new(&[]);
        message::build_frame(
            &message,
            ip("10.0.1.9"),
            Mac([2, 0, 0, 0, 9, 9]),
            &mut frame,
        );
        bytes_in += frame.len();
        world
            .router
            .frames(world.now, Port(1), &mut vec![frame], &mut world.out);
        sent += world
            .out
            .sends()
            .map(|sent| sent.frame.len())
            .sum::<usize>();
    }
    let refused = world.router.statistics().get("multicast_refused").unwrap();
    assert!(refused > 10_000, "{refused}");
    assert!(sent * 50 < bytes_in, "{sent} bytes for {bytes_in}");
}
