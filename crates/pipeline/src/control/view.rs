//! What the control plane reads.

use super::{Control, Count, DigestConfig, EntryKey, Error, ErrorKind, Group, Member, program};
use crate::state::meter::Rates;
use crate::state::replication::{Replica, Session};
use crate::state::{Counter, Meter, Profile, Register};
use crate::table::{Call, Form, Installed};
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use p4::ir::{ActionCall, KeyMatch, ObjectId, TableId, ValueSetId};
use p4::value::Bits;

impl Control {
    /// A table's keys, actions and limits.
    ///
    /// # Errors
    /// When the program has no such table.
    pub fn form(&self, table: TableId) -> Result<&Form, Error> {
        self.environment
            .tables
            .forms()
            .get(table.index())
            .ok_or_else(|| Error::name(format!("the program has no table number {}", table.0)))
    }

    /// A table's entries, in the order in which they came.
    #[must_use]
    pub fn entries(&self, table: TableId) -> Vec<Installed> {
        self.environment.tables.entries(table)
    }

    /// The actions of a group that an entry has for itself.
    #[must_use]
    pub fn own_group(&self, table: TableId, id: u32) -> Option<Vec<(ActionCall, u32)>> {
        if id < super::OWN_GROUPS {
            return None;
        }
        let profile = self.form(table).ok()?.implementation?;
        let contents = self.environment.profile(profile)?.contents.get();
        let members = contents
            .groups
            .get(&id)?
            .members
            .iter()
            .filter_map(|member| {
                let packed = contents.members.get(&member.member)?;
                Some((self.unpacked_member(profile, packed), member.weight))
            });
        Some(members.collect())
    }

    /// A table's default action, and whether it is the program's.
    ///
    /// # Errors
    /// When the program has no such table.
    pub fn default_action(&self, table: TableId) -> Result<(Call, bool), Error> {
        Ok(self.environment.tables.default(table)?)
    }

    /// The members of an action profile or selector that were not made for one entry.
    ///
    /// # Errors
    /// When the object is none.
    pub fn members(&self, profile: ObjectId) -> Result<Vec<Member>, Error> {
        let contents = self.profile_of(profile)?.contents.get();
        let members = contents.members.range(..super::OWN_GROUPS);
        Ok(members
            .map(|(id, packed)| Member {
                profile,
                id: *id,
                call: self.unpacked_member(profile, packed),
            })
            .collect())
    }

    /// The groups of an action selector that were not made for one entry.
    ///
    /// # Errors
    /// When the object is none.
    pub fn groups(&self, profile: ObjectId) -> Result<Vec<Group>, Error> {
        let contents = self.profile_of(profile)?.contents.get();
        let groups = contents.groups.range(..super::OWN_GROUPS);
        Ok(groups
            .map(|(id, group)| Group {
                profile,
                id: *id,
                members: group.members.clone(),
                most: group.max_size,
            })
            .collect())
    }

    /// Cells of a counter: one, or all without an index.
    ///
    /// # Errors
    /// When the object is no counter, or has no such cell.
    pub fn counts(&self, object: ObjectId, index: Option<u64>) -> Result<Vec<(u64, Count)>, Error> {
        let counter = self.counter_of(object)?;
        let indices = self.indices(object, index, counter.size())?;
        Ok(indices
            .map(|index| {
                let (packets, bytes) = counter.read(index).unwrap_or_default();
                (index as u64, Count { packets, bytes })
            })
            .collect())
    }

    /// Cells of a meter.
    ///
    /// # Errors
    /// When the object is no meter, or has no such cell.
    pub fn rates(
        &self,
        object: ObjectId,
        index: Option<u64>,
    ) -> Result<Vec<(u64, Option<Rates>)>, Error> {
        let meter = self.meter_of(object)?;
        let indices = self.indices(object, index, meter.size())?;
        Ok(indices
            .map(|index| (index as u64, meter.rates(index).flatten()))
            .collect())
    }

    /// Cells of a register, each with its scalars.
    ///
    /// # Errors
    /// When the object is no register, or has no such cell.
    pub fn registers(
        &self,
        object: ObjectId,
        index: Option<u64>,
    ) -> Result<Vec<(u64, Vec<Bits>)>, Error> {
        let register = self.register_of(object)?;
        let indices = self.indices(object, index, register.size())?;
        Ok(indices
            .map(|index| (index as u64, register.read(index).unwrap_or_default()))
            .collect())
    }

