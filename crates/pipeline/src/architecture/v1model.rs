//! v1model, as bmv2's `simple_switch` does it.

use super::fields::{self, Field, FieldLists};
use super::{Cause, Drop, Egress, Job, Machine, Output, preserve};
use crate::context::Preserved;
use crate::engine::{Asked, Detours, Ended, Kinds, Passed, Path, Source, Step};
use crate::environment::{Environment, Unsupported};
use crate::state::replication::Replica;
use crate::table::Table;
use alloc::vec::Vec;
use core::ops::Range;
use p4::ir::{Role, SectionId, SlotId};

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
    /// Which step of the path is the first behind ingress.
    middle: usize,
    /// The program reads what waits at ports.
    queues: bool,
    standard: Standard,
}

struct Standard {
    ingress_port: Field,
    egress_spec: Field,
    egress_port: Field,
    instance_type: Field,
    packet_length: Field,
    enq_timestamp: Field,
    enq_qdepth: Field,
    deq_qdepth: Field,
    deq_timedelta: Field,
    ingress_global_timestamp: Field,
    egress_global_timestamp: Field,
    mcast_grp: Field,
    egress_rid: Field,
    checksum_error: Field,
    parser_error: Field,
}

impl V1Model {
    pub(super) fn new(
        environment: &Environment,
        machine: &mut Machine,
    ) -> Result<Self, Unsupported> {
        let program = &*environment.program;
        let section = |role| fields::section(program, &role);
        let parser = section(Role::Parser)?;
        let ingress = section(Role::Ingress)?;
        let headers_of = fields::parameter(program, parser, 0)?;
        let metadata = fields::parameter(program, parser, 1)?;
        let standard_metadata = fields::parameter(program, parser, 2)?;
        let field = |name| Field::of(environment, standard_metadata, name);
        let mut reset = fields::ranges(environment, metadata);
        reset.extend(fields::ranges(environment, standard_metadata));
        let mut model = V1Model {
            parser,
            verify: fields::unless_empty(program, section(Role::VerifyChecksum)?),
            ingress: fields::unless_empty(program, ingress),
            egress: fields::unless_empty(program, section(Role::Egress)?),
            compute: fields::unless_empty(program, section(Role::ComputeChecksum)?),
            deparser: section(Role::Deparser)?,
            headers: fields::ranges(environment, headers_of),
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
                enq_qdepth: field("enq_qdepth"),
                deq_qdepth: field("deq_qdepth"),
                deq_timedelta: field("deq_timedelta"),
                ingress_global_timestamp: field("ingress_global_timestamp"),
                egress_global_timestamp: field("egress_global_timestamp"),
                mcast_grp: field("mcast_grp"),
                egress_rid: field("egress_rid"),
                checksum_error: field("checksum_error"),
                parser_error: field("parser_error"),
            },
            middle: 0,
            queues: false,
        };
        let standard = &model.standard;
        let told = [
            standard.enq_qdepth,
            standard.deq_qdepth,
            standard.deq_timedelta,
        ];
        let told: Vec<SlotId> = told.into_iter().filter_map(Field::slot).collect();
        let (queues, read_at) = fields::reads_any(program, &told);
        model.queues = queues;
        let (mut path, middle) = model.path();
        path.reads_queues_at = read_at;
        model.middle = middle;
        let mut lost = fields::slots(metadata);
        lost.extend(fields::slots(standard_metadata));
        lost.retain(|slot| Some(*slot) != model.standard.parser_error.slot());
        path.detours = model.detours(fields::slots(headers_of), lost);
        machine.prepare(Some(&path))?;
        Ok(model)
    }

    pub(super) fn reads_queues(&self) -> bool {
        self.queues
    }

    pub(super) fn process(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        port: u32,
        bytes: &[u8],
        out: &mut dyn Output,
    ) {
        let dropped = |step| match step < self.middle {
            true => Drop::Ingress,
            false => Drop::Egress,
        };
        if machine.pass_all(port, bytes, &mut |end| end.tell(out, dropped)) {
            return;
        }
        match machine.pass(port, bytes, tables) {
            Some(Passed::Sent(port)) => return out.send(port, machine.passed()),
            Some(Passed::Dropped(step)) => return out.drop(dropped(step)),
            Some(Passed::Stopped) => return out.drop(machine.reason()),
            Some(Passed::Left(step, leaves)) => {
                let job = machine.left(port, bytes, instance::NORMAL);
                if step < self.middle {
                    self.after_ingress(machine, tables, job, out);
                } else {
                    self.after_egress(machine, tables, job, leaves, out);
                }
            }
            None | Some(Passed::Beside) => {
                let job = machine.arrive(port, bytes, instance::NORMAL);
                self.ingress(machine, tables, job, out);
            }
        }
        while let Some(job) = machine.queue.pop_front() {
            match job.egress {
                None => self.ingress(machine, tables, job, out),
                Some(egress) => self.egress(machine, tables, job, egress, out),
            }
        }
    }

    /// What [`Self::ingress`] and [`Self::egress`] do with a packet that is sent by one port; and the first step of egress.
    fn path(&self) -> (Path, usize) {
        let mut steps = Vec::new();
        let standard = &self.standard;
        steps.extend(standard.ingress_port.step(Source::Port));
        steps.extend(standard.packet_length.step(Source::Length));
        steps.extend(standard.ingress_global_timestamp.step(Source::Now));
        steps.push(Step::Run(self.parser));
        if let Some(error) = self.error.slot() {
            steps.extend(standard.parser_error.step(Source::Slot(error)));
        }
        if let Some(verify) = self.verify {
            steps.push(Step::Run(verify));
            steps.extend(standard.checksum_error.step(Source::ChecksumError));
        }
        steps.extend(self.ingress.map(Step::Run));
        steps.push(Step::LeaveIfAsked);
        steps.extend(standard.mcast_grp.slot().map(Step::LeaveIf));
        let spec = standard.egress_spec.slot();
        let drop = spec.map(|slot| Step::DropIf(slot, self.drop_port));
        steps.extend(drop);
        let middle = steps.len();
        steps.push(Step::Renew);
        steps.extend(spec.map(Step::Port));
        let port = spec.map_or(Source::Number(0), Source::Slot);
        steps.extend(standard.egress_port.step(port));
        if let Some(spec) = spec.filter(|_| self.queues) {
            let packets = Source::WaitingPackets(spec);
            steps.extend(standard.enq_qdepth.step(packets));
            steps.extend(standard.deq_qdepth.step(packets));
            steps.extend(standard.deq_timedelta.step(Source::WaitingTime(spec)));
        }
        steps.extend(standard.egress_rid.step(Source::Number(0)));
        steps.extend(standard.egress_spec.step(Source::Number(0)));
        steps.extend(standard.packet_length.step(Source::Length));
        steps.extend(
            standard
                .instance_type
                .step(Source::Number(instance::NORMAL)),
        );
        steps.extend(standard.enq_timestamp.step(Source::Now));
        steps.extend(standard.egress_global_timestamp.step(Source::Now));
        steps.extend(self.egress.map(Step::Run));
        steps.push(Step::LeaveIfAsked);
        steps.extend(drop);
        steps.extend(self.compute.map(Step::Run));
        steps.push(Step::Run(self.deparser));
        steps.push(Step::Send);
        let detours = Detours::default();
        (
            Path {
                steps,
                detours,
                ..Path::default()
            },
            middle,
        )
    }

    /// What becomes of packets that leave the path; `metadata` is what an ingress clone loses.
    fn detours(&self, headers: Vec<SlotId>, metadata: Vec<SlotId>) -> Detours {
        let standard = &self.standard;
        Detours {
            kind: standard.instance_type.slot().into_iter().collect(),
            kinds: Kinds {
                resubmitted: instance::RESUBMITTED,
                recirculated: instance::RECIRCULATED,
                ingress_clone: instance::INGRESS_CLONE,
                egress_clone: instance::EGRESS_CLONE,
                replicated: instance::REPLICATED,
            },
            instance: standard.egress_rid.slot().into_iter().collect(),
            group: standard.mcast_grp.slot(),
            class: None,
            asked: Asked::ByExterns {
                lists: self.lists.all().clone(),
                metadata,
                headers,
            },
            nic: None,
        }
    }

    /// What each packet begins with: its port, length, time and kind. Everything else is as it is in the cells.
    fn begin(&self, job: &mut Job, now: u64) {
        let cells = &mut job.cells;
        self.standard.ingress_port.set(cells, u64::from(job.port));
        self.standard
            .packet_length
            .set(cells, u64::from(job.length));
        self.standard.instance_type.set(cells, job.kind);
        self.standard.ingress_global_timestamp.set(cells, now);
    }

    fn parse(&self, machine: &mut Machine, tables: &[Table], job: &mut Job) -> Ended {
        let ended = machine.run(self.parser, job, tables);
        // A packet that the parser rejected goes on; the program may look at the error.
        self.standard.parser_error.copy(&mut job.cells, self.error);
        ended
    }

    fn ingress(&self, machine: &mut Machine, tables: &[Table], mut job: Job, out: &mut dyn Output) {
        let cause = match job.kind {
            instance::RESUBMITTED => Cause::Resubmit,
            instance::RECIRCULATED => Cause::Recirculate,
            _ => Cause::Arrival,
        };
        let now = machine.begin(&job, cause);
        self.begin(&mut job, now);
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
        let effects = core::mem::take(&mut machine.context.effects);
        job.shorten(effects.truncate);
        if let Some((session, preserved)) = &effects.clone {
            self.clone_ingress(machine, tables, &job, *session, preserved, out);
        }
        if let Some(preserved) = &effects.resubmit {
            let mut again = machine.again(&job, job.port, instance::RESUBMITTED);
            self.preserve(machine, preserved, &job, &mut again);
            again.packet.begin(&job.packet.bytes);
            machine.enqueue(again, out);
            return machine.done(job);
        }
        let group = self.standard.mcast_grp.get(&job.cells) as u32;
        if group != 0 {
            job.kind = instance::REPLICATED;
            return machine.multicast(job, group, 0, out);
        }
        let port = self.standard.egress_spec.get(&job.cells);
        if port == self.drop_port {
            return machine.drop(job, Drop::Ingress, out);
        }
        // Resubmitted and recirculated packets are normal ones for egress.
        job.kind = instance::NORMAL;
        let egress = Egress {
            port: port as u32,
            instance: 0,
            class: 0,
        };
        job.egress = Some(egress);
        if machine.queue.is_empty() {
            self.egress(machine, tables, job, egress, out);
        } else {
            machine.enqueue(job, out);
        }
    }

    fn preserve(&self, machine: &Machine, preserved: &Preserved, from: &Job, to: &mut Job) {
        let environment = &machine.context.environment;
        preserve(
            preserved,
            &self.lists,
            environment,
            &from.cells,
            &mut to.cells,
        );
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
        let Some(count) = machine.clones(session) else {
            return;
        };
        let mut copy = machine.again(job, job.port, instance::INGRESS_CLONE);
        copy.packet.begin(&job.packet.bytes);
        let now = machine.begin(&copy, Cause::Arrival);
        self.begin(&mut copy, now);
        if self.parse(machine, tables, &mut copy) == Ended::Stop {
            return machine.stopped(copy, out);
        }
        let error = self.standard.parser_error.get(&copy.cells);
        for range in &self.metadata {
            copy.cells[range.clone()].fill(0);
        }
        self.begin(&mut copy, now);
        self.standard.parser_error.set(&mut copy.cells, error);
        self.preserve(machine, preserved, job, &mut copy);
        self.replicate(machine, &copy, session, count, out);
        machine.done(copy);
    }

    /// Copies of a packet by a clone session.
    fn replicate(
        &self,
        machine: &mut Machine,
        job: &Job,
        session: u32,
        count: usize,
        out: &mut dyn Output,
    ) {
        for index in 0..count {
            let Some((Replica { port, instance }, options)) = machine.clone_at(session, index)
            else {
                return;
            };
            let mut copy = machine.copy(job);
            copy.truncate = options.truncate;
            copy.egress = Some(Egress {
                port,
                instance,
                class: options.class_of_service,
            });
            machine.enqueue(copy, out);
        }
    }

    fn egress(
        &self,
        machine: &mut Machine,
        tables: &[Table],
        mut job: Job,
        egress: Egress,
        out: &mut dyn Output,
    ) {
        let now = machine.begin(&job, Cause::Egress(egress.port, egress.instance));
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
        if self.queues {
            let waiting = machine.context.waiting(u64::from(egress.port));
            let packets = u64::from(waiting.packets);
            standard.enq_qdepth.set(cells, packets);
            standard.deq_qdepth.set(cells, packets);
            standard.deq_timedelta.set(cells, u64::from(waiting.time));
        }
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
        let now = machine.now();
        let effects = core::mem::take(&mut machine.context.effects);
        if let Some((session, preserved)) = &effects.clone
            && let Some(count) = machine.clones(*session)
        {
            // Its headers are as egress left them, its metadata are new.
            let mut copy = machine.again(&job, job.port, instance::EGRESS_CLONE);
            for range in &self.headers {
                copy.cells[range.clone()].copy_from_slice(&job.cells[range.clone()]);
            }
            self.begin(&mut copy, now);
            self.preserve(machine, preserved, &job, &mut copy);
            copy.packet.begin(&job.packet.bytes);
            copy.packet.position = job.packet.position;
            self.replicate(machine, &copy, *session, count, out);
            machine.done(copy);
        }
        if self.standard.egress_spec.get(&job.cells) == self.drop_port {
            return machine.drop(job, Drop::Egress, out);
        }
        job.shorten(effects.truncate);
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
            let mut again = machine.again(&job, job.port, instance::RECIRCULATED);
            self.preserve(machine, preserved, &job, &mut again);
            again.packet.begin(job.emitted());
            again.length = again.packet.bytes.len() as u32;
            machine.enqueue(again, out);
            return machine.done(job);
        }
        machine.send(port, job.emitted(), out);
        machine.done(job);
    }
}
