//! Figure 3.6: how long flow statistics take, by the rate of requests, and what they cost the switch.

use super::report::{Report, Row};
use super::{Bench, Module, SETTLE, Value, rules};
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
    /// The object that tells the processor's idle time in percent, such as ssCpuIdle of UCD-SNMP-MIB,
    /// `1.3.6.1.4.1.2021.11.11.0`; asked at the end of each rate.
    pub idle: Option<String>,
}

/// Measures flow statistics.
pub struct Monitor {
    settings: Settings,
    at: usize,
    next: Time,
    end: Time,
    asked: Vec<(u32, Time)>,
    rows: Vec<Row>,
}

/// Timers.
const BEGIN: u64 = 0;
const ASK: u64 = 1;
const END: u64 = 2;
/// Requests under way, at most.
const MOST: usize = 4096;

impl Monitor {
    /// Nothing measured yet.
    pub fn new(settings: Settings) -> Monitor {
        Monitor {
            settings,
            at: 0,
            next: Time::ZERO,
            end: Time::ZERO,
            asked: Vec::new(),
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
        bench.timer(self.end + SETTLE * 5, END);
    }
}

impl Module for Monitor {
    fn name(&self) -> &'static str {
        "statistics"
    }

    fn start(&mut self, bench: &mut Bench<'_>) {
        let forward = rules::forward(&bench.setup());
        for entry in 0..self.settings.entries {
            rules::one(bench, FlowCommand::Add, entry, &[forward]);
        }
        bench.send(&Message::BarrierRequest);
    }

    fn message(&mut self, bench: &mut Bench<'_>, xid: u32, message: &Message<'_>) {
        match message {
            Message::BarrierReply => bench.timer(bench.now() + SETTLE, BEGIN),
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
                if self.asked.len() < MOST {
                    self.asked.push((xid, bench.now()));
                }
                if let Some(row) = self.rows.last_mut() {
                    row.sent += 1;
                }
                let gap = Time::from_ps(1_000_000_000_000 / self.rate().unwrap_or(1));
                self.next += gap;
                bench.timer(self.next, ASK);
            }
            ASK => {
                if let Some(idle) = &self.settings.idle {
                    bench.ask(idle.clone());
                }
            }
            _ => {
                // What was counted on the way are entries: as many as there are, or some were not told.
                let entries = u64::from(self.settings.entries);
                if let Some(row) = self.rows.last_mut() {
                    let told = core::mem::take(&mut row.wrong);
                    row.wrong = (row.received * entries).abs_diff(told);
                }
                self.at += 1;
                self.begin(bench);
            }
        }
    }

    fn value(&mut self, _bench: &mut Bench<'_>, value: Value) {
        let idle = value.number.and_then(|idle| u64::try_from(idle).ok());
        if let (Some(row), Some(idle)) = (self.rows.last_mut(), idle) {
            row.busy = Some(10 * 100u64.saturating_sub(idle));
        }
    }

    fn report(&mut self) -> Report {
        Report {
            of: "requests a second",
            rows: core::mem::take(&mut self.rows),
            ..Report::default()
        }
    }
}
