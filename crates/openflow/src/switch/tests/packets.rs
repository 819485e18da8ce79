use super::pair::Pair;
use crate::action::{Action, NO_BUFFER};
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::key::Field;
use crate::matching::Match;
use crate::message::{
    ANY_GROUP, Bucket, Change, Config as Settings, FlowMod, GroupKind, GroupMod, Message,
    PacketInReason, PacketOut,
};
use crate::oxm::Oxm;
use crate::port::PortNo;
use crate::switch::Config;
use crate::version::Version;
use alloc::vec::Vec;
use node::Time;

/// A packet-in, in short: buffer, bytes of all, bytes told, reason.
type Seen = (Option<u32>, u16, usize, PacketInReason);

fn frame() -> Vec<u8> {
    let mut frame = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x12, 0x34].to_vec();
    frame.resize(200, 7);
    frame
}

fn seen(pair: &mut Pair) -> Vec<Seen> {
    let mut seen = Vec::new();
    pair.messages(|_, message| {
        if let Message::PacketIn(packet) = message {
            let told = packet.data.len();
            assert_eq!(packet.data, &frame()[..told]);
            seen.push((packet.buffer, packet.total_len, told, packet.reason));
        }
    });
    seen
}

fn enter(pair: &mut Pair, priority: u16, fields: &[Oxm], actions: &[Action<'_>]) {
    let instructions = [Instruction::ApplyActions(actions.into())];
    let entry = FlowMod {
        priority,
        matching: Match::new(fields),
        instructions: (&instructions).into(),
        ..FlowMod::default()
    };
    assert_eq!(pair.fault(&Message::FlowMod(entry)), None);
}

fn to_controller(max_len: u16) -> [Action<'static>; 1] {
    [Action::Output {
        port: PortNo::CONTROLLER,
        max_len,
    }]
}

#[test]
fn a_packet_is_told_as_far_as_asked_and_the_rest_is_kept() {
    for version in Version::ALL {
        for (max_len, told) in [(0, 0), (64, 64), (200, 200), (1_000, 200)] {
            let mut pair = Pair::new(version);
            enter(&mut pair, 5, &[], &to_controller(max_len));
            pair.receive(1, &frame());
            let seen = seen(&mut pair);
            let [(Some(buffer), 200, length, PacketInReason::Action)] = seen[..] else {
                panic!("{seen:?}")
            };
            assert_eq!(length, told);
            let actions = [Action::output(PortNo(3))];
            let from_buffer = PacketOut {
                buffer: Some(buffer),
                in_port: PortNo(1),
                actions: (&actions).into(),
                data: &[],
            };
            pair.sent.clear();
            assert_eq!(pair.fault(&Message::PacketOut(from_buffer)), None);
            assert_eq!(pair.sent, [(2, frame())]);
            // Once only, and no other number is taken for it.
            let again = pair.fault(&Message::PacketOut(from_buffer));
            assert_eq!(again, Some(Fault::BufferEmpty));
            let other = PacketOut {
                buffer: Some(0x7FFF_FFFF),
                ..from_buffer
            };
            assert_eq!(
                pair.fault(&Message::PacketOut(other)),
                Some(Fault::BufferUnknown)
            );
        }
    }
}

#[test]
fn a_whole_packet_takes_no_buffer() {
    let mut pair = Pair::new(Version::V13);
    enter(&mut pair, 5, &[], &to_controller(NO_BUFFER));
    pair.receive(1, &frame());
    assert_eq!(seen(&mut pair), [(None, 200, 200, PacketInReason::Action)]);
}

#[test]
fn misses_are_told_by_the_length_that_was_set_and_their_reason() {
    let mut pair = Pair::new(Version::V10);
    pair.receive(1, &frame());
    let [(Some(_), 200, 128, PacketInReason::NoMatch)] = seen(&mut pair)[..] else {
        panic!("128 bytes are told without a word")
    };
    pair.send(&Message::SetConfig(Settings {
        flags: 0,
        miss_send_len: 20,
    }));
    pair.receive(1, &frame());
    let [(Some(_), 200, 20, PacketInReason::NoMatch)] = seen(&mut pair)[..] else {
        panic!("20 bytes were asked for")
    };
    // In 1.3 a miss is an entry's, and its length the action's.
    let mut pair = Pair::new(Version::V13);
    enter(&mut pair, 0, &[], &to_controller(30));
    pair.receive(1, &frame());
    let [(Some(_), 200, 30, PacketInReason::NoMatch)] = seen(&mut pair)[..] else {
        panic!("30 bytes by the entry for misses")
    };
}

#[test]
fn in_1_0_an_entry_for_all_packets_is_no_miss() {
    let mut pair = Pair::new(Version::V10);
    enter(&mut pair, 0, &[], &to_controller(NO_BUFFER));
    pair.receive(1, &frame());
    assert_eq!(seen(&mut pair), [(None, 200, 200, PacketInReason::Action)]);
}

#[test]
fn with_all_buffers_taken_packets_are_told_whole_until_the_oldest_are_old() {
    let config = Config {
        buffers: 2,
        ..Config::default()
    };
    let mut pair = Pair::with(Version::V13, config);
    enter(&mut pair, 5, &[], &to_controller(10));
    let lengths = |pair: &mut Pair| {
        (0..3).for_each(|_| drop(pair.receive(1, &frame())));
        let seen = seen(pair);
        seen.iter().map(|seen| seen.2).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&mut pair), [10, 10, 200]);
    assert_eq!(lengths(&mut pair), [200, 200, 200]);
    pair.pass(Time::from_ms(1_001));
    assert_eq!(lengths(&mut pair), [10, 10, 200]);
}

