//! Columns of a table and the size of its ring.

use crate::value::Value;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum columns of a table, without `at`.
pub const MAX_COLUMNS: usize = 62;
/// Maximum bytes of a text or blob.
pub const MAX_TEXT_LEN: u32 = 65_535;
/// Maximum bytes of a table's texts and blobs.
pub const MAX_TEXT_BYTES: u64 = 1 << 32;
/// Maximum length of a name, bytes.
pub const MAX_NAME_LEN: usize = 64;
/// Maximum rows of a table.
pub const MAX_ROWS: usize = 1 << 30;

/// Number of a table in its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableId(pub(crate) usize);

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Value::Integer`].
    Integer,
    /// [`Value::Real`], or an integer, which is stored as a real number.
    Real,
    /// [`Value::Text`] of at most this number of bytes.
    Text(u32),
    /// [`Value::Blob`] of at most this number of bytes.
    Blob(u32),
}

impl Kind {
    /// The type's name in SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Integer => "INTEGER",
            Kind::Real => "REAL",
            Kind::Text(_) => "TEXT",
            Kind::Blob(_) => "BLOB",
        }
    }

    /// Maximum bytes outside the cell.
    pub(crate) fn max_len(self) -> u32 {
        match self {
            Kind::Text(most) | Kind::Blob(most) => most,
            Kind::Integer | Kind::Real => 0,
        }
    }

    pub(crate) fn admits(self, value: Value<'_>) -> bool {
        match (self, value) {
            (_, Value::Null)
            | (Kind::Integer, Value::Integer(_))
            | (Kind::Real, Value::Real(_) | Value::Integer(_)) => true,
            (Kind::Text(most), Value::Text(text)) => text.len() <= most as usize,
            (Kind::Blob(most), Value::Blob(bytes)) => bytes.len() <= most as usize,
            _ => false,
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, as in SQL without quotes.
    pub name: String,
    /// The type.
    pub kind: Kind,
}

/// A table's name, columns and memory.
///
/// Column 0 of every table is `at`, the time of the event, in the database's
/// [unit](crate::Unit); it is not listed here. Addresses are texts or integers.
///
/// ```
/// use stream::Schema;
///
/// let flows = Schema::new("Flows", 100_000)
///     .text("device", 17)
///     .integer("port")
///     .integer("bytes");
/// assert_eq!(flows.columns().len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    pub(crate) name: String,
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Column>,
    pub(crate) text_bytes: Option<u64>,
}

/// An invalid schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("table {table:?}: {message}")]
pub struct SchemaError {
    /// The table's name.
    pub table: String,
    /// The cause and the fix.
    pub message: String,
}

impl Schema {
    /// A table whose ring has `rows` rows, 1 to [`MAX_ROWS`].
    #[must_use]
    pub fn new(name: &str, rows: usize) -> Schema {
        Schema {
            name: name.into(),
            rows,
            columns: Vec::new(),
            text_bytes: None,
        }
    }

    /// Adds a column of integers.
    #[must_use]
    pub fn integer(self, name: &str) -> Schema {
        self.column(name, Kind::Integer)
    }
    /// Adds a column of real numbers.
    #[must_use]
    pub fn real(self, name: &str) -> Schema {
        self.column(name, Kind::Real)
    }
    /// Adds a column of texts of at most `max_len` bytes, up to [`MAX_TEXT_LEN`].
    #[must_use]
    pub fn text(self, name: &str, max_len: u32) -> Schema {
        self.column(name, Kind::Text(max_len))
    }
    /// Adds a column of blobs of at most `max_len` bytes, up to [`MAX_TEXT_LEN`].
    #[must_use]
    pub fn blob(self, name: &str, max_len: u32) -> Schema {
        self.column(name, Kind::Blob(max_len))
    }
    /// Adds a column.
    #[must_use]
    pub fn column(mut self, name: &str, kind: Kind) -> Schema {
        self.columns.push(Column {
            name: name.into(),
            kind,
        });
        self
    }

