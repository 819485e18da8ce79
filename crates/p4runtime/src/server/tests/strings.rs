//! Strings for values, restrictions, and what is refused.

use super::*;
use pb::entity::Entity as Kind;
use pb::field_match::{Exact, FieldMatchType, Optional, Ternary};
use pb::{action::Param, replica::PortKind, update::Type};

const PROGRAM: &str = include_str!("strings.p4");

fn pipeline() -> Pipeline {
    let server = Server::new(Nowhere, None, Settings::default());
    let made = server.verify(&config(PROGRAM.into()), &Gone::default());
    made.unwrap_or_else(|status| panic!("{status}"))
}

fn id(pipeline: &Pipeline, name: &str) -> u32 {
    let info = &pipeline.info;
    let tables = info.tables.iter().map(|table| &table.preamble);
    let actions = info.actions.iter().map(|action| &action.preamble);
    let meters = info.meters.iter().map(|meter| &meter.preamble);
    let mut all = tables.chain(actions).chain(meters);
    all.find(|preamble| &*preamble.name == name).expect(name).id
}

fn exact(field_id: u32, value: &[u8]) -> pb::FieldMatch {
    let value = value.to_vec();
    pb::FieldMatch {
        field_id,
        field_match_type: Some(FieldMatchType::Exact(Exact { value })),
    }
}

fn ternary(field_id: u32, value: &[u8], mask: &[u8]) -> pb::FieldMatch {
    let (value, mask) = (value.to_vec(), mask.to_vec());
    pb::FieldMatch {
        field_id,
        field_match_type: Some(FieldMatchType::Ternary(Ternary { value, mask })),
    }
}

fn entry(
    pipeline: &Pipeline,
    table: &str,
    matches: Vec<pb::FieldMatch>,
    action: &str,
    params: &[&[u8]],
) -> pb::TableEntry {
    let params = (1..).zip(params).map(|(param_id, value)| Param {
        param_id,
        value: value.to_vec(),
    });
    let action = pb::Action {
        action_id: id(pipeline, action),
        params: params.collect(),
    };
    pb::TableEntry {
        table_id: id(pipeline, table),
        priority: if table == "ingress.acl" { 9 } else { 0 },
        r#match: matches,
        action: Some(pb::TableAction {
            r#type: Some(pb::table_action::Type::Action(action)),
        }),
        ..Default::default()
    }
}

/// Why an update is refused, if it is.
fn write(pipeline: &Pipeline, how: Type, entity: Kind) -> Result<(), (Code, String)> {
    let request = pb::WriteRequest {
        updates: vec![pb::Update {
            r#type: how as i32,
            entity: Some(pb::Entity {
                entity: Some(entity),
            }),
        }],
        ..Default::default()
    };
    let wanted = pb::write_request::Atomicity::ContinueOnError;
    let mut results = write_all(pipeline, &request.updates, wanted).unwrap();
    let result = results.remove(0);
    result.map_err(|status| (status.code(), status.message().to_owned()))
}

fn insert(pipeline: &Pipeline, entry: &pb::TableEntry) -> Result<(), (Code, String)> {
    write(pipeline, Type::Insert, Kind::TableEntry(entry.clone()))
}

fn read(pipeline: &Pipeline, wanted: Kind) -> Result<Vec<Kind>, Status> {
    let request = pb::ReadRequest {
        entities: vec![pb::Entity {
            entity: Some(wanted),
        }],
        ..Default::default()
    };
    let entities = pipeline.read(&request, Time::ZERO)?;
    Ok(entities.into_iter().filter_map(|one| one.entity).collect())
}

