//! Pictures of what was seen, place by place: throughput, delay, queue and congestion window over time, distributions.

use crate::error::{LabError, folder_for};
use crate::plan::{Lab, Location, PlotKind, PlotPlan};
use crate::timeline::Timeline;
use crate::watch::{Arrival, Shared};
use ::plot::unit::rate_unit;
use ::plot::{Axis, Figure, Panel, PlotError, Series, TimeUnit};
use node::{Flow, Histogram, Outcome, Time};
use std::path::Path;

/// Bars of a histogram.
const BINS: usize = 120;
/// From this ratio of the longest to the shortest time on, an axis of times is logarithmic.
const WIDE: u64 = 100;
/// Points of a curve over time at most.
const POINTS: usize = 200;
/// Frames in a point of throughput at least, so that it shows a rate and not single frames.
const FRAMES: u64 = 10;
/// Maximum number of conversations in a panel of congestion windows or round trips.
const MAX_CONVERSATIONS: usize = 7;

/// What was seen at one place.
struct Seen {
    label: String,
    packets: u64,
    arrivals: Vec<Arrival>,
    gaps: Histogram,
    delays: Histogram,
    bytes: Timeline,
    queue: Option<Timeline>,
}

/// All that a picture is drawn from.
struct Pictured<'a> {
    places: Vec<Seen>,
    /// Congestion windows in bytes by connection.
    windows: Conversations<'a, u64>,
    /// Round trips by connection or ping.
    round_trips: Conversations<'a, Time>,
    ended: Time,
    time: TimeUnit,
}

/// Samples of conversations over time, of at most [`MAX_CONVERSATIONS`].
struct Conversations<'a, T> {
    drawn: Vec<(String, &'a [(Time, T)])>,
    /// Number of conversations with samples, including those that are not drawn.
    all: usize,
}

impl<'a, T> Conversations<'a, T> {
    /// Selects the conversations whose samples cover the longest times, in their given order.
    fn select(samples: impl Iterator<Item = (String, &'a [(Time, T)])>) -> Conversations<'a, T> {
        let mut drawn: Vec<_> = samples.filter(|(_, samples)| samples.len() > 1).collect();
        let all = drawn.len();
        let span = |(_, samples): &(String, &[(Time, T)])| {
            let ends = samples.first().zip(samples.last());
            ends.map_or(Time::ZERO, |(first, last)| last.0 - first.0)
        };
        let mut spans: Vec<Time> = drawn.iter().map(span).collect();
        spans.sort_unstable_by(|a, b| b.cmp(a));
        if let Some(&least) = spans.get(MAX_CONVERSATIONS - 1) {
            drawn.retain(|one| span(one) >= least);
            drawn.truncate(MAX_CONVERSATIONS);
        }
        Conversations { drawn, all }
    }

    /// The axis of their values. It says if some conversations are not drawn.
    fn axis(&self, name: &str) -> Axis {
        let drawn = self.drawn.len();
        let axis = match self.all > drawn {
            true => Axis::new(format!("{name}, {drawn} of {}", self.all)),
            false => Axis::new(name),
        };
        axis.from_zero()
    }
}

/// Draws a plot into a file, as PNG or SVG by the file's ending.
pub(crate) fn draw(
    lab: &Lab,
    plan: &PlotPlan,
    watches: &[Shared],
    outcome: &Outcome,
    path: &Path,
) -> Result<(), LabError> {
    let places = plan.views.iter().map(|&view| {
        let mut watch = watches[view].0.lock();
        let arrivals = watch.arrivals.as_ref();
        let arrivals = arrivals.map_or(Vec::new(), |arrivals| arrivals.list.clone());
        Seen {
            label: lab.views[view].label.clone(),
            packets: watch.statistics.packets(),
            arrivals,
            gaps: watch.statistics.gap_histogram().clone(),
            delays: watch.statistics.delay_histogram().clone(),
            bytes: watch.bytes.clone().unwrap_or_else(Timeline::sums),
            queue: watch.queue.as_mut().map(|queue| {
                queue.pass(outcome.ended);
                queue.length.clone()
            }),
        }
    });
    let pictured = Pictured {
        places: places.collect(),
        windows: windows(lab, plan, outcome),
        round_trips: round_trips(lab, plan, outcome),
        ended: outcome.ended,
        time: TimeUnit::of(outcome.ended.as_ps() as f64),
    };
    let mut figure = Figure::new(plan.title.clone());
    for kind in &plan.kinds {
        match pictured.panels(*kind) {
            Ok(panels) => figure.panels.extend(panels),
            // What nobody asked for by its name is left out where there is nothing of it.
            Err(_) if plan.usual => {}
            Err(why) => {
                let (path, why) = (path.into(), why.into());
                return Err(PlotError::Empty { path, why }.into());
            }
        }
    }
    write_figure(&figure, path)
}

/// Writes a picture into a file, as PNG or SVG by its ending, in place of an old one. Folders that are
/// missing are made.
///
/// # Errors
/// When it cannot be drawn or written; then the old file stands.
pub fn write_figure(figure: &Figure, path: &Path) -> Result<(), LabError> {
    let image = figure.image(path)?;
    write_image(&image, path)
}

/// Writes the content of a picture likewise.
pub(crate) fn write_image(image: &[u8], path: &Path) -> Result<(), LabError> {
    folder_for(path)?;
    Ok(::capture::output::replace(path, image)?)
}

/// The congestion windows of connections from the nodes at the places.
fn windows<'a>(lab: &Lab, plan: &PlotPlan, outcome: &'a Outcome) -> Conversations<'a, u64> {
    let kept = flows(lab, plan, outcome).filter(|(_, flow)| flow.bytes > 0);
    Conversations::select(kept.map(|(name, flow)| (name, &flow.windows[..])))
}

