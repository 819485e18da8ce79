//! How far the clocks of nodes with DTP are apart: what the simulation knows, not what the nodes measure.

mod clocks;
mod daemon;

use crate::plan::{Lab, NodePlan, OffsetsPlan, Published};
use crate::table::{Table, cells, number};
use ::plot::{Axis, Figure, Panel, Series, TimeUnit};
use daemon::{Daemon, Daemons};
use measure::clock::ClockReport;
use node::outcome::NodeOutcome;
use node::{Level, NodeId, Sublayer, Time};
use nodes::dtp::{BITS, Device, Rule};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sim::ClockTap;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// A tick, ns.
const TICK: f64 = 6.4;
/// The same, ps.
const TICK_PS: u64 = 6_400;
/// Bound in ticks for each hop (paper 002 section 4.5.2).
const BOUND: u64 = 4;
/// Maximum number of nodes for which all pairs are compared; with more, only neighbours are.
const MAX_ALL_PAIRS_NODES: usize = 64;
/// Maximum number of pairs that are reported one by one.
const MAX_LISTED: usize = 32;
/// Pairs that are drawn.
const DRAWN: usize = 7;
/// Points of a pair that are kept to be drawn: of longer runs every other, and so on.
const POINTS: usize = 2_000;

/// Sublayers below the nodes of a lab.
pub(crate) fn sublayers(lab: &Lab) -> Vec<(NodeId, Box<dyn Sublayer>)> {
    let nodes = lab.nodes.iter().enumerate();
    let devices = nodes.filter_map(|(node, plan)| {
        let (config, _) = plan.dtp.as_ref()?;
        let device = Device::new(config, plan.planned.properties.ports);
        let device: Box<dyn Sublayer> = Box::new(device.expect("its keys were checked"));
        Some((NodeId(node), device))
    });
    devices.collect()
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
    /// What was published for such a network.
    pub published: Published,
    /// Programs that read the counters, one for each node.
    daemons: Option<Daemons>,
}

/// A node's counter.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The node.
    pub name: String,
    /// What it follows: `maximum`, `gradient`, `average`.
    pub rule: &'static str,
    /// How fast its oscillator was at the begin, parts per million.
    pub own: f64,
    /// How much faster than true time it went, parts per million; `None` where nobody looked twice.
    pub rate: Option<f64>,
}

/// Looks at the clocks of a run.
pub(crate) struct Watched {
    plan: OffsetsPlan,
    /// Without their rates.
    counters: Vec<Counter>,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    /// The nodes with clocks.
    nodes: Vec<usize>,
    daemons: Option<Daemons>,
    /// What each counter was when it was looked at last.
    latest: Vec<Option<(Time, u128)>>,
    pairs: Vec<Pair>,
    /// What all counters were at the first look, and at the last.
    first: Option<(Time, Vec<u128>)>,
    last: Option<(Time, Vec<u128>)>,
    /// Looks that not all nodes have come to: threads differ.
    open: BTreeMap<Time, Vec<Option<u128>>>,
}

