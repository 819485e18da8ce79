//! Flow tables: tuple-space search, with all that flow-mods and statistics need.
//!
//! A table has a hash table for each mask that its entries use ([tuple space
//! search](https://doi.org/10.1145/316188.316216)). A lookup goes through the masks by the highest priority of their
//! entries, leaves out those that filters of parts of the key rule out, and ends when no mask that is left can have a
//! better one. Entries of all tables are in one store, so that an
//! entry is known by one number: its index, of which a [`Flow`] says what is there.
//!
//! Whoever remembers a lookup asks [`Flows::holds`] whether it still is true: a table keeps its last changes, and
//! an answer stands as long as no entry that matches its key has come or gone.
//!
//! What is asked beside lookups is cheap as well: strict changes are one hash lookup, others look at the masks that
//! can have a match only; entries of a cookie are a list; timeouts are a heap, and an idle timeout moves only when it goes
//! off; counters are apart from what packets do not touch.

mod bloom;
mod expiry;
mod filter;
mod log;
mod lookup;
mod tuple;

#[cfg(test)]
mod tests;

use crate::key::{Key, Pattern};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use expiry::Expiry;
use filter::Filters;
use log::Log;
pub use lookup::Batch;
use node::Time;
use tuple::{NONE, Tuple};

/// The number of an entry, as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    /// Its index: small, and used again when the entry is gone.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The entry of this index.
    pub(crate) fn from_index(index: u32) -> FlowId {
        FlowId(index)
    }
}

/// What an entry is made from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    pub table: u8,
    /// Which of several matches wins: the higher. Above 65,535 is for 1.0, where entries without wildcards are above all others.
    pub rank: u32,
    /// The controller's name for it.
    pub cookie: u64,
    /// Seconds without a packet after which it goes; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which it goes; 0 for never.
    pub hard_timeout: u16,
    /// Flags, as in a flow-mod.
    pub flags: u16,
    /// Whether it is for packets that nothing else matches: it matches all, with the lowest rank.
    pub is_table_miss: bool,
    /// What it does: a number that its owner gives.
    pub program: u32,
    /// When it was made.
    pub created: Time,
}

/// What packets change in an entry, and what they need of it: all in half a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub struct Hot {
    /// Packets that matched.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the last one did; when the entry was made, if none did.
    pub used: Time,
    /// What the entry does, as in [`Flow::program`].
    pub program: u32,
    /// As [`Flow::is_table_miss`].
    pub is_table_miss: bool,
    /// Whether there is an entry.
    live: bool,
}

/// An entry beside its hot part: where it is in its tuple and its lists.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: Flow,
    tuple: u32,
    node: u32,
    /// The next entry of the same value, of lower rank.
    next: u32,
    /// Neighbours among the entries of this cookie.
    cookie_next: u32,
    cookie_previous: u32,
    /// Distinguishes those that have had this number.
    serial: u32,
}

#[derive(Debug, Default)]
struct Table {
    tuples: Vec<Option<Tuple>>,
    /// By descending highest rank.
    order: Vec<u32>,
    by_mask: BTreeMap<Key, u32>,
    entries: usize,
    /// Changes when masks come or go.
    shape: u64,
    /// From the time when there were enough masks until the table is empty.
    filters: Option<Filters>,
    log: Log,
}

/// Minimum number of masks at which filters pay.
const MIN_FILTERED_MASKS: usize = 3;

impl Table {
    /// A tuple that is there.
    #[inline]
    fn tuple(&self, number: u32) -> &Tuple {
        let tuple = self.tuples[number as usize].as_ref();
        tuple.expect("an entry's tuple is there")
    }

    /// Gives a new tuple its filters; all of them, when there are enough for the first time.
    fn filter(&mut self, number: u32, seed: u64) {
        let is_first = self.filters.is_none();
        if is_first && self.order.len() < MIN_FILTERED_MASKS {
            return;
        }
        let filters = self.filters.get_or_insert_default();
        let new = match is_first {
            true => 0..self.tuples.len(),
            false => number as usize..number as usize + 1,
        };
        for tuple in self.tuples[new].iter_mut().flatten() {
            tuple.filters = filters.join(&tuple.mask, seed);
            tuple.filter();
            for node in 0..tuple.len() {
                filters.insert(&tuple.filters, &tuple.value(node));
            }
        }
        if is_first {
            (0..filters.len() as u32).for_each(|filter| build(filters, &self.tuples, filter));
        }
    }

