//! The table as packets see it.

use super::direct::Direct;
use super::form::{Form, MatchKind};
use super::hash::{Exact, grow, zeros};
use super::linear::Linear;
use super::prefix::Trie;
use super::probe::{Lookup, Probe};
use super::rule::Rule;
use super::ternary::Ternary;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering};
use node::Time;
use p4::ir::TableId;

/// So many entries share a piece of memory for the times of their last hits.
pub(super) const HITS: usize = 1024;

/// A change of one table that has been found right.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) table: TableId,
    pub(super) kind: ChangeKind,
}

#[derive(Clone, Debug)]
pub(super) enum ChangeKind {
    Insert {
        index: u32,
        rule: Arc<Rule>,
        row: Arc<[u64]>,
        hits: Option<Arc<[AtomicU64]>>,
    },
    Rewrite {
        index: u32,
        row: Arc<[u64]>,
    },
    Remove {
        index: u32,
        rule: Arc<Rule>,
    },
    Default {
        row: Arc<[u64]>,
    },
}

/// What is done with a packet after a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The action with this index in [`p4::ir::Table::actions`].
    Action(u32),
    /// The member of the table's action profile or selector.
    Member(u32),
    /// The group of the table's action selector.
    Group(u32),
}

/// What a lookup found: an entry, or the default action.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The index of the entry that was hit, for direct counters and meters and [`Table::touch`]; `None` on a miss.
    pub entry: Option<u32>,
    /// What to do.
    pub choice: Choice,
    /// The action's arguments, each in whole cells, one behind the other; what lies behind them has no meaning.
    pub arguments: Arguments<'a>,
}

/// The cells of an action's arguments in a table.
///
/// They are the arguments of one entry as long as the [`super::View`] is there. The control plane may change a single one of them meanwhile,
/// which is seen whole, as it was or as it is.
#[derive(Clone, Copy)]
pub struct Arguments<'a>(&'a [AtomicU64]);

impl Arguments<'_> {
    /// One cell; 0 behind the end.
    #[inline]
    #[must_use]
    pub fn cell(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |c| c.load(Ordering::Relaxed))
    }

    pub fn cells(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|cell| cell.load(Ordering::Relaxed))
    }

    /// Where they are, for code that is made while the program runs.
    #[inline]
    #[must_use]
    pub fn as_ptr(&self) -> *const u64 {
        self.0.as_ptr().cast()
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.cells()).finish()
    }
}

impl PartialEq for Arguments<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cells().eq(other.cells())
    }
}

/// A table to look up in. While a [`super::View`] shows it single entries may come, and single arguments change, each by one store.
#[derive(Debug)]
pub struct Table {
    pub(super) probe: Probe,
    matcher: Matcher,
    key_cells: usize,
    /// Cells of a row.
    stride: usize,
    /// What to do, and the arguments. The first row is the default's, the entry with index `i` has row `i + 1`.
    rows: Vec<AtomicU64>,
    /// By index.
    handles: Vec<AtomicU64>,
    hits: Vec<Arc<[AtomicU64]>>,
    /// Whether a hit leaves an entry's time as it is.
    deletes_idle: bool,
}

/// How entries are found. All give rows, 0 for none.
#[derive(Debug)]
enum Matcher {
    /// There is no key.
    Never,
    Direct(Direct),
    Exact(Exact),
    /// One lpm key of at most 64 bits, and exact ones.
    Short(Trie<u64>),
    /// One lpm key of at most 128 bits, and exact ones.
    Long(Trie<u128>),
    Ternary(Ternary),
    Linear(Linear),
}

impl Matcher {
    fn new(form: &Form, linear: bool) -> Self {
        let prefix = form.keys.iter().find(|k| k.kind == MatchKind::Lpm);
        match prefix.map(|key| key.ty.width()) {
            _ if form.keys.is_empty() => Matcher::Never,
            _ if linear => Matcher::Linear(Linear::new(form)),
            _ if form.has_priorities() => Matcher::Ternary(Ternary::new(form)),
            None if form.lookup() == Lookup::Direct => Matcher::Direct(Direct::default()),
            None => Matcher::Exact(Exact::new(form.key_cells())),
            Some(0..=64) => Matcher::Short(Trie::new(form)),
            Some(65..=128) => Matcher::Long(Trie::new(form)),
            // Nobody routes by more bits than an IPv6 address has.
            Some(_) => Matcher::Linear(Linear::new(form)),
        }
    }

