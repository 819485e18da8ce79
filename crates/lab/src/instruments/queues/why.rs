//! Explains one drop or mark: the packet, the state of the discipline at the decision, the packets that made up the queue, and the
//! smallest changes of one parameter that would have saved the packet.
//!
//! The changes come from [replays](queue::replay) of what the queue was offered. A replay is trusted only if it gives the packet the fate
//! that it had.

use super::history::{Decided, History, Share};
use super::question::{Question, Which};
use ::report::text::number;
use ::report::{Column, Table, Unit};
use node::{Channel, Time};
use parking_lot::MutexGuard;
use queue::replay::{Change, Fate, Replay};
use queue::{Config, Decision, Reason, Verdict};
use std::collections::BTreeMap;
use std::fmt;

/// Flows that are listed for people; programs get all.
const SHOWN: usize = 12;

/// A queue, and its history.
pub(super) struct Queue<'a> {
    /// The port whose queue it is.
    pub at: &'a str,
    pub config: &'a Config,
    pub channel: &'a Channel,
    pub seed: u64,
    pub history: MutexGuard<'a, History>,
}

/// Answer to a [`Question`].
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Found(Box<Explanation>),
    /// There is no such drop or mark, for a reason.
    NotFound(String),
}

/// A drop or mark, explained.
#[derive(Clone, Debug)]
pub(super) struct Explanation {
    at: String,
    discipline: &'static str,
    decision: Decision,
    /// Number of the packet among those that were offered to the queue, of the decision there, and of all decisions there; from 1.
    numbers: [u64; 3],
    flow: String,
    offered: Time,
    ahead: Vec<Share>,
    changes: Changes,
    /// Time from which on packets were too many to be kept.
    full: Option<Time>,
}

/// Changes that would have saved the packet.
#[derive(Clone, Debug)]
enum Changes {
    /// By replay; and whether all parameters were tried.
    Replayed(Vec<Change>, bool),
    /// A replay does not give the packet the fate that it had.
    NoReplay,
}

