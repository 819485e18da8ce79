//! Up to 512 entries of any masks, all compared at once.
//!
//! For each four bits of the key and each of their sixteen values a block has a row of bits, one for each entry: whether the entry takes that
//! value there. The rows that a key selects, ANDed, have the entries that match. The bits are in the order of who wins, so the first
//! one is the answer. Of ranges the rows tell only a part; the entries that are left are compared whole.

use super::form::Form;
use super::pattern::Pattern;
use super::rule::{Rank, Rule};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Words of a row.
const WORDS: usize = 8;
/// Entries of a block.
pub(super) const ENTRIES: usize = WORDS * 64;
type Row = [u64; WORDS];
/// Maximum number of rows that are combined whole. After these few entries are left, and the rest
/// is combined word by word.
const MAX_WHOLE_ROWS: usize = 8;

/// Four bits of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nibble {
    cell: u32,
    shift: u16,
    /// Index of its rows in a block, in units of sixteen rows.
    number: u16,
}

/// All nibbles of a table's keys.
pub(super) fn nibbles(form: &Form) -> Vec<Nibble> {
    let mut nibbles = Vec::new();
    for key in &form.keys {
        for nibble in 0..key.ty.width().div_ceil(4) {
            nibbles.push(Nibble {
                cell: key.at as u32 + nibble / 16,
                shift: (nibble % 16 * 4) as u16,
                number: nibbles.len() as u16,
            });
        }
    }
    nibbles
}

impl Nibble {
    #[inline]
    fn of(self, cells: &[u64]) -> usize {
        (cells[self.cell as usize] >> self.shift) as usize & 15
    }

    #[inline]
    fn row(self, cells: &[u64]) -> usize {
        usize::from(self.number) * 16 + self.of(cells)
    }

    /// How many of its sixteen values a pattern does not take, as bits.
    pub(super) fn weight(self, pattern: &Pattern) -> u64 {
        u64::from(4 - self.taken(pattern).count_ones().ilog2())
    }

    /// Which of its sixteen values a pattern takes. Of a range that is only a part of the truth: what can be said of these four bits alone.
    fn taken(self, pattern: &Pattern) -> u16 {
        let mut ranges = pattern.ranges.iter();
        if let Some(range) = ranges.find(|range| range.at == self.cell as usize)
            && let ([low], [high]) = (&*range.low, &*range.high)
        {
            let above = |value: &u64| value.checked_shr(u32::from(self.shift) + 4).unwrap_or(0);
            if above(low) != above(high) {
                return u16::MAX;
            }
            let (low, high) = ((low >> self.shift) & 15, (high >> self.shift) & 15);
            return (u16::MAX << low) & (u16::MAX >> (15 - high));
        }
        let (value, mask) = (self.of(&pattern.values), self.of(&pattern.masks));
        let taken = (0..16).filter(|of| of & mask == value);
        taken.fold(0, |taken, of| taken | 1 << of)
    }

    pub(super) fn number(self) -> usize {
        usize::from(self.number)
    }
}

#[derive(Debug)]
pub(super) struct Block {
    /// Sixteen for each nibble.
    rows: Vec<Row>,
    /// Which bits are entries.
    valid: Row,
    /// Which of them have ranges, that the rows do not tell whole.
    ranged: Row,
    /// By bit.
    entries: Vec<Option<(u32, Arc<Rule>)>>,
    /// The winners first: rank and bit.
    order: Vec<(Rank, u16)>,
}

