//! What is known while a program is followed, and what comes of it.

use crate::Options;
use crate::anew::{Along, Anew};
use crate::graph::{Graph, Id};
use crate::map::{DigestMap, Source};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use p4::ir::{ObjectId, Program, Slot, SlotId, Ty};
use p4::source::Span;
use pipeline::engine::{Detours, Path};
use pipeline::environment::{Environment, Unsupported};
use pipeline::externs::registry::{Hardware, Timing};

/// Why a packet goes no further, by its code in the hardware: 0 for none, a step of the path by its index and 1, or one of these.
pub mod reason {
    /// `assert(false)`
    pub const ASSERT: u8 = 250;
    /// `assume(false)`
    pub const ASSUME: u8 = 251;
    /// More rounds of a loop, or deeper headers, than the hardware has.
    pub const STEPS: u8 = 252;
    /// Its multicast group has no ports.
    pub const NO_GROUP: u8 = 253;
    /// It resubmitted or recirculated too often.
    pub const PASSES: u8 = 249;
    /// The queue of packets that resubmit or recirculate is full.
    pub const QUEUE_FULL: u8 = 248;
    /// A clone for a session without ports: nothing is lost.
    pub const NOTHING: u8 = 247;
    /// An extern of the user did not respond after its fixed latency.
    pub const NO_RESPONSE: u8 = 246;
}

/// Content of the slots at a place in the program.
#[derive(Clone)]
pub(crate) struct State {
    /// By slot, then the lengths of varbits, then what [`Extra`] has.
    pub(crate) values: Vec<Id>,
    /// The parser is not before this bit.
    pub(crate) least: u64,
    /// The parser is not beyond this bit.
    pub(crate) most: u64,
}

/// What a packet has beside the program's slots, behind them in [`State::values`].
#[derive(Clone, Copy)]
pub(crate) struct Extra {
    /// How far the parser is, in bits; 16 bits.
    pub(crate) position: usize,
    pub(crate) checksum_error: usize,
    /// At most so many bytes leave; 32 bits.
    pub(crate) truncate: usize,
    /// The ones' complement sum of the payload, if anybody asks for it; 16 bits.
    pub(crate) payload: usize,
    /// `truncate` of sections that have ended; 32 bits.
    pub(crate) limit: usize,
    /// What the program has asked for: the number of the set of slots that goes along, or 0; 8 bits each.
    pub(crate) clone: usize,
    pub(crate) resubmit: usize,
    pub(crate) recirculate: usize,
    /// By which session it clones; 16 bits.
    pub(crate) session: usize,
    /// What the last direct meter said: green 0, yellow 1, red 2.
    pub(crate) colour: usize,
    /// The ones' complement sums of checksum objects, one behind the other; 16 bits each.
    pub(crate) sums: usize,
}

/// A packet's way on.
pub(crate) type Edge = (Id, State);

/// The packet behind a turn: what was emitted, and what the first parser left.
#[derive(Clone, Copy)]
pub(crate) struct Middle {
    /// What was emitted, the first bit at the left, zeros behind.
    pub(crate) front: Id,
    /// How many bits of it count, 16 bits.
    pub(crate) bits: Id,
    /// Where in the packet that came what was left begins, in bits, 16 bits.
    pub(crate) start: Id,
    /// That is at most.
    pub(crate) most: u64,
}

/// A part of what the deparser emits.
pub(crate) struct Emitted {
    pub(crate) when: Id,
    pub(crate) bits: Id,
    /// How many of them there are, where that depends: they are the first ones then.
    pub(crate) length: Option<Id>,
    pub(crate) span: Span,
}

/// A table where the program applies it, or a call of an extern in Verilog.
pub(crate) struct Lookup {
    pub(crate) asked: Target,
    /// One for each key that is compared; of an extern whether the packet calls it, and the inputs.
    pub(crate) keys: Vec<Id>,
    pub(crate) result: Id,
    /// Whether the program applies it to the packet, for tables of the program.
    pub(crate) when: Option<Id>,
    /// So many cycles from the keys to the result.
    pub(crate) latency: u32,
    /// Whether it is behind the replication engine.
    pub(crate) second: bool,
}

/// The table or the extern of a lookup.
#[derive(Clone)]
pub(crate) enum Target {
    Table(Source),
    Extern(Arc<Hardware>),
}

impl Lookup {
    /// Whether packets wait for its result in a queue.
    pub(crate) fn waits(&self) -> bool {
        matches!(&self.asked, Target::Extern(hardware) if matches!(hardware.timing, Timing::Asynchronous { .. }))
    }

    pub(crate) fn table(&self) -> Option<Source> {
        match self.asked {
            Target::Table(source) => Some(source),
            Target::Extern(_) => None,
        }
    }
}

/// The entry that an action runs for.
#[derive(Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) found: Id,
    pub(crate) entry: Id,
}

