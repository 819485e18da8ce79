//! Parquet files against readers that know nothing of the writer: one in Python from the format's own
//! text, and pyarrow and DuckDB where they are.

use node::random::Random;
use report::parquet::parquet;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::Command;

/// Reads a file back as its names and columns. `None`, with the reason, where the reader is not there.
fn read(reader: &str, file: &Path) -> Option<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parquet/read.py");
    let mut command = Command::new("python3");
    command.args(["-B", script, reader]).arg(file);
    let output = command
        .output()
        .map_err(|error| println!("skipped: Parquet is read in Python: no python3: {error}"))
        .ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("ModuleNotFoundError") && reader != "own" {
        println!("skipped: Parquet read by {reader}: there is no {reader} for python3");
        return None;
    }
    assert!(output.status.success(), "{reader}: {errors}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Writes a table and compares what each reader makes of it.
fn compare(name: &str, columns: &[&str], rows: &[Value], readers: &[&str]) {
    let names: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    let rows: Vec<Map<String, Value>> = rows
        .iter()
        .map(|row| row.as_object().unwrap().clone())
        .collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parquet");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{name}.parquet"));
    std::fs::write(&file, parquet(&names, &rows).unwrap()).unwrap();
    let column =
        |name: &String| -> Vec<Value> { rows.iter().map(|row| row[name].clone()).collect() };
    let wanted = json!({ "names": names, "columns": names.iter().map(column).collect::<Vec<_>>() });
    for reader in readers {
        if let Some(got) = read(reader, &file) {
            assert!(got == wanted, "{reader} reads {name} in another way");
        }
    }
}

const ALL: [&str; 3] = ["own", "pyarrow", "duckdb"];

#[test]
fn each_type_of_values_is_read_as_it_was_written() {
    let rows = [
        json!({ "at": "modem.0", "sent": 1, "time_ps": 0, "share": 0.25, "is_full": true, "none": null }),
        json!({ "at": "", "sent": -9, "time_ps": u64::MAX, "share": 3.0, "is_full": null, "none": null }),
        json!({ "at": "ä→b, \"c\"", "sent": i64::MIN, "time_ps": null, "share": -1e-300, "is_full": false, "none": null }),
        json!({ "at": "modem.0", "sent": i64::MAX, "time_ps": 7, "share": null, "is_full": true, "none": null }),
    ];
    let columns = ["at", "sent", "time_ps", "share", "is_full", "none"];
    compare("types", &columns, &rows, &ALL);
    compare("empty", &[], &[], &["own"]);
    compare("no-rows", &columns, &[], &["own", "pyarrow"]);
}

#[test]
fn values_without_a_common_type_are_text() {
    let rows = ["x", "1"].map(|text| json!({ "a": text }));
    let mixed =
        [json!({ "a": "x" }), json!({ "a": 1 })].map(|row| row.as_object().unwrap().clone());
    let names = ["a".to_owned()];
    let same = rows.map(|row| row.as_object().unwrap().clone());
    assert_eq!(parquet(&names, &mixed), parquet(&names, &same));
}

#[test]
fn random_tables_are_read_as_they_were_written() {
    let tables = std::env::var("WIRE_PARQUET_TABLES").map_or(12, |count| count.parse().unwrap());
    for seed in 0..tables {
        let mut random = Random::new(seed);
        let rows = random.below(3_000) as usize;
        let kinds: Vec<_> = (0..1 + random.index(20)).map(|_| random.below(7)).collect();
        let missing = [0.0, 0.5, 0.01][random.index(3)];
        let words = 1 + random.below(300);
        let names: Vec<String> = (0..kinds.len()).map(|n| format!("counters.{n}")).collect();
        let mut table = Vec::new();
        for _ in 0..rows {
            let mut row = Map::new();
            for (name, kind) in names.iter().zip(&kinds) {
                let value = match kind {
                    _ if random.chance(missing) => Value::Null,
                    0 => json!(random.below(2) == 0),
                    1 => json!(random.bits() as i64 >> random.below(64)),
                    2 => json!(random.bits() >> random.below(64)),
                    3 => json!(random.below(1_000_000) as f64 / 1024.0 - 300.0),
                    4 => json!(true),
                    _ => json!("frame ".repeat(random.index(4)) + &random.below(words).to_string()),
                };
                row.insert(name.clone(), value);
            }
            table.push(Value::Object(row));
        }
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        compare(&format!("random-{seed}"), &columns, &table, &["own"]);
    }
}

#[test]
fn a_long_table_has_row_groups() {
    let row =
        |n: u64| json!({ "at": format!("h{}.0", n % 70_000), "sent": n, "dropped": n / 65_536 });
    let rows: Vec<Value> = (0..140_000).map(row).collect();
    compare("long", &["at", "sent", "dropped"], &rows, &ALL);
}
