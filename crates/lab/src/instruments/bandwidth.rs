//! What probers estimated, and in simulated time what was true.
//!
//! True is what the tight link had to spare from the first probe of a sample that passed it to when it was first idle behind the last: its rate less what
//! others carried on it, preambles, check sequences and gaps among it. Probes above the available bandwidth hold others up, so that what is counted up to the last probe alone would be
//! too little. The links of a path are those on which the probes were seen.

mod figure;
mod kinds;
mod report;
mod section;

pub(crate) use kinds::kinds;
pub use report::Available;
pub use section::Found;

use crate::fault::Fault;
use crate::kind::Context;
use crate::plan::instrument::{Attachments, Finished, Instrument, Measurement, Reading, Section};
use node::link::{FCS, MIN_WIRE_FRAME_LEN, PREAMBLE};
use node::outcome::Direction;
use node::{Channel, Frame, Rate, Time};
use nodes::bandwidth::message::Message;
use nodes::bandwidth::middlebox::{Mark, print};
use nodes::bandwidth::prober::{Estimate, Tell};
use parking_lot::Mutex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An estimate, and the truth beside it.
#[derive(Clone, Debug)]
pub struct Estimated {
    /// The prober.
    pub node: String,
    /// What its path is called: the prober's name, if nobody says otherwise.
    pub path: String,
    /// What was published for such a path, bits a second.
    pub published: Option<f64>,
    /// What it found.
    pub estimate: Estimate,
    /// What was true; `None` where nobody knows: on live ports, or where no probe came through.
    pub truth: Option<Truth>,
}

impl Estimated {
    /// By how much it was too high, bits a second, if there is an answer and a truth.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let interval = self.estimate.answer.estimate.as_ref()?;
        Some(interval.value - self.truth.as_ref()?.available)
    }
}

/// What the tight link had to spare.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// `a.0 -> b.0`.
    pub link: String,
    /// Its rate less what others carried, bits a second.
    pub available: f64,
    /// When the first probe came to the link's far end.
    pub from: Time,
    /// When the link was first idle behind the last one.
    pub to: Time,
}

/// The instrument: the section `[bandwidth]`, which asks for pictures of estimates.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bandwidth {
    /// Estimated over true.
    figure: Option<String>,
    /// What the methods looked at, over the rates of trains.
    points: Option<String>,
    /// Of which probers; of all, if it does not say.
    #[serde(default)]
    points_of: Vec<String>,
}

/// Whether nodes of a kind estimate, so that the truth is of use.
fn estimates(kind: &str) -> bool {
    ["prober", "middlebox"].contains(&kind)
}

impl Instrument for Bandwidth {
    fn sections(&self) -> &'static [&'static str] {
        &["bandwidth"]
    }

    fn read(&mut self, reading: &mut Reading<'_>) {
        let Some(section) = reading.value("bandwidth") else {
            return;
        };
        match section.read() {
            Ok(read) => *self = read,
            Err(fault) => return reading.faults.push(fault),
        }
        for key in ["figure", "points"] {
            if let Some(value) = section.get(key) {
                let file: String = value.read().unwrap_or_default();
                reading.file_name(&file, value, &["png", "svg"]);
            }
        }
        for name in &self.points_of {
            let node = reading.names.get(name);
            if !node.is_some_and(|&node| estimates(&reading.lab.nodes[node].kind.name)) {
                let message = format!("there is no prober called `{name}`");
                let fault = Fault::new(section.span.clone(), message);
                reading.faults.push(fault);
            }
        }
    }

    fn files(&self) -> Vec<String> {
        self.figure.iter().chain(&self.points).cloned().collect()
    }

    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let lab = attachments.lab();
        let nodes = || lab.nodes.iter().enumerate();
        if !nodes().any(|(_, plan)| estimates(&plan.kind.name)) {
            return None;
        }
        // On live ports the truth is unknown.
        let links = lab.links.iter();
        let links = links.filter(|_| attachments.world().is_simulated());
        let links = links.map(|plan| (&plan.names, &plan.link.channels));
        let estimates = Estimates::new(links);
        estimates.observe(attachments);
        attachments.provide(estimates.clone());
        let probers = nodes().filter(|(_, plan)| plan.kind.name == "prober");
        let wanted = probers.map(|(node, plan)| (node, plan.planned.tests));
        Some(Box::new(Running {
            pictures: self.clone(),
            wanted: wanted.collect(),
            estimates,
        }))
    }
}

