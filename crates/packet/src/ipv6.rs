//! IPv6 and its extension headers (RFC 8200).

use crate::BadHeader;
use crate::checksum::Pseudo;
use crate::field;
use crate::ipv4::protocol;
use alloc::vec::Vec;
use core::net::Ipv6Addr;

/// An IPv6 packet whose header, and whose payload by its length, are all there. No method panics.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6View<'a> {
    header: &'a [u8; 40],
    payload: &'a [u8],
}

impl<'a> Ipv6View<'a> {
    /// Looks at a packet, which padding may follow.
    ///
    /// # Errors
    /// When it is cut off, or of another version.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Ipv6View<'a>, BadHeader> {
        let view = Ipv6View::new_cut(bytes)?;
        match view.payload.len() == view.payload_length().into() {
            true => Ok(view),
            false => Err(BadHeader("IPv6 packet cut off")),
        }
    }

    /// As [`new`](Ipv6View::new), for captures that keep only the beginning of a packet: the
    /// payload may end early. That of a packet [without a length](Ipv6View::stated_length) goes to the end of `bytes`.
    ///
    /// # Errors
    /// When the header is cut off, or of another version.
    #[inline]
    pub fn new_cut(bytes: &'a [u8]) -> Result<Ipv6View<'a>, BadHeader> {
        let view = Ipv6View::new_any_length(bytes)?;
        let length = view
            .stated_length()
            .map(|length| length - view.header.len());
        let payload = length.and_then(|length| view.payload.get(..length));
        let payload = payload.unwrap_or(view.payload);
        Ok(Ipv6View { payload, ..view })
    }

    /// As [`new`](Ipv6View::new), without a look at the length: the payload goes to the end of `bytes`.
    ///
    /// # Errors
    /// When the header is cut off, or of another version.
    #[inline]
    pub fn new_any_length(bytes: &'a [u8]) -> Result<Ipv6View<'a>, BadHeader> {
        let (header, payload) = field::split::<40>(bytes, "IPv6 header cut off")?;
        if header[0] >> 4 != 6 {
            return Err(BadHeader("IPv6 header with another version"));
        }
        Ok(Ipv6View { header, payload })
    }

    /// Differentiated services and congestion notification.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (field::u16::<0, 40>(self.header) >> 4) as u8
    }

    /// The flow label, 20 bits.
    #[inline]
    pub fn flow_label(&self) -> u32 {
        field::u32::<0, 40>(self.header) & 0xF_FFFF
    }

    /// The length in bytes of what is behind the header, as it says itself.
    #[inline]
    pub fn payload_length(&self) -> u16 {
        field::u16::<4, 40>(self.header)
    }

    /// The packet's length, header included; `None` of one with a payload length of 0 that goes on with TCP, which was captured
    /// before the network card cut it, or with hop-by-hop options, which have the length of a jumbogram (RFC 2675 section 3).
    #[inline]
    pub fn stated_length(&self) -> Option<usize> {
        let length = usize::from(self.payload_length());
        let goes_on = matches!(self.next_header(), protocol::TCP | protocol::HOP_BY_HOP);
        (length > 0 || !goes_on).then_some(self.header.len() + length)
    }

    /// What comes behind the header: an extension header or the upper layer.
    #[inline]
    pub fn next_header(&self) -> u8 {
        self.header[6]
    }

    /// How many more hops it may take.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.header[7]
    }

    /// Source address.
    #[inline]
    pub fn source(&self) -> Ipv6Addr {
        Ipv6Addr::from(field::bytes::<8, 16, 40>(self.header))
    }

    /// Destination address.
    #[inline]
    pub fn destination(&self) -> Ipv6Addr {
        Ipv6Addr::from(field::bytes::<24, 16, 40>(self.header))
    }

    /// Source and destination as they stand, in eights.
    #[inline]
    pub fn addresses(&self) -> [[u8; 8]; 4] {
        [
            field::bytes::<8, 8, 40>(self.header),
            field::bytes::<16, 8, 40>(self.header),
            field::bytes::<24, 8, 40>(self.header),
            field::bytes::<32, 8, 40>(self.header),
        ]
    }

    /// What is behind the header, without padding.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The extension headers, and the upper layer behind them.
    #[inline]
    pub fn extensions(&self) -> Extensions<'a> {
        Extensions {
            next: self.next_header(),
            rest: self.payload,
            later: false,
        }
    }

    /// For the checksum of an upper layer.
    #[inline]
    pub fn pseudo(&self, protocol: u8) -> Pseudo {
        Pseudo::ipv6(
            self.source().octets(),
            self.destination().octets(),
            protocol,
        )
    }
}

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Its number, which the header before it gives: one of those in [`protocol`].
    pub kind: u8,
    /// All of it, at least eight bytes; the first is the number of what follows.
    pub bytes: &'a [u8],
}

