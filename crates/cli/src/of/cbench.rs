//! `wire of cbench`: how fast a controller is.

use super::Keys;
use crate::Verdict;
use crate::output::{Buffering, Output};
use crate::report::Detail;
use live::port::ChannelSpec;
use live::port::{PortSpec, open};
use live::world;
use node::Time;
use openflow::cbench::{Cbench as Node, Config, Fairness, Mode, Progress, Round, Summary};
use openflow::version::Version;
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, channel};

/// Measure how many packet-ins a second a controller answers
///
/// Many switches connect, make their stations known, and tell of packets between these: in latency mode one at a
/// time, in throughput mode as many as the channel takes. A packet-in counts as answered when a flow-mod or a packet-out takes
/// its packet along, once. Fairness is over the switches: Jain's index, 1 when all have the same.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire of cbench --connect tcp:127.0.0.1:6653
  wire of cbench --connect tcp:127.0.0.1:6653 --mode throughput --switches 64 --protocols 1.3 --json")]
pub struct Cbench {
    /// The controller: tcp:HOST:PORT, ssl:HOST:PORT or unix:PATH
    #[arg(long, value_name = "CHANNEL", default_value = "tcp:127.0.0.1:6653")]
    connect: ChannelSpec,
    /// One packet-in at a time from each switch, or as many as the channel takes
    #[arg(long, value_enum, default_value = "latency")]
    mode: ModeName,
    /// Switches, at most 4096
    #[arg(long, default_value = "16", value_parser = clap::value_parser!(u32).range(1..=4096))]
    switches: u32,
    /// Stations of each switch
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(u32).range(1..16_777_216))]
    macs: u32,
    /// Rounds that count
    #[arg(long = "loop", alias = "loops", value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..))]
    loops: u32,
    /// Milliseconds of a round
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u64).range(1..))]
    ms_per_test: u64,
    /// Rounds before those, which do not count
    #[arg(long, default_value = "1")]
    warmup: u32,
    /// The version that the switches speak
    #[arg(
        long,
        short = 'O',
        alias = "openflow",
        value_name = "VERSION",
        default_value = "1.0"
    )]
    protocols: Version,
    /// The number of the first switch; not 1, which is that of `wire of switch` and of most others
    #[arg(long, default_value = "1000000")]
    first_datapath: u64,
    #[command(flatten)]
    keys: Keys,
    /// A line of JSON for each round, and one for all of them
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    detail: Detail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ModeName {
    /// One at a time from each switch
    Latency,
    /// As many as the channel takes
    Throughput,
}

impl ModeName {
    fn name(self) -> &'static str {
        match self {
            ModeName::Latency => "latency",
            ModeName::Throughput => "throughput",
        }
    }
}

/// The rate of a round, answers a second.
fn rate(round: &Round) -> f64 {
    let answers: u64 = round.answers.iter().sum();
    answers as f64 / round.length.as_secs_f64()
}

