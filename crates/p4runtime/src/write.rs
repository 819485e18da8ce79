//! From P4Runtime's updates to those of the control plane.

use crate::bytes;
use crate::messages::runtime::{
    self as pb, CounterData, MeterConfig, P4Data, TableEntry, Update, entity::Entity as Given,
    field_match::FieldMatchType, p4_data::Data, replica::PortKind,
    table_action::Type as ActionType,
};
use crate::pipeline_state::{Pipeline, absent, flat};
use node::Time;
use p4::info::{DataType, Field};
use p4::ir::{ActionCall, KeyMatch, MatchKind, ObjectId, TableId};
use p4::value::Bits;
use pipeline::control::{
    Count, DigestConfig, Entity, EntryKey, Group, Member, Operation, Update as Change, value,
};
use pipeline::state::meter::Rates;
use pipeline::state::profile::GroupMember;
use pipeline::state::replication::{Replica, Session};
use pipeline::table::{Call, Entry};
use tonic::{Code, Status};

fn invalid(message: impl Into<String>) -> Status {
    Status::new(Code::InvalidArgument, message)
}

/// The changes that an update asks for.
pub(crate) fn changes(pipeline: &Pipeline, update: &Update) -> Result<Vec<Change>, Status> {
    let operation = match pb::update::Type::try_from(update.r#type) {
        Ok(pb::update::Type::Insert) => Operation::Insert,
        Ok(pb::update::Type::Modify) => Operation::Modify,
        Ok(pb::update::Type::Delete) => Operation::Delete,
        _ => return Err(invalid("an update is INSERT, MODIFY or DELETE")),
    };
    let entity = update
        .entity
        .as_ref()
        .and_then(|entity| entity.entity.as_ref());
    let entity = entity.ok_or_else(|| invalid("the update has no entity"))?;
    let one = |entity| vec![Change { operation, entity }];
    Ok(match entity {
        Given::TableEntry(entry) => table_entry(pipeline, operation, entry)?,
        Given::ActionProfileMember(member) => {
            let profile = pipeline.object(member.action_profile_id, "action profile")?;
            let call = match (&member.action, operation) {
                (_, Operation::Delete) => ActionCall {
                    action: 0,
                    arguments: Vec::new(),
                },
                (Some(call), _) => action(pipeline, table_of(pipeline, profile)?, call)?,
                (None, _) => return Err(invalid("the member has no action")),
            };
            one(Entity::Member(Member {
                profile,
                id: member.member_id,
                call,
            }))
        }
        Given::ActionProfileGroup(group) => {
            let profile = pipeline.object(group.action_profile_id, "action profile")?;
            let members = group.members.iter().map(|member| {
                Ok(GroupMember {
                    member: member.member_id,
                    weight: weight(member.weight)?,
                    watch: match &member.watch_kind {
                        Some(pb::action_profile_group::member::WatchKind::WatchPort(port)) => {
                            Some(port_number(pipeline, port)?)
                        }
                        _ => None,
                    },
                })
            });
            let mut members = members.collect::<Result<Vec<_>, Status>>()?;
            if operation == Operation::Delete {
                members.clear();
            }
            one(Entity::Group(Group {
                profile,
                id: group.group_id,
                members,
                most: u32::try_from(group.max_size).map_err(|_| invalid("max_size is negative"))?,
            }))
        }
        Given::CounterEntry(entry) => {
            let object = pipeline.object(entry.counter_id, "counter")?;
            let count = count(
                entry
                    .data
                    .as_ref()
                    .ok_or_else(|| invalid("the data is missing"))?,
            )?;
            one(Entity::Counter(object, index(entry.index.as_ref())?, count))
        }
        Given::DirectCounterEntry(entry) => {
            let key = direct_key(pipeline, entry.table_entry.as_ref())?;
            let count = count(
                entry
                    .data
                    .as_ref()
                    .ok_or_else(|| invalid("the data is missing"))?,
            )?;
            one(Entity::DirectCounter(key, count))
        }
        Given::MeterEntry(entry) => {
            let object = pipeline.object(entry.meter_id, "meter")?;
            let rates = entry.config.as_ref().map(rates).transpose()?;
            one(Entity::Meter(object, index(entry.index.as_ref())?, rates))
        }
        Given::DirectMeterEntry(entry) => {
            let key = direct_key(pipeline, entry.table_entry.as_ref())?;
            let rates = entry.config.as_ref().map(rates).transpose()?;
            one(Entity::DirectMeter(key, rates))
        }
        Given::RegisterEntry(entry) => {
            let object = pipeline.object(entry.register_id, "register")?;
            let data = entry
                .data
                .as_ref()
                .ok_or_else(|| invalid("the data is missing"))?;
            let described = pipeline
                .info
                .registers
                .iter()
                .find(|register| register.preamble.id == entry.register_id)
                .ok_or_else(|| absent("register", entry.register_id))?;
            let mut values = Vec::new();
            scalars(pipeline, &described.ty, data, &mut values)?;
            one(Entity::Register(
                object,
                index(entry.index.as_ref())?,
                values,
            ))
        }
        Given::ValueSetEntry(entry) => {
            let set = pipeline
                .value_sets
                .get(&entry.value_set_id)
                .ok_or_else(|| absent("value set", entry.value_set_id))?;
            let described = pipeline
                .info
                .value_sets
                .iter()
                .find(|set| set.preamble.id == entry.value_set_id)
                .ok_or_else(|| absent("value set", entry.value_set_id))?;
            let types = &pipeline.control.program().value_sets[set.index()].fields;
            let widths: Vec<u32> = types.iter().map(|(_, ty, _)| ty.width()).collect();
            let members = entry
                .members
                .iter()
                .map(|member| matches(pipeline, &described.fields, &widths, &member.r#match))
                .collect::<Result<Vec<_>, Status>>()?;
            one(Entity::ValueSet(*set, members))
        }
        Given::PacketReplicationEngineEntry(entry) => {
            use pb::packet_replication_engine_entry::Type;
            one(match &entry.r#type {
                Some(Type::MulticastGroupEntry(group)) => Entity::Multicast(
                    group.multicast_group_id,
                    replicas(pipeline, &group.replicas)?,
                    group.metadata.clone(),
                ),
                Some(Type::CloneSessionEntry(session)) => Entity::Clone(
                    session.session_id,
                    Session {
                        replicas: replicas(pipeline, &session.replicas)?,
                        group: None,
                        class_of_service: u8::try_from(session.class_of_service)
                            .map_err(|_| invalid("a class of service is at most 255"))?,
                        truncate: match session.packet_length_bytes {
                            0 => None,
                            length => Some(
                                u32::try_from(length)
                                    .map_err(|_| invalid("packet_length_bytes is negative"))?,
                            ),
                        },
                    },
                ),
                None => return Err(invalid("the packet replication engine's entry is empty")),
            })
        }
        Given::DigestEntry(entry) => {
            let digest = pipeline
                .digests
                .get(&entry.digest_id)
                .ok_or_else(|| absent("digest", entry.digest_id))?;
            let config = entry.config.unwrap_or_default();
            let time = |ns: i64| {
                u64::try_from(ns)
                    .map(Time::from_ns)
                    .map_err(|_| invalid("a timeout is negative"))
            };
            one(Entity::Digest(
                *digest,
                DigestConfig {
                    most_delay: time(config.max_timeout_ns)?,
                    most_messages: u32::try_from(config.max_list_size)
                        .map_err(|_| invalid("max_list_size is negative"))?,
                    acknowledge_within: time(config.ack_timeout_ns)?,
                },
            ))
        }
        Given::ExternEntry(_) => {
            return Err(extern_entry());
        }
    })
}

/// The answer to every `ExternEntry`, read or written.
pub(crate) fn extern_entry() -> Status {
    Status::new(
        Code::Unimplemented,
        "ExternEntry is not served: no extern of this program has state that P4Runtime knows \
         by it; use the entries for counters, meters, registers, digests and action profiles",
    )
}

fn table_entry(
    pipeline: &Pipeline,
    operation: Operation,
    given: &TableEntry,
) -> Result<Vec<Change>, Status> {
    let (table, described) = pipeline.table(given.table_id)?;
    let name = &described.preamble.name;
    if given.is_default_action {
        if operation != Operation::Modify {
            return Err(invalid(format!(
                "the default action of table `{name}` is always there: MODIFY it"
            )));
        }
        if !given.r#match.is_empty() || given.priority != 0 {
            return Err(invalid("a default action has neither match nor priority"));
        }
        if given.idle_timeout_ns != 0 {
            return Err(invalid("a default action has no idle timeout"));
        }
        let call = match given
            .action
            .as_ref()
            .and_then(|action| action.r#type.as_ref())
        {
            None => None,
            Some(ActionType::Action(call)) => Some(Call::Action(action(pipeline, table, call)?)),
            Some(ActionType::ActionProfileMemberId(id)) => Some(Call::Member(*id)),
            Some(ActionType::ActionProfileGroupId(id)) => Some(Call::Group(*id)),
            Some(ActionType::ActionProfileActionSet(_)) => {
                return Err(Status::new(
                    Code::Unimplemented,
                    "a default action has no action set of its own",
                ));
            }
        };
        return Ok(vec![Change {
            operation,
            entity: Entity::Default(table, call),
        }]);
    }
    let key = entry_key(pipeline, given)?;
    let (Some(keys), priority) = (key.keys.clone(), key.priority) else {
        return Err(invalid("the entry has no match"));
    };
    let mut entry = Entry {
        keys,
        priority,
        call: Call::Action(ActionCall {
            action: 0,
            arguments: Vec::new(),
        }),
        idle_timeout: match given.idle_timeout_ns {
            0 => None,
            ns => Some(Time::from_ns(
                u64::try_from(ns).map_err(|_| invalid("idle_timeout_ns is negative"))?,
            )),
        },
        metadata: given.metadata.clone().into(),
    };
    if operation == Operation::Delete {
        return Ok(vec![Change {
            operation,
            entity: Entity::Entry(table, entry),
        }]);
    }
    let choice = given
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref());
    let choice =
        choice.ok_or_else(|| invalid(format!("the entry of table `{name}` has no action")))?;
    let entity = match choice {
        ActionType::ActionProfileActionSet(set) => {
            let actions = set.action_profile_actions.iter().map(|one| {
                let call = one
                    .action
                    .as_ref()
                    .ok_or_else(|| invalid("an action is missing"))?;
                Ok((action(pipeline, table, call)?, weight(one.weight)?))
            });
            Entity::OneShot(table, entry, actions.collect::<Result<_, Status>>()?)
        }
        other => {
            entry.call = match other {
                ActionType::Action(call) => Call::Action(action(pipeline, table, call)?),
                ActionType::ActionProfileMemberId(id) => Call::Member(*id),
                ActionType::ActionProfileGroupId(id) => Call::Group(*id),
                ActionType::ActionProfileActionSet(_) => return Err(invalid("an action set")),
            };
            Entity::Entry(table, entry)
        }
    };
    let mut changes = vec![Change { operation, entity }];
    let has = |kind: &[p4::info::Direct]| {
        kind.iter()
            .any(|direct| direct.table == described.preamble.id)
    };
    if let Some(data) = &given.counter_data {
        if !has(&pipeline.info.direct_counters) {
            return Err(invalid(format!("table `{name}` has no direct counter")));
        }
        changes.push(Change {
            operation: Operation::Modify,
            entity: Entity::DirectCounter(key.clone(), count(data)?),
        });
    }
    if given.meter_config.is_some() && !has(&pipeline.info.direct_meters) {
        return Err(invalid(format!("table `{name}` has no direct meter")));
    }
    // A modified entry without rates loses those that it had.
    if given.meter_config.is_some()
        || operation == Operation::Modify && has(&pipeline.info.direct_meters)
    {
        let rates = given.meter_config.as_ref().map(rates).transpose()?;
        changes.push(Change {
            operation: Operation::Modify,
            entity: Entity::DirectMeter(key, rates),
        });
    }
    Ok(changes)
}

