//! Standing windows: groups and aggregates kept up to date as rows enter and leave a window.
//!
//! The cost of a row does not depend on the size of the window. Each slot of the ring stores the group
//! of its row, so that a row leaves without a lookup of its key. Sums of integers have 128 bits
//! and sums of real numbers are [exact](crate::exact), so that rows that have left leave no
//! rounding error. For a minimum or maximum, a list through the slots of the ring links the rows of
//! a group that may still become it.

mod group;

use crate::answer::Answer;
use crate::extent::Extent;
use crate::ring::Ring;
use crate::select::{Aggregate, Catalog, Function, Item, Select};
use crate::value::{Owned, Value};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use group::{Groups, Link, NO_SLOT, State};

/// Group of a slot whose row is not in the window or does not match the condition.
const NO_GROUP: u32 = u32::MAX;
/// Group of a slot whose row is in no group, since there were too many.
const REFUSED: u32 = u32::MAX - 1;

/// A standing window over one ring.
pub(crate) struct Standing {
    select: Select,
    /// Rows in the window: `first..next` of those that have been added.
    first: u64,
    next: u64,
    group_of: Box<[u32]>,
    groups: Groups,
    /// For each aggregate that is a minimum or maximum, the links of each slot.
    links: Vec<Box<[Link]>>,
    /// Rows in the window that are in no group, since there are too many groups.
    refused: u64,
    key: Vec<u8>,
    /// Groups that changed since they were last compared with HAVING; `None` without HAVING.
    touched: Option<Vec<u32>>,
}

impl Standing {
    /// An empty window over a ring of `rows` rows, with at most `max_groups` groups.
    pub fn new(
        select: Select,
        rows: usize,
        max_groups: usize,
        seed: [u64; 2],
        watch: bool,
    ) -> Standing {
        let extremes = select
            .aggregates
            .iter()
            .filter(|aggregate| aggregate.is_extreme());
        let links = extremes.map(|_| vec![Link::default(); rows].into_boxed_slice());
        Standing {
            first: 0,
            next: 0,
            group_of: vec![NO_GROUP; rows].into_boxed_slice(),
            links: links.collect(),
            groups: Groups::new(&select.aggregates, max_groups.min(rows), seed),
            refused: 0,
            key: Vec::new(),
            touched: watch.then(Vec::new),
            select,
        }
    }

    /// Maximum memory of such a window, bytes.
    pub fn cost(select: &Select, catalog: &Catalog<'_>, rows: usize, max_groups: usize) -> u64 {
        let extremes = select
            .aggregates
            .iter()
            .filter(|aggregate| aggregate.is_extreme());
        let slot = size_of::<u32>() + extremes.count() * size_of::<Link>();
        let key = catalog.key_len(select.table, &select.keys);
        let group = Groups::cost(&select.aggregates, key);
        (rows * slot) as u64 + (max_groups.min(rows) * group) as u64
    }

    /// Rows in the window that are in no group, since there are too many groups.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Adds the rows that are in the ring already.
    pub fn prime(&mut self, ring: &Ring, now: i64) {
        (self.first, self.next) = (ring.first(), ring.first());
        while self.next < ring.next() {
            self.add(ring, self.next);
        }
        self.expire(ring, now, |_, _, _| {});
    }

    /// Removes the rows before row `first`, which are about to be overwritten.
    pub fn overwrite(&mut self, ring: &Ring, first: u64) {
        while self.first < first.min(self.next) {
            self.remove_first(ring);
        }
    }

    /// Adds the row that was just inserted.
    pub fn add(&mut self, ring: &Ring, row: u64) {
        self.next = row + 1;
        let time = ring.time(row);
        match self.select.extent {
            Extent::Now => {
                while self.first < row && ring.time(self.first) < time {
                    self.remove_first(ring);
                }
            }
            Extent::Rows(rows) => {
                while row - self.first >= rows.max(1) {
                    self.remove_first(ring);
                }
            }
            Extent::Since(_) | Extent::All | Extent::Range(_) => {}
        }
        let slot = ring.slot(row);
        let outside = match self.select.extent {
            Extent::Since(since) => time <= since,
            Extent::Rows(rows) => rows == 0,
            _ => false,
        };
        self.group_of[slot] = NO_GROUP;
        if outside {
            // No earlier row is inside either.
            self.first = self.next;
            return;
        }
        let condition = self.select.condition.as_ref();
        if condition.is_none_or(|condition| condition.holds(&|column| ring.value_in(slot, column)))
        {
            self.enter(ring, slot);
        }
    }

