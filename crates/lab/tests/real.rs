//! Labs of real things: their faults, and runs of them where root may.

use lab::{Command, Options, World};
use live::netns::Namespace;
use node::Time;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

fn fault(text: &str) -> String {
    lab::parse(text).expect_err("the file is wrong").to_string()
}

const PAIR: &str = "
[node.a]
kind = 'process'
address = '10.0.0.1/24'
run = 'echo one; exit 3'
[node.b]
kind = 'process'
address = '10.0.0.2/24'
[[link]]
ends = ['a.0', 'b.0']
";

#[test]
fn simulated_time_says_that_it_has_no_real_programs() {
    let lab = lab::parse(PAIR).unwrap();
    let error = lab::run(&lab, World::Sim, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("--world live"), "{error}");
}

#[test]
fn faults_of_real_nodes_are_told_at_their_place() {
    let of = |keys: &str| {
        fault(&format!(
            "[node.a]\nkind = 'process'\n{keys}\n[[link]]\nends = ['a.0', 'port:lo']\n"
        ))
    };
    assert!(of("address = '10.0.0.1/40'").contains("is not an address"));
    assert!(of("adress = '10.0.0.1/24'").contains("address"));
    assert!(of("routes = ['10.0.0.0/8']").contains("is not a route"));
    assert!(of("run = ''").contains("the command is empty"));
    assert!(of("run = [{ command = 'true', after = 'b' }]").contains("no command `b`"));
    let circle = "run = [{ command = 'true', after = 'a.1' }, { command = 'true', after = 'a.0' }]";
    assert!(of(circle).contains("circle"));
    assert!(of("run = { command = 'true', ahead = true, at = '1 s' }").contains("not both"));
    let switch = |keys: &str| {
        fault(&format!(
            "[node.a]\nkind = 'openvswitch'\nports = 1\n{keys}\n[[link]]\nends = ['a.0', 'port:lo']\n"
        ))
    };
    assert!(switch("fail_mode = 'maybe'").contains("standalone"));
    assert!(switch("controller = 'c0'").contains("not a controller of this lab"));
    assert!(switch("dpid = 'xyz'").contains("hexadecimal"));
    let port = "[node.a]\nkind = 'process'\n[[link]]\nends = ['a.0', 'port:nosuch:kind']\n";
    assert!(fault(port).contains("no kind of port"));
}

/// Runs a lab live; `None` where this user may not.
fn live(text: &str, options: Options) -> Option<lab::Report> {
    let lab = lab::parse(text).unwrap();
    crate::live_runs::report(&lab, &options)
}

#[test]
fn a_command_that_fails_is_in_the_report_with_its_code() {
    let Some(report) = live(PAIR, Options::default()) else {
        return;
    };
    let text = report.to_string();
    assert!(
        text.contains("a$ echo one; exit 3\n  exit code 3"),
        "{text}"
    );
    assert!(text.contains("  | one\n"), "{text}");
    let json = report.json();
    let line = json
        .lines()
        .find(|line| line.contains("\"program\""))
        .unwrap();
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(value["code"], 3);
    assert_eq!(value["output"], "one\n");
    assert_eq!(value["schema"], "wireline.lab/1");
}

#[test]
fn commands_of_the_user_take_the_place_of_the_files() {
    let command = |node: &str, command: &str| Command {
        node: node.into(),
        command: command.into(),
    };
    let options = |commands| Options {
        commands: Some(commands),
        ..Options::default()
    };
    let both = vec![command("b", "exit 0"), command("a", "exit 4")];
    let Some(report) = live(PAIR, options(both)) else {
        return;
    };
    let ends: Vec<_> = report
        .jobs
        .iter()
        .map(|job| (job.name.as_str(), job.failed()))
        .collect();
    assert_eq!(ends, [("b", false), ("a", true)]);
    let lab = lab::parse(PAIR).unwrap();
    let unknown = options(vec![command("c", "true")]);
    let error = lab::run(&lab, World::Live, &unknown).unwrap_err();
    assert!(error.to_string().contains("there are: a, b"), "{error}");
}

