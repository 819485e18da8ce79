//! The receiver's buffer between the line's clock and its own (49.2.4.7).
//!
//! Columns - four characters, 3.2 ns - come in at the sender's rate and are read at the receiver's.
//! Column `c` of the sender is read in the receiver's slot `c + lead`; when the buffer runs empty an
//! idle column is inserted and `lead` grows by one, when it fills up an idle column is removed and
//! `lead` shrinks. Insertion is behind an idle column, never in a frame. What is removed is a whole
//! column of idles, and never the first behind a terminate, since the first four characters behind it
//! are in there.
//!
//! Idles are counted, not made: between two turns - times at which it may change which clock is the
//! faster - the fill only grows or only shrinks, so it is enough to look at it there and at the end.
//!
//! What is modelled is what varies. The constant depth of a real buffer is a delay like any other, and
//! left to the link's.

use node::clock::{Clock, Own, PICOSECOND, turns};

/// Own time of a column.
pub const COLUMN: Own = 3_200 * PICOSECOND;
/// With less than this in the buffer an idle column is inserted: what is read is whole.
const LOW: i128 = COLUMN as i128;
/// With this or more an idle column is removed. Two columns above the other mark, so that no column
/// is inserted only to be removed.
const HIGH: i128 = 3 * COLUMN as i128;
/// With this or more the buffer has overflowed.
const FULL: i128 = 9 * COLUMN as i128;

/// What is in the receiver's buffer, and what was done to keep it so.
#[derive(Debug)]
pub struct Elastic {
    /// The sender's clock as the line brings it.
    line: Clock,
    own: Clock,
    delay: u64,
    lead: i64,
    /// The first column behind the last terminate's.
    idle_from: u64,
    turns: Vec<u64>,
    next_turn: usize,
    /// Columns of idles inserted.
    pub inserted: u64,
    /// Columns of idles removed.
    pub removed: u64,
    /// Overflows.
    pub slips: u64,
}

impl Elastic {
    /// At the start of the run, when column 0 leaves; it arrives `delay` picoseconds later.
    pub fn new(sender: Clock, receiver: Clock, delay: u64) -> Elastic {
        let mut own = receiver;
        let lead = (own.own(delay) + COLUMN).div_ceil(COLUMN) as i64;
        Elastic {
            turns: turns(&sender, &own, delay),
            line: sender,
            own,
            delay,
            lead,
            idle_from: 0,
            next_turn: 0,
            inserted: 0,
            removed: 0,
            slips: 0,
        }
    }

    /// Reads idles up to a frame whose start character is in column `start` and whose terminate is in
    /// column `end`. `false` when the buffer has overflowed and the frame with it.
    pub fn frame(&mut self, start: u64, end: u64) -> bool {
        let fill = self.read_idles(start);
        self.idle_from = end + 1;
        if fill < FULL {
            return true;
        }
        // Hardware throws away what it holds and begins anew.
        self.slips += 1;
        self.lead -= ((fill - LOW) / COLUMN as i128) as i64;
        false
    }

    /// Reads idles up to a time, if no frame is being read then.
    pub fn read_until(&mut self, at: u64) {
        // Columns that go bring later ones in by that time: again, until it is the right one.
        while self.column_at(at) > self.idle_from as i64 + 1 {
            let column = self.column_at(at) as u64;
            self.read_idles(column);
            // The next one is behind idles already: it may go.
            self.idle_from = column - 1;
            if self.column_at(at) <= column as i64 {
                break;
            }
        }
    }

    /// When a column of the last frame is read: it is in by then, but for what a frame of many
    /// thousand bytes takes out of the buffer.
    pub fn read_at(&mut self, column: u64) -> u64 {
        self.own.when(self.slot(column) * COLUMN)
    }

    /// The column that is read at a time, or one before it where columns are still to be inserted or
    /// removed on the way there.
    fn column_at(&mut self, at: u64) -> i64 {
        let read = (self.own.own(at) / COLUMN) as i64 - self.lead;
        let came = (self.line.own(at.saturating_sub(self.delay)) / COLUMN) as i64;
        read.min(came - 1)
    }

    fn slot(&self, column: u64) -> Own {
        (i128::from(column) + i128::from(self.lead)).max(0) as Own
    }

    /// What is in the buffer when a column is read, with this many columns inserted more.
    fn fill(&mut self, column: u64, more: i64) -> i128 {
        let lead = self.lead + more;
        let slot = (i128::from(column) + i128::from(lead)).max(0) as Own;
        let at = self.own.when(slot * COLUMN);
        let came = self.line.own(at.saturating_sub(self.delay)) as i128;
        came - self.own.own(at) as i128 + i128::from(lead) * COLUMN as i128
    }

    /// Goes through the idles up to column `end`, and returns what is in the buffer then.
    fn read_idles(&mut self, end: u64) -> i128 {
        let mut from = self.idle_from;
        let mut turned = false;
        while let Some(&turn) = self.turns.get(self.next_turn) {
            let column = self.column_at(turn);
            if column >= end as i64 {
                break;
            }
            if column > from as i64 + 1 {
                self.keep(&mut from, column as u64);
                // Columns that went bring a later one to that time.
                if self.column_at(turn) > column {
                    continue;
                }
            } else {
                turned = true;
            }
            self.next_turn += 1;
        }
        // What grew in the frame before may shrink by now: the first idle that may go is looked at too.
        if turned && end > from + 2 {
            let second = from + 2;
            self.keep(&mut from, second);
        }
        self.keep(&mut from, end)
    }

    /// Inserts and removes what must be in the idles from one column to another, between which the
    /// fill only grows or only shrinks; returns what is in the buffer at the end.
    fn keep(&mut self, from: &mut u64, end: u64) -> i128 {
        // The first is not removed. The last may be, which is decided when it is read.
        let most = end.saturating_sub(*from + 1);
        let fill = self.fill(end, 0);
        // One column earlier it was the same but for 200 ppm of a column.
        let surely = HIGH - COLUMN as i128 / 1024;
        if (LOW..surely).contains(&fill) || most == 0 && fill >= LOW {
            return fill;
        }
        if most > 0 {
            let last = self.fill(end - 1, 0);
            if last >= HIGH {
                let count = self.count(end - 1, -1, most, |fill| fill < HIGH);
                self.removed += count;
                self.lead -= count as i64;
                *from += count;
            }
        }
        let fill = self.fill(end, 0);
        if fill < LOW {
            let count = self.count(end, 1, u64::MAX, |fill| fill >= LOW);
            self.inserted += count;
            self.lead += count as i64;
            return self.fill(end, 0);
        }
        fill
    }

    /// The least number of columns, up to `most`, to be inserted (`way` 1) or removed (-1) before a
    /// column so that the buffer is as it should be when it is read.
    fn count(&mut self, column: u64, way: i64, most: u64, good: impl Fn(i128) -> bool) -> u64 {
        let mark = if way > 0 { LOW } else { HIGH - 1 };
        // Each changes the fill by a column, and 200 ppm more or less since the slot is another: a few
        // rounds of guessing come near, and single steps the rest of the way.
        let mut count = 0i128;
        for _ in 0..8 {
            let fill = self.fill(column, way * count as i64);
            let step = (mark - fill) * i128::from(way) / COLUMN as i128;
            if step == 0 {
                break;
            }
            count = (count + step).clamp(0, i128::from(most));
        }
        let mut good = |count: i128| good(self.fill(column, way * count as i64));
        while count < i128::from(most) && !good(count) {
            count += 1;
        }
        while count > 0 && good(count - 1) {
            count -= 1;
        }
        count as u64
    }
}

#[cfg(test)]
mod tests;
