//! Switches with a spanning tree, groups of links and mirrors.

use crate::hand::{frame, mac};
use crate::world::{End, World};
use bridge::lacp::{self, Hash, Mode, Pace};
use bridge::stp::{Edge, Version};
use bridge::switch::{Config, Copied, MirrorConfig, PortConfig};
use node::Time;
use node::random::Random;
use packet::ethernet::Mac;

const ALL: [u8; 6] = [0xFF; 6];

fn address(number: u8) -> Option<Mac> {
    Some(Mac([2, 0xBB, 0, 0, 0, number]))
}

/// Four switches in a ring by their ports 0 and 1, hosts at ports 2 and 3.
fn ring(version: Version, edge: Edge) -> World {
    let host = |port| PortConfig {
        port,
        edge,
        ..PortConfig::default()
    };
    let configs = (0..4).map(|number| Config {
        stp: Some(version),
        mac: address(number),
        port: vec![host(2), host(3)],
        ..Config::default()
    });
    let links: Vec<[End; 2]> = (0..4).map(|n| [(n, 0), ((n + 1) % 4, 1)]).collect();
    World::new(configs.collect(), &links)
}

#[test]
fn a_ring_carries_each_frame_once_to_each_host_and_heals_when_a_link_fails() {
    let mut world = ring(Version::Rstp, Edge::Yes);
    world.seconds(10);
    world.ends();
    world.send((0, 2), &frame(mac(1), ALL));
    world.seconds(1);
    let all: Vec<End> = (0..4)
        .flat_map(|n| [(n, 2), (n, 3)])
        .filter(|&end| end != (0, 2))
        .collect();
    assert_eq!(world.ends(), all);
    // Known from here on, over the tree.
    world.send((2, 2), &frame(mac(2), mac(1)));
    world.seconds(1);
    assert_eq!(world.ends(), [(0, 2)]);
    let table = world.table(2, "spanning tree");
    assert_eq!(
        table[0],
        "bridge 32768.02:bb:00:00:00:02 root 32768.02:bb:00:00:00:00 cost 40000 port 1"
    );
    assert!(
        table.contains(
            &"port 2 designated forwarding cost 20000 designated 32768.02:bb:00:00:00:02 edge"
                .into()
        ),
        "{table:?}"
    );
    // The way from 2 to 0 leads over 1: it fails.
    world.set_link((1, 0), false);
    world.run(world.now + Time::from_ms(1));
    world.send((2, 2), &frame(mac(2), mac(1)));
    world.seconds(1);
    assert!(
        world.ends().contains(&(0, 2)),
        "the addresses of the old way are forgotten"
    );
    world.send((0, 2), &frame(mac(1), mac(2)));
    world.seconds(1);
    assert_eq!(world.ends(), [(2, 2)]);
}

#[test]
fn stp_takes_30_s_to_heal_and_a_port_without_a_bridge_as_long_to_begin() {
    let mut world = ring(Version::Stp, Edge::No);
    world.seconds(29);
    world.ends();
    world.send((0, 2), &frame(mac(1), ALL));
    world.seconds(2);
    assert_eq!(world.ends(), []);
    assert_eq!(world.drops(0, "port does not forward"), 1);
    world.send((0, 2), &frame(mac(1), ALL));
    world.seconds(1);
    assert_eq!(world.ends().len(), 7);
    world.set_link((1, 0), false);
    for (seconds, hosts) in [(29, 5), (3, 7)] {
        world.seconds(seconds);
        world.ends();
        world.send((0, 2), &frame(mac(1), ALL));
        world.seconds(1);
        assert_eq!(world.ends().len(), hosts);
    }
}

#[test]
fn a_port_is_at_the_edge_when_no_bpdu_has_come_for_3_s() {
    let mut world = ring(Version::Rstp, Edge::Auto);
    world.run(Time::from_ms(2_990));
    world.ends();
    world.send((0, 2), &frame(mac(1), ALL));
    assert_eq!(world.ends(), []);
    world.run(Time::from_ms(3_010));
    world.send((0, 2), &frame(mac(1), ALL));
    world.seconds(1);
    assert_eq!(world.ends().len(), 7);
}

