//! A table of values, and the forms in which it is written.

use crate::text;
use node::Time;
use serde_json::{Map, Value as Json};
use std::fmt;

/// The unit of a column's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// None: numbers of things, and texts.
    #[default]
    None,
    /// Picoseconds. People read four digits, in a unit that suits.
    Time,
    /// Bytes.
    Bytes,
    /// Bits a second. People read them in a unit that suits.
    Rate,
    /// A share of one. People read percent.
    Share,
}

impl Unit {
    /// The end of a key for programs.
    fn suffix(self) -> &'static str {
        match self {
            Unit::None | Unit::Share => "",
            Unit::Time => "_ps",
            Unit::Bytes => "_bytes",
            Unit::Rate => "_bps",
        }
    }
}

/// The readers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    All,
    People,
    Programs,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    key: &'static str,
    title: &'static str,
    unit: Unit,
    group: Option<&'static str>,
    audience: Audience,
}

impl Column {
    /// A column with a key for programs, without its unit, and a title for people.
    #[must_use]
    pub const fn new(key: &'static str, title: &'static str) -> Column {
        Column {
            key,
            title,
            unit: Unit::None,
            group: None,
            audience: Audience::All,
        }
    }

    /// A column that people do not see.
    #[must_use]
    pub const fn for_programs(key: &'static str) -> Column {
        Column {
            audience: Audience::Programs,
            ..Column::new(key, "")
        }
    }

    /// A column that programs do not see.
    #[must_use]
    pub const fn for_people(title: &'static str) -> Column {
        Column {
            audience: Audience::People,
            ..Column::new("", title)
        }
    }

    /// The same, of numbers with this unit.
    #[must_use]
    pub const fn of(self, unit: Unit) -> Column {
        Column { unit, ..self }
    }

    /// The same, below a heading that it shares with its neighbours of the same group.
    #[must_use]
    pub const fn under(self, group: &'static str) -> Column {
        Column {
            group: Some(group),
            ..self
        }
    }
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not known: `-` for people, null for programs.
    None,
    /// A text.
    Text(String),
    /// A whole number, of things or of the column's unit.
    Count(u64),
    /// A number of the column's unit.
    Number(f64),
}

impl Value {
    fn text(&self, unit: Unit) -> String {
        let number = match self {
            Value::None => return "-".to_owned(),
            Value::Text(text) => return text.clone(),
            Value::Count(count) if matches!(unit, Unit::None | Unit::Bytes) => {
                return text::number(*count);
            }
            Value::Count(count) => *count as f64,
            Value::Number(number) => *number,
        };
        match unit {
            Unit::None | Unit::Bytes => text::figure(number),
            Unit::Time if number < 0.0 => format!("-{}", text::four_digits(-number)),
            Unit::Time => text::four_digits(number),
            Unit::Rate => text::bits(number),
            Unit::Share => text::percent(number),
        }
    }

