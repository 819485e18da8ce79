//! The key `pause` of links: lossless incasts, deadlocks in the report, and what it does not go with.

use lab::{Options, Registry, Report, World};
use serde_json::Value;

const INCAST: &str = include_str!("../../../examples/lossless/lossless.toml");

fn run(text: &str, settings: &[(&str, &str)]) -> Report {
    let lab = Registry::standard().parse_with(text, None, World::Sim, settings);
    let lab = lab.unwrap_or_else(|faults| panic!("{faults}"));
    lab::run(&lab, World::Sim, &Options::default()).unwrap()
}

/// The incast with another `pause` line.
fn with(line: &str) -> String {
    let pause = INCAST
        .lines()
        .find(|line| line.starts_with("pause"))
        .unwrap();
    INCAST.replace(pause, line)
}

fn lines(report: &Report, kind: &str) -> Vec<Value> {
    let text = report.json();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|line: &Value| line["type"] == kind).collect()
}

fn sum(lines: &[Value], key: &str) -> u64 {
    lines.iter().map(|line| line[key].as_u64().unwrap()).sum()
}

#[test]
fn an_incast_of_a_lossless_priority_waits_at_its_senders() {
    let report = run(INCAST, &[]);
    let pauses = lines(&report, "pause");
    assert_eq!(pauses.len(), 10, "{}", report.text(false));
    assert_eq!((sum(&pauses, "overflows"), sum(&pauses, "storms")), (0, 0));
    assert!(sum(&pauses, "asked") > 10);
    for line in &pauses {
        assert!(
            line["longest_bytes"].as_u64() <= line["room_bytes"].as_u64(),
            "{line}"
        );
    }
    let queues = lines(&report, "queue");
    assert_eq!(sum(&queues, "dropped"), 0);
    let last = queues.iter().find(|line| line["at"] == "tor.4").unwrap();
    // The queue in the switch never exceeds its four receive buffers.
    assert_eq!(last["sent"], 240);
    assert!(
        last["longest_bytes"].as_u64().unwrap() < 4 * 32_000,
        "{last}"
    );
    assert!(lines(&report, "pause_deadlock").is_empty());
}

#[test]
fn without_a_pause_the_same_frames_wait_in_the_switch() {
    let report = run(&with("queue = 'fifo'"), &[]);
    assert!(lines(&report, "pause").is_empty());
    let queues = lines(&report, "queue");
    let last = queues.iter().find(|line| line["at"] == "tor.4").unwrap();
    assert!(last["longest_bytes"].as_u64().unwrap() > 200_000, "{last}");
}

#[test]
fn a_link_with_plain_pauses_stops_all_priorities() {
    let report = run(&with("pause = 'link'"), &[]);
    let pauses = lines(&report, "pause");
    assert_eq!(sum(&pauses, "overflows"), 0);
    assert!(pauses.iter().all(|line| line["priorities"] == "all"));
    assert!(sum(&pauses, "paused_ps") > 0);
}

#[test]
fn a_ring_of_switches_that_wait_for_each_other_is_reported_as_a_deadlock() {
    let mut text = String::from(
        "[lab]\nduration = '30 ms'\n[default.link]\nrate = '10 Gb/s'\ndelay = '1 us'\n\
         pause = { xoff = '20 kB', watchdog = '5 ms' }\n",
    );
    for number in 0..3 {
        // Frames of host n go to the host two switches on, always the same way around.
        let to = (number + 2) % 3;
        text += &format!(
            "[node.s{number}]\nkind = 'openflow-switch'\nports = 3\ncontrollers = 0\nentries = [\
             'priority=2,dl_dst=02:00:00:00:00:1{number},actions=output:3', 'priority=1,actions=output:1']\n\
             [node.h{number}]\nkind = 'generator'\nrate = '10 Gb/s'\nsize = 1000\ncount = 3000\n\
             destination = '02:00:00:00:00:1{to}'\n"
        );
    }
    for number in 0..3 {
        let next = (number + 1) % 3;
        text += &format!(
            "[[link]]\nends = ['s{number}.0', 's{next}.1']\n\
             [[link]]\nends = ['h{number}.0', 's{number}.2']\n"
        );
    }
    let report = run(&text, &[]);
    let deadlocks = lines(&report, "pause_deadlock");
    assert_eq!(deadlocks.len(), 1, "{}", report.text(false));
    assert_eq!(deadlocks[0]["ports"], "s0.0 > s1.0 > s2.0");
}

#[test]
fn what_a_pause_does_not_go_with_is_an_error_that_says_why() {
    let errors = [
        (
            "queue = 'codel'\npause = { priorities = [3] }",
            "`codel` knows no priorities to be paused",
        ),
        ("pause = { xon = '90 kB' }", "`xon` is at most `xoff`"),
        ("pause = { quanta = 10 }", "give it more quanta"),
        ("pause = { priorities = [8] }", "priorities are 0 to 7"),
        ("pause = 'on'", "a pause is `\"link\"`"),
        ("level = 'block'\npause = 'link'", "at the level of frames"),
        ("pause = 'link'\n[queues]\nwhy = 1", "take out `pause`"),
    ];
    for (line, message) in errors {
        let read = Registry::standard().parse_with(&with(line), None, World::Sim, &[]);
        let faults = read.map(|_| ()).expect_err(line).to_string();
        assert!(faults.contains(message), "{line}: {faults}");
    }
    let unlimited = with("pause = 'link'").replace("10 Gb/s\"\ndelay", "unlimited\"\ndelay");
    let read = Registry::standard().parse_with(&unlimited, None, World::Sim, &[]);
    let faults = read.map(|_| ()).unwrap_err().to_string();
    assert!(faults.contains("give the link a `rate`"), "{faults}");
    let read = Registry::standard().parse_with(INCAST, None, World::Live, &[]);
    let error = lab::run(&read.unwrap(), World::Live, &Options::default());
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("only simulated time has"), "{error}");
}
