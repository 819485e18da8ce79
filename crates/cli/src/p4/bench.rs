//! `wire p4 bench`: how fast a program runs here.

use super::control::carry_out;
use super::source::Reading;
use crate::Verdict;
use crate::complaints::Strictness;
use crate::output::{Buffering, Output};
use crate::select::{Filter, Selector};
use ::capture::clock::now_ns;
use ::pipeline::architecture::{Config, Drop, Output as Leaves};
use ::pipeline::control::Control;
use ::pipeline::environment::Options;
use anyhow::{anyhow, ensure};
use confine::Permissions;
use lab::engine::{EngineKind, Engines, describe};
use node::Time;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Measure how many packets a second a program can do, in memory, in both engines
///
/// The packets of the file come round and round, on one core. The best and the median of rounds of a millisecond: what others do on this machine
/// meanwhile makes rounds slower, never faster.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire p4 bench router.p4 --entries entries.txt trace.pcapng")]
pub struct Bench {
    /// The program
    program: PathBuf,
    /// Packets: lines, records or a capture
    packets: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// A file of commands for the control plane
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    /// The port by which the packets come in
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u32,
    /// How long each engine runs
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds, default_value = "1s")]
    duration: Time,
    /// A line of JSON for each engine on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    strictness: Strictness,
}

/// Counts what leaves.
#[derive(Default)]
struct Counted {
    sent: u64,
    dropped: u64,
}

impl Leaves for Counted {
    fn send(&mut self, _port: u32, _bytes: &[u8]) {
        self.sent += 1;
    }
    fn drop(&mut self, _reason: Drop) {
        self.dropped += 1;
    }
}

/// How many packets see the tables at one moment.
const BATCH: usize = 256;
/// How long a round takes at least.
const ROUND: Duration = Duration::from_millis(1);

/// How long it is since.
fn elapsed(since: u64) -> Duration {
    Duration::from_nanos(now_ns() - since)
}

impl Bench {
    /// Measures.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let selector = Selector::by(&self.filter)?;
        confine::reader(Permissions {
            compiles: true,
            ..Permissions::default()
        })?;
        let mut packets: Vec<Vec<u8>> = Vec::new();
        let complaints = self.strictness.complaints();
        super::packets::each(&self.packets, selector, &complaints, &mut |_, bytes| {
            packets.push(bytes.to_vec());
        })?;
        let verdict = complaints.finish();
        ensure!(
            !packets.is_empty(),
            "{} has no packets",
            self.packets.display()
        );
        let mut stdout = Output::open(&Buffering::default())?;
        let mut rates = Vec::new();
        for engine in [EngineKind::Reference, EngineKind::Fast] {
            let started = now_ns();
            let compiled = self.reading.load_valid(&self.program)?;
            let program = compiled.program.clone();
            let program = Arc::new(
                program.ok_or_else(|| anyhow!("{} has no `main`", self.program.display()))?,
            );
            let (options, config) = (Options::default(), Config::default());
            let made = Engines::default().pipeline(&program, engine, options, &config);
            let mut pipeline =
                made.map_err(|unsupported| anyhow!(describe(&unsupported, &compiled)))?;
            let compiling = elapsed(started);
            if let Some(path) = &self.entries {
                carry_out(&Control::new(Arc::clone(pipeline.environment())), path)?;
            }
            let mut counted = Counted::default();
            let whole = Duration::from_nanos(self.duration.as_ns());
            let begun = now_ns();
            let (mut rounds, mut done) = (Vec::new(), 0u64);
            let mut now = Time::ZERO;
            let mut source = packets.iter().cycle();
            while rounds.is_empty() || elapsed(begun) < whole {
                let (started, mut count) = (now_ns(), 0u64);
                while count == 0 || elapsed(started) < ROUND {
                    now += Time::from_us(1);
                    let batch = source
                        .by_ref()
                        .take(BATCH)
                        .map(|packet| (self.port, packet.as_slice()));
                    pipeline.process_all(now, batch, &mut counted);
                    count += BATCH as u64;
                }
                rounds.push(count as f64 / elapsed(started).as_secs_f64());
                done += count;
            }
            rounds.sort_by(f64::total_cmp);
            let (median, best) = (rounds[rounds.len() / 2], rounds[rounds.len() - 1]);
            rates.push((median, best));
            let ratio = (median / rates[0].0, best / rates[0].1);
            if self.json {
                let line = json_line!("p4", "bench", { "engine": engine.name(), "packets_per_second": best,
                    "ns_per_packet": 1e9 / best, "median_packets_per_second": median, "median_ns_per_packet": 1e9 / median,
                    "ratio_to_reference": ratio.1, "median_ratio_to_reference": ratio.0, "packets": done, "sent": counted.sent, "dropped": counted.dropped,
                    "compile_seconds": compiling.as_secs_f64(),
                });
                stdout.write(format!("{line}\n").as_bytes())?;
            } else {
                let line = format!(
                    "{:9}  best {:8.3} Mpps {:8.1} ns a packet {:6.1} x reference  median {:8.3} Mpps {:8.1} ns {:6.1} x  {} sent, {} dropped; compiled in {:.0} ms\n",
                    engine.name(),
                    best / 1e6,
                    1e9 / best,
                    ratio.1,
                    median / 1e6,
                    1e9 / median,
                    ratio.0,
                    counted.sent,
                    counted.dropped,
                    compiling.as_secs_f64() * 1e3
                );
                stdout.write(line.as_bytes())?;
            }
        }
        stdout.finish()?;
        Ok(verdict)
    }
}
