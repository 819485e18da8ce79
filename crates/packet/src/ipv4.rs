//! IPv4 (RFC 791).

use crate::BadHeader;
use crate::checksum::{Pseudo, Sum, checksum};
use crate::field;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

/// IP protocol numbers, which IPv6 calls next-header values.
pub mod protocol {
    /// IPv6's hop-by-hop options.
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// IGMP.
    pub const IGMP: u8 = 2;
    /// IPv4 inside IP.
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 inside IP.
    pub const IPV6: u8 = 41;
    /// IPv6's routing header.
    pub const ROUTING: u8 = 43;
    /// IPv6's fragment header.
    pub const FRAGMENT: u8 = 44;
    /// GRE.
    pub const GRE: u8 = 47;
    /// Encapsulating security payload.
    pub const ESP: u8 = 50;
    /// Authentication header.
    pub const AUTHENTICATION: u8 = 51;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
    /// Nothing follows.
    pub const NONE: u8 = 59;
    /// IPv6's destination options.
    pub const DESTINATION: u8 = 60;
    /// DCCP.
    pub const DCCP: u8 = 33;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// IPv6's mobility header.
    pub const MOBILITY: u8 = 135;
    /// UDP-Lite.
    pub const UDP_LITE: u8 = 136;
    /// Host identity protocol.
    pub const HIP: u8 = 139;
    /// Shim6.
    pub const SHIM6: u8 = 140;

    /// Whether what a protocol carries begins with a source and a destination port.
    pub const fn has_ports(protocol: u8) -> bool {
        matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE)
    }
}

/// An IPv4 packet whose header, and whose payload by its total length, are all there. No method
/// panics.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4View<'a> {
    header: &'a [u8; 20],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Ipv4View<'a> {
    /// Looks at a packet, which padding may follow. The checksum is not looked at.
    ///
    /// # Errors
    /// When it is cut off, or its version or lengths make no sense.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Ipv4View<'a>, BadHeader> {
        let view = Ipv4View::new_cut(bytes)?;
        let have = view.header_length() + view.payload.len();
        match have == view.total_length().into() {
            true => Ok(view),
            false => Err(BadHeader("IPv4 packet cut off")),
        }
    }

    /// As [`new`](Ipv4View::new), for captures that keep only the beginning of a packet: the
    /// payload may end early. That of a packet [without a length](Ipv4View::stated_length) goes to the end of `bytes`.
    ///
    /// # Errors
    /// When the header is cut off, or its version or lengths make no sense.
    #[inline]
    pub fn new_cut(bytes: &'a [u8]) -> Result<Ipv4View<'a>, BadHeader> {
        let view = Ipv4View::new_any_length(bytes)?;
        let Some(length) = view.stated_length() else {
            return Ok(view);
        };
        let length = length
            .checked_sub(view.header_length())
            .ok_or(BadHeader("IPv4 total length below the header's"))?;
        let payload = view.payload.get(..length).unwrap_or(view.payload);
        Ok(Ipv4View { payload, ..view })
    }

    /// As [`new`](Ipv4View::new), without a look at the total length: the payload goes to the end of `bytes`.
    ///
    /// # Errors
    /// When the header is cut off, or its version or its own length makes no sense.
    #[inline]
    pub fn new_any_length(bytes: &'a [u8]) -> Result<Ipv4View<'a>, BadHeader> {
        let (header, rest) = field::split::<20>(bytes, "IPv4 header cut off")?;
        if header[0] >> 4 != 4 {
            return Err(BadHeader("IPv4 header with another version"));
        }
        let options = (usize::from(header[0] & 0x0F) * 4)
            .checked_sub(20)
            .ok_or(BadHeader("IPv4 header length below 20"))?;
        let (options, payload) = rest
            .split_at_checked(options)
            .ok_or(BadHeader("IPv4 options cut off"))?;
        Ok(Ipv4View {
            header,
            options,
            payload,
        })
    }

    /// The header's length in bytes, options included.
    #[inline]
    pub fn header_length(&self) -> usize {
        self.header.len() + self.options.len()
    }

    /// Differentiated services and congestion notification.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        self.header[1]
    }

    /// The packet's length in bytes, header included, as it says itself.
    #[inline]
    pub fn total_length(&self) -> u16 {
        field::u16::<2, 20>(self.header)
    }

    /// The packet's length, header included; `None` for a total length of 0. Such a packet was
    /// captured before the network card cut it into segments or datagrams, or is longer than 65,535
    /// bytes (Linux' BIG TCP); Wireshark reads it in the same way.
    #[inline]
    pub fn stated_length(&self) -> Option<usize> {
        let length = usize::from(self.total_length());
        (length > 0).then_some(length)
    }

    /// What fragments of one packet share.
    #[inline]
    pub fn identification(&self) -> u16 {
        field::u16::<4, 20>(self.header)
    }

    /// Whether routers must not cut it into fragments.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.header[6] & 0x40 != 0
    }

    /// Whether this is a fragment with another behind it.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.header[6] & 0x20 != 0
    }

    /// Where the fragment's payload begins in that of the whole packet, in bytes.
    #[inline]
    pub fn fragment_offset(&self) -> usize {
        usize::from(field::u16::<6, 20>(self.header) & 0x1FFF) * 8
    }

    /// How many more hops it may take.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.header[8]
    }

    /// The protocol of the payload.
    #[inline]
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// Whether it is a piece of a packet, the first included.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        field::u16::<6, 20>(self.header) & 0x3FFF != 0
    }

    /// The header's checksum.
    #[inline]
    pub fn checksum(&self) -> u16 {
        field::u16::<10, 20>(self.header)
    }

    /// Whether it is right.
    #[inline]
    pub fn is_checksum_valid(&self) -> bool {
        let sum = Sum::default().plus(self.header);
        match self.options {
            [] => sum.is_valid(),
            options => sum.plus(options).is_valid(),
        }
    }

    /// Source address.
    #[inline]
    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from(field::bytes::<12, 4, 20>(self.header))
    }

    /// Destination address.
    #[inline]
    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from(field::bytes::<16, 4, 20>(self.header))
    }

    /// Source and destination as they stand.
    #[inline]
    pub(crate) fn addresses(&self) -> [u8; 8] {
        field::bytes::<12, 8, 20>(self.header)
    }

    /// The options as they stand, a multiple of four bytes; [`Options`] walks them.
    #[inline]
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// The payload, without padding.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// For the checksum of the payload.
    #[inline]
    pub fn pseudo(&self) -> Pseudo {
        let destination = self.destination().octets();
        Pseudo::ipv4(self.source().octets(), destination, self.protocol())
    }
}

