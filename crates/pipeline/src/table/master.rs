//! The table as the control plane sees it: what stands in it, and every reason to refuse a change.

use super::entry::{Call, Done, Entry, Installed, TableError};
use super::form::{Form, MatchKind, cells_of};
use super::hash::{HASH_SEED, Slots, mix};
use super::lookup::{Change, ChangeKind, HITS};
use super::pattern::Pattern;
use super::rule::Rule;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use node::Time;
use p4::ir::{self, ActionCall, KeyMatch, Program, TableId};
use p4::value::Bits;

/// A table's entries, and where to find them.
pub(super) struct Master {
    pub(super) form: Form,
    table: TableId,
    program_default: Call,
    default: Call,
    /// By index.
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Indices, plus one, by pattern and priority.
    by_rule: Slots,
    by_handle: BTreeMap<u64, u32>,
    next_handle: u64,
    hits: Vec<Arc<[AtomicU64]>>,
}

struct Slot {
    is_const: bool,
    entry: Entry,
    rule: Arc<Rule>,
    /// The last hit when somebody was told that the entry is idle.
    told: Option<u64>,
    /// Whether its idle time has yet to begin.
    starts: bool,
}

/// By what an entry is found.
fn hash(pattern: &Pattern, priority: u32) -> u64 {
    let cells = pattern.values.iter().chain(&*pattern.masks);
    let ranges = pattern.ranges.iter();
    let ranges = ranges.flat_map(|range| range.low.iter().chain(&*range.high));
    let cells = cells.chain(ranges).copied();
    cells.fold(mix(HASH_SEED, u64::from(priority)), mix)
}

fn rule_hash(rule: &Rule) -> u64 {
    hash(&rule.pattern, rule.priority)
}

/// How to take back what was done to a master.
pub(super) enum Undo {
    Remove(u32),
    Restore(u32, Entry, bool, Arc<Rule>),
    Rewrite(u32, Entry),
    Default(Call),
}

/// What one update did to a master: how to take it back, and what the readers' tables must do.
#[derive(Default)]
pub(super) struct Journal {
    pub(super) undo: Vec<(TableId, Undo)>,
    pub(super) changes: Vec<Change>,
}

impl Master {
    /// With the program's entries, which are told in `journal`.
    pub(super) fn new(program: &Program, table: TableId, journal: &mut Journal) -> Self {
        let form = Form::new(program, table);
        let source = &program.tables[table.index()];
        let default = Call::Action(source.default.clone());
        let mut master = Master {
            table,
            program_default: default.clone(),
            default: default.clone(),
            slots: Vec::new(),
            free: Vec::new(),
            by_rule: Slots::new(),
            by_handle: BTreeMap::new(),
            next_handle: 0,
            hits: Vec::new(),
            form,
        };
        let row = master.row(&default);
        master.tell(journal, ChangeKind::Default { row });
        for given in &source.entries {
            let keys = given.keys.iter().zip(&source.keys);
            let entry = Entry {
                // Selector keys are not compared.
                keys: keys
                    .filter(|(_, key)| key.match_kind != ir::MatchKind::Selector)
                    .map(|(given, _)| given.clone())
                    .collect(),
                priority: if master.form.has_priorities() {
                    given.priority
                } else {
                    0
                },
                call: Call::Action(given.call.clone()),
                idle_timeout: None,
                metadata: Arc::new([]),
            };
            let is_const = given.is_const || source.const_entries;
            if let Ok((pattern, keys)) = Pattern::read(&master.form, &entry.keys) {
                let entry = Entry { keys, ..entry };
                // A second entry with the same match never wins.
                let _ = master.install(pattern, entry, is_const, Time::ZERO, journal);
            }
        }
        master
    }

    pub(super) fn len(&self) -> usize {
        self.by_handle.len()
    }

    pub(super) fn default(&self) -> (&Call, bool) {
        (&self.default, self.default == self.program_default)
    }

