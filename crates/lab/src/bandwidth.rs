//! What probers estimated, and in simulated time what was true.
//!
//! True is what the tight link had to spare between the first and the last probe of a sample that passed it: its rate less what others carried on it,
//! preambles, check sequences and gaps among it. The links of a path are those on which the probes were seen.

mod figure;
mod told;

pub(crate) use told::{Summary, json, notes, summaries, table, verbose};

use crate::lock::lock;
use crate::plan::Lab;
use node::link::{FCS, PREAMBLE, SHORTEST};
use node::outcome::{Direction, Tap};
use node::{Frame, Rate, Time};
use nodes::bandwidth::message::Message;
use nodes::bandwidth::prober::{Estimate, Tell};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

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
    /// Between which probes, by when they came to the link's far end.
    pub from: Time,
    /// The last one.
    pub to: Time,
}

/// Pictures of estimates.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// Estimated over true.
    pub figure: Option<String>,
    /// What the methods looked at, over the rates of trains.
    pub points: Option<String>,
    /// Of which probers; of all, if it does not say.
    #[serde(default)]
    pub points_of: Vec<String>,
}

impl Plan {
    /// The files that it writes.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        self.figure.iter().chain(&self.points)
    }
}

/// The estimates of a run, which nodes and the report share.
#[derive(Clone, Default)]
pub(crate) struct Estimates {
    lanes: Arc<Vec<Mutex<Lane>>>,
    all: Arc<Mutex<BTreeMap<usize, Vec<Estimated>>>>,
    /// Which node's, and its name.
    of: (usize, String),
}

impl Estimates {
    /// Of a lab: in simulated time with a look at each direction of its links.
    pub fn new(lab: &Lab, looks: bool) -> Estimates {
        let probes = lab.nodes.iter().any(|plan| plan.kind.name == "prober");
        let links = lab.links.iter().enumerate().filter(|_| probes && looks);
        let lanes = links.flat_map(|(link, plan)| {
            let lanes = Direction::BOTH.into_iter().filter_map(move |direction| {
                let channel = &plan.link.channels[direction.index()];
                let [from, to] = [direction.index(), 1 - direction.index()];
                Some(Mutex::new(Lane {
                    place: (link, direction),
                    name: format!("{} -> {}", plan.names[from], plan.names[to]),
                    rate: channel.rate?,
                    around: PREAMBLE + FCS + channel.gap as usize,
                    carried: 0,
                    marks: BTreeMap::new(),
                }))
            });
            lanes.collect::<Vec<_>>()
        });
        Estimates {
            lanes: Arc::new(lanes.collect()),
            ..Estimates::default()
        }
    }

    /// The same, for another node to add to.
    pub fn of(&self, node: usize, name: &str) -> Estimates {
        Estimates {
            of: (node, name.into()),
            ..self.clone()
        }
    }

    /// Who takes down what the node estimates.
    pub fn tell(&self, path: Option<String>, published: Option<Rate>) -> Box<Tell> {
        let store = self.clone();
        let (node, name) = self.of.clone();
        let path = path.unwrap_or_else(|| name.clone());
        let published = published.map(|rate| rate.bits_per_second() as f64);
        Box::new(move |estimate| {
            let estimated = Estimated {
                node: name.clone(),
                path: path.clone(),
                published,
                truth: store.truth(&estimate),
                estimate,
            };
            lock(&store.all).entry(node).or_default().push(estimated);
        })
    }

    /// The tight link of the path, while a sample passed it.
    fn truth(&self, estimate: &Estimate) -> Option<Truth> {
        // Links that saw few of the probes are beside the path: a switch floods what it does not know.
        let least = ((estimate.packets - estimate.lost) / 2).max(2);
        let passed = self.lanes.iter();
        let passed = passed.filter_map(|lane| lock(lane).passed(estimate, least));
        passed.min_by(|one, other| one.available.total_cmp(&other.available))
    }

    /// Who looks at the links.
    pub fn taps(&self) -> impl Iterator<Item = Tap> + '_ {
        (0..self.lanes.len()).map(|index| {
            let lanes = self.lanes.clone();
            let (link, direction) = lock(&lanes[index]).place;
            let see = Box::new(move |_: Time, frame: &Frame| lock(&lanes[index]).see(frame));
            Tap {
                link,
                direction,
                see,
            }
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.all).values().map(Vec::len).sum()
    }

    /// Those so far, node by node.
    pub fn all(&self) -> Vec<Estimated> {
        lock(&self.all).values().flatten().cloned().collect()
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
    /// Probes by session: sequence, when it came, what had been carried before it, and its own bits.
    marks: BTreeMap<u16, Vec<Mark>>,
}

#[derive(Clone, Copy)]
struct Mark {
    sequence: u32,
    at: Time,
    before: u64,
    bits: u64,
}

impl Lane {
    fn see(&mut self, frame: &Frame) {
        let bits = 8 * (frame.len().max(SHORTEST) + self.around) as u64;
        if let Some(probe) = Message::of_frame(frame).filter(|probe| probe.came.is_none()) {
            self.marks.entry(probe.session).or_default().push(Mark {
                sequence: probe.sequence,
                at: frame.arrived(),
                before: self.carried,
                bits,
            });
        }
        self.carried += bits;
    }

    /// What it had to spare while a sample passed, if enough of its probes did; its marks are no longer needed.
    fn passed(&mut self, estimate: &Estimate, least: u64) -> Option<Truth> {
        let marks = self.marks.get_mut(&estimate.session)?;
        let is_own = |mark: &Mark| {
            u64::from(mark.sequence.wrapping_sub(estimate.first as u32)) < estimate.packets
        };
        let own: Vec<Mark> = marks.iter().copied().filter(is_own).collect();
        marks.retain(|mark| !is_own(mark));
        let (first, last) = (own.first()?, own.last()?);
        if (own.len() as u64) < least || last.at <= first.at {
            return None;
        }
        let probes: u64 = own[..own.len() - 1].iter().map(|mark| mark.bits).sum();
        let others = (last.before - first.before).saturating_sub(probes);
        let seconds = (last.at - first.at).as_secs_f64();
        Some(Truth {
            link: self.name.clone(),
            available: self.rate.bits_per_second() as f64 - others as f64 / seconds,
            from: first.at,
            to: last.at,
        })
    }
}

/// The pictures that a plan asks for, each with its file.
pub(crate) fn figures<'a>(
    plan: &'a Plan,
    all: &[Estimated],
    name: &str,
) -> Vec<(&'a str, ::plot::Figure)> {
    let accuracy = plan.figure.iter();
    let accuracy = accuracy.map(|file| (file.as_str(), figure::accuracy(all, name)));
    let points = plan.points.iter();
    let points = points.map(|file| (file.as_str(), figure::points(all, &plan.points_of, name)));
    accuracy.chain(points).collect()
}
