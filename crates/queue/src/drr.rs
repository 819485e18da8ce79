//! Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): each class sends a quantum of bytes
//! in a round.
//!
//! - **Parameters:** `classes`, 16 with a quantum of 1514 bytes and a FIFO of 1000 packets each;
//!   `by`, `flow`; `priomap`, none.
//! - **Reasons:** those of the classes, which the decision's `class` names.
//!
//! With different quanta it is weighted: two classes with backlog get bytes in proportion to their
//! quanta, within one quantum and one packet.
//!
//! # Differences
//! In the paper a class gets its quantum when its turn begins; Linux (`net/sched/sch_drr.c`) and
//! ns-3's FQ disciplines give it when the class becomes active and when its packet does not fit:
//! the departures are the same. Linux has a class for each filter and drops packets without one;
//! here every packet has a class. A class whose child is a shaper with nothing to send now loses
//! its turn, and no deficit.

use crate::Config as Any;
use crate::child::Child;
use crate::classify::{By, Classifier};
use crate::decision::{Backlog, Decisions};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use crate::segment::Segment;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use node::random::split_mix;
use node::{ConfigError, Time};

/// A class of deficit round robin.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Class {
    /// Bytes that it may send in a round, at least 1. Default 1514.
    pub quantum: u32,
    /// Discipline of its packets. Default a FIFO of 1000 packets.
    pub child: Any,
}

impl Default for Class {
    fn default() -> Class {
        Class {
            quantum: 1514,
            child: Any::default(),
        }
    }
}

/// Parameters of deficit round robin.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// The classes, 1 to 65536. Default 16.
    pub classes: Vec<Class>,
    /// Fact that chooses the class. Default the flow.
    pub by: By,
    /// Class of each priority, DSCP or queue, counted from 0; values without an entry have the last class.
    /// Default none.
    pub priomap: Vec<u32>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            classes: vec![Class::default(); 16],
            by: By::Flow,
            priomap: Vec::new(),
        }
    }
}

#[derive(Debug)]
struct Turn {
    quantum: u64,
    /// Bytes that the class may still send in this round.
    deficit: u64,
    is_active: bool,
    child: Child,
}

/// Deficit round robin.
#[derive(Debug)]
pub struct Drr {
    classes: Vec<Turn>,
    active: VecDeque<u32>,
    classifier: Classifier,
    ledger: Ledger,
}

impl Drr {
    /// Empty classes.
    ///
    /// # Errors
    /// For a value out of its range, and for a class whose child cannot be made.
    pub fn new(config: &Config, seed: u64) -> Result<Drr, ConfigError> {
        let (by, map) = (config.by, &config.priomap);
        let classifier = Classifier::new("classes", config.classes.len(), by, map, seed)?;
        let mut classes = Vec::with_capacity(config.classes.len());
        for (index, class) in (0..).zip(&config.classes) {
            if class.quantum == 0 {
                return Err(ConfigError::new("quantum", "a quantum is at least 1 byte"));
            }
            classes.push(Turn {
                quantum: class.quantum.into(),
                deficit: 0,
                is_active: false,
                child: Child::new(&class.child, split_mix(seed, index.into()), Some(index))?,
            });
        }
        Ok(Drr {
            active: VecDeque::with_capacity(classes.len()),
            classes,
            classifier,
            ledger: Ledger::default(),
        })
    }

    /// Gives each class the quanta of the rounds in which none of them can send.
    fn skip_rounds(&mut self) {
        let rounds = self.active.iter().filter_map(|index| {
            let class = &self.classes[*index as usize];
            let missing = u64::from(class.child.held()?.len).saturating_sub(class.deficit);
            Some(missing.div_ceil(class.quantum))
        });
        let Some(rounds) = rounds.min().filter(|rounds| *rounds > 1) else {
            return;
        };
        for index in &self.active {
            let class = &mut self.classes[*index as usize];
            if class.child.held().is_some() {
                class.deficit += (rounds - 1) * class.quantum;
            }
        }
    }
}

impl Discipline for Drr {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Decisions) {
        self.enqueue_segment(now, packet, None, out);
    }

    fn reads_segments(&self) -> bool {
        self.classes
            .iter()
            .any(|class| class.child.reads_segments())
    }

    fn enqueue_segment(
        &mut self,
        now: Time,
        mut packet: Packet,
        segment: Option<&Segment>,
        out: &mut Decisions,
    ) {
        self.ledger.offer(now, &mut packet);
        let index = self.classifier.class_of(&packet);
        let class = &mut self.classes[index as usize];
        class
            .child
            .enqueue(now, packet, segment, &mut self.ledger, out);
        if !class.is_active && !class.child.is_empty() {
            class.is_active = true;
            class.deficit = class.quantum;
            self.active.push_back(index);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        // Turns since the last packet in which a class could not send: all of them, and those
        // without a packet.
        let (mut turns, mut not_ready) = (0, 0);
        loop {
            let index = *self.active.front()?;
            let class = &mut self.classes[index as usize];
            let len = class
                .child
                .peek(now, &mut self.ledger, out)
                .map(|head| head.len);
            match len {
                Some(len) if u64::from(len) <= class.deficit => {
                    let packet = class.child.take()?;
                    class.deficit -= u64::from(len);
                    if class.child.is_empty() {
                        class.is_active = false;
                        self.active.pop_front();
                    }
                    self.ledger.send(&packet);
                    return Some(packet);
                }
                Some(_) => {
                    class.deficit += class.quantum;
                    not_ready = 0;
                }
                None if class.child.is_empty() => {
                    class.is_active = false;
                    self.active.pop_front();
                    (turns, not_ready) = (0, 0);
                    continue;
                }
                None => not_ready += 1,
            }
            self.active.rotate_left(1);
            if not_ready == self.active.len() {
                return None;
            }
            turns += 1;
            if turns == self.active.len() {
                turns = 0;
                self.skip_rounds();
            }
        }
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        let times = self.active.iter();
        let times = times.filter_map(|index| self.classes[*index as usize].child.next_time(now));
        times.min()
    }

    fn classes_of(&self, packet: &Packet, path: &mut Vec<u32>) {
        let class = self.classifier.class_of(packet) as usize;
        self.classes[class].child.classes_of(packet, path);
    }

    fn shares_queue(&self, a: &Packet, b: &Packet, depth: u32) -> bool {
        let class = self.classifier.class_of(a);
        let is_same = || class == self.classifier.class_of(b);
        depth == 0 || is_same() && self.classes[class as usize].child.shares_queue(a, b, depth)
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog
    }

    fn counters(&self) -> Counters {
        self.ledger.counters
    }
}
