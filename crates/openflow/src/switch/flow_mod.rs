//! Changes of entries (1.3.5 section 6.4, 1.0.2 section 4.6).

use super::datapath::Datapath;
use super::journal::{Removed, Undo};
use super::session::PendingReply;
use crate::fault::Fault;
use crate::key::{Key, Pattern};
use crate::matching::Match;
use crate::message::{ALL_TABLES, ANY_GROUP, FlowCommand, FlowMod, FlowRemovedReason, flow_flags};
use crate::port::PortNo;
use crate::table::{Filter, Flow, FlowId};
use crate::version::Version;
use alloc::vec::Vec;
use node::Time;

/// What 1.0 and 1.3 match, packed.
pub(super) fn pattern_of(matching: &Match<'_>) -> Pattern {
    matching.iter().fold(Pattern::default(), |pattern, oxm| {
        pattern.with_masked(oxm.field, oxm.value, oxm.significant())
    })
}

/// BandType every priority that has wildcards, in 1.0.
const EXACT: u32 = 0x1_0000;

impl Datapath {
    /// The rank of a match: its priority, but in 1.0 one without wildcards is above all others.
    fn rank_of(&mut self, version: Version, matching: &Match<'_>, priority: u16) -> u32 {
        let priority = u32::from(priority);
        if version != Version::V10 {
            return priority;
        }
        self.scratch.clear();
        let written = matching.write(Version::V10, &mut self.scratch);
        let exact = written.is_ok() && self.scratch.starts_with(&[0; 4]);
        if exact { EXACT | priority } else { priority }
    }

    /// Carries out a flow-mod, all of it or, with an error, nothing.
    pub(super) fn flow_mod(
        &mut self,
        now: Time,
        version: Version,
        flow_mod: &FlowMod<'_>,
    ) -> Result<(), Fault> {
        let pattern = pattern_of(&flow_mod.matching);
        let rank = self.rank_of(version, &flow_mod.matching, flow_mod.priority);
        let deletes = flow_mod.command.is_delete();
        let table = flow_mod.table;
        if !(self.has_table(table) || deletes && table == ALL_TABLES) {
            return Err(Fault::FlowModBadTableId);
        }
        if flow_mod.flags & flow_flags::EMERGENCY != 0 {
            return match flow_mod.idle_timeout | flow_mod.hard_timeout {
                0 => Err(Fault::TableFull),
                _ => Err(Fault::BadTimeout),
            };
        }
        if !deletes {
            self.check_instructions(version, table, flow_mod.instructions, &pattern)?;
        }
        let strict = matches!(
            flow_mod.command,
            FlowCommand::ModifyStrict | FlowCommand::DeleteStrict
        );
        let filter = Filter {
            table: (table != ALL_TABLES).then_some(table),
            pattern,
            strict: strict.then_some(rank),
            cookie: flow_mod.cookie,
            cookie_mask: flow_mod.cookie_mask,
        };
        match flow_mod.command {
            FlowCommand::Add => self.add(now, version, flow_mod, &pattern, rank),
            FlowCommand::Modify | FlowCommand::ModifyStrict => {
                let mut chosen = core::mem::take(&mut self.chosen);
                chosen.clear();
                self.flows.select(&filter, |id| chosen.push(id));
                let result = match chosen.is_empty() {
                    // In 1.0 what is not there is added.
                    true if version == Version::V10 => {
                        self.add(now, version, flow_mod, &pattern, rank)
                    }
                    _ => self.modify(version, flow_mod, &chosen),
                };
                self.chosen = chosen;
                result
            }
            FlowCommand::Delete | FlowCommand::DeleteStrict => {
                self.delete(now, &filter, flow_mod.out_port, flow_mod.out_group);
                Ok(())
            }
        }
    }

    fn add(
        &mut self,
        now: Time,
        version: Version,
        flow_mod: &FlowMod<'_>,
        pattern: &Pattern,
        rank: u32,
    ) -> Result<(), Fault> {
        let table = flow_mod.table;
        let is_miss = rank == 0 && pattern.mask == Key::ZERO;
        self.check_match(table, &flow_mod.matching, is_miss)?;
        self.check_abilities(table, flow_mod.instructions, is_miss)?;
        if flow_mod.flags & flow_flags::CHECK_OVERLAP != 0
            && self.flows.overlapping(table, pattern, rank).is_some()
        {
            return Err(Fault::Overlap);
        }
        let same = self.flows.find(table, pattern, rank);
        let mut evicted = None;
        if same.is_none() && self.flows.len(table) >= self.tables[usize::from(table)].limit {
            evicted = self.flows.first_to_go(table).filter(|_| self.evicts);
            if evicted.is_none() {
                return Err(Fault::TableFull);
            }
        }
        let program = self.programs.enter(version, flow_mod.instructions)?;
        self.count_meter(program, 1);
        if let Some(evicted) = evicted {
            self.take_out(now, evicted, Some(FlowRemovedReason::Delete));
        }
        let kept = same.map(|same| *self.flows.hot(same));
        if let Some(same) = same {
            self.take_out(now, same, None);
        }
        let flow = Flow {
            table,
            rank,
            cookie: flow_mod.cookie,
            idle_timeout: flow_mod.idle_timeout,
            hard_timeout: flow_mod.hard_timeout,
            flags: flow_mod.flags,
            is_table_miss: is_miss,
            program,
            created: now,
        };
        let id = self.flows.add(pattern, flow);
        // In 1.3 an entry that replaces another goes on with its counters, unless told otherwise.
        if let Some(kept) = kept
            && version == Version::V13
            && flow_mod.flags & flow_flags::RESET_COUNTS == 0
        {
            self.flows.set_counts(id, kept.packets, kept.bytes);
        }
        self.note(|| Undo::Added(table, *pattern, rank));
        Ok(())
    }

