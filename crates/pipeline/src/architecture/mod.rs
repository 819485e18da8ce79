//! Architectures: which section runs when, and what becomes of a packet between them.
//!
//! A [`Pipeline`] is a program that runs: packets go in by a port, and come out by ports.

mod fields;
mod v1model;

use crate::context::{Context, Preserved, Stop};
use crate::engine::{Ended, Engine, Packet};
use crate::environment::{Environment, Unsupported};
use crate::table::Table;
use crate::trace::Trace;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use node::Time;
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

/// Why a packet, or a copy of one, went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drop {
    /// The program said so in ingress.
    Ingress,
    /// The program said so in egress.
    Egress,
    /// The parser rejected it, where that means drop.
    Parser,
    /// Its multicast group has no ports.
    NoGroup,
    /// `assert(false)`
    Assert,
    /// `assume(false)`
    Assume,
    /// It went round in the parser or a loop for too long.
    Steps,
    /// It, or its copies, passed too often.
    Passes,
}

impl Drop {
    /// As a short noun phrase.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Drop::Ingress => "dropped in ingress",
            Drop::Egress => "dropped in egress",
            Drop::Parser => "rejected by the parser",
            Drop::NoGroup => "multicast group without ports",
            Drop::Assert => "assertion failed",
            Drop::Assume => "assumption failed",
            Drop::Steps => "too many steps",
            Drop::Passes => "too many passes",
        }
    }
}

impl fmt::Display for Drop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl From<Stop> for Drop {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Assert => Drop::Assert,
            Stop::Assume => Drop::Assume,
            Stop::Steps => Drop::Steps,
        }
    }
}

/// Where packets go that leave a pipeline.
pub trait Output {
    /// A packet leaves by a port.
    fn send(&mut self, port: u32, bytes: &[u8]);
    /// A packet, or a copy of one, is given up.
    fn drop(&mut self, reason: Drop);
}

/// What came out, kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Packets by port, in the order in which they left.
    pub packets: Vec<(u32, Vec<u8>)>,
    /// Why others did not.
    pub drops: Vec<Drop>,
}

impl Output for Collected {
    fn send(&mut self, port: u32, bytes: &[u8]) {
        self.packets.push((port, bytes.to_vec()));
    }
    fn drop(&mut self, reason: Drop) {
        self.drops.push(reason);
    }
}

/// A program that runs.
///
/// ```
/// # use pipeline::architecture::{Collected, Config, Pipeline};
/// # use pipeline::environment::{Environment, Options};
/// # use pipeline::interpreter::Interpreter;
/// # use std::sync::Arc;
/// # fn run(program: p4::ir::Program) -> Result<Collected, pipeline::environment::Unsupported> {
/// let environment = Arc::new(Environment::new(Arc::new(program), Options::default())?);
/// let engine = Box::new(Interpreter::new(&environment)?);
/// let mut pipeline = Pipeline::new(&environment, engine, &Config::default())?;
/// let mut out = Collected::default();
/// pipeline.process(node::Time::ZERO, 1, b"a packet", &mut out);
/// # Ok(out)
/// # }
/// ```
pub struct Pipeline {
    environment: Arc<Environment>,
    architecture: Architecture,
    machine: Machine,
}

enum Architecture {
    V1Model(v1model::V1Model),
}

impl Pipeline {
    /// A pipeline for the program of an environment.
    ///
    /// # Errors
    /// When nothing here runs the program's architecture.
    pub fn new(
        environment: &Arc<Environment>,
        engine: Box<dyn Engine>,
        config: &Config,
    ) -> Result<Self, Unsupported> {
        let architecture = match &*environment.program.architecture {
            "V1Switch" => Architecture::V1Model(v1model::V1Model::new(environment)?),
            other => {
                return Err(Unsupported::new(format!(
                    "no architecture with the package `{other}` is known here; V1Switch, PSA_Switch, Switch and Bump are"
                )));
            }
        };
        Ok(Pipeline {
            architecture,
            machine: Machine {
                engine,
                context: Context::new(Arc::clone(environment), config.seed),
                queue: VecDeque::new(),
                pool: Vec::new(),
                passes: 0,
                config: config.clone(),
            },
            environment: Arc::clone(environment),
        })
    }