/// The round trips of connections and pings from the nodes at the places.
fn round_trips<'a>(lab: &Lab, plan: &PlotPlan, outcome: &'a Outcome) -> Conversations<'a, Time> {
    let kept = flows(lab, plan, outcome);
    Conversations::select(kept.map(|(name, flow)| (name, &flow.round_trips[..])))
}

/// The conversations of the nodes at the places, each with a name.
fn flows<'a>(
    lab: &Lab,
    plan: &PlotPlan,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (String, &'a Flow)> + use<'a> {
    let mut nodes: Vec<usize> = Vec::new();
    for view in &plan.views {
        let node = match lab.views[*view].location {
            Location::Node(node) => node,
            Location::Link(link, direction) => {
                lab.links[link].link.ends[1 - direction.index()].node.0
            }
        };
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    let all = nodes.into_iter().map(|node| &outcome.nodes[node]);
    let flows = all.flat_map(|node| node.flows.iter().map(move |flow| (node, flow)));
    flows.map(|(node, flow)| (format!("{} to {}", node.name, flow.to), flow))
}

/// What frames are apart, from first bit to first bit.
const GAP: &str = "inter-packet delay";

impl Pictured<'_> {
    /// The panels of a kind.
    ///
    /// # Errors
    /// Why there would be nothing in them.
    fn panels(&self, kind: PlotKind) -> Result<Vec<Panel>, &'static str> {
        let any = |of: fn(&Seen) -> bool| self.places.iter().any(of);
        match kind {
            PlotKind::Throughput if any(|place| place.packets > 1) => Ok(vec![self.throughput()]),
            PlotKind::Throughput => Err("fewer than two frames came, so there is no throughput"),
            PlotKind::Queue
                if any(|place| place.queue.as_ref().is_some_and(|queue| queue.most() > 0)) =>
            {
                Ok(vec![self.queue()])
            }
            PlotKind::Queue => Err("no frame waited in a simulated link's queue"),
            PlotKind::Cwnd if !self.windows.drawn.is_empty() => Ok(vec![self.congestion()]),
            PlotKind::Cwnd => {
                Err("no node there is a simulated host with a TCP connection that sends data")
            }
            PlotKind::Rtt if !self.round_trips.drawn.is_empty() => Ok(vec![self.rtt()]),
            PlotKind::Rtt => Err(
                "no node there is a simulated host with a TCP connection that sends data, or with a ping",
            ),
            PlotKind::Delay if any(|place| place.delays.total() > 0) => Ok(vec![
                self.delays(),
                cdf(&self.places, "delay", |place| &place.delays, |a| a.delay_ps),
            ]),
            PlotKind::Delay => Err(
                "no frame there tells when it left, as those of generators do; \
                   `kind` may be throughput, queue, cwnd, rtt, arrivals, cdf or histogram",
            ),
            _ if !any(|place| place.gaps.total() > 0) => {
                Err("fewer than two frames came, so there is no inter-packet delay")
            }
            PlotKind::Arrivals => Ok(vec![self.arrivals()]),
            PlotKind::Cdf => Ok(vec![cdf(
                &self.places,
                GAP,
                |place| &place.gaps,
                |a| a.gap_ps,
            )]),
            PlotKind::Histogram => Ok(vec![histogram(&self.places)]),
        }
    }

    /// The axis of time, which is the same in all panels.
    fn over_time(&self) -> Axis {
        let end = self.time.of_ps(self.ended.as_ps());
        Axis::new(format!("time [{}]", self.time.name))
            .range(0.0, if end > 0.0 { end } else { 1.0 })
    }

    /// Points in the middle of stretches.
    fn points(&self, width: u64, values: &[u64], scale: f64) -> Vec<(f64, f64)> {
        let middle = |index: usize| (index as f64 + 0.5) * width as f64 / self.time.ps;
        let points = values.iter().enumerate();
        points
            .map(|(index, value)| (middle(index), *value as f64 * scale))
            .collect()
    }

    fn throughput(&self) -> Panel {
        let ended = self.ended;
        let curves: Vec<(u64, Vec<u64>)> = self
            .places
            .iter()
            .map(|place| {
                let most = (place.packets / FRAMES).clamp(8, POINTS as u64);
                let (width, mut bytes) = place.bytes.of_at_most(most as usize, ended);
                // The last stretch is longer than what was seen of it.
                let whole = (ended.as_ps() / width) as usize;
                bytes.truncate(whole.max(1));
                (width, bytes)
            })
            .collect();
        let rate = |width: u64, bytes: u64| 8e12 * bytes as f64 / width as f64;
        let most = curves
            .iter()
            .flat_map(|(width, bytes)| bytes.iter().map(|n| rate(*width, *n)));
        let (unit, bits) = rate_unit(most.fold(0.0, f64::max));
        let panel = Panel::new(
            self.over_time(),
            Axis::new(format!("throughput [{unit}]")).from_zero(),
        );
        self.places
            .iter()
            .zip(&curves)
            .fold(panel, |panel, (place, (width, bytes))| {
                let points = self.points(*width, bytes, rate(*width, 1) / bits);
                panel.series(Series::line(&place.label, points))
            })
    }

    fn queue(&self) -> Panel {
        let axis = Axis::new("queue of the link [packets]").from_zero();
        self.places
            .iter()
            .fold(Panel::new(self.over_time(), axis), |panel, place| {
                let Some(queue) = &place.queue else {
                    return panel;
                };
                let (width, lengths) = queue.of_at_most(4 * POINTS, self.ended);
                let points = self.points(width, &lengths, 1.0);
                panel.series(Series::line(&place.label, points))
            })
    }

    fn congestion(&self) -> Panel {
        let axis = self.windows.axis("congestion window [kB]");
        self.windows.drawn.iter().fold(
            Panel::new(self.over_time(), axis),
            |panel, (label, changes)| {
                let mut points: Vec<(f64, f64)> = Vec::new();
                for (at, bytes) in *changes {
                    let (x, y) = (self.time.of_ps(at.as_ps()), *bytes as f64 / 1e3);
                    // It stays what it was until it changes.
                    if let Some((_, before)) =
                        points.last().copied().filter(|(_, before)| *before > y)
                    {
                        points.push((x, before));
                    }
                    points.push((x, y));
                }
                panel.series(Series::line(label, points))
            },
        )
    }

    /// Round trips over time.
    fn rtt(&self) -> Panel {
        let axis = self.round_trips.axis("round trip [ms]");
        let trips = self.round_trips.drawn.iter();
        trips.fold(
            Panel::new(self.over_time(), axis),
            |panel, (label, trips)| {
                let points = trips
                    .iter()
                    .map(|(at, time)| (self.time.of_ps(at.as_ps()), time.as_ps() as f64 / 1e9));
                panel.series(Series::line(label, points.collect::<Vec<_>>()))
            },
        )
    }

    /// The time since the frame before, over time.
    fn arrivals(&self) -> Panel {
        let (axis, unit) = axis(GAP, self.places.iter().map(|place| &place.gaps));
        self.places
            .iter()
            .fold(Panel::new(self.over_time(), axis), |panel, place| {
                let points = place.arrivals.iter();
                let points =
                    points.filter_map(|a| Some((self.time.of_ps(a.at_ps), unit.of_ps(a.gap_ps?))));
                panel.series(Series::points(&place.label, points))
            })
    }

    /// The delays that probes tell, over time.
    fn delays(&self) -> Panel {
        let (axis, unit) = axis("delay", self.places.iter().map(|place| &place.delays));
        self.places
            .iter()
            .fold(Panel::new(self.over_time(), axis), |panel, place| {
                let points = place.arrivals.iter();
                let points = points
                    .filter_map(|a| Some((self.time.of_ps(a.at_ps), unit.of_ps(a.delay_ps?))));
                panel.series(Series::points(&place.label, points))
            })
    }
}

