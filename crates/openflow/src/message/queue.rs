//! The configuration of queues (1.0.2 section 5.3.4, 1.3.5 section 7.3.6).

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::{Element, List};
use crate::port::PortNo;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// All queues of a port, for statistics.
pub const ALL_QUEUES: u32 = u32::MAX;

/// The queues of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig<'a> {
    /// The port; [`PortNo::ANY`] for all, in 1.3.
    pub port: PortNo,
    pub queues: List<'a, Queue<'a>>,
}

pub(super) fn read_request(version: Version, reader: &mut Reader<'_>) -> Result<PortNo, Fault> {
    let port = PortNo::read(version, reader)?;
    reader.skip(if version == Version::V10 { 2 } else { 4 })?;
    Ok(port)
}

pub(super) fn write_request(
    port: PortNo,
    version: Version,
    out: &mut Vec<u8>,
) -> Result<(), Unsupported> {
    port.write(version, out)?;
    out.zeros(if version == Version::V10 { 2 } else { 4 });
    Ok(())
}

impl<'a> QueueConfig<'a> {
    pub(super) fn read(
        version: Version,
        reader: &mut Reader<'a>,
    ) -> Result<QueueConfig<'a>, Fault> {
        let port = PortNo::read(version, reader)?;
        reader.skip(if version == Version::V10 { 6 } else { 4 })?;
        let queues = List::from_wire(version, reader.take_rest())?;
        Ok(QueueConfig { port, queues })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        self.port.write(version, out)?;
        out.zeros(if version == Version::V10 { 6 } else { 4 });
        self.queues.write(version, out)
    }
}

/// A queue of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue<'a> {
    pub queue: u32,
    /// Its port; [`PortNo::ANY`] in 1.0, which does not tell.
    pub port: PortNo,
    /// What it is given.
    pub properties: List<'a, QueueProperty<'a>>,
}

impl<'a> Element<'a> for Queue<'a> {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let queue = reader.u32()?;
        let (port, head) = match version {
            Version::V10 => (PortNo::ANY, 8),
            Version::V13 => (PortNo(reader.u32()?), 16),
        };
        let length = usize::from(reader.u16()?);
        reader.skip(if version == Version::V10 { 2 } else { 6 })?;
        let body = reader.take(length.checked_sub(head).ok_or(Fault::BadLen)?)?;
        Ok(Queue {
            queue,
            port,
            properties: List::from_wire(version, body)?,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.u32(self.queue);
        if version == Version::V13 {
            out.u32(self.port.0);
        }
        let length = out.len();
        out.zeros(if version == Version::V10 { 4 } else { 8 });
        self.properties.write(version, out)?;
        out.patch(length, start);
        Ok(())
    }
}

/// What a queue is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueProperty<'a> {
    /// At least this rate, in tenths of a percent of the port's; above 1000: not known.
    MinRate(u16),
    /// At most this rate, in tenths of a percent of the port's; above 1000: not known. 1.3 only.
    MaxRate(u16),
    /// An experimenter's; 1.3 only.
    Experimenter {
        /// Whose.
        experimenter: u32,
        /// What follows.
        data: &'a [u8],
    },
}

impl<'a> Element<'a> for QueueProperty<'a> {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let (kind, mut body) = reader.element(1, Fault::BadLen)?;
        body.skip(4)?;
        let property = match (kind, version) {
            (0xffff, Version::V13) => {
                let experimenter = body.u32()?;
                body.skip(4)?;
                QueueProperty::Experimenter {
                    experimenter,
                    data: body.take_rest(),
                }
            }
            (1, _) | (2, Version::V13) => {
                let rate = body.u16()?;
                body.skip(6)?;
                if kind == 1 {
                    QueueProperty::MinRate(rate)
                } else {
                    QueueProperty::MaxRate(rate)
                }
            }
            _ => return Err(Fault::BadType),
        };
        body.end()?;
        Ok(property)
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        let kind = match self {
            QueueProperty::MinRate(_) => 1,
            _ if version == Version::V10 => {
                return Err(Unsupported::new(version, "this property of a queue"));
            }
            QueueProperty::MaxRate(_) => 2,
            QueueProperty::Experimenter { .. } => 0xffff,
        };
        out.u16(kind);
        out.zeros(6);
        match *self {
            QueueProperty::MinRate(rate) | QueueProperty::MaxRate(rate) => {
                out.u16(rate);
                out.zeros(6);
            }
            QueueProperty::Experimenter { experimenter, data } => {
                out.u32(experimenter);
                out.zeros(4);
                out.extend_from_slice(data);
            }
        }
        out.patch(start + 2, start);
        Ok(())
    }
}
