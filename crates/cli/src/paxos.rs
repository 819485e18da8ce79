//! `wire paxos`: what a group that agrees by Paxos is asked, and what it decides.

use crate::Verdict;
use crate::report::begin;
use anyhow::Context;
use clap::ValueEnum;
use consensus::configuration::{MAX_REPLICAS, Members, Refusal};
use consensus::message::ACCEPTORS;
use consensus::nodes::client::{self, ClientNode};
use consensus::nodes::learner::{self, LearnerNode};
use consensus::nodes::proposer::{self, Answered, Proposer};
use consensus::store::{Answer, Operation};
use consensus::{Change, Instance, Key, Kind, Value};
use live::port::{self, Options, PortSpec};
use live::world::{self, PortsOptions, PortsOutcome};
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use parking_lot::Mutex;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Have values decided by Paxos, see what is decided, use a replicated store
///
/// The group itself are nodes: acceptors, coordinators and replicas, each by `wire run`, in a lab, or in P4 switches. Over the kernel's sockets
/// its port is multicast:239.0.0.1:57021, or multicast:239.0.0.1:57021@ADDRESS for the interface with that address.
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  wire run paxos-acceptor --set id=0 --on multicast:239.0.0.1:57021@10.0.0.1
  wire paxos kv put 7 42
  wire paxos load --clients 8 --count 1000
  wire paxos members --add acceptor:3 --remove acceptor:2"
)]
pub struct Paxos {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Propose(Propose),
    Learn(Learn),
    Kv(Kv),
    Load(Load),
    Members(Membership),
}

/// Where the group is.
#[derive(clap::Args)]
struct Group {
    /// The port by which the group is reached
    #[arg(long, value_name = "PORT", default_value = "multicast:239.0.0.1:57021")]
    on: PortSpec,
    /// The file of the group's key, if it has one
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Give up after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// What comes of it as JSON, an object a line
    #[arg(long)]
    json: bool,
}

/// Have values decided, one after the other, and tell in which instances
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire paxos propose hello world
  wire paxos propose --on multicast:239.0.0.1:57021@10.0.0.9 hello")]
struct Propose {
    /// The values, up to 64 bytes each
    #[arg(value_name = "VALUE", required = true)]
    values: Vec<String>,
    #[command(flatten)]
    group: Group,
    #[command(flatten)]
    asking: Asking,
}

/// Print what is decided, in order, from now on
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire paxos learn --count 10")]
struct Learn {
    /// Stop after so many
    #[arg(short, long, value_name = "N")]
    count: Option<u64>,
    /// How many acceptors there are
    #[arg(long, value_name = "N", default_value_t = 3)]
    acceptors: usize,
    /// How many instances acceptors remember
    #[arg(long, value_name = "N", default_value_t = 1024)]
    window: usize,
    #[command(flatten)]
    group: Group,
}

/// Ask the replicated store: get KEY, put KEY VALUE, or cas KEY OLD NEW (compare and swap)
///
/// Keys and values are numbers below 2^64; what was never put is 0. A compare-and-swap that finds another value tells it, with exit code 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire paxos kv put 7 42
  wire paxos kv cas 7 42 43
  wire paxos kv get 7")]
struct Kv {
    /// What to do
    #[arg(value_name = "OPERATION")]
    verb: Verb,
    /// The key, and the values
    #[arg(value_name = "NUMBER", required = true)]
    numbers: Vec<u64>,
    #[command(flatten)]
    group: Group,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Clone, Copy, ValueEnum)]
enum Verb {
    Get,
    Put,
    Cas,
}

/// Load the store with clients, and check that what they saw is linearizable
///
/// A third of the operations write. In a closed loop a client asks once it is answered; with --interval its operations are due as often as that, and
/// latencies are from when they were due.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire paxos load --clients 8 --count 1000
  wire paxos load --clients 100 --count 100 --interval 10ms")]
struct Load {
    /// How many clients
    #[arg(long, value_name = "N", default_value_t = 8)]
    clients: u32,
    /// How many operations each asks for
    #[arg(short, long, value_name = "N", default_value_t = 1000)]
    count: u32,
    /// From how many keys
    #[arg(long, value_name = "N", default_value_t = 64)]
    keys: u64,
    /// From when an operation of a client is due to its next one: an open loop
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    interval: Option<Time>,
    #[command(flatten)]
    group: Group,
    #[command(flatten)]
    asking: Asking,
}

