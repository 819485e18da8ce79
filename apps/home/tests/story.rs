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

/// Packets that a program of a host sent to an address, and those that were lost.
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
    for node in &report.outcome.nodes {
        if node.name == "home" || node.name == "switch" {
            println!("{} {:#?} {:?}", node.name, node.counters, node.drops);
        }
        for flow in &node.flows {
            println!("{} {flow:?}", node.name);
        }
    }
    // Pings at 4 to 9 s and from 30 s on get no answer.
    assert_eq!(flow(&report, "phone", "ping", "203.0.113.80"), (35, 15));
    // The domain is denied from 20 s on.
    assert_eq!(flow(&report, "phone", "ping", "203.0.113.66"), (10, 5));
    assert_eq!(flow(&report, "phone", "http", "10.2.0.6").0, 3);
    assert_eq!(flow(&report, "laptop", "ping", "203.0.113.80"), (10, 10));
    assert_eq!(flow(&report, "laptop", "ping", "10.2.0.6"), (10, 10));
    assert_eq!(counter(&report, "decisions"), 3);
    assert_eq!(counter(&report, "admitted"), 1);
}
