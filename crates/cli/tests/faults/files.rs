//! Commands that read files and write files.

use super::case::{Case, packets};
use super::inject::{self, DESCRIPTORS, DISK, Fault, READING, STARTING, WAITING, sample};
use crate::shell::{Place, lines};
use std::collections::BTreeMap;

const LAB: &str = include_str!("lab.toml");
const PROGRAM: &str = include_str!("../../../../examples/p4-l2l3/l2l3.p4");

type Entry = (&'static str, &'static str, &'static [&'static str]);

/// Every command that writes from what it reads: its name, the line, and the files that it writes.
pub const COMMANDS: &[Entry] = &[
    ("cat", "wire cat t.lines", &[]),
    ("cat-raw", "wire cat --raw t.lines", &[]),
    ("cat-gzip", "wire cat t.lines.gz", &[]),
    ("dump", "wire dump t.lines -o out", &["out"]),
    ("dump-stdout", "wire dump t.lines", &[]),
    (
        "dump-pcap",
        "wire dump --pcap --summary t.lines -o out",
        &["out"],
    ),
    ("undump", "wire undump t.pcapng", &[]),
    ("cut", "wire cut ip.src,dport t.lines", &[]),
    (
        "cut-command",
        "wire cut dst --command ./filter t.lines",
        &[],
    ),
    ("match", "wire match type=0806 -f t.lines", &[]),
    ("gen", "wire gen --count 4000 --imix", &[]),
    (
        "profile",
        "wire profile t.lines --json --plot out.svg",
        &["out.svg"],
    ),
    ("plot", "wire plot numbers -o out.png", &["out.png"]),
    (
        "phy-encode",
        "wire phy encode few.pcapng -o out.phy",
        &["out.phy"],
    ),
    ("phy-decode", "wire phy decode few.phy", &[]),
    (
        "phy-decode-o",
        "wire phy decode few.phy --pcapng -o out",
        &["out"],
    ),
    ("covert-encode", "wire covert encode attack few.lines", &[]),
    (
        "p4-fmt",
        "wire p4 fmt --write one.p4 two.p4",
        &["one.p4", "two.p4"],
    ),
    ("p4-fmt-stdout", "wire p4 fmt one.p4", &[]),
    (
        "train",
        "wire relay train made.lines -o out.dict",
        &["out.dict"],
    ),
    (
        "lab",
        "wire lab lab.toml --json",
        &["out/seen.pcapng", "out/seen.svg"],
    ),
];

/// A command with its inputs in place.
pub fn case(topic: &str, command: &Entry) -> Case {
    let &(name, line, outputs) = command;
    let place = Place::new(&format!("faults-{topic}-{name}"));
    let wants = |name| line.contains(name);
    if wants("t.lines") || wants("t.pcapng") {
        place.write("t.lines", lines(6_000));
    }
    if wants("few") {
        place.write("few.lines", lines(800));
    }
    let made = |script: &str| {
        drop(
            place
                .run(&format!("{{ {script}; }} 2> said; rm said"))
                .good(),
        )
    };
    if wants("made.lines") {
        made("wire gen --count 2000 > made.lines");
    }
    if wants("t.lines.gz") {
        made("gzip -n t.lines");
    }
    if wants("t.pcapng") {
        made("wire dump t.lines -o t.pcapng; rm t.lines");
    }
    if wants("few.pcapng") {
        made("wire dump few.lines -o few.pcapng; rm few.lines");
    }
    if wants("few.phy") {
        made("wire phy encode few.lines -o few.phy; rm few.lines");
    }
    if wants("numbers") {
        made("seq 300 | awk '{print $1, $1^2}' > numbers");
    }
    if wants("./filter") {
        // The exit code 1, which cat has for faults, is that of a filter which lets nothing pass.
        place.write("filter", "#!/bin/sh\ncat || exit 2\n");
        made("chmod +x filter");
    }
    if wants("p4 fmt") {
        let untidy = PROGRAM.replace("    ", "\t ");
        place.write("one.p4", &untidy);
        place.write("two.p4", &untidy);
    }
    if wants("lab.toml") {
        place.write("lab.toml", LAB);
    }
    Case::new(place, line, outputs)
}

/// Runs every command with an error at some of its calls, one call at a time; what is wrong with the endings.
pub fn each(topic: &str, calls: &'static str, what: &'static str, most: usize) {
    if !inject::works(topic) {
        return;
    }
    let mut wrong = Vec::new();
    let mut runs = 0;
    for command in COMMANDS {
        // Ctrl-C reaches the filter and the command; strace's signal only one of them.
        if what.starts_with("signal") && command.0 == "cut-command" {
            continue;
        }
        let case = case(topic, command);
        let mut hits = 0;
        let made = case.calls(calls);
        let any = !made.is_empty();
        for place in sample(made, most) {
            let fault = Fault::at(what, &place);
            let ending = case.run(calls, Some(&fault));
            hits += ending.run.hits();
            runs += 1;
            if let Err(why) = case.judge(&ending, what.starts_with("signal")) {
                wrong.push(case.told(&ending, &fault, &why));
            }
        }
        assert!(hits > 0 || !any, "{}: no fault came about", command.1);
    }
    println!("{topic}: {runs} runs");
    assert!(
        wrong.is_empty(),
        "{} of {runs} runs:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_full_disk_leaves_the_old_file_and_says_so() {
    each("full", DISK, "error=ENOSPC", 8);
}

#[test]
fn what_cannot_be_read_is_not_taken_for_the_end() {
    each("unread", READING, "error=EIO", 6);
}

#[test]
fn without_descriptors_there_is_a_message_and_nothing_half_done() {
    each("descriptors", DESCRIPTORS, "error=EMFILE", 6);
}

#[test]
fn a_command_that_can_start_neither_thread_nor_process_says_so() {
    each("starting", STARTING, "error=EAGAIN", 4);
}

#[test]
fn an_interrupted_call_is_made_again() {
    let topic = "interrupted";
    if !inject::works(topic) {
        return;
    }
    let mut wrong = Vec::new();
    for command in COMMANDS {
        let case = case(topic, command);
        let calls = case.calls(WAITING);
        let mut every_second = BTreeMap::new();
        for (name, nth) in &calls {
            every_second
                .entry(name.clone())
                .or_insert(format!("{nth}+2"));
        }
        let what = "error=EINTR";
        let mut faults: Vec<Fault> = sample(calls, 5)
            .iter()
            .map(|place| Fault::at(what, place))
            .collect();
        faults.push(Fault {
            what,
            when: every_second.into_iter().collect(),
        });
        for fault in faults {
            let ending = case.run(WAITING, Some(&fault));
            let judged = case
                .judge(&ending, false)
                .and_then(|()| match ending.run.code {
                    Some(0) => Ok(()),
                    _ => Err("it gave up".into()),
                });
            if let Err(why) = judged {
                wrong.push(case.told(&ending, &fault, &why));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_comparison_of_packets_sees_what_is_missing_changed_or_cut() {
    let text = lines(3);
    let (all, sound) = packets(text.as_bytes());
    assert_eq!((all.len(), sound), (3, true));
    let (cut, sound) = packets(&text.as_bytes()[..text.len() - 4]);
    assert!(!all.starts_with(&cut) || !sound);
    assert_ne!(packets(text.replace("0806", "0807").as_bytes()).0, all);
}
