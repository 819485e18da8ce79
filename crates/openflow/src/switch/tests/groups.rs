use super::pair::Pair;
use crate::action::Action;
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::matching::Match;
use crate::message::{
    ANY_GROUP, Bucket, Change, FlowCommand, FlowMod, GroupKind, GroupMod, Message, PortMod,
};
use crate::port::{PortNo, config};
use crate::version::Version;
use alloc::vec::Vec;

fn frame(last: u8) -> Vec<u8> {
    let mut frame = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, last, 0x12, 0x34].to_vec();
    frame.resize(60, 0);
    frame
}

fn bucket<'a>(actions: &'a [Action<'a>]) -> Bucket<'a> {
    Bucket {
        weight: 0,
        watch_port: PortNo::ANY,
        watch_group: ANY_GROUP,
        actions: actions.into(),
    }
}

fn change<'a>(
    command: Change,
    kind: GroupKind,
    group: u32,
    buckets: &'a [Bucket<'a>],
) -> Message<'a> {
    Message::GroupMod(GroupMod {
        command,
        kind,
        group,
        buckets: buckets.into(),
    })
}

fn add<'a>(kind: GroupKind, group: u32, buckets: &'a [Bucket<'a>]) -> Message<'a> {
    change(Change::Add, kind, group, buckets)
}

/// What comes in by any port goes to the group.
fn lead(pair: &mut Pair, group: u32) {
    let actions = [Action::Group(group)];
    let instructions = [Instruction::ApplyActions((&actions).into())];
    let entry = FlowMod {
        matching: Match::ALL,
        instructions: (&instructions).into(),
        ..FlowMod::default()
    };
    assert_eq!(pair.fault(&Message::FlowMod(entry)), None);
}

fn out(port: u32) -> [Action<'static>; 1] {
    [Action::output(PortNo(port))]
}

#[test]
fn every_bucket_of_all_gets_its_own_copy_and_changes_no_others() {
    let mut pair = Pair::new(Version::V13);
    let first = [Action::PushVlan(0x8100), Action::output(PortNo(2))];
    let (second, third) = (out(3), out(1));
    let buckets = [bucket(&first), bucket(&second), bucket(&third)];
    assert_eq!(pair.fault(&add(GroupKind::All, 1, &buckets)), None);
    lead(&mut pair, 1);
    let mut sent = pair.receive(1, &frame(1));
    sent.sort();
    // Not back by the port of arrival.
    assert_eq!(sent.len(), 2);
    assert_eq!(
        (sent[0].0, sent[0].1.len(), &sent[0].1[12..14]),
        (2, 64, &[0x81, 0][..])
    );
    assert_eq!(sent[1], (3, frame(1)));
}

#[test]
fn select_keeps_to_a_flow_and_to_the_weights() {
    let mut pair = Pair::new(Version::V13);
    let (two, three) = (out(2), out(3));
    let weighted = |actions, weight| Bucket {
        weight,
        ..bucket(actions)
    };
    let buckets = [weighted(&two, 1), weighted(&three, 3)];
    assert_eq!(pair.fault(&add(GroupKind::Select, 1, &buckets)), None);
    lead(&mut pair, 1);
    let mut by_three = 0;
    for last in 0..=255 {
        let ports = pair.ports(1, &frame(last));
        assert_eq!(ports.len(), 1);
        assert_eq!(pair.ports(1, &frame(last)), ports);
        by_three += usize::from(ports == [3]);
    }
    // 192 are to be expected; five times the standard deviation is 35.
    assert!((157..=227).contains(&by_three), "{by_three}");
    // One that is not live gets nothing.
    pair.link(3, false);
    let watched = [
        weighted(&two, 1),
        Bucket {
            watch_port: PortNo(3),
            ..weighted(&three, 3)
        },
    ];
    assert_eq!(
        pair.fault(&change(Change::Modify, GroupKind::Select, 1, &watched)),
        None
    );
    assert!((0..=255).all(|last| pair.ports(1, &frame(last)) == [2]));
}

#[test]
fn fast_failover_takes_the_first_that_is_live_without_a_word_from_the_controller() {
    let mut pair = Pair::new(Version::V13);
    let (two, three, four) = (out(2), out(3), out(4));
    let watching = |actions, port| Bucket {
        watch_port: PortNo(port),
        ..bucket(actions)
    };
    let buckets = [watching(&two, 2), watching(&three, 3)];
    assert_eq!(pair.fault(&add(GroupKind::FastFailover, 1, &buckets)), None);
    lead(&mut pair, 1);
    assert_eq!(pair.ports(1, &frame(1)), [2]);
    pair.link(2, false);
    assert_eq!(pair.ports(1, &frame(1)), [3]);
    let hardware = pair.switch.datapath.ports[2].hardware;
    let down = |value| PortMod {
        port: PortNo(3),
        hardware,
        config: value,
        mask: config::PORT_DOWN,
        advertise: 0,
    };
    assert_eq!(pair.fault(&Message::PortMod(down(config::PORT_DOWN))), None);
    assert_eq!(pair.ports(1, &frame(1)), []);
    // A group that watches another lives as long as that has a bucket that does.
    let above = [
        Bucket {
            watch_group: 1,
            ..bucket(&two)
        },
        Bucket {
            watch_port: PortNo(4),
            ..bucket(&four)
        },
    ];
    assert_eq!(pair.fault(&add(GroupKind::FastFailover, 2, &above)), None);
    lead(&mut pair, 2);
    assert_eq!(pair.ports(1, &frame(1)), [4]);
    pair.link(2, true);
    assert_eq!(pair.ports(1, &frame(1)), [2]);
    assert_eq!(pair.fault(&Message::PortMod(down(0))), None);
}

#[test]
fn indirect_has_one_bucket_and_groups_lead_to_groups() {
    let mut pair = Pair::new(Version::V13);
    let two = out(2);
    let one = [bucket(&two)];
    let many = [bucket(&two), bucket(&two)];
    assert_eq!(
        pair.fault(&add(GroupKind::Indirect, 1, &[])),
        Some(Fault::InvalidGroup)
    );
    assert_eq!(
        pair.fault(&add(GroupKind::Indirect, 1, &many)),
        Some(Fault::InvalidGroup)
    );
    assert_eq!(pair.fault(&add(GroupKind::Indirect, 1, &one)), None);
    for group in 2..10 {
        let on = [Action::Group(group - 1)];
        assert_eq!(
            pair.fault(&add(GroupKind::Indirect, group, &[bucket(&on)])),
            None
        );
    }
    lead(&mut pair, 9);
    assert_eq!(pair.ports(1, &frame(1)), [2]);
    // Weights are for select alone.
    let weighted = [Bucket {
        weight: 1,
        ..bucket(&two)
    }];
    let kinds = [GroupKind::All, GroupKind::Indirect, GroupKind::FastFailover];
    for kind in kinds {
        let refused = pair.fault(&add(kind, 20, &weighted));
        assert_eq!(refused, Some(Fault::InvalidGroup));
    }
    let never = pair.fault(&add(GroupKind::Select, 20, &one));
    assert_eq!(never, Some(Fault::InvalidGroup));
    assert_eq!(pair.fault(&add(GroupKind::Select, 20, &weighted)), None);
}

#[test]
fn no_group_leads_to_itself_however_far_around() {
    let mut pair = Pair::new(Version::V13);
    let itself = [Action::Group(1)];
    assert_eq!(
        pair.fault(&add(GroupKind::All, 1, &[bucket(&itself)])),
        Some(Fault::GroupLoop)
    );
    let two = out(2);
    assert_eq!(pair.fault(&add(GroupKind::All, 1, &[bucket(&two)])), None);
    for group in 2..=5 {
        let on = [Action::Group(group - 1)];
        assert_eq!(
            pair.fault(&add(GroupKind::All, group, &[bucket(&on)])),
            None
        );
    }
    let around = [Action::Group(5)];
    let loops = [bucket(&around)];
    let modify = change(Change::Modify, GroupKind::All, 1, &loops);
    assert_eq!(pair.fault(&modify), Some(Fault::GroupLoop));
    // What is watched counts too.
    let watching = [Bucket {
        watch_group: 5,
        ..bucket(&two)
    }];
    let modify = change(Change::Modify, GroupKind::All, 1, &watching);
    assert_eq!(pair.fault(&modify), Some(Fault::GroupLoop));
    lead(&mut pair, 5);
    assert_eq!(pair.ports(1, &frame(1)), [2]);
}

#[test]
fn copies_of_copies_end() {
    let mut pair = Pair::new(Version::V13);
    let two = out(2);
    let wide: Vec<Bucket<'_>> = (0..16).map(|_| bucket(&two)).collect();
    assert_eq!(pair.fault(&add(GroupKind::All, 1, &wide)), None);
    for group in 2..=8 {
        let on = [Action::Group(group - 1)];
        let wide: Vec<Bucket<'_>> = (0..16).map(|_| bucket(&on)).collect();
        assert_eq!(pair.fault(&add(GroupKind::All, group, &wide)), None);
    }
    lead(&mut pair, 8);
    // 16 to the power of 8 without a bound.
    let copies = pair.ports(1, &frame(1)).len();
    assert!((1..=4096).contains(&copies), "{copies}");
}

#[test]
fn a_group_that_goes_takes_its_entries_along() {
    let mut pair = Pair::new(Version::V13);
    let two = out(2);
    let one = [bucket(&two)];
    let unknown = change(Change::Modify, GroupKind::All, 7, &one);
    assert_eq!(pair.fault(&unknown), Some(Fault::UnknownGroup));
    assert_eq!(pair.fault(&add(GroupKind::All, 7, &one)), None);
    assert_eq!(
        pair.fault(&add(GroupKind::All, 7, &one)),
        Some(Fault::GroupExists)
    );
    lead(&mut pair, 7);
    let on = [Action::Group(7)];
    assert_eq!(pair.fault(&add(GroupKind::All, 8, &[bucket(&on)])), None);
    let delete = change(Change::Delete, GroupKind::All, 7, &[]);
    assert_eq!(pair.fault(&delete), Some(Fault::ChainedGroup));
    let above = change(Change::Delete, GroupKind::All, 8, &[]);
    assert_eq!(pair.fault(&above), None);
    assert_eq!(pair.fault(&delete), None);
    assert_eq!(pair.fault(&delete), None);
    assert_eq!(pair.ports(1, &frame(1)), []);
    assert_eq!(pair.switch.datapath.flows.len(0), 0);
    let nowhere = [Action::Group(7)];
    let instructions = [Instruction::ApplyActions((&nowhere).into())];
    let entry = FlowMod {
        command: FlowCommand::Add,
        instructions: (&instructions).into(),
        ..FlowMod::default()
    };
    assert_eq!(
        pair.fault(&Message::FlowMod(entry)),
        Some(Fault::BadOutGroup)
    );
}
