//! TCP (RFC 9293) and its usual options.

use crate::BadHeader;
use crate::checksum::Pseudo;
use crate::field;
use crate::ipv4::Options;
use alloc::vec::Vec;

/// The flags: `CWR ECE URG ACK PSH RST SYN FIN`, from bit 7 to bit 0.
pub mod flag {
    /// No more data.
    pub const FIN: u8 = 0x01;
    /// The first segment.
    pub const SYN: u8 = 0x02;
    /// The connection is broken off.
    pub const RST: u8 = 0x04;
    /// To be handed on at once.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer counts.
    pub const URG: u8 = 0x20;
    /// Congestion was met.
    pub const ECE: u8 = 0x40;
    /// The congestion window was reduced.
    pub const CWR: u8 = 0x80;

    /// The flags as tcpdump writes them: `S`, `S.`, `P.`; empty for none.
    pub fn letters(flags: u8) -> impl core::fmt::Display {
        core::fmt::from_fn(move |f| {
            LETTERS
                .iter()
                .filter(|(bit, _)| flags & bit != 0)
                .try_for_each(|(_, letter)| core::fmt::Write::write_char(f, *letter))
        })
    }

    /// Each with its letter, in the order in which they are written.
    pub const LETTERS: [(u8, char); 8] = [
        (SYN, 'S'),
        (FIN, 'F'),
        (RST, 'R'),
        (PSH, 'P'),
        (URG, 'U'),
        (ECE, 'E'),
        (CWR, 'W'),
        (ACK, '.'),
    ];
}

