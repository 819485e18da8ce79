//! Paxos in `examples/paxos`, in simulated time: what auxiliary acceptors carry, and that a group that has too much to do does what it can.

use lab::{Options, Report, World};
use std::path::Path;

/// The report of a lab, with words of its file changed.
fn report(file: &str, changes: &[(&str, &str)]) -> Report {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/paxos");
    let mut text = std::fs::read_to_string(folder.join(file)).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let registry = lab::Registry::standard();
    let lab = registry.parse_for(&text, Some(&folder), World::Sim);
    let lab = lab.unwrap_or_else(|faults| panic!("{faults}"));
    let options = Options {
        folder,
        dry: true,
        ..Options::default()
    };
    lab::run(&lab, World::Sim, &options).unwrap()
}

fn counter(report: &Report, node: &str, name: &str) -> u64 {
    let node = report.outcome.nodes.iter().find(|known| known.name == node);
    let mut counters = node.unwrap().counters.iter();
    counters.find(|(known, _)| known == name).unwrap().1
}

/// Frames both ways on the link that one end of is `end`.
fn frames(report: &Report, end: &str) -> u64 {
    let links = report.links.iter().zip(&report.outcome.links);
    let mut links = links.filter(|(ends, _)| ends.iter().any(|known| known == end));
    let (_, counters) = links.next().unwrap();
    counters.iter().map(|way| way.sent).sum()
}

/// A second, in which all are answered: operations.
fn rate(report: &Report, all: u64) -> f64 {
    let clients = report
        .outcome
        .nodes
        .iter()
        .find(|node| node.name == "client");
    let flow = &clients.unwrap().flows[0];
    assert_eq!(counter(report, "client", "linearizable"), 1);
    assert_eq!(counter(report, "client", "answered"), all);
    all as f64 / (flow.ended - flow.begun).as_secs_f64()
}

#[test]
fn an_auxiliary_acceptor_carries_no_frame_unless_a_main_one_is_gone() {
    let well = report("cheap.toml", &[("down = [[\"200 ms\", \"500 ms\"]]\n", "")]);
    rate(&well, 800);
    assert_eq!(frames(&well, "a2.0"), 0);
    assert_eq!(counter(&well, "c1", "called"), 0);
    // It votes while one is gone, and its coordinator has done without it again by the end.
    let one_gone = report("cheap.toml", &[]);
    rate(&one_gone, 800);
    assert_eq!(counter(&one_gone, "c1", "called"), 1);
    assert!(counter(&one_gone, "a2", "voted") > 200);
    let then = frames(&one_gone, "a2.0");
    let longer = report(
        "cheap.toml",
        &[("duration = \"1 s\"", "duration = \"2 s\"")],
    );
    assert_eq!(frames(&longer, "a2.0"), then, "nothing after that");
}

#[test]
fn with_too_much_to_do_a_group_does_what_it_can_and_all_of_it_once_less_is_asked() {
    let all = 20_000;
    let enough = rate(&report("overload.toml", &[("\"10 ms\"", "\"20 ms\"")]), all);
    let too_much = report("overload.toml", &[]);
    let answered = rate(&too_much, all);
    println!("{enough:.0} a second with enough to do, {answered:.0} with too much");
    // Where clients ask again each 2 ms it is an eighth.
    assert!(answered > 0.9 * enough, "{answered} {enough}");
    let retries = counter(&too_much, "client", "retries");
    assert!(retries < all / 2, "{retries} retries");
}
