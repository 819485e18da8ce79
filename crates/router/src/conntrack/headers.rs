//! Headers of a packet as the tracker and the rules see them.

use core::net::IpAddr;
use packet::checksum::Sum;
use packet::ipv4::Ipv4View;
use packet::ipv4::protocol;
use packet::ipv6::Ipv6View;

/// Bytes of an IPv6 header.
const IPV6_HEADER: usize = 40;

/// Position and meaning of a packet's headers in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol after all extension headers; of a fragment that is not the first, the protocol of the whole.
    pub protocol: u8,
    /// Offset of the IP header, bytes.
    pub ip: usize,
    /// Offset of the upper protocol's header, bytes.
    pub payload: usize,
    /// Offset of the packet's end, bytes.
    pub end: usize,
    /// Whether the packet is a fragment but not the first: there is no upper header in it.
    pub is_later_fragment: bool,
}

/// Whether a number is that of an extension header that Linux's filters pass over.
pub(crate) fn is_extension(number: u8) -> bool {
    use protocol::{AUTHENTICATION, DESTINATION, FRAGMENT, HOP_BY_HOP, NONE, ROUTING};
    matches!(
        number,
        HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | NONE | DESTINATION
    )
}

/// The protocol after an extension header that is longer than the packet: it has a name, and no bytes. `None` when that, too, is an
/// extension header, or the packet ends before the name.
fn after_cut(number: u8, rest: &[u8]) -> Option<u8> {
    let is_named = is_extension(number) && number != protocol::NONE && rest.len() >= 2;
    rest.first()
        .copied()
        .filter(|next| is_named && !is_extension(*next))
}

impl Headers {
    /// Reads the packet that begins at `at`; `None` when its header is broken. With `is_cut` the packet may end before the length
    /// that it states, as one that an ICMP error quotes.
    pub fn read(bytes: &[u8], at: usize, is_cut: bool) -> Option<Headers> {
        let packet = bytes.get(at..)?;
        match packet.first()? >> 4 {
            4 => {
                let ip = match is_cut {
                    true => Ipv4View::new_cut(packet),
                    false => Ipv4View::new(packet),
                };
                let ip = ip.ok()?;
                let header = ip.header_length();
                Some(Headers {
                    source: ip.source().into(),
                    destination: ip.destination().into(),
                    protocol: ip.protocol(),
                    ip: at,
                    payload: at + header,
                    end: at + header + ip.payload().len(),
                    is_later_fragment: ip.fragment_offset() > 0,
                })
            }
            6 => {
                let ip = match is_cut {
                    true => Ipv6View::new_cut(packet),
                    false => Ipv6View::new(packet),
                };
                let ip = ip.ok()?;
                let mut walk = ip.extensions();
                walk.by_ref().for_each(drop);
                let end = at + IPV6_HEADER + ip.payload().len();
                let (number, payload) = match after_cut(walk.protocol(), walk.payload()) {
                    Some(number) if !walk.is_later_fragment() => (number, end),
                    _ => (walk.protocol(), end - walk.payload().len()),
                };
                Some(Headers {
                    source: ip.source().into(),
                    destination: ip.destination().into(),
                    protocol: number,
                    ip: at,
                    payload,
                    end,
                    is_later_fragment: walk.is_later_fragment(),
                })
            }
            _ => None,
        }
    }

    /// The upper protocol's header and payload; `None` in a later fragment.
    pub fn upper<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match self.is_later_fragment {
            true => None,
            false => bytes.get(self.payload..self.end),
        }
    }

    /// The protocol; `None` of an IPv6 packet whose chain of extension headers has none, or is cut off.
    pub fn upper_protocol(&self) -> Option<u8> {
        let is_known = self.source.is_ipv4() || !is_extension(self.protocol);
        is_known.then_some(self.protocol)
    }

    /// Whether the checksum of TCP, UDP, ICMP or ICMPv6 is right; other protocols count as right, and so do UDP datagrams
    /// without a checksum. An ICMP message of zeros over IPv4 counts as right: Linux's filters sum the IP header, too
    /// (`nf_ip_checksum`).
    pub fn is_checksum_valid(&self, bytes: &[u8]) -> bool {
        let Some(payload) = self.upper(bytes) else {
            return true;
        };
        if self.protocol == protocol::UDP && payload.get(6..8) == Some(&[0, 0]) {
            return true;
        }
        let is_icmp = self.protocol == protocol::ICMP && self.source.is_ipv4();
        is_icmp && payload.iter().all(|byte| *byte == 0)
            || ip::header::is_valid(bytes, &self.packet())
    }

    /// The same for a packet that a rule rejects. As in Linux (`nf_reject_verify_csum`) a protocol without a checksum of its own
    /// kind must have that of ICMP or ICMPv6.
    pub(crate) fn is_checksum_valid_to_reject(&self, bytes: &[u8]) -> bool {
        use protocol::{AUTHENTICATION, DCCP, ESP, GRE, ICMP, ICMPV6, SCTP, TCP, UDP, UDP_LITE};
        let payload = self.upper(bytes).unwrap_or_default();
        let sum = match (self.protocol, self.source) {
            (TCP | UDP, _) | (ICMP, IpAddr::V4(_)) | (ICMPV6, IpAddr::V6(_)) => {
                return self.is_checksum_valid(bytes);
            }
            (AUTHENTICATION | DCCP | ESP | GRE | SCTP | UDP_LITE, _) => return true,
            (_, IpAddr::V4(_)) => Sum::default(),
            _ => {
                ip::header::pseudo(self.source, self.destination, self.protocol).sum(payload.len())
            }
        };
        // Zero and 0xFFFF are the same number, and Linux's sum is never zero.
        matches!(sum.plus(payload).checksum(), 0 | 0xFFFF)
    }

    /// The same as the type of the crate `ip`.
    pub(crate) fn packet(&self) -> ip::header::Packet {
        ip::header::Packet {
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            ecn: 0,
            end: self.end,
            payload: self.payload,
        }
    }
}
