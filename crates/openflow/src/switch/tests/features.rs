//! What tables can do, as controllers are told it and set it.

use super::pair::Pair;
use crate::action::Action;
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::key::Field;
use crate::list::List;
use crate::matching::Match;
use crate::message::{
    Answer, FeatureId, FlowCommand, FlowMod, Message, MultipartRequest, OxmId, Query,
    TableFeatures, TableProperty,
};
use crate::oxm::Oxm;
use crate::port::{Name, PortNo};
use crate::switch::Config;
use crate::version::Version;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::Time;

fn pair(tables: u8) -> Pair {
    let config = Config {
        tables,
        flows: 100,
        ..Config::default()
    };
    Pair::with(Version::V13, config)
}

fn request<'a>(tables: &'a [TableFeatures<'a>], more: bool) -> Message<'a> {
    Message::MultipartRequest(MultipartRequest {
        more,
        body: Query::TableFeatures(tables.into()),
    })
}

fn table<'a>(table: u8, properties: &'a [TableProperty<'a>]) -> TableFeatures<'a> {
    TableFeatures {
        table,
        name: Name::new("some"),
        metadata_match: u64::MAX,
        metadata_write: u64::MAX,
        config: 0,
        max_entries: 100,
        properties: properties.into(),
    }
}

/// What is told of each table.
fn told(pair: &mut Pair) -> Vec<String> {
    pair.send(&request(&[], false));
    answer(pair)
}

fn answer(pair: &mut Pair) -> Vec<String> {
    let mut tables = Vec::new();
    pair.messages(|_, message| {
        let Message::MultipartReply(reply) = message else {
            panic!("{message:?}");
        };
        let Answer::TableFeatures(list) = reply.body else {
            panic!("{reply:?}");
        };
        tables.extend(list.iter().map(|table| format!("{table:?}")));
    });
    tables
}

fn flow<'a>(
    table: u8,
    priority: u16,
    fields: &'a [Oxm],
    instructions: &'a [Instruction<'a>],
) -> Message<'a> {
    Message::FlowMod(FlowMod {
        table,
        priority,
        matching: Match::new(fields),
        instructions: instructions.into(),
        ..FlowMod::default()
    })
}

const fn masked(field: Field) -> OxmId {
    OxmId::new(field, true)
}

const fn exact(field: Field) -> OxmId {
    OxmId::new(field, false)
}

