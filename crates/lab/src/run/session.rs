//! A lab in simulated time that goes on when it is told to, and stands still in between.

mod state;

pub use state::{Flight, LinkState};

use super::{Ran, Stage, busy, conclude, prepare, report};
use crate::capture_file::TimeBase;
use crate::error::LabError;
use crate::fault::nearest;
use crate::host_names;
use crate::instruments::pings::{Answer, Pings};
use crate::options::Options;
use crate::plan::{Lab, LinkPlan, Resolution};
use crate::report::Report;
use crate::world::World;
use ::report::text::{Table, cells, number, percent};
use measure::clock::ClockReport;
use node::outcome::Finish;
use node::{NodeId, Time};
use sim::{Sim, SimError};
use std::cmp::Reverse;
use std::net::IpAddr;

/// Events between two checks whether to stop.
const SLICE: u32 = 4096;
/// Timeout of a ping, the same as in ping(8).
const PING_TIMEOUT: Time = Time::from_secs(1);
/// Nodes that a message names.
const NAMED: usize = 16;

/// A run that stands still until it is told to go on.
///
/// What comes of it is what comes of a run at once, as long as nobody pings and no link is taken down.
///
/// ```
/// let lab = lab::parse(r#"
///     [node.h1]
///     kind = "host"
///     address = "10.0.0.1/24"
///
///     [node.h2]
///     kind = "host"
///     address = "10.0.0.2/24"
///
///     [[link]]
///     ends = ["h1.0", "h2.0"]
///     delay = "1 ms"
/// "#)?;
/// let mut session = lab::Session::open(&lab, &lab::Options::default())?;
/// assert!(matches!(session.ping("h1", "h2")?, lab::Ping::Answered(_)));
/// session.set_link("h1", "h2", false)?;
/// assert_eq!(session.ping("h1", "h2")?, lab::Ping::Silence);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session<'a> {
    lab: &'a Lab,
    options: Options,
    /// When the lab ends, if it says so.
    duration: Option<Time>,
    sim: Sim,
    stage: Stage,
    pings: Pings,
}

/// Outcome of a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ping {
    /// Time from the request to the reply.
    Answered(Time),
    /// An ICMP error came instead.
    Error {
        /// Time from the request to the error.
        after: Time,
        /// Its sender.
        from: IpAddr,
        /// Its name in the words of ping(8).
        name: &'static str,
    },
    /// There was no answer within a second.
    Silence,
    /// The host has no route to the destination.
    NoRoute,
}

/// Maximum number of hops of a traceroute.
const MAX_HOPS: u8 = 30;

/// Why a session does not do what it is told to.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No such node.
    #[error("there is no node `{name}`{hint}")]
    NoNode {
        /// As it was called.
        name: String,
        /// Which there are.
        hint: String,
    },
    /// It cannot ping, or cannot be pinged.
    #[error(
        "`{name}` is a node of kind `{kind}`{lacks}: hosts and routers with an address ping and are pinged"
    )]
    NoHost {
        /// The node.
        name: String,
        /// Its kind.
        kind: String,
        /// What it lacks.
        lacks: &'static str,
    },
    /// A node that is to ping itself.
    #[error("`{0}` cannot ping itself")]
    Itself(String),
    /// Nobody to ping.
    #[error("there are no two hosts with addresses")]
    NoHosts,
    /// No link between two nodes.
    #[error("no link leads from `{0}` to `{1}`; `links` shows all")]
    NoLink(String, String),
    /// A number of no link.
    #[error("there is no link {0}: the lab has {1}, numbered from 0")]
    NoLinkNumber(usize, usize),
    /// A node without a sublayer.
    #[error("`{0}` has no sublayer: DTP is a table `[node.{0}.dtp]`")]
    NoSublayer(String),
    /// A command that a sublayer refuses, and why.
    #[error("{0}")]
    Command(String),
    /// Nothing would end a run.
    #[error("nothing bounds the run: {0}; give a time to run until")]
    Endless(String),
    /// A time that is over.
    #[error("it is {now} already: simulated time does not go back to {wanted}")]
    Past {
        /// The time.
        now: Time,
        /// What was asked for.
        wanted: Time,
    },
    /// The simulation cannot go on.
    #[error(transparent)]
    Sim(#[from] SimError),
}

