//! Programs in any language as nodes, in simulated time: they run unchanged, and time waits for them.

use lab::{LabError, Options, Report, World};
use std::collections::BTreeMap;
use std::path::Path;

/// Frames of VLAN 2 through a node, to a meter.
fn bed(node: &str) -> String {
    format!(
        "[node.a]\nkind = 'generator'\ngap = '16 us'\ncount = 100\nvlan = 2\n\
         [node.b]\nkind = 'meter'\n[node.x]\n{node}\n\
         [[link]]\nends = ['a.0', 'x.0']\n[[link]]\nends = ['x.1', 'b.0']\n"
    )
}

fn try_run(text: &str, allow_commands: bool) -> Result<Report, LabError> {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let options = Options {
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"),
        dry: true,
        allow_commands,
        ..Options::default()
    };
    lab::run(&lab, World::Sim, &options)
}

fn run(text: &str) -> Report {
    try_run(text, true).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn counters(report: &Report, name: &str) -> BTreeMap<String, u64> {
    let node = report.outcome.nodes.iter().find(|node| node.name == name);
    node.expect("it is there")
        .counters
        .iter()
        .cloned()
        .collect()
}

/// Packets at the meter, and the least and the longest delay and gap there, in ps.
fn seen(report: &Report) -> (u64, [u64; 4]) {
    let row = report
        .rows
        .iter()
        .find(|row| row.at == "b")
        .expect("the meter");
    let statistics = &row.statistics;
    let (delays, gaps) = (statistics.delay_histogram(), statistics.gap_histogram());
    let ends = [delays.min(), delays.max(), gaps.min(), gaps.max()];
    (statistics.packets(), ends)
}

#[test]
fn a_lab_runs_no_program_that_nobody_allowed() {
    let text = bed("kind = 'command'\ncommand = 'touch made-by-a-lab; cat'");
    let Err(error) = try_run(&text, false) else {
        panic!("it ran");
    };
    let said = error.to_string();
    assert!(
        said.contains("node `x` runs a program, `touch made-by-a-lab; cat`"),
        "{said}"
    );
    assert!(said.contains("--allow-commands"), "{said}");
}

#[test]
fn unchanged_programs_are_packet_functions() {
    for (command, packets) in [
        ("cat", 100),
        ("grep ' 8100 00 02 '", 100),
        ("grep ' 8100 00 01 '", 0),
        ("sed 's/8100 00 02 /8100 00 01 /'", 100),
        ("awk 'NR % 4 == 1'", 25),
        ("mawk 1 | sed s/a/b/ | cat", 100),
        ("tee /dev/null", 100),
        (
            "while read -r line; do echo \"$line\"; echo \"$line\"; done",
            200,
        ),
        (
            "python3 -c 'import sys\nfor line in sys.stdin: print(line, end=\"\")'",
            100,
        ),
    ] {
        for io in ["", "io = 'pipes'\n"] {
            // What keeps output back when it has no terminal is the user's to know.
            if !io.is_empty() && !matches!(command.split(' ').next(), Some("cat" | "tee" | "while"))
            {
                continue;
            }
            let report = run(&bed(&format!(
                "kind = 'command'\n{io}command = '''{command}'''"
            )));
            let (count, [shortest, longest, ..]) = seen(&report);
            assert_eq!(count, packets, "{command}");
            // Frames and preambles of two links, each 68 bytes at 10 Gb/s, less what a later copy waits for the first.
            let once = packets <= 100 && packets > 0;
            assert!(
                !once || shortest == longest,
                "{command}: {shortest} {longest}"
            );
        }
    }
}

#[test]
fn the_papers_scripts_keep_exact_time() {
    let script = |name: &str| format!("kind = 'command'\ncommand = 'bash scripts/{name}'");
    let (count, [shortest, longest, least, most]) = seen(&run(&bed(&script("delay.sh"))));
    // A second from first bit to first bit, and nothing else.
    let second = 1_000_000_000_000;
    assert_eq!((count, shortest, longest), (100, second, second));
    assert_eq!((least, most), (16_000_000, 16_000_000));
    let alone = "[node.x]\nkind = 'command'\nports = 1\ncommand = 'bash scripts/oneway.sh 50'\n\
         [node.b]\nkind = 'meter'\n[[link]]\nends = ['x.0', 'b.0']\n";
    let (count, [.., least, most]) = seen(&run(alone));
    assert_eq!((count, least, most), (50, 10_000_000_000, 10_000_000_000));
}

#[test]
fn a_stated_cost_passes() {
    let with = |cost| {
        let node = format!("kind = 'command'\ncommand = 'cat'\ncost = '{cost}'");
        seen(&run(&bed(&node))).1[0]
    };
    // At once is when the preamble has left, too.
    assert_eq!(with("15 us") - with("5 us"), 10_000_000);
    assert_eq!(with("5 us") - with("0 s"), 5_000_000 - 8 * 800);
}

#[test]
fn a_callback_answers_each_packet_and_knows_port_and_queue() {
    let program = r##"
import sys
known = {}
packets = 0
for line in sys.stdin:
    if line.startswith("#"):
        known.update(word.split("=") for word in line[1:].split())
        continue
    packets += 1
    assert known["port"] == "0" and int(known["rate.1"]) == 10_000_000
    if packets == 1: print("+1 " + line.strip())
    print(["through", "drop", line.strip().replace("8100 00 02", "8100 00 09")][packets % 3] if int(known["wait_ns.1"]) < 1_000_000 else "drop")
"##;
    let node = format!(
        "kind = 'callback'\nmetadata = ['port', 'queue', 'time']\nage = '0 s'\ncommand = '''python3 -c '{program}''''"
    );
    let text = bed(&node).replace("'b.0']", "'b.0']\nrate = '10 Mb/s'");
    let report = run(&text);
    let x = counters(&report, "x");
    assert_eq!(
        (x["packets"], x["injected"], x["unanswered"]),
        (100, 1, 0),
        "{x:?}"
    );
    // 68 bytes take 70 us at 10 Mb/s, and come every 16 us: more than a millisecond waits, and it drops.
    let drops = report.outcome.nodes.iter().flat_map(|node| &node.drops);
    let dropped: u64 = drops.map(|(_, count)| count).sum();
    assert!(
        x["through"] > 5 && x["modified"] > 5 && dropped > 40,
        "{x:?} {dropped}"
    );
    assert_eq!(x["through"] + x["modified"] + dropped, 100);
}

#[test]
fn a_program_is_woken_and_sends_packets_of_its_own() {
    let line = "FFFFFFFFFFFF 020000000001 88B5 00 00";
    let text = format!(
        "[lab]\nduration = '1 s'\n[node.x]\nkind = 'command'\nports = 1\nwake = '100 ms'\nmetadata = ['time']\n\
         command = 'while read -r line; do echo {line}; done'\n\
         [node.b]\nkind = 'meter'\n[[link]]\nends = ['x.0', 'b.0']\n"
    );
    let (count, [.., least, most]) = seen(&run(&text));
    // At 100 ms first: it is started at 0, and told nothing yet.
    assert_eq!((count, least, most), (9, 100_000_000_000, 100_000_000_000));
}

#[test]
fn a_program_that_ends_or_writes_nonsense_is_counted() {
    let report = run(&bed("kind = 'command'\ncommand = 'head -n 3'"));
    assert_eq!(seen(&report).0, 3);
    let drops = report.outcome.nodes.iter().flat_map(|node| &node.drops);
    let ended: Vec<_> = drops
        .map(|(what, count)| (what.to_string(), *count))
        .collect();
    assert_eq!(ended, [("the program has ended".to_string(), 97)]);
    let report = run(&bed("kind = 'command'\ncommand = 'sed s/8100/what/'"));
    assert_eq!((seen(&report).0, counters(&report, "x")["bad"]), (0, 100));
}

#[test]
fn keys_that_cannot_be_are_refused_with_the_reason() {
    for (keys, said) in [
        ("kind = 'command'", "command"),
        (
            "kind = 'command'\ncommand = ' '",
            "a command line for the shell",
        ),
        (
            "kind = 'command'\ncommand = 'cat'\nfail = 'open'",
            "unknown key `fail`",
        ),
        (
            "kind = 'callback'\ncommand = 'cat'\nback = 'cat'",
            "unknown key `back`",
        ),
        (
            "kind = 'command'\ncommand = 'cat'\nio = 'tty'",
            "terminal or pipes",
        ),
        (
            "kind = 'command'\ncommand = 'cat'\nmetadata = ['all']",
            "time, port, queue or interface",
        ),
        ("kind = 'command'\ncommand = 'cat'\nports = 3", "1 or 2"),
        (
            "kind = 'callback'\ncommand = 'cat'\nraw = true\nmetadata = ['port']",
            "leave `raw` out",
        ),
        (
            "kind = 'command'\ncommand = 'cat'\nwake = '0 s'",
            "a time above zero",
        ),
        (
            "kind = 'command'\ncommand = 'cat'\ntick = '1 s'",
            "1 ps to 4.29 ms",
        ),
    ] {
        let faults = lab::parse(&bed(keys))
            .err()
            .map(|faults| faults.to_string());
        let told = faults.unwrap_or_else(|| panic!("{keys} is taken"));
        assert!(told.contains(said), "{keys}: {told}");
    }
}
