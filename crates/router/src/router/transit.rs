//! A packet on its way through the router.

use super::{NONE, reason};
use crate::conntrack::Tracked;
use core::net::IpAddr;
use ip::fragments::Longest;
use ip::header::ETHERNET;
use ip::options::Recorded;
use node::{Frame, Out};
use packet::ip::IpView;

/// Bytes of an IPv6 header.
const IPV6_HEADER: usize = 40;

/// A packet's connection, and the firewall's marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub tracked: Tracked,
    pub mark: u32,
    /// The longest of the fragments in which the packet has arrived.
    pub fragments: Option<Longest>,
    /// Whether the packet is the SYN proxy's SYN to a server.
    pub opens_proxied: bool,
    /// Whether the SYN proxy has written the packet as its receiver must see it.
    pub is_translated: bool,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            tracked: Tracked::INVALID,
            mark: 0,
            fragments: None,
            opens_proxied: false,
            is_translated: false,
        }
    }
}

/// A packet, as it arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transit {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Port of arrival; [`NONE`] of the router's own packets.
    pub from: u16,
    /// Port whose link a link-local destination is on.
    pub link: u16,
    pub vrf: usize,
    /// Offset of its end in the frame, bytes.
    pub end: usize,
    /// Hop limit or TTL.
    pub hops: u8,
    /// Whether fragmentation is forbidden.
    pub whole: bool,
    /// Whether NAT has changed it on its arrival.
    pub translated: bool,
    /// Whether it has come as a packet of the other version.
    pub crossed: bool,
    /// Whether its frame was for a group of stations.
    pub to_group: bool,
    /// Its options.
    pub recorded: Recorded,
    /// Its connection, and the firewall's marks.
    pub flow: Flow,
}

impl Transit {
    /// Reads the packet in a frame that has arrived; `None` when its lengths or its version make no sense.
    pub fn read(frame: &[u8], from: u16, vrf: usize) -> Option<Transit> {
        let kind = u16::from_be_bytes([*frame.get(12)?, *frame.get(13)?]);
        let ip = IpView::new(kind, frame.get(ETHERNET..)?).ok()?;
        let (length, hops, whole) = match ip {
            IpView::V4(ip) => {
                let forbids_fragments = frame[ETHERNET + 6] & 0x40 != 0;
                (
                    ip.total_length().into(),
                    frame[ETHERNET + 8],
                    forbids_fragments,
                )
            }
            // Routers do not cut packets of IPv6 (RFC 8200 section 5).
            IpView::V6(ip) => {
                let length = IPV6_HEADER + usize::from(ip.payload_length());
                (length, ip.hop_limit(), true)
            }
        };
        Some(Transit {
            source: ip.source(),
            destination: ip.destination(),
            from,
            link: from,
            vrf,
            end: ETHERNET + length,
            hops,
            whole,
            translated: false,
            crossed: false,
            to_group: frame[0] & 1 == 1,
            recorded: Recorded::default(),
            flow: Flow::default(),
        })
    }

    /// Reads a packet of the router itself.
    pub fn own(frame: &[u8], link: u16, vrf: usize) -> Option<Transit> {
        let transit = Transit::read(frame, NONE, vrf)?;
        Some(Transit { link, ..transit })
    }
}

/// Reads a packet again that was reassembled or translated.
pub(super) fn reread(
    from: u16,
    vrf: usize,
    frame: Frame,
    out: &mut Out,
) -> Option<(Transit, Frame)> {
    match Transit::read(&frame, from, vrf) {
        Some(transit) => Some((transit, frame)),
        None => {
            out.drop(frame, reason::BAD_HEADER);
            None
        }
    }
}