    fn enter(&mut self, ring: &Ring, slot: usize) {
        self.key.clear();
        for key in &self.select.keys {
            ring.value_in(slot, *key).encode(&mut self.key);
        }
        let mut group = self.groups.find_or_add(&self.key);
        if group.is_none() && self.sweep() {
            group = self.groups.find_or_add(&self.key);
        }
        let Some(group) = group else {
            self.group_of[slot] = REFUSED;
            self.refused += 1;
            return;
        };
        self.group_of[slot] = group;
        self.groups.rows(group, 1);
        let mut extreme = 0;
        for (index, aggregate) in self.select.aggregates.iter().enumerate() {
            let value = aggregate.value(ring, slot);
            match self.groups.state(group, index) {
                State::Extreme { head, tail } => {
                    let links = &mut self.links[extreme];
                    extreme += 1;
                    if value == Value::Null {
                        continue;
                    }
                    // Rows that leave earlier and are no better can never be the result.
                    while *tail != NO_SLOT
                        && !aggregate.better(aggregate.value(ring, *tail as usize), value)
                    {
                        *tail = links[*tail as usize].before;
                    }
                    links[slot] = Link {
                        before: *tail,
                        after: NO_SLOT,
                    };
                    match *tail {
                        NO_SLOT => *head = slot as u32,
                        last => links[last as usize].after = slot as u32,
                    }
                    *tail = slot as u32;
                }
                state => state.add(value),
            }
        }
        self.touch(group);
    }

    /// Removes empty groups that wait to be compared; returns whether there were any. They are not
    /// over any threshold, and the row that needs their place is in none of them.
    fn sweep(&mut self) -> bool {
        let Some(touched) = &mut self.touched else {
            return false;
        };
        let before = touched.len();
        touched.retain(|group| {
            let is_empty = self.groups.is_empty(*group);
            if is_empty {
                self.groups.remove(*group);
            }
            !is_empty
        });
        touched.len() < before
    }

    fn remove_first(&mut self, ring: &Ring) {
        let slot = ring.slot(self.first);
        self.first += 1;
        let group = core::mem::replace(&mut self.group_of[slot], NO_GROUP);
        match group {
            NO_GROUP => return,
            REFUSED => {
                self.refused -= 1;
                return;
            }
            _ => {}
        }
        let mut extreme = 0;
        for (index, aggregate) in self.select.aggregates.iter().enumerate() {
            match self.groups.state(group, index) {
                State::Extreme { head, tail } => {
                    let links = &mut self.links[extreme];
                    extreme += 1;
                    if *head != slot as u32 {
                        continue;
                    }
                    *head = links[slot].after;
                    match *head {
                        NO_SLOT => *tail = NO_SLOT,
                        next => links[next as usize].before = NO_SLOT,
                    }
                }
                state => state.remove(aggregate.value(ring, slot)),
            }
        }
        self.groups.rows(group, -1);
        // A group without rows remains until it has been compared.
        if !self.touch(group) && self.groups.is_empty(group) {
            self.groups.remove(group);
        }
    }

    /// Records a change of a group; returns whether changes are recorded.
    fn touch(&mut self, group: u32) -> bool {
        let Some(touched) = &mut self.touched else {
            return false;
        };
        if self.groups.mark_touched(group) {
            touched.push(group);
        }
        true
    }

    /// Removes rows whose time in the window ends by `now`. Calls `instant` after each time before
    /// `now` at which rows left.
    pub fn expire(
        &mut self,
        ring: &Ring,
        now: i64,
        mut instant: impl FnMut(&mut Standing, &Ring, i64),
    ) {
        let Extent::Range(range) = self.select.extent else {
            return;
        };
        let mut last = None;
        while self.first < self.next {
            // The first time at which the row is outside.
            let end = ring.time(self.first).saturating_add(range);
            if end > now {
                break;
            }
            if let Some(last) = last
                && last < end
            {
                instant(self, ring, last);
            }
            last = Some(end);
            self.remove_first(ring);
        }
        if let Some(last) = last
            && last < now
        {
            instant(self, ring, last);
        }
    }