/// Show the members of the group, or change them by a command that the group decides
///
/// A change applies once a window of instances has passed; the command waits for that. A new
/// acceptor has to run before it is added, and a removed one may be stopped afterwards. All
/// additions and removals of one command are one change.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire paxos members
  wire paxos members --add acceptor:3 --remove acceptor:2
  wire paxos members --add replica:2")]
struct Membership {
    /// Add a member, such as acceptor:3 or replica:2; may be repeated
    #[arg(long, value_name = "MEMBER")]
    add: Vec<Named>,
    /// Remove a member; may be repeated
    #[arg(long, value_name = "MEMBER")]
    remove: Vec<Named>,
    #[command(flatten)]
    group: Group,
    #[command(flatten)]
    asking: Asking,
}

/// A member by its role and number.
#[derive(Clone, Copy)]
enum Named {
    Acceptor(u16),
    Replica(u16),
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Named, String> {
        let (role, number) = text.split_once(':').unwrap_or((text, ""));
        let number = number.parse::<u16>().ok();
        match (role, number) {
            ("acceptor", Some(id)) if usize::from(id) < ACCEPTORS => Ok(Named::Acceptor(id)),
            ("replica", Some(id)) if id < MAX_REPLICAS => Ok(Named::Replica(id)),
            _ => Err(format!(
                "a member is acceptor:N, with N from 0 to {}, or replica:N, with N from 0 to {}",
                ACCEPTORS - 1,
                MAX_REPLICAS - 1
            )),
        }
    }
}

/// How one asks.
#[derive(clap::Args)]
struct Asking {
    /// Ask again after this time
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = node::time::seconds)]
    timeout: Time,
    /// The number by which this client is known, one at a time: of two that ask at once, the earlier one ends. Default: known by no number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    client: Option<u32>,
}

impl Asking {
    /// 128 bits that no other start has.
    fn nonce() -> anyhow::Result<u128> {
        let mut bytes = [0; 16];
        let mut rest = &mut bytes[..];
        while !rest.is_empty() {
            let flags = rustix::rand::GetRandomFlags::empty();
            let count = rustix::rand::getrandom(&mut *rest, flags).context("random numbers")?;
            rest = &mut rest[count..];
        }
        Ok(u128::from_ne_bytes(bytes))
    }

    /// Says why sessions were closed, if any were.
    fn report_closed(&self, ended: &PortsOutcome) {
        if counter(ended, "closed") == 0 {
            return;
        }
        match self.client {
            Some(number) => eprintln!(
                "wire: client {number} is in use: another process asks with the same --client, and this one was closed. Its last request may have been done or not; give each process another --client, or none"
            ),
            None => eprintln!(
                "wire: the session was closed, as many others were opened while this one was silent. Its last request may have been done or not; ask again"
            ),
        }
    }
}

impl Paxos {
    /// Does what was asked for.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        match self.action {
            Action::Propose(command) => command.run(),
            Action::Learn(command) => command.run(),
            Action::Kv(command) => command.run(),
            Action::Load(command) => command.run(),
            Action::Members(command) => command.run(),
        }
    }
}

impl Propose {
    fn run(self) -> anyhow::Result<Verdict> {
        let value = |text: &String| {
            let long = || format!("`{text}` has more than {} bytes", consensus::command::VALUE);
            Value::new(text.as_bytes()).with_context(long)
        };
        let values: Vec<Value> = self.values.iter().map(value).collect::<Result<_, _>>()?;
        let (json, texts) = (self.group.json, self.values);
        let tell = move |came: Answered| {
            let (text, instance) = (&texts[came.number], came.instance);
            match json {
                true => println!(
                    "{}",
                    json_line!("paxos", "decided", { "value": text, "instance": instance, "took_ps": came.took.as_ps() })
                ),
                false => println!("{instance} {text}"),
            }
        };
        self.group.submit(&self.asking, values, tell)
    }
}

impl Kv {
    fn run(self) -> anyhow::Result<Verdict> {
        let operation = match (self.verb, &self.numbers[..]) {
            (Verb::Get, &[key]) => Operation::Get(key),
            (Verb::Put, &[key, new]) => Operation::Put(key, new),
            (Verb::Cas, &[key, expected, new]) => Operation::Swap(key, expected, new),
            _ => anyhow::bail!("write get KEY, put KEY VALUE, or cas KEY OLD NEW"),
        };
        let json = self.group.json;
        let differs = Arc::new(AtomicBool::new(false));
        let noted = differs.clone();
        let tell = move |came: Answered| {
            let (what, value) = match Answer::decode(&came.answer) {
                Some(Answer::Found(value)) => ("found", Some(value)),
                Some(Answer::Written) => ("written", None),
                Some(Answer::Differs(value)) => ("differs", Some(value)),
                Some(Answer::Unknown | Answer::Closed | Answer::Members(_)) | None => {
                    ("unknown", None)
                }
            };
            noted.store(!matches!(what, "found" | "written"), Ordering::SeqCst);
            match (json, value) {
                (true, _) => println!(
                    "{}",
                    json_line!("paxos", "answer", {
                        "answer": what, "value": value, "instance": came.instance, "took_ps": came.took.as_ps(),
                    })
                ),
                (false, Some(value)) if what == "found" => println!("{value}"),
                (false, Some(value)) => println!("{what}: {value}"),
                (false, None) => println!("{what}"),
            }
        };
        let verdict = self
            .group
            .submit(&self.asking, vec![operation.encode()], tell)?;
        Ok(verdict.max(Verdict::if_good(!differs.load(Ordering::SeqCst))))
    }
}

