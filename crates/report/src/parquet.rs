//! A table as an Apache Parquet file, for pandas, DuckDB and others.
//!
//! A column has the type that holds all of its values: 64-bit integers, floating point, booleans, or
//! text for everything else. Each value may be missing. Text is in a dictionary, all else is plain;
//! nothing is compressed. The format is that of `parquet-format` 2.9: pages of version 1, metadata in
//! Thrift's compact protocol.

mod column;
mod thrift;

use column::Column;
use serde_json::{Map, Value};
use std::fmt;
use thrift::Struct;

/// Start and end of a file.
const MAGIC: &[u8] = b"PAR1";
/// Maximum number of rows of a row group: a reader holds one group in memory.
const GROUP: usize = 65_536;

/// A page of a column has 2 GiB or more, which the format cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Name of the column.
    pub column: String,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = &self.column;
        write!(f, "column `{column}` has 2 GiB or more in {GROUP} rows")
    }
}

impl std::error::Error for TooLong {}

/// Place of a column's pages in the file.
struct Chunk {
    dictionary: Option<usize>,
    data: usize,
    bytes: usize,
}

/// The bytes of a Parquet file with these columns, in this order. A value that a row lacks, or that
/// is null, is missing.
///
/// # Errors
/// For a column that is too long for the format.
pub fn parquet(columns: &[String], rows: &[Map<String, Value>]) -> Result<Vec<u8>, TooLong> {
    let columns: Vec<Column<'_>> = columns.iter().map(|name| Column::new(name, rows)).collect();
    let mut file = MAGIC.to_vec();
    let mut groups = Vec::new();
    for rows in rows.chunks(GROUP) {
        let mut chunks = Vec::new();
        for column in &columns {
            let pages = column.pages(rows).ok_or_else(|| TooLong {
                column: column.name.into(),
            })?;
            let start = file.len();
            file.extend_from_slice(&pages.dictionary);
            let data = file.len();
            file.extend_from_slice(&pages.data);
            chunks.push(Chunk {
                dictionary: (data > start).then_some(start),
                data,
                bytes: file.len() - start,
            });
        }
        groups.push(group(&columns, &chunks, rows.len()));
    }
    let root = Struct::new()
        .text(4, "schema")
        .number(5, columns.len() as i64, thrift::I32);
    let schema = [root]
        .into_iter()
        .chain(columns.iter().map(Column::schema))
        .collect();
    let metadata = Struct::new()
        .number(1, 1, thrift::I32)
        .structs(2, schema)
        .number(3, rows.len() as i64, thrift::I64)
        .structs(4, groups)
        .text(6, concat!("wireline version ", env!("CARGO_PKG_VERSION")))
        .end();
    file.extend_from_slice(&metadata);
    // A table of 4 GiB of metadata does not fit in memory: a group's columns take some 100 bytes.
    file.extend_from_slice(&(metadata.len() as u32).to_le_bytes());
    file.extend_from_slice(MAGIC);
    Ok(file)
}

/// Metadata of a row group.
fn group(columns: &[Column<'_>], chunks: &[Chunk], rows: usize) -> Struct {
    let bytes: usize = chunks.iter().map(|chunk| chunk.bytes).sum();
    let columns = columns.iter().zip(chunks).map(|(column, chunk)| {
        let first = chunk.dictionary.unwrap_or(chunk.data);
        let mut metadata = Struct::new()
            .number(1, column.kind.physical(), thrift::I32)
            .numbers(2, column.kind.encodings())
            .texts(3, &[column.name])
            .number(4, 0, thrift::I32)
            .number(5, rows as i64, thrift::I64)
            .number(6, chunk.bytes as i64, thrift::I64)
            .number(7, chunk.bytes as i64, thrift::I64)
            .number(9, chunk.data as i64, thrift::I64);
        if let Some(dictionary) = chunk.dictionary {
            metadata = metadata.number(11, dictionary as i64, thrift::I64);
        }
        Struct::new()
            .number(2, first as i64, thrift::I64)
            .nested(3, metadata)
    });
    Struct::new()
        .structs(1, columns.collect())
        .number(2, bytes as i64, thrift::I64)
        .number(3, rows as i64, thrift::I64)
}
