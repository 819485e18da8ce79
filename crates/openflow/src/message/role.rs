//! Roles and which asynchronous messages a controller gets (1.3.5 sections 7.3.9 and 7.3.10).

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use alloc::vec::Vec;

/// The role of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Role {
    /// As it is: a question.
    NoChange = 0,
    /// Full access, beside others.
    Equal = 1,
    /// Full access, and no other master.
    Master = 2,
    /// May only read.
    Slave = 3,
}

/// A role request or its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleMessage {
    pub role: Role,
    /// What tells old requests for master or slave from new ones.
    pub generation: u64,
}

impl RoleMessage {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<RoleMessage, Fault> {
        let role = match reader.u32()? {
            0 => Role::NoChange,
            1 => Role::Equal,
            2 => Role::Master,
            3 => Role::Slave,
            _ => return Err(Fault::BadRole),
        };
        reader.skip(4)?;
        Ok(RoleMessage {
            role,
            generation: reader.u64()?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.role as u32);
        out.zeros(4);
        out.u64(self.generation);
    }
}

/// Which asynchronous messages a controller gets: a bit for each reason. The first of each pair is for the master and
/// equal roles, the second for the slave role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Async {
    /// Bits of [`super::PacketInReason`].
    pub packet_in: [u32; 2],
    /// Bits of [`super::PortReason`].
    pub port_status: [u32; 2],
    /// Bits of [`super::FlowRemovedReason`].
    pub flow_removed: [u32; 2],
}

impl Async {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Async, Fault> {
        Ok(Async {
            packet_in: [reader.u32()?, reader.u32()?],
            port_status: [reader.u32()?, reader.u32()?],
            flow_removed: [reader.u32()?, reader.u32()?],
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for bits in [self.packet_in, self.port_status, self.flow_removed]
            .into_iter()
            .flatten()
        {
            out.u32(bits);
        }
    }
}
