//! Hello, error, experimenter, features and configuration.

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::List;
use crate::port::PortDescription;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// The first message of each side (1.3.5 section 7.5.1). Its header has the highest version that the sender speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// Bit `n` is set if version `n` is spoken; `None` without a bitmap: then all up to the header's version.
    pub versions: Option<u32>,
}

impl Hello {
    /// Of these versions.
    pub fn of(versions: &[Version]) -> Hello {
        Hello {
            versions: Some(
                versions
                    .iter()
                    .fold(0, |bits, version| bits | 1 << version.wire()),
            ),
        }
    }

    /// Elements that make no sense are ignored, as the specification asks.
    pub(super) fn read(body: &[u8]) -> Hello {
        let mut reader = Reader::new(body, Fault::BadLen);
        while let Ok((kind, mut element)) = reader.padded(8, Fault::BadLen) {
            if kind == 1
                && let Ok(versions) = element.u32()
            {
                return Hello {
                    versions: Some(versions),
                };
            }
        }
        Hello { versions: None }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if let Some(versions) = self.versions {
            out.u16(1);
            out.u16(8);
            out.u32(versions);
        }
    }
}

/// Something went wrong (1.3.5 section 7.5.4). [`Fault::from_wire`] names type and code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorMessage<'a> {
    /// The type.
    pub kind: u16,
    /// The code; the experimenter's type of error, for type 0xffff.
    pub code: u16,
    /// The front of the request; a text, for a hello that failed; for type 0xffff the experimenter's id before it.
    pub data: &'a [u8],
}

impl<'a> ErrorMessage<'a> {
    /// The error of this version that answers a request.
    pub fn new(version: Version, fault: Fault, data: &'a [u8]) -> ErrorMessage<'a> {
        let (kind, code) = fault.wire(version);
        ErrorMessage { kind, code, data }
    }

    pub(super) fn read(reader: &mut Reader<'a>) -> Result<ErrorMessage<'a>, Fault> {
        Ok(ErrorMessage {
            kind: reader.u16()?,
            code: reader.u16()?,
            data: reader.take_rest(),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.kind);
        out.u16(self.code);
        out.extend_from_slice(self.data);
    }
}

/// An experimenter's message (vendor, in 1.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experimenter<'a> {
    /// Whose: an OUI in the lower three bytes, or an id with a first byte of its own.
    pub experimenter: u32,
    /// Its type; 0 in 1.0, whose header has none: there it stands in the data, as the experimenter pleases.
    pub kind: u32,
    /// What follows.
    pub data: &'a [u8],
}

impl<'a> Experimenter<'a> {
    pub(super) fn read(
        version: Version,
        reader: &mut Reader<'a>,
    ) -> Result<Experimenter<'a>, Fault> {
        let experimenter = reader.u32()?;
        let kind = match version {
            Version::V10 => 0,
            Version::V13 => reader.u32()?,
        };
        Ok(Experimenter {
            experimenter,
            kind,
            data: reader.take_rest(),
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u32(self.experimenter);
        match version {
            Version::V10 if self.kind != 0 => {
                return Err(Unsupported::new(
                    version,
                    "the type of an experimenter's message",
                ));
            }
            Version::V10 => {}
            Version::V13 => out.u32(self.kind),
        }
        out.extend_from_slice(self.data);
        Ok(())
    }
}

/// Bits of [`Features::capabilities`].
pub mod capabilities {
    /// Flow statistics.
    pub const FLOW_STATS: u32 = 1;
    /// Table statistics.
    pub const TABLE_STATS: u32 = 1 << 1;
    /// Port statistics.
    pub const PORT_STATS: u32 = 1 << 2;
    /// 802.1d spanning tree; 1.0 only.
    pub const STP: u32 = 1 << 3;
    /// Group statistics; 1.3 only.
    pub const GROUP_STATS: u32 = 1 << 3;
    /// Can put IP fragments together.
    pub const IP_REASM: u32 = 1 << 5;
    /// Queue statistics.
    pub const QUEUE_STATS: u32 = 1 << 6;
    /// Matches the addresses in ARP; 1.0 only.
    pub const ARP_MATCH_IP: u32 = 1 << 7;
    /// Blocks ports that would make a loop; 1.3 only.
    pub const PORT_BLOCKED: u32 = 1 << 8;
}

/// What a switch is (1.0.2 section 5.3.1, 1.3.5 section 7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features<'a> {
    /// The switch: a MAC address in the lower 48 bits, by custom.
    pub datapath_id: u64,
    /// Packets that it can keep.
    pub n_buffers: u32,
    /// Its flow tables.
    pub n_tables: u8,
    /// 0 on the main connection; always 0 in 1.0.
    pub auxiliary_id: u8,
    /// Bits of [`capabilities`].
    pub capabilities: u32,
    /// The actions of 1.0, a bit for each number; in 1.3 reserved.
    pub actions: u32,
    /// The ports in 1.0; in 1.3 they are in a multipart reply, and none can be here.
    pub ports: List<'a, PortDescription>,
}

impl<'a> Features<'a> {
    pub(super) fn read(version: Version, reader: &mut Reader<'a>) -> Result<Features<'a>, Fault> {
        let (datapath_id, n_buffers, n_tables) = (reader.u64()?, reader.u32()?, reader.u8()?);
        let auxiliary_id = reader.u8()?;
        reader.skip(2)?;
        let (capabilities, actions) = (reader.u32()?, reader.u32()?);
        let ports = match version {
            Version::V10 => List::from_wire(version, reader.take_rest())?,
            Version::V13 => List::EMPTY,
        };
        let auxiliary_id = if version == Version::V10 {
            0
        } else {
            auxiliary_id
        };
        Ok(Features {
            datapath_id,
            n_buffers,
            n_tables,
            auxiliary_id,
            capabilities,
            actions,
            ports,
        })
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        if version == Version::V13 && !self.ports.is_empty() {
            return Err(Unsupported::new(version, "ports in a features reply"));
        }
        if version == Version::V10 && self.auxiliary_id != 0 {
            return Err(Unsupported::new(version, "an auxiliary connection"));
        }
        out.u64(self.datapath_id);
        out.u32(self.n_buffers);
        out.u8(self.n_tables);
        out.u8(self.auxiliary_id);
        out.zeros(2);
        out.u32(self.capabilities);
        out.u32(self.actions);
        self.ports.write(version, out)
    }
}

/// The configuration of a switch (1.3.5 section 7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// IP fragments: 0 as any packet, 1 dropped, 2 put together, 3 (1.0, Nicira) matched by kind.
    pub flags: u16,
    /// The bytes of a packet that go to the controller on a miss; 0xffff for all without buffering.
    pub miss_send_len: u16,
}

impl Config {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Config, Fault> {
        Ok(Config {
            flags: reader.u16()?,
            miss_send_len: reader.u16()?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.flags);
        out.u16(self.miss_send_len);
    }
}

/// Changes a table (1.3.5 section 7.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableMod {
    /// The table, or 255 for all.
    pub table: u8,
    /// Reserved; 3 is what older versions gave a meaning to.
    pub config: u32,
}

impl TableMod {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<TableMod, Fault> {
        let table = reader.u8()?;
        reader.skip(3)?;
        Ok(TableMod {
            table,
            config: reader.u32()?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u8(self.table);
        out.zeros(3);
        out.u32(self.config);
    }
}
