//! All tables of a database, without locks, I/O or a clock.

use crate::extent::Unit;
use crate::ring::Ring;
use crate::schema::{Schema, SchemaError};
use crate::value::Value;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Number of a table in its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableId(pub(crate) usize);

/// Tables and their time.
pub struct Store {
    unit: Unit,
    now: i64,
    tables: Vec<Entry>,
}

/// A table with its counters.
pub(crate) struct Entry {
    pub schema: Schema,
    pub ring: Ring,
    pub counts: Counts,
}

/// Counters of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows overwritten by newer ones.
    pub overwritten: u64,
    /// Rows inserted with a time before that of the newest row, which they were given instead.
    pub late: u64,
    /// Rows refused: their values do not fit the columns.
    pub refused: u64,
}

/// A row that does not fit its table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("table {table}: {message}")]
pub struct InsertError {
    /// The table's name.
    pub table: String,
    /// The cause.
    pub message: String,
}

impl Store {
    /// Without tables. Its time is the least possible until a row is inserted or [`advance`](Store::advance)
    /// is called.
    #[must_use]
    pub fn new(unit: Unit) -> Store {
        Store {
            unit,
            now: i64::MIN,
            tables: Vec::new(),
        }
    }

    /// Unit of `at`.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The latest time of a row or of [`advance`](Store::advance).
    #[must_use]
    pub fn now(&self) -> i64 {
        self.now
    }

    /// Adds a table and allocates its memory.
    ///
    /// # Errors
    /// When the schema cannot be stored or its name is in use.
    pub fn create(&mut self, schema: Schema) -> Result<TableId, SchemaError> {
        schema.check()?;
        if self.find(&schema.name).is_some() {
            return Err(SchemaError {
                table: schema.name,
                message: "there is a table of this name".into(),
            });
        }
        let ring = Ring::new(&schema);
        self.tables.push(Entry {
            schema,
            ring,
            counts: Counts::default(),
        });
        Ok(TableId(self.tables.len() - 1))
    }

    /// The table of a name, in any case.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TableId> {
        let found = self
            .tables
            .iter()
            .position(|table| table.schema.name.eq_ignore_ascii_case(name));
        found.map(TableId)
    }

    /// All tables in order of creation.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        (0..self.tables.len()).map(TableId)
    }

    pub(crate) fn entry(&self, table: TableId) -> &Entry {
        &self.tables[table.0]
    }

    /// A table's schema.
    #[must_use]
    pub fn schema(&self, table: TableId) -> &Schema {
        &self.entry(table).schema
    }
    /// A table's rows.
    #[must_use]
    pub fn ring(&self, table: TableId) -> &Ring {
        &self.entry(table).ring
    }
    /// A table's counters.
    #[must_use]
    pub fn counts(&self, table: TableId) -> Counts {
        self.entry(table).counts
    }

    /// Moves the time on. A time in the past has no effect.
    pub fn advance(&mut self, now: i64) {
        self.now = self.now.max(now);
    }

    /// Appends a row to a table; `values` are those of the columns after `at`.
    ///
    /// A time before that of the table's newest row becomes that time, and is counted
    /// [`late`](Counts::late).
    ///
    /// # Errors
    /// When the number, types or lengths of the values are not those of the columns.
    pub fn insert(
        &mut self,
        table: TableId,
        at: i64,
        values: &[Value<'_>],
    ) -> Result<(), InsertError> {
        let entry = &mut self.tables[table.0];
        let length = match length(&entry.schema, values) {
            Some(length) => length,
            None => {
                entry.counts.refused += 1;
                return Err(misfit(&entry.schema, values));
            }
        };
        let newest = entry.ring.newest().unwrap_or(i64::MIN);
        entry.counts.late += u64::from(at < newest);
        let at = at.max(newest);
        let first = entry.ring.first_after(length);
        entry.counts.overwritten += first - entry.ring.first();
        entry.ring.push(at, values, length, first);
        entry.counts.inserted += 1;
        self.advance(at);
        Ok(())
    }
}

/// Bytes of a row's texts and blobs; `None` if it does not fit.
fn length(schema: &Schema, values: &[Value<'_>]) -> Option<usize> {
    if values.len() != schema.columns.len() {
        return None;
    }
    let mut length = 0;
    for (column, value) in schema.columns.iter().zip(values) {
        if !column.kind.admits(*value) {
            return None;
        }
        length += match value {
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
            _ => 0,
        };
    }
    Some(length)
}

#[cold]
fn misfit(schema: &Schema, values: &[Value<'_>]) -> InsertError {
    let table = schema.name.clone();
    let (wanted, given) = (schema.columns.len(), values.len());
    let misfit = schema
        .columns
        .iter()
        .zip(values)
        .find(|(column, value)| !column.kind.admits(**value));
    let message = match misfit {
        _ if wanted != given => format!("{given} values for {wanted} columns after at"),
        Some((column, value)) => {
            let (name, kind) = (&column.name, column.kind.name());
            let length = match value {
                Value::Text(text) => Some(text.len()),
                Value::Blob(bytes) => Some(bytes.len()),
                _ => None,
            };
            match length {
                Some(length) if column.kind.max_len() > 0 => format!(
                    "column {name} is {kind} of at most {} bytes; the value has {length}",
                    column.kind.max_len()
                ),
                _ => format!("column {name} is {kind}; the value has another type"),
            }
        }
        None => "the row does not fit".into(),
    };
    InsertError { table, message }
}
