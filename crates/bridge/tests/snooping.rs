//! Snooping compared with the memberships of the hosts themselves.

use crate::hand::mac;
use crate::world::World;
use bridge::snooping;
use bridge::switch::{Config, PortConfig};
use multicast::host::{Filter, Host};
use multicast::message::{self, Family, Message, Query, Record, RecordKind, Version};
use multicast::querier;
use node::random::Random;
use node::{Frame, Time};
use packet::ethernet::Mac;
use std::net::IpAddr;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn written(message: &Message, source: IpAddr, from: u8) -> Vec<u8> {
    let mut frame = Frame::new(&[]);
    message::build_frame(message, source, Mac(mac(from)), &mut frame);
    frame.to_vec()
}

/// A UDP datagram to a group.
fn data(source: IpAddr, group: IpAddr) -> Vec<u8> {
    let mut frame = Frame::new(&message::mac_of(group).0);
    frame.extend(&mac(0x77));
    frame.extend(if group.is_ipv4() {
        &[8, 0]
    } else {
        &[0x86, 0xDD]
    });
    frame.resize(14 + ip::header::length(group) + 40);
    ip::header::write(&mut frame, source, group, 17);
    frame.to_vec()
}

const QUERIES: querier::Config = querier::Config {
    version: Version::Three,
    robustness: 2,
    interval: Time::from_secs(10),
    response: Time::from_secs(2),
    last_member: Time::from_secs(1),
};

/// A switch with snooping, port 0 free for a router.
fn world(ports: u16, snooping: snooping::Config) -> World {
    let config = Config {
        ports,
        snooping: Some(snooping),
        mac: Some(Mac([2, 0xBB, 0, 0, 0, 1])),
        ..Config::default()
    };
    World::new(vec![config], &[])
}

fn ports(world: &mut World) -> Vec<u16> {
    world.ends().into_iter().map(|end| end.1).collect()
}

struct Wish {
    host: Host,
    family: Family,
    version: Version,
    filter: Filter,
    since: Time,
    before: Filter,
}

/// Hosts of all versions join, leave and change their sources at random; packets go to all that want them, and from a while after they
/// left to none that does not.
#[test]
fn each_host_gets_what_it_wants_and_after_a_while_nothing_else() {
    let (mut wanted, mut kept_away) = (0, 0);
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let family = Family::BOTH[random.index(2)];
        let (group, sources): (IpAddr, Vec<IpAddr>) = match family {
            Family::V4 => (
                ip("239.1.2.3"),
                (1..=4).map(|n| ip(&format!("10.0.0.{n}"))).collect(),
            ),
            Family::V6 => (
                ip("ff05::123"),
                (1..=4).map(|n| ip(&format!("fd00::{n}"))).collect(),
            ),
        };
        let mut world = world(
            8,
            snooping::Config {
                querier: true,
                address: [10, 0, 0, 99].into(),
                queries: QUERIES,
                ..snooping::Config::default()
            },
        );
        let mut hosts: Vec<Wish> = (0..7)
            .map(|number| {
                let oldest = if family == Family::V4 { 0 } else { 1 };
                let versions = [Version::One, Version::Two, Version::Three];
                let version = versions[(oldest + random.index(4)).min(2)];
                Wish {
                    host: Host::new(version, seed * 100 + number),
                    family,
                    version,
                    filter: Filter::default(),
                    since: Time::ZERO,
                    before: Filter::default(),
                }
            })
            .collect();
        let own = |port: usize| match family {
            Family::V4 => ip(&format!("10.0.0.{}", 100 + port)),
            Family::V6 => ip(&format!("fe80::{port}")),
        };
        world.seconds(2);
        for _ in 0..3_000 {
            let until = world.now + Time::from_ms(random.below(100));
            world.run(until);
            // Queries that have arrived, and the hosts' reports.
            let queries: Vec<(u16, Vec<u8>)> = world
                .seen
                .drain(..)
                .map(|(_, end, frame)| (end.1, frame))
                .collect();
            for (port, frame) in queries {
                if let (Some(Ok(received)), true) = (message::parse_frame(&frame, 14), port > 0)
                    && let Message::Query(query) = received.message
                    && Family::of(received.source) == family
                {
                    hosts[usize::from(port) - 1]
                        .host
                        .handle_query(world.now, &query);
                }
            }
            if random.below(40) == 0 {
                let number = random.index(hosts.len());
                let wish = &mut hosts[number];
                let mut filter = Filter {
                    exclude: random.chance(0.5),
                    sources: Vec::new(),
                };
                if wish.version == Version::Three {
                    filter
                        .sources
                        .extend(sources.iter().filter(|_| random.chance(0.3)));
                }
                wish.before = std::mem::replace(&mut wish.filter, filter.clone());
                wish.since = world.now;
                assert!(wish.host.set(world.now, group, filter));
            }
            for (number, wish) in hosts.iter_mut().enumerate() {
                while let Some(message) = wish.host.poll_transmit(world.now) {
                    let frame = written(&message, own(number + 1), number as u8);
                    world.send((0, number as u16 + 1), &frame);
                }
            }
            world.seen.clear();
            let source = sources[random.index(sources.len())];
            world.send((0, 0), &data(source, group));
            let got = ports(&mut world);
            for (number, wish) in hosts.iter().enumerate() {
                let port = number as u16 + 1;
                let grace = match wish.version {
                    // A host of IGMPv1 leaves without a word.
                    Version::One => Time::from_secs(23),
                    Version::Two | Version::Three => Time::from_ms(3_200),
                };
                let has = got.contains(&port);
                if wish.filter.wants(source) {
                    assert!(
                        has,
                        "seed {seed}, {}: port {port} ({:?}) wants {source} and does not get it\n{:#?}",
                        world.now,
                        wish.version,
                        world.table(0, "multicast groups")
                    );
                    wanted += 1;
                } else if wish.since + grace < world.now {
                    // With older versions of the querier's knowledge all sources come; only a leave counts.
                    assert!(
                        !has,
                        "seed {seed}, {}: port {port} ({:?}) gets {source}, {:?} since {}, before {:?}\n{:#?}",
                        world.now,
                        wish.version,
                        wish.filter,
                        wish.since,
                        wish.before,
                        world.table(0, "multicast groups")
                    );
                    kept_away += 1;
                }
                assert_eq!(wish.family, family);
            }
        }
    }
    assert!(
        wanted > 100_000 && kept_away > 100_000,
        "{wanted} {kept_away}"
    );
}

