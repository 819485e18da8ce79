//! Subscriptions next to models that look at all rows again at each step, on random streams.

use node::random::Random;
use std::collections::BTreeMap;
use std::time::Duration;
use stream::{Database, Event, Limits, Owned, Schema, Subscription, Table, Unit, WatchLimits};

fn database(watch: WatchLimits) -> Database {
    let limits = Limits {
        watch,
        ..Limits::default()
    };
    Database::with_limits(Unit::Nanoseconds, limits)
}

fn table(database: &Database, name: &str, rows: usize) -> Table {
    let schema = Schema::new(name, rows).text("k", 4).integer("n");
    database.create(schema).expect("a good schema")
}

fn put(table: &Table, at: i64, key: &str, n: i64) {
    table.insert(at, &[key.into(), n.into()]).expect("fits");
}

fn events(subscription: &mut Subscription) -> Vec<(i64, String)> {
    let event = |event: Event| {
        let values: Vec<String> = event.values.iter().map(ToString::to_string).collect();
        (event.at, values.join(" "))
    };
    std::iter::from_fn(|| subscription.take())
        .map(event)
        .collect()
}

/// Whether HAVING is true of the values of a group.
type Holds = fn(&[i64]) -> bool;

/// Computes a threshold from all rows of the window each time it changes.
struct Threshold {
    rows: Vec<(i64, String, i64)>,
    first: usize,
    capacity: usize,
    extent: Extent,
    over: BTreeMap<String, bool>,
    holds: Holds,
    found: Vec<(i64, String)>,
}

#[derive(Clone, Copy)]
enum Extent {
    Range(i64),
    Rows(usize),
}

impl Threshold {
    fn evaluate(&mut self, at: i64) {
        let mut groups: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for (_, key, n) in &self.rows[self.first..] {
            groups.entry(key).or_default().push(*n);
        }
        for (key, values) in &groups {
            let is_over = (self.holds)(values);
            let before = self.over.insert((*key).into(), is_over).unwrap_or(false);
            if is_over && !before {
                let sum: i64 = values.iter().sum();
                self.found
                    .push((at, format!("{key} {sum} {}", values.len())));
            }
        }
        let keys: Vec<String> = groups.keys().map(ToString::to_string).collect();
        self.over.retain(|key, _| keys.contains(key));
    }

    fn expire(&mut self, until: i64) {
        let Extent::Range(range) = self.extent else {
            return;
        };
        while let Some((at, ..)) = self.rows.get(self.first)
            && at + range <= until
        {
            let end = at + range;
            while self
                .rows
                .get(self.first)
                .is_some_and(|(at, ..)| at + range == end)
            {
                self.first += 1;
            }
            if end < until {
                self.evaluate(end);
            }
        }
    }

    fn insert(&mut self, at: i64, key: &str, n: i64) {
        self.expire(at);
        self.rows.push((at, key.into(), n));
        let rows = match self.extent {
            Extent::Rows(rows) => rows.min(self.capacity),
            Extent::Range(_) => self.capacity,
        };
        self.first = self.first.max(self.rows.len().saturating_sub(rows));
        self.evaluate(at);
    }
}

#[test]
fn thresholds_are_crossed_when_a_model_crosses_them() {
    let mut random = Random::new(21);
    let conditions: [(&str, Holds); 5] = [
        ("sum(n) > 20", |v| v.iter().sum::<i64>() > 20),
        ("count(*) < 3", |v| v.len() < 3),
        ("min(n) >= 4 AND count(*) >= 2", |v| {
            v.iter().all(|n| *n >= 4) && v.len() >= 2
        }),
        ("max(n) < 6", |v| v.iter().all(|n| *n < 6)),
        ("avg(n) BETWEEN 4 AND 5", |v| {
            let sum = v.iter().sum::<i64>() as f64;
            (4.0..=5.0).contains(&(sum / v.len() as f64))
        }),
    ];
    let mut total = 0;
    for round in 0..300 {
        let capacity = 1 + random.below(40) as usize;
        let database = database(WatchLimits::default());
        let table = table(&database, "T", capacity);
        let extent = match random.below(3) {
            0 => Extent::Rows(1 + random.below(30) as usize),
            _ => Extent::Range(1 + random.below(50).cast_signed()),
        };
        let (having, holds) = conditions[random.index(conditions.len())];
        let window = match extent {
            Extent::Rows(rows) => format!("[ROWS {rows}]"),
            Extent::Range(range) => format!("[RANGE {range} NS]"),
        };
        let text = format!("SELECT k, sum(n), count(*) FROM T {window} GROUP BY k HAVING {having}");
        let mut subscription = None;
        let mut model = Threshold {
            rows: Vec::new(),
            first: 0,
            capacity,
            extent,
            over: BTreeMap::new(),
            holds,
            found: Vec::new(),
        };
        let start = random.below(60);
        let (mut at, mut now) = (0, i64::MIN);
        for step in 0..300 {
            if step == start {
                subscription = Some(database.subscribe(&text).expect("a pattern"));
                // Existing rows are counted; groups above the threshold cause events at once.
                model.over.clear();
                model.found.clear();
                model.expire(database.now());
                model.found.clear();
                model.over.clear();
                model.evaluate(database.now());
            }
            at += [0, 0, 1, 2, 3, 20][random.index(6)];
            let key = format!("k{}", random.below(3));
            let n = random.below(10).cast_signed();
            put(&table, at, &key, n);
            model.insert(at, &key, n);
            now = now.max(at);
            if random.below(8) == 0 {
                at += random.below(40).cast_signed();
                database.advance(at);
                if at > now {
                    now = at;
                    model.expire(at);
                    model.evaluate(at);
                }
            }
        }
        let mut found = events(&mut subscription.expect("subscribed"));
        found.sort();
        model.found.sort();
        assert_eq!(
            found, model.found,
            "round {round}: {text}, ring of {capacity}"
        );
        total += found.len();
    }
    assert!(total > 3000, "{total}");
}

