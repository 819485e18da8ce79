//! Match-action tables: packets look up without ever waiting, the control plane changes them meanwhile.
//!
//! [`Tables`] holds all tables of a program twice. Packets read one side through a [`View`]. A change that one store can make - most
//! entries that come, one argument that changes - is made where packets read, at once. For all others a writer changes the other
//! side, turns the readers that come from then on to it, and brings the first one up to date with a later change. So a batch of
//! changes, of several tables too, is seen by a packet as a whole or not at all: who keeps a view sees no part of a batch that came after,
//! and nothing go that was there; single entries it may see come.
//!
//! ```
//! # use pipeline::table::{Entry, Tables, Update};
//! # use p4::ir::{ActionCall, KeyMatch, Program, TableId};
//! # use p4::value::Bits;
//! fn route(tables: &Tables, table: TableId) -> Result<(), pipeline::table::TableError> {
//!     let prefix = KeyMatch::Prefix(Bits::new(32, 0x0a00_0000u32), 8);
//!     let forward = ActionCall { action: 0, arguments: vec![Bits::new(9, 3u8)] };
//!     tables.update(&Update::Insert(table, Entry::new(vec![prefix], forward)))?;
//!     let view = tables.view();
//!     let found = view.table(table).lookup(&[0x0a01_0203]);
//!     assert_eq!(found.arguments.cell(0), 3);
//!     Ok(())
//! }
//! # assert!(route(&Tables::new(&Program::default()), TableId(0)).is_err());
//! ```

mod block;
mod direct;
mod entry;
mod fields;
mod form;
mod hash;
mod linear;
mod lookup;
mod master;
mod pattern;
mod prefix;
mod probe;
mod range_tree;
mod rule;
mod ternary;
mod tuple;

pub use entry::{Call, Done, Entry, Idle, Installed, TableError, Update};
pub use form::{ActionForm, DEFAULT_SIZE, Form, KeyForm, MatchKind};
pub use hash::{HASH_FACTOR, HASH_SEED};
pub use lookup::{Arguments, Choice, Found, Table};
pub use probe::{ALONE, Lookup};

use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use lookup::Change;
use master::{Journal, Master};
use node::Time;
use p4::ir::{KeyMatch, Program, TableId};
use spin::relax::{RelaxStrategy, Yield};
use spin::rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

// A reader that waits for a writer yields the processor: the writer may need it.
type Mutex<T> = spin::mutex::Mutex<T, Yield>;

/// Numbers of changes missing on the inactive side at which it is brought up to date: only if that
/// needs no waiting, and in any case.
const BEHIND: [usize; 2] = [64, 1 << 16];
/// Maximum number of times that a writer tests for a reader before it yields the processor, which
/// the reader may need.
const MAX_SPINS: usize = 1000;

/// All tables of a program, shared between those who forward packets and those who change entries.
pub struct Tables {
    /// Readers take the active one; writers never write to it.
    sides: [RwLock<Vec<Table>>; 2],
    active: AtomicUsize,
    forms: Vec<Form>,
    writer: Mutex<Writer>,
    /// The latest time that anybody told.
    now: AtomicU64,
    /// Whether an entry's idle time begins with the next tick.
    starts: AtomicBool,
    /// Number of updates and batches.
    changes: AtomicU64,
    /// How many entries each table has.
    filled: Vec<AtomicUsize>,
    /// Before this time, in picoseconds, no entry has to be deleted because its time has passed.
    soonest: AtomicU64,
}

struct Writer {
    masters: Vec<Master>,
    /// What the side that nobody reads has not seen yet.
    behind: Vec<Change>,
    /// Empty between updates.
    journal: Journal,
}

/// All tables, with no part of any batch that came later. A writer may wait until views that are older than its last change but one are gone: hold
/// one for a packet or a few, and not while changing tables in the same thread, which would wait forever.
pub struct View<'a> {
    tables: RwLockReadGuard<'a, Vec<Table>>,
    side: usize,
    active: &'a AtomicUsize,
}

impl View<'_> {
    /// Whether there is a newer one. Costs next to nothing: who has many packets asks between them, and takes another view.
    #[inline]
    #[must_use]
    pub fn is_old(&self) -> bool {
        self.active.load(Ordering::Relaxed) != self.side
    }

    /// One table.
    ///
    /// # Panics
    /// When the program has no such table.
    #[inline]
    #[must_use]
    pub fn table(&self, table: TableId) -> &Table {
        &self.tables[table.index()]
    }

    /// All of them, by [`TableId::index`].
    #[inline]
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }
}

