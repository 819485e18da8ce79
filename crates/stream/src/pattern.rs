//! Patterns of subscriptions, as texts.
//!
//! | pattern | event |
//! |---|---|
//! | `SELECT device, sum(bytes) FROM Flows [RANGE 1 HOUR] GROUP BY device HAVING sum(bytes) > 100000000` | a threshold: HAVING becomes true for a group |
//! | `ABSENCE OF Flows WHERE port = 53 BY device FOR 30 SECONDS` | no such row for this time after the last one |
//! | `SEQUENCE Leases WHERE state = 'asked' THEN Flows BY device WITHIN 10 SECONDS` | a row of the second kind, up to this time after the latest one of the first kind |

mod recent;

use crate::extent::duration;
use crate::ring::Ring;
use crate::schema::TableId;
use crate::select::{Catalog, Rows, Select};
use crate::syntax::{Reader, SyntaxError, Word};
use crate::value::{Owned, Value};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use recent::Recent;

/// A pattern, checked against its tables.
pub(crate) enum Pattern {
    Threshold(Select),
    Absence {
        rows: Rows,
        keys: Vec<usize>,
        span: i64,
    },
    Sequence {
        first: Rows,
        then: Rows,
        /// Columns of the first table, and of the second.
        keys: [Vec<usize>; 2],
        span: i64,
    },
}

impl Pattern {
    /// Reads a pattern.
    pub fn read(text: &str, catalog: &Catalog<'_>) -> Result<Pattern, SyntaxError> {
        let mut reader = Reader::new(text)?;
        if reader.keyword("ABSENCE") {
            return Pattern::absence(&mut reader, catalog);
        }
        if reader.keyword("SEQUENCE") {
            return Pattern::sequence(&mut reader, catalog);
        }
        if !matches!(reader.peek(), Some(Word::Name(name)) if name.eq_ignore_ascii_case("SELECT")) {
            let found = reader.found();
            return Err(reader.fault(format!("expected SELECT, ABSENCE or SEQUENCE{found}")));
        }
        let select = Select::read(text, catalog)?;
        match select.having {
            Some(_) => Ok(Pattern::Threshold(select)),
            None => {
                let message = "a threshold needs HAVING: HAVING sum(bytes) > 100000000";
                Err(SyntaxError::new(text, text.len(), message))
            }
        }
    }

    fn absence(reader: &mut Reader<'_>, catalog: &Catalog<'_>) -> Result<Pattern, SyntaxError> {
        reader.expect("OF")?;
        let rows = rows(reader, catalog)?;
        let keys = match reader.keyword("BY") {
            true => catalog.columns(reader, rows.table)?,
            false => Vec::new(),
        };
        reader.expect("FOR")?;
        let span = span(reader, catalog)?;
        reader.end()?;
        Ok(Pattern::Absence { rows, keys, span })
    }

    fn sequence(reader: &mut Reader<'_>, catalog: &Catalog<'_>) -> Result<Pattern, SyntaxError> {
        let first = rows(reader, catalog)?;
        reader.expect("THEN")?;
        let then = rows(reader, catalog)?;
        let mut keys = [Vec::new(), Vec::new()];
        if reader.keyword("BY") {
            // The same names in both tables.
            let position = reader.position();
            keys[0] = catalog.columns(reader, first.table)?;
            reader.seek(position);
            keys[1] = catalog.columns(reader, then.table)?;
        }
        reader.expect("WITHIN")?;
        let span = span(reader, catalog)?;
        reader.end()?;
        Ok(Pattern::Sequence {
            first,
            then,
            keys,
            span,
        })
    }

    /// Tables whose rows the pattern needs.
    pub fn tables(&self) -> Vec<TableId> {
        match self {
            Pattern::Threshold(select) => [select.table].into(),
            Pattern::Absence { rows, .. } => [rows.table].into(),
            Pattern::Sequence { first, then, .. } if first.table == then.table => {
                [first.table].into()
            }
            Pattern::Sequence { first, then, .. } => [first.table, then.table].into(),
        }
    }

    /// Names of the values of its events.
    pub fn columns(&self, catalog: &Catalog<'_>) -> Vec<String> {
        let (table, keys, last) = match self {
            Pattern::Threshold(select) => {
                return select.outputs.iter().map(|o| o.name.clone()).collect();
            }
            Pattern::Absence { rows, keys, .. } => (rows.table, keys, "last"),
            Pattern::Sequence { then, keys, .. } => (then.table, &keys[1], "first"),
        };
        let schema = &catalog.schemas[table.0];
        let names = keys.iter().map(|key| schema.at(*key).0);
        names.chain([last]).map(ToString::to_string).collect()
    }
}

fn rows(reader: &mut Reader<'_>, catalog: &Catalog<'_>) -> Result<Rows, SyntaxError> {
    let table = catalog.table(reader)?;
    let condition = catalog.condition(reader, table)?;
    Ok(Rows { table, condition })
}