#[test]
fn absences_are_those_of_a_model() {
    let mut random = Random::new(22);
    let mut total = 0;
    for round in 0..300 {
        let database = database(WatchLimits::default());
        let table = table(&database, "T", 1 + random.below(5) as usize);
        let span = 1 + random.below(30).cast_signed();
        let keyed = random.below(4) > 0;
        let by = if keyed { "BY k" } else { "" };
        let (mut at, mut now) = (5, 5);
        database.advance(5);
        let text = format!("ABSENCE OF T WHERE n > 2 {by} FOR {span} NANOSECONDS");
        let mut subscription = database.subscribe(&text).expect("a pattern");
        let mut last: BTreeMap<String, i64> = BTreeMap::new();
        if !keyed {
            last.insert(String::new(), 5);
        }
        let mut wanted = Vec::new();
        let mut expire = |last: &mut BTreeMap<String, i64>, until: i64| {
            last.retain(|key, time| {
                if *time + span <= until {
                    let space = if keyed { " " } else { "" };
                    wanted.push((*time + span, format!("{key}{space}{time}")));
                }
                *time + span > until
            });
        };
        for _ in 0..200 {
            at += [0, 1, 1, 5, 25][random.index(5)];
            let key = format!("k{}", random.below(4));
            let n = random.below(6).cast_signed();
            put(&table, at, &key, n);
            now = now.max(at);
            expire(&mut last, at - 1);
            if n > 2 {
                last.insert(if keyed { key } else { String::new() }, at);
            }
            if random.below(6) == 0 {
                at += random.below(30).cast_signed();
                database.advance(at);
                if at > now {
                    now = at;
                    expire(&mut last, at);
                }
            }
        }
        let mut found = events(&mut subscription);
        assert!(found.is_sorted_by_key(|(at, _)| *at), "in order");
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "round {round}: {text}");
        total += found.len();
    }
    assert!(total > 3000, "{total}");
}

#[test]
fn sequences_are_those_of_a_model() {
    let mut random = Random::new(23);
    let mut total = 0;
    for round in 0..300 {
        let database = database(WatchLimits::default());
        let one_table = random.below(2) == 0;
        let a = table(&database, "A", 3);
        let b = if one_table {
            a.clone()
        } else {
            table(&database, "B", 3)
        };
        let second = if one_table { "A" } else { "B" };
        let span = 1 + random.below(30).cast_signed();
        let text =
            format!("SEQUENCE A WHERE n < 4 THEN {second} WHERE n >= 3 BY k WITHIN {span} NS");
        let mut subscription = database.subscribe(&text).expect("a pattern");
        // For each key the latest row that matches the first condition, and the time of each table.
        let mut first: BTreeMap<String, i64> = BTreeMap::new();
        let mut times = [0_i64; 2];
        let mut wanted = Vec::new();
        for _ in 0..300 {
            let to_b = !one_table && random.below(2) == 0;
            // The tables have times of their own.
            let time = &mut times[usize::from(to_b)];
            *time += [0, 0, 1, 2, 10][random.index(5)];
            let key = format!("k{}", random.below(4));
            let n = random.below(7).cast_signed();
            put(if to_b { &b } else { &a }, *time, &key, n);
            let is_second = (one_table || to_b) && n >= 3;
            if is_second
                && let Some(start) = first.get(&key)
                && *start <= *time
                && *time - *start <= span
            {
                wanted.push((*time, format!("{key} {start}")));
                first.remove(&key);
            }
            if (one_table || !to_b) && n < 4 {
                first.insert(key, *time);
            }
        }
        assert_eq!(events(&mut subscription), wanted, "round {round}: {text}");
        total += wanted.len();
    }
    assert!(total > 3000, "{total}");
}

