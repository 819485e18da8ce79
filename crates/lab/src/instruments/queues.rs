//! Queue disciplines of links: how long packets waited, and which were dropped or marked, and why.
//!
//! | column | contents |
//! |---|---|
//! | at | the port whose queue it is, and the discipline |
//! | sent, dropped, marked | packets that left by the line, that never did, and that carry CE; each packet counts once |
//! | why | the reasons of drops and marks, the most frequent first |
//! | waited | time in the queue of the packets that were sent: mean and percentiles |
//! | longest | the most packets and bytes in the queue, as packets left |
//!
//! A second table has the pauses (PAUSE and PFC) of links, and a third one deadlocks of them.
//!
//! `[queues] why` asks for one drop or mark to be explained; `every` for the state of each queue at equal intervals, which programs get
//! as lines `queue_series`: packets, bytes and time in the queue, and packets sent, dropped and marked so far.

mod history;
mod pauses;
mod question;
mod series;
mod why;

use crate::plan::Lab;
use crate::plan::instrument::{Attachments, Finished, Instrument, Measurement, Reading, Section};
use ::report::text::number;
use ::report::{Column, Table, Unit, Value};
use history::History;
use node::outcome::Direction;
use node::{Histogram, Time};
use parking_lot::Mutex;
use question::Question;
use queue::egress::QueueEvent;
use queue::{Backlog, Reason, Verdict};
use serde::Deserialize;
use series::Series;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use why::Answer;

/// The instrument: it observes each link with a queue discipline.
#[derive(Debug, Default)]
pub(super) struct Queues {
    why: Option<Question>,
    every: Option<Time>,
}

/// The section `[queues]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// Drop or mark to explain.
    why: Option<Question>,
    /// Interval of the samples of the queues' states, at least 1 us.
    every: Option<Time>,
}

/// The directions with a discipline: link, direction, and name of the port.
fn disciplines(
    lab: &Lab,
) -> impl Iterator<Item = (usize, Direction, &str, &queue::Config)> + Clone {
    let links = lab.links.iter().enumerate();
    links.flat_map(|(link, plan)| {
        let ways = Direction::BOTH.into_iter().zip(&plan.disciplines);
        ways.filter_map(move |(way, config)| {
            let name = &plan.names[way.index()][..];
            Some((link, way, name, config.as_ref()?))
        })
    })
}

impl Instrument for Queues {
    fn sections(&self) -> &'static [&'static str] {
        &["queues"]
    }

    fn read(&mut self, reading: &mut Reading<'_>) {
        let Some(keys) = reading.section::<Keys>("queues") else {
            return;
        };
        self.why = keys.why;
        self.every = keys.every;
        if self.every.is_some_and(|every| every < Time::from_us(1)) {
            reading.fault("queues", "every", "an interval of at least 1 us");
        }
        // Of a wrong queue it is not known what there would be.
        let Some(question) = self.why.as_ref().filter(|_| reading.is_good()) else {
            return;
        };
        let ports: Vec<&str> = disciplines(reading.lab()).map(|(_, _, at, _)| at).collect();
        let message = match &question.port {
            _ if ports.is_empty() => {
                "no link of this lab has a queue discipline, and plain queues explain nothing: give one `queue = \"fifo\"`".into()
            }
            Some(port) if !ports.contains(&&port[..]) => {
                format!("`{port}` has no queue discipline; there are {}", ports.join(", "))
            }
            _ if pauses::paused(reading.lab()).next().is_some() => {
                "an explanation replays a queue by itself, without the pauses of its link: take out `pause`".into()
            }
            _ => return,
        };
        reading.fault("queues", "why", message);
    }

    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let lab = attachments.lab();
        let mut queues = Vec::new();
        for (link, way, ..) in disciplines(lab) {
            let seen = Shared::<Seen>::default();
            let own = seen.clone();
            attachments.on_queue(link, way, move |event| own.lock().see(event));
            let history = self.why.is_some().then(Shared::<History>::default);
            if let Some(own) = history.clone() {
                attachments.on_queue(link, way, move |event| own.lock().see(event));
            }
            let series = self
                .every
                .map(|every| Arc::new(Mutex::new(Series::new(every))));
            if let Some(own) = series.clone() {
                attachments.on_queue(link, way, move |event| own.lock().see(event));
            }
            let pauses = Shared::<pauses::Seen>::default();
            let own = pauses.clone();
            attachments.on_queue(link, way, move |event| own.lock().see(event));
            queues.push(Observers {
                seen,
                pauses,
                history,
                series,
            });
        }
        let why = self.why.clone();
        (!queues.is_empty()).then(|| Box::new(Observed { queues, why }) as Box<dyn Measurement>)
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
            QueueEvent::Offered { .. } | QueueEvent::Flushed { .. } | QueueEvent::Pause { .. } => {}
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

