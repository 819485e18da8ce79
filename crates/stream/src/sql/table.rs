//! A ring as a virtual table of SQLite.
//!
//! Columns: `at`, those of the schema, and two hidden ones that take a window as arguments. The
//! row's number is `rowid`. Bounds of `at`, and an order by `at` or `rowid` in either direction, are
//! used to read only a part of the ring. For GROUP BY and ORDER BY of columns, a hash table
//! groups the rows of a window that is not too large; SQLite would sort them.

mod groups;

use super::Moment;
use crate::extent::Extent;
use crate::schema::{Schema, TableId};
use crate::store::Store;
use crate::value::Value;
use parking_lot::Mutex;
use rusqlite::ffi;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, DistinctMode, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig,
    VTabConnection, VTabCursor,
};
use rusqlite::{Error, Result};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::ops::Range;
use std::sync::Arc;

pub(super) const MODULE: Module<'static, RingTable> = Module::eponymous_only_module();

/// Bytes that SQLite has allocated in this process.
pub(super) fn memory_used() -> i64 {
    // SAFETY: it takes no argument, and SQLite's mutex guards the count.
    unsafe { ffi::sqlite3_memory_used() }
}

/// A table of a store.
#[derive(Clone)]
pub(super) struct Source {
    store: Arc<Mutex<Store>>,
    id: TableId,
    moment: Arc<Mutex<Moment>>,
    declaration: CString,
    columns: usize,
}

impl Source {
    pub(super) fn new(
        store: Arc<Mutex<Store>>,
        id: TableId,
        schema: &Schema,
        moment: Arc<Mutex<Moment>>,
    ) -> Source {
        let mut text = String::from("CREATE TABLE x(\"at\" INTEGER");
        for column in schema.columns() {
            text.push_str(&format!(", \"{}\" {}", column.name, column.kind.name()));
        }
        text.push_str(", window_kind HIDDEN, window_amount HIDDEN)");
        Source {
            store,
            id,
            moment,
            declaration: CString::new(text).unwrap_or_default(),
            columns: schema.columns().len() + 1,
        }
    }
}

#[repr(C)]
pub(super) struct RingTable {
    base: ffi::sqlite3_vtab,
    source: Source,
}

/// Maximum memory of a window whose rows are grouped, bytes.
const MAX_GROUPED_BYTES: u64 = 64 << 20;

/// Bits of a plan: which arguments a filter has, in this order. Its text has the columns of groups.
mod plan {
    pub const KIND: i32 = 1;
    pub const AMOUNT: i32 = 2;
    pub const FROM: i32 = 4;
    pub const TO: i32 = 8;
    pub const ARGUMENTS: [i32; 4] = [KIND, AMOUNT, FROM, TO];
    /// Newest first.
    pub const DESCENDING: i32 = 16;
    /// Shift of the mask of columns that are read: the first 24, or all.
    pub const COLUMNS: u32 = 5;
    pub const COLUMN_BITS: u32 = 24;
}

