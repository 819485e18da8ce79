//! Standing windows as SQL has them: `SELECT device, sum(bytes) FROM Flows [RANGE 1 HOUR] WHERE
//! port = 443 GROUP BY device HAVING sum(bytes) > 100000000`.

use crate::condition::{Class, Condition};
use crate::extent::{Extent, Unit};
use crate::schema::{Kind, Schema, TableId};
use crate::syntax::{Reader, SyntaxError, Word};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Maximum outputs of a standing window.
const MAX_OUTPUTS: usize = 64;

/// Tables that a text can refer to.
#[derive(Clone, Copy)]
pub(crate) struct Catalog<'a> {
    pub unit: Unit,
    pub schemas: &'a [Schema],
}

/// A standing window, checked against its table.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    pub table: TableId,
    pub extent: Extent,
    pub condition: Option<Condition>,
    /// Columns by which rows are grouped.
    pub keys: Vec<usize>,
    pub aggregates: Vec<Aggregate>,
    pub outputs: Vec<Output>,
    /// Its items are the keys, then the aggregates.
    pub having: Option<Condition>,
}

/// An aggregate, with a value for each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aggregate {
    pub function: Function,
    /// `None` for `count(*)`.
    pub column: Option<usize>,
    /// Type of the column.
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    pub name: String,
    pub item: Item,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Key(usize),
    Aggregate(usize),
}

/// A table with a condition on its rows.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub table: TableId,
    pub condition: Option<Condition>,
}

impl Catalog<'_> {
    /// Reads a table's name.
    pub fn table(&self, reader: &mut Reader<'_>) -> Result<TableId, SyntaxError> {
        let start = reader.offset();
        let name = reader.name("table")?;
        let found = self
            .schemas
            .iter()
            .position(|schema| schema.name.eq_ignore_ascii_case(&name));
        found
            .map(TableId)
            .ok_or_else(|| reader.fault_at(start, format!("no such table: {name}")))
    }

    /// Reads a column's name.
    pub fn column(
        &self,
        reader: &mut Reader<'_>,
        table: TableId,
    ) -> Result<(usize, Kind), SyntaxError> {
        let start = reader.offset();
        let name = reader.name("column")?;
        let schema = &self.schemas[table.0];
        match schema.find(&name) {
            Some(column) => Ok((column, schema.at(column).1)),
            None => {
                let message = format!("no such column in {}: {name}", schema.name);
                Err(reader.fault_at(start, message))
            }
        }
    }

    /// Reads `WHERE` and a condition on a table's columns, if it is there.
    pub fn condition(
        &self,
        reader: &mut Reader<'_>,
        table: TableId,
    ) -> Result<Option<Condition>, SyntaxError> {
        if !reader.keyword("WHERE") {
            return Ok(None);
        }
        let mut column = |reader: &mut Reader<'_>| {
            let (column, kind) = self.column(reader, table)?;
            Ok((column, Class::from(kind)))
        };
        Condition::read(reader, &mut column).map(Some)
    }

    /// Reads columns separated by commas.
    pub fn columns(
        &self,
        reader: &mut Reader<'_>,
        table: TableId,
    ) -> Result<Vec<usize>, SyntaxError> {
        let mut columns = Vec::new();
        loop {
            let start = reader.offset();
            let (column, _) = self.column(reader, table)?;
            if columns.contains(&column) {
                return Err(reader.fault_at(start, "this column is listed twice"));
            }
            columns.push(column);
            if !reader.mark(",") {
                return Ok(columns);
            }
        }
    }

    /// Maximum length of an encoded key of these columns, bytes.
    pub fn key_len(&self, table: TableId, keys: &[usize]) -> usize {
        let schema = &self.schemas[table.0];
        let lengths = keys.iter().map(|key| schema.at(*key).1.max_len() as usize);
        lengths.map(|length| length.max(8) + 5).sum()
    }
}

