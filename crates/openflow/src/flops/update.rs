//! Figures 3.4, 3.5 and 3.7: how long it takes until entries are there, what the barrier says of it, and what
//! packets do.

use super::probe::{Arrival, Stream};
use super::report::{Report, Row};
use super::rules::{self, Matching};
use super::{Bench, CAPTURE, Module, SETTLE};
use crate::message::{Answer, FlowCommand, FlowQuery, Message, MultipartRequest, Query};
use ::node::Time;
use alloc::vec::Vec;
use alloc::{format, vec};

/// What is done to entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// New ones that forward.
    Insert,
    /// Ones that drop are made to forward.
    Modify,
    /// Ones that forward are taken away.
    Delete,
}

impl Change {
    /// All, in the order of the figures.
    pub const ALL: [Change; 3] = [Change::Insert, Change::Modify, Change::Delete];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Change::Insert => "insert",
            Change::Modify => "modify",
            Change::Delete => "delete",
        }
    }
}

/// How it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What is done.
    pub change: Change,
    /// The match of all entries, those of `others` too. Default: wildcards.
    pub matching: Matching,
    /// How many entries, one number after another: each at least 1.
    pub entries: Vec<u32>,
    /// Times each.
    pub repeats: u32,
    /// From one probe to the next. Default 40 us: what is told of the data plane is no finer, and a switch in software
    /// that is flooded with probes has no time for messages. The paper's is 80 us.
    pub gap: Time,
    /// Whether probes go round all entries, as in the paper, so that one is seen each `entries` gaps; or
    /// all are of the last entry. Default `false`.
    pub round: bool,
    /// Bytes of a probe. Default 100.
    pub length: usize,
    /// Entries that stay in the table next to those that change, as in figure 3.7.
    pub others: u32,
    /// The gap between requests for the statistics of the whole table meanwhile; `None` for none.
    pub poll: Option<Time>,
    /// Figure 3.7: such requests a second, one rate after another, each at least 1, while the first number of
    /// entries is changed. Empty for the test by number of entries.
    pub polls: Vec<u64>,
}

impl Default for Settings {
    /// Insertion of 1 to 1000, ten times each.
    fn default() -> Settings {
        Settings {
            change: Change::Insert,
            matching: Matching::Wildcard,
            entries: vec![1, 10, 100, 1000],
            repeats: 10,
            gap: Time::from_us(40),
            round: false,
            length: 100,
            others: 0,
            poll: None,
            polls: Vec::new(),
        }
    }
}

/// A probe of the last entry that changes.
#[derive(Clone, Copy)]
struct Seen {
    /// When it came out of the switch.
    at: Time,
    /// When it went in.
    left: Time,
}

/// Where a round stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The table is prepared; the barrier after that is awaited.
    Preparing,
    /// Probes are under way.
    Probing,
    /// The change was asked for.
    Changing,
}

/// Timers: the change is due; the round is over at the latest; statistics are due.
const CHANGE: u64 = 0;
const OVER: u64 = 1;
const POLL: u64 = 2;
/// Maximum number of pending requests for statistics.
const MAX_PENDING_REQUESTS: usize = 100;
/// Timeout of a round.
const ROUND_TIMEOUT: Time = Time::from_secs(10);
/// Time without a packet after which a deletion is over.
const SILENCE: Time = Time::from_ms(50);

/// Measures changes of the flow table.
pub struct Update {
    settings: Settings,
    stage: Stage,
    /// Index of the number of entries, and the repeat.
    at: (usize, u32),
    stream: u32,
    /// When the change was asked for.
    began: Time,
    /// When it was known: the barrier's reply, and the last byte taken.
    barrier: Option<Time>,
    taken: Option<Time>,
    /// The first packet that obeys, and the last that does not.
    first: Option<Seen>,
    last: Option<Seen>,
    others_there: bool,
    asked: Vec<(u32, Time)>,
    rows: Vec<Row>,
    /// Rounds, so that a timer of one that is over is known.
    round: u64,
}

impl Update {
    /// Nothing measured yet.
    pub fn new(settings: Settings) -> Update {
        Update {
            settings,
            stage: Stage::Preparing,
            at: (0, 0),
            stream: 0,
            began: Time::ZERO,
            barrier: None,
            taken: None,
            first: None,
            last: None,
            others_there: false,
            asked: Vec::new(),
            rows: Vec::new(),
            round: 0,
        }
    }

    fn entries(&self) -> u32 {
        let at = match self.settings.polls.is_empty() {
            true => self.at.0,
            false => 0,
        };
        let entries = self.settings.entries.get(at);
        entries.copied().unwrap_or(1).max(1)
    }