/// A segment whose header is all there. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct TcpView<'a> {
    header: &'a [u8; 20],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> TcpView<'a> {
    /// Looks at a segment, which goes to the end of `bytes`. The checksum is not looked at.
    ///
    /// # Errors
    /// When the header is cut off, or its length makes no sense.
    pub fn new(bytes: &'a [u8]) -> Result<TcpView<'a>, BadHeader> {
        let view = TcpView::new_cut(bytes)?;
        view.bad_length().map_or(Ok(view), Err)
    }

    /// As [`new`](TcpView::new), for segments that are cut off, or whose header length makes no
    /// sense: see [`bad_length`](TcpView::bad_length). The options may end early; those of a header
    /// length below 20 are none, and the payload is then what is behind the first 20 bytes.
    ///
    /// # Errors
    /// When there are fewer than 20 bytes.
    pub fn new_cut(bytes: &'a [u8]) -> Result<TcpView<'a>, BadHeader> {
        let (header, rest) = field::split::<20>(bytes, "TCP header cut off")?;
        let options = (usize::from(header[12] >> 4) * 4).saturating_sub(20);
        let (options, payload) = rest.split_at(options.min(rest.len()));
        Ok(TcpView {
            header,
            options,
            payload,
        })
    }

    /// The header's length in bytes as it says itself, options included: 20 to 60, or less where
    /// that makes no sense.
    pub fn header_length(&self) -> usize {
        usize::from(self.header[12] >> 4) * 4
    }

    /// Error in the header's length, if any.
    pub fn bad_length(&self) -> Option<BadHeader> {
        match self.header_length() {
            0..20 => Some(BadHeader("TCP header length below 20")),
            length if length > 20 + self.options.len() => Some(BadHeader("TCP options cut off")),
            _ => None,
        }
    }

    /// The segment's length in bytes, as far as it is there: header, options and payload.
    pub fn segment_length(&self) -> usize {
        self.header.len() + self.options.len() + self.payload.len()
    }

    /// Source port.
    pub fn source_port(&self) -> u16 {
        field::u16::<0, 20>(self.header)
    }

    /// Destination port.
    pub fn destination_port(&self) -> u16 {
        field::u16::<2, 20>(self.header)
    }

    /// The number of the payload's first byte, or of SYN.
    pub fn sequence(&self) -> u32 {
        field::u32::<4, 20>(self.header)
    }

    /// The number of the byte expected next.
    pub fn acknowledgement(&self) -> u32 {
        field::u32::<8, 20>(self.header)
    }

    /// The flags, as in [`flag`].
    pub fn flags(&self) -> u8 {
        self.header[13]
    }

    /// The four bits before the flags; the last is accurate ECN's (RFC 9768).
    pub fn reserved(&self) -> u8 {
        self.header[12] & 0x0F
    }

    /// How much may be sent, before scaling.
    pub fn window(&self) -> u16 {
        field::u16::<14, 20>(self.header)
    }

    /// The checksum.
    pub fn checksum(&self) -> u16 {
        field::u16::<16, 20>(self.header)
    }

    /// Where urgent data ends.
    pub fn urgent(&self) -> u16 {
        field::u16::<18, 20>(self.header)
    }

    /// Whether the checksum is right.
    pub fn is_checksum_valid(&self, pseudo: Pseudo) -> bool {
        pseudo
            .sum(self.segment_length())
            .plus(self.header)
            .plus(self.options)
            .plus(self.payload)
            .is_valid()
    }

    /// The options; the walk ends at one that makes no sense.
    pub fn options(&self) -> impl Iterator<Item = TcpOption<'a>> {
        Options(self.options).map(|(kind, value)| TcpOption::from_bytes(kind, value))
    }

    /// The options as they stand, a multiple of four bytes.
    pub fn option_bytes(&self) -> &'a [u8] {
        self.options
    }

    /// The payload.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// The largest segment that is welcome, in bytes.
    MaximumSegment(u16),
    /// By how many bits windows are to be shifted.
    WindowScale(u8),
    /// Selective acknowledgements are welcome.
    SackPermitted,
    /// Selective acknowledgements: pairs of sequence numbers, eight bytes each.
    Sack(&'a [[u8; 8]]),
    /// Time stamps: one's own, and the one echoed (RFC 7323).
    Timestamps(u32, u32),
    /// Another, or one of those with a length that is not its own.
    Other(u8, &'a [u8]),
}

impl<'a> TcpOption<'a> {
    fn from_bytes(kind: u8, value: &'a [u8]) -> TcpOption<'a> {
        match (kind, value) {
            (2, &[a, b]) => TcpOption::MaximumSegment(u16::from_be_bytes([a, b])),
            (3, &[shift]) => TcpOption::WindowScale(shift),
            (4, []) => TcpOption::SackPermitted,
            (5, blocks) if blocks.len().is_multiple_of(8) => TcpOption::Sack(blocks.as_chunks().0),
            (8, &[a, b, c, d, e, f, g, h]) => {
                let (own, echo) = (
                    u32::from_be_bytes([a, b, c, d]),
                    u32::from_be_bytes([e, f, g, h]),
                );
                TcpOption::Timestamps(own, echo)
            }
            _ => TcpOption::Other(kind, value),
        }
    }

    /// Appends the option, without padding.
    pub(crate) fn build(&self, out: &mut Vec<u8>) {
        match *self {
            TcpOption::MaximumSegment(size) => {
                out.extend([2, 4]);
                out.extend(size.to_be_bytes());
            }
            TcpOption::WindowScale(shift) => out.extend([3, 3, shift]),
            TcpOption::SackPermitted => out.extend([4, 2]),
            TcpOption::Sack(blocks) => {
                out.extend([5, 2 + 8 * blocks.len() as u8]);
                out.extend_from_slice(blocks.as_flattened());
            }
            TcpOption::Timestamps(own, echo) => {
                out.extend([8, 10]);
                out.extend(own.to_be_bytes());
                out.extend(echo.to_be_bytes());
            }
            TcpOption::Other(kind, value) => {
                out.extend([kind, 2 + value.len() as u8]);
                out.extend_from_slice(value);
            }
        }
    }
}

/// Builds a header.
#[derive(Clone, Copy, Debug)]
pub struct Tcp<'a> {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// The number of the payload's first byte, or of SYN.
    pub sequence: u32,
    /// The number of the byte expected next.
    pub acknowledgement: u32,
    /// The flags, as in [`flag`].
    pub flags: u8,
    /// How much may be sent, before scaling.
    pub window: u16,
    /// Where urgent data ends.
    pub urgent: u16,
    /// Options, up to 40 bytes together; filled up with end marks to a multiple of four.
    pub options: &'a [TcpOption<'a>],
}

impl Tcp<'_> {
    /// Appends the header and then what `payload` appends; fills in the checksum.
    ///
    /// # Panics
    /// When the options have more than 40 bytes.
    pub fn build(&self, pseudo: Pseudo, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        out.extend(self.source_port.to_be_bytes());
        out.extend(self.destination_port.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.acknowledgement.to_be_bytes());
        out.extend([0, self.flags]);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 2]);
        out.extend(self.urgent.to_be_bytes());
        for option in self.options {
            option.build(out);
        }
        let words = (out.len() - start).div_ceil(4);
        assert!(
            words <= 15,
            "{} bytes of TCP options: at most 40 fit",
            out.len() - start - 20
        );
        out.resize(start + words * 4, 0);
        out[start + 12] = (words as u8) << 4;
        payload(out);
        let sum = pseudo.sum(out.len() - start).plus(&out[start..]).checksum();
        field::put_u16(out, start + 16, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_with_every_option_reads_back() {
        let pseudo = Pseudo::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 6);
        let options = [
            TcpOption::MaximumSegment(1460),
            TcpOption::SackPermitted,
            TcpOption::Timestamps(7, 8),
            TcpOption::WindowScale(9),
            TcpOption::Sack(&[[1; 8]]),
            TcpOption::Other(254, &[1]),
        ];
        let header = Tcp {
            source_port: 80,
            destination_port: 4000,
            sequence: 1,
            acknowledgement: 2,
            flags: flag::SYN | flag::ACK,
            window: 3,
            urgent: 4,
            options: &options,
        };
        let mut packet = Vec::new();
        header.build(pseudo, &mut packet, |out| out.extend(b"payload"));
        let view = TcpView::new(&packet).unwrap();
        assert_eq!(view.options().collect::<Vec<_>>(), options);
        assert_eq!(
            (view.sequence(), view.acknowledgement(), view.window()),
            (1, 2, 3)
        );
        assert_eq!(
            (view.flags(), view.urgent(), view.payload()),
            (0x12, 4, &b"payload"[..])
        );
        assert!(view.is_checksum_valid(pseudo));
        for len in 0..20 + view.option_bytes().len() {
            assert!(TcpView::new(&packet[..len]).is_err());
        }
        packet[12] = 0x40;
        assert!(TcpView::new(&packet).is_err());
    }
}
