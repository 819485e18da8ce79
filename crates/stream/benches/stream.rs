//! Insertions, standing windows, questions and subscriptions, each next to its goal.

use std::hint::black_box;
use std::time::{Duration, Instant};
use stream::{Database, Schema, Table, Unit};

const ROWS: i64 = 100_000;

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// The best of five runs of `count` calls, each.
fn time(name: &str, goal: &str, count: i64, mut act: impl FnMut(i64)) {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = now();
        (0..count).for_each(&mut act);
        best = best.min(start.elapsed());
    }
    let each = best.as_secs_f64() / count as f64;
    println!(
        "{name:<58} {:>12.3} us {:>12.0}/s   goal {goal}",
        each * 1e6,
        1.0 / each
    );
}

fn flows() -> (Database, Table) {
    let database = Database::new(Unit::Nanoseconds);
    let schema = Schema::new("Flows", ROWS as usize)
        .text("device", 17)
        .integer("port")
        .integer("bytes")
        .real("rtt");
    let table = database.create(schema).expect("a good schema");
    (database, table)
}

/// Inserts rows of `devices` devices, 10 us apart.
struct Writer {
    table: Table,
    names: Vec<String>,
    at: i64,
}

impl Writer {
    fn new(table: &Table, devices: usize) -> Writer {
        let names = (0..devices).map(|n| format!("02:00:00:00:{:02x}:{:02x}", n >> 8, n & 255));
        Writer {
            table: table.clone(),
            names: names.collect(),
            at: 0,
        }
    }

    fn insert(&mut self) {
        self.at += 10_000;
        let n = (self.at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let name = &self.names[n as usize % self.names.len()];
        let row = [
            name.as_str().into(),
            ((n % 1000) as i64).into(),
            ((n % 1500) as i64).into(),
            (n as f64).into(),
        ];
        self.table.insert(self.at, &row).expect("fits");
    }
}

fn insertions() {
    let (_database, table) = flows();
    let mut writer = Writer::new(&table, 1000);
    time("insertion", "1,000,000/s", 1_000_000, |_| writer.insert());
    let (database, table) = flows();
    let text = "SELECT device, count(*), sum(bytes) FROM Flows [RANGE 500 MS] GROUP BY device";
    let _window = database.stand(text).expect("a window");
    let mut writer = Writer::new(&table, 1000);
    time(
        "insertion with a standing window",
        "none",
        1_000_000,
        |_| writer.insert(),
    );
    let _more = [
        "SELECT device, max(bytes), sum(rtt) FROM Flows [ROWS 50000] WHERE port < 500 GROUP BY device",
        "SELECT count(*), min(rtt), max(rtt) FROM Flows [RANGE 1 SECOND]",
    ]
    .map(|text| database.stand(text).expect("a window"));
    let _patterns = [
        "SELECT device, sum(bytes) FROM Flows [RANGE 1 HOUR] GROUP BY device HAVING sum(bytes) > 100000000",
        "ABSENCE OF Flows BY device FOR 30 SECONDS",
        "SEQUENCE Flows WHERE port = 1 THEN Flows WHERE port = 2 BY device WITHIN 1 SECOND",
    ]
    .map(|text| database.subscribe(text).expect("a pattern"));
    time(
        "insertion with 3 standing windows and 3 subscriptions",
        "none",
        300_000,
        |_| writer.insert(),
    );
}

fn answers() {
    for devices in [10, 1000, 10_000] {
        let (database, table) = flows();
        let text = "SELECT device, count(*), sum(bytes), max(rtt) FROM Flows [RANGE 900 MS] GROUP BY device";
        let window = database.stand(text).expect("a window");
        let over = format!("{text} HAVING sum(bytes) > 100000000");
        let over = database.stand(&over).expect("a window");
        let mut writer = Writer::new(&table, devices);
        (0..ROWS).for_each(|_| writer.insert());
        let name = format!("standing window of 90,000 rows, {devices} groups");
        time(&name, "1,000 us", 20, |_| {
            black_box(window.answer());
        });
        let name = format!("the same with HAVING, no group passes, {devices} groups");
        time(&name, "1,000 us", 20, |_| {
            black_box(over.answer());
        });
        let question = |name: &str, sql: &str| {
            time(&format!("{name}, {devices} groups"), "50,000 us", 3, |_| {
                black_box(database.query(sql).expect("an answer"));
            });
        };
        question(
            "question: group 100,000 rows",
            "SELECT device, count(*), sum(bytes) FROM Flows GROUP BY device",
        );
        if devices == 1000 {
            question(
                "question: sum 100,000 rows",
                "SELECT sum(bytes), avg(rtt) FROM Flows",
            );
            question(
                "question: 100 of 100,000 rows",
                "SELECT * FROM Flows WHERE port = 7 ORDER BY at DESC LIMIT 100",
            );
            question(
                "question: window of 1,000 rows",
                "SELECT sum(bytes) FROM Flows [RANGE 10 MS]",
            );
        }
    }
}

/// Time from the insertion that completes a pattern to its event in a thread that waits, while rows
/// come at 100,000 a second.
#[expect(clippy::disallowed_methods, reason = "a benchmark keeps to a rate")]
fn delays() {
    let (database, table) = flows();
    let text = "SELECT device, max(bytes) FROM Flows [RANGE 1 MS] GROUP BY device HAVING max(bytes) >= 1000000";
    let mut subscription = database.subscribe(text).expect("a pattern");
    const EVENTS: usize = 200;
    let start = now();
    let waiter = std::thread::spawn(move || {
        let mut delays: Vec<Duration> = Vec::new();
        while delays.len() < EVENTS {
            let event = subscription
                .wait(Duration::from_secs(10))
                .expect("an event");
            delays.push(
                start
                    .elapsed()
                    .saturating_sub(Duration::from_nanos(event.at as u64)),
            );
        }
        delays.sort();
        delays
    });
    // 100 rows each millisecond.
    for batch in 1.. {
        let due = Duration::from_millis(batch);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        for row in 0..100 {
            let over = batch % 10 == 0 && row == 99;
            let bytes = if over { 1_000_000 } else { 1500 };
            let row = [
                "02:00:00:00:00:01".into(),
                443.into(),
                bytes.into(),
                0.5.into(),
            ];
            table
                .insert(start.elapsed().as_nanos() as i64, &row)
                .expect("fits");
        }
        if waiter.is_finished() {
            break;
        }
    }
    let delays = waiter.join().expect("no panic");
    println!(
        "subscription at 100,000 rows/s: delay median {:?}, p99 {:?}, maximum {:?}   goal 10 ms",
        delays[EVENTS / 2],
        delays[EVENTS * 99 / 100],
        delays[EVENTS - 1]
    );
}

fn main() {
    insertions();
    answers();
    delays();
}
