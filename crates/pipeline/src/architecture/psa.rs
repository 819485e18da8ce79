//! The Portable Switch Architecture, version 1.2, section 6.

use super::fields::{self, Field, Transfer};
use super::{Cause, Drop, Egress, Job, Machine, Output};
use crate::engine::{Asked, Detours, Ended, Kinds, Passed, Path, Source, Step};
use crate::environment::{Environment, Unsupported};
use crate::externs::PSA_PORT_RECIRCULATE;
use crate::state::replication::Replica;
use crate::table::Table;
use alloc::vec::Vec;
use p4::ir::{Role, SectionId, SlotId};

/// Values of `PSA_PacketPath_t`.
mod path {
    pub(super) const NORMAL: u64 = 0;
    pub(super) const NORMAL_UNICAST: u64 = 1;
    pub(super) const NORMAL_MULTICAST: u64 = 2;
    pub(super) const CLONE_I2E: u64 = 3;
    pub(super) const CLONE_E2E: u64 = 4;
    pub(super) const RESUBMIT: u64 = 5;
    pub(super) const RECIRCULATE: u64 = 6;
}

/// PSA's blocks, their metadata, and what goes from one to the other.
pub(super) struct Psa {
    ingress_parser: SectionId,
    ingress: SectionId,
    ingress_deparser: SectionId,
    egress_parser: SectionId,
    egress: SectionId,
    egress_deparser: SectionId,
    ingress_error: Field,
    egress_error: Field,
    // psa_ingress_parser_input_metadata_t
    parser_ingress_port: Field,
    parser_packet_path: Field,
    // psa_ingress_input_metadata_t
    ingress_port: Field,
    ingress_path: Field,
    ingress_timestamp: Field,
    ingress_parser_error: Field,
    // psa_ingress_output_metadata_t
    class_of_service: Field,
    clone: Field,
    clone_session_id: Field,
    drop: Field,
    resubmit: Field,
    multicast_group: Field,
    egress_port: Field,
    // psa_egress_parser_input_metadata_t
    parser_egress_port: Field,
    egress_parser_path: Field,
    // psa_egress_input_metadata_t
    egress_class: Field,
    egress_input_port: Field,
    egress_path: Field,
    egress_instance: Field,
    egress_timestamp: Field,
    egress_parser_error: Field,
    // psa_egress_output_metadata_t
    egress_clone: Field,
    egress_clone_session_id: Field,
    egress_drop: Field,
    // psa_egress_deparser_input_metadata_t
    deparser_egress_port: Field,
    ingress_moves: [Transfer; 2],
    ingress_deparser_moves: [Transfer; 3],
    egress_moves: [Transfer; 2],
    egress_deparser_moves: [Transfer; 3],
    normal_meta: Transfer,
    clone_i2e_meta: Transfer,
    clone_e2e_meta: Transfer,
    resubmit_meta: Transfer,
    recirculate_meta: Transfer,
    /// Which step of the path is the first behind ingress.
    middle: usize,
}

