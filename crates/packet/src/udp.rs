//! UDP (RFC 768).

use crate::BadHeader;
use crate::checksum::Pseudo;
use crate::field;
use alloc::vec::Vec;

/// A datagram whose header, and whose payload by its length, are all there. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<'a> {
    header: &'a [u8; 8],
    payload: &'a [u8],
}

impl<'a> UdpView<'a> {
    /// Looks at a datagram. The checksum is not looked at.
    ///
    /// # Errors
    /// When it is cut off, or its length is below that of its header.
    pub fn new(bytes: &'a [u8]) -> Result<UdpView<'a>, BadHeader> {
        let view = UdpView::new_cut(bytes)?;
        match 8 + view.payload.len() == view.length().into() {
            true => Ok(view),
            false => Err(BadHeader("UDP datagram cut off")),
        }
    }

    /// As [`new`](UdpView::new), for captures that keep only the beginning of a packet: the
    /// payload may end early.
    ///
    /// # Errors
    /// When the header is cut off, or the length is below that of the header.
    pub fn new_cut(bytes: &'a [u8]) -> Result<UdpView<'a>, BadHeader> {
        let view = UdpView::new_any_length(bytes)?;
        match view.length() {
            0..8 => Err(BadHeader("UDP length below 8")),
            _ => Ok(view),
        }
    }

    /// As [`new_cut`](UdpView::new_cut), also for a length below that of the header: the payload is
    /// then empty.
    ///
    /// # Errors
    /// When the header is cut off.
    pub fn new_any_length(bytes: &'a [u8]) -> Result<UdpView<'a>, BadHeader> {
        let (header, payload) = field::split::<8>(bytes, "UDP header cut off")?;
        let length = usize::from(field::u16::<4, 8>(header)).saturating_sub(8);
        Ok(UdpView {
            header,
            payload: payload.get(..length).unwrap_or(payload),
        })
    }

    /// Source port.
    pub fn source_port(&self) -> u16 {
        field::u16::<0, 8>(self.header)
    }

    /// Destination port.
    pub fn destination_port(&self) -> u16 {
        field::u16::<2, 8>(self.header)
    }

    /// The datagram's length in bytes, header included, as it says itself.
    pub fn length(&self) -> u16 {
        field::u16::<4, 8>(self.header)
    }

    /// The checksum; zero for none.
    pub fn checksum(&self) -> u16 {
        field::u16::<6, 8>(self.header)
    }

    /// Whether there is none, or it is right.
    pub fn is_checksum_valid(&self, pseudo: Pseudo) -> bool {
        let length = 8 + self.payload.len();
        self.checksum() == 0
            || pseudo
                .sum(length)
                .plus(self.header)
                .plus(self.payload)
                .is_valid()
    }

    /// The payload.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// Builds a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

impl Udp {
    /// Appends the header and then what `payload` appends; fills in length and checksum.
    ///
    /// # Panics
    /// When the datagram has more than 65,535 bytes.
    pub fn build(&self, pseudo: Pseudo, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        out.extend(self.source_port.to_be_bytes());
        out.extend(self.destination_port.to_be_bytes());
        out.extend([0; 4]);
        payload(out);
        let length = out.len() - start;
        assert!(
            length <= 0xFFFF,
            "a UDP datagram of {length} bytes: at most 65535 fit"
        );
        field::put_u16(out, start + 4, length as u16);
        let sum = pseudo.sum(length).plus(&out[start..]).udp_checksum();
        field::put_u16(out, start + 6, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_reads_back_with_its_checksum() {
        let pseudo = Pseudo::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 17);
        let mut packet = Vec::new();
        let header = Udp {
            source_port: 53,
            destination_port: 4000,
        };
        header.build(pseudo, &mut packet, |out| out.extend(b"odd"));
        packet.push(0);
        let view = UdpView::new(&packet).unwrap();
        assert_eq!((view.source_port(), view.destination_port()), (53, 4000));
        assert_eq!((view.length(), view.payload()), (11, &b"odd"[..]));
        assert!(view.is_checksum_valid(pseudo));
        assert!(UdpView::new(&packet[..10]).is_err());
        assert!(UdpView::new_cut(&packet[..8]).is_ok());
        packet[9] ^= 1;
        assert!(!UdpView::new(&packet).unwrap().is_checksum_valid(pseudo));
        packet[6..8].fill(0);
        assert!(UdpView::new(&packet).unwrap().is_checksum_valid(pseudo));
        packet[5] = 7;
        assert!(UdpView::new_cut(&packet).is_err());
    }
}
