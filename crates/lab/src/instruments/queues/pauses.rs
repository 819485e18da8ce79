//! PAUSE and PFC on links: pause times of senders, bytes in the receivers' buffers, storms and deadlocks.
//!
//! A deadlock is a circle of directions of links that are still paused at the end of the run, each for its watchdog's time at least: each
//! direction waits for the next one to take frames from the buffer at its end.

use crate::plan::Lab;
use ::report::{Column, Table, Unit, Value};
use node::outcome::Direction;
use node::{NodeId, Time};
use queue::egress::QueueEvent;
use queue::pause::{Event, Pauses};
use std::fmt;

/// Directions of links with pauses: link, direction.
pub(super) fn paused(lab: &Lab) -> impl Iterator<Item = (usize, Direction)> + Clone {
    let links = lab.links.iter().enumerate();
    links.flat_map(|(link, plan)| {
        let ways = Direction::BOTH.into_iter().zip(&plan.pauses);
        ways.filter_map(move |(way, config)| config.as_ref().map(|_| (link, way)))
    })
}

/// Pauses at the queue of a direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Of the direction's own sender.
    heard: u64,
    last: (Time, Time),
    until: Pauses,
    paused: Time,
    storms: u64,
    /// Priorities in a storm, by bit.
    stormy: u8,
    /// Of the receiver of the other direction, at the same port.
    asked: u64,
    most: u64,
    overflows: u64,
    unknown: u64,
}

impl Seen {
    pub fn see(&mut self, event: &QueueEvent<'_>) {
        let QueueEvent::Pause { at, event } = event else {
            return;
        };
        match event {
            Event::Asked(_) => self.asked += 1,
            Event::Arrived { waiting } => self.most = self.most.max(*waiting),
            Event::Overflow { .. } => self.overflows += 1,
            Event::Unknown => self.unknown += 1,
            Event::Storm { priority } => {
                self.storms += 1;
                self.stormy |= 1 << priority;
            }
            Event::Paused(until) => {
                self.heard += 1;
                self.pass(*at);
                self.until = *until;
                let last = until.iter().max().copied().unwrap_or_default();
                self.last = (*at, last);
                for (priority, until) in until.iter().enumerate() {
                    if until <= at {
                        self.stormy &= !(1 << priority);
                    }
                }
            }
        }
    }

    /// Counts the time of the last pause until `now`.
    fn pass(&mut self, now: Time) {
        let (from, until) = self.last;
        if until > from {
            self.paused += until.min(now).max(from) - from;
        }
        self.last.0 = now.max(from);
    }

    /// Priorities that are in a storm at `now`, by bit.
    fn stuck(&self, now: Time) -> u8 {
        let is_paused = |priority: &usize| self.until[*priority] > now;
        let paused = (0..self.until.len()).filter(is_paused);
        self.stormy & paused.fold(0, |bits, priority| bits | 1 << priority)
    }
}

/// Directions that wait for each other, with a priority; `None` for whole links.
type Circle = (Option<usize>, Vec<String>);

/// The pauses of a run.
#[derive(Clone, Debug)]
pub(super) struct Found {
    table: Table,
    deadlocks: Vec<Circle>,
}

/// A direction in a storm: the sending and the receiving node, its name, its priorities by bit, and whether that is the whole link.
struct Stuck {
    nodes: [NodeId; 2],
    name: String,
    priorities: u8,
    is_link: bool,
}

/// Results of all queues, by link and direction, at the end of the run; `None` without pauses.
pub(super) fn find(
    lab: &Lab,
    mut seen: impl FnMut(usize, Direction) -> Option<Seen>,
    ended: Time,
) -> Option<Found> {
    let mut table = Table::new(
        "pause",
        [
            Column::new("at", "paused"),
            Column::new("priorities", "priorities"),
            Column::new("asked", "frames"),
            Column::new("effects", "effects"),
            Column::new("paused", "time").of(Unit::Time),
            Column::new("longest", "most waited").of(Unit::Bytes),
            Column::new("room", "room").of(Unit::Bytes),
            Column::new("overflows", "lost"),
            Column::new("storms", "storms"),
            Column::for_programs("unknown"),
        ],
    );
    let mut stuck = Vec::new();
    for (link, way) in paused(lab) {
        let plan = &lab.links[link];
        let back = Direction::BOTH[1 - way.index()];
        let (mut sender, receiver) = (seen(link, way)?, seen(link, back)?);
        sender.pass(ended);
        let config = plan.pauses[way.index()].as_ref()?;
        let [forth, back] = [way, back].map(|way| &plan.link.channels[way.index()]);
        let room = config.room(forth, back);
        let priorities: Vec<String> = config.priorities.iter().map(u8::to_string).collect();
        table.push([
            (&plan.names[way.index()][..]).into(),
            match priorities.is_empty() {
                true => "all".into(),
                false => priorities.join(", ").into(),
            },
            receiver.asked.into(),
            sender.heard.into(),
            sender.paused.into(),
            receiver.most.into(),
            room.map_or(Value::None, Value::from),
            receiver.overflows.into(),
            sender.storms.into(),
            receiver.unknown.into(),
        ]);
        let (from, to) = (way.index(), 1 - way.index());
        stuck.push(Stuck {
            nodes: [plan.link.ends[from].node, plan.link.ends[to].node],
            name: plan.names[from].clone(),
            priorities: sender.stuck(ended),
            is_link: priorities.is_empty(),
        });
    }
    let deadlocks = deadlocks(&stuck);
    (!stuck.is_empty()).then_some(Found { table, deadlocks })
}

