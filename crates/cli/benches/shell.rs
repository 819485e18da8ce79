//! `wire` beside the shell's own tools, on one file, in one run (paper 000 table 6.1).
//!
//! Every command writes into `cat > /dev/null`: grep that writes to /dev/null itself stops at the
//! first match. Megabytes are those of the file that is read. WIRE_BENCH_MB sets its size (default
//! 1000), WIRE_BENCH_RUNS how often each command runs (default 3, the best counts).
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use node::random::Random;
use packet::{Packet, Stamp, line, record};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let megabytes = number("WIRE_BENCH_MB", 1_000);
    let runs = number("WIRE_BENCH_RUNS", 3).max(1);
    let files = Files::make(megabytes * 1_000_000);
    let bench = Bench { runs };
    println!(
        "best of {runs}, {} of {megabytes} MB, frames of 60 bytes",
        files.folder.display()
    );
    files.forms(&bench);
    files.table(&bench);
}

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// A record file and a line file of about the same size; gone with this value.
struct Files {
    folder: PathBuf,
    records: String,
    lines: String,
}

impl Files {
    fn make(bytes: u64) -> Files {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() {
            memory
        } else {
            Path::new(env!("CARGO_TARGET_TMPDIR"))
        };
        let folder = parent.join(format!("wire-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the files");
        let form = line::Form {
            time: false,
            hash: false,
        };
        let path = |name| folder.join(name).display().to_string();
        let files = Files {
            records: path("records"),
            lines: path("lines"),
            folder,
        };
        fill(&files.records, bytes, |packet, out| {
            record::encode(packet, out)
        });
        fill(&files.lines, bytes, |packet, out| {
            line::encode(packet, form, out)
        });
        files
    }

    /// From one form to another.
    fn forms(&self, bench: &Bench) {
        let Files { records, lines, .. } = self;
        println!("\nfrom form to form                  MB/s   to cat  to xxd -p");
        let xxd = bench.rate(records, &format!("xxd -p {records}"));
        let cat = bench.rate(records, &format!("cat {records}"));
        let rows = [
            ("cat", cat),
            ("xxd -p", xxd),
            (
                "wire cat: records to lines",
                bench.rate(records, &format!("wire cat {records}")),
            ),
            (
                "wire cat --raw: lines to records",
                bench.rate(lines, &format!("wire cat --raw {lines}")),
            ),
            (
                "wire dump: records to pcapng",
                bench.rate(records, &format!("wire dump {records}")),
            ),
        ];
        for (name, rate) in rows {
            println!("{name:32} {rate:6.0} {:8.2} {:8.1}", rate / cat, rate / xxd);
        }
    }

    /// Paper 000 table 6.1, with the shell's tools and with `wire`.
    fn table(&self, bench: &Bench) {
        let lines = &self.lines;
        let rules: Vec<String> = (1..=5).map(|n| format!("0000000000{n:02X}")).collect();
        let grep = rules
            .iter()
            .map(|rule| format!("^{rule}"))
            .collect::<Vec<_>>()
            .join("|");
        let five: Vec<String> = rules.iter().map(|rule| format!("dst={rule}")).collect();
        let five = five.join(" ");
        println!("\nlines, 60-byte frames     shell MB/s  wire MB/s  wire to shell");
        for (name, shell, wire) in [
            (
                "capture",
                format!("cat {lines}"),
                format!("wire cat --no-time {lines}"),
            ),
            (
                "filter, one rule",
                format!("grep ^{} {lines}", rules[0]),
                format!("wire match dst={} -f {lines}", rules[0]),
            ),
            (
                "filter, five rules",
                format!("grep -E '{grep}' {lines}"),
                format!("wire match {five} -f {lines}"),
            ),
            (
                "decapsulation",
                format!("cut -d' ' -f4- {lines}"),
                format!("wire cut 4- {lines}"),
            ),
            (
                "header filter",
                format!("grep -E '{grep}' {lines}"),
                format!("wire cut ether --command \"grep -E '{grep}'\" {lines}"),
            ),
        ] {
            let [shell, wire] = bench.rates(lines, [&shell, &wire]);
            println!("{name:24} {shell:11.0} {wire:10.0} {:14.2}", wire / shell);
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Writes packets to 200 stations until the file is long enough.
fn fill(
    path: &str,
    bytes: u64,
    encode: impl Fn(&Packet<'_>, &mut Vec<u8>) -> Result<(), packet::BadLength>,
) {
    let mut file = BufWriter::new(std::fs::File::create(path).expect("a new file"));
    let mut frame = [0; 60];
    frame[6..14].copy_from_slice(&[0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0x08, 0x00]);
    let (mut random, mut written, mut text) = (Random::new(1), 0, Vec::new());
    let mut word = 0;
    while written < bytes {
        for byte in &mut frame[14..] {
            *byte = random.bits() as u8;
        }
        frame[5] = random.below(200) as u8;
        word += 8;
        text.clear();
        let packet = Packet {
            stamp: Some(Stamp::Word(word)),
            hash: None,
            bytes: &frame,
        };
        encode(&packet, &mut text).expect("60 bytes are a frame");
        file.write_all(&text).expect("room for the file");
        written += text.len() as u64;
    }
    file.flush().expect("room for the file");
}

struct Bench {
    runs: u64,
}

impl Bench {
    /// Megabytes of `file` a second that a command takes, at best.
    fn rate(&self, file: &str, command: &str) -> f64 {
        let [rate] = self.rates(file, [command]);
        rate
    }

    /// The same of several commands, which take turns: whatever else the machine does meets all.
    fn rates<const N: usize>(&self, file: &str, commands: [&str; N]) -> [f64; N] {
        let mut best = [0f64; N];
        for _ in 0..self.runs {
            for (best, command) in best.iter_mut().zip(commands) {
                *best = best.max(self.once(file, command));
            }
        }
        best
    }

    fn once(&self, file: &str, command: &str) -> f64 {
        let size = std::fs::metadata(file).expect("the file is there").len();
        let wire = Path::new(env!("CARGO_BIN_EXE_wire"))
            .parent()
            .expect("a file's folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let start = Instant::now();
        let status = Command::new("bash")
            .args(["-c", &format!("{command} | cat > /dev/null")])
            .env("PATH", format!("{}:{path}", wire.display()))
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{command}");
        size as f64 / 1e6 / start.elapsed().as_secs_f64()
    }
}
