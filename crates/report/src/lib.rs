//! Results, written once: tables whose columns have keys, titles and units, as text for people, and as JSON Lines, CSV and Parquet
//! for programs.
//!
//! ```
//! use report::{Column, Table, Unit, Value};
//!
//! let mut table = Table::new("silence", [
//!     Column::new("at", "port"),
//!     Column::new("longest", "longest silence").of(Unit::Time),
//! ]);
//! table.push([Value::from("b.0"), Value::from(20_000_000u64)]);
//! assert_eq!(table.to_string(), "port  longest silence\nb.0             20 us\n");
//! assert_eq!(table.json()[0]["longest_ps"], 20_000_000);
//! assert_eq!(table.csv(), "at,longest_ps\nb.0,20000000\n");
//! ```
//!
//! Keys for programs end in the unit: `_ps`, `_bytes`, `_bps`. A share is a number from 0 to 1.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod parquet;
mod table;
pub mod text;

pub use table::{Column, Table, Unit, Value, csv_line};
