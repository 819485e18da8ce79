//! Changes of groups and meters (1.3.5 sections 6.7 and 7.3.4).

use super::datapath::Datapath;
use super::groups::{ANY, Bucket, Group, Kind};
use super::meters::{self, BandType, Meter};
use super::program::{owned, put};
use crate::fault::Fault;
use crate::list::List;
use crate::message::{
    self, ALL_GROUPS, ALL_METERS, BandKind, CONTROLLER_METER, Change, FlowRemovedReason, GroupKind,
    GroupMod, MAX_GROUP, MAX_METER, MeterMod, SLOWPATH_METER, meter_flags,
};
use crate::port::PortNo;
use crate::table::Filter;
use crate::version::Version;
use alloc::vec::Vec;
use node::Time;

/// Maximum number of groups.
pub(super) const MAX_GROUPS: usize = 65_536;
/// Maximum number of meters.
pub(super) const MAX_METERS: usize = 65_536;
/// Maximum number of bands of a meter.
pub(super) const MAX_BANDS: u8 = 16;

impl Datapath {
    /// Carries out a group-mod, all of it or, with an error, nothing.
    pub(super) fn group_mod(&mut self, now: Time, change: &GroupMod<'_>) -> Result<(), Fault> {
        let number = change.group;
        match change.command {
            Change::Add | Change::Modify => {
                if number > MAX_GROUP {
                    return Err(Fault::InvalidGroup);
                }
                let known = self.groups.has(number);
                match change.command {
                    Change::Add if known => return Err(Fault::GroupExists),
                    Change::Add if self.groups.all.len() >= MAX_GROUPS => {
                        return Err(Fault::OutOfGroups);
                    }
                    Change::Modify if !known => return Err(Fault::UnknownGroup),
                    _ => {}
                }
                let kind = kind_of(change.kind);
                let buckets = self.buckets(number, kind, change.buckets)?;
                let group = Group {
                    kind,
                    buckets,
                    created: now,
                    packets: 0,
                    bytes: 0,
                };
                self.groups.all.insert(number, group);
                Ok(())
            }
            Change::Delete => self.delete_group(now, number),
        }
    }

    fn buckets(
        &self,
        number: u32,
        kind: Kind,
        asked: List<'_, message::Bucket<'_>>,
    ) -> Result<Vec<Bucket>, Fault> {
        let mut buckets = Vec::new();
        for bucket in asked.iter() {
            let (port, group) = (bucket.watch_port, bucket.watch_group);
            if port != PortNo::ANY && self.port_index(port.0).is_none() {
                return Err(Fault::BadWatch);
            }
            if kind == Kind::FastFailover && port == PortNo::ANY && group == ANY {
                return Err(Fault::InvalidGroup);
            }
            // A field that this kind has not (1.3.5 section 6.7).
            if kind != Kind::Select && bucket.weight != 0 {
                return Err(Fault::InvalidGroup);
            }
            if group == number {
                return Err(Fault::GroupLoop);
            }
            if group != ANY && !self.groups.has(group) {
                return Err(Fault::BadWatch);
            }
            let mut own = Bucket {
                weight: bucket.weight,
                watch_port: port.0,
                watch_group: group,
                ..Bucket::default()
            };
            for action in bucket.actions.iter() {
                if action == crate::action::Action::Group(number) {
                    return Err(Fault::GroupLoop);
                }
                put(&mut own.actions, owned(action)?);
            }
            self.check_actions(Version::V13, bucket.actions, None, false)?;
            let written = bucket.actions.write(Version::V13, &mut own.wire);
            written.map_err(|_| Fault::BadBucket)?;
            buckets.push(own);
        }
        if kind == Kind::Indirect && buckets.len() != 1 {
            return Err(Fault::InvalidGroup);
        }
        // A choice among buckets none of which can ever be chosen.
        if kind == Kind::Select && !buckets.is_empty() && buckets.iter().all(|b| b.weight == 0) {
            return Err(Fault::InvalidGroup);
        }
        if self.groups.would_loop(number, &buckets) {
            return Err(Fault::GroupLoop);
        }
        Ok(buckets)
    }

