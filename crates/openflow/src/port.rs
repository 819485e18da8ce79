//! Port numbers and descriptions (1.0.2 section 5.2.1, 1.3.5 section 7.2.1).

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::Element;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;
use core::fmt;
use packet::ethernet::Mac;

/// The number of a port, as 1.3 writes it; the reserved ones of 1.0 (16 bits) become those of 1.3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNo(pub u32);

impl PortNo {
    /// The number of the first reserved port: below it are the switch's ports.
    pub const MAX: PortNo = PortNo(0xffff_ff00);
    /// The port that the packet came in by.
    pub const IN_PORT: PortNo = PortNo(0xffff_fff8);
    /// The flow tables; for packet-out only.
    pub const TABLE: PortNo = PortNo(0xffff_fff9);
    /// The switch's own forwarding.
    pub const NORMAL: PortNo = PortNo(0xffff_fffa);
    /// All ports of the VLAN or spanning tree but the one it came in by.
    pub const FLOOD: PortNo = PortNo(0xffff_fffb);
    /// All ports but the one it came in by.
    pub const ALL: PortNo = PortNo(0xffff_fffc);
    pub const CONTROLLER: PortNo = PortNo(0xffff_fffd);
    /// The switch's own network stack.
    pub const LOCAL: PortNo = PortNo(0xffff_fffe);
    /// None, or any; NONE in 1.0.
    pub const ANY: PortNo = PortNo(0xffff_ffff);

    /// Whether it is a port of the switch: neither zero nor reserved.
    pub fn is_physical(self) -> bool {
        self.0 != 0 && self.0 < PortNo::MAX.0
    }

    /// From the 16 bits of 1.0.
    pub const fn from_v10(number: u16) -> PortNo {
        PortNo(if number >= 0xff00 {
            0xffff_0000 | number as u32
        } else {
            number as u32
        })
    }

    /// As the 16 bits of 1.0; `None` for a number that has no room there.
    pub const fn to_v10(self) -> Option<u16> {
        match self.0 {
            0..0xff00 | 0xffff_ff00.. => Some(self.0 as u16),
            _ => None,
        }
    }

    /// The name of a reserved port, in capitals.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            PortNo::IN_PORT => "IN_PORT",
            PortNo::TABLE => "TABLE",
            PortNo::NORMAL => "NORMAL",
            PortNo::FLOOD => "FLOOD",
            PortNo::ALL => "ALL",
            PortNo::CONTROLLER => "CONTROLLER",
            PortNo::LOCAL => "LOCAL",
            PortNo::ANY => "ANY",
            _ => return None,
        })
    }

    pub(crate) fn read(version: Version, reader: &mut Reader<'_>) -> Result<PortNo, Fault> {
        Ok(match version {
            Version::V10 => PortNo::from_v10(reader.u16()?),
            Version::V13 => PortNo(reader.u32()?),
        })
    }

    pub(crate) fn write(self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        match version {
            Version::V10 => {
                let number = self.to_v10();
                out.u16(number.ok_or(Unsupported::new(version, "a port number above 65,279"))?);
            }
            Version::V13 => out.u32(self.0),
        }
        Ok(())
    }
}

impl fmt::Display for PortNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for PortNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Bits of [`PortDescription::config`] and of a port-mod: the same in both versions.
pub mod config {
    /// The port is administratively down.
    pub const PORT_DOWN: u32 = 1;
    /// No spanning tree on this port; 1.0 only.
    pub const NO_STP: u32 = 1 << 1;
    /// Drop all that it receives.
    pub const NO_RECV: u32 = 1 << 2;
    /// Drop the spanning tree messages that it receives; 1.0 only.
    pub const NO_RECV_STP: u32 = 1 << 3;
    /// Not among the ports that flooding reaches; 1.0 only.
    pub const NO_FLOOD: u32 = 1 << 4;
    /// Drop what is forwarded to it.
    pub const NO_FWD: u32 = 1 << 5;
    /// No packet-in for what it receives.
    pub const NO_PACKET_IN: u32 = 1 << 6;
}

/// Bits of [`PortDescription::state`].
pub mod state {
    /// No physical link.
    pub const LINK_DOWN: u32 = 1;
    /// Blocked by the switch; 1.3 only.
    pub const BLOCKED: u32 = 1 << 1;
    /// Live for fast failover groups; 1.3 only.
    pub const LIVE: u32 = 1 << 2;
    /// The state of the spanning tree; 1.0 only.
    pub const STP_MASK: u32 = 3 << 8;
}

