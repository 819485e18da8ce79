//! Handles through which threads share a database.

use crate::answer::Answer;
use crate::extent::Unit;
use crate::schema::{Schema, SchemaError, TableId};
#[cfg(feature = "sql")]
use crate::sql::{QueryError, QueryLimits, Sessions};
use crate::store::{Counts, InsertError, Store, WatchId};
use crate::value::Value;
use crate::watch::{Event, SubscriptionCounts, WatchError, WatchLimits};
use parking_lot::Mutex;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Limits of a database, in addition to those of its tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Limits of questions.
    #[cfg(feature = "sql")]
    pub query: QueryLimits,
    /// Limits of standing windows and subscriptions.
    pub watch: WatchLimits,
}

/// A database; clones share it.
///
/// A call holds a mutex for one insertion, or while it copies 256 rows for a question.
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
    /// An empty database whose times have this unit, with default limits.
    #[must_use]
    pub fn new(unit: Unit) -> Database {
        Database::with_limits(unit, Limits::default())
    }

    /// An empty database with limits.
    #[must_use]
    pub fn with_limits(unit: Unit, limits: Limits) -> Database {
        let random = RandomState::new();
        let seed = [random.hash_one(0), random.hash_one(1)];
        let store = Arc::new(Mutex::new(Store::new(unit, seed, limits.watch)));
        Database {
            #[cfg(feature = "sql")]
            sessions: Arc::new(Sessions::new(Arc::clone(&store), limits.query)),
            store,
        }
    }

    /// Adds a table and allocates its memory.
    ///
    /// # Errors
    /// When the schema cannot be stored or its name is in use.
    pub fn create(&self, schema: Schema) -> Result<Table, SchemaError> {
        let id = self.store.lock().create(schema)?;
        Ok(self.handle(id))
    }

    /// Table by name; case does not matter.
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
    pub fn tables(&self) -> Vec<Table> {
        let ids: Vec<TableId> = self.store.lock().tables().collect();
        ids.into_iter().map(|id| self.handle(id)).collect()
    }

    /// Unit of all times.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.store.lock().unit()
    }

    /// The latest time of a row or of [`advance`](Database::advance). Windows end at this time.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.store.lock().now()
    }

    /// Advances the time while no rows arrive, which `[RANGE]` windows and absences depend on. A time
    /// in the past has no effect. A program with a wall clock calls this regularly, such as every
    /// 100 ms; the interval is the delay of reported absences.
    pub fn advance(&self, now: i64) {
        self.store.lock().advance(now);
    }

    /// Runs several operations under one lock, such as the insertion of a batch of rows.
    pub fn write<T>(&self, act: impl FnOnce(&mut Store) -> T) -> T {
        act(&mut self.store.lock())
    }

    /// Answers a question in SQLite's SQL with windows, such as
    /// `SELECT device, sum(bytes) FROM Flows [RANGE 10 SECONDS] GROUP BY device`.
    ///
    /// # Errors
    /// When the text is not a question that only reads tables, or the answer exceeds a limit.
    #[cfg(feature = "sql")]
    pub fn query(&self, sql: &str) -> Result<Answer, QueryError> {
        self.sessions.query(sql, &[])
    }

    /// Answers a question with parameters `?1`, `?2` and so on.
    ///
    /// # Errors
    /// Those of [`query`](Database::query), or when the number of parameters differs.
    #[cfg(feature = "sql")]
    pub fn query_with(&self, sql: &str, parameters: &[Value<'_>]) -> Result<Answer, QueryError> {
        self.sessions.query(sql, parameters)
    }

    /// Makes a standing window: SELECT with count, sum, avg, min and max of one table, with WHERE,
    /// GROUP BY and HAVING. It is updated as rows arrive.
    ///
    /// # Errors
    /// When the text cannot be read or a limit is reached.
    pub fn stand(&self, text: &str) -> Result<StandingWindow, WatchError> {
        let id = self.store.lock().stand(text)?;
        let store = Arc::clone(&self.store);
        Ok(StandingWindow { store, id })
    }

    /// Subscribes to a pattern: SELECT with HAVING (a threshold), `ABSENCE OF table [WHERE ...] [BY
    /// columns] FOR 30 SECONDS`, or `SEQUENCE table [WHERE ...] THEN table [WHERE ...] [BY columns]
    /// WITHIN 10 SECONDS`.
    ///
    /// # Errors
    /// When the text cannot be read or a limit is reached.
    pub fn subscribe(&self, text: &str) -> Result<Subscription, WatchError> {
        let id = self.store.lock().subscribe(text)?;
        let store = Arc::clone(&self.store);
        Ok(Subscription { store, id })
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

/// A standing window of a [`Database`]. Dropping it ends it.
pub struct StandingWindow {
    store: Arc<Mutex<Store>>,
    id: WatchId,
}

impl StandingWindow {
    /// The answer at the time of the database; rows are in the order of their group.
    #[must_use]
    pub fn answer(&self) -> Answer {
        // The window exists as long as its handle.
        self.store.lock().answer(self.id).unwrap_or_default()
    }
}

impl Drop for StandingWindow {
    fn drop(&mut self) {
        self.store.lock().remove(self.id);
    }
}

/// A subscription to a pattern. Dropping it ends it.
pub struct Subscription {
    store: Arc<Mutex<Store>>,
    id: WatchId,
}

impl Subscription {
    /// The oldest waiting event.
    pub fn take(&mut self) -> Option<Event> {
        self.store.lock().take(self.id, None)
    }

    /// The oldest waiting event, or else the next one.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        match self.store.lock().take(self.id, Some(context.waker())) {
            Some(event) => Poll::Ready(event),
            None => Poll::Pending,
        }
    }

    /// The oldest waiting event, or else the next one within `timeout`.
    #[expect(clippy::disallowed_methods, reason = "the caller waits on a clock")]
    pub fn wait(&mut self, timeout: Duration) -> Option<Event> {
        let end = Instant::now() + timeout;
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(event) = self.poll_next(&mut context) {
                return Some(event);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            thread::park_timeout(left);
        }
    }

    /// Names of the values of events.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let mut store = self.store.lock();
        store.columns(self.id).unwrap_or_default().to_vec()
    }

    /// The subscription's counters.
    #[must_use]
    pub fn counts(&self) -> SubscriptionCounts {
        let counts = self.store.lock().subscription_counts(self.id);
        counts.unwrap_or_default()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.store.lock().remove(self.id);
    }
}

/// Wakes a waiting thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