/// Which entry a message means.
pub(crate) fn entry_key(pipeline: &Pipeline, given: &TableEntry) -> Result<EntryKey, Status> {
    let (table, described) = pipeline.table(given.table_id)?;
    if given.is_default_action {
        return Ok(EntryKey {
            table,
            keys: None,
            priority: 0,
        });
    }
    let forms = &pipeline.control.environment().tables.forms()[table.index()].keys;
    let widths: Vec<u32> = forms.iter().map(|key| key.ty.width()).collect();
    let keys = matches(pipeline, &described.match_fields, &widths, &given.r#match)?;
    let priority =
        u32::try_from(given.priority).map_err(|_| invalid("the priority is negative"))?;
    Ok(EntryKey {
        table,
        keys: Some(keys),
        priority,
    })
}

fn direct_key(pipeline: &Pipeline, entry: Option<&TableEntry>) -> Result<EntryKey, Status> {
    entry_key(
        pipeline,
        entry.ok_or_else(|| invalid("the table entry is missing"))?,
    )
}

/// The matches of all keys in order. Keys that are not given match anything, where they can.
fn matches(
    pipeline: &Pipeline,
    fields: &[Field],
    widths: &[u32],
    given: &[pb::FieldMatch],
) -> Result<Vec<KeyMatch>, Status> {
    if let Some(unknown) = given
        .iter()
        .find(|m| !fields.iter().any(|field| field.id == m.field_id))
    {
        return Err(invalid(format!(
            "there is no match field with id {}",
            unknown.field_id
        )));
    }
    fields
        .iter()
        .zip(widths)
        .map(|(field, width)| {
            let mut those = given.iter().filter(|m| m.field_id == field.id);
            let (first, second) = (those.next(), those.next());
            if second.is_some() {
                return Err(invalid(format!(
                    "match field `{}` is given twice",
                    field.name
                )));
            }
            match first {
                Some(one) => one_match(pipeline, field, *width, one),
                None if field.match_kind == Some(MatchKind::Exact) => Err(invalid(format!(
                    "match field `{}` is missing, and it is exact",
                    field.name
                ))),
                None => Ok(KeyMatch::Any),
            }
        })
        .collect()
}

fn one_match(
    pipeline: &Pipeline,
    field: &Field,
    width: u32,
    given: &pb::FieldMatch,
) -> Result<KeyMatch, Status> {
    let what = format!("match field `{}`", field.name);
    let read = |bytes: &[u8]| value_of(pipeline, field, bytes, width, &what);
    let kind = given
        .field_match_type
        .as_ref()
        .ok_or_else(|| invalid(format!("{what} has no value")))?;
    let masked = |value: &Bits, mask: &Bits| {
        if (value.unsigned() & mask.unsigned()) == *value.unsigned() {
            Ok(())
        } else {
            Err(invalid(format!(
                "{what}: bits that the mask leaves out must be zero"
            )))
        }
    };
    let anything = || {
        invalid(format!(
            "{what}: leave a match out that is to match anything"
        ))
    };
    let Some(compared) = &field.match_kind else {
        return Err(invalid(format!("{what} is compared with nothing")));
    };
    let whole = matches!(compared, MatchKind::Exact | MatchKind::Optional);
    if pipeline.translations.of(field).is_some() && !whole {
        return Err(invalid(format!(
            "{what} is {compared}, and its type has strings: only exact and optional keys are compared with strings"
        )));
    }
    match (compared, kind) {
        (MatchKind::Exact, FieldMatchType::Exact(exact)) => {
            Ok(KeyMatch::Exact(read(&exact.value)?))
        }
        (MatchKind::Optional, FieldMatchType::Optional(exact)) => {
            Ok(KeyMatch::Exact(read(&exact.value)?))
        }
        (MatchKind::Lpm, FieldMatchType::Lpm(lpm)) => {
            let value = read(&lpm.value)?;
            let length = u32::try_from(lpm.prefix_len)
                .ok()
                .filter(|length| *length <= width);
            let length =
                length.ok_or_else(|| invalid(format!("{what}: a prefix has 1 to {width} bits")))?;
            if length == 0 {
                return Err(anything());
            }
            masked(&value, &value::prefix_mask(width, length))?;
            Ok(KeyMatch::Prefix(value, length))
        }
        (MatchKind::Ternary, FieldMatchType::Ternary(ternary)) => {
            let value = read(&ternary.value)?;
            let mask = bytes::read(&ternary.mask, width, &what)?;
            if !mask.is_true() {
                return Err(anything());
            }
            masked(&value, &mask)?;
            Ok(KeyMatch::Mask(value, mask))
        }
        (MatchKind::Range, FieldMatchType::Range(range)) => {
            let (low, high) = (read(&range.low)?, read(&range.high)?);
            if low > high {
                return Err(invalid(format!("{what}: the range ends before it begins")));
            }
            if !low.is_true() && *high.unsigned() == p4::value::mask(width) {
                return Err(anything());
            }
            Ok(KeyMatch::Range(low, high))
        }
        (kind, _) => Err(invalid(format!(
            "{what} is {kind}, and the match is of another kind"
        ))),
    }
}

/// A value, of which the controller may have a string.
fn value_of(
    pipeline: &Pipeline,
    field: &Field,
    given: &[u8],
    width: u32,
    what: &str,
) -> Result<Bits, Status> {
    if let Some(ty) = pipeline.translations.of(field) {
        return pipeline.translations.value(ty, given, width, what);
    }
    if field.width != 0 || field.type_name.is_none() {
        return bytes::read(given, width, what);
    }
    let text = std::str::from_utf8(given).unwrap_or("");
    value::parse(text, p4::ir::Ty::Bits(width)).map_err(|_| {
        invalid(format!(
            "{what}: write the number of the enum's member, such as \"3\""
        ))
    })
}

fn action(pipeline: &Pipeline, table: TableId, given: &pb::Action) -> Result<ActionCall, Status> {
    let (index, described) = pipeline.action(table, given.action_id)?;
    let program = pipeline.control.program();
    let listed = &program.tables[table.index()].actions[index as usize];
    let parameters = &program.actions[listed.action.index()].parameters;
    let name = &described.preamble.name;
    if given.params.len() != parameters.len() {
        return Err(invalid(format!(
            "action `{name}` has {} parameters, and {} are given",
            parameters.len(),
            given.params.len()
        )));
    }
    let arguments = described
        .parameters
        .iter()
        .zip(parameters)
        .map(|(field, (_, slot, _))| {
            let what = format!("parameter `{}` of action `{name}`", field.name);
            let mut those = given
                .params
                .iter()
                .filter(|param| param.param_id == field.id);
            let param = those
                .next()
                .ok_or_else(|| invalid(format!("{what} is missing")))?;
            value_of(
                pipeline,
                field,
                &param.value,
                program.slots[slot.index()].ty.width(),
                &what,
            )
        })
        .collect::<Result<_, Status>>()?;
    Ok(ActionCall {
        action: index,
        arguments,
    })
}

fn table_of(pipeline: &Pipeline, profile: ObjectId) -> Result<TableId, Status> {
    pipeline::control::program::table_of_profile(pipeline.control.program(), profile)
        .map_err(|error| crate::status::of(&error))
}

fn weight(weight: i32) -> Result<u32, Status> {
    match u32::try_from(weight) {
        Ok(weight) if weight > 0 => Ok(weight),
        _ => Err(invalid("a weight is at least 1")),
    }
}

/// An index; none stands for all.
pub(crate) fn index(index: Option<&pb::Index>) -> Result<Option<u64>, Status> {
    index
        .map(|index| {
            u64::try_from(index.index)
                .map_err(|_| Status::new(Code::OutOfRange, "an index is not negative"))
        })
        .transpose()
}

fn count(data: &CounterData) -> Result<Count, Status> {
    let number =
        |number: i64| u64::try_from(number).map_err(|_| invalid("a count is not negative"));
    Ok(Count {
        packets: number(data.packet_count)?,
        bytes: number(data.byte_count)?,
    })
}

fn rates(config: &MeterConfig) -> Result<Rates, Status> {
    let number =
        |number: i64| u64::try_from(number).map_err(|_| invalid("a rate or burst is not negative"));
    if config.eburst != 0 {
        return Err(invalid(
            "eburst is for meters with a single rate, and all meters here have two: leave it 0",
        ));
    }
    Ok(Rates {
        committed: number(config.cir)?,
        committed_burst: number(config.cburst)?,
        peak: number(config.pir)?,
        peak_burst: number(config.pburst)?,
    })
}

fn port_number(pipeline: &Pipeline, port: &[u8]) -> Result<u32, Status> {
    let value = match pipeline.translations.port() {
        Some(ty) => pipeline.translations.value(ty, port, 32, "a port")?,
        None => bytes::read(port, 32, "a port")?,
    };
    Ok(value.to_u64().unwrap_or(0) as u32)
}

fn replicas(pipeline: &Pipeline, given: &[pb::Replica]) -> Result<Vec<Replica>, Status> {
    given
        .iter()
        .map(|replica| {
            Ok(Replica {
                port: match &replica.port_kind {
                    Some(PortKind::EgressPort(port)) => *port,
                    Some(PortKind::Port(port)) => port_number(pipeline, port)?,
                    None => return Err(invalid("a replica has no port")),
                },
                instance: replica.instance,
            })
        })
        .collect()
}

/// The scalars of a value, in order.
fn scalars(
    pipeline: &Pipeline,
    ty: &DataType,
    data: &P4Data,
    values: &mut Vec<Bits>,
) -> Result<(), Status> {
    let info = &pipeline.info;
    let wrong = || invalid("the data is of another type than the register");
    let given = data.data.as_ref().ok_or_else(wrong)?;
    match (ty, given) {
        (DataType::Bits(width) | DataType::Signed(width), Data::Bitstring(bytes)) => {
            values.push(bytes::read(bytes, *width, "the data")?);
        }
        (DataType::Bool, Data::Bool(truth)) => values.push(Bits::from(*truth)),
        (DataType::Enum(name), Data::Enum(member)) => {
            let members = info.types.enums.get(name).ok_or_else(wrong)?;
            let index = members.iter().position(|other| **other == **member);
            values.push(Bits::new(32, index.ok_or_else(wrong)? as u32));
        }
        (DataType::Error, Data::Error(member)) => {
            let members = info.types.error.as_ref().ok_or_else(wrong)?;
            let index = members.iter().position(|other| **other == **member);
            values.push(Bits::new(32, index.ok_or_else(wrong)? as u32));
        }
        (DataType::SerializableEnum(name), Data::EnumValue(bytes) | Data::Bitstring(bytes)) => {
            let (width, _) = info.types.serializable_enums.get(name).ok_or_else(wrong)?;
            values.push(bytes::read(bytes, *width, "the data")?);
        }
        (DataType::Tuple(parts), Data::Tuple(given)) if parts.len() == given.members.len() => {
            for (ty, data) in parts.iter().zip(&given.members) {
                scalars(pipeline, ty, data, values)?;
            }
        }
        (DataType::Struct(name), Data::Struct(given)) => {
            let members = info.types.structs.get(name).ok_or_else(wrong)?;
            if members.len() != given.members.len() {
                return Err(wrong());
            }
            for ((_, ty), data) in members.iter().zip(&given.members) {
                scalars(pipeline, ty, data, values)?;
            }
        }
        (DataType::New(name), data_given) => {
            match &info.types.new_types.get(name).ok_or_else(wrong)?.0 {
                p4::info::NewType::Original(ty) => scalars(pipeline, ty, data, values)?,
                p4::info::NewType::Translated(..) => {
                    let Data::Bitstring(bytes) = data_given else {
                        return Err(wrong());
                    };
                    let width = flat(info, ty).first().copied().unwrap_or(32);
                    values.push(match pipeline.translations.knows(name) {
                        true => pipeline
                            .translations
                            .value(name, bytes, width, "the data")?,
                        false => bytes::read(bytes, width, "the data")?,
                    });
                }
            }
        }
        _ => return Err(wrong()),
    }
    Ok(())
}
