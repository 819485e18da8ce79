//! Keys of TCP in lab files.

use lab::{Options, World};
use serde_json::Value;

/// Two hosts with a queue of this kind between them.
fn lab(sender: &str, receiver: &str, queue: &str) -> String {
    format!(
        "[node.a]\nkind = 'host'\naddress = '10.0.0.1/24'\nprogram = [{{ run = 'bulk', to = '10.0.0.2', duration = '1 s', {sender} }}]\n\
         [node.b]\nkind = 'host'\naddress = '10.0.0.2/24'\nprogram = [{{ {receiver} }}]\n\
         [[link]]\nends = ['a.0', 'b.0']\nrate = '50 Mb/s'\ndelay = '2 ms'\nforth = {{ queue = {queue} }}\n"
    )
}

/// Packets dropped and marked at the queue.
fn run(text: &str) -> (u64, u64) {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
    let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
    let lines = report.json();
    let mut lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let queue = lines.find(|line: &Value| line["type"] == "queue").unwrap();
    let count = |key: &str| queue[key].as_u64().unwrap();
    (count("dropped"), count("marked"))
}

#[test]
fn queues_mark_the_packets_of_programs_that_ask_for_ecn() {
    let sink = "run = 'sink'";
    for (sender, receiver, queue) in [
        ("ecn = 'on'", sink, "'fq_codel'"),
        ("ecn = 'accurate', congestion = 'reno'", sink, "'fq_codel'"),
        (
            "congestion = 'dctcp'",
            "run = 'sink', congestion = 'dctcp', min_rto = '20 ms'",
            "{ kind = 'fifo', mark = 10 }",
        ),
        (
            "congestion = 'dctcp', ecn = 'l4s', pacing = true, initial_window = 20, min_rto = '20 ms'",
            sink,
            "'dualpi2'",
        ),
    ] {
        let (dropped, marked) = run(&lab(sender, receiver, queue));
        assert!(
            dropped == 0 && marked > 0,
            "{sender}: {dropped} and {marked}"
        );
    }
    for (sender, receiver) in [
        ("ecn = 'passive'", sink),
        ("ecn = 'on'", "run = 'sink', ecn = 'off'"),
        ("congestion = 'dctcp', ecn = 'off'", sink),
    ] {
        let (_, marked) = run(&lab(sender, receiver, "'fq_codel'"));
        assert_eq!(marked, 0, "{sender}");
    }
}

#[test]
fn keys_out_of_their_range_are_refused() {
    for (sender, wanted) in [
        (
            "initial_window = 0",
            "`initial_window` is a number of segments, from 1 to 10000",
        ),
        ("min_rto = '0 s'", "`min_rto` is a time from 1 us to 60 s"),
        ("ecn = 'yes'", "yes"),
        ("congestion = 'vegas'", "vegas"),
    ] {
        let text = lab(sender, "run = 'sink'", "'fifo'");
        let refused = match lab::parse(&text) {
            Err(faults) => faults.to_string(),
            Ok(lab) => match lab::run(&lab, World::Sim, &Options::default()) {
                Err(error) => error.to_string(),
                Ok(_) => panic!("{sender} is taken"),
            },
        };
        assert!(refused.contains(wanted), "{sender}: {refused}");
    }
}

#[test]
fn a_transfer_finds_the_mtu_of_each_path() {
    for (mtu, v6) in [
        (1500, false),
        (1400, false),
        (600, false),
        (576, false),
        (1400, true),
        (1280, true),
    ] {
        let (net, length) = if v6 { ("fd00:", 64) } else { ("10.0.", 24) };
        let address = |link: u8, host: u8| match v6 {
            true => format!("{net}{link}::{host}"),
            false => format!("{net}{link}.{host}"),
        };
        let [a, r0, r1, b] = [address(0, 2), address(0, 1), address(1, 1), address(1, 2)];
        let to = if v6 { format!("[{b}]:5001") } else { b.clone() };
        let text = format!(
            "[node.a]\nkind = 'host'\naddress = '{a}/{length}'\ngateway = '{r0}'\n\
             program = [{{ run = 'bulk', to = '{to}', bytes = 'constant(300000)', count = 1 }}]\n\
             [node.r]\nkind = 'router'\n[[node.r.port]]\naddress = '{r0}/{length}'\n[[node.r.port]]\naddress = '{r1}/{length}'\nmtu = {mtu}\n\
             [node.b]\nkind = 'host'\naddress = '{b}/{length}'\ngateway = '{r1}'\nprogram = [{{ run = 'sink' }}]\n\
             [[link]]\nends = ['a.0', 'r.0']\nrate = '100 Mb/s'\n[[link]]\nends = ['r.1', 'b.0']\nrate = '100 Mb/s'\n"
        );
        let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{text}\n{faults}"));
        let options = Options {
            duration: Some(node::Time::from_secs(20)),
            ..Options::default()
        };
        let report = lab::run(&lab, World::Sim, &options).unwrap();
        let flow = report.outcome.nodes.iter().find(|node| node.name == "b");
        let bytes: u64 = flow.unwrap().flows.iter().map(|flow| flow.bytes).sum();
        assert_eq!(bytes, 300_000, "{mtu} {v6}\n{}", report.text(false));
        let router = report
            .outcome
            .nodes
            .iter()
            .find(|node| node.name == "r")
            .unwrap();
        let drops: u64 = router.drops.iter().map(|(_, count)| count).sum();
        // At most the first window is too long.
        assert!(
            drops <= if mtu < 1500 { 40 } else { 0 },
            "{mtu} {v6} {drops}"
        );
    }
}
