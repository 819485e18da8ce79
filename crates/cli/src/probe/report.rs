//! What is told in the end: the verdict, all of it, JSON, and a drawing.

use super::Probe;
use super::intervals::{loss, span};
use super::outcome::Outcome;
use crate::Verdict;
use crate::output::{Buffering, Output, picture};
use ::report::text::bits;
use ::report::text::{Table, cells, number};
use nodes::bandwidth::capacity::client::End;
use nodes::bandwidth::capacity::{Held, Interval};
use plot::{Axis, Figure, Panel, Series};
use serde_json::Value;

impl Outcome {
    fn late_us(&self, part: u64) -> Option<f64> {
        let any = self.lateness.total() > 0;
        any.then(|| self.lateness.value_at(part, 1_000) as f64 / 1e3)
    }

    fn object(&self, host: &str) -> Value {
        let (datagrams, bytes) = self.cost();
        let best = self.best();
        let settings = &self.settings;
        json_line!("probe", "probe", {
            "verdict": self.verdict(), "host": host, "direction": self.word(), "complete": self.end == End::Complete,
            "capacity_bps": best.map(|best| best.rate), "lower_bound": self.held() != Held::Path, "best_end_s": best.map(|best| best.end),
            "loss": best.map(|best| loss(&[*best])), "loss_overall": loss(&self.intervals),
            "round_trip_ms": self.least_round_trip, "intervals": self.intervals.len(),
            "cost_datagrams": datagrams, "cost_bytes": bytes,
            "bursts": self.lateness.total(), "late_us": { "p50": self.late_us(500), "p99": self.late_us(990) },
            "late_bursts": self.faults.late_bursts, "dropped_here": self.dropped, "waited_to_send": self.waited,
            "status_missed": self.faults.missed.iter().sum::<u64>(),
            "settings": { "seconds": settings.test_time, "interval_ms": settings.sub_interval, "trial_ms": settings.trial_interval,
                "low_ms": settings.low_threshold, "high_ms": settings.upper_threshold, "jumbo": settings.jumbo, "row": settings.row },
            "warnings": self.warnings(),
        })
    }

    /// All of each sub-interval, and what the machine did.
    fn detail(&self) -> String {
        let head = [
            "end, s",
            "rate",
            "datagrams",
            "bytes",
            "lost",
            "reordered",
            "again",
            "delay, ms",
            "mean",
            "round trip, ms",
        ];
        let lines = self.intervals.iter().map(|it| {
            let [lost, reordered, again] = it.sums.errors.map(|count| number(count.into()));
            let [least, most, sum, count] = it.sums.variation;
            let mean = match count {
                0 => "-".into(),
                count => format!("{:.1}", f64::from(sum) / f64::from(count)),
            };
            vec![
                format!("{:.1}", it.end),
                bits(it.rate),
                number(it.sums.datagrams.into()),
                number(it.sums.bytes),
                lost,
                reordered,
                again,
                span(least, most),
                mean,
                span(it.sums.round_trip[0], it.sums.round_trip[1]),
            ]
        });
        let mut text = Table::new([cells(&head)].into_iter().chain(lines)).to_string();
        let settings = &self.settings;
        text += &format!(
            "settings: {} s of load, sub-intervals of {} ms, trials of {} ms, thresholds {} and {} ms, {} losses a trial, jumbo datagrams {}\n",
            settings.test_time,
            settings.sub_interval,
            settings.trial_interval,
            settings.low_threshold,
            settings.upper_threshold,
            settings.error_threshold,
            if settings.jumbo {
                "above 1 Gb/s"
            } else {
                "never"
            },
        );
        if let (Some(half), Some(most)) = (self.late_us(500), self.late_us(990)) {
            text += &format!(
                "bursts: {} left, half of them {half:.0} us late or more, one in a hundred {most:.0} us; {} times the system had no room\n",
                number(self.lateness.total()),
                number(self.waited)
            );
        }
        text += &format!(
            "status messages missed: {}; arrival is the kernel's stamp, delay variation in whole ms as the protocol has it\n",
            self.faults.missed.iter().sum::<u64>()
        );
        text
    }
}

/// Tells the results, and draws.
pub fn tell(command: &Probe, host: &str, outcomes: &[Outcome]) -> anyhow::Result<Verdict> {
    let mut stdout = Output::open(&Buffering::default())?;
    let mut good = true;
    for outcome in outcomes {
        let enough = match (command.at_least, outcome.best()) {
            (Some(least), best) => {
                best.is_some_and(|best| best.rate >= least.bits_per_second() as f64)
            }
            (None, _) => true,
        };
        good &= enough && matches!(outcome.end, End::Complete | End::Stopped);
        if command.json {
            stdout.tell(&format!("{}\n", outcome.object(host)))?;
            continue;
        }
        stdout.tell(&format!("{}\n", outcome.verdict()))?;
        if let Some(least) = command.at_least.filter(|_| !enough) {
            stdout.tell(&format!("that is below {least}\n"))?;
        }
        if command.verbose {
            stdout.tell(&outcome.detail())?;
        }
        for warning in outcome.warnings() {
            eprintln!("wire: warning: {warning}");
        }
    }
    stdout.finish()?;
    if let Some(path) = &command.plot {
        match outcomes.iter().any(|outcome| !outcome.intervals.is_empty()) {
            true => picture(&figure(host, outcomes), path)?,
            false => eprintln!(
                "wire: no sub-interval is over: {} is not drawn",
                path.display()
            ),
        }
    }
    Ok(Verdict::if_good(good))
}

fn figure(host: &str, outcomes: &[Outcome]) -> Figure {
    let panel = |name: &str, value: fn(&Interval) -> f64| {
        let panel = Panel::new(Axis::new("time [s]"), Axis::new(name).from_zero());
        outcomes.iter().fold(panel, |panel, outcome| {
            let points = outcome.intervals.iter().map(|it| (it.end, value(it)));
            panel.series(Series::line(outcome.word(), points))
        })
    };
    Figure::new(format!("capacity to {host}, at the IP layer"))
        .panel(panel("rate [Mb/s]", |it| it.rate / 1e6))
        .panel(panel("delay variation, mean [ms]", |it| {
            let [_, _, sum, count] = it.sums.variation;
            f64::from(sum) / f64::from(count.max(1))
        }))
        .panel(panel("loss [%]", |it| 100.0 * loss(&[*it])))
}