impl Select {
    /// Reads a standing window.
    pub fn read(text: &str, catalog: &Catalog<'_>) -> Result<Select, SyntaxError> {
        let mut reader = Reader::new(text)?;
        reader.expect("SELECT")?;
        // The outputs are read after the table, since they name its columns.
        let outputs = reader.position();
        while !reader.keyword("FROM") {
            if reader.next().is_none() {
                return Err(reader.fault("expected FROM and a table"));
            }
        }
        let table = catalog.table(&mut reader)?;
        let mut extent = Extent::All;
        let start = reader.offset();
        if let Some(Word::Bracket(inside)) = reader.peek() {
            let Some(found) = Extent::read(text, inside, start, catalog.unit)? else {
                return Err(reader.fault("expected a window, such as [RANGE 10 SECONDS]"));
            };
            extent = found;
            reader.next();
        }
        let condition = catalog.condition(&mut reader, table)?;
        let keys = match reader.keyword("GROUP") {
            true => {
                reader.expect("BY")?;
                catalog.columns(&mut reader, table)?
            }
            false => Vec::new(),
        };
        let mut select = Select {
            table,
            extent,
            condition,
            keys,
            aggregates: Vec::new(),
            outputs: Vec::new(),
            having: None,
        };
        let rest = reader.position();
        reader.seek(outputs);
        select.read_outputs(text, &mut reader, catalog)?;
        reader.seek(rest);
        if reader.keyword("HAVING") {
            let mut item = |reader: &mut Reader<'_>| {
                let (item, class) = select.item(reader, catalog)?;
                Ok((select.number(item), class))
            };
            let having = Condition::read(&mut reader, &mut item)?;
            select.having = Some(having);
        }
        for keyword in ["ORDER", "LIMIT"] {
            if reader.keyword(keyword) {
                return Err(reader.fault(format!(
                    "a standing window has no {keyword}; its rows are in the order of their group"
                )));
            }
        }
        reader.end()?;
        Ok(select)
    }

    /// Number of an item in [`having`](Select::having).
    fn number(&self, item: Item) -> usize {
        match item {
            Item::Key(key) => key,
            Item::Aggregate(aggregate) => self.keys.len() + aggregate,
        }
    }

    fn read_outputs(
        &mut self,
        text: &str,
        reader: &mut Reader<'_>,
        catalog: &Catalog<'_>,
    ) -> Result<(), SyntaxError> {
        loop {
            let start = reader.offset();
            let (item, _) = self.item(reader, catalog)?;
            let mut name = String::from(text[start..reader.last_end()].trim());
            if reader.keyword("AS") {
                name = reader.name("column")?;
            }
            if self.outputs.len() == MAX_OUTPUTS {
                return Err(reader.fault_at(start, format!("more than {MAX_OUTPUTS} columns")));
            }
            self.outputs.push(Output { name, item });
            if !reader.mark(",") {
                break;
            }
        }
        reader.expect("FROM")
    }

    /// Reads a key, an aggregate, or the name of an output.
    fn item(
        &mut self,
        reader: &mut Reader<'_>,
        catalog: &Catalog<'_>,
    ) -> Result<(Item, Class), SyntaxError> {
        let start = reader.offset();
        if matches!(reader.peek_second(), Some(Word::Mark("("))) {
            return self.aggregate(reader, catalog);
        }
        if let Some(Word::Name(name)) = reader.peek()
            && let Some(output) = self
                .outputs
                .iter()
                .find(|output| output.name.eq_ignore_ascii_case(name))
        {
            let item = output.item;
            reader.next();
            return Ok((item, self.class(item, catalog)));
        }
        let (column, kind) = catalog.column(reader, self.table)?;
        match self.keys.iter().position(|key| *key == column) {
            Some(key) => Ok((Item::Key(key), kind.into())),
            None => {
                let name = catalog.schemas[self.table.0].at(column).0;
                let message = format!(
                    "{name} is neither in GROUP BY nor in an aggregate: \
                     use one of count, sum, avg, min and max, or GROUP BY {name}"
                );
                Err(reader.fault_at(start, message))
            }
        }
    }

    fn class(&self, item: Item, catalog: &Catalog<'_>) -> Class {
        match item {
            Item::Key(key) => catalog.schemas[self.table.0].at(self.keys[key]).1.into(),
            Item::Aggregate(aggregate) => self.aggregates[aggregate].class(),
        }
    }

    fn aggregate(
        &mut self,
        reader: &mut Reader<'_>,
        catalog: &Catalog<'_>,
    ) -> Result<(Item, Class), SyntaxError> {
        let start = reader.offset();
        let name = reader.name("function")?;
        let function = match name.to_ascii_lowercase().as_str() {
            "count" => Function::Count,
            "sum" => Function::Sum,
            "avg" => Function::Avg,
            "min" => Function::Min,
            "max" => Function::Max,
            _ => {
                let message = format!(
                    "{name} cannot be kept as rows arrive: use count, sum, avg, min or max"
                );
                return Err(reader.fault_at(start, message));
            }
        };
        reader.expect_mark("(")?;
        let (column, kind) = match function == Function::Count && reader.mark("*") {
            true => (None, Kind::Integer),
            false => {
                let at = reader.offset();
                let (column, kind) = catalog.column(reader, self.table)?;
                let sums = matches!(function, Function::Sum | Function::Avg);
                if sums && Class::from(kind) != Class::Number {
                    return Err(reader.fault_at(at, format!("{name} needs a column of numbers")));
                }
                (Some(column), kind)
            }
        };
        reader.expect_mark(")")?;
        let aggregate = Aggregate {
            function,
            column,
            kind,
        };
        let known = self.aggregates.iter().position(|other| *other == aggregate);
        let index = known.unwrap_or_else(|| {
            self.aggregates.push(aggregate);
            self.aggregates.len() - 1
        });
        if index > 2 * MAX_OUTPUTS {
            return Err(reader.fault_at(start, "too many aggregates"));
        }
        Ok((Item::Aggregate(index), aggregate.class()))
    }
}

impl Aggregate {
    fn class(self) -> Class {
        match self.function {
            Function::Count | Function::Sum | Function::Avg => Class::Number,
            Function::Min | Function::Max => self.kind.into(),
        }
    }
}