    /// The direct counter of an entry, where its table has one.
    #[must_use]
    pub fn direct_count(&self, table: TableId, installed: &Installed) -> Option<Count> {
        let (packets, bytes) = self
            .direct_counters(table)
            .first()?
            .read(installed.index as usize)?;
        Some(Count { packets, bytes })
    }

    /// The direct meter of an entry, where its table has one.
    #[must_use]
    pub fn direct_rates(&self, table: TableId, installed: &Installed) -> Option<Option<Rates>> {
        self.direct_meters(table)
            .first()?
            .rates(installed.index as usize)
    }

    /// The entry that has a place.
    ///
    /// # Errors
    /// When there is none.
    pub fn installed(&self, key: &EntryKey) -> Result<Installed, Error> {
        let form = self.form(key.table)?;
        let Some(keys) = &key.keys else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "the default action of table `{}` has no direct counter or meter",
                    form.name
                ),
            ));
        };
        Ok(self.environment.tables.get(key.table, keys, key.priority)?)
    }

    pub(super) fn direct_index(&self, key: &EntryKey) -> Result<usize, Error> {
        Ok(self.installed(key)?.index as usize)
    }

    /// The members of a value set.
    ///
    /// # Errors
    /// When the program has no such value set.
    pub fn value_set(&self, set: ValueSetId) -> Result<Vec<Vec<KeyMatch>>, Error> {
        self.environment
            .value_sets
            .get(set.index())
            .map(|members| members.get().as_ref().clone())
            .ok_or_else(|| Error::name(format!("the program has no value set number {}", set.0)))
    }

    /// All multicast groups, with what controllers keep with them.
    #[must_use]
    pub fn multicast_groups(&self) -> Vec<(u32, Vec<Replica>, Vec<u8>)> {
        let metadata = self.shared.metadata.lock();
        let groups = self.environment.replication.get();
        groups
            .multicast
            .iter()
            .map(|(id, replicas)| {
                let kept = metadata.get(id).cloned().unwrap_or_default();
                (*id, replicas.clone(), kept)
            })
            .collect()
    }

    #[must_use]
    pub fn clone_sessions(&self) -> Vec<(u32, Session)> {
        let groups = self.environment.replication.get();
        groups
            .sessions
            .iter()
            .map(|(id, session)| (*id, session.clone()))
            .collect()
    }

    /// The program's digests, in the order of their numbers.
    #[must_use]
    pub fn digests(&self) -> &[program::Digest] {
        &self.shared.digests
    }

    /// How a digest is sent, if it is.
    #[must_use]
    pub fn digest_config(&self, digest: u32) -> Option<DigestConfig> {
        self.shared.configs.lock().get(&digest).copied()
    }

    /// Which cells an index means, in an array of so many.
    pub(super) fn indices(
        &self,
        object: ObjectId,
        index: Option<u64>,
        size: usize,
    ) -> Result<Range<usize>, Error> {
        match index {
            None => Ok(0..size),
            Some(index) if index < size as u64 => Ok(index as usize..index as usize + 1),
            Some(index) => Err(Error::name(format!(
                "`{}` has {size} cells, so that there is none with index {index}",
                self.environment.program.objects[object.index()].name
            ))),
        }
    }

    pub(super) fn counter_of(&self, object: ObjectId) -> Result<&Counter, Error> {
        self.environment
            .counter(object)
            .ok_or_else(|| self.not(object, "a counter"))
    }

    pub(super) fn meter_of(&self, object: ObjectId) -> Result<&Meter, Error> {
        self.environment
            .meter(object)
            .ok_or_else(|| self.not(object, "a meter"))
    }

    pub(super) fn register_of(&self, object: ObjectId) -> Result<&Register, Error> {
        self.environment
            .register(object)
            .ok_or_else(|| self.not(object, "a register"))
    }

    pub(super) fn profile_of(&self, object: ObjectId) -> Result<&Profile, Error> {
        self.environment
            .profile(object)
            .ok_or_else(|| self.not(object, "an action profile or selector"))
    }

    fn not(&self, object: ObjectId, what: &str) -> Error {
        Error::name(match self.environment.program.objects.get(object.index()) {
            Some(object) => format!("`{}` is not {what}", object.name),
            None => format!("the program has no object number {}", object.0),
        })
    }
}