const TWO_WORLDS: &str = "
[lab]
worlds = ['sim', 'live']
[node.a]
kind = 'generator'
count = 3
[node.b]
kind = 'sink'
live = { kind = 'process', address = '10.0.0.2/24' }
[[link]]
ends = ['a.0', 'b.0']
rate = 'unlimited'
";

#[test]
fn a_node_may_be_another_one_in_another_world() {
    let lab = lab::parse(TWO_WORLDS).unwrap();
    assert_eq!(lab.worlds, [World::Sim, World::Live]);
    let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
    assert_eq!(report.outcome.links[0][0].sent, 3);
    // A lab is run where it was read for.
    let error = lab::run(&lab, World::Live, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("world `sim`"), "{error}");
    let live = lab::Registry::standard()
        .parse_for(TWO_WORLDS, None, World::Live)
        .unwrap();
    let error = lab::run(&live, World::Sim, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("world `live`"), "{error}");
}

#[test]
fn faults_of_worlds_are_told_at_their_place() {
    let head = |keys: &str| fault(&format!("[lab]\n{keys}\n[node.a]\nkind = 'sink'\n"));
    assert!(head("worlds = ['mars']").contains("mars"));
    assert!(head("worlds = ['sim', 'live', 'sim']").contains("each to be named once"));
    let of = TWO_WORLDS.replace("{ kind = 'process', address = '10.0.0.2/24' }", "'process'");
    assert!(fault(&of).contains("what the node is in the world `live`"));
}

/// On a plain link nothing of ours is between a node and something real. The lab lasts until all three requests have come.
const PLAIN: &str = "
[node.a]
kind = 'host'
address = '10.0.0.1/24'
[[node.a.program]]
run = 'ping'
to = '10.0.0.2'
count = 3
interval = '10 ms'
[node.b]
kind = 'process'
address = '10.0.0.2/24'
run = '''for i in $(seq 600); do awk '/^Icmp:/ && $10 + 0 >= 3 { exit 1 }' /proc/self/net/snmp || break; sleep 0.05; done; sleep 0.3'''
[[link]]
ends = ['a.0', 'b.0']
rate = 'unlimited'
";

#[test]
fn a_node_meets_a_real_host_on_a_plain_link_and_both_ways_are_counted() {
    let Some(report) = live(PLAIN, Options::default()) else {
        return;
    };
    let ping = &report.outcome.nodes[0].flows[0];
    assert_eq!((ping.packets, ping.lost), (3, 0), "{report}");
    // Three questions and their answers, and who has which address.
    let [there, back] = &report.outcome.links[0];
    assert!(there.sent >= 4 && back.sent >= 4, "{report}");
    assert!(report.rows.iter().all(|row| row.statistics.packets() >= 4));
}

#[test]
fn a_link_that_is_down_lets_nothing_through_from_something_real_either() {
    let waits = PLAIN
        .lines()
        .find(|line| line.starts_with("run = '''"))
        .unwrap();
    let down = PLAIN
        .replace(waits, "run = 'ping -c 3 -i 0.05 -W 0.1 10.0.0.1'")
        .replace("'unlimited'", "'unlimited'\ndown = [['0 s', '10 s']]");
    let Some(report) = live(&down, Options::default()) else {
        return;
    };
    assert!(report.jobs[0].failed(), "{report}");
    assert_eq!(report.outcome.frames, 0, "{report}");
    let [there, back] = &report.outcome.links[0];
    assert!(there.lost > 0 && back.lost > 0, "{report}");
}