    /// Tells a tuple's filters of a new value.
    fn filter_in(&mut self, number: u32, value: &Key) {
        if let (Some(filters), Some(tuple)) = (&mut self.filters, &self.tuples[number as usize])
            && filters.insert(&tuple.filters, value)
        {
            build_due(filters, &self.tuples, &tuple.filters);
        }
    }

    /// Tells a tuple's filters that a value has gone.
    fn filter_out(&mut self, number: u32) {
        if let (Some(filters), Some(tuple)) = (&mut self.filters, &self.tuples[number as usize])
            && filters.remove(&tuple.filters)
        {
            build_due(filters, &self.tuples, &tuple.filters);
        }
    }
}

fn build_due(filters: &mut Filters, tuples: &[Option<Tuple>], numbers: &[u32]) {
    for &number in numbers {
        if filters.is_due(number) {
            build(filters, tuples, number);
        }
    }
}

fn build(filters: &mut Filters, tuples: &[Option<Tuple>], number: u32) {
    let tuples = tuples.iter().flatten();
    let having = tuples.filter(|tuple| tuple.filters.contains(&number));
    let values = having.flat_map(|tuple| (0..tuple.len()).map(|node| tuple.value(node)));
    filters.build(number, values);
}

/// Which entries a change or a question is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// The table; `None` for all.
    pub table: Option<u8>,
    /// The match: entries at least as specific.
    pub pattern: Pattern,
    /// With `Some`, only the entry of exactly this match and rank.
    pub strict: Option<u32>,
    /// The bits of the cookie.
    pub cookie: u64,
    /// Which bits of the cookie count.
    pub cookie_mask: u64,
}

/// Why an entry went of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// No packet for its idle timeout.
    Idle,
    /// Its hard timeout has passed.
    Hard,
}

/// The entries of all tables.
#[derive(Debug)]
pub struct Flows {
    tables: Vec<Table>,
    entries: Vec<Entry>,
    hot: Vec<Hot>,
    free: Vec<u32>,
    cookies: BTreeMap<u64, u32>,
    expiry: Expiry,
    serial: u32,
    seed: u64,
}

impl Flows {
    /// So many empty tables, 256 at most. Hashes depend on the seed, so that nobody who does not know it can choose
    /// flows that collide.
    pub fn new(tables: usize, seed: u64) -> Flows {
        Flows {
            tables: (0..tables.min(256)).map(|_| Table::default()).collect(),
            entries: Vec::new(),
            hot: Vec::new(),
            free: Vec::new(),
            cookies: BTreeMap::new(),
            expiry: Expiry::default(),
            serial: 0,
            seed,
        }
    }

    /// How many tables there are.
    pub fn tables(&self) -> usize {
        self.tables.len()
    }

    /// How many entries a table has.
    pub fn len(&self, table: u8) -> usize {
        self.tables
            .get(usize::from(table))
            .map_or(0, |table| table.entries)
    }

    /// Whether a table has none.
    pub fn is_empty(&self, table: u8) -> bool {
        self.len(table) == 0
    }

    /// How many masks the entries of a table use.
    pub fn masks(&self, table: u8) -> usize {
        self.tables
            .get(usize::from(table))
            .map_or(0, |table| table.order.len())
    }

    /// Changes when a table has other masks than before.
    #[inline]
    pub fn shape(&self, table: u8) -> u64 {
        self.tables[usize::from(table)].shape
    }

    /// How many entries have come to a table and gone from it, and one. What an entry does is not counted.
    #[inline]
    pub fn changes(&self, table: u8) -> u64 {
        self.tables[usize::from(table)].log.changes()
    }

