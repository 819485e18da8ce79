use super::pair::Pair;
use crate::action::Action;
use crate::instruction::Instruction;
use crate::message::{
    ANY_GROUP, Bucket, BundleAdd, BundleControl, BundleControlKind, BundleFault, Change, FlowMod,
    GroupKind, GroupMod, Message,
};
use crate::port::PortNo;
use crate::switch::Config;
use crate::version::Version;
use alloc::vec::Vec;
use node::budget::{Budget, Limits};

use BundleControlKind::*;

/// The answer to a message about bundles: its kind, or the error's code.
fn answer(pair: &mut Pair) -> Vec<Result<BundleControlKind, u16>> {
    let mut answers = Vec::new();
    pair.messages(|_, message| match message {
        Message::BundleControl(control) => answers.push(Ok(control.kind)),
        Message::Error(error) => answers.push(Err(error.code)),
        other => panic!("{other:?}"),
    });
    answers
}

fn control(
    pair: &mut Pair,
    bundle: u32,
    kind: BundleControlKind,
) -> Vec<Result<BundleControlKind, u16>> {
    pair.send(&Message::BundleControl(BundleControl {
        bundle,
        kind,
        flags: 1,
        properties: &[],
    }));
    answer(pair)
}

fn add(pair: &mut Pair, bundle: u32, message: &Message<'_>) -> Vec<Result<BundleControlKind, u16>> {
    let mut bytes = Vec::new();
    message
        .encode(Version::V13, pair.next_xid(), &mut bytes)
        .unwrap();
    pair.send(&Message::BundleAdd(BundleAdd {
        bundle,
        flags: 1,
        message: &bytes,
    }));
    answer(pair)
}

fn entry<'a>(priority: u16, instructions: &'a [Instruction<'a>]) -> Message<'a> {
    Message::FlowMod(FlowMod {
        priority,
        instructions: instructions.into(),
        ..FlowMod::default()
    })
}

#[test]
fn what_is_in_a_bundle_holds_when_it_is_committed_and_not_before() {
    let mut pair = Pair::new(Version::V13);
    let actions = [Action::Group(3)];
    let instructions = [Instruction::ApplyActions((&actions).into())];
    let two = [Action::output(PortNo(2))];
    let buckets = [Bucket {
        weight: 0,
        watch_port: PortNo::ANY,
        watch_group: ANY_GROUP,
        actions: (&two).into(),
    }];
    let group = Message::GroupMod(GroupMod {
        command: Change::Add,
        kind: GroupKind::Indirect,
        group: 3,
        buckets: (&buckets).into(),
    });
    assert_eq!(control(&mut pair, 7, OpenRequest), [Ok(OpenReply)]);
    assert_eq!(add(&mut pair, 7, &group), []);
    assert_eq!(add(&mut pair, 7, &entry(1, &instructions)), []);
    assert_eq!(pair.ports(1, &[0; 60]), []);
    assert_eq!(control(&mut pair, 7, CloseRequest), [Ok(CloseReply)]);
    let closed = BundleFault::Closed as u16;
    assert_eq!(add(&mut pair, 7, &group), [Err(closed)]);
    assert_eq!(control(&mut pair, 7, CommitRequest), [Ok(CommitReply)]);
    assert_eq!(pair.ports(1, &[0; 60]), [2]);
    let gone = BundleFault::BadId as u16;
    assert_eq!(control(&mut pair, 7, CommitRequest), [Err(gone)]);
}

#[test]
fn a_bundle_of_which_one_message_fails_leaves_everything_as_it_was() {
    let mut pair = Pair::new(Version::V13);
    let two = [Action::output(PortNo(2))];
    let to_two = [Instruction::ApplyActions((&two).into())];
    pair.send(&entry(1, &to_two));
    let three = [Action::output(PortNo(3))];
    let to_three = [Instruction::ApplyActions((&three).into())];
    let nowhere = [Action::output(PortNo(77))];
    let to_nowhere = [Instruction::ApplyActions((&nowhere).into())];
    assert_eq!(control(&mut pair, 1, OpenRequest), [Ok(OpenReply)]);
    for (priority, instructions) in [(9, &to_three), (1, &to_three), (5, &to_nowhere)] {
        assert_eq!(add(&mut pair, 1, &entry(priority, instructions)), []);
    }
    let failed = BundleFault::MessageFailed as u16;
    let answers = control(&mut pair, 1, CommitRequest);
    // First the error of the message, then that of the bundle.
    assert_eq!((answers.len(), answers[1]), (2, Err(failed)));
    assert_eq!(pair.ports(1, &[0; 60]), [2]);
    assert_eq!(pair.switch.datapath.flows.len(0), 1);
}

#[test]
fn bundles_are_few_and_have_only_what_can_be_taken_back() {
    let mut pair = Pair::new(Version::V13);
    for bundle in 0..16 {
        assert_eq!(control(&mut pair, bundle, OpenRequest), [Ok(OpenReply)]);
    }
    let full = BundleFault::OutOfBundles as u16;
    assert_eq!(control(&mut pair, 16, OpenRequest), [Err(full)]);
    let exists = BundleFault::Exists as u16;
    assert_eq!(control(&mut pair, 3, OpenRequest), [Err(exists)]);
    let unsupported = BundleFault::MessageUnsupported as u16;
    assert_eq!(
        add(&mut pair, 3, &Message::BarrierRequest),
        [Err(unsupported)]
    );
    assert_eq!(control(&mut pair, 3, DiscardRequest), [Ok(DiscardReply)]);
    assert_eq!(control(&mut pair, 16, OpenRequest), [Ok(OpenReply)]);
}

#[test]
fn bundles_take_no_more_memory_than_their_connection_and_all_may() {
    let mut pair = Pair::with(
        Version::V13,
        Config {
            controllers: 3,
            ..Config::default()
        },
    );
    let (each, all) = (256 << 10, 600 << 10);
    let budget = Budget::new(Limits {
        each,
        reserved: 0,
        all,
    });
    for session in pair.switch.sessions.iter_mut().flatten() {
        session.account = budget.account();
    }
    let actions: Vec<_> = (0..1000).map(|_| Action::output(PortNo(2))).collect();
    let instructions = [Instruction::ApplyActions((&actions).into())];
    let too_many = BundleFault::MessageTooMany as u16;
    for controller in 0..3 {
        pair.speaks = controller;
        let mut added = 0;
        let refused = loop {
            match add(&mut pair, 1 + added % 8, &entry(1, &instructions))[..] {
                [] => added += 1,
                [Err(code)] => break code,
                ref other => panic!("{other:?}"),
            }
        };
        assert_eq!(refused, too_many);
        assert!(added > 3 && budget.used() <= all, "{added}");
    }
    assert!(budget.used() > all / 2);
    // A bundle that is discarded makes room for another.
    let used = |pair: &Pair| pair.switch.sessions[0].as_ref().unwrap().account.used();
    let before = used(&pair);
    pair.speaks = 0;
    assert_eq!(control(&mut pair, 1, DiscardRequest), [Ok(DiscardReply)]);
    assert!(used(&pair) < before);
    assert_eq!(add(&mut pair, 1, &entry(1, &instructions)), []);
    pair.switch.sessions.clear();
    assert_eq!(budget.used(), 0);
}