/// An axis for the times of all places, and its unit.
fn axis<'a>(name: &str, of: impl Iterator<Item = &'a Histogram>) -> (Axis, TimeUnit) {
    let of = of.filter(|histogram| histogram.total() > 0);
    let (least, most) = of.fold((u64::MAX, 0), |(least, most), histogram| {
        (least.min(histogram.min()), most.max(histogram.max()))
    });
    let unit = TimeUnit::of(most as f64);
    let log = least > 0 && most / least >= WIDE;
    (Axis::of_times(name, unit, log), unit)
}

/// Cumulative distributions: of the frames kept, whose values are exact, where a histogram's are not.
fn cdf(
    places: &[Seen],
    name: &str,
    of: impl Fn(&Seen) -> &Histogram,
    value: impl Fn(&Arrival) -> Option<u64>,
) -> Panel {
    let (axis, unit) = axis(name, places.iter().map(&of));
    let panel = Panel::new(axis, Axis::new("share of frames").range(0.0, 1.05));
    places.iter().fold(panel, |panel, place| {
        let mut values: Vec<u64> = place.arrivals.iter().filter_map(&value).collect();
        values.sort_unstable();
        // Of a long run not every frame is kept; the greatest value belongs to the picture all the same.
        let greatest = of(place).max();
        values.extend(
            values
                .last()
                .filter(|last| **last < greatest)
                .map(|_| greatest),
        );
        let total = values.len() as f64;
        let distinct = values.chunk_by(|a, b| a == b);
        let mut seen = 0;
        let points = distinct.map(|equal| {
            seen += equal.len();
            (unit.of_ps(equal[0]), seen as f64 / total)
        });
        let series = Series::steps(&place.label, points.collect::<Vec<_>>());
        panel.series(series.with_quantiles_of(of(place), unit))
    })
}

fn histogram(places: &[Seen]) -> Panel {
    let (axis, unit) = axis(GAP, places.iter().map(|place| &place.gaps));
    let log = axis.log;
    let panel = Panel::new(axis, Axis::new("frames").log());
    places.iter().fold(panel, |panel, place| {
        let series = match log {
            true => Series::log_histogram(&place.label, &place.gaps, unit.ps, BINS),
            false => Series::histogram(&place.label, &place.gaps, unit.ps, BINS),
        };
        panel.series(series.with_quantiles_of(&place.gaps, unit))
    })
}
