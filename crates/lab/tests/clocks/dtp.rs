//! Counters that DTP keeps: as clocks among others, read by programs, and measured by.

use lab::instruments::offsets::Offsets;
use lab::{Options, Report, World};
use serde_json::Value;

fn report(text: &str) -> Report {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let options = Options {
        dry: true,
        ..Options::default()
    };
    lab::run(&lab, World::Sim, &options).unwrap()
}

fn fault(text: &str) -> String {
    lab::parse(text).expect_err(text).to_string()
}

/// The lines of a type in JSON.
fn lines(report: &Report, of: &str) -> Vec<Value> {
    let lines = report.json();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|line: &Value| line["type"] == of).collect()
}

/// A generator, a switch and a taker with DTP, 43 or 44 ticks apart.
const ROW: &str = r#"
[lab]
duration = "10 ms"

[default.link]
level = "block"
delay = "280 ns"

[node.a]
kind = "generator"
rate = "1 Gb/s"
size = 500
oscillator = 90
dtp = { log = 5000 }

[node.s]
kind = "switch"
ports = 2
latency = "2 us"
oscillator = -90
dtp = { log = 5000 }

[node.b]
kind = "sink"
dtp = { log = 5000 }

[[link]]
ends = ["a.0", "s.0"]

[[link]]
ends = ["s.1", "b.0"]

[offsets]
every = "500 ns"
from = "200 us"
"#;

#[test]
fn a_peer_that_was_given_up_is_in_the_first_line_and_in_a_warning() {
    let healthy = report(ROW).to_string();
    assert!(!healthy.contains("given up"), "{healthy}");
    let fast = ROW.replacen(
        "dtp = { log = 5000 }",
        "dtp = { fault = { ppm = 1000, from = \"2 ms\" } }",
        1,
    );
    let report = report(&fast);
    let shown = report.to_string();
    let first = shown.lines().next().unwrap_or_default();
    // Only a: b follows s, and brings it nothing that s has not sent.
    let count = &lines(&report, "run")[0]["headline"]["clocks_given_up"];
    assert_eq!(count.as_u64(), Some(1), "{first}");
    assert!(first.contains("1 DTP peer given up"), "{first}");
    assert!(
        shown.contains("warning: DTP peers given up by s ("),
        "{shown}"
    );
}

#[test]
fn a_counter_that_joins_while_a_long_cable_is_measured_parts_nothing() {
    for start in [14, 20, 800, 8_000] {
        let row = ROW
            .replace("10 ms", "3 ms")
            .replace("\"280 ns\"", "\"5 us\"");
        // The counter of b comes to s over a short cable while INIT is on the long one.
        let row = row.replace(
            "ends = [\"s.1\", \"b.0\"]",
            "ends = [\"s.1\", \"b.0\"]\ndelay = \"280 ns\"",
        );
        let kind = "kind = \"sink\"\ndtp = { log = 5000 }";
        let ahead = format!("kind = \"sink\"\ndtp = {{ start = {start} }}");
        let report = report(&row.replace(kind, &ahead));
        let offsets = report.section::<Offsets>().unwrap();
        for pair in &offsets.pairs {
            assert!(pair.greatest() <= 9, "{start}: {:?}", pair.offsets);
        }
        assert!(!report.to_string().contains("given up"), "{start}");
    }
}

#[test]
fn a_counter_is_reported_as_other_clocks_are() {
    let report = report(&format!(
        "{ROW}published = {{ greatest = 4, over = 0, delay = [43, 45] }}\n"
    ));
    let clocks = lines(&report, "clock");
    assert_eq!(clocks.len(), 3);
    for clock in &clocks {
        assert_eq!(clock["protocol"], "dtp");
        assert_eq!(clock["state"], "follows the maximum");
        // s is in the middle.
        let hops = if clock["node"] == "s" { 1 } else { 2 };
        assert_eq!(clock["bound_ps"], hops * 25_600, "{clock}");
        let error = &clock["error"];
        assert!(error["count"].as_u64() > Some(30_000), "{clock}");
        assert!(error["greatest_ps"].as_u64() > Some(0), "{clock}");
        assert!(
            error["greatest_ps"].as_u64() <= Some(hops * 32_000),
            "{clock}"
        );
        let found = &clock["offset"];
        assert!(found["count"].as_u64() > Some(100), "{clock}");
        assert!(found["greatest_ps"].as_u64() <= Some(38_400), "{clock}");
        let delay = clock["delay_ps"].as_u64().unwrap() / 6_400;
        assert!((41..=45).contains(&delay), "{clock}");
    }
    // All go as fast as the fastest: by so much they are made to.
    let steered = clocks
        .iter()
        .map(|clock| clock["steered_ppt"].as_f64().unwrap() / 1e6);
    for (steered, wanted) in steered.zip([0.0, 180.0, 90.0]) {
        assert!((steered - wanted).abs() < 5.0, "{steered} {wanted}");
    }
    let text = report.to_string();
    for part in [
        "beside what was published",
        "greatest offset of neighbours",
        "43 to 45",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        !text.contains("bound that it has"),
        "it has a table of its own: {text}"
    );
}