    #[inline]
    fn find(&self, key: &[u64]) -> u32 {
        match self {
            Matcher::Never => 0,
            Matcher::Direct(direct) => direct.find(key[0]),
            Matcher::Exact(exact) => exact.find(key),
            Matcher::Short(trie) => trie.find(key),
            Matcher::Long(trie) => trie.find(key),
            Matcher::Ternary(ternary) => ternary.find(key),
            Matcher::Linear(linear) => linear.find(key),
        }
    }

    fn insert(&mut self, row: u32, rule: &Arc<Rule>) {
        match self {
            Matcher::Never => {}
            Matcher::Direct(direct) => direct.insert(row, rule.pattern.values[0]),
            Matcher::Exact(exact) => exact.insert(row, &rule.pattern.values),
            Matcher::Short(trie) => trie.insert(row, &rule.pattern),
            Matcher::Long(trie) => trie.insert(row, &rule.pattern),
            Matcher::Ternary(ternary) => ternary.insert(row, rule),
            Matcher::Linear(linear) => linear.insert(row, rule),
        }
    }

    /// The same with a key of one cell.
    #[inline]
    fn find_cell(&self, key: u64) -> u32 {
        match self {
            Matcher::Direct(direct) => direct.find(key),
            Matcher::Exact(exact) => exact.find_cell(key),
            Matcher::Short(trie) => trie.find_cell(key),
            _ => self.find(&[key]),
        }
    }

    /// Adds a row by one store while readers are about, if that can be done.
    fn add(&self, row: u32, rule: &Arc<Rule>) -> bool {
        match self {
            Matcher::Direct(direct) => direct.add(row, rule.pattern.values[0]),
            Matcher::Exact(exact) => exact.add(row, &rule.pattern.values),
            Matcher::Short(trie) => trie.add(row, &rule.pattern),
            Matcher::Long(trie) => trie.add(row, &rule.pattern),
            Matcher::Ternary(ternary) => ternary.add(row, rule),
            Matcher::Never | Matcher::Linear(_) => false,
        }
    }

    fn remove(&mut self, row: u32, rule: &Arc<Rule>) {
        match self {
            Matcher::Never => {}
            Matcher::Direct(direct) => direct.remove(rule.pattern.values[0]),
            Matcher::Exact(exact) => exact.remove(row, &rule.pattern.values),
            Matcher::Short(trie) => trie.remove(row, &rule.pattern),
            Matcher::Long(trie) => trie.remove(row, &rule.pattern),
            Matcher::Ternary(ternary) => ternary.remove(row, rule),
            Matcher::Linear(linear) => linear.remove(row, rule),
        }
    }

    /// Words 1 to 4 of the table's probe.
    fn probe(&self) -> [usize; 4] {
        match self {
            Matcher::Direct(direct) => direct.probe(),
            Matcher::Exact(exact) => exact.probe(),
            Matcher::Short(trie) => trie.probe(),
            _ => [0; 4],
        }
    }
}

impl Table {
    /// Where a table's probe stands, in bytes. Its first word is the address of the rows.
    pub const PROBE: usize = offset_of!(Table, probe);

    pub(super) fn new(form: &Form, linear: bool) -> Self {
        let stride = 1 + form.argument_cells();
        let mut table = Table {
            probe: Probe::default(),
            matcher: Matcher::new(form, linear),
            key_cells: form.key_cells(),
            stride,
            rows: zeros(stride),
            handles: Vec::new(),
            hits: Vec::new(),
            deletes_idle: form.deletes_idle,
        };
        table.settle();
        table
    }

    /// Tells the probe where everything is, after anything may have moved.
    fn settle(&mut self) {
        let [one, two, three, four] = self.matcher.probe();
        let rows = self.rows.as_ptr().addr();
        self.probe.set([rows, one, two, three, four]);
    }

