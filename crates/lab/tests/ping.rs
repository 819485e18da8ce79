//! The pinger in a lab: exact in simulated time, and through a bad network.

use lab::{Options, World};

const LAB: &str = r#"
[node.p]
kind = "ping"
source = "10.0.0.1"
target = "10.0.0.2"
count = 200
interval = "1 ms"
timeout = "400 ms"

[node.bad]
kind = "delay"
delay = "20 ms"
back = "5 ms"

[node.h]
kind = "host"
ipv4 = "10.0.0.2"

[[link]]
ends = ["p.0", "bad.0"]

[[link]]
ends = ["bad.1", "h.0"]
"#;

/// The counters of the pinger.
fn counters(text: &str) -> std::collections::BTreeMap<String, u64> {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
    let node = report.outcome.nodes.iter().find(|node| node.name == "p");
    node.unwrap().counters.iter().cloned().collect()
}

#[test]
fn a_round_trip_takes_both_delays_exactly_and_the_hosts_own_time() {
    let counters = counters(LAB);
    assert_eq!((counters["sent"], counters["answered"]), (200, 200));
    // The host answers when the last bit is in: 98 bytes and FCS at 10 Gb/s, and a preamble before its own.
    let wanted = 25_000_000_000 + 102 * 800 + 8 * 800;
    assert_eq!(
        (counters["rtt_min_ps"], counters["rtt_max_ps"]),
        (wanted, wanted)
    );
    assert_eq!(counters["rtt_sd_ps"], 0);
}

#[test]
fn a_bad_network_shows_in_what_the_pinger_counts() {
    let bad = LAB.replace(
        "delay = \"20 ms\"",
        "spec = \"delay 20ms 2ms distribution normal loss 10% duplicate 10% seed 3\"",
    );
    let counters = counters(&bad);
    let lost = counters["lost"];
    assert!((8..=40).contains(&lost), "{counters:?}");
    assert!((5..=40).contains(&counters["duplicates"]), "{counters:?}");
    let mean = counters["rtt_mean_ps"] as f64 / 1e9;
    assert!((mean - 25.0).abs() < 0.8, "{counters:?}");
    let sd = counters["rtt_sd_ps"] as f64 / 1e9;
    assert!((sd - 2.0).abs() < 0.5, "{counters:?}");
}
