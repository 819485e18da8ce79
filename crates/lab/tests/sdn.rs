//! Networks of OpenFlow switches: failover around a link that is down, datapath ids, groups and meters without a controller.

use lab::{Options, Report, World};
use node::random::Random;
use std::fmt::Write;

fn run(text: &str) -> Report {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let options = Options {
        dry: true,
        ..Options::default()
    };
    lab::run(&lab, World::Sim, &options).unwrap()
}

/// Pings that a host sent, and those that were lost.
fn pings(report: &Report, host: &str) -> (u64, u64) {
    let node = report.outcome.nodes.iter().find(|node| node.name == host);
    let flows = node.unwrap().flows.iter();
    let pings = flows.filter(|flow| flow.program == "ping");
    pings.fold((0, 0), |(all, lost), flow| {
        (all + flow.packets, lost + flow.lost)
    })
}

fn counter(report: &Report, node: &str, name: &str) -> u64 {
    let node = report.outcome.nodes.iter().find(|one| one.name == node);
    let counters = &node.unwrap().counters;
    counters
        .iter()
        .find(|(known, _)| known == name)
        .unwrap_or_else(|| panic!("there is no counter {name}: {counters:?}"))
        .1
}

/// Interval of discovery, and of pings, ms.
const INTERVAL: u64 = 200;
const PING: u64 = 20;

/// A network with a controller that discovers and learns.
struct Network {
    /// The two switches of each link.
    links: Vec<(usize, usize)>,
    switches: usize,
    /// The switch of each host.
    hosts: Vec<usize>,
    /// The link that goes down, when it does, and when it comes up, ms.
    down: (usize, u64, u64),
    /// Whether the switches at its ends see it: the ports go down too.
    is_seen: bool,
}

impl Network {
    /// A ring of switches with chords: without any one link it still connects all of them.
    fn random(seed: u64) -> Network {
        let mut random = Random::new(seed);
        let switches = 3 + random.below(5) as usize;
        let mut links: Vec<_> = (0..switches).map(|s| (s, (s + 1) % switches)).collect();
        for _ in 0..random.below(4) {
            let [a, b] = [0, 0].map(|_| random.below(switches as u64) as usize);
            if a != b {
                links.push((a, b));
            }
        }
        let hosts = (0..3).map(|_| random.below(switches as u64) as usize);
        let hosts = hosts.collect();
        let start = 2_000 + random.below(2_000);
        let down = (
            random.below(links.len() as u64) as usize,
            start,
            start + 1_500 + random.below(2_000),
        );
        Network {
            links,
            switches,
            hosts,
            down,
            is_seen: random.chance(0.6),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "[lab]\nduration = '9 s'\n[node.c0]\nkind = 'controller'\nports = {}\n\
             topology = {{ interval = '{INTERVAL} ms' }}\nlearning = {{}}\n",
            self.switches
        );
        let mut used = vec![0; self.switches];
        let mut port = |switch: usize| {
            used[switch] += 1;
            format!("s{switch}.{}", used[switch] - 1)
        };
        let mut links = String::new();
        let mut link = |ends: [String; 2], keys: &str| {
            let [a, b] = ends;
            let _ = write!(links, "[[link]]\nends = ['{a}', '{b}']\n{keys}\n");
        };
        let keys = "rate = '100 Mb/s'\ndelay = '200 us'";
        for (number, &switch) in self.hosts.iter().enumerate() {
            let to = (number + 1) % self.hosts.len() + 1;
            let start = 1_500 + 7 * number as u64;
            let _ = write!(
                text,
                "[node.h{0}]\nkind = 'host'\naddress = '10.0.0.{0}/24'\n[[node.h{0}.program]]\nrun = 'ping'\n\
                 to = 'h{to}'\ninterval = '{PING} ms'\nstart = '{start} ms'\n",
                number + 1
            );
            link([format!("h{}.0", number + 1), port(switch)], keys);
        }
        let (which, from, until) = self.down;
        let down = format!("{keys}\ndown = [['{from} ms', '{until} ms']]");
        for (index, &(a, b)) in self.links.iter().enumerate() {
            match (index == which, self.is_seen) {
                (false, _) => link([port(a), port(b)], keys),
                (true, true) => link([port(a), port(b)], &down),
                (true, false) => {
                    for end in ["x0", "x1"] {
                        let _ = write!(
                            text,
                            "[node.{end}]\nkind = 'delay'\ndelay = '10 us'\nback = '10 us'\n"
                        );
                    }
                    link([port(a), "x0.0".into()], keys);
                    link(["x0.1".into(), "x1.0".into()], &down);
                    link(["x1.1".into(), port(b)], keys);
                }
            }
        }
        for (switch, used) in used.iter().enumerate() {
            let _ = write!(
                text,
                "[node.s{switch}]\nkind = 'openflow-switch'\nports = {used}\n"
            );
            let ends = [format!("c0.{switch}"), format!("s{switch}.{used}")];
            link(ends, "rate = 'unlimited'\ndelay = '300 us'");
        }
        text + &links
    }
}

