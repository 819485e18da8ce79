//! Results go to standard output, where pipes and files take them; progress and warnings go to standard error. Where packets go to
//! standard output, the report goes to standard error.

use crate::shell::{Place, has, lines};

/// Commands that report, and words of what they report.
const REPORTS: [(&str, &str); 13] = [
    ("wire gen dummy --count 10 --gap 1us", "10 packets sent"),
    ("wire gen dummy --count 10 --gap 1us", "schedule: "),
    ("wire send dummy t.lines --at-once", "20 packets sent"),
    (
        "wire run echo --on dummy --duration 0.05",
        "packets received",
    ),
    (
        "wire delay 1ms --on dummy dummy --duration 0.05",
        "packets came",
    ),
    (
        "wire p4 run router.p4 --on dummy --duration 0.05",
        "packets received",
    ),
    (
        "wire of switch --on dummy --listen ptcp:0:127.0.0.1 --duration 0.05",
        "packets received",
    ),
    (
        "wire of controller learning --listen ptcp:0:127.0.0.1 --duration 0.05",
        "packets received",
    ),
    (
        "wire of controller learning --listen punix:c.sock --duration 20s > /dev/null 2>&1 & \
         controller=$!; until [ -S c.sock ]; do sleep 0.05; done; \
         wire of cbench --connect unix:c.sock --switches 2 --loop 2 --ms-per-test 50; code=$?; kill -INT $controller; wait; exit $code",
        " answers/s in the mean of 2 rounds",
    ),
    ("wire of flops actions --count 10", "actions done: "),
    ("wire lab lab.toml", "probes arrived"),
    ("wire profile t.lines", "packets"),
    (
        "wire profile --compare a.pcapng b.pcapng",
        "20 of 20 packets arrived, mean delay",
    ),
];

/// Commands whose packets go to standard output, and words of what they report.
const BESIDE: [(&str, &str); 2] = [
    ("wire send - t.lines --at-once", "20 packets sent"),
    (
        "wire run echo --on - --duration 0.3 < t.lines",
        "packets received",
    ),
];

fn place() -> Place {
    let place = Place::new("reports");
    place.write("t.lines", lines(20));
    place.write(
        "router.p4",
        include_str!("../../../examples/p4-l2l3/l2l3.p4"),
    );
    place.write(
        "lab.toml",
        "[node.a]\nkind = 'generator'\ncount = 5\n[node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'b.0']\n",
    );
    place
        .run("wire dump t.lines -o a.pcapng && cp a.pcapng b.pcapng")
        .good();
    place
}

#[test]
fn results_are_on_standard_output_and_the_verdict_comes_first() {
    let place = place();
    for (script, words) in REPORTS {
        let ended = place.run(script);
        assert_eq!(ended.code, Some(0), "{script}: {ended:?}");
        assert!(ended.out.contains(words), "{script}: {ended:?}");
        assert!(!ended.err.contains(words), "{script}: {}", ended.err);
        let said = ended.err.lines().all(|line| line.starts_with("wire: "));
        assert!(said, "{script}: {}", ended.err);
        assert!(!ended.out.starts_with("wire: "), "{script}: {}", ended.out);
    }
}

#[test]
fn where_packets_are_on_standard_output_the_report_is_not_among_them() {
    let place = place();
    for (script, words) in BESIDE {
        let ended = place.run(script);
        assert_eq!(ended.code, Some(0), "{script}: {ended:?}");
        assert!(ended.err.contains(words), "{script}: {ended:?}");
        assert!(
            !ended.out.contains(words) && !ended.out.is_empty(),
            "{script}: {}",
            ended.out
        );
    }
}

#[test]
fn what_lasts_says_so_when_it_begins() {
    let place = place();
    for (script, words) in [
        (
            "wire run echo --on dummy --duration 0.05",
            "echo on dummy, for 50 ms, or until Ctrl-C",
        ),
        (
            "wire delay 1ms --on dummy dummy --duration 0.05",
            "delay on dummy, dummy, for 50 ms",
        ),
        (
            "wire of controller learning --listen ptcp:0:127.0.0.1 --duration 0.05",
            "controller on ",
        ),
    ] {
        let ended = place.run(script);
        let first = ended.err.lines().next().unwrap_or_default();
        assert!(
            first.starts_with(&format!("wire: {words}")),
            "{script}: {ended:?}"
        );
    }
    // Of a command that stands in pipes nobody is told who does not watch.
    let quiet = place.run("wire gen --count 3 2> /dev/null | wire cat - --count 3 > /dev/null");
    assert_eq!(quiet.err, "");
}