/// A value that an observer writes and the instrument reads.
type Shared<T> = Arc<Mutex<T>>;

/// The observers of a queue.
struct Observers {
    seen: Shared<Seen>,
    pauses: Shared<pauses::Seen>,
    history: Option<Shared<History>>,
    series: Option<Shared<Series>>,
}

/// The queues of a run, in the order of [`disciplines`].
struct Observed {
    queues: Vec<Observers>,
    why: Option<Question>,
}

impl Measurement for Observed {
    fn finish(&self, run: &Finished<'_>) -> Option<Arc<dyn Section>> {
        let queues = disciplines(run.lab).zip(&self.queues);
        let seen = queues.clone().map(|((_, _, at, config), own)| {
            (at.to_owned(), config.name(), own.seen.lock().clone())
        });
        let mut series = series::table();
        let mut is_cut = false;
        for ((link, way, at, _), own) in queues.clone() {
            if let Some(own) = &own.series {
                let mut own = own.lock().clone();
                own.pass(run.outcome.ended);
                is_cut |= own.is_full();
                let channel = &run.lab.links[link].link.channels[way.index()];
                own.rows(at, channel, &mut series);
            }
        }
        let of_pauses = |link, way| {
            let mut queues = queues.clone();
            let of_it = queues.find(|((of, direction, ..), _)| (*of, *direction) == (link, way));
            of_it.map(|(_, own)| own.pauses.lock().clone())
        };
        let pauses = pauses::find(run.lab, of_pauses, run.outcome.ended);
        let answer = self.why.as_ref().map(|question| {
            let histories = queues.filter_map(|(of, own)| {
                let (link, way, at, config) = of;
                let plan = &run.lab.links[link];
                Some(why::Queue {
                    at,
                    config,
                    channel: &plan.link.channels[way.index()],
                    seed: plan.queue_seed(run.lab.seed, way),
                    history: own.history.as_ref()?.lock(),
                })
            });
            why::answer(question, &histories.collect::<Vec<_>>())
        });
        Some(Arc::new(Found {
            queues: seen.collect(),
            pauses,
            answer,
            series,
            is_cut,
        }))
    }
}

/// The queues of a run: the instrument's section of the report.
#[derive(Clone, Debug)]
pub struct Found {
    queues: Vec<(String, &'static str, Seen)>,
    pauses: Option<pauses::Found>,
    answer: Option<Answer>,
    series: Table,
    /// Whether a series ended before the run.
    is_cut: bool,
}

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
        for (at, kind, seen) in &self.queues {
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
        let answers = self.answer.iter().flat_map(Answer::tables);
        let series = (!self.series.is_empty()).then(|| self.series.clone());
        let pauses = self.pauses.iter().flat_map(pauses::Found::tables);
        let all = [table].into_iter().chain(pauses);
        all.chain(answers).chain(series).collect()
    }

    fn write(&self, text: &mut String, _verbose: bool) -> fmt::Result {
        use fmt::Write as _;
        write!(text, "\n{}", self.tables()[0])?;
        if let Some(pauses) = &self.pauses {
            write!(text, "{pauses}")?;
        }
        if self.is_cut {
            let most = number(series::MAX_SAMPLES as u64);
            writeln!(
                text,
                "the states of the queues end after {most} samples: `every` is too short for this run"
            )?;
        }
        match &self.answer {
            Some(answer) => write!(text, "\n{answer}"),
            None => Ok(()),
        }
    }
}
