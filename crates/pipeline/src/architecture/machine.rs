//! What all architectures share: packets that wait for their turn, copies, and the engine.

use super::fields::FieldLists;
use super::{Cause, Drop, Output};
use crate::context::{Context, Preserved};
use crate::engine::{End, Ended, Engine, Packet, Passage, Passed, Path};
use crate::environment::{Environment, Unsupported};
use crate::interpreter::Interpreter;
use crate::state::replication::{Replica, Session};
use crate::table::Table;
use crate::trace::Event;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use p4::ir::SectionId;

/// How a pipeline runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where random numbers begin.
    pub seed: u64,
    /// How often one packet that comes in, with all its copies, may pass through ingress or egress. What asks for more is dropped.
    pub passes: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            seed: 0,
            passes: 1024,
        }
    }
}

/// A packet, or a copy of one, that is to pass.
#[derive(Default)]
pub(super) struct Job {
    pub(super) cells: Vec<u64>,
    pub(super) packet: Packet,
    /// Egress, where not ingress.
    pub(super) egress: Option<Egress>,
    /// By which port it came in.
    pub(super) port: u32,
    /// Its length when it came in.
    pub(super) length: u32,
    /// v1model's `instance_type`, PSA's `packet_path`.
    pub(super) kind: u64,
    /// No more than so many bytes leave.
    pub(super) truncate: Option<u32>,
}

impl Job {
    /// Lets no more bytes leave than `most`, if there is such a limit.
    pub(super) fn shorten(&mut self, most: Option<u32>) {
        self.truncate = match (self.truncate, most) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
    }

    /// What is emitted, as far as it may leave.
    pub(super) fn emitted(&self) -> &[u8] {
        let emitted = &self.packet.emitted;
        let most = self
            .truncate
            .map_or(emitted.len(), |most| emitted.len().min(most as usize));
        &emitted[..most]
    }
}

#[derive(Clone, Copy)]
pub(super) struct Egress {
    pub(super) port: u32,
    pub(super) instance: u32,
    pub(super) class: u8,
}

/// What runs sections, with packets that wait.
pub(super) struct Machine {
    engine: Box<dyn Engine>,
    /// Runs packets that are traced.
    pub(super) interpreter: Option<Interpreter>,
    pub(super) context: Context,
    pub(super) queue: VecDeque<Job>,
    pool: Vec<Job>,
    /// How many passes the packet that came in still has.
    passes: u32,
    config: Config,
    /// What the architecture does with a packet that asks for nothing, if it can say so.
    pub(super) wanted: Option<Path>,
    /// Whether the engine follows it.
    path: bool,
    /// Whether the engine makes copies along it.
    copies: bool,
    /// The cells of packets on the path, and the packet.
    passing: (Vec<u64>, Packet),
}

impl Machine {
    pub(super) fn new(
        environment: &Arc<Environment>,
        engine: Box<dyn Engine>,
        config: &Config,
    ) -> Self {
        Machine {
            engine,
            interpreter: None,
            context: Context::new(Arc::clone(environment), config.seed),
            queue: VecDeque::new(),
            pool: Vec::new(),
            passes: 0,
            config: config.clone(),
            wanted: None,
            path: false,
            copies: false,
            passing: (environment.layout.fresh(), Packet::default()),
        }
    }

    /// Gets the engine ready, which may follow this path.
    pub(super) fn prepare(&mut self, path: Option<&Path>) -> Result<(), Unsupported> {
        self.path = self.engine.prepare(path)?;
        self.copies = self.path && self.engine.makes_copies();
        self.wanted = path.cloned();
        Ok(())
    }

    /// Lets a packet that comes in go along the path. `None` when the engine follows none, or when somebody wants to see it.
    #[inline]
    pub(super) fn pass(&mut self, port: u32, bytes: &[u8], tables: &[Table]) -> Option<Passed> {
        if !self.path || self.context.trace.is_some() {
            return None;
        }
        self.context.begin_path(bytes.len() as u32);
        let (cells, packet) = &mut self.passing;
        let context = &mut self.context;
        let engine = &mut self.engine;
        Some(engine.pass(port, bytes, cells, packet, tables, context))
    }

