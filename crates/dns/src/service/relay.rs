//! The links between which a relay sends, and its datagrams to groups.

use super::{is_link_local, write};
use crate::service::Datagram;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use ip::header::ETHERNET;
use ip::service::Link;
use node::{Frame, Out, Port, Time};
use packet::checksum::checksum;

/// How often the addresses of links are read again.
const REFRESH: Time = Time::from_secs(5);

#[derive(Debug)]
struct Own {
    port: Port,
    mac: [u8; 6],
    addresses: Vec<IpAddr>,
    mtu: usize,
}

#[derive(Debug)]
pub(super) struct Links {
    /// Numbers of the ports that take part; none: all.
    chosen: Vec<u16>,
    all: Vec<Own>,
    next: Time,
}

impl Links {
    pub fn new(chosen: &[u16]) -> Links {
        Links {
            chosen: chosen.to_vec(),
            all: Vec::new(),
            next: Time::ZERO,
        }
    }

    /// Time of the next call of [`refresh`](Links::refresh).
    pub fn next_wake(&self) -> Time {
        self.next
    }

    pub fn refresh(&mut self, now: Time, links: &[Link<'_>]) {
        self.next = now + REFRESH;
        let chosen =
            |link: &&Link<'_>| self.chosen.is_empty() || self.chosen.contains(&link.port.0);
        let all = links.iter().filter(chosen).map(|link| Own {
            port: link.port,
            mac: link.interface.mac(),
            addresses: link
                .interface
                .addresses()
                .map(|own| own.network.address)
                .collect(),
            mtu: link.mtu,
        });
        self.all = all.collect();
    }

    pub fn has(&self, port: Port) -> bool {
        self.all.iter().any(|own| own.port == port)
    }

    /// Whether a datagram comes from this node.
    pub fn is_own(&self, datagram: &Datagram) -> bool {
        let source = datagram.source.ip();
        self.all.iter().any(|own| own.addresses.contains(&source))
    }

    /// Sends a datagram to a group on all links but one. Gives the number of links whose MTU it exceeds, or that have no address.
    pub fn send(
        &self,
        except: Port,
        source_port: u16,
        group: SocketAddr,
        hops: u8,
        payload: &[u8],
        out: &mut Out,
    ) -> u64 {
        let mut failed = 0;
        for own in self.all.iter().filter(|own| own.port != except) {
            let same = |address: &&IpAddr| address.is_ipv4() == group.is_ipv4();
            let mut addresses = own.addresses.iter().filter(same);
            // The scope of IPv6's groups is the link.
            let first = addresses
                .clone()
                .find(|address| is_link_local(**address) && group.is_ipv6());
            let Some(source) = first.or_else(|| addresses.next()) else {
                failed += 1;
                continue;
            };
            let mut frame = write(out, SocketAddr::new(*source, source_port), group, payload);
            if frame.len() > ETHERNET + own.mtu {
                out.drop(frame, "relay: longer than the MTU");
                failed += 1;
                continue;
            }
            frame[..6].copy_from_slice(&group_mac(group.ip()));
            frame[6..ETHERNET - 2].copy_from_slice(&own.mac);
            set_hops(&mut frame, hops);
            out.send(own.port, frame);
        }
        failed
    }
}

/// The MAC address of a group (RFC 1112 section 6.4, RFC 2464 section 7).
fn group_mac(group: IpAddr) -> [u8; 6] {
    match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            [1, 0, 0x5E, b & 0x7F, c, d]
        }
        IpAddr::V6(group) => {
            let [.., a, b, c, d] = group.octets();
            [0x33, 0x33, a, b, c, d]
        }
    }
}

fn set_hops(frame: &mut Frame, hops: u8) {
    let ip = &mut frame[ETHERNET..];
    if ip[0] >> 4 == 6 {
        ip[7] = hops;
        return;
    }
    ip[8] = hops;
    ip[10..12].fill(0);
    let sum = checksum(&ip[..20]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
}
