//! `wire phy bench`: the figures of SoNIC's evaluation (paper 002, sections 4.2.1 and 4.3) on this machine.

mod crc;
mod packing;
mod throughput;

use crate::Verdict;
use crate::output::{Buffering, Output};
use node::link;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Frames in bytes with FCS.
const SIZES: [usize; 15] = [
    64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 896, 1024, 1152, 1280, 1518,
];
const RUNS: usize = 60;
/// How long each run lasts.
const RUN: Duration = Duration::from_millis(2);

/// Measure the PHY in software on one core: packing, CRC, generator and capturer
///
/// Columns that `wire plot` draws: gigabits of frames, FCS included, in a second of one core, by the length
/// of frames; `reference` is what a 10 Gb/s line carries of them. Each is the best of 60 runs, in time on the
/// processor, since other programs load the machine.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire phy bench crc
  wire phy bench throughput > throughput.txt && wire plot throughput.txt -o throughput.svg")]
pub struct Bench {
    /// Figure 4.4, 4.5 or 4.6 of SoNIC; without it all three
    figure: Option<Which>,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Frames that share a buffer, by 2 to 32, beside one in each (figure 4.4)
    Packing,
    /// The frame check sequence by three algorithms (figure 4.5)
    Crc,
    /// Frames to the line and back (figure 4.6)
    Throughput,
}

impl Bench {
    /// Prints the figures, row by row.
    pub fn run(self) -> anyhow::Result<Verdict> {
        if cfg!(debug_assertions) {
            eprintln!(
                "wire: this build is not optimised: its rates say nothing of the algorithms; see `make build`"
            );
        }
        let mut table = Rows {
            output: Output::open(&Buffering::default())?,
        };
        let wanted = |which| self.figure.is_none_or(|figure| figure == which);
        if wanted(Which::Packing) {
            packing::print(&mut table)?;
        }
        if wanted(Which::Crc) {
            crc::print(&mut table)?;
        }
        if wanted(Which::Throughput) {
            throughput::print(&mut table)?;
        }
        table.output.finish()?;
        Ok(Verdict::Good)
    }
}

/// Rows of columns, each written when it is there.
struct Rows {
    output: Output,
}

impl Rows {
    fn head(&mut self, names: &str) -> anyhow::Result<()> {
        self.output.tell(&format!("{names}\n"))
    }

    fn row(&mut self, size: usize, rates: &[f64]) -> anyhow::Result<()> {
        let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:9.3}")).collect();
        self.output.tell(&format!("{size:5} {}\n", rates.join(" ")))
    }
}

/// Gigabits a second of frames of `size` bytes that a line of 10 Gb/s carries.
fn reference(size: usize) -> f64 {
    10.0 * size as f64 / link::on_wire(size - link::FCS) as f64
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
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Bytes without a pattern.
fn noise(len: usize) -> Vec<u8> {
    let mut random = node::random::Random::new(1);
    let words = std::iter::repeat_with(|| random.bits().to_le_bytes());
    words.flatten().take(len).collect()
}
