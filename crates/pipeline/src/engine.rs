//! What runs a section.

use crate::context::{Context, Stop};
use crate::environment::Unsupported;
use crate::table::Table;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use p4::ir::{SectionId, SlotId};
use p4::source::Span;

/// A packet on its way through the sections.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// The bytes that came in.
    pub bytes: Vec<u8>,
    /// How far the parser has read, in bits.
    pub position: u64,
    /// What the deparser has emitted; bits of the last byte that do not count are zero.
    pub emitted: Vec<u8>,
    /// How many bits are emitted.
    pub emitted_bits: u64,
}

impl Packet {
    /// Makes it a packet that has just come in.
    pub fn begin(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.restart();
    }

    /// Makes it a packet that has just come in with the bytes that it has.
    pub fn restart(&mut self) {
        self.position = 0;
        self.emitted.clear();
        self.emitted_bits = 0;
    }

    /// Appends what the parser has not read, the payload, to what is emitted.
    pub fn emit_payload(&mut self) {
        let bytes = core::mem::take(&mut self.bytes);
        self.emit_rest(&bytes);
        self.bytes = bytes;
    }

    /// The same with bytes that are somewhere else.
    #[inline]
    pub fn emit_rest(&mut self, bytes: &[u8]) {
        crate::bits::append_bytes(
            &mut self.emitted,
            &mut self.emitted_bits,
            bytes,
            self.position,
        );
    }
}

/// How a section ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its end; a parser accepted.
    Return,
    /// A parser rejected; the section's error slot has the reason.
    Reject,
    /// Halfway, and the packet is to be dropped: [`Context::stop`] has the reason.
    Stop,
}

/// The way of a packet that comes in, is sent by one port and asks for nothing else, which is what nearly all packets are: what an
/// architecture does with it, as data, so that an engine can make one piece of code of it.
///
/// It begins with all slots zero, the packet unread and nothing emitted. Whatever is not on the path leaves it
/// ([`Passed::Left`]) at a step where the architecture can take over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// In order. The last is [`Step::Send`].
    pub steps: Vec<Step>,
    /// Where packets come to that leave it, for engines that go there themselves.
    pub detours: Detours,
    /// The statement that reads how much waits at ports, if one does.
    pub reads_queues_at: Option<Span>,
}

impl Path {
    /// Whether there is a [`Step::Turn`] on it.
    #[must_use]
    pub fn turns(&self) -> bool {
        self.steps.contains(&Step::Turn)
    }

    /// The statement for which a step stands on the path, if it is there for one.
    #[must_use]
    pub fn statement_of(&self, step: &Step) -> Option<Span> {
        match step {
            Step::Set(_, Source::WaitingPackets(_) | Source::WaitingTime(_)) => {
                self.reads_queues_at
            }
            _ => None,
        }
    }
}

/// What an architecture does with copies, and with packets that begin anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detours {
    /// Slots that say how the packet came where it is. On the path they have the numbers that its steps set.
    pub kind: Vec<SlotId>,
    /// These numbers.
    pub kinds: Kinds,
    /// Slots with a copy's number in its group; 0 on the path.
    pub instance: Vec<SlotId>,
    /// The slot with the number of a packet's multicast group, if it is to go to one.
    pub group: Option<SlotId>,
    /// The slot with the class of service in egress, which clones have from their session.
    pub class: Option<SlotId>,
    /// What the program asks for by externs, or by slots.
    pub asked: Asked,
    /// Slots of PNA's program.
    pub nic: Option<Nic>,
}

/// Slots of PNA's program that depend on how a packet came to the main parser. On the path they have the numbers of a packet that arrives by a port
/// without a side; an engine that knows the sides ([`Engine::knows_sides`]) gives them others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nic {
    /// 0 to the host, 1 to the network.
    pub direction: Vec<SlotId>,
    /// Number of recirculations of the packet.
    pub pass: Vec<SlotId>,
    /// Whether it came back from the other side.
    pub looped: Vec<SlotId>,
    /// The class of service that it was given in the pass before.
    pub class: Option<SlotId>,
    /// The class of service that this pass gives it.
    pub class_given: Option<SlotId>,
    /// The port that it is sent to, and whether it is dropped.
    pub port: Option<SlotId>,
    /// Whether it is dropped.
    pub drop: Option<SlotId>,
    /// Whether it is to be recirculated.
    pub recirculate: Option<SlotId>,
    /// Of each mirror slot: whether there is a copy, and by which session.
    pub mirrors: Vec<(SlotId, SlotId)>,
}