#[test]
fn how_much_of_a_large_file_is_read_is_shown_where_somebody_watches() {
    if !has("script", "a terminal is made by script(1)") {
        return;
    }
    let place = Place::new("reading");
    let line = format!("020000000001 020000000002 88B5{}\n", " 00".repeat(1500));
    place.write("large.lines", line.repeat(8_000));
    place.write("small.lines", line.repeat(100));
    // The reader waits for longer than nobody asks how long it will take.
    let seen = |command: &str| {
        let script = format!(
            "TERM=xterm script -qec \"stty cols 80; {command} | (sleep 1.5; cat) > read\" /dev/null"
        );
        place.run(&script).good()
    };
    let large = seen("wire cat large.lines");
    assert!(large.contains("of 36.25 MB read"), "{large}");
    assert!(large.ends_with("\x1b[2K"), "{large:?}");
    assert_eq!(seen("wire cat small.lines"), "");
    assert_eq!(seen("wire cat large.lines 2> told"), "");
    assert_eq!(place.run("cat told").good(), "");
    // Lines on the terminal are the sign of life there.
    let lines = place.run("script -qec 'wire cat large.lines --count 2' /dev/null");
    assert!(!lines.good().contains("MB read"));
}

#[test]
fn the_lines_of_a_report_become_tables_whose_columns_keep_their_order_and_types() {
    let place = crate::shell::Place::new("csv");
    place.write(
        "lab.toml",
        "[node.a]\nkind = 'generator'\nrate = '20 Mb/s'\ncount = 200\n[node.b]\nkind = 'sink'\n[queues]\nevery = '1 ms'\n\
         [[link]]\nends = ['a.0', 'b.0']\nrate = '10 Mb/s'\nforth = { queue = { kind = 'fifo', limit = 5 } }\n",
    );
    place
        .run("wire lab lab.toml --csv out --parquet out")
        .good();
    let read = |name: &str| String::from_utf8(place.read(name)).expect("a table is text");
    let table = read("out/queue_series.csv");
    let mut lines = table.lines();
    assert_eq!(
        lines.next(),
        Some("at,time_ps,packets,backlog_bytes,wait_ps,sent,dropped,marked")
    );
    assert_eq!(lines.next(), Some("a.0,0,0,0,0,1,0,0"));
    assert!(lines.count() >= 2, "{table}");
    // Reasons have commas, and objects become columns.
    let queues = read("out/queue.csv");
    assert_eq!(queues.lines().count(), 2, "{queues}");
    let nodes = read("out/node.csv");
    assert!(nodes.starts_with("node,counters."), "{nodes}");
    // The same as Parquet, with types.
    let tables = place.run("cd out; ls *.csv | sed s/.csv$//").good();
    assert!(tables.lines().count() > 4, "{tables}");
    let reader = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../report/tests/parquet/read.py"
    );
    if !has("python3", "reading Parquet back") {
        return;
    }
    for name in tables.lines() {
        let command = format!("python3 -B {reader} own out/{name}.parquet");
        let read_back = place.run(&command).good();
        let table: serde_json::Value = serde_json::from_str(&read_back).unwrap();
        let csv = read(&format!("out/{name}.csv"));
        let head = csv.lines().next().unwrap();
        let names: Vec<&str> = table["names"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|name| name.as_str())
            .collect();
        assert_eq!(names.join(","), head, "{name}");
        let rows = csv.lines().count() - 1;
        let columns = table["columns"].as_array().unwrap();
        assert!(
            columns
                .iter()
                .all(|column| column.as_array().unwrap().len() == rows),
            "{name}"
        );
        if name == "queue_series" {
            let first: Vec<String> = columns.iter().map(|column| column[0].to_string()).collect();
            assert_eq!(first.join(","), "\"a.0\",0,0,0,0,1,0,0");
        }
    }
}
