//! A collector of statistics: the counters of every entry and port, asked for again and again.
//!
//! A switch that has not answered the last time is not asked again, so that one that is slow is not made slower. What was
//! found stands in the [`Network`](super::Network).
//!
//! - **Parameters:** `interval`, 1 s. `flows`, 100,000: how many entries are kept of each switch.
//! - **Counters:** `asked`, `answered`: whole answers about entries; `unanswered`: times that a switch was not asked since it had not
//!   answered; `flows`: entries at the last look.

use super::network::{Attachment, FlowRecord, PortRecord};
use super::{App, Handle, Token};
use crate::channel::Peer;
use crate::matching::Match;
use crate::message::{Answer, ErrorMessage, FlowQuery, FlowStats, MultipartReply, Query};
use crate::port::PortNo;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use node::Time;

const FLOWS: Token = 0;
const PORTS: Token = 1;
/// The shortest time between two rounds.
const QUICKEST: Time = Time::from_ms(10);

/// What the program is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Between two looks, at least 10 ms.
    pub interval: Time,
    /// How many entries are kept of each switch.
    pub flows: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            interval: Time::from_secs(1),
            flows: 100_000,
        }
    }
}

/// An answer that is not whole yet.
#[derive(Debug, Default)]
struct Open {
    records: Vec<FlowRecord>,
    /// Questions without an answer.
    asked: u32,
    /// When the last whole answer came.
    last: Option<Time>,
}

/// A collector of statistics.
#[derive(Debug)]
pub struct Collector {
    config: Config,
    due: Option<Time>,
    open: BTreeMap<Peer, Open>,
    asked: u64,
    answered: u64,
    unanswered: u64,
    flows: u64,
}

impl Collector {
    /// One that has asked nothing.
    pub fn new(config: Config) -> Collector {
        Collector {
            config: Config {
                interval: config.interval.max(QUICKEST),
                ..config
            },
            due: None,
            open: BTreeMap::new(),
            asked: 0,
            answered: 0,
            unanswered: 0,
            flows: 0,
        }
    }

    fn flows(&mut self, switch: Peer, more: bool, handle: &mut Handle<'_>) {
        let now = handle.now();
        let Some(open) = self.open.get_mut(&switch) else {
            return;
        };
        if more {
            return;
        }
        self.answered += 1;
        open.asked = open.asked.saturating_sub(1);
        let mut records = core::mem::take(&mut open.records);
        let since = open
            .last
            .replace(now)
            .map(|last| (now - last).as_secs_f64());
        let network = handle.network_mut();
        let Some(info) = network.switch(switch) else {
            return;
        };
        let datapath = info.datapath;
        if let (Some(old), Some(since)) = (network.flows.get(&datapath), since.filter(|&s| s > 0.0))
        {
            let old: BTreeMap<(u8, u16, &str), u64> = old
                .iter()
                .map(|old| {
                    (
                        (old.table, old.priority, old.matching.as_str()),
                        old.packets,
                    )
                })
                .collect();
            for record in &mut records {
                let key = (record.table, record.priority, record.matching.as_str());
                let before = old.get(&key).copied().unwrap_or(0);
                record.packets_per_s = record.packets.saturating_sub(before) as f64 / since;
            }
        }
        self.flows = records.len() as u64;
        network.flows.insert(datapath, records);
    }
}

/// Fields and values, as in `eth_type=0x800,ipv4_dst=0xa000001`.
fn describe(matching: &Match<'_>) -> String {
    let mut text = String::new();
    for oxm in matching.iter() {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a String does not fail.
        let _ = write!(text, "{comma}{}={:#x}", oxm.field.name(), oxm.value);
        if let Some(mask) = oxm.mask {
            let _ = write!(text, "/{mask:#x}");
        }
    }
    text
}

fn record(stats: &FlowStats<'_>) -> FlowRecord {
    let mut actions = String::new();
    for instruction in stats.instructions.iter() {
        let comma = if actions.is_empty() { "" } else { "," };
        let _ = match instruction {
            crate::instruction::Instruction::ApplyActions(list) => {
                list.iter().try_for_each(|action| match action {
                    crate::action::Action::Output { port, .. } => {
                        write!(actions, "{comma}output:{port}")
                    }
                    other => write!(actions, "{comma}{other:?}"),
                })
            }
            other => write!(actions, "{comma}{other:?}"),
        };
    }
    FlowRecord {
        table: stats.table,
        priority: stats.priority,
        cookie: stats.cookie,
        matching: describe(&stats.matching),
        actions,
        duration_s: stats.duration_s,
        packets: stats.packets,
        bytes: stats.bytes,
        packets_per_s: 0.0,
    }
}

impl App for Collector {
    fn name(&self) -> &'static str {
        "collector"
    }

    fn switch_up(&mut self, switch: Peer, handle: &mut Handle<'_>) {
        self.open.insert(switch, Open::default());
        let now = handle.now();
        self.due.get_or_insert(now);
    }

    fn switch_down(&mut self, switch: Peer, _handle: &mut Handle<'_>) {
        self.open.remove(&switch);
    }

    fn answer(
        &mut self,
        switch: Peer,
        token: Token,
        answer: &MultipartReply<'_>,
        handle: &mut Handle<'_>,
    ) {
        match (&answer.body, token) {
            (Answer::Flow(flows), FLOWS) => {
                if let Some(open) = self.open.get_mut(&switch) {
                    let room = self.config.flows.saturating_sub(open.records.len());
                    open.records
                        .extend(flows.iter().take(room).map(|stats| record(&stats)));
                }
                self.flows(switch, answer.more, handle);
            }
            (Answer::PortStats(ports), PORTS) => {
                for stats in ports.iter() {
                    let network = handle.network_mut();
                    let Some(Attachment { datapath, port }) =
                        network.attachment(switch, stats.port)
                    else {
                        return;
                    };
                    let known = network
                        .switch(switch)
                        .is_some_and(|info| info.port(port).is_some());
                    if known {
                        let record = PortRecord {
                            packets: [stats.rx_packets, stats.tx_packets],
                            bytes: [stats.rx_bytes, stats.tx_bytes],
                            dropped: [stats.rx_dropped, stats.tx_dropped],
                        };
                        network
                            .port_counters
                            .insert(Attachment { datapath, port }, record);
                    }
                }
            }
            _ => {}
        }
    }

    fn error(
        &mut self,
        switch: Peer,
        _error: &ErrorMessage<'_>,
        token: Option<Token>,
        _handle: &mut Handle<'_>,
    ) {
        if let (Some(FLOWS), Some(open)) = (token, self.open.get_mut(&switch)) {
            open.asked = open.asked.saturating_sub(1);
            open.records.clear();
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.due
    }

    fn wake(&mut self, handle: &mut Handle<'_>) {
        for (&switch, open) in &mut self.open {
            if open.asked > 0 {
                self.unanswered += 1;
                continue;
            }
            let query = Query::Flow(FlowQuery::default());
            if handle.ask(switch, query, FLOWS).is_ok() {
                open.asked = 1;
                self.asked += 1;
            }
            // The answer may fail to come; then the counters stay as they are.
            let _ = handle.ask(switch, Query::PortStats(PortNo::ANY), PORTS);
        }
        self.due = (!self.open.is_empty()).then(|| handle.now() + self.config.interval);
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        visit("asked", self.asked);
        visit("answered", self.answered);
        visit("unanswered", self.unanswered);
        visit("flows", self.flows);
    }
}