// SAFETY: `base` is the first field, and the layout is C's.
unsafe impl VTab<'_> for RingTable {
    type Aux = Source;
    type Cursor = RingCursor;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Source>,
        _module: &[u8],
        _database: &[u8],
        _table: &[u8],
        _args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, RingTable)> {
        db.config(VTabConfig::DirectOnly)?;
        let source = aux.ok_or(Error::InvalidQuery)?.clone();
        let declaration = Cow::Owned(source.declaration.clone());
        let base = ffi::sqlite3_vtab::default();
        Ok((declaration, RingTable { base, source }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        use IndexConstraintOp::{
            SQLITE_INDEX_CONSTRAINT_EQ as EQ, SQLITE_INDEX_CONSTRAINT_GE as GE,
            SQLITE_INDEX_CONSTRAINT_GT as GT, SQLITE_INDEX_CONSTRAINT_LE as LE,
            SQLITE_INDEX_CONSTRAINT_LT as LT,
        };
        let hidden = self.source.columns as c_int;
        let mut found = [None; 4];
        for (index, constraint) in info.constraints().enumerate() {
            let (column, usable) = (constraint.column(), constraint.is_usable());
            let operator = constraint.operator();
            if column >= hidden {
                // A window whose arguments are not known yet is no plan.
                if operator != EQ || !usable {
                    return Ok(false);
                }
                found[(column - hidden) as usize] = Some(index);
            } else if column == 0 && usable {
                match operator {
                    GE | GT => found[2] = Some(index),
                    LE | LT => found[3] = Some(index),
                    _ => {}
                }
            }
        }
        let mut bits = 0;
        let mut arguments = 0;
        for (place, index) in found.iter().enumerate() {
            let Some(index) = *index else { continue };
            bits |= plan::ARGUMENTS[place];
            arguments += 1;
            let mut usage = info.constraint_usage(index);
            usage.set_argv_index(arguments);
            // SQLite checks bounds again: they are taken as inclusive here.
            usage.set_omit(place < 2);
        }
        let terms: Vec<(c_int, bool)> = info
            .order_bys()
            .map(|term| (term.column(), term.is_order_by_desc()))
            .collect();
        match terms[..] {
            [] => {}
            [(..=0, descending)] => {
                info.set_order_by_consumed(true);
                bits |= if descending { plan::DESCENDING } else { 0 };
            }
            // The row number is not stored in a cell.
            _ if terms.iter().all(|term| term.0 >= 0) && self.is_small(info.col_used()) => {
                info.set_order_by_consumed(true);
                let distinct = info.distinct();
                let in_order = !matches!(distinct, DistinctMode::Grouped | DistinctMode::Distinct);
                info.set_idx_str(&groups::Order::encode(&terms, in_order));
            }
            _ => {}
        }
        // A column of an order may be used for nothing else.
        let ordered = terms.iter().filter(|term| (0..63).contains(&term.0));
        let used = ordered.fold(info.col_used(), |used, term| used | 1 << term.0);
        let mask = (1 << plan::COLUMN_BITS) - 1;
        let used = if used > mask { mask } else { used };
        bits |= (used as i32) << plan::COLUMNS;
        let rows = self.source.store.lock().ring(self.source.id).len();
        // Estimate: a window or a bound selects a tenth of the rows.
        let rows = match found.iter().flatten().count() {
            0 => rows,
            _ => rows / 10,
        };
        info.set_estimated_rows(rows as i64 + 1);
        info.set_estimated_cost(rows as f64 + 1.0);
        info.set_idx_num(bits);
        Ok(true)
    }

    fn open(&mut self) -> Result<RingCursor> {
        Ok(RingCursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            width: self.source.columns,
            source: self.source.clone(),
            rows: 0..0,
            descending: false,
            read: Vec::new(),
            places: vec![0; self.source.columns],
            cells: Vec::new(),
            bytes: Vec::new(),
            numbers: Vec::new(),
            order: None,
            at: 0,
        })
    }
}

impl RingTable {
    /// Whether the columns of all rows fit into the memory of groups.
    fn is_small(&self, used: u64) -> bool {
        let store = self.source.store.lock();
        let rows = store.ring(self.source.id).len() as u64;
        let row = u64::from(used.count_ones() + 2) * size_of::<Cell>() as u64;
        rows * row + store.schema(self.source.id).arena() <= MAX_GROUPED_BYTES
    }
}

/// Rows copied at a time.
const BATCH: u64 = 256;

#[derive(Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// Bytes of [`RingCursor::bytes`].
    Text(u32, u32),
    Blob(u32, u32),
}

/// Reads rows of a ring in batches, so that the store is locked for a short time.
#[repr(C)]
pub(super) struct RingCursor {
    base: ffi::sqlite3_vtab_cursor,
    source: Source,
    width: usize,
    /// Rows that have not been copied yet.
    rows: Range<u64>,
    descending: bool,
    /// Columns that are read, and the place of each among them.
    read: Vec<usize>,
    places: Vec<usize>,
    /// The rows that have been copied, one batch or, for groups, all.
    cells: Vec<Cell>,
    bytes: Vec<u8>,
    numbers: Vec<u64>,
    /// For groups, the order of these rows.
    order: Option<Vec<u32>>,
    at: usize,
}

impl RingCursor {
    /// Replaces the copied rows with the next ones.
    fn fill(&mut self) {
        self.at = 0;
        self.cells.clear();
        self.bytes.clear();
        self.numbers.clear();
        self.copy();
    }

    /// Copies the next rows.
    fn copy(&mut self) {
        let store = self.source.store.lock();
        let ring = store.ring(self.source.id);
        let missing = ring
            .first()
            .min(self.rows.end)
            .saturating_sub(self.rows.start);
        if missing > 0 {
            self.rows.start += missing;
            self.source.moment.lock().missing += missing;
        }
        let count = BATCH.min(self.rows.end - self.rows.start);
        let from = self.numbers.len();
        if self.descending {
            self.rows.end -= count;
            self.numbers
                .extend((self.rows.end..self.rows.end + count).rev());
        } else {
            self.numbers
                .extend(self.rows.start..self.rows.start + count);
            self.rows.start += count;
        }
        let width = self.read.len();
        if width == 0 {
            return;
        }
        self.cells.resize(self.numbers.len() * width, Cell::Null);
        let bytes = &mut self.bytes;
        let mut keep = |stored: &[u8]| {
            let start = bytes.len() as u32;
            bytes.extend_from_slice(stored);
            (start, stored.len() as u32)
        };
        let cells = self.cells[from * width..].chunks_mut(width);
        for (row, cells) in self.numbers[from..].iter().zip(cells) {
            let slot = ring.slot(*row);
            for (cell, column) in cells.iter_mut().zip(&self.read) {
                *cell = match ring.value_in(slot, *column) {
                    Value::Null => Cell::Null,
                    Value::Integer(value) => Cell::Integer(value),
                    Value::Real(value) => Cell::Real(value),
                    Value::Text(text) => {
                        let (start, length) = keep(text.as_bytes());
                        Cell::Text(start, length)
                    }
                    Value::Blob(stored) => {
                        let (start, length) = keep(stored);
                        Cell::Blob(start, length)
                    }
                };
            }
        }
    }

