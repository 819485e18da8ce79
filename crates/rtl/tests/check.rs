//! `wire-rtl check`: the commands of the papers' rows, and what a run prints.

use super::{EXAMPLES, folder, good, run};
use std::path::Path;
use std::process::Command;

/// The rows of the papers.
const ROWS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/src/papers");

#[test]
fn each_row_of_the_papers_names_a_check_that_there_is() {
    let mut commands = 0;
    for file in std::fs::read_dir(ROWS).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().filter_map(|line| {
            let command = line.strip_prefix("command = \"wire-rtl check ")?;
            command.strip_suffix('"')
        });
        for line in lines {
            let words = std::iter::once("check").chain(line.split(' '));
            let words: Vec<&str> = words.chain(["--help"]).collect();
            assert!(run(&words).status.success(), "{line}");
            commands += 1;
        }
    }
    assert!(commands >= 3, "{commands}");
    assert_eq!(run(&["check", "no-block"]).status.code(), Some(2));
}

#[test]
fn a_check_of_a_seed_says_how_often_each_thing_happened() {
    let Some(text) = good(&["check", "dtp", "--seed", "5", "--runs", "2"]) else {
        return;
    };
    assert!(text.ends_with("no difference\n"), "{text}");
    assert!(text.contains(" set_beacon_interval\n"), "{text}");
}

#[test]
fn the_fifth_tick_is_that_of_the_papers_algorithms() {
    if good(&["check", "dtp-bound", "--phase", "0"]).is_none() {
        return;
    }
    let bin = folder("fifth-tick");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_wire-rtl"), bin.join("wire-rtl")).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(Path::new(EXAMPLES).join("dtp/fifth-tick.sh"))
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("\ngreatest offset: 5 ticks\n"), "{told}");
    assert!(told.ends_with("Verilog and software: the same\n"), "{told}");
}