    /// The gap between requests for statistics.
    fn poll(&self) -> Option<Time> {
        match self.settings.polls.get(self.at.0) {
            Some(rate) => Some(Time::from_ps(1_000_000_000_000 / (*rate).clamp(1, 100_000))),
            None => self.settings.poll,
        }
    }

    /// Makes the table ready for a round.
    fn prepare(&mut self, bench: &mut Bench<'_>) {
        let entries = self.entries();
        let row = match self.settings.polls.is_empty() {
            true => self.settings.entries.get(self.at.0).map(|_| {
                let name = format!("{} {}", self.name(), entries);
                Row::new(name, entries.into())
            }),
            false => {
                let rate = self.settings.polls.get(self.at.0);
                rate.map(|rate| Row::new(format!("{rate}/s"), *rate))
            }
        };
        let Some(row) = row else {
            bench.finish();
            return;
        };
        if self.at.1 == 0 {
            self.rows.push(row);
        }
        self.stage = Stage::Preparing;
        self.round += 1;
        let matching = self.settings.matching;
        if !self.others_there {
            self.others_there = true;
            for other in 0..self.settings.others {
                rules::one(bench, FlowCommand::Add, (matching, OTHERS + other), &[]);
            }
        }
        // What is in no entry is dropped, in 1.0 too.
        rules::everything(bench, 0, &[]);
        for entry in 0..entries {
            let entry = (matching, entry);
            match self.settings.change {
                Change::Insert => rules::one(bench, FlowCommand::DeleteStrict, entry, &[]),
                Change::Modify => rules::one(bench, FlowCommand::Add, entry, &[]),
                Change::Delete => {
                    let forward = rules::forward(&bench.setup());
                    rules::one(bench, FlowCommand::Add, entry, &[forward])
                }
            };
        }
        bench.send(&Message::BarrierRequest);
    }

    /// Asks for the change.
    fn change(&mut self, bench: &mut Bench<'_>) {
        self.stage = Stage::Changing;
        self.began = bench.now();
        (self.barrier, self.taken) = (None, None);
        (self.first, self.last) = (None, None);
        let forward = rules::forward(&bench.setup());
        for entry in 0..self.entries() {
            let entry = (self.settings.matching, entry);
            match self.settings.change {
                Change::Insert => rules::one(bench, FlowCommand::Add, entry, &[forward]),
                Change::Modify => rules::one(bench, FlowCommand::ModifyStrict, entry, &[forward]),
                Change::Delete => rules::one(bench, FlowCommand::DeleteStrict, entry, &[]),
            };
        }
        bench.send(&Message::BarrierRequest);
        bench.watch();
        bench.timer(bench.now() + ROUND_TIMEOUT, OVER + 8 * self.round);
    }

    /// Ends a round, if all is known.
    fn end_if_done(&mut self, bench: &mut Bench<'_>) {
        let known = match self.settings.change {
            Change::Delete => false,
            Change::Insert | Change::Modify => self.first.is_some(),
        };
        if known && self.barrier.is_some() && self.taken.is_some() {
            self.end(bench);
        }
    }

    fn end(&mut self, bench: &mut Bench<'_>) {
        let sent = bench.stop(self.stream);
        let began = self.began;
        let entries = self.entries();
        if let Some(row) = self.rows.last_mut() {
            row.sent += sent;
            let all = [
                ("transmission", self.taken),
                ("barrier", self.barrier),
                ("first packet", self.first.map(|seen| seen.at)),
                ("last packet", self.last.map(|seen| seen.at)),
            ];
            for (name, time) in all {
                if let Some(time) = time {
                    row.add(name, time - began);
                }
            }
            let obeyed = match self.settings.change {
                Change::Delete => self.last,
                _ => self.first,
            };
            if let (Some(barrier), Some(Seen { at, left })) = (self.barrier, obeyed) {
                row.add("after the barrier", at - barrier);
                row.add("before the barrier", barrier - at);
                // The barrier was untrue if a probe that went in behind it met the old table: it came out although
                // its entry was deleted, or it is the one that is missing before the first that came out.
                let spacing = match self.settings.round {
                    true => self.settings.gap * u64::from(entries),
                    false => self.settings.gap,
                };
                let untrue = match self.settings.change {
                    Change::Delete => left > barrier,
                    Change::Insert | Change::Modify => left > barrier + spacing,
                };
                row.wrong += u64::from(untrue);
            }
            if self.barrier.is_none() {
                bench.fault(format!("{}: no barrier reply in 10 s", row.name));
            } else if obeyed.is_none() && self.settings.change != Change::Delete {
                bench.fault(format!("{}: no packet obeyed in 10 s", row.name));
            }
        }
        self.at.1 += 1;
        if self.at.1 >= self.settings.repeats {
            self.at = (self.at.0 + 1, 0);
        }
        self.prepare(bench);
    }
}

/// The first flow of the entries that stay; no probe belongs to them.
const OTHERS: u32 = 0x10_0000;