impl Block {
    pub(super) fn new(nibbles: usize) -> Self {
        Block {
            rows: vec![[0; WORDS]; nibbles * 16],
            valid: [0; WORDS],
            ranged: [0; WORDS],
            entries: vec![None; ENTRIES],
            order: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Of the one that wins over all others in it.
    pub(super) fn first(&self) -> Option<Rank> {
        self.order.first().map(|(rank, _)| *rank)
    }

    pub(super) fn last(&self) -> Option<Rank> {
        self.order.last().map(|(rank, _)| *rank)
    }

    /// The row and rank of the entry that wins.
    #[inline]
    pub(super) fn find(&self, nibbles: &[Nibble], key: &[u64]) -> Option<(u32, Rank)> {
        let mut left = self.valid;
        let together = nibbles.len().min(MAX_WHOLE_ROWS);
        for nibble in &nibbles[..together] {
            let row = &self.rows[nibble.row(key)];
            for (left, row) in left.iter_mut().zip(row) {
                *left &= row;
            }
        }
        for (number, word) in left.iter().enumerate() {
            let mut word = *word;
            if word == 0 {
                continue;
            }
            for nibble in &nibbles[together..] {
                word &= self.rows[nibble.row(key)][number];
                if word == 0 {
                    break;
                }
            }
            while word != 0 {
                let bit = word.trailing_zeros() as usize;
                let position = number * 64 + bit;
                if let Some((row, rule)) = &self.entries[position]
                    && (self.ranged[number] >> bit & 1 == 0
                        || rule.pattern.ranges.iter().all(|range| range.holds(key)))
                {
                    return Some((*row, rule.rank()));
                }
                word &= word - 1;
            }
        }
        None
    }

    /// Adds an entry. There must be room.
    pub(super) fn insert(&mut self, nibbles: &[Nibble], row: u32, rule: &Arc<Rule>) {
        let rank = rule.rank();
        let at = self.order.partition_point(|(other, _)| *other < rank);
        let position = self.room(at);
        self.order.insert(at, (rank, position as u16));
        self.entries[position] = Some((row, rule.clone()));
        let (word, bit) = (position / 64, 1 << (position % 64));
        self.valid[word] |= bit;
        if !rule.pattern.ranges.is_empty() {
            self.ranged[word] |= bit;
        }
        for nibble in nibbles {
            let number = nibble.number();
            let taken = nibble.taken(&rule.pattern);
            for (of, row) in self.rows[number * 16..number * 16 + 16]
                .iter_mut()
                .enumerate()
            {
                if taken >> of & 1 != 0 {
                    row[word] |= bit;
                } else {
                    row[word] &= !bit;
                }
            }
        }
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, rank: Rank) -> Option<(u32, Arc<Rule>)> {
        let at = self.order.binary_search_by(|(r, _)| r.cmp(&rank)).ok()?;
        let (_, position) = self.order.remove(at);
        let position = usize::from(position);
        self.valid[position / 64] &= !(1 << (position % 64));
        self.ranged[position / 64] &= !(1 << (position % 64));
        self.entries[position].take()
    }

    /// Takes out the half that loses, for another block.
    pub(super) fn split(&mut self) -> Vec<(u32, Arc<Rule>)> {
        let half: Vec<_> = self.order[self.order.len() / 2..]
            .iter()
            .map(|(rank, _)| *rank)
            .collect();
        half.into_iter()
            .filter_map(|rank| self.remove(rank))
            .collect()
    }

    /// A free bit between the entries `at - 1` and `at` of the order, made by moving others if there is none.
    fn room(&mut self, at: usize) -> usize {
        // One behind the left neighbour, and the right neighbour itself.
        let from = at
            .checked_sub(1)
            .map_or(0, |left| usize::from(self.order[left].1) + 1);
        let to = self
            .order
            .get(at)
            .map_or(ENTRIES, |(_, right)| usize::from(*right));
        if from < to {
            return match (at == 0, at == self.order.len()) {
                (true, true) => ENTRIES / 2,
                // Entries often come in the order of their priorities: the next one goes beside.
                (true, false) => to - 1,
                (false, true) => from,
                (false, false) => from + (to - from) / 2,
            };
        }
        let right = (to..ENTRIES).find(|bit| self.entries[*bit].is_none());
        let left = (0..to).rev().find(|bit| self.entries[*bit].is_none());
        match (left, right) {
            (_, Some(free)) if left.is_none_or(|left| free - to <= to - left) => {
                self.shift(to, free, 1);
                to
            }
            (Some(free), _) => {
                self.shift(free + 1, to - 1, -1);
                to - 1
            }
            // There must be room.
            (None, _) => to.min(ENTRIES - 1),
        }
    }

    /// Moves the entries at `from..=to` by one: with `by` 1 `to` is free and the others go up, with -1 the bit below `from` is free and
    /// all go down.
    fn shift(&mut self, from: usize, to: usize, by: i32) {
        let (first, last) = if by > 0 { (from, to) } else { (from - 1, to) };
        let mut span = [0u64; WORDS];
        for bit in first..=last {
            span[bit / 64] |= 1 << (bit % 64);
        }
        let words = first / 64..last / 64 + 1;
        let rows = self.rows.iter_mut();
        for row in rows.chain([&mut self.valid, &mut self.ranged]) {
            let old = *row;
            for word in words.clone() {
                let moved = if by > 0 {
                    let carry = word.checked_sub(1).map_or(0, |below| old[below] >> 63);
                    old[word] << 1 | carry
                } else {
                    let carry = old.get(word + 1).map_or(0, |above| above << 63);
                    old[word] >> 1 | carry
                };
                row[word] = (old[word] & !span[word]) | (moved & span[word]);
            }
        }
        let (hole, bits) = if by > 0 { (from, last) } else { (to, first) };
        if by > 0 {
            self.entries[hole..=bits].rotate_right(1);
        } else {
            self.entries[bits..=hole].rotate_left(1);
        }
        for row in [&mut self.valid, &mut self.ranged] {
            row[hole / 64] &= !(1 << (hole % 64));
        }
        for (_, bit) in &mut self.order {
            let place = usize::from(*bit);
            if by > 0 && (from..to).contains(&place) {
                *bit += 1;
            } else if by < 0 && (from..=to).contains(&place) {
                *bit -= 1;
            }
        }
    }
}