impl<'a> Session<'a> {
    /// Makes everything ready; nothing has happened yet.
    ///
    /// # Errors
    /// As of [`run`](crate::run), of a lab in simulated time.
    pub fn open(lab: &'a Lab, options: &Options) -> Result<Session<'a>, LabError> {
        prepare(lab, World::Sim, options)?;
        let time_base = TimeBase {
            zero_ps: 0,
            resolution: Resolution::Nanosecond,
        };
        let out = options.out.as_ref().unwrap_or(&options.folder);
        let mut stage = Stage::new(lab, World::Sim, out, options.dry, time_base)?;
        let pings = Pings::default();
        stage.services.provide(pings.clone());
        let graph = stage.graph(lab, options, World::Sim, None)?;
        let duration = options.duration.or(lab.duration);
        let simulation = sim::Options {
            seed: lab.seed,
            until: duration,
            taps: stage.taps(lab),
            bits: stage.bit_taps(lab),
            queues: stage.queue_taps(lab),
            disciplines: stage.disciplines(lab),
            clocks: stage.clock_tap(),
            ..sim::Options::default()
        };
        Ok(Session {
            lab,
            duration,
            sim: Sim::new(graph, simulation)?,
            stage,
            pings,
            options: options.clone(),
        })
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.sim.now()
    }

    /// When something happens next; `None` when nothing is left to happen.
    pub fn next(&self) -> Option<Time> {
        self.sim.next()
    }

    /// Frames delivered, and events, so far.
    pub fn progress(&self) -> (u64, u64) {
        let outcome = self.sim.outcome();
        (outcome.frames, outcome.events)
    }

    /// Lets so many events happen, or as many as there are; how many that were.
    ///
    /// # Errors
    /// When time stands still.
    pub fn step(&mut self, events: u64) -> Result<u64, SessionError> {
        let mut done = 0;
        while done < events && !self.is_over() {
            let Some(next) = self.sim.next() else { break };
            self.sim.advance_to(next, 1)?;
            done += 1;
        }
        Ok(done)
    }

    /// Lets all happen up to a time, which it is then.
    ///
    /// # Errors
    /// When that time is over, or time stands still.
    pub fn advance(&mut self, until: Time) -> Result<(), SessionError> {
        let now = self.now();
        if until < now {
            return Err(SessionError::Past { now, wanted: until });
        }
        while !self.is_over() && !self.sim.advance_to(until, SLICE)? {}
        Ok(())
    }

    /// Goes on to the end: the lab's duration, or when nothing is left to happen.
    ///
    /// # Errors
    /// When there is no end, or time stands still.
    pub fn finish(&mut self) -> Result<(), SessionError> {
        let until = self.duration.unwrap_or(Time::MAX);
        let endless = || self.lab.endless().into_iter().next();
        if let (None, Some(why)) = (self.duration, endless()) {
            return Err(SessionError::Endless(why));
        }
        while let Some(next) = self.sim.next() {
            if self.is_over() {
                return Ok(());
            }
            if next > until {
                return self.advance(until.max(self.now()));
            }
            self.sim.advance_to(next, SLICE)?;
        }
        Ok(())
    }

    /// Whether somebody wants it to stop, or the last test of OFLOPS or estimate is done.
    fn is_over(&self) -> bool {
        let tests = self.lab.tests();
        tests > 0 && self.stage.is_done()() || self.options.stop.is_some_and(|stop| stop())
    }

    /// Pings one host or router from another: a request at this time, and all that happens until its answer, or for a second.
    ///
    /// # Errors
    /// When one of them cannot ping or be pinged, or time stands still.
    pub fn ping(&mut self, from: &str, to: &str) -> Result<Ping, SessionError> {
        let (node, address) = self.ends(from, to)?;
        match address {
            Some(address) => self.echo(node, address, ip::header::HOPS),
            None => Ok(Ping::NoRoute),
        }
    }

    /// The outcomes of requests with hop limits 1, 2 and so on, until one is answered, or reported as unreachable, or has 30 hops.
    ///
    /// # Errors
    /// Those of [`ping`](Session::ping).
    pub fn traceroute(&mut self, from: &str, to: &str) -> Result<Vec<Ping>, SessionError> {
        let (node, address) = self.ends(from, to)?;
        let Some(address) = address else {
            return Ok(vec![Ping::NoRoute]);
        };
        let mut hops = Vec::new();
        for limit in 1..=MAX_HOPS {
            let outcome = self.echo(node, address, limit)?;
            hops.push(outcome);
            let goes_on = match outcome {
                Ping::Error { name, .. } => name == "time exceeded",
                Ping::Silence => true,
                Ping::Answered(_) | Ping::NoRoute => false,
            };
            if !goes_on {
                break;
            }
        }
        Ok(hops)
    }

    /// The node `from`, and an address of `to` that it can ask.
    fn ends(&self, from: &str, to: &str) -> Result<(usize, Option<IpAddr>), SessionError> {
        let from = self.node(from)?;
        let own = match self.lab.nodes[from].kind.pings {
            // It may have got an address by DHCP.
            true => host_names::all_addresses(&self.lab.nodes[from].config).collect(),
            false => self.addresses(from)?,
        };
        let same =
            |one: &&IpAddr| own.is_empty() || own.iter().any(|own| own.is_ipv4() == one.is_ipv4());
        if let Ok(address) = to.parse::<IpAddr>() {
            return Ok((from, Some(address).filter(|one| same(&one))));
        }
        let to = self.node(to)?;
        if from == to {
            return Err(SessionError::Itself(self.lab.nodes[from].name.clone()));
        }
        let others = self.addresses(to)?;
        Ok((from, others.iter().find(same).copied()))
    }

    fn echo(&mut self, from: usize, to: IpAddr, hops: u8) -> Result<Ping, SessionError> {
        let asked = self.now();
        self.pings.ask(from, to, hops);
        self.sim.wake(NodeId(from));
        let until = asked + PING_TIMEOUT;
        loop {
            if let Some(outcome) = self.answered(asked) {
                return Ok(outcome);
            }
            match self.sim.next().filter(|next| *next <= until) {
                Some(next) if !self.is_over() => self.sim.advance_to(next, 1)?,
                _ => break,
            };
        }
        self.advance(until)?;
        Ok(Ping::Silence)
    }

    /// Sends an echo request from a node now.
    fn ask(&mut self, node: usize, to: IpAddr, hops: u8) {
        self.pings.ask(node, to, hops);
        self.sim.wake(NodeId(node));
    }

    /// Outcome of a ping that was sent at a time, if it is known.
    fn answered(&self, asked: Time) -> Option<Ping> {
        Some(match self.pings.answer()? {
            Answer::Arrived(at, _, None) => Ping::Answered(at - asked),
            Answer::Arrived(at, from, Some(error)) => Ping::Error {
                after: at - asked,
                from,
                name: ip::icmp::Report::name(from.is_ipv4(), error),
            },
            Answer::NoRoute => Ping::NoRoute,
        })
    }

    /// The hosts that can ping each other, by their names.
    ///
    /// # Errors
    /// When there are no two.
    pub fn hosts(&self) -> Result<Vec<&'a str>, SessionError> {
        let nodes = 0..self.lab.nodes.len();
        let hosts = nodes
            .filter(|node| self.lab.nodes[*node].kind.is_host && self.addresses(*node).is_ok());
        let hosts: Vec<&str> = hosts.map(|node| &self.lab.nodes[node].name[..]).collect();
        match hosts.len() {
            0 | 1 => Err(SessionError::NoHosts),
            _ => Ok(hosts),
        }
    }

