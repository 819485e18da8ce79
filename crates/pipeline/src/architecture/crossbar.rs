//! `Switch`: parser, ingress, a crossbar with a buffer for each port, egress and deparser; and `Bump`, the same without a crossbar, for what sits
//! in a wire. After P4FPGA's two runtimes.

use super::fields::{self, Field};
use super::{Cause, Drop, Egress, Job, Machine, Output};
use crate::engine::{Detours, End, Ended, Passed, Path, Source, Step};
use crate::environment::{Environment, Unsupported};
use crate::table::Table;
use alloc::vec::Vec;
use p4::ir::{Role, SectionId, SectionParameter};

/// The port that is none: where packets go of which the program says nothing.
const NO_PORT: u64 = 0xFFFF;

/// What both have.
struct Ends {
    parser: SectionId,
    deparser: SectionId,
    error: Field,
    drop: Field,
    length: Field,
    timestamp: Field,
    parser_error: Field,
}

impl Ends {
    /// With the parameter that has the metadata.
    fn new(environment: &Environment) -> Result<(Self, &SectionParameter), Unsupported> {
        let program = &*environment.program;
        let parser = fields::section(program, &Role::Parser)?;
        let standard = fields::parameter(program, parser, 2)?;
        let field = |name| Field::of(environment, standard, name);
        let ends = Ends {
            parser,
            deparser: fields::section(program, &Role::Deparser)?,
            error: Field::at(environment, program.sections[parser.index()].error),
            drop: field("drop"),
            length: field("length"),
            timestamp: field("timestamp"),
            parser_error: field("parser_error"),
        };
        Ok((ends, standard))
    }

    /// The steps up to the parser's end.
    fn begin(&self, steps: &mut Vec<Step>) {
        steps.extend(self.length.step(Source::Length));
        steps.extend(self.timestamp.step(Source::Nanoseconds));
        steps.push(Step::Run(self.parser));
        if let Some(error) = self.error.slot() {
            steps.extend(self.parser_error.step(Source::Slot(error)));
        }
    }

    /// Drops the packet if the program says so.
    fn drop(&self) -> Option<Step> {
        self.drop.slot().map(|slot| Step::DropIf(slot, 1))
    }

    /// Parses a packet that has just come in.
    fn parse(&self, machine: &mut Machine, tables: &[Table], job: &mut Job) -> Ended {
        let now = machine.context.now.as_ns();
        self.length.set(&mut job.cells, u64::from(job.length));
        self.timestamp.set(&mut job.cells, now);
        let ended = machine.run(self.parser, job, tables);
        self.parser_error.copy(&mut job.cells, self.error);
        ended
    }

    /// Lets a packet leave.
    fn send(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        mut job: Job,
        port: u32,
        out: &mut dyn Output,
    ) {
        if machine.run(self.deparser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        job.packet.emit_payload();
        machine.send(port, job.emitted(), out);
        machine.done(job);
    }
}

/// The blocks and the metadata of `Switch`.
pub(super) struct Switch {
    ends: Ends,
    ingress: SectionId,
    egress: Option<SectionId>,
    ingress_port: Field,
    egress_port: Field,
    multicast_group: Field,
    instance: Field,
    /// Which steps of the path are the one that drops packets for no port, and the first of egress.
    no_port: usize,
    middle: usize,
}

impl Switch {
    pub(super) fn new(
        environment: &Environment,
        machine: &mut Machine,
    ) -> Result<Self, Unsupported> {
        let program = &*environment.program;
        let (ends, standard) = Ends::new(environment)?;
        let field = |name| Field::of(environment, standard, name);
        let mut switch = Switch {
            ends,
            ingress: fields::section(program, &Role::Ingress)?,
            egress: fields::unless_empty(program, fields::section(program, &Role::Egress)?),
            ingress_port: field("ingress_port"),
            egress_port: field("egress_port"),
            multicast_group: field("multicast_group"),
            instance: field("instance"),
            no_port: 0,
            middle: 0,
        };
        let path = switch.path();
        machine.prepare(path.as_ref())?;
        Ok(switch)
    }