#[test]
fn rstp_and_stp_bridges_form_one_tree_and_rstp_comes_back_when_stp_has_gone() {
    let mut configs: Vec<Config> = (0..3)
        .map(|n| Config {
            stp: Some(Version::Rstp),
            mac: address(n),
            ..Config::default()
        })
        .collect();
    configs[1].stp = Some(Version::Stp);
    let mut world = World::new(
        configs,
        &[[(0, 0), (1, 0)], [(1, 1), (2, 1)], [(2, 0), (0, 1)]],
    );
    world.seconds(60);
    let roles = |world: &World, switch| -> Vec<String> {
        let table = world.table(switch, "spanning tree");
        table[1..3]
            .iter()
            .map(|line| {
                line.split(" cost").next().unwrap().to_string()
                    + if line.ends_with(" STP") { " STP" } else { "" }
            })
            .collect()
    };
    assert_eq!(
        roles(&world, 0),
        [
            "port 0 designated forwarding STP",
            "port 1 designated forwarding"
        ]
    );
    assert_eq!(
        roles(&world, 1),
        [
            "port 0 root forwarding STP",
            "port 1 designated forwarding STP"
        ]
    );
    assert_eq!(
        roles(&world, 2),
        ["port 0 root forwarding", "port 1 alternate discarding STP"]
    );
}

#[test]
fn bpdu_guard_disables_a_port_and_root_guard_keeps_the_root() {
    let guard = PortConfig {
        port: 0,
        bpdu_guard: true,
        ..PortConfig::default()
    };
    let configs = vec![
        Config {
            stp: Some(Version::Rstp),
            mac: address(1),
            port: vec![guard],
            ..Config::default()
        },
        Config {
            stp: Some(Version::Rstp),
            mac: address(2),
            ..Config::default()
        },
    ];
    let mut world = World::new(configs, &[[(0, 0), (1, 0)]]);
    world.seconds(5);
    assert_eq!(world.counter(0, "guarded"), 1);
    assert!(
        world.table(0, "spanning tree")[1].starts_with("port 0 disabled disabled by BPDU guard")
    );
    // A better bridge at a port with root guard is not taken as the root; its port is blocked.
    let guard = PortConfig {
        port: 0,
        root_guard: true,
        ..PortConfig::default()
    };
    let configs = vec![
        Config {
            stp: Some(Version::Rstp),
            mac: address(1),
            port: vec![guard],
            ..Config::default()
        },
        Config {
            stp: Some(Version::Rstp),
            mac: address(2),
            bridge_priority: 0,
            ..Config::default()
        },
    ];
    let mut world = World::new(configs, &[[(0, 0), (1, 0)]]);
    world.seconds(60);
    let table = world.table(0, "spanning tree");
    assert_eq!(table[0], "bridge 32768.02:bb:00:00:00:01 is the root");
    assert!(
        table[1].starts_with("port 0 alternate discarding"),
        "{table:?}"
    );
}

/// Two switches with four links, hosts at ports 4 and up.
fn pair(modes: [Mode; 2], hash: Hash) -> World {
    let configs = (0..2).map(|n| Config {
        ports: 8,
        ageing: Time::from_secs(1_000_000),
        mac: address(n as u8),
        lag: vec![lacp::Config {
            ports: vec![0, 1, 2, 3],
            mode: modes[n],
            rate: Pace::Fast,
            hash,
            ..lacp::Config::default()
        }],
        ..Config::default()
    });
    let links: Vec<[End; 2]> = (0..4).map(|port| [(0, port), (1, 3 - port)]).collect();
    World::new(configs.collect(), &links)
}

/// UDP from 10.0.0.1 to 10.0.0.2 of one of many flows, numbered.
fn datagram(flow: u16, number: u32) -> Vec<u8> {
    let mut bytes = frame(mac(1), mac(2));
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14..34].copy_from_slice(&[
        0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ]);
    bytes[34..38].copy_from_slice(&[(flow >> 8) as u8, flow as u8, 0, 53]);
    bytes[42..46].copy_from_slice(&number.to_be_bytes());
    bytes
}

