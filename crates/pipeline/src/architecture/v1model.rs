//! v1model, as bmv2's `simple_switch` does it.

use super::fields::{self, Field, FieldLists};
use super::{Drop, Egress, Job, Machine, Output, preserve};
use crate::context::Preserved;
use crate::engine::{Ended, Packet};
use crate::environment::{Environment, Unsupported};
use crate::table::Table;
use alloc::vec::Vec;
use core::ops::Range;
use p4::ir::SectionId;

/// Values of `instance_type`.
mod instance {
    pub(super) const NORMAL: u64 = 0;
    pub(super) const INGRESS_CLONE: u64 = 1;
    pub(super) const EGRESS_CLONE: u64 = 2;
    pub(super) const RECIRCULATED: u64 = 4;
    pub(super) const REPLICATED: u64 = 5;
    pub(super) const RESUBMITTED: u64 = 6;
}

/// v1model's blocks and its `standard_metadata`.
pub(super) struct V1Model {
    parser: SectionId,
    verify: Option<SectionId>,
    ingress: Option<SectionId>,
    egress: Option<SectionId>,
    compute: Option<SectionId>,
    deparser: SectionId,
    headers: Vec<Range<usize>>,
    metadata: Vec<Range<usize>>,
    lists: FieldLists,
    /// Where the parser leaves its error.
    error: Field,
    drop_port: u64,
    standard: Standard,
}

struct Standard {
    ingress_port: Field,
    egress_spec: Field,
    egress_port: Field,
    instance_type: Field,
    packet_length: Field,
    enq_timestamp: Field,
    ingress_global_timestamp: Field,
    egress_global_timestamp: Field,
    mcast_grp: Field,
    egress_rid: Field,
    checksum_error: Field,
    parser_error: Field,
}

