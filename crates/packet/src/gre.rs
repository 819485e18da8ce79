//! GRE (RFC 2784) with key and sequence number (RFC 2890).

use crate::BadHeader;
use crate::checksum::{Sum, checksum};
use crate::field;
use alloc::vec::Vec;

/// Flags of the first 16 bits. Routing is from RFC 1701, and given up since.
const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const VERSION: u16 = 0x0007;

/// A header that is all there, and what is behind it. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct GreView<'a> {
    all: &'a [u8],
    header: &'a [u8; 4],
    key: Option<u32>,
    sequence: Option<u32>,
    payload: &'a [u8],
}

impl<'a> GreView<'a> {
    /// Looks at a packet, which goes to the end of `bytes`. The checksum is not looked at.
    ///
    /// # Errors
    /// When the header is cut off, of another version, or has routing fields.
    pub fn new(bytes: &'a [u8]) -> Result<GreView<'a>, BadHeader> {
        let cut = "GRE header cut off";
        let (header, mut payload) = field::split::<4>(bytes, cut)?;
        let flags = field::u16::<0, 4>(header);
        if flags & VERSION != 0 {
            return Err(BadHeader("GRE header of another version"));
        }
        if flags & ROUTING != 0 {
            return Err(BadHeader("GRE header with routing"));
        }
        let mut next = |flag| match flags & flag {
            0 => Ok(None),
            _ => field::split::<4>(payload, cut).map(|(word, rest)| {
                payload = rest;
                Some(u32::from_be_bytes(*word))
            }),
        };
        next(CHECKSUM)?;
        let (key, sequence) = (next(KEY)?, next(SEQUENCE)?);
        Ok(GreView {
            all: bytes,
            header,
            key,
            sequence,
            payload,
        })
    }

    /// The EtherType of the payload.
    pub fn protocol(&self) -> u16 {
        field::u16::<2, 4>(self.header)
    }

    /// Whether there is a checksum.
    pub fn has_checksum(&self) -> bool {
        self.header[0] & 0x80 != 0
    }

    /// Whether there is none, or it is right.
    pub fn is_checksum_valid(&self) -> bool {
        !self.has_checksum() || Sum::default().plus(self.all).is_valid()
    }

    /// The key.
    pub fn key(&self) -> Option<u32> {
        self.key
    }

    /// The sequence number.
    pub fn sequence(&self) -> Option<u32> {
        self.sequence
    }

    /// What is behind the header.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// Builds a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gre {
    /// The EtherType of the payload.
    pub protocol: u16,
    /// Whether to have a checksum.
    pub checksum: bool,
    /// The key.
    pub key: Option<u32>,
    /// The sequence number.
    pub sequence: Option<u32>,
}

impl Gre {
    /// Appends the header and then what `payload` appends; fills in the checksum.
    pub fn build(&self, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        let flag = |set, flag| if set { flag } else { 0 };
        let flags = flag(self.checksum, CHECKSUM)
            | flag(self.key.is_some(), KEY)
            | flag(self.sequence.is_some(), SEQUENCE);
        out.extend(flags.to_be_bytes());
        out.extend(self.protocol.to_be_bytes());
        let room = self.checksum.then_some(0);
        for word in [room, self.key, self.sequence].into_iter().flatten() {
            out.extend(u32::to_be_bytes(word));
        }
        payload(out);
        if self.checksum {
            let sum = checksum(&out[start..]);
            field::put_u16(out, start + 4, sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_fields_reads_back() {
        for bits in 0..8 {
            let wanted = Gre {
                protocol: 0x0800,
                checksum: bits & 1 != 0,
                key: (bits & 2 != 0).then_some(0xDEAD_BEEF),
                sequence: (bits & 4 != 0).then_some(7),
            };
            let mut bytes = Vec::new();
            wanted.build(&mut bytes, |out| out.extend(b"payload"));
            let view = GreView::new(&bytes).unwrap();
            let got = Gre {
                protocol: view.protocol(),
                checksum: view.has_checksum(),
                key: view.key(),
                sequence: view.sequence(),
            };
            assert_eq!((got, view.payload()), (wanted, &b"payload"[..]));
            assert!(view.is_checksum_valid());
            for len in 0..bytes.len() - 7 {
                assert!(GreView::new(&bytes[..len]).is_err());
            }
            *bytes.last_mut().unwrap() ^= 1;
            assert_eq!(
                GreView::new(&bytes).unwrap().is_checksum_valid(),
                !wanted.checksum
            );
        }
        assert!(GreView::new(&[0x40, 0, 8, 0]).is_err());
        assert!(GreView::new(&[0, 1, 8, 0]).is_err());
    }
}