#[test]
fn lacp_makes_one_link_of_four_in_each_pair_of_modes_that_speaks() {
    for (modes, speaks) in [
        ([Mode::Active, Mode::Active], true),
        ([Mode::Active, Mode::Passive], true),
        ([Mode::Passive, Mode::Passive], false),
        ([Mode::Static, Mode::Static], true),
        ([Mode::Static, Mode::Active], false),
    ] {
        let mut world = pair(modes, Hash::Layer34);
        world.seconds(10);
        world.ends();
        world.send((0, 4), &frame(mac(1), ALL));
        world.seconds(1);
        let mut expected = vec![(0, 5), (0, 6), (0, 7)];
        if speaks {
            expected.extend([(1, 4), (1, 5), (1, 6), (1, 7)]);
        }
        assert_eq!(
            world.ends(),
            expected,
            "{modes:?}: once each, none comes back"
        );
        let line = &world.table(0, "link aggregation")[1];
        if speaks && modes[0] != Mode::Static {
            assert_eq!(
                line,
                "group 0 port 1 distributing partner 02:bb:00:00:00:01 key 1 port 3"
            );
        }
    }
}

#[test]
fn flows_use_all_links_and_each_keeps_its_order_while_links_fail_and_come_back() {
    let mut random = Random::new(3);
    let mut world = pair([Mode::Active; 2], Hash::Layer34);
    world.seconds(10);
    world.send((1, 4), &frame(mac(2), ALL));
    world.seconds(1);
    let mut is_up = [true; 4];
    let (mut sent, mut arrived) = (0, 0);
    let mut last = [0; 64];
    for _ in 0..200 {
        world.seen.clear();
        world.carried.clear();
        for _ in 0..256 {
            sent += 1;
            world.send((0, 4), &datagram(random.below(64) as u16, sent));
            world.run(world.now + Time::from_us(random.below(3)));
        }
        world.run(world.now + Time::from_ms(1));
        for (_, end, bytes) in world
            .seen
            .iter()
            .filter(|(_, _, bytes)| bytes[..6] == mac(2))
        {
            assert_eq!(*end, (1, 4));
            let number = u32::from_be_bytes(bytes[42..46].try_into().unwrap());
            let flow = usize::from(bytes[35]);
            assert!(
                number > last[flow],
                "flow {flow}: {number} after {}",
                last[flow]
            );
            last[flow] = number;
            arrived += 1;
        }
        let count = is_up.iter().filter(|up| **up).count();
        assert_eq!(
            world.carried.keys().filter(|end| end.0 == 0).count(),
            count,
            "all links carry some flows"
        );
        let link = random.index(4);
        // One stays.
        if !is_up[link] || count > 1 {
            is_up[link] = !is_up[link];
            world.set_link((0, link as u16), is_up[link]);
            world.seconds(10);
        }
    }
    assert_eq!(
        arrived, sent,
        "links fail between the frames, so that none is lost"
    );
}

#[test]
fn a_link_whose_partner_falls_silent_is_out_of_the_group_after_3_s() {
    let mut world = pair([Mode::Active; 2], Hash::Layer2);
    world.seconds(10);
    // The far end of link 0 hears nothing more: a converter on the way has failed, which neither end sees.
    world.cut((0, 0));
    world.run(world.now + Time::from_ms(5_200));
    assert!(
        world.table(1, "link aggregation")[3].contains("attached"),
        "{:?}",
        world.table(1, "link aggregation")
    );
    assert!(!world.table(0, "link aggregation")[0].contains("distributing"));
}

#[test]
fn a_link_to_another_partner_waits() {
    let lag = |ports| {
        vec![lacp::Config {
            ports,
            rate: Pace::Fast,
            ..lacp::Config::default()
        }]
    };
    let config = |n, ports| Config {
        mac: address(n),
        lag: lag(ports),
        ..Config::default()
    };
    let configs = vec![
        config(0, vec![0, 1]),
        config(1, vec![0]),
        config(2, vec![0]),
    ];
    let mut world = World::new(configs, &[[(0, 0), (1, 0)], [(0, 1), (2, 0)]]);
    world.seconds(10);
    let table = world.table(0, "link aggregation");
    assert!(
        table[0].starts_with("group 0 port 0 distributing"),
        "{table:?}"
    );
    assert!(table[1].starts_with("group 0 port 1 detached"), "{table:?}");
    world.set_link((0, 0), false);
    world.seconds(10);
    let table = world.table(0, "link aggregation");
    assert!(
        table[1].starts_with("group 0 port 1 distributing"),
        "{table:?}"
    );
}

