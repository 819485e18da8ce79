//! Sends flows over several paths, by rules, by shares, or to where the wait is shorter (004 section 3.2, after its reference 36).
//!
//! - **Ports:** 1 + n: port 0 is the near side; port i leads to path i. What comes by a path goes to the near side.
//! - **Parameters:** `paths`, 2, at most 16; `rule`, none: the first whose `match` matches sends a packet to its `path`; `by`,
//!   `share`: all others are spread over the paths by a hash of their five-tuple; or `wait`: to the path whose queue is shorter
//!   when a flow begins (as long as several are equally short, by share among them); `weights`: the shares of the paths; left out, they are as the paths' rates;
//!   `idle`, 60 s, and `flows`, 65,536: how long, and of how many flows, the path is remembered when it goes by the wait; `age`, 10 ms: how old
//!   may be what is known of the paths.
//! - **Counters:** `packets`; `bytes`, without FCS; `by_rule`; `flows`: those remembered at the end; `moved`: remembered flows whose path
//!   went down; `no_room`: packets whose flow could not be remembered, and went by share; `path1` and so on: packets sent there.
//! - **Drops:** `no path is up`.
//!
//! A flow keeps its path for its life: packets that overtake each other look like loss to TCP. A path whose interface is down is left at
//! once; by a rule or a share a flow goes back when it is up again. All fragments of a packet go one way. What is not IP - ARP
//! between the two sides, say - goes by the first path that is up.

use crate::backlog::Backlog;
use crate::rule::{Headers, Rule};
use crate::table::{Table, mix};
use alloc::format;

use alloc::vec::Vec;
use node::ConfigError;
use node::event::{Event, What};
use node::{Frame, Node, Out, Port, Properties, Rate, Statistics, Time};

/// Maximum number of paths.
pub const MAX_PATHS: usize = 16;
/// Maximum number of flows that can be remembered.
pub const MAX_FLOWS: usize = 1 << 22;
const NEAR: Port = Port(0);

/// How flows that no rule matches are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Selection {
    /// By a hash, in given shares.
    #[default]
    Share,
    /// To where the wait is shortest when they begin.
    Wait,
}

/// A rule, and the path that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Route {
    /// Which packets.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub matching: Rule,
    /// The path, from 1.
    pub path: u16,
}

/// What it is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// How many paths, 1 to [`MAX_PATHS`].
    pub paths: u16,
    /// Rules, of which the first that matches decides.
    pub rule: Vec<Route>,
    /// How all others go.
    pub by: Selection,
    /// The paths' shares; empty: as their rates, or equal as long as one is not known.
    pub weights: Vec<u32>,
    /// How long a flow is remembered after its last packet.
    pub idle: Time,
    /// How many flows are remembered, at most [`MAX_FLOWS`].
    pub flows: usize,
    /// How old facts may be.
    pub age: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            paths: 2,
            rule: Vec::new(),
            by: Selection::Share,
            weights: Vec::new(),
            idle: Time::from_secs(60),
            flows: 65_536,
            age: Time::from_ms(10),
        }
    }
}

/// The node. See the [module](self).
#[derive(Debug)]
pub struct Paths {
    config: Config,
    paths: Vec<Path>,
    flows: Table<u16>,
    packets: u64,
    bytes: u64,
    by_rule: u64,
    moved: u64,
    no_room: u64,
}

#[derive(Debug)]
struct Path {
    /// What the world says of its interface, and of its link.
    up: [bool; 2],
    rate: Option<Rate>,
    backlog: Backlog,
    weight: u64,
    sent: u64,
}

impl Path {
    fn is_up(&self) -> bool {
        self.up == [true; 2]
    }
}

impl Paths {
    /// A new one.
    ///
    /// # Errors
    /// When a number is out of its range, a rule leads to no path, or the weights do not fit the paths.
    pub fn new(config: Config) -> Result<Paths, ConfigError> {
        let wrong = |key, reason| Err(ConfigError { key, reason });
        let count = usize::from(config.paths);
        if !(1..=MAX_PATHS).contains(&count) {
            return wrong("paths", format!("from 1 to {MAX_PATHS}"));
        }
        if let Some(route) = config
            .rule
            .iter()
            .find(|route| !(1..=config.paths).contains(&route.path))
        {
            let reason = format!("path {} is none of 1 to {count}", route.path);
            return wrong("rule", reason);
        }
        let weights = &config.weights;
        let sum: u64 = weights.iter().copied().map(u64::from).sum();
        if !weights.is_empty() && (weights.len() != count || sum == 0) {
            let reason = format!("one for each of the {count} paths, not all of them 0");
            return wrong("weights", reason);
        }
        if config.flows > MAX_FLOWS {
            return wrong("flows", format!("at most {MAX_FLOWS}"));
        }
        let path = |index: usize| Path {
            up: [true; 2],
            rate: None,
            backlog: Backlog::default(),
            weight: config
                .weights
                .get(index)
                .map_or(1, |weight| u64::from(*weight)),
            sent: 0,
        };
        let flows = match config.by {
            Selection::Share => 0,
            Selection::Wait => config.flows,
        };
        Ok(Paths {
            paths: (0..count).map(path).collect(),
            flows: Table::new(flows, config.idle),
            config,
            packets: 0,
            bytes: 0,
            by_rule: 0,
            moved: 0,
            no_room: 0,
        })
    }