    /// Whether what was looked up for a key when a table had seen so many [changes](Flows::changes) is still true: no
    /// entry that matches the key has come or gone. When there have been too many changes to look at, it says no.
    #[inline]
    pub fn holds(&self, table: u8, key: &Key, since: u64) -> bool {
        self.tables[usize::from(table)].log.holds(key, since)
    }

    /// The bits of a key that any entry of a table looks at.
    pub fn used_bits(&self, table: u8) -> Key {
        let tuples = self.tables[usize::from(table)].tuples.iter().flatten();
        tuples.fold(Key::ZERO, |used, tuple| used.or(&tuple.mask))
    }

    /// What an entry is.
    pub fn flow(&self, id: FlowId) -> &Flow {
        &self.entries[id.index()].flow
    }

    /// What packets change in an entry.
    #[inline]
    pub fn hot(&self, id: FlowId) -> &Hot {
        &self.hot[id.index()]
    }

    /// Counts a packet.
    #[inline]
    pub fn count(&mut self, id: FlowId, bytes: u64, now: Time) -> &Hot {
        let hot = &mut self.hot[id.index()];
        hot.packets += 1;
        hot.bytes += bytes;
        hot.used = now;
        hot
    }

    /// A packet of which only the time counts.
    #[inline]
    pub fn mark_used(&mut self, id: FlowId, now: Time) {
        self.hot[id.index()].used = now;
    }

    /// Gives an entry another name.
    pub fn set_cookie(&mut self, id: FlowId, cookie: u64) {
        self.unlist_cookie(id.0);
        let entry = &mut self.entries[id.index()];
        entry.flow.cookie = cookie;
        (entry.cookie_next, entry.cookie_previous) = (NONE, NONE);
        self.list_cookie(id.0);
    }

    /// Gives an entry the counters and the age that it had.
    pub fn restore(&mut self, id: FlowId, had: Hot) {
        let hot = &mut self.hot[id.index()];
        *hot = Hot {
            live: true,
            program: hot.program,
            is_table_miss: hot.is_table_miss,
            ..had
        };
    }

    /// Sets the counters of an entry to what another had.
    pub fn set_counts(&mut self, id: FlowId, packets: u64, bytes: u64) {
        let hot = &mut self.hot[id.index()];
        (hot.packets, hot.bytes) = (packets, bytes);
    }

    /// Sets the counters of an entry to zero.
    pub fn reset_counts(&mut self, id: FlowId) {
        let hot = &mut self.hot[id.index()];
        (hot.packets, hot.bytes) = (0, 0);
    }

    /// Gives an entry something else to do; says what it was.
    pub fn set_program(&mut self, id: FlowId, program: u32) -> u32 {
        self.entries[id.index()].flow.program = program;
        core::mem::replace(&mut self.hot[id.index()].program, program)
    }

    /// What an entry matches.
    pub fn pattern(&self, id: FlowId) -> Pattern {
        let entry = &self.entries[id.index()];
        let tuple = self.tuple(entry.flow.table, entry.tuple);
        Pattern {
            mask: tuple.mask,
            value: tuple.value(entry.node as usize),
        }
    }

    fn tuple(&self, table: u8, number: u32) -> &Tuple {
        self.tables[usize::from(table)].tuple(number)
    }

    fn tuple_mut(&mut self, table: u8, number: u32) -> &mut Tuple {
        let tuple = &mut self.tables[usize::from(table)].tuples[number as usize];
        tuple.as_mut().expect("an entry's tuple is there")
    }