/// Numbers in [`Detours::kind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    pub resubmitted: u64,
    pub recirculated: u64,
    pub ingress_clone: u64,
    pub egress_clone: u64,
    /// A copy for a multicast group.
    pub replicated: u64,
}

/// How a program asks for copies, and what goes along with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// It cannot but for multicast groups.
    #[default]
    Not,
    /// By externs, as in v1model.
    ByExterns {
        /// Slots by the numbers in their `@field_list`.
        lists: BTreeMap<u32, Vec<SlotId>>,
        /// What an ingress clone loses of what its parser has made of it.
        metadata: Vec<SlotId>,
        /// What an egress clone keeps.
        headers: Vec<SlotId>,
    },
    /// By slots, as in PSA. What goes along is given from slot to slot.
    BySlots {
        /// Whether ingress clones, and by which session.
        clone: (SlotId, SlotId),
        resubmit: SlotId,
        /// Whether egress clones, and by which session.
        egress_clone: (SlotId, SlotId),
        /// The port whose packets begin anew.
        recirculate: u64,
        cloned: Vec<(SlotId, SlotId)>,
        resubmitted: Vec<(SlotId, SlotId)>,
        egress_cloned: Vec<(SlotId, SlotId)>,
        recirculated: Vec<(SlotId, SlotId)>,
    },
}

/// A step of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A section. One that ends with [`Ended::Reject`] goes on; [`Ended::Stop`] ends the path.
    Run(SectionId),
    /// Puts a number into a slot of at most 64 bits, cut to its width.
    Set(SlotId, Source),
    /// Jumps backwards are counted anew from here: see [`STEPS`](crate::context::STEPS).
    Renew,
    /// Leaves the path if the program has asked for anything but [`Effects::checksum_error`](crate::context::Effects::checksum_error).
    LeaveIfAsked,
    /// Leaves the path if this slot is not zero.
    LeaveIf(SlotId),
    /// Leaves the path if this slot has this value.
    LeaveIfIs(SlotId, u64),
    /// Gives the first slot the value of the second, which has its type.
    Move(SlotId, SlotId),
    /// What is emitted and what the parser has not read become the packet, with its length, of which nothing is read or emitted yet. An engine that
    /// follows a path with such a step leaves it by [`Passed::Beside`] alone.
    Turn,
    /// The packet is dropped if this slot has this value.
    DropIf(SlotId, u64),
    /// From now on the packet is to leave by the port with this slot's number, in place of port 0.
    Port(SlotId),
    /// What is emitted and what the parser has not read leave.
    Send,
}

/// Where [`Step::Set`] takes a number from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Number(u64),
    /// A slot of at most 64 bits.
    Slot(SlotId),
    /// By which port the packet came in.
    Port,
    /// The packet's length in bytes.
    Length,
    /// The time in microseconds.
    Now,
    /// The time in nanoseconds.
    Nanoseconds,
    /// Whether the program found a checksum wrong.
    ChecksumError,
    /// How many packets wait to leave by the port in this slot.
    WaitingPackets(SlotId),
    /// How long what comes now waits there, in microseconds.
    WaitingTime(SlotId),
}

/// How a packet came to the end of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It leaves by this port, as [`Packet::emitted`] has it.
    Sent(u32),
    /// It is dropped at the step with this index.
    Dropped(usize),
    /// [`Ended::Stop`]: [`Context::stop`] has the reason.
    Stopped,
    /// The engine cannot do it, and has done nothing: the architecture runs the sections one by one.
    Beside,
    /// It left at the step with this index, when it was to leave by this port. All slots that
    /// more than one section or the architecture sees are in the cells; the effects are as the program
    /// made them, and [`Packet::position`] as the parser did.
    Left(usize, u32),
}

/// A packet's end in hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It left by a port.
    Sent(u16, Vec<u8>),
    /// It was dropped, for this reason of the hardware's.
    Dropped(u8),
}

