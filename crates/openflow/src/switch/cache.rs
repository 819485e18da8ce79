//! Lookups remembered: exact on the bits that a table looks at.

use crate::key::{Key, WORDS};
use crate::table::{Batch, FlowId, Flows};
use alloc::vec::Vec;

/// Slots, a power of two: 4 MiB.
const SLOTS: usize = 1 << 15;

/// In place of an entry: none matched.
const MISSED: u32 = u32::MAX;

/// After so many probes it is decided whether they paid, and for how many more lookups, or batches, none is made.
const PROBES: u32 = 4096;
const REST: u32 = 1 << 14;

/// What is remembered of a key.
enum Probe {
    /// Its lookup.
    Known(Option<FlowId>),
    /// Nothing; where to remember it, if anywhere, and whether something else of now is there.
    Unknown(Option<(u32, bool)>),
}

/// One lookup.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
struct Slot {
    /// The generation of the flows in the upper half, the entry in the lower.
    stamp: u64,
    words: [u64; WORDS],
}

/// What a table looks at, as far as it is known for this generation.
#[derive(Clone, Copy, Debug)]
struct View {
    generation: u64,
    /// Whether remembering pays: with one mask the table is as quick.
    pays: bool,
    /// Probes since the last decision, and those that found something.
    probes: u32,
    hits: u32,
    /// Lookups until probes are made again.
    rest: u32,
    count: u8,
    at: [u8; WORDS],
    masks: [u64; WORDS],
}

/// Lookups of all tables.
#[derive(Debug)]
pub(super) struct Cache {
    slots: Vec<Slot>,
    views: Vec<View>,
    /// Draws which misses take a slot that is in use.
    draw: u32,
    /// Of a batch: the keys that are not remembered, their numbers and places, and what the table has for them.
    unknown: Vec<Key>,
    places: Vec<(usize, Option<(u32, bool)>)>,
    looked_up: Vec<Option<FlowId>>,
}

impl Cache {
    pub fn new(tables: usize) -> Cache {
        let view = View {
            generation: u64::MAX,
            pays: false,
            probes: 0,
            hits: 0,
            rest: 0,
            count: 0,
            at: [0; WORDS],
            masks: [0; WORDS],
        };
        Cache {
            slots: Vec::new(),
            views: alloc::vec![view; tables],
            draw: 1,
            unknown: Vec::new(),
            places: Vec::new(),
            looked_up: Vec::new(),
        }
    }

    /// The entry that the key matches in a table.
    #[inline]
    pub fn lookup(&mut self, flows: &Flows, table: u8, key: &Key) -> Option<FlowId> {
        let place = match self.probe(flows, table, key) {
            Probe::Known(found) => return found,
            Probe::Unknown(place) => place,
        };
        let found = flows.lookup(table, key);
        if let Some(place) = place {
            self.remember(flows, table, key, place, found);
        }
        found
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
        let (mut places, mut unknown) = (
            core::mem::take(&mut self.places),
            core::mem::take(&mut self.unknown),
        );
        places.clear();
        unknown.clear();
        found.clear();
        for (number, key) in keys.iter().enumerate() {
            found.push(match self.probe(flows, table, key.as_ref()) {
                Probe::Known(found) => found,
                Probe::Unknown(place) => {
                    places.push((number, place));
                    unknown.push(*key.as_ref());
                    None
                }
            });
        }
        let mut looked_up = core::mem::take(&mut self.looked_up);
        flows.lookup_each(table, &unknown, batch, &mut looked_up);
        for ((number, place), (key, answer)) in places.iter().zip(unknown.iter().zip(&looked_up)) {
            found[*number] = *answer;
            if let Some(place) = place {
                self.remember(flows, table, key, *place, *answer);
            }
        }
        (self.places, self.unknown, self.looked_up) = (places, unknown, looked_up);
    }

    /// Whether remembering the lookups of a table pays at this time.
    #[inline]
    fn pays(&mut self, flows: &Flows, table: u8) -> bool {
        let Some(view) = self.views.get_mut(usize::from(table)) else {
            return false;
        };
        if view.generation != flows.generation() {
            refresh(view, flows, table);
        }
        if view.rest > 0 {
            view.rest -= 1;
        }
        view.pays && view.rest == 0
    }

    /// Looks for what is remembered.
    #[inline]
    fn probe(&mut self, flows: &Flows, table: u8, key: &Key) -> Probe {
        if !self.pays(flows, table) {
            return Probe::Unknown(None);
        }
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Slot::default());
        }
        let view = &mut self.views[usize::from(table)];
        let (hash, stamp) = (view.hash(key, table), view.stamp(table));
        let at = (hash ^ hash >> 32) as usize % SLOTS;
        let slot = &self.slots[at];
        let current = (slot.stamp >> 32) as u32 == stamp;
        let known = current && view.words(key).zip(&slot.words).all(|(a, &b)| a == b);
        view.probes += 1;
        view.hits += u32::from(known);
        if view.probes == PROBES {
            // Traffic of many more flows than slots: for a while nothing is remembered.
            if view.hits < PROBES / 8 {
                view.rest = REST;
            }
            (view.probes, view.hits) = (0, 0);
        }
        match known {
            true => {
                let entry = slot.stamp as u32;
                Probe::Known((entry != MISSED).then(|| FlowId::from_index(entry)))
            }
            false => Probe::Unknown(Some((at as u32, current))),
        }
    }

    /// Remembers a lookup.
    #[inline]
    fn remember(
        &mut self,
        flows: &Flows,
        table: u8,
        key: &Key,
        (at, current): (u32, bool),
        found: Option<FlowId>,
    ) {
        self.draw = self
            .draw
            .wrapping_mul(0x0019_660D)
            .wrapping_add(0x3C6E_F35F);
        // Traffic of more flows than slots would otherwise write on every miss for nothing.
        if current && self.draw >> 29 != 0 {
            return;
        }
        debug_assert_eq!(
            self.views[usize::from(table)].generation,
            flows.generation()
        );
        let view = &self.views[usize::from(table)];
        let slot = &mut self.slots[at as usize];
        let entry = found.map_or(MISSED, |id| id.index() as u32);
        slot.stamp = u64::from(view.stamp(table)) << 32 | u64::from(entry);
        for (place, word) in slot.words.iter_mut().zip(view.words(key)) {
            *place = word;
        }
    }
}

impl View {
    /// The words of a key that the table looks at.
    #[inline]
    fn words<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = u64> + 'a {
        let count = usize::from(self.count).min(WORDS);
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

    /// What a slot of this table and generation is marked with.
    #[inline]
    fn stamp(&self, table: u8) -> u32 {
        (self.generation as u32).wrapping_mul(256) ^ u32::from(table)
    }
}

fn refresh(view: &mut View, flows: &Flows, table: u8) {
    view.generation = flows.generation();
    view.pays = flows.masks(table) > 1;
    view.count = 0;
    if !view.pays {
        return;
    }
    let used = flows.used_bits(table);
    for (at, &mask) in used.0.iter().enumerate().filter(|(_, mask)| **mask != 0) {
        view.at[usize::from(view.count)] = at as u8;
        view.masks[usize::from(view.count)] = mask;
        view.count += 1;
    }
}