    fn json(&self) -> Json {
        match self {
            Value::None => Json::Null,
            Value::Text(text) => text.as_str().into(),
            Value::Count(count) => (*count).into(),
            Value::Number(number) => (*number).into(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::Text(text.clone())
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Count(count)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

/// Picoseconds, for a column of [`Unit::Time`].
impl From<Time> for Value {
    fn from(time: Time) -> Value {
        Value::Count(time.as_ps())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::None, T::into)
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    kind: &'static str,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without rows, whose lines of JSON have this `type`.
    #[must_use]
    pub fn new(kind: &'static str, columns: impl IntoIterator<Item = Column>) -> Table {
        Table {
            kind,
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not a value for each column.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        let row: Vec<Value> = row.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a value for each column");
        self.rows.push(row);
    }

    /// Whether it has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The columns for one of the two readers, with their places.
    fn columns_for(&self, other: Audience) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(move |(_, column)| column.audience != other)
    }

    /// An object for each row, with a key `type`. Keys end in the unit.
    #[must_use]
    pub fn json(&self) -> Vec<Json> {
        let object = |row: &Vec<Value>| {
            let columns = self.columns_for(Audience::People);
            let pairs = columns.map(|(place, column)| (key(column), row[place].json()));
            let kind = ("type".to_owned(), self.kind.into());
            Json::Object(std::iter::once(kind).chain(pairs).collect::<Map<_, _>>())
        };
        self.rows.iter().map(object).collect()
    }

    /// Comma-separated values with a line of keys (RFC 4180, with line feeds).
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = String::new();
        let mut put = |cells: Vec<String>| csv += &csv_line(cells);
        let columns: Vec<(usize, &Column)> = self.columns_for(Audience::People).collect();
        put(columns.iter().map(|(_, column)| key(column)).collect());
        for row in &self.rows {
            let cell = |(place, _): &(usize, &Column)| match &row[*place] {
                Value::None => String::new(),
                Value::Text(text) => text.clone(),
                value => value.json().to_string(),
            };
            put(columns.iter().map(cell).collect());
        }
        csv
    }
}

fn key(column: &Column) -> String {
    format!("{}{}", column.key, column.unit.suffix())
}

/// A line of comma-separated values (RFC 4180, with a line feed).
pub fn csv_line<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells = cells.into_iter().map(|cell| quoted(cell.as_ref()));
    cells.collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(cell: &str) -> String {
    match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// The table for people: columns as wide as they must be.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<(usize, &Column)> = self.columns_for(Audience::Programs).collect();
        let titles = columns.iter().map(|(_, column)| column.title.to_owned());
        let mut table = text::Table::new([titles.collect()]);
        for row in &self.rows {
            let cells = columns.iter();
            let cells = cells.map(|(place, column)| row[*place].text(column.unit));
            table.lines.push(cells.collect());
        }
        for (shown, (_, column)) in columns.iter().enumerate() {
            match (column.group, table.groups.last_mut()) {
                (None, _) => {}
                (Some(group), Some((first, count, last)))
                    if *last == group && *first + *count == shown =>
                {
                    *count += 1;
                }
                (Some(group), _) => table.groups.push((shown, 1, group)),
            }
        }
        write!(f, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table() -> Table {
        let mut table = Table::new(
            "way",
            [
                Column::for_people("from place to place"),
                Column::for_programs("from"),
                Column::new("delay_p50", "median")
                    .of(Unit::Time)
                    .under("delay"),
                Column::new("delay_max", "most")
                    .of(Unit::Time)
                    .under("delay"),
                Column::new("rate", "rate").of(Unit::Rate),
                Column::new("busy", "busy").of(Unit::Share),
            ],
        );
        table.push([
            "a to b".into(),
            "a, \"b\"".into(),
            Time::from_us(5).into(),
            Value::Number(-1_234_567.0),
            2.5e9.into(),
            0.5.into(),
        ]);
        table.push([
            "b to c".into(),
            "b".into(),
            Value::None,
            Value::Count(0),
            Value::None,
            Value::from(None::<f64>),
        ]);
        table
    }

    #[test]
    fn people_see_titles_groups_and_units_that_suit() {
        let shown = "                     ----- delay -----\n\
                     from place to place  median       most      rate    busy\n\
                     a to b                 5 us  -1.235 us  2.5 Gb/s  50.0 %\n\
                     b to c                    -          0         -       -\n";
        assert_eq!(table().to_string(), shown);
    }

    #[test]
    fn programs_get_keys_with_units_and_all_digits() {
        let lines = table().json();
        let first = json!({
            "type": "way", "from": "a, \"b\"", "delay_p50_ps": 5_000_000, "delay_max_ps": -1_234_567.0,
            "rate_bps": 2.5e9, "busy": 0.5,
        });
        let second = json!({
            "type": "way", "from": "b", "delay_p50_ps": null, "delay_max_ps": 0, "rate_bps": null,
            "busy": null,
        });
        assert_eq!(lines, [first, second]);
        assert_eq!(
            table().csv(),
            "from,delay_p50_ps,delay_max_ps,rate_bps,busy\n\
             \"a, \"\"b\"\"\",5000000,-1234567.0,2500000000.0,0.5\nb,,0,,\n"
        );
    }

    #[test]
    #[should_panic(expected = "a value for each column")]
    fn a_row_has_a_value_for_each_column() {
        table().push([Value::None]);
    }
}
