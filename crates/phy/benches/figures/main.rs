//! The figures of SoNIC's evaluation (paper 002, sections 4.2.1 and 4.3): columns that `wire plot` draws.
//!
//! `cargo bench -p wireline-phy --bench figures -- packing` prints figure 4.4, `crc` figure 4.5, and
//! `throughput` figure 4.6; `all` prints the three. Rates are gigabits of frames, FCS included, in a second of
//! one core; `reference` is what a 10 Gb/s line carries of them. Times are the best of many short runs, on the
//! processor, since other programs load the machine.

mod crc;
mod packing;
mod throughput;

use std::time::Duration;

/// Frames in bytes with FCS.
const SIZES: [usize; 15] = [
    64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 896, 1024, 1152, 1280, 1518,
];
/// Preamble, start delimiter and gap, in bytes.
const OVERHEAD: usize = 20;
const RUNS: usize = 60;
/// How long each run lasts.
const RUN: Duration = Duration::from_millis(2);

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if !names.iter().any(|name| name == "--bench") {
        return;
    }
    names.retain(|name| !name.starts_with('-'));
    let wanted = |name: &str| names.iter().any(|known| known == name || known == "all");
    if names.is_empty() {
        println!("# cargo bench -p wireline-phy --bench figures -- packing|crc|throughput|all");
    }
    if wanted("packing") {
        packing::print();
    }
    if wanted("crc") {
        crc::print();
    }
    if wanted("throughput") {
        throughput::print();
    }
}

/// Gigabits a second of frames of `size` bytes that a line of 10 Gb/s carries.
fn reference(size: usize) -> f64 {
    10.0 * size as f64 / (size + OVERHEAD) as f64
}

/// Gigabits a second of `frames` of `size` bytes, of the best of many short runs.
fn rate(size: usize, frames: usize, mut run: impl FnMut()) -> f64 {
    let mut time = |times: usize| {
        let start = on_processor();
        (0..times).for_each(|_| run());
        on_processor() - start
    };
    // Once for pages and caches; then as often as a run is to last.
    time(1);
    let once = time(1).as_nanos().max(1);
    let times = (RUN.as_nanos() / once).max(1) as usize;
    let best = (0..RUNS).map(|_| time(times)).min().unwrap_or_default();
    (8 * size * frames * times) as f64 / best.as_secs_f64() / 1e9
}

/// How long this thread has been on a processor.
fn on_processor() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A row of columns.
fn row(size: usize, rates: &[f64]) {
    let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:9.3}")).collect();
    println!("{size:5} {}", rates.join(" "));
}

/// Bytes without a pattern.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(|_| byte()).collect()
}
