//! Runs p4c's test programs, from a checkout of it that is not ours: what is accepted, what is rejected, what passes its test, and why not.
//!
//! `cargo run --release -p wireline-cli --example conformance -- DIR [WORD]... [--report FILE]`, where DIR is p4c's `testdata`. Only programs whose
//! path has one of the WORDs are run. Counts per class go to standard output, behind the names of those that went wrong;
//! the report has for each program what we say, and for the invalid ones beside it what p4c says.
//!
//! Each program has a process of its own, so that a panic, an overflow of the stack or a hang is counted and named.

mod child;
mod class;
mod p4info;
mod targets;

use class::{Class, Job};
use lab::engine::EngineKind;
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
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = arguments.as_slice()
        && first == "--one"
    {
        std::process::exit(child::run(rest));
    }
    let (mut root, mut words, mut report) = (None, Vec::new(), None);
    let mut arguments = arguments.into_iter();
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
    let mut engines = vec!["reference", "fast"];
    engines.retain(|engine| engine.parse::<EngineKind>().is_ok());
    let jobs = class::jobs(&root, &words, &engines);
    let results = run_all(&jobs);
    print!("{}", summary(&jobs, &results));
    if let Some(report) = report {
        std::fs::write(&report, details(&jobs, &results)).expect("the report can be written");
        println!("report: {report}");
    }
}

fn run_all(jobs: &[Job]) -> Vec<Ran> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Ran>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ran = child::spawn(&job.arguments);
                    let mut results = results.lock().expect("no thread panics");
                    results.insert(job.number, ran);
                }
            });
        }
    });
    let results = results.into_inner().expect("no thread panics");
    results.into_values().collect()
}

fn summary(jobs: &[Job], results: &[Ran]) -> String {
    let mut classes: BTreeMap<(Class, &str), (usize, Vec<String>)> = BTreeMap::new();
    for (job, ran) in jobs.iter().zip(results) {
        let (count, wrong) = classes.entry((job.class, &job.what)).or_default();
        *count += 1;
        if !job.right(ran.outcome) {
            let mut lines = ran.said.lines();
            let first = lines.find(|l| l.contains("error: ") || l.contains("panicked"));
            let first = first.unwrap_or("").trim();
            let reason = first
                .split_once("error: ")
                .map_or(first, |(_, reason)| reason);
            wrong.push(format!("  {} {:?}: {reason}", job.name(), ran.outcome));
        }
    }
    let mut out = String::new();
    for ((class, what), (count, wrong)) in &classes {
        for line in wrong {
            let _ = writeln!(out, "{line}");
        }
        let _ = writeln!(
            out,
            "{class}, {what}: {} of {count} right",
            count - wrong.len()
        );
    }
    out
}

fn details(jobs: &[Job], results: &[Ran]) -> String {
    let mut text = String::new();
    for (job, ran) in jobs.iter().zip(results) {
        let wrong = if job.right(ran.outcome) { "" } else { "WRONG " };
        let _ = writeln!(
            text,
            "==== {wrong}{:?} {} {}: {:?}\n{}",
            job.class,
            job.name(),
            job.what,
            ran.outcome,
            ran.said.trim_end()
        );
        if let Some(theirs) = job.expected() {
            let _ = writeln!(text, "---- p4c says\n{}", theirs.trim_end());
        }
    }
    text
}
