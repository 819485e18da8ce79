//! Labs of real things: their faults, and runs of them where root may.

use lab::{Command, LabError, Options, World};

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
    assert!(of("address = '10.0.0.1/40'").contains("is no address"));
    assert!(of("adress = '10.0.0.1/24'").contains("address"));
    assert!(of("routes = ['10.0.0.0/8']").contains("is no route"));
    assert!(of("run = ''").contains("no command"));
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
    assert!(switch("controller = 'c0'").contains("no controller of this lab"));
    assert!(switch("dpid = 'xyz'").contains("hexadecimal"));
    let port = "[node.a]\nkind = 'process'\n[[link]]\nends = ['a.0', 'port:nosuch:kind']\n";
    assert!(fault(port).contains("no kind of port"));
}

/// Runs a lab live; `None` where this user may not.
fn live(text: &str, options: Options) -> Option<lab::Report> {
    let lab = lab::parse(text).unwrap();
    match lab::run(&lab, World::Live, &options) {
        Ok(report) => Some(report),
        Err(LabError::Live(live::world::WorldError::Netns(error))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
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
    let live = lab::parse_for(TWO_WORLDS, None, World::Live).unwrap();
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

/// On a plain link nothing of ours is between a node and something real.
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
run = 'sleep 0.3'
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
    let down = PLAIN
        .replace(
            "run = 'sleep 0.3'",
            "run = 'ping -c 3 -i 0.05 -W 0.1 10.0.0.1'",
        )
        .replace("'unlimited'", "'unlimited'\ndown = [['0 s', '10 s']]");
    let Some(report) = live(&down, Options::default()) else {
        return;
    };
    assert!(report.jobs[0].failed(), "{report}");
    assert_eq!(report.outcome.frames, 0, "{report}");
    let [there, back] = &report.outcome.links[0];
    assert!(there.lost > 0 && back.lost > 0, "{report}");
}
