//! Goodput of TCP over one link, compared with ns-3's in the same run: rates, delays, queues, losses, flows, seeds.
//!
//! `cargo bench -p wireline-hosts --bench tcp` runs some of the grid, `-- --all` all of it, `-- --only RATE` what there is of one rate in
//! Mb/s, 1, 10, 100 or 1000; `--seeds N` runs each cell so often.
//! A cell's figures are means over the seeds, as shares of what the link can carry. ns-3 is built by `benches/peers/ns3.sh` if it is
//! installed; without it there are our own figures only. The comparison with Linux is `examples/tcp`.

use hosts::host::{self, make};
use hosts::program::{Config as Program, Congestion, bulk, sink};
use node::{Channel, Graph, Probability, QueueLimit, Rate, Time};
use std::path::Path;
use std::process::Command;

/// One cell of the grid.
#[derive(Clone, Copy)]
struct Cell {
    megabits: u64,
    delay: Time,
    /// Of bandwidth-delay products.
    queue: f64,
    loss: f64,
    flows: u32,
    congestion: Congestion,
}

impl Cell {
    /// Frames that may wait: at least two, so that a segment and an acknowledgement can.
    fn packets(&self) -> u32 {
        let product = self.megabits as f64 * 1e6 * 2.0 * self.delay.as_secs_f64() / 8.0 / 1538.0;
        ((product * self.queue).round() as u32).max(2)
    }

    /// Simulated seconds: a hundred round trips and more, and at most some 800,000 segments.
    fn seconds(&self) -> u64 {
        match self.megabits {
            0..10 => 60,
            10..100 => 30,
            100..1000 => 20,
            _ => 10,
        }
    }

    /// Share of the link that users' data could have at most.
    fn share(&self, bytes: f64) -> f64 {
        bytes * 8.0 / self.seconds() as f64 / (self.megabits as f64 * 1e6 * 1460.0 / 1538.0)
    }

    fn ours(&self, seed: u64) -> f64 {
        let mut graph = Graph::default();
        let flows = (0..self.flows).map(|flow| {
            Program::Bulk(bulk::Config {
                start: Time::from_ms(10 * u64::from(flow)),
                buffer: 64 << 20,
                congestion: self.congestion,
                ..bulk::Config::new("10.0.0.2".parse().expect("an address"))
            })
        });
        let sink = Program::Sink(sink::Config {
            buffer: 64 << 20,
            ..sink::Config::default()
        });
        let ends = [(1, flows.collect()), (2, vec![sink])].map(|(number, programs)| {
            let config = host::Config {
                address: vec![format!("10.0.0.{number}/24").parse().expect("an address")],
                ..host::Config::default()
            };
            let host = make(config, programs, seed * 2 + number).expect("a good host");
            graph.add(format!("h{number}"), host)
        });
        let channel = Channel {
            rate: Rate::from_bits_per_second(self.megabits * 1_000_000),
            delay: self.delay,
            queue: QueueLimit::Packets(self.packets()),
            loss: Probability::new(self.loss).expect("a probability"),
            ..Channel::default()
        };
        graph.connect((ends[0], 0), (ends[1], 0), channel);
        let options = sim::Options {
            seed,
            until: Some(Time::from_secs(self.seconds())),
            ..sim::Options::default()
        };
        let outcome = sim::run(graph, options).expect("a good graph");
        let flows = outcome.nodes[1].flows.iter();
        self.share(flows.map(|flow| flow.bytes as f64).sum())
    }

    fn ns3(&self, seed: u64) -> Result<f64, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/ns3.sh");
        let output = Command::new("sh")
            .arg(&script)
            .args([env!("CARGO_TARGET_TMPDIR"), "ns3-tcp-link"])
            .arg((self.megabits * 1_000_000).to_string())
            .arg((self.delay.as_ns() / 1000).to_string())
            .arg(self.packets().to_string())
            .arg(self.loss.to_string())
            .arg(self.flows.to_string())
            .arg(self.name())
            .arg(self.seconds().to_string())
            .arg(seed.to_string())
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(said.lines().last().unwrap_or("no reason given").to_string());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let bytes: f64 = text
            .trim()
            .parse()
            .map_err(|_| format!("it said: {text}"))?;
        Ok(self.share(bytes))
    }

    fn name(&self) -> &'static str {
        match self.congestion {
            Congestion::Cubic => "cubic",
            _ => "reno",
        }
    }
}

