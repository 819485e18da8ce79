//! Geneve (RFC 8926): a packet of any EtherType in a UDP datagram, with options.

use crate::BadHeader;
use crate::field;

/// The UDP port of the receiver.
pub const PORT: u16 = 6081;

/// A header with its options, and the packet behind it. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct GeneveView<'a> {
    header: &'a [u8; 8],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> GeneveView<'a> {
    /// Looks at a datagram's payload.
    ///
    /// # Errors
    /// When the header or its options are cut off, or it is of another version than 0.
    pub fn new(bytes: &'a [u8]) -> Result<GeneveView<'a>, BadHeader> {
        let (header, behind) = field::split::<8>(bytes, "Geneve header cut off")?;
        if header[0] >> 6 != 0 {
            return Err(BadHeader("Geneve of another version than 0"));
        }
        let length = 4 * usize::from(header[0] & 0x3F);
        let (options, payload) = behind
            .split_at_checked(length)
            .ok_or(BadHeader("Geneve options cut off"))?;
        Ok(GeneveView {
            header,
            options,
            payload,
        })
    }

    /// The network identifier, 24 bits.
    pub fn network(&self) -> u32 {
        field::u32::<4, 8>(self.header) >> 8
    }

    /// The EtherType of the packet.
    pub fn protocol(&self) -> u16 {
        field::u16::<2, 8>(self.header)
    }

    /// The options, as they stand.
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// The packet.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_options_is_read() {
        let bytes = [1, 0, 0x65, 0x58, 0xAB, 0xCD, 0xEF, 0, 1, 2, 3, 4, 9];
        let view = GeneveView::new(&bytes).unwrap();
        assert_eq!((view.network(), view.protocol()), (0xAB_CDEF, 0x6558));
        assert_eq!((view.options(), view.payload()), (&bytes[8..12], &[9][..]));
        for cut in 0..12 {
            assert!(GeneveView::new(&bytes[..cut]).is_err(), "{cut}");
        }
        assert!(GeneveView::new(&[0x40, 0, 8, 0, 0, 0, 0, 0]).is_err());
    }
}