#[test]
fn a_marker_is_answered_and_floods_of_markers_and_bpdus_are_limited() {
    let mut world = pair([Mode::Active; 2], Hash::Layer2);
    world.seconds(10);
    let mut marker = vec![
        1, 0x80, 0xC2, 0, 0, 2, 2, 0, 0, 0, 0, 9, 0x88, 9, 2, 1, 1, 16,
    ];
    marker.resize(124, 7);
    let before = world.carried[&(0, 0)];
    (0..1000).for_each(|_| world.send((0, 0), &marker));
    let answers = world.carried[&(0, 0)] - before;
    assert!((60..=64).contains(&answers), "{answers}");
    assert!(world.drops(0, "more than 64 LACPDUs in a second") >= 936);
    let mut ring = ring(Version::Rstp, Edge::No);
    ring.seconds(60);
    let mut bpdu = vec![
        1, 0x80, 0xC2, 0, 0, 0, 2, 0, 0, 0, 0, 9, 0, 39, 0x42, 0x42, 3, 0, 0, 2, 2, 0x7D,
    ];
    bpdu.resize(60, 0);
    bpdu[45..52].copy_from_slice(&[0, 0, 20, 0, 2, 0, 15]);
    let before = ring.counter(0, "bpdus_sent");
    for number in 0..100_000u32 {
        // Another root each time.
        bpdu[27..31].copy_from_slice(&number.to_be_bytes());
        ring.send((0, 3), &bpdu);
    }
    assert!(ring.drops(0, "more than 64 BPDUs in a second") >= 99_936);
    assert!(ring.counter(0, "bpdus_sent") - before <= 4 * 6);
}

#[test]
fn a_mirror_copies_what_it_is_asked_for_and_its_port_carries_nothing_else() {
    for (direction, ins, outs) in [
        (Copied::Both, 1, 1),
        (Copied::In, 1, 0),
        (Copied::Out, 0, 1),
    ] {
        let mirror = MirrorConfig {
            from: vec![0],
            direction,
            to: 3,
        };
        let config = Config {
            mirror: vec![mirror],
            ..Config::default()
        };
        let mut world = World::new(vec![config], &[]);
        let mut copies = |from: u16, bytes: Vec<u8>, to: &[u16]| {
            world.send((0, from), &bytes);
            let ends = world.ends();
            assert_eq!(
                ends.iter()
                    .map(|end| end.1)
                    .filter(|&port| port != 3)
                    .collect::<Vec<_>>(),
                to
            );
            ends.iter().filter(|end| end.1 == 3).count()
        };
        assert_eq!(copies(0, frame(mac(1), ALL), &[1, 2]), ins);
        assert_eq!(copies(1, frame(mac(2), mac(1)), &[0]), outs);
        assert_eq!(copies(1, frame(mac(2), mac(9)), &[0, 2]), outs);
        assert_eq!(copies(2, frame(mac(3), mac(2)), &[1]), 0);
        assert_eq!(copies(3, frame(mac(4), ALL), &[]), 0);
        assert_eq!(world.drops(0, "came by a mirror's port"), 1);
        assert_eq!(world.counter(0, "mirrored"), ins as u64 + 2 * outs as u64);
    }
}

#[test]
fn a_group_of_links_is_one_port_of_the_spanning_tree() {
    // A triangle whose link between 0 and 1 is a group of two; one link of the group may fail without any change.
    let configs = (0..3).map(|n| Config {
        stp: Some(Version::Rstp),
        mac: address(n),
        lag: if n < 2 {
            vec![lacp::Config {
                ports: vec![0, 1],
                rate: Pace::Fast,
                ..lacp::Config::default()
            }]
        } else {
            Vec::new()
        },
        ..Config::default()
    });
    let links = [
        [(0, 0), (1, 0)],
        [(0, 1), (1, 1)],
        [(0, 2), (2, 0)],
        [(1, 2), (2, 1)],
    ];
    let mut world = World::new(configs.collect(), &links);
    world.seconds(20);
    let state = |world: &World| -> Vec<String> {
        (0..3)
            .flat_map(|n| world.table(n, "spanning tree"))
            .collect()
    };
    let before = state(&world);
    assert!(
        before
            .iter()
            .any(|line| line.starts_with("port 1 alternate discarding")),
        "{before:?}"
    );
    world.set_link((0, 0), false);
    world.seconds(20);
    assert_eq!(state(&world), before);
    let changes = world.counter(0, "topology_changes");
    world.set_link((0, 1), false);
    world.seconds(20);
    assert_ne!(state(&world), before);
    assert!(
        world.counter(2, "topology_changes") > 0 || world.counter(0, "topology_changes") > changes
    );
}

