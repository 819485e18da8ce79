//! Lookups remembered: exact on the bits that a table looks at.
//!
//! An answer is stamped with how many changes its table had seen. It is used while no entry that matches the key has come
//! or gone since, which the table's last changes tell ([`Flows::holds`]); so one change does not take the others' answers away.

use crate::key::{Key, WORDS};
use crate::table::{Batch, FlowId, Flows};
use alloc::vec::Vec;

/// Initial number of slots, a power of two: 32 KiB, so that a network of many switches with few
/// flows each fits in a processor's cache.
const MIN_SLOTS: usize = 1 << 8;
/// Maximum number of slots, a power of two: 4 MiB.
const MAX_SLOTS: usize = 1 << 15;
/// Factor by which their number grows.
const GROWTH: usize = 8;

/// In place of an entry: none matched.
const MISSED: u32 = u32::MAX;

/// Maximum number of words of a slot. Lookups of a table that reads all fifteen are not remembered.
const MAX_SLOT_WORDS: usize = WORDS - 1;

/// Number of probes after which the cache decides whether they paid, and of lookups, or batches,
/// for which it then pauses.
const PROBES: u32 = 4096;
const REST: u32 = 1 << 14;

/// Cached information about a key.
enum Probe {
    /// Its lookup.
    Known(Option<FlowId>),
    /// Nothing; and whether another lookup that may still hold has its slot.
    Unknown(bool),
}

/// One lookup.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
struct Slot {
    /// How many changes the table had seen, above its number. There never are 2^56 changes; zero is an empty slot.
    stamp: u64,
    entry: u32,
    words: [u64; MAX_SLOT_WORDS],
}

/// What a table looks at.
#[derive(Clone, Copy, Debug)]
struct View {
    /// The table's masks for which this is known.
    shape: u64,
    /// How many changes the table had seen when it began to look at these bits: what was remembered before is of other ones.
    since: u64,
    /// Whether remembering pays: with one mask the table is as quick.
    pays: bool,
    /// Probes since the last decision, and those that found something.
    probes: u32,
    hits: u32,
    /// Of the probes, those that found another lookup in their slot.
    crowded: u32,
    /// Lookups until probes are made again.
    rest: u32,
    used: Key,
    count: u8,
    at: [u8; MAX_SLOT_WORDS],
    masks: [u64; MAX_SLOT_WORDS],
}

/// Lookups of all tables.
#[derive(Debug)]
pub(super) struct Cache {
    slots: Vec<Slot>,
    /// By table, as far as any was looked into.
    views: Vec<View>,
    /// Draws which misses take a slot that is in use.
    draw: u32,
    /// Of a batch: the keys that are not remembered, their numbers, places and what is there, and what the table has for them.
    unknown: Vec<Key>,
    numbers: Vec<(usize, usize, bool)>,
    looked_up: Vec<Option<FlowId>>,
}

impl Cache {
    pub fn new() -> Cache {
        Cache {
            slots: Vec::new(),
            views: Vec::new(),
            draw: 1,
            unknown: Vec::new(),
            numbers: Vec::new(),
            looked_up: Vec::new(),
        }
    }

    /// The entry that the key matches in a table.
    #[inline]
    pub fn lookup(&mut self, flows: &Flows, table: u8, key: &Key) -> Option<FlowId> {
        if !self.pays(flows, table) {
            return flows.lookup(table, key);
        }
        let place = self.place(table, key);
        match self.probe(flows, table, key, place) {
            Probe::Known(found) => found,
            Probe::Unknown(taken) => {
                let found = flows.lookup(table, key);
                self.remember(flows, table, key, (place, taken), found);
                found
            }
        }
    }

    /// The entries that keys match in a table.
    pub fn lookup_each(
        &mut self,
        flows: &Flows,
        table: u8,
        keys: &[impl AsRef<Key>],
        batch: &mut Batch,
        found: &mut Vec<Option<FlowId>>,
    ) {
        if !self.pays(flows, table) {
            return flows.lookup_each(table, keys, batch, found);
        }
        let (mut numbers, mut unknown, mut looked_up) = (
            core::mem::take(&mut self.numbers),
            core::mem::take(&mut self.unknown),
            core::mem::take(&mut self.looked_up),
        );
        numbers.clear();
        unknown.clear();
        found.clear();
        for (number, key) in keys.iter().enumerate() {
            let place = self.place(table, key.as_ref());
            found.push(match self.probe(flows, table, key.as_ref(), place) {
                Probe::Known(found) => found,
                Probe::Unknown(taken) => {
                    numbers.push((number, place, taken));
                    unknown.push(*key.as_ref());
                    None
                }
            });
        }
        flows.lookup_each(table, &unknown, batch, &mut looked_up);
        for (&(number, place, taken), (key, &answer)) in
            numbers.iter().zip(unknown.iter().zip(&looked_up))
        {
            found[number] = answer;
            self.remember(flows, table, key, (place, taken), answer);
        }
        (self.numbers, self.unknown, self.looked_up) = (numbers, unknown, looked_up);
    }

