//! Multipart requests and replies; statistics, in 1.0 (1.0.2 section 5.3.5, 1.3.5 section 7.3.5).

mod features;
mod stats;

pub use features::{FeatureId, OxmId, TableFeatures, TableProperty};
pub use stats::{
    Aggregate, Counters, Description, FlowQuery, FlowStats, GroupDescription, GroupFeatures,
    GroupStats, MeterConfig, MeterFeatures, MeterStats, PortStats, QueueStats, TableStats, Text,
};

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::List;
use crate::port::{PortDescription, PortNo};
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// A question in one or more messages of the same xid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultipartRequest<'a> {
    /// Whether more of it follows; 1.3 only.
    pub more: bool,
    /// What is asked.
    pub body: Query<'a>,
}

/// An answer in one or more messages of the request's xid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultipartReply<'a> {
    /// Whether more of it follows.
    pub more: bool,
    /// What is told.
    pub body: Answer<'a>,
}

/// An experimenter's question or answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExperimenterPart<'a> {
    /// Whose.
    pub experimenter: u32,
    /// Its type; 0 in 1.0, where the data has it.
    pub kind: u32,
    /// What follows.
    pub data: &'a [u8],
}

/// What a multipart request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query<'a> {
    /// Who made the switch.
    Description,
    /// Entries.
    Flow(FlowQuery<'a>),
    /// The sum over entries.
    Aggregate(FlowQuery<'a>),
    /// Tables.
    Table,
    /// The counters of a port; [`PortNo::ANY`] for all.
    PortStats(PortNo),
    /// The counters of queues.
    Queue {
        /// The port; [`PortNo::ANY`] for all (in 1.0 it is [`PortNo::ALL`]).
        port: PortNo,
        /// The queue, or [`super::ALL_QUEUES`].
        queue: u32,
    },
    /// The counters of a group, or of [`super::ALL_GROUPS`].
    Group(u32),
    GroupDescription,
    /// What groups the switch can have.
    GroupFeatures,
    /// The counters of a meter, or of [`super::ALL_METERS`].
    Meter(u32),
    /// A meter, or [`super::ALL_METERS`].
    MeterConfig(u32),
    /// What meters the switch can have.
    MeterFeatures,
    /// What the tables can do; if not empty, what they shall be made to.
    TableFeatures(List<'a, TableFeatures<'a>>),
    PortDescription,
    /// An experimenter's.
    Experimenter(ExperimenterPart<'a>),
}

/// What a multipart reply tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Who made the switch.
    Description(Description<'a>),
    /// Entries.
    Flow(List<'a, FlowStats<'a>>),
    /// The sum over entries.
    Aggregate(Aggregate),
    /// Tables.
    Table(List<'a, TableStats>),
    /// The counters of ports.
    PortStats(List<'a, PortStats>),
    /// The counters of queues.
    Queue(List<'a, QueueStats>),
    /// The counters of groups.
    Group(List<'a, GroupStats<'a>>),
    GroupDescription(List<'a, GroupDescription<'a>>),
    /// What groups the switch can have.
    GroupFeatures(GroupFeatures),
    /// The counters of meters.
    Meter(List<'a, MeterStats<'a>>),
    MeterConfig(List<'a, MeterConfig<'a>>),
    /// What meters the switch can have.
    MeterFeatures(MeterFeatures),
    /// What the tables can do.
    TableFeatures(List<'a, TableFeatures<'a>>),
    PortDescription(List<'a, PortDescription>),
    /// An experimenter's.
    Experimenter(ExperimenterPart<'a>),
}

impl<'a> ExperimenterPart<'a> {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<ExperimenterPart<'a>, Fault> {
        let experimenter = reader.u32()?;
        let kind = if version == Version::V10 {
            0
        } else {
            reader.u32()?
        };
        Ok(ExperimenterPart {
            experimenter,
            kind,
            data: reader.take_rest(),
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u32(self.experimenter);
        match version {
            Version::V10 if self.kind != 0 => {
                return Err(Unsupported::new(
                    version,
                    "the type of an experimenter's statistics",
                ));
            }
            Version::V10 => {}
            Version::V13 => out.u32(self.kind),
        }
        out.extend_from_slice(self.data);
        Ok(())
    }
}

/// Type, flags, padding. The numbers of 1.0 are the first of 1.3.
fn write_head(
    kind: u16,
    more: bool,
    version: Version,
    out: &mut Vec<u8>,
) -> Result<(), Unsupported> {
    if version == Version::V10 && (6..0xffff).contains(&kind) {
        return Err(Unsupported::new(version, "these statistics"));
    }
    out.u16(kind);
    out.u16(more.into());
    out.zeros(if version == Version::V10 { 0 } else { 4 });
    Ok(())
}

fn read_head(version: Version, reader: &mut Reader<'_>) -> Result<(u16, bool), Fault> {
    let (kind, flags) = (reader.u16()?, reader.u16()?);
    reader.skip(if version == Version::V10 { 0 } else { 4 })?;
    if version == Version::V10 && (6..0xffff).contains(&kind) {
        return Err(Fault::BadMultipart);
    }
    Ok((kind, flags & 1 == 1))
}

/// A number and four bytes of padding.
fn read_number(reader: &mut Reader<'_>) -> Result<u32, Fault> {
    let number = reader.u32()?;
    reader.skip(4)?;
    Ok(number)
}

impl<'a> MultipartRequest<'a> {
    pub(super) fn read(
        version: Version,
        reader: &mut Reader<'a>,
    ) -> Result<MultipartRequest<'a>, Fault> {
        let (kind, more) = read_head(version, reader)?;
        let body = match kind {
            0 => Query::Description,
            1 => Query::Flow(FlowQuery::read(version, reader)?),
            2 => Query::Aggregate(FlowQuery::read(version, reader)?),
            3 => Query::Table,
            4 => {
                let port = PortNo::read(version, reader)?;
                reader.skip(if version == Version::V10 { 6 } else { 4 })?;
                Query::PortStats(port)
            }
            5 => {
                let port = PortNo::read(version, reader)?;
                reader.skip(if version == Version::V10 { 2 } else { 0 })?;
                Query::Queue {
                    port,
                    queue: reader.u32()?,
                }
            }
            6 => Query::Group(read_number(reader)?),
            7 => Query::GroupDescription,
            8 => Query::GroupFeatures,
            9 => Query::Meter(read_number(reader)?),
            10 => Query::MeterConfig(read_number(reader)?),
            11 => Query::MeterFeatures,
            12 => Query::TableFeatures(List::from_wire(version, reader.take_rest())?),
            13 => Query::PortDescription,
            0xffff => Query::Experimenter(ExperimenterPart::read(version, reader)?),
            _ => return Err(Fault::BadMultipart),
        };
        Ok(MultipartRequest { more, body })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let kind = match self.body {
            Query::Description => 0,
            Query::Flow(_) => 1,
            Query::Aggregate(_) => 2,
            Query::Table => 3,
            Query::PortStats(_) => 4,
            Query::Queue { .. } => 5,
            Query::Group(_) => 6,
            Query::GroupDescription => 7,
            Query::GroupFeatures => 8,
            Query::Meter(_) => 9,
            Query::MeterConfig(_) => 10,
            Query::MeterFeatures => 11,
            Query::TableFeatures(_) => 12,
            Query::PortDescription => 13,
            Query::Experimenter(_) => 0xffff,
        };
        write_head(kind, self.more, version, out)?;
        match self.body {
            Query::Flow(query) | Query::Aggregate(query) => query.write(version, out)?,
            Query::PortStats(port) => {
                port.write(version, out)?;
                out.zeros(if version == Version::V10 { 6 } else { 4 });
            }
            Query::Queue { port, queue } => {
                port.write(version, out)?;
                out.zeros(if version == Version::V10 { 2 } else { 0 });
                out.u32(queue);
            }
            Query::Group(number) | Query::Meter(number) | Query::MeterConfig(number) => {
                out.u32(number);
                out.zeros(4);
            }
            Query::TableFeatures(tables) => tables.write(version, out)?,
            Query::Experimenter(part) => part.write(version, out)?,
            _ => {}
        }
        Ok(())
    }
}

impl<'a> MultipartReply<'a> {
    pub(super) fn read(
        version: Version,
        reader: &mut Reader<'a>,
    ) -> Result<MultipartReply<'a>, Fault> {
        let (kind, more) = read_head(version, reader)?;
        let body = match kind {
            0 => Answer::Description(Description::read(reader)?),
            1 => Answer::Flow(List::from_wire(version, reader.take_rest())?),
            2 => Answer::Aggregate(Aggregate::read(reader)?),
            3 => Answer::Table(List::from_wire(version, reader.take_rest())?),
            4 => Answer::PortStats(List::from_wire(version, reader.take_rest())?),
            5 => Answer::Queue(List::from_wire(version, reader.take_rest())?),
            6 => Answer::Group(List::from_wire(version, reader.take_rest())?),
            7 => Answer::GroupDescription(List::from_wire(version, reader.take_rest())?),
            8 => Answer::GroupFeatures(GroupFeatures::read(reader)?),
            9 => Answer::Meter(List::from_wire(version, reader.take_rest())?),
            10 => Answer::MeterConfig(List::from_wire(version, reader.take_rest())?),
            11 => Answer::MeterFeatures(MeterFeatures::read(reader)?),
            12 => Answer::TableFeatures(List::from_wire(version, reader.take_rest())?),
            13 => Answer::PortDescription(List::from_wire(version, reader.take_rest())?),
            0xffff => Answer::Experimenter(ExperimenterPart::read(version, reader)?),
            _ => return Err(Fault::BadMultipart),
        };
        Ok(MultipartReply { more, body })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let mut head = |kind| write_head(kind, self.more, version, out);
        match self.body {
            Answer::Description(description) => {
                head(0)?;
                description.write(out);
                Ok(())
            }
            Answer::Flow(list) => head(1).and_then(|()| list.write(version, out)),
            Answer::Aggregate(aggregate) => {
                head(2)?;
                aggregate.write(out);
                Ok(())
            }
            Answer::Table(list) => head(3).and_then(|()| list.write(version, out)),
            Answer::PortStats(list) => head(4).and_then(|()| list.write(version, out)),
            Answer::Queue(list) => head(5).and_then(|()| list.write(version, out)),
            Answer::Group(list) => head(6).and_then(|()| list.write(version, out)),
            Answer::GroupDescription(list) => head(7).and_then(|()| list.write(version, out)),
            Answer::GroupFeatures(features) => {
                head(8)?;
                features.write(out);
                Ok(())
            }
            Answer::Meter(list) => head(9).and_then(|()| list.write(version, out)),
            Answer::MeterConfig(list) => head(10).and_then(|()| list.write(version, out)),
            Answer::MeterFeatures(features) => {
                head(11)?;
                features.write(out);
                Ok(())
            }
            Answer::TableFeatures(list) => head(12).and_then(|()| list.write(version, out)),
            Answer::PortDescription(list) => head(13).and_then(|()| list.write(version, out)),
            Answer::Experimenter(part) => head(0xffff).and_then(|()| part.write(version, out)),
        }
    }
}