impl Watched {
    /// For a lab; `None` if none of its nodes keeps a clock.
    pub fn of(lab: &Lab) -> Option<Watched> {
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
            plan: lab.offsets.clone(),
            counters: nodes
                .iter()
                .map(|&node| Counter::of(&lab.nodes[node]))
                .collect(),
            seen: Arc::new(Mutex::new(Seen {
                daemons: lab.offsets.daemon.as_ref().map(|plan| {
                    let names = nodes.iter().map(|&node| &lab.nodes[node].name);
                    let all = names.map(|name| Daemon::new(plan, name));
                    Daemons {
                        plan: plan.clone(),
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

    /// Who looks for it.
    pub fn tap(&self) -> ClockTap {
        let (seen, from) = (self.seen.clone(), self.plan.from);
        ClockTap {
            every: self.plan.every,
            see: Arc::new(move |now, node, counter| {
                if now >= from {
                    seen.lock().see(now, node.0, counter);
                }
            }),
        }
    }

    /// Reads a node's counter for times near the last look; `None` if the node keeps none.
    pub fn reader(&self, node: usize) -> Option<impl Fn(Time) -> Option<u128> + Send + use<>> {
        let place = self.seen.lock().nodes.binary_search(&node).ok()?;
        let seen = self.seen.clone();
        Some(move |at: Time| {
            let (looked, counter) = seen.lock().latest[place]?;
            let passed = i128::from(at.as_ps()) - i128::from(looked.as_ps());
            let ticks = passed.div_euclid(i128::from(TICK_PS));
            Some(counter.wrapping_add_signed(ticks))
        })
    }

    /// What was seen.
    pub fn offsets(&self) -> Offsets {
        let seen = self.seen.lock();
        Offsets {
            pairs: seen.pairs.clone(),
            nodes: self
                .counters
                .iter()
                .zip(seen.rates())
                .map(|(counter, rate)| Counter {
                    rate,
                    ..counter.clone()
                })
                .collect(),
            published: self.plan.published.clone(),
            daemons: seen.daemons.clone(),
        }
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
            daemons.all[place].look(&daemons.plan, at, counter);
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

/// Nodes whose ports gave up peers, each with how many.
pub(crate) fn given_up(nodes: &[NodeOutcome]) -> impl Iterator<Item = (&str, u64)> {
    nodes.iter().filter_map(|node| {
        let mut counters = node.counters.iter();
        let &(_, peers) = counters.find(|(name, _)| name == "dtp_given_up")?;
        (peers > 0).then_some((node.name.as_str(), peers))
    })
}

/// For people: where clocks are not synchronized any more, and why.
fn write_given_up(f: &mut String, nodes: &[NodeOutcome]) -> fmt::Result {
    let all = given_up(nodes).count();
    if all == 0 {
        return Ok(());
    }
    let named = given_up(nodes)
        .take(MAX_LISTED)
        .map(|(node, peers)| match peers {
            1 => format!("{node} (1 peer)"),
            peers => format!("{node} ({} peers)", number(peers)),
        });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if all > MAX_LISTED {
        named += &format!(" and {} more nodes", number((all - MAX_LISTED) as u64));
    }
    writeln!(
        f,
        "\nwarning: DTP peers given up by {named}: their beacons jumped or were out of range too often. A port does not synchronize with such a peer until its link goes down and comes up again."
    )
}

impl Offsets {
    /// The pairs that are so far apart.
    fn at(&self, hops: Option<u64>) -> impl Iterator<Item = &Pair> + Clone {
        self.pairs.iter().filter(move |pair| pair.hops == hops)
    }

    /// The greatest offset of neighbours, ticks, and how many offsets of any two were over the bound; `None` where nobody looked.
    pub(crate) fn greatest(&self) -> Option<(u128, u64)> {
        let seen = self.at(Some(1)).filter(|pair| pair.looks() > 0);
        let greatest = seen.map(|pair| pair.greatest()).max()?;
        Some((greatest, self.pairs.iter().map(Pair::over).sum()))
    }

    /// Each counter as other clocks are reported. Its truth is how far it was from any other that it has a way to, as counters have no true time; its
    /// bound that of the farthest of those.
    pub(crate) fn clocks(&self, nodes: &[NodeOutcome]) -> Vec<(String, ClockReport)> {
        clocks::reports(self, nodes)
    }

    /// For people: each two neighbours, then those further apart by their distance.
    pub(crate) fn write(&self, f: &mut String, nodes: &[NodeOutcome]) -> fmt::Result {
        let looks = self.pairs.iter().map(Pair::looks).max().unwrap_or(0);
        writeln!(
            f,
            "\nclocks of {} nodes, {} looks",
            self.nodes.len(),
            number(looks)
        )?;
        let mut head = cells(&["offset [ticks of 6.4 ns]", "least", "mean", "greatest"]);
        head.extend(cells(&["bound", "in ns", "looks over it"]));
        let mut lines = vec![head];
        let neighbours = self.at(Some(1));
        if neighbours.clone().count() <= MAX_LISTED {
            for pair in neighbours {
                let [a, b] = &pair.names;
                lines.push(self.line(format!("{a} to {b}"), std::iter::once(pair)));
            }
        }
        let mut distances: Vec<_> = self.pairs.iter().map(|pair| pair.hops).collect();
        distances.dedup();
        for hops in distances {
            let what = match hops {
                Some(1) => "all neighbours".into(),
                Some(hops) => format!("all {hops} hops apart"),
                None => "all without a way".into(),
            };
            let name = format!("{what}, {}", self.at(hops).count());
            lines.push(self.line(name, self.at(hops)));
        }
        write!(f, "{}", Table::new(lines))?;
        write_given_up(f, nodes)?;
        let beside = self.beside(nodes);
        if !beside.is_empty() {
            write!(f, "\n{}", Table::new(beside))?;
        }
        if let Some(daemons) = &self.daemons {
            daemons.write(f)?;
        }
        if self.nodes.len() > MAX_LISTED {
            return Ok(());
        }
        let mut lines = vec![cells(&["counter", "faster than true time [ppm]"])];
        for counter in &self.nodes {
            let rate = counter.rate;
            let rate = rate.map_or("-".into(), |rate| format!("{rate:.1}"));
            lines.push(vec![counter.name.clone(), rate]);
        }
        write!(f, "\n{}", Table::new(lines))
    }

    /// What came of it beside what was published.
    fn beside(&self, nodes: &[NodeOutcome]) -> Vec<Vec<String>> {
        let Published {
            greatest,
            delay,
            over,
        } = &self.published;
        let range = |[least, most]: [u64; 2]| match least == most {
            true => least.to_string(),
            false => format!("{least} to {most}"),
        };
        let mut lines = Vec::new();
        if let (Some(published), Some((here, _))) = (greatest, self.greatest()) {
            let what = "greatest offset of neighbours [ticks]".into();
            lines.push(vec![what, here.to_string(), published.to_string()]);
        }
        if let Some(published) = over {
            let near = || self.at(Some(1));
            let (over, all) = (near().map(Pair::over).sum(), near().map(Pair::looks).sum());
            let here = format!("{} of {}", number(over), number(all));
            let what = "offsets of neighbours over the bound".into();
            lines.push(vec![what, here, number(*published)]);
        }
        let counters = nodes.iter().flat_map(|node| &node.counters);
        let delays = counters.filter(|(name, _)| name.starts_with("dtp_delay_"));
        let delays = delays.map(|(_, ticks)| *ticks);
        let delays = delays.clone().min().zip(delays.max());
        if let (Some(published), Some((least, most))) = (delay, delays) {
            let what = "delay that ports measured [ticks]".into();
            let published = range(published.map(u64::from));
            lines.push(vec![what, range([least, most]), published]);
        }
        if !lines.is_empty() {
            lines.insert(
                0,
                cells(&["beside what was published", "here", "published"]),
            );
        }
        lines
    }

    fn line<'a>(&self, name: String, pairs: impl Iterator<Item = &'a Pair> + Clone) -> Vec<String> {
        let ranges = pairs.clone().filter_map(Pair::range);
        let least = ranges.clone().map(|[least, _]| least).min();
        let most = ranges.map(|[_, most]| most).max();
        let (mut looks, mut sum, mut over) = (0, 0.0, 0);
        let mut hops = None;
        for pair in pairs {
            looks += pair.looks();
            sum += pair.mean() * pair.looks() as f64;
            over += pair.over();
            hops = pair.hops;
        }
        let text = |value: Option<i128>| value.map_or("-".into(), |value| value.to_string());
        let bound = hops.map(|hops| BOUND * hops);
        let mut line = vec![name, text(least)];
        line.push(match looks {
            0 => "-".into(),
            _ => format!("{:.2}", sum / looks as f64),
        });
        line.push(text(most));
        line.push(bound.map_or("-".into(), |bound| bound.to_string()));
        line.push(bound.map_or("-".into(), |bound| format!("{:.1}", bound as f64 * TICK)));
        line.push(number(over));
        line
    }

    /// One line for each pair, and for each node.
    pub(crate) fn json(&self) -> Vec<Value> {
        let lines = self.pairs.iter().map(|pair| {
            let looks = pair.offsets.iter();
            let looks: Vec<_> = looks
                .map(|(offset, count)| json!([offset.to_string(), count]))
                .collect();
            let range = pair.range().map(|ends| ends.map(|end| end.to_string()));
            json!({
                "type": "offset", "a": pair.names[0], "b": pair.names[1], "hops": pair.hops,
                "tick_ps": 6_400, "bound": pair.bound(), "over": pair.over(), "range": range,
                "mean": pair.mean(), "looks": looks,
            })
        });
        let counters = self.nodes.iter();
        let counters = counters.map(
            |counter| json!({ "type": "clock_rate", "node": counter.name, "ppm": counter.rate }),
        );
        let names: Vec<&str> = self.nodes.iter().map(|it| it.name.as_str()).collect();
        let daemons = self.daemons.iter().flat_map(|it| it.json(&names));
        lines.chain(counters).chain(daemons).collect()
    }

    /// How far programs' time is from the counter that they read, over time.
    pub(crate) fn daemon_figure(&self, lab: &Lab, ended: Time) -> Option<Figure> {
        Some(self.daemons.as_ref()?.figure(&lab.name, ended))
    }

    /// Offsets of neighbours over time and their distribution, and the greatest by distance.
    pub(crate) fn figure(&self, lab: &Lab, ended: Time) -> Figure {
        let unit = TimeUnit::of(ended.as_ps() as f64);
        let over_time = Axis::new(format!("time [{}]", unit.name));
        let ticks = |name: &str| Axis::new(format!("{name} [ticks]"));
        let (mut times, mut shares) = (
            Panel::new(over_time, ticks("offset")).title("neighbours"),
            Panel::new(ticks("offset"), Axis::new("share of looks").from_zero()),
        );
        for pair in self.at(Some(1)).take(DRAWN) {
            let name = format!("{} to {}", pair.names[0], pair.names[1]);
            let points = pair.points.iter();
            let points = points.map(|(at, offset)| (unit.of_ps(at.as_ps()), *offset as f64));
            times = times.series(Series::points(&name, points));
            let looks = pair.looks().max(1) as f64;
            let shown = pair.offsets.iter();
            let shown = shown.map(|(offset, count)| (*offset as f64, *count as f64 / looks));
            shares = shares.series(Series::line(&name, shown));
        }
        let bound = BOUND as f64;
        times = times.mark_y(bound, "bound").mark_y(-bound, "");
        shares = shares.mark_x(bound, "bound").mark_x(-bound, "");
        let mut figure = Figure::new(lab.name.clone()).panel(times).panel(shares);
        let mut distances: Vec<u64> = self.pairs.iter().filter_map(|pair| pair.hops).collect();
        distances.dedup();
        if distances.len() > 1 {
            let greatest = |hops: &u64| {
                let most = self.at(Some(*hops)).map(Pair::greatest).max();
                (*hops as f64, most.unwrap_or(0) as f64)
            };
            let bounds = distances.iter();
            let bounds = bounds.map(|hops| (*hops as f64, (BOUND * hops) as f64));
            let panel = Panel::new(Axis::new("hops"), ticks("greatest offset").from_zero())
                .series(Series::points("greatest", distances.iter().map(greatest)))
                .series(Series::line("bound", bounds));
            figure = figure.panel(panel);
        }
        figure
    }
}