impl<'a> Extension<'a> {
    /// Splits one off, of this kind; then what follows it, and its bytes. `None` when the kind is that of no extension
    /// header.
    ///
    /// # Errors
    /// When it is cut off.
    #[inline]
    #[expect(
        clippy::type_complexity,
        reason = "what a name for it would say stands above"
    )]
    pub fn split(
        kind: u8,
        bytes: &'a [u8],
    ) -> Option<Result<(Extension<'a>, u8, &'a [u8]), BadHeader>> {
        let (unit, first) = match kind {
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6 => (8, 8),
            protocol::AUTHENTICATION => (4, 8),
            protocol::FRAGMENT => (0, 8),
            _ => return None,
        };
        let length = |words: &u8| first + unit * usize::from(*words);
        let parts = bytes.get(1).map(length);
        let parts = parts.and_then(|length| bytes.split_at_checked(length));
        Some(match parts {
            Some((bytes, rest)) => Ok((Extension { kind, bytes }, bytes[0], rest)),
            None => Err(BadHeader("IPv6 extension header cut off")),
        })
    }

    /// The fragment that it describes, if it is a fragment header.
    #[inline]
    pub fn fragment(&self) -> Option<Fragment> {
        let header = self.bytes.first_chunk::<8>()?;
        let offset = field::u16::<2, 8>(header);
        (self.kind == protocol::FRAGMENT).then(|| Fragment {
            offset: offset & !7,
            more: offset & 1 == 1,
            identification: field::u32::<4, 8>(header),
        })
    }
}

/// Where a fragment belongs. Of offset 0 and with none behind it, it is the whole packet (RFC 6946).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Where it begins in the whole, in bytes.
    pub offset: u16,
    /// Whether another is behind it.
    pub more: bool,
    /// What fragments of one packet share.
    pub identification: u32,
}

/// Walks extension headers.
///
/// When the walk has ended, [`protocol`](Extensions::protocol) and
/// [`payload`](Extensions::payload) are those of the upper layer - or those of an extension header
/// that is cut off. The payload of a later fragment is a piece of it.
#[derive(Clone, Copy, Debug)]
pub struct Extensions<'a> {
    next: u8,
    rest: &'a [u8],
    /// Whether this is a later fragment: what it begins with is no header.
    later: bool,
}

impl<'a> Extensions<'a> {
    /// What is behind the extension headers taken so far.
    pub fn protocol(&self) -> u8 {
        self.next
    }

    /// Its bytes.
    pub fn payload(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether a fragment header was taken that is not the first fragment's: the payload is a piece, without a header.
    pub fn is_later_fragment(&self) -> bool {
        self.later
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    #[inline]
    fn next(&mut self) -> Option<Extension<'a>> {
        if self.later {
            return None;
        }
        let (extension, next, rest) = Extension::split(self.next, self.rest)?.ok()?;
        (self.next, self.rest) = (next, rest);
        self.later = extension.fragment().is_some_and(|part| part.offset > 0);
        Some(extension)
    }
}

/// Builds a header and extension headers.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<'a> {
    /// Differentiated services and congestion notification.
    pub traffic_class: u8,
    /// The flow label, 20 bits.
    pub flow_label: u32,
    /// How many hops it may take.
    pub hop_limit: u8,
    /// The protocol behind the extension headers.
    pub protocol: u8,
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// Extension headers, whole; their first bytes are filled in.
    pub extensions: &'a [Extension<'a>],
}

