//! `wire delay`: a bad network between two ports, as tc-netem(8) makes one.

mod report;
mod watch;

use crate::Verdict;
use crate::complaints::Leniency;
use crate::report::{Detail, begin, link_notice};
use crate::time::tick;
use ::capture::clock;
use anyhow::Context;
use live::port::{self, Options};
use live::world::{self, PortsOptions};
use node::Time;
use nodes::delay::{Config, Delay as Node, Spec, SpecError};
use packet::Tick;
use std::ffi::OsString;
use std::io::IsTerminal;
use watch::Watch;

/// Delay, lose, double, spoil, reorder and slow down what passes between two ports
///
/// SPEC is what stands behind `netem` on a line of tc, or the whole line: `delay 100ms 10ms 25%
/// distribution normal loss gemodel 1% 10% duplicate 1% corrupt 0.1% reorder 25% 50% rate 10mbit limit
/// 1000`. Beyond tc's: `delay pareto(1ms, 1.5)`, `delay trace FILE`, and last `queue fq_codel limit 100`, the
/// queue discipline in front of the rate. It holds for both directions, each with its own luck, unless --back
/// says otherwise.
///
/// Each frame leaves at its arrival and its delay, whatever the box itself takes. Runs until Ctrl-C; then
/// tells what became of the frames, and how exact their departures were.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire delay 100ms 10ms distribution normal loss 1% --on eth0 eth2
  wire delay 'rate 10mbit queue fq_codel limit 1000' --back 'delay 5ms' --on eth0 eth2")]
pub struct Delay {
    /// What happens to frames, in the words of tc netem; `none` for nothing
    #[arg(required_unless_present = "on", num_args = 1.., allow_negative_numbers = true)]
    spec: Vec<String>,
    /// The two ports: --on A B, --on A,B or --on A --on B
    #[arg(long, value_names = ["A", "B"], num_args = 1..=2, required = true)]
    on: Vec<OsString>,
    /// What happens to frames from B to A, instead of SPEC
    #[arg(long, value_name = "SPEC")]
    back: Option<String>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
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
    detail: Detail,
    #[command(flatten)]
    leniency: Leniency,
}

impl Delay {
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        // Behind `--on A,B` the first word of a SPEC looks like a second port.
        let mut names = crate::on::names(&self.on);
        let words = names.split_off(names.len().min(2));
        let on = crate::on::ports(&names)?;
        anyhow::ensure!(on.len() == 2, "a delay is between two ports: --on A B");
        let words = words.iter().map(|word| word.to_string_lossy().into_owned());
        let spec: Vec<String> = words.chain(self.spec.iter().cloned()).collect();
        anyhow::ensure!(
            !spec.is_empty(),
            "what is to happen is missing, such as `wire delay 100ms --on A B`"
        );
        let mut forth = read("SPEC", &spec.join(" "))?;
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
            ..Options::of_nodes(on.len())
        };
        let (mut ports, mut names) = (Vec::new(), Vec::new());
        for spec in &on {
            let port = port::open(spec, &options)?;
            names.push(port.info.name.clone());
            ports.push(port);
        }
        confine::ports(&on, false)?;
        let on_terminal = std::io::stderr().is_terminal() && !self.quiet;
        let (node, watch) = Watch::over(node, on_terminal.then(|| names.clone()));
        begin("delay", &names, self.duration);
        let options = PortsOptions {
            until: self.duration,
            notice: link_notice(&names),
            ..PortsOptions::default()
        };
        let ended = world::on_ports_with("delay", node, ports, options);
        drop(watch);
        let ended = ended?;
        report::tell(&ended, &names, &specs, self.json, self.detail)?;
        crate::run::verdict(ended, self.duration, &self.leniency.complaints())
    }
}

/// Reads a SPEC and the files that it names.
fn read(what: &str, text: &str) -> anyhow::Result<Spec> {
    let mut spec = Spec::or_delay(text).map_err(|error| wrong(what, &error))?;
    let loaded = spec
        .load(&mut |name| lab::single_node::text(name.as_ref()).map_err(|error| error.to_string()));
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
    node::random::split_mix(clock::now_ns(), u64::from(std::process::id())) % 1_000_000
}
