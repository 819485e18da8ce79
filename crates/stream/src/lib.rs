//! A database of streams: tables of events in fixed memory, the newest kept.
//!
//! The Homework Database of Sventek et al. ("An information plane architecture supporting home
//! network management", 2011) with today's parts: applications insert measured events, and others
//! ask questions in SQL with windows in time, keep standing windows that are updated as rows arrive,
//! and subscribe to patterns. Nothing here reads a clock: the time of the database is that of its
//! newest row, or of [`Database::advance`].
//!
//! | start here | |
//! |---|---|
//! | [`Schema`], [`Database::create`] | a table and the size of its ring |
//! | [`Table::insert`] | a row: its time, then its values; allocates nothing |
//! | [`Database::query`] | a question in SQL with `[RANGE 10 SECONDS]`, `[ROWS 50]`, `[SINCE t]`, `[NOW]` |
//! | [`Database::stand`] | a standing window: groups and sums kept up to date as rows arrive |
//! | [`Database::subscribe`] | events of a pattern: threshold, absence, sequence |
//! | `http`, [`call`], `udp` | the same for other programs |
//! | [`Store`] | all of this without locks, for a program with one thread |
//!
//! ```
//! use stream::{Database, Owned, Schema, Unit};
//!
//! let database = Database::new(Unit::Nanoseconds);
//! let flows = Schema::new("Flows", 1000).text("device", 17).integer("bytes");
//! let flows = database.create(flows)?;
//! flows.insert(1_000_000_000, &["printer".into(), 1500.into()])?;
//! flows.insert(2_000_000_000, &["laptop".into(), 400.into()])?;
//! # #[cfg(feature = "sql")] {
//! let answer = database.query("SELECT sum(bytes) FROM Flows [RANGE 10 SECONDS]")?;
//! assert_eq!(answer.rows, [[Owned::Integer(1900)]]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules of rings, windows and patterns do no I/O and have no `unsafe` code; `sql` is SQLite
//! over the rings (feature `sql`, default).
#![deny(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod answer;
pub mod call;
mod condition;
mod database;
mod exact;
mod extent;
#[cfg(feature = "http")]
pub mod http;
mod pattern;
mod ring;
mod schema;
mod select;
#[cfg(feature = "sql")]
pub mod service;
#[cfg(feature = "sql")]
#[expect(unsafe_code, reason = "virtual tables of SQLite are C structures")]
mod sql;
mod standing;
mod store;
mod syntax;
#[cfg(feature = "sql")]
pub mod udp;
mod value;
mod watch;

pub use answer::Answer;
pub use database::{Database, Limits, StandingWindow, Subscription, Table};
pub use extent::{Extent, Unit};
pub use ring::Ring;
pub use schema::{
    Column, Kind, MAX_COLUMNS, MAX_NAME_LEN, MAX_ROWS, MAX_TEXT_BYTES, MAX_TEXT_LEN, Schema,
    SchemaError, TableId,
};
#[cfg(feature = "sql")]
pub use sql::{QueryError, QueryLimits};
pub use store::{Counts, InsertError, Store, WatchId};
pub use syntax::SyntaxError;
pub use value::{Owned, Value};
pub use watch::{Event, SubscriptionCounts, WatchError, WatchLimits};