/// A packet that passed hardware, and its times in cycles since the reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The packet's index, or that of the packet that it is a copy of.
    pub packet: usize,
    /// Its end.
    pub outcome: Outcome,
    /// The cycle in which its first word was taken.
    pub first_in: u64,
    /// The cycle in which its first word left, or in which it was dropped.
    pub first_out: u64,
    /// The cycle in which its last word left.
    pub last_out: u64,
}

/// What became of a packet, or of a copy of one, that an engine has let through all of the architecture by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<'a> {
    /// It leaves by this port.
    Sent(u32, &'a [u8]),
    /// It is dropped at the step of the path with this index.
    Dropped(usize),
    /// [`Ended::Stop`], for this reason.
    Stopped(Stop),
    /// It was to be copied for a multicast group without ports.
    NoGroup,
    /// It was to begin anew once too often.
    Passes,
}

/// Runs the sections of the program of one [`Environment`](crate::environment::Environment).
///
/// All engines keep the same [`Layout`](crate::layout::Layout) of cells, write to the same objects of the environment and leave the same
/// [`Effects`](crate::context::Effects), so that one can take over from another between sections.
pub trait Engine: Send {
    /// Runs a section on a packet's cells. A parser reads `packet.bytes` from `packet.position` on, a deparser appends to
    /// `packet.emitted`. The tables are those of the environment at one moment ([`View::tables`](crate::table::View::tables)).
    fn run(
        &mut self,
        section: SectionId,
        cells: &mut [u64],
        packet: &mut Packet,
        tables: &[Table],
        context: &mut Context,
    ) -> Ended;

    /// Gets ready before the first packet comes, and says whether [`Engine::pass`] follows this path. An engine need not; then the
    /// architecture runs its sections one by one.
    ///
    /// # Errors
    /// When the engine cannot run the program.
    fn prepare(&mut self, path: Option<&Path>) -> Result<bool, Unsupported> {
        let _ = path;
        Ok(false)
    }

    /// Lets a packet go along the path, if [`Engine::prepare`] said that it can. `cells` and `packet` are the caller's for the whole time
    /// that the engine is used, and have a meaning only where [`Passed`] says so. `context` has the time, the length and
    /// the steps.
    fn pass(
        &mut self,
        port: u32,
        bytes: &[u8],
        cells: &mut [u64],
        packet: &mut Packet,
        tables: &[Table],
        context: &mut Context,
    ) -> Passed {
        let _ = (port, bytes, cells, packet, tables, context);
        unreachable!("this engine follows no path")
    }

    /// Whether [`Engine::pass`] knows the sides of a NIC's ports and sets the slots of [`Nic`].
    fn knows_sides(&self) -> bool {
        false
    }

    /// Copies the engine's own changes of tables to the environment, after a packet for which it has called
    /// [`Context::settle_later`]. The caller holds no view of the tables.
    fn settle(&mut self, now: node::Time) {
        let _ = now;
    }

    /// Performance counters of hardware since its reset, by name; none unless the environment's options ask for them.
    fn performance(&mut self) -> Vec<(alloc::sync::Arc<str>, u64)> {
        Vec::new()
    }

    /// Passes packets, each with its port, in direct succession, as fast as hardware takes them, with the tables as they are. `None` without hardware.
    ///
    /// The result is an error when the hardware does not answer.
    fn cycles(
        &mut self,
        packets: &[(u16, &[u8])],
        context: &Context,
    ) -> Option<Result<Vec<Passage>, alloc::string::String>> {
        let _ = (packets, context);
        None
    }

    /// Whether, after [`Engine::prepare`], the engine makes the copies of multicast groups itself: then packets go by [`Engine::pass_all`].
    fn makes_copies(&self) -> bool {
        false
    }

    /// Lets a packet go along the path with all copies that multicast groups make of it, if [`Engine::makes_copies`], and tells of each what
    /// became of it. `context` is as for [`Engine::pass`].
    fn pass_all(
        &mut self,
        port: u32,
        bytes: &[u8],
        context: &mut Context,
        each: &mut dyn FnMut(End<'_>),
    ) {
        let _ = (port, bytes, context, each);
        unreachable!("this engine makes no copies")
    }
}