    /// The path for a packet, as an index; `None` when all are down.
    fn choose(&mut self, now: Time, headers: Option<&Headers>) -> Option<usize> {
        let Some(headers) = headers else {
            return self.paths.iter().position(Path::is_up);
        };
        let rules = &self.config.rule;
        if let Some(route) = rules.iter().find(|route| route.matching.matches(headers)) {
            let path = usize::from(route.path) - 1;
            if self.paths[path].is_up() {
                self.by_rule += 1;
                return Some(path);
            }
        }
        let hash = mix(headers.tuple.hash());
        if self.config.by == Selection::Share {
            return self.by_share(hash);
        }
        let known = self.flows.get(now, &headers.tuple);
        let before = known.as_ref().map(|path| usize::from(**path));
        if let Some(path) = before.filter(|path| self.paths[*path].is_up()) {
            return Some(path);
        }
        let path = self.by_wait(now, hash)?;
        match self.flows.put(now, headers.tuple, path as u16) {
            true => {
                self.moved += u64::from(before.is_some());
                Some(path)
            }
            // Without a memory the wait would scatter a flow.
            false => {
                self.no_room += 1;
                self.by_share(hash)
            }
        }
    }

    /// By the hash, in shares. Only flows of paths that are down go elsewhere.
    fn by_share(&self, hash: u32) -> Option<usize> {
        let all = share(&self.paths, hash, |_| true);
        let up = all.filter(|path| self.paths[*path].is_up());
        up.or_else(|| share(&self.paths, mix(!hash), Path::is_up))
            // Those that are up have no share: better than nothing.
            .or_else(|| self.paths.iter().position(Path::is_up))
    }

    /// To where the wait is shortest. Where none is known there is none.
    fn by_wait(&self, now: Time, hash: u32) -> Option<usize> {
        let wait = |path: &Path| path.backlog.wait(now).unwrap_or_default();
        let shortest = self
            .paths
            .iter()
            .filter(|path| path.is_up())
            .map(wait)
            .min()?;
        let is_one = |path: &Path| path.is_up() && wait(path) == shortest;
        share(&self.paths, hash, is_one).or_else(|| self.paths.iter().position(is_one))
    }

    /// Makes the shares as the rates are, if those are to be and all are known.
    fn weigh(&mut self) {
        if self.config.weights.is_empty() && self.paths.iter().all(|path| path.rate.is_some()) {
            for path in &mut self.paths {
                path.weight = path.rate.map_or(1, Rate::bits_per_second);
            }
        }
    }
}

/// One of the paths of which something holds, in their shares; `None` when they have none.
fn share(paths: &[Path], hash: u32, holds: impl Fn(&Path) -> bool) -> Option<usize> {
    let weight = |path: &Path| {
        if holds(path) {
            u128::from(path.weight)
        } else {
            0
        }
    };
    let sum: u128 = paths.iter().map(weight).sum();
    let mut point = (sum * u128::from(hash)) >> 32;
    for (index, path) in paths.iter().enumerate() {
        let weight = weight(path);
        if point < weight {
            return Some(index);
        }
        point -= weight;
    }
    None
}

impl Paths {
    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        self.packets += 1;
        self.bytes += frame.len() as u64;
        if port != NEAR {
            return out.send(NEAR, frame);
        }
        match self.choose(now, Headers::read(&frame).as_ref()) {
            Some(index) => {
                let path = &mut self.paths[index];
                path.sent += 1;
                path.backlog.send(now, frame.len());
                out.send(Port(index as u16 + 1), frame);
            }
            None => out.drop(frame, "no path is up"),
        }
    }
}

impl Node for Paths {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: Some(self.config.age),
            changes_frames: false,
            ..Properties::of(1 + self.paths.len())
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        let index = event.port.index().checked_sub(1);
        let Some(path) = index.and_then(|index| self.paths.get_mut(index)) else {
            return;
        };
        path.backlog.update(event);
        let before = path.rate;
        match &event.what {
            What::Link(up) => path.up[1] = *up,
            What::Interface(interface) => {
                path.up[0] = interface.up;
                path.rate = path.rate.or(interface.rate);
            }
            _ => {}
        }
        // What the queue is shaped to counts for more than what the interface could do.
        path.rate = path.backlog.rate().or(path.rate);
        if path.rate != before {
            self.weigh();
        }
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.counter("packets", self.packets);
        statistics.counter("bytes", self.bytes);
        statistics.counter("by_rule", self.by_rule);
        statistics.counter("flows", self.flows.count() as u64);
        statistics.counter("moved", self.moved);
        statistics.counter("no_room", self.no_room);
        for (index, path) in self.paths.iter().enumerate() {
            statistics.counter(&format!("path{}", index + 1), path.sent);
        }
        statistics
    }
}
