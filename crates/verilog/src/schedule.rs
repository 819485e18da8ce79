//! Which node is worked out in which cycle.
//!
//! A node's cycle is the first in which all that it needs is there and the levels of logic since the last register are not too many. What
//! a packet does with a register's cells between reading and writing stays in one cycle, whatever its depth, since the
//! next packet comes in the next cycle. Where a table stands between, that cannot be: then packets come one at a time.

use crate::graph::{Graph, Id, Input, Op, Two};
use crate::state::{Access, Lookup, Walk};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use p4::ir::ObjectId;

/// A cycle of the pipeline, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stage(pub(crate) u32);

pub(crate) struct Schedule {
    /// Of nodes that somebody needs.
    pub(crate) stages: Vec<Option<Stage>>,
    pub(crate) accesses: Vec<Stage>,
    /// The last cycle before the replication engine.
    pub(crate) split: Option<Stage>,
    /// When everything is there.
    pub(crate) last: Stage,
    /// Packets come one at a time: because of these objects.
    pub(crate) alone: BTreeSet<ObjectId>,
    /// By lookup, the cycle behind which packets wait in a queue for the response of an asynchronous extern.
    pub(crate) queues: BTreeMap<u32, u32>,
}

/// A level of logic.
const LEVEL: u32 = 10;

/// So many packets may be under way in a pipeline of so many cycles.
pub(crate) fn flight(stages: u32) -> u32 {
    (stages + 8).next_power_of_two().max(16)
}

/// What is to be scheduled.
struct Parts<'a> {
    graph: &'a Graph,
    needed: &'a [bool],
    lookups: &'a [Lookup],
    accesses: &'a [Access],
    /// Levels of logic between registers, in tenths.
    limit: u32,
    /// The nodes before this one are not cut into cycles.
    whole: usize,
    /// Tables are asked at once where they can.
    parallel: bool,
}

impl Schedule {
    /// As the walk's options say; `roots` are wanted at the end.
    pub(crate) fn new(walk: &Walk<'_>, roots: &[Id]) -> Schedule {
        let (graph, split) = (&walk.graph, walk.split);
        let (lookups, accesses) = (&walk.lookups[..], &walk.accesses[..]);
        let optimise = walk.options.optimise;
        let mut schedule = Schedule {
            stages: Vec::new(),
            accesses: Vec::new(),
            split: split.map(|_| Stage(0)),
            last: Stage(0),
            alone: BTreeSet::new(),
            queues: BTreeMap::new(),
        };
        for access in accesses {
            // Both halves at once would see each other's packets half done.
            let other = |one: &&Access| one.object == access.object && one.second != access.second;
            if accesses.iter().any(|one| other(&one)) {
                schedule.alone.insert(access.object);
            }
        }
        let fields = split.map(|split| split.fields());
        let all: Vec<Id> = roots
            .iter()
            .copied()
            .chain(fields.into_iter().flatten())
            .collect();
        let needed = needed(graph, &all, lookups, accesses);
        let mut cones = cones(graph, &needed, lookups, accesses, &mut schedule.alone);
        let mut fixed: BTreeMap<ObjectId, u32> = BTreeMap::new();
        loop {
            let parts = Parts {
                graph,
                needed: &needed,
                lookups,
                accesses,
                limit: walk.options.levels * LEVEL,
                whole: if optimise.cut_parser { 0 } else { walk.parser },
                parallel: optimise.parallel,
            };
            let mut good = schedule.pass(&parts, &cones, &mut fixed);
            if let Some(split) = schedule.split {
                let crossing = (0..graph.nodes.len())
                    .filter(|index| needed[*index])
                    .filter_map(|index| match graph.op(Id(index as u32)) {
                        Op::Crossed(a) => Some(*a),
                        _ => None,
                    });
                let ends = crossing
                    .chain(fields.into_iter().flatten())
                    .filter_map(|id| schedule.stages[id.index()]);
                let writes = accesses
                    .iter()
                    .zip(&schedule.accesses)
                    .filter(|(access, _)| !access.second);
                let counted = walk.counted(false);
                let counted = counted.filter_map(|id| schedule.stages[id.index()]);
                let latest = ends
                    .chain(counted)
                    .chain(writes.map(|(_, stage)| *stage))
                    .max()
                    .unwrap_or_default();
                if latest > split {
                    schedule.split = Some(latest);
                    good = false;
                }
            }
            if good {
                break;
            }
            if fixed.values().any(|stage| *stage > 10_000) {
                // Two objects that wait for each other.
                schedule.alone.extend(fixed.keys());
                fixed.clear();
                cones.iter_mut().for_each(|cone| *cone = None);
            }
        }
        let ends = roots
            .iter()
            .filter_map(|root| schedule.stages[root.index()]);
        schedule.last = ends
            .chain(schedule.accesses.iter().copied())
            .max()
            .unwrap_or_default();
        // Who comes alone writes at the end, when all is read.
        for (access, stage) in accesses.iter().zip(&mut schedule.accesses) {
            if access.data.is_some() && schedule.alone.contains(&access.object) {
                *stage = schedule
                    .split
                    .filter(|_| !access.second)
                    .unwrap_or(schedule.last);
            }
        }
        schedule
    }