    /// Whether [`Self::pass`] takes packets while ports have sides.
    pub(super) fn knows_sides(&self) -> bool {
        self.path && self.engine.knows_sides()
    }

    /// The engine's performance counters.
    pub(super) fn performance(&mut self) -> Vec<(Arc<str>, u64)> {
        self.engine.performance()
    }

    /// The cycles of packets in hardware.
    pub(super) fn cycles(
        &mut self,
        packets: &[(u16, &[u8])],
    ) -> Option<Result<Vec<Passage>, String>> {
        self.engine.cycles(packets, &self.context)
    }

    /// Has the engine copy its own changes of tables to the environment.
    pub(super) fn settle(&mut self) {
        if core::mem::take(&mut self.context.settles) {
            self.engine.settle(self.context.now);
        }
    }

    /// Lets a packet that comes in go along the path with all its copies, if the engine makes them itself.
    #[inline]
    pub(super) fn pass_all(
        &mut self,
        port: u32,
        bytes: &[u8],
        each: &mut dyn FnMut(End<'_>),
    ) -> bool {
        if !self.copies || self.context.trace.is_some() {
            return false;
        }
        self.context.begin_path(bytes.len() as u32);
        self.engine.pass_all(port, bytes, &mut self.context, each);
        true
    }

    /// What left the path as [`Passed::Sent`].
    #[inline]
    pub(super) fn passed(&self) -> &[u8] {
        &self.passing.1.emitted
    }

    /// The packet that left the path as [`Passed::Left`].
    #[cold]
    pub(super) fn left(&mut self, port: u32, bytes: &[u8], kind: u64) -> Job {
        let mut job = self.arrive(port, bytes, kind);
        job.cells.copy_from_slice(&self.passing.0);
        job.packet.position = self.passing.1.position;
        job
    }

    /// Notes what happens, if somebody wants to know.
    #[inline]
    pub(super) fn note(&mut self, event: impl FnOnce() -> Event) {
        if let Some(trace) = &mut self.context.trace {
            trace.push(event());
        }
    }

    /// Before a packet comes in.
    pub(super) fn renew(&mut self) {
        self.passes = self.config.passes;
    }

    pub(super) fn run(&mut self, section: SectionId, job: &mut Job, tables: &[Table]) -> Ended {
        let (cells, packet, context) = (&mut job.cells, &mut job.packet, &mut self.context);
        match (&mut self.interpreter, &context.trace) {
            (Some(interpreter), Some(_)) => {
                interpreter.run(section, cells, packet, tables, context)
            }
            _ => self.engine.run(section, cells, packet, tables, context),
        }
    }

    /// A job with room for its cells, all zero.
    pub(super) fn job(&mut self) -> Job {
        let mut job = self.pool.pop().unwrap_or_default();
        job.cells.resize(self.context.environment.layout.cells(), 0);
        job.cells.fill(0);
        job.egress = None;
        job.truncate = None;
        job
    }

    /// A packet that has just come in.
    pub(super) fn arrive(&mut self, port: u32, bytes: &[u8], kind: u64) -> Job {
        let mut job = self.job();
        job.packet.begin(bytes);
        job.port = port;
        job.length = bytes.len() as u32;
        job.kind = kind;
        job
    }

    /// A job for a packet that was here before, with nothing of it yet but its length.
    pub(super) fn again(&mut self, job: &Job, port: u32, kind: u64) -> Job {
        let mut again = self.job();
        again.port = port;
        again.length = job.length;
        again.kind = kind;
        again
    }

    /// A copy with all its cells.
    pub(super) fn copy(&mut self, job: &Job) -> Job {
        let mut copy = self.again(job, job.port, job.kind);
        copy.cells.copy_from_slice(&job.cells);
        copy.packet.begin(&job.packet.bytes);
        copy.packet.position = job.packet.position;
        copy.truncate = job.truncate;
        copy
    }

    /// Begins a pass, and says when, in microseconds.
    #[inline]
    pub(super) fn begin(&mut self, job: &Job, cause: Cause) -> u64 {
        let now = self.context.now;
        self.context.begin(now, job.length);
        self.note(|| Event::Pass {
            cause,
            port: job.port,
            bytes: job.packet.bytes.clone(),
        });
        self.now()
    }

    /// The time in microseconds.
    pub(super) fn now(&self) -> u64 {
        self.context.now.as_ns() / 1000
    }

    /// Why an engine stopped.
    pub(super) fn reason(&self) -> Drop {
        self.context.stop.map_or(Drop::Steps, Drop::from)
    }

    /// The job's buffers are free.
    pub(super) fn done(&mut self, job: Job) {
        self.pool.push(job);
    }

    /// Lets a copy pass when its turn comes, if the packet may still make copies.
    pub(super) fn enqueue(&mut self, job: Job, out: &mut dyn Output) {
        match self.passes.checked_sub(1) {
            Some(left) => {
                self.passes = left;
                self.queue.push_back(job);
            }
            None => self.drop(job, Drop::Passes, out),
        }
    }

    /// Gives a packet up.
    pub(super) fn drop(&mut self, job: Job, reason: Drop, out: &mut dyn Output) {
        self.note(|| Event::Drop { reason });
        out.drop(reason);
        self.done(job);
    }

    /// Gives a packet up that an engine stopped.
    #[cold]
    pub(super) fn stopped(&mut self, job: Job, out: &mut dyn Output) {
        let reason = self.reason();
        self.drop(job, reason, out);
    }

    /// Lets a packet leave.
    #[inline]
    pub(super) fn send(&mut self, port: u32, bytes: &[u8], out: &mut dyn Output) {
        self.note(|| Event::Send {
            port,
            bytes: bytes.to_vec(),
        });
        out.send(port, bytes);
    }

    /// Copies a packet by a multicast group, and gives the original up.
    pub(super) fn multicast(&mut self, job: Job, group: u32, class: u8, out: &mut dyn Output) {
        let groups = self.context.groups();
        let count = groups.multicast.get(&group).map_or(0, Vec::len);
        self.note(|| Event::Multicast { group, count });
        if count == 0 {
            return self.drop(job, Drop::NoGroup, out);
        }
        for index in 0..count {
            let replicas = self.context.groups().multicast.get(&group);
            let Some(Replica { port, instance }) =
                replicas.and_then(|replicas| replicas.get(index)).copied()
            else {
                break;
            };
            let mut copy = self.copy(&job);
            copy.egress = Some(Egress {
                port,
                instance,
                class,
            });
            self.enqueue(copy, out);
        }
        self.done(job);
    }

    /// How many copies a clone session makes; none of a session that is not there.
    pub(super) fn clones(&mut self, session: u32) -> Option<usize> {
        let count = self
            .context
            .groups()
            .clones(session)
            .map(|(_, replicas)| replicas.count());
        self.note(|| Event::Clone { session, count });
        count
    }

    /// One of them.
    pub(super) fn clone_at(
        &mut self,
        session: u32,
        index: usize,
    ) -> Option<(Replica, CloneOptions)> {
        let (session, mut replicas) = self.context.groups().clones(session)?;
        let &Session {
            class_of_service,
            truncate,
            ..
        } = session;
        let options = CloneOptions {
            class_of_service,
            truncate,
        };
        Some((replicas.nth(index)?, options))
    }
}

/// What a clone session says of its copies.
#[derive(Clone, Copy)]
pub(super) struct CloneOptions {
    pub(super) class_of_service: u8,
    pub(super) truncate: Option<u32>,
}

/// Copies the values that go along from one packet's cells to another's.
pub(super) fn preserve(
    preserved: &Preserved,
    lists: &FieldLists,
    environment: &Environment,
    from: &[u64],
    to: &mut [u64],
) {
    let slots = match preserved {
        Preserved::Nothing => return,
        Preserved::List(list) => lists.slots(*list),
        Preserved::Slots(slots) => slots,
    };
    for slot in slots {
        let range = environment.layout.range(*slot);
        to[range.clone()].copy_from_slice(&from[range]);
    }
}
