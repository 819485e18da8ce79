//! From what the control plane reads to P4Runtime's entities.

use crate::bytes;
use crate::messages::runtime::{
    self as pb, CounterData, Entity, FieldMatch, Index, MeterConfig, TableEntry,
    entity::Entity as Wanted, field_match as fm,
};
use crate::pipeline_state::{Pipeline, absent, data};
use crate::status;
use crate::write::{entry_key, extern_entry, index};
use node::Time;
use p4::info::Field;
use p4::ir::{ActionCall, KeyMatch, MatchKind, ObjectId, TableId};
use p4::value::Bits;
use pipeline::control::{Class, Count, program};
use pipeline::state::meter::Rates;
use pipeline::state::replication::Replica;
use pipeline::table::{Call, Installed};
use tonic::{Code, Status};

/// All that a wanted entity means; ids of 0 and indices that are left out stand for all.
pub(crate) fn entities(
    pipeline: &Pipeline,
    wanted: &Entity,
    now: Time,
) -> Result<Vec<Entity>, Status> {
    let wanted = wanted
        .entity
        .as_ref()
        .ok_or_else(|| Status::new(Code::InvalidArgument, "the entity is empty"))?;
    let mut found = Vec::new();
    match wanted {
        Wanted::TableEntry(entry) => table_entries(pipeline, entry, now, &mut found)?,
        Wanted::ActionProfileMember(member) => {
            for object in objects(
                pipeline,
                member.action_profile_id,
                PROFILES,
                "action profile",
            )? {
                let table = program::table_of_profile(pipeline.control.program(), object);
                for installed in pipeline
                    .control
                    .members(object)
                    .map_err(|e| status::of(&e))?
                {
                    if member.member_id != 0 && member.member_id != installed.id {
                        continue;
                    }
                    found.push(Wanted::ActionProfileMember(pb::ActionProfileMember {
                        action_profile_id: pipeline.object_id(object),
                        member_id: installed.id,
                        action: table
                            .as_ref()
                            .ok()
                            .and_then(|table| action(pipeline, *table, &installed.call)),
                    }));
                }
            }
        }
        Wanted::ActionProfileGroup(group) => {
            for object in objects(
                pipeline,
                group.action_profile_id,
                PROFILES,
                "action profile",
            )? {
                for installed in pipeline
                    .control
                    .groups(object)
                    .map_err(|e| status::of(&e))?
                {
                    if group.group_id != 0 && group.group_id != installed.id {
                        continue;
                    }
                    found.push(Wanted::ActionProfileGroup(pb::ActionProfileGroup {
                        action_profile_id: pipeline.object_id(object),
                        group_id: installed.id,
                        max_size: installed.most as i32,
                        members: installed
                            .members
                            .iter()
                            .map(|member| pb::action_profile_group::Member {
                                member_id: member.member,
                                weight: member.weight as i32,
                                watch_kind: member.watch.map(|port| {
                                    pb::action_profile_group::member::WatchKind::WatchPort(
                                        self::port(pipeline, port),
                                    )
                                }),
                            })
                            .collect(),
                    }));
                }
            }
        }
        Wanted::CounterEntry(entry) => {
            for object in objects(pipeline, entry.counter_id, &[Class::Counter], "counter")? {
                let cells = pipeline
                    .control
                    .counts(object, index(entry.index.as_ref())?);
                for (index, count) in cells.map_err(|e| out_of_range(&e))? {
                    found.push(Wanted::CounterEntry(pb::CounterEntry {
                        counter_id: pipeline.object_id(object),
                        index: Some(cell(index)),
                        data: Some(counter_data(count)),
                    }));
                }
            }
        }
        Wanted::MeterEntry(entry) => {
            for object in objects(pipeline, entry.meter_id, &[Class::Meter], "meter")? {
                let cells = pipeline.control.rates(object, index(entry.index.as_ref())?);
                for (index, rates) in cells.map_err(|e| out_of_range(&e))? {
                    found.push(Wanted::MeterEntry(pb::MeterEntry {
                        meter_id: pipeline.object_id(object),
                        index: Some(cell(index)),
                        config: rates.map(meter_config),
                        counter_data: None,
                    }));
                }
            }
        }
        Wanted::DirectCounterEntry(entry) => {
            for (table, installed) in direct(pipeline, entry.table_entry.as_ref())? {
                if let Some(count) = pipeline.control.direct_count(table, &installed) {
                    found.push(Wanted::DirectCounterEntry(pb::DirectCounterEntry {
                        table_entry: Some(bare(pipeline, table, &installed)),
                        data: Some(counter_data(count)),
                    }));
                }
            }
        }
        Wanted::DirectMeterEntry(entry) => {
            for (table, installed) in direct(pipeline, entry.table_entry.as_ref())? {
                if let Some(rates) = pipeline.control.direct_rates(table, &installed) {
                    found.push(Wanted::DirectMeterEntry(pb::DirectMeterEntry {
                        table_entry: Some(bare(pipeline, table, &installed)),
                        config: rates.map(meter_config),
                        counter_data: None,
                    }));
                }
            }
        }
        Wanted::RegisterEntry(entry) => {
            for object in objects(pipeline, entry.register_id, &[Class::Register], "register")? {
                let id = pipeline.object_id(object);
                let described = pipeline.info.registers.iter().find(|r| r.preamble.id == id);
                let described = described.ok_or_else(|| absent("register", id))?;
                let cells = pipeline
                    .control
                    .registers(object, index(entry.index.as_ref())?);
                for (index, values) in cells.map_err(|e| out_of_range(&e))? {
                    found.push(Wanted::RegisterEntry(pb::RegisterEntry {
                        register_id: id,
                        index: Some(cell(index)),
                        data: data(pipeline, &described.ty, &mut values.into_iter()),
                    }));
                }
            }
        }
        Wanted::ValueSetEntry(entry) => {
            for set in &pipeline.info.value_sets {
                if entry.value_set_id != 0 && entry.value_set_id != set.preamble.id {
                    continue;
                }
                let Some(id) = pipeline.value_sets.get(&set.preamble.id) else {
                    continue;
                };
                let members = pipeline
                    .control
                    .value_set(*id)
                    .map_err(|e| status::of(&e))?;
                let members = members.iter().map(|member| pb::ValueSetMember {
                    r#match: set
                        .fields
                        .iter()
                        .zip(member)
                        .filter_map(|(field, given)| field_match(pipeline, field, given))
                        .collect(),
                });
                found.push(Wanted::ValueSetEntry(pb::ValueSetEntry {
                    value_set_id: set.preamble.id,
                    members: members.collect(),
                }));
            }
            if entry.value_set_id != 0 && found.is_empty() {
                return Err(absent("value set", entry.value_set_id));
            }
        }
        Wanted::PacketReplicationEngineEntry(entry) => replication(pipeline, entry, &mut found),
        Wanted::DigestEntry(entry) => {
            if entry.digest_id != 0 && !pipeline.digests.contains_key(&entry.digest_id) {
                return Err(absent("digest", entry.digest_id));
            }
            for (id, digest) in &pipeline.digests {
                if entry.digest_id != 0 && entry.digest_id != *id {
                    continue;
                }
                if let Some(config) = pipeline.control.digest_config(*digest) {
                    found.push(Wanted::DigestEntry(pb::DigestEntry {
                        digest_id: *id,
                        config: Some(pb::digest_entry::Config {
                            max_timeout_ns: config.most_delay.as_ns() as i64,
                            max_list_size: config.most_messages as i32,
                            ack_timeout_ns: config.acknowledge_within.as_ns() as i64,
                        }),
                    }));
                }
            }
        }
        Wanted::ExternEntry(_) => {
            return Err(extern_entry());
        }
    }
    Ok(found
        .into_iter()
        .map(|entity| Entity {
            entity: Some(entity),
        })
        .collect())
}

