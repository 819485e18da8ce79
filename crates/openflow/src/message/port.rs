//! Messages about ports.

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::Element;
use crate::port::{PortDescription, PortNo, features};
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;
use packet::ethernet::Mac;

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

/// Changes how a port behaves (1.0.2 section 5.3.3, 1.3.5 section 7.3.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortMod {
    pub port: PortNo,
    /// Its hardware address, as a check that the right one is meant.
    pub hardware: Mac,
    /// Bits of [`crate::port::config`].
    pub config: u32,
    /// Which of them to change.
    pub mask: u32,
    /// Bits of [`crate::port::features`] to advertise; 0 for no change.
    pub advertise: u32,
}

impl PortMod {
    pub(super) fn read(version: Version, reader: &mut Reader<'_>) -> Result<PortMod, Fault> {
        let port = PortNo::read(version, reader)?;
        let v13 = version == Version::V13;
        reader.skip(if v13 { 4 } else { 0 })?;
        let hardware = Mac(reader.array()?);
        reader.skip(if v13 { 2 } else { 0 })?;
        let (config, mask, advertise) = (reader.u32()?, reader.u32()?, reader.u32()?);
        reader.skip(4)?;
        let advertise = if v13 {
            advertise
        } else {
            features::from_v10(advertise)
        };
        Ok(PortMod {
            port,
            hardware,
            config,
            mask,
            advertise,
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let v13 = version == Version::V13;
        self.port.write(version, out)?;
        out.zeros(if v13 { 4 } else { 0 });
        out.extend_from_slice(&self.hardware.0);
        out.zeros(if v13 { 2 } else { 0 });
        out.u32(self.config);
        out.u32(self.mask);
        out.u32(if v13 {
            self.advertise
        } else {
            features::to_v10(self.advertise)
        });
        out.zeros(4);
        Ok(())
    }
}
