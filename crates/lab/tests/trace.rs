//! The tracer in a lab.

use lab::{Options, World};

const LAB: &str = r#"
[node.t]
kind = "trace"
source = "10.0.0.9"
gateway = "10.0.0.1"
target = "10.3.0.9"

[node.a]
kind = "router"
route = ["10.3.0.0/24 nexthop via 10.1.0.2 nexthop via 10.2.0.2"]
multipath = "l4"
icmp_limit = false

[[node.a.port]]
address = "10.0.0.1/24"

[[node.a.port]]
address = "10.1.0.1/24"

[[node.a.port]]
address = "10.2.0.1/24"

[node.b]
kind = "router"
route = ["10.0.0.0/24 via 10.1.0.1"]
icmp_limit = false

[[node.b.port]]
address = "10.1.0.2/24"

[[node.b.port]]
address = "10.3.0.1/24"

[node.c]
kind = "router"
route = ["10.0.0.0/24 via 10.2.0.1"]
icmp_limit = false

[[node.c.port]]
address = "10.2.0.2/24"

[[node.c.port]]
address = "10.3.0.2/24"

[node.s]
kind = "switch"
ports = 3

[node.h]
kind = "host"
address = "10.3.0.9/24"
gateway = "10.3.0.1"

[[link]]
ends = ["t.0", "a.0"]

[[link]]
ends = ["a.1", "b.0"]

[[link]]
ends = ["a.2", "c.0"]

[[link]]
ends = ["b.1", "s.0"]

[[link]]
ends = ["c.1", "s.1"]

[[link]]
ends = ["h.0", "s.2"]
"#;

#[test]
fn both_paths_of_a_diamond_are_in_the_counters_and_tables() {
    let lab = lab::parse(LAB).unwrap_or_else(|faults| panic!("{faults}"));
    let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
    let nodes = &report.outcome.nodes;
    let node = nodes.iter().find(|node| node.name == "t").unwrap();
    let counter = |name: &str| node.counters.iter().find(|one| one.0 == name).unwrap().1;
    assert_eq!((counter("hops"), counter("interfaces")), (3, 4), "{node:?}");
    assert_eq!((counter("links"), counter("reached")), (4, 1), "{node:?}");
    assert_eq!((counter("lost"), counter("ignored")), (0, 0), "{node:?}");
}