impl Tables {
    /// The tables of a program, with its default actions and entries.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        Self::build(program, false)
    }

    /// The same with lookups that try one entry after the other, to test and measure against.
    #[doc(hidden)]
    #[must_use]
    pub fn linear(program: &Program) -> Self {
        Self::build(program, true)
    }

    fn build(program: &Program, linear: bool) -> Self {
        let mut journal = Journal::default();
        let masters: Vec<_> = (0..program.tables.len() as u32)
            .map(|index| Master::new(program, TableId(index), &mut journal))
            .collect();
        let forms: Vec<_> = masters.iter().map(|m| m.form.clone()).collect();
        let side = || {
            let mut side: Vec<_> = forms.iter().map(|form| Table::new(form, linear)).collect();
            bring(&mut side, &journal.changes);
            RwLock::new(side)
        };
        let filled = masters.iter().map(|m| AtomicUsize::new(m.len()));
        let filled = filled.collect();
        Tables {
            sides: [side(), side()],
            filled,
            soonest: AtomicU64::new(u64::MAX),
            active: AtomicUsize::new(0),
            forms,
            writer: Mutex::new(Writer {
                masters,
                behind: Vec::new(),
                journal: Journal::default(),
            }),
            now: AtomicU64::new(0),
            starts: AtomicBool::new(false),
            changes: AtomicU64::new(0),
        }
    }

    /// The tables' forms, by [`TableId::index`].
    #[must_use]
    pub fn forms(&self) -> &[Form] {
        &self.forms
    }

    /// The tables as they are now. Never waits for a writer.
    #[inline]
    #[must_use]
    pub fn view(&self) -> View<'_> {
        loop {
            // A writer takes only the side that is not active: this fails when it turned us away in between, and
            // then the other side is free.
            let active = self.active.load(Ordering::Acquire);
            if let Some(tables) = self.sides[active].try_read() {
                return View {
                    tables,
                    side: active,
                    active: &self.active,
                };
            }
            core::hint::spin_loop();
        }
    }

    /// Another number after each update or batch: for who keeps a copy of the tables somewhere else.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Tells the time, which new entries take as that of their last hit.
    pub fn tick(&self, now: Time) {
        self.now.store(now.as_ps(), Ordering::Relaxed);
        if self.starts.load(Ordering::Relaxed) {
            self.start(now);
        }
    }

    /// The idle time of a new entry of the control plane begins with the next tick: the latest one
    /// may be that of a packet from long ago.
    pub(crate) fn start_later(&self, table: TableId, index: u32) {
        let mut writer = self.writer.lock();
        writer.masters[table.index()].start_later(index);
        self.starts.store(true, Ordering::Relaxed);
    }

    #[cold]
    fn start(&self, now: Time) {
        // Packets do not wait for a writer; there will be another tick.
        if let Some(mut writer) = self.writer.try_lock() {
            self.starts.store(false, Ordering::Relaxed);
            writer
                .masters
                .iter_mut()
                .for_each(|master| master.start(now));
        }
    }

    /// One change. Packets that come after it see it.
    ///
    /// # Errors
    /// Why not; then nothing has changed.
    pub fn update(&self, update: &Update) -> Result<Done, TableError> {
        let mut done = None;
        self.write(core::slice::from_ref(update), |d| done = Some(d))
            .map_err(|(_, error)| error)?;
        Ok(done.expect("an update that succeeds says what it did"))
    }

    /// Several changes, which packets see at once or not at all.
    ///
    /// # Errors
    /// Which one was refused, and why; then nothing has changed.
    pub fn batch(&self, updates: &[Update]) -> Result<Vec<Done>, (usize, TableError)> {
        let mut done = Vec::with_capacity(updates.len());
        self.write(updates, |d| done.push(d))?;
        Ok(done)
    }

    fn write(
        &self,
        updates: &[Update],
        mut done: impl FnMut(Done),
    ) -> Result<(), (usize, TableError)> {
        let now = Time::from_ps(self.now.load(Ordering::Relaxed));
        let mut writer = self.writer.lock();
        let mut journal = core::mem::take(&mut writer.journal);
        for (number, update) in updates.iter().enumerate() {
            match writer.apply(update, now, &mut journal) {
                Ok(what) => done(what),
                Err(error) => {
                    while let Some((table, undo)) = journal.undo.pop() {
                        writer.masters[table.index()].undo(undo);
                    }
                    journal.changes.clear();
                    writer.journal = journal;
                    return Err((number, error));
                }
            }
        }
        journal.undo.clear();
        for update in updates {
            self.note(update, &writer.masters, now);
        }
        if journal.changes.is_empty() {
            writer.journal = journal;
            return Ok(());
        }
        // A copy that is made from here on waits for the writer's lock, and has the change.
        self.changes.fetch_add(1, Ordering::Release);
        let active = self.active.load(Ordering::Relaxed);
        if let [change] = journal.changes.as_slice() {
            // Only the other side is ever locked for writing.
            let shown = self.sides[active].read();
            if shown[change.table.index()].try_apply(&change.kind) {
                drop(shown);
                writer.behind.append(&mut journal.changes);
                writer.journal = journal;
                self.catch_up(&mut writer.behind, 1 - active);
                return Ok(());
            }
        }
        let mut side = self.alone(1 - active);
        bring(&mut side, &writer.behind);
        bring(&mut side, &journal.changes);
        drop(side);
        self.active.store(1 - active, Ordering::Release);
        writer.behind.clear();
        writer.behind.append(&mut journal.changes);
        writer.journal = journal;
        Ok(())
    }

    /// Keeps what is known of a table without its lock.
    fn note(&self, update: &Update, masters: &[Master], now: Time) {
        let table = update.table().index();
        let master = &masters[table];
        self.filled[table].store(master.len(), Ordering::Relaxed);
        if !master.form.deletes_idle {
            return;
        }
        let soonest = match update {
            Update::Insert(_, Entry { idle_timeout, .. }) | Update::Expire(_, _, idle_timeout) => {
                match idle_timeout {
                    Some(timeout) => now + *timeout,
                    None => return,
                }
            }
            // Its time may have begun long ago.
            Update::Set(..) | Update::Modify(..) => Time::ZERO,
            _ => return,
        };
        self.soonest.fetch_min(soonest.as_ps(), Ordering::Relaxed);
    }

    /// How many entries a table has, as far as is known without waiting for writers.
    pub(crate) fn filled(&self, table: TableId) -> usize {
        self.filled[table.index()].load(Ordering::Relaxed)
    }

    /// Before this time no entry has to be deleted because its time has passed; none while there
    /// are no such entries.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Time> {
        match self.soonest.load(Ordering::Relaxed) {
            u64::MAX => None,
            soonest => Some(Time::from_ps(soonest)),
        }
    }

    /// Deletes the entries whose time has passed, of tables with `idle_timeout_with_auto_delete`, and says which.
    /// This thread must not hold a view.
    pub fn expire(&self, now: Time) -> Vec<Idle> {
        if self.next_expiry().is_none_or(|soonest| now < soonest) {
            return Vec::new();
        }
        let mut expired = Vec::new();
        let mut writer = self.writer.lock();
        let masters = writer.masters.iter_mut().enumerate();
        for (index, master) in masters.filter(|(_, master)| master.form.deletes_idle) {
            let table = TableId(index as u32);
            let found = master.idle(now).into_iter();
            expired.extend(found.map(|entry| Idle { table, entry }));
        }
        let deleting = writer.masters.iter().filter(|m| m.form.deletes_idle);
        let soonest = deleting.filter_map(Master::next_idle).min();
        let soonest = soonest.map_or(u64::MAX, Time::as_ps);
        self.soonest.store(soonest, Ordering::Relaxed);
        drop(writer);
        // A controller may have deleted one in between.
        expired.retain(|idle| {
            let delete = Update::DeleteHandle(idle.table, idle.entry.handle);
            self.update(&delete).is_ok()
        });
        expired
    }

    /// Brings the side that nobody reads up to date now and then.
    fn catch_up(&self, behind: &mut Vec<Change>, hidden: usize) {
        let [some, most] = BEHIND;
        let side = match behind.len() {
            count if count < some => None,
            count if count < most => self.sides[hidden].try_write(),
            _ => Some(self.alone(hidden)),
        };
        if let Some(mut side) = side {
            bring(&mut side, behind);
            behind.clear();
        }
    }

    /// Waits until the last reader has left a side that is not active.
    fn alone(&self, side: usize) -> RwLockWriteGuard<'_, Vec<Table>> {
        loop {
            for _ in 0..MAX_SPINS {
                if let Some(side) = self.sides[side].try_write() {
                    return side;
                }
                core::hint::spin_loop();
            }
            Yield::relax();
        }
    }

    /// The entries of a table in the order in which they came; none when there is no such table.
    #[must_use]
    pub fn entries(&self, table: TableId) -> Vec<Installed> {
        let writer = self.writer.lock();
        let master = writer.masters.get(table.index());
        master.map_or_else(Vec::new, Master::entries)
    }

    /// How many entries a table has.
    #[must_use]
    pub fn len(&self, table: TableId) -> usize {
        let writer = self.writer.lock();
        writer.masters.get(table.index()).map_or(0, Master::len)
    }

    /// Whether a table has no entries.
    #[must_use]
    pub fn is_empty(&self, table: TableId) -> bool {
        self.len(table) == 0
    }

    /// The entry with these keys and priority.
    ///
    /// # Errors
    /// When there is none, or the keys do not fit the table.
    pub fn get(
        &self,
        table: TableId,
        keys: &[KeyMatch],
        priority: u32,
    ) -> Result<Installed, TableError> {
        let writer = self.writer.lock();
        let master = writer.masters.get(table.index());
        let master = master.ok_or(TableError::NoTable(table.0))?;
        master.get(keys, priority)
    }

    /// The entry with this handle.
    ///
    /// # Errors
    /// When there is none.
    pub fn get_handle(&self, table: TableId, handle: u64) -> Result<Installed, TableError> {
        let writer = self.writer.lock();
        let master = writer.masters.get(table.index());
        let master = master.ok_or(TableError::NoTable(table.0))?;
        let index = master.by_handle(handle)?;
        let installed = master.installed(index);
        installed.ok_or(TableError::NoTable(table.0))
    }

    /// The default action of a table, and whether it is the program's.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn default(&self, table: TableId) -> Result<(Call, bool), TableError> {
        let writer = self.writer.lock();
        let master = writer.masters.get(table.index());
        let master = master.ok_or(TableError::NoTable(table.0))?;
        let (call, is_programs) = master.default();
        Ok((call.clone(), is_programs))
    }

    /// The entries that no packet has hit for their timeout, each once until it is hit again.
    #[must_use]
    pub fn idle(&self, now: Time) -> Vec<Idle> {
        let mut writer = self.writer.lock();
        let mut idle = Vec::new();
        for (index, master) in writer.masters.iter_mut().enumerate() {
            if master.form.idle_timeout && !master.form.deletes_idle {
                let table = TableId(index as u32);
                let found = master.idle(now).into_iter();
                idle.extend(found.map(|entry| Idle { table, entry }));
            }
        }
        idle
    }

    /// When [`Self::idle`] could first have something to say.
    #[must_use]
    pub fn next_idle(&self) -> Option<Time> {
        let writer = self.writer.lock();
        let masters = writer.masters.iter();
        let masters = masters.filter(|m| m.form.idle_timeout && !m.form.deletes_idle);
        masters.filter_map(Master::next_idle).min()
    }
}

impl Writer {
    fn apply(
        &mut self,
        update: &Update,
        now: Time,
        journal: &mut Journal,
    ) -> Result<Done, TableError> {
        let table = update.table();
        let master = self.masters.get_mut(table.index());
        let master = master.ok_or(TableError::NoTable(table.0))?;
        match update {
            Update::Insert(_, entry) => master.insert(entry, now, journal),
            Update::Modify(_, entry) => master.modify(entry, journal),
            Update::Set(_, entry) => master.set(entry, now, journal),
            Update::Delete(_, keys, priority) => master.delete(keys, *priority, journal),
            Update::ModifyHandle(_, handle, call) => master.modify_handle(*handle, call, journal),
            Update::DeleteHandle(_, handle) => master.delete_handle(*handle, journal),
            Update::Expire(_, handle, timeout) => master.expire(*handle, *timeout, now, journal),
            Update::SetDefault(_, call) => master.set_default(Some(call), journal),
            Update::ResetDefault(_) => master.set_default(None, journal),
            Update::Clear(_) => master.clear(journal),
        }
    }
}

fn bring(side: &mut [Table], changes: &[Change]) {
    for change in changes {
        side[change.table.index()].apply(&change.kind);
    }
}
