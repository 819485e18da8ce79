//! What a change does to the environment, and how it is taken back.

mod objects;
mod profiles;

use super::entity::check_rates;
use super::{Control, Count, Entity, EntryKey, Error, ErrorKind, Operation, Update};
use crate::environment::Environment;
use crate::state::profile::{GroupMember, ProfileError};
use crate::state::{Counter, Meter};
use crate::table::{self, Call, Done, Entry, Installed, TableError};
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use p4::ir::{ActionCall, ObjectId, TableId};

/// Groups that entries have for themselves are numbered from here on; controllers cannot use these numbers.
pub const OWN_GROUPS: u32 = 0xff00_0000;

/// What happens to the other updates of a batch when one is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomicity {
    /// They are made.
    Continue,
    /// None of them is made.
    Rollback,
}

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        let kind = match error {
            TableError::NoTable(_) | TableError::NoAction { .. } => ErrorKind::Unknown,
            TableError::Full { .. } => ErrorKind::Full,
            TableError::Duplicate { .. } => ErrorKind::Exists,
            TableError::Absent { .. } | TableError::NoHandle { .. } => ErrorKind::Absent,
            TableError::DefaultOnly { .. }
            | TableError::TableOnly { .. }
            | TableError::ConstEntries { .. }
            | TableError::ConstEntry { .. }
            | TableError::ConstDefault { .. } => ErrorKind::Refused,
            _ => ErrorKind::Invalid,
        };
        Error::new(kind, error.to_string())
    }
}

fn profile_error(name: &str, error: &ProfileError) -> Error {
    let kind = match error {
        ProfileError::Duplicate(_) => ErrorKind::Exists,
        ProfileError::NoMember(_) | ProfileError::NoGroup(_) => ErrorKind::Absent,
        ProfileError::InUse(..) => ErrorKind::InUse,
        ProfileError::Full(_) | ProfileError::GroupTooLarge(_) => ErrorKind::Full,
        ProfileError::NoGroups => ErrorKind::Unsupported,
    };
    Error::new(kind, format!("`{name}`: {error}"))
}

impl Control {
    /// Makes changes, one after the other, and says for each one what came of it. With [`Atomicity::Rollback`] either all are made, or none;
    /// then those that were not refused themselves say that they were taken back.
    ///
    /// A packet sees the entries of a batch that has nothing but entries all at once.
    pub fn write(&self, updates: &[Update], atomicity: Atomicity) -> Vec<Result<(), Error>> {
        // One writer at a time: what one of them takes back must not be somebody else's.
        let _turn = self.shared.turn.lock();
        let results = self.make(updates, atomicity);
        // An entry may be idle before anything else wakes the node.
        self.environment.packet_outs.call_reader();
        results
    }

    fn make(&self, updates: &[Update], atomicity: Atomicity) -> Vec<Result<(), Error>> {
        if atomicity == Atomicity::Rollback
            && updates.len() > 1
            && *self.shared.next_own.lock() == OWN_GROUPS
            && let Some(changes) = plain_entries(updates)
        {
            return self.write_entries(&changes);
        }
        let mut results = Vec::with_capacity(updates.len());
        let mut undo: Vec<Update> = Vec::new();
        for (number, update) in updates.iter().enumerate() {
            match self.one(update) {
                Ok(back) => {
                    undo.extend(back);
                    results.push(Ok(()));
                }
                Err(error) if atomicity == Atomicity::Continue => results.push(Err(error)),
                Err(error) => {
                    while let Some(update) = undo.pop() {
                        // What was so a moment ago can be so again.
                        let _ = self.one(&update);
                    }
                    return taken_back(updates.len(), number, error);
                }
            }
        }
        results
    }

    /// Whether packets see all of a batch or nothing of it: when it is one change, or has nothing but entries without groups of their own.
    #[must_use]
    pub fn seen_at_once(&self, updates: &[Update]) -> bool {
        updates.len() < 2
            || *self.shared.next_own.lock() == OWN_GROUPS && plain_entries(updates).is_some()
    }