    /// One try; `false` when an object's cycle must be a later one.
    fn pass(
        &mut self,
        parts: &Parts<'_>,
        cones: &[Option<ObjectId>],
        fixed: &mut BTreeMap<ObjectId, u32>,
    ) -> bool {
        let Parts {
            graph,
            needed,
            lookups,
            accesses,
            limit,
            whole,
            parallel,
        } = *parts;
        let mut answered = 0;
        let mut last_queue = None;
        let count = graph.nodes.len();
        self.stages = vec![None; count];
        let mut depths = vec![0u32; count];
        let mut good = true;
        for index in 0..count {
            if !needed[index] {
                continue;
            }
            let id = Id(index as u32);
            let behind = self.split.map_or(0, |split| split.0 + 1);
            let (mut stage, mut depth) = (0, 0);
            let mut after = |operand: Id| {
                let at = self.stages[operand.index()].map_or(0, |stage| stage.0);
                let deep = depths[operand.index()];
                if at > stage {
                    (stage, depth) = (at, deep);
                } else if at == stage {
                    depth = depth.max(deep);
                }
            };
            match graph.op(id) {
                Op::Crossed(_) => (stage, depth) = (behind, 0),
                Op::Input(
                    Input::IsCopy
                    | Input::IsClone
                    | Input::CopyPort
                    | Input::CopyInstance
                    | Input::NoCopy
                    | Input::Keep
                    | Input::Replay,
                ) => {
                    (stage, depth) = (behind, 0);
                }
                Op::Lookup(number) => {
                    let lookup = &lookups[*number as usize];
                    lookup.keys.iter().for_each(|key| after(*key));
                    if lookup.second && stage < behind {
                        (stage, depth) = (behind, 0);
                    }
                    if !parallel && answered > stage {
                        (stage, depth) = (answered, 0);
                    }
                    // Hashing the key is a level of its own.
                    stage += u32::from(depth + LEVEL > limit && depth > 0);
                    if lookup.waits() {
                        // One queue between two cycles.
                        stage = stage.max(last_queue.map_or(0, |last: u32| last + 1));
                        let known = self.queues.get(number).copied();
                        good &= known.is_some_and(|known| known >= stage);
                        stage = stage.max(known.unwrap_or(0));
                        self.queues.insert(*number, stage);
                        last_queue = Some(stage);
                    } else {
                        // Between request and answer its packet must not wait.
                        let mut queues: Vec<u32> = self.queues.values().copied().collect();
                        queues.sort_unstable();
                        for queue in queues {
                            if stage <= queue && queue < stage + lookup.latency {
                                stage = queue + 1;
                            }
                        }
                    }
                    stage += lookup.latency;
                    depth = LEVEL / 2;
                    answered = stage;
                }
                Op::Read(number) => {
                    let access = &accesses[*number as usize];
                    after(access.index);
                    after(access.when);
                    if access.second && stage < behind {
                        (stage, depth) = (behind, 0);
                    }
                    if !self.alone.contains(&access.object) {
                        let fixed = fixed.entry(access.object).or_insert(stage);
                        if *fixed < stage {
                            *fixed = stage;
                            good = false;
                        }
                        if *fixed > stage {
                            (stage, depth) = (*fixed, 0);
                        }
                    }
                    depth += 2 * LEVEL;
                }
                _ => {
                    graph.operands(id, &mut after);
                    let cost = if index < whole { 0 } else { cost(graph, id) };
                    match cones[index] {
                        Some(object) => {
                            let fixed = fixed.entry(object).or_insert(stage);
                            if *fixed < stage {
                                *fixed = stage;
                                good = false;
                            }
                            depth += cost;
                        }
                        None if depth + cost > limit && depth > 0 && cost > 0 => {
                            stage += 1;
                            depth = cost;
                        }
                        None => depth += cost,
                    }
                }
            }
            self.stages[index] = Some(Stage(stage));
            depths[index] = depth;
        }
        let of = |stages: &[Option<Stage>], id: Id| stages[id.index()].map_or(0, |stage| stage.0);
        self.accesses.clear();
        for access in accesses {
            let data = access.data.map_or(0, |data| of(&self.stages, data));
            let least = self
                .split
                .filter(|_| access.second)
                .map_or(0, |split| split.0 + 1);
            let ready = of(&self.stages, access.index)
                .max(of(&self.stages, access.when))
                .max(data)
                .max(least);
            let stage = if self.alone.contains(&access.object) {
                ready
            } else {
                let fixed = fixed.entry(access.object).or_insert(ready);
                if *fixed < ready {
                    *fixed = ready;
                    good = false;
                }
                *fixed
            };
            self.accesses.push(Stage(stage));
        }
        good
    }
}

