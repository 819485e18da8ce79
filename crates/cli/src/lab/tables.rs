//! `wire lab --csv DIR` and `--parquet DIR`: a report as tables, a file for each type of its lines.

use ::lab::Report;
use ::report::csv_line;
use ::report::parquet::parquet;
use anyhow::Context;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The lines of one type.
#[derive(Default)]
struct Lines {
    /// Keys in the order in which they first appear; those of an object within have a dot.
    columns: Vec<String>,
    rows: Vec<Map<String, Value>>,
}

/// The form of a table's file.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Csv,
    Parquet,
}

/// Writes `flow.csv`, `link.csv` and so on into a folder, which is made if it is missing.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write(report: &Report, form: Form, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (kind, lines) in by_type(report)? {
        let (ending, bytes) = match form {
            Form::Csv => ("csv", lines.csv().into_bytes()),
            Form::Parquet => ("parquet", parquet(&lines.columns, &lines.rows)?),
        };
        let path = folder.join(format!("{kind}.{ending}"));
        ::capture::output::replace(&path, &bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The lines of a report by their type.
fn by_type(report: &Report) -> anyhow::Result<BTreeMap<String, Lines>> {
    let mut kinds = BTreeMap::<String, Lines>::new();
    for line in report.json().lines() {
        let Value::Object(mut line) = serde_json::from_str(line)? else {
            continue;
        };
        line.shift_remove("schema");
        let Some(Value::String(kind)) = line.shift_remove("type") else {
            continue;
        };
        let lines = kinds.entry(kind).or_default();
        let mut row = Map::new();
        flatten("", line, &mut row);
        for key in row
            .keys()
            .filter(|key| !lines.columns.contains(key))
            .cloned()
            .collect::<Vec<_>>()
        {
            lines.columns.push(key);
        }
        lines.rows.push(row);
    }
    Ok(kinds)
}

/// Puts the values of an object into a row, those of objects within by their path.
fn flatten(before: &str, object: Map<String, Value>, row: &mut Map<String, Value>) {
    for (key, value) in object {
        let key = format!("{before}{key}");
        match value {
            Value::Object(inner) => flatten(&format!("{key}."), inner, row),
            value => drop(row.insert(key, value)),
        }
    }
}

impl Lines {
    /// Comma-separated values with a line of keys.
    fn csv(&self) -> String {
        let mut csv = csv_line(&self.columns);
        for row in &self.rows {
            csv += &csv_line(self.columns.iter().map(|key| match row.get(key) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            }));
        }
        csv
    }
}
