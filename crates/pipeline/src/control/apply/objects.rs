//! Counters, groups, sessions, digests, registers and value sets.

use super::super::{
    Control, Count, DigestConfig, Entity, EntryKey, Error, ErrorKind, Operation, Update,
};
use super::{OWN_GROUPS, check_presence, delete, modify, only_modify, put};
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use p4::ir::{KeyMatch, ObjectId};
use p4::value::Bits;

impl Control {
    pub(super) fn counter(
        &self,
        operation: Operation,
        object: ObjectId,
        index: Option<u64>,
        count: Count,
    ) -> Result<Vec<Update>, Error> {
        only_modify(operation, "a counter")?;
        let counter = self.counter_of(object)?;
        let mut undo = Vec::new();
        for index in self.indices(object, index, counter.size())? {
            let (packets, bytes) = counter.read(index).unwrap_or_default();
            let old = Count { packets, bytes };
            counter.set(index, count.packets, count.bytes);
            undo.push(modify(Entity::Counter(object, Some(index as u64), old)));
        }
        Ok(undo)
    }

    pub(super) fn direct_counter(
        &self,
        operation: Operation,
        key: &EntryKey,
        count: Count,
    ) -> Result<Vec<Update>, Error> {
        only_modify(operation, "a direct counter")?;
        let index = self.direct_index(key)?;
        let counters = self.direct_counters(key.table);
        let Some((packets, bytes)) = counters.first().and_then(|counter| counter.read(index))
        else {
            return Err(self.no_direct(key.table, "counter"));
        };
        for counter in counters {
            counter.set(index, count.packets, count.bytes);
        }
        let old = Count { packets, bytes };
        Ok(vec![modify(Entity::DirectCounter(key.clone(), old))])
    }

    pub(super) fn multicast(
        &self,
        operation: Operation,
        id: u32,
        replicas: &[crate::state::replication::Replica],
        metadata: &[u8],
    ) -> Result<Vec<Update>, Error> {
        if id == 0 {
            return Err(Error::value(
                "multicast group 0 means no group: number groups from 1",
            ));
        }
        if operation != Operation::Delete {
            distinct(replicas)?;
        }
        let replication = &self.environment.replication;
        let old = replication.change(|groups| {
            let old = groups.multicast.get(&id).cloned();
            check_presence(operation, old.is_some(), "multicast group", id)?;
            if operation == Operation::Delete {
                groups.multicast.remove(&id);
            } else {
                groups.multicast.insert(id, replicas.to_vec());
            }
            Ok::<_, Error>(old)
        })?;
        let mut notes = self.shared.metadata.lock();
        let old_metadata = notes.remove(&id).unwrap_or_default();
        if operation != Operation::Delete && !metadata.is_empty() {
            notes.insert(id, metadata.to_vec());
        }
        Ok(vec![match old {
            Some(old) => put(Entity::Multicast(id, old, old_metadata)),
            None => delete(Entity::Multicast(id, Vec::new(), Vec::new())),
        }])
    }

    pub(super) fn session(
        &self,
        operation: Operation,
        id: u32,
        session: &crate::state::replication::Session,
    ) -> Result<Vec<Update>, Error> {
        if operation != Operation::Delete {
            distinct(&session.replicas)?;
        }
        let old = self.environment.replication.change(|groups| {
            let old = groups.sessions.get(&id).cloned();
            check_presence(operation, old.is_some(), "clone session", id)?;
            if operation == Operation::Delete {
                groups.sessions.remove(&id);
            } else {
                groups.sessions.insert(id, session.clone());
            }
            Ok::<_, Error>(old)
        })?;
        Ok(vec![match old {
            Some(old) => put(Entity::Clone(id, old)),
            None => delete(Entity::Clone(id, Default::default())),
        }])
    }

    pub(super) fn digest(
        &self,
        operation: Operation,
        id: u32,
        config: DigestConfig,
    ) -> Result<Vec<Update>, Error> {
        let Some(name) = self
            .shared
            .digests
            .get(id as usize)
            .map(|digest| &digest.name)
        else {
            return Err(Error::name(format!(
                "the program has no digest number {id}"
            )));
        };
        let mut configs = self.shared.configs.lock();
        let old = configs.get(&id).copied();
        check_presence(
            operation,
            old.is_some(),
            &format!("configuration of digest `{name}`,"),
            id,
        )?;
        if operation == Operation::Delete {
            configs.remove(&id);
        } else {
            configs.insert(id, config);
        }
        Ok(vec![match old {
            Some(old) => put(Entity::Digest(id, old)),
            None => delete(Entity::Digest(id, config)),
        }])
    }

    pub(super) fn check_register(&self, object: ObjectId, values: &[Bits]) -> Result<(), Error> {
        let register = self.register_of(object)?;
        let fits = register.fields.len() == values.len()
            && register
                .fields
                .iter()
                .zip(values)
                .all(|((_, ty), value)| ty.width() == value.width());
        if fits {
            return Ok(());
        }
        let widths: Vec<_> = register
            .fields
            .iter()
            .map(|(_, ty)| ty.width().to_string())
            .collect();
        Err(Error::value(format!(
            "register `{}` holds values of {} bits, and the one given is not so wide",
            self.environment.program.objects[object.index()].name,
            widths.join(" + ")
        )))
    }

    pub(super) fn check_value_set(
        &self,
        id: p4::ir::ValueSetId,
        members: &[Vec<KeyMatch>],
    ) -> Result<Vec<Vec<KeyMatch>>, Error> {
        let set = self
            .environment
            .program
            .value_sets
            .get(id.index())
            .ok_or_else(|| Error::name(format!("the program has no value set number {}", id.0)))?;
        if members.len() > set.size as usize {
            return Err(Error::new(
                ErrorKind::Full,
                format!("value set `{}` has room for {} members", set.name, set.size),
            ));
        }
        let mut checked: Vec<Vec<KeyMatch>> = Vec::with_capacity(members.len());
        for member in members {
            if member.len() != set.fields.len() {
                return Err(Error::value(format!(
                    "members of value set `{}` have {} fields",
                    set.name,
                    set.fields.len()
                )));
            }
            let fields = member
                .iter()
                .zip(&set.fields)
                .map(|(given, (name, ty, kind))| {
                    super::super::value::adapt(given.clone(), ty.width(), kind).map_err(|reason| {
                        Error::value(format!(
                            "field `{name}` of value set `{}` {reason}",
                            set.name
                        ))
                    })
                });
            let fields = fields.collect::<Result<Vec<_>, _>>()?;
            if checked.contains(&fields) {
                return Err(Error::new(
                    ErrorKind::Exists,
                    format!("value set `{}` has this member already", set.name),
                ));
            }
            checked.push(fields);
        }
        Ok(checked)
    }
}

fn distinct(replicas: &[crate::state::replication::Replica]) -> Result<(), Error> {
    let mut sorted = replicas.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(Error::value(format!(
            "port {} with instance {} stands twice: give the copies other instances",
            pair[0].port, pair[0].instance
        ))),
    }
}

pub(super) fn reserved(what: &str, id: u32) -> Error {
    Error::value(format!(
        "{what} {id}: numbers from {OWN_GROUPS:#x} on are kept for groups that entries have for themselves"
    ))
}
