//! Which tuples a key could be in at all, told from one cell at a time.
//!
//! Many tuples have the same mask in a cell: a hundred masks of five-tuples may have but five for each address. So for each cell and each mask
//! in it there is a filter of the values that entries have there, and for each key the tuples are left of which the key passes
//! the filter in every cell (tuple pruning). What is left is looked up.

use super::tuple::{Rows, Tuple};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};

/// Tuples behind these are not told apart here.
const WORDS: usize = 16;
/// Cells behind these are not looked at.
const CELLS: usize = 16;
/// Bits of a filter for each that is set.
const SPARSE: usize = 8;

/// A bit for each of the first tuples.
pub(super) type Candidates = [u64; WORDS];

#[derive(Debug)]
pub(super) struct Fields {
    fields: Vec<Field>,
    /// Of a candidate set, as far as there are tuples.
    all: Candidates,
    words: usize,
}

#[derive(Debug)]
struct Field {
    cell: u32,
    /// Tuples with another mask here, or with none.
    always: Candidates,
    /// At most 64.
    masks: Vec<Masked>,
}

#[derive(Debug)]
struct Masked {
    mask: u64,
    tuples: Candidates,
    filter: Vec<AtomicU64>,
    /// Bits that are set.
    set: AtomicUsize,
}

impl Masked {
    fn new(mask: u64) -> Self {
        Masked {
            mask,
            tuples: [0; WORDS],
            filter: super::hash::zeros(1),
            set: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn bit(&self, value: u64) -> (usize, u64) {
        let hash = (value & self.mask).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The upper half, as far as there are words.
        let word = (hash >> 32) as usize & (self.filter.len() - 1);
        (word, 1 << (hash >> 58))
    }

    #[inline]
    fn may_have(&self, value: u64) -> bool {
        let (word, bit) = self.bit(value);
        self.filter[word].load(Relaxed) & bit != 0
    }

    fn is_full(&self) -> bool {
        (self.set.load(Relaxed) + 1) * SPARSE > self.filter.len() * 64
    }

    fn add(&self, value: u64) {
        let (word, bit) = self.bit(value);
        let bits = self.filter[word].load(Relaxed);
        if bits & bit == 0 {
            self.filter[word].store(bits | bit, Relaxed);
            self.set.store(self.set.load(Relaxed) + 1, Relaxed);
        }
    }

    /// Fills a filter of twice the size, or more.
    fn grow(&mut self, cell: u32, tuples: &[Tuple], rows: &Rows) {
        let mut words = self.filter.len() * 2;
        'larger: loop {
            self.filter = super::hash::zeros(words);
            self.set = AtomicUsize::new(0);
            for tuple in tuples {
                if tuple.masks()[cell as usize] == self.mask {
                    tuple.values(rows, cell, |value| self.add(value));
                }
                if self.is_full() {
                    words *= 2;
                    continue 'larger;
                }
            }
            return;
        }
    }
}

impl Fields {
    pub(super) fn new() -> Self {
        Fields {
            fields: Vec::new(),
            all: [0; WORDS],
            words: 0,
        }
    }

    /// The tuples that a key could be in, of the first ones; the others begin at the number returned.
    #[inline]
    pub(super) fn candidates(&self, key: &[u64], candidates: &mut Candidates) -> usize {
        let mut hits = [0u64; CELLS];
        for (hit, field) in hits.iter_mut().zip(&self.fields) {
            let value = key[field.cell as usize];
            for (number, masked) in field.masks.iter().enumerate() {
                *hit |= u64::from(masked.may_have(value)) << number;
            }
        }
        let sets = candidates.iter_mut().zip(&self.all).enumerate();
        for (word, (candidates, all)) in sets.take(self.words) {
            let mut left = *all;
            for (hit, field) in hits.iter().zip(&self.fields) {
                let (mut hit, mut any) = (*hit, field.always[word]);
                while hit != 0 {
                    any |= field.masks[hit.trailing_zeros() as usize].tuples[word];
                    hit &= hit - 1;
                }
                left &= any;
            }
            *candidates = left;
        }
        self.words * 64
    }