    /// Makes all changes, or none.
    ///
    /// # Errors
    /// The first that was refused, by its index, and why.
    pub fn write_all(&self, updates: &[Update]) -> Result<(), (usize, Error)> {
        let results = self
            .write(updates, Atomicity::Rollback)
            .into_iter()
            .enumerate();
        for (number, result) in results {
            match result {
                Err(error) if error.kind != ErrorKind::TakenBack => return Err((number, error)),
                _ => {}
            }
        }
        Ok(())
    }

    fn write_entries(&self, changes: &[table::Update]) -> Vec<Result<(), Error>> {
        for (number, change) in changes.iter().enumerate() {
            if let table::Update::Insert(table, entry)
            | table::Update::Modify(table, entry)
            | table::Update::Set(table, entry) = change
                && let Err(error) = self.check_entry(*table, entry)
            {
                return taken_back(changes.len(), number, error);
            }
        }
        match self.environment.tables.batch(changes) {
            Ok(done) => {
                for (change, done) in changes.iter().zip(done) {
                    self.fresh(change.table(), done);
                }
                vec![Ok(()); changes.len()]
            }
            Err((number, error)) => taken_back(changes.len(), number, error.into()),
        }
    }

    /// One change, and those that take it back in the reverse order.
    fn one(&self, update: &Update) -> Result<Vec<Update>, Error> {
        let operation = update.operation;
        match &update.entity {
            Entity::Entry(table, entry) => self.entry(operation, *table, entry),
            Entity::OneShot(table, entry, actions) => {
                self.one_shot(operation, *table, entry, actions)
            }
            Entity::Default(table, call) => self.default(operation, *table, call.as_ref()),
            Entity::Member(member) => self.member(operation, member),
            Entity::Group(group) => self.group(operation, group),
            Entity::Counter(object, index, count) => {
                self.counter(operation, *object, *index, *count)
            }
            Entity::DirectCounter(key, count) => self.direct_counter(operation, key, *count),
            Entity::Meter(object, index, rates) => {
                only_modify(operation, "a meter")?;
                rates.as_ref().map_or(Ok(()), check_rates)?;
                let meter = self.meter_of(*object)?;
                let mut undo = Vec::new();
                for index in self.indices(*object, *index, meter.size())? {
                    let old = meter.rates(index).flatten();
                    meter.set(index, *rates);
                    undo.push(modify(Entity::Meter(*object, Some(index as u64), old)));
                }
                Ok(undo)
            }
            Entity::DirectMeter(key, rates) => {
                only_modify(operation, "a direct meter")?;
                rates.as_ref().map_or(Ok(()), check_rates)?;
                let index = self.direct_index(key)?;
                let meters = self.direct_meters(key.table);
                let old = meters
                    .first()
                    .and_then(|meter| meter.rates(index).flatten());
                if meters.is_empty() {
                    return Err(self.no_direct(key.table, "meter"));
                }
                for meter in meters {
                    meter.set(index, *rates);
                }
                Ok(vec![modify(Entity::DirectMeter(key.clone(), old))])
            }
            Entity::Register(object, index, values) => {
                only_modify(operation, "a register")?;
                let register = self.register_of(*object)?;
                self.check_register(*object, values)?;
                let mut undo = Vec::new();
                for index in self.indices(*object, *index, register.size())? {
                    let old = register.read(index).unwrap_or_default();
                    register.set(index, values);
                    undo.push(modify(Entity::Register(*object, Some(index as u64), old)));
                }
                Ok(undo)
            }
            Entity::ValueSet(set, members) => {
                only_modify(operation, "a value set")?;
                let members = self.check_value_set(*set, members)?;
                let state = &self.environment.value_sets[set.index()];
                let old = state.get().as_ref().clone();
                state.set(members);
                Ok(vec![modify(Entity::ValueSet(*set, old))])
            }
            Entity::Multicast(id, replicas, metadata) => {
                self.multicast(operation, *id, replicas, metadata)
            }
            Entity::Clone(id, session) => self.session(operation, *id, session),
            Entity::Digest(id, config) => self.digest(operation, *id, *config),
        }
    }