    pub(super) fn insert(
        &mut self,
        entry: &Entry,
        now: Time,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        self.entries_may_change()?;
        let (pattern, entry) = self.check(entry)?;
        self.install(pattern, entry, false, now, journal)
    }

    pub(super) fn modify(
        &mut self,
        entry: &Entry,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        self.entries_may_change()?;
        let (pattern, entry) = self.check(entry)?;
        let index = self.find(pattern, entry.priority)?;
        self.rewrite(index, entry, journal)
    }

    pub(super) fn set(
        &mut self,
        entry: &Entry,
        now: Time,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        match self.modify(entry, journal) {
            Err(TableError::Absent { .. }) => self.insert(entry, now, journal),
            other => other,
        }
    }

    pub(super) fn modify_handle(
        &mut self,
        handle: u64,
        call: &Call,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        self.entries_may_change()?;
        self.check_call(call, false)?;
        let index = self.by_handle(handle)?;
        let mut entry = self.slot(index).entry.clone();
        entry.call = call.clone();
        self.rewrite(index, entry, journal)
    }

    /// Gives an entry another idle timeout, and starts it.
    pub(super) fn expire(
        &mut self,
        handle: u64,
        timeout: Option<Time>,
        now: Time,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        if timeout.is_some() && !self.form.idle_timeout {
            let table = self.form.name.clone();
            return Err(TableError::NoTimeouts { table });
        }
        let index = self.by_handle(handle)?;
        if let Some(chunk) = self.hits.get(index as usize / HITS) {
            chunk[index as usize % HITS].store(now.as_ps(), Ordering::Relaxed);
        }
        if let Some(slot) = &mut self.slots[index as usize] {
            let old = slot.entry.clone();
            slot.entry.idle_timeout = timeout;
            journal.undo.push((self.table, Undo::Rewrite(index, old)));
        }
        Ok(Done::Modified { handle, index })
    }

    pub(super) fn delete(
        &mut self,
        keys: &[KeyMatch],
        priority: u32,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        self.entries_may_change()?;
        let (pattern, _) = Pattern::read(&self.form, keys)?;
        let index = self.find(pattern, priority)?;
        self.delete_index(index, journal)
    }

    pub(super) fn delete_handle(
        &mut self,
        handle: u64,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        self.entries_may_change()?;
        let index = self.by_handle(handle)?;
        self.delete_index(index, journal)
    }

    fn delete_index(&mut self, index: u32, journal: &mut Journal) -> Result<Done, TableError> {
        let handle = self.slot(index).rule.handle;
        if self.slot(index).is_const {
            return Err(TableError::ConstEntry {
                table: self.form.name.clone(),
                handle,
            });
        }
        self.take(index, journal);
        Ok(Done::Deleted { handle, index })
    }

    pub(super) fn clear(&mut self, journal: &mut Journal) -> Result<Done, TableError> {
        self.entries_may_change()?;
        let all: Vec<u32> = (0..self.slots.len() as u32)
            .filter(|index| {
                self.slots[*index as usize]
                    .as_ref()
                    .is_some_and(|slot| !slot.is_const)
            })
            .collect();
        for index in &all {
            self.take(*index, journal);
        }
        Ok(Done::Cleared(all.len()))
    }

    pub(super) fn set_default(
        &mut self,
        call: Option<&Call>,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        let call = match call {
            None => self.program_default.clone(),
            Some(_) if self.form.const_default => {
                return Err(TableError::ConstDefault {
                    table: self.form.name.clone(),
                });
            }
            Some(call) => {
                self.check_call(call, true)?;
                call.clone()
            }
        };
        let row = self.row(&call);
        let old = core::mem::replace(&mut self.default, call);
        journal.undo.push((self.table, Undo::Default(old)));
        self.tell(journal, ChangeKind::Default { row });
        Ok(Done::Default)
    }

