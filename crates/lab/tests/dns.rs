//! The lab of the book's chapter about DNS.

use lab::{Options, World};
use std::collections::BTreeMap;

#[test]
fn a_client_gets_names_of_a_zone_through_a_forwarder() {
    let book = include_str!("../../../docs/book/src/dns.md");
    let mut parts = book.split("```toml\n").skip(1);
    let text = parts.next().and_then(|rest| rest.split("```").next());
    let lab = lab::parse(text.expect("a lab")).unwrap_or_else(|faults| panic!("{faults}"));
    let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
    let counters = |name: &str| -> BTreeMap<String, u64> {
        let node = report.outcome.nodes.iter().find(|node| node.name == name);
        node.expect("the node").counters.iter().cloned().collect()
    };
    let mut nodes = report.outcome.nodes.iter();
    let client = nodes.find(|node| node.name == "client").expect("the node");
    let flow = &client.flows[0];
    assert_eq!(
        (flow.packets, flow.lost, flow.done),
        (20, 0, true),
        "{flow:?}"
    );
    assert!(flow.bytes > 20 * 40);
    let forwarder = counters("r");
    assert_eq!(forwarder["dns_forwarder_cache_hits"], 18);
    assert_eq!(forwarder["dns_forwarder_sent_queries"], 2);
    assert_eq!(counters("ns")["dns_zone_answered"], 2);
}
