//! The examples in the book's reference of nodes are read by the lab, with every kind of node among them.

use std::collections::BTreeSet;

#[test]
fn every_example_in_the_reference_makes_a_node() {
    let book = include_str!("../../../docs/book/src/nodes.md");
    let mut kinds = BTreeSet::new();
    for block in book.split("```toml\n").skip(1) {
        let text = block.split("```").next().unwrap_or_default();
        // The examples have no links, and nothing else may be wrong with them.
        if let Err(mut faults) = lab::parse(text) {
            assert!(faults.list.len() < 40, "some may not have been told");
            faults
                .list
                .retain(|fault| !fault.message.contains("is not connected"));
            assert!(faults.list.is_empty(), "{faults}");
        }
        let named = text.lines().filter_map(|line| line.strip_prefix("kind = "));
        kinds.extend(named.filter_map(|rest| rest.split('"').nth(1)));
    }
    let registry = lab::Registry::standard();
    assert_eq!(kinds, registry.names().collect());
}