/// Interfaces in two namespaces at a simulated switch, behind which a simulated host is 20 ms away.
const TAPS: &str = "
[node.near]
kind = 'tap'
name = 'wire0'
address = '10.9.0.1/24'
namespace = 'NEAR'
[node.far]
kind = 'tap'
name = 'wire0'
address = '10.9.0.3/24'
namespace = 'FAR'
[node.s]
kind = 'switch'
ports = 3
[node.web]
kind = 'host'
address = '10.9.0.2/24'
[[node.web.program]]
run = 'http-server'
[[node.web.program]]
run = 'iperf3-server'
[[link]]
ends = ['near.0', 's.0']
[[link]]
ends = ['s.1', 'web.0']
delay = '20 ms'
[[link]]
ends = ['s.2', 'far.0']
rate = '100 Mb/s'
delay = '2 ms'
";

#[test]
fn programs_of_this_machine_reach_simulated_hosts_and_each_other_in_real_time() {
    let names = ["near", "far"].map(|side| format!("lab-{side}-{}", std::process::id()));
    let spaces = names.each_ref().map(|name| Namespace::named(name));
    let [near, far] = match spaces {
        [Ok(near), Ok(far)] => [near, far],
        [Err(error), _] | [_, Err(error)] => return println!("skipped: {error}"),
    };
    let text = TAPS.replace("NEAR", &names[0]).replace("FAR", &names[1]);
    let lab = lab::parse(&text).unwrap();
    let error = lab::run(&lab, World::Sim, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("--realtime"), "{error}");

    // The lab lasts as long as its programs need on a machine that does much else, and no longer.
    static DONE: AtomicBool = AtomicBool::new(false);
    let options = Options {
        realtime: true,
        duration: Some(Time::from_secs(90)),
        stop: Some(|| DONE.load(Relaxed)),
        ..Options::default()
    };
    let said = |space: &Namespace, words: &str| {
        let output = space.command("sh").args(["-c", words]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (report, ping, page, moved) = std::thread::scope(|scope| {
        let run = scope.spawn(|| lab::run(&lab, World::Sim, &options).unwrap());
        let up = "for i in $(seq 1200); do ip -o -4 address show dev wire0 2>/dev/null | grep -q inet && break; sleep 0.05; done; ";
        let ping = said(&near, &format!("{up} ping -n -c 4 -i 0.2 10.9.0.2"));
        let page = "curl -s -m 30 -o /dev/null -w '%{size_download}' http://10.9.0.2/50000";
        let page = said(&near, page);
        let server = scope.spawn(|| said(&far, "timeout 30 iperf3 -s -1"));
        // The server may not listen yet, which iperf3 tells by its text and not by its exit code.
        let client = "iperf3 -c 10.9.0.3 -n 200K -J";
        let script = format!(
            r#"for i in $(seq 300); do out=$({client}); case $out in *'"error"'*) sleep 0.1;; *) break;; esac; done; echo "$out""#
        );
        let moved = said(&near, &script);
        let far = server.join().unwrap();
        let own = ["-P 2 -J", "-R -J"].map(|how| {
            said(
                &near,
                &format!("timeout 30 iperf3 -c 10.9.0.2 -n 200K {how}"),
            )
        });
        DONE.store(true, Relaxed);
        (run.join().unwrap(), ping, page, (moved, far, own))
    });
    assert!(ping.contains("4 received"), "{ping}\n{report}");
    let least = ping.split("= ").last().unwrap_or_default();
    let least: f64 = least.split('/').next().unwrap().parse().unwrap();
    // Late is what a machine may be, and never early.
    assert!(least >= 40.0, "{ping}");
    assert_eq!(page, "50000", "{report}");
    match std::process::Command::new("iperf3")
        .arg("--version")
        .output()
    {
        Err(_) => println!("skipped in part: no iperf3"),
        Ok(_) => {
            let through = &moved.0;
            assert!(through.contains("\"sum_received\""), "{moved:?}");
            assert!(!through.contains("\"error\""), "{moved:?}");
            let [own, refused] = &moved.2;
            let json: serde_json::Value = serde_json::from_str(own).unwrap();
            let bytes = json["end"]["sum_received"]["bytes"].as_u64();
            let bytes = bytes.unwrap_or_else(|| panic!("{own}\n{report}"));
            let flows = report.outcome.nodes.iter().flat_map(|node| &node.flows);
            let flows = flows.filter(|flow| flow.program == "iperf3-server");
            let counts: Vec<u64> = flows.map(|flow| flow.bytes).collect();
            assert!(
                counts.len() == 2 && counts.iter().all(|count| *count > 0),
                "{report}"
            );
            // What was on its way at the end of the test is not in what the client was told.
            let sum = counts.iter().sum();
            assert!(
                sum >= 200 << 10 && (1..=sum).contains(&bytes),
                "{own}\n{report}"
            );
            assert!(refused.contains("not implemented"), "{refused}");
        }
    }
    let pace = report.pace.as_ref().unwrap();
    assert!(pace.entered > 20 && pace.left > 20, "{report}");
    assert!(
        pace.leaving.max > Time::ZERO && pace.behind.max > Time::ZERO,
        "{report}"
    );
    let text = report.to_string();
    assert!(
        text.contains("in real time: simulated time was behind by p50 "),
        "{text}"
    );
    assert!(
        report.json().contains("\"realtime\":{\"behind\":"),
        "{}",
        report.json()
    );
}

#[test]
fn what_a_tap_cannot_be_is_told_at_its_place() {
    let of = |keys: &str| {
        fault(&format!(
            "[node.a-long-name-of-a-tap]\nkind = 'tap'\n{keys}\n[node.k]\nkind = 'sink'\n\
             [[link]]\nends = ['a-long-name-of-a-tap.0', 'k.0']\n"
        ))
    };
    assert!(of("").contains("name the interface"), "{}", of(""));
    assert!(of("name = 't0'\naddress = '10.0.0.0.1'").contains("is not an address"));
    assert!(of("name = 't0'\nnamespace = '../x'").contains("is not the name of a namespace"));
    assert!(of("name = 't0'\nadress = '10.0.0.1'").contains("address"));
    let text = TAPS
        .replace("'NEAR'", "'not there at all'")
        .replace("'FAR'", "'nor this'");
    let options = Options {
        realtime: true,
        duration: Some(Time::from_ns(1)),
        ..Options::default()
    };
    let lab = lab::parse(&text).unwrap();
    let error = lab::run(&lab, World::Sim, &options)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("looking for the namespace not there at all"),
        "{error}"
    );
    // Programs in namespaces are for the world live, at any pace.
    let lab = lab::parse(PAIR).unwrap();
    let error = lab::run(&lab, World::Sim, &options).unwrap_err();
    assert!(error.to_string().contains("--world live"), "{error}");
}

#[test]
fn simulated_time_at_the_pace_of_the_clock_does_what_it_does_at_any_other() {
    let text = "[node.a]\nkind = 'generator'\ncount = 500\ngap = '100 us'\n[node.b]\nkind = 'sink'\n\
                [[link]]\nends = ['a.0', 'b.0']\nloss = 0.1\ndelay = '1 ms'\n";
    let lab = lab::parse(text).unwrap();
    let run = |realtime| {
        let options = Options {
            realtime,
            ..Options::default()
        };
        let report = lab::run(&lab, World::Sim, &options).unwrap();
        assert_eq!(report.pace.is_some(), realtime);
        (
            report.outcome,
            report
                .rows
                .iter()
                .map(|row| row.statistics.delays())
                .collect::<Vec<_>>(),
        )
    };
    let ((paced, delays), (free, same)) = (run(true), run(false));
    assert_eq!((&paced.nodes, &paced.links), (&free.nodes, &free.links));
    assert_eq!(format!("{delays:?}"), format!("{same:?}"));
    assert!(paced.ended >= free.ended, "{paced:?}");
}
