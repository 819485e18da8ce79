//! Groups and meters as text.

use super::action::{actions, show_actions};
use super::field::{self, Prerequisites};
use super::flow::split_actions;
use super::{Piece, TextError};
use crate::list::{Element, List};
use crate::message::{
    ALL_GROUPS, ALL_METERS, ANY_GROUP, Band, BandKind, Bucket, Change, GroupKind, GroupMod,
    MeterMod, meter_flags,
};
use crate::port::PortNo;
use crate::version::Version;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// A group as read from a text such as `group_id=1,type=select,bucket=weight:2,actions=output:1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its number, or [`ALL_GROUPS`].
    pub group: u32,
    /// How it uses its buckets.
    pub kind: GroupKind,
    /// Its buckets in the form of 1.3.
    pub buckets: Vec<u8>,
}

impl Group {
    /// Reads a group.
    ///
    /// # Errors
    /// When a piece cannot be read.
    pub fn parse(text: &str) -> Result<Group, TextError> {
        let whole = Piece::new(text);
        let mut cuts: Vec<usize> = whole
            .text
            .match_indices("bucket=")
            .map(|(at, _)| at)
            .collect();
        cuts.push(whole.text.len());
        let mut group = Group {
            group: ALL_GROUPS,
            kind: GroupKind::All,
            buckets: Vec::new(),
        };
        for piece in whole.slice(0, cuts[0]).list() {
            let (name, argument) = piece.call()?;
            let argument = argument.ok_or_else(|| piece.error("write name=value"))?;
            match name.text {
                "group_id" if argument.text == "all" => group.group = ALL_GROUPS,
                "group_id" => group.group = argument.number(u32::MAX.into())? as u32,
                "type" => {
                    group.kind = match argument.text {
                        "all" => GroupKind::All,
                        "select" => GroupKind::Select,
                        "indirect" => GroupKind::Indirect,
                        "ff" | "fast_failover" => GroupKind::FastFailover,
                        _ => return Err(argument.error("a type is all, select, indirect or ff")),
                    }
                }
                _ => return Err(piece.error(format!("'{}' is not of a group", name.text))),
            }
        }
        for pair in cuts.windows(2) {
            let select = group.kind == GroupKind::Select;
            bucket(
                whole.slice(pair[0] + 7, pair[1]),
                select,
                &mut group.buckets,
            )?;
        }
        Ok(group)
    }

    /// The message that does this with it.
    pub fn message(&self, command: Change) -> GroupMod<'_> {
        let buckets = List::from_checked(Version::V13, &self.buckets);
        GroupMod {
            command,
            kind: self.kind,
            group: self.group,
            buckets,
        }
    }
}

fn bucket(text: Piece<'_>, select: bool, out: &mut Vec<u8>) -> Result<(), TextError> {
    let (front, behind) = split_actions(text);
    let (mut weight, mut watch_port, mut watch_group) = (u16::from(select), PortNo::ANY, ANY_GROUP);
    // Actions may stand without `actions=`.
    let (mut all, mut rest) = (Vec::new(), front);
    while let Some(piece) = rest.list().next() {
        let (name, argument) = piece.call()?;
        let behind = piece.at - rest.at + piece.text.len();
        match (name.text, argument) {
            ("weight", Some(argument)) => weight = argument.number(65_535)? as u16,
            ("watch_port", Some(argument)) => watch_port = field::port(argument)?,
            ("watch_group", Some(argument)) => {
                watch_group = argument.number(u32::MAX.into())? as u32;
            }
            ("bucket_id", Some(_)) => {
                return Err(piece.error("buckets have an id from OpenFlow 1.5 on"));
            }
            _ => all.extend(actions(Version::V13, piece, Prerequisites::default())?),
        }
        rest = rest.slice(behind, rest.text.len());
    }
    if let Some(behind) = behind {
        all.extend(actions(Version::V13, behind, Prerequisites::default())?);
    }
    let actions = List::from_checked(Version::V13, &all);
    let bucket = Bucket {
        weight,
        watch_port,
        watch_group,
        actions,
    };
    bucket
        .write(Version::V13, out)
        .map_err(|error| text.error(format!("{error}")))
}

