//! Coded probes for the synchronisation of clocks (Huygens, NSDI 2018): the messages of one pair of probes.
//!
//! The paper gives the idea, and no format: this one is Wireline's own. A message is a probe, and carries the stamps of earlier pairs, so
//! that both ends know all four stamps of each pair and no third message disturbs the gap between two probes.

use crate::BadHeader;
use crate::field;
use alloc::vec::Vec;

/// UDP port of both ends: one of those that are nobody's (RFC 6335).
pub const PORT: u16 = 57_018;
/// Bytes of a message; what is behind it is passed over.
pub const LENGTH: usize = 56;
/// The first bytes.
const MAGIC: [u8; 4] = *b"WHYG";
const VERSION: u8 = 1;

/// Who sends a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Who wants to know the time.
    Client,
    /// Who has it, and answers pair by pair.
    Server,
}

/// What is known of the two probes of a pair at one of its ends: when they left, or came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// Which pair of its sender's.
    pub pair: u32,
    /// The first probe, picoseconds since 1970.
    pub first: i128,
    /// From the first to the second, picoseconds.
    pub gap: u32,
}

/// A probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Of its sender.
    pub role: Role,
    /// Whether it is the second of its pair.
    pub second: bool,
    /// Which pair of the sender's: not 0.
    pub pair: u32,
    /// When an earlier pair of the sender's left.
    pub left: Option<Stamps>,
    /// When a pair of the receiver's came to the sender.
    pub came: Option<Stamps>,
}

impl Probe {
    /// Reads a probe.
    ///
    /// # Errors
    /// When it is cut off, or is none.
    pub fn parse(bytes: &[u8]) -> Result<Probe, BadHeader> {
        let (header, _) = field::split::<LENGTH>(bytes, "coded probe cut off")?;
        if field::bytes::<0, 4, LENGTH>(header) != MAGIC {
            return Err(BadHeader("no coded probe"));
        }
        if header[4] != VERSION {
            return Err(BadHeader("coded probe of another version"));
        }
        let (role, second) = match header[5] {
            0 => (Role::Client, false),
            1 => (Role::Client, true),
            2 => (Role::Server, false),
            3 => (Role::Server, true),
            _ => return Err(BadHeader("coded probe of an unknown type")),
        };
        let pair = field::u32::<8, LENGTH>(header);
        if pair == 0 {
            return Err(BadHeader("coded probe of no pair"));
        }
        let stamps = |bytes: [u8; 22]| {
            let pair = field::u32::<0, 22>(&bytes);
            let mut first = [0; 16];
            // 112 bits are 82 million years.
            first[2..].copy_from_slice(&bytes[4..18]);
            if first[2] >= 0x80 {
                first[..2].fill(0xFF);
            }
            (pair != 0).then_some(Stamps {
                pair,
                first: i128::from_be_bytes(first),
                gap: field::u32::<18, 22>(&bytes),
            })
        };
        Ok(Probe {
            role,
            second,
            pair,
            left: stamps(field::bytes::<12, 22, LENGTH>(header)),
            came: stamps(field::bytes::<34, 22, LENGTH>(header)),
        })
    }

    /// Appends the probe.
    pub fn build(&self, out: &mut Vec<u8>) {
        out.extend(MAGIC);
        let role = match self.role {
            Role::Client => 0,
            Role::Server => 2,
        };
        out.extend([VERSION, role | u8::from(self.second), 0, 0]);
        out.extend(self.pair.to_be_bytes());
        for stamps in [&self.left, &self.came] {
            match stamps {
                None => out.extend([0; 22]),
                Some(stamps) => {
                    out.extend(stamps.pair.to_be_bytes());
                    out.extend(&stamps.first.to_be_bytes()[2..]);
                    out.extend(stamps.gap.to_be_bytes());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe() -> Probe {
        Probe {
            role: Role::Server,
            second: true,
            pair: 7,
            left: Some(Stamps {
                pair: 6,
                first: 1_700_000_000_123_456_789_012,
                gap: 10_000_123,
            }),
            came: Some(Stamps {
                pair: 900,
                first: -5,
                gap: 0,
            }),
        }
    }

    #[test]
    fn a_probe_is_written_and_read_back() {
        for probe in [
            probe(),
            Probe {
                role: Role::Client,
                second: false,
                left: None,
                came: None,
                ..probe()
            },
        ] {
            let mut bytes = Vec::new();
            probe.build(&mut bytes);
            assert_eq!(bytes.len(), LENGTH);
            assert_eq!(Probe::parse(&bytes), Ok(probe));
        }
    }

    #[test]
    fn what_is_no_probe_is_refused() {
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = Vec::new();
            probe().build(&mut bytes);
            change(&mut bytes);
            Probe::parse(&bytes).unwrap_err().0
        };
        assert_eq!(refused(&|bytes| bytes.truncate(55)), "coded probe cut off");
        assert_eq!(refused(&|bytes| bytes[0] = 0), "no coded probe");
        assert_eq!(
            refused(&|bytes| bytes[4] = 2),
            "coded probe of another version"
        );
        assert_eq!(
            refused(&|bytes| bytes[5] = 4),
            "coded probe of an unknown type"
        );
        assert_eq!(
            refused(&|bytes| bytes[8..12].fill(0)),
            "coded probe of no pair"
        );
    }
}
