use super::pair::Pair;
use crate::action::Action;
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::key::Field;
use crate::matching::Match;
use crate::message::{
    Answer, FlowCommand, FlowMod, FlowQuery, Message, MultipartRequest, Query, flow_flags,
};
use crate::oxm::Oxm;
use crate::port::PortNo;
use crate::version::Version;
use alloc::vec::Vec;
use node::Time;

const BOTH: [Version; 2] = Version::ALL;

fn frame(destination: u8) -> Vec<u8> {
    let mut frame = [[2, 0, 0, 0, 0, destination], [2, 0, 0, 0, 0, 1]].concat();
    frame.extend([0x12, 0x34]);
    frame.resize(60, 0);
    frame
}

fn to(destination: u8) -> [Oxm; 1] {
    let address = 0x0200_0000_0000 | u128::from(destination);
    [Oxm::new(Field::EthDst, address)]
}

#[test]
fn an_entry_forwards_as_soon_as_the_barrier_is_answered() {
    for version in BOTH {
        let mut pair = Pair::new(version);
        let actions = [Action::output(PortNo(2))];
        let instructions = [Instruction::ApplyActions((&actions).into())];
        let fields = to(9);
        pair.send(&Message::FlowMod(FlowMod {
            matching: Match::new(&fields),
            instructions: (&instructions).into(),
            ..FlowMod::default()
        }));
        let xid = pair.send(&Message::BarrierRequest);
        let mut barriers = Vec::new();
        pair.messages(|header, message| {
            assert_eq!(*message, Message::BarrierReply);
            barriers.push(header.xid);
        });
        assert_eq!(barriers, [xid]);
        assert_eq!(pair.ports(1, &frame(9)), [2]);
        assert_eq!(pair.ports(2, &frame(9)), []);
        assert_eq!(pair.ports(1, &frame(8)), []);
        pair.send(&Message::FlowMod(FlowMod {
            command: FlowCommand::Delete,
            table: 0xFF,
            ..FlowMod::default()
        }));
        assert_eq!(pair.ports(1, &frame(9)), []);
    }
}

#[test]
fn a_packet_without_an_entry_goes_to_a_controller_of_1_0_and_nowhere_in_1_3() {
    let mut pair = Pair::new(Version::V10);
    assert_eq!(pair.ports(3, &frame(9)), []);
    let mut seen = Vec::new();
    pair.messages(|_, message| {
        if let Message::PacketIn(packet) = message {
            seen.push((packet.in_port(), packet.buffer.is_some(), packet.data.len()));
        }
    });
    assert_eq!(seen, [(PortNo(3), true, 60)]);
    let mut pair = Pair::new(Version::V13);
    assert_eq!(pair.ports(3, &frame(9)), []);
    assert_eq!(pair.count(), 0);
}

#[test]
fn statistics_tell_what_was_put_in_and_what_passed() {
    for version in BOTH {
        let mut pair = Pair::new(version);
        let actions = [Action::output(PortNo(2))];
        let instructions = [Instruction::ApplyActions((&actions).into())];
        let fields = [
            Oxm::new(Field::InPort, 1),
            to(9)[0],
            Oxm::new(Field::EthType, 0x1234),
        ];
        pair.send(&Message::FlowMod(FlowMod {
            matching: Match::new(&fields),
            cookie: 77,
            priority: 5,
            idle_timeout: 6,
            instructions: (&instructions).into(),
            ..FlowMod::default()
        }));
        pair.pass(Time::from_ms(1_500));
        for _ in 0..3 {
            assert_eq!(pair.ports(1, &frame(9)), [2]);
        }
        pair.send(&Message::MultipartRequest(MultipartRequest {
            more: false,
            body: Query::Flow(FlowQuery {
                table: 0xFF,
                out_port: PortNo::ANY,
                out_group: u32::MAX,
                cookie: 0,
                cookie_mask: 0,
                matching: Match::ALL,
            }),
        }));
        let mut count = 0;
        pair.messages(|_, message| {
            let Message::MultipartReply(reply) = message else {
                return;
            };
            let Answer::Flow(list) = reply.body else {
                panic!("{reply:?}");
            };
            for flow in list {
                count += 1;
                assert_eq!((flow.packets, flow.bytes), (3, 180));
                assert_eq!((flow.cookie, flow.priority, flow.idle_timeout), (77, 5, 6));
                assert_eq!((flow.duration_s, flow.duration_ns), (1, 500_000_000));
                assert_eq!(flow.matching, Match::new(&fields));
                assert_eq!(flow.instructions, (&instructions).into());
            }
        });
        assert_eq!(count, 1);
    }
}

