//! Paxos processes on one machine, with and without state files, compared with the disk's own fdatasync rate in one run.
//!
//! Three acceptors, a coordinator and a replica talk over the loopback. PAXOS_BENCH_CLIENTS is how many clients ask in a closed loop (default 128),
//! PAXOS_BENCH_COUNT how many operations each asks for (default 200), PAXOS_BENCH_ROUNDS how many rounds there are (default 7), PAXOS_BENCH_STATE
//! where the files are (default target/tmp), WIRE the program (default the one that cargo built).
//!
//! A round measures both kinds, in alternating order, and the disk: other work on the machine, which changes from minute to
//! minute, affects them alike. The ratio is the median over the rounds.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let text = |name: &str, default: &str| std::env::var(name).unwrap_or(default.into());
    let wire = text("WIRE", env!("CARGO_BIN_EXE_wire"));
    let parent = PathBuf::from(text("PAXOS_BENCH_STATE", env!("CARGO_TARGET_TMPDIR")));
    let folder = parent.join(format!("paxos-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the files");
    let load = [
        text("PAXOS_BENCH_CLIENTS", "128"),
        text("PAXOS_BENCH_COUNT", "200"),
    ];
    let rounds: usize = text("PAXOS_BENCH_ROUNDS", "7")
        .parse()
        .expect("a number of rounds");
    let (mut syncs, mut with, mut without) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        syncs.push(syncs_a_second(&folder.join("syncs")));
        let keeps_first = round % 2 == 0;
        for keeps in [keeps_first, !keeps_first] {
            let rate = rate(
                &wire,
                &folder.join(format!("{round}-{keeps}")),
                keeps,
                &load,
            );
            match keeps {
                true => with.push(rate),
                false => without.push(rate),
            }
        }
        let [disk, with, without] = [&syncs, &with, &without].map(|rates| rates[round]);
        println!("round {round}: disk {disk:.0}, without {without:.0}, with {with:.0}");
    }
    let ratios = with
        .iter()
        .zip(&without)
        .map(|(with, without)| with / without);
    let ratio = median(ratios.collect());
    let [syncs, with, without] = [syncs, with, without].map(median);
    println!(
        "{} clients, files in {}, medians of {rounds} rounds",
        load[0],
        parent.display()
    );
    println!("the disk alone    {syncs:>8.0} appends with fdatasync a second");
    println!("without files     {without:>8.0} operations a second");
    println!(
        "with files        {with:>8.0} operations a second: {ratio:.2} of without, {:.1} for each fdatasync that the disk could do",
        with / syncs
    );
    fs::remove_dir_all(folder).expect("the folder goes");
}

/// Appends of one vote with fdatasync per second.
fn syncs_a_second(path: &Path) -> f64 {
    let mut file = File::create(path).expect("a file");
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(1) {
        file.write_all(&[1; 140]).expect("a write");
        file.sync_data().expect("a sync");
        count += 1;
    }
    f64::from(count) / begun.elapsed().as_secs_f64()
}

/// Operations a second by a group of its own.
fn rate(wire: &str, folder: &Path, keeps: bool, [clients, count]: &[String; 2]) -> f64 {
    let [_, a, b, c] = (std::process::id() ^ u32::from(keeps) << 16).to_be_bytes();
    let group = format!("239.{a}.{b}.{c}");
    let on = format!("multicast:{group}:57021@127.0.0.1");
    let start = |words: &[&str]| {
        let mut command = Command::new(wire);
        command.arg("run").args(words);
        command.args(["--set", &format!("group={group}"), "--on", &on]);
        command
            .arg("--set")
            .arg(format!("state={}", folder.display()));
        command.arg("--set").arg(format!("volatile={}", !keeps));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ended(command.spawn().expect("wire runs"))
    };
    let _group = [
        start(&["paxos-acceptor", "--set", "id=0"]),
        start(&["paxos-acceptor", "--set", "id=1"]),
        start(&["paxos-acceptor", "--set", "id=2"]),
        start(&["paxos-coordinator"]),
        start(&["paxos-replica"]),
    ];
    let load = |clients: &str, count: &str| {
        let mut command = Command::new(wire);
        command.args(["paxos", "load", "--on", &on, "--duration", "60s"]);
        command.args(["--clients", clients, "--count", count]);
        let ended = command.output().expect("wire runs");
        let output = String::from_utf8_lossy(&ended.stdout).into_owned();
        let rate = output
            .split(" a second")
            .next()
            .and_then(|all| all.rsplit(' ').next());
        let rate = rate.and_then(|rate| rate.parse::<f64>().ok());
        let error = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{output}{error}");
        rate.unwrap_or_else(|| panic!("no rate in {output:?}"))
    };
    // Once there is a leader, it counts.
    load("1", "10");
    load(clients, count)
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// A process that ends with this value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
