//! Networks by a generator, with hosts that run programs.

use lab::{Lab, Options, Report, World, parse};

fn lab(text: &str) -> Lab {
    parse(text).unwrap_or_else(|faults| panic!("{faults}"))
}

fn run(text: &str) -> Report {
    let options = Options {
        dry: true,
        ..Options::default()
    };
    lab::run(&lab(text), World::Sim, &options).unwrap()
}

fn fault(text: &str) -> String {
    parse(text)
        .err()
        .map(|faults| faults.to_string())
        .unwrap_or_default()
}

const TALK: &str = r#"
[node.h1]
[[node.h1.program]]
run = "ping"
to = "LAST"
count = 3
interval = "10 ms"
[[node.h1.program]]
run = "bulk"
to = "LAST"
bytes = "20000"
count = 1
[node.LAST]
[[node.LAST.program]]
run = "sink"
"#;

fn all_reach(topology: &str, last: &str) -> Report {
    let text = format!(
        "[lab]\nseed = 3\n[topology]\n{topology}\n{}",
        TALK.replace("LAST", last)
    );
    let report = run(&text);
    let flows: Vec<_> = report
        .outcome
        .nodes
        .iter()
        .flat_map(|node| &node.flows)
        .collect();
    assert_eq!(flows.len(), 3, "{report}");
    for flow in &flows {
        assert!(flow.done && flow.lost == 0, "{topology}: {flow:?}");
    }
    assert!(
        flows
            .iter()
            .any(|flow| flow.program == "sink" && flow.bytes == 20_000)
    );
    report
}