/// The cells, and how many seeds each has.
fn grid(all: bool, only: Option<u64>) -> (Vec<Cell>, u64) {
    let mut cells: Vec<Cell> = Vec::new();
    let (rates, queues, losses, flows, seeds): (&[u64], &[f64], &[f64], &[u32], u64) = match all {
        true => (
            &[1, 10, 100, 1000],
            &[0.1, 0.5, 1.0, 3.0, 10.0],
            &[0.0, 0.001, 0.01, 0.05],
            &[1, 2, 10],
            5,
        ),
        false => (&[1, 10], &[0.1, 1.0, 10.0], &[0.0, 0.01], &[1], 2),
    };
    let only = only.map(|only| [only]);
    for &megabits in only.as_ref().map_or(rates, |only| &only[..]) {
        for ms in [1, 10, 100] {
            for &loss in losses {
                for &queue in queues {
                    for &flows in flows {
                        for congestion in [Congestion::Cubic, Congestion::Reno] {
                            let cell = Cell {
                                megabits,
                                delay: Time::from_ms(ms),
                                queue,
                                loss,
                                flows,
                                congestion,
                            };
                            // Short queues of short paths are all of two packets.
                            let same = |other: &Cell| {
                                let packets = other.packets() == cell.packets();
                                let path = (other.megabits, other.delay) == (megabits, cell.delay);
                                let flows = (other.loss, other.flows) == (loss, flows);
                                packets && path && flows && other.congestion == congestion
                            };
                            if !cells.iter().any(same) {
                                cells.push(cell);
                            }
                        }
                    }
                }
            }
        }
    }
    (cells, seeds)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str| -> Option<u64> {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse().ok()
    };
    let all = arguments.iter().any(|argument| argument == "--all");
    let (cells, seeds) = grid(all, number("--only"));
    let seeds = number("--seeds").unwrap_or(seeds).max(1);
    let mut has_ns3 = true;
    println!(
        "goodput, percent of the most that the link carries; means and the least of {seeds} seeds"
    );
    println!(
        "{:>5} {:>7} {:>5} {:>7} {:>6} {:>5} {:>6} {:>6} {:>6} {:>6}",
        "Mb/s", "delay", "BDP", "packets", "loss", "flows", "", "ours", "least", "ns-3"
    );
    for cell in cells {
        let ours: Vec<f64> = (0..seeds).map(|seed| cell.ours(seed)).collect();
        let mean = ours.iter().sum::<f64>() / seeds as f64;
        let least = ours.iter().copied().fold(f64::MAX, f64::min);
        let theirs = match has_ns3 {
            true => (0..seeds).map(|seed| cell.ns3(seed)).collect(),
            false => Err(String::new()),
        };
        let theirs = match theirs {
            Ok(theirs) => {
                let theirs: Vec<f64> = theirs;
                format!("{:.1}", 100.0 * theirs.iter().sum::<f64>() / seeds as f64)
            }
            Err(reason) => {
                if has_ns3 {
                    println!("ns-3: skipped: {reason}");
                }
                has_ns3 = false;
                "-".to_string()
            }
        };
        println!(
            "{:>5} {:>7} {:>5} {:>7} {:>6} {:>5} {:>6} {:>6.1} {:>6.1} {theirs:>6}",
            cell.megabits,
            cell.delay.to_string(),
            cell.queue,
            cell.packets(),
            cell.loss,
            cell.flows,
            cell.name(),
            100.0 * mean,
            100.0 * least,
        );
    }
}