/// The circles of directions in a storm: one for each that has no other in it.
fn deadlocks(stuck: &[Stuck]) -> Vec<Circle> {
    let mut found = Vec::new();
    for priority in 0..8 {
        let of_it: Vec<&Stuck> = stuck
            .iter()
            .filter(|way| way.priorities & 1 << priority != 0)
            .collect();
        let mut seen = vec![false; of_it.len()];
        for first in 0..of_it.len() {
            // Follows directions not visited before, until there are none.
            let mut walk = Vec::new();
            let mut tried = vec![(first, 0)];
            while let Some((way, from)) = tried.pop() {
                if from == 0 && seen[way] {
                    continue;
                }
                if from == 0 {
                    seen[way] = true;
                    walk.push(way);
                }
                let next = (from..of_it.len())
                    .find(|next| *next != way && of_it[*next].nodes[0] == of_it[way].nodes[1]);
                let Some(next) = next else {
                    walk.pop();
                    continue;
                };
                tried.push((way, next + 1));
                if let Some(place) = walk.iter().position(|earlier| *earlier == next) {
                    let circle = &walk[place..];
                    let names = circle.iter().map(|way| of_it[*way].name.clone());
                    let is_link = circle.iter().any(|way| of_it[*way].is_link);
                    found.push(((!is_link).then_some(priority), names.collect()));
                    // One circle is enough to say where the network stands still.
                    break;
                }
                tried.push((next, 0));
            }
        }
    }
    found
}

impl Found {
    pub fn tables(&self) -> Vec<Table> {
        let columns = [
            Column::new("priority", "priority"),
            Column::new("ports", "deadlock of the senders"),
        ];
        let mut deadlocks = Table::new("pause_deadlock", columns);
        for (priority, ports) in &self.deadlocks {
            let priority = priority.map_or("all".into(), |priority| (priority as u64).into());
            deadlocks.push([priority, ports.join(" > ").into()]);
        }
        let deadlocks = (!self.deadlocks.is_empty()).then_some(deadlocks);
        [self.table.clone()].into_iter().chain(deadlocks).collect()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables()
            .iter()
            .try_for_each(|table| write!(f, "\n{table}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stuck(from: usize, to: usize, priorities: u8) -> Stuck {
        Stuck {
            nodes: [NodeId(from), NodeId(to)],
            name: format!("{from}>{to}"),
            priorities,
            is_link: false,
        }
    }

    #[test]
    fn circles_of_one_priority_are_deadlocks_and_chains_are_none() {
        // A host that waits for a circle is not part of it.
        let ring = [
            stuck(9, 0, 8),
            stuck(0, 1, 8),
            stuck(1, 2, 8),
            stuck(2, 0, 8),
        ];
        let found = deadlocks(&ring);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0, found[0].1.len()), (Some(3), 3));
        assert!(deadlocks(&ring[..3]).is_empty());
        let mixed = [stuck(0, 1, 8), stuck(1, 2, 4), stuck(2, 0, 8)];
        assert!(deadlocks(&mixed).is_empty());
        // The first path is a dead end.
        let side = [
            stuck(0, 5, 1),
            stuck(0, 1, 1),
            stuck(1, 0, 1),
            stuck(3, 4, 1),
            stuck(4, 3, 1),
        ];
        assert_eq!(deadlocks(&side).len(), 2);
    }

    #[test]
    fn the_time_of_pauses_that_overlap_counts_once() {
        let mut seen = Seen::default();
        let mut pause = |at: u64, until: u64| {
            let event = Event::Paused([Time::from_us(until); 8]);
            let at = Time::from_us(at);
            seen.see(&QueueEvent::Pause { at, event });
        };
        pause(10, 20);
        pause(15, 30);
        pause(20, 20);
        pause(50, 90);
        seen.pass(Time::from_us(60));
        assert_eq!(seen.paused, Time::from_us(10 + 10));
        assert_eq!(seen.heard, 4);
    }
}
