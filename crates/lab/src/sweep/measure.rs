//! What of a run is told in a number.

use crate::instruments::bandwidth::Found;
use crate::report::{Headline, Report};
use node::Histogram;
use std::str::FromStr;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Bits a second, with their check sequences, that came to where frames end.
    Throughput,
    /// Bits a second of users' data, of all conversations together.
    Goodput,
    /// The mean delay of probes.
    Delay,
    /// What 99 of 100 delays of probes do not exceed.
    DelayP99,
    /// The mean round trip of pings, or of segments.
    RoundTrip,
    /// The share of probes that did not come, of those that are not on their way at the end; without probes, of frames that
    /// links did not carry.
    Loss,
    /// Frames that nodes and links gave up.
    Drops,
    /// The longest queue of all links.
    Queue,
    /// The share of the run for which the busiest link was busy.
    Busy,
    /// Jain's index of the conversations' goodputs.
    Fairness,
    /// How long the run took in its own time.
    Duration,
    /// What probers found available, the mean of all.
    Available,
    /// By how much that is above what truly was.
    AvailableError,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Bits a second.
    Rate,
    /// Picoseconds.
    Time,
    /// A share of one.
    Share,
    /// Packets.
    Packets,
    /// A number without a unit.
    Number,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 13] = [
        Measure::Throughput,
        Measure::Goodput,
        Measure::Delay,
        Measure::DelayP99,
        Measure::RoundTrip,
        Measure::Loss,
        Measure::Drops,
        Measure::Queue,
        Measure::Busy,
        Measure::Fairness,
        Measure::Duration,
        Measure::Available,
        Measure::AvailableError,
    ];

    /// Those that are told where nobody says which, as far as a lab has them.
    pub const USUAL: [Measure; 9] = [
        Measure::Throughput,
        Measure::Goodput,
        Measure::Delay,
        Measure::DelayP99,
        Measure::RoundTrip,
        Measure::Loss,
        Measure::Queue,
        Measure::Available,
        Measure::AvailableError,
    ];

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Throughput => "throughput",
            Measure::Goodput => "goodput",
            Measure::Delay => "delay",
            Measure::DelayP99 => "delay-p99",
            Measure::RoundTrip => "round-trip",
            Measure::Loss => "loss",
            Measure::Drops => "drops",
            Measure::Queue => "queue",
            Measure::Busy => "busy",
            Measure::Fairness => "fairness",
            Measure::Duration => "duration",
            Measure::Available => "available",
            Measure::AvailableError => "available-error",
        }
    }

    /// What it counts.
    pub fn counted(self) -> Counted {
        match self {
            Measure::Throughput
            | Measure::Goodput
            | Measure::Available
            | Measure::AvailableError => Counted::Rate,
            Measure::Delay | Measure::DelayP99 | Measure::RoundTrip | Measure::Duration => {
                Counted::Time
            }
            Measure::Loss | Measure::Busy => Counted::Share,
            Measure::Drops | Measure::Queue => Counted::Packets,
            Measure::Fairness => Counted::Number,
        }
    }

    /// Of a run; `None` where it does not have it.
    pub fn of(self, report: &Report, headline: &Headline) -> Option<f64> {
        let seconds = report.outcome.ended.as_secs_f64();
        let ends = || report.rows.iter().filter(|row| row.is_end);
        match self {
            Measure::Throughput => {
                let statistics = ends().map(|row| &row.statistics);
                let bytes: u64 = statistics
                    .map(|seen| seen.bytes() + node::link::FCS as u64 * seen.packets())
                    .sum();
                (bytes > 0 && seconds > 0.0).then(|| 8.0 * bytes as f64 / seconds)
            }
            Measure::Goodput => (headline.flows > 0).then_some(headline.goodput),
            Measure::Delay => {
                let delays = ends().map(|row| row.statistics.delays());
                let (count, sum) = delays.fold((0, 0.0), |(count, sum), delays| {
                    (
                        count + delays.count,
                        sum + delays.count as f64 * delays.mean,
                    )
                });
                (count > 0).then(|| sum / count as f64)
            }
            Measure::DelayP99 => {
                let mut all: Option<Histogram> = None;
                for row in ends() {
                    let delays = row.statistics.delay_histogram();
                    match &mut all {
                        None => all = Some(delays.clone()),
                        Some(all) => all.merge(delays),
                    }
                }
                let all = all.filter(|all| all.total() > 0)?;
                Some(all.value_at(99, 100) as f64)
            }
            Measure::RoundTrip => {
                (headline.round_trip.count > 0).then(|| headline.round_trip.mean().as_ps() as f64)
            }
            Measure::Loss => loss(report, headline),
            Measure::Drops => Some(headline.drops as f64),
            Measure::Queue => {
                let links = report.outcome.links.iter().flatten();
                links.map(|link| link.longest_queue as f64).reduce(f64::max)
            }
            Measure::Busy => report
                .busy
                .iter()
                .flatten()
                .flatten()
                .copied()
                .reduce(f64::max),
            Measure::Fairness => headline.fairness,
            Measure::Duration => Some(report.outcome.ended.as_ps() as f64),
            Measure::Available => {
                let found = report.section::<Found>()?.available()?;
                (found.count > 0).then_some(found.mean)
            }
            Measure::AvailableError => report.section::<Found>()?.available()?.error,
        }
    }
}

fn loss(report: &Report, headline: &Headline) -> Option<f64> {
    if let (Some(arrived), Some(sent), false) =
        (headline.arrived, headline.sent, headline.elsewhere)
    {
        let due = sent - headline.in_flight;
        return (due > 0).then(|| 1.0 - arrived as f64 / due as f64);
    }
    let links = report.outcome.links.iter().flatten();
    let (lost, offered) = links.fold((0, 0), |(lost, offered), link| {
        let full = link.queue_full + link.dropped_early;
        let gone = full + link.lost + link.bit_errors;
        let due = link.sent - link.in_flight.unwrap_or(0).min(link.sent);
        (lost + gone, offered + due + full)
    });
    (offered > 0).then(|| lost as f64 / offered as f64)
}

/// A name that no measure has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not measured; there are {list}", list = Measure::ALL.map(Measure::name).join(", "))]
pub struct UnknownMeasure(pub String);

impl FromStr for Measure {
    type Err = UnknownMeasure;

    fn from_str(text: &str) -> Result<Measure, UnknownMeasure> {
        let found = Measure::ALL
            .into_iter()
            .find(|measure| measure.name() == text);
        found.ok_or_else(|| UnknownMeasure(text.into()))
    }
}