#[test]
fn a_controller_s_strings_come_back_from_keys_and_parameters() {
    let pipeline = pipeline();
    let mut wanted = Vec::new();
    for (vrf, port) in [("", "eth1"), ("blue", "eth2"), ("red", "eth1"), ("3", "7")] {
        let matches = vec![exact(1, vrf.as_bytes())];
        let one = entry(
            &pipeline,
            "ingress.vrfs",
            matches,
            "ingress.to",
            &[port.as_bytes(), &[5]],
        );
        insert(&pipeline, &one).unwrap();
        wanted.push(Kind::TableEntry(one));
    }
    let matches = vec![pb::FieldMatch {
        field_id: 3,
        field_match_type: Some(FieldMatchType::Optional(Optional {
            value: b"eth2".to_vec(),
        })),
    }];
    let other = entry(
        &pipeline,
        "ingress.acl",
        matches,
        "ingress.to",
        &[b"eth1", &[1]],
    );
    insert(&pipeline, &other).unwrap();
    let all = |table| {
        read(
            &pipeline,
            Kind::TableEntry(pb::TableEntry {
                table_id: id(&pipeline, table),
                ..Default::default()
            }),
        )
    };
    assert_eq!(all("ingress.vrfs").unwrap(), wanted);
    assert_eq!(all("ingress.acl").unwrap(), [Kind::TableEntry(other)]);
    // In the program they are numbers: those that the program fixes, and others.
    let dump = pipeline.control.say("table dump vrfs").unwrap();
    let rows: Vec<&str> = dump.rows.iter().map(|(row, _)| row.as_str()).collect();
    for part in [
        "vrf=0 do", "vrf=7 do", "vrf=1 do", "vrf=3 do", "port=1 ", "port=2 ", "port=7 ",
    ] {
        assert!(
            rows.iter().any(|row| row.contains(part)),
            "{part}: {rows:?}"
        );
    }
    // Packets and copies have the same ports.
    let metadata = vec![pb::PacketMetadata {
        metadata_id: 1,
        value: b"eth2".to_vec(),
    }];
    let packet = pb::PacketOut {
        payload: vec![0xaa],
        metadata: metadata.clone(),
    };
    let strings = &pipeline.translations;
    let bytes = packets::packet_out(&pipeline.info, strings, &packet).unwrap();
    assert_eq!(bytes, [1, 0, 0xaa]);
    let back = packets::packet_in(&pipeline.info, strings, &bytes);
    assert_eq!((back.metadata, back.payload), (metadata, vec![0xaa]));
    let session = pb::PacketReplicationEngineEntry {
        r#type: Some(
            pb::packet_replication_engine_entry::Type::MulticastGroupEntry(
                pb::MulticastGroupEntry {
                    multicast_group_id: 4,
                    replicas: vec![pb::Replica {
                        instance: 1,
                        port_kind: Some(PortKind::Port(b"eth2".to_vec())),
                    }],
                    metadata: Vec::new(),
                },
            ),
        ),
    };
    let session = Kind::PacketReplicationEngineEntry(session);
    write(&pipeline, Type::Insert, session.clone()).unwrap();
    assert_eq!(read(&pipeline, session.clone()).unwrap(), [session]);
}

