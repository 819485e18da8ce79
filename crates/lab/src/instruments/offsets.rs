//! How far the clocks of nodes with DTP are apart: what the simulation knows, not what the nodes measure.

mod clocks;
mod daemon;
mod report;

use crate::fault::Fault;
use crate::fields::Fields;
use crate::plan::instrument::{Attachments, Finished, Instrument, Measurement, Reading, Section};
use crate::plan::{Lab, NodePlan};
use daemon::{Daemon, Daemons};
use measure::clock::ClockReport;
use node::{Level, Time};
use nodes::dtp::{BITS, Rule};
use parking_lot::Mutex;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A tick, ns.
const TICK: f64 = 6.4;
/// The same, ps.
const TICK_PS: u64 = 6_400;
/// Bound in ticks for each hop (paper 002 section 4.5.2).
const BOUND: u64 = 4;
/// Maximum number of nodes for which all pairs are compared; with more, only neighbours are.
const MAX_ALL_PAIRS_NODES: usize = 64;
/// Points of a pair that are kept to be drawn: of longer runs every other, and so on.
const POINTS: usize = 2_000;

/// Figures that were published for such a network, to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The greatest offset of neighbours, ticks.
    pub greatest: Option<u32>,
    /// The least and the greatest delay that ports measured, ticks.
    pub delay: Option<[u32; 2]>,
    /// How many offsets were over the bound.
    pub over: Option<u64>,
}

/// The instrument: the section `[offsets]`, which a lab with DTP need not have.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    /// From one look to the next.
    every: Time,
    /// Looks before are not counted: nodes still join.
    from: Time,
    /// The picture.
    file: Option<String>,
    published: Published,
    /// Programs that read the counters.
    daemon: Option<daemon::Config>,
}

impl Default for Comparison {
    fn default() -> Comparison {
        Comparison {
            every: Time::from_us(1),
            from: Time::from_us(100),
            file: None,
            published: Published::default(),
            daemon: None,
        }
    }
}

impl Instrument for Comparison {
    fn sections(&self) -> &'static [&'static str] {
        &["offsets"]
    }

    fn read(&mut self, reading: &mut Reading<'_>) {
        let Some(section) = reading.value("offsets") else {
            return;
        };
        let mut fields = Fields::of(section, "a table", reading.faults);
        let every: Option<Time> = fields.optional("every", reading.faults);
        self.every = every.unwrap_or(self.every);
        let from = fields.optional("from", reading.faults);
        self.from = from.unwrap_or(self.from);
        self.file = fields.optional("file", reading.faults);
        let published: Option<Published> = fields.optional("published", reading.faults);
        self.published = published.unwrap_or_default();
        self.daemon = fields.optional("daemon", reading.faults);
        if let (Some(config), Some(value)) = (&self.daemon, fields.value("daemon")) {
            config.check(value, reading);
        }
        if let (Some(Time::ZERO), Some(value)) = (every, fields.value("every")) {
            let message = "from one look at the clocks to the next some time passes";
            let fault = Fault::new(value.span.clone(), message);
            reading.faults.push(fault);
        }
        if let (Some(file), Some(value)) = (&self.file, fields.value("file")) {
            reading.file_name(file, value, &["png", "svg"]);
        }
        fields.finish(reading.faults);
        if reading.lab.nodes.iter().all(|plan| plan.dtp.is_none()) {
            let fault = Fault::new(section.span.clone(), "no node has a clock to be compared");
            reading.faults.push(fault.help("give nodes `dtp = {}`"));
        }
    }

    fn files(&self) -> Vec<String> {
        let daemon = self.daemon.iter();
        let daemon = daemon.filter_map(|config| config.file.clone());
        self.file.iter().cloned().chain(daemon).collect()
    }

    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let watched = Watched::of(self, attachments.lab())?;
        let (seen, from) = (watched.seen.clone(), self.from);
        attachments.on_clock(self.every, move |now, node, counter| {
            if now >= from {
                seen.lock().see(now, node.0, counter);
            }
        });
        attachments.provide(Counters(watched.seen.clone()));
        Some(Box::new(watched))
    }
}

/// The counters of a run's nodes, for other instruments.
#[derive(Clone)]
pub(super) struct Counters(Arc<Mutex<Seen>>);

impl Counters {
    /// Reads a node's counter for times near the last look; `None` if the node keeps none.
    pub fn reader(&self, node: usize) -> Option<impl Fn(Time) -> Option<u128> + Send + use<>> {
        let place = self.0.lock().nodes.binary_search(&node).ok()?;
        let seen = self.0.clone();
        Some(move |at: Time| {
            let (looked, counter) = seen.lock().latest[place]?;
            let passed = i128::from(at.as_ps()) - i128::from(looked.as_ps());
            let ticks = passed.div_euclid(i128::from(TICK_PS));
            Some(counter.wrapping_add_signed(ticks))
        })
    }
}

