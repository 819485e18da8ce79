//! Groups and meters (1.3.5 sections 7.3.4.2 and 7.3.4.4).

use crate::action::{self, Action};
use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::{Element, List};
use crate::port::PortNo;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// All groups; for deletion and statistics.
pub const ALL_GROUPS: u32 = 0xffff_fffc;
/// The highest number of a group.
pub const MAX_GROUP: u32 = 0xffff_ff00;
/// The highest number of a meter.
pub const MAX_METER: u32 = 0xffff_0000;
/// The meter for traffic on slow paths.
pub const SLOWPATH_METER: u32 = 0xffff_fffd;
/// The meter for traffic to the controller.
pub const CONTROLLER_METER: u32 = 0xffff_fffe;
/// All meters; for deletion and statistics.
pub const ALL_METERS: u32 = 0xffff_ffff;

/// How a group uses its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum GroupKind {
    /// Each bucket gets a copy.
    All = 0,
    /// One of the buckets, by weight.
    Select = 1,
    /// The one bucket.
    Indirect = 2,
    /// The first bucket that is live.
    FastFailover = 3,
}

impl GroupKind {
    pub(super) fn from_wire(number: u8) -> Result<GroupKind, Fault> {
        Ok(match number {
            0 => GroupKind::All,
            1 => GroupKind::Select,
            2 => GroupKind::Indirect,
            3 => GroupKind::FastFailover,
            _ => return Err(Fault::BadGroupType),
        })
    }
}

/// What a group-mod or a meter-mod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Change {
    /// Adds a new one.
    Add = 0,
    /// Changes one.
    Modify = 1,
    /// Deletes one, or all.
    Delete = 2,
}

impl Change {
    fn from_wire(number: u16, unknown: Fault) -> Result<Change, Fault> {
        Ok(match number {
            0 => Change::Add,
            1 => Change::Modify,
            2 => Change::Delete,
            _ => return Err(unknown),
        })
    }
}

/// One alternative of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket<'a> {
    /// Its share of the packets, in select groups; 0 in others.
    pub weight: u16,
    /// Live while this port is; [`PortNo::ANY`] for none.
    pub watch_port: PortNo,
    /// Live while this group is; [`super::ANY_GROUP`] for none.
    pub watch_group: u32,
    /// Its action set.
    pub actions: List<'a, Action<'a>>,
}

impl<'a> Element<'a> for Bucket<'a> {
    const SHORT: Fault = Fault::BadBucket;

    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let mut ahead = reader.with(Fault::BadBucket);
        let length = usize::from(ahead.u16()?);
        if length < 16 || !length.is_multiple_of(8) {
            return Err(Fault::BadBucket);
        }
        let mut body = Reader::new(ahead.take(length - 2)?, Fault::BadBucket);
        reader.skip(length)?;
        let (weight, watch_port, watch_group) = (body.u16()?, PortNo(body.u32()?), body.u32()?);
        body.skip(4)?;
        let actions = List::from_wire(version, body.take_rest())?;
        Ok(Bucket {
            weight,
            watch_port,
            watch_group,
            actions,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.u16(0);
        out.u16(self.weight);
        out.u32(self.watch_port.0);
        out.u32(self.watch_group);
        out.zeros(4);
        self.actions.write(version, out)?;
        out.patch(start, start);
        Ok(())
    }
}

/// Changes a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMod<'a> {
    /// What it does.
    pub command: Change,
    /// How the group uses its buckets.
    pub kind: GroupKind,
    /// The group, or [`ALL_GROUPS`] for deletion.
    pub group: u32,
    pub buckets: List<'a, Bucket<'a>>,
}

impl<'a> GroupMod<'a> {
    pub(super) fn read(version: Version, reader: &mut Reader<'a>) -> Result<GroupMod<'a>, Fault> {
        let command = Change::from_wire(reader.u16()?, Fault::BadGroupCommand)?;
        let kind = GroupKind::from_wire(reader.u8()?)?;
        reader.skip(1)?;
        let group = reader.u32()?;
        let buckets: List<'a, Bucket<'a>> = List::from_wire(version, reader.take_rest())?;
        buckets
            .iter()
            .try_for_each(|bucket| action::check(bucket.actions))?;
        Ok(GroupMod {
            command,
            kind,
            group,
            buckets,
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u16(self.command as u16);
        out.u8(self.kind as u8);
        out.zeros(1);
        out.u32(self.group);
        self.buckets.write(version, out)
    }
}

/// Bits of a meter's flags.
pub mod meter_flags {
    /// Rates in kb/s.
    pub const KBPS: u16 = 1;
    /// Rates in packets a second.
    pub const PKTPS: u16 = 1 << 1;
    /// The bands' burst sizes count: in kilobits or packets.
    pub const BURST: u16 = 1 << 2;
    /// Collect statistics.
    pub const STATS: u16 = 1 << 3;
}

/// What a band does with packets above its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BandKind {
    /// Drops them.
    Drop,
    /// Raises their drop precedence, in the DSCP, by so much.
    DscpRemark(u8),
    /// An experimenter's.
    Experimenter(u32),
}

/// A band of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Band {
    /// What it does.
    pub kind: BandKind,
    /// The rate above which it applies: kb/s or packets a second.
    pub rate: u32,
    /// The burst size: kilobits or packets.
    pub burst: u32,
}

impl<'a> Element<'a> for Band {
    fn read(_version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let (kind, mut body) = reader.element(8, Fault::BadLen)?;
        let (rate, burst) = (body.u32()?, body.u32()?);
        let kind = match kind {
            1 => {
                body.skip(4)?;
                BandKind::Drop
            }
            2 => {
                let precedence = body.u8()?;
                body.skip(3)?;
                BandKind::DscpRemark(precedence)
            }
            0xffff => BandKind::Experimenter(body.u32()?),
            _ => return Err(Fault::BadBandType),
        };
        body.end()?;
        Ok(Band { kind, rate, burst })
    }

    fn write(&self, _version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u16(match self.kind {
            BandKind::Drop => 1,
            BandKind::DscpRemark(_) => 2,
            BandKind::Experimenter(_) => 0xffff,
        });
        out.u16(16);
        out.u32(self.rate);
        out.u32(self.burst);
        match self.kind {
            BandKind::Drop => out.zeros(4),
            BandKind::DscpRemark(precedence) => {
                out.u8(precedence);
                out.zeros(3);
            }
            BandKind::Experimenter(experimenter) => out.u32(experimenter),
        }
        Ok(())
    }
}

/// Changes a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterMod<'a> {
    /// What it does.
    pub command: Change,
    /// Bits of [`meter_flags`].
    pub flags: u16,
    /// The meter, or [`ALL_METERS`] for deletion.
    pub meter: u32,
    pub bands: List<'a, Band>,
}

impl<'a> MeterMod<'a> {
    pub(super) fn read(version: Version, reader: &mut Reader<'a>) -> Result<MeterMod<'a>, Fault> {
        let command = Change::from_wire(reader.u16()?, Fault::BadMeterCommand)?;
        let (flags, meter) = (reader.u16()?, reader.u32()?);
        let bands = List::from_wire(version, reader.take_rest())?;
        Ok(MeterMod {
            command,
            flags,
            meter,
            bands,
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u16(self.command as u16);
        out.u16(self.flags);
        out.u32(self.meter);
        self.bands.write(version, out)
    }
}