    /// Compares the groups that changed with HAVING; calls `rise` with the outputs of each for which
    /// it has become true.
    pub fn compare(&mut self, ring: &Ring, mut rise: impl FnMut(Vec<Owned>)) {
        let Some(mut touched) = self.touched.take() else {
            return;
        };
        for group in touched.drain(..) {
            let is_over = self.passes(ring, group);
            if self.groups.set_over(group, is_over) {
                rise(self.outputs(ring, group));
            }
            if self.groups.is_empty(group) && !self.select.keys.is_empty() {
                self.groups.remove(group);
            }
        }
        self.touched = Some(touched);
    }

    /// Compares all groups, at the start.
    pub fn compare_all(&mut self, ring: &Ring, rise: impl FnMut(Vec<Owned>)) {
        if self.select.keys.is_empty() {
            // The only group exists without rows, too.
            self.groups.find_or_add(&[]);
        }
        self.groups.sort();
        let groups = self.groups.listed().to_vec();
        groups.into_iter().for_each(|group| {
            self.touch(group);
        });
        self.compare(ring, rise);
    }

    fn passes(&self, ring: &Ring, group: u32) -> bool {
        if self.groups.is_empty(group) && !self.select.keys.is_empty() {
            return false;
        }
        let keys = self.select.keys.len();
        let having = self.select.having.as_ref();
        having.is_none_or(|having| {
            having.holds(&|item| match item.checked_sub(keys) {
                None => self.groups.key(group, item),
                Some(aggregate) => self.aggregate(ring, group, aggregate),
            })
        })
    }

    fn aggregate<'r>(&'r self, ring: &'r Ring, group: u32, index: usize) -> Value<'r> {
        let aggregate = &self.select.aggregates[index];
        match self.groups.read(group, index) {
            State::Extreme { head: NO_SLOT, .. } => Value::Null,
            State::Extreme { head, .. } => aggregate.value(ring, *head as usize),
            state => state.value(aggregate.function),
        }
    }

    fn outputs(&self, ring: &Ring, group: u32) -> Vec<Owned> {
        let outputs = self.select.outputs.iter();
        outputs
            .map(|output| match output.item {
                Item::Key(key) => self.groups.key(group, key).to_owned(),
                Item::Aggregate(index) => self.aggregate(ring, group, index).to_owned(),
            })
            .collect()
    }

    /// The answer at a time, which must not decrease between calls. Rows are in the order of
    /// their group.
    pub fn answer(&mut self, ring: &Ring, now: i64) -> Answer {
        self.expire(ring, now, |_, _, _| {});
        if self.select.keys.is_empty() {
            self.groups.find_or_add(&[]);
        }
        self.groups.sort();
        let this = &*self;
        let groups = this.groups.listed().iter().copied();
        let rows = groups
            .filter(|group| this.passes(ring, *group))
            .map(|group| this.outputs(ring, group))
            .collect();
        Answer {
            columns: self.select.outputs.iter().map(|o| o.name.clone()).collect(),
            rows,
            missing: self.refused,
            is_cut: self.select.extent.is_cut(ring, &(self.first..self.next)),
        }
    }
}

impl Aggregate {
    fn is_extreme(&self) -> bool {
        matches!(self.function, Function::Min | Function::Max)
    }

    /// The value that a row has for it; an integer for `count(*)`.
    fn value<'r>(&self, ring: &'r Ring, slot: usize) -> Value<'r> {
        match self.column {
            Some(column) => ring.value_in(slot, column),
            None => Value::Integer(1),
        }
    }

    /// Whether the first of two values wins even when the second comes later.
    fn better(&self, first: Value<'_>, second: Value<'_>) -> bool {
        let order = first.order(second);
        match self.function {
            Function::Min => order == Ordering::Less,
            _ => order == Ordering::Greater,
        }
    }
}
