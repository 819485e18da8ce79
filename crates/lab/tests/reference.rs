//! The examples in the book's reference of nodes are read by the lab, with every kind of node among them; and what `wire nodes` tells is
//! what the lab reads, and what the book has.

use lab::Registry;
use std::collections::BTreeSet;

/// All kinds that the command has.
fn registry() -> Registry {
    flops::add(Registry::standard())
}

#[test]
fn every_example_in_the_reference_makes_a_node() {
    let book = include_str!("../../../docs/book/src/nodes.md");
    let mut kinds = BTreeSet::new();
    for block in book.split("```toml\n").skip(1) {
        let text = block.split("```").next().unwrap_or_default();
        // The examples have no links, and nothing else may be wrong with them.
        if let Err(mut faults) = registry().parse(text) {
            assert!(faults.list.len() < 40, "some may not have been told");
            faults
                .list
                .retain(|fault| !fault.message.contains("is not connected"));
            assert!(faults.list.is_empty(), "{faults}");
        }
        let named = text.lines().filter_map(|line| line.strip_prefix("kind = "));
        kinds.extend(named.filter_map(|rest| rest.split('"').nth(1)));
    }
    let registry = self::registry();
    assert_eq!(kinds, registry.names().collect());
}

#[test]
fn every_lab_on_the_pages_for_users_of_other_tools_is_good() {
    let pages = [
        include_str!("../../../docs/book/src/coming-from-tc.md"),
        include_str!("../../../docs/book/src/coming-from-mininet.md"),
        include_str!("../../../docs/book/src/coming-from-ns-3.md"),
    ];
    for page in pages {
        let blocks: Vec<&str> = page.split("```toml\n").skip(1).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            let (text, _) = block.split_once("```").unwrap();
            // Hosts that are namespaces are for the world `live` alone.
            let text = text.replace("kind = \"process\"", "kind = \"host\"");
            registry()
                .parse(&text)
                .unwrap_or_else(|faults| panic!("{text}\n{faults:?}"));
        }
    }
}

/// Keys that the lab reads, not the node: a replayed file, a host's programs, a capture's file, those of a channel's TLS, what a path is called, and where
/// a member of a Paxos group keeps its memory.
const OF_THE_LAB: [&str; 14] = [
    "replay",
    "program",
    "file",
    "resolution",
    "private_key",
    "certificate",
    "ca_cert",
    "entries_file",
    "path",
    "published",
    "state",
    "key",
    "volatile",
    "boot",
];

#[test]
fn what_is_told_of_each_kind_are_the_keys_that_it_takes() {
    let registry = self::registry();
    let mut wrong = Vec::new();
    for (name, description) in registry.descriptions() {
        let description = description.unwrap_or_else(|| panic!("{name} has no description"));
        let keys: BTreeSet<&str> = description
            .keys
            .iter()
            .filter_map(|key| key.name.split('.').next())
            .collect();
        // Behind the line of the kind, so that what has to be there is.
        let kind = format!("kind = \"{name}\"\n");
        let unknown = format!("{kind}qqqqqqqqqqqqqqqqqqqqqqqq = 1\n");
        let text = description.example.replace(&kind, &unknown);
        let faults = registry
            .parse(&text)
            .expect_err("an unknown key is refused");
        let help = faults.list.iter().filter_map(|fault| fault.help.as_deref());
        let taken = help
            .filter_map(|help| help.strip_prefix("there are: "))
            .next();
        let taken = taken.unwrap_or_else(|| panic!("{name}: {faults}"));
        let taken: BTreeSet<&str> = taken.split(", ").filter(|key| !key.is_empty()).collect();
        let untold = taken.difference(&keys);
        wrong.extend(untold.map(|key| format!("of {name} is not described: {key}")));
        let unknown = keys
            .difference(&taken)
            .filter(|key| !OF_THE_LAB.contains(key));
        wrong.extend(unknown.map(|key| format!("{name} does not take {key}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_example_that_is_told_makes_a_node() {
    for (name, description) in registry().descriptions() {
        let example = &description.expect("a description").example;
        assert!(example.contains(&format!("kind = \"{name}\"")), "{name}");
        if let Err(mut faults) = registry().parse(example) {
            faults
                .list
                .retain(|fault| !fault.message.contains("is not connected"));
            assert!(faults.list.is_empty(), "{name}: {faults}");
        }
    }
}

#[test]
fn the_book_has_what_is_told() {
    let book = include_str!("../../../docs/book/src/nodes.md");
    let registry = self::registry();
    let names: Vec<&str> = registry.names().collect();
    for (name, description) in registry
        .descriptions()
        .filter(|(name, _)| names.contains(name))
    {
        let example = description.map_or(String::new(), |description| description.example);
        let lines = example
            .lines()
            .map(|line| line.strip_prefix('#').unwrap_or(line));
        for line in lines.filter(|line| !line.starts_with("[node.") && !line.is_empty()) {
            let of_the_lab = OF_THE_LAB.iter().any(|key| line.starts_with(key));
            assert!(of_the_lab || book.contains(line), "{name}: {line}");
        }
    }
}