/// Two nodes, and how far apart their counters were.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Their names.
    pub names: [String; 2],
    /// How many links with DTP are between them; `None` where there is no way.
    pub hops: Option<u64>,
    /// By how many ticks the first was ahead of the second, and at how many looks.
    pub offsets: BTreeMap<i128, u64>,
    /// Some of the looks: when, and the offset.
    points: Vec<(Time, i128)>,
    /// Of how many looks one is a point, and how many came since the last one.
    thinned: (usize, usize),
    places: [usize; 2],
    /// At the last look.
    last: Option<i128>,
}

impl Pair {
    fn see(&mut self, at: Time, row: &[u128]) {
        let [a, b] = self.places.map(|place| row[place]);
        let offset = ahead(a, b);
        *self.offsets.entry(offset).or_default() += 1;
        self.last = Some(offset);
        let (every, since) = &mut self.thinned;
        *since += 1;
        if *since < *every {
            return;
        }
        *since = 0;
        self.points.push((at, offset));
        if self.points.len() > POINTS {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            *every *= 2;
        }
    }

    /// Looks.
    pub fn looks(&self) -> u64 {
        self.offsets.values().sum()
    }

    /// The least and the greatest offset.
    pub fn range(&self) -> Option<[i128; 2]> {
        let (least, _) = self.offsets.first_key_value()?;
        let (most, _) = self.offsets.last_key_value()?;
        Some([*least, *most])
    }

    /// The greatest offset, whoever was ahead.
    pub fn greatest(&self) -> u128 {
        let ends = self.range().into_iter().flatten();
        ends.map(i128::unsigned_abs).max().unwrap_or(0)
    }

    /// The mean offset.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self
            .offsets
            .iter()
            .map(|(offset, count)| *offset as f64 * *count as f64)
            .sum();
        sum / self.looks().max(1) as f64
    }

    /// The paper's bound, ticks.
    pub fn bound(&self) -> Option<u64> {
        Some(BOUND * self.hops?)
    }

    /// At how many looks the offset was over that.
    pub fn over(&self) -> u64 {
        let bound = self.bound().map_or(u128::MAX, u128::from);
        let over = self.offsets.iter();
        let over = over.filter(|(offset, _)| offset.unsigned_abs() > bound);
        over.map(|(_, count)| count).sum()
    }
}

/// How far clocks were apart.
#[derive(Clone, Debug)]
pub struct Offsets {
    /// Neighbours first, and among pairs at one distance in the order of the lab file.
    pub pairs: Vec<Pair>,
    /// The nodes that keep a clock.
    pub nodes: Vec<Counter>,
    /// Figures that were published for such a network.
    pub published: Published,
    /// Nodes whose ports gave up peers, each with how many.
    pub given_up: Vec<(String, u64)>,
    /// The least and the greatest delay that ports measured, ticks.
    pub delays: Option<[u64; 2]>,
    /// Each counter as other clocks are reported, with its node. Its truth is how far it was from any other that it has a
    /// way to, as counters have no true time; its bound that of the farthest of those.
    pub clocks: Vec<(String, ClockReport)>,
    /// Programs that read the counters, one for each node.
    daemons: Option<Daemons>,
    /// The picture's file and title, and when the run ended.
    file: Option<String>,
    lab: String,
    ended: Time,
}

/// A node's counter.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The node.
    pub name: String,
    /// The rule that it follows: `maximum`, `gradient`, `average`.
    pub rule: &'static str,
    /// Frequency error of its oscillator at the start, parts per million.
    pub own: f64,
    /// Mean frequency error, parts per million; `None` after fewer than two looks.
    pub rate: Option<f64>,
}

/// Looks at the clocks of a run.
struct Watched {
    plan: Comparison,
    /// Without their rates.
    counters: Vec<Counter>,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    /// The nodes with clocks.
    nodes: Vec<usize>,
    daemons: Option<Daemons>,
    /// Each counter at its last look.
    latest: Vec<Option<(Time, u128)>>,
    pairs: Vec<Pair>,
    /// All counters at the first look, and at the last.
    first: Option<(Time, Vec<u128>)>,
    last: Option<(Time, Vec<u128>)>,
    /// Looks for which counters of some nodes are still missing, as threads are at different times.
    open: BTreeMap<Time, Vec<Option<u128>>>,
}