#[test]
fn a_flow_mod_takes_its_packet_through_the_tables() {
    for version in Version::ALL {
        let mut pair = Pair::new(version);
        enter(&mut pair, 1, &[], &to_controller(10));
        pair.receive(1, &frame());
        let buffer = seen(&mut pair)[0].0;
        let actions = [Action::output(PortNo(2))];
        let instructions = [Instruction::ApplyActions((&actions).into())];
        let fields = [Oxm::new(Field::InPort, 1)];
        pair.sent.clear();
        let entry = FlowMod {
            priority: 7,
            matching: Match::new(&fields),
            buffer,
            instructions: (&instructions).into(),
            ..FlowMod::default()
        };
        assert_eq!(pair.fault(&Message::FlowMod(entry)), None);
        assert_eq!(pair.sent, [(1, frame())]);
    }
}

#[test]
fn a_packet_out_may_name_no_port_in_1_0_only() {
    let actions = [Action::output(PortNo(2))];
    let request = |in_port| {
        Message::PacketOut(PacketOut {
            buffer: None,
            in_port,
            actions: (&actions).into(),
            data: &[0; 60],
        })
    };
    for (version, port, fault) in [
        (Version::V10, PortNo(0), None),
        (Version::V10, PortNo::ANY, None),
        (Version::V13, PortNo(0), Some(Fault::BadPort)),
        (Version::V13, PortNo(9), Some(Fault::BadPort)),
        (Version::V13, PortNo::CONTROLLER, None),
    ] {
        let mut pair = Pair::new(version);
        assert_eq!(pair.fault(&request(port)), fault);
        assert_eq!(pair.sent.len(), usize::from(fault.is_none()));
    }
}