#[test]
fn long_statistics_take_several_messages_and_nothing_is_lost() {
    let mut pair = Pair::new(Version::V13);
    for i in 0..2_000u32 {
        let fields = [Oxm::new(Field::EthDst, i.into())];
        pair.send(&Message::FlowMod(FlowMod {
            matching: Match::new(&fields),
            cookie: i.into(),
            ..FlowMod::default()
        }));
    }
    pair.send(&Message::MultipartRequest(MultipartRequest {
        more: false,
        body: Query::Flow(FlowQuery {
            table: 0,
            out_port: PortNo::ANY,
            out_group: u32::MAX,
            cookie: 0,
            cookie_mask: 0,
            matching: Match::ALL,
        }),
    }));
    let (mut seen, mut more) = (Vec::new(), Vec::new());
    pair.messages(|_, message| {
        if let Message::MultipartReply(reply) = message
            && let Answer::Flow(list) = reply.body
        {
            seen.extend(list.iter().map(|flow| flow.cookie));
            more.push(reply.more);
        }
    });
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..2_000));
    assert_eq!(more.pop(), Some(false));
    assert!(!more.is_empty() && more.iter().all(|more| *more));
}

#[test]
fn what_cannot_be_is_refused_by_its_name_and_changes_nothing() {
    let mut pair = Pair::new(Version::V13);
    let cases: Vec<(FlowMod<'_>, Fault)> = [(
        FlowMod {
            table: 255,
            ..FlowMod::default()
        },
        Fault::FlowModBadTableId,
    )]
    .into();
    for (change, fault) in cases {
        assert_eq!(pair.fault(&Message::FlowMod(change)), Some(fault));
    }
    let refused = |pair: &mut Pair, instruction: Instruction<'_>, fault: Fault| {
        let instructions = [instruction];
        let change = FlowMod {
            instructions: (&instructions).into(),
            table: 3,
            ..FlowMod::default()
        };
        assert_eq!(pair.fault(&Message::FlowMod(change)), Some(fault));
    };
    refused(
        &mut pair,
        Instruction::GotoTable(3),
        Fault::BadInstructionTableId,
    );
    refused(&mut pair, Instruction::Meter(1), Fault::UnknownMeter);
    for (action, fault) in [
        (Action::output(PortNo(99)), Fault::BadOutPort),
        (Action::output(PortNo::TABLE), Fault::BadOutPort),
        (Action::Group(1), Fault::BadOutGroup),
        (Action::SetQueue(5), Fault::BadQueue),
        (
            Action::SetField(Oxm::new(Field::TcpSrc, 1)),
            Fault::MatchInconsistent,
        ),
        (Action::PopVlan, Fault::MatchInconsistent),
        (Action::DecNwTtl, Fault::MatchInconsistent),
    ] {
        let actions = [action];
        refused(
            &mut pair,
            Instruction::ApplyActions((&actions).into()),
            fault,
        );
    }
    let first = FlowMod {
        priority: 7,
        ..FlowMod::default()
    };
    assert_eq!(pair.fault(&Message::FlowMod(first)), None);
    let fields = to(3);
    let overlapping = FlowMod {
        matching: Match::new(&fields),
        flags: flow_flags::CHECK_OVERLAP,
        ..first
    };
    assert_eq!(
        pair.fault(&Message::FlowMod(overlapping)),
        Some(Fault::Overlap)
    );
}

#[test]
fn entries_that_time_out_are_told_with_what_passed() {
    for version in BOTH {
        let mut pair = Pair::new(version);
        let fields = to(9);
        pair.send(&Message::FlowMod(FlowMod {
            matching: Match::new(&fields),
            idle_timeout: 3,
            flags: flow_flags::SEND_FLOW_REM,
            ..FlowMod::default()
        }));
        pair.pass(Time::from_secs(2));
        pair.receive(1, &frame(9));
        pair.pass(Time::from_ms(2_999));
        pair.messages(|_, message| assert!(!matches!(message, Message::FlowRemoved(_))));
        pair.pass(Time::from_ms(2));
        let mut gone = 0;
        pair.messages(|_, message| {
            if let Message::FlowRemoved(removed) = message {
                assert_eq!(
                    (removed.packets, removed.bytes, removed.duration_s),
                    (1, 60, 5)
                );
                gone += 1;
            }
        });
        assert_eq!(gone, 1);
    }
}

