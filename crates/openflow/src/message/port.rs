//! Messages about ports.

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::Element;
use crate::port::PortDescription;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// What became of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PortReason {
    /// It came.
    Add = 0,
    /// It is gone.
    Delete = 1,
    /// It changed.
    Modify = 2,
}

/// A port came, went, or changed (1.3.5 section 7.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortStatus {
    /// What became of it.
    pub reason: PortReason,
    /// The port.
    pub port: PortDescription,
}

impl PortStatus {
    pub(super) fn read(version: Version, reader: &mut Reader<'_>) -> Result<PortStatus, Fault> {
        let reason = match reader.u8()? {
            0 => PortReason::Add,
            1 => PortReason::Delete,
            2 => PortReason::Modify,
            _ => return Err(Fault::BadType),
        };
        reader.skip(7)?;
        Ok(PortStatus {
            reason,
            port: PortDescription::read(version, reader)?,
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u8(self.reason as u8);
        out.zeros(7);
        self.port.write(version, out)
    }
}