fn query(group: Option<&str>) -> Message {
    Message::Query(Query {
        version: Version::Two,
        group: group.map(ip),
        sources: Vec::new(),
        max_response: Time::from_secs(1),
        suppress: false,
        robustness: 0,
        interval: Time::ZERO,
    })
}

const ROUTER: &str = "10.0.0.1";

#[test]
fn reports_go_to_routers_only_queries_everywhere_and_the_links_own_groups_too() {
    let mut world = world(5, snooping::Config::default());
    let group = ip("239.1.1.1");
    let report = written(&Message::Report(Version::Two, group), ip("10.0.0.12"), 2);
    // Without a querier nothing is held back.
    world.send((0, 2), &report);
    assert_eq!(ports(&mut world), [0, 1, 3, 4]);
    world.send((0, 1), &data(ip(ROUTER), group));
    assert_eq!(ports(&mut world), [0, 2, 3, 4]);
    world.send((0, 0), &written(&query(None), ip(ROUTER), 1));
    assert_eq!(ports(&mut world), [1, 2, 3, 4]);
    // Members have 1 s to answer.
    world.seconds(1);
    world.send((0, 2), &report);
    assert_eq!(ports(&mut world), [0]);
    world.send((0, 1), &data(ip(ROUTER), group));
    assert_eq!(ports(&mut world), [0, 2], "the member and the router");
    world.send((0, 1), &data(ip(ROUTER), ip("239.9.9.9")));
    assert_eq!(ports(&mut world), [0]);
    world.send((0, 1), &data(ip(ROUTER), ip("224.0.0.251")));
    assert_eq!(ports(&mut world), [0, 2, 3, 4]);
    // The router asks for the group after a leave, and no host answers.
    world.send((0, 2), &written(&Message::Leave(group), ip("10.0.0.12"), 2));
    assert_eq!(ports(&mut world), [0]);
    world.send((0, 0), &written(&query(Some("239.1.1.1")), ip(ROUTER), 1));
    world.seconds(3);
    world.ends();
    world.send((0, 1), &data(ip(ROUTER), group));
    assert_eq!(ports(&mut world), [0]);
    // 255 s later the querier is forgotten.
    world.seconds(255);
    world.send((0, 1), &data(ip(ROUTER), group));
    assert_eq!(ports(&mut world), [0, 2, 3, 4]);
}

