//! The handle by which threads share a database.

use crate::extent::Unit;
use crate::schema::{Schema, SchemaError};
use crate::store::{Counts, InsertError, Store, TableId};
use crate::value::Value;
use alloc::string::ToString;
use alloc::sync::Arc;
use parking_lot::Mutex;

#[cfg(feature = "sql")]
use crate::{
    answer::Answer,
    sql::{QueryError, QueryLimits, Sessions},
};

/// A database; clones share it.
///
/// Each call holds a mutex for the time of one insertion, or of copying 256 rows for a question.
#[derive(Clone)]
pub struct Database {
    store: Arc<Mutex<Store>>,
    #[cfg(feature = "sql")]
    sessions: Arc<Sessions>,
}

/// A table of a [`Database`]; clones share it.
#[derive(Clone)]
pub struct Table {
    store: Arc<Mutex<Store>>,
    id: TableId,
}

impl Database {
    /// An empty database whose times have this unit.
    #[must_use]
    pub fn new(unit: Unit) -> Database {
        let store = Arc::new(Mutex::new(Store::new(unit)));
        Database {
            #[cfg(feature = "sql")]
            sessions: Arc::new(Sessions::new(Arc::clone(&store), QueryLimits::default())),
            store,
        }
    }

    /// Sets the limits of questions. Call it before the handle is cloned.
    #[cfg(feature = "sql")]
    #[must_use]
    pub fn with_limits(mut self, limits: QueryLimits) -> Database {
        self.sessions = Arc::new(Sessions::new(Arc::clone(&self.store), limits));
        self
    }

    /// Adds a table and allocates its memory.
    ///
    /// # Errors
    /// When the schema cannot be stored or its name is in use.
    pub fn create(&self, schema: Schema) -> Result<Table, SchemaError> {
        let id = self.store.lock().create(schema)?;
        Ok(self.handle(id))
    }

    /// The table of a name, in any case.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<Table> {
        let id = self.store.lock().find(name)?;
        Some(self.handle(id))
    }

    fn handle(&self, id: TableId) -> Table {
        Table {
            store: Arc::clone(&self.store),
            id,
        }
    }

    /// All tables in order of creation.
    #[must_use]
    pub fn tables(&self) -> alloc::vec::Vec<Table> {
        let ids: alloc::vec::Vec<TableId> = self.store.lock().tables().collect();
        ids.into_iter().map(|id| self.handle(id)).collect()
    }

    /// Unit of all times.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.store.lock().unit()
    }

    /// The latest time of a row or of [`advance`](Database::advance), which windows end at.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.store.lock().now()
    }

    /// Moves the time on while no rows arrive, so that `[RANGE]` windows and absences follow. A time
    /// in the past has no effect. A program on a wall clock calls it as often as it wants absences to
    /// be noticed, such as every 100 ms.
    pub fn advance(&self, now: i64) {
        self.store.lock().advance(now);
    }

    /// Does several things at once, such as inserting a batch of rows: other threads wait meanwhile.
    pub fn write<T>(&self, act: impl FnOnce(&mut Store) -> T) -> T {
        act(&mut self.store.lock())
    }

    /// Answers a question in SQLite's SQL with windows, such as
    /// `SELECT device, sum(bytes) FROM Flows [RANGE 10 SECONDS] GROUP BY device`.
    ///
    /// # Errors
    /// When the text is no question that reads the tables, or the answer exceeds a limit.
    #[cfg(feature = "sql")]
    pub fn query(&self, sql: &str) -> Result<Answer, QueryError> {
        self.sessions.query(sql, &[])
    }

    /// Answers a question with parameters `?1`, `?2` and so on.
    ///
    /// # Errors
    /// As those of [`query`](Database::query), or when the number of parameters differs.
    #[cfg(feature = "sql")]
    pub fn query_with(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Answer, QueryError> {
        self.sessions.query(sql, parameters)
    }
}

impl Table {
    /// Appends a row; `values` are those of the columns after `at`. See [`Store::insert`].
    ///
    /// # Errors
    /// When the number, types or lengths of the values are not those of the columns.
    pub fn insert(&self, at: i64, values: &[Value<'_>]) -> Result<(), InsertError> {
        self.store.lock().insert(self.id, at, values)
    }

    /// The number of the table, for [`Database::write`].
    #[must_use]
    pub fn id(&self) -> TableId {
        self.id
    }

    /// The table's counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.store.lock().counts(self.id)
    }

    /// A copy of the table's schema.
    #[must_use]
    pub fn schema(&self) -> Schema {
        self.store.lock().schema(self.id).clone()
    }
}

impl core::fmt::Debug for Table {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = self.store.lock().schema(self.id).name().to_string();
        f.debug_tuple("Table").field(&name).finish()
    }
}
