//! Lookups remembered: exact on the bits that a table looks at.

use crate::key::{Key, WORDS};
use crate::table::{FlowId, Flows};
use alloc::vec::Vec;

/// Slots, a power of two: 4 MiB.
const SLOTS: usize = 1 << 15;

/// In place of an entry: none matched.
const MISSED: u32 = u32::MAX;

/// One lookup.
#[derive(Clone, Copy, Debug)]
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
}

impl Cache {
    pub fn new(tables: usize) -> Cache {
        let view = View {
            generation: u64::MAX,
            pays: false,
            count: 0,
            at: [0; WORDS],
            masks: [0; WORDS],
        };
        Cache {
            slots: Vec::new(),
            views: alloc::vec![view; tables],
            draw: 1,
        }
    }

    /// The entry that the key matches in a table.
    #[inline]
    pub fn lookup(&mut self, flows: &Flows, table: u8, key: &Key) -> Option<FlowId> {
        let view = self.views.get_mut(usize::from(table))?;
        if view.generation != flows.generation() {
            refresh(view, flows, table);
        }
        if !view.pays {
            return flows.lookup(table, key);
        }
        if self.slots.is_empty() {
            let slot = Slot {
                stamp: 0,
                words: [0; WORDS],
            };
            self.slots.resize(SLOTS, slot);
        }
        let count = usize::from(view.count).min(WORDS);
        let mut words = [0; WORDS];
        let mut hash = u64::from(table) + 1;
        let looked_at = view.at.iter().zip(&view.masks);
        for (place, (&at, &mask)) in words[..count].iter_mut().zip(looked_at) {
            let word = key.0[usize::from(at).min(WORDS - 1)] & mask;
            *place = word;
            let product = u128::from(hash ^ word) * 0x9E37_79B9_7F4A_7C15u128;
            hash = (product >> 64) as u64 ^ product as u64;
        }
        let generation = (flows.generation() as u32).wrapping_mul(256) ^ u32::from(table);
        let slot = &mut self.slots[(hash ^ hash >> 32) as usize % SLOTS];
        let current = (slot.stamp >> 32) as u32 == generation;
        if current && slot.words[..count] == words[..count] {
            let entry = slot.stamp as u32;
            return (entry != MISSED).then(|| FlowId::from_index(entry));
        }
        let found = flows.lookup(table, key);
        self.draw = self
            .draw
            .wrapping_mul(0x0019_660D)
            .wrapping_add(0x3C6E_F35F);
        // Traffic of more flows than slots would otherwise write on every miss for nothing.
        if !current || self.draw >> 29 == 0 {
            let entry = found.map_or(MISSED, |id| id.index() as u32);
            slot.stamp = u64::from(generation) << 32 | u64::from(entry);
            slot.words[..count].copy_from_slice(&words[..count]);
        }
        found
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