    /// Takes all links between two nodes down, or brings them up; how many those are, and how many frames that has lost.
    ///
    /// # Errors
    /// When there is no link between them.
    pub fn set_link(&mut self, a: &str, b: &str, up: bool) -> Result<(usize, u64), SessionError> {
        let pair = (self.node(a)?, self.node(b)?);
        let (mut count, mut lost) = (0, 0);
        for (index, plan) in self.lab.links.iter().enumerate() {
            let [one, other] = plan.link.ends.map(|end| end.node.0);
            if (one, other) == pair || (other, one) == pair {
                lost += self.sim.set_link(index, up)?;
                count += 1;
            }
        }
        match count {
            0 => Err(SessionError::NoLink(a.into(), b.into())),
            _ => Ok((count, lost)),
        }
    }

    /// Sends a command to the sublayer of a node, such as DTP, and returns its answer.
    ///
    /// # Errors
    /// When the node has no sublayer, or that has no such command.
    pub fn command(&mut self, node: &str, line: &str) -> Result<String, SessionError> {
        let member = self.node(node)?;
        match self.sim.command(NodeId(member), line) {
            None => Err(SessionError::NoSublayer(node.into())),
            Some(said) => said.map_err(SessionError::Command),
        }
    }

    /// The nodes: their kinds, ports and addresses.
    pub fn nodes(&self) -> Table {
        let head = cells(&["node", "kind", "ports", "address"]);
        let nodes = self.lab.nodes.iter().map(|plan| {
            let addresses = host_names::all_addresses(&plan.config);
            let addresses = addresses.map(|address| address.to_string());
            vec![
                plan.name.clone(),
                plan.kind.name.clone(),
                plan.planned.properties.ports.to_string(),
                addresses.collect::<Vec<_>>().join(" "),
            ]
        });
        Table::new(std::iter::once(head).chain(nodes))
    }

