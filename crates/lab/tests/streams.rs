//! Random numbers belong to names: a node or link that is added, removed or moved changes nothing for the others.

use lab::{Options, Registry, Report, World};
use node::link::LinkCounters;
use node::outcome::NodeOutcome;
use node::random::Random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Nodes and links that have something to do with each other, and with no other group.
#[derive(Clone)]
struct Group {
    nodes: Vec<(String, String)>,
    links: Vec<([String; 2], String)>,
    /// The place that a capture file is of.
    at: String,
}

impl Group {
    fn node(&mut self, name: &str, keys: impl Into<String>) {
        self.nodes.push((name.into(), keys.into()));
    }

    fn link(&mut self, a: &str, b: &str, keys: &str) {
        self.links.push(([a.into(), b.into()], keys.into()));
    }
}

/// A number in `0..bound`.
fn below(random: &mut Random, bound: u64) -> u64 {
    random.below(bound)
}

/// One of eight kinds of groups, whose names begin with `x`.
fn group(random: &mut Random, x: &str) -> Group {
    let mut group = Group {
        nodes: Vec::new(),
        links: Vec::new(),
        at: format!("{x}sink.0"),
    };
    let (a, b, c) = (format!("{x}a"), format!("{x}b"), format!("{x}c"));
    let (a0, b0, c0, sink) = (
        format!("{a}.0"),
        format!("{b}.0"),
        format!("{c}.0"),
        format!("{x}sink.0"),
    );
    let count = 100 + below(random, 100);
    match below(random, 8) {
        // Everything that a link does to frames.
        0 => {
            group.node(&a, format!("kind = 'generator'\npattern = 'poisson'\ngap = '9 us'\ncount = {count}\nsize = 'lognormal(792, 200)'"));
            group.node(&format!("{x}sink"), "kind = 'sink'");
            group.link(&a0, &sink, "loss = 0.1\nduplicate = 0.1\nreorder = 0.2\nreorder_by = '30 us'\nbit_error = 1e-5");
        }
        // Frames that reach a switch, and leave it, at the same times.
        1 => {
            for name in [&a, &b, &c] {
                group.node(
                    name,
                    format!("kind = 'generator'\ngap = '10 us'\ncount = {count}\nsize = 300"),
                );
            }
            group.node(
                &format!("{x}sw"),
                "kind = 'switch'\nports = 4\nslot = '51.2 ns'\narbitration = 'random(0.3)'",
            );
            group.node(&format!("{x}sink"), "kind = 'sink'");
            for (port, name) in [&c0, &a0, &b0].into_iter().enumerate() {
                group.link(name, &format!("{x}sw.{port}"), "");
            }
            group.link(&format!("{x}sw.3"), &sink, "loss = 0.3");
        }
        // TCP: sequence numbers, ports and sizes of transfers.
        2 => {
            let bytes = "bytes = 'pareto(4000, 1.5)'\ncount = 4\nevery = 'exponential(500 us)'";
            group.node(&a, format!("kind = 'host'\naddress = '10.0.0.1/24'\n[[node.{a}.program]]\nrun = 'bulk'\nto = '10.0.0.2:5001'\n{bytes}"));
            group.node(
                &b,
                format!(
                    "kind = 'host'\naddress = '10.0.0.2/24'\n[[node.{b}.program]]\nrun = 'sink'"
                ),
            );
            group.link(&b0, &a0, "rate = '100 Mb/s'\nloss = 0.02\nseed = 5");
            group.at = b0;
        }
        // A delay box with luck in both directions.
        3 => {
            group.node(
                &a,
                format!("kind = 'generator'\ngap = '12 us'\ncount = {count}"),
            );
            group.node(
                &b,
                "kind = 'delay'\nspec = 'delay exponential(40us) loss 5% duplicate 3%'",
            );
            group.node(&format!("{x}sink"), "kind = 'sink'");
            group.link(&a0, &b0, "");
            group.link(&format!("{b}.1"), &sink, "");
        }
        // Oscillators, the crossing from clock to clock, and wrong bits.
        4 => {
            for name in [&a, &b] {
                group.node(name, format!("kind = 'generator'\npattern = 'poisson'\ngap = '20 us'\ncount = {count}\noscillator = {{ within = 100 }}\ndtp = {{}}"));
            }
            group.link(
                &a0,
                &b0,
                "level = 'block'\nbit_error = 1e-6\ndelay = '300 ns'",
            );
            group.at = b0;
        }
        // Clocks by PTP.
        5 => {
            group.node(
                &a,
                "kind = 'ptp'\nrole = 'master'\nmac = '02:00:00:00:00:01'\nlog_sync_interval = -7",
            );
            group.node(&b, "kind = 'ptp'\nrole = 'slave'\nmac = '02:00:00:00:00:02'\nlog_sync_interval = -7\nlog_delay_interval = -7\nclock = { ppm = 12.0 }");
            group.link(&a0, &b0, "delay = '1 us'");
            group.at = b0;
        }
        // Names that hosts ask for at random times.
        6 => {
            let names =
                "names = ['a.test', 'b.test', 'c.test']\nevery = 'exponential(300 us)'\ncount = 15";
            group.node(&a, format!("kind = 'host'\naddress = '10.0.0.1/24'\n[[node.{a}.program]]\nrun = 'dns'\nto = '10.0.0.2'\n{names}"));
            group.node(&b, format!("kind = 'host'\naddress = '10.0.0.2/24'\n[[node.{b}.program]]\nrun = 'dns-server'\nnames = {{ 'a.test' = '10.9.9.9' }}"));
            group.link(&a0, &b0, "duplicate = 0.2");
            group.at = b0;
        }
        // A relay that drops at random.
        _ => {
            group.node(
                &a,
                format!("kind = 'generator'\npattern = 'poisson'\ngap = '15 us'\ncount = {count}"),
            );
            group.node(
                &b,
                "kind = 'early-discard'\nthin = '20 us'\nbound = '2 ms'\nprobability = 0.5",
            );
            group.node(&format!("{x}sink"), "kind = 'sink'");
            group.link(&a0, &b0, "duplicate = 0.2");
            group.link(
                &format!("{b}.1"),
                &sink,
                "rate = '40 Mb/s'\nforth = { loss = 0.2 }",
            );
        }
    }
    group
}

