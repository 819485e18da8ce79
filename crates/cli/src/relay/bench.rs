//! `wire relay bench`: how fast a hook is on this machine.

use crate::Verdict;
use crate::output::{Buffering, Output};
use crate::set::setting;
use ::lab::Registry;
use live::world::hook::trial::{INTERFACES, Rate, Rewrite, Trial};
use live::world::hook::{Config, MAX_THREADS, Runner};
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
    #[arg(long, alias = "time", value_name = "TIME", value_parser = node::time::seconds, default_value = "2s")]
    duration: Time,
    /// Threads of a hook
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_THREADS)))]
    threads: u16,
    /// Figures as JSON on standard output, a line each
    #[arg(long)]
    json: bool,
}

/// The path of the packets through the kernel.
enum Path {
    Forward,
    Through,
    Rewrite,
    Given(String),
}

impl Path {
    fn name(&self) -> &str {
        match self {
            Path::Forward => "forwarding alone",
            Path::Through => "through",
            Path::Rewrite => "payload rewritten",
            Path::Given(name) => name,
        }
    }
}

impl Bench {
    /// Measures.
    pub fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
        let mut paths = vec![Path::Forward, Path::Through, Path::Rewrite];
        paths.extend(self.node.clone().map(Path::Given));
        // What is wrong with it is told before anything is measured.
        for path in &paths {
            self.node(registry, path)?;
        }
        let trial = Trial::new()?;
        let time = Duration::from_nanos(self.duration.as_ns()).max(Duration::from_millis(10));
        let mut stdout = Output::open(&Buffering::default())?;
        let lengths = self.length.iter().copied().map(Some);
        let lengths: Vec<Option<u16>> = lengths.chain([None]).collect();
        let figures = lengths.len() * paths.len();
        if !self.json {
            let whole = self.duration * figures as u64;
            eprintln!(
                "wire: {figures} figures of {} each, {whole} in all",
                self.duration
            );
        }
        let (mut rows, mut shares) = (String::new(), Vec::new());
        for length in lengths {
            let mut alone = 0.0;
            for path in &paths {
                if ::capture::signal::stop_requested() {
                    return Ok(Verdict::Stopped);
                }
                let rate = self.measure(registry, &trial, path, length, time)?;
                if matches!(path, Path::Forward) {
                    alone = rate.bits;
                }
                if self.json {
                    let line = object(path.name(), length, &rate, alone);
                    stdout.write(line.as_bytes())?;
                    stdout.flush()?;
                    continue;
                }
                let row = row(path.name(), length, &rate, alone);
                eprint!("wire: {row}");
                rows += &row;
                if matches!(path, Path::Through) {
                    shares.push(format!(
                        "{:.2} {}",
                        rate.bits / alone.max(1.0),
                        what(length)
                    ));
                }
            }
        }
        if !self.json {
            let shares = shares.join(", ");
            let head = format!(
                "{:<28} {:>12} {:>9} {:>9}\n",
                "", "packets/s", "Gb/s", "of alone"
            );
            let text = format!(
                "a hook passes, of what is forwarded without one: {shares}\n\n{head}{rows}"
            );
            stdout.tell(&text)?;
        }
        stdout.finish()?;
        Ok(Verdict::Good)
    }

    fn node(&self, registry: &Registry, path: &Path) -> anyhow::Result<Option<Box<dyn Node>>> {
        Ok(match path {
            Path::Forward => None,
            Path::Rewrite => Some(Box::<Rewrite>::default()),
            Path::Through | Path::Given(_) => {
                let keys = match path {
                    Path::Given(_) => self.set.join("\n"),
                    _ => String::new(),
                };
                let made = registry.node(path.name(), &keys, INTERFACES.len());
                Some(made.map_err(|faults| anyhow::anyhow!("{faults}"))?)
            }
        })
    }

    fn measure(
        &self,
        registry: &Registry,
        trial: &Trial,
        path: &Path,
        length: Option<u16>,
        time: Duration,
    ) -> anyhow::Result<Rate> {
        let mut nodes = Vec::new();
        for _ in 0..self.threads {
            nodes.extend(self.node(registry, path)?);
        }
        let config = Config {
            on: INTERFACES.map(String::from).to_vec(),
            ..Config::default()
        };
        let start = || match nodes.is_empty() {
            true => Ok(None),
            false => Runner::start(&config, nodes).map(Some),
        };
        let _relay = trial.router().enter(start)??;
        Ok(match length {
            Some(length) => trial.flood(length.into(), time)?,
            None => trial.stream(time)?,
        })
    }
}

/// `of 60-byte frames`.
fn what(length: Option<u16>) -> String {
    match length {
        Some(length) => format!("of {length}-byte frames"),
        None => "of a TCP connection".into(),
    }
}

fn row(path: &str, length: Option<u16>, rate: &Rate, alone: f64) -> String {
    let what = match length {
        Some(length) => format!("{length} B: {path}"),
        None => format!("TCP: {path}"),
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

fn object(path: &str, length: Option<u16>, rate: &Rate, alone: f64) -> String {
    let line = json_line!("relay", "relay-bench", {
        "way": path,
        "length": length,
        "packets_per_second": length.map(|_| rate.packets),
        "offered_per_second": length.map(|_| rate.offered),
        "bits_per_second": rate.bits,
        "of_alone": rate.bits / alone.max(1.0),
    });
    format!("{line}\n")
}
