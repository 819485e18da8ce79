//! Standing windows next to the same questions asked of SQLite, on random streams.

use node::random::Random;
use stream::{Database, Limits, Owned, Schema, Table, Unit, Value, WatchError, WatchLimits};

fn events(rows: usize, text_bytes: u64, watch: WatchLimits) -> (Database, Table) {
    let limits = Limits {
        watch,
        ..Limits::default()
    };
    let database = Database::with_limits(Unit::Nanoseconds, limits);
    let schema = Schema::new("T", rows)
        .text("k", 4)
        .integer("n")
        .real("r")
        .blob("b", 3)
        .text_bytes(text_bytes);
    let table = database.create(schema).expect("a good schema");
    (database, table)
}

/// Equal, real numbers up to the rounding of SQLite's sums of numbers below 1,000 in 500 rows.
fn same(one: &Owned, other: &Owned) -> bool {
    match (one, other) {
        (Owned::Real(one), Owned::Real(other)) => (one - other).abs() < 1e-9,
        _ => one == other,
    }
}

#[test]
fn standing_windows_answer_as_sqlite_does() {
    let mut random = Random::new(11);
    let wheres = [
        "",
        "WHERE n > 3",
        "WHERE k <> 'k1' AND (n IS NULL OR n BETWEEN -5 AND 8)",
        "WHERE NOT (r < 0.5 OR b = x'00ff') AND k IN ('k0', 'k2', 'k3')",
        "WHERE n > 4.5 OR at < 40",
    ];
    let outputs = "count(*), count(n), sum(n), avg(n), min(n), max(n), \
                   count(r), sum(r), avg(r), min(r), max(r), min(k), max(k), min(b), max(at)";
    let mut compared = 0;
    for round in 0..40 {
        let rows = 1 + random.below(60) as usize;
        let text_bytes = 7 + random.below(300);
        let (database, table) = events(rows, text_bytes, WatchLimits::default());
        let mut windows = Vec::new();
        for _ in 0..6 {
            let window = match random.below(5) {
                0 => String::new(),
                1 => format!("[RANGE {} NANOSECONDS]", random.below(60)),
                2 => format!("[ROWS {}]", random.below(70)),
                3 => format!("[SINCE {}]", random.below(100)),
                _ => "[NOW]".into(),
            };
            let filter = wheres[random.index(wheres.len())];
            let (keys, group) = match random.below(4) {
                0 => ("", ""),
                1 => ("k, ", "GROUP BY k"),
                2 => ("r, k, ", "GROUP BY r, k"),
                _ => ("n, b, ", "GROUP BY n, b"),
            };
            let having = match random.below(3) {
                0 if !group.is_empty() => "HAVING count(*) > 1 AND (max(n) > 2 OR sum(r) IS NULL)",
                _ => "",
            };
            let text = format!("SELECT {keys}{outputs} FROM T {window} {filter} {group} {having}");
            let order = match keys.matches(',').count() {
                0 => "",
                1 => " ORDER BY 1",
                _ => " ORDER BY 1, 2",
            };
            // Some are created after the first rows.
            windows.push((random.below(150), text, order, None));
        }
        let mut at = 0_i64;
        for step in 0..300 {
            at += [0, 0, 1, 1, 5, 30][random.index(6)];
            let key = format!("k{}", random.below(5));
            let n = match random.below(4) {
                0 => Value::Null,
                _ => Value::Integer(random.below(12).cast_signed() - 4),
            };
            let r = match random.below(4) {
                0 => Value::Real([f64::NAN, 0.25][random.index(2)]),
                1 => Value::Integer(3),
                _ => Value::Real(random.below(1000) as f64 / 7.0),
            };
            let blob = [&[][..], &[0, 255], &[1, 2, 3]][random.index(3)];
            // Some come late.
            let late = random.below(10).saturating_sub(7).cast_signed();
            let row = [Value::Text(&key), n, r, Value::Blob(blob)];
            table.insert(at - late, &row).expect("fits");
            if random.below(10) == 0 {
                at += random.below(20).cast_signed();
                database.advance(at);
            }
            for (from, text, order, window) in &mut windows {
                if step == *from {
                    *window = Some(
                        database
                            .stand(text)
                            .unwrap_or_else(|e| panic!("{text}: {e}")),
                    );
                }
                let Some(window) = window else { continue };
                if step % 5 != 0 && random.below(3) != 0 {
                    continue;
                }
                let answer = window.answer();
                let wanted = database
                    .query(&format!("{text}{order}"))
                    .expect("an answer");
                let place = format!("round {round}, step {step}, at {}: {text}", database.now());
                assert_eq!(answer.columns, wanted.columns, "{place}");
                assert_eq!(answer.is_cut, wanted.is_cut, "{place}");
                assert_eq!(answer.missing, 0, "{place}");
                let is_same = answer.rows.len() == wanted.rows.len()
                    && answer
                        .rows
                        .iter()
                        .flatten()
                        .zip(wanted.rows.iter().flatten())
                        .all(|(a, b)| same(a, b));
                assert!(is_same, "{place}\n{:?}\n{:?}", answer.rows, wanted.rows);
                compared += 1;
            }
        }
    }
    assert!(compared > 15_000, "{compared}");
}

