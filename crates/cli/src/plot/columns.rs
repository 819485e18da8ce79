//! Columns of numbers, as text has them.

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use std::io::BufRead;

/// Maximum number of rows. Of a longer file every second, fourth, ... row is kept.
const MAX_ROWS: usize = 1 << 20;
/// Maximum line length, bytes.
const MAX_LINE_LEN: usize = 1 << 16;
/// Maximum number of columns.
const MAX_COLUMNS: usize = 256;
/// Maximum number of diagnostics about lines that are printed; later ones are only counted.
const MAX_LISTED: u64 = 5;

/// A table of numbers; what is missing or no number is NaN.
#[derive(Debug, Default)]
pub struct Table {
    /// Names of the columns; numbers where the input has no names.
    pub names: Vec<String>,
    /// By row; rows may be shorter than the names.
    pub rows: Vec<Vec<f64>>,
    /// One row of how many was kept.
    pub every: u64,
    /// Lines that hold no number.
    pub skipped: u64,
    /// The names were in a comment, and a line of names may follow.
    commented: bool,
}

impl Table {
    /// Reads columns divided by blanks, commas, semicolons or tabs; or JSON objects, one a line, whose
    /// keys are the columns. A first line without a number names the columns, with a `#` before it too.
    ///
    /// # Errors
    /// When reading fails, or there is nothing to be drawn.
    pub fn read(input: &mut dyn BufRead, name: &str) -> anyhow::Result<Table> {
        let mut table = Table {
            every: 1,
            ..Table::default()
        };
        let (mut line, mut number, mut seen) = (Vec::new(), 0u64, 0u64);
        while next_line(input, &mut line).with_context(|| format!("cannot read {name}"))? {
            number += 1;
            ensure!(
                line.len() <= MAX_LINE_LEN,
                "{name}: line {number} is longer than {MAX_LINE_LEN} bytes; a row of numbers is shorter"
            );
            let text = String::from_utf8_lossy(&line);
            let Some(row) = table.row(text.trim(), &format!("{name}: line {number}"))? else {
                continue;
            };
            if seen.is_multiple_of(table.every) {
                table.rows.push(row);
            }
            seen += 1;
            if table.rows.len() >= MAX_ROWS {
                table.every *= 2;
                let mut index = 0;
                table.rows.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
            }
        }
        ensure!(!table.rows.is_empty(), "{name}: there is no number in it");
        let widest = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        for column in table.names.len()..widest {
            table.names.push((column + 1).to_string());
        }
        Ok(table)
    }

    /// The numbers of one line, if it has any.
    fn row(&mut self, text: &str, place: &str) -> anyhow::Result<Option<Vec<f64>>> {
        if text.starts_with('{') {
            return self.object(text, place);
        }
        let (text, comment) = match text.strip_prefix('#') {
            Some(rest) => (rest.trim(), true),
            None => (text, false),
        };
        if text.is_empty() {
            return Ok(None);
        }
        let words: Vec<&str> = match text.contains([',', ';', '\t']) {
            true => text.split([',', ';', '\t']).map(str::trim).collect(),
            false => text.split_whitespace().collect(),
        };
        ensure!(
            words.len() <= MAX_COLUMNS,
            "{place}: more than {MAX_COLUMNS} columns"
        );
        let row: Vec<f64> = words.iter().map(|word| value(word)).collect();
        let numbers = row.iter().filter(|value| !value.is_nan()).count();
        if numbers > 0 && !comment {
            return Ok(Some(row));
        }
        let named = !self.names.is_empty() && (comment || !self.commented);
        if numbers == 0 && self.rows.is_empty() && !named {
            self.commented = comment;
            self.names = words
                .iter()
                .map(|word| word.trim_matches('"').into())
                .collect();
        } else if !comment {
            self.skipped += 1;
            if self.skipped <= MAX_LISTED {
                eprintln!("wire: {place}: there is no number in this line; it was skipped");
            }
        }
        Ok(None)
    }

    fn object(&mut self, text: &str, place: &str) -> anyhow::Result<Option<Vec<f64>>> {
        let object: Value = serde_json::from_str(text).with_context(|| place.to_string())?;
        let mut row = vec![f64::NAN; self.names.len()];
        self.members(&mut row, "", &object)
            .with_context(|| place.to_string())?;
        Ok(row.iter().any(|value| !value.is_nan()).then_some(row))
    }

