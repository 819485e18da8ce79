//! Clocks that coded probes set, in simulated time: what they believe, and what is true.

use super::{clock, counter, is_held, node, run};
use lab::instruments::mesh::NetworkEffect;
use lab::{Options, World};
use node::outcome::NodeOutcome;

/// A server, and a client that is 40 ppm fast and 3 s ahead, 5 us apart.
const PAIR: &str = r#"
[lab]
duration = "3 s"

[node.s]
kind = "huygens"
address = "10.0.0.1"
mac = "02:00:00:00:00:01"

[node.c]
kind = "huygens"
address = "10.0.0.2"
mac = "02:00:00:00:00:02"
server = "10.0.0.1"
window = "200 ms"
clock = { ppm = 40.0, start = "3 s" }
settle = "1 s"

[[link]]
ends = ["s.0", "c.0"]
rate = "10 Gb/s"
delay = "5 us"
"#;

#[test]
fn a_client_finds_the_time_of_its_server_and_keeps_it() {
    let nodes = run(PAIR);
    let client = clock(&nodes, "c");
    assert_eq!(client.state, "client of 10.0.0.1, locked");
    assert_eq!(clock(&nodes, "s").state, "server");
    assert_eq!(counter(&nodes, "c", "steps"), 1);
    // All pairs came as they left; the first line set the clock.
    assert_eq!(counter(&nodes, "c", "pairs_dropped"), 0);
    let (sent, heard) = ("pairs_sent", "pairs_heard");
    assert!(counter(&nodes, "c", sent) > 5_000);
    assert_eq!(counter(&nodes, "s", heard), counter(&nodes, "c", sent));
    assert_eq!(counter(&nodes, "c", heard), counter(&nodes, "c", sent));
    assert!(
        (client.delay_ps.unwrap() - 5_000_000).abs() < 100_000,
        "{client:?}"
    );
    is_held(client, 100);
    assert!(client.bound_ps.unwrap() < 5_200_000, "{client:?}");
}

#[test]
fn half_of_what_the_ways_differ_by_is_an_error_that_probes_do_not_see_but_bound() {
    let uneven = PAIR.replace(
        "delay = \"5 us\"",
        "delay = \"5 us\"\nback = { delay = \"7 us\" }",
    );
    let nodes = run(&uneven);
    let client = clock(&nodes, "c");
    assert!(client.offset.greatest().as_ps() < 100, "{client:?}");
    // The way to the server takes 7 us.
    let off = client.error.last_ps.abs() - 1_000_000;
    assert!(off.abs() < 100, "{client:?}");
    assert!(client.bound_ps.unwrap() > 1_000_000, "{client:?}");
}

/// A client in line, whose link a load of so much shares; stamps are multiples of 8 ns.
fn loaded(load: &str, more: &str) -> Vec<NodeOutcome> {
    run(&format!(
        "[lab]\nduration = '600 ms'\n[default.link]\nrate = '10 Gb/s'\ndelay = '50 ns'\n\
         [node.s]\nkind = 'huygens'\nmac = '02:00:00:00:00:01'\naddress = '10.0.0.1'\nclock = {{ tick = '8 ns' }}\n\
         [node.c]\nkind = 'huygens'\nports = 2\nmac = '02:00:00:00:00:02'\naddress = '10.0.0.2'\nserver = '10.0.0.1'\ninterval = '100 us'\nwindow = '50 ms'\n\
         clock = {{ ppm = -20.0, tick = '8 ns' }}\nsettle = '200 ms'\n{more}\n\
         [node.switch]\nkind = 'switch'\nports = 3\n\
         [node.load]\nkind = 'generator'\nsource = '02:00:00:00:00:03'\ndestination = '02:00:00:00:00:04'\nsize = 1514\nrate = '{load}'\npattern = 'poisson'\n\
         [node.taker]\nkind = 'sink'\n\
         [[link]]\nends = ['s.0', 'switch.0']\n[[link]]\nends = ['c.0', 'switch.1']\n[[link]]\nends = ['load.0', 'switch.2']\n\
         [[link]]\nends = ['c.1', 'taker.0']\n"
    ))
}

#[test]
fn pairs_that_waited_are_known_by_their_gap_and_do_not_move_the_clock() {
    let [idle, busy] = ["1 kb/s", "6 Gb/s"].map(|load| loaded(load, ""));
    assert_eq!(counter(&idle, "c", "pairs_dropped"), 0);
    let dropped = counter(&busy, "c", "pairs_dropped");
    assert!(dropped > counter(&busy, "c", "pairs_sent") / 4, "{dropped}");
    assert!(counter(&busy, "taker", "packets") > 200_000);
    for nodes in [&idle, &busy] {
        let client = clock(nodes, "c");
        assert!(client.error.greatest().as_ps() < 40_000, "{client:?}");
        assert!(client.bound_ps.unwrap() > client.error.greatest().as_ps());
        assert_eq!(counter(nodes, "c", "windows_overlapping"), 0);
    }
    // Without the code more is kept, and the line still finds those that did not wait.
    let all = loaded("6 Gb/s", "epsilon = '10 us'");
    assert!(counter(&all, "c", "pairs_dropped") < dropped / 10);
}

