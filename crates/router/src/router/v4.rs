//! IPv4 packets as they arrive.

use super::{Router, Transit, fragment, reason};
use crate::route::Hop;
use core::net::IpAddr;
use ip::header::ETHERNET;
use ip::icmp::Error;
use ip::options::{self, Recorded, Refusal};
use node::{Frame, Out, Time};
use packet::checksum::update;
use packet::ipv4::Ipv4View;

/// Takes one from the TTL, and changes the checksum with it (RFC 1624).
pub(super) fn count_hop(frame: &mut [u8]) {
    set_hops(frame, frame[ETHERNET + 8] - 1);
}

/// Sets the TTL, and changes the checksum with it.
pub(super) fn set_hops(frame: &mut [u8], hops: u8) {
    let ip = &mut frame[ETHERNET..];
    let [old, sum] = [8, 10].map(|at| u16::from_be_bytes([ip[at], ip[at + 1]]));
    ip[8] = hops;
    let new = u16::from_be_bytes([ip[8], ip[9]]);
    ip[10..12].copy_from_slice(&update(sum, old, new).to_be_bytes());
}

impl Router {
    /// Takes an IPv4 packet, with the checks of Linux's `ip_rcv` and `ip_route_input`.
    pub(super) fn v4(&mut self, now: Time, from: u16, vrf: usize, mut frame: Frame, out: &mut Out) {
        let Ok(ip) = Ipv4View::new(&frame[ETHERNET..]) else {
            return out.drop(frame, reason::BAD_HEADER);
        };
        if !ip.is_checksum_valid() {
            return out.drop(frame, reason::CHECKSUM);
        }
        let (source, destination) = (ip.source(), ip.destination());
        let has_options = ip.header_length() > 20;
        let Some(transit) = Transit::read(&frame, from, vrf) else {
            return out.drop(frame, reason::BAD_HEADER);
        };
        // Without what the link has put after it.
        frame.resize(transit.end);
        if fragment::is_martian_source(source) {
            return out.drop(frame, reason::SOURCE);
        }
        if destination.is_multicast() || destination.is_broadcast() {
            if let Some(frame) = self.search_group(now, &transit, frame, out) {
                self.ignore(frame, out);
            }
            return;
        }
        if destination.is_unspecified() || destination.is_loopback() {
            return out.drop(frame, reason::DESTINATION);
        }
        if self.vrfs[vrf].tables.is_local(source.into()) {
            return out.drop(frame, reason::SOURCE);
        }
        let arrived = self.arrive_at_filter(now, transit, frame, out);
        let Some((transit, frame)) = arrived else {
            return;
        };
        let Some((transit, frame)) = self.arrive_at_border(now, transit, frame, out) else {
            return;
        };
        let Some((mut transit, mut frame)) = self.cross(now, transit, frame, out) else {
            return;
        };
        let destination = transit.destination;
        let is_own = self.vrfs[vrf].tables.is_own(destination);
        if !is_own && self.vrfs[vrf].tables.is_local(destination) {
            return self.ignore(frame, out);
        }
        // Of its own packets the router's interface looks at them.
        if has_options && !is_own {
            match self.arrive(now, &transit, &mut frame) {
                Ok(recorded) => transit.recorded = recorded,
                Err(Refusal::SourceRoute) => return out.drop(frame, reason::SOURCE_ROUTE),
                Err(Refusal::Bad(at)) => {
                    let error = Error::Parameter(0, at.into());
                    return self.fail(now, &transit, error, reason::OPTIONS, frame, out);
                }
            }
        }
        self.route(now, &transit, frame, out);
    }
}

impl Router {
    /// Checks the options of a packet, and records it in them, with the address towards its sender.
    fn arrive(
        &mut self,
        now: Time,
        transit: &Transit,
        frame: &mut Frame,
    ) -> Result<Recorded, Refusal> {
        let back = self.back(transit);
        let hop = self.hop(&back, frame);
        let towards = hop.and_then(|hop| self.source(transit, hop));
        let near = &self.ports[usize::from(transit.from)].interface;
        let any = || {
            near.addresses()
                .map(|own| own.network.address)
                .find(IpAddr::is_ipv4)
        };
        let towards = towards.or_else(any);
        let Some(IpAddr::V4(own)) = towards else {
            return Ok(Recorded::default());
        };
        let tables = &self.vrfs[transit.vrf].tables;
        options::arrive(now, frame, own, |address| tables.is_local(address.into()))
    }

    /// Writes the address by which a packet leaves into its options (RFC 791 section 3.1).
    pub(super) fn record(&self, transit: &Transit, hop: Hop, frame: &mut Frame) {
        if options::length(frame) == 0 {
            return;
        }
        let port = &self.ports[usize::from(hop.port.unwrap_or_default())];
        let next = hop.via.unwrap_or(transit.destination);
        if let Some(IpAddr::V4(own)) = port.interface.source(next) {
            options::depart(frame, transit.recorded, own);
        }
    }
}