    /// What [`Self::ingress`] and [`Self::egress`] do with a packet that is sent by one port. None if the program never names a port.
    fn path(&mut self) -> Option<Path> {
        let port = self.egress_port.slot()?;
        let mut steps = Vec::new();
        steps.extend(self.ingress_port.step(Source::Port));
        steps.push(Step::Set(port, Source::Number(NO_PORT)));
        self.ends.begin(&mut steps);
        steps.push(Step::Run(self.ingress));
        steps.push(Step::LeaveIfAsked);
        steps.extend(self.ends.drop());
        steps.extend(self.multicast_group.slot().map(Step::LeaveIf));
        self.no_port = steps.len();
        steps.push(Step::DropIf(port, NO_PORT));
        self.middle = steps.len();
        steps.push(Step::Renew);
        steps.push(Step::Port(port));
        steps.extend(self.instance.step(Source::Number(0)));
        if let Some(egress) = self.egress {
            steps.push(Step::Run(egress));
            steps.push(Step::LeaveIfAsked);
            steps.extend(self.ends.drop());
        }
        steps.push(Step::Run(self.ends.deparser));
        steps.push(Step::Send);
        let detours = Detours {
            instance: self.instance.slot().into_iter().collect(),
            group: self.multicast_group.slot(),
            ..Detours::default()
        };
        Some(Path {
            steps,
            detours,
            ..Path::default()
        })
    }

    pub(super) fn process(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        port: u32,
        bytes: &[u8],
        out: &mut dyn Output,
    ) {
        let dropped = |step| match step {
            step if step == self.no_port => Drop::NoPort,
            step if step < self.middle => Drop::Ingress,
            _ => Drop::Egress,
        };
        if machine.pass_all(port, bytes, &mut |end| end.tell(out, dropped)) {
            return;
        }
        match machine.pass(port, bytes, tables) {
            Some(Passed::Sent(port)) => return out.send(port, machine.passed()),
            Some(Passed::Dropped(step)) => return out.drop(dropped(step)),
            Some(Passed::Stopped) => return out.drop(machine.reason()),
            Some(Passed::Left(step, leaves)) => {
                let job = machine.left(port, bytes, 0);
                if step < self.middle {
                    self.after_ingress(machine, tables, job, out);
                } else {
                    self.after_egress(machine, tables, job, leaves, out);
                }
            }
            None | Some(Passed::Beside) => {
                let job = machine.arrive(port, bytes, 0);
                self.ingress(machine, tables, job, out);
            }
        }
        while let Some(job) = machine.queue.pop_front() {
            if let Some(egress) = job.egress {
                self.egress(machine, tables, job, egress, out);
            }
        }
    }

    fn ingress(&self, machine: &mut Machine, tables: &[Table], mut job: Job, out: &mut dyn Output) {
        machine.begin(&job, Cause::Arrival);
        self.ingress_port.set(&mut job.cells, u64::from(job.port));
        self.egress_port.set(&mut job.cells, NO_PORT);
        if self.ends.parse(machine, tables, &mut job) == Ended::Stop
            || machine.run(self.ingress, &mut job, tables) == Ended::Stop
        {
            return machine.stopped(job, out);
        }
        self.after_ingress(machine, tables, job, out);
    }

    /// What becomes of a packet that ingress is done with.
    fn after_ingress(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        mut job: Job,
        out: &mut dyn Output,
    ) {
        job.truncate = machine.context.effects.truncate;
        if self.ends.drop.get(&job.cells) != 0 {
            return machine.drop(job, Drop::Ingress, out);
        }
        let group = self.multicast_group.get(&job.cells) as u32;
        if group != 0 {
            return machine.multicast(job, group, 0, out);
        }
        let port = self.egress_port.get(&job.cells);
        if port == NO_PORT || self.egress_port.slot().is_none() {
            return machine.drop(job, Drop::NoPort, out);
        }
        let egress = Egress {
            port: port as u32,
            instance: 0,
            class: 0,
        };
        self.egress(machine, tables, job, egress, out);
    }