impl Learn {
    fn run(self) -> anyhow::Result<Verdict> {
        let config = learner::Config {
            group: self.group.address()?,
            key: self.group.key()?,
            acceptors: self.acceptors,
            window: self.window,
            ..Default::default()
        };
        let (json, count) = (self.group.json, self.count);
        let enough = Arc::new(AtomicBool::new(count == Some(0)));
        let noted = enough.clone();
        let mut told = 0;
        let tell = move |instance, command: &consensus::Command| {
            if count.is_some_and(|count| told >= count) {
                return;
            }
            told += 1;
            noted.fetch_or(Some(told) == count, Ordering::SeqCst);
            let value = command.value.escape_ascii().to_string();
            match json {
                true => println!(
                    "{}",
                    json_line!("paxos", "decided", {
                        "instance": instance, "client": command.client, "sequence": command.sequence, "value": value,
                    })
                ),
                false if command.is_no_op() => println!("{instance} no-op"),
                false => println!("{instance} {}/{} {value}", command.client, command.sequence),
            }
        };
        let node = LearnerNode::new(config, Box::new(tell))?;
        begin("learner", &[self.group.on.to_string()], self.group.duration);
        let ended = self.group.drive(node, &enough)?;
        let skipped = counter(&ended, "skipped");
        if skipped > 0 {
            eprintln!("wire: {skipped} instances were missed: replicas no longer have them");
        }
        let conflicts = counter(&ended, "conflicts");
        if conflicts > 0 {
            eprintln!("wire: {conflicts} instances were decided twice, and not the same");
        }
        let done = count.is_none() || enough.load(Ordering::SeqCst);
        let good = skipped + conflicts == 0 && (done || ::capture::signal::stop_requested());
        Ok(Verdict::if_good(good).max(Verdict::if_done(done)))
    }
}

impl Load {
    fn run(self) -> anyhow::Result<Verdict> {
        let nonce = Asking::nonce()?;
        let config = client::Config {
            group: self.group.address()?,
            key: self.group.key()?,
            nonce: Some(nonce),
            name: self.asking.client.unwrap_or(0),
            // Keys of this start alone: what was put into others before would be none of what is checked.
            first_key: (nonce as u64) << 32,
            clients: self.clients,
            count: self.count,
            keys: self.keys,
            interval: self.interval.unwrap_or(Time::ZERO),
            timeout: self.asking.timeout,
            start: Time::ZERO,
            seed: ::capture::clock::now_ns(),
            ..Default::default()
        };
        let over = Arc::new(AtomicBool::new(false));
        let ended = self.group.drive(ClientNode::new(config)?, &over)?;
        let verdicts = ended.outcome.nodes.iter();
        let verdict = verdicts.filter_map(|node| node.verdict.as_ref()).next();
        let verdict = verdict.context("the clients say nothing")?;
        match self.group.json {
            true => {
                let counters = ended.outcome.nodes.iter().flat_map(|node| &node.counters);
                let counters: serde_json::Map<_, _> = counters
                    .map(|(name, count)| (name.clone(), (*count).into()))
                    .collect();
                println!(
                    "{}",
                    json_line!("paxos", "load", { "holds": verdict.holds, "told": verdict.told, "counters": counters })
                );
            }
            false if counter(&ended, "answered") == 0 => println!("no operation was answered"),
            false => println!("{}", verdict.told),
        }
        let all = u64::from(self.clients) * u64::from(self.count);
        let left = all - counter(&ended, "answered");
        let done = left == 0;
        if !done {
            eprintln!("wire: {left} of {all} operations were not answered");
        }
        self.asking.report_closed(&ended);
        if !verdict.holds {
            eprintln!("wire: {}", verdict.told);
        }
        let good = verdict.holds && (done || ::capture::signal::stop_requested());
        Ok(Verdict::if_good(good).max(Verdict::if_done(done)))
    }
}