    /// The links: whether they are up, and what they have carried.
    pub fn links(&self) -> Table {
        let (outcome, up) = (self.sim.outcome(), self.sim.links_up());
        let mut lines = vec![cells(&["link", "state", "frames", "busy", "dropped"])];
        for (index, plan) in self.lab.links.iter().enumerate() {
            let busy = busy(plan, &outcome.links[index], outcome.ended);
            for direction in [0, 1] {
                let LinkPlan { names, .. } = plan;
                let counters = &outcome.links[index][direction];
                let state = if up[index][direction] { "up" } else { "down" };
                lines.push(vec![
                    format!("{} -> {}", names[direction], names[1 - direction]),
                    state.into(),
                    number(counters.sent),
                    busy[direction].map_or("-".into(), percent),
                    number(
                        counters.queue_full
                            + counters.dropped_early
                            + counters.lost
                            + counters.bit_errors,
                    ),
                ]);
            }
        }
        Table::new(lines)
    }

    /// The conversations of hosts so far; without lines if there are none.
    pub fn flows(&self) -> Table {
        Table::new(crate::flows::table(&self.sim.outcome().nodes))
    }

    /// The frames that did not get through so far, by place and reason, the most frequent first; without lines if there are none.
    pub fn drops(&self) -> Table {
        let mut losses = self.report().losses();
        losses.sort_by_key(|(.., count)| Reverse(*count));
        let mut lines: Vec<Vec<String>> = losses
            .into_iter()
            .map(|(at, what, count)| vec![at, what, number(count)])
            .collect();
        if !lines.is_empty() {
            lines.insert(0, cells(&["where", "what", "frames"]));
        }
        Table::new(lines)
    }

