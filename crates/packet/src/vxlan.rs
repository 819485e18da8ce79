//! VXLAN (RFC 7348): an Ethernet frame in a UDP datagram.

use crate::BadHeader;
use crate::field;
use alloc::vec::Vec;

/// The UDP port of the receiver.
pub const PORT: u16 = 4789;
/// The flag that says that there is a network identifier.
const IDENTIFIED: u8 = 0x08;

/// A header, and the frame behind it. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct VxlanView<'a> {
    header: &'a [u8; 8],
    frame: &'a [u8],
}

impl<'a> VxlanView<'a> {
    /// Looks at a datagram's payload.
    ///
    /// # Errors
    /// When the header is cut off, or has no network identifier.
    pub fn new(bytes: &'a [u8]) -> Result<VxlanView<'a>, BadHeader> {
        let (header, frame) = field::split::<8>(bytes, "VXLAN header cut off")?;
        match header[0] & IDENTIFIED {
            0 => Err(BadHeader("VXLAN header without network identifier")),
            _ => Ok(VxlanView { header, frame }),
        }
    }

    /// The network identifier, 24 bits.
    pub fn network(&self) -> u32 {
        field::u32::<4, 8>(self.header) >> 8
    }

    /// The frame inside.
    pub fn frame(&self) -> &'a [u8] {
        self.frame
    }
}

/// Builds a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vxlan {
    /// The network identifier, 24 bits.
    pub network: u32,
}

impl Vxlan {
    /// Appends the header and then what `frame` appends.
    pub fn build(&self, out: &mut Vec<u8>, frame: impl FnOnce(&mut Vec<u8>)) {
        out.extend([IDENTIFIED, 0, 0, 0]);
        out.extend((self.network << 8).to_be_bytes());
        frame(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back() {
        let mut bytes = Vec::new();
        Vxlan { network: 0xABCDEF }.build(&mut bytes, |out| out.extend(b"frame"));
        let view = VxlanView::new(&bytes).unwrap();
        assert_eq!((view.network(), view.frame()), (0xABCDEF, &b"frame"[..]));
        assert!(VxlanView::new(&bytes[..7]).is_err());
        bytes[0] = 0;
        assert!(VxlanView::new(&bytes).is_err());
    }
}