/// Timeout of a membership change without `--duration`.
const DEFAULT_CHANGE_TIMEOUT: Time = Time::from_secs(60);
/// Questions about members until a change applies, at most.
const QUESTIONS: usize = 1 << 16;

impl Membership {
    fn run(mut self) -> anyhow::Result<Verdict> {
        let change = self.change()?;
        self.group.duration.get_or_insert(DEFAULT_CHANGE_TIMEOUT);
        let json = self.group.json;
        let over = Arc::new(AtomicBool::new(false));
        let last = Arc::new(Mutex::new(None));
        let (noted, seen) = (over.clone(), last.clone());
        let tell = move |came: Answered| {
            if let Some(Answer::Members(members)) = Answer::decode(&came.answer) {
                let mut last = seen.lock();
                if last.is_none_or(|(_, members): (_, Members)| members.refused.is_none()) {
                    *last = Some((came.instance, members));
                }
                noted.fetch_or(
                    !members.pending || members.refused.is_some(),
                    Ordering::SeqCst,
                );
            }
        };
        // It asks until the change applies; each question is one instance less to wait for.
        let questions = std::iter::repeat_n(Change::default().encode(), QUESTIONS);
        let values = std::iter::once(change.encode()).chain(questions).collect();
        let node = Proposer::new(self.group.proposer(&self.asking)?, values, Box::new(tell))?;
        let ended = self.group.drive(node, &over)?;
        self.asking.report_closed(&ended);
        let last = last.lock().take();
        let Some((instance, members)) = last else {
            eprintln!("wire: the members were not answered");
            if change.add != 0 {
                eprintln!("wire: an acceptor is added once it runs and answers: start it first");
            }
            let stopped = ::capture::signal::stop_requested();
            return Ok(Verdict::if_good(stopped).max(Verdict::if_done(false)));
        };
        show(instance, members, json);
        let refused = members.refused.map(|refused| match refused {
            Refusal::Pending => "nothing was changed: the change before does not apply yet; try again",
            Refusal::Fixed => {
                "nothing was changed: a switch orders requests, or acceptors are auxiliary, and such a group keeps its members"
            }
            Refusal::Empty => "nothing was changed: no acceptor would be left",
        });
        if let Some(refused) = refused {
            eprintln!("wire: {refused}");
        }
        let done = !members.pending || refused.is_some();
        Ok(Verdict::if_good(refused.is_none()).max(Verdict::if_done(done)))
    }

    /// The change as bits.
    fn change(&self) -> anyhow::Result<Change> {
        let mut change = Change::default();
        for named in &self.add {
            match named {
                Named::Acceptor(id) => change.add |= 1 << id,
                Named::Replica(id) => change.add_replicas |= 1 << id,
            }
        }
        for named in &self.remove {
            match named {
                Named::Acceptor(id) => change.remove |= 1 << id,
                Named::Replica(id) => change.remove_replicas |= 1 << id,
            }
        }
        let both =
            u16::from(change.add & change.remove) | change.add_replicas & change.remove_replicas;
        anyhow::ensure!(both == 0, "one member is both added and removed");
        Ok(change)
    }
}

