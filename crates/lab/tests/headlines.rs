//! The first line of a report says what a suspicious reader would ask first.

use lab::{Options, Report, World};

fn run(text: &str) -> Report {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    lab::run(&lab, World::Sim, &Options::default()).unwrap()
}

fn told(text: &str) -> String {
    run(text).headline().text()
}

/// Generators that send to a sink by a link each, at a switch.
fn generators(keys: &[&str], link: &str) -> String {
    let ports = keys.len() + 1;
    let mut text = format!(
        "[node.s]\nkind = 'switch'\nports = {ports}\n[node.k]\nkind = 'sink'\n[[link]]\nends = ['s.0', 'k.0']\n{link}\n"
    );
    for (number, keys) in keys.iter().enumerate() {
        let port = number + 1;
        text += &format!(
            "[node.g{port}]\nkind = 'generator'\ngap = '10 us'\n{keys}\n[[link]]\nends = ['g{port}.0', 's.{port}']\n"
        );
    }
    text
}

#[test]
fn probes_behind_the_last_that_arrived_were_sent_too() {
    // The last 40 of 100 are lost, of which nothing tells in the sequence of what arrived.
    let told = told(&generators(&["count = 100"], "down = [['600 us', '1 s']]"));
    assert!(told.starts_with("60 of 100 probes arrived, "), "{told}");
}

#[test]
fn frames_without_probes_are_not_counted_as_probes_sent() {
    let pair = |name: &str, keys: &str| {
        format!(
            "[node.{name}]\nkind = 'generator'\ngap = '10 us'\n{keys}\n[node.{name}k]\nkind = 'sink'\n[[link]]\nends = ['{name}.0', '{name}k.0']\n"
        )
    };
    let both = pair("a", "count = 50") + &pair("b", "count = 30\nprobe = false");
    let told = told(&both);
    assert!(told.starts_with("50 of 50 probes arrived, "), "{told}");
}

#[test]
fn what_ends_where_nothing_is_measured_is_not_called_lost() {
    // A stream to two sinks, one of which is looked at by no capture and no meter.
    let text = "
        [node.g]\nkind = 'generator'\ngap = '10 us'\ncount = 100\nflows = 4
        [node.k]\nkind = 'meter'\n[node.h]\nkind = 'host'\nipv4 = '10.0.0.9'
        [[link]]\nends = ['g.0', 's.0']\n[[link]]\nends = ['s.1', 'k.0']\nloss = 0.5\n[[link]]\nends = ['s.2', 'h.0']
        [node.s]\nkind = 'switch'\nports = 3";
    let told = told(text);
    assert!(
        told.contains(" of 100 probes arrived where it is measured, "),
        "{told}"
    );
}

#[test]
fn probes_of_senders_with_one_stream_number_all_arrive_and_the_report_says_what_is_wrong() {
    let noted = |report: &Report| {
        let mut notes = report.notes.iter();
        notes.any(|note| note.contains("of one stream, "))
    };
    // The switch floods: each probe comes to the sink and to the other generator.
    for count in [1, 2, 7, 40] {
        let keys = format!("count = {count}");
        for (stream, notes) in [("", true), ("stream = 1", false)] {
            let report = run(&generators(&[&keys, &format!("{keys}\n{stream}")], ""));
            let told = report.headline().text();
            let all = format!("{} probes arrived, ", 4 * count);
            assert!(told.starts_with(&all), "{told}");
            assert_eq!(noted(&report), notes, "{:?}", report.notes);
        }
    }
    // Duplicates that a link makes are no probes that arrived.
    let report = run(&generators(&["count = 40"], "duplicate = 0.5"));
    let told = report.headline().text();
    assert!(told.starts_with("40 of 40 probes arrived, "), "{told}");
    assert!(!noted(&report));
}

#[test]
fn two_udp_programs_of_a_host_lose_nothing() {
    let program = |size: u32, keys: &str| {
        format!(
            "[[node.a.program]]\nrun = 'udp'\nto = '10.0.0.2:5001'\nrate = '10 Mb/s'\nsize = {size}\ncount = 3\n{keys}\n"
        )
    };
    for (keys, notes) in [("", 1), ("stream = 1", 0)] {
        let hosts = "[lab]\nduration = '1 s'\n[node.b]\nkind = 'host'\naddress = '10.0.0.2/24'\n[[node.b.program]]\nrun = 'sink'
            [[link]]\nends = ['a.0', 'b.0']\ndelay = '1 ms'\n[node.a]\nkind = 'host'\naddress = '10.0.0.1/24'\n";
        let report = run(&format!(
            "{hosts}{}{}",
            program(1472, ""),
            program(1473, keys)
        ));
        let told = report.headline().text();
        assert!(told.starts_with("6 of 6 probes arrived, "), "{told}");
        let noted = report
            .notes
            .iter()
            .filter(|note| note.contains("programs of `a` send probes of one stream, 0"));
        assert_eq!(noted.count(), notes, "{:?}", report.notes);
    }
}

#[test]
fn random_payloads_are_no_probes() {
    let text = generators(
        &["count = 30_000\ngap = '1 us'\nsize = 128\npayload = 'random'\nprobe = false"],
        "",
    );
    let report = run(&text.replace("gap = '10 us'\n", ""));
    for row in &report.rows {
        assert_eq!(
            (row.statistics.probes(), row.statistics.order().lost),
            (0, 0)
        );
    }
    assert_eq!(report.headline().arrived, None);
}

#[test]
fn nothing_sent_is_not_nothing_dropped() {
    let quiet = "[node.a]\nkind = 'host'\nipv4 = '10.0.0.1'\n[node.b]\nkind = 'host'\nipv4 = '10.0.0.2'\n[[link]]\nends = ['a.0', 'b.0']";
    assert_eq!(told(quiet), "nothing was sent");
    let told = told(&generators(&["count = 3"], ""));
    assert!(told.ends_with("no drops"), "{told}");
}

#[test]
fn pings_without_an_answer_come_first() {
    let lab = |program: &str| {
        format!(
            "[lab]\nduration = '10 s'\n[node.a]\nkind = 'host'\naddress = '10.0.0.1/24'\n[[node.a.program]]\n{program}
            [node.b]\nkind = 'host'\naddress = '10.0.0.2/24'\n[[link]]\nends = ['a.0', 'b.0']"
        )
    };
    let lost = told(&lab(
        "run = 'ping'\nto = '10.0.0.9'\ncount = 3\ninterval = '10 ms'",
    ));
    assert!(lost.starts_with("0 of 3 pings answered, "), "{lost}");
    let node = "[node.a]\nkind = 'ping'\nsource = '10.0.0.1'\ntarget = '10.0.0.9'\ncount = 2\ninterval = '10 ms'
        [node.b]\nkind = 'host'\nipv4 = '10.0.0.2'\n[[link]]\nends = ['a.0', 'b.0']";
    let lost = told(node);
    assert!(lost.starts_with("0 of "), "{lost}");
    let fine = told(&node.replace("10.0.0.9", "10.0.0.2"));
    assert!(
        fine.starts_with("2 of 2 pings answered, mean round trip"),
        "{fine}"
    );
}