    /// Deletes a group, or all, with the entries that lead there. One that there is not is no error.
    fn delete_group(&mut self, now: Time, number: u32) -> Result<(), Fault> {
        if number == ALL_GROUPS {
            let numbers: Vec<u32> = self.groups.all.keys().copied().collect();
            for number in numbers {
                self.delete_leading_to(now, number);
            }
            self.groups.all.clear();
            return Ok(());
        }
        if number > MAX_GROUP {
            return Err(Fault::InvalidGroup);
        }
        if !self.groups.has(number) {
            return Ok(());
        }
        if self.groups.users(number) > 0 {
            return Err(Fault::ChainedGroup);
        }
        self.delete_leading_to(now, number);
        self.groups.all.remove(&number);
        Ok(())
    }

    fn delete_leading_to(&mut self, now: Time, group: u32) {
        if self.programs.users(|program| program.leads_to(group)) == 0 {
            return;
        }
        let mut chosen = Vec::new();
        self.select(&Filter::default(), PortNo::ANY, group, &mut chosen);
        for id in chosen {
            self.take_out(now, id, Some(FlowRemovedReason::GroupDelete));
        }
    }

    /// Carries out a meter-mod, all of it or, with an error, nothing.
    pub(super) fn meter_mod(&mut self, now: Time, change: &MeterMod<'_>) -> Result<(), Fault> {
        let number = change.meter;
        let virtual_ = matches!(number, CONTROLLER_METER | SLOWPATH_METER);
        if change.command == Change::Delete && number == ALL_METERS {
            let numbers: Vec<u32> = self.meters.all.keys().copied().collect();
            for number in numbers {
                self.delete_meter(now, number);
            }
            return Ok(());
        }
        if number == 0 || (number > MAX_METER && !virtual_) {
            return Err(Fault::InvalidMeter);
        }
        let known = self.meters.has(number);
        match change.command {
            Change::Delete => {
                self.delete_meter(now, number);
                return Ok(());
            }
            Change::Add if known => return Err(Fault::MeterExists),
            Change::Add if self.meters.all.len() >= MAX_METERS => return Err(Fault::OutOfMeters),
            Change::Modify if !known => return Err(Fault::UnknownMeter),
            _ => {}
        }
        use meter_flags::{BURST, KBPS, PKTPS, STATS};
        let flags = change.flags;
        if flags & !(KBPS | PKTPS | BURST | STATS) != 0 || flags & (KBPS | PKTPS) == KBPS | PKTPS {
            return Err(Fault::BadMeterFlags);
        }
        let mut bands = Vec::new();
        for band in change.bands.iter() {
            let above = match band.kind {
                BandKind::Drop => BandType::Drop,
                BandKind::DscpRemark(levels) => BandType::Remark(levels),
                BandKind::Experimenter(_) => return Err(Fault::BadBandType),
            };
            if bands.len() >= usize::from(MAX_BANDS) {
                return Err(Fault::OutOfBands);
            }
            let (by_packets, has_burst) = (flags & PKTPS != 0, flags & BURST != 0);
            let own = meters::Band::new(above, band.rate, band.burst, by_packets, has_burst);
            bands.push(own.ok_or(Fault::BadRate)?);
        }
        let flows = self.meters.all.get(&number).map_or(0, |meter| meter.flows);
        let meter = Meter {
            flags,
            bands,
            created: now,
            packets: 0,
            bytes: 0,
            flows,
        };
        self.meters.all.insert(number, meter);
        Ok(())
    }

    /// Deletes a meter with the entries that lead there.
    fn delete_meter(&mut self, now: Time, number: u32) {
        if self.programs.users(|program| program.meter == Some(number)) > 0 {
            let mut chosen = Vec::new();
            self.flows.select(&Filter::default(), |id| {
                let program = self.programs.get(self.flows.hot(id).program);
                if program.meter == Some(number) {
                    chosen.push(id);
                }
            });
            for id in chosen {
                self.take_out(now, id, Some(FlowRemovedReason::Delete));
            }
        }
        self.meters.all.remove(&number);
    }
}

fn kind_of(kind: GroupKind) -> Kind {
    match kind {
        GroupKind::All => Kind::All,
        GroupKind::Select => Kind::Select,
        GroupKind::Indirect => Kind::Indirect,
        GroupKind::FastFailover => Kind::FastFailover,
    }
}