impl Ipv6<'_> {
    /// A packet with 64 hops to go and no extension headers.
    pub fn new(source: Ipv6Addr, destination: Ipv6Addr, protocol: u8) -> Ipv6<'static> {
        Ipv6 {
            traffic_class: 0,
            flow_label: 0,
            hop_limit: 64,
            protocol,
            source,
            destination,
            extensions: &[],
        }
    }

    /// For the checksum of the upper layer.
    pub fn pseudo(&self) -> Pseudo {
        Pseudo::ipv6(
            self.source.octets(),
            self.destination.octets(),
            self.protocol,
        )
    }

    /// Appends the header, the extension headers and then what `payload` appends; fills in the
    /// length.
    ///
    /// # Panics
    /// When an extension header is empty, or more than 65,535 bytes are behind the header.
    pub fn build(&self, out: &mut Vec<u8>, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        let first = u32::from(self.traffic_class) << 20 | self.flow_label & 0xF_FFFF | 6 << 28;
        out.extend(first.to_be_bytes());
        let kinds = self.extensions.iter().map(|extension| extension.kind);
        let mut kinds = kinds.chain([self.protocol]);
        out.extend([0, 0, kinds.next().unwrap_or(self.protocol), self.hop_limit]);
        out.extend(self.source.octets());
        out.extend(self.destination.octets());
        for (extension, next) in self.extensions.iter().zip(kinds) {
            out.push(next);
            out.extend_from_slice(&extension.bytes[1..]);
        }
        payload(out);
        let length = out.len() - start - 40;
        assert!(
            length <= 0xFFFF,
            "an IPv6 payload of {length} bytes: at most 65535 fit"
        );
        field::put_u16(out, start + 4, length as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(fragment: [u8; 8]) -> Vec<u8> {
        let extensions = [
            Extension {
                kind: protocol::HOP_BY_HOP,
                bytes: &[0, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            },
            Extension {
                kind: protocol::AUTHENTICATION,
                bytes: &[0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
            },
            Extension {
                kind: protocol::FRAGMENT,
                bytes: &fragment,
            },
        ];
        let (source, destination) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
        let header = Ipv6 {
            extensions: &extensions,
            ..Ipv6::new(source, destination, 17)
        };
        let mut packet = Vec::new();
        header.build(&mut packet, |out| out.extend(b"datagram"));
        packet
    }

    #[test]
    fn extension_headers_read_back() {
        let packet = packet([0, 0, 0, 1, 0, 0, 0, 9]);
        let view = Ipv6View::new(&packet).unwrap();
        let mut walk = view.extensions();
        let kinds: Vec<u8> = walk.by_ref().map(|extension| extension.kind).collect();
        assert_eq!(kinds, [0, 51, 44]);
        assert_eq!((walk.protocol(), walk.payload()), (17, &b"datagram"[..]));
        let fragment = view.extensions().find_map(|extension| extension.fragment());
        assert_eq!(
            fragment,
            Some(Fragment {
                offset: 0,
                more: true,
                identification: 9
            })
        );
        for len in 40..packet.len() {
            assert!(Ipv6View::new(&packet[..len]).is_err());
            let view = Ipv6View::new_cut(&packet[..len]).unwrap();
            assert_eq!(view.extensions().count() == 3, len >= 76);
        }
    }

    #[test]
    fn a_later_fragment_has_no_upper_layer_header() {
        let packet = packet([0, 0, 0, 8, 0, 0, 0, 9]);
        let mut walk = Ipv6View::new(&packet).unwrap().extensions();
        assert_eq!(walk.by_ref().count(), 3);
        assert_eq!((walk.protocol(), walk.payload()), (17, &b"datagram"[..]));
    }
}