#[test]
fn networks_with_loops_fail_over_within_two_intervals_of_discovery() {
    for seed in 0..24 {
        let network = Network::random(seed);
        let text = network.text();
        let report = run(&text);
        for host in ["h1", "h2", "h3"] {
            let (all, lost) = pings(&report, host);
            assert!(all > 300, "seed {seed}: {all}");
            // Two intervals when the link goes down, and two when it comes up.
            let most = 2 * (2 * INTERVAL).div_ceil(PING);
            assert!(
                lost <= most,
                "seed {seed}: {host} lost {lost} of {all} pings, link {:?} of {:?}, seen: {}",
                network.down,
                network.links,
                network.is_seen
            );
        }
    }
}

#[test]
fn a_link_that_stays_down_costs_the_frames_on_it() {
    // Three switches in a ring, a host at each; the direct way between two of them ends.
    let network = Network {
        links: vec![(0, 1), (1, 2), (2, 0)],
        switches: 3,
        hosts: vec![0, 1, 2],
        down: (0, 4_000, 100_000),
        is_seen: true,
    };
    let report = run(&network.text());
    let (all, lost) = pings(&report, "h1");
    assert!(all > 300 && lost <= 2, "{lost} of {all}");
    assert_eq!(counter(&report, "c0", "links"), 4, "{report}");
    assert_eq!(counter(&report, "c0", "blocked"), 0, "{report}");
}

#[test]
fn switches_have_datapath_ids_by_their_place_and_equal_ones_are_refused() {
    let switches = |keys: [&str; 3]| {
        let mut text = String::from("[lab]\nduration = '1 s'\n");
        for (number, keys) in (1..).zip(keys) {
            let _ = write!(
                text,
                "[node.s{number}]\nkind = 'openflow-switch'\nports = 1\n{keys}\n\
                 [node.h{number}]\nkind = 'host'\n[[link]]\nends = ['s{number}.0', 'h{number}.0']\n\
                 [[link]]\nends = ['s{number}.1', 'c.{}']\n",
                number - 1
            );
        }
        text + "[node.c]\nkind = 'controller'\nports = 3\n"
    };
    for keys in [
        ["", "", ""],
        ["", "datapath_id = 1", ""],
        ["datapath_id = 3", "", ""],
    ] {
        // A controller closes the older of two connections with one number.
        let report = run(&switches(keys));
        assert_eq!(counter(&report, "c", "switches"), 3, "{keys:?}");
        assert_eq!(counter(&report, "c", "connections_closed"), 0, "{keys:?}");
    }
    let twice = switches(["datapath_id = 7", "", "datapath_id = 7"]);
    let faults = lab::parse(&twice).unwrap_err().to_string();
    assert!(
        faults.contains("`s1` and `s3` have the same datapath id, 7"),
        "{faults}"
    );
    // Open vSwitch writes the same number in hexadecimal digits.
    let mixed = "[node.s1]\nkind = 'openflow-switch'\nports = 1\ncontrollers = 0\ndatapath_id = 16\n\
        [node.s2]\nkind = 'openvswitch'\nports = 1\ndpid = '10'\n[[link]]\nends = ['s1.0', 's2.0']\n";
    let faults = lab::parse(mixed).unwrap_err().to_string();
    assert!(faults.contains("`s1` and `s2` have the same"), "{faults}");
}

/// Two switches with two links between them, and a host at each. `keys` are the entries, groups and meters of the
/// first switch.
fn two_ways(keys: &str, programs: &str, down: &str) -> String {
    format!(
        "[lab]\nduration = '4 s'\n
        [node.h1]\nkind = 'host'\naddress = '10.0.0.1/24'\n{programs}
        [node.h2]\nkind = 'host'\naddress = '10.0.0.2/24'\n[[node.h2.program]]\nrun = 'sink'
        [node.s1]\nkind = 'openflow-switch'\nports = 3\ncontrollers = 0\n{keys}
        [node.s2]\nkind = 'openflow-switch'\nports = 3\ncontrollers = 0
        entries = ['in_port=1,actions=output:2', 'in_port=2,actions=output:1', 'in_port=3,actions=output:1']
        groups = []
        [[link]]\nends = ['h1.0', 's1.0']\n[[link]]\nends = ['h2.0', 's2.0']
        [[link]]\nends = ['s1.1', 's2.1']\nrate = '100 Mb/s'\n{down}
        [[link]]\nends = ['s1.2', 's2.2']\nrate = '100 Mb/s'\n"
    )
}

