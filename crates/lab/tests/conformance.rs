//! One body of cases, run in every world: what each port of a lab receives, frame by frame.
//!
//! In simulated time the traces are what the case says, at exact times. In real time, over veth pairs
//! and namespaces, bytes and order are those of simulated time. Steps that depend on each other are
//! far apart, so that a busy machine does not change their order.

use crate::traces::{Case, Trace, run, times_of};
use lab::World;
use std::os::unix::fs::MetadataExt;

const MS: u64 = 1_000_000_000;
/// A frame of 64 bytes at 10 Gb/s, received whole, and the preamble before it is sent on.
const FORWARD: u64 = 57_600;

const LEARNING: Case = Case {
    name: "a switch floods what it does not know and learns where hosts are",
    views: &["a.0", "b.0", "c.0"],
    lab: r#"
[node.a]
kind = "generator"
source = "02:00:00:00:00:0a"
destination = "02:00:00:00:00:0b"
start = "100 ms"
gap = "600 ms"
count = 2
[node.b]
kind = "generator"
source = "02:00:00:00:00:0b"
destination = "02:00:00:00:00:0a"
start = "400 ms"
count = 1
[node.c]
kind = "sink"
[node.switch]
kind = "switch"
ports = 3
[[link]]
ends = ["a.0", "switch.0"]
[[link]]
ends = ["b.0", "switch.1"]
[[link]]
ends = ["c.0", "switch.2"]
"#,
};

const GROUPS: Case = Case {
    name: "a switch floods group addresses for ever",
    views: &["b.0", "c.0"],
    lab: r#"
[node.a]
kind = "generator"
destination = "ff:ff:ff:ff:ff:ff"
start = "10 ms"
gap = "1 ms"
count = 20
[node.b]
kind = "sink"
[node.c]
kind = "sink"
[node.switch]
kind = "switch"
ports = 3
[[link]]
ends = ["a.0", "switch.0"]
[[link]]
ends = ["b.0", "switch.1"]
[[link]]
ends = ["c.0", "switch.2"]
"#,
};

const VLANS: Case = Case {
    name: "a VLAN's frames stay in it, tagged on the trunk and untagged at the hosts",
    views: &["trunk.0", "b.0", "c.0"],
    lab: r#"
[node.a]
kind = "generator"
start = "10 ms"
gap = "1 ms"
count = 10
[node.tag]
kind = "vlan"
vlan = 10
[node.trunk]
kind = "mirror"
copies = 2
[node.same]
kind = "vlan"
vlan = 10
[node.other]
kind = "vlan"
vlan = 20
[node.b]
kind = "sink"
[node.c]
kind = "sink"
[node.end]
kind = "sink"
[[link]]
ends = ["a.0", "tag.0"]
[[link]]
ends = ["tag.1", "trunk.0"]
[[link]]
ends = ["trunk.1", "end.0"]
[[link]]
ends = ["trunk.2", "same.1"]
[[link]]
ends = ["trunk.3", "other.1"]
[[link]]
ends = ["same.0", "b.0"]
[[link]]
ends = ["other.0", "c.0"]
"#,
};

const DELAY: Case = Case {
    name: "a delay box delays every frame by the same",
    views: &["b.0", "a.0"],
    lab: r#"
[node.a]
kind = "generator"
start = "10 ms"
gap = "3 ms"
count = 50
size = [64, 128, 1518]
[node.box]
kind = "delay"
delay = "100 ms"
back = "50 ms"
[node.b]
kind = "echo"
[[link]]
ends = ["a.0", "box.0"]
delay = "1 us"
[[link]]
ends = ["box.1", "b.0"]
delay = "1 us"
"#,
};

const MIRROR: Case = Case {
    name: "a mirror passes frames on and copies them",
    views: &["b.0", "watcher.0"],
    lab: r#"
[node.a]
kind = "generator"
start = "10 ms"
gap = "1 ms"
count = 30
size = "imix"
[node.mirror]
kind = "mirror"
[node.b]
kind = "sink"
[node.watcher]
kind = "sink"
[[link]]
ends = ["a.0", "mirror.0"]
[[link]]
ends = ["mirror.1", "b.0"]
[[link]]
ends = ["mirror.2", "watcher.0"]
"#,
};

const FILTER: Case = Case {
    name: "a filter lets one flow of three pass",
    views: &["b.0"],
    lab: r#"
[node.a]
kind = "generator"
start = "10 ms"
gap = "1 ms"
count = 30
flows = 3
[node.filter]
kind = "filter"
# udp src port 49153, of IPv4 without options
program = """
4
40 0 0 34
21 0 1 49153
6 0 0 262144
6 0 0 0
"""
[node.b]
kind = "sink"
[[link]]
ends = ["a.0", "filter.0"]
[[link]]
ends = ["filter.1", "b.0"]
"#,
};

const RATE: Case = Case {
    name: "a slow link spreads a burst",
    views: &["b.0"],
    lab: r#"
[node.a]
kind = "generator"
start = "10 ms"
rate = "10 Gb/s"
count = 100
[node.box]
kind = "delay"
delay = "20 ms"
[node.b]
kind = "sink"
[[link]]
ends = ["a.0", "box.0"]
[[link]]
ends = ["box.1", "b.0"]
rate = "10 Mb/s"
"#,
};

