//! Flow-mod and flow-removed.

use super::packet::{read_buffer, write_buffer};
use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::instruction::{self, Instruction};
use crate::list::List;
use crate::matching::Match;
use crate::port::PortNo;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// The group that says: any, or none.
pub const ANY_GROUP: u32 = u32::MAX;

/// The table that says: all.
pub const ALL_TABLES: u8 = 0xff;

/// What a flow-mod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FlowCommand {
    /// Adds an entry, in place of one with the same match and priority.
    Add = 0,
    /// Sets the instructions of all entries within the match.
    Modify = 1,
    /// Sets the instructions of the entry with this match and priority.
    ModifyStrict = 2,
    /// Deletes all entries within the match.
    Delete = 3,
    /// Deletes the entry with this match and priority.
    DeleteStrict = 4,
}

impl FlowCommand {
    /// Whether it deletes.
    pub fn is_delete(self) -> bool {
        matches!(self, FlowCommand::Delete | FlowCommand::DeleteStrict)
    }

    fn from_wire(number: u16) -> Result<FlowCommand, Fault> {
        Ok(match number {
            0 => FlowCommand::Add,
            1 => FlowCommand::Modify,
            2 => FlowCommand::ModifyStrict,
            3 => FlowCommand::Delete,
            4 => FlowCommand::DeleteStrict,
            _ => return Err(Fault::BadCommand),
        })
    }
}

/// Bits of [`FlowMod::flags`].
pub mod flow_flags {
    /// Send a flow-removed when the entry goes.
    pub const SEND_FLOW_REM: u16 = 1;
    /// Refuse it if an entry of the same priority overlaps.
    pub const CHECK_OVERLAP: u16 = 1 << 1;
    /// Begin the counters again; 1.3 only.
    pub const RESET_COUNTS: u16 = 1 << 2;
    /// Do not count packets; 1.3 only.
    pub const NO_PKT_COUNTS: u16 = 1 << 3;
    /// Do not count bytes; 1.3 only.
    pub const NO_BYT_COUNTS: u16 = 1 << 4;
    /// An entry for when the controller is lost; 1.0 only, where it is bit 2.
    pub const EMERGENCY: u16 = 1 << 15;

    pub(super) const V10: u16 = SEND_FLOW_REM | CHECK_OVERLAP | EMERGENCY;
    pub(super) const V13: u16 = 0x1f;
}

pub(super) fn read_flags(version: Version, bits: u16) -> Result<u16, Fault> {
    use flow_flags::*;
    match version {
        Version::V10 if bits > 7 => Err(Fault::BadCommand),
        Version::V10 => Ok(bits & 3 | (bits & 4) << 13),
        Version::V13 if bits & !V13 != 0 => Err(Fault::BadFlags),
        Version::V13 => Ok(bits),
    }
}

pub(super) fn write_flags(version: Version, bits: u16) -> Result<u16, Unsupported> {
    use flow_flags::*;
    match version {
        Version::V10 if bits & !V10 == 0 => Ok(bits & 3 | (bits & EMERGENCY) >> 13),
        Version::V13 if bits & !V13 == 0 => Ok(bits),
        _ => Err(Unsupported::new(version, "these flags of an entry")),
    }
}

/// Changes entries (1.0.2 section 5.3.3, 1.3.5 section 7.3.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowMod<'a> {
    /// What it does.
    pub command: FlowCommand,
    /// The table; [`ALL_TABLES`] for deletion from all. In 1.0, which has no tables here: that for deletion, else 0.
    pub table: u8,
    /// The controller's mark on the entry.
    pub cookie: u64,
    /// Modify and delete only entries whose cookie has the same bits under this mask; 0 in 1.0.
    pub cookie_mask: u64,
    pub matching: Match<'a>,
    /// The higher goes first.
    pub priority: u16,
    /// Seconds without a packet after which it goes; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which it goes; 0 for never.
    pub hard_timeout: u16,
    /// The buffered packet to apply it to.
    pub buffer: Option<u32>,
    /// Delete only entries that output to this port, unless [`PortNo::ANY`].
    pub out_port: PortNo,
    /// Delete only entries that have this group, unless [`ANY_GROUP`]; that in 1.0.
    pub out_group: u32,
    /// Bits of [`flow_flags`].
    pub flags: u16,
    /// What to do with a packet; in 1.0 one apply-actions, or nothing.
    pub instructions: List<'a, Instruction<'a>>,
}