/// Frames that a link carried from its first end.
fn carried(report: &Report, link: usize) -> u64 {
    report.outcome.links[link][0].sent
}

const PINGS: &str =
    "[[node.h1.program]]\nrun = 'ping'\nto = 'h2'\ninterval = '10 ms'\nstart = '100 ms'\n";

#[test]
fn a_fast_failover_group_takes_the_next_live_bucket_at_once() {
    let keys = |kind: &str| {
        format!(
            "entries = ['in_port=1,actions=group:1', 'in_port=2,actions=output:1', 'in_port=3,actions=output:1']\n\
             groups = ['group_id=1,type={kind}bucket=watch_port:2,actions=output:2,bucket=watch_port:3,actions=output:3']\n"
        )
    };
    // From h1 to h2 alone: the way back stays.
    let programs = "[[node.h1.program]]\nrun = 'udp'\nto = 'h2'\nrate = '1 Mb/s'\nsize = 1250\nstart = '100 ms'\nduration = '3 s'\n";
    let down = "down = [['1 s', '2 s']]";
    let report = run(&two_ways(&keys("ff,"), programs, down));
    let sink = received(&report);
    assert_eq!((sink.packets, sink.lost), (300, 0), "{report}");
    let ways = [carried(&report, 2), carried(&report, 3)];
    assert!(ways[0] > 150 && ways[1] > 90, "{ways:?}");
}

/// The first flow of `h2`.
fn received(report: &Report) -> &node::Flow {
    let mut nodes = report.outcome.nodes.iter();
    &nodes.find(|node| node.name == "h2").unwrap().flows[0]
}

#[test]
fn a_select_group_shares_flows_by_weight() {
    let mut programs = String::new();
    for flow in 0..100 {
        let _ = write!(
            programs,
            "[[node.h1.program]]\nrun = 'udp'\nto = '10.0.0.2:5001'\nsize = 100\ncount = 10\nrate = '100 kb/s'\nstart = '{flow} ms'\n"
        );
    }
    let keys = "entries = ['in_port=1,actions=group:9', 'in_port=2,actions=output:1', 'in_port=3,actions=output:1']\n\
        groups = ['group_id=9,type=select,bucket=weight:3,actions=output:2,bucket=weight:1,actions=output:3']\n";
    let report = run(&two_ways(keys, &programs, ""));
    let ways = [carried(&report, 2), carried(&report, 3)];
    assert!(ways[0] + ways[1] >= 1_000, "{ways:?}");
    let share = ways[0] as f64 / (ways[0] + ways[1]) as f64;
    assert!((0.6..0.9).contains(&share), "{ways:?}");
    // All ten packets of a flow take the same way.
    assert!(ways[1] / 10 * 10 >= ways[1] - 2, "{ways:?}");
}

#[test]
fn a_meter_drops_packets_above_its_rate() {
    let keys = "entries = ['in_port=1,actions=meter:1,output:2', 'in_port=2,actions=output:1']\n\
        meters = ['meter=1,pktps,burst,bands=type=drop,rate=100,burst_size=10']\n";
    let programs = "[[node.h1.program]]\nrun = 'udp'\nto = 'h2'\nrate = '8 Mb/s'\nsize = 1000\nstart = '1 s'\nduration = '2 s'\n";
    let report = run(&two_ways(keys, programs, ""));
    let sink = received(&report);
    assert!((205..=215).contains(&sink.packets), "{report}");
}

#[test]
fn invalid_groups_and_meters_are_refused_with_their_text() {
    for (keys, wanted) in [
        (
            "groups = ['group_id=1,type=ff,bucket=actions=output:2']",
            "`groups`",
        ),
        (
            "groups = ['group_id=1,type=no']",
            "a type is all, select, indirect or ff",
        ),
        (
            "groups = ['group_id=1,type=all,bucket=group:2', 'group_id=2,type=all']",
            "`group_id=1,type=all,bucket=group:2`",
        ),
        (
            "meters = ['meter=1,kbps,bands=type=drop,rate=0']",
            "`meters`",
        ),
        ("meters = ['meter=1,bits']", "'bits' is not of a meter"),
        ("entries = ['actions=group:5']", "`entries`"),
    ] {
        let faults = lab::parse(&two_ways(keys, PINGS, ""))
            .unwrap_err()
            .to_string();
        assert!(faults.contains(wanted), "{keys}: {faults}");
    }
}