#[test]
fn impossible_configurations_are_refused() {
    let refused = |config: Config| bridge::switch::Switch::new(config).unwrap_err().key;
    let lag = |ports: &[u16]| lacp::Config {
        ports: ports.to_vec(),
        ..lacp::Config::default()
    };
    assert_eq!(
        refused(Config {
            lag: vec![lag(&[0, 9])],
            ..Config::default()
        }),
        "lag"
    );
    assert_eq!(
        refused(Config {
            lag: vec![lag(&[0]), lag(&[0])],
            ..Config::default()
        }),
        "lag"
    );
    assert_eq!(
        refused(Config {
            lag: vec![lag(&[])],
            ..Config::default()
        }),
        "lag"
    );
    let mirror = |from: u16, to| MirrorConfig {
        from: vec![from],
        to,
        ..MirrorConfig::default()
    };
    assert_eq!(
        refused(Config {
            mirror: vec![mirror(0, 4)],
            ..Config::default()
        }),
        "mirror"
    );
    assert_eq!(
        refused(Config {
            mirror: vec![mirror(1, 1)],
            ..Config::default()
        }),
        "mirror"
    );
    let stp = Config {
        stp: Some(Version::Rstp),
        ..Config::default()
    };
    assert_eq!(
        refused(Config {
            max_age: Time::from_secs(40),
            ..stp.clone()
        }),
        "max_age"
    );
    assert_eq!(
        refused(Config {
            bridge_priority: 1,
            ..stp.clone()
        }),
        "bridge_priority"
    );
    assert_eq!(refused(Config { ports: 5000, ..stp }), "ports");
}

/// Members that have moved with the topology are found at once: everything is flooded for 10 s, and hosts are asked to report.
#[test]
fn packets_to_groups_find_their_members_after_the_topology_has_changed() {
    use bridge::snooping;
    use multicast::message::{self, Message, Query};
    use node::Frame;
    let host = |port| PortConfig {
        port,
        edge: Edge::Yes,
        ..PortConfig::default()
    };
    let configs = (0..4).map(|number| Config {
        stp: Some(Version::Rstp),
        mac: address(number),
        port: vec![host(2), host(3)],
        snooping: Some(snooping::Config {
            querier: number == 0,
            address: [10, 0, 0, 250].into(),
            ..snooping::Config::default()
        }),
        ..Config::default()
    });
    let links: Vec<[End; 2]> = (0..4).map(|n| [(n, 0), ((n + 1) % 4, 1)]).collect();
    let mut world = World::new(configs.collect(), &links);
    world.seconds(30);
    let group = "239.1.1.1".parse().unwrap();
    let mut report = Frame::new(&[]);
    message::build_frame(
        &Message::Report(message::Version::Two, group),
        "10.0.0.3".parse().unwrap(),
        Mac(mac(3)),
        &mut report,
    );
    let mut data = frame(mac(1), message::mac_of(group).0);
    data[12..34].copy_from_slice(&[
        8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 9, 239, 1, 1, 1,
    ]);
    let got = |world: &mut World| -> Vec<End> {
        let packets = world.seen.drain(..).filter(|(_, _, frame)| *frame == data);
        packets.map(|(_, end, _)| end).collect()
    };
    world.send((2, 2), &report);
    world.seconds(1);
    world.seen.clear();
    world.send((0, 2), &data);
    world.seconds(1);
    assert_eq!(got(&mut world), [(2, 2)], "the member alone");
    world.set_link((1, 0), false);
    world.run(world.now + Time::from_ms(1));
    world.seen.clear();
    world.send((0, 2), &data);
    world.run(world.now + Time::from_ms(1));
    assert!(got(&mut world).contains(&(2, 2)), "by the other way");
    // The host has been asked, and answers.
    let asked = |frame: &[u8]| {
        let read = message::parse_frame(frame, 14);
        matches!(read, Some(Ok(read)) if matches!(read.message, Message::Query(Query { group: None, .. })))
    };
    world.set_link((1, 0), true);
    world.run(world.now + Time::from_secs(2));
    assert!(
        world
            .seen
            .iter()
            .any(|(_, end, frame)| *end == (2, 2) && asked(frame))
    );
    world.send((2, 2), &report);
    world.seconds(15);
    world.seen.clear();
    world.send((0, 2), &data);
    world.seconds(1);
    assert_eq!(got(&mut world), [(2, 2)]);
}