fn shuffle<T>(random: &mut Random, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}

/// A lab file: groups in this order, or with all sections and ends of links in a random order.
fn file(groups: &[&Group], mix: Option<&mut Random>) -> String {
    let mut nodes: Vec<_> = groups.iter().flat_map(|group| &group.nodes).collect();
    let links = groups.iter().flat_map(|group| group.links.iter().cloned());
    let mut links: Vec<_> = links.collect();
    if let Some(random) = mix {
        shuffle(random, &mut nodes);
        shuffle(random, &mut links);
        for (ends, keys) in &mut links {
            if random.bits() & 1 == 1 {
                ends.swap(0, 1);
                *keys = keys.replace("forth", "back");
            }
        }
    }
    let mut text = String::from("[lab]\nseed = 11\nduration = '40 ms'\n");
    for (name, keys) in nodes {
        text += &format!("[node.{name}]\n{keys}\n");
    }
    for ([a, b], keys) in links {
        text += &format!("[[link]]\nends = ['{a}', '{b}']\n{keys}\n");
    }
    for group in groups {
        let at = &group.at;
        text += &format!("[[capture]]\nat = '{at}'\nfile = '{at}.pcapng'\nresolution = 'ps'\n");
    }
    text
}

/// The packet blocks of a pcapng file: a block at its end says when the run ended, which is up to all nodes.
fn packets(file: &[u8]) -> Vec<u8> {
    let (mut rest, mut packets) = (file, Vec::new());
    while let Some((head, _)) = rest.split_first_chunk::<8>() {
        let [kind, length] =
            [&head[..4], &head[4..]].map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        let (block, behind) = rest.split_at(length as usize);
        if kind == 6 {
            packets.extend(block);
        }
        rest = behind;
    }
    packets
}

/// All that a run shows, by name.
struct Seen {
    nodes: BTreeMap<String, NodeOutcome>,
    /// By the ports that a direction leads from and to.
    links: BTreeMap<[String; 2], LinkCounters>,
    captures: BTreeMap<String, Vec<u8>>,
}

impl Seen {
    fn of(report: &Report) -> Seen {
        let nodes = report.outcome.nodes.iter().cloned();
        let directions = |([a, b], counters): (&[String; 2], &[LinkCounters; 2])| {
            let forth = ([a.clone(), b.clone()], counters[0]);
            [forth, ([b.clone(), a.clone()], counters[1])]
        };
        let links = report.links.iter().zip(&report.outcome.links);
        let captures = report.files.iter().map(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            (name.into_owned(), packets(&std::fs::read(path).unwrap()))
        });
        Seen {
            nodes: nodes.map(|node| (node.name.clone(), node)).collect(),
            links: links.flat_map(directions).collect(),
            captures: captures.collect(),
        }
    }

    /// Sees to it that all that belongs to a group is the same in another run.
    fn agrees(&self, other: &Seen, group: &Group, name: &str) {
        for (node, _) in &group.nodes {
            let [own, others] = [self, other].map(|seen| format!("{:?}", seen.nodes[node]));
            assert_eq!(own, others, "{name}: {node}");
        }
        for (ends, _) in &group.links {
            let [a, b] = ends.clone();
            for ends in [[a.clone(), b.clone()], [b, a]] {
                assert_eq!(self.links[&ends], other.links[&ends], "{name}: {ends:?}");
            }
        }
        let file = format!("{}.pcapng", group.at);
        let [own, others] = [self, other].map(|seen| &seen.captures[&file]);
        assert!(own == others, "{name}: another capture at {}", group.at);
        assert!(own.len() > 500, "{name}: no frames at {}", group.at);
    }
}

fn run(text: &str, folder: &Path, threads: usize) -> Seen {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).unwrap();
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let options = Options {
        out: Some(folder.into()),
        threads: Some(threads),
        ..Options::default()
    };
    Seen::of(
        &lab::run(&lab, World::Sim, &options).unwrap_or_else(|error| panic!("{error}\n{text}")),
    )
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("streams")
        .join(name)
}