#[test]
fn a_ring_of_open_vswitches_heals_when_a_port_goes_down() {
    if !std::path::Path::new("/usr/sbin/ovs-vswitchd").exists() {
        return println!("skipped: no Open vSwitch");
    }
    let folder = std::env::temp_dir().join(format!("wire-ring-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let up = folder.join("up").display().to_string();
    // Once a first ping is answered, the direct way of the others goes down after a second of them.
    let h1 = format!(
        "for i in $(seq 300); do ping -n -c 1 -W 1 10.0.0.2 >/dev/null && break; sleep 0.1; done; \
         touch {up}; ping -n -c 100 -i 0.05 -W 5 10.0.0.2"
    );
    let s1 = format!(
        "for i in $(seq 600); do [ -e {up} ] && break; sleep 0.1; done; sleep 1; \
         ip link set s1-eth2 down"
    );
    let mut text = format!(
        "[lab]\nduration = '90 s'\n
        [node.c0]\nkind = 'controller'\nports = 3\ntopology = {{ interval = '{INTERVAL} ms' }}\nlearning = {{}}
        [node.h1]\nkind = 'process'\naddress = '10.0.0.1/24'\nrun = '''{h1}'''
        [node.h2]\nkind = 'process'\naddress = '10.0.0.2/24'
        [node.h3]\nkind = 'process'\naddress = '10.0.0.3/24'\n[[link]]\nends = ['h3.0', 's3.0']
        [[link]]\nends = ['h1.0', 's1.0']\n[[link]]\nends = ['h2.0', 's2.0']
        [[link]]\nends = ['s1.1', 's2.1']\n[[link]]\nends = ['s2.2', 's3.1']
        [[link]]\nends = ['s3.2', 's1.2']\n"
    );
    for (number, keys) in [
        (1, format!("run = '''{s1}'''")),
        (2, String::new()),
        (3, String::new()),
    ] {
        let _ = write!(
            text,
            "[node.s{number}]\nkind = 'openvswitch'\nports = 3\ncontrollers = 1\n{keys}\n\
             [[link]]\nends = ['c0.{}', 's{number}.3']\n",
            number - 1
        );
    }
    let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{faults}"));
    let run = lab::run(&lab, World::Live, &Options::default());
    std::fs::remove_dir_all(&folder).unwrap();
    let report = match run {
        Ok(report) => report,
        Err(lab::LabError::Live(live::world::WorldError::Netns(error))) => {
            return println!("skipped: {error}");
        }
        Err(error) => panic!("{error}"),
    };
    let job = report.jobs.iter().find(|job| job.name == "h1").unwrap();
    let words: Vec<&str> = job.output.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "received,").unwrap();
    let received: u32 = words[place - 1].parse().unwrap();
    // Without another way four of five are lost. The machine may pause for a while.
    assert!(received >= 60, "{report}");
    let down = report.jobs.iter().find(|job| job.name == "s1").unwrap();
    assert!(!down.failed(), "{report}");
}

#[test]
fn entries_come_from_a_file_behind_those_of_the_section() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("entries-file");
    std::fs::create_dir_all(&folder).unwrap();
    let lab = |keys: &str| {
        format!(
            "[node.a]\nkind = 'generator'\ncount = 10\n[node.s1]\nkind = 'openflow-switch'\nports = 2\ncontrollers = 0\n{keys}\n\
             [node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 's1.0']\n[[link]]\nends = ['s1.1', 'b.0']\n"
        )
    };
    let file = folder.join("lab.toml");
    let mut entries: String = (0..20_000)
        .map(|number| {
            format!(
                "priority=5,dl_dst=02:00:00:01:{:02x}:{:02x},actions=drop\n",
                number / 256,
                number % 256
            )
        })
        .collect();
    entries += "# All others.\n\n  priority=1,actions=output:2\n";
    std::fs::write(folder.join("flows.txt"), &entries).unwrap();
    std::fs::write(
        &file,
        lab("entries = ['priority=9,arp,actions=NORMAL']\nentries_file = 'flows.txt'"),
    )
    .unwrap();
    let read = lab::read(&file).unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        folder: folder.clone(),
        dry: true,
        ..Options::default()
    };
    let report = lab::run(&read, World::Sim, &options).unwrap();
    assert_eq!(counter(&report, "s1", "flows"), 20_002);
    assert_eq!(counter(&report, "b", "packets"), 10);

    let fault = |keys: &str| {
        std::fs::write(&file, lab(keys)).unwrap();
        lab::read(&file).expect_err(keys).to_string()
    };
    let missing = fault("entries_file = 'none.txt'");
    assert!(
        missing.contains("none.txt: ") && missing.contains("lab.toml:8:"),
        "{missing}"
    );
    std::fs::write(
        folder.join("wrong.txt"),
        "priority=1,actions=output:2\npriority=1,colour=red,actions=drop\n",
    )
    .unwrap();
    let wrong = fault("entries_file = 'wrong.txt'");
    assert!(
        wrong.contains("colour=red") && wrong.contains("lab.toml:8:"),
        "{wrong}"
    );
    let full = fault("flows = 100\nentries_file = 'flows.txt'");
    assert!(
        full.contains("no room") && full.contains("lab.toml:9:"),
        "{full}"
    );
}
