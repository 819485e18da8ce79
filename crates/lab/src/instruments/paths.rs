//! Frames at several places, by the clocks of the nodes there: one-way delays from place to place, and in which order things happened; beside what is true.
//!
//! A frame comes to a node, and the node's clock says when. Of a counter that DTP keeps that is the counter then; of a clock that messages set, what its
//! report has of its error, on a straight line between two offsets. The difference of two such times is what these nodes would measure; the world's
//! own difference is the truth.

use super::offsets::Counters;
use crate::expand::list;
use crate::fault::Fault;
use crate::fields::Fields;
use crate::plan::instrument::{Attachments, Finished, Instrument, Measurement, Reading, Section};
use crate::plan::{Lab, Location};
use ::report::text::number;
use ::report::{Column, Table, Unit};
use measure::clock::ClockReport;
use measure::compare::{Identity, identity};
use node::outcome::{Direction, NodeOutcome};
use node::{Frame, Histogram, Time};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of frames kept of a place.
const MAX_PASSES: usize = 1 << 17;
/// Bytes of payload by which a frame is recognised at the next place.
const IDENTIFYING: usize = 128;

/// What a clock's time is counted in: a tick of DTP, picoseconds.
const TICK_PS: i128 = 6_400;

/// The instrument: the sections `[[journeys]]`.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Of each, the views where frames come by one after the other.
    paths: Vec<Vec<usize>>,
}

impl Instrument for Paths {
    fn sections(&self) -> &'static [&'static str] {
        &["journeys"]
    }

    fn read(&mut self, reading: &mut Reading<'_>) {
        for section in list(reading.value("journeys"), "[[journeys]]", reading.faults) {
            let mut fields = Fields::of(&section, "a table", reading.faults);
            let views = reading.views(&mut fields);
            let at_nodes = views.iter().filter(|&&view| {
                let location = reading.lab.views[view].location;
                matches!(location, Location::Node(_))
            });
            if at_nodes.count() > 0 || views.len() < 2 {
                let message = "frames go from port to port: name two or more, in their order";
                let fault = Fault::new(section.span.clone(), message);
                reading.faults.push(fault.help("at = [\"a.0\", \"b.1\"]"));
            }
            fields.finish(reading.faults);
            self.paths.push(views);
        }
    }

    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let counters = attachments.service::<Counters>().cloned();
        let lab = attachments.lab();
        let mut places = Vec::new();
        for &view in self.paths.iter().flatten() {
            let Location::Link(link, direction) = lab.views[view].location else {
                continue;
            };
            // The counter is that of the node to which the frame comes.
            let to = lab.links[link].link.ends[1 - direction.index()].node.0;
            let counter = counters.as_ref().and_then(|counters| counters.reader(to));
            let passes = Arc::new(Mutex::new(Passes::default()));
            places.push(passes.clone());
            attachments.on_frame(link, direction, move |_, frame| {
                let at = |time| counter.as_ref().and_then(|read| read(time));
                passes.lock().add(frame, at);
            });
        }
        let observed = Observed {
            paths: self.paths.clone(),
            places,
            keeps_counters: counters.is_some(),
        };
        (!self.paths.is_empty()).then(|| Box::new(observed) as Box<dyn Measurement>)
    }
}

/// A frame at a place.
#[derive(Clone, Copy, Debug)]
struct Pass {
    identity: Identity,
    /// Its first bit.
    at: Time,
    /// The counter of the node there at that time, if it keeps one.
    counter: Option<u128>,
}

/// The first frames at a place.
#[derive(Default)]
struct Passes {
    list: Vec<Pass>,
    left_out: u64,
}

impl Passes {
    fn add(&mut self, frame: &Frame, counter: impl FnOnce(Time) -> Option<u128>) {
        if self.list.len() == MAX_PASSES {
            self.left_out += 1;
            return;
        }
        let at = frame.arrived();
        self.list.push(Pass {
            identity: identity(frame, IDENTIFYING),
            at,
            counter: counter(at),
        });
    }
}

/// The frames of a run.
struct Observed {
    paths: Vec<Vec<usize>>,
    /// By place, path after path.
    places: Vec<Arc<Mutex<Passes>>>,
    /// Whether nodes keep counters of DTP.
    keeps_counters: bool,
}

