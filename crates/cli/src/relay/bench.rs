//! `wire relay bench`: how fast a hook is on this machine.

use crate::Verdict;
use crate::output::{Buffering, Output};
use crate::run::setting;
use ::lab::Registry;
use live::hook::trial::{INTERFACES, Rate, Rewrite, Trial};
use live::hook::{Config, MOST_THREADS, Relay};
use node::{Node, Time};
use std::time::Duration;

/// Measure what passes a hook of the kernel on this machine
///
/// Two hosts and a router between them are made in namespaces. One thread sends datagrams as fast as it can, and the kernel counts what
/// comes out at the far host: forwarded without a hook, by the node through, by a node that rewrites the payload, and by NODE
/// if one is given. The same of a TCP connection, of which the kernel forwards long chains of segments.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire relay bench
  wire relay bench delay --set 'delay=1 ms' --length 1514 --json")]
pub struct Bench {
    /// A kind of node that is measured too
    node: Option<String>,
    /// A key of its configuration
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting, requires = "node")]
    set: Vec<String>,
    /// Lengths of the frames in bytes, without FCS
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "60,1514", value_parser = clap::value_parser!(u16).range(46..=1514))]
    length: Vec<u16>,
    /// How long each figure is measured
    #[arg(long, value_name = "TIME", default_value = "2s")]
    time: Time,
    /// Threads of a hook
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    threads: u16,
    /// Figures as JSON on standard output, a line each
    #[arg(long)]
    json: bool,
}

/// What the packets pass.
enum Way {
    Forward,
    Through,
    Rewrite,
    Given(String),
}

impl Way {
    fn name(&self) -> &str {
        match self {
            Way::Forward => "forwarding alone",
            Way::Through => "through",
            Way::Rewrite => "payload rewritten",
            Way::Given(name) => name,
        }
    }
}

impl Bench {
    /// Measures.
    pub fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
        let mut ways = vec![Way::Forward, Way::Through, Way::Rewrite];
        ways.extend(self.node.clone().map(Way::Given));
        // What is wrong with it is told before anything is measured.
        for way in &ways {
            self.node(registry, way)?;
        }
        let trial = Trial::new()?;
        let time = Duration::from_nanos(self.time.as_ns()).max(Duration::from_millis(10));
        let mut stdout = Output::open(&Buffering::default())?;
        if !self.json {
            let head = format!(
                "{:<28} {:>12} {:>9} {:>9}\n",
                "", "packets/s", "Gb/s", "of alone"
            );
            stdout.write(head.as_bytes())?;
        }
        let lengths = self.length.iter().copied().map(Some);
        for length in lengths.chain([None]) {
            let mut alone = 0.0;
            for way in &ways {
                if live::signal::stop_requested() {
                    return Ok(Verdict::Stopped);
                }
                let rate = self.measure(registry, &trial, way, length, time)?;
                if matches!(way, Way::Forward) {
                    alone = rate.bits;
                }
                let line = match self.json {
                    true => object(way.name(), length, &rate, alone),
                    false => row(way.name(), length, &rate, alone),
                };
                stdout.write(line.as_bytes())?;
                stdout.flush()?;
            }
        }
        stdout.finish()?;
        Ok(Verdict::Good)
    }

    fn node(&self, registry: &Registry, way: &Way) -> anyhow::Result<Option<Box<dyn Node>>> {
        Ok(match way {
            Way::Forward => None,
            Way::Rewrite => Some(Box::<Rewrite>::default()),
            Way::Through | Way::Given(_) => {
                let keys = match way {
                    Way::Given(_) => self.set.join("\n"),
                    _ => String::new(),
                };
                let made = registry.node(way.name(), &keys, INTERFACES.len());
                Some(made.map_err(|faults| anyhow::anyhow!("{faults}"))?)
            }
        })
    }

    fn measure(
        &self,
        registry: &Registry,
        trial: &Trial,
        way: &Way,
        length: Option<u16>,
        time: Duration,
    ) -> anyhow::Result<Rate> {
        let mut nodes = Vec::new();
        for _ in 0..self.threads {
            nodes.extend(self.node(registry, way)?);
        }
        let config = Config {
            on: INTERFACES.map(String::from).to_vec(),
            ..Config::default()
        };
        let start = || match nodes.is_empty() {
            true => Ok(None),
            false => Relay::start(&config, nodes).map(Some),
        };
        let _relay = trial.router().enter(start)??;
        Ok(match length {
            Some(length) => trial.flood(length.into(), time)?,
            None => trial.stream(time)?,
        })
    }
}

fn row(way: &str, length: Option<u16>, rate: &Rate, alone: f64) -> String {
    let what = match length {
        Some(length) => format!("{length} B: {way}"),
        None => format!("TCP: {way}"),
    };
    let packets = match length {
        Some(_) => format!("{:.0}", rate.packets),
        None => "-".into(),
    };
    format!(
        "{what:<28} {packets:>12} {:>9.3} {:>9.2}\n",
        rate.bits / 1e9,
        rate.bits / alone.max(1.0)
    )
}

fn object(way: &str, length: Option<u16>, rate: &Rate, alone: f64) -> String {
    let line = json_line!("relay", "relay-bench", {
        "way": way,
        "length": length,
        "packets_per_second": length.map(|_| rate.packets),
        "offered_per_second": length.map(|_| rate.offered),
        "bits_per_second": rate.bits,
        "of_alone": rate.bits / alone.max(1.0),
    });
    format!("{line}\n")
}