#[test]
fn an_expired_ttl_is_told_only_to_who_asked_for_it() {
    let mut pair = Pair::new(Version::V13);
    let mut packet = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46].to_vec();
    packet.extend([0, 0, 0, 0, 1, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.resize(60, 0);
    let fields = [Oxm::new(Field::EthType, 0x800)];
    enter(
        &mut pair,
        5,
        &fields,
        &[Action::DecNwTtl, Action::output(PortNo(2))],
    );
    assert_eq!(pair.ports(1, &packet), []);
    assert_eq!(pair.count(), 0);
    pair.send(&Message::SetAsync(crate::message::Async {
        packet_in: [0b111, 0],
        port_status: [0, 0],
        flow_removed: [0, 0],
    }));
    assert_eq!(pair.ports(1, &packet), []);
    let mut reasons = Vec::new();
    pair.messages(|_, message| {
        if let Message::PacketIn(packet) = message {
            reasons.push(packet.reason);
        }
    });
    assert_eq!(reasons, [PacketInReason::InvalidTtl]);
}

#[test]
fn a_packet_that_actions_end_is_a_drop_and_one_that_has_left_before_is_none() {
    let mut dying = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0].to_vec();
    dying.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 1, 17]);
    dying.resize(60, 0);
    let output = Action::Output {
        port: PortNo(2),
        max_len: NO_BUFFER,
    };
    let cases: [(&[Action<'_>], &[u16], Option<&str>); 7] = [
        (&[], &[], Some("no action outputs it")),
        (&[Action::SetQueue(0)], &[], Some("no action outputs it")),
        (&[Action::DecNwTtl], &[], Some("an invalid TTL")),
        (&[output], &[2], None),
        (&[output, Action::DecNwTtl], &[2], None),
        (&[Action::Group(1)], &[2], None),
        (&[Action::Group(2)], &[], Some("no action outputs it")),
    ];
    for (actions, ports, reason) in cases {
        let mut pair = Pair::new(Version::V13);
        let outputs = [output];
        let buckets = [Bucket {
            weight: 0,
            watch_port: PortNo::ANY,
            watch_group: ANY_GROUP,
            actions: (&outputs).into(),
        }];
        for (group, buckets) in [(1, &buckets[..]), (2, &[])] {
            let group = GroupMod {
                command: Change::Add,
                kind: GroupKind::All,
                group,
                buckets: buckets.into(),
            };
            assert_eq!(pair.fault(&Message::GroupMod(group)), None);
        }
        let ipv4 = [Oxm::new(Field::EthType, 0x0800)];
        enter(&mut pair, 5, &ipv4, actions);
        assert_eq!(pair.ports(1, &dying), ports);
        let expected: Vec<_> = reason.into_iter().map(|reason| (reason, 1)).collect();
        assert_eq!(pair.drops(), expected, "{actions:?}");
    }
}

#[test]
fn an_output_to_the_port_of_arrival_is_a_drop_only_without_another_output() {
    const TO_ARRIVAL: &str = "output to the port of arrival";
    let mut random = node::random::Random::new(7);
    let (mut alone, mut among) = (0, 0);
    for _ in 0..300 {
        let mut pair = Pair::new(Version::V13);
        // Outputs by themselves, one behind the other, or each in a bucket of a group that has all.
        let outputs: Vec<Action<'_>> = (0..1 + random.below(4))
            .map(|_| Action::output(PortNo(1 + random.below(3) as u32)))
            .collect();
        let in_group = random.chance(0.5);
        if in_group {
            let buckets: Vec<Bucket<'_>> = outputs
                .iter()
                .map(|output| Bucket {
                    weight: 0,
                    watch_port: PortNo::ANY,
                    watch_group: ANY_GROUP,
                    actions: core::slice::from_ref(output).into(),
                })
                .collect();
            let group = GroupMod {
                command: Change::Add,
                kind: GroupKind::All,
                group: 1,
                buckets: (&buckets[..]).into(),
            };
            assert_eq!(pair.fault(&Message::GroupMod(group)), None);
            enter(&mut pair, 5, &[], &[Action::Group(1)]);
        } else {
            enter(&mut pair, 5, &[], &outputs);
        }
        let wanted: Vec<u16> = outputs
            .iter()
            .filter_map(|output| match output {
                Action::Output { port, .. } if port.0 != 1 => Some(port.0 as u16),
                _ => None,
            })
            .collect();
        assert_eq!(pair.ports(1, &frame()), wanted, "{outputs:?}");
        match wanted.is_empty() {
            true => {
                assert_eq!(pair.drops(), [(TO_ARRIVAL, 1)], "{outputs:?}");
                alone += 1;
            }
            false => {
                assert_eq!(pair.drops(), [], "{outputs:?}");
                among += usize::from(wanted.len() < outputs.len());
            }
        }
    }
    assert!(alone > 10 && among > 50, "{alone} {among}");
}

#[test]
fn floods_and_the_switchs_own_forwarding_are_drops_only_where_nothing_else_is_output() {
    for (actions, left, drops) in [
        (&[PortNo(2), PortNo::FLOOD][..], &[2][..], &[][..]),
        (&[PortNo::FLOOD, PortNo(2)], &[2], &[]),
        (&[PortNo::ALL], &[], &[("no other port", 1)]),
        (&[PortNo(2), PortNo::NORMAL], &[2], &[]),
        (&[PortNo::NORMAL], &[], &[("no other port", 1)]),
    ] {
        let mut pair = Pair::new(Version::V13);
        let outputs: Vec<Action<'_>> = actions.iter().map(|port| Action::output(*port)).collect();
        enter(&mut pair, 5, &[], &outputs);
        // Port 2 carries what is sent there by its number; floods find no port that is up.
        for port in [3, 4] {
            pair.link(port, false);
        }
        let mut with_two = left.to_vec();
        if actions.contains(&PortNo::FLOOD)
            || actions.contains(&PortNo::NORMAL)
            || actions.contains(&PortNo::ALL)
        {
            // Once more by the flood.
            with_two.push(2);
        }
        assert_eq!(pair.ports(1, &frame()), with_two, "{actions:?}");
        assert_eq!(pair.drops(), [], "{actions:?}");
        pair.link(2, false);
        assert_eq!(pair.ports(1, &frame()), [0; 0], "{actions:?}");
        let mut expected: Vec<(&str, u64)> = drops.to_vec();
        if !left.is_empty() {
            expected.push(("the port is down or does not forward", 1));
        }
        assert_eq!(pair.drops(), expected, "{actions:?}");
    }
}