/// The instrument in a run.
struct Running {
    pictures: Bandwidth,
    /// The number of estimates of each node that makes a fixed one.
    wanted: Vec<(usize, usize)>,
    estimates: Estimates,
}

impl Measurement for Running {
    fn is_done(&self) -> bool {
        let made = |(node, wanted): &(usize, usize)| self.estimates.count(*node) >= *wanted;
        self.wanted.iter().all(made) && self.estimates.settled()
    }

    fn finish(&self, run: &Finished<'_>) -> Option<Arc<dyn Section>> {
        Some(Arc::new(Found {
            all: self.estimates.all(),
            pictures: self.pictures.clone(),
            lab: run.lab.name.clone(),
        }))
    }
}

/// The estimates of a run, which nodes and the report share.
#[derive(Clone, Default)]
struct Estimates {
    lanes: Arc<Vec<Mutex<Lane>>>,
    /// What packets of applications that are probes are known by.
    marked: Arc<Marked>,
    /// Up to when links were looked at, picoseconds.
    now: Arc<AtomicU64>,
    all: Arc<Mutex<BTreeMap<usize, Vec<Estimated>>>>,
    /// Which node's, and its name.
    of: (usize, String),
}

impl Estimates {
    /// With a look at each direction of these links, of which the ends' names are given.
    fn new<'a>(links: impl Iterator<Item = (&'a [String; 2], &'a [Channel; 2])>) -> Estimates {
        let lanes = links.enumerate().flat_map(|(link, (names, channels))| {
            let lanes = Direction::BOTH.into_iter().filter_map(move |direction| {
                let channel = &channels[direction.index()];
                let [from, to] = [direction.index(), 1 - direction.index()];
                Some(Mutex::new(Lane {
                    place: (link, direction),
                    name: format!("{} -> {}", names[from], names[to]),
                    rate: channel.rate?,
                    around: PREAMBLE + FCS + channel.gap as usize,
                    carried: 0,
                    busy_until: Time::ZERO,
                    longest: 0,
                    seen: BTreeMap::new(),
                }))
            });
            lanes.collect::<Vec<_>>()
        });
        Estimates {
            lanes: Arc::new(lanes.collect()),
            ..Estimates::default()
        }
    }

    /// Those of a run, for a node to add to. A node that is only checked, or has no run around it, has its own.
    fn of(context: &Context<'_>) -> Estimates {
        let (node, name) = context.node();
        let shared = context.service::<Estimates>().cloned();
        Estimates {
            of: (node, name.into()),
            ..shared.unwrap_or_default()
        }
    }

    /// Who takes down what the node estimates.
    fn tell(&self, path: Option<String>, published: Option<Rate>) -> Box<Tell> {
        let store = self.clone();
        let (node, name) = self.of.clone();
        let path = path.unwrap_or_else(|| name.clone());
        let published = published.map(|rate| rate.bits_per_second() as f64);
        Box::new(move |estimate| {
            let estimated = Estimated {
                node: name.clone(),
                path: path.clone(),
                published,
                truth: None,
                estimate,
            };
            store
                .lanes
                .iter()
                .for_each(|lane| lane.lock().keep(&estimated.estimate));
            store.marked.forget(&estimated.estimate);
            store.all.lock().entry(node).or_default().push(estimated);
        })
    }

    /// Who takes down which packets of applications are probes.
    fn mark(&self) -> Box<Mark> {
        let marked = self.marked.clone();
        Box::new(move |print, session, number| {
            marked.any.store(true, Ordering::Relaxed);
            marked.probes.lock().insert(print, (session, number as u32));
        })
    }

    /// The tight link of the path, while a sample passed it.
    fn truth(&self, estimate: &Estimate) -> Option<Truth> {
        // Links that saw few of the probes are beside the path: a switch floods what it does not know.
        let least = ((estimate.packets - estimate.lost) / 2).max(2);
        let passed = self.lanes.iter();
        let passed = passed.filter_map(|lane| lane.lock().spared(estimate, least));
        passed.min_by(|one, other| one.available.total_cmp(&other.available))
    }

    /// Has the links observed.
    fn observe(&self, attachments: &mut Attachments<'_>) {
        for index in 0..self.lanes.len() {
            let lanes = self.lanes.clone();
            let (link, direction) = lanes[index].lock().place;
            let (latest, marked) = (self.now.clone(), self.marked.clone());
            attachments.on_frame(link, direction, move |now, frame| {
                latest.fetch_max(now.as_ps(), Ordering::Relaxed);
                lanes[index].lock().see(frame, marked.probe(frame));
            });
        }
    }

    /// How many there are of a node.
    fn count(&self, node: usize) -> usize {
        self.all.lock().get(&node).map_or(0, Vec::len)
    }

    /// Whether the truth is known of all so far: the links have been idle since, or are not about to be.
    fn settled(&self) -> bool {
        let now = Time::from_ps(self.now.load(Ordering::Relaxed));
        let all = self.all.lock();
        let mut last = all.values().filter_map(|own| own.last());
        last.all(|one| {
            let mut lanes = self.lanes.iter();
            lanes.all(|lane| lane.lock().settled(&one.estimate, now))
        })
    }

    /// Those so far, node by node.
    fn all(&self) -> Vec<Estimated> {
        let all = self.all.lock();
        let all = all.values().flatten().cloned();
        all.map(|one| Estimated {
            truth: self.truth(&one.estimate),
            ..one
        })
        .collect()
    }
}