    fn entry(
        &self,
        operation: Operation,
        table: TableId,
        entry: &Entry,
    ) -> Result<Vec<Update>, Error> {
        let tables = &self.environment.tables;
        let old = tables.get(table, &entry.keys, entry.priority).ok();
        if operation != Operation::Delete {
            self.check_entry(table, entry)?;
        }
        let change = table_update(operation, table, entry);
        let done = tables.update(&change)?;
        // Counters and meters of an entry that comes begin anew; those of one that goes are given back if it comes again.
        let mut undo = Vec::new();
        if let (Some(old), Done::Deleted { .. }) = (&old, done) {
            undo.extend(self.direct_state(table, old));
        }
        self.fresh(table, done);
        match old {
            None => undo.push(Update {
                operation: Operation::Delete,
                entity: Entity::Entry(table, entry.clone()),
            }),
            Some(old) => {
                let own = match old.entry.call {
                    Call::Group(id) if id >= OWN_GROUPS => self.take_own_group(table, id),
                    _ => None,
                };
                undo.push(Update {
                    operation: Operation::Put,
                    entity: match own {
                        Some(actions) => Entity::OneShot(table, old.entry, actions),
                        None => Entity::Entry(table, old.entry),
                    },
                });
            }
        }
        Ok(undo)
    }