const LOSS: Case = Case {
    name: "a lossy link loses and doubles the same frames in every world",
    views: &["b.0"],
    lab: r#"
[lab]
seed = 7
[node.a]
kind = "generator"
start = "10 ms"
gap = "1 ms"
count = 200
[node.b]
kind = "sink"
[[link]]
ends = ["a.0", "b.0"]
loss = 0.2
duplicate = 0.1
"#,
};

const CASES: [Case; 8] = [LEARNING, GROUPS, VLANS, DELAY, MIRROR, FILTER, RATE, LOSS];

/// The one trace of a case with one view.
fn only(case: &Case) -> Trace {
    run(case, World::Sim).unwrap().remove(0)
}

#[test]
fn sim_learning_is_exact() {
    let traces = run(&LEARNING, World::Sim).unwrap();
    let times: Vec<Vec<u64>> = traces.iter().map(times_of).collect();
    assert_eq!(
        times,
        [
            vec![400 * MS + FORWARD],
            vec![100 * MS + FORWARD, 700 * MS + FORWARD],
            vec![100 * MS + FORWARD],
        ]
    );
    assert_eq!(traces[1][0], traces[2][0], "the flooded frame is the same");
}

#[test]
fn sim_groups_are_flooded() {
    let traces = run(&GROUPS, World::Sim).unwrap();
    assert_eq!(traces[0].len(), 20);
    assert_eq!(traces[0], traces[1]);
}

#[test]
fn sim_vlans_are_kept_apart() {
    let traces = run(&VLANS, World::Sim).unwrap();
    let [trunk, same, other] = &traces[..] else {
        panic!("three views");
    };
    assert_eq!((trunk.len(), same.len(), other.len()), (10, 10, 0));
    for ((_, tagged), (_, untagged)) in trunk.iter().zip(same) {
        assert_eq!(tagged[12..16], [0x81, 0, 0, 10]);
        assert_eq!(tagged[..12], untagged[..12]);
        assert_eq!(tagged[16..60], untagged[12..56]);
    }
}

#[test]
fn sim_delay_is_exact() {
    let traces = run(&DELAY, World::Sim).unwrap();
    for (n, at) in (0..).zip(times_of(&traces[0])) {
        // Two links of 1 us, and nothing but the delay in the box.
        assert_eq!(at, (10 + 3 * n + 100) * MS + 2_000_000);
    }
    let mut back = times_of(&traces[1]).into_iter();
    // The echo receives the whole frame before it answers, behind a preamble.
    let sizes = [64u64, 128, 1518];
    for (n, size) in (0..50).zip(sizes.into_iter().cycle()) {
        let echoed = size * 800 + 6_400;
        assert_eq!(back.next(), Some((160 + 3 * n) * MS + 4_000_000 + echoed));
    }
}

#[test]
fn sim_mirror_copies_everything() {
    let traces = run(&MIRROR, World::Sim).unwrap();
    assert_eq!(traces[0].len(), 30);
    assert_eq!(traces[0], traces[1]);
}

#[test]
fn sim_filter_passes_one_flow() {
    let trace = only(&FILTER);
    assert_eq!(trace.len(), 10);
    assert!(
        trace
            .iter()
            .all(|(_, frame)| frame[34..36] == 49_153u16.to_be_bytes())
    );
}

#[test]
fn sim_rate_spreads_exactly() {
    let times = times_of(&only(&RATE));
    assert_eq!(times.len(), 100);
    // 84 byte times at 10 Mb/s.
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 67_200_000));
}

#[test]
fn sim_loss_is_the_same_for_a_seed() {
    let trace = only(&LOSS);
    assert!((140..210).contains(&trace.len()), "{}", trace.len());
    assert_eq!(trace, only(&LOSS));
}

#[test]
fn live_traces_are_those_of_sim() {
    let root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !root {
        println!("skipped: only root can make network namespaces and veth pairs");
        return;
    }
    for case in &CASES {
        let live = match run(case, World::Live) {
            Ok(live) => live,
            // A container's root need not be allowed to.
            Err(error) if error.to_string().contains("permitted") => {
                println!("skipped: {error}");
                return;
            }
            Err(error) => panic!("{}: {error}", case.name),
        };
        let sim = run(case, World::Sim).unwrap();
        let bytes = |traces: &[Trace]| -> Vec<Vec<Vec<u8>>> {
            let of_trace = |trace: &Trace| trace.iter().map(|(_, frame)| frame.clone()).collect();
            traces.iter().map(of_trace).collect()
        };
        for ((view, live), sim) in case.views.iter().zip(bytes(&live)).zip(bytes(&sim)) {
            let place = format!("{}: {view}", case.name);
            assert_eq!(live.len(), sim.len(), "{place}: frames");
            for (n, (live, sim)) in live.iter().zip(&sim).enumerate() {
                assert_eq!(live, sim, "{place}: frame {n}");
            }
        }
    }
}
