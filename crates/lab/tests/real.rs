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