    fn egress(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        mut job: Job,
        egress: Egress,
        out: &mut dyn Output,
    ) {
        machine.begin(&job, Cause::Egress(egress.port, egress.instance));
        self.egress_port.set(&mut job.cells, u64::from(egress.port));
        self.instance
            .set(&mut job.cells, u64::from(egress.instance));
        if let Some(section) = self.egress
            && machine.run(section, &mut job, tables) == Ended::Stop
        {
            return machine.stopped(job, out);
        }
        self.after_egress(machine, tables, job, egress.port, out);
    }

    /// What becomes of a packet for this port that egress is done with.
    fn after_egress(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        mut job: Job,
        port: u32,
        out: &mut dyn Output,
    ) {
        job.shorten(machine.context.effects.truncate);
        if self.ends.drop.get(&job.cells) != 0 {
            return machine.drop(job, Drop::Egress, out);
        }
        self.ends.send(machine, tables, job, port, out);
    }
}

/// The blocks and the metadata of `Bump`: in at one side of the wire, out at the other. Ports 0 and 1 are the sides of one wire, 2
/// and 3 those of another, and so on.
pub(super) struct Bump {
    ends: Ends,
    pipe: SectionId,
    side: Field,
}

impl Bump {
    pub(super) fn new(
        environment: &Environment,
        machine: &mut Machine,
    ) -> Result<Self, Unsupported> {
        let (ends, standard) = Ends::new(environment)?;
        let bump = Bump {
            ends,
            pipe: fields::section(&environment.program, &Role::Pipe)?,
            side: Field::of(environment, standard, "side"),
        };
        machine.prepare(Some(&bump.path()))?;
        Ok(bump)
    }

    /// What [`Self::process`] does with a packet that asks for nothing.
    fn path(&self) -> Path {
        let mut steps = Vec::new();
        steps.extend(self.side.step(Source::Port));
        self.ends.begin(&mut steps);
        steps.push(Step::Run(self.pipe));
        steps.push(Step::LeaveIfAsked);
        steps.extend(self.ends.drop());
        steps.push(Step::Run(self.ends.deparser));
        steps.push(Step::Send);
        Path {
            steps,
            ..Path::default()
        }
    }

    pub(super) fn process(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        port: u32,
        bytes: &[u8],
        out: &mut dyn Output,
    ) {
        let mut other = |end: End<'_>| {
            let end = match end {
                End::Sent(_, bytes) => End::Sent(port ^ 1, bytes),
                end => end,
            };
            end.tell(out, |_| Drop::Program);
        };
        if machine.pass_all(port, bytes, &mut other) {
            return;
        }
        let mut job = match machine.pass(port, bytes, tables) {
            Some(Passed::Sent(_)) => return out.send(port ^ 1, machine.passed()),
            Some(Passed::Dropped(_)) => return out.drop(Drop::Program),
            Some(Passed::Stopped) => return out.drop(machine.reason()),
            Some(Passed::Left(..)) => machine.left(port, bytes, 0),
            None | Some(Passed::Beside) => {
                let mut job = machine.arrive(port, bytes, 0);
                machine.begin(&job, Cause::Arrival);
                self.side.set(&mut job.cells, u64::from(port));
                if self.ends.parse(machine, tables, &mut job) == Ended::Stop
                    || machine.run(self.pipe, &mut job, tables) == Ended::Stop
                {
                    return machine.stopped(job, out);
                }
                job
            }
        };
        job.truncate = machine.context.effects.truncate;
        if self.ends.drop.get(&job.cells) != 0 {
            return machine.drop(job, Drop::Program, out);
        }
        self.ends.send(machine, tables, job, port ^ 1, out);
    }
}