    /// Whether remembering the lookups of a table pays at this time.
    #[inline]
    fn pays(&mut self, flows: &Flows, table: u8) -> bool {
        if self.views.len() <= usize::from(table) {
            if flows.tables() <= usize::from(table) {
                return false;
            }
            self.meet(table);
        }
        let view = &mut self.views[usize::from(table)];
        if view.shape != flows.shape(table) {
            refresh(view, flows, table);
        }
        if view.rest > 0 {
            view.rest -= 1;
        }
        view.pays && view.rest == 0
    }

    /// Makes views of all tables up to one: of hundreds that a switch may have most see no packet.
    #[cold]
    fn meet(&mut self, table: u8) {
        let view = View {
            shape: u64::MAX,
            since: 0,
            pays: false,
            probes: 0,
            hits: 0,
            crowded: 0,
            rest: 0,
            used: Key::ZERO,
            count: 0,
            at: [0; MAX_SLOT_WORDS],
            masks: [0; MAX_SLOT_WORDS],
        };
        self.views.resize(usize::from(table) + 1, view);
    }

    /// The slot of a key.
    #[inline]
    fn place(&mut self, table: u8, key: &Key) -> usize {
        if self.slots.is_empty() {
            self.grow();
        }
        let hash = self.views[usize::from(table)].hash(key, table);
        (hash ^ hash >> 32) as usize & (self.slots.len() - 1)
    }

    /// Makes more slots, all of them empty; places that were worked out before are still there.
    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * GROWTH).clamp(MIN_SLOTS, MAX_SLOTS);
        self.slots = alloc::vec![Slot::default(); slots];
    }

    /// Looks for what is remembered.
    #[inline]
    fn probe(&mut self, flows: &Flows, table: u8, key: &Key, place: usize) -> Probe {
        let view = &mut self.views[usize::from(table)];
        let slot = &mut self.slots[place];
        let (changes, seen) = (flows.changes(table), slot.stamp >> 8);
        let ours = slot.stamp as u8 == table && seen >= view.since;
        let same = ours && view.words(key).zip(&slot.words).all(|(a, &b)| a == b);
        let known = same && flows.holds(table, key, seen);
        if known {
            slot.stamp = stamp(changes, table);
        }
        view.crowded += u32::from(!same && slot.stamp != 0);
        view.probes += 1;
        view.hits += u32::from(known);
        let probe = match known {
            true => Probe::Known((slot.entry != MISSED).then(|| FlowId::from_index(slot.entry))),
            false => Probe::Unknown(ours && !same && seen == changes),
        };
        if view.probes == PROBES {
            let (hits, crowded) = (view.hits, view.crowded);
            (view.probes, view.hits, view.crowded) = (0, 0, 0);
            if crowded > PROBES / 4 && self.slots.len() < MAX_SLOTS {
                self.grow();
            } else if hits < PROBES / 3 {
                // Traffic of many more flows than slots: for a while nothing is remembered.
                view.rest = REST;
            }
        }
        probe
    }

    /// Remembers a lookup.
    #[inline]
    fn remember(
        &mut self,
        flows: &Flows,
        table: u8,
        key: &Key,
        (place, taken): (usize, bool),
        found: Option<FlowId>,
    ) {
        self.draw = self
            .draw
            .wrapping_mul(0x0019_660D)
            .wrapping_add(0x3C6E_F35F);
        // Traffic of more flows than slots would otherwise write on every miss for nothing.
        if taken && self.draw >> 29 != 0 {
            return;
        }
        let view = &self.views[usize::from(table)];
        debug_assert_eq!(view.shape, flows.shape(table));
        let slot = &mut self.slots[place];
        slot.entry = found.map_or(MISSED, |id| id.index() as u32);
        slot.stamp = stamp(flows.changes(table), table);
        for (had, word) in slot.words.iter_mut().zip(view.words(key)) {
            *had = word;
        }
    }
}

impl View {
    /// The words of a key that the table looks at.
    #[inline]
    fn words<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = u64> + 'a {
        let count = usize::from(self.count).min(MAX_SLOT_WORDS);
        let pairs = self.at[..count].iter().zip(&self.masks[..count]);
        pairs.map(|(&at, &mask)| key.0[usize::from(at).min(WORDS - 1)] & mask)
    }

    #[inline]
    fn hash(&self, key: &Key, table: u8) -> u64 {
        self.words(key).fold(u64::from(table) + 1, |hash, word| {
            let product = u128::from(hash ^ word) * 0x9E37_79B9_7F4A_7C15u128;
            (product >> 64) as u64 ^ product as u64
        })
    }
}

#[inline]
fn stamp(changes: u64, table: u8) -> u64 {
    changes << 8 | u64::from(table)
}

fn refresh(view: &mut View, flows: &Flows, table: u8) {
    view.shape = flows.shape(table);
    let used = flows.used_bits(table);
    let words = used.0.iter().enumerate().filter(|(_, mask)| **mask != 0);
    view.pays = flows.masks(table) > 1 && words.clone().count() <= MAX_SLOT_WORDS;
    if !view.pays || view.used == used {
        return;
    }
    // The masks are others, so there has been a change: nothing that was remembered has this number.
    view.since = flows.changes(table);
    view.used = used;
    view.count = 0;
    for (at, &mask) in words {
        view.at[usize::from(view.count)] = at as u8;
        view.masks[usize::from(view.count)] = mask;
        view.count += 1;
    }
}

#[cfg(test)]
mod tests;