impl Module for Update {
    fn name(&self) -> &str {
        match (self.settings.matching, self.settings.change) {
            _ if !self.settings.polls.is_empty() => "interaction",
            (Matching::Wildcard, change) => change.name(),
            (Matching::Exact, Change::Insert) => "insert-exact",
            (Matching::Exact, Change::Modify) => "modify-exact",
            (Matching::Exact, Change::Delete) => "delete-exact",
        }
    }

    fn start(&mut self, bench: &mut Bench<'_>) {
        self.prepare(bench);
        if let Some(gap) = self.poll() {
            bench.timer(bench.now() + gap, POLL);
        }
    }

    fn message(&mut self, bench: &mut Bench<'_>, xid: u32, message: &Message<'_>) {
        match (message, self.stage) {
            (Message::BarrierReply, Stage::Preparing) => {
                self.stage = Stage::Probing;
                self.stream += 1;
                let entries = self.entries();
                let flows = match self.settings.round {
                    true => (0, entries),
                    false => (entries - 1, 1),
                };
                bench.generate(Stream {
                    number: self.stream,
                    start: bench.now() + SETTLE,
                    gap: self.settings.gap,
                    count: u64::MAX,
                    length: self.settings.length,
                    flows,
                    tagged: false,
                    by_cable: false,
                });
                bench.timer(bench.now() + SETTLE * 2, CHANGE + 8 * self.round);
            }
            (Message::BarrierReply, Stage::Changing) => {
                self.barrier = Some(bench.now());
                if self.settings.change == Change::Delete {
                    bench.timer(bench.now() + SILENCE, OVER + 8 * self.round);
                }
                self.end_if_done(bench);
            }
            (Message::Error(_), _) => {
                if let Some(row) = self.rows.last_mut() {
                    row.refused += 1;
                }
            }
            (Message::MultipartReply(reply), _) if !reply.more => {
                if matches!(reply.body, Answer::Flow(_))
                    && let Some(at) = self.asked.iter().position(|(asked, _)| *asked == xid)
                {
                    let (_, when) = self.asked.remove(at);
                    if let Some(row) = self.rows.last_mut() {
                        row.add("statistics", bench.now() - when);
                    }
                }
            }
            _ => {}
        }
    }

    fn taken(&mut self, bench: &mut Bench<'_>) {
        if self.stage == Stage::Changing && self.taken.is_none() {
            self.taken = Some(bench.now());
            self.end_if_done(bench);
        }
    }

    fn timer(&mut self, bench: &mut Bench<'_>, number: u64) {
        if number == POLL {
            // A switch that does not keep up is not asked more.
            if self.asked.len() < MAX_PENDING_REQUESTS {
                let body = Query::Flow(FlowQuery::default());
                let request = MultipartRequest { more: false, body };
                let xid = bench.send(&Message::MultipartRequest(request));
                self.asked.push((xid, bench.now()));
            }
            if let Some(gap) = self.poll() {
                bench.timer(bench.now() + gap, POLL);
            }
            return;
        }
        if number / 8 != self.round {
            return;
        }
        match (number % 8, self.stage) {
            (CHANGE, Stage::Probing) => self.change(bench),
            (OVER, Stage::Changing) => {
                // As long as packets of deleted entries come, the deletion is not over.
                let recent = self
                    .last
                    .is_some_and(|last| last.at + SILENCE > bench.now());
                let late = bench.now() >= self.began + ROUND_TIMEOUT;
                match self.settings.change == Change::Delete && recent && !late {
                    true => bench.timer(bench.now() + SILENCE, OVER + 8 * self.round),
                    false => self.end(bench),
                }
            }
            _ => {}
        }
    }

    fn probe(&mut self, bench: &mut Bench<'_>, arrival: &Arrival<'_>) {
        if arrival.channel != CAPTURE || arrival.tag.stream != self.stream {
            return;
        }
        let (Some(row), Some(left)) = (self.rows.last_mut(), arrival.left) else {
            return;
        };
        row.received += 1;
        if self.stage != Stage::Changing {
            return;
        }
        let entries = u64::from(self.entries());
        let last_entry = !self.settings.round || arrival.tag.number % entries == entries - 1;
        if !last_entry {
            return;
        }
        let seen = Seen {
            at: arrival.at,
            left,
        };
        match self.settings.change {
            Change::Delete => self.last = Some(seen),
            Change::Insert | Change::Modify => {
                self.first.get_or_insert(seen);
                self.end_if_done(bench);
            }
        }
    }

    fn report(&mut self) -> Report {
        Report {
            of: match self.settings.polls.is_empty() {
                true => "entries",
                false => "requests a second",
            }
            .into(),
            rows: core::mem::take(&mut self.rows),
            ..Report::default()
        }
    }
}
