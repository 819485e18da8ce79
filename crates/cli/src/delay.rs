//! `wire delay`: a bad network between two ports, as tc-netem(8) makes one.

mod report;
mod watch;

use crate::Verdict;
use crate::cat::tick;
use crate::complaints::Leniency;
use crate::confine;
use crate::report::link_notice;
use anyhow::Context;
use live::port::{self, Options, PortSpec};
use live::{clock, world};
use node::Time;
use nodes::delay::{Config, Delay as Node, Spec, SpecError};
use packet::Tick;
use std::io::IsTerminal;
use watch::Watch;

/// Delay, lose, double, spoil, reorder and slow down what passes between two ports
///
/// SPEC is what stands behind `netem` on a line of tc, or the whole line: `delay 100ms 10ms 25%
/// distribution normal loss gemodel 1% 10% duplicate 1% corrupt 0.1% reorder 25% 50% rate 10mbit limit
/// 1000`. Beyond tc's: `delay pareto(1ms, 1.5)`, `delay trace FILE`. It holds for both directions, each
/// with its own luck, unless --back says otherwise.
///
/// Each frame leaves at its arrival and its delay, whatever the box itself takes. Runs until Ctrl-C; then
/// tells what became of the frames, and how exact their departures were.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire delay 100ms 10ms distribution normal loss 1% --on eth0 eth2
  wire delay 'rate 10mbit delay 20ms' --back 'delay 5ms' --on eth0 eth2")]
pub struct Delay {
    /// What happens to frames, in the words of tc netem; `none` for nothing
    #[arg(required = true, num_args = 1.., allow_negative_numbers = true)]
    spec: Vec<String>,
    /// The two ports
    #[arg(long, value_names = ["A", "B"], num_args = 2, required = true, value_parser = crate::ports::spec())]
    on: Vec<PortSpec>,
    /// What happens to frames from B to A, instead of SPEC
    #[arg(long, value_name = "SPEC")]
    back: Option<String>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME")]
    duration: Option<Time>,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// No line every second while it runs on a terminal
    #[arg(long)]
    quiet: bool,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    leniency: Leniency,
}

impl Delay {
    /// Runs it.
    pub fn run(self) -> anyhow::Result<Verdict> {
        live::signal::install();
        let mut forth = read("SPEC", &self.spec.join(" "))?;
        let seed = *forth.seed.get_or_insert_with(luck);
        let mut back = match &self.back {
            Some(text) => read("--back", text)?,
            None => forth.clone(),
        };
        back.seed.get_or_insert(seed);
        let specs = [forth.clone(), back.clone()];
        let node = Node::new(Config {
            forth,
            back: Some(back),
        })?;
        let options = Options {
            tick: self.tick,
            ..Options::of_nodes(self.on.len())
        };
        let (mut ports, mut names) = (Vec::new(), Vec::new());
        for spec in &self.on {
            let port = port::open(spec, &options)?;
            names.push(port.info.name.clone());
            ports.push(port);
        }
        confine::ports(&self.on, false)?;
        let on_terminal = std::io::stderr().is_terminal() && !self.quiet;
        let (node, watch) = Watch::over(node, on_terminal.then(|| names.clone()));
        let notice = link_notice(&names);
        let ended = world::on_ports_with("delay", node, ports, self.duration, notice);
        drop(watch);
        let ended = ended?;
        report::tell(&ended, &names, &specs, self.json)?;
        crate::run::verdict(ended, self.duration, &self.leniency.complaints())
    }
}

/// Reads a SPEC and the files that it names.
fn read(what: &str, text: &str) -> anyhow::Result<Spec> {
    let mut spec = Spec::or_delay(text).map_err(|error| wrong(what, &error))?;
    let loaded = spec.load(&mut |name| lab::single::text(name.as_ref()));
    loaded
        .map_err(anyhow::Error::msg)
        .context(format!("{what}: a file"))?;
    Ok(spec)
}

/// What is wrong, and under the SPEC a mark at the word.
fn wrong(what: &str, error: &SpecError) -> anyhow::Error {
    let marked = error.marked();
    let marked: Vec<String> = marked.lines().map(|line| format!("    {line}")).collect();
    anyhow::anyhow!("{what}: {error}\n{}", marked.join("\n"))
}

/// A seed that is another each time, short enough to be typed again.
fn luck() -> u64 {
    node::link::seed_of(clock::now_ns(), std::process::id() as usize, 0) % 1_000_000
}