    fn stored(&self, start: u32, length: u32) -> &[u8] {
        &self.bytes[start as usize..][..length as usize]
    }

    /// Index of the current row among the copied rows.
    fn index(&self) -> usize {
        match &self.order {
            Some(order) => order[self.at] as usize,
            None => self.at,
        }
    }

    /// A cell of a row that has been copied.
    fn cell(&self, row: usize, column: usize) -> ValueRef<'_> {
        match self.cells[row * self.read.len() + self.places[column]] {
            Cell::Null => ValueRef::Null,
            Cell::Integer(value) => ValueRef::Integer(value),
            Cell::Real(value) => ValueRef::Real(value),
            Cell::Text(start, length) => ValueRef::Text(self.stored(start, length)),
            Cell::Blob(start, length) => ValueRef::Blob(self.stored(start, length)),
        }
    }
}

// SAFETY: `base` is the first field, and the layout is C's.
unsafe impl VTabCursor for RingCursor {
    fn filter(&mut self, bits: c_int, order: Option<&str>, arguments: &Filters<'_>) -> Result<()> {
        let mut given = arguments.iter();
        let mut next = |bit: i32| match bits & bit {
            0 => None,
            _ => given.next(),
        };
        let (kind, amount) = (next(plan::KIND), next(plan::AMOUNT));
        let (from, to) = (next(plan::FROM), next(plan::TO));
        let extent = match (kind, amount) {
            (None, None) => Extent::All,
            (Some(ValueRef::Integer(kind)), Some(ValueRef::Integer(amount))) => {
                Extent::decode(kind, amount).ok_or_else(no_window)?
            }
            _ => return Err(no_window()),
        };
        let mask = bits >> plan::COLUMNS;
        let all = mask == (1 << plan::COLUMN_BITS) - 1;
        self.read.clear();
        let read = (0..self.width).filter(|column| all || mask >> column & 1 == 1);
        self.read.extend(read);
        for (place, column) in self.read.iter().enumerate() {
            self.places[*column] = place;
        }
        self.descending = bits & plan::DESCENDING != 0;
        {
            let store = self.source.store.lock();
            let ring = store.ring(self.source.id);
            let mut moment = self.source.moment.lock();
            // A table created after the question began has no rows for it.
            let end = moment.next.get(self.source.id.0).copied().unwrap_or(0);
            self.rows = extent.rows(ring, moment.now, end);
            moment.is_cut |= extent.is_cut(ring, &self.rows);
            if from.is_none() && to.is_none() {
                // Rows that were overwritten since the question began. Of a window in time nothing says whether they were in it.
                let first = moment.first.get(self.source.id.0).copied();
                let first = first.unwrap_or(ring.first());
                let begin = match extent {
                    Extent::All => first,
                    Extent::Rows(most) => end.saturating_sub(most).max(first),
                    _ => ring.first(),
                };
                moment.missing += ring.first().min(end).saturating_sub(begin);
            }
            if let Some(ValueRef::Integer(from)) = from {
                let first = ring.lower_bound(self.rows.start, from);
                self.rows.start = first.min(self.rows.end);
            }
            if let Some(ValueRef::Integer(to)) = to
                && let Some(after) = to.checked_add(1)
            {
                let end = ring.lower_bound(self.rows.start, after);
                self.rows.end = self.rows.end.min(end);
            }
        }
        self.order = None;
        self.fill();
        if let Some(order) = order.and_then(groups::Order::decode) {
            while !self.rows.is_empty() {
                self.copy();
            }
            let cell = |row, column| self.cell(row, column);
            self.order = Some(order.rows(self.numbers.len(), cell));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.at += 1;
        if self.at >= self.numbers.len() && self.order.is_none() {
            self.fill();
        }
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.numbers.len()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let column = column as usize;
        // Hidden columns, and columns that the plan does not use, are null.
        if column >= self.width || self.read.get(self.places[column]) != Some(&column) {
            return Ok(());
        }
        let value = self.cell(self.index(), column);
        context.set_result(rusqlite::types::ToSqlOutput::Borrowed(value))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.numbers[self.index()].cast_signed())
    }
}

fn no_window() -> Error {
    let message = "a table takes no arguments: write a window, such as Flows [RANGE 10 SECONDS]";
    Error::ModuleError(message.into())
}
