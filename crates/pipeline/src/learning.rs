//! Changes that packets make to tables: PNA's entries that are added on a miss, and their times.
//!
//! A packet reads tables through a [`View`](crate::table::View), and nothing may be changed by a
//! thread that has one. So what a packet
//! asks for waits in its [`Context`] until the pass has ended.

use crate::context::{Asked, Context, Hit};
use crate::environment::Environment;
use crate::table::{Done, Entry, Form, Installed, Table, Update};
use alloc::borrow::ToOwned;
use alloc::sync::Arc;
use alloc::vec::Vec;
use node::Time;
use p4::ir::{ActionCall, KeyMatch, TableId};
use p4::value::Bits;

impl Context {
    /// Asks for an entry with the key that was just missed, and says whether there will be one.
    pub(crate) fn add_entry(&mut self, action: &str, arguments: Vec<Bits>, profile: u64) -> bool {
        let Some(table) = self.missed.table else {
            return false;
        };
        let environment = Arc::clone(&self.environment);
        let form = &environment.tables.forms()[table.index()];
        let Some(action) = action_of(form, action) else {
            return false;
        };
        let keys = form.keys.iter().map(|key| {
            let cells = &self.missed.key[key.at..key.at + key.cells()];
            KeyMatch::Exact(Bits::from_limbs(key.ty.width(), cells))
        });
        let mut entry = Entry::new(keys.collect(), ActionCall { action, arguments });
        let added = self.asked.iter().filter_map(|asked| match asked {
            Asked::Add(other, entry) if *other == table => Some(entry),
            _ => None,
        });
        if added.clone().any(|other| other.keys == entry.keys) {
            return true;
        }
        if environment.tables.filled(table) + added.count() >= form.size as usize {
            return false;
        }
        if form.deletes_idle {
            entry.idle_timeout = self.expiry(profile);
        }
        self.asked.push(Asked::Add(table, entry));
        true
    }

    /// Asks that the time of the entry that was hit starts again, with that of a profile if one is
    /// given.
    pub(crate) fn restart_entry(&mut self, profile: Option<u64>) {
        if let Some(hit) = self.hit {
            let timeout = profile.map(|profile| self.expiry(profile));
            self.asked.push(Asked::Restart(hit, timeout));
        }
    }

    /// Has [`Engine::settle`](crate::engine::Engine::settle) called when there is no view.
    pub fn settle_later(&mut self) {
        self.settles = true;
    }

    /// Whether something is to be done before the next packet, without a view.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.settles || !self.updates.is_empty()
    }

    /// Does what the pass asked for as far as that can be done while there is a view. The rest is
    /// for [`Environment::carry_out`].
    pub(crate) fn settle(&mut self, tables: &[Table]) {
        for asked in self.asked.drain(..) {
            match asked {
                Asked::Add(table, entry) => self.updates.push(Update::Insert(table, entry)),
                Asked::Restart(Hit { table, entry }, timeout) => {
                    let shown = &tables[table.index()];
                    shown.restart(entry, self.now);
                    if let (Some(timeout), Some(handle)) = (timeout, shown.handle(entry)) {
                        self.updates.push(Update::Expire(table, handle, timeout));
                    }
                }
            }
        }
    }
}

/// The number of an action in its table, by the name that the program calls it by.
#[must_use]
pub fn action_of(form: &Form, name: &str) -> Option<u32> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let wanted = last(name);
    let found = form
        .actions
        .iter()
        .position(|action| last(&action.name) == wanted);
    found.map(|index| index as u32)
}

impl Environment {
    /// Carries out what packets asked for. This thread must not hold a view.
    pub(crate) fn carry_out(&self, updates: &mut Vec<Update>) {
        for update in updates.drain(..) {
            // Another thread's packet or a controller may have been first, with the same key or the
            // last room.
            if let Ok(Done::Inserted { index, .. }) = self.tables.update(&update) {
                self.fresh(update.table(), index as usize);
            }
        }
    }

    /// Adds an entry of an engine, whose time began at `starts`. `None`: a controller was first, with the same key or in the last free
    /// place. This thread must not hold a view.
    pub fn learned(&self, table: TableId, entry: Entry, starts: Time) -> Option<Installed> {
        let update = Update::Insert(table, entry);
        let Ok(Done::Inserted { index, handle }) = self.tables.update(&update) else {
            return None;
        };
        self.fresh(table, index as usize);
        self.tables.view().table(table).restart(index, starts);
        self.tables.get_handle(table, handle).ok()
    }

    /// Sets the time of an entry as an engine has: begin at `starts`, length `timeout`, `None` for no end. This thread must not hold a
    /// view.
    pub fn restarted(
        &self,
        table: TableId,
        installed: &Installed,
        starts: Time,
        timeout: Option<Time>,
    ) {
        if installed.entry.idle_timeout != timeout {
            // One that a controller has deleted has no time.
            let _ = self
                .tables
                .update(&Update::Expire(table, installed.handle, timeout));
        }
        self.tables
            .view()
            .table(table)
            .restart(installed.index, starts);
    }

    /// Deletes the entries whose time has passed, of tables with `idle_timeout_with_auto_delete`.
    pub fn expire(&self, now: Time) {
        for idle in self.tables.expire(now) {
            self.fresh(idle.table, idle.entry.index as usize);
        }
    }
}