const PROFILES: &[Class] = &[Class::Profile, Class::Selector];

/// The object with an id, or all of their classes for 0.
fn objects(
    pipeline: &Pipeline,
    id: u32,
    classes: &[Class],
    what: &str,
) -> Result<Vec<ObjectId>, Status> {
    if id != 0 {
        return Ok(vec![pipeline.object(id, what)?]);
    }
    let all = program::objects(pipeline.control.program(), classes);
    Ok(all.map(|(object, ..)| object).collect())
}

fn out_of_range(error: &pipeline::control::Error) -> Status {
    match error.kind {
        pipeline::control::ErrorKind::Unknown => {
            Status::new(Code::OutOfRange, error.message.clone())
        }
        _ => status::of(error),
    }
}

fn cell(index: u64) -> Index {
    Index {
        index: index as i64,
    }
}

fn counter_data(count: Count) -> CounterData {
    CounterData {
        byte_count: count.bytes as i64,
        packet_count: count.packets as i64,
    }
}

fn meter_config(rates: Rates) -> MeterConfig {
    MeterConfig {
        cir: rates.committed as i64,
        cburst: rates.committed_burst as i64,
        pir: rates.peak as i64,
        pburst: rates.peak_burst as i64,
        eburst: 0,
    }
}

fn replicas(pipeline: &Pipeline, replicas: &[Replica]) -> Vec<pb::Replica> {
    replicas
        .iter()
        .map(|replica| pb::Replica {
            port_kind: Some(match pipeline.translations.port() {
                Some(_) => pb::replica::PortKind::Port(port(pipeline, replica.port)),
                None => pb::replica::PortKind::EgressPort(replica.port),
            }),
            instance: replica.instance,
        })
        .collect()
}