/// Packets of applications that are probes, by their prints: whose they are, and which.
#[derive(Default)]
struct Marked {
    any: AtomicBool,
    probes: Mutex<BTreeMap<u32, (u16, u32)>>,
}

impl Marked {
    /// The probe that a frame is, if it is one.
    fn probe(&self, frame: &Frame) -> Option<(u16, u32)> {
        let message = Message::of_frame(frame);
        let own = message.filter(|probe| probe.came.is_none());
        let own = own.map(|probe| (probe.session, probe.sequence));
        own.or_else(|| {
            // Without a middlebox nothing is reckoned.
            self.any.load(Ordering::Relaxed).then_some(())?;
            let print = print(frame)?;
            self.probes.lock().get(&print).copied()
        })
    }

    /// Those before a sample that is over have passed; some that follow its last probe may be on their way.
    fn forget(&self, estimate: &Estimate) {
        self.probes.lock().retain(|_, (session, sequence)| {
            let behind = sequence.wrapping_sub(estimate.first as u32) as i32;
            *session != estimate.session || behind >= 0
        });
    }
}

/// A direction of a link, and what passed it.
struct Lane {
    place: (usize, Direction),
    name: String,
    rate: Rate,
    /// Bytes around a frame.
    around: usize,
    /// Bits on the wire so far.
    carried: u64,
    /// When what came last is over, and the next frame could begin.
    busy_until: Time,
    /// The most bits on the wire of a frame: one may be on its way that is told when it is in.
    longest: u64,
    /// What was seen of each session.
    seen: BTreeMap<u16, Seen>,
}

/// What was seen of a prober's probes.
#[derive(Default)]
struct Seen {
    /// Bits on the wire that they took.
    own: u64,
    marks: Vec<Passed>,
}