#[test]
fn a_group_beyond_the_limit_is_counted_as_missing() {
    let limits = WatchLimits {
        groups: 3,
        ..WatchLimits::default()
    };
    let (database, table) = events(10, 100, limits);
    let window = database
        .stand("SELECT n, count(*) FROM T [ROWS 8] GROUP BY n")
        .expect("a window");
    let put = |n: i64| {
        let row = [Value::Text("k"), n.into(), Value::Null, Value::Null];
        table.insert(n, &row).expect("fits");
    };
    (0..5).for_each(put);
    let answer = window.answer();
    assert_eq!((answer.rows.len(), answer.missing), (3, 2));
    // The groups of rows that left make room for others, and rows without a group leave, too.
    (5..13).for_each(put);
    assert_eq!(window.answer().missing, 5);
    (13..14).for_each(put);
    let answer = window.answer();
    assert_eq!(answer.rows.len() as u64 + answer.missing, 8);
}

#[test]
fn standing_windows_are_limited_in_number_and_memory() {
    let limits = WatchLimits {
        count: 2,
        memory: 100_000,
        groups: 100,
        events: 10,
    };
    let (database, _) = events(1000, 4000, limits);
    let text = "SELECT k, max(n) FROM T GROUP BY k";
    let first = database.stand(text).expect("one");
    let Err(WatchError::Memory { needed, free }) =
        database.stand("SELECT k, sum(r), min(n), max(n) FROM T GROUP BY k")
    else {
        panic!("it needs more than there is");
    };
    assert!(needed > free && free < 100_000);
    let second = database.stand(text).expect("two");
    assert!(matches!(database.stand(text), Err(WatchError::Count(2))));
    drop(first);
    let third = database.stand(text).expect("there is room again");
    drop((second, third));
}

#[test]
fn a_text_that_cannot_stand_names_its_place() {
    let (database, _) = events(10, 100, WatchLimits::default());
    for (text, column, part) in [
        ("SELECT k FROM T", 8, "GROUP BY k"),
        ("SELECT sum(k) FROM T", 12, "numbers"),
        ("SELECT total(n) FROM T", 8, "count, sum"),
        ("SELECT count(*) FROM U", 22, "no such table"),
        ("SELECT count(x) FROM T", 14, "no such column"),
        ("SELECT count(*) FROM T [RANGE 5 X]", 24, "not a unit"),
        ("SELECT count(*) FROM T WHERE k > 5", 34, "one type"),
        ("SELECT count(*) FROM T ORDER BY 1", 30, "no ORDER"),
        ("SELECT count(*)", 16, "FROM"),
        ("SELECT k, n FROM T GROUP BY k, n, k", 35, "twice"),
        ("DELETE FROM T", 1, "SELECT"),
    ] {
        let Err(WatchError::Syntax(error)) = database.stand(text) else {
            panic!("{text} stands");
        };
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
}

#[test]
fn integer_sums_beyond_64_bits_become_real_and_come_back() {
    let (database, table) = events(2, 100, WatchLimits::default());
    let window = database
        .stand("SELECT sum(n) AS s FROM T")
        .expect("a window");
    let put = |n: i64| {
        let row = [Value::Null, n.into(), Value::Null, Value::Null];
        table.insert(1, &row).expect("fits");
    };
    put(i64::MAX);
    put(i64::MAX);
    assert_eq!(window.answer().rows, [[Owned::Real(2.0 * i64::MAX as f64)]]);
    put(-5);
    assert_eq!(window.answer().rows, [[Owned::Integer(i64::MAX - 5)]]);
}