/// The nodes that anything comes of.
fn needed(graph: &Graph, roots: &[Id], lookups: &[Lookup], accesses: &[Access]) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes.len()];
    let mut waiting: Vec<Id> = roots.to_vec();
    for access in accesses.iter().filter(|access| access.data.is_some()) {
        waiting.extend([access.when, access.index]);
        waiting.extend(access.data);
    }
    while let Some(id) = waiting.pop() {
        if core::mem::replace(&mut needed[id.index()], true) {
            continue;
        }
        match graph.op(id) {
            Op::Lookup(number) => waiting.extend(&lookups[*number as usize].keys),
            Op::Read(number) => {
                let access = &accesses[*number as usize];
                waiting.extend([access.when, access.index]);
            }
            Op::Crossed(a) => waiting.push(*a),
            _ => graph.operands(id, |operand| waiting.push(operand)),
        }
    }
    needed
}

/// For each node the object between whose reading and writing it stands. An object with a table between is one with which packets come alone.
fn cones(
    graph: &Graph,
    needed: &[bool],
    lookups: &[Lookup],
    accesses: &[Access],
    alone: &mut BTreeSet<ObjectId>,
) -> Vec<Option<ObjectId>> {
    let count = graph.nodes.len();
    let mut cones = vec![None; count];
    let objects: BTreeSet<ObjectId> = accesses.iter().map(|access| access.object).collect();
    let inputs = |id: Id, each: &mut dyn FnMut(Id)| match graph.op(id) {
        Op::Lookup(number) => lookups[*number as usize]
            .keys
            .iter()
            .for_each(|key| each(*key)),
        Op::Read(number) => {
            let access = &accesses[*number as usize];
            each(access.when);
            each(access.index);
        }
        Op::Crossed(a) => each(*a),
        _ => graph.operands(id, each),
    };
    for object in objects {
        // What comes of a read, and then what a write needs of it.
        let mut behind = vec![false; count];
        for index in 0..count {
            let id = Id(index as u32);
            let reads = matches!(graph.op(id), Op::Read(number) if accesses[*number as usize].object == object);
            let mut found = reads;
            inputs(id, &mut |operand| found |= behind[operand.index()]);
            behind[index] = found && needed[index];
        }
        let mut before = vec![false; count];
        for access in accesses.iter().filter(|access| access.object == object) {
            let reads = access.data.is_none();
            let ends = [Some(access.when), Some(access.index), access.data];
            if reads && access.result.is_none_or(|result| !needed[result.index()]) {
                continue;
            }
            ends.into_iter()
                .flatten()
                .for_each(|id| before[id.index()] = true);
        }
        for index in (0..count).rev() {
            if before[index] {
                inputs(Id(index as u32), &mut |operand| {
                    before[operand.index()] = true
                });
            }
        }
        let between = |index: usize| behind[index] && before[index];
        let apart = |index: usize| {
            let other = matches!(graph.op(Id(index as u32)), Op::Read(number) if accesses[*number as usize].object != object);
            between(index)
                && (other || matches!(graph.op(Id(index as u32)), Op::Lookup(_) | Op::Crossed(_)))
        };
        if (0..count).any(apart) {
            alone.insert(object);
            continue;
        }
        for (index, cone) in cones.iter_mut().enumerate() {
            if between(index) && !matches!(graph.op(Id(index as u32)), Op::Read(_)) {
                match *cone {
                    // Between two objects at once: both in one cycle would have to wait for each other.
                    Some(other) if other != object => {
                        alone.insert(object);
                    }
                    _ => *cone = Some(object),
                }
            }
        }
    }
    let joined: BTreeSet<ObjectId> = alone.clone();
    for cone in &mut cones {
        if cone.is_some_and(|object| joined.contains(&object)) {
            *cone = None;
        }
    }
    cones
}

/// How deep a node's logic is, in tenths of a level of six-input tables.
fn cost(graph: &Graph, id: Id) -> u32 {
    let levels = |inputs: u32| match inputs {
        0..=3 => LEVEL / 2,
        4..=6 => LEVEL,
        7..=36 => 2 * LEVEL,
        _ => 3 * LEVEL,
    };
    let width = graph.width(id);
    let log = |width: u32| u32::BITS - width.leading_zeros();
    match graph.op(id) {
        Op::Constant(_)
        | Op::Input(_)
        | Op::Along(_)
        | Op::Random(_)
        | Op::Crossed(_)
        | Op::Packet(_)
        | Op::Slice(..)
        | Op::Concat(_) => 0,
        Op::Lookup(_) | Op::Read(_) | Op::Not(_) => 0,
        Op::PacketAt(_) => 6 * LEVEL,
        Op::Choose(..) => 6,
        Op::Parity(_, mask) => levels(mask.count_ones() as u32),
        Op::Two(op, a, b) => {
            let of = graph.width(*a);
            let constant = graph.known(*b).is_some();
            match op {
                Two::And | Two::Or | Two::Xor => LEVEL / 2,
                Two::Equal if constant => levels(of),
                Two::Equal => levels(2 * of),
                Two::Add | Two::Subtract | Two::Less | Two::LessSigned => LEVEL + of / 4,
                Two::Multiply => 4 * LEVEL + of,
                Two::Divide | Two::Modulo => of * LEVEL,
                Two::ShiftLeft | Two::ShiftRight | Two::ShiftArithmetic => log(width) * LEVEL / 2,
            }
        }
    }
}