#[test]
fn entries_and_actions_that_a_program_forbids_are_refused_with_the_constraint() {
    let pipeline = pipeline();
    let acl = |matches, queue: u8| {
        entry(
            &pipeline,
            "ingress.acl",
            matches,
            "ingress.to",
            &[b"eth1", &[queue]],
        )
    };
    let address = || ternary(2, &[10, 0, 0, 0], &[255, 0, 0, 0]);
    let kind = |value: &[u8]| ternary(1, value, &[0xff, 0xff]);
    let good = acl(vec![kind(&[8, 0]), address()], 7);
    insert(&pipeline, &good).unwrap();
    for (entry, says) in [
        (
            acl(vec![address()], 7),
            "address::mask != 0 -> kind == 0x0800",
        ),
        (
            acl(vec![kind(&[0x86, 0xdd]), address()], 7),
            "address::mask != 0 -> kind == 0x0800",
        ),
        (
            pb::TableEntry {
                priority: 100,
                ..good.clone()
            },
            "::priority < 100",
        ),
        (acl(vec![kind(&[8, 0])], 8), "queue < 8"),
        (
            entry(
                &pipeline,
                "ingress.vrfs",
                vec![exact(1, b"x")],
                "ingress.to",
                &[b"1", &[9]],
            ),
            "queue < 8",
        ),
    ] {
        let (code, message) = insert(&pipeline, &entry).unwrap_err();
        assert_eq!(code, Code::InvalidArgument, "{message}");
        assert!(message.contains(says), "{message}");
    }
    let modified = acl(vec![kind(&[8, 0]), address()], 200);
    let (code, message) = write(&pipeline, Type::Modify, Kind::TableEntry(modified)).unwrap_err();
    assert!(
        code == Code::InvalidArgument && message.contains("queue < 8"),
        "{message}"
    );
    // The other tongues of the control plane are held to it, too, and a batch as a whole.
    let words = pipeline
        .control
        .say("table add acl address=10.0.0.0/8 priority 3 do NoAction");
    assert!(words.unwrap_err().message.contains("@entry_restriction"));
    let updates = [acl(vec![kind(&[8, 6])], 1), acl(vec![address()], 1)].map(|entry| pb::Update {
        r#type: Type::Insert as i32,
        entity: Some(pb::Entity {
            entity: Some(Kind::TableEntry(entry)),
        }),
    });
    let rollback = pb::write_request::Atomicity::RollbackOnError;
    let results = write_all(&pipeline, &updates, rollback).unwrap();
    assert_eq!(results[0].as_ref().unwrap_err().code(), Code::Aborted);
    assert_eq!(
        results[1].as_ref().unwrap_err().code(),
        Code::InvalidArgument
    );
    let delete = write(&pipeline, Type::Delete, Kind::TableEntry(good));
    assert_eq!(delete, Ok(()));
}

#[test]
fn a_restriction_that_is_not_understood_refuses_the_program() {
    let server = Server::new(Nowhere, None, Settings::default());
    for (from, to, says) in [
        (
            "kind == 0x0800",
            "kinds == 0x0800",
            "line 3: the table has no key `kinds`",
        ),
        ("queue < 8", "queue", "a number is no constraint"),
    ] {
        let program = PROGRAM.replace(from, to);
        let made = server.verify(&config(program.into()), &Gone::default());
        let status = made.err().unwrap();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(says), "{status}");
    }
}

#[test]
fn what_no_meter_can_be_and_what_is_not_served_is_refused() {
    let pipeline = pipeline();
    let meter = |cir, pir, eburst| {
        Kind::MeterEntry(pb::MeterEntry {
            meter_id: id(&pipeline, "ingress.rate"),
            index: Some(pb::Index { index: 1 }),
            config: Some(pb::MeterConfig {
                cir,
                cburst: 10,
                pir,
                pburst: 20,
                eburst,
            }),
            counter_data: None,
        })
    };
    write(&pipeline, Type::Modify, meter(5, 5, 0)).unwrap();
    for (refused, says) in [
        (meter(6, 5, 0), "above the peak rate"),
        (meter(-1, 5, 0), "not negative"),
        (meter(5, 6, 1), "eburst"),
    ] {
        let (code, message) = write(&pipeline, Type::Modify, refused).unwrap_err();
        assert_eq!(code, Code::InvalidArgument);
        assert!(message.contains(says), "{message}");
    }
    assert_eq!(read(&pipeline, meter(0, 0, 0)).unwrap(), [meter(5, 5, 0)]);
    let own = Kind::ExternEntry(pb::ExternEntry::default());
    let (code, message) = write(&pipeline, Type::Insert, own.clone()).unwrap_err();
    assert_eq!(code, Code::Unimplemented);
    assert!(message.contains("ExternEntry is not served"), "{message}");
    assert_eq!(
        read(&pipeline, own).unwrap_err().code(),
        Code::Unimplemented
    );
}