    /// Memory of all texts and blobs, at most [`MAX_TEXT_BYTES`].
    ///
    /// Default: enough that every row of the ring has texts of the maximum length. With less, long
    /// texts shorten the ring: they evict the oldest rows.
    #[must_use]
    pub fn text_bytes(mut self, bytes: u64) -> Schema {
        self.text_bytes = Some(bytes);
        self
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The columns after `at`.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// Maximum number of rows that the ring keeps.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Column by name, 0 for `at`; case does not matter.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        if name.eq_ignore_ascii_case("at") {
            return Some(0);
        }
        let found = self
            .columns
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(name));
        found.map(|index| index + 1)
    }

    /// The name and type of a column, 0 for `at`.
    pub(crate) fn at(&self, column: usize) -> (&str, Kind) {
        match column.checked_sub(1) {
            None => ("at", Kind::Integer),
            Some(index) => (&self.columns[index].name, self.columns[index].kind),
        }
    }

    /// Bytes of all texts and blobs of the ring.
    pub(crate) fn arena(&self) -> u64 {
        self.text_bytes
            .unwrap_or(self.row_bytes() * self.rows as u64)
    }

    /// Maximum bytes of texts and blobs in a row.
    pub(crate) fn row_bytes(&self) -> u64 {
        let lengths = self.columns.iter().map(|column| column.kind.max_len());
        lengths.map(u64::from).sum()
    }

    /// Memory of the ring, bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let cells = self.columns.len() as u64 + 3;
        self.rows as u64 * cells * 8 + self.arena()
    }

    pub(crate) fn check(&self) -> Result<(), SchemaError> {
        let fail = |message: String| {
            Err(SchemaError {
                table: self.name.clone(),
                message,
            })
        };
        if let Err(message) = check_name(&self.name) {
            return fail(message);
        }
        if self.rows == 0 || self.rows > MAX_ROWS {
            return fail(format!("{} rows: give it 1 to {MAX_ROWS}", self.rows));
        }
        if self.columns.len() > MAX_COLUMNS {
            let count = self.columns.len();
            return fail(format!("{count} columns: at most {MAX_COLUMNS} are stored"));
        }
        for (index, column) in self.columns.iter().enumerate() {
            let name = &column.name;
            if let Err(message) = check_name(name) {
                return fail(message);
            }
            if self.find(name) != Some(index + 1) {
                return fail(format!("two columns {name:?}: rename one of them"));
            }
            if column.kind.max_len() > MAX_TEXT_LEN {
                return fail(format!(
                    "column {name:?}: a text or blob has at most {MAX_TEXT_LEN} bytes"
                ));
            }
        }
        let row = self.row_bytes();
        if self.arena() < row || self.arena() > MAX_TEXT_BYTES {
            return fail(format!(
                "{} bytes of texts: set text_bytes to {row} (one row) up to {MAX_TEXT_BYTES}",
                self.arena()
            ));
        }
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let mut letters = name.chars();
    let first = letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first
        || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        || name.len() > MAX_NAME_LEN
    {
        return Err(format!(
            "the name {name:?} needs 1 to {MAX_NAME_LEN} letters, digits and _, without a digit in front"
        ));
    }
    // Arguments of windows in SQL, and SQLite's own tables and functions.
    let lower = name.to_ascii_lowercase();
    for prefix in ["window_", "sqlite_", "pragma_", "json_", "jsonb_"] {
        if lower.starts_with(prefix) {
            return Err(format!("names in {prefix} are reserved: rename {name:?}"));
        }
    }
    if ["rowid", "oid", "_rowid_"].contains(&lower.as_str()) {
        return Err(format!("{name:?} is the number of a row in SQL: rename it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_cannot_be_stored_names_its_fault() {
        for (schema, part) in [
            (Schema::new("", 1), "the name"),
            (Schema::new("T", 0), "0 rows"),
            (Schema::new("T", 1).integer("AT"), "two columns"),
            (Schema::new("T", 1).integer("a").real("A"), "two columns"),
            (Schema::new("sqlite_x", 1), "reserved"),
            (Schema::new("T", 1).text("a", 70_000), "at most 65535"),
            (
                Schema::new("T", 5).text("a", 10).text_bytes(9),
                "text_bytes",
            ),
            (Schema::new("T", 1).integer("rowid"), "number of a row"),
        ] {
            let error = schema.check().expect_err(part);
            assert!(error.message.contains(part), "{error}");
        }
        let wide = (0..63).fold(Schema::new("T", 1), |s, i| s.integer(&format!("c{i}")));
        assert!(wide.check().is_err());
    }
}