/// A port as the controller has it.
fn port(pipeline: &Pipeline, port: u32) -> Vec<u8> {
    let value = Bits::new(32, port);
    match pipeline.translations.port() {
        Some(ty) => pipeline.translations.string(ty, &value),
        None => bytes::write(&value),
    }
}

fn replication(
    pipeline: &Pipeline,
    wanted: &pb::PacketReplicationEngineEntry,
    found: &mut Vec<Wanted>,
) {
    use pb::packet_replication_engine_entry::Type;
    let mut push = |entry| {
        found.push(Wanted::PacketReplicationEngineEntry(
            pb::PacketReplicationEngineEntry {
                r#type: Some(entry),
            },
        ));
    };
    let (groups, sessions) = match &wanted.r#type {
        None => (Some(0), Some(0)),
        Some(Type::MulticastGroupEntry(group)) => (Some(group.multicast_group_id), None),
        Some(Type::CloneSessionEntry(session)) => (None, Some(session.session_id)),
    };
    if let Some(wanted) = groups {
        for (id, copies, metadata) in pipeline.control.multicast_groups() {
            if wanted == 0 || wanted == id {
                push(Type::MulticastGroupEntry(pb::MulticastGroupEntry {
                    multicast_group_id: id,
                    replicas: replicas(pipeline, &copies),
                    metadata,
                }));
            }
        }
    }
    if let Some(wanted) = sessions {
        for (id, session) in pipeline.control.clone_sessions() {
            if wanted == 0 || wanted == id {
                push(Type::CloneSessionEntry(pb::CloneSessionEntry {
                    session_id: id,
                    replicas: replicas(pipeline, &session.replicas),
                    class_of_service: u32::from(session.class_of_service),
                    packet_length_bytes: session.truncate.unwrap_or(0) as i32,
                }));
            }
        }
    }
}

fn table_entries(
    pipeline: &Pipeline,
    wanted: &TableEntry,
    now: Time,
    found: &mut Vec<Wanted>,
) -> Result<(), Status> {
    let tables: Vec<TableId> = match wanted.table_id {
        0 => pipeline.tables.values().copied().collect(),
        id => vec![pipeline.table(id)?.0],
    };
    for table in tables {
        let Some(described) = pipeline.described(table) else {
            continue;
        };
        if wanted.is_default_action {
            let (call, _) = pipeline
                .control
                .default_action(table)
                .map_err(|error| status::of(&error))?;
            found.push(Wanted::TableEntry(TableEntry {
                table_id: described.preamble.id,
                is_default_action: true,
                action: table_action(pipeline, table, &call),
                ..TableEntry::default()
            }));
            continue;
        }
        let installed = if wanted.r#match.is_empty() || wanted.table_id == 0 {
            pipeline.control.entries(table)
        } else {
            let key = entry_key(pipeline, wanted)?;
            pipeline.control.installed(&key).into_iter().collect()
        };
        for installed in installed {
            if wanted.priority != 0 && installed.entry.priority != wanted.priority as u32 {
                continue;
            }
            let mut entry = bare(pipeline, table, &installed);
            entry.action = table_action(pipeline, table, &installed.entry.call);
            entry.metadata = installed.entry.metadata.to_vec();
            entry.is_const = installed.is_const;
            entry.idle_timeout_ns = installed
                .entry
                .idle_timeout
                .map_or(0, |timeout| timeout.as_ns() as i64);
            if wanted.time_since_last_hit.is_some() && described.idle_timeout {
                entry.time_since_last_hit = Some(pb::table_entry::IdleTimeout {
                    elapsed_ns: (now - installed.last_hit).as_ns() as i64,
                });
            }
            if wanted.counter_data.is_some() {
                entry.counter_data = pipeline
                    .control
                    .direct_count(table, &installed)
                    .map(counter_data);
            }
            if wanted.meter_config.is_some() {
                entry.meter_config = pipeline
                    .control
                    .direct_rates(table, &installed)
                    .flatten()
                    .map(meter_config);
            }
            found.push(Wanted::TableEntry(entry));
        }
    }
    Ok(())
}