    /// Puts the numbers of an object into their columns; those of an object within are `outer.inner`.
    fn members(&mut self, row: &mut Vec<f64>, prefix: &str, value: &Value) -> anyhow::Result<()> {
        let Value::Object(members) = value else {
            return Ok(());
        };
        for (key, value) in members {
            let name = match prefix {
                "" => key.clone(),
                _ => format!("{prefix}.{key}"),
            };
            let Some(number) = value.as_f64() else {
                // serde_json's own limit bounds how deep this goes.
                self.members(row, &name, value)?;
                continue;
            };
            let known = self.names.iter().position(|known| *known == name);
            let column = known.unwrap_or_else(|| {
                self.names.push(name);
                self.names.len() - 1
            });
            ensure!(
                column < MAX_COLUMNS,
                "more than {MAX_COLUMNS} different keys"
            );
            if row.len() <= column {
                row.resize(column + 1, f64::NAN);
            }
            row[column] = number;
        }
        Ok(())
    }

    /// The column of a name, or of a number from 1.
    ///
    /// # Errors
    /// When there is none; the message lists those that there are.
    pub fn find(&self, wanted: &str) -> anyhow::Result<usize> {
        if let Some(column) = self.names.iter().position(|name| name == wanted) {
            return Ok(column);
        }
        match wanted.parse::<usize>() {
            Ok(number) if (1..=self.names.len()).contains(&number) => Ok(number - 1),
            _ => bail!(
                "there is no column `{wanted}`; there are {}, named {}",
                self.names.len(),
                self.names.join(", ")
            ),
        }
    }

    /// The values of a column, row by row.
    pub fn column(&self, column: usize) -> impl Iterator<Item = f64> + '_ {
        let rows = self.rows.iter();
        rows.map(move |row| row.get(column).copied().unwrap_or(f64::NAN))
    }
}

/// A number, also with thousands apart by `_` or with a unit of percent behind it; NaN for another text.
fn value(word: &str) -> f64 {
    let plain = word.trim_matches('"');
    let plain = plain.strip_suffix('%').unwrap_or(plain);
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => value,
        _ => plain
            .replace('_', "")
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .unwrap_or(f64::NAN),
    }
}

/// Reads a line without its end, at most a byte more than the longest; false at the end of the input.
fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut limited = std::io::Read::take(input, MAX_LINE_LEN as u64 + 2);
    let n = limited.read_until(b'\n', line)?;
    if line.ends_with(b"\n") {
        line.pop();
    }
    Ok(n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::read(&mut text.as_bytes(), "t").unwrap()
    }

    #[test]
    fn columns_are_told_apart_whatever_divides_them() {
        for text in [
            "a b\n1 2\n3 4\n",
            "a,b\n1,2\n3,4\n",
            "# a b\n1\t2\n3\t4\n",
            "{\"a\":1,\"b\":2}\n{\"b\":4,\"a\":3}\n",
        ] {
            let table = table(text);
            assert_eq!(table.names, ["a", "b"], "{text}");
            assert_eq!(table.rows, [[1.0, 2.0], [3.0, 4.0]], "{text}");
        }
        let unnamed = table("5\n\n# note 7\n6 7\n");
        assert_eq!(unnamed.names, ["1", "2"]);
        assert_eq!(unnamed.find("2").unwrap(), 1);
        assert!(unnamed.find("3").unwrap_err().to_string().contains("1, 2"));
        assert!(unnamed.column(1).next().unwrap().is_nan());
    }

    #[test]
    fn objects_within_objects_have_dotted_names() {
        let table = table("{\"gap\":{\"mean\":1.5,\"at\":[1]},\"name\":\"x\"}\n");
        assert_eq!(table.names, ["gap.mean"]);
        assert_eq!(table.rows, [[1.5]]);
    }

    #[test]
    fn what_is_no_number_is_skipped_and_long_input_is_thinned() {
        let bad = Table::read(&mut "head\nfoot\nx y\n".as_bytes(), "t");
        assert!(bad.unwrap_err().to_string().contains("no number"));
        assert!(Table::read(&mut "1".repeat(MAX_LINE_LEN + 9).as_bytes(), "t").is_err());
        let long = "7\n".repeat(MAX_ROWS + 10);
        let table = table(&long);
        assert_eq!(table.every, 2);
        assert_eq!(table.rows.len(), MAX_ROWS / 2 + 5);
    }
}
