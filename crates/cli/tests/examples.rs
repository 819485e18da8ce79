//! Every example in the help runs as it stands.

use crate::shell::{Ended, Place, is_root, lines, prepare};
use live::netns::{Namespace, VethEnd, veth};
use std::process::Command;

/// The commands whose help there is.
fn commands() -> Vec<String> {
    let out = Place::new("help").run("wire --help").good();
    let (_, list) = out.split_once("Packets:\n").unwrap();
    // Groups with their titles. Programs that are installed next to the command have tests of their own.
    let is_own = |line: &&str| !line.is_empty() && *line != "Installed programs:";
    let names = list.lines().take_while(is_own);
    let mut names: Vec<String> = names
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .map(Into::into)
        .collect();
    names.push("man".into());
    let below = ["encode", "decode", "lock", "inspect"];
    names.extend(below.map(|name| format!("phy {name}")));
    names
}

/// The examples in a command's help.
fn examples(command: &str) -> Vec<String> {
    let mut help = Command::new("wire");
    let output = prepare(help.args(command.split(' ')).arg("--help"))
        .output()
        .unwrap();
    let help = Ended::new(output).good();
    let (_, examples) = help.split_once("Example").unwrap();
    let lines = examples.lines().skip(1).map(|line| line.trim().to_string());
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_example_in_the_help_runs() {
    let place = Place::new("examples");
    place.write("t.lines", lines(500));
    let (program, tests) = (
        include_str!("../../../examples/p4-l2l3/l2l3.p4"),
        include_str!("../../../examples/p4-l2l3/l2l3.stf"),
    );
    place.write("router.p4", program);
    place.write("router.stf", tests);
    place.run("mv t.lines trace.lines; wire dump trace.lines -o trace.pcapng; cp trace.pcapng dns.pcapng; wire gen --count 500 --size 200 --gap 1us --payload text | wire dump -o monday.pcapng; cp trace.pcapng before.pcapng; cp trace.pcapng behind.pcapng; mkdir -p ports target/man home/.local/share/bash-completion/completions").good();
    let rooted = is_root("examples with ports");
    let namespace = rooted.then(network);
    let mut run = 0;
    for command in commands() {
        for example in examples(&command) {
            // What serves for ever, shows a page, or speaks to somebody else, is for its own tests.
            let others = [
                "of ctl",
                "of switch",
                "of controller",
                "of cbench",
                "relay run",
                "relay bench",
            ];
            let is_other = others.iter().any(|other| example.contains(other));
            if is_other
                || matches!(
                    command.as_str(),
                    "mount" | "lab" | "sync" | "clock" | "probe" | "middlebox" | "paxos"
                )
            {
                continue;
            }
            let needs_port = ["eth", "tap ", "tap:", "wire run", " any "]
                .iter()
                .any(|word| example.contains(word));
            if needs_port && !rooted {
                println!("skipped: {example} needs root, for a port");
                continue;
            }
            let script = example
                .replace("/dev/ethpipe/0", "ports/0")
                .replace("/dev/ethpipe/1", "ports/1")
                .replace("~/", "home/")
                .replace("man -l", "head -1")
                .replace("--loop 10", "--loop 2")
                .replace("--duration 60", "--duration 1")
                .replace("--duration 10", "--duration 1");
            // What runs until Ctrl-C gets it; what waits for packets gets some.
            let serves = matches!(command.as_str(), "run" | "tap" | "delay");
            let listens = ["wire cat eth0", "wire dump eth0"];
            let endless = serves || listens.iter().any(|words| script.contains(words));
            let script = match endless {
                true => format!(
                    "touch ports/0; (sleep 0.4; timeout 5 wire gen eth1 --count 100 2>/dev/null) & \
                     timeout --preserve-status -k 3 -s INT 1 bash -c \"{script}\"; code=$?; wait; \
                     [ $code = 0 ] || [ $code = 130 ]"
                ),
                false => script,
            };
            // `head` leaves its grep with a broken pipe.
            let script = format!("set +o pipefail; {script}");
            let bash = match &namespace {
                Some(namespace) => namespace.command("timeout"),
                None => Command::new("timeout"),
            };
            let ended = place.run_by(bash, &script);
            if ended.lacks_a_program(&example) {
                continue;
            }
            assert_eq!(ended.code, Some(0), "{example}\n{}{}", ended.out, ended.err);
            run += 1;
        }
    }
    assert!(run >= 10, "only {run} examples ran");
}

#[test]
fn every_example_in_the_book_runs() {
    if !is_root("the book's examples, some of which have ports") {
        return;
    }
    let place = Place::new("book");
    place.write("trace.lines", lines(500));
    place
        .run(
            "wire dump trace.lines -o trace.pcapng
            wire gen --count 500 --size 200 --gap 1us --payload text | wire dump -o monday.pcapng
            cp monday.pcapng tuesday.pcapng; cp trace.pcapng tls.pcapng",
        )
        .good();
    let namespace = network();
    let pages = [
        include_str!("../../../docs/book/src/commands.md"),
        include_str!("../../../docs/book/src/coming-from-tcpdump.md"),
        include_str!("../../../docs/book/src/coming-from-scapy.md"),
        include_str!("../../../docs/book/src/coming-from-tc.md"),
    ];
    let mut run = 0;
    for block in pages.iter().flat_map(|page| page.split("```sh\n").skip(1)) {
        let (examples, _) = block.split_once("```").unwrap();
        for example in examples.lines() {
            let ended = place.run_by(namespace.command("timeout"), example);
            if ended.lacks_a_program(example) {
                continue;
            }
            // `head` may leave the others with a broken pipe.
            let fine = matches!(ended.code, Some(0 | 141));
            assert!(fine, "{example}\n{}{}", ended.out, ended.err);
            run += 1;
        }
    }
    assert!(run >= 20, "only {run} examples ran");
}

#[test]
fn the_tutorial_answers_as_it_says() {
    let place = Place::new("tutorial");
    let page = include_str!("../../../docs/book/src/tutorial.md");
    let mut run = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        if language == "toml" {
            place.write("hello.toml", format!("{text}\n"));
        }
        // A block without a command shows a part of an answer.
        for answer in text.split("$ ").skip(1).filter(|_| language == "console") {
            let (command, said) = answer.split_once('\n').unwrap();
            let ended = place.run(&format!("({command}) 2>&1"));
            assert_eq!(ended.out.trim_end(), said.trim_end(), "{command}");
            run += 1;
        }
    }
    assert!(run >= 6, "only {run} commands ran");
}

/// A namespace with the ports that the examples name.
fn network() -> Namespace {
    let namespace = Namespace::new().unwrap();
    let end = |name| VethEnd {
        namespace: &namespace,
        name,
        mac: None,
    };
    veth([end("eth0"), end("eth1")], 1500).unwrap();
    veth([end("eth2"), end("eth3")], 1500).unwrap();
    // Who answers behind eth0.
    namespace
        .add_address("eth1", [10, 0, 0, 2].into(), 24)
        .unwrap();
    namespace
}
