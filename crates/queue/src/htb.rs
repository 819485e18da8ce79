//! Hierarchical token bucket: classes with a guaranteed rate that borrow up to a ceiling.
//!
//! - **Parameters:** `classes`, a tree; `by`, `priority`; `priomap`, none. A class has `rate`;
//!   `ceil`, its rate; `burst` and `cburst`, 1600 bytes; `prio`, 0; `quantum`, 1514 bytes; and
//!   either `classes` of its own or a `child`, a FIFO of 1000 packets. Leaves count from 0 in the
//!   order in which they stand.
//! - **Reasons:** those of the leaves, which the decision's `class` names.
//!
//! A class has two buckets, of `rate` and `ceil`. A leaf may send while its ceiling's bucket is not
//! in debt, and while either its own bucket is not or its parent lends, which is the same rule one
//! step up. A packet is charged to the ceilings of all classes on its path, and to the rates of the
//! lender and all classes above it; a bucket may go into debt by one packet. First come leaves that
//! send by their own rate, then those with the deepest lender; among them those with the lowest
//! `prio`; among those deficit round robin.
//!
//! # Differences
//! There is no RFC; this follows Linux (`net/sched/sch_htb.c`) without hysteresis, and Devera's HTB
//! theory. Linux counts tokens in nanoseconds, takes `burst` from the timer's frequency, `quantum`
//! from the rate and `r2q`, limits a debt to one minute, and sends unclassified packets directly;
//! here tokens are exact and every packet has a leaf. ns-3 has no HTB.

use crate::Config as Any;
use crate::child::Child;
use crate::classify::{By, Classifier};
use crate::decision::{Backlog, Decisions};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use crate::segment::Segment;
use crate::tokens::Account;
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::random::split_mix;
use node::{ConfigError, Rate, Size, Time};

/// Maximum depth of the tree, as in Linux.
const MAX_DEPTH: usize = 8;
/// Priorities of leaves.
const PRIORITIES: usize = 8;

/// A class of the tree.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Class {
    /// Guaranteed rate, bits a second.
    pub rate: Rate,
    /// Maximum rate, with what the class borrows. Default `rate`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ceil: Option<Rate>,
    /// Bytes that may leave at once by `rate`. Default 1600.
    #[cfg_attr(feature = "serde", serde(default = "burst"))]
    pub burst: Size,
    /// Bytes that may leave at once by `ceil`. Default 1600.
    #[cfg_attr(feature = "serde", serde(default = "burst"))]
    pub cburst: Size,
    /// Priority of a leaf, 0 to 7, the first 0. Default 0.
    #[cfg_attr(feature = "serde", serde(default))]
    pub prio: u32,
    /// Bytes that a leaf may send in a round, at least 1. Default 1514.
    #[cfg_attr(feature = "serde", serde(default = "quantum"))]
    pub quantum: u32,
    /// Classes in this one; empty for a leaf.
    #[cfg_attr(feature = "serde", serde(default))]
    pub classes: Vec<Class>,
    /// Discipline of a leaf. Default a FIFO of 1000 packets.
    #[cfg_attr(feature = "serde", serde(default))]
    pub child: Option<Box<Any>>,
}

fn burst() -> Size {
    Size::from_bytes(1600)
}

fn quantum() -> u32 {
    1514
}

impl Class {
    /// A leaf with a rate and a ceiling; all else by default.
    pub fn leaf(rate: Rate, ceil: Rate) -> Class {
        Class {
            rate,
            ceil: Some(ceil),
            burst: burst(),
            cburst: burst(),
            prio: 0,
            quantum: quantum(),
            classes: Vec::new(),
            child: None,
        }
    }
}

/// Parameters of a hierarchical token bucket.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Config {
    /// Classes without a parent. At least one.
    pub classes: Vec<Class>,
    /// Fact that chooses the leaf. Default the priority.
    #[cfg_attr(feature = "serde", serde(default = "by"))]
    pub by: By,
    /// Leaf of each priority, DSCP or queue, counted from 0; values without an entry have the last leaf.
    /// Default none.
    #[cfg_attr(feature = "serde", serde(default))]
    pub priomap: Vec<u32>,
}

#[cfg(feature = "serde")]
fn by() -> By {
    By::Priority
}

#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    /// Order among lenders: the deepest class is first.
    level: usize,
    rate: Account,
    ceil: Account,
}

#[derive(Debug)]
struct Leaf {
    node: usize,
    prio: usize,
    quantum: i64,
    /// Bytes that it may still send in this round, for each level of a lender.
    deficits: [i64; MAX_DEPTH],
    child: Child,
}

/// A hierarchical token bucket.
#[derive(Debug)]
pub struct Htb {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// The leaf whose turn it is, for each level of a lender and each priority.
    turns: [[usize; PRIORITIES]; MAX_DEPTH],
    classifier: Classifier,
    ledger: Ledger,
}

impl Htb {
    /// Empty leaves, and full buckets.
    ///
    /// # Errors
    /// For a value out of its range, and for a leaf whose child cannot be made.
    pub fn new(config: &Config, seed: u64) -> Result<Htb, ConfigError> {
        let (mut nodes, mut leaves) = (Vec::new(), Vec::new());
        for class in &config.classes {
            plant(class, None, 1, seed, &mut nodes, &mut leaves)?;
        }
        let map = &config.priomap;
        let classifier = Classifier::new("classes", leaves.len(), config.by, map, seed)?;
        Ok(Htb {
            nodes,
            leaves,
            turns: Default::default(),
            classifier,
            ledger: Ledger::default(),
        })
    }

    /// The classes from a leaf up to its root.
    fn path(&self, leaf: &Leaf) -> impl Iterator<Item = &Node> {
        let first = Some(&self.nodes[leaf.node]);
        core::iter::successors(first, |node| Some(&self.nodes[node.parent?]))
    }

