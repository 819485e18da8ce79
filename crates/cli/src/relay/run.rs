//! `wire relay run`: a node at a hook of the kernel.

use super::offer;
use crate::Verdict;
use crate::confine;
use crate::output::{Buffering, Output};
use crate::run::setting;
use ::lab::Registry;
use live::callback::{self, Callback};
use live::hook::{Config, Fail, Hook, MOST_THREADS, Relay, Report, Snapshot};
use live::port::PortSpec;
use node::{Node, Time};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::time::Duration;

/// Run a node at a hook of the kernel until Ctrl-C
///
/// NODE is a kind of node as lab files have it; its keys are set by --set. Or --command is one: a program that is given each
/// packet as a line, and answers with `through`, `drop`, or a line in its place. Port i of it is the interface of the i-th --on; with
/// one --on less than it has ports, its last port is everything else. Packets that --match names wait until the node has
/// answered: they go on as they came or changed, or end. The rules go with this command, however it ends. What happened
/// is reported at the end.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire relay run through --hook forward --on eth1 --on eth2
  wire relay run delay --set 'delay=20 ms' --match 'host 10.0.0.7 and udp' --on eth1 --on eth2
  wire relay run filter --set 'expression=not port 53' --hook input --on eth1
  wire relay run --command \"awk '{ print (\\$13 == 11) ? \\\"drop\\\" : \\\"through\\\" }'\" --on eth1 --on eth2")]
pub struct Run {
    /// The kind of node
    #[arg(required_unless_present = "command")]
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
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "command")]
    patience: Time,
    /// Where in a packet's way: prerouting, input, forward, output, postrouting
    #[arg(long, value_name = "HOOK", default_value = "forward")]
    hook: Hook,
    /// An interface; given once for each port of the node, or for each but its last
    #[arg(long, value_name = "IFACE", required = true)]
    on: Vec<String>,
    /// Which packets, in tcpdump's language without Ethernet; default all
    #[arg(long = "match", value_name = "FILTER", default_value = "")]
    filter: String,
    /// A key of the node's configuration
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<String>,
    /// Threads, each with a queue and a node of its own; a flow's packets go to one of them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_THREADS)))]
    threads: u16,
    /// The first queue's number; default any that are free
    #[arg(long, value_name = "NUMBER")]
    queue: Option<u16>,
    /// Packets that may wait in each queue
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=i64::from(live::hook::MOST_WAITING)))]
    queue_length: u32,
    /// What becomes of packets without an answer: open lets them pass, closed drops them
    #[arg(long, value_name = "POLICY", default_value = "closed")]
    fail: Fail,
    /// When among others at the hook, the lower the earlier; -150 is where the table mangle is
    #[arg(long, value_name = "N", default_value_t = -150, allow_negative_numbers = true)]
    priority: i32,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME")]
    duration: Option<Time>,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
}

