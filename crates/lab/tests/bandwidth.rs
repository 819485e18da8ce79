//! Probers in labs: what they estimate, what was true, and what the report says of both.

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

#[test]
fn a_prober_finds_what_even_cross_traffic_leaves_and_the_report_has_the_truth() {
    // Table 4.4: 7200 and 200 idle characters are 1.015 and 8.12 Gb/s on the wire.
    for (idles, available) in [(7200, 8.985e9), (200, 1.88e9)] {
        let report = run("samples = 3", &format!("idles = {idles}"));
        assert_eq!(report.estimates.len(), 3);
        for one in &report.estimates {
            let truth = one.truth.as_ref().unwrap();
            assert_eq!(truth.link, "s0.2 -> s1.0");
            assert!((truth.available - available).abs() < 0.02e9, "{truth:?}");
            assert!(one.error().unwrap().abs() < 0.2e9, "{:?}", one.error());
        }
        let headline = report.headline().available.unwrap();
        assert_eq!((headline.count, headline.unanswered), (1, [0, 3]));
        let text = report.to_string();
        assert!(text.starts_with("lab: available bandwidth "), "{text}");
        assert!(text.contains("minprobe"), "{text}");
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
    assert_eq!(lines[0]["headline"]["available"]["samples"], 7);
}

#[test]
fn without_a_turning_point_there_is_no_answer_and_the_run_ends_all_the_same() {
    // A sweep that stays below what is available.
    let below = "trains = \"20, 0.1:0.1:3 Gb/s, 10 us, 4 ms\", samples = 2";
    let report = run(below, "rate = \"5 Gb/s\"");
    assert!(
        report
            .estimates
            .iter()
            .all(|one| one.estimate.answer.estimate.is_none())
    );
    assert_eq!(report.headline().available.unwrap().unanswered, [2, 2]);
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