/// Walks options of IPv4 or TCP, which share their layout: number and value. Ends at the end mark
/// and where an option is cut off; padding is passed over.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a>(pub &'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        loop {
            match *self.0 {
                [1, ref rest @ ..] => self.0 = rest,
                [0, ..] | [] | [_] => return None,
                [kind, length, ..] => {
                    let value = self.0.get(2..length.into())?;
                    self.0 = &self.0[length.into()..];
                    return Some((kind, value));
                }
            }
        }
    }
}

/// Builds a header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<'a> {
    /// Differentiated services and congestion notification.
    pub traffic_class: u8,
    /// What fragments of one packet share.
    pub identification: u16,
    /// Whether routers must not cut it into fragments.
    pub dont_fragment: bool,
    /// Whether this is a fragment with another behind it.
    pub more_fragments: bool,
    /// Where the payload begins in that of the whole packet: bytes, a multiple of 8 up to 65,528.
    pub fragment_offset: u16,
    /// How many hops it may take.
    pub hop_limit: u8,
    /// The protocol of the payload.
    pub protocol: u8,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Options, up to 40 bytes; filled up with end marks to a multiple of four.
    pub options: &'a [u8],
}

impl Ipv4<'_> {
    /// A whole packet with 64 hops to go, not to be fragmented.
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8) -> Ipv4<'static> {
        Ipv4 {
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            hop_limit: 64,
            protocol,
            source,
            destination,
            options: &[],
        }
    }

    /// For the checksum of the payload.
    pub fn pseudo(&self) -> Pseudo {
        Pseudo::ipv4(
            self.source.octets(),
            self.destination.octets(),
            self.protocol,
        )
    }

    /// Appends the header and then what `payload` appends; fills in lengths and checksum.
    ///
    /// # Panics
    /// When the options have more than 40 bytes, or the packet more than 65,535.
    pub fn build(&self, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        let words = 5 + self.options.len().div_ceil(4);
        assert!(
            words <= 15,
            "{} bytes of IPv4 options: at most 40 fit",
            self.options.len()
        );
        let fragment = u16::from(self.dont_fragment) << 14
            | u16::from(self.more_fragments) << 13
            | self.fragment_offset >> 3;
        out.extend([0x40 | words as u8, self.traffic_class, 0, 0]);
        out.extend(self.identification.to_be_bytes());
        out.extend(fragment.to_be_bytes());
        out.extend([self.hop_limit, self.protocol, 0, 0]);
        out.extend(self.source.octets());
        out.extend(self.destination.octets());
        out.extend(self.options);
        let behind = start + words * 4;
        out.resize(behind, 0);
        payload(out);
        let length = out.len() - start;
        assert!(
            length <= 0xFFFF,
            "an IPv4 packet of {length} bytes: at most 65535 fit"
        );
        field::put_u16(out, start + 2, length as u16);
        let sum = checksum(&out[start..behind]);
        field::put_u16(out, start + 10, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_without_sense_are_refused() {
        let mut packet = Vec::new();
        let header = Ipv4 {
            options: &[7, 3, 4],
            ..Ipv4::new([1; 4].into(), [2; 4].into(), 17)
        };
        header.build(&mut packet, |out| out.extend([9; 8]));
        packet.extend([0; 20]);
        let view = Ipv4View::new(&packet).unwrap();
        assert_eq!(
            (view.payload(), view.options()),
            (&[9; 8][..], &[7, 3, 4, 0][..])
        );
        assert!(view.is_checksum_valid());
        assert_eq!(Options(view.options()).collect::<Vec<_>>(), [(7, &[4][..])]);
        for (len, whole) in [
            (19, "header"),
            (23, "options"),
            (24, "packet"),
            (31, "packet"),
        ] {
            let error = Ipv4View::new(&packet[..len]).unwrap_err();
            assert!(error.0.contains(whole), "{len}: {error}");
            assert_eq!(Ipv4View::new_cut(&packet[..len]).is_ok(), len >= 24);
        }
        for (at, value) in [(0, 0x44), (0, 0x66), (3, 23)] {
            let mut bad = packet.clone();
            bad[at] = value;
            assert!(Ipv4View::new_cut(&bad).is_err());
        }
    }

    #[test]
    fn options_cut_off_end_the_walk() {
        for options in [
            &[7][..],
            &[7, 0],
            &[7, 1],
            &[7, 9, 1],
            &[0, 7, 2],
            &[1, 1, 1],
        ] {
            assert_eq!(Options(options).count(), 0, "{options:?}");
        }
    }
}