/// An entry's place: table, match and priority.
pub(crate) fn bare(pipeline: &Pipeline, table: TableId, installed: &Installed) -> TableEntry {
    let described = pipeline.described(table);
    let fields = described.map_or(&[][..], |table| &table.match_fields);
    TableEntry {
        table_id: described.map_or(0, |table| table.preamble.id),
        r#match: fields
            .iter()
            .zip(&installed.entry.keys)
            .filter_map(|(field, given)| field_match(pipeline, field, given))
            .collect(),
        priority: installed.entry.priority as i32,
        ..TableEntry::default()
    }
}

/// The entries of which direct counters or meters are wanted.
fn direct(
    pipeline: &Pipeline,
    wanted: Option<&TableEntry>,
) -> Result<Vec<(TableId, Installed)>, Status> {
    let tables: Vec<TableId> = match wanted.map_or(0, |entry| entry.table_id) {
        0 => pipeline.tables.values().copied().collect(),
        id => vec![pipeline.table(id)?.0],
    };
    if let Some(entry) = wanted.filter(|entry| !entry.r#match.is_empty()) {
        let key = entry_key(pipeline, entry)?;
        let installed = pipeline
            .control
            .installed(&key)
            .map_err(|error| status::of(&error))?;
        return Ok(vec![(key.table, installed)]);
    }
    let all = tables.into_iter().flat_map(|table| {
        let entries = pipeline.control.entries(table).into_iter();
        entries.map(move |installed| (table, installed))
    });
    Ok(all.collect())
}

/// A match; nothing for one that matches anything.
fn field_match(pipeline: &Pipeline, field: &Field, given: &KeyMatch) -> Option<FieldMatch> {
    use fm::FieldMatchType as To;
    let width = match given {
        KeyMatch::Any => return None,
        KeyMatch::Exact(value)
        | KeyMatch::Prefix(value, _)
        | KeyMatch::Mask(value, _)
        | KeyMatch::Range(value, _) => value.width(),
    };
    let kind = field.match_kind.as_ref()?;
    let given = pipeline::control::value::adapt(given.clone(), width, kind).ok()?;
    let kind = match (&given, kind) {
        (KeyMatch::Any, _) => return None,
        (KeyMatch::Exact(value), MatchKind::Optional) => To::Optional(fm::Optional {
            value: value_of(pipeline, field, value),
        }),
        (KeyMatch::Exact(value), _) => To::Exact(fm::Exact {
            value: value_of(pipeline, field, value),
        }),
        (KeyMatch::Prefix(value, length), _) => To::Lpm(fm::Lpm {
            value: bytes::write(value),
            prefix_len: *length as i32,
        }),
        (KeyMatch::Mask(value, mask), _) => To::Ternary(fm::Ternary {
            value: bytes::write(value),
            mask: bytes::write(mask),
        }),
        (KeyMatch::Range(low, high), _) => To::Range(fm::Range {
            low: bytes::write(low),
            high: bytes::write(high),
        }),
    };
    Some(FieldMatch {
        field_id: field.id,
        field_match_type: Some(kind),
    })
}

fn table_action(pipeline: &Pipeline, table: TableId, call: &Call) -> Option<pb::TableAction> {
    use pb::table_action::Type;
    let kind = match call {
        Call::Action(call) => Type::Action(action(pipeline, table, call)?),
        Call::Member(id) => Type::ActionProfileMemberId(*id),
        Call::Group(id) => match pipeline.control.own_group(table, *id) {
            None => Type::ActionProfileGroupId(*id),
            Some(actions) => {
                let actions = actions
                    .iter()
                    .map(|(call, weight)| pb::ActionProfileAction {
                        action: action(pipeline, table, call),
                        weight: *weight as i32,
                        watch_kind: None,
                    });
                Type::ActionProfileActionSet(pb::ActionProfileActionSet {
                    action_profile_actions: actions.collect(),
                })
            }
        },
    };
    Some(pb::TableAction { r#type: Some(kind) })
}

fn action(pipeline: &Pipeline, table: TableId, call: &ActionCall) -> Option<pb::Action> {
    let described = pipeline.described_action(table, call.action)?;
    let parameters = described.parameters.iter().zip(&call.arguments);
    Some(pb::Action {
        action_id: described.preamble.id,
        params: parameters
            .map(|(field, value)| pb::action::Param {
                param_id: field.id,
                value: value_of(pipeline, field, value),
            })
            .collect(),
    })
}

/// A value as the controller has it: a string where its type is one that the controller has strings
/// for.
fn value_of(pipeline: &Pipeline, field: &Field, value: &Bits) -> Vec<u8> {
    match pipeline.translations.of(field) {
        Some(ty) => pipeline.translations.string(ty, value),
        // An enum without numbers.
        None if field.width == 0 && field.type_name.is_some() => {
            value.unsigned().to_string().into_bytes()
        }
        None => bytes::write(value),
    }
}
