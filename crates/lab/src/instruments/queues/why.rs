//! Explains one drop or mark: the packet, the state of the discipline at the decision, the packets that made up the queue, and the
//! smallest changes of one parameter that would have saved the packet.
//!
//! All figures are about one queue, which the explanation names: that of the packet's class in a discipline with classes, and else the
//! whole discipline (decision 0206). Packets in other classes are a figure of their own.
//!
//! The changes come from [replays](queue::replay) of what the queue was offered. A replay is trusted only if it gives the packet the fate
//! that it had.

use super::history::{Decided, History, Share};
use super::question::{Question, Which};
use ::report::text::number;
use ::report::{Column, Table, Unit};
use node::{Channel, Time};
use parking_lot::MutexGuard;
use queue::replay::{Change, Fate, Offer, Replay};
use queue::{Backlog, Config, Decision, Discipline, Packet, Reason, Verdict};
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
    /// Name of the queue that decided.
    queue: String,
    flow: String,
    offered: Time,
    /// Packets in that queue when the packet was offered, in all and by flow.
    found: Backlog,
    ahead: Vec<Share>,
    /// Packets in other classes at that time.
    elsewhere: Backlog,
    /// Packets in all classes at the decision.
    all: Backlog,
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

/// The queue that decided on a packet, among those of a discipline with classes.
struct Place {
    discipline: Box<dyn Discipline>,
    packet: Packet,
    /// Number of classes that lead to it.
    depth: u32,
}

impl Place {
    fn of(queue: &Queue<'_>, decided: &Decided) -> Place {
        let discipline = queue.config.build(queue.seed);
        Place {
            discipline: discipline.expect("the run has built it"),
            packet: decided.decision.packet,
            depth: decided.decision.depth,
        }
    }

    /// The classes that lead to it.
    fn path(&self) -> Vec<u32> {
        let mut path = Vec::new();
        self.discipline.classes_of(&self.packet, &mut path);
        path.truncate(self.depth as usize);
        path
    }

    /// Whether the packet of an offer belongs there.
    fn has(&self, history: &History, offer: usize) -> bool {
        let Offer::Packet { len, facts, .. } = history.offers[offer] else {
            return false;
        };
        let packet = Packet::new(0, len, facts);
        self.discipline
            .shares_queue(&self.packet, &packet, self.depth)
    }
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
        let Decided {
            offer, decision, ..
        } = *decided;
        let history = &queue.history;
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
        Explanation::with(queue, nth, decided, changes)
    }

    fn with(queue: &Queue<'_>, nth: usize, decided: &Decided, changes: Changes) -> Explanation {
        let Decided {
            offer, decision, ..
        } = *decided;
        let history = &queue.history;
        let (flow, _, offered) = history.packet(offer);
        let place = Place::of(queue, decided);
        let others = history.found(offer);
        let (found, elsewhere): (Vec<_>, Vec<_>) =
            others.partition(|other| place.has(history, *other));
        Explanation {
            at: queue.at.into(),
            discipline: queue.config.name(),
            queue: queue.config.queue_at(&place.path()),
            decision,
            numbers: [offer + 1, nth + 1, history.decided.len()].map(|it| it as u64),
            flow: flow.into(),
            offered,
            found: history.size(found.iter().copied()),
            ahead: history.shares(found.into_iter()),
            elsewhere: history.size(elsewhere.into_iter()),
            all: history.size(history.waiting(decided)),
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
                Column::new("queue", "queue"),
                Column::new("offered", "offered").of(Unit::Time),
                Column::new("found_packets", "found"),
                Column::new("found", "found").of(Unit::Bytes),
                Column::new("elsewhere_packets", "elsewhere"),
                Column::new("elsewhere", "elsewhere").of(Unit::Bytes),
                Column::new("decided", "decided").of(Unit::Time),
                Column::new("backlog_packets", "backlog"),
                Column::new("backlog", "backlog").of(Unit::Bytes),
                Column::new("all_packets", "all classes"),
                Column::new("all", "all classes").of(Unit::Bytes),
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
            (&found.queue).into(),
            found.offered.into(),
            found.found.packets.into(),
            found.found.bytes.into(),
            found.elsewhere.packets.into(),
            found.elsewhere.bytes.into(),
            decision.at.into(),
            decision.backlog.packets.into(),
            decision.backlog.bytes.into(),
            found.all.packets.into(),
            found.all.bytes.into(),
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
        let size = |size: Backlog| {
            let [packets, bytes] = [size.packets, size.bytes].map(number);
            format!("{packets} packets, {bytes} bytes")
        };
        let elsewhere = match found.elsewhere.packets {
            0 => String::new(),
            _ => format!("; other classes had {}", size(found.elsewhere)),
        };
        let all = match decision.depth {
            0 => String::new(),
            _ => format!("; {} in all classes", size(found.all)),
        };
        let state = decision.state.to_string();
        let of = decision
            .flow
            .map_or(String::new(), |flow| format!(", in sub-queue {flow}"));
        for (name, text) in [
            (
                "flow",
                format!("{}, {} bytes", found.flow, decision.packet.len),
            ),
            ("queue", found.queue.clone()),
            (
                "offered",
                format!("{}, behind {}{elsewhere}", found.offered, size(found.found)),
            ),
            (verdict, format!("{}, {waited}{of}", decision.at)),
            ("state", state),
            (
                "backlog",
                format!("{}, this one included{all}", size(decision.backlog)),
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

#[cfg(test)]
mod tests;
