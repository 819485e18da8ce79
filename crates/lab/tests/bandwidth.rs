//! Probers in labs: what they estimate, what was true, and what the report says of both.

use lab::instruments::bandwidth::Found;
use lab::{Options, Report, World};

/// A link of 10 Gb/s between a prober and a reflector, on which others send `cross`.
fn lab(prober: &str, cross: &str) -> String {
    format!(
        r#"
        [default.link]
        rate = "10 Gb/s"
        delay = "1 us"
        queue = "1000 packets"

        [node]
        p = {{ kind = "prober", {prober} }}
        r = {{ kind = "reflector" }}
        x = {{ kind = "generator", size = 792, probe = false, start = "20 us", source = "02:00:00:00:00:10", destination = "02:00:00:00:00:20", {cross} }}
        k = {{ kind = "generator", count = 1, probe = false, source = "02:00:00:00:00:20", destination = "ff:ff:ff:ff:ff:ff" }}
        s0 = {{ kind = "switch", ports = 3 }}
        s1 = {{ kind = "switch", ports = 3 }}

        [[link]]
        ends = ["p.0", "s0.0"]
        [[link]]
        ends = ["x.0", "s0.1"]
        [[link]]
        ends = ["s0.2", "s1.0"]
        [[link]]
        ends = ["s1.1", "r.0"]
        [[link]]
        ends = ["s1.2", "k.0"]
        "#
    )
}

fn run(prober: &str, cross: &str) -> Report {
    let text = lab(prober, cross);
    let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    lab::run(&lab, World::Sim, &Options::default()).unwrap()
}

/// The estimates.
fn found(report: &Report) -> &Found {
    report.section().expect("the lab has a prober")
}

#[test]
fn a_prober_finds_what_even_cross_traffic_leaves_and_the_report_has_the_truth() {
    // Table 4.4: 7200 and 200 idle characters are 1.015 and 8.12 Gb/s on the wire.
    for (idles, available) in [(7200, 8.985e9), (200, 1.88e9)] {
        let report = run("samples = 3", &format!("idles = {idles}"));
        assert_eq!(found(&report).all.len(), 3);
        for one in &found(&report).all {
            let truth = one.truth.as_ref().unwrap();
            assert_eq!(truth.link, "s0.2 -> s1.0");
            assert!((truth.available - available).abs() < 0.02e9, "{truth:?}");
            assert!(one.error().unwrap().abs() < 0.2e9, "{:?}", one.error());
        }
        let available = found(&report).available().unwrap();
        assert_eq!((available.count, available.unanswered), (1, [0, 3]));
        let text = report.to_string();
        assert!(text.starts_with("lab: available bandwidth "), "{text}");
        assert!(text.contains("minprobe"), "{text}");
    }
}

/// The same with a delay box between the switches that is a token bucket of 8 Gb/s.
fn over_a_bucket(prober: &str, cross: &str, burst: u32) -> Report {
    let bucket = format!(
        "d = {{ kind = \"delay\", delay = \"1 us\", rate = \"8gbit 24\", burst = {burst}, limit = 1000 }}\n        s0 ="
    );
    let text = lab(prober, cross).replace("s0 =", &bucket).replace(
        "ends = [\"s0.2\", \"s1.0\"]",
        "ends = [\"s0.2\", \"d.0\"]\n        [[link]]\n        ends = [\"d.1\", \"s1.0\"]",
    );
    let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    lab::run(&lab, World::Sim, &Options::default()).unwrap()
}

#[test]
fn over_a_token_bucket_pairs_and_chirps_have_no_answer_and_say_why() {
    let short = "method = [\"spruce\", \"pathchirp\", \"assolo\"], samples = 2";
    // One frame of the longest is what any queue holds that sends a frame once it has tokens for it.
    for (burst, is_short) in [(1_538, false), (6_000, true), (30_000, true)] {
        let report = over_a_bucket(short, "rate = \"3 Gb/s\"", burst);
        assert_eq!(found(&report).all.len(), 6);
        for one in &found(&report).all {
            let answer = &one.estimate.answer;
            println!(
                "{burst} {:?} {:?}: {}",
                one.estimate.method, answer.estimate, answer.how
            );
            assert_eq!(
                answer.how.contains("at once"),
                is_short,
                "{burst}: {}",
                answer.how
            );
            assert!(!is_short || answer.estimate.is_none());
        }
    }
    // Trains see through what is short beside them, and say so where it is not.
    for (burst, packets, is_short) in [(6_000, 20, true), (6_000, 200, false)] {
        let train = format!(
            "check = true, samples = 2, trains = \"{packets}, 0.1:0.1:9.6 Gb/s, 200 us, 4 ms\""
        );
        let report = over_a_bucket(&train, "rate = \"3 Gb/s\"", burst);
        for one in &found(&report).all {
            let answer = &one.estimate.answer;
            assert_eq!(answer.how.contains("at once"), is_short, "{}", answer.how);
            let found = answer.estimate.map(|found| found.value / 5e9 - 1.0);
            assert!(found.is_none_or(|off| off.abs() < 0.05), "{found:?}");
            assert_eq!(found.is_none(), is_short);
        }
    }
}

