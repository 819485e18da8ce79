//! Figure 3.6: how long flow statistics take, by the rate of requests, and what they cost the switch.

use super::report::{Report, Row};
use super::rules::{self, Matching};
use super::{Bench, Module, SETTLE, Value};
use crate::message::{Answer, FlowCommand, FlowQuery, Message, MultipartRequest, Query};
use ::node::Time;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// How it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Entries in the table.
    pub entries: u32,
    /// Requests a second, one rate after another: each at least 1.
    pub rates: Vec<u64>,
    /// How long each.
    pub time: Time,
    /// What tells of the processor; asked at the beginning and the end of each rate.
    pub load: Option<Load>,
}

/// Counters of a processor's time, all in one unit, as the node's [`Agent`](super::Agent) knows them. The load is the
/// share that the busy ones have in the growth of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Of the time at work, such as ssCpuRawUser, Nice and System of UCD-SNMP-MIB.
    pub busy: Vec<String>,
    /// Of the time without work, such as ssCpuRawIdle.
    pub idle: Vec<String>,
}

/// A counter's first and last value of a rate.
struct Sample {
    name: String,
    busy: bool,
    values: Vec<Option<i64>>,
}

/// Measures flow statistics.
pub struct Monitor {
    settings: Settings,
    at: usize,
    next: Time,
    end: Time,
    asked: Vec<(u32, Time)>,
    samples: Vec<Sample>,
    rows: Vec<Row>,
}

/// Timers.
const BEGIN: u64 = 0;
const ASK: u64 = 1;
const END: u64 = 2;
/// Maximum number of pending requests.
const MAX_PENDING_REQUESTS: usize = 4096;

impl Monitor {
    /// Nothing measured yet.
    pub fn new(settings: Settings) -> Monitor {
        Monitor {
            settings,
            at: 0,
            next: Time::ZERO,
            end: Time::ZERO,
            asked: Vec::new(),
            samples: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn rate(&self) -> Option<u64> {
        let rate = self.settings.rates.get(self.at)?;
        Some((*rate).clamp(1, 1_000_000))
    }

    fn begin(&mut self, bench: &mut Bench<'_>) {
        let Some(rate) = self.rate() else {
            bench.finish();
            return;
        };
        self.rows.push(Row::new(format!("{rate}/s"), rate));
        self.asked.clear();
        self.next = bench.now() + SETTLE;
        self.end = self.next + self.settings.time;
        bench.timer(self.next, ASK);
        bench.timer(self.end + SETTLE * 10, END);
        self.samples.clear();
        if let Some(Load { busy, idle }) = &self.settings.load {
            let all = busy.iter().map(|name| (name, true));
            let all = all.chain(idle.iter().map(|name| (name, false)));
            self.samples.extend(all.map(|(name, busy)| Sample {
                name: name.clone(),
                busy,
                values: Vec::new(),
            }));
        }
        self.sample(bench);
    }

    fn sample(&self, bench: &mut Bench<'_>) {
        for sample in &self.samples {
            bench.ask(sample.name.clone());
        }
    }

    /// The load in parts of a thousand, if all counters were told twice.
    fn load(&self) -> Option<u64> {
        let (mut busy, mut all) = (0u64, 0u64);
        for sample in &self.samples {
            let [Some(first), Some(last)] = sample.values[..] else {
                return None;
            };
            let grown = u64::try_from(last.checked_sub(first)?).ok()?;
            all = all.checked_add(grown)?;
            busy += if sample.busy { grown } else { 0 };
        }
        busy.checked_mul(1000)?.checked_div(all)
    }
}

impl Module for Monitor {
    fn name(&self) -> &str {
        "statistics"
    }

    fn start(&mut self, bench: &mut Bench<'_>) {
        let forward = rules::forward(&bench.setup());
        for entry in 0..self.settings.entries {
            rules::one(
                bench,
                FlowCommand::Add,
                (Matching::Wildcard, entry),
                &[forward],
            );
        }
        bench.send(&Message::BarrierRequest);
    }

    fn message(&mut self, bench: &mut Bench<'_>, xid: u32, message: &Message<'_>) {
        match message {
            Message::BarrierReply => bench.timer(bench.now() + SETTLE, BEGIN),
            Message::Error(_) => {
                if let Some(row) = self.rows.last_mut() {
                    row.refused += 1;
                }
            }
            Message::MultipartReply(reply) => {
                let Answer::Flow(flows) = &reply.body else {
                    return;
                };
                let Some(row) = self.rows.last_mut() else {
                    return;
                };
                row.wrong += flows.iter().count() as u64;
                if reply.more {
                    return;
                }
                if let Some(at) = self.asked.iter().position(|(asked, _)| *asked == xid) {
                    let (_, when) = self.asked.remove(at);
                    row.received += 1;
                    row.add("delay", bench.now() - when);
                }
            }
            _ => {}
        }
    }

    fn timer(&mut self, bench: &mut Bench<'_>, number: u64) {
        match number {
            BEGIN => self.begin(bench),
            ASK if self.next < self.end => {
                let body = Query::Flow(FlowQuery::default());
                let request = MultipartRequest { more: false, body };
                let xid = bench.send(&Message::MultipartRequest(request));
                if self.asked.len() < MAX_PENDING_REQUESTS {
                    self.asked.push((xid, bench.now()));
                }
                if let Some(row) = self.rows.last_mut() {
                    row.sent += 1;
                }
                let gap = Time::from_ps(1_000_000_000_000 / self.rate().unwrap_or(1));
                self.next += gap;
                bench.timer(self.next, ASK);
            }
            ASK => self.sample(bench),
            _ => {
                // What was counted on the way are entries: as many as there are, or some were not told.
                let entries = u64::from(self.settings.entries);
                let load = self.load();
                if let Some(row) = self.rows.last_mut() {
                    let told = core::mem::take(&mut row.wrong);
                    row.wrong = (row.received * entries).abs_diff(told);
                    row.busy = load;
                }
                self.at += 1;
                self.begin(bench);
            }
        }
    }

    fn value(&mut self, _bench: &mut Bench<'_>, value: Value) {
        let found = self.samples.iter_mut();
        let mut found = found.filter(|sample| sample.name == value.name);
        if let Some(sample) = found.next()
            && sample.values.len() < 2
        {
            sample.values.push(value.number);
        }
    }

    fn report(&mut self) -> Report {
        Report {
            of: "requests a second".into(),
            rows: core::mem::take(&mut self.rows),
            ..Report::default()
        }
    }
}