/// Appends a bucket as [`Group::parse`] reads it.
pub fn show_bucket(bucket: &Bucket<'_>, select: bool, out: &mut String) {
    out.push_str("bucket=");
    if select {
        let _ = write!(out, "weight:{},", bucket.weight);
    }
    if bucket.watch_port != PortNo::ANY {
        let _ = write!(out, "watch_port:{},", bucket.watch_port);
    }
    if bucket.watch_group != ANY_GROUP {
        let _ = write!(out, "watch_group:{},", bucket.watch_group);
    }
    out.push_str("actions=");
    if bucket.actions.is_empty() {
        out.push_str("drop");
    }
    show_actions(bucket.actions, Version::V13, out);
}

/// A meter as read from a text such as `meter=1,kbps,bands=type=drop,rate=1000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    /// Its number, or [`ALL_METERS`].
    pub meter: u32,
    /// Bits of [`meter_flags`].
    pub flags: u16,
    pub bands: Vec<Band>,
}

impl Meter {
    /// Reads a meter.
    ///
    /// # Errors
    /// When a piece cannot be read.
    pub fn parse(text: &str) -> Result<Meter, TextError> {
        let whole = Piece::new(text);
        let cut = ["bands=", "band="]
            .iter()
            .find_map(|word| whole.text.find(word).map(|at| (at, at + word.len())));
        let (front, behind) = cut.unwrap_or((whole.text.len(), whole.text.len()));
        let mut meter = Meter {
            meter: ALL_METERS,
            flags: 0,
            bands: Vec::new(),
        };
        for piece in whole.slice(0, front).list() {
            let (name, argument) = piece.call()?;
            match (name.text, argument) {
                ("meter", Some(argument)) => {
                    meter.meter = match argument.text {
                        "all" => ALL_METERS,
                        "controller" => crate::message::CONTROLLER_METER,
                        "slowpath" => crate::message::SLOWPATH_METER,
                        _ => argument.number(u32::MAX.into())? as u32,
                    }
                }
                ("kbps", None) => meter.flags |= meter_flags::KBPS,
                ("pktps", None) => meter.flags |= meter_flags::PKTPS,
                ("burst", None) => meter.flags |= meter_flags::BURST,
                ("stats", None) => meter.flags |= meter_flags::STATS,
                _ => return Err(piece.error(format!("'{}' is not of a meter", piece.text))),
            }
        }
        for piece in whole.slice(behind, whole.text.len()).list() {
            let (name, argument) = piece.call()?;
            let argument = argument.ok_or_else(|| piece.error("write name=value"))?;
            let band = meter.bands.last_mut();
            let first = || piece.error("a band begins with type=drop or type=dscp_remark");
            match name.text {
                "type" => {
                    let kind = match argument.text {
                        "drop" => BandKind::Drop,
                        "dscp_remark" => BandKind::DscpRemark(0),
                        _ => return Err(first()),
                    };
                    meter.bands.push(Band {
                        kind,
                        rate: 0,
                        burst: 0,
                    });
                }
                "rate" => {
                    band.ok_or_else(first)?.rate = argument.number(u32::MAX.into())? as u32;
                }
                "burst_size" => {
                    band.ok_or_else(first)?.burst = argument.number(u32::MAX.into())? as u32;
                }
                "prec_level" => {
                    band.ok_or_else(first)?.kind =
                        BandKind::DscpRemark(argument.number(255)? as u8);
                }
                _ => return Err(piece.error(format!("'{}' is not of a band", name.text))),
            }
        }
        Ok(meter)
    }

    /// The message that does this with it.
    pub fn message(&self, command: Change) -> MeterMod<'_> {
        MeterMod {
            command,
            flags: self.flags,
            meter: self.meter,
            bands: List::from(&self.bands),
        }
    }
}

/// Appends a band as [`Meter::parse`] reads it.
pub fn show_band(band: &Band, out: &mut String) {
    let _ = match band.kind {
        BandKind::Drop => write!(out, "type=drop rate={}", band.rate),
        BandKind::DscpRemark(level) => {
            write!(
                out,
                "type=dscp_remark rate={} prec_level={level}",
                band.rate
            )
        }
        BandKind::Experimenter(whose) => {
            write!(out, "type=experimenter({whose:#x}) rate={}", band.rate)
        }
    };
    if band.burst != 0 {
        let _ = write!(out, " burst_size={}", band.burst);
    }
}