/// A probe that passed.
#[derive(Clone, Copy)]
struct Passed {
    sequence: u32,
    at: Time,
    /// Bits of others before it.
    others: u64,
    /// When the link was first idle behind it, and the bits of others until then, if no other probe of the session came before.
    idle: Option<(Time, u64)>,
    /// How many probes of the sample there were, at the first of those that are kept.
    count: u64,
}

impl Lane {
    fn see(&mut self, frame: &Frame, probe: Option<(u16, u32)>) {
        let bits = 8 * (frame.len().max(MIN_WIRE_FRAME_LEN) + self.around) as u64;
        let at = frame.arrived();
        // Less than a byte is what times are rounded to.
        if at > self.busy_until + self.rate.time_of(8, 0).0 {
            for seen in self.seen.values_mut() {
                let others = self.carried - seen.own;
                let last = seen.marks.last_mut();
                if let Some(mark) = last.filter(|mark| mark.idle.is_none()) {
                    mark.idle = Some((self.busy_until, others));
                }
            }
        }
        if let Some((session, sequence)) = probe {
            let seen = self.seen.entry(session).or_default();
            // What the same application sends behind its last probe is no traffic of others, and no probe.
            if seen
                .marks
                .last()
                .is_none_or(|last| last.sequence != sequence)
            {
                seen.marks.push(Passed {
                    sequence,
                    at,
                    others: self.carried - seen.own,
                    idle: None,
                    count: 1,
                });
            }
            seen.own += bits;
        }
        self.carried += bits;
        self.longest = self.longest.max(bits);
        self.busy_until = at + self.rate.time_of(bits, 0).0;
    }

    /// Keeps of a sample's marks the first and the last.
    fn keep(&mut self, estimate: &Estimate) {
        let Some(seen) = self.seen.get_mut(&estimate.session) else {
            return;
        };
        let own = |mark: &Passed| is_own(estimate, mark.sequence);
        let count = seen.marks.iter().filter(|mark| own(mark)).count() as u64;
        let mut passed = 0;
        seen.marks.retain_mut(|mark| {
            let is_own = own(mark);
            passed += u64::from(is_own);
            mark.count = if is_own { count } else { mark.count };
            !is_own || passed == 1 || passed == count
        });
    }

    /// Whether it has been idle since a sample, or was given as much time again.
    fn settled(&self, estimate: &Estimate, now: Time) -> bool {
        let Some(seen) = self.seen.get(&estimate.session) else {
            return true;
        };
        let mut own = seen
            .marks
            .iter()
            .filter(|mark| is_own(estimate, mark.sequence));
        let (Some(first), Some(last)) = (own.next(), own.next_back()) else {
            return true;
        };
        let patience = last.at + (last.at - first.at);
        let silence = self.busy_until + self.rate.time_of(self.longest, 0).0;
        last.idle.is_some() || now > silence || now > patience
    }

    /// What it had to spare while a sample passed, if enough of its probes did.
    fn spared(&self, estimate: &Estimate, least: u64) -> Option<Truth> {
        let seen = self.seen.get(&estimate.session)?;
        let mut own = seen
            .marks
            .iter()
            .filter(|mark| is_own(estimate, mark.sequence));
        let first = own.next()?;
        let last = own.next_back()?;
        // Nothing came since, or the run ended before the link was idle again.
        let (to, until) = last
            .idle
            .unwrap_or((self.busy_until, self.carried - seen.own));
        if first.count < least || to <= first.at {
            return None;
        }
        let seconds = (to - first.at).as_secs_f64();
        Some(Truth {
            link: self.name.clone(),
            available: self.rate.bits_per_second() as f64 - (until - first.others) as f64 / seconds,
            from: first.at,
            to,
        })
    }
}

fn is_own(estimate: &Estimate, sequence: u32) -> bool {
    u64::from(sequence.wrapping_sub(estimate.first as u32)) < estimate.packets
}
