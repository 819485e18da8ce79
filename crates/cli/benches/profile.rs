//! `wire profile` beside capinfos, tcpdump and tshark reading the same capture, in one run.
//!
//! WIRE_BENCH_PACKETS sets how many packets there are (default 2,000,000), WIRE_BENCH_RUNS how often
//! each command runs (default 3, the best counts). What is not installed is left out. `tshark -q -z
//! io,stat` and capinfos tell far less: they bound what reading costs.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use measure::probe::{self, Probe};
use node::Time;
use packet::capture::{Interface, PcapngWriter};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let packets = number("WIRE_BENCH_PACKETS", 2_000_000);
    let runs = number("WIRE_BENCH_RUNS", 3).max(1);
    let memory = Path::new("/dev/shm");
    let parent = match memory.is_dir() {
        true => memory,
        false => Path::new(env!("CARGO_TARGET_TMPDIR")),
    };
    let folder = parent.join(format!("wire-profile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    for size in [60, 1514] {
        // Of long frames fewer, so that the file stays small.
        let packets = if size > 1000 { packets / 8 } else { packets };
        let (before, behind) = (folder.join("before"), folder.join("behind"));
        std::fs::write(&before, capture(packets, size, 0)).expect("a file");
        std::fs::write(&behind, capture(packets, size, 5_000)).expect("a file");
        let (before, behind) = (before.display(), behind.display());
        println!("{packets} packets of {size} bytes, best of {runs}");
        let wire = env!("CARGO_BIN_EXE_wire");
        let mut first = None;
        for (name, script) in [
            (
                "wire profile",
                format!("{wire} profile {before} --rate 10Gb/s"),
            ),
            (
                "wire profile --compare",
                format!("{wire} profile --compare {before} {behind}"),
            ),
            ("capinfos", format!("capinfos {before}")),
            ("tcpdump -n > /dev/null", format!("tcpdump -n -r {before}")),
            (
                "tshark -q -z io,stat,1",
                format!("tshark -q -z io,stat,1 -r {before}"),
            ),
        ] {
            let Some(best) = (0..runs).map(|_| time(&script)).min_by(by_time).flatten() else {
                println!("  {name:26} not here");
                continue;
            };
            let base = *first.get_or_insert(best);
            let rate = packets as f64 / best / 1e6;
            println!(
                "  {name:26} {best:7.3} s  {rate:7.2} Mpackets/s  {:6.2} of wire profile",
                best / base
            );
        }
    }
    let _ = std::fs::remove_dir_all(folder);
}

fn by_time(a: &Option<f64>, b: &Option<f64>) -> std::cmp::Ordering {
    a.unwrap_or(f64::MAX).total_cmp(&b.unwrap_or(f64::MAX))
}

/// How long a command takes, in seconds; `None` if it does not run.
fn time(script: &str) -> Option<f64> {
    let begin = Instant::now();
    let status = Command::new("sh")
        .args(["-c", script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let took = begin.elapsed().as_secs_f64();
    status.is_ok_and(|status| status.success()).then_some(took)
}

/// Probes every 67.2 ns or as closely as they fit, `later` ps behind.
fn capture(packets: u64, size: usize, later: u128) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = PcapngWriter::default();
    writer.header("bench", &mut bytes);
    writer.interface(&Interface::default(), &mut bytes);
    let mut frame = vec![0u8; size];
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 64, 0, 64, 17]);
    frame[34..42].copy_from_slice(&[192, 0, 0, 9, 0, 26, 0, 0]);
    let apart = (size as u128 + 24) * 800;
    for n in 0..packets {
        let probe = Probe {
            stream: 0,
            sequence: n as u32,
            departure: Time::ZERO,
        };
        frame[42..42 + probe::LEN].copy_from_slice(&probe.to_bytes());
        writer.packet(
            0,
            1_700_000_000_000_000_000_000_000 + u128::from(n) * apart + later,
            &frame,
            &mut bytes,
        );
    }
    bytes
}

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    let value = value.and_then(|value| value.parse().ok());
    value.unwrap_or(default)
}
