//! The story of `examples/home` in simulated time.

use lab::{Options, Report, World};

const LAB: &str = include_str!("../../../examples/home/lab.toml");

fn run(text: &str) -> Report {
    let lab = home::lab::registry()
        .parse(text)
        .unwrap_or_else(|faults| panic!("{faults}"));
    let options = Options {
        dry: true,
        ..Options::default()
    };
    lab::run(&lab, World::Sim, &options).expect("the lab runs")
}

/// Number of packets that a program of a host sent to an address, and of lost ones.
fn flow(report: &Report, host: &str, program: &str, to: &str) -> (u64, u64) {
    let nodes = &report.outcome.nodes;
    let node = nodes.iter().find(|node| node.name == host).expect("a host");
    let flows = node.flows.iter();
    let mut flows = flows.filter(|flow| flow.program == program && flow.to.starts_with(to));
    let flow = flows.next().expect("a flow");
    (flow.packets, flow.lost)
}

fn counter(report: &Report, name: &str) -> u64 {
    let nodes = &report.outcome.nodes;
    let node = nodes.iter().find(|node| node.name == "home").expect("home");
    let counter = node.counters.iter().find(|(known, _)| known == name);
    counter.map_or(0, |(_, count)| *count)
}

#[test]
fn a_guest_waits_is_permitted_is_denied_a_domain_and_is_evicted() {
    let report = run(LAB);
    // Pings before 10 s and from 30 s on get no answer.
    assert_eq!(flow(&report, "phone", "ping", "203.0.113.80"), (35, 15));
    assert_eq!(flow(&report, "phone", "ping", "2001:db8:53::80"), (35, 15));
    // The domain is denied from 20 s on.
    assert_eq!(flow(&report, "phone", "ping", "203.0.113.66"), (10, 5));
    assert_eq!(flow(&report, "phone", "ping", "2001:db8:53::66"), (10, 5));
    // The printer's prefix is another one.
    assert_eq!(flow(&report, "phone", "ping", "2001:db8:1ce:2e02:"), (3, 0));
    assert_eq!(flow(&report, "laptop", "ping", "2001:db8:53::80"), (10, 10));
    assert_eq!(flow(&report, "phone", "http", "10.2.0.6").0, 3);
    assert_eq!(flow(&report, "laptop", "ping", "203.0.113.80"), (10, 10));
    assert_eq!(flow(&report, "laptop", "ping", "10.2.0.6"), (10, 10));
    assert_eq!(counter(&report, "decisions"), 3);
    assert_eq!(counter(&report, "admitted"), 1);
}

#[test]
fn a_bedtime_of_a_person_begins_at_its_local_time_in_simulated_time() {
    let family = r#"name = "Printer"

[[node.home.device]]
mac = "02:00:00:00:01:02"
person = "Anna"

[[node.home.person]]
name = "Anna"
bedtime = ["mon 20:00-20:10"]
"#;
    let lab = LAB.replace("name = \"Printer\"\n", family).replace(
        "dns = [\"203.0.113.53\"]",
        "dns = [\"203.0.113.53\"]\ndate = \"2026-01-05 19:59:40\"",
    );
    let report = run(&lab);
    // Permitted at 10 s, bedtime from 20 s on.
    assert_eq!(flow(&report, "phone", "ping", "203.0.113.80"), (35, 25));
    assert_eq!(flow(&report, "laptop", "ping", "203.0.113.80"), (10, 10));
}

#[test]
fn the_report_is_that_of_the_example() {
    let expected = include_str!("../../../examples/home/expected.txt");
    let report = run(LAB).to_string();
    // The story on interfaces follows.
    if !expected.starts_with(&report) {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/home.txt");
        std::fs::write(path, &report).expect("a file");
        panic!("the report is not that of the example: compare {path}");
    }
}

#[test]
fn keys_that_are_wrong_are_reported_at_their_place() {
    let cases = [
        (
            "dns = [\"203.0.113.53\"]",
            "dns = [\"ns.example\"]",
            "an IPv4 address",
        ),
        (
            "dns = [\"203.0.113.53\"]",
            "network = \"10.0.0.0/8\"",
            "/16 to /28",
        ),
        ("dns = [\"203.0.113.53\"]", "refuge = 0", "at least 1 flow"),
        ("dns = [\"203.0.113.53\"]", "idle = 0", "at least 1 s"),
        (
            "do = \"deny-dns\"\n",
            "do = \"deny\"\n",
            "`domain` belongs to",
        ),
        (
            "domain = \"ads.example\"",
            "domain = \"a..b\"",
            "a domain is labels",
        ),
        ("do = \"permit\"", "do = \"admit\"", "is not known here"),
        (
            "dns = [\"203.0.113.53\"]",
            "zone = \"Berlin\"",
            "in the form of POSIX",
        ),
        (
            "dns = [\"203.0.113.53\"]",
            "date = \"tomorrow\"",
            "a local date and time",
        ),
        (
            "name = \"Printer\"",
            "bedtime = [\"mon 9-10\"]",
            "is not a time of the day",
        ),
    ];
    for (right, wrong, message) in cases {
        assert!(LAB.contains(right), "{right}");
        let faults = home::lab::registry().parse(&LAB.replace(right, wrong));
        let faults = faults.expect_err(wrong).to_string();
        assert!(faults.contains(message), "{wrong}: {faults}");
    }
}
