//! All tables of a database, without locks, I/O or a clock.

use crate::answer::Answer;
use crate::extent::Unit;
use crate::ring::Ring;
use crate::schema::{Schema, SchemaError, TableId};
use crate::select::Catalog;
use crate::value::Value;
use crate::watch::{Event, Plan, SubscriptionCounts, Watch, WatchError, WatchLimits};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::task::Waker;

/// Tables, standing windows and subscriptions, and their time.
pub struct Store {
    unit: Unit,
    now: i64,
    seed: [u64; 2],
    limits: WatchLimits,
    schemas: Vec<Schema>,
    tables: Vec<Entry>,
    watches: Vec<Option<Watch>>,
    serial: u64,
}

/// A table without its schema.
struct Entry {
    ring: Ring,
    counts: Counts,
    /// Standing windows and subscriptions that use its rows.
    listeners: Vec<usize>,
}

/// Identifier of a standing window or subscription in its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WatchId {
    slot: usize,
    serial: u64,
}

/// Counters of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows overwritten by newer ones.
    pub overwritten: u64,
    /// Rows with a time before that of the newest row, inserted with the newest row's time.
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
    /// A store without tables. Its time is the least possible until a row is inserted or
    /// [`advance`](Store::advance) is called. `seed` keys the hashes of groups, so that chosen keys
    /// cannot be made to collide; it has no other effect.
    #[must_use]
    pub fn new(unit: Unit, seed: [u64; 2], limits: WatchLimits) -> Store {
        Store {
            unit,
            now: i64::MIN,
            seed,
            limits,
            schemas: Vec::new(),
            tables: Vec::new(),
            watches: Vec::new(),
            serial: 0,
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
        self.tables.push(Entry {
            ring: Ring::new(&schema),
            counts: Counts::default(),
            listeners: Vec::new(),
        });
        self.schemas.push(schema);
        Ok(TableId(self.tables.len() - 1))
    }

    /// Table by name; case does not matter.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TableId> {
        let found = self
            .schemas
            .iter()
            .position(|schema| schema.name.eq_ignore_ascii_case(name));
        found.map(TableId)
    }

    /// All tables in order of creation.
    pub fn tables(&self) -> impl Iterator<Item = TableId> {
        (0..self.tables.len()).map(TableId)
    }

    /// A table's schema.
    #[must_use]
    pub fn schema(&self, table: TableId) -> &Schema {
        &self.schemas[table.0]
    }
    /// A table's rows.
    #[must_use]
    pub fn ring(&self, table: TableId) -> &Ring {
        &self.tables[table.0].ring
    }
    /// A table's counters.
    #[must_use]
    pub fn counts(&self, table: TableId) -> Counts {
        self.tables[table.0].counts
    }

    /// Advances the time: rows leave windows, and absences are reported. A time in the past has no
    /// effect.
    pub fn advance(&mut self, now: i64) {
        if now <= self.now {
            return;
        }
        self.now = now;
        for watch in self.watches.iter_mut().flatten() {
            watch.advance(&self.tables[watch.tables[0].0].ring, now);
        }
    }

    /// Appends a row to a table; `values` are those of the columns after `at`.
    ///
    /// A time before that of the table's newest row is replaced by that time, and counted as
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
        let schema = &self.schemas[table.0];
        let entry = &mut self.tables[table.0];
        let Some(length) = length(schema, values) else {
            entry.counts.refused += 1;
            return Err(misfit(schema, values));
        };
        let newest = entry.ring.newest().unwrap_or(i64::MIN);
        entry.counts.late += u64::from(at < newest);
        let at = at.max(newest);
        self.now = self.now.max(at);
        let first = entry.ring.first_after(length);
        for listener in &entry.listeners {
            if let Some(watch) = &mut self.watches[*listener] {
                watch.before(&entry.ring, at, first);
            }
        }
        entry.counts.overwritten += first - entry.ring.first();
        entry.counts.inserted += 1;
        let row = entry.ring.next();
        entry.ring.push(at, values, length, first);
        for listener in &entry.listeners {
            if let Some(watch) = &mut self.watches[*listener] {
                watch.row(table, &entry.ring, row, self.now);
            }
        }
        Ok(())
    }

    /// Makes a standing window, such as
    /// `SELECT device, sum(bytes) FROM Flows [RANGE 10 SECONDS] GROUP BY device`.
    ///
    /// # Errors
    /// When the text cannot be read or a limit is reached.
    pub fn stand(&mut self, text: &str) -> Result<WatchId, WatchError> {
        let plan = Plan::standing(text, &self.catalog(), &self.limits)?;
        self.watch(plan)
    }

    /// Subscribes to a pattern: a threshold, an absence or a sequence.
    ///
    /// # Errors
    /// When the text cannot be read or a limit is reached.
    pub fn subscribe(&mut self, text: &str) -> Result<WatchId, WatchError> {
        let plan = Plan::subscription(text, &self.catalog(), &self.limits)?;
        self.watch(plan)
    }

    fn catalog(&self) -> Catalog<'_> {
        Catalog {
            unit: self.unit,
            schemas: &self.schemas,
        }
    }

    fn watch(&mut self, plan: Plan) -> Result<WatchId, WatchError> {
        let watches = self.watches.iter().flatten();
        let (count, used) = watches.fold((0, 0), |(n, used), watch| (n + 1, used + watch.cost));
        if count >= self.limits.count {
            return Err(WatchError::Count(count));
        }
        let free = self.limits.memory.saturating_sub(used);
        if plan.cost > free {
            let needed = plan.cost;
            return Err(WatchError::Memory { needed, free });
        }
        self.serial += 1;
        let ring = &self.tables[plan.tables[0].0].ring;
        let watch = plan.make((self.serial, self.seed), ring, self.now, &self.limits);
        let free = self.watches.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.watches.len());
        for table in &watch.tables {
            self.tables[table.0].listeners.push(slot);
        }
        match free {
            Some(slot) => self.watches[slot] = Some(watch),
            None => self.watches.push(Some(watch)),
        }
        Ok(WatchId {
            slot,
            serial: self.serial,
        })
    }

    fn find_watch(&mut self, id: WatchId) -> Option<&mut Watch> {
        let watch = self.watches.get_mut(id.slot)?.as_mut();
        watch.filter(|watch| watch.serial == id.serial)
    }

    /// Ends a standing window or subscription and frees its memory.
    pub fn remove(&mut self, id: WatchId) {
        if self.find_watch(id).is_some() {
            self.watches[id.slot] = None;
            for table in &mut self.tables {
                table.listeners.retain(|slot| *slot != id.slot);
            }
        }
    }

    /// The answer of a standing window; `None` if it was removed or is a subscription.
    pub fn answer(&mut self, id: WatchId) -> Option<Answer> {
        let now = self.now;
        let watch = self.watches.get_mut(id.slot)?.as_mut()?;
        let ring = &self.tables[watch.tables[0].0].ring;
        match watch.serial == id.serial {
            true => Some(watch.standing()?.answer(ring, now)),
            false => None,
        }
    }

    /// Takes the oldest event of a subscription. If there is none, `waker` is woken at the next.
    pub fn take(&mut self, id: WatchId, waker: Option<&Waker>) -> Option<Event> {
        self.find_watch(id)?.take(waker)
    }

    /// Names of the values of a subscription's events.
    #[must_use]
    pub fn columns(&mut self, id: WatchId) -> Option<&[String]> {
        self.find_watch(id).map(|watch| &watch.columns[..])
    }

    /// Counters of a subscription.
    #[must_use]
    pub fn subscription_counts(&mut self, id: WatchId) -> Option<SubscriptionCounts> {
        self.find_watch(id).map(|watch| watch.counts())
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
    let (wanted, given) = (schema.columns.len(), values.len());
    let mut pairs = schema.columns.iter().zip(values);
    let misfit = pairs.find(|(column, value)| !column.kind.admits(**value));
    let message = match misfit {
        Some((column, value)) if wanted == given => {
            let (name, kind, most) = (&column.name, column.kind.name(), column.kind.max_len());
            match value {
                Value::Text(text) if kind == "TEXT" => {
                    format!(
                        "column {name} has at most {most} bytes, the text {}",
                        text.len()
                    )
                }
                Value::Blob(blob) if kind == "BLOB" => {
                    format!(
                        "column {name} has at most {most} bytes, the blob {}",
                        blob.len()
                    )
                }
                _ => format!("column {name} is {kind}; the value has another type"),
            }
        }
        _ => format!("{given} values for {wanted} columns after at"),
    };
    InsertError {
        table: schema.name.clone(),
        message,
    }
}