impl V1Model {
    pub(super) fn new(environment: &Environment) -> Result<Self, Unsupported> {
        let program = &*environment.program;
        let section = |role| fields::section(program, role);
        let parser = section("p")?;
        let ingress = section("ig")?;
        let headers = fields::parameter(program, parser, 0)?;
        let metadata = fields::parameter(program, parser, 1)?;
        let standard = fields::parameter(program, parser, 2)?;
        let field = |name| Field::of(environment, standard, name);
        let mut reset = fields::ranges(environment, metadata);
        reset.extend(fields::ranges(environment, standard));
        Ok(V1Model {
            parser,
            verify: fields::unless_empty(program, section("vr")?),
            ingress: fields::unless_empty(program, ingress),
            egress: fields::unless_empty(program, section("eg")?),
            compute: fields::unless_empty(program, section("ck")?),
            deparser: section("dep")?,
            headers: fields::ranges(environment, headers),
            metadata: reset,
            lists: FieldLists::new(program),
            error: Field::at(environment, program.sections[parser.index()].error),
            drop_port: u64::from(environment.options.drop_port),
            standard: Standard {
                ingress_port: field("ingress_port"),
                egress_spec: field("egress_spec"),
                egress_port: field("egress_port"),
                instance_type: field("instance_type"),
                packet_length: field("packet_length"),
                enq_timestamp: field("enq_timestamp"),
                ingress_global_timestamp: field("ingress_global_timestamp"),
                egress_global_timestamp: field("egress_global_timestamp"),
                mcast_grp: field("mcast_grp"),
                egress_rid: field("egress_rid"),
                checksum_error: field("checksum_error"),
                parser_error: field("parser_error"),
            },
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
        let mut job = machine.job();
        job.packet.begin(bytes);
        job.port = port;
        job.length = bytes.len() as u32;
        job.kind = instance::NORMAL;
        loop {
            match job.egress {
                None => self.ingress(machine, tables, job, out),
                Some(egress) => self.egress(machine, tables, job, egress, out),
            }
            match machine.queue.pop_front() {
                Some(next) => job = next,
                None => return,
            }
        }
    }

    /// What each packet begins with: its port, length, time and kind. Everything else is as it is in the cells.
    fn begin(&self, machine: &mut Machine, job: &mut Job) {
        let now = machine.context.now;
        machine.context.begin(now, job.length);
        let cells = &mut job.cells;
        self.standard.ingress_port.set(cells, u64::from(job.port));
        self.standard
            .packet_length
            .set(cells, u64::from(job.length));
        self.standard.instance_type.set(cells, job.kind);
        self.standard
            .ingress_global_timestamp
            .set(cells, now.as_ns() / 1000);
    }

    fn parse(&self, machine: &mut Machine, tables: &[Table], job: &mut Job) -> Ended {
        let ended = machine.run(self.parser, job, tables);
        // A packet that the parser rejected goes on; the program may look at the error.
        let error = self.error.get(&job.cells);
        self.standard.parser_error.set(&mut job.cells, error);
        ended
    }

    fn ingress(&self, machine: &mut Machine, tables: &[Table], mut job: Job, out: &mut dyn Output) {
        self.begin(machine, &mut job);
        if self.parse(machine, tables, &mut job) == Ended::Stop {
            return machine.stopped(job, out);
        }
        if let Some(verify) = self.verify {
            if machine.run(verify, &mut job, tables) == Ended::Stop {
                return machine.stopped(job, out);
            }
            let error = u64::from(machine.context.effects.checksum_error);
            self.standard.checksum_error.set(&mut job.cells, error);
        }
        if let Some(ingress) = self.ingress
            && machine.run(ingress, &mut job, tables) == Ended::Stop
        {
            return machine.stopped(job, out);
        }
        let effects = core::mem::take(&mut machine.context.effects);
        job.truncate = match (job.truncate, effects.truncate) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        if let Some((session, preserved)) = &effects.clone {
            self.clone_ingress(machine, tables, &job, *session, preserved, out);
        }
        if let Some(preserved) = &effects.resubmit {
            let mut again = machine.job();
            preserve(
                preserved,
                &self.lists,
                &machine.context.environment,
                &job.cells,
                &mut again.cells,
            );
            again.packet.begin(&job.packet.bytes);
            again.port = job.port;
            again.length = job.length;
            again.kind = instance::RESUBMITTED;
            machine.enqueue(again, out);
            return machine.done(job);
        }
        let group = self.standard.mcast_grp.get(&job.cells);
        if group != 0 {
            job.kind = instance::REPLICATED;
            let copies = self.multicast(machine, &job, group as u32, out);
            if copies == 0 {
                out.drop(Drop::NoGroup);
            }
            return machine.done(job);
        }
        let port = self.standard.egress_spec.get(&job.cells);
        if port == self.drop_port {
            out.drop(Drop::Ingress);
            return machine.done(job);
        }
        job.kind = instance::NORMAL;
        let egress = Egress {
            port: port as u32,
            instance: 0,
        };
        job.egress = Some(egress);
        if machine.queue.is_empty() {
            self.egress(machine, tables, job, egress, out);
        } else {
            machine.enqueue(job, out);
        }
    }

    /// Copies of the packet as it came, parsed again, with the metadata that goes along.
    fn clone_ingress(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        job: &Job,
        session: u32,
        preserved: &Preserved,
        out: &mut dyn Output,
    ) {
        if !machine.context.groups().sessions.contains_key(&session) {
            return;
        }
        let mut copy = machine.job();
        copy.packet.begin(&job.packet.bytes);
        copy.port = job.port;
        copy.length = job.length;
        copy.kind = instance::INGRESS_CLONE;
        self.begin(machine, &mut copy);
        if self.parse(machine, tables, &mut copy) == Ended::Stop {
            return machine.stopped(copy, out);
        }
        let error = self.standard.parser_error.get(&copy.cells);
        for range in &self.metadata {
            copy.cells[range.clone()].fill(0);
        }
        self.begin(machine, &mut copy);
        self.standard.parser_error.set(&mut copy.cells, error);
        preserve(
            preserved,
            &self.lists,
            &machine.context.environment,
            &job.cells,
            &mut copy.cells,
        );
        self.standard
            .instance_type
            .set(&mut copy.cells, instance::INGRESS_CLONE);
        self.replicate(machine, &copy, session, out);
        machine.done(copy);
    }

    /// Copies of a packet by a clone session.
    fn replicate(&self, machine: &mut Machine, job: &Job, session: u32, out: &mut dyn Output) {
        let Some((session, replicas)) = machine.context.groups().clones(session) else {
            return;
        };
        let truncate = session.truncate;
        let replicas: Vec<_> = replicas.collect();
        for replica in replicas {
            let mut copy = copy_of(machine, job);
            copy.truncate = truncate;
            copy.egress = Some(Egress {
                port: replica.port,
                instance: replica.instance,
            });
            machine.enqueue(copy, out);
        }
    }

    fn multicast(
        &self,
        machine: &mut Machine,
        job: &Job,
        group: u32,
        out: &mut dyn Output,
    ) -> usize {
        let groups = machine.context.groups();
        let count = groups.multicast.get(&group).map_or(0, Vec::len);
        for index in 0..count {
            let Some(replica) = machine
                .context
                .groups()
                .multicast
                .get(&group)
                .and_then(|replicas| replicas.get(index))
                .copied()
            else {
                break;
            };
            let mut copy = copy_of(machine, job);
            copy.egress = Some(Egress {
                port: replica.port,
                instance: replica.instance,
            });
            machine.enqueue(copy, out);
        }
        count
    }

    fn egress(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        mut job: Job,
        egress: Egress,
        out: &mut dyn Output,
    ) {
        let now = machine.context.now.as_ns() / 1000;
        let truncated = job.truncate;
        machine.context.begin(machine.context.now, job.length);
        let standard = &self.standard;
        let cells = &mut job.cells;
        standard.egress_port.set(cells, u64::from(egress.port));
        standard.egress_rid.set(cells, u64::from(egress.instance));
        // Whatever it was in ingress, it does not mean drop here.
        standard.egress_spec.set(cells, 0);
        standard.packet_length.set(cells, u64::from(job.length));
        standard.instance_type.set(cells, job.kind);
        standard.enq_timestamp.set(cells, now);
        standard.egress_global_timestamp.set(cells, now);
        if let Some(section) = self.egress
            && machine.run(section, &mut job, tables) == Ended::Stop
        {
            return machine.stopped(job, out);
        }
        let effects = core::mem::take(&mut machine.context.effects);
        if let Some((session, preserved)) = &effects.clone
            && machine.context.groups().sessions.contains_key(session)
        {
            let mut copy = machine.job();
            for range in &self.headers {
                copy.cells[range.clone()].copy_from_slice(&job.cells[range.clone()]);
            }
            preserve(
                preserved,
                &self.lists,
                &machine.context.environment,
                &job.cells,
                &mut copy.cells,
            );
            copy_packet(&mut copy.packet, &job.packet);
            copy.port = job.port;
            copy.length = job.length;
            copy.kind = instance::EGRESS_CLONE;
            self.replicate(machine, &copy, *session, out);
            machine.done(copy);
        }
        if standard.egress_spec.get(&job.cells) == self.drop_port {
            out.drop(Drop::Egress);
            return machine.done(job);
        }
        job.truncate = match (truncated, effects.truncate) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        if let Some(compute) = self.compute
            && machine.run(compute, &mut job, tables) == Ended::Stop
        {
            return machine.stopped(job, out);
        }
        if machine.run(self.deparser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        job.packet.emit_payload();
        if let Some(preserved) = &effects.recirculate {
            let mut again = machine.job();
            preserve(
                preserved,
                &self.lists,
                &machine.context.environment,
                &job.cells,
                &mut again.cells,
            );
            let emitted = &job.packet.emitted;
            let length = job
                .truncate
                .map_or(emitted.len(), |most| emitted.len().min(most as usize));
            again.packet.begin(&emitted[..length]);
            again.port = job.port;
            again.length = length as u32;
            again.kind = instance::RECIRCULATED;
            machine.enqueue(again, out);
            return machine.done(job);
        }
        machine.send(&job, egress.port, out);
        machine.done(job);
    }
}

fn copy_packet(to: &mut Packet, from: &Packet) {
    to.begin(&from.bytes);
    to.position = from.position;
}

/// A copy of a packet with all its cells.
fn copy_of(machine: &mut Machine, job: &Job) -> Job {
    let mut copy = machine.job();
    copy.cells.copy_from_slice(&job.cells);
    copy_packet(&mut copy.packet, &job.packet);
    copy.port = job.port;
    copy.length = job.length;
    copy.kind = job.kind;
    copy.truncate = job.truncate;
    copy
}
