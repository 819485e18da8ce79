//! IP of either version, for what reads both alike.

use crate::BadHeader;
use crate::checksum::Pseudo;
use crate::ethernet::ethertype;
use crate::ipv4::Ipv4View;
use crate::ipv6::Ipv6View;
use crate::vlan::untagged;
use core::net::IpAddr;

/// The protocol of the outermost packet of a frame, behind extension headers, and the offset of its upper-layer header. `None`
/// for what is not IP, a later fragment, and where the frame ends in the IP header. The upper layer's own header may be cut off.
#[inline]
pub fn upper_layer(frame: &[u8]) -> Option<(u8, usize)> {
    let (kind, packet) = untagged(frame)?;
    let (protocol, payload) = match IpView::new_any_length(kind, packet).ok()? {
        IpView::V4(ip) if ip.fragment_offset() > 0 => return None,
        IpView::V4(ip) => (ip.protocol(), ip.payload()),
        IpView::V6(ip) => {
            let mut walk = ip.extensions();
            walk.by_ref().for_each(drop);
            if walk.is_later_fragment() {
                return None;
            }
            (walk.protocol(), walk.payload())
        }
    };
    Some((protocol, frame.len() - payload.len()))
}

/// The EtherType of what is neither version.
const NOT_IP: BadHeader = BadHeader("not IP");

/// A packet of IPv4 or IPv6. No method panics.
#[derive(Clone, Copy, Debug)]
pub enum IpView<'a> {
    /// Of version 4.
    V4(Ipv4View<'a>),
    /// Of version 6.
    V6(Ipv6View<'a>),
}

impl<'a> IpView<'a> {
    /// Looks at what is behind an EtherType, which padding may follow.
    ///
    /// # Errors
    /// When it is not IP, cut off, or its version or lengths make no sense.
    #[inline]
    pub fn new(kind: u16, bytes: &'a [u8]) -> Result<IpView<'a>, BadHeader> {
        match kind {
            ethertype::IPV4 => Ipv4View::new(bytes).map(IpView::V4),
            ethertype::IPV6 => Ipv6View::new(bytes).map(IpView::V6),
            _ => Err(NOT_IP),
        }
    }

    /// As [`new`](IpView::new), without a look at the packet's length: the payload goes to the end of `bytes`.
    ///
    /// # Errors
    /// When it is not IP, the header is cut off, or its version or its own length makes no sense.
    #[inline]
    pub fn new_any_length(kind: u16, bytes: &'a [u8]) -> Result<IpView<'a>, BadHeader> {
        match kind {
            ethertype::IPV4 => Ipv4View::new_any_length(bytes).map(IpView::V4),
            ethertype::IPV6 => Ipv6View::new_any_length(bytes).map(IpView::V6),
            _ => Err(NOT_IP),
        }
    }

    /// The header's length in bytes: with the options of IPv4, without the extension headers of IPv6.
    #[inline]
    pub fn header_length(&self) -> usize {
        match self {
            IpView::V4(view) => view.header_length(),
            IpView::V6(_) => 40,
        }
    }

    /// Source address.
    #[inline]
    pub fn source(&self) -> IpAddr {
        match self {
            IpView::V4(view) => view.source().into(),
            IpView::V6(view) => view.source().into(),
        }
    }

    /// Destination address.
    #[inline]
    pub fn destination(&self) -> IpAddr {
        match self {
            IpView::V4(view) => view.destination().into(),
            IpView::V6(view) => view.destination().into(),
        }
    }

    /// The protocol of the payload; of IPv6 that may be an extension header.
    #[inline]
    pub fn protocol(&self) -> u8 {
        match self {
            IpView::V4(view) => view.protocol(),
            IpView::V6(view) => view.next_header(),
        }
    }

    /// Differentiated services and congestion notification.
    pub fn traffic_class(&self) -> u8 {
        match self {
            IpView::V4(view) => view.traffic_class(),
            IpView::V6(view) => view.traffic_class(),
        }
    }

    /// What is behind the header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        match self {
            IpView::V4(view) => view.payload(),
            IpView::V6(view) => view.payload(),
        }
    }

    /// Whether the packet is a piece of another, the first included.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        match self {
            IpView::V4(view) => view.is_fragment(),
            IpView::V6(view) => {
                let mut parts = view.extensions().filter_map(|header| header.fragment());
                parts.any(|part| part.more || part.offset > 0)
            }
        }
    }

    /// For the checksum of an upper layer.
    pub fn pseudo(&self, protocol: u8) -> Pseudo {
        match self {
            IpView::V4(view) => {
                let (source, destination) = (view.source(), view.destination());
                Pseudo::ipv4(source.octets(), destination.octets(), protocol)
            }
            IpView::V6(view) => view.pseudo(protocol),
        }
    }
}