    fn modify(
        &mut self,
        version: Version,
        flow_mod: &FlowMod<'_>,
        chosen: &[FlowId],
    ) -> Result<(), Fault> {
        if chosen.is_empty() {
            return Ok(());
        }
        for &id in chosen {
            let is_miss = self.flows.flow(id).is_table_miss;
            self.check_abilities(flow_mod.table, flow_mod.instructions, is_miss)?;
        }
        let program = self.programs.enter(version, flow_mod.instructions)?;
        for &id in chosen {
            if self.journal.is_some() {
                let before = Undo::Changed(
                    self.flows.pattern(id),
                    *self.flows.flow(id),
                    *self.flows.hot(id),
                );
                self.note(|| before);
            }
            self.programs.hold(program);
            self.count_meter(program, 1);
            let old = self.flows.set_program(id, program);
            self.leave(old);
            if version == Version::V10 {
                self.flows.set_cookie(id, flow_mod.cookie);
            }
            if flow_mod.flags & flow_flags::RESET_COUNTS != 0 {
                self.flows.reset_counts(id);
            }
        }
        self.programs.leave(program);
        Ok(())
    }

    /// Deletes what a filter is about and outputs to this port and group, unless they are any.
    fn delete(&mut self, now: Time, filter: &Filter, out_port: PortNo, out_group: u32) {
        let mut chosen = core::mem::take(&mut self.chosen);
        self.select(filter, out_port, out_group, &mut chosen);
        for &id in &chosen {
            self.take_out(now, id, Some(FlowRemovedReason::Delete));
        }
        self.chosen = chosen;
    }

    /// The entries that a filter is about and that output to this port and group, unless they are any.
    pub(super) fn select(
        &self,
        filter: &Filter,
        out_port: PortNo,
        out_group: u32,
        chosen: &mut Vec<FlowId>,
    ) {
        chosen.clear();
        self.flows.select(filter, |id| {
            let program = || self.programs.get(self.flows.hot(id).program);
            if (out_port == PortNo::ANY || program().outputs_to(out_port))
                && (out_group == ANY_GROUP || program().leads_to(out_group))
            {
                chosen.push(id);
            }
        });
    }

    /// Whether an entry is there that statistics are about.
    pub(super) fn fits(&self, about: &PendingReply, id: FlowId) -> bool {
        let program = || self.programs.get(self.flows.hot(id).program);
        self.flows.fits(&about.filter, id)
            && (about.out_port == PortNo::ANY || program().outputs_to(about.out_port))
            && (about.out_group == ANY_GROUP || program().leads_to(about.out_group))
    }

    /// Takes an entry out. With a reason, controllers are told if the entry wants it so.
    pub(super) fn take_out(&mut self, now: Time, id: FlowId, reason: Option<FlowRemovedReason>) {
        let told = self.flows.flow(id).flags & flow_flags::SEND_FLOW_REM != 0;
        let pattern = match told || self.journal.is_some() {
            true => self.flows.pattern(id),
            false => Pattern::default(),
        };
        let (flow, hot) = self.flows.remove(id);
        if let Some(reason) = reason.filter(|_| told) {
            self.removed.push(Removed {
                pattern,
                flow,
                hot,
                reason,
                at: now,
            });
        }
        self.note(|| Undo::Removed(pattern, flow, hot));
        self.leave(flow.program);
    }

    /// An entry does not use a program any more. While changes may be taken back it is kept.
    fn leave(&mut self, program: u32) {
        self.count_meter(program, -1);
        if self.journal.is_none() {
            self.programs.leave(program);
        }
    }

    fn count_meter(&mut self, program: u32, change: i32) {
        if let Some(number) = self.programs.get(program).meter
            && let Some(meter) = self.meters.all.get_mut(&number)
        {
            meter.flows = meter.flows.saturating_add_signed(change);
        }
    }

    fn note(&mut self, undo: impl FnOnce() -> Undo) {
        if let Some(journal) = &mut self.journal {
            journal.push(undo());
        }
    }

    /// From here on changes can be taken back.
    pub(super) fn begin(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// Changes since [`begin`](Datapath::begin) stay.
    pub(super) fn commit(&mut self) {
        for undo in self.journal.take().unwrap_or_default() {
            match undo {
                Undo::Removed(_, flow, _) | Undo::Changed(_, flow, _) => {
                    self.programs.leave(flow.program);
                }
                Undo::Added(..) => {}
            }
        }
    }

    /// Changes since [`begin`](Datapath::begin) are taken back.
    pub(super) fn roll_back(&mut self) {
        for undo in self.journal.take().unwrap_or_default().into_iter().rev() {
            match undo {
                Undo::Added(table, pattern, rank) => {
                    if let Some(id) = self.flows.find(table, &pattern, rank) {
                        let (flow, _) = self.flows.remove(id);
                        self.leave(flow.program);
                    }
                }
                Undo::Removed(pattern, flow, hot) => {
                    let id = self.flows.add(&pattern, flow);
                    self.flows.restore(id, hot);
                    self.count_meter(flow.program, 1);
                }
                Undo::Changed(pattern, flow, hot) => {
                    if let Some(id) = self.flows.find(flow.table, &pattern, flow.rank) {
                        self.count_meter(flow.program, 1);
                        let old = self.flows.set_program(id, flow.program);
                        self.leave(old);
                        self.flows.set_cookie(id, flow.cookie);
                        self.flows.restore(id, hot);
                    }
                }
            }
        }
    }
}
