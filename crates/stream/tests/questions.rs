//! Questions in SQL over rings: windows, joins, limits, and what is refused.

use node::random::Random;
use std::time::Duration;
use stream::{Database, Limits, Owned, QueryError, QueryLimits, Schema, Unit, Value};

fn flows(rows: usize) -> (Database, stream::Table) {
    limited(rows, QueryLimits::default())
}

fn limited(rows: usize, query: QueryLimits) -> (Database, stream::Table) {
    let limits = Limits {
        query,
        ..Limits::default()
    };
    let database = Database::with_limits(Unit::Nanoseconds, limits);
    let schema = Schema::new("Flows", rows)
        .text("device", 20)
        .integer("port")
        .integer("bytes");
    let table = database.create(schema).expect("a good schema");
    (database, table)
}

fn put(table: &stream::Table, at: i64, device: &str, port: i64, bytes: i64) {
    let row = [device.into(), port.into(), bytes.into()];
    table.insert(at, &row).expect("a row that fits");
}

fn rows(database: &Database, sql: &str) -> Vec<Vec<String>> {
    let answer = database
        .query(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    let row = |row: &Vec<Owned>| row.iter().map(ToString::to_string).collect();
    answer.rows.iter().map(row).collect()
}

const SECOND: i64 = 1_000_000_000;

#[test]
fn each_window_selects_its_rows() {
    let (database, table) = flows(100);
    for second in 1..=20 {
        put(&table, second * SECOND, "a", second, 100);
    }
    put(&table, 20 * SECOND, "b", 99, 100);
    let ports = |window: &str| {
        let sql = format!("SELECT min(port), max(port), count(*) FROM Flows {window}");
        rows(&database, &sql).remove(0)
    };
    assert_eq!(ports(""), ["1", "99", "21"]);
    assert_eq!(ports("[RANGE 10 SECONDS]"), ["11", "99", "11"]);
    assert_eq!(ports("[ROWS 3]"), ["19", "99", "3"]);
    assert_eq!(ports("[SINCE 18000000000]"), ["19", "99", "3"]);
    assert_eq!(ports("[NOW]"), ["20", "99", "2"]);
    assert_eq!(ports("[ROWS 3] WHERE port < 50"), ["19", "20", "2"]);
    database.advance(25 * SECOND);
    assert_eq!(ports("[RANGE 10 SECONDS]"), ["16", "99", "6"]);
    assert_eq!(ports("[RANGE 1 SECOND]")[2], "0");
}

#[test]
fn windows_of_two_tables_join() {
    let (database, flows) = flows(1000);
    let leases = Schema::new("Leases", 10)
        .text("device", 20)
        .text("name", 20);
    let leases = database.create(leases).expect("a good schema");
    for (at, device, name) in [(1, "m1", "old"), (2, "m2", "printer"), (3, "m1", "laptop")] {
        leases
            .insert(at, &[device.into(), name.into()])
            .expect("fits");
    }
    for at in 0..100 {
        put(&flows, at, if at % 4 == 0 { "m1" } else { "m2" }, 80, at);
    }
    let joined = rows(
        &database,
        "SELECT l.name, sum(f.bytes) FROM Flows [ROWS 8] f JOIN Leases [SINCE 1] AS l
         USING (device) GROUP BY l.name ORDER BY 1",
    );
    // Bytes 92 to 99; 92 and 96 are of m1.
    assert_eq!(joined, [["laptop", "188"], ["printer", "576"]]);
    // The same table in two windows.
    let both = rows(
        &database,
        "WITH recent AS (SELECT count(*) AS n FROM \"flows\" [ROWS 5])
         SELECT recent.n, count(*) FROM recent, Flows [ROWS 7]",
    );
    assert_eq!(both, [["5", "7"]]);
}

#[test]
fn questions_match_a_plain_table_of_sqlite() {
    let mut random = Random::new(7);
    for _ in 0..30 {
        let capacity = 1 + random.below(700) as usize;
        let (database, table) = flows(capacity);
        let plain = rusqlite::Connection::open_in_memory().expect("SQLite");
        plain
            .execute_batch(
                "CREATE TABLE Flows(at INTEGER, device TEXT, port INTEGER, bytes INTEGER)",
            )
            .expect("a table");
        let (mut at, count) = (0, random.below(1500));
        for _ in 0..count {
            at += random.below(3).cast_signed();
            let device = format!("d{}", random.below(5));
            let (port, bytes) = (
                random.below(10).cast_signed(),
                random.below(1000).cast_signed(),
            );
            put(&table, at, &device, port, bytes);
            plain
                .execute(
                    "INSERT INTO Flows VALUES (?, ?, ?, ?)",
                    (at, &device, port, bytes),
                )
                .expect("inserted");
        }
        let oldest = count.saturating_sub(capacity as u64);
        plain
            .execute("DELETE FROM Flows WHERE rowid <= ?", [oldest.cast_signed()])
            .expect("deleted");
        let bound = random.below(1 + at.cast_unsigned()).cast_signed();
        let (low, high) = (bound - 20, bound + 20);
        for rest in [
            "SELECT device, count(*), sum(bytes), min(port) FROM Flows GROUP BY device ORDER BY device".into(),
            format!("SELECT * FROM Flows WHERE at > {low} AND at <= {high} ORDER BY at DESC, rowid DESC LIMIT 9"),
            format!("SELECT at, port FROM Flows WHERE at >= {low} AND at < {high} ORDER BY at LIMIT 300"),
            format!("SELECT port FROM Flows WHERE at = {bound} ORDER BY port"),
            "SELECT at FROM Flows ORDER BY at DESC LIMIT 700".into(),
            "SELECT device, port, count(*), max(at) FROM Flows GROUP BY device, port ORDER BY device DESC, port".into(),
            "SELECT count(*) AS n, device FROM Flows GROUP BY device HAVING n > 20 ORDER BY n DESC, device".into(),
            format!("SELECT DISTINCT port FROM Flows WHERE at < {bound} ORDER BY port DESC"),
            "SELECT count(DISTINCT bytes), count(DISTINCT device) FROM Flows".into(),
            "SELECT port, device, bytes, at FROM Flows ORDER BY port DESC, device, bytes, at LIMIT 200".into(),
            format!("SELECT a.port, count(*) FROM Flows a JOIN Flows b ON a.at = b.at WHERE b.at > {low} GROUP BY a.port ORDER BY a.port"),
            "SELECT x, y FROM (SELECT device AS x, sum(bytes) AS y FROM Flows GROUP BY 1) ORDER BY y, x".into(),
            "SELECT device, rank() OVER (PARTITION BY device ORDER BY port, bytes, at) AS r FROM Flows ORDER BY device, r LIMIT 100".into(),
            format!("SELECT count(*) FROM Flows a JOIN Flows b ON a.at = b.at AND a.port < b.port WHERE a.at > {low}"),
            format!("SELECT at FROM Flows WHERE at > {bound}.5 ORDER BY at"),
        ] {
            let mut statement = plain.prepare(&rest).expect("a question");
            let width = statement.column_count();
            let wanted: Vec<Vec<String>> = statement
                .query_map([], |row| {
                    (0..width)
                        .map(|index| {
                            let value: rusqlite::types::Value = row.get(index)?;
                            Ok(match value {
                                rusqlite::types::Value::Null => "NULL".into(),
                                rusqlite::types::Value::Integer(value) => value.to_string(),
                                rusqlite::types::Value::Text(text) => text,
                                other => format!("{other:?}"),
                            })
                        })
                        .collect()
                })
                .and_then(Iterator::collect)
                .expect("an answer");
            assert_eq!(rows(&database, &rest), wanted, "{rest}");
        }
    }
}

#[test]
fn the_time_of_a_row_never_decreases() {
    let (database, table) = flows(10);
    put(&table, 5, "a", 1, 1);
    put(&table, 3, "a", 2, 1);
    assert_eq!(
        rows(&database, "SELECT at, port, rowid FROM Flows")[1],
        ["5", "2", "1"]
    );
    assert_eq!(table.counts().late, 1);
}

#[test]
fn a_window_that_reaches_beyond_the_ring_is_reported() {
    let (database, table) = flows(5);
    for at in 0..8 {
        put(&table, at, "a", at, 1);
    }
    let cut = |window| {
        let sql = format!("SELECT count(*) FROM Flows {window}");
        database.query(&sql).expect("an answer").is_cut
    };
    assert!(cut("[RANGE 6 NANOSECONDS]") && cut("[ROWS 6]") && cut("[SINCE 1]"));
    assert!(!cut("[RANGE 4 NANOSECONDS]") && !cut("[ROWS 5]") && !cut("[SINCE 4]") && !cut(""));
    assert_eq!(table.counts().overwritten, 3);
}

#[test]
fn questions_that_do_more_than_read_are_refused() {
    let (database, _) = flows(10);
    for sql in [
        "INSERT INTO Flows VALUES (1, 'a', 2, 3)",
        "DELETE FROM Flows",
        "CREATE TABLE t(a)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "ATTACH '/tmp/x' AS x",
        "PRAGMA cache_size = 1000000",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM dbstat",
        "SELECT load_extension('x')",
        "VACUUM INTO '/tmp/x'",
        "BEGIN",
        "DROP TABLE Flows",
        "SELECT 1; SELECT 2",
        "",
        "-- nothing",
    ] {
        let error = database.query(sql).expect_err(sql);
        assert!(
            matches!(
                error,
                QueryError::Refused(_) | QueryError::Syntax(_) | QueryError::Failed(_)
            ),
            "{sql}: {error:?}"
        );
    }
    assert!(database.query("SELECT count(*) FROM Flows").is_ok());
}

#[test]
fn an_error_names_its_place_in_the_text_as_it_was_written() {
    let (database, _) = flows(10);
    let place = |sql: &str| match database.query(sql) {
        Err(QueryError::Syntax(error)) => (error.line, error.column, error.message),
        other => panic!("{sql}: {other:?}"),
    };
    let (line, column, message) =
        place("SELECT device\nFROM Flows [RANGE 10 SECONDS] JOIN Flows [ROWS 5] ON nothing = 1");
    assert_eq!((line, column), (2, 54), "{message}");
    let (line, column, message) = place("SELECT * FROM Flows [RANGE 10 PARSECS]");
    assert_eq!((line, column), (1, 21));
    assert!(message.contains("PARSECS"), "{message}");
    assert_eq!(place("SELECT * FROM Flows [ROWS]").1, 21);
    assert!(place("SELECT * FROM nowhere").2.contains("nowhere"));
}

#[test]
fn brackets_that_are_no_window_remain_names() {
    let (database, table) = flows(10);
    put(&table, 1, "x", 2, 3);
    let sql = "SELECT [port] AS [now then] FROM [Flows] WHERE device = '[ROWS 5]' OR [bytes] = 3";
    assert_eq!(rows(&database, sql), [["2"]]);
    assert_eq!(
        rows(
            &database,
            "SELECT '[NOW]' -- [ROWS 5]\n FROM Flows /* [NOW] */"
        ),
        [["[NOW]"]]
    );
}

#[test]
fn parameters_are_bound() {
    let (database, table) = flows(10);
    put(&table, 1, "x'; --", 2, 3);
    let sql = "SELECT port FROM Flows [ROWS 5] WHERE device = ?1";
    let answer = database
        .query_with(sql, &[Value::Text("x'; --")])
        .expect("an answer");
    assert_eq!(answer.rows, [[Owned::Integer(2)]]);
    assert!(matches!(
        database.query(sql),
        Err(QueryError::Parameters {
            given: 0,
            wanted: 1
        })
    ));
}

#[test]
fn expensive_questions_end_at_their_limits() {
    let limits = QueryLimits {
        time: Duration::from_secs(60),
        steps: 1_000_000,
        rows: 1500,
        bytes: 100_000,
        memory: 8 << 20,
        questions: 4,
    };
    let full = |limits| {
        let (database, table) = limited(2000, limits);
        (0..2000).for_each(|at| put(&table, at, "abcdefgh", at, at));
        database
    };
    let database = full(limits);
    let refused = |sql: &str| database.query(sql).expect_err(sql);
    let cross =
        "SELECT count(*) FROM Flows a, Flows b, Flows c WHERE a.bytes + b.bytes + c.bytes = 7";
    assert_eq!(refused(cross), QueryError::Steps(1_000_000));
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
    assert_eq!(refused(endless), QueryError::Steps(1_000_000));
    assert_eq!(refused("SELECT port FROM Flows"), QueryError::Rows(1500));
    assert_eq!(
        refused("SELECT hex(randomblob(900)) FROM Flows"),
        QueryError::Bytes(100_000)
    );
    let sort =
        "SELECT max(x) FROM (SELECT randomblob(30000) AS x FROM Flows ORDER BY x LIMIT 1500)";
    assert_eq!(refused(sort), QueryError::Memory(8 << 20));
    let slow = full(QueryLimits {
        time: Duration::from_millis(50),
        ..QueryLimits::default()
    });
    assert_eq!(
        slow.query(cross),
        Err(QueryError::Time(Duration::from_millis(50)))
    );
    assert!(matches!(
        slow.query("SELECT zeroblob(100000)"),
        Err(QueryError::Failed(_))
    ));
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(slow.query(&deep).is_err());
}

#[test]
fn rows_overwritten_while_a_question_reads_are_counted() {
    let (database, table) = flows(2000);
    for at in 0..2000 {
        put(&table, at, "a", at, 1);
    }
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for at in 2000..200_000 {
                put(&table, at, "a", at, 1);
            }
        });
        while !writer.is_finished() {
            let answer = database.query("SELECT count(*), max(port) - min(port) + 1 FROM Flows");
            let answer = answer.expect("an answer");
            let [Owned::Integer(count), _] = answer.rows[0][..] else {
                panic!("{answer:?}");
            };
            assert_eq!(count.cast_unsigned() + answer.missing, 2000);
        }
    });
}

#[test]
fn a_table_made_later_is_found() {
    let (database, _) = flows(10);
    assert!(database.query("SELECT * FROM Links").is_err());
    database
        .create(Schema::new("Links", 10).integer("x"))
        .expect("a table");
    assert_eq!(
        database
            .query("SELECT * FROM links [NOW]")
            .expect("found")
            .rows
            .len(),
        0
    );
    assert!(database.create(Schema::new("LINKS", 10)).is_err());
}