#[test]
fn fast_leave_router_ports_and_unknown_groups_are_by_configuration() {
    let port = vec![
        PortConfig {
            port: 2,
            fast_leave: true,
            ..PortConfig::default()
        },
        PortConfig {
            port: 3,
            router: true,
            ..PortConfig::default()
        },
    ];
    for flood_unknown in [false, true] {
        let snooping = snooping::Config {
            querier: true,
            flood_unknown,
            ..snooping::Config::default()
        };
        let config = Config {
            ports: 5,
            snooping: Some(snooping),
            port: port.clone(),
            ..Config::default()
        };
        let mut world = World::new(vec![config], &[]);
        world.seconds(11);
        assert!(ports(&mut world).len() >= 5, "general queries by all ports");
        let group = ip("239.1.1.1");
        world.send(
            (0, 2),
            &written(&Message::Report(Version::Two, group), ip("10.0.0.12"), 2),
        );
        assert_eq!(ports(&mut world), [3]);
        world.send((0, 0), &data(ip(ROUTER), group));
        assert_eq!(ports(&mut world), [2, 3]);
        world.send((0, 2), &written(&Message::Leave(group), ip("10.0.0.12"), 2));
        world.ends();
        world.send((0, 0), &data(ip(ROUTER), group));
        assert_eq!(
            ports(&mut world),
            if flood_unknown {
                vec![1, 2, 3, 4]
            } else {
                vec![3]
            }
        );
    }
}

#[test]
fn of_two_queriers_the_one_with_the_lower_address_asks() {
    let mut world = world(
        3,
        snooping::Config {
            querier: true,
            address: [10, 0, 0, 50].into(),
            queries: QUERIES,
            ..snooping::Config::default()
        },
    );
    world.seconds(1);
    world.ends();
    world.send((0, 0), &written(&query(None), ip("10.0.0.51"), 1));
    world.ends();
    world.seconds(20);
    let igmp = |world: &World| {
        world
            .seen
            .iter()
            .filter(|(_, _, frame)| frame[12..14] == [8, 0])
            .count()
    };
    assert!(igmp(&world) > 0, "a higher address changes nothing");
    world.send((0, 0), &written(&query(None), ip("10.0.0.49"), 1));
    world.seen.clear();
    world.seconds(20);
    assert_eq!(igmp(&world), 0);
    // Silent for 2 x 10 s and 1 s.
    world.seconds(2);
    assert!(igmp(&world) > 0);
}

#[test]
fn thousands_of_groups_fill_a_ports_share_and_no_more() {
    let snooping = snooping::Config {
        querier: true,
        memberships: 1500,
        memberships_per_port: 1000,
        ..snooping::Config::default()
    };
    let mut world = world(4, snooping);
    world.seconds(1);
    for port in [1, 2] {
        for number in 0..5_000u32 {
            let group = IpAddr::from([239, 1, (number >> 8) as u8, number as u8]);
            let records = [RecordKind::IsExclude, RecordKind::Allow].map(|kind| Record {
                kind,
                group,
                sources: (0..200).map(|n| IpAddr::from([10, 0, 1, n])).collect(),
            });
            world.send(
                (0, port),
                &written(&Message::Records(records.into()), ip("10.0.0.9"), 3),
            );
        }
    }
    assert_eq!(world.counter(0, "memberships"), 1500);
    assert!(world.counter(0, "not_joined") > 2 * (5_000 - 1000));
    // Leaves for all groups: each is asked for twice at most, and no more than 256 wait.
    let before = world.counter(0, "queries_sent");
    for number in 0..1_000u32 {
        let group = IpAddr::from([239, 1, (number >> 8) as u8, number as u8]);
        (0..3)
            .for_each(|_| world.send((0, 1), &written(&Message::Leave(group), ip("10.0.0.9"), 3)));
    }
    world.seconds(30);
    assert!(
        world.counter(0, "queries_sent") - before <= 2 * 1_000 + 4,
        "{}",
        world.counter(0, "queries_sent") - before
    );
    // All end by themselves.
    world.seconds(300);
    assert_eq!(world.counter(0, "memberships"), 0);
}

#[test]
fn a_message_with_a_wrong_checksum_is_dropped_and_one_of_an_unknown_kind_is_flooded() {
    let mut world = world(
        3,
        snooping::Config {
            querier: true,
            ..snooping::Config::default()
        },
    );
    world.seconds(11);
    world.ends();
    let mut report = written(
        &Message::Report(Version::Two, ip("239.1.1.1")),
        ip("10.0.0.12"),
        2,
    );
    report[43] ^= 1;
    world.send((0, 1), &report);
    assert_eq!(ports(&mut world), []);
    assert_eq!(
        world.drops(0, "membership message with a wrong checksum"),
        1
    );
    report[38] = 0x13;
    world.send((0, 1), &report);
    assert_eq!(ports(&mut world), [0, 2]);
}
