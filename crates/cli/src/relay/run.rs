//! `wire relay run`: a node at a hook of the kernel.

use super::report::report;
use super::stats_server::{Description, StatsServer};
use crate::Verdict;
use crate::on::names;
use crate::report::{Detail, until};
use crate::set::setting;
use ::lab::Registry;
use live::port::PortSpec;
use live::world::callback::{self, Callback};
use live::world::hook::{Config, Fail, Hook, MAX_THREADS, Runner};
use node::{Node, Time};
use std::ffi::OsString;
use std::time::Duration;

/// Run a node at a hook of the kernel until Ctrl-C
///
/// NODE is a kind of node as lab files have it; its keys are set by --set. Or --command is one: a program that is given each
/// packet as a line, and answers with `through`, `drop`, or a line in its place. Port i of it is the i-th interface of --on; with
/// one less than it has ports, its last port is everything else. Packets that fit --filter wait until the node has
/// answered: they go on as they came or changed, or end. The rules go with this command, however it ends. What happened
/// is reported at the end.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire relay run through --hook forward --on eth1 eth2
  wire relay run delay --set 'delay=20 ms' --filter 'host 10.0.0.7 and udp' --on eth1 eth2
  wire relay run filter --set 'expression=not port 53' --hook input --on eth1
  wire relay run --command \"awk '{ print (\\$13 == 11) ? \\\"drop\\\" : \\\"through\\\" }'\" --on eth1 eth2")]
pub struct Run {
    /// The kind of node; `wire nodes` tells which there are
    node: Option<String>,
    /// A program that answers for each packet, run by `sh -c`
    ///
    /// It reads lines without timestamps and writes one answer for each, in order: the line as it was, or `through`; another line; `drop`, or an
    /// empty line. A line with `+` before it is sent beside.
    #[arg(long, value_name = "CMD", conflicts_with_all = ["node", "set"])]
    command: Option<String>,
    /// Records instead of lines, there and back; a header of length 0 drops, timestamp 0 sends beside
    #[arg(long, requires = "command")]
    raw: bool,
    /// What the program reads and writes: terminal, so that it keeps no lines back, or pipes, faster but it has to flush
    ///
    /// Default: pipes if the command's text says that it flushes (`fflush()`, `sed -u`, `--line-buffered` ...) or with --raw, else terminal.
    #[arg(
        long,
        value_name = "KIND",
        requires = "command",
        conflicts_with = "raw"
    )]
    io: Option<callback::Io>,
    /// What the program is told in lines that begin with `#`: time, port, queue (W and B), interface
    #[arg(
        long,
        value_name = "WHAT",
        requires = "command",
        conflicts_with = "raw",
        value_delimiter = ','
    )]
    metadata: Vec<callback::Metadata>,
    /// Tell the program the time so often though no packet comes; it may send packets of its own
    #[arg(
        long,
        value_name = "TIME",
        requires = "command",
        conflicts_with = "raw"
    )]
    wake: Option<Time>,
    /// How long an answer of the program may take
    #[arg(long, alias = "patience", value_name = "TIME", value_parser = node::time::seconds, default_value = "1s", requires = "command")]
    timeout: Time,
    /// Where in a packet's way: prerouting, input, forward, output, postrouting
    #[arg(long, value_name = "HOOK", default_value = "forward")]
    hook: Hook,
    /// Interfaces, one for each port of the node or for each but its last: --on A B, --on A,B or --on A --on B
    #[arg(long, value_name = "IFACE", num_args = 1.., required = true)]
    on: Vec<OsString>,
    /// Which packets, in tcpdump's language without Ethernet; default all
    #[arg(
        long,
        short,
        alias = "match",
        value_name = "EXPRESSION",
        default_value = "",
        hide_default_value = true
    )]
    filter: String,
    /// A key of the node's configuration
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<String>,
    /// Threads, each with a queue and a node of its own; a flow's packets go to one of them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_THREADS)))]
    threads: u16,
    /// The first queue's number; default any that are free
    #[arg(long, value_name = "NUMBER")]
    queue: Option<u16>,
    /// Packets that may wait in each queue
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=i64::from(live::world::hook::MAX_QUEUE_LEN)))]
    queue_length: u32,
    /// What becomes of packets without an answer: open lets them pass, closed drops them
    #[arg(long, value_name = "POLICY", default_value = "closed")]
    fail: Fail,
    /// When among others at the hook, the lower the earlier; -150 is where the table mangle is
    #[arg(long, value_name = "N", default_value_t = -150, allow_negative_numbers = true)]
    priority: i32,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    detail: Detail,
}