    /// Takes back one step; the readers have seen nothing of it.
    pub(super) fn undo(&mut self, undo: Undo) {
        let mut unseen = Journal::default();
        match undo {
            Undo::Remove(index) => self.take(index, &mut unseen),
            Undo::Restore(index, entry, is_const, rule) => {
                // Steps are taken back last first, so that the index freed by this one lies on top.
                match self.free.last() {
                    Some(top) if *top == index => drop(self.free.pop()),
                    _ => self.free.retain(|free| *free != index),
                }
                self.hold(index, entry, is_const, rule);
            }
            Undo::Rewrite(index, entry) => {
                if let Some(slot) = &mut self.slots[index as usize] {
                    slot.entry = entry;
                }
            }
            Undo::Default(call) => self.default = call,
        }
    }

    pub(super) fn installed(&self, index: u32) -> Option<Installed> {
        let slot = self.slots.get(index as usize)?.as_ref()?;
        Some(Installed {
            handle: slot.rule.handle,
            index,
            is_const: slot.is_const,
            entry: slot.entry.clone(),
            last_hit: Time::from_ps(self.last_hit(index)),
        })
    }

    /// All entries by handle: in the order in which they came.
    pub(super) fn entries(&self) -> Vec<Installed> {
        let indices = self.by_handle.values();
        indices.filter_map(|index| self.installed(*index)).collect()
    }

    pub(super) fn get(&self, keys: &[KeyMatch], priority: u32) -> Result<Installed, TableError> {
        let (pattern, _) = Pattern::read(&self.form, keys)?;
        let index = self.find(pattern, priority)?;
        self.installed(index).ok_or_else(|| self.absent())
    }

    pub(super) fn by_handle(&self, handle: u64) -> Result<u32, TableError> {
        let index = self.by_handle.get(&handle).copied();
        index.ok_or_else(|| TableError::NoHandle {
            table: self.form.name.clone(),
            handle,
        })
    }

    /// The entries whose timeout has passed since their last hit, each once until it is hit again.
    pub(super) fn idle(&mut self, now: Time) -> Vec<Installed> {
        let mut idle = Vec::new();
        for index in 0..self.slots.len() as u32 {
            let last = self.last_hit(index);
            let Some(slot) = &mut self.slots[index as usize] else {
                continue;
            };
            let Some(timeout) = slot.entry.idle_timeout else {
                continue;
            };
            if slot.told != Some(last) && now >= Time::from_ps(last) + timeout {
                slot.told = Some(last);
                idle.extend(self.installed(index));
            }
        }
        idle
    }

    /// The idle time of an entry begins with [`start`](Self::start).
    pub(super) fn start_later(&mut self, index: u32) {
        if let Some(slot) = &mut self.slots[index as usize] {
            slot.starts = self.form.idle_timeout;
        }
    }