    /// Level of the class that lets a leaf send now; 0 for itself.
    fn lender(&self, now: Time, leaf: &Leaf) -> Option<usize> {
        for node in self.path(leaf) {
            if node.ceil.tokens(now) < 0 {
                return None;
            }
            if node.rate.tokens(now) >= 0 {
                return Some(node.level);
            }
        }
        None
    }

    /// When a leaf may send, not before `now`.
    fn time_of(&self, now: Time, leaf: &Leaf) -> Time {
        let (mut ceilings, mut first) = (now, Time::MAX);
        for node in self.path(leaf) {
            ceilings = ceilings.max(node.ceil.time_of(now));
            first = first.min(ceilings.max(node.rate.time_of(now)));
        }
        first
    }

    /// Charges a packet to the path of a leaf.
    fn charge(&mut self, now: Time, leaf: usize, level: usize, len: u32) {
        let mut at = Some(self.leaves[leaf].node);
        while let Some(index) = at {
            let node = &mut self.nodes[index];
            if node.level >= level {
                node.rate.charge(now, len);
            }
            node.ceil.charge(now, len);
            at = node.parent;
        }
    }
}

/// Adds a class with all classes in it.
fn plant(
    class: &Class,
    parent: Option<usize>,
    depth: usize,
    seed: u64,
    nodes: &mut Vec<Node>,
    leaves: &mut Vec<Leaf>,
) -> Result<(), ConfigError> {
    let is_leaf = class.classes.is_empty();
    let ceil = class.ceil.unwrap_or(class.rate);
    let wrong = |key, reason: &str| Err(ConfigError::new(key, reason));
    if depth > MAX_DEPTH {
        return wrong("classes", "a tree has at most 8 levels");
    }
    if ceil < class.rate {
        return wrong("ceil", "the ceiling is not below the rate");
    }
    if class.prio as usize >= PRIORITIES {
        return wrong("prio", "a priority is 0 to 7");
    }
    if class.quantum == 0 {
        return wrong("quantum", "a quantum is at least 1 byte");
    }
    if !is_leaf && class.child.is_some() {
        return wrong("child", "a class with classes has no discipline of its own");
    }
    let index = nodes.len();
    nodes.push(Node {
        parent,
        level: if is_leaf { 0 } else { MAX_DEPTH - depth },
        rate: Account::new(class.rate, class.burst),
        ceil: Account::new(ceil, class.cburst),
    });
    if is_leaf {
        let number = leaves.len() as u32;
        let fifo = Any::default();
        let child = class.child.as_deref().unwrap_or(&fifo);
        leaves.push(Leaf {
            node: index,
            prio: class.prio as usize,
            quantum: class.quantum.into(),
            deficits: [0; MAX_DEPTH],
            child: Child::new(child, split_mix(seed, number.into()), Some(number))?,
        });
    }
    for inner in &class.classes {
        plant(inner, Some(index), depth + 1, seed, nodes, leaves)?;
    }
    Ok(())
}

impl Discipline for Htb {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Decisions) {
        self.enqueue_segment(now, packet, None, out);
    }

    fn reads_segments(&self) -> bool {
        self.leaves.iter().any(|leaf| leaf.child.reads_segments())
    }

    fn enqueue_segment(
        &mut self,
        now: Time,
        mut packet: Packet,
        segment: Option<&Segment>,
        out: &mut Decisions,
    ) {
        self.ledger.offer(now, &mut packet);
        let leaf = self.classifier.class_of(&packet) as usize;
        self.leaves[leaf]
            .child
            .enqueue(now, packet, segment, &mut self.ledger, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        loop {
            let count = self.leaves.len();
            let mut best: Option<((usize, usize, usize), usize)> = None;
            for (index, leaf) in self.leaves.iter().enumerate() {
                if leaf.child.next_time(now).is_none_or(|next| next > now) {
                    continue;
                }
                let Some(level) = self.lender(now, leaf) else {
                    continue;
                };
                let turn = self.turns[level][leaf.prio];
                let order = (level, leaf.prio, (index + count - turn) % count);
                if best.is_none_or(|(first, _)| order < first) {
                    best = Some((order, index));
                }
            }
            let ((level, prio, _), index) = best?;
            let leaf = &mut self.leaves[index];
            // Without a packet its queue has dropped all that were due; others may send.
            if leaf.child.peek(now, &mut self.ledger, out).is_none() {
                continue;
            }
            let packet = leaf.child.take()?;
            leaf.deficits[level] -= i64::from(packet.len);
            self.turns[level][prio] = index;
            if leaf.deficits[level] < 0 {
                leaf.deficits[level] += leaf.quantum;
                self.turns[level][prio] = (index + 1) % count;
            }
            self.charge(now, index, level, packet.len);
            self.ledger.send(&packet);
            return Some(packet);
        }
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        let times = self.leaves.iter().filter_map(|leaf| {
            let ready = leaf.child.next_time(now)?;
            Some(ready.max(self.time_of(now, leaf)))
        });
        times.min()
    }

    fn classes_of(&self, packet: &Packet, path: &mut Vec<u32>) {
        let class = self.classifier.class_of(packet) as usize;
        self.leaves[class].child.classes_of(packet, path);
    }

    fn shares_queue(&self, a: &Packet, b: &Packet, depth: u32) -> bool {
        let class = self.classifier.class_of(a);
        let is_same = || class == self.classifier.class_of(b);
        depth == 0 || is_same() && self.leaves[class as usize].child.shares_queue(a, b, depth)
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog
    }

    fn counters(&self) -> Counters {
        self.ledger.counters
    }
}
