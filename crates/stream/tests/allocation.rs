//! An insertion allocates nothing, with standing windows and subscriptions on the table.

use stream::{Database, Schema, Unit};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

#[test]
fn an_insertion_allocates_nothing_in_steady_state() {
    let database = Database::new(Unit::Nanoseconds);
    let schema = Schema::new("Flows", 1000)
        .text("device", 20)
        .integer("bytes")
        .real("rtt");
    let table = database.create(schema).expect("a good schema");
    let windows = [
        "SELECT device, count(*), sum(bytes), max(bytes), min(rtt), sum(rtt) FROM Flows [RANGE 500 NANOSECONDS] GROUP BY device",
        "SELECT device, avg(rtt) FROM Flows [ROWS 100] WHERE bytes > 10 GROUP BY device HAVING avg(rtt) > 1",
        "SELECT sum(bytes) FROM Flows [NOW]",
    ];
    let windows = windows.map(|text| database.stand(text).expect("a window"));
    let subscriptions = [
        "SELECT device, sum(bytes) FROM Flows [RANGE 500 NS] GROUP BY device HAVING sum(bytes) > 1000000000",
        "ABSENCE OF Flows BY device FOR 1 HOUR",
        "SEQUENCE Flows WHERE bytes < 5 THEN Flows WHERE bytes > 2000000 BY device WITHIN 300 NS",
    ];
    let subscriptions = subscriptions.map(|text| database.subscribe(text).expect("a pattern"));
    let names: Vec<String> = (0..37).map(|number| format!("device{number}")).collect();
    let insert = |from: i64, to: i64| {
        for at in from..to {
            let name = &names[(at * at) as usize % names.len()];
            let row = [
                name.as_str().into(),
                (at % 1009).into(),
                (at as f64 / 7.0).into(),
            ];
            table.insert(at, &row).expect("fits");
        }
    };
    insert(0, 20_000);
    let before = allocations::of_this_thread();
    insert(20_000, 60_000);
    assert_eq!(allocations::of_this_thread() - before, 0);
    assert_eq!(windows[0].answer().rows.len(), 19);
    assert_eq!(subscriptions[1].counts().refused, 0);
}
