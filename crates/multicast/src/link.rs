//! Frames of a service: a node's link as the service knows it, and packets to groups.

use crate::message::{self, Family, Message};
use core::net::{IpAddr, Ipv4Addr};
use node::{Frame, Out, Port, Time};
use packet::checksum;
use packet::ethernet::{Mac, ethertype};

const ETHERNET: usize = 14;

/// A link, as it was when the node last showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub port: Port,
    pub mac: Mac,
    pub mtu: usize,
    /// Own addresses: of IPv4, and link-local of IPv6.
    pub own: [Option<IpAddr>; 2],
}

impl Known {
    pub(crate) fn new(link: &ip::service::Link<'_>) -> Known {
        let addresses = || link.interface.addresses().map(|own| own.network.address);
        let v6 = addresses().find(|address| match address {
            IpAddr::V6(address) => address.is_unicast_link_local(),
            IpAddr::V4(_) => false,
        });
        let v4 = addresses().find(|address| address.is_ipv4());
        Known {
            port: link.port,
            mac: Mac(link.interface.mac()),
            mtu: link.mtu,
            own: [v4, v6],
        }
    }

    pub(crate) fn own(&self, family: Family) -> Option<IpAddr> {
        self.own[usize::from(family == Family::V6)]
    }

    /// Sends a message. MLD leaves only from a link-local address, IGMP from 0.0.0.0 if there is no other.
    pub(crate) fn send(&self, message: &Message, family: Family, out: &mut Out) -> bool {
        let any = (family == Family::V4).then_some(Ipv4Addr::UNSPECIFIED.into());
        let Some(source) = self.own(family).or(any) else {
            return false;
        };
        let mut frame = out.frame();
        message::build_frame(message, source, self.mac, &mut frame);
        out.send(self.port, frame);
        true
    }
}

/// A packet to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToGroup {
    pub source: IpAddr,
    pub group: IpAddr,
    pub hop_limit: u8,
    /// Length of the packet, bytes.
    pub length: usize,
}

/// Reads the header of a packet to a group; `None` for anything else.
pub(crate) fn to_group(frame: &[u8]) -> Option<ToGroup> {
    let kind = frame.get(12..ETHERNET)?;
    let bytes = &frame[ETHERNET..];
    let (source, group, hop_limit, length): (IpAddr, IpAddr, u8, usize) =
        match u16::from_be_bytes([kind[0], kind[1]]) {
            ethertype::IPV4 => {
                let view = packet::ipv4::Ipv4View::new(bytes).ok()?;
                view.is_checksum_valid().then_some(())?;
                let length = view.total_length().into();
                (
                    view.source().into(),
                    view.destination().into(),
                    view.hop_limit(),
                    length,
                )
            }
            ethertype::IPV6 => {
                let view = packet::ipv6::Ipv6View::new(bytes).ok()?;
                let length = 40 + usize::from(view.payload_length());
                (
                    view.source().into(),
                    view.destination().into(),
                    view.hop_limit(),
                    length,
                )
            }
            _ => return None,
        };
    (group.is_multicast() && length <= bytes.len()).then_some(ToGroup {
        source,
        group,
        hop_limit,
        length,
    })
}

/// Makes the next hop's frame of a packet to a group whose hop limit is at least 2.
pub(crate) fn next_hop(frame: &mut Frame, group: IpAddr, mac: Mac) {
    frame[..6].copy_from_slice(&message::mac_of(group).0);
    frame[6..12].copy_from_slice(&mac.0);
    match group {
        IpAddr::V4(_) => {
            let old = u16::from_be_bytes([frame[22], frame[23]]);
            frame[22] -= 1;
            let new = u16::from_be_bytes([frame[22], frame[23]]);
            let sum = u16::from_be_bytes([frame[24], frame[25]]);
            let sum = checksum::update(sum, old, new);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        IpAddr::V6(_) => frame[21] -= 1,
    }
}

/// The earliest of some times.
pub(crate) fn earliest(times: impl Iterator<Item = Option<Time>>) -> Option<Time> {
    times.flatten().min()
}