    fn one_shot(
        &self,
        operation: Operation,
        table: TableId,
        entry: &Entry,
        actions: &[(ActionCall, u32)],
    ) -> Result<Vec<Update>, Error> {
        if operation == Operation::Delete {
            return self.entry(operation, table, entry);
        }
        let form = self.form(table)?;
        let Some(profile) = form.implementation else {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("table `{}` has no action selector for a group", form.name),
            ));
        };
        for (call, _) in actions {
            self.check_call(table, call)?;
        }
        let id = self.add_own_group(profile, actions)?;
        let entry = Entry {
            call: Call::Group(id),
            ..entry.clone()
        };
        let result = self.entry(operation, table, &entry);
        if result.is_err() {
            self.take_own_group(table, id);
        }
        result
    }

    fn add_own_group(
        &self,
        profile: ObjectId,
        actions: &[(ActionCall, u32)],
    ) -> Result<u32, Error> {
        let state = self.profile_of(profile)?;
        let name = &self.environment.program.objects[profile.index()].name;
        let mut members = Vec::new();
        let mut next = self.shared.next_own.lock();
        let group = next.wrapping_add(actions.len() as u32);
        let result = (|| {
            for (call, weight) in actions {
                let member = self.packed_member(profile, call)?;
                let id = *next;
                *next = next.wrapping_add(1).max(OWN_GROUPS);
                state
                    .insert_member(id, member)
                    .map_err(|error| profile_error(name, &error))?;
                members.push(GroupMember {
                    member: id,
                    weight: *weight,
                    watch: None,
                });
            }
            *next = next.wrapping_add(1).max(OWN_GROUPS);
            state
                .set_group(group, members.clone(), 0, false)
                .map_err(|error| profile_error(name, &error))
        })();
        if let Err(error) = result {
            for member in members {
                let _ = state.delete_member(member.member);
            }
            return Err(error);
        }
        Ok(group)
    }

    /// Removes a group that an entry had for itself, and says what was in it.
    fn take_own_group(&self, table: TableId, id: u32) -> Option<Vec<(ActionCall, u32)>> {
        let actions = self.own_group(table, id)?;
        let profile = self.environment.tables.forms()[table.index()].implementation?;
        let state = self.environment.profile(profile)?;
        let contents = state.contents.get();
        let members = contents.groups.get(&id)?.members.clone();
        drop(contents);
        state.delete_group(id).ok()?;
        for member in members {
            let _ = state.delete_member(member.member);
        }
        Some(actions)
    }

    fn default(
        &self,
        operation: Operation,
        table: TableId,
        call: Option<&Call>,
    ) -> Result<Vec<Update>, Error> {
        let form = self.form(table)?;
        if matches!(operation, Operation::Insert | Operation::Delete) {
            return Err(Error::value(format!(
                "the default action of table `{}` is always there: modify it",
                form.name
            )));
        }
        let tables = &self.environment.tables;
        let (old, is_programs) = tables.default(table)?;
        if let Some(call) = call {
            self.check_reference(table, call)?;
            self.check_action(table, call)?;
        }
        tables.update(&match call {
            Some(call) => table::Update::SetDefault(table, call.clone()),
            None => table::Update::ResetDefault(table),
        })?;
        let old = (!is_programs).then_some(old);
        Ok(vec![modify(Entity::Default(table, old))])
    }

    /// Objects that an entry names must exist, and the program's restrictions must allow it.
    fn check_entry(&self, table: TableId, entry: &Entry) -> Result<(), Error> {
        let form = self.form(table)?;
        let restrictions = &self.environment.restrictions;
        let allowed = restrictions.check_entry(table.index(), form, entry);
        allowed.map_err(Error::value)?;
        self.check_action(table, &entry.call)?;
        self.check_reference(table, &entry.call)
    }

    fn check_action(&self, table: TableId, call: &Call) -> Result<(), Error> {
        match call {
            Call::Action(call) => self.check_call(table, call),
            Call::Member(_) | Call::Group(_) => Ok(()),
        }
    }

    /// The restrictions of an action must allow its arguments.
    pub(super) fn check_call(&self, table: TableId, call: &ActionCall) -> Result<(), Error> {
        let program = &self.environment.program;
        match program.tables[table.index()]
            .actions
            .get(call.action as usize)
        {
            Some(listed) => {
                let name = &program.actions[listed.action.index()].name;
                let restrictions = &self.environment.restrictions;
                let allowed = restrictions.check_action(listed.action, name, call);
                allowed.map_err(Error::value)
            }
            None => Ok(()),
        }
    }

    /// A member or group that an entry names must be there.
    fn check_reference(&self, table: TableId, call: &Call) -> Result<(), Error> {
        let Some(profile) = self.form(table)?.implementation else {
            return Ok(());
        };
        let name = &self.environment.program.objects[profile.index()].name;
        let contents = self.profile_of(profile)?.contents.get();
        let missing = match call {
            Call::Action(_) => None,
            Call::Member(id) => (!contents.members.contains_key(id)).then_some(("member", id)),
            Call::Group(id) => (!contents.groups.contains_key(id)).then_some(("group", id)),
        };
        match missing {
            None => Ok(()),
            Some((what, id)) => Err(Error::new(
                ErrorKind::Absent,
                format!("`{name}` has no {what} {id}: insert it first"),
            )),
        }
    }

    /// Direct counters and meters of a new or deleted entry.
    fn fresh(&self, table: TableId, done: Done) {
        let (Done::Inserted { index, .. } | Done::Deleted { index, .. }) = done else {
            return;
        };
        self.environment.fresh(table, index as usize);
        let tables = &self.environment.tables;
        if matches!(done, Done::Inserted { .. }) && tables.forms()[table.index()].idle_timeout {
            tables.start_later(table, index);
        }
    }

    /// What an entry had for itself, when it is gone.
    pub(super) fn forget(&self, table: TableId, installed: &Installed) {
        let (handle, index) = (installed.handle, installed.index);
        self.fresh(table, Done::Deleted { handle, index });
        if let Call::Group(id) = installed.entry.call {
            self.take_own_group(table, id);
        }
    }

    fn direct_state(&self, table: TableId, installed: &Installed) -> Vec<Update> {
        let index = installed.index as usize;
        let key = || EntryKey {
            table,
            keys: Some(installed.entry.keys.clone()),
            priority: installed.entry.priority,
        };
        let mut state = Vec::new();
        if let Some((packets, bytes)) = self
            .direct_counters(table)
            .first()
            .and_then(|c| c.read(index))
        {
            let count = Count { packets, bytes };
            state.push(modify(Entity::DirectCounter(key(), count)));
        }
        if let Some(rates) = self
            .direct_meters(table)
            .first()
            .and_then(|m| m.rates(index))
        {
            state.push(modify(Entity::DirectMeter(key(), rates)));
        }
        state
    }

    fn no_direct(&self, table: TableId, what: &str) -> Error {
        Error::name(format!(
            "table `{}` has no direct {what}",
            self.environment.program.tables[table.index()].name
        ))
    }

    pub(super) fn direct_counters(&self, table: TableId) -> Vec<&Counter> {
        let environment: &Environment = &self.environment;
        let direct = environment.program.tables[table.index()].direct.iter();
        direct.filter_map(|id| environment.counter(*id)).collect()
    }

    pub(super) fn direct_meters(&self, table: TableId) -> Vec<&Meter> {
        let environment: &Environment = &self.environment;
        let direct = environment.program.tables[table.index()].direct.iter();
        direct.filter_map(|id| environment.meter(*id)).collect()
    }
}

