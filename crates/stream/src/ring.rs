//! Rows of a table in fixed memory, the newest kept.
//!
//! Each row has a number, counted from 0 for the first row ever inserted. A ring holds the rows
//! [`first`](Ring::first)`..`[`next`](Ring::next). Texts and blobs are in a second ring of bytes: a
//! row that needs more bytes than are free there evicts the oldest rows early.

use crate::schema::{Kind, Schema};
use crate::value::Value;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Rows in fixed memory.
pub struct Ring {
    kinds: Vec<Kind>,
    /// Cells of a row: its time, its null bits, the start of its bytes, then its columns.
    width: usize,
    cells: Box<[u64]>,
    rows: usize,
    bytes: Box<[u8]>,
    /// End of the bytes in use. Positions only grow; a position's place is its remainder.
    end: u64,
    first: u64,
    next: u64,
    /// Slot of row `next`.
    head: usize,
}

/// Cells before a row's columns.
const TIME: usize = 0;
const NULLS: usize = 1;
const START: usize = 2;
const HEADER: usize = 3;

impl Ring {
    /// An empty ring. Allocates all its memory. The schema has been checked.
    pub(crate) fn new(schema: &Schema) -> Ring {
        let kinds: Vec<Kind> = schema.columns.iter().map(|column| column.kind).collect();
        let width = HEADER + kinds.len();
        Ring {
            width,
            cells: vec![0; width * schema.rows].into_boxed_slice(),
            rows: schema.rows,
            bytes: vec![0; schema.arena() as usize].into_boxed_slice(),
            kinds,
            end: 0,
            first: 0,
            next: 0,
            head: 0,
        }
    }

    /// Number of the oldest row; equal to [`next`](Ring::next) while the ring is empty.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }
    /// Number of the next row to be inserted, which is the number of insertions so far.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.next - self.first) as usize
    }
    /// Whether no row has been inserted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.next == self.first
    }
    /// Maximum number of rows.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.rows
    }

    /// Slot of a row that the ring holds.
    pub(crate) fn slot(&self, row: u64) -> usize {
        let back = (self.next - row) as usize;
        match self.head.checked_sub(back) {
            Some(slot) => slot,
            None => self.head + self.rows - back,
        }
    }

    fn row(&self, row: u64) -> &[u64] {
        self.cells_of(self.slot(row))
    }

    fn cells_of(&self, slot: usize) -> &[u64] {
        &self.cells[slot * self.width..][..self.width]
    }

    /// Time of a row that the ring holds.
    #[must_use]
    pub fn time(&self, row: u64) -> i64 {
        self.row(row)[TIME].cast_signed()
    }

    /// Time of the newest row.
    #[must_use]
    pub fn newest(&self) -> Option<i64> {
        (!self.is_empty()).then(|| self.time(self.next - 1))
    }

    /// A cell of a row that the ring holds. Column 0 is `at`.
    #[must_use]
    pub fn value(&self, row: u64, column: usize) -> Value<'_> {
        self.value_in(self.slot(row), column)
    }

    /// A cell of the row in a slot.
    pub(crate) fn value_in(&self, slot: usize, column: usize) -> Value<'_> {
        let cells = self.cells_of(slot);
        let Some(column) = column.checked_sub(1) else {
            return Value::Integer(cells[TIME].cast_signed());
        };
        if cells[NULLS] >> column & 1 == 1 {
            return Value::Null;
        }
        let cell = cells[HEADER + column];
        match self.kinds[column] {
            Kind::Integer => Value::Integer(cell.cast_signed()),
            Kind::Real => Value::Real(f64::from_bits(cell)),
            // Only whole texts are written, and their bytes stay until the row leaves.
            Kind::Text(_) => Value::Text(core::str::from_utf8(self.stored(cell)).unwrap_or("")),
            Kind::Blob(_) => Value::Blob(self.stored(cell)),
        }
    }

    fn stored(&self, cell: u64) -> &[u8] {
        let (place, length) = ((cell >> 32) as usize, cell as u32 as usize);
        &self.bytes[place..][..length]
    }

    /// First row of those from `from` on whose time is at least `time`.
    #[must_use]
    pub fn lower_bound(&self, from: u64, time: i64) -> u64 {
        let (mut low, mut high) = (from.max(self.first), self.next);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.time(middle) < time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Number of the oldest row that remains when a row with `length` bytes of texts is pushed.
    /// The rows before it are intact until then.
    pub(crate) fn first_after(&self, length: usize) -> u64 {
        let mut first = self.first + u64::from(self.len() == self.rows);
        if length > 0 {
            let end = self.place(length) + length as u64;
            while first < self.next && end - self.row(first)[START] > self.bytes.len() as u64 {
                first += 1;
            }
        }
        first
    }

    /// Position of the next `length` contiguous bytes.
    fn place(&self, length: usize) -> u64 {
        let size = self.bytes.len() as u64;
        let used = self.end % size;
        match used + length as u64 > size {
            true => self.end + size - used,
            false => self.end,
        }
    }

    /// Appends a row of values that the schema [admits](Kind::admits), after
    /// [`first_after`](Ring::first_after) for their bytes.
    pub(crate) fn push(&mut self, at: i64, values: &[Value<'_>], length: usize, first: u64) {
        self.first = first;
        let mut position = match length {
            0 => self.end,
            _ => self.place(length),
        };
        let cells = &mut self.cells[self.head * self.width..][..self.width];
        cells[TIME] = at.cast_unsigned();
        cells[START] = position;
        let mut nulls = 0;
        for (index, value) in values.iter().enumerate() {
            cells[HEADER + index] = match (self.kinds[index], *value) {
                (Kind::Real, Value::Integer(value)) => (value as f64).to_bits(),
                (_, Value::Integer(value)) => value.cast_unsigned(),
                (_, Value::Real(value)) if !value.is_nan() => value.to_bits(),
                (_, Value::Null | Value::Real(_)) => {
                    nulls |= 1 << index;
                    0
                }
                (_, Value::Text(text)) => store(&mut self.bytes, &mut position, text.as_bytes()),
                (_, Value::Blob(bytes)) => store(&mut self.bytes, &mut position, bytes),
            };
        }
        cells[NULLS] = nulls;
        self.end = position;
        self.next += 1;
        self.head = match self.head + 1 {
            end if end == self.rows => 0,
            head => head,
        };
    }
}

/// Copies bytes to their place; returns the cell that refers to them.
fn store(into: &mut [u8], position: &mut u64, bytes: &[u8]) -> u64 {
    if bytes.is_empty() {
        return 0;
    }
    let place = (*position % into.len() as u64) as usize;
    into[place..][..bytes.len()].copy_from_slice(bytes);
    *position += bytes.len() as u64;
    (place as u64) << 32 | bytes.len() as u64
}

#[cfg(test)]
mod tests;