    /// The counters of a node, or of all nodes those that are not zero.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn counters(&self, name: Option<&str>) -> Result<Table, SessionError> {
        let wanted = name.map(|name| self.node(name)).transpose()?;
        let mut lines = vec![cells(&["node", "counter", "value"])];
        for (index, node) in self.sim.outcome().nodes.into_iter().enumerate() {
            if wanted.is_some_and(|wanted| wanted != index) {
                continue;
            }
            let shown = |(_, value): &(String, u64)| wanted.is_some() || *value > 0;
            let counters = node.counters.into_iter().filter(shown);
            lines
                .extend(counters.map(|(what, value)| vec![node.name.clone(), what, number(value)]));
        }
        Ok(Table::new(lines))
    }

    /// What a node tells of itself now.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn statistics(&self, name: &str) -> Result<node::outcome::Statistics, SessionError> {
        Ok(self.sim.statistics(NodeId(self.node(name)?)))
    }

    /// The nodes that have a clock of their own: their names, and what time zero is on it when it is right, nanoseconds.
    pub fn clocks(&self) -> Vec<(&'a str, u64)> {
        let nodes = self.lab.nodes.iter().enumerate();
        let clocks = nodes.filter(|(node, _)| {
            let statistics = self.sim.statistics(NodeId(*node));
            statistics.extensions.get::<ClockReport>().is_some()
        });
        let named = clocks.map(|(_, plan)| {
            let clock = plan.config.get("clock");
            let epoch = clock.and_then(|clock| clock.get("epoch_ns")?.read().ok());
            (&plan.name[..], epoch.unwrap_or(0))
        });
        named.collect()
    }

    /// The tables by which a node treats packets: the addresses that a switch has learned, flow tables, those of a P4 program. Most
    /// kinds have none.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn tables(&self, name: &str) -> Result<Vec<node::outcome::Table>, SessionError> {
        Ok(self.sim.tables(NodeId(self.node(name)?)))
    }

    /// All that was measured so far.
    pub fn report(&self) -> Report {
        let ran = Ran::from(&self.sim);
        let sections = self.stage.sections(self.lab, World::Sim, &ran.outcome);
        report(self.lab, World::Sim, ran, &self.stage, sections, Vec::new())
    }

    /// Ends the run, writes captures and plots, and tells what came of it.
    pub fn end(mut self) -> Report {
        let finish = match self.sim.next() {
            None => Finish::Idle,
            Some(_) if self.duration == Some(self.now()) => Finish::Duration,
            Some(_) => Finish::Stopped,
        };
        self.sim.end(finish);
        conclude(
            self.lab,
            World::Sim,
            Ran::from(&self.sim),
            &self.stage,
            &self.options,
        )
    }

    fn node(&self, name: &str) -> Result<usize, SessionError> {
        let nodes = &self.lab.nodes;
        if let Some(index) = nodes.iter().position(|plan| plan.name == name) {
            return Ok(index);
        }
        let names = || nodes.iter().map(|plan| &plan.name[..]);
        let hint = match nearest(name, names()) {
            Some(near) => format!(": did you mean `{near}`?"),
            None if nodes.len() > NAMED => "; `nodes` shows all".into(),
            None => format!("; there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        let name = name.into();
        Err(SessionError::NoNode { name, hint })
    }

    /// The addresses by which a host pings and is pinged.
    fn addresses(&self, node: usize) -> Result<Vec<IpAddr>, SessionError> {
        let plan = &self.lab.nodes[node];
        let addresses: Vec<IpAddr> = host_names::all_addresses(&plan.config).collect();
        let pings = plan.kind.pings;
        if pings && !addresses.is_empty() {
            return Ok(addresses);
        }
        Err(SessionError::NoHost {
            name: plan.name.clone(),
            kind: plan.kind.name.clone(),
            lacks: if pings { " without an address" } else { "" },
        })
    }
}
