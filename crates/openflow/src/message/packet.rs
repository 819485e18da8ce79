//! Packet-in and packet-out.

use crate::action::{self, Action};
use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::List;
use crate::matching::Match;
use crate::oxm::Field;
use crate::port::PortNo;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// The buffer id that says: none.
const NO_BUFFER: u32 = u32::MAX;

pub(super) fn read_buffer(reader: &mut Reader<'_>) -> Result<Option<u32>, Fault> {
    Ok(Some(reader.u32()?).filter(|buffer| *buffer != NO_BUFFER))
}

pub(super) fn write_buffer(buffer: Option<u32>, out: &mut Vec<u8>) {
    out.u32(buffer.unwrap_or(NO_BUFFER));
}

/// Why a packet went to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketInReason {
    /// No entry, or the table-miss entry.
    NoMatch = 0,
    /// An output action.
    Action = 1,
    /// An invalid TTL; 1.3 only.
    InvalidTtl = 2,
}

/// A packet for the controller (1.0.2 section 5.4.1, 1.3.5 section 7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketIn<'a> {
    /// Where the switch keeps it.
    pub buffer: Option<u32>,
    /// The length of the whole frame, in bytes.
    pub total_len: u16,
    pub reason: PacketInReason,
    /// The table of the entry; 0 in 1.0.
    pub table: u8,
    /// The cookie of the entry; all ones in 1.0, or without one.
    pub cookie: u64,
    /// The input port, and what else is known but stands not in the packet; in 1.0, the input port alone.
    pub fields: Match<'a>,
    /// The frame, or its front.
    pub data: &'a [u8],
}

impl<'a> PacketIn<'a> {
    /// The input port; [`PortNo::ANY`] if it is missing.
    pub fn in_port(&self) -> PortNo {
        let field = self.fields.get(Field::InPort);
        field.map_or(PortNo::ANY, |oxm| PortNo(oxm.value as u32))
    }

    pub(super) fn read(version: Version, reader: &mut Reader<'a>) -> Result<PacketIn<'a>, Fault> {
        let (buffer, total_len) = (read_buffer(reader)?, reader.u16()?);
        let reason = |reason| match (reason, version) {
            (0, _) => Ok(PacketInReason::NoMatch),
            (1, _) => Ok(PacketInReason::Action),
            (2, Version::V13) => Ok(PacketInReason::InvalidTtl),
            _ => Err(Fault::BadType),
        };
        let (reason, table, cookie, fields) = match version {
            Version::V10 => {
                let port = PortNo::from_v10(reader.u16()?);
                let reason = reason(reader.u8()?)?;
                reader.skip(1)?;
                (reason, 0, u64::MAX, Match::in_port(port))
            }
            Version::V13 => {
                let (reason, table) = (reason(reader.u8()?)?, reader.u8()?);
                let (cookie, fields) = (reader.u64()?, Match::read_told(version, reader)?);
                reader.skip(2)?;
                (reason, table, cookie, fields)
            }
        };
        let data = reader.take_rest();
        Ok(PacketIn {
            buffer,
            total_len,
            reason,
            table,
            cookie,
            fields,
            data,
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        write_buffer(self.buffer, out);
        out.u16(self.total_len);
        match version {
            Version::V10 => {
                if self.reason == PacketInReason::InvalidTtl {
                    return Err(Unsupported::new(version, "that a TTL is invalid"));
                }
                self.in_port().write(version, out)?;
                out.u8(self.reason as u8);
                out.zeros(1);
            }
            Version::V13 => {
                out.u8(self.reason as u8);
                out.u8(self.table);
                out.u64(self.cookie);
                self.fields.write(version, out)?;
                out.zeros(2);
            }
        }
        out.extend_from_slice(self.data);
        Ok(())
    }
}

/// A packet to send (1.0.2 section 5.3.6, 1.3.5 section 7.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOut<'a> {
    /// The buffered packet to send, in place of `data`.
    pub buffer: Option<u32>,
    /// As if it had come in by this port; [`PortNo::CONTROLLER`] or [`PortNo::ANY`] for none.
    pub in_port: PortNo,
    /// What to do with it.
    pub actions: List<'a, Action<'a>>,
    /// The frame, without a buffer.
    pub data: &'a [u8],
}

impl<'a> PacketOut<'a> {
    pub(super) fn read(version: Version, reader: &mut Reader<'a>) -> Result<PacketOut<'a>, Fault> {
        let (buffer, in_port) = (read_buffer(reader)?, PortNo::read(version, reader)?);
        let length = usize::from(reader.u16()?);
        if version == Version::V13 {
            reader.skip(6)?;
        }
        let actions = List::from_wire(version, reader.take(length)?)?;
        action::check(actions)?;
        Ok(PacketOut {
            buffer,
            in_port,
            actions,
            data: reader.take_rest(),
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        write_buffer(self.buffer, out);
        self.in_port.write(version, out)?;
        let length = out.len();
        out.zeros(if version == Version::V13 { 8 } else { 2 });
        let start = out.len();
        self.actions.write(version, out)?;
        out.patch(length, start);
        out.extend_from_slice(self.data);
        Ok(())
    }
}