    /// Tables, objects and groups, for whoever controls the pipeline.
    #[must_use]
    pub fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    /// Runs a packet that came in by a port, with all its copies, to the end.
    pub fn process(&mut self, now: Time, port: u32, bytes: &[u8], out: &mut dyn Output) {
        let view = self.environment.tables.view();
        let Pipeline {
            architecture,
            machine,
            ..
        } = self;
        machine.process(architecture, view.tables(), now, port, bytes, out);
    }

    /// Runs packets, which all see the tables as they are at one moment.
    pub fn process_all<'a>(
        &mut self,
        now: Time,
        packets: impl IntoIterator<Item = (u32, &'a [u8])>,
        out: &mut dyn Output,
    ) {
        let view = self.environment.tables.view();
        let Pipeline {
            architecture,
            machine,
            ..
        } = self;
        for (port, bytes) in packets {
            machine.process(architecture, view.tables(), now, port, bytes, out);
        }
    }

    /// Notes from now on what happens to packets; see [`Pipeline::take_trace`].
    pub fn set_trace(&mut self, on: bool) {
        self.machine.context.trace = on.then(Box::default);
    }

    /// What happened since tracing began, or since this was last asked.
    pub fn take_trace(&mut self) -> Trace {
        match &mut self.machine.context.trace {
            Some(trace) => core::mem::take(trace),
            None => Trace::default(),
        }
    }
}

/// A packet, or a copy of one, that is to pass.
#[derive(Default)]
struct Job {
    cells: Vec<u64>,
    packet: Packet,
    /// Egress, where not ingress.
    egress: Option<Egress>,
    /// By which port it came in, for ingress.
    port: u32,
    /// Its length when it came in.
    length: u32,
    /// v1model's `instance_type`, PSA's `packet_path`.
    kind: u64,
    /// No more than so many bytes leave.
    truncate: Option<u32>,
}

#[derive(Clone, Copy)]
struct Egress {
    port: u32,
    instance: u32,
}

/// What runs sections, with packets that wait.
struct Machine {
    engine: Box<dyn Engine>,
    context: Context,
    queue: VecDeque<Job>,
    pool: Vec<Job>,
    /// How many passes the packet that came in still has.
    passes: u32,
    config: Config,
}

impl Machine {
    fn process(
        &mut self,
        architecture: &mut Architecture,
        tables: &[Table],
        now: Time,
        port: u32,
        bytes: &[u8],
        out: &mut dyn Output,
    ) {
        self.passes = self.config.passes;
        self.context.now = now;
        match architecture {
            Architecture::V1Model(v1model) => v1model.process(self, tables, port, bytes, out),
        }
    }

    fn run(&mut self, section: SectionId, job: &mut Job, tables: &[Table]) -> Ended {
        self.engine.run(
            section,
            &mut job.cells,
            &mut job.packet,
            tables,
            &mut self.context,
        )
    }

    /// A job with room for its cells, all zero.
    fn job(&mut self) -> Job {
        let mut job = self.pool.pop().unwrap_or_default();
        job.cells.resize(self.context.environment.layout.cells(), 0);
        job.cells.fill(0);
        job.egress = None;
        job.truncate = None;
        job
    }

    fn done(&mut self, job: Job) {
        self.pool.push(job);
    }

    /// Lets a copy pass when its turn comes, if the packet may still make copies.
    fn enqueue(&mut self, job: Job, out: &mut dyn Output) {
        match self.passes.checked_sub(1) {
            Some(left) => {
                self.passes = left;
                self.queue.push_back(job);
            }
            None => {
                out.drop(Drop::Passes);
                self.done(job);
            }
        }
    }

    fn stopped(&mut self, job: Job, out: &mut dyn Output) {
        let reason = self.context.stop.map_or(Drop::Steps, Drop::from);
        out.drop(reason);
        self.done(job);
    }

    /// Sends what is emitted.
    fn send(&self, job: &Job, port: u32, out: &mut dyn Output) {
        let emitted = &job.packet.emitted;
        let length = job
            .truncate
            .map_or(emitted.len(), |most| emitted.len().min(most as usize));
        out.send(port, &emitted[..length]);
    }
}

/// Copies the values that go along from one packet's cells to another's.
fn preserve(
    preserved: &Preserved,
    lists: &fields::FieldLists,
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