impl Psa {
    pub(super) fn new(
        environment: &Environment,
        machine: &mut Machine,
    ) -> Result<Self, Unsupported> {
        let program = &*environment.program;
        let section = |role| fields::section(program, &role);
        let ip = section(Role::IngressParser)?;
        let ig = section(Role::Ingress)?;
        let id = section(Role::IngressDeparser)?;
        let ep = section(Role::EgressParser)?;
        let eg = section(Role::Egress)?;
        let ed = section(Role::EgressDeparser)?;
        let field = |section, index, name| -> Result<Field, Unsupported> {
            let parameter = fields::parameter(program, section, index)?;
            Ok(Field::of(environment, parameter, name))
        };
        let transfer = |from, to| Transfer::new(environment, from, to);
        let error = |id: SectionId| Field::at(environment, program.sections[id.index()].error);
        let mut psa = Psa {
            ingress_parser: ip,
            ingress: ig,
            ingress_deparser: id,
            egress_parser: ep,
            egress: eg,
            egress_deparser: ed,
            ingress_error: error(ip),
            egress_error: error(ep),
            parser_ingress_port: field(ip, 2, "ingress_port")?,
            parser_packet_path: field(ip, 2, "packet_path")?,
            ingress_port: field(ig, 2, "ingress_port")?,
            ingress_path: field(ig, 2, "packet_path")?,
            ingress_timestamp: field(ig, 2, "ingress_timestamp")?,
            ingress_parser_error: field(ig, 2, "parser_error")?,
            class_of_service: field(ig, 3, "class_of_service")?,
            clone: field(ig, 3, "clone")?,
            clone_session_id: field(ig, 3, "clone_session_id")?,
            drop: field(ig, 3, "drop")?,
            resubmit: field(ig, 3, "resubmit")?,
            multicast_group: field(ig, 3, "multicast_group")?,
            egress_port: field(ig, 3, "egress_port")?,
            parser_egress_port: field(ep, 2, "egress_port")?,
            egress_parser_path: field(ep, 2, "packet_path")?,
            egress_class: field(eg, 2, "class_of_service")?,
            egress_input_port: field(eg, 2, "egress_port")?,
            egress_path: field(eg, 2, "packet_path")?,
            egress_instance: field(eg, 2, "instance")?,
            egress_timestamp: field(eg, 2, "egress_timestamp")?,
            egress_parser_error: field(eg, 2, "parser_error")?,
            egress_clone: field(eg, 3, "clone")?,
            egress_clone_session_id: field(eg, 3, "clone_session_id")?,
            egress_drop: field(eg, 3, "drop")?,
            deparser_egress_port: field(ed, 5, "egress_port")?,
            ingress_moves: [transfer((ip, 0), (ig, 0))?, transfer((ip, 1), (ig, 1))?],
            ingress_deparser_moves: [
                transfer((ig, 0), (id, 3))?,
                transfer((ig, 1), (id, 4))?,
                transfer((ig, 3), (id, 5))?,
            ],
            egress_moves: [transfer((ep, 0), (eg, 0))?, transfer((ep, 1), (eg, 1))?],
            egress_deparser_moves: [
                transfer((eg, 0), (ed, 2))?,
                transfer((eg, 1), (ed, 3))?,
                transfer((eg, 3), (ed, 4))?,
            ],
            normal_meta: transfer((id, 2), (ep, 3))?,
            clone_i2e_meta: transfer((id, 0), (ep, 4))?,
            clone_e2e_meta: transfer((ed, 0), (ep, 5))?,
            resubmit_meta: transfer((id, 1), (ip, 3))?,
            recirculate_meta: transfer((ed, 1), (ip, 4))?,
            middle: 0,
        };
        let path = psa.path();
        machine.prepare(path.as_ref())?;
        Ok(psa)
    }