impl Run {
    /// Runs it.
    pub fn run(self, registry: &Registry) -> anyhow::Result<Verdict> {
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
            on: self.on,
            filter: self.filter,
            priority: self.priority,
            queue: self.queue,
            length: self.queue_length,
            fail: self.fail,
        };
        if self.command.is_none() {
            // What starts no programs starts none. Its socket for `relay stats` is made and removed later.
            confine::ports([&PortSpec::Queue(0)], true)?;
        }
        let relay = Relay::start(&config, nodes)?;
        eprintln!(
            "wire: {} at {} of {}, {}",
            node,
            config.hook.name(),
            config.on.join(", "),
            queues(relay.queues()),
        );
        let about = offer::About {
            node: node.clone(),
            hook: config.hook.name(),
            on: config.on.clone(),
            queues: relay.queues().to_vec(),
        };
        let offered = offer::Offer::start(about, relay.monitor());
        if let Err(error) = &offered {
            eprintln!("wire: `wire relay stats` will not show this: {error:#}");
        }
        let duration = self.duration.map(|time| Duration::from_nanos(time.as_ns()));
        let ended = relay.wait(duration);
        let done = duration.is_none() || !live::signal::stop_requested();
        drop(offered);
        report(&node, &ended, self.json)?;
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
                patience: self.patience,
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

/// Tells what came of a run.
///
/// # Errors
/// When standard output takes no more.
pub fn report(node: &str, ended: &Report, json: bool) -> anyhow::Result<()> {
    if json {
        let mut stdout = Output::open(&Buffering::default())?;
        stdout.write(format!("{}\n", object(node, ended)).as_bytes())?;
        return stdout.finish();
    }
    eprint!("{}", text(node, ended));
    Ok(())
}

/// The counts that are told only when they are not zero, by their names in JSON, and what they are.
fn troubles(counts: &Snapshot) -> [(&'static str, u64, &'static str); 8] {
    [
        (
            "overruns",
            counts.overruns,
            "found no room in the queue or its socket",
        ),
        (
            "truncated",
            counts.truncated,
            "longer than the kernel gives whole, not shown to the node",
        ),
        (
            "too_big",
            counts.too_big,
            "too long for the way out; their senders were told",
        ),
        ("fragmented", counts.fragmented, "injected in fragments"),
        (
            "refused",
            counts.refused,
            "injected, and refused by the kernel",
        ),
        (
            "no_packet",
            counts.no_packet,
            "sent by the node without an IP packet in them",
        ),
        (
            "no_room",
            counts.no_room,
            "of the node's own, sent at a time when too many waited already",
        ),
        (
            "refused_verdicts",
            counts.refused_verdicts,
            "gone from the kernel's queue before the answer",
        ),
    ]
}

fn text(node: &str, ended: &Report) -> String {
    let counts = &ended.counts;
    let seconds = ended.ran.as_secs_f64().max(1e-9);
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "wire: {} packets, {} bytes in {seconds:.1} s: {:.0} packets/s, {:.3} Mb/s",
        counts.packets,
        counts.bytes,
        counts.packets as f64 / seconds,
        counts.bytes as f64 * 8e-6 / seconds,
    );
    let _ = writeln!(
        text,
        "wire: {} as they came, {} changed, {} ended, {} injected, {} held at the end",
        counts.accepted, counts.changed, counts.dropped, counts.injected, counts.held
    );
    let answered = counts.accepted + counts.changed + counts.dropped;
    if let Some(mean) = counts.waited_ns.checked_div(answered) {
        let _ = writeln!(
            text,
            "wire: an answer took {:.1} us, at most {:.1} us; {:.1} % of a processor",
            mean as f64 / 1e3,
            counts.longest_ns as f64 / 1e3,
            counts.processor_ns as f64 / seconds / 1e7,
        );
    }
    for (_, count, what) in troubles(counts) {
        if count > 0 {
            let _ = writeln!(text, "wire: {count} {what}");
        }
    }
    if !counts.node.is_empty() {
        let _ = write!(text, "wire: {node}:");
        for (name, count) in &counts.node {
            let _ = write!(text, " {name} {count}");
        }
        text.push('\n');
    }
    for (reason, count) in &counts.drops {
        let _ = writeln!(text, "wire: {node}: dropped {count}: {reason}");
    }
    text
}

/// A snapshot as an object.
pub fn counts(counts: &Snapshot) -> Map<String, Value> {
    let pairs = |pairs: &[(String, u64)]| -> Map<String, Value> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, count)| (name.clone(), json!(count)))
            .collect()
    };
    let mut object = Map::new();
    for (name, count) in [
        ("packets", counts.packets),
        ("bytes", counts.bytes),
        ("accepted", counts.accepted),
        ("accepted_bytes", counts.accepted_bytes),
        ("changed", counts.changed),
        ("changed_bytes", counts.changed_bytes),
        ("dropped", counts.dropped),
        ("injected", counts.injected),
        ("injected_bytes", counts.injected_bytes),
        ("held", counts.held),
    ] {
        object.insert(name.into(), json!(count));
    }
    for (name, count, _) in troubles(counts) {
        object.insert(name.into(), json!(count));
    }
    for (name, count) in [
        ("waited_ns", counts.waited_ns),
        ("longest_ns", counts.longest_ns),
        ("processor_ns", counts.processor_ns),
    ] {
        object.insert(name.into(), json!(count));
    }
    object.insert("counters".into(), pairs(&counts.node).into());
    object.insert("drops".into(), pairs(&counts.drops).into());
    object
}

fn object(node: &str, ended: &Report) -> Value {
    let mut object = Map::new();
    object.insert("schema".into(), json!(packet::json::schema("relay")));
    object.insert("type".into(), json!("relay"));
    object.insert("node".into(), json!(node));
    object.insert("ran_ns".into(), json!(ended.ran.as_nanos() as u64));
    object.insert("queues".into(), json!(ended.queues));
    object.extend(counts(&ended.counts));
    object.into()
}