/// Finds the drop or mark, and explains it.
pub(super) fn answer(question: &Question, queues: &[Queue<'_>]) -> Answer {
    let own = |queue: &&Queue<'_>| question.port.as_ref().is_none_or(|port| port == queue.at);
    let mut decided: Vec<(&Queue<'_>, usize, &Decided)> = Vec::new();
    for queue in queues.iter().filter(own) {
        let all = queue.history.decided.iter().enumerate();
        decided.extend(all.map(|(nth, decided)| (queue, nth, decided)));
    }
    decided.sort_by_key(|(.., decided)| decided.decision.at);
    let found = match question.which {
        Which::Number(number) => decided.get(number as usize - 1),
        Which::Reason(reason) => {
            let mut all = decided.iter();
            all.find(|(.., decided)| decided.decision.reason == reason)
        }
        Which::From(time) => {
            let mut all = decided.iter();
            all.find(|(.., decided)| decided.decision.at >= time)
        }
    };
    match found {
        Some((queue, nth, decided)) => {
            Answer::Found(Box::new(Explanation::of(queue, *nth, decided)))
        }
        None => Answer::NotFound(not_found(question, &decided, queues)),
    }
}

fn not_found(
    question: &Question,
    decided: &[(&Queue<'_>, usize, &Decided)],
    queues: &[Queue<'_>],
) -> String {
    let mut reasons: BTreeMap<Reason, u64> = BTreeMap::new();
    for (.., decided) in decided {
        *reasons.entry(decided.decision.reason).or_default() += 1;
    }
    let reasons = reasons.iter();
    let reasons: Vec<String> = reasons
        .map(|(reason, count)| format!("{reason} {}", number(*count)))
        .collect();
    let there = match &reasons[..] {
        [] => "no packet was dropped or marked".into(),
        reasons => format!("drops and marks are {}", reasons.join(", ")),
    };
    let full = queues.iter().filter_map(|queue| queue.history.full).min();
    let full = full.map_or(String::new(), |at| {
        format!("; too many packets came to keep those after {at}")
    });
    format!("nothing to explain for `{question}`: {there}{full}")
}

impl Explanation {
    fn of(queue: &Queue<'_>, nth: usize, decided: &Decided) -> Explanation {
        let Decided { offer, decision } = *decided;
        let history = &queue.history;
        let (flow, _, offered) = history.packet(offer);
        let replay = Replay::new(queue.channel, queue.seed, &history.offers)
            .with_segments(&history.segments);
        let is_same = replay.fate(queue.config, offer) == Ok(Fate::of(&decision));
        let changes = match is_same {
            true => {
                let (changes, all) = replay.changes(queue.config, offer, decision.verdict);
                Changes::Replayed(changes, all)
            }
            false => Changes::NoReplay,
        };
        Explanation {
            at: queue.at.into(),
            discipline: queue.config.name(),
            decision,
            numbers: [offer + 1, nth + 1, history.decided.len()].map(|it| it as u64),
            flow: flow.into(),
            offered,
            ahead: history.ahead(offer),
            changes,
            full: history.full,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.decision.verdict {
            Verdict::Dropped => "dropped",
            Verdict::Marked => "marked",
        }
    }

    fn ahead(&self, most: usize) -> Table {
        let columns = [
            Column::new("flow", "in the queue when it came"),
            Column::new("packets", "packets"),
            Column::new("length", "bytes").of(Unit::Bytes),
        ];
        let mut table = Table::new("why_queue", columns);
        for share in self.ahead.iter().take(most) {
            let flow = (&share.flow).into();
            table.push([flow, share.packets.into(), share.bytes.into()]);
        }
        table
    }

    fn changes(&self) -> Table {
        let columns = [
            Column::new("parameter", "parameter"),
            Column::new("was", "was"),
            Column::new("to", "would have saved it"),
        ];
        let mut table = Table::new("why_change", columns);
        if let Changes::Replayed(changes, _) = &self.changes {
            for Change {
                parameter, was, to, ..
            } in changes
            {
                table.push([parameter.into(), was.into(), to.into()]);
            }
        }
        table
    }

    /// Sentence on the changes.
    fn note(&self) -> &'static str {
        match &self.changes {
            Changes::NoReplay => {
                "A replay of the queue gives the packet another fate, as on links at the level of blocks, so no change is listed."
            }
            Changes::Replayed(_, false) => {
                "Not all parameters were tried: the history is long. Each change alone, with the same arrivals."
            }
            Changes::Replayed(changes, true) if changes.is_empty() => {
                "No change of one number, from a hundredth to a hundredfold, would have saved it, with the same arrivals."
            }
            Changes::Replayed(..) => {
                "Each change alone, with the same arrivals; senders that answer drops would have sent others."
            }
        }
    }
}

impl Answer {
    /// For programs.
    pub fn tables(&self) -> Vec<Table> {
        let found = match self {
            Answer::Found(found) => found,
            Answer::NotFound(reason) => {
                let mut table = Table::new("why_not", [Column::new("reason", "reason")]);
                table.push([reason.into()]);
                return vec![table];
            }
        };
        let mut table = Table::new(
            "why",
            [
                Column::new("at", "queue at"),
                Column::new("discipline", "discipline"),
                Column::new("packet", "packet"),
                Column::new("flow", "flow"),
                Column::new("length", "length").of(Unit::Bytes),
                Column::new("verdict", "verdict"),
                Column::new("reason", "reason"),
                Column::new("number", "number"),
                Column::new("offered", "offered").of(Unit::Time),
                Column::new("decided", "decided").of(Unit::Time),
                Column::new("backlog_packets", "backlog"),
                Column::new("backlog", "backlog").of(Unit::Bytes),
                Column::new("state", "state"),
                Column::new("note", "note"),
            ],
        );
        let decision = &found.decision;
        let state = decision.state.to_string();
        table.push([
            (&found.at).into(),
            found.discipline.into(),
            found.numbers[0].into(),
            (&found.flow).into(),
            u64::from(decision.packet.len).into(),
            found.verdict().into(),
            decision.reason.name().into(),
            found.numbers[1].into(),
            found.offered.into(),
            decision.at.into(),
            decision.backlog.packets.into(),
            decision.backlog.bytes.into(),
            (!state.is_empty()).then_some(state).into(),
            found.note().into(),
        ]);
        vec![table, found.ahead(usize::MAX), found.changes()]
    }
}

impl fmt::Display for Answer {
    /// For people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = match self {
            Answer::Found(found) => found,
            Answer::NotFound(reason) => return writeln!(f, "why: {reason}"),
        };
        let decision = &found.decision;
        let [packet, nth, all] = found.numbers.map(number);
        let (at, verdict, reason) = (&found.at, found.verdict(), decision.reason);
        let until = found.full.map_or(String::new(), |at| {
            format!(" until {at}; later packets are too many to be kept")
        });
        writeln!(
            f,
            "why: packet {packet} of {at} was {verdict}, reason {reason}: {nth} of {all} drops and marks there{until}"
        )?;
        let waited = match decision.at - found.offered {
            Time::ZERO => "at once".into(),
            waited => format!("after {waited}"),
        };
        let backlog = decision.backlog;
        let state = decision.state.to_string();
        let of = decision
            .flow
            .map_or(String::new(), |flow| format!(", in queue {flow}"));
        for (name, text) in [
            (
                "flow",
                format!("{}, {} bytes", found.flow, decision.packet.len),
            ),
            ("offered", found.offered.to_string()),
            (verdict, format!("{}, {waited}{of}", decision.at)),
            ("state", state),
            (
                "backlog",
                format!(
                    "{} packets, {} bytes",
                    number(backlog.packets),
                    number(backlog.bytes)
                ),
            ),
        ] {
            if !text.is_empty() {
                writeln!(f, "  {name:<9}{text}")?;
            }
        }
        if !found.ahead.is_empty() {
            write!(f, "\n{}", found.ahead(SHOWN))?;
        }
        let more = found.ahead.len().saturating_sub(SHOWN);
        if more > 0 {
            writeln!(f, "and {more} more flows")?;
        }
        let changes = found.changes();
        if !changes.is_empty() {
            write!(f, "\n{changes}")?;
        }
        writeln!(f, "{}", found.note())
    }
}