    /// Begins the idle times that have waited for it.
    pub(super) fn start(&mut self, now: Time) {
        if !self.form.idle_timeout {
            return;
        }
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if let Some(slot) = slot
                && core::mem::take(&mut slot.starts)
            {
                let hit = &self.hits[index / HITS][index % HITS];
                hit.fetch_max(now.as_ps(), Ordering::Relaxed);
            }
        }
    }

    /// When [`Self::idle`] could first have something to say, unless packets come.
    pub(super) fn next_idle(&self) -> Option<Time> {
        let slots = self.slots.iter().enumerate();
        slots
            .filter_map(|(index, slot)| {
                let slot = slot.as_ref()?;
                let last = self.last_hit(index as u32);
                let timeout = slot.entry.idle_timeout?;
                (slot.told != Some(last)).then(|| Time::from_ps(last) + timeout)
            })
            .min()
    }

    fn last_hit(&self, index: u32) -> u64 {
        let chunk = self.hits.get(index as usize / HITS);
        chunk.map_or(0, |c| c[index as usize % HITS].load(Ordering::Relaxed))
    }

    fn slot(&self, index: u32) -> &Slot {
        self.slots[index as usize]
            .as_ref()
            .expect("the indices in the maps are of entries")
    }

    fn entries_may_change(&self) -> Result<(), TableError> {
        if self.form.const_entries {
            return Err(TableError::ConstEntries {
                table: self.form.name.clone(),
            });
        }
        Ok(())
    }

    fn absent(&self) -> TableError {
        TableError::Absent {
            table: self.form.name.clone(),
            entries: self.by_handle.len(),
        }
    }

    fn find(&self, pattern: Pattern, priority: u32) -> Result<u32, TableError> {
        self.index_of(&pattern, priority)
            .ok_or_else(|| self.absent())
    }

    fn index_of(&self, pattern: &Pattern, priority: u32) -> Option<u32> {
        let found = self.by_rule.find(hash(pattern, priority), |index| {
            let rule = &self.slot(index - 1).rule;
            rule.priority == priority && rule.pattern == *pattern
        });
        found.checked_sub(1)
    }

    fn check(&self, entry: &Entry) -> Result<(Pattern, Entry), TableError> {
        let (pattern, keys) = Pattern::read(&self.form, &entry.keys)?;
        let table = || self.form.name.clone();
        if !self.form.has_priorities() && entry.priority != 0 {
            return Err(TableError::UnwantedPriority { table: table() });
        }
        if self.form.has_priorities() && entry.priority == 0 {
            let mut keys = self.form.keys.iter();
            let key = keys.find(|k| k.kind != MatchKind::Exact);
            let key = key.expect("a key that is not exact made the priorities");
            return Err(TableError::NoPriority {
                table: table(),
                key: key.name.clone(),
                kind: key.kind,
            });
        }
        if entry.idle_timeout.is_some() && !self.form.idle_timeout {
            return Err(TableError::NoTimeouts { table: table() });
        }
        self.check_call(&entry.call, false)?;
        let entry = Entry {
            keys,
            priority: entry.priority,
            call: entry.call.clone(),
            idle_timeout: entry.idle_timeout,
            metadata: entry.metadata.clone(),
        };
        Ok((pattern, entry))
    }

    fn check_call(&self, call: &Call, default: bool) -> Result<(), TableError> {
        let table = || self.form.name.clone();
        let call = match call {
            Call::Action(call) if self.form.implementation.is_none() || default => call,
            Call::Action(_) => return Err(TableError::NeedsMember { table: table() }),
            _ if self.form.implementation.is_some() => return Ok(()),
            _ => return Err(TableError::NeedsAction { table: table() }),
        };
        let Some(action) = self.form.actions.get(call.action as usize) else {
            return Err(TableError::NoAction {
                table: table(),
                actions: self.form.actions.len(),
                action: call.action,
            });
        };
        if action.default_only && !default {
            return Err(TableError::DefaultOnly {
                table: table(),
                action: action.name.clone(),
            });
        }
        if action.table_only && default {
            return Err(TableError::TableOnly {
                table: table(),
                action: action.name.clone(),
            });
        }
        if action.parameters.len() != call.arguments.len() {
            return Err(TableError::ArgumentCount {
                table: table(),
                action: action.name.clone(),
                expected: action.parameters.len(),
                got: call.arguments.len(),
            });
        }
        for ((parameter, ty), value) in action.parameters.iter().zip(&call.arguments) {
            if value.unsigned().bits() > u64::from(ty.width()) {
                return Err(TableError::ArgumentWidth {
                    action: action.name.clone(),
                    parameter: parameter.clone(),
                    width: ty.width(),
                    value: format!("{:#x}", value.unsigned()),
                });
            }
        }
        Ok(())
    }

    /// What a hit gives: the choice, and the arguments in cells.
    fn row(&self, call: &Call) -> Arc<[u64]> {
        let cells = 1 + self.form.argument_cells();
        let mut made: Arc<[u64]> = core::iter::repeat_n(0, cells).collect();
        let row = Arc::get_mut(&mut made).expect("nobody else has it yet");
        match call {
            Call::Action(ActionCall { action, arguments }) => {
                row[0] = u64::from(*action);
                let parameters = self.form.actions.get(*action as usize);
                let parameters = parameters.map_or(&[][..], |a| &a.parameters);
                let mut at = 1;
                for ((_, ty), value) in parameters.iter().zip(arguments) {
                    let cells = &mut row[at..at + cells_of(*ty)];
                    at += cells.len();
                    if cells_of(*ty) > crate::layout::limbs(ty.width()) {
                        let (length, bits) = cells.split_last_mut().expect("at least one cell");
                        value.to_limbs(bits);
                        *length = u64::from(value.width());
                    } else {
                        Bits::resize(value, ty.width()).to_limbs(cells);
                    }
                }
            }
            Call::Member(id) => {
                row[0] = 1 << 32;
                row[1] = u64::from(*id);
            }
            Call::Group(id) => {
                row[0] = 2 << 32;
                row[1] = u64::from(*id);
            }
        }
        made
    }

    fn install(
        &mut self,
        pattern: Pattern,
        entry: Entry,
        is_const: bool,
        now: Time,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        if let Some(index) = self.index_of(&pattern, entry.priority) {
            return Err(TableError::Duplicate {
                table: self.form.name.clone(),
                handle: self.slot(index).rule.handle,
            });
        }
        if self.by_handle.len() >= self.form.size as usize {
            return Err(TableError::Full {
                table: self.form.name.clone(),
                size: self.form.size,
            });
        }
        let index = self.free.pop().unwrap_or(self.slots.len() as u32);
        let handle = self.next_handle;
        self.next_handle += 1;
        let rule = Arc::new(Rule {
            pattern,
            priority: entry.priority,
            handle,
        });
        let row = self.row(&entry.call);
        if self.form.idle_timeout {
            while self.hits.len() <= index as usize / HITS {
                self.hits
                    .push((0..HITS).map(|_| AtomicU64::new(0)).collect());
            }
            self.hits[index as usize / HITS][index as usize % HITS]
                .store(now.as_ps(), Ordering::Relaxed);
        }
        self.hold(index, entry, is_const, rule.clone());
        journal.undo.push((self.table, Undo::Remove(index)));
        let hits = self.hits.get(index as usize / HITS).cloned();
        let kind = ChangeKind::Insert {
            index,
            rule,
            row,
            hits,
        };
        self.tell(journal, kind);
        Ok(Done::Inserted { handle, index })
    }

    fn hold(&mut self, index: u32, entry: Entry, is_const: bool, rule: Arc<Rule>) {
        self.by_handle.insert(rule.handle, index);
        if self.slots.len() <= index as usize {
            self.slots.resize_with(index as usize + 1, || None);
        }
        self.by_rule.insert(rule_hash(&rule), index + 1);
        self.slots[index as usize] = Some(Slot {
            is_const,
            entry,
            rule,
            told: None,
            starts: false,
        });
    }

    fn take(&mut self, index: u32, journal: &mut Journal) {
        let Some(slot) = self.slots[index as usize].take() else {
            return;
        };
        self.by_rule.remove(rule_hash(&slot.rule), index + 1);
        self.by_handle.remove(&slot.rule.handle);
        self.free.push(index);
        let undo = Undo::Restore(index, slot.entry, slot.is_const, slot.rule.clone());
        journal.undo.push((self.table, undo));
        let rule = slot.rule;
        self.tell(journal, ChangeKind::Remove { index, rule });
    }

    fn rewrite(
        &mut self,
        index: u32,
        entry: Entry,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        let handle = self.slot(index).rule.handle;
        if self.slot(index).is_const {
            return Err(TableError::ConstEntry {
                table: self.form.name.clone(),
                handle,
            });
        }
        let row = self.row(&entry.call);
        let slot = self.slots[index as usize]
            .as_mut()
            .expect("looked at above");
        let old = core::mem::replace(&mut slot.entry, entry);
        journal.undo.push((self.table, Undo::Rewrite(index, old)));
        self.tell(journal, ChangeKind::Rewrite { index, row });
        Ok(Done::Modified { handle, index })
    }

    fn tell(&self, journal: &mut Journal, kind: ChangeKind) {
        journal.changes.push(Change {
            table: self.table,
            kind,
        });
    }
}