/// A first table as of hardware: it matches Ethernet destinations, and prefixes of IPv4 ones; it outputs, and goes on
/// in table 2.
fn narrow<T>(then: impl FnOnce(&[TableProperty<'_>]) -> T) -> T {
    let matched = [
        exact(Field::EthDst),
        exact(Field::EthType),
        masked(Field::Ipv4Dst),
    ];
    let omitted = [exact(Field::EthType), masked(Field::Ipv4Dst)];
    let (instructions, actions) = ([1, 4].map(FeatureId::Kind), [0, 25].map(FeatureId::Kind));
    let (settable, none) = ([exact(Field::EthDst)], [FeatureId::Kind(4)]);
    then(&[
        // The table-miss entry only applies actions, whatever stands behind this.
        TableProperty::Instructions {
            miss: true,
            ids: (&none).into(),
        },
        TableProperty::Instructions {
            miss: false,
            ids: (&instructions).into(),
        },
        TableProperty::NextTables {
            miss: false,
            tables: &[2],
        },
        TableProperty::ApplyActions {
            miss: false,
            ids: (&actions).into(),
        },
        TableProperty::ApplySetField {
            miss: false,
            ids: (&settable).into(),
        },
        TableProperty::Match((&matched).into()),
        TableProperty::Wildcards((&omitted).into()),
    ])
}

#[test]
fn what_a_switch_tells_of_its_tables_can_be_asked_for_and_changes_nothing() {
    let mut pair = pair(4);
    let before = told(&mut pair);
    assert_eq!(before.len(), 4);
    pair.send(&request(&[], false));
    let mut asked = Vec::new();
    pair.messages(|_, message| {
        if let Message::MultipartReply(reply) = message
            && let Answer::TableFeatures(list) = reply.body
        {
            message.encode(Version::V13, 7, &mut asked).unwrap();
            for table in list {
                // Each form, once for all entries and once for the table-miss entry.
                let mut kinds: Vec<_> = table.properties.iter().map(|p| p.kind()).collect();
                kinds.sort_unstable();
                assert_eq!(kinds, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15]);
            }
        }
    });
    // A reply that becomes a request.
    asked[1] = 18;
    pair.send_bytes(&asked);
    assert_eq!(answer(&mut pair), before);
}

#[test]
fn tables_take_what_was_asked_for_and_refuse_the_rest() {
    let mut pair = pair(4);
    let fault = narrow(|properties| {
        let first = TableFeatures {
            metadata_match: 0xF,
            metadata_write: 0xF0,
            ..table(0, properties)
        };
        pair.fault(&request(&[first, table(2, &[])], false))
    });
    assert_eq!(fault, None);
    let tables = told(&mut pair);
    assert_eq!(tables.len(), 2, "the tables that were not named are gone");
    assert!(tables[0].contains("metadata_match: 15, metadata_write: 240"));

    let dst = Oxm::new(Field::EthDst, 1);
    let ip = Oxm::new(Field::EthType, 0x0800);
    let prefix = Oxm::masked(Field::Ipv4Dst, 0x0A00_0000, 0xFF00_0000);
    let output = [Action::output(PortNo(1))];
    let apply = [Instruction::ApplyActions((&output).into())];
    let goto = [Instruction::GotoTable(2)];
    let mut fault = |table, priority, fields: &[Oxm], instructions: &[Instruction<'_>]| {
        pair.fault(&flow(table, priority, fields, instructions))
    };
    assert_eq!(fault(0, 1, &[dst], &apply), None);
    assert_eq!(fault(0, 1, &[dst, ip, prefix], &goto), None);
    assert_eq!(fault(0, 0, &[], &apply), None, "the table-miss entry");
    assert_eq!(fault(2, 1, &[], &apply), None, "a table that takes all");

    let bad_mask = Oxm::masked(Field::EthDst, 0, 0xFF);
    assert_eq!(fault(0, 1, &[ip], &apply), Some(Fault::BadWildcards));
    assert_eq!(fault(0, 1, &[], &apply), Some(Fault::BadWildcards));
    assert_eq!(fault(0, 1, &[bad_mask], &apply), Some(Fault::BadMask));
    let source = Oxm::new(Field::EthSrc, 1);
    assert_eq!(fault(0, 1, &[dst, source], &apply), Some(Fault::BadField));
    let clear = [Instruction::ClearActions];
    let unsupported = Some(Fault::UnsupportedInstruction);
    assert_eq!(fault(0, 1, &[dst], &clear), unsupported);
    assert_eq!(
        fault(0, 0, &[], &goto),
        unsupported,
        "of the table-miss entry"
    );
    for gone in [1, 3] {
        let goto = [Instruction::GotoTable(gone)];
        let wrong = Some(Fault::BadInstructionTableId);
        assert_eq!(fault(0, 1, &[dst], &goto), wrong);
        assert_eq!(
            fault(gone, 1, &[dst], &apply),
            Some(Fault::FlowModBadTableId)
        );
    }
    let group = [Action::DecNwTtl];
    let group = [Instruction::ApplyActions((&group).into())];
    let wrong = Some(Fault::BadActionType);
    assert_eq!(fault(0, 1, &[dst, ip], &group), wrong);
    let set = [Action::SetField(Oxm::new(Field::EthSrc, 5))];
    let set = [Instruction::ApplyActions((&set).into())];
    assert_eq!(fault(0, 1, &[dst], &set), Some(Fault::BadSetType));
    // A change of what entries do is held to the same.
    let change = Message::FlowMod(FlowMod {
        command: FlowCommand::Modify,
        instructions: (&goto).into(),
        ..FlowMod::default()
    });
    assert_eq!(
        pair.fault(&change),
        unsupported,
        "it would change the table-miss entry"
    );
}

#[test]
fn metadata_bits_that_a_table_does_not_have_are_refused() {
    let mut pair = pair(2);
    let first = TableFeatures {
        metadata_match: 0xF,
        metadata_write: 0xF0,
        ..table(0, &[])
    };
    assert_eq!(pair.fault(&request(&[first, table(1, &[])], false)), None);
    let write = |mask| [Instruction::WriteMetadata { metadata: 0, mask }];
    let matched = |mask| [Oxm::masked(Field::Metadata, 0, mask)];
    assert_eq!(pair.fault(&flow(0, 1, &matched(0xF), &write(0xF0))), None);
    let fault = pair.fault(&flow(0, 1, &matched(0x1F), &[]));
    assert_eq!(fault, Some(Fault::BadMask));
    let fault = pair.fault(&flow(0, 1, &[], &write(0xF1)));
    assert_eq!(fault, Some(Fault::UnsupportedMetadataMask));
}

#[test]
fn entries_that_their_table_does_not_take_any_more_go_without_a_word() {
    let mut pair = pair(4);
    let dst = [Oxm::new(Field::EthDst, 1)];
    let src = [Oxm::new(Field::EthSrc, 1)];
    let goto = [Instruction::GotoTable(2)];
    for (table, fields) in [(0, &dst[..]), (0, &src), (0, &[]), (1, &dst), (2, &dst)] {
        let flow = Message::FlowMod(FlowMod {
            table,
            priority: fields.len() as u16,
            matching: Match::new(fields),
            instructions: if table == 0 {
                (&goto).into()
            } else {
                List::EMPTY
            },
            flags: crate::message::flow_flags::SEND_FLOW_REM,
            ..FlowMod::default()
        });
        assert_eq!(pair.fault(&flow), None);
    }
    let wanted = |properties: &[TableProperty<'_>], pair: &mut Pair| {
        pair.send(&request(&[table(0, properties), table(2, &[])], false));
    };
    narrow(|properties| wanted(properties, &mut pair));
    // One answer, and no word of entries that have gone.
    assert_eq!(answer(&mut pair).len(), 2);
    pair.pass(Time::from_ns(1_000_000));
    assert_eq!(pair.count(), 0);
    let left: Vec<_> = (0..4)
        .map(|table| pair.switch.datapath.flows.len(table))
        .collect();
    // Of the first table, that for a destination: another matches a source, and the table-miss entry goes on elsewhere.
    assert_eq!(left, [1, 0, 1, 0]);

    // All tables come back, empty where they were gone.
    let all: Vec<_> = (0..4).map(|number| table(number, &[])).collect();
    assert_eq!(pair.fault(&request(&all, false)), None);
    assert_eq!(pair.fault(&flow(1, 1, &src, &[])), None);
}

#[test]
fn requests_that_cannot_be_are_refused_whole_by_the_codes_of_the_specification() {
    let mut pair = pair(3);
    let before = told(&mut pair);
    let group = [FeatureId::Kind(4), FeatureId::Kind(9)];
    let experimenter = [FeatureId::Experimenter(1)];
    let wild = [exact(Field::EthSrc)];
    let matched = [exact(Field::EthDst)];
    let short = [OxmId {
        header: 0x8000_0607,
        experimenter: None,
    }];
    let foreign = [OxmId {
        header: 0x0001_0604,
        experimenter: None,
    }];
    let in_port = [exact(Field::InPort)];
    let maskless = [masked(Field::InPort)];
    let miss = false;
    let next = |tables| [TableProperty::NextTables { miss, tables }];
    let instructions = |ids| [TableProperty::Instructions { miss, ids }];
    let settable = |ids| [TableProperty::ApplySetField { miss, ids }];
    let bad = Fault::FeaturesBadArgument;
    for (fault, properties) in [
        (bad, &instructions((&group).into())[..]),
        (bad, &instructions((&experimenter).into())),
        (bad, &next(&[0])),
        (bad, &next(&[3])),
        // A table that is not asked for.
        (bad, &next(&[2])),
        (bad, &settable((&in_port).into())),
        (bad, &[TableProperty::Match((&foreign).into())]),
        (bad, &[TableProperty::Match((&maskless).into())]),
        (
            bad,
            &[
                TableProperty::Match((&matched).into()),
                TableProperty::Wildcards((&wild).into()),
            ],
        ),
        (bad, &[TableProperty::Match(List::EMPTY); 2]),
        (
            Fault::FeaturesBadLen,
            &[TableProperty::Match((&short).into())],
        ),
        (
            Fault::FeaturesBadType,
            &[TableProperty::Experimenter {
                miss,
                experimenter: 1,
                kind: 2,
                data: &[],
            }],
        ),
    ] {
        // All are refused for one.
        let told = pair.fault(&request(&[table(1, &[]), table(0, properties)], false));
        assert_eq!(told, Some(fault), "{properties:?}");
    }
    let of = |tables: &[TableFeatures<'_>], pair: &mut Pair| pair.fault(&request(tables, false));
    let tables = Some(Fault::FeaturesBadTable);
    assert_eq!(of(&[table(3, &[])], &mut pair), tables);
    assert_eq!(of(&[table(1, &[])], &mut pair), tables, "without the first");
    assert_eq!(of(&[table(0, &[]), table(0, &[])], &mut pair), tables);
    let more = TableFeatures {
        max_entries: 101,
        ..table(0, &[])
    };
    assert_eq!(of(&[more], &mut pair), Some(bad));
    assert_eq!(told(&mut pair), before);
}

#[test]
fn a_request_in_parts_is_carried_out_with_the_last_and_not_at_all_if_one_is_refused() {
    let mut pair = pair(2);
    let before = told(&mut pair);
    let part = |pair: &mut Pair, number, more| {
        let mut bytes = Vec::new();
        let tables = [table(number, &[])];
        let message = request(&tables, more);
        message.encode(Version::V13, 99, &mut bytes).unwrap();
        pair.send_bytes(&bytes);
        pair.count()
    };
    assert_eq!(part(&mut pair, 0, true), 0);
    assert_eq!(part(&mut pair, 1, false), 1);
    let both = answer(&mut pair);
    assert_eq!(both.len(), 2);
    assert!(both.iter().all(|table| table.contains("some")), "{both:?}");
    assert!(before.iter().all(|table| !table.contains("some")));

    for _ in 0..2 {
        // The first part names a table that there is not.
        assert_eq!(part(&mut pair, 7, true), 1);
        assert_eq!(part(&mut pair, 0, false), 2);
        pair.messages(|_, message| assert!(matches!(message, Message::Error(_)), "{message:?}"));
        assert_eq!(told(&mut pair), both);
    }
}