#[test]
fn a_threshold_without_groups_rises_when_the_window_empties() {
    let database = database(WatchLimits::default());
    let table = table(&database, "T", 10);
    let text = "SELECT count(*) FROM T [RANGE 10 NS] HAVING count(*) = 0";
    put(&table, 1, "a", 1);
    let mut subscription = database.subscribe(text).expect("a pattern");
    assert_eq!(events(&mut subscription), []);
    put(&table, 30, "a", 1);
    database.advance(100);
    assert_eq!(
        events(&mut subscription),
        [(11, "0".into()), (40, "0".into())]
    );
}

#[test]
fn what_is_over_the_threshold_already_is_an_event_at_once() {
    let database = database(WatchLimits::default());
    let table = table(&database, "T", 10);
    put(&table, 1, "a", 50);
    put(&table, 2, "b", 5);
    let text = "SELECT k, sum(n) AS total FROM T [RANGE 1 HOUR] GROUP BY k HAVING total > 10";
    let mut subscription = database.subscribe(text).expect("a pattern");
    assert_eq!(subscription.columns(), ["k", "total"]);
    assert_eq!(events(&mut subscription), [(2, "a 50".into())]);
    put(&table, 3, "b", 6);
    put(&table, 4, "b", 6);
    assert_eq!(events(&mut subscription), [(3, "b 11".into())]);
}

#[test]
fn events_and_keys_beyond_the_limits_are_counted() {
    let limits = WatchLimits {
        events: 3,
        groups: 2,
        ..WatchLimits::default()
    };
    let database = database(limits);
    let table = table(&database, "T", 10);
    let mut absence = database
        .subscribe("ABSENCE OF T BY k FOR 5 NS")
        .expect("a pattern");
    let mut sequence = database
        .subscribe("SEQUENCE T THEN T BY k WITHIN 9 NS")
        .expect("a pattern");
    for at in 0..4 {
        put(&table, at, &format!("k{at}"), 1);
    }
    assert_eq!(absence.counts().refused, 2);
    assert_eq!(sequence.counts().refused, 2);
    put(&table, 4, "k3", 1);
    assert_eq!(events(&mut sequence), [(4, "k3 3".into())]);
    database.advance(100);
    assert_eq!(
        events(&mut absence),
        [(5, "k0 0".into()), (6, "k1 1".into())]
    );
    for at in 0..10 {
        put(&table, 200 + 10 * at, "x", 1);
    }
    let counts = absence.counts();
    assert_eq!((counts.events, counts.lost), (11, 6));
    assert_eq!(events(&mut absence).len(), 3);
}

#[test]
fn a_pattern_that_cannot_be_read_names_its_place() {
    let database = database(WatchLimits::default());
    table(&database, "T", 10);
    for (text, column) in [
        ("ABSENCE T FOR 5 NS", 9),
        ("ABSENCE OF T FOR 5", 18),
        ("ABSENCE OF T FOR 0 NS", 18),
        ("ABSENCE OF T BY x FOR 5 NS", 17),
        ("SEQUENCE T WITHIN 5 NS", 12),
        ("SEQUENCE T THEN U WITHIN 5 NS", 17),
        ("SELECT count(*) FROM T", 23),
        ("WATCH T", 1),
        ("", 1),
    ] {
        let Err(stream::WatchError::Syntax(error)) = database.subscribe(text) else {
            panic!("{text} is read");
        };
        assert_eq!(error.column, column, "{text}: {error}");
    }
}

#[test]
fn a_thread_that_waits_is_woken_by_the_event() {
    let database = database(WatchLimits::default());
    let table = table(&database, "T", 10);
    let text = "SELECT sum(n) FROM T HAVING sum(n) >= 3";
    let mut subscription = database.subscribe(text).expect("a pattern");
    assert_eq!(subscription.wait(Duration::from_millis(1)), None);
    let event = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| subscription.wait(Duration::from_secs(60)));
        (0..3).for_each(|at| put(&table, at, "a", 1));
        waiting.join().expect("no panic")
    });
    let event = event.expect("an event");
    assert_eq!((event.at, event.values), (2, vec![Owned::Integer(3)]));
}
