//! Distribution of frames over the links of a group: Linux's `xmit_hash_policy` (networking/bonding.rst).

use packet::ethernet::ethertype;

/// Fields of a frame that choose its link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
pub enum Hash {
    /// MAC addresses and type.
    #[default]
    #[cfg_attr(feature = "serde", serde(rename = "layer2"))]
    Layer2,
    /// Those and IP addresses.
    #[cfg_attr(feature = "serde", serde(rename = "layer2+3"))]
    Layer23,
    /// IP addresses and ports; of frames without IP as `layer2`.
    #[cfg_attr(feature = "serde", serde(rename = "layer3+4"))]
    Layer34,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..).and_then(|rest| rest.first_chunk());
    part.map_or(0, |part| u32::from_be_bytes(*part))
}

impl Hash {
    /// The hash of a frame; its remainder by the number of links is the link's index. Frames of one flow
    /// have one hash.
    pub fn of(self, frame: &[u8]) -> u32 {
        let byte = |at: usize| u32::from(frame.get(at).copied().unwrap_or(0));
        let kind = (byte(12) << 8 | byte(13)) as u16;
        let layer2 = byte(5) ^ byte(11) ^ u32::from(kind);
        // Source XOR destination, the ports, and whether there is an IP header.
        let (addresses, ports) = match kind {
            _ if self == Hash::Layer2 => return layer2,
            ethertype::IPV4 if frame.len() >= 34 => {
                let is_fragment = word(frame, 20) >> 16 & 0x3FFF != 0;
                let header = 14 + usize::from(frame[14] & 15) * 4;
                let has_ports = matches!(frame[23], 6 | 17) && !is_fragment;
                let ports = if has_ports { word(frame, header) } else { 0 };
                (word(frame, 26) ^ word(frame, 30), ports)
            }
            ethertype::IPV6 if frame.len() >= 54 => {
                let addresses = (22..54).step_by(4).fold(0, |all, at| all ^ word(frame, at));
                let has_ports = matches!(frame[20], 6 | 17);
                (addresses, if has_ports { word(frame, 54) } else { 0 })
            }
            _ => return layer2,
        };
        let first = match self {
            Hash::Layer34 => ports,
            _ => layer2,
        };
        let hash = first ^ addresses;
        let hash = hash ^ hash >> 16;
        hash ^ hash >> 8
    }
}