pub(crate) struct Walk<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) program: &'a Program,
    pub(crate) options: &'a Options<'a>,
    pub(crate) graph: Graph,
    pub(crate) lengths: BTreeMap<SlotId, usize>,
    pub(crate) extra: Extra,
    pub(crate) lookups: Vec<Lookup>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) emitted: Vec<Emitted>,
    pub(crate) hit: Option<Hit>,
    /// Behind the replication engine: what it was told.
    pub(crate) split: Option<Split>,
    pub(crate) detours: &'a Detours,
    /// Data carried along with resubmitted and recirculated packets.
    pub(crate) along: Along,
    pub(crate) found: Along,
    /// Sets of slots that go along, by number less 1.
    pub(crate) sets: Vec<Vec<SlotId>>,
    /// How many nodes there were when the first parser was done.
    pub(crate) parser: usize,
    /// What the packet is behind a turn.
    pub(crate) middle: Option<Middle>,
    /// Behind [`Step::Renew`](pipeline::engine::Step::Renew): in egress.
    pub(crate) egress: bool,
    /// How many random numbers are drawn.
    pub(crate) random: u32,
    /// The class of service of clones.
    pub(crate) class: Option<Id>,
    /// Messages to the controller: their places among the accesses follow those of objects.
    pub(crate) digests: Vec<DigestMap>,
    /// Where a parser's errors go.
    pub(crate) error: Option<SlotId>,
    /// Conditions and codes of packets that go no further.
    pub(crate) ends: Vec<(Id, u8)>,
    /// The packet's bits that somebody may look at.
    pub(crate) window: u64,
    pub(crate) warnings: Vec<String>,
    pub(crate) span: Option<Span>,
}

/// What becomes of a packet.
pub(crate) struct Verdict {
    /// Of 16 bits.
    pub(crate) port: Id,
    /// 0 where it is sent.
    pub(crate) reason: Id,
    /// How far the parser came, in bits; 16 bits.
    pub(crate) position: Id,
    /// At most so many bytes leave, 32 bits.
    pub(crate) truncate: Id,
    /// The packet that resubmits or recirculates, if the program may ask for it.
    pub(crate) anew: Option<Anew>,
}

/// A read or a write of an object by a packet.
pub(crate) struct Access {
    pub(crate) object: ObjectId,
    pub(crate) when: Id,
    pub(crate) index: Id,
    /// What is written; a read has none.
    pub(crate) data: Option<Id>,
    /// What is read.
    pub(crate) result: Option<Id>,
    pub(crate) span: Option<Span>,
    /// Whether it is behind the replication engine.
    pub(crate) second: bool,
}

/// What the replication engine is told of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Split {
    /// Whether it goes to a group.
    pub(crate) group: Id,
    /// The group's first place, 8 bits.
    pub(crate) start: Id,
    /// How many places the group has, 8 bits.
    pub(crate) count: Id,
    /// The first place of a clone session, and how many it has; 8 bits.
    pub(crate) clone_start: Id,
    pub(crate) clone_count: Id,
    /// There is nothing but the clones.
    pub(crate) only: Id,
}

impl Split {
    pub(crate) fn fields(self) -> [Id; 6] {
        [
            self.group,
            self.start,
            self.count,
            self.clone_start,
            self.clone_count,
            self.only,
        ]
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        environment: &'a Environment,
        path: &'a Path,
        options: &'a Options<'a>,
        along: Along,
    ) -> Self {
        let program = &*environment.program;
        let mut next = program.slots.len();
        let mut lengths = BTreeMap::new();
        for (index, slot) in program.slots.iter().enumerate() {
            if let Ty::Varbit(_) = slot.ty {
                lengths.insert(SlotId(index as u32), next);
                next += 1;
            }
        }
        let mut graph = Graph::default();
        graph.apart = !options.optimise.shared;
        Walk {
            environment,
            program,
            options,
            graph,
            lengths,
            extra: Extra {
                position: next,
                checksum_error: next + 1,
                truncate: next + 2,
                payload: next + 3,
                limit: next + 4,
                clone: next + 5,
                resubmit: next + 6,
                recirculate: next + 7,
                session: next + 8,
                colour: next + 9,
                sums: next + 10,
            },
            lookups: Vec::new(),
            accesses: Vec::new(),
            emitted: Vec::new(),
            hit: None,
            split: None,
            detours: &path.detours,
            found: along.clone(),
            along,
            sets: Vec::new(),
            parser: 0,
            middle: None,
            egress: false,
            random: 0,
            class: None,
            digests: Vec::new(),
            error: None,
            ends: Vec::new(),
            window: 0,
            warnings: Vec::new(),
            span: None,
        }
    }

    /// Why the program cannot be hardware, at the statement that is worked on.
    pub(crate) fn cannot<T>(&self, message: impl Into<String>) -> Result<T, Unsupported> {
        Err(Unsupported {
            message: message.into(),
            span: self.span,
        })
    }

    pub(crate) fn slot(&self, slot: SlotId) -> &'a Slot {
        &self.program.slots[slot.index()]
    }
}
