//! Where in a frame the bytes are that may be compressed.

use core::net::{Ipv4Addr, Ipv6Addr};
use packet::ip::IpView;
use packet::ipv4::{Ipv4View, Options, protocol};
use packet::ipv6::Ipv6View;
use packet::vlan::untagged;

/// Extension headers of IPv6 that are looked at.
const EXTENSIONS: usize = 8;

/// Where a packet's parts are in its frame: offsets from the frame's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets {
    /// The IP header.
    pub(super) ip: usize,
    /// Whether it is IPv4.
    pub(super) is_v4: bool,
    /// The byte that says what the body is.
    pub(super) next: usize,
    /// What it says.
    pub(super) protocol: u8,
    /// What may be compressed.
    pub(super) body: usize,
    /// Behind the packet's last byte.
    pub(super) end: usize,
    pub(super) stays: bool,
    pub(super) cuttable: bool,
}

impl Offsets {
    /// The protocol of what may be compressed; for a packet that is encapsulated, the number agreed on.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Where the IP header begins, counted from the frame's first byte.
    pub fn ip(&self) -> usize {
        self.ip
    }

    /// Where what may be compressed begins, counted likewise.
    pub fn body(&self) -> usize {
        self.body
    }

    /// Where it, and the packet, ends.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The bytes that may be compressed, in the frame in which they were found; none in a shorter one.
    pub fn bytes<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        frame.get(self.body..self.end).unwrap_or_default()
    }

    /// How many bytes may be compressed.
    pub fn len(&self) -> usize {
        self.end - self.body
    }

    /// Whether the packet is to stay as it is, if it is not encapsulated yet: it is for the next router - link-local
    /// addresses, no hop left, a router alert - or its checksum is `FFFF`, which no sender writes and would come back as 0.
    pub fn stays(&self) -> bool {
        self.stays
    }

    /// Whether routers may cut the packet into fragments: IPv4 without the flag that forbids it.
    pub fn is_cuttable(&self) -> bool {
        self.cuttable
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.end == self.body
    }
}

/// Why there is no packet to be compressed or restored in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untouched {
    /// Not IP, or not whole, or lengths that make no sense.
    NotIp,
    /// A fragment, and where its own bytes are.
    Fragment(Offsets),
}

/// Finds the packet in an Ethernet frame.
///
/// # Errors
/// When there is none, or a piece of one.
pub fn locate(frame: &[u8]) -> Result<Offsets, Untouched> {
    let (kind, packet) = untagged(frame).ok_or(Untouched::NotIp)?;
    let ip = IpView::new(kind, packet).map_err(|_| Untouched::NotIp)?;
    let at = frame.len() - packet.len();
    let body = at + ip.header_length();
    let offsets = Offsets {
        ip: at,
        is_v4: matches!(ip, IpView::V4(_)),
        next: at + 6,
        protocol: ip.protocol(),
        body,
        end: body + ip.payload().len(),
        stays: false,
        cuttable: false,
    };
    match ip {
        IpView::V4(ip) => locate_v4(offsets, ip),
        IpView::V6(ip) => locate_v6(offsets, ip),
    }
}

fn locate_v4(offsets: Offsets, ip: Ipv4View<'_>) -> Result<Offsets, Untouched> {
    let is_local = |address: Ipv4Addr| {
        matches!(
            address.octets(),
            [169, 254, ..] | [224, 0, 0, _] | [255, 255, 255, 255]
        )
    };
    let local = ip.hop_limit() <= 1 || is_local(ip.source()) || is_local(ip.destination());
    // A router alert is for each router on the way, which looks into the packet (RFC 2113).
    let alert = Options(ip.options()).any(|(kind, _)| kind == 148);
    let offsets = Offsets {
        next: offsets.ip + 9,
        stays: local || alert || ip.checksum() == 0xFFFF,
        cuttable: !ip.dont_fragment(),
        ..offsets
    };
    match ip.is_fragment() {
        true => Err(Untouched::Fragment(offsets)),
        false => Ok(offsets),
    }
}

fn locate_v6(mut offsets: Offsets, ip: Ipv6View<'_>) -> Result<Offsets, Untouched> {
    // fe80::/10, and multicast of interface-local or link-local scope.
    let is_local = |address: Ipv6Addr| match address.octets() {
        [0xFE, second, ..] => second & 0xC0 == 0x80,
        [0xFF, second, ..] => second & 0x0F <= 2,
        _ => false,
    };
    offsets.stays = ip.hop_limit() <= 1 || is_local(ip.source()) || is_local(ip.destination());
    // The walk goes on behind headers that are for the destination only, as a routing header or a fragment header may follow.
    let (mut at, mut seen, mut walk) = (offsets.body, 0, ip.extensions());
    while let protocol::HOP_BY_HOP
    | protocol::ROUTING
    | protocol::DESTINATION
    | protocol::FRAGMENT = walk.protocol()
    {
        // Cut off.
        let extension = walk.next().ok_or(Untouched::NotIp)?;
        let inner = Offsets {
            next: at,
            protocol: walk.protocol(),
            body: at + extension.bytes.len(),
            ..offsets
        };
        if extension.kind == protocol::FRAGMENT {
            return Err(Untouched::Fragment(inner));
        }
        seen += 1;
        if seen > EXTENSIONS {
            return Err(Untouched::NotIp);
        }
        // A router alert is for each router on the way, which looks into the packet (RFC 2711).
        let options = &extension.bytes[2..];
        offsets.stays |= extension.kind == protocol::HOP_BY_HOP && has_router_alert(options);
        at = inner.body;
        if extension.kind != protocol::DESTINATION {
            offsets = Offsets {
                stays: offsets.stays,
                ..inner
            };
        }
    }
    Ok(offsets)
}

/// Whether options hold a router alert.
fn has_router_alert(mut options: &[u8]) -> bool {
    loop {
        match *options {
            [0, ref rest @ ..] => options = rest,
            [5, ..] => return true,
            [_, length, ref rest @ ..] => match rest.get(usize::from(length)..) {
                Some(rest) => options = rest,
                None => return false,
            },
            _ => return false,
        }
    }
}