    /// Whether an entry with these values can be added to a tuple with these masks without a larger filter.
    pub(super) fn has_room(&self, masks: &[u64]) -> bool {
        self.fields.iter().all(|field| {
            let mask = masks[field.cell as usize];
            let masked = field.masks.iter().find(|masked| masked.mask == mask);
            masked.is_none_or(|masked| !masked.is_full())
        })
    }

    /// Tells of an entry of a tuple with these masks, before it is there.
    pub(super) fn add(&self, masks: &[u64], values: &[u64]) {
        for field in &self.fields {
            let mask = masks[field.cell as usize];
            if let Some(masked) = field.masks.iter().find(|masked| masked.mask == mask) {
                masked.add(values[field.cell as usize]);
            }
        }
    }

    /// Makes room for another entry.
    pub(super) fn room(&mut self, masks: &[u64], tuples: &[Tuple], rows: &Rows) {
        for field in &mut self.fields {
            let mask = masks[field.cell as usize];
            let mut masked = field.masks.iter_mut();
            if let Some(masked) = masked.find(|masked| masked.mask == mask)
                && masked.is_full()
            {
                masked.grow(field.cell, tuples, rows);
            }
        }
    }

    /// Meets a tuple that has come.
    pub(super) fn meet(&mut self, new: &Tuple, tuples: &[Tuple], rows: &Rows) {
        for (cell, mask) in new.masks().iter().enumerate() {
            if *mask == 0 {
                continue;
            }
            let cell = cell as u32;
            let at = match self.fields.iter().position(|field| field.cell == cell) {
                Some(at) => at,
                None if self.fields.len() < CELLS => {
                    self.fields.push(Field {
                        cell,
                        always: [0; WORDS],
                        masks: Vec::new(),
                    });
                    self.fields.len() - 1
                }
                None => continue,
            };
            let masks = &mut self.fields[at].masks;
            let masked = match masks.iter().position(|masked| masked.mask == *mask) {
                Some(at) => &mut masks[at],
                None if masks.len() < 64 => {
                    masks.push(Masked::new(*mask));
                    masks.last_mut().expect("it was just put there")
                }
                None => continue,
            };
            new.values(rows, cell, |value| masked.add(value));
            if masked.is_full() {
                masked.grow(cell, tuples, rows);
                new.values(rows, cell, |value| masked.add(value));
            }
        }
    }

    /// Learns where the tuples stand.
    pub(super) fn index_tuples(&mut self, tuples: &[Tuple]) {
        self.words = tuples.len().div_ceil(64).min(WORDS);
        self.all = [0; WORDS];
        for field in &mut self.fields {
            field.always = [0; WORDS];
            for masked in &mut field.masks {
                masked.tuples = [0; WORDS];
            }
        }
        for (number, tuple) in tuples.iter().enumerate().take(WORDS * 64) {
            let (word, bit) = (number / 64, 1 << (number % 64));
            self.all[word] |= bit;
            for field in &mut self.fields {
                let mask = tuple.masks()[field.cell as usize];
                let mut masks = field.masks.iter_mut();
                match masks.find(|masked| masked.mask == mask) {
                    Some(masked) => masked.tuples[word] |= bit,
                    None => field.always[word] |= bit,
                }
            }
        }
    }

    /// Forgets the values of entries that are gone.
    pub(super) fn renew(&mut self, tuples: &[Tuple], rows: &Rows) {
        *self = Self::new();
        for tuple in tuples {
            self.meet(tuple, tuples, rows);
        }
        self.index_tuples(tuples);
    }
}

/// Nothing yet.
pub(super) fn none() -> Candidates {
    [0; WORDS]
}

/// The numbers of a set's tuples, from the best on.
#[inline]
pub(super) fn numbers(candidates: &Candidates, words: usize) -> impl Iterator<Item = usize> + '_ {
    let words = candidates[..words].iter().enumerate();
    words.flat_map(|(number, word)| {
        let mut word = *word;
        core::iter::from_fn(move || {
            let bit = word.trailing_zeros() as usize;
            (word != 0).then(|| {
                word &= word - 1;
                number * 64 + bit
            })
        })
    })
}
