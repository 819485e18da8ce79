//! Clocks in simulated time, by what sets them: what they believe, and what is true.

mod dtp;
mod huygens;
mod ntp;
mod ptp;

use lab::{Options, World};
use measure::clock::ClockReport;
use node::outcome::NodeOutcome;

/// A lab's nodes after its run.
fn unheld(text: &str) -> Vec<NodeOutcome> {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
    report.outcome.nodes
}

/// The same where masters have the world's time: whatever becomes of a clock, it is never farther off than it says.
fn run(text: &str) -> Vec<NodeOutcome> {
    let nodes = unheld(text);
    for node in &nodes {
        let clock = node.extensions.get::<ClockReport>();
        let over = clock.map_or(0, |clock| clock.over_bound);
        assert_eq!(over, 0, "{}: {clock:?}", node.name);
    }
    nodes
}

fn node<'a>(nodes: &'a [NodeOutcome], name: &str) -> &'a NodeOutcome {
    nodes.iter().find(|node| node.name == name).unwrap()
}

fn clock<'a>(nodes: &'a [NodeOutcome], name: &str) -> &'a ClockReport {
    node(nodes, name).extensions.get().unwrap()
}

fn counter(nodes: &[NodeOutcome], name: &str, counter: &str) -> u64 {
    let counters = &node(nodes, name).counters;
    let found = counters.iter().find(|(known, _)| known == counter);
    found.unwrap_or_else(|| panic!("{counter}")).1
}

/// A clock that is 40 ppm fast was found out: at no moment that counts it was farther off, as it has it or in truth.
fn is_held(clock: &ClockReport, within_ps: u64) {
    let (offset, error) = (clock.offset, clock.error);
    assert!(offset.count > 8, "{clock:?}");
    assert!(offset.greatest().as_ps() < within_ps, "{offset:?}");
    assert!(error.greatest().as_ps() < within_ps, "{error:?}");
    assert!((clock.steered_ppt + 40_000_000).abs() < 10_000, "{clock:?}");
}