#[test]
fn hosts_at_the_ends_of_every_topology_reach_each_other() {
    all_reach("kind = 'single'\nhosts = 4", "h4");
    all_reach("kind = 'linear'\nswitches = 5\nhosts = 2", "h10");
    all_reach("kind = 'tree'\ndepth = 3\nfanout = 3", "h27");
    all_reach("kind = 'random'\nswitches = 20\ndegree = 4", "h20");
    let report = all_reach("kind = 'fat-tree'\nk = 4", "h16");
    assert!(
        report.notes[0].contains("links between switches are left out"),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_fat_tree_of_128_hosts_runs() {
    let report = all_reach(
        "kind = 'fat-tree'\nk = 8\nlink = { rate = '1 Gb/s', delay = '5 us' }",
        "h128",
    );
    assert_eq!(report.outcome.nodes.len(), 128 + 80);
}

#[test]
fn templates_tiers_and_own_sections_say_what_nodes_and_links_are_like() {
    let text = r#"
        [topology]
        kind = "single"
        hosts = 3
        address = "192.168.7.0/24"
        link = { rate = "1 Gb/s" }
        access = { delay = "1 ms" }
        host = { mac = "02:00:00:00:01:{n:02x}" }
        [node.h3]
        mac = "02:00:00:00:00:99"
        [[node.h1.program]]
        run = "ping"
        to = "192.168.7.3"
        count = 1
    "#;
    let report = run(text);
    let flow = &report.outcome.nodes[0].flows[0];
    assert_eq!((flow.to.as_str(), flow.lost), ("192.168.7.3", 0));
    // Four times 1 ms, and a little.
    let took = flow.round_trip.min.as_ns();
    assert!(
        (8_000_000..8_100_000).contains(&took) || (4_000_000..4_100_000).contains(&took),
        "{took}"
    );
}

#[test]
fn what_is_wrong_is_told() {
    for (text, told) in [
        (
            "[topology]\nkind = 'ring'",
            "there is no topology called `ring`",
        ),
        ("[topology]\nkind = 'fat-tree'\nk = 5", "even"),
        ("[topology]\nkind = 'single'\nhosts = 0", "from 1 to"),
        (
            "[topology]\nkind = 'tree'\ndepth = 50\nfanout = 9",
            "more than",
        ),
        ("[topology]\nkind = 'single'\nhost = 3", "is a table"),
        ("[topology]\nkind = 'single'\nfoo = 3", "unknown key `foo`"),
        (
            "[topology]\nkind = 'single'\nhosts = 300\naddress = '10.0.0.0/24'",
            "do not fit",
        ),
        (
            "[topology]\nkind = 'single'\n[[node.h1.program]]\nrun = 'ping'\nto = 'h7'",
            "no host called `h7`",
        ),
        (
            "[topology]\nkind = 'single'\n[[node.h1.program]]\nrun = 'pin'\nto = 'h2'",
            "no program called `pin`",
        ),
        (
            "[topology]\nkind = 'single'\n[[node.h1.program]]\nto = 'h2'",
            "has no `run`",
        ),
        (
            "[topology]\nkind = 'single'\n[[node.h1.program]]\nrun = 'ping'",
            "`to` is missing",
        ),
        (
            "[topology]\nkind = 'single'\n[[node.h1.program]]\nrun = 'sink'\n[[node.h1.program]]\nrun = 'sink'",
            "two programs want port 5001",
        ),
        (
            "[node.h]\nkind = 'host'\n[[node.h.program]]\nrun = 'sink'",
            "needs one",
        ),
        (
            "[node.h]\nkind = 'tcp'\naddress = '10.0.0.1/24'",
            "say where connections go",
        ),
    ] {
        assert!(fault(text).contains(told), "{text}: {}", fault(text));
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let text = r#"
        [lab]
        duration = "200 ms"
        [topology]
        kind = "single"
        hosts = 2
        link = { rate = "100 Mb/s", loss = 0.01 }
        [[node.h1.program]]
        run = "bulk"
        to = "h2"
        flows = 3
        bytes = "pareto(10000, 1.2)"
        [[node.h2.program]]
        run = "sink"
    "#;
    assert_eq!(run(text).json(), run(text).json());
}

/// Pings and a flow between two hosts of a network of OpenFlow switches, once these have their controller.
fn all_reach_by(topology: &str, last: &str) -> Report {
    let talk = TALK.replace("LAST", last);
    let talk = talk.replace("run = \"ping\"", "start = '100 ms'\nrun = \"ping\"");
    let talk = talk.replace("run = \"bulk\"", "start = '150 ms'\nrun = \"bulk\"");
    let text = format!(
        "[lab]\nseed = 3\nduration = '500 ms'\n[topology]\n{topology}\n\
         [topology.switch]\nkind = 'openflow-switch'\n[topology.controller]\n{talk}"
    );
    let report = run(&text);
    let flows = report.outcome.nodes.iter().flat_map(|node| &node.flows);
    let talks: Vec<_> = flows.filter(|flow| flow.program != "tcp").collect();
    assert_eq!(talks.len(), 3, "{report}");
    for flow in talks {
        assert!(
            flow.done && flow.lost == 0,
            "{topology}: {flow:?}\n{report}"
        );
    }
    report
}

/// A counter of a node.
fn counter(report: &Report, node: &str, name: &str) -> u64 {
    let mut nodes = report.outcome.nodes.iter();
    let node = nodes.find(|one| one.name == node).expect("there is one");
    let mut counters = node.counters.iter();
    counters.find(|(known, _)| known == name).map_or(0, |c| c.1)
}

#[test]
fn openflow_switches_learn_from_their_controller_over_channels_with_a_delay() {
    let delay = "control = { delay = '2 ms' }";
    let report = all_reach_by(&format!("kind = 'linear'\nswitches = 3\n{delay}"), "h3");
    assert_eq!(counter(&report, "c0", "switches"), 3);
    assert!(counter(&report, "s2", "packet_ins") > 0, "{report}");
    // To the controller and back for the first packet at each of three switches, both ways.
    let nodes = report.outcome.nodes.iter();
    let mut flows = nodes.flat_map(|node| &node.flows);
    let ping = flows.find(|flow| flow.program == "ping").expect("one");
    assert!(ping.round_trip.max >= node::Time::from_ms(12), "{ping:?}");
}

#[test]
fn control_channels_in_band_are_tcp_among_the_frames_of_the_hosts() {
    let band = "control = { in_band = true, delay = '1 ms' }";
    let report = all_reach_by(&format!("kind = 'linear'\nswitches = 3\n{band}"), "h3");
    assert_eq!(counter(&report, "c0", "switches"), 3);
    assert_eq!(counter(&report, "t0", "open"), 3, "{report}");
    // What the channel of the third switch is made of went through the first.
    assert!(counter(&report, "s1", "packets") > 100, "{report}");
}

#[test]
fn a_fat_tree_of_128_hosts_and_openflow_switches_runs() {
    let link = "link = { rate = '1 Gb/s', delay = '5 us' }";
    let report = all_reach_by(&format!("kind = 'fat-tree'\nk = 8\n{link}"), "h128");
    assert_eq!(counter(&report, "c0", "switches"), 80);
    assert_eq!(report.outcome.nodes.len(), 128 + 80 + 1);
}