#[test]
fn all_methods_in_turn_are_told_in_json() {
    let report = run("method = \"all\", samples = 1", "rate = \"5 Gb/s\"");
    let lines: Vec<serde_json::Value> = report
        .json()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let all: Vec<_> = lines
        .iter()
        .filter(|line| line["type"] == "available")
        .collect();
    let methods: Vec<&str> = all
        .iter()
        .map(|line| line["method"].as_str().unwrap())
        .collect();
    let wanted = [
        "minprobe",
        "spruce",
        "igi",
        "ptr",
        "pathchirp",
        "pathload",
        "topp",
        "yaz",
        "assolo",
    ];
    assert_eq!(methods, wanted);
    for line in all {
        assert!(
            (line["true"].as_f64().unwrap() - 5e9).abs() < 0.05e9,
            "{line}"
        );
        assert!(line["probes"].as_u64().unwrap() > 0);
        assert!(line["sent_bits"].as_u64().unwrap() > line["reply_bits"].as_u64().unwrap());
    }
    assert_eq!(lines[0]["headline"]["available"]["samples"], 9);
}

#[test]
fn without_a_turning_point_there_is_no_answer_and_the_run_ends_all_the_same() {
    // A sweep that stays below what is available.
    let below = "trains = \"20, 0.1:0.1:3 Gb/s, 10 us, 4 ms\", samples = 2";
    let report = run(below, "rate = \"5 Gb/s\"");
    assert!(
        found(&report)
            .all
            .iter()
            .all(|one| one.estimate.answer.estimate.is_none())
    );
    assert_eq!(found(&report).available().unwrap().unanswered, [2, 2]);
    let text = report.to_string();
    assert!(text.contains("no answer 2 times"), "{text}");
    assert!(
        text.contains("no available bandwidth found in 2 samples"),
        "{text}"
    );
}

#[test]
fn what_is_wrong_with_a_prober_is_told_at_its_key() {
    for (keys, wanted) in [
        ("method = \"spruse\"", "`spruse` is no method"),
        (
            "method = \"pathload\", trains = \"20, 1 Gb/s, 10 us, 4 ms\"",
            "chooses its rates itself",
        ),
        ("size = 10", "64 to 9018"),
        ("published = \"much\"", "10 Gb/s"),
    ] {
        let text = format!("[node]\np = {{ kind = \"prober\", {keys} }}\n");
        let faults = lab::parse(&text).unwrap_err().to_string();
        assert!(faults.contains(wanted), "{keys}: {faults}");
    }
    let text =
        "[bandwidth]\nfigure = \"a.png\"\npoints_of = [\"q\"]\n[node]\np = { kind = \"prober\" }\n";
    let faults = lab::parse(text).unwrap_err().to_string();
    assert!(faults.contains("no prober called `q`"), "{faults}");
}

/// A counter of a node.
fn counter(report: &Report, node: usize, name: &str) -> u64 {
    let mut counters = report.outcome.nodes[node].counters.iter();
    counters
        .find(|(known, _)| known == name)
        .expect("a counter")
        .1
}

const FLOWS: &str = "flows = ['198.18.0.1 198.18.0.2 udp 1000']";

