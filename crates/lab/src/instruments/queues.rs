//! Queue disciplines of links: how long packets waited, and which were dropped or marked, and why.
//!
//! | column | contents |
//! |---|---|
//! | at | the port whose queue it is, and the discipline |
//! | sent, dropped, marked | packets that left by the line, that never did, and that carry CE; each packet counts once |
//! | why | the reasons of drops and marks, the most frequent first |
//! | waited | time in the queue of the packets that were sent: mean and percentiles |
//! | longest | the most packets and bytes in the queue, as packets left |

use crate::plan::instrument::{Attachments, Finished, Instrument, Measurement, Section};
use ::report::text::number;
use ::report::{Column, Table, Unit, Value};
use node::outcome::Direction;
use node::{Histogram, Time};
use parking_lot::Mutex;
use queue::{Backlog, Reason, Verdict};
use sim::QueueEvent;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The instrument: it has no section of a lab file, and observes each link with a queue discipline.
#[derive(Debug, Default)]
pub(super) struct Queues;

impl Instrument for Queues {
    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let lab = attachments.lab();
        let mut observed = Vec::new();
        for (link, plan) in lab.links.iter().enumerate() {
            for (way, config) in Direction::BOTH.into_iter().zip(&plan.disciplines) {
                let Some(config) = config else {
                    continue;
                };
                let seen = Arc::new(Mutex::new(Seen::default()));
                let own = seen.clone();
                attachments.on_queue(link, way, move |event| own.lock().see(event));
                let at = plan.names[way.index()].clone();
                observed.push((at, config.name(), seen));
            }
        }
        (!observed.is_empty()).then(|| Box::new(Observed(observed)) as Box<dyn Measurement>)
    }
}

/// What was seen of a queue.
#[derive(Clone, Debug)]
struct Seen {
    sent: u64,
    waited: Histogram,
    sum_ps: u128,
    longest: Backlog,
    reasons: BTreeMap<(Verdict, Reason), u64>,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen {
            sent: 0,
            // To 1/256 of each.
            waited: Histogram::with_precision(8),
            sum_ps: 0,
            longest: Backlog::default(),
            reasons: BTreeMap::new(),
        }
    }
}

impl Seen {
    fn see(&mut self, event: &QueueEvent<'_>) {
        match event {
            QueueEvent::Decided(decision) => {
                let reason = (decision.verdict, decision.reason);
                *self.reasons.entry(reason).or_default() += 1;
            }
            QueueEvent::Sent {
                at,
                packet,
                backlog,
            } => {
                let waited = packet.sojourn(*at).as_ps();
                self.sent += 1;
                self.waited.record(waited);
                self.sum_ps += u128::from(waited);
                let mut before = *backlog;
                before.add(packet.len);
                self.longest.packets = self.longest.packets.max(before.packets);
                self.longest.bytes = self.longest.bytes.max(before.bytes);
            }
        }
    }

    fn count(&self, verdict: Verdict) -> u64 {
        let own = self.reasons.iter().filter(|((of, _), _)| *of == verdict);
        own.map(|(_, count)| count).sum()
    }

    /// The reasons of drops and marks, the most frequent first.
    fn why(&self) -> Value {
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let texts = reasons.into_iter().map(|((verdict, reason), count)| {
            let mark = if *verdict == Verdict::Marked {
                "CE "
            } else {
                ""
            };
            format!("{mark}{reason} {}", number(*count))
        });
        let texts: Vec<String> = texts.collect();
        match texts.is_empty() {
            true => Value::None,
            false => texts.join(", ").into(),
        }
    }
}

/// The queues of a run: where each is, its discipline, and what was seen.
struct Observed(Vec<(String, &'static str, Arc<Mutex<Seen>>)>);

impl Measurement for Observed {
    fn finish(&self, _: &Finished<'_>) -> Option<Arc<dyn Section>> {
        let queues = self.0.iter();
        let queues = queues.map(|(at, kind, seen)| (at.clone(), *kind, seen.lock().clone()));
        Some(Arc::new(Found(queues.collect())))
    }
}

/// The queues of a run: the instrument's section of the report.
#[derive(Clone, Debug)]
pub struct Found(Vec<(String, &'static str, Seen)>);

impl Section for Found {
    fn tables(&self) -> Vec<Table> {
        let waited = |key, title| {
            Column::new(key, title)
                .of(Unit::Time)
                .under("waited in the queue")
        };
        let mut table = Table::new(
            "queue",
            [
                Column::new("at", "queue at"),
                Column::new("discipline", "discipline"),
                Column::new("sent", "sent"),
                Column::new("dropped", "dropped"),
                Column::new("marked", "marked"),
                waited("waited_mean", "mean"),
                waited("waited_p50", "median"),
                waited("waited_p99", "p99"),
                waited("waited_max", "max"),
                Column::new("longest_packets", "longest"),
                Column::for_programs("longest").of(Unit::Bytes),
                Column::new("reasons", "drops and marks"),
            ],
        );
        for (at, kind, seen) in &self.0 {
            let some = |value: u64| (seen.sent > 0).then_some(Time::from_ps(value));
            let mean = seen.sum_ps.checked_div(seen.sent.into()).unwrap_or(0);
            table.push([
                at.into(),
                (*kind).into(),
                seen.sent.into(),
                seen.count(Verdict::Dropped).into(),
                seen.count(Verdict::Marked).into(),
                some(mean as u64).into(),
                some(seen.waited.value_at(500, 1_000)).into(),
                some(seen.waited.value_at(990, 1_000)).into(),
                some(seen.waited.max()).into(),
                seen.longest.packets.into(),
                seen.longest.bytes.into(),
                seen.why(),
            ]);
        }
        vec![table]
    }
}