impl Run {
    pub fn run(mut self, registry: &Registry) -> anyhow::Result<Verdict> {
        if self.command.is_none() && self.node.is_none() && self.on.len() > 1 {
            // `--on A B NODE`.
            self.node = self
                .on
                .pop()
                .map(|word| word.to_string_lossy().into_owned());
        }
        let missing = "give a kind of node, or a program by --command";
        anyhow::ensure!(self.node.is_some() || self.command.is_some(), missing);
        self.on = names(&self.on);
        let on = self
            .on
            .iter()
            .map(|name| name.to_string_lossy().into_owned());
        let on: Vec<String> = on.collect();
        let mut nodes: Vec<Box<dyn Node>> = Vec::new();
        for _ in 0..self.threads {
            nodes.push(self.node(registry)?);
        }
        let node = match (&self.node, &self.command) {
            (Some(node), _) => node.clone(),
            (None, command) => command.clone().unwrap_or_default(),
        };
        let config = Config {
            hook: self.hook,
            on,
            filter: self.filter.clone(),
            priority: self.priority,
            queue: self.queue,
            length: self.queue_length,
            fail: self.fail,
        };
        if self.command.is_none() {
            // What starts no programs starts none. Its socket for `relay stats` is made and removed later.
            confine::ports([&PortSpec::Queue(0)], true)?;
        }
        let relay = Runner::start(&config, nodes)?;
        eprintln!(
            "wire: {} at {} of {}, {}, {}",
            node,
            config.hook.name(),
            config.on.join(", "),
            queues(relay.queues()),
            until(self.duration),
        );
        let description = Description {
            node: node.clone(),
            hook: config.hook.name(),
            on: config.on.clone(),
            queues: relay.queues().to_vec(),
        };
        let server = StatsServer::start(description, relay.monitor());
        if let Err(error) = &server {
            eprintln!("wire: `wire relay stats` will not show this: {error:#}");
        }
        let duration = self.duration.map(|time| Duration::from_nanos(time.as_ns()));
        let ended = relay.wait(duration);
        let done = duration.is_none() || !::capture::signal::stop_requested();
        drop(server);
        report(&node, &ended, self.json, self.detail)?;
        match ended.trouble {
            Some(error) => Err(error.into()),
            None => Ok(Verdict::if_done(done)),
        }
    }
}

impl Run {
    /// One more of the nodes.
    fn node(&self, registry: &Registry) -> anyhow::Result<Box<dyn Node>> {
        if let Some(command) = &self.command {
            return Ok(Box::new(Callback::new(callback::Config {
                raw: self.raw,
                open: self.fail == Fail::Open,
                patience: self.timeout,
                metadata: self.metadata.clone(),
                wake: self.wake,
                io: self.io.unwrap_or_else(|| callback::Io::of(command)),
                ..callback::Config::new(command)
            })));
        }
        let kind = self.node.as_deref().unwrap_or_default();
        let (mut keys, ports) = (self.set.join("\n"), self.on.len());
        // Kinds without these keys refuse them.
        let mut also = |key: &str, value: &str| {
            let own = self
                .set
                .iter()
                .any(|line| line.trim_start().starts_with(key));
            let more = format!("{keys}\n{key} = {value}");
            if !own && registry.accepts(kind, &more) {
                keys = more;
            }
        };
        // Each thread, and each run, has luck of its own, unless a seed is given: a duplicating node's name for what it sends, or a
        // split connection's first numbers, must not be those of another.
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0) >> 1;
        also("seed", &seed.to_string());
        if self.threads > 1 {
            // The kernel may give an answer to another thread than asked.
            also("keepalive", "\"0 s\"");
        }
        let made = registry.node(kind, &keys, ports);
        made.map_err(|faults| anyhow::anyhow!("{faults}"))
    }
}

/// `queue 7`, `queues 7 to 9`.
fn queues(numbers: &[u16]) -> String {
    match numbers {
        [first, .., last] => format!("queues {first} to {last}"),
        [one] => format!("queue {one}"),
        [] => "no queue".into(),
    }
}
