//! Architectures: which section runs when, and what becomes of a packet between them.
//!
//! A [`Pipeline`] is a program that runs: packets go in by a port, and come out by ports.

mod crossbar;
mod fields;
mod machine;
mod pna;
mod psa;
mod v1model;

pub use crate::cause::{Cause, Drop};
pub use machine::Config;

use machine::{Egress, Job, Machine, preserve};

use crate::context::{Stop, Waiting};
use crate::engine::{End, Engine, Passage, Path};
use crate::environment::{Environment, Unsupported};
use crate::interpreter::Interpreter;
use crate::table::Table;
use crate::trace::Trace;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use node::Time;
use p4::ir;

impl From<Stop> for Drop {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Assert => Drop::Assert,
            Stop::Assume => Drop::Assume,
            Stop::Steps => Drop::Steps,
        }
    }
}

impl End<'_> {
    /// Hands it on; the architecture knows what a drop at a step means.
    fn tell(self, out: &mut dyn Output, dropped: impl Fn(usize) -> Drop) {
        match self {
            End::Sent(port, bytes) => out.send(port, bytes),
            End::Dropped(step) => out.drop(dropped(step)),
            End::Stopped(stop) => out.drop(stop.into()),
            End::NoGroup => out.drop(Drop::NoGroup),
            End::Passes => out.drop(Drop::Passes),
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
    /// Time of the next search for expired entries.
    next_look: Time,
}

/// Minimum interval between two searches for expired entries; each visits all of them.
const EXPIRY_INTERVAL: Time = Time::from_ms(1);

enum Architecture {
    V1Model(Box<v1model::V1Model>),
    Psa(Box<psa::Psa>),
    Pna(Box<pna::Pna>),
    Switch(Box<crossbar::Switch>),
    Bump(Box<crossbar::Bump>),
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
        let mut machine = Machine::new(environment, engine, config);
        let program = &*environment.program;
        let package = &program.architecture;
        let sections = program.sections.iter();
        let blocks = sections.map(|section| section.role.parameter(package));
        let runs = p4::library::runs(package, blocks);
        let architecture = match package {
            ir::Architecture::Switch | ir::Architecture::Bump if !runs => {
                return Err(Unsupported::new(format!(
                    "the package `{package}` of this program is not the one of `{}.p4`: its blocks are others",
                    package.name().to_lowercase()
                )));
            }
            ir::Architecture::V1Switch => {
                let model = v1model::V1Model::new(environment, &mut machine)?;
                Architecture::V1Model(Box::new(model))
            }
            ir::Architecture::PsaSwitch => {
                let psa = psa::Psa::new(environment, &mut machine)?;
                Architecture::Psa(Box::new(psa))
            }
            ir::Architecture::Switch => {
                let switch = crossbar::Switch::new(environment, &mut machine)?;
                Architecture::Switch(Box::new(switch))
            }
            ir::Architecture::Bump => {
                let bump = crossbar::Bump::new(environment, &mut machine)?;
                Architecture::Bump(Box::new(bump))
            }
            ir::Architecture::PnaNic => {
                let pna = pna::Pna::new(environment, &mut machine)?;
                Architecture::Pna(Box::new(pna))
            }
            other @ ir::Architecture::Other(_) => {
                return Err(Unsupported::new(format!(
                    "no architecture with the package `{other}` is known here; V1Switch, PSA_Switch, PNA_NIC, Switch and Bump are"
                )));
            }
        };
        Ok(Pipeline {
            architecture,
            machine,
            next_look: Time::ZERO,
            environment: Arc::clone(environment),
        })
    }

    /// Tables, objects and groups, for whoever controls the pipeline.
    #[must_use]
    pub fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    /// What the architecture does with a packet that is sent by one port and asks for nothing, if it can say so.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.machine.wanted.as_ref()
    }

    /// Whether the program reads what waits at ports: v1model's `enq_qdepth`, `deq_qdepth` and `deq_timedelta`.
    #[must_use]
    pub fn reads_queues(&self) -> bool {
        matches!(&self.architecture, Architecture::V1Model(model) if model.reads_queues())
    }

    /// Tells what waits to leave by a port; egress sees it from now on.
    pub fn set_waiting(&mut self, port: u16, waiting: Waiting) {
        let all = &mut self.machine.context.waiting;
        if all.len() <= usize::from(port) {
            all.resize(usize::from(port) + 1, Waiting::default());
        }
        all[usize::from(port)] = waiting;
    }

    /// Runs a packet that came in by a port, with all its copies, to the end.
    pub fn process(&mut self, now: Time, port: u32, bytes: &[u8], out: &mut dyn Output) {
        self.process_all(now, [(port, bytes)], out);
    }

    /// Runs packets one after the other. Each of them sees a batch of changes of the tables as a whole or not at all.
    pub fn process_all<'a>(
        &mut self,
        now: Time,
        packets: impl IntoIterator<Item = (u32, &'a [u8])>,
        out: &mut dyn Output,
    ) {
        self.environment.tables.tick(now);
        self.expire(now);
        let tables = &self.environment.tables;
        let mut view = tables.view();
        self.machine.context.now = now;
        for (port, bytes) in packets {
            // No writer waits for longer than a packet takes.
            if view.is_old() {
                view = tables.view();
            }
            self.architecture
                .process(&mut self.machine, view.tables(), port, bytes, out);
            while self.machine.context.is_unsettled() {
                drop(view);
                let updates = &mut self.machine.context.updates;
                self.environment.carry_out(updates);
                self.machine.settle();
                view = tables.view();
                self.architecture
                    .resume(&mut self.machine, view.tables(), out);
            }
        }
    }

    /// Deletes entries whose time has passed, where the program says so; looks at most once a
    /// millisecond.
    fn expire(&mut self, now: Time) {
        let due = self.environment.tables.next_expiry();
        if due.is_some_and(|due| due <= now) && now >= self.next_look {
            self.environment.expire(now);
            self.next_look = now + EXPIRY_INTERVAL;
        }
    }

    /// Notes from now on what happens to packets; see [`Pipeline::take_trace`]. Meanwhile the interpreter runs them.
    ///
    /// # Errors
    /// When the interpreter does not know one of the program's externs.
    pub fn set_trace(&mut self, on: bool) -> Result<(), Unsupported> {
        if on && self.machine.interpreter.is_none() {
            self.machine.interpreter = Some(Interpreter::new(&self.environment)?);
        }
        self.machine.context.trace = on.then(Box::default);
        Ok(())
    }

    /// Performance counters of hardware since its reset, by name: see [`Engine::performance`].
    pub fn performance(&mut self) -> Vec<(Arc<str>, u64)> {
        self.machine.performance()
    }

    /// Passes packets in direct succession through hardware: see [`Engine::cycles`].
    pub fn cycles(&mut self, packets: &[(u16, &[u8])]) -> Option<Result<Vec<Passage>, String>> {
        self.machine.cycles(packets)
    }

    /// What happened since tracing began, or since this was last asked.
    pub fn take_trace(&mut self) -> Trace {
        match &mut self.machine.context.trace {
            Some(trace) => core::mem::take(trace),
            None => Trace::default(),
        }
    }
}

impl Architecture {
    fn process(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        port: u32,
        bytes: &[u8],
        out: &mut dyn Output,
    ) {
        machine.renew();
        match self {
            Architecture::V1Model(v1model) => v1model.process(machine, tables, port, bytes, out),
            Architecture::Psa(psa) => psa.process(machine, tables, port, bytes, out),
            Architecture::Pna(pna) => pna.process(machine, tables, port, bytes, out),
            Architecture::Switch(switch) => switch.process(machine, tables, port, bytes, out),
            Architecture::Bump(bump) => bump.process(machine, tables, port, bytes, out),
        }
    }

    /// Goes on with a packet that came in, after what it asked of the tables was done.
    fn resume(&self, machine: &mut Machine, tables: &[Table], out: &mut dyn Output) {
        if let Architecture::Pna(pna) = self {
            pna.resume(machine, tables, out);
        }
    }
}