    /// The entries of a chain, by descending rank.
    fn chain(&self, head: u32) -> impl Iterator<Item = u32> + '_ {
        let some = |entry: u32| (entry != NONE).then_some(entry);
        core::iter::successors(some(head), move |&entry| {
            some(self.entries[entry as usize].next)
        })
    }

    /// The entry of exactly this match and rank.
    pub fn find(&self, table: u8, pattern: &Pattern, rank: u32) -> Option<FlowId> {
        let place = self.tables.get(usize::from(table))?;
        let tuple = self.tuple(table, *place.by_mask.get(&pattern.mask)?);
        let head = tuple.head(tuple.find(&pattern.value)?);
        self.chain(head)
            .find(|&entry| self.entries[entry as usize].flow.rank == rank)
            .map(FlowId)
    }

    /// An entry of the same rank that some key matches as well as this pattern.
    pub fn overlapping(&self, table: u8, pattern: &Pattern, rank: u32) -> Option<FlowId> {
        let place = self.tables.get(usize::from(table))?;
        let ranked = |head: u32| {
            self.chain(head)
                .find(|&entry| self.entries[entry as usize].flow.rank == rank)
                .map(FlowId)
        };
        for tuple in place.tuples.iter().flatten().filter(|t| t.has_rank(rank)) {
            if tuple.mask.is_within(&pattern.mask) {
                let found = tuple.find(&pattern.value);
                if let Some(found) = found.and_then(|node| ranked(tuple.head(node))) {
                    return Some(found);
                }
                continue;
            }
            let common = tuple.mask.and(&pattern.mask);
            let wanted = pattern.value.and(&common);
            for node in 0..tuple.len() {
                if tuple.value(node).and(&common) == wanted
                    && let Some(found) = ranked(tuple.head(node))
                {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Puts an entry in, and says which. An entry of the same match and rank must not be there.
    ///
    /// # Panics
    /// When there is no such table.
    pub fn add(&mut self, pattern: &Pattern, flow: Flow) -> FlowId {
        self.serial = self.serial.wrapping_add(1);
        let hot = Hot {
            used: flow.created,
            program: flow.program,
            is_table_miss: flow.is_table_miss,
            live: true,
            ..Hot::default()
        };
        let entry = Entry {
            flow,
            tuple: 0,
            node: 0,
            next: NONE,
            cookie_next: NONE,
            cookie_previous: NONE,
            serial: self.serial,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                self.hot[id as usize] = hot;
                id
            }
            None => {
                self.entries.push(entry);
                self.hot.push(hot);
                (self.entries.len() - 1) as u32
            }
        };
        self.place(id, pattern);
        self.list_cookie(id);
        let deadline = self.deadline(id);
        self.expiry.push(deadline, id, self.serial);
        FlowId(id)
    }

    /// Puts an entry into its tuple.
    fn place(&mut self, id: u32, pattern: &Pattern) {
        let Flow { table, rank, .. } = self.entries[id as usize].flow;
        let seed = self.seed;
        let place = &mut self.tables[usize::from(table)];
        place.entries += 1;
        place.log.push(pattern);
        let number = match place.by_mask.get(&pattern.mask) {
            Some(&number) => number,
            None => {
                let vacant = place.tuples.iter().position(Option::is_none);
                let number = vacant.unwrap_or(place.tuples.len());
                if vacant.is_none() {
                    place.tuples.push(None);
                }
                place.tuples[number] = Some(Tuple::new(pattern.mask, seed));
                place.by_mask.insert(pattern.mask, number as u32);
                place.order.push(number as u32);
                place.shape += 1;
                place.filter(number as u32, seed);
                number as u32
            }
        };
        let tuple = self.tuple_mut(table, number);
        let (node, head) = match tuple.find(&pattern.value) {
            Some(node) => (node, tuple.head(node)),
            None => {
                let node = tuple.insert(&pattern.value);
                self.tables[usize::from(table)].filter_in(number, &pattern.value);
                (node, NONE)
            }
        };
        let tuple = self.tuple_mut(table, number);
        let reorder = tuple.count(rank) || tuple.len() == 1;
        // The place in the chain is behind all of a higher rank.
        let before = self
            .chain(head)
            .take_while(|&entry| self.entries[entry as usize].flow.rank > rank)
            .last();
        let next = match before {
            None => {
                self.tuple_mut(table, number).set_head(node, id, rank);
                head
            }
            Some(before) => core::mem::replace(&mut self.entries[before as usize].next, id),
        };
        let entry = &mut self.entries[id as usize];
        (entry.tuple, entry.node, entry.next) = (number, node as u32, next);
        if reorder {
            self.reorder(table);
        }
    }

    fn reorder(&mut self, table: u8) {
        let place = &mut self.tables[usize::from(table)];
        let tuples = &place.tuples;
        let highest = |number: u32| tuples[number as usize].as_ref().map_or(0, |t| t.highest);
        place
            .order
            .sort_by_key(|&number| core::cmp::Reverse(highest(number)));
    }

    fn list_cookie(&mut self, id: u32) {
        let cookie = self.entries[id as usize].flow.cookie;
        if let Some(next) = self.cookies.insert(cookie, id) {
            self.entries[id as usize].cookie_next = next;
            self.entries[next as usize].cookie_previous = id;
        }
    }

    fn unlist_cookie(&mut self, id: u32) {
        let Entry {
            flow,
            cookie_next: next,
            cookie_previous: previous,
            ..
        } = self.entries[id as usize];
        if next != NONE {
            self.entries[next as usize].cookie_previous = previous;
        }
        if previous != NONE {
            self.entries[previous as usize].cookie_next = next;
        } else if next != NONE {
            self.cookies.insert(flow.cookie, next);
        } else {
            self.cookies.remove(&flow.cookie);
        }
    }

    /// Takes an entry out, and says what it was.
    pub fn remove(&mut self, id: FlowId) -> (Flow, Hot) {
        self.unlist_cookie(id.0);
        let Entry {
            flow,
            tuple: number,
            node,
            next,
            ..
        } = self.entries[id.index()];
        let node = node as usize;
        let pattern = self.pattern(id);
        self.tables[usize::from(flow.table)].log.push(&pattern);
        let tuple = self.tuple_mut(flow.table, number);
        let head = tuple.head(node);
        let mut reorder = tuple.discount(flow.rank);
        if head != id.0 {
            let before = self
                .chain(head)
                .find(|&entry| self.entries[entry as usize].next == id.0)
                .expect("an entry is in its chain");
            self.entries[before as usize].next = next;
        } else if next != NONE {
            let rank = self.entries[next as usize].flow.rank;
            let tuple = self.tuple_mut(flow.table, number);
            tuple.set_head(node, next, rank);
        } else {
            reorder |= self.remove_node(flow.table, number, node);
        }
        if reorder {
            self.reorder(flow.table);
        }
        self.tables[usize::from(flow.table)].entries -= 1;
        self.free.push(id.0);
        self.hot[id.index()].live = false;
        if flow.idle_timeout != 0 || flow.hard_timeout != 0 {
            let (entries, hot) = (&self.entries, &self.hot);
            self.expiry.forget(|entry, serial| {
                hot[entry as usize].live && entries[entry as usize].serial == serial
            });
        }
        (flow, self.hot[id.index()])
    }

    /// Takes a value out of a tuple, and the tuple out of the table if it was the last; says whether it was.
    fn remove_node(&mut self, table: u8, number: u32, node: usize) -> bool {
        let tuple = self.tuple_mut(table, number);
        if tuple.remove(node).is_some() {
            let mut moved = tuple.head(node);
            while moved != NONE {
                self.entries[moved as usize].node = node as u32;
                moved = self.entries[moved as usize].next;
            }
        }
        let place = &mut self.tables[usize::from(table)];
        place.filter_out(number);
        let gone = place.tuples[number as usize].take_if(|tuple| tuple.is_empty());
        let Some(gone) = gone else {
            return false;
        };
        place.by_mask.remove(&gone.mask);
        place.order.retain(|&other| other != number);
        place.shape += 1;
        match &mut place.filters {
            Some(filters) if !place.order.is_empty() => filters.leave(&gone.filters),
            filters => *filters = None,
        }
        true
    }

    /// Whether there is an entry of this number, and the filter is about it.
    pub fn fits(&self, filter: &Filter, id: FlowId) -> bool {
        let there = self.hot.get(id.index()).is_some_and(|hot| hot.live);
        there && {
            let flow = self.flow(id);
            filter.table.is_none_or(|table| table == flow.table)
                && (flow.cookie ^ filter.cookie) & filter.cookie_mask == 0
                && filter.pattern.covers(&self.pattern(id))
        }
    }

    /// Shows the entries that a filter is about.
    pub fn select(&self, filter: &Filter, mut show: impl FnMut(FlowId)) {
        let fits = |flow: &Flow| (flow.cookie ^ filter.cookie) & filter.cookie_mask == 0;
        let tables = match filter.table {
            Some(table) => usize::from(table)..(usize::from(table) + 1).min(self.tables.len()),
            None => 0..self.tables.len(),
        };
        if let Some(rank) = filter.strict {
            for table in tables {
                let found = self.find(table as u8, &filter.pattern, rank);
                if let Some(id) = found.filter(|&id| fits(self.flow(id))) {
                    show(id);
                }
            }
            return;
        }
        if filter.cookie_mask == u64::MAX {
            let mut entry = self.cookies.get(&filter.cookie).copied().unwrap_or(NONE);
            while entry != NONE {
                let id = FlowId(entry);
                if tables.contains(&usize::from(self.flow(id).table))
                    && filter.pattern.covers(&self.pattern(id))
                {
                    show(id);
                }
                entry = self.entries[id.index()].cookie_next;
            }
            return;
        }
        for table in &self.tables[tables] {
            for tuple in table.tuples.iter().flatten() {
                self.select_in(tuple, filter, &fits, &mut show);
            }
        }
    }

    fn select_in(
        &self,
        tuple: &Tuple,
        filter: &Filter,
        fits: &impl Fn(&Flow) -> bool,
        show: &mut impl FnMut(FlowId),
    ) {
        let mut show = |head: u32| {
            for entry in self.chain(head) {
                if fits(&self.entries[entry as usize].flow) {
                    show(FlowId(entry));
                }
            }
        };
        let Pattern { mask, value } = &filter.pattern;
        if *mask == Key::ZERO {
            (0..tuple.len()).for_each(|node| show(tuple.head(node)));
        } else if *mask == tuple.mask {
            if let Some(node) = tuple.find(value) {
                show(tuple.head(node));
            }
        } else if mask.is_within(&tuple.mask) {
            let matching = |node: &usize| tuple.value(*node).and(mask) == *value;
            (0..tuple.len())
                .filter(matching)
                .for_each(|node| show(tuple.head(node)));
        }
    }

    /// When an entry goes if no packet comes.
    fn deadline(&self, id: u32) -> Option<Time> {
        let Flow {
            idle_timeout,
            hard_timeout,
            created,
            ..
        } = self.entries[id as usize].flow;
        let after = |start: Time, seconds: u16| {
            (seconds != 0).then(|| start + Time::from_secs(seconds.into()))
        };
        let idle = after(self.hot[id as usize].used, idle_timeout);
        let hard = after(created, hard_timeout);
        match (idle, hard) {
            (Some(idle), Some(hard)) => Some(idle.min(hard)),
            (idle, hard) => idle.or(hard),
        }
    }

    /// An entry whose time is over, which is still there.
    pub fn expired(&mut self, now: Time) -> Option<(FlowId, Expired)> {
        while let Some((entry, serial)) = self.expiry.pop(now) {
            let current = &self.entries[entry as usize];
            if !self.hot[entry as usize].live || current.serial != serial {
                continue;
            }
            let deadline = self.deadline(entry);
            // Packets have come since, or it is for the caller to remove; then it is not seen again.
            self.expiry
                .push(deadline.filter(|&at| at > now), entry, serial);
            if deadline.is_some_and(|at| at <= now) {
                let flow = &self.entries[entry as usize].flow;
                let hard = flow.hard_timeout != 0
                    && flow.created + Time::from_secs(flow.hard_timeout.into()) <= now;
                let why = if hard { Expired::Hard } else { Expired::Idle };
                return Some((FlowId(entry), why));
            }
        }
        None
    }

    /// When to ask for [expired](Flows::expired) entries again.
    pub fn next_expiry(&self) -> Option<Time> {
        self.expiry.next()
    }

    /// The entry that would go first of those that go of themselves: what a full table gives up.
    pub fn first_to_go(&self, table: u8) -> Option<FlowId> {
        let live = |entry: u32, serial: u32| {
            let current = &self.entries[entry as usize];
            self.hot[entry as usize].live && current.serial == serial && current.flow.table == table
        };
        self.expiry.first(live).map(FlowId)
    }
}
