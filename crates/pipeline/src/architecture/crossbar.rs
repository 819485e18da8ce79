//! `Switch`: parser, ingress, a crossbar with a buffer for each port, egress and deparser; and `Bump`, the same without a crossbar, for what sits
//! in a wire. After P4FPGA's two runtimes.

use super::fields::{self, Field};
use super::{Cause, Drop, Egress, Job, Machine, Output};
use crate::engine::Ended;
use crate::environment::{Environment, Unsupported};
use crate::table::Table;
use p4::ir::SectionId;

/// The port that is none: where packets go of which the program says nothing.
const NO_PORT: u64 = 0xFFFF;

/// The blocks and the metadata of `Switch`.
pub(super) struct Switch {
    parser: SectionId,
    ingress: SectionId,
    egress: Option<SectionId>,
    deparser: SectionId,
    error: Field,
    ingress_port: Field,
    egress_port: Field,
    multicast_group: Field,
    instance: Field,
    drop: Field,
    length: Field,
    timestamp: Field,
    parser_error: Field,
}

impl Switch {
    pub(super) fn new(environment: &Environment) -> Result<Self, Unsupported> {
        let program = &*environment.program;
        let parser = fields::section(program, "p")?;
        let standard = fields::parameter(program, parser, 2)?;
        let field = |name| Field::of(environment, standard, name);
        Ok(Switch {
            parser,
            ingress: fields::section(program, "ig")?,
            egress: fields::unless_empty(program, fields::section(program, "eg")?),
            deparser: fields::section(program, "dep")?,
            error: Field::at(environment, program.sections[parser.index()].error),
            ingress_port: field("ingress_port"),
            egress_port: field("egress_port"),
            multicast_group: field("multicast_group"),
            instance: field("instance"),
            drop: field("drop"),
            length: field("length"),
            timestamp: field("timestamp"),
            parser_error: field("parser_error"),
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
        let job = machine.arrive(port, bytes, 0);
        self.ingress(machine, tables, job, out);
        while let Some(job) = machine.queue.pop_front() {
            if let Some(egress) = job.egress {
                self.egress(machine, tables, job, egress, out);
            }
        }
    }

    fn ingress(&self, machine: &mut Machine, tables: &[Table], mut job: Job, out: &mut dyn Output) {
        machine.begin(&job, Cause::Arrival);
        let now = machine.context.now.as_ns();
        let cells = &mut job.cells;
        self.ingress_port.set(cells, u64::from(job.port));
        self.egress_port.set(cells, NO_PORT);
        self.length.set(cells, u64::from(job.length));
        self.timestamp.set(cells, now);
        if machine.run(self.parser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        self.parser_error.copy(&mut job.cells, self.error);
        if machine.run(self.ingress, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        job.truncate = machine.context.effects.truncate;
        if self.drop.get(&job.cells) != 0 {
            return machine.drop(job, Drop::Ingress, out);
        }
        let group = self.multicast_group.get(&job.cells) as u32;
        if group != 0 {
            return machine.multicast(job, group, 0, out);
        }
        let port = self.egress_port.get(&job.cells);
        if port == NO_PORT {
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
        if let Some(section) = self.egress {
            if machine.run(section, &mut job, tables) == Ended::Stop {
                return machine.stopped(job, out);
            }
            job.shorten(machine.context.effects.truncate);
            if self.drop.get(&job.cells) != 0 {
                return machine.drop(job, Drop::Egress, out);
            }
        }
        if machine.run(self.deparser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        job.packet.emit_payload();
        machine.send(egress.port, job.emitted(), out);
        machine.done(job);
    }
}

/// The blocks and the metadata of `Bump`.
pub(super) struct Bump {
    parser: SectionId,
    pipe: SectionId,
    deparser: SectionId,
    error: Field,
    side: Field,
    drop: Field,
    length: Field,
    timestamp: Field,
    parser_error: Field,
}

impl Bump {
    pub(super) fn new(environment: &Environment) -> Result<Self, Unsupported> {
        let program = &*environment.program;
        let parser = fields::section(program, "p")?;
        let standard = fields::parameter(program, parser, 2)?;
        let field = |name| Field::of(environment, standard, name);
        Ok(Bump {
            parser,
            pipe: fields::section(program, "pipe")?,
            deparser: fields::section(program, "dep")?,
            error: Field::at(environment, program.sections[parser.index()].error),
            side: field("side"),
            drop: field("drop"),
            length: field("length"),
            timestamp: field("timestamp"),
            parser_error: field("parser_error"),
        })
    }

    /// In at one side of the wire, out at the other: ports 0 and 1, 2 and 3, and so on.
    pub(super) fn process(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        port: u32,
        bytes: &[u8],
        out: &mut dyn Output,
    ) {
        let mut job = machine.arrive(port, bytes, 0);
        machine.begin(&job, Cause::Arrival);
        let now = machine.context.now.as_ns();
        let cells = &mut job.cells;
        self.side.set(cells, u64::from(port));
        self.length.set(cells, u64::from(job.length));
        self.timestamp.set(cells, now);
        if machine.run(self.parser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        self.parser_error.copy(&mut job.cells, self.error);
        if machine.run(self.pipe, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        job.truncate = machine.context.effects.truncate;
        if self.drop.get(&job.cells) != 0 {
            return machine.drop(job, Drop::Program, out);
        }
        if machine.run(self.deparser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        job.packet.emit_payload();
        machine.send(port ^ 1, job.emitted(), out);
        machine.done(job);
    }
}