/// Bits of the features of a port, as 1.3 numbers them; in 1.0 COPPER and those behind it are four bits lower.
pub mod features {
    /// 10 Mb/s half duplex.
    pub const MB10_HD: u32 = 1;
    /// 10 Mb/s full duplex.
    pub const MB10_FD: u32 = 1 << 1;
    /// 100 Mb/s half duplex.
    pub const MB100_HD: u32 = 1 << 2;
    /// 100 Mb/s full duplex.
    pub const MB100_FD: u32 = 1 << 3;
    /// 1 Gb/s half duplex.
    pub const GB1_HD: u32 = 1 << 4;
    /// 1 Gb/s full duplex.
    pub const GB1_FD: u32 = 1 << 5;
    /// 10 Gb/s.
    pub const GB10_FD: u32 = 1 << 6;
    /// 40 Gb/s; 1.3 only.
    pub const GB40_FD: u32 = 1 << 7;
    /// 100 Gb/s; 1.3 only.
    pub const GB100_FD: u32 = 1 << 8;
    /// 1 Tb/s; 1.3 only.
    pub const TB1_FD: u32 = 1 << 9;
    /// Another rate; 1.3 only.
    pub const OTHER: u32 = 1 << 10;
    pub const COPPER: u32 = 1 << 11;
    /// Fibre.
    pub const FIBER: u32 = 1 << 12;
    /// The rate is negotiated.
    pub const AUTONEG: u32 = 1 << 13;
    pub const PAUSE: u32 = 1 << 14;
    /// Asymmetric pause.
    pub const PAUSE_ASYM: u32 = 1 << 15;

    /// From the bits of 1.0.
    pub(crate) fn from_v10(bits: u32) -> u32 {
        (bits & 0x7f) | ((bits >> 7) & 0x1f) << 11
    }

    /// As the bits of 1.0, without the rates that it does not know.
    pub(crate) fn to_v10(bits: u32) -> u32 {
        (bits & 0x7f) | ((bits >> 11) & 0x1f) << 7
    }
}

/// The name of a port or a table: its bytes up to the first zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name<const N: usize>(pub [u8; N]);

impl<const N: usize> Name<N> {
    /// The first `N - 1` bytes of the text.
    pub fn new(text: &str) -> Name<N> {
        let mut bytes = [0; N];
        for (byte, from) in bytes[..N - 1].iter_mut().zip(text.bytes()) {
            *byte = from;
        }
        Name(bytes)
    }

    /// The bytes before the first zero.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or(&[])
    }
}

impl<const N: usize> Default for Name<N> {
    fn default() -> Self {
        Name([0; N])
    }
}

impl<const N: usize> fmt::Display for Name<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.as_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("?")?;
            }
        }
        Ok(())
    }
}

impl<const N: usize> fmt::Debug for Name<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A port as the switch describes it: in the features reply of 1.0, a multipart reply of 1.3, and port-status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortDescription {
    pub number: PortNo,
    /// Its hardware address.
    pub hardware: Mac,
    pub name: Name<16>,
    /// Bits of [`config`].
    pub config: u32,
    /// Bits of [`state`].
    pub state: u32,
    /// Bits of [`features`]: as it runs now.
    pub current: u32,
    /// Bits of [`features`]: what it advertises.
    pub advertised: u32,
    /// Bits of [`features`]: what it could.
    pub supported: u32,
    /// Bits of [`features`]: what its peer advertises.
    pub peer: u32,
    /// Its rate now, in kb/s; 0 in 1.0.
    pub current_speed: u32,
    /// Its highest rate, in kb/s; 0 in 1.0.
    pub max_speed: u32,
}

impl<'a> Element<'a> for PortDescription {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let number = PortNo::read(version, reader)?;
        if version == Version::V13 {
            reader.skip(4)?;
        }
        let hardware = Mac(reader.array()?);
        if version == Version::V13 {
            reader.skip(2)?;
        }
        let name = Name(reader.array()?);
        let (config, state) = (reader.u32()?, reader.u32()?);
        let mut bits = [0; 4];
        for word in &mut bits {
            *word = reader.u32()?;
            if version == Version::V10 {
                *word = features::from_v10(*word);
            }
        }
        let (current_speed, max_speed) = match version {
            Version::V10 => (0, 0),
            Version::V13 => (reader.u32()?, reader.u32()?),
        };
        let [current, advertised, supported, peer] = bits;
        Ok(PortDescription {
            number,
            hardware,
            name,
            config,
            state,
            current,
            advertised,
            supported,
            peer,
            current_speed,
            max_speed,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        self.number.write(version, out)?;
        if version == Version::V13 {
            out.zeros(4);
        }
        out.extend_from_slice(&self.hardware.0);
        if version == Version::V13 {
            out.zeros(2);
        }
        out.extend_from_slice(&self.name.0);
        out.u32(self.config);
        out.u32(self.state);
        for bits in [self.current, self.advertised, self.supported, self.peer] {
            out.u32(match version {
                Version::V10 => features::to_v10(bits),
                Version::V13 => bits,
            });
        }
        if version == Version::V13 {
            out.u32(self.current_speed);
            out.u32(self.max_speed);
        }
        Ok(())
    }
}