impl Default for FlowMod<'_> {
    /// Adds an entry to table 0 that drops everything, with priority 0x8000.
    fn default() -> Self {
        FlowMod {
            command: FlowCommand::Add,
            table: 0,
            cookie: 0,
            cookie_mask: 0,
            matching: Match::ALL,
            priority: 0x8000,
            idle_timeout: 0,
            hard_timeout: 0,
            buffer: None,
            out_port: PortNo::ANY,
            out_group: ANY_GROUP,
            flags: 0,
            instructions: List::EMPTY,
        }
    }
}

impl<'a> FlowMod<'a> {
    pub(super) fn read(version: Version, reader: &mut Reader<'a>) -> Result<FlowMod<'a>, Fault> {
        let flow = match version {
            Version::V10 => FlowMod::read_v10(reader)?,
            Version::V13 => FlowMod::read_v13(reader)?,
        };
        instruction::check(flow.instructions)?;
        Ok(flow)
    }

    fn read_v10(reader: &mut Reader<'a>) -> Result<FlowMod<'a>, Fault> {
        let matching = Match::read(Version::V10, reader)?;
        let (cookie, command) = (reader.u64()?, FlowCommand::from_wire(reader.u16()?)?);
        let (idle_timeout, hard_timeout) = (reader.u16()?, reader.u16()?);
        let (priority, buffer) = (reader.u16()?, read_buffer(reader)?);
        let out_port = PortNo::read(Version::V10, reader)?;
        let flags = read_flags(Version::V10, reader.u16()?)?;
        Ok(FlowMod {
            command,
            table: if command.is_delete() { ALL_TABLES } else { 0 },
            cookie,
            cookie_mask: 0,
            matching,
            priority,
            idle_timeout,
            hard_timeout,
            buffer,
            out_port,
            out_group: ANY_GROUP,
            flags,
            instructions: List::from_wire(Version::V10, reader.take_rest())?,
        })
    }

    fn read_v13(reader: &mut Reader<'a>) -> Result<FlowMod<'a>, Fault> {
        let (cookie, cookie_mask, table) = (reader.u64()?, reader.u64()?, reader.u8()?);
        let command = FlowCommand::from_wire(reader.u8()?.into())?;
        let (idle_timeout, hard_timeout) = (reader.u16()?, reader.u16()?);
        let (priority, buffer) = (reader.u16()?, read_buffer(reader)?);
        let (out_port, out_group) = (PortNo(reader.u32()?), reader.u32()?);
        let flags = read_flags(Version::V13, reader.u16()?)?;
        reader.skip(2)?;
        let matching = Match::read(Version::V13, reader)?;
        Ok(FlowMod {
            command,
            table,
            cookie,
            cookie_mask,
            matching,
            priority,
            idle_timeout,
            hard_timeout,
            buffer,
            out_port,
            out_group,
            flags,
            instructions: List::from_wire(Version::V13, reader.take_rest())?,
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        match version {
            Version::V10 => self.write_v10(out),
            Version::V13 => self.write_v13(out),
        }
    }

    fn write_v10(&self, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let no = |what| Err(Unsupported::new(Version::V10, what));
        match self.table {
            0 | ALL_TABLES => {}
            _ => return no("a table"),
        }
        if self.cookie_mask != 0 {
            return no("a mask on the cookie");
        }
        if self.out_group != ANY_GROUP {
            return no("a group");
        }
        self.matching.write(Version::V10, out)?;
        out.u64(self.cookie);
        out.u16(self.command as u16);
        out.u16(self.idle_timeout);
        out.u16(self.hard_timeout);
        out.u16(self.priority);
        write_buffer(self.buffer, out);
        self.out_port.write(Version::V10, out)?;
        out.u16(write_flags(Version::V10, self.flags)?);
        self.instructions.write(Version::V10, out)
    }

    fn write_v13(&self, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u64(self.cookie);
        out.u64(self.cookie_mask);
        out.u8(self.table);
        out.u8(self.command as u8);
        out.u16(self.idle_timeout);
        out.u16(self.hard_timeout);
        out.u16(self.priority);
        write_buffer(self.buffer, out);
        out.u32(self.out_port.0);
        out.u32(self.out_group);
        out.u16(write_flags(Version::V13, self.flags)?);
        out.zeros(2);
        self.matching.write(Version::V13, out)?;
        self.instructions.write(Version::V13, out)
    }
}

/// Why an entry is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FlowRemovedReason {
    /// No packet for its idle timeout.
    IdleTimeout = 0,
    HardTimeout = 1,
    /// A flow-mod deleted it.
    Delete = 2,
    /// Its group was deleted; 1.3 only.
    GroupDelete = 3,
}

/// An entry is gone (1.0.2 section 5.4.3, 1.3.5 section 7.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRemoved<'a> {
    pub matching: Match<'a>,
    /// The controller's mark on it.
    pub cookie: u64,
    pub priority: u16,
    pub reason: FlowRemovedReason,
    /// Its table; 0 in 1.0.
    pub table: u8,
    /// How long it was there: whole seconds.
    pub duration_s: u32,
    /// And nanoseconds.
    pub duration_ns: u32,
    /// Its idle timeout, in seconds.
    pub idle_timeout: u16,
    /// Its hard timeout, in seconds; 0 in 1.0.
    pub hard_timeout: u16,
    /// The packets that it matched.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

fn read_reason(version: Version, reader: &mut Reader<'_>) -> Result<FlowRemovedReason, Fault> {
    Ok(match (reader.u8()?, version) {
        (0, _) => FlowRemovedReason::IdleTimeout,
        (1, _) => FlowRemovedReason::HardTimeout,
        (2, _) => FlowRemovedReason::Delete,
        (3, Version::V13) => FlowRemovedReason::GroupDelete,
        _ => return Err(Fault::BadType),
    })
}

impl<'a> FlowRemoved<'a> {
    pub(super) fn read(
        version: Version,
        reader: &mut Reader<'a>,
    ) -> Result<FlowRemoved<'a>, Fault> {
        match version {
            Version::V10 => {
                let matching = Match::read_told(version, reader)?;
                let (cookie, priority) = (reader.u64()?, reader.u16()?);
                let reason = read_reason(version, reader)?;
                reader.skip(1)?;
                let (duration_s, duration_ns) = (reader.u32()?, reader.u32()?);
                let idle_timeout = reader.u16()?;
                reader.skip(2)?;
                Ok(FlowRemoved {
                    matching,
                    cookie,
                    priority,
                    reason,
                    table: 0,
                    duration_s,
                    duration_ns,
                    idle_timeout,
                    hard_timeout: 0,
                    packets: reader.u64()?,
                    bytes: reader.u64()?,
                })
            }
            Version::V13 => {
                let (cookie, priority) = (reader.u64()?, reader.u16()?);
                let (reason, table) = (read_reason(version, reader)?, reader.u8()?);
                let (duration_s, duration_ns) = (reader.u32()?, reader.u32()?);
                let (idle_timeout, hard_timeout) = (reader.u16()?, reader.u16()?);
                let (packets, bytes) = (reader.u64()?, reader.u64()?);
                Ok(FlowRemoved {
                    matching: Match::read_told(version, reader)?,
                    cookie,
                    priority,
                    reason,
                    table,
                    duration_s,
                    duration_ns,
                    idle_timeout,
                    hard_timeout,
                    packets,
                    bytes,
                })
            }
        }
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        if version == Version::V10 {
            if self.reason == FlowRemovedReason::GroupDelete {
                return Err(Unsupported::new(version, "a group"));
            }
            self.matching.write(version, out)?;
        }
        out.u64(self.cookie);
        out.u16(self.priority);
        out.u8(self.reason as u8);
        out.u8(if version == Version::V10 {
            0
        } else {
            self.table
        });
        out.u32(self.duration_s);
        out.u32(self.duration_ns);
        out.u16(self.idle_timeout);
        out.u16(if version == Version::V10 {
            0
        } else {
            self.hard_timeout
        });
        out.u64(self.packets);
        out.u64(self.bytes);
        match version {
            Version::V10 => Ok(()),
            Version::V13 => self.matching.write(version, out),
        }
    }
}
