//! Clocks that DTP keeps, as other clocks are reported: what LOG messages told, how far each was from any other in truth, and the bound.

use super::{Offsets, TICK_PS};
use measure::clock::{ClockReport, Deviations};
use node::outcome::NodeOutcome;
use node::{Histogram, Time};
use std::collections::BTreeMap;

/// How often a device was so many ticks ahead.
type Ticks = BTreeMap<i64, u64>;

/// A report of each device.
pub(crate) fn reports(offsets: &Offsets, nodes: &[NodeOutcome]) -> Vec<(String, ClockReport)> {
    let devices = offsets.nodes.iter().enumerate();
    let report = |(place, device): (usize, &super::Counter)| {
        let outcome = nodes.iter().find(|node| node.name == device.name);
        let counters = outcome.map_or(&[][..], |node| &node.counters);
        let (mut truth, mut last) = (Ticks::new(), 0);
        let (mut farthest, mut over) = (None, 0);
        for pair in &offsets.pairs {
            let Some(end) = pair.places.iter().position(|&end| end == place) else {
                continue;
            };
            let Some(hops) = pair.hops else { continue };
            farthest = farthest.max(Some(hops));
            over += pair.over();
            let sign = if end == 0 { 1 } else { -1 };
            let ahead = |offset: i128| sign * i64::try_from(offset).unwrap_or(i64::MAX);
            for (&offset, &looks) in &pair.offsets {
                *truth.entry(ahead(offset)).or_default() += looks;
            }
            let now = pair.last.map_or(0, ahead);
            if now.abs() > i64::abs(last) {
                last = now;
            }
        }
        let found = logged(counters);
        let bound = farthest.map(|hops| super::BOUND * hops * TICK_PS);
        let delay = counters
            .iter()
            .find_map(|(name, ticks)| name.starts_with("dtp_delay_").then_some(*ticks));
        let clock = ClockReport {
            protocol: "dtp",
            state: format!("follows the {}", device.rule),
            offset: deviations(&found, 0),
            error: deviations(&truth, last),
            bound_ps: bound,
            greatest_bound_ps: bound,
            over_bound: over,
            delay_ps: delay.map(|ticks| (ticks * TICK_PS) as i64),
            steered_ppt: device
                .rate
                .map_or(0, |rate| ((rate - device.own) * 1e6).round() as i64),
            ..ClockReport::default()
        };
        (device.name.clone(), clock)
    };
    devices.map(report).collect()
}

/// What the far ends' LOG messages told, from a node's counters: so many ticks ahead, so often.
fn logged(counters: &[(String, u64)]) -> Ticks {
    let logged = counters.iter().filter_map(|(name, count)| {
        let ticks = name.strip_prefix("dtp_log_")?;
        let ticks = match ticks.strip_prefix("minus_") {
            Some(behind) => -behind.parse::<i64>().ok()?,
            None => ticks.parse().ok()?,
        };
        Some((ticks, *count))
    });
    logged.collect()
}

fn deviations(ticks: &Ticks, last: i64) -> Deviations {
    let tick = TICK_PS as i64;
    let mut sizes = Histogram::with_precision(5);
    let (mut count, mut squares) = (0, 0.0);
    for (&offset, &looks) in ticks {
        let ps = offset.saturating_mul(tick);
        sizes.record_many(ps.unsigned_abs(), looks);
        squares += ps as f64 * ps as f64 * looks as f64;
        count += looks;
    }
    let end = |end: Option<(&i64, &u64)>| end.map_or(0, |(&ticks, _)| ticks.saturating_mul(tick));
    Deviations {
        count,
        last_ps: last.saturating_mul(tick),
        min_ps: end(ticks.first_key_value()),
        max_ps: end(ticks.last_key_value()),
        rms_ps: (squares / count.max(1) as f64).sqrt() as u64,
        spread: sizes.spread(Time::from_ps(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_log_messages_told_is_read_from_the_counters() {
        let counters = [
            ("dtp_log_minus_2", 3),
            ("dtp_log_1", 5),
            ("dtp_jumps", 7),
            ("dtp_log_messages", 9),
        ];
        let counters = counters.map(|(name, count)| (name.to_string(), count));
        let ticks = logged(&counters);
        assert_eq!(ticks, Ticks::from([(-2, 3), (1, 5)]));
        let told = deviations(&ticks, 1);
        assert_eq!((told.count, told.min_ps, told.max_ps), (8, -12_800, 6_400));
        assert_eq!(told.greatest(), Time::from_ps(12_800));
        // 3 times 12.8 ns and 5 times 6.4 ns.
        assert_eq!(told.rms_ps, 9_329);
    }
}