#[test]
fn a_clock_that_only_measures_is_not_set_and_tells_how_far_it_is_off() {
    let nodes = run(&PAIR.replace("settle", "free_running = true\nsettle"));
    let client = clock(&nodes, "c");
    assert_eq!(client.state, "client of 10.0.0.1, free running");
    assert_eq!((counter(&nodes, "c", "steps"), client.steered_ppt), (0, 0));
    let ahead = client.offset.last_ps;
    assert!((3_000_000_000_000..3_000_200_000_000).contains(&ahead));
    assert!((ahead - client.error.last_ps).abs() < 100, "{client:?}");
}

#[test]
fn who_has_no_server_or_loses_it_says_so() {
    let alone = run(&PAIR.replace("server = \"10.0.0.1\"", "server = \"10.0.0.9\""));
    assert_eq!(clock(&alone, "c").state, "client of 10.0.0.9, not found");
    assert_eq!(counter(&alone, "c", "pairs_sent"), 0);
    let lost = run(&PAIR.replace(
        "delay = \"5 us\"",
        "delay = \"5 us\"\ndown = [[\"1 s\", \"9 s\"]]",
    ));
    let client = clock(&lost, "c");
    assert_eq!(client.state, "client of 10.0.0.1, unreachable");
    assert!(counter(&lost, "c", "windows_empty") > 5);
    assert!(!client.reading.unwrap().follows);
}

#[test]
fn a_window_whose_stamps_contradict_each_other_is_left_out_and_the_next_one_heals_it() {
    // For 200 ms the rate changes a thousand times as fast as `wander` says: 5 us off any chord, on a cable of 50 ns.
    let warm = "ppm = 40.0, per_degree = 10.0, temperature = [[\"1 s\", 25.0], [\"1.1 s\", 35.0], [\"1.2 s\", 25.0]]";
    let lab = PAIR.replace("ppm = 40.0", warm).replace("5 us", "50 ns");
    let nodes = run(&lab);
    let overlapping = counter(&nodes, "c", "windows_overlapping");
    assert!((1..=2).contains(&overlapping), "{overlapping}");
    // The clock was corrected after each of the others.
    assert_eq!(counter(&nodes, "c", "windows") + overlapping, 14);
    let client = clock(&nodes, "c");
    assert_eq!(counter(&nodes, "c", "steps"), 1);
    assert_eq!(client.state, "client of 10.0.0.1, locked");
    let error = client.error.last_ps.unsigned_abs();
    assert!(error < 200_000, "{client:?}");
    assert!(error <= client.bound_ps.unwrap(), "{client:?}");
}

#[test]
fn what_is_no_probe_has_nowhere_to_go_in_a_clock_with_one_port() {
    let nodes = run(
        "[lab]\nduration = '1 s'\n[node.c]\nkind = 'huygens'\n[node.g]\nkind = 'generator'\ncount = 7\n\
         [[link]]\nends = ['c.0', 'g.0']",
    );
    assert_eq!(node(&nodes, "c").drops, [("no coded probe".to_string(), 7)]);
}

#[test]
fn what_no_clock_can_be_is_refused_at_its_key() {
    let fault = |keys: &str| {
        let text =
            format!("[lab]\nduration = '1 s'\n[node.c]\nkind = 'huygens'\nports = 2\n{keys}");
        lab::parse(&text).expect_err(keys).to_string()
    };
    assert!(fault("clock.ppm = 101.0").contains("at most 100 ppm"));
    assert!(fault("gap = '2 ms'").contains("at most 1 ms"));
    assert!(fault("epsilon = '11 us'").contains("longer than `gap`"));
    assert!(fault("interval = '15 us'").contains("twice `gap`"));
    assert!(fault("window = '4 ms'").contains("ten times"));
    assert!(fault("server = '198.18.0.1'").contains("own server"));
    assert!(fault("mac = '01:00:00:00:00:01'").contains("no group's"));
}