/// An application whose packets are probes between two middleboxes, and cross traffic on the link between the switches.
fn through_a_middlebox(rate: &str) -> Report {
    let text = format!(
        r#"
        [lab]
        duration = "50 ms"
        [default.link]
        rate = "10 Gb/s"
        delay = "1 us"
        queue = "1000 packets"
        [node]
        app = {{ kind = "generator", rate = "{rate}", size = 792, probe = false, payload = "random", udp_source = 1000, start = "30 us", destination = "02:00:00:00:00:30" }}
        m0 = {{ kind = "middlebox", method = "minprobe", {FLOWS} }}
        m1 = {{ kind = "middlebox", mode = "extract", {FLOWS} }}
        server = {{ kind = "generator", count = 1, probe = false, source = "02:00:00:00:00:30", destination = "ff:ff:ff:ff:ff:ff" }}
        x = {{ kind = "generator", size = 792, probe = false, start = "20 us", source = "02:00:00:00:00:10", destination = "02:00:00:00:00:20", idles = 1872 }}
        k = {{ kind = "generator", count = 1, probe = false, source = "02:00:00:00:00:20", destination = "ff:ff:ff:ff:ff:ff" }}
        s0 = {{ kind = "switch", ports = 3 }}
        s1 = {{ kind = "switch", ports = 3 }}
        [[link]]
        ends = ["app.0", "m0.0"]
        [[link]]
        ends = ["m0.1", "s0.0"]
        [[link]]
        ends = ["x.0", "s0.1"]
        [[link]]
        ends = ["s0.2", "s1.0"]
        [[link]]
        ends = ["s1.1", "m1.1"]
        [[link]]
        ends = ["m1.0", "server.0"]
        [[link]]
        ends = ["s1.2", "k.0"]
        "#
    );
    let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    lab::run(&lab, World::Sim, &Options::default()).unwrap()
}

#[test]
fn a_middlebox_estimates_by_packets_of_an_application_with_the_truth_beside() {
    let report = through_a_middlebox("1.5 Gb/s");
    assert!(
        found(&report).all.len() >= 2,
        "{}",
        found(&report).all.len()
    );
    for one in &found(&report).all {
        let truth = one.truth.as_ref().expect("the probes are known on links");
        assert_eq!(truth.link, "s0.2 -> s1.0");
        // 3 Gb/s across.
        println!("{:?} of {truth:?}", one.estimate.answer.estimate);
        assert!((truth.available - 6.96e9).abs() < 0.1e9, "{truth:?}");
        assert!(one.error().unwrap().abs() < 0.2e9, "{:?}", one.error());
        assert_eq!(one.estimate.lost, 0);
    }
}

#[test]
fn what_an_application_sends_beside_its_trains_is_no_traffic_of_others() {
    // The sweep has room for 1.6 Gb/s; what is left leaves behind it, while the link is busy.
    let report = through_a_middlebox("3 Gb/s");
    assert!(
        found(&report).all.len() >= 2,
        "{}",
        found(&report).all.len()
    );
    for one in &found(&report).all {
        let truth = one.truth.as_ref().expect("the probes are known on links");
        assert!((truth.available - 6.96e9).abs() < 0.1e9, "{truth:?}");
    }
}

/// TCP between two hosts through two middleboxes, beside the same without.
#[test]
fn what_a_middlebox_costs_tcp_is_in_the_report() {
    let run = |mode: &str| {
        let text = format!(
            r#"
            [lab]
            duration = "300 ms"
            [default.link]
            rate = "1 Gb/s"
            delay = "20 us"
            [node]
            h0 = {{ kind = "host", address = "10.0.0.1/24", program = [{{ run = "bulk", to = "10.0.0.2" }}] }}
            h1 = {{ kind = "host", address = "10.0.0.2/24", program = [{{ run = "sink" }}] }}
            [node.m0]
            kind = "middlebox"
            mode = "{mode}"
            flows = ["10.0.0.1 10.0.0.2 tcp"]
            rate = "1 Gb/s"
            latency = "30 us"
            trains = "20, 0.1:0.05:0.95 Gb/s, 10 us, 40 ms"
            [node.m1]
            kind = "middlebox"
            mode = "extract"
            flows = ["10.0.0.1 10.0.0.2 tcp"]
            rate = "1 Gb/s"
            latency = "30 us"
            [[link]]
            ends = ["h0.0", "m0.0"]
            [[link]]
            ends = ["m0.1", "m1.1"]
            [[link]]
            ends = ["m1.0", "h1.0"]
            "#
        );
        let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
        let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
        let bytes = report.outcome.nodes[1].flows[0].bytes;
        (bytes as f64 * 8.0 / 0.3, report)
    };
    let (plain, forward) = run("forward");
    let (probing, report) = run("modulate");
    let of = |name: &str| counter(&report, 2, name);
    println!(
        "{plain} and {probing} bit/s, {} ns added in the mean, {} probes, {} dummies",
        of("added_mean_ns"),
        of("probes"),
        of("dummies")
    );
    assert_eq!(counter(&forward, 2, "probes"), 0);
    assert!(of("probes") > 1_000);
    assert_eq!(of("lost"), 0);
    assert!(
        probing > 0.5 * plain && probing <= 1.01 * plain,
        "{probing} of {plain}"
    );
}