#[test]
fn all_tables_are_told() {
    for (version, query) in [
        (Version::V10, Query::Table),
        (Version::V13, Query::Table),
        (Version::V13, Query::TableFeatures(crate::list::List::EMPTY)),
    ] {
        let mut pair = Pair::new(version);
        pair.send(&Message::MultipartRequest(MultipartRequest {
            more: false,
            body: query,
        }));
        let mut tables = Vec::new();
        pair.messages(|_, message| {
            let Message::MultipartReply(reply) = message else {
                return;
            };
            match reply.body {
                Answer::Table(list) => tables.extend(list.iter().map(|table| table.table)),
                Answer::TableFeatures(list) => tables.extend(list.iter().map(|table| table.table)),
                _ => panic!("{reply:?}"),
            }
        });
        assert!(tables.into_iter().eq(0..255));
    }
}

#[test]
fn huge_statistics_come_piece_by_piece_and_what_is_asked_behind_them_waits() {
    let mut pair = Pair::new(Version::V13);
    let count = 100_000u32;
    for i in 0..count {
        let fields = [Oxm::new(Field::EthDst, i.into())];
        pair.send(&Message::FlowMod(FlowMod {
            matching: Match::new(&fields),
            cookie: i.into(),
            ..FlowMod::default()
        }));
    }
    // The controller takes nothing yet.
    pair.stalls = true;
    pair.send(&Message::MultipartRequest(MultipartRequest {
        more: false,
        body: Query::Flow(FlowQuery {
            table: 0,
            out_port: PortNo::ANY,
            out_group: u32::MAX,
            cookie: 0,
            cookie_mask: 0,
            matching: Match::ALL,
        }),
    }));
    pair.send(&Message::BarrierRequest);
    let waiting = pair.switch.waiting();
    assert!((400_000..600_000).contains(&waiting), "{waiting}");
    // What goes meanwhile is not told, what comes instead may be.
    for i in count - 1_000..count {
        let fields = [Oxm::new(Field::EthDst, i.into())];
        pair.switch
            .datapath
            .flow_mod(
                pair.now,
                Version::V13,
                &FlowMod {
                    command: FlowCommand::DeleteStrict,
                    matching: Match::new(&fields),
                    ..FlowMod::default()
                },
            )
            .unwrap();
    }
    assert_eq!(pair.switch.datapath.flows.len(0), count as usize - 1_000);
    pair.take_up();
    let (mut seen, mut done, mut barriers) = (Vec::new(), 0, 0);
    pair.messages(|_, message| match message {
        Message::MultipartReply(reply) => {
            let Answer::Flow(list) = reply.body else {
                panic!("{reply:?}");
            };
            assert_eq!((done, barriers), (0, 0));
            done += usize::from(!reply.more);
            seen.extend(list.iter().map(|flow| flow.cookie));
        }
        Message::BarrierReply => barriers += 1,
        other => panic!("{other:?}"),
    });
    assert_eq!((done, barriers), (1, 1));
    seen.sort_unstable();
    assert_eq!(seen.len(), count as usize - 1_000);
    assert!(seen.iter().zip(0..).all(|(cookie, i)| *cookie == i));
}

#[test]
fn a_match_of_1_0_is_told_as_it_was_asked() {
    let mut pair = Pair::new(Version::V10);
    for (wildcards, vlan, pcp) in [
        (0x3F_FFFDu32, 0xFFFFu16, 0u8),
        (0x2F_FFFD, 0xFFFF, 0),
        (0x2F_FFFD, 5, 3),
    ] {
        pair.send(&Message::FlowMod(FlowMod {
            command: FlowCommand::Delete,
            ..FlowMod::default()
        }));
        let mut bytes = Vec::new();
        let message = Message::FlowMod(FlowMod::default());
        message.encode(Version::V10, 1, &mut bytes).unwrap();
        bytes[8..12].copy_from_slice(&wildcards.to_be_bytes());
        bytes[26..28].copy_from_slice(&vlan.to_be_bytes());
        bytes[28] = pcp;
        let asked = bytes[8..48].to_vec();
        pair.send_bytes(&bytes);
        pair.send(&Message::MultipartRequest(MultipartRequest {
            more: false,
            body: Query::Flow(FlowQuery {
                table: 0xFF,
                out_port: PortNo::ANY,
                out_group: u32::MAX,
                cookie: 0,
                cookie_mask: 0,
                matching: Match::ALL,
            }),
        }));
        let mut told = Vec::new();
        pair.messages(|_, message| {
            if let Message::MultipartReply(reply) = message
                && let Answer::Flow(list) = reply.body
            {
                for flow in list {
                    flow.matching.write(Version::V10, &mut told).unwrap();
                }
            }
        });
        assert_eq!(told, asked);
    }
}
