//! Runs p4c's test programs, from a checkout of it that is not ours: what is accepted, what is rejected, and why.
//!
//! `cargo run --release -p wireline-cli --example conformance -- DIR [WORD]... [--report FILE]`, where DIR is p4c's `testdata`. Only programs whose
//! path has one of the WORDs are run. Counts per class go to standard output, with the names of those that went wrong;
//! the report has for each program what we say, and for the invalid ones beside it what p4c says.
//!
//! Each program has a process of its own, so that a panic, an overflow of the stack or a hang is counted and named.

mod child;
mod class;

use class::{Class, Program};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What became of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Accepted,
    Rejected,
    Panicked,
    Hung,
}

struct Ran {
    outcome: Outcome,
    said: String,
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|a| a == "--one") {
        let path = arguments.nth(1).unwrap_or_default();
        std::process::exit(child::run(&PathBuf::from(path)));
    }
    let (mut root, mut words, mut report) = (None, Vec::new(), None);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--report" => report = arguments.next(),
            _ if root.is_none() => root = Some(PathBuf::from(argument)),
            _ => words.push(argument),
        }
    }
    let Some(root) = root.filter(|root| root.is_dir()) else {
        println!("conformance: skipped: give the folder testdata of a checkout of p4c");
        return;
    };
    let programs = class::programs(&root, &words);
    let results = run_all(&programs);
    let mut text = String::new();
    print!("{}", summary(&programs, &results));
    for (program, ran) in programs.iter().zip(&results) {
        let wrong = if program.right(ran.outcome) {
            ""
        } else {
            "WRONG "
        };
        let _ = writeln!(
            text,
            "==== {wrong}{:?} {} {:?}\n{}",
            program.class,
            program.name(),
            ran.outcome,
            ran.said.trim_end()
        );
        if let Some(theirs) = program.expected() {
            let _ = writeln!(text, "---- p4c says\n{}", theirs.trim_end());
        }
    }
    if let Some(report) = report {
        std::fs::write(&report, text).expect("the report can be written");
        println!("report: {report}");
    }
}

fn run_all(programs: &[Program]) -> Vec<Ran> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Ran>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ran = child::spawn(&program.path);
                    let mut results = results.lock().expect("no thread panics");
                    results.insert(program.number, ran);
                }
            });
        }
    });
    let results = results.into_inner().expect("no thread panics");
    results.into_values().collect()
}

fn summary(programs: &[Program], results: &[Ran]) -> String {
    let mut classes: BTreeMap<Class, (usize, Vec<String>)> = BTreeMap::new();
    for (program, ran) in programs.iter().zip(results) {
        let (count, wrong) = classes.entry(program.class).or_default();
        *count += 1;
        if !program.right(ran.outcome) {
            let first = ran
                .said
                .lines()
                .find(|l| l.contains("error: ") || l.contains("panicked"));
            let first = first.unwrap_or("").trim();
            let reason = first
                .split_once("error: ")
                .map_or(first, |(_, reason)| reason);
            wrong.push(format!("  {} {:?}: {reason}", program.name(), ran.outcome));
        }
    }
    let mut out = String::new();
    for (class, (count, wrong)) in &classes {
        for line in wrong {
            let _ = writeln!(out, "{line}");
        }
        let _ = writeln!(out, "{class}: {} of {count} right", count - wrong.len());
    }
    out
}