impl Watched {
    /// For a lab; `None` if none of its nodes keeps a clock.
    fn of(plan: &Comparison, lab: &Lab) -> Option<Watched> {
        let all = lab.nodes.iter().enumerate();
        let nodes: Vec<usize> = all
            .filter(|(_, plan)| plan.dtp.is_some())
            .map(|(node, _)| node)
            .collect();
        if nodes.is_empty() {
            return None;
        }
        let mut near: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for link in lab.links.iter().map(|plan| &plan.link) {
            let ends = link.ends.map(|end| nodes.binary_search(&end.node.0));
            if let ([Ok(a), Ok(b)], true) = (ends, link.channels[0].level != Level::Frame) {
                near[a].push(b);
                near[b].push(a);
            }
        }
        let mut pairs = Vec::new();
        for a in 0..nodes.len() {
            let hops = distances(&near, a);
            for (b, &hops) in hops.iter().enumerate().skip(a + 1) {
                if nodes.len() > MAX_ALL_PAIRS_NODES && hops != Some(1) {
                    continue;
                }
                pairs.push(Pair {
                    names: [a, b].map(|place| lab.nodes[nodes[place]].name.clone()),
                    hops,
                    offsets: BTreeMap::new(),
                    points: Vec::new(),
                    thinned: (1, 0),
                    places: [a, b],
                    last: None,
                });
            }
        }
        pairs.sort_by_key(|pair| pair.hops.unwrap_or(u64::MAX));
        Some(Watched {
            plan: plan.clone(),
            counters: nodes
                .iter()
                .map(|&node| Counter::of(&lab.nodes[node]))
                .collect(),
            seen: Arc::new(Mutex::new(Seen {
                daemons: plan.daemon.as_ref().map(|config| {
                    let names = nodes.iter().map(|&node| &lab.nodes[node].name);
                    let all = names.map(|name| Daemon::new(config, name));
                    Daemons {
                        config: config.clone(),
                        all: all.collect(),
                    }
                }),
                latest: vec![None; nodes.len()],
                nodes,
                pairs,
                first: None,
                last: None,
                open: BTreeMap::new(),
            })),
        })
    }
}

impl Measurement for Watched {
    fn finish(&self, run: &Finished<'_>) -> Option<Arc<dyn Section>> {
        let seen = self.seen.lock();
        let counters = self.counters.iter().zip(seen.rates());
        let counters = counters.map(|(counter, rate)| Counter {
            rate,
            ..counter.clone()
        });
        let nodes = &run.outcome.nodes;
        let given_up = nodes.iter().filter_map(|node| {
            let mut counters = node.counters.iter();
            let &(_, peers) = counters.find(|(name, _)| name == "dtp_given_up")?;
            (peers > 0).then(|| (node.name.clone(), peers))
        });
        let delays = nodes.iter().flat_map(|node| &node.counters);
        let delays = delays.filter(|(name, _)| name.starts_with("dtp_delay_"));
        let delays = delays.map(|(_, ticks)| *ticks);
        let range = delays.clone().min().zip(delays.max());
        let mut offsets = Offsets {
            pairs: seen.pairs.clone(),
            nodes: counters.collect(),
            published: self.plan.published.clone(),
            given_up: given_up.collect(),
            delays: range.map(|(least, most)| [least, most]),
            clocks: Vec::new(),
            daemons: seen.daemons.clone(),
            file: self.plan.file.clone(),
            lab: run.lab.name.clone(),
            ended: run.outcome.ended,
        };
        offsets.clocks = clocks::reports(&offsets, nodes);
        Some(Arc::new(offsets))
    }
}

impl Counter {
    fn of(plan: &NodePlan) -> Counter {
        let rule = plan.dtp.as_ref().map(|(config, _)| config.rule);
        Counter {
            name: plan.name.clone(),
            rule: match rule.unwrap_or_default() {
                Rule::Maximum => "maximum",
                Rule::Gradient => "gradient",
                Rule::Average => "average",
            },
            own: plan.clock.as_ref().map_or(0.0, |(clock, _)| clock.offset),
            rate: None,
        }
    }
}

/// How far others are from a node.
fn distances(near: &[Vec<usize>], from: usize) -> Vec<Option<u64>> {
    let mut hops = vec![None; near.len()];
    hops[from] = Some(0);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((at, far)) = queue.pop_front() {
        for &next in &near[at] {
            if hops[next].is_none() {
                hops[next] = Some(far + 1);
                queue.push_back((next, far + 1));
            }
        }
    }
    hops
}

impl Seen {
    fn see(&mut self, at: Time, node: usize, counter: u128) {
        let Ok(place) = self.nodes.binary_search(&node) else {
            return;
        };
        if let Some(daemons) = &mut self.daemons {
            daemons.all[place].look(&daemons.config, at, counter);
        }
        self.latest[place] = (counter > 0).then_some((at, counter));
        let all = self.nodes.len();
        let row = self.open.entry(at).or_insert_with(|| vec![None; all]);
        row[place] = Some(counter);
        let whole: Option<Vec<u128>> = row.iter().copied().collect();
        if let Some(row) = whole {
            self.open.remove(&at);
            self.pairs.iter_mut().for_each(|pair| pair.see(at, &row));
            self.first.get_or_insert_with(|| (at, row.clone()));
            self.last = Some((at, row));
        }
    }

    /// By how much counters were faster than true time, ppm.
    fn rates(&self) -> Vec<Option<f64>> {
        let (Some((from, first)), Some((to, last))) = (&self.first, &self.last) else {
            return vec![None; self.nodes.len()];
        };
        let ticks = (*to - *from).as_ps() as f64 / (1e3 * TICK);
        let rate = |(first, last)| {
            let passed = ahead(last, first) as f64;
            (ticks > 0.0).then(|| (passed / ticks - 1.0) * 1e6)
        };
        first
            .iter()
            .copied()
            .zip(last.iter().copied())
            .map(rate)
            .collect()
    }
}

/// By how much one counter is ahead of another.
fn ahead(one: u128, other: u128) -> i128 {
    const REST: u32 = u128::BITS - BITS;
    (one.wrapping_sub(other) << REST) as i128 >> REST
}