    /// Finds what is done with a packet. `key` has the keys of [`super::Form::keys`], each in whole cells, one behind the other; the bits
    /// above a key's width are zero.
    ///
    /// # Panics
    /// When `key` is too short.
    #[inline]
    #[must_use]
    pub fn lookup(&self, key: &[u64]) -> Found<'_> {
        self.found(self.matcher.find(&key[..self.key_cells]))
    }

    /// The same with a key of one cell.
    ///
    /// # Panics
    /// When the key has more cells.
    #[inline]
    #[must_use]
    pub fn lookup_cell(&self, key: u64) -> Found<'_> {
        assert_eq!(self.key_cells, 1, "the key has more cells than one");
        self.found(self.matcher.find_cell(key))
    }

    /// What a row of the matcher means.
    #[inline]
    fn found(&self, row: u32) -> Found<'_> {
        let at = row as usize * self.stride;
        let cells = &self.rows[at..at + self.stride];
        let arguments = Arguments(&cells[1..]);
        let choice = cells[0].load(Ordering::Relaxed);
        let choice = match choice >> 32 {
            0 => Choice::Action(choice as u32),
            1 => Choice::Member(arguments.cell(0) as u32),
            _ => Choice::Group(arguments.cell(0) as u32),
        };
        Found {
            entry: row.checked_sub(1),
            choice,
            arguments,
        }
    }

    /// How many cells the key has.
    #[inline]
    #[must_use]
    pub fn key_cells(&self) -> usize {
        self.key_cells
    }

    /// Notes that a packet hit an entry, for its idle timeout. Costs nothing in tables without.
    #[inline]
    pub fn touch(&self, entry: u32, now: Time) {
        if !self.deletes_idle {
            self.restart(entry, now);
        }
    }

    /// Starts an entry's time again.
    #[inline]
    pub(crate) fn restart(&self, entry: u32, now: Time) {
        if let Some(chunk) = self.hits.get(entry as usize / HITS) {
            chunk[entry as usize % HITS].store(now.as_ps(), Ordering::Relaxed);
        }
    }

    /// The handle of the entry with this index.
    #[must_use]
    pub fn handle(&self, entry: u32) -> Option<u64> {
        let handle = self.handles.get(entry as usize)?;
        Some(handle.load(Ordering::Relaxed))
    }

    /// Makes a change while readers are about, if one store can do it.
    pub(super) fn try_apply(&self, change: &ChangeKind) -> bool {
        match change {
            ChangeKind::Insert {
                index,
                rule,
                row,
                hits,
            } => {
                let number = *index as usize + 1;
                let room = self.rows.len() >= (number + 1) * self.stride
                    && self.handles.len() >= number
                    && (hits.is_none() || self.hits.len() > *index as usize / HITS);
                if !room {
                    return false;
                }
                // Nobody looks at a row that the matcher does not give.
                self.store_row(number, row);
                self.handles[*index as usize].store(rule.handle, Ordering::Relaxed);
                self.matcher.add(*index + 1, rule)
            }
            ChangeKind::Rewrite { index, row } => self.try_rewrite(*index as usize + 1, row),
            ChangeKind::Default { row } => self.try_rewrite(0, row),
            ChangeKind::Remove { .. } => false,
        }
    }

    fn try_rewrite(&self, number: usize, row: &[u64]) -> bool {
        let cells = &self.rows[number * self.stride..(number + 1) * self.stride];
        let pairs = cells.iter().zip(row);
        let differ = pairs.filter(|(cell, value)| cell.load(Ordering::Relaxed) != **value);
        if differ.count() > 1 {
            return false;
        }
        self.store_row(number, row);
        true
    }

    pub(super) fn apply(&mut self, change: &ChangeKind) {
        match change {
            ChangeKind::Insert {
                index,
                rule,
                row,
                hits,
            } => {
                let number = *index as usize + 1;
                grow(&mut self.rows, (number + 1) * self.stride);
                grow(&mut self.handles, number);
                self.store_row(number, row);
                *self.handles[*index as usize].get_mut() = rule.handle;
                if let Some(chunk) = hits
                    && self.hits.len() == *index as usize / HITS
                {
                    self.hits.push(chunk.clone());
                }
                self.matcher.insert(*index + 1, rule);
            }
            ChangeKind::Rewrite { index, row } => self.store_row(*index as usize + 1, row),
            ChangeKind::Remove { index, rule } => self.matcher.remove(*index + 1, rule),
            ChangeKind::Default { row } => self.store_row(0, row),
        }
        self.settle();
    }

    fn store_row(&self, number: usize, row: &[u64]) {
        let cells = &self.rows[number * self.stride..(number + 1) * self.stride];
        for (cell, value) in cells.iter().zip(row) {
            cell.store(*value, Ordering::Relaxed);
        }
    }
}