impl Measurement for Observed {
    fn finish(&self, run: &Finished<'_>) -> Option<Arc<dyn Section>> {
        Some(Arc::new(Journeys::of(self, run.lab, &run.outcome.nodes)))
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Journeys {
    /// From one place to the next, and from the first to the last, by each protocol.
    pub hops: Vec<Hop>,
    /// In which order events of neighbouring places happened, by each protocol.
    pub orders: Vec<Order>,
    /// Frames that came when there was no room any more.
    pub left_out: u64,
}

/// From one place to the next.
#[derive(Clone, Debug)]
pub struct Hop {
    /// The places.
    pub names: [String; 2],
    /// The median and the greatest delay in truth, and how many.
    pub truth: (Time, Time, u64),
    /// By each protocol: how far the delays that its clocks measure are off.
    pub measured: Vec<Off>,
}

/// How far measured delays are off.
#[derive(Clone, Debug)]
pub struct Off {
    /// The protocol.
    pub protocol: &'static str,
    /// How many delays it measured.
    pub count: u64,
    /// Of how far off they are.
    pub median: Time,
    /// The same.
    pub most: Time,
    /// How many came out as less than nothing.
    pub negative: u64,
}

/// Whether clocks tell which of two events at different nodes was the first.
#[derive(Clone, Debug)]
pub struct Order {
    /// The protocol.
    pub protocol: &'static str,
    /// Events that follow one another at different nodes.
    pub pairs: u64,
    /// Of those, told the other way round.
    pub wrong: u64,
    /// The longest time between two such events.
    pub farthest: Time,
}

/// When a frame came to a place, in truth and by the clocks of the node there.
struct Seen {
    at_ps: i128,
    /// By protocol.
    shown_ps: Vec<Option<i128>>,
}

impl Journeys {
    /// From the frames at the places.
    fn of(observed: &Observed, lab: &Lab, nodes: &[NodeOutcome]) -> Journeys {
        let views: Vec<usize> = observed.paths.iter().flatten().copied().collect();
        let at = |view: usize| match lab.views[view].location {
            Location::Link(link, Direction::Forth) => lab.links[link].link.ends[1].node.0,
            Location::Link(link, Direction::Back) => lab.links[link].link.ends[0].node.0,
            Location::Node(node) => node,
        };
        let places: Vec<usize> = views.iter().map(|&view| at(view)).collect();
        // Protocols of which each place has a clock, or of which some have: where both ends of a hop do, there is something to measure.
        let clock = |node: usize| {
            nodes
                .get(node)
                .and_then(|node| node.extensions.get::<ClockReport>())
        };
        let clocks = places.iter().filter_map(|&node| clock(node));
        let mut protocols: Vec<&'static str> = clocks.map(|clock| clock.protocol).collect();
        protocols.extend(observed.keeps_counters.then_some("dtp"));
        protocols.sort_unstable();
        protocols.dedup();
        let shown = |node: usize, pass: &Pass, protocol: &str| match protocol {
            "dtp" => pass.counter.map(|counter| counter as i128 * TICK_PS),
            protocol => {
                let clock = clock(node).filter(|clock| clock.protocol == protocol)?;
                // Who gives the time has no offset; it has the world's time if its own clock is right.
                let error = match clock.trace.is_empty() {
                    true => clock
                        .reading
                        .map_or(0, |it| it.shown_ps - i128::from(it.at.as_ps())),
                    false => i128::from(error_at(&clock.trace, pass.at)?),
                };
                Some(i128::from(pass.at.as_ps()) + error)
            }
        };
        let mut left_out = 0;
        let mut all: Vec<HashMap<Identity, Seen>> = Vec::new();
        for (passes, &node) in observed.places.iter().zip(&places) {
            let passes = passes.lock();
            left_out += passes.left_out;
            let mut seen = HashMap::new();
            for pass in passes.list.iter().rev() {
                let by = protocols.iter().map(|protocol| shown(node, pass, protocol));
                let entry = Seen {
                    at_ps: pass.at.as_ps().into(),
                    shown_ps: by.collect(),
                };
                // Of equal frames the first counts.
                seen.insert(pass.identity, entry);
            }
            all.push(seen);
        }
        let mut begin = 0;
        let ways = observed.paths.iter().flat_map(|way| {
            let (first, last) = (begin, begin + way.len() - 1);
            begin += way.len();
            let whole = (way.len() > 2).then_some([first, last]);
            let hops = (first..last).map(|index| [index, index + 1]);
            hops.chain(whole)
        });
        let hops = ways.map(|ends| {
            let names = ends.map(|index| lab.views[views[index]].label.clone());
            hop(names, ends.map(|index| &all[index]), &protocols)
        });
        Journeys {
            hops: hops.collect(),
            orders: orders(&all, &places, &protocols),
            left_out,
        }
    }
}

/// A clock's error at a time, from its trace: on a straight line between two moments; none before the first.
fn error_at(trace: &[(Time, i64, i64)], at: Time) -> Option<i64> {
    let behind = trace.partition_point(|(moment, ..)| *moment <= at);
    let &(from, _, before) = trace[..behind].last()?;
    let Some(&(to, _, after)) = trace.get(behind) else {
        return Some(before);
    };
    let part = (at - from).as_ps() as f64 / (to - from).as_ps() as f64;
    Some(before + ((after - before) as f64 * part) as i64)
}

fn hop(names: [String; 2], ends: [&HashMap<Identity, Seen>; 2], protocols: &[&'static str]) -> Hop {
    let [before, behind] = ends;
    let mut pairs: Vec<(&Seen, &Seen)> = Vec::new();
    for (identity, left) in before {
        if let Some(came) = behind.get(identity).filter(|came| came.at_ps >= left.at_ps) {
            pairs.push((left, came));
        }
    }
    let mut truth = Histogram::with_precision(8);
    for (left, came) in &pairs {
        truth.record((came.at_ps - left.at_ps) as u64);
    }
    let measured = protocols
        .iter()
        .enumerate()
        .filter_map(|(index, protocol)| {
            let mut sizes = Histogram::with_precision(8);
            let mut negative = 0;
            for (left, came) in &pairs {
                if let (Some(from), Some(to)) = (left.shown_ps[index], came.shown_ps[index]) {
                    let delay = to - from;
                    negative += u64::from(delay < 0);
                    sizes.record((delay - (came.at_ps - left.at_ps)).unsigned_abs() as u64);
                }
            }
            let spread = sizes.spread(Time::from_ps(1));
            (sizes.total() > 0).then_some(Off {
                protocol,
                count: sizes.total(),
                median: spread.p50,
                most: spread.max,
                negative,
            })
        });
    let measured = measured.collect();
    let spread = truth.spread(Time::from_ps(1));
    Hop {
        names,
        truth: (spread.p50, spread.max, truth.total()),
        measured,
    }
}

fn orders(
    all: &[HashMap<Identity, Seen>],
    places: &[usize],
    protocols: &[&'static str],
) -> Vec<Order> {
    let events = all.iter().zip(places);
    let mut events: Vec<(&Seen, usize)> = events
        .flat_map(|(seen, &node)| seen.values().map(move |seen| (seen, node)))
        .collect();
    events.sort_unstable_by_key(|(seen, node)| (seen.at_ps, *node));
    let orders = protocols
        .iter()
        .enumerate()
        .filter_map(|(index, protocol)| {
            let mut order = Order {
                protocol,
                pairs: 0,
                wrong: 0,
                farthest: Time::ZERO,
            };
            let told = events.iter();
            let told =
                told.filter_map(|(seen, node)| Some((seen.at_ps, seen.shown_ps[index]?, node)));
            let told: Vec<_> = told.collect();
            for pair in told.windows(2) {
                let ((first, early, one), (second, late, other)) = (pair[0], pair[1]);
                if one == other || first == second {
                    continue;
                }
                order.pairs += 1;
                if late < early {
                    order.wrong += 1;
                    let apart = Time::from_ps((second - first) as u64);
                    order.farthest = order.farthest.max(apart);
                }
            }
            (order.pairs > 0).then_some(order)
        });
    orders.collect()
}

impl Section for Journeys {
    fn tables(&self) -> Vec<Table> {
        let time = |key, title, group| Column::new(key, title).of(Unit::Time).under(group);
        let mut ways = Table::new(
            "journey",
            [
                Column::for_people("frames from place to place"),
                Column::for_programs("from"),
                Column::for_programs("to"),
                Column::new("protocol", "by"),
                Column::new("frames", "frames"),
                Column::for_programs("matched"),
                time("delay_p50", "median", "delay in truth"),
                time("delay_max", "most", "delay in truth"),
                time("off_p50", "median", "measured, off by"),
                time("off_max", "most", "measured, off by"),
                Column::new("negative", "negative"),
            ],
        );
        for hop in &self.hops {
            let (median, most, count) = hop.truth;
            let [from, to] = &hop.names;
            let mut way = format!("{from} to {to}");
            let mut push = |off: Option<&Off>| {
                ways.push([
                    std::mem::take(&mut way).into(),
                    from.into(),
                    to.into(),
                    off.map(|off| off.protocol).into(),
                    off.map_or(count, |off| off.count).into(),
                    count.into(),
                    median.into(),
                    most.into(),
                    off.map(|off| off.median).into(),
                    off.map(|off| off.most).into(),
                    off.map(|off| off.negative).into(),
                ]);
            };
            hop.measured.iter().for_each(|off| push(Some(off)));
            if hop.measured.is_empty() {
                push(None);
            }
        }
        let mut orders = Table::new(
            "order",
            [
                Column::new("protocol", "order of events"),
                Column::new("pairs", "one after the other"),
                Column::new("wrong", "in the wrong order"),
                Column::new("wrong_apart_max", "apart at most").of(Unit::Time),
            ],
        );
        for order in &self.orders {
            orders.push([
                order.protocol.into(),
                order.pairs.into(),
                order.wrong.into(),
                order.farthest.into(),
            ]);
        }
        vec![ways, orders]
    }

    fn notes(&self) -> Vec<String> {
        let count = number(self.left_out);
        let note = format!("{count} more frames were passed over: there was no room for them");
        (self.left_out > 0).then_some(note).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_on_a_straight_line_between_two_moments() {
        let trace = [(10, 0), (20, 100), (40, -100)];
        let trace = trace.map(|(at, error)| (Time::from_us(at), 7, error));
        let at = |us| error_at(&trace, Time::from_us(us));
        assert_eq!([at(9), at(10), at(15)], [None, Some(0), Some(50)]);
        assert_eq!([at(20), at(30), at(99)], [Some(100), Some(0), Some(-100)]);
    }
}