/// Reads a positive duration, such as `30 SECONDS`.
fn span(reader: &mut Reader<'_>, catalog: &Catalog<'_>) -> Result<i64, SyntaxError> {
    let start = reader.offset();
    if let Some(Word::Number(count)) = reader.next()
        && let Ok(count @ 1..) = count.parse::<i64>()
        && let Some(Word::Name(unit)) = reader.next()
    {
        return duration(catalog.unit, count, unit).map_err(|m| reader.fault_at(start, m));
    }
    Err(reader.fault_at(start, "expected a duration, such as 30 SECONDS"))
}

impl Rows {
    fn admit(&self, ring: &Ring, row: u64) -> bool {
        let condition = self.condition.as_ref();
        condition.is_none_or(|condition| condition.holds(&|column| ring.value(row, column)))
    }
}

/// Encodes a key of a row.
fn encode(ring: &Ring, row: u64, keys: &[usize], into: &mut Vec<u8>) {
    into.clear();
    for key in keys {
        ring.value(row, *key).encode(into);
    }
}

/// Values of an event: those of a key, and a time.
fn values(mut key: &[u8], time: i64) -> Vec<Owned> {
    let mut values = Vec::new();
    while let Some((value, rest)) = Value::decode(key) {
        values.push(value.to_owned());
        key = rest;
    }
    values.push(Owned::Integer(time));
    values
}

/// Watches for keys without rows.
pub(crate) struct Absence {
    rows: Rows,
    keys: Vec<usize>,
    span: i64,
    recent: Recent,
    key: Vec<u8>,
    /// Rows whose key is not watched, since there are too many keys.
    pub refused: u64,
}

impl Absence {
    /// Without keys, waiting begins at `now`; with keys, at the first row of each key.
    pub fn new(
        (rows, keys, span): (Rows, Vec<usize>, i64),
        now: i64,
        max_keys: usize,
        seed: [u64; 2],
    ) -> Absence {
        let mut recent = Recent::new(max_keys, seed);
        if keys.is_empty() && now > i64::MIN {
            recent.put(&[], now);
        }
        Absence {
            rows,
            keys,
            span,
            recent,
            key: Vec::new(),
            refused: 0,
        }
    }

    /// Handles a row. Call [`expire`](Absence::expire) for earlier times first.
    pub fn row(&mut self, ring: &Ring, row: u64) {
        if !self.rows.admit(ring, row) {
            return;
        }
        encode(ring, row, &self.keys, &mut self.key);
        if !self.recent.put(&self.key, ring.time(row)) {
            self.refused += 1;
        }
    }

    /// Reports keys whose time has expired by `now`, with the time of expiry.
    pub fn expire(&mut self, now: i64, mut report: impl FnMut(i64, Vec<Owned>)) {
        while let Some((last, key)) = self.recent.oldest() {
            let end = last.saturating_add(self.span);
            if end > now {
                break;
            }
            report(end, values(key, last));
            self.recent.remove_oldest();
        }
    }
}

/// Watches for rows of the second kind after rows of the first kind.
pub(crate) struct Sequence {
    first: Rows,
    then: Rows,
    keys: [Vec<usize>; 2],
    span: i64,
    /// The latest row of the first kind for each key.
    recent: Recent,
    key: Vec<u8>,
    /// Rows of the first kind that were forgotten, since there are too many keys.
    pub refused: u64,
}

impl Sequence {
    pub fn new(
        (first, then, keys, span): (Rows, Rows, [Vec<usize>; 2], i64),
        max_keys: usize,
        seed: [u64; 2],
    ) -> Sequence {
        Sequence {
            first,
            then,
            keys,
            span,
            recent: Recent::new(max_keys, seed),
            key: Vec::new(),
            refused: 0,
        }
    }

    /// Handles a row of one of the tables; reports the sequence that it completes.
    pub fn row(
        &mut self,
        table: TableId,
        ring: &Ring,
        row: u64,
        mut report: impl FnMut(i64, Vec<Owned>),
    ) {
        let time = ring.time(row);
        if table == self.then.table {
            // No later row completes these: times in a table do not decrease.
            while let Some((first, _)) = self.recent.oldest()
                && first.saturating_add(self.span) < time
            {
                self.recent.remove_oldest();
            }
            if self.then.admit(ring, row) {
                encode(ring, row, &self.keys[1], &mut self.key);
                if let Some(first) = self.recent.time(&self.key)
                    && first <= time
                {
                    report(time, values(&self.key, first));
                    self.recent.remove(&self.key);
                }
            }
        }
        if table == self.first.table && self.first.admit(ring, row) {
            encode(ring, row, &self.keys[0], &mut self.key);
            if self.recent.time(&self.key).is_none() && self.recent.is_full() {
                self.recent.remove_oldest();
                self.refused += 1;
            }
            self.recent.put(&self.key, time);
        }
    }
}

impl Pattern {
    /// Maximum memory of a watched key, bytes.
    pub fn key_cost(&self, catalog: &Catalog<'_>) -> usize {
        let of = |table, keys: &[usize]| Recent::cost(catalog.key_len(table, keys));
        match self {
            Pattern::Threshold(_) => 0,
            Pattern::Absence { rows, keys, .. } => of(rows.table, keys),
            Pattern::Sequence {
                first, then, keys, ..
            } => of(first.table, &keys[0]).max(of(then.table, &keys[1])),
        }
    }
}