#[test]
fn nodes_and_links_that_come_go_or_move_change_nothing_for_the_others() {
    let mut random = Random::new(40);
    for round in 0..24 {
        let names = ["m", "d", "x", "k"];
        let groups = names.map(|name| group(&mut random, name));
        let [first, second, more, last] = &groups;
        let here = folder(&format!("round-{round}"));
        let base = run(&file(&[first, second], None), &here, 1);
        for (name, all, mixed, threads) in [
            ("more behind", vec![first, second, more], false, 1),
            ("more ahead", vec![last, more, first, second], false, 2),
            ("moved", vec![second, first], true, 1),
            ("moved among more", vec![more, second, last, first], true, 5),
        ] {
            let text = file(&all, mixed.then_some(&mut random));
            let seen = run(&text, &here, threads);
            for group in [first, second] {
                base.agrees(&seen, group, &format!("round {round}, {name}\n{text}"));
            }
        }
        let fewer = run(&file(&[second], None), &here, 1);
        base.agrees(&fewer, second, &format!("round {round}, removed"));
    }
}

/// A leaf that is added to a switch in use changes what the switch does, and no more: neither sender nor any link that was
/// there draws other numbers.
#[test]
fn a_port_that_is_added_to_a_switch_leaves_the_luck_of_its_other_links() {
    let lab = |sink: &str| {
        format!(
            "[lab]\nduration = '5 ms'\n[node.s]\nkind = 'switch'\nports = 4\n{sink}
            [node.'h{{n}}']\neach = 3\nkind = 'generator'\npattern = 'poisson'\ngap = '30 us'\ncount = 100
            source = '02:00:00:00:00:0{{n+1}}'\ndestination = 'ff:ff:ff:ff:ff:ff'\n[[link]]\neach = 3\nends = ['h{{n}}.0', 's.{{n}}']\nback = {{ loss = 0.2 }}\nforth = {{ loss = 0.1 }}"
        )
    };
    let with = "[[link]]\nends = ['s.3', 'a.0']\nloss = 0.5\n[node.a]\nkind = 'sink'";
    let [without, with] = [lab("ports = 3"), lab(with)].map(|text| {
        let text = match text.contains("node.a") {
            true => text,
            false => text.replacen("ports = 4\n", "", 1),
        };
        run(&text, &folder("leaf"), 1)
    });
    for (ends, counters) in &without.links {
        assert_eq!(with.links[ends], *counters, "{ends:?}");
        assert!(counters.lost > 0, "{ends:?} has luck");
    }
}

#[test]
fn a_link_may_have_a_seed_of_its_own() {
    let lost = |lab: &str, link: &str| {
        let text = format!(
            "{lab}\n[node.'g{{n}}']\neach = 2\nkind = 'generator'\ngap = '1 us'\ncount = 500\n[node.'k{{n}}']\neach = 2\nkind = 'sink'
            [[link]]\neach = 2\nends = ['g{{n}}.0', 'k{{n}}.0']\nloss = 0.2\n{link}"
        );
        let report =
            lab::run(&lab::parse(&text).unwrap(), World::Sim, &Options::default()).unwrap();
        let rows = report
            .rows
            .iter()
            .map(|row| (row.statistics.packets(), row.statistics.gaps()));
        rows.map(|row| format!("{row:?}")).collect::<Vec<_>>()
    };
    // The lab's seed does not matter to it.
    assert_eq!(
        lost("[lab]\nseed = 1", "seed = 7"),
        lost("[lab]\nseed = 2", "seed = 7")
    );
    assert_ne!(lost("[lab]\nseed = 1", ""), lost("[lab]\nseed = 2", ""));
    assert_ne!(lost("", "seed = 7"), lost("", "seed = 8"));
    let default = "[default.link]\nseed = 7";
    assert_eq!(lost(default, ""), lost("", "seed = 7"));
    assert_eq!(lost("", "forth = { seed = 7 }"), lost("", "seed = 7"));
    // Links with one seed, of other names, lose other frames.
    let two = lost("", "seed = 7");
    assert_ne!(two[0], two[1]);
}

/// The seed of the command line and of a sweep is the file's in everything that is drawn: the oscillators and the network
/// of a topology are.
#[test]
fn another_seed_draws_oscillators_and_networks_too() {
    let text = "[lab]\nseed = 1\n[topology]\nkind = 'random'\nswitches = 12\nloops = 'keep'\nhost = { oscillator = { within = 100 }, kind = 'generator', count = 1 }";
    let seeded = |seed: &str| {
        let registry = Registry::standard();
        let set = registry.parse_with(text, None, World::Sim, &[("lab.seed", seed)]);
        let written = lab::parse(&text.replace("seed = 1", &format!("seed = {seed}")));
        let [set, written] = [set, written].map(|lab| {
            let lab = lab.unwrap_or_else(|faults| panic!("{faults}"));
            assert_eq!(lab.seed.to_string(), seed);
            format!("{lab:?}")
        });
        (set, written)
    };
    let (set, written) = seeded("5");
    assert!(set == written);
    assert!(set != seeded("6").0);
}
