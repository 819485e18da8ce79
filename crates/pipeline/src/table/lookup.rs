//! The table as packets see it.

use super::form::{Form, MatchKind};
use super::hash::Exact;
use super::linear::Linear;
use super::pattern::Pattern;
use super::prefix::Trie;
use super::rank::Rank;
use super::ternary::Ternary;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use node::Time;
use p4::ir::TableId;

/// So many entries share a piece of memory for the times of their last hits.
pub(super) const HITS: usize = 1024;

/// What an entry matches, and who wins.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) pattern: Arc<Pattern>,
    /// The larger wins; of two equals the older.
    pub(super) priority: u32,
    pub(super) handle: u64,
}

impl Rule {
    /// The smaller wins.
    pub(super) fn rank(&self) -> Rank {
        (core::cmp::Reverse(self.priority), self.handle)
    }
}

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
    pub arguments: &'a [u64],
}

/// A table to look up in. It never changes while a [`super::View`] shows it.
#[derive(Debug)]
pub struct Table {
    matcher: Matcher,
    key_cells: usize,
    /// Cells of a row.
    stride: usize,
    /// What to do, and the arguments. The first row is the default's, the entry with index `i` has row `i + 1`.
    rows: Vec<u64>,
    /// By index.
    handles: Vec<u64>,
    hits: Vec<Arc<[AtomicU64]>>,
}

/// How entries are found. All give rows, 0 for none.
#[derive(Debug)]
enum Matcher {
    /// There is no key.
    Never,
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
            Matcher::Exact(exact) => exact.insert(row, &rule.pattern.values),
            Matcher::Short(trie) => trie.insert(row, &rule.pattern),
            Matcher::Long(trie) => trie.insert(row, &rule.pattern),
            Matcher::Ternary(ternary) => ternary.insert(row, rule),
            Matcher::Linear(linear) => linear.insert(row, rule),
        }
    }

    fn remove(&mut self, row: u32, rule: &Rule) {
        match self {
            Matcher::Never => {}
            Matcher::Exact(exact) => exact.remove(row, &rule.pattern.values),
            Matcher::Short(trie) => trie.remove(row, &rule.pattern),
            Matcher::Long(trie) => trie.remove(row, &rule.pattern),
            Matcher::Ternary(ternary) => ternary.remove(row, rule),
            Matcher::Linear(linear) => linear.remove(row, rule),
        }
    }
}

impl Table {
    pub(super) fn new(form: &Form, linear: bool) -> Self {
        let stride = 1 + form.argument_cells();
        Table {
            matcher: Matcher::new(form, linear),
            key_cells: form.key_cells(),
            stride,
            rows: vec![0; stride],
            handles: Vec::new(),
            hits: Vec::new(),
        }
    }

    /// Finds what is done with a packet. `key` has the keys of [`super::Form::keys`], each in whole cells, one behind the other; the bits
    /// above a key's width are zero.
    ///
    /// # Panics
    /// When `key` is too short.
    #[inline]
    #[must_use]
    pub fn lookup(&self, key: &[u64]) -> Found<'_> {
        let row = self.matcher.find(&key[..self.key_cells]);
        let at = row as usize * self.stride;
        let cells = &self.rows[at..at + self.stride];
        let choice = match cells[0] >> 32 {
            0 => Choice::Action(cells[0] as u32),
            1 => Choice::Member(cells[1] as u32),
            _ => Choice::Group(cells[1] as u32),
        };
        Found {
            entry: row.checked_sub(1),
            choice,
            arguments: &cells[1..],
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
        if let Some(chunk) = self.hits.get(entry as usize / HITS) {
            chunk[entry as usize % HITS].store(now.as_ps(), Ordering::Relaxed);
        }
    }

    /// The handle of the entry with this index.
    #[must_use]
    pub fn handle(&self, entry: u32) -> Option<u64> {
        self.handles.get(entry as usize).copied()
    }

    pub(super) fn apply(&mut self, change: &ChangeKind) {
        match change {
            ChangeKind::Insert {
                index,
                rule,
                row,
                hits,
            } => {
                let row_number = *index as usize + 1;
                if self.rows.len() < (row_number + 1) * self.stride {
                    self.rows.resize((row_number + 1) * self.stride, 0);
                    self.handles.resize(row_number, 0);
                }
                self.write_row(row_number, row);
                self.handles[*index as usize] = rule.handle;
                if let Some(chunk) = hits
                    && self.hits.len() == *index as usize / HITS
                {
                    self.hits.push(chunk.clone());
                }
                self.matcher.insert(*index + 1, rule);
            }
            ChangeKind::Rewrite { index, row } => self.write_row(*index as usize + 1, row),
            ChangeKind::Remove { index, rule } => self.matcher.remove(*index + 1, rule),
            ChangeKind::Default { row } => self.write_row(0, row),
        }
    }

    fn write_row(&mut self, number: usize, row: &[u64]) {
        self.rows[number * self.stride..(number + 1) * self.stride].copy_from_slice(row);
    }
}