    /// What [`Self::ingress`] and [`Self::egress`] do with a packet that is sent by one port. None if the program never names a port, or
    /// if its metadata lack what leads off the path.
    fn path(&mut self) -> Option<Path> {
        let mut steps: Vec<Step> = Vec::new();
        let port = self.egress_port.slot()?;
        let (clone, session) = (self.clone.slot()?, self.clone_session_id.slot()?);
        let (resubmit, group) = (self.resubmit.slot()?, self.multicast_group.slot()?);
        let egress_clone = self.egress_clone.slot()?;
        let egress_session = self.egress_clone_session_id.slot()?;
        let (drop, egress_drop) = (self.drop.slot()?, self.egress_drop.slot()?);
        let set = |field: Field, source| field.step(source);
        let error =
            |field: Field, from: Field| Some(Step::Set(field.slot()?, Source::Slot(from.slot()?)));
        steps.extend(set(self.parser_ingress_port, Source::Port));
        steps.extend(set(self.parser_packet_path, Source::Number(path::NORMAL)));
        steps.push(Step::Run(self.ingress_parser));
        steps.extend(self.ingress_moves.iter().flat_map(Transfer::steps));
        steps.extend(set(self.ingress_port, Source::Port));
        steps.extend(set(self.ingress_path, Source::Number(path::NORMAL)));
        steps.extend(set(self.ingress_timestamp, Source::Now));
        steps.extend(error(self.ingress_parser_error, self.ingress_error));
        steps.extend(set(self.class_of_service, Source::Number(0)));
        for (slot, value) in [(clone, 0), (drop, 1), (resubmit, 0), (group, 0)] {
            steps.push(Step::Set(slot, Source::Number(value)));
        }
        steps.push(Step::Run(self.ingress));
        steps.push(Step::LeaveIf(clone));
        steps.push(Step::DropIf(drop, 1));
        steps.extend(self.ingress_deparser_moves.iter().flat_map(Transfer::steps));
        steps.push(Step::Run(self.ingress_deparser));
        steps.push(Step::LeaveIf(resubmit));
        steps.push(Step::Turn);
        steps.extend(self.normal_meta.steps());
        steps.push(Step::LeaveIf(group));
        self.middle = steps.len();
        steps.push(Step::Renew);
        steps.push(Step::Port(port));
        let kind = Source::Number(path::NORMAL_UNICAST);
        steps.extend(set(self.parser_egress_port, Source::Slot(port)));
        steps.extend(set(self.egress_parser_path, kind));
        steps.push(Step::Run(self.egress_parser));
        steps.extend(self.egress_moves.iter().flat_map(Transfer::steps));
        steps.extend(
            self.class_of_service
                .slot()
                .and_then(|class| set(self.egress_class, Source::Slot(class))),
        );
        steps.extend(set(self.egress_input_port, Source::Slot(port)));
        steps.extend(set(self.egress_path, kind));
        steps.extend(set(self.egress_instance, Source::Number(0)));
        steps.extend(set(self.egress_timestamp, Source::Now));
        steps.extend(error(self.egress_parser_error, self.egress_error));
        steps.push(Step::Set(egress_clone, Source::Number(0)));
        steps.push(Step::Set(egress_drop, Source::Number(0)));
        steps.push(Step::Run(self.egress));
        steps.push(Step::LeaveIf(egress_clone));
        steps.push(Step::DropIf(egress_drop, 1));
        steps.extend(self.egress_deparser_moves.iter().flat_map(Transfer::steps));
        steps.extend(set(self.deparser_egress_port, Source::Slot(port)));
        steps.push(Step::Run(self.egress_deparser));
        steps.push(Step::LeaveIfIs(port, u64::from(PSA_PORT_RECIRCULATE)));
        steps.push(Step::Send);
        let slots = |fields: &[Field]| {
            fields
                .iter()
                .filter_map(|field| field.slot())
                .collect::<Vec<SlotId>>()
        };
        let moves = |transfer: &Transfer| transfer.slots.clone();
        let detours = Detours {
            kind: slots(&[
                self.parser_packet_path,
                self.ingress_path,
                self.egress_parser_path,
                self.egress_path,
            ]),
            kinds: Kinds {
                resubmitted: path::RESUBMIT,
                recirculated: path::RECIRCULATE,
                ingress_clone: path::CLONE_I2E,
                egress_clone: path::CLONE_E2E,
                replicated: path::NORMAL_MULTICAST,
            },
            instance: slots(&[self.egress_instance]),
            group: Some(group),
            class: self.egress_class.slot(),
            nic: None,
            asked: Asked::BySlots {
                clone: (clone, session),
                resubmit,
                egress_clone: (egress_clone, egress_session),
                recirculate: u64::from(PSA_PORT_RECIRCULATE),
                cloned: moves(&self.clone_i2e_meta),
                resubmitted: moves(&self.resubmit_meta),
                egress_cloned: moves(&self.clone_e2e_meta),
                recirculated: moves(&self.recirculate_meta),
            },
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
            // Behind a turn nobody leaves halfway: see `Step::Turn`.
            Some(Passed::Left(..) | Passed::Beside) | None => {}
        }
        let mut job = machine.arrive(port, bytes, path::NORMAL);
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

    fn ingress(&self, machine: &mut Machine, tables: &[Table], mut job: Job, out: &mut dyn Output) {
        let now = machine.begin(
            &job,
            if job.kind == path::RESUBMIT {
                Cause::Resubmit
            } else if job.kind == path::RECIRCULATE {
                Cause::Recirculate
            } else {
                Cause::Arrival
            },
        );
        let cells = &mut job.cells;
        self.parser_ingress_port.set(cells, u64::from(job.port));
        self.parser_packet_path.set(cells, job.kind);
        if machine.run(self.ingress_parser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        let cells = &mut job.cells;
        for transfer in &self.ingress_moves {
            transfer.within(cells);
        }
        self.ingress_port.set(cells, u64::from(job.port));
        self.ingress_path.set(cells, job.kind);
        self.ingress_timestamp.set(cells, now);
        self.ingress_parser_error.copy(cells, self.ingress_error);
        // Section 6.2: a packet is dropped unless the program says otherwise.
        self.class_of_service.set(cells, 0);
        self.clone.set(cells, 0);
        self.drop.set(cells, 1);
        self.resubmit.set(cells, 0);
        self.multicast_group.set(cells, 0);
        if machine.run(self.ingress, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        let cells = &mut job.cells;
        let clone = self.clone.get(cells) != 0;
        let drop = self.drop.get(cells) != 0;
        let class = self.class_of_service.get(cells) as u8;
        let session = self.clone_session_id.get(cells) as u32;
        let resubmit = self.resubmit.get(cells) != 0;
        let group = self.multicast_group.get(cells) as u32;
        let port = self.egress_port.get(cells) as u32;
        // The deparser computes what goes along with clones and resubmitted packets too.
        if clone || !drop {
            for transfer in &self.ingress_deparser_moves {
                transfer.within(cells);
            }
            if machine.run(self.ingress_deparser, &mut job, tables) == Ended::Stop {
                return machine.stopped(job, out);
            }
        }
        if clone {
            self.clones(machine, &job, session, path::CLONE_I2E, out);
        }
        if drop {
            return machine.drop(job, Drop::Ingress, out);
        }
        if resubmit {
            let mut again = machine.again(&job, job.port, path::RESUBMIT);
            again.packet.begin(&job.packet.bytes);
            again.length = job.packet.bytes.len() as u32;
            self.resubmit_meta.between(&job.cells, &mut again.cells);
            machine.enqueue(again, out);
            return machine.done(job);
        }
        job.packet.emit_payload();
        core::mem::swap(&mut job.packet.bytes, &mut job.packet.emitted);
        job.packet.restart();
        job.length = job.packet.bytes.len() as u32;
        self.normal_meta.within(&mut job.cells);
        if group != 0 {
            job.kind = path::NORMAL_MULTICAST;
            return machine.multicast(job, group, class, out);
        }
        job.kind = path::NORMAL_UNICAST;
        let egress = Egress {
            port,
            instance: 0,
            class,
        };
        job.egress = Some(egress);
        if machine.queue.is_empty() {
            self.egress(machine, tables, job, egress, out);
        } else {
            machine.enqueue(job, out);
        }
    }

    /// Copies by a clone session: in ingress of the packet as it came, in egress of what the deparser made of it.
    fn clones(
        &self,
        machine: &mut Machine,
        job: &Job,
        session: u32,
        kind: u64,
        out: &mut dyn Output,
    ) {
        let Some(count) = machine.clones(session) else {
            return;
        };
        for index in 0..count {
            let Some((Replica { port, instance }, options)) = machine.clone_at(session, index)
            else {
                return;
            };
            let mut copy = machine.again(job, job.port, kind);
            copy.packet.begin(&job.packet.bytes);
            copy.length = job.packet.bytes.len() as u32;
            let transfer = match kind {
                path::CLONE_I2E => &self.clone_i2e_meta,
                _ => &self.clone_e2e_meta,
            };
            transfer.between(&job.cells, &mut copy.cells);
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
        let cells = &mut job.cells;
        self.parser_egress_port.set(cells, u64::from(egress.port));
        self.egress_parser_path.set(cells, job.kind);
        if machine.run(self.egress_parser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        let cells = &mut job.cells;
        for transfer in &self.egress_moves {
            transfer.within(cells);
        }
        self.egress_class.set(cells, u64::from(egress.class));
        self.egress_input_port.set(cells, u64::from(egress.port));
        self.egress_path.set(cells, job.kind);
        self.egress_instance.set(cells, u64::from(egress.instance));
        self.egress_timestamp.set(cells, now);
        self.egress_parser_error.copy(cells, self.egress_error);
        self.egress_clone.set(cells, 0);
        self.egress_drop.set(cells, 0);
        if machine.run(self.egress, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        let cells = &mut job.cells;
        let clone = self.egress_clone.get(cells) != 0;
        let drop = self.egress_drop.get(cells) != 0;
        let session = self.egress_clone_session_id.get(cells) as u32;
        if drop && !clone {
            return machine.drop(job, Drop::Egress, out);
        }
        for transfer in &self.egress_deparser_moves {
            transfer.within(cells);
        }
        self.deparser_egress_port.set(cells, u64::from(egress.port));
        if machine.run(self.egress_deparser, &mut job, tables) == Ended::Stop {
            return machine.stopped(job, out);
        }
        job.packet.emit_payload();
        core::mem::swap(&mut job.packet.bytes, &mut job.packet.emitted);
        if let Some(most) = job.truncate {
            job.packet.bytes.truncate(most as usize);
        }
        if clone {
            self.clones(machine, &job, session, path::CLONE_E2E, out);
        }
        if drop {
            return machine.drop(job, Drop::Egress, out);
        }
        if egress.port == PSA_PORT_RECIRCULATE {
            let mut again = machine.again(&job, PSA_PORT_RECIRCULATE, path::RECIRCULATE);
            again.packet.begin(&job.packet.bytes);
            again.length = job.packet.bytes.len() as u32;
            self.recirculate_meta.between(&job.cells, &mut again.cells);
            machine.enqueue(again, out);
            return machine.done(job);
        }
        machine.send(egress.port, &job.packet.bytes, out);
        machine.done(job);
    }
}