impl Cbench {
    pub fn run(self) -> anyhow::Result<Verdict> {
        anyhow::ensure!(!self.connect.listen, "--connect wants tcp:, ssl: or unix:");
        let config = Config {
            version: self.protocols,
            mode: match self.mode {
                ModeName::Latency => Mode::Latency,
                ModeName::Throughput => Mode::Throughput,
            },
            switches: self.switches,
            macs: self.macs,
            warmup: self.warmup,
            loops: self.loops,
            round: Time::from_ms(self.ms_per_test),
            first_datapath: self.first_datapath,
        };
        let spec = PortSpec::Channel(self.connect.clone());
        let port = open(&spec, &self.keys.options())?;
        let (tell, told) = channel();
        let node = Node::new(
            config,
            Box::new(move |one| {
                let last = matches!(one, Progress::Finished | Progress::Failed(_));
                // The listener lives as long as the run.
                let _ = tell.send(one);
                if last {
                    ::capture::signal::request_stop();
                }
            }),
        );
        let mut output = Output::open(&Buffering::default())?;
        let header = format!(
            "{} switches, {} MACs each, {}, OpenFlow {}, {}: {} rounds of {} ms, or until Ctrl-C",
            self.switches,
            self.macs,
            self.mode.name(),
            self.protocols,
            self.connect,
            u64::from(self.warmup) + u64::from(self.loops),
            self.ms_per_test
        );
        if !self.json {
            eprintln!("wire: {header}");
        }
        confine::ports([&spec], false)?;
        let body = move || world::on_ports("cbench", Box::new(node), vec![port], None);
        let running = live::thread::spawn("cbench", body)?;
        let rounds = self.listen(&told, &mut output);
        let ended = match running.join() {
            Ok(ended) => ended?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let rounds = rounds?;
        if let Some(trouble) = ended.trouble {
            return Err(trouble.into());
        }
        if !rounds.is_empty() {
            let counters = ended.outcome.nodes.first();
            let counters = counters.map_or(&[][..], |node| &node.counters);
            self.summary(&rounds, counters, &mut output)?;
        }
        output.finish()?;
        Ok(Verdict::if_done(rounds.len() >= self.loops as usize))
    }

    /// Takes what the benchmark tells, to the end.
    fn listen(&self, told: &Receiver<Progress>, output: &mut Output) -> anyhow::Result<Vec<Round>> {
        let mut rounds = Vec::new();
        // The sender goes with the node, at the end of the run.
        for one in told {
            match one {
                Progress::Ready(_) => {}
                Progress::Round(round) => {
                    match self.json {
                        true => {
                            output.write(format!("{}\n", object(&round)).as_bytes())?;
                            output.flush()?;
                        }
                        false => eprint!("wire: {}", text(&round)),
                    }
                    if !round.warmup {
                        rounds.push(round);
                    }
                }
                Progress::Finished => break,
                Progress::Failed(why) => anyhow::bail!("{}: {why}", self.connect),
            }
        }
        Ok(rounds)
    }

    fn summary(
        &self,
        rounds: &[Round],
        counters: &[(String, u64)],
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let rates: Vec<f64> = rounds.iter().map(rate).collect();
        let rates = Summary::of(&rates);
        let mut shares = vec![0; self.switches as usize];
        for round in rounds {
            for (share, answers) in shares.iter_mut().zip(&round.answers) {
                *share += answers;
            }
        }
        let fair = Fairness::of(&shares);
        let deviation = rates.variance.sqrt();
        let text = match self.json {
            true => {
                let mut object = json_line!("of", "cbench", {
                    "connect": self.connect.to_string(),
                    "mode": self.mode.name(),
                    "openflow": self.protocols.to_string(),
                    "switches": self.switches,
                    "macs": self.macs,
                    "rounds": rates.count,
                    "ms_per_test": self.ms_per_test,
                    "per_s": {
                        "min": rates.min, "max": rates.max, "mean": rates.mean, "sd": deviation,
                    },
                    "fairness": {"jain": fair.jain, "min_over_max": fair.min_over_max},
                    "answers": shares,
                });
                for (name, count) in counters {
                    object["counters"][name] = json!(count);
                }
                format!("{object}\n")
            }
            false => {
                let table: String = rounds
                    .iter()
                    .filter(|_| self.detail.verbose)
                    .map(text)
                    .collect();
                format!(
                    "{:.0} answers/s in the mean of {} rounds of {} ms, fairness {:.4} over {} switches\n\
                     a round: sd {deviation:.0}, min {:.0}, max {:.0} answers/s; the slowest switch had {:.3} of the fastest\n{table}",
                    rates.mean,
                    rates.count,
                    self.ms_per_test,
                    fair.jain,
                    self.switches,
                    rates.min,
                    rates.max,
                    fair.min_over_max
                )
            }
        };
        output.write(text.as_bytes())?;
        Ok(())
    }
}

fn text(round: &Round) -> String {
    let fair = Fairness::of(&round.answers);
    let what = if round.warmup { "warm-up" } else { "round" };
    let (min, max) = (round.answers.iter().min(), round.answers.iter().max());
    format!(
        "{what} {}: {:.0} answers/s; a switch {} to {}, Jain {:.4}\n",
        round.number + 1,
        rate(round),
        min.unwrap_or(&0),
        max.unwrap_or(&0),
        fair.jain
    )
}

fn object(round: &Round) -> Value {
    let fair = Fairness::of(&round.answers);
    json_line!("of", "round", {
        "round": round.number + 1,
        "warmup": round.warmup,
        "length_ns": round.length.as_ns(),
        "per_s": rate(round),
        "answers": round.answers,
        "fairness": {"jain": fair.jain, "min_over_max": fair.min_over_max},
    })
}