#[test]
fn a_program_behind_a_bus_is_nearer_to_the_counter_when_it_takes_the_mean() {
    let daemon = "[offsets.daemon]\nevery = '20 us'\njitter = '40 ns'\n";
    let told = report(&format!("{ROW}{daemon}"));
    let programs = lines(&told, "daemon");
    assert_eq!(programs.len(), 6);
    for pair in programs.chunks(2) {
        let [read, smooth] = [0, 1].map(|which| pair[which]["median_ticks"].as_f64().unwrap());
        assert!(read > 1.0 && smooth < 0.7 * read, "{pair:?}");
        assert!(pair[1]["share_within"].as_f64() > Some(0.9), "{pair:?}");
    }
    assert!(told.to_string().contains("mean of 10 readings"));
    // Ways that are known are no error but for the ticks.
    let known = "[offsets.daemon]\nevery = '20 us'\njitter = '0 s'\nspikes = 0.0\n";
    for program in lines(&report(&format!("{ROW}{known}")), "daemon") {
        assert!(program["greatest_ticks"].as_f64() < Some(5.0), "{program}");
    }
    for (keys, part) in [
        ("window = 0", "`window` of a daemon is 1 to 64 readings"),
        ("every = '0 s'", "`every` of a daemon is more than 0"),
        ("spikes = 1.5", "`spikes` of a daemon is 0 to 1"),
        ("file = 'a.txt'", "tells no format"),
        ("nonsense = 1", "nonsense"),
    ] {
        let said = fault(&format!("{ROW}[offsets.daemon]\n{keys}\n"));
        assert!(said.contains(part), "{keys}: {said}");
    }
}

#[test]
fn delays_and_orders_by_the_counters_are_those_of_the_simulation_but_for_their_offsets() {
    let way = "[[journeys]]\nat = ['s.0', 'b.0']\n";
    let told = report(&format!("{ROW}{way}"));
    let hops = lines(&told, "journey");
    let [hop] = &hops[..] else {
        panic!("{hops:?}");
    };
    assert_eq!((&hop["from"], &hop["to"]), (&"s.0".into(), &"b.0".into()));
    assert!(hop["frames"].as_u64() > Some(2_000), "{hop}");
    // 2 us in the switch, the line, and a frame of 424 ns that the switch stores.
    let delay = hop["delay_p50_ps"].as_u64().unwrap();
    assert!((2_600_000..2_900_000).contains(&delay), "{hop}");
    assert!(hop["off_max_ps"].as_u64() <= Some(51_200), "{hop}");
    assert!(hop["off_max_ps"].as_u64() > Some(0), "{hop}");
    assert_eq!(hop["negative"], 0);
    let orders = lines(&told, "order");
    let [order] = &orders[..] else {
        panic!("{orders:?}");
    };
    assert!(order["pairs"].as_u64() > Some(1_000), "{order}");
    assert!(
        order["wrong_apart_max_ps"].as_u64() <= Some(51_200),
        "{order}"
    );
    for (at, part) in [
        ("['s.0']", "name two or more"),
        ("['s.0', 'c.0']", "c"),
        ("['s', 'b.0']", "name one of its ports"),
    ] {
        let said = fault(&format!("{ROW}[[journeys]]\nat = {at}\n"));
        assert!(said.contains(part), "{at}: {said}");
    }
}

#[test]
fn a_clock_that_runs_off_measures_delays_that_are_none() {
    let told = report(
        "[lab]\nduration = '4 s'\n\
         [node.m]\nkind = 'ptp'\nrole = 'master'\nports = 2\nmac = '02:00:00:00:00:01'\n\
         [node.c]\nkind = 'ptp'\nrole = 'slave'\nports = 2\nmac = '02:00:00:00:00:02'\nclock = { ppm = -50.0 }\nfree_running = true\n\
         [node.g]\nkind = 'generator'\nrate = '1 Mb/s'\nstart = '3 s'\nsize = 200\n[node.taker]\nkind = 'sink'\n\
         [[link]]\nends = ['g.0', 'm.1']\n[[link]]\nends = ['m.0', 'c.0']\ndelay = '5 us'\n[[link]]\nends = ['c.1', 'taker.0']\n\
         [[journeys]]\nat = ['m.1', 'c.0']\n",
    );
    let hops = lines(&told, "journey");
    let [hop] = &hops[..] else {
        panic!("{hops:?}");
    };
    assert_eq!(hop["protocol"], "ptp");
    // 50 us a second behind: more than the way takes.
    assert!(hop["frames"].as_u64() > Some(500), "{hop}");
    assert_eq!(hop["negative"], hop["frames"]);
    let off = hop["off_p50_ps"].as_u64().unwrap();
    assert!((150_000_000..200_000_000).contains(&off), "{hop}");
    let order = &lines(&told, "order")[0];
    assert!(order["wrong"].as_u64() > Some(100), "{order}");
}