/// The changes of a batch that has nothing but entries of tables without groups of their own.
fn plain_entries(updates: &[Update]) -> Option<Vec<table::Update>> {
    let changes = updates.iter().map(|update| match &update.entity {
        Entity::Entry(table, entry) => Some(table_update(update.operation, *table, entry)),
        _ => None,
    });
    changes.collect()
}

fn table_update(operation: Operation, table: TableId, entry: &Entry) -> table::Update {
    match operation {
        Operation::Insert => table::Update::Insert(table, entry.clone()),
        Operation::Modify => table::Update::Modify(table, entry.clone()),
        Operation::Put => table::Update::Set(table, entry.clone()),
        Operation::Delete => table::Update::Delete(table, entry.keys.clone(), entry.priority),
    }
}

fn taken_back(count: usize, number: usize, error: Error) -> Vec<Result<(), Error>> {
    let mut results: Vec<_> = (0..count)
        .map(|_| {
            Err(Error::new(
                ErrorKind::TakenBack,
                format!("not made, since update {number} of the batch was refused"),
            ))
        })
        .collect();
    results[number] = Err(error);
    results
}

fn only_modify(operation: Operation, what: &str) -> Result<(), Error> {
    match operation {
        Operation::Modify | Operation::Put => Ok(()),
        Operation::Insert | Operation::Delete => Err(Error::value(format!(
            "{what} is always there: it can only be modified"
        ))),
    }
}

fn check_presence(operation: Operation, there: bool, what: &str, id: u32) -> Result<(), Error> {
    match (operation, there) {
        (Operation::Insert, true) => Err(Error::new(
            ErrorKind::Exists,
            format!("{what} {id} is there already: modify it"),
        )),
        (Operation::Modify | Operation::Delete, false) => Err(Error::new(
            ErrorKind::Absent,
            format!("there is no {what} {id}"),
        )),
        _ => Ok(()),
    }
}

fn modify(entity: Entity) -> Update {
    Update {
        operation: Operation::Modify,
        entity,
    }
}

fn put(entity: Entity) -> Update {
    Update {
        operation: Operation::Put,
        entity,
    }
}

fn insert(entity: Entity) -> Update {
    Update {
        operation: Operation::Insert,
        entity,
    }
}

fn delete(entity: Entity) -> Update {
    Update {
        operation: Operation::Delete,
        entity,
    }
}
