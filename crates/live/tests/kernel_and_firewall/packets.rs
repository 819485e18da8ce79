//! Addresses of hosts, and frames from one host to another.

use crate::kernel_and_router::{peer_mac, router_mac};
use packet::checksum::Pseudo;
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::Ipv4;
use packet::ipv6::Ipv6;
use std::net::{IpAddr, Ipv6Addr};

/// A host: the router's port that leads to it, and the last number of its addresses.
pub type Host = (usize, u8);

/// Address of a host.
pub fn address(is_v4: bool, (port, number): Host) -> IpAddr {
    match is_v4 {
        true => IpAddr::from([10, 0, port as u8, number]),
        false => Ipv6Addr::new(0xFD00, port as u16, 0, 0, 0, 0, 0, number.into()).into(),
    }
}

/// A frame with a packet of protocol `number` between two hosts. `upper` appends the message.
pub fn frame(
    is_v4: bool,
    [from, to]: [Host; 2],
    number: u8,
    upper: impl Fn(Pseudo, &mut Vec<u8>),
) -> Vec<u8> {
    let ethernet = Ethernet {
        destination: Mac(router_mac(from.0)),
        source: Mac(peer_mac(from.0, from.1)),
        tags: &[],
        ethertype: if is_v4 {
            ethertype::IPV4
        } else {
            ethertype::IPV6
        },
    };
    let mut frame = Vec::new();
    let (from, to) = (address(is_v4, from), address(is_v4, to));
    let pseudo = ip::header::pseudo(from, to, number);
    ethernet.build(&mut frame, |out| match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            Ipv4::new(from, to, number).build(out, |out| upper(pseudo, out));
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            Ipv6::new(from, to, number).build(out, |out| upper(pseudo, out));
        }
        _ => unreachable!("addresses of one version"),
    });
    frame
}