#[test]
fn clocks_of_several_protocols_stand_in_one_table() {
    let text = |text: &str| {
        let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
        let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
        report.to_string()
    };
    assert!(!text(PAIR).contains("worst clock"), "there is but one");
    let ptp = "[node.m]\nkind = 'ptp'\nrole = 'master'\nlog_sync_interval = -4\nlog_delay_interval = -4\n\
               [node.p]\nkind = 'ptp'\nrole = 'slave'\nmac = '02:00:00:00:00:03'\nlog_delay_interval = -4\nsettle = '1 s'\n\
               [[link]]\nends = ['m.0', 'p.0']\n";
    let two = text(&format!("{PAIR}{ptp}"));
    let table = &two[two.find("worst clock").expect("a table")..];
    let lines: Vec<&str> = table.lines().skip(1).take(2).collect();
    assert!(lines[0].starts_with("huygens"), "{table}");
    assert!(lines[1].starts_with("ptp"), "{table}");
    // DTP has a line when the devices' counters are looked at, and its bound is that of its hops.
    let block = PAIR.replace("rate = \"10 Gb/s\"", "level = \"block\"");
    let block = block.replace("mac =", "dtp = { beacon = 10000 }\nmac =");
    let block = block.replace(
        "3 s\"\n\n[node.s",
        "1700 ms\"\n[offsets]\nevery = '1 ms'\n\n[node.s",
    );
    let below = text(&block);
    let table = &below[below.find("worst clock").expect("a table")..];
    let line = table.lines().nth(1).unwrap();
    let cells: Vec<&str> = line.split("  ").filter(|cell| !cell.is_empty()).collect();
    let cells: Vec<&str> = cells.into_iter().map(str::trim).collect();
    assert_eq!(cells[0], "dtp", "{table}");
    assert_eq!(cells[cells.len() - 2..], ["25.6 ns", "0"], "{table}");
}

/// The example's ten clocks at a loaded switch, for ten windows; who asks whom.
fn mesh(peers: Option<&str>) -> lab::Report {
    let text = include_str!("../../../../examples/clocks/mesh.toml");
    let mut text = text.replace("duration = \"1 s\"", "duration = \"220 ms\"");
    if let Some(peers) = peers {
        let begin = text.find("peers = ").expect("the key");
        let end = begin + text[begin..].find('\n').expect("a line");
        text.replace_range(begin..end, peers);
    }
    let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{faults}"));
    lab::run(&lab, World::Sim, &Options::default()).unwrap()
}

#[test]
fn a_mesh_of_noisy_pairs_is_nearer_to_the_truth_by_all_its_loops() {
    let report = mesh(None);
    let effect = report.section::<NetworkEffect>().expect("it was asked for");
    assert_eq!((effect.windows, effect.unknown), (10, 0), "{effect:?}");
    let [pairs, pairs_by_all, clocks, clocks_by_all] = &effect.off;
    assert!(pairs.count > 280, "{effect:?}");
    assert_eq!((clocks.count, clocks_by_all.count), (90, 90));
    // Errors of pairs that are independent leave 9 of 30 squares: 0.55.
    let left = pairs_by_all.rms_ps / pairs.rms_ps;
    assert!((0.4..0.7).contains(&left), "{left}: {effect:?}");
    assert!(clocks_by_all.rms_ps < 0.7 * clocks.rms_ps, "{effect:?}");
    // What was taken away and what is left are at right angles.
    let both = effect.changed_rms_ps.hypot(pairs_by_all.rms_ps);
    assert!((both / pairs.rms_ps - 1.0).abs() < 0.02, "{effect:?}");
    let text = report.to_string();
    assert!(text.contains("each clock, by all"), "{text}");
    assert!(text.contains("measured against 3 of 3 peers"), "{text}");
    let lines = report.json();
    assert_eq!(lines.matches("\"type\":\"network_effect\"").count(), 4);
}

#[test]
fn a_chain_of_pairs_stays_as_it_was_found() {
    let report = mesh(Some("peers = [\"198.18.1.{n+1}\"]"));
    let effect = report.section::<NetworkEffect>().unwrap();
    let [pairs, pairs_by_all, clocks, clocks_by_all] = &effect.off;
    assert!(pairs.count > 80 && pairs.rms_ps > 50.0, "{effect:?}");
    assert!(effect.changed_rms_ps < 1.0, "{effect:?}");
    assert_eq!(pairs.spread, pairs_by_all.spread);
    assert_eq!(clocks.spread, clocks_by_all.spread);
}

#[test]
fn a_peer_that_is_not_there_keeps_no_other_waiting() {
    let report = mesh(Some("peers = [\"198.18.1.99\", \"198.18.1.{n+1}\"]"));
    let clock = clock(&report.outcome.nodes, "s0");
    assert_eq!(clock.state, "free running, measured against 1 of 2 peers");
    let effect = report.section::<NetworkEffect>().unwrap();
    assert!(effect.off[0].count > 80, "{effect:?}");
}

#[test]
fn what_no_mesh_can_be_is_refused_at_its_key() {
    let fault = |keys: &str, more: &str| {
        let text = format!(
            "[lab]\nduration = '1 s'\n[node.c]\nkind = 'huygens'\nports = 2\n{keys}\n{more}"
        );
        lab::parse(&text).expect_err(keys).to_string()
    };
    let peers = "peers = ['10.0.0.2']";
    assert!(fault(&format!("{peers}\nserver = '10.0.0.9'"), "").contains("in no mesh"));
    assert!(fault("peers = ['198.18.0.1']", "").contains("others, each once"));
    assert!(fault(&format!("{peers}\ninterval = '10 us'"), "").contains("twice `gap`"));
    let effect = "[network_effect]\nreference = 'd'";
    assert!(fault(peers, effect).contains("`d` is no node of kind `huygens`"));
    assert!(fault("", "[network_effect]").contains("there is no node of kind `huygens`"));
}