/// Prints the members, as of an instance.
fn show(instance: Instance, members: Members, json: bool) {
    let numbers = |bits: u16| {
        (0..16)
            .filter(|id| bits >> id & 1 == 1)
            .collect::<Vec<u16>>()
    };
    let [now, next] = [members.before, members.acceptors].map(|bits| numbers(bits.into()));
    let now = if members.pending { now } else { next.clone() };
    let [added, removed] = [members.added, members.removed].map(numbers);
    if json {
        println!(
            "{}",
            json_line!("paxos", "members", {
                "instance": instance, "acceptors": now, "next_acceptors": next, "pending": members.pending,
                "replicas_added": added, "replicas_removed": removed,
            })
        );
        return;
    }
    let list = |all: &[u16]| {
        all.iter()
            .map(u16::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    println!("instance {instance}: acceptors {}", list(&now));
    if members.pending {
        println!("soon: acceptors {}", list(&next));
    }
    for (what, which) in [("added", added), ("removed", removed)] {
        if !which.is_empty() {
            println!("replicas {what}: {}", list(&which));
        }
    }
}

impl Group {
    /// The address of the group, which the port says where it is one of the kernel's sockets.
    fn address(&self) -> anyhow::Result<Ipv4Addr> {
        match &self.on {
            PortSpec::Multicast { group, .. } => {
                let own = consensus::message::PORT;
                anyhow::ensure!(
                    group.port() == own,
                    "Paxos has the UDP port {own}, not {}",
                    group.port()
                );
                Ok(*group.ip())
            }
            _ => Ok(proposer::Config::default().group),
        }
    }

    /// The key of the group.
    fn key(&self) -> anyhow::Result<Option<Key>> {
        let key = self.key.as_deref().map(lab::group_key).transpose();
        key.map_err(anyhow::Error::msg)
    }

    /// Configuration of a proposer.
    fn proposer(&self, asking: &Asking) -> anyhow::Result<proposer::Config> {
        Ok(proposer::Config {
            group: self.address()?,
            key: self.key()?,
            nonce: Asking::nonce()?,
            name: asking.client.unwrap_or(0),
            timeout: asking.timeout,
            ..Default::default()
        })
    }

    /// Has values decided.
    fn submit(
        self,
        asking: &Asking,
        values: Vec<Value>,
        tell: impl FnMut(Answered) + Send + 'static,
    ) -> anyhow::Result<Verdict> {
        let all = values.len() as u64;
        let node = Proposer::new(self.proposer(asking)?, values, Box::new(tell))?;
        let ended = self.drive(node, &Arc::new(AtomicBool::new(false)))?;
        let left = all - counter(&ended, "answered");
        if left > 0 {
            eprintln!("wire: {left} of {all} values were not answered");
        }
        asking.report_closed(&ended);
        let stopped = ::capture::signal::stop_requested();
        Ok(Verdict::if_good(left == 0 || stopped).max(Verdict::if_done(left == 0)))
    }

    /// Runs a node until `over`, or until it has nothing left to do.
    fn drive(
        &self,
        node: impl Node + 'static,
        over: &Arc<AtomicBool>,
    ) -> anyhow::Result<PortsOutcome> {
        let port = port::open(&self.on, &Options::of_nodes(1))?;
        confine::member([&self.on], false)?;
        let stop = over.clone();
        let heard = Arc::new(AtomicBool::new(false));
        let (hears, begun) = (heard.clone(), ::capture::clock::now_ns());
        let (on, noted) = (self.on.to_string(), AtomicBool::new(false));
        let look = move || {
            let waits = ::capture::clock::now_ns().saturating_sub(begun) > SILENCE.as_ps() / 1000;
            if waits && !heard.load(Ordering::SeqCst) && !noted.swap(true, Ordering::SeqCst) {
                eprintln!(
                    "wire: no replies from the group on {on}: run its acceptors, a coordinator and a replica; if they run, check the interface's address behind @, and --key"
                );
            }
            stop.load(Ordering::SeqCst)
        };
        let options = PortsOptions {
            until: self.duration,
            stop: Some(Box::new(look)),
            ..PortsOptions::default()
        };
        let node = Box::new(UntilIdle(node, over.clone(), hears));
        let mut ended = world::on_ports_with("paxos", node, vec![port], options)?;
        match ended.trouble.take() {
            Some(error) => Err(error.into()),
            None => Ok(ended),
        }
    }
}

fn counter(ended: &PortsOutcome, name: &str) -> u64 {
    let mut all = ended.outcome.nodes.iter().flat_map(|node| &node.counters);
    all.find(|(known, _)| known == name).map_or(0, |&(_, n)| n)
}

/// Time without an answer of the group after which that is reported.
const SILENCE: Time = Time::from_ms(1_000);
/// Position of a message's kind in its frame: behind the headers of Ethernet, IPv4 and UDP.
const KIND: usize = 42;

/// Notes when a node has nothing left to do, and whether the group answers.
struct UntilIdle<N>(N, Arc<AtomicBool>, Arc<AtomicBool>);

impl<N: Node> UntilIdle<N> {
    fn look(&self) {
        if self.0.next_wake().is_none() {
            self.1.store(true, Ordering::SeqCst);
        }
    }
}

impl<N: Node> Node for UntilIdle<N> {
    fn properties(&self) -> Properties {
        self.0.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        let of_replicas = [Kind::Response as u8, Kind::Delivered as u8];
        let is_answer = |frame: &Frame| {
            frame
                .get(KIND)
                .is_some_and(|kind| of_replicas.contains(kind))
        };
        if frames.iter().any(is_answer) {
            self.2.store(true, Ordering::SeqCst);
        }
        self.0.frames(now, port, frames, out);
        self.look();
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.0.wake(now, out);
        self.look();
    }

    fn next_wake(&self) -> Option<Time> {
        self.0.next_wake()
    }

    fn statistics(&self) -> Statistics {
        self.0.statistics()
    }
}
