//! Reports about packets to their senders: ICMP errors, and from which address they leave.

use super::{NONE, OWN_MAC, Router, Transit, is_link_local, reason};
use crate::route::Hop;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ip::icmp::Error;
use node::{Frame, Out, Time};

impl Router {
    /// Drops a packet, and reports it to its sender where the rules and the rate limit allow it.
    pub(super) fn fail(
        &mut self,
        now: Time,
        transit: &Transit,
        error: Error,
        why: &'static str,
        frame: Frame,
        out: &mut Out,
    ) {
        if transit.crossed {
            return self.fail_across(now, transit, error, why, frame, out);
        }
        let mut report = out.copy(&frame);
        out.drop(frame, why);
        let back = self.back(transit);
        let hop = self.hop(&back, &report);
        let from = hop.and_then(|hop| self.source(transit, hop));
        let written = from.is_some_and(|from| self.write(now, transit, error, from, &mut report));
        let (Some(hop), true) = (hop, written) else {
            return out.done(report);
        };
        if error.is_limited() && !self.limit.allows(now, transit.source) {
            return out.drop(report, reason::LIMIT);
        }
        self.counters.errors += 1;
        self.send_report(now, transit, hop, report, out);
    }

    /// The router's own packet to the sender of a packet, before it has a source address.
    pub(super) fn back(&self, transit: &Transit) -> Transit {
        let is_own = self.vrfs[transit.vrf].tables.is_own(transit.destination);
        let none: IpAddr = match transit.source {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        Transit {
            source: if is_own { transit.destination } else { none },
            destination: transit.source,
            from: NONE,
            link: transit.from,
            ..*transit
        }
    }

    /// Writes a report from the address `from` over the packet; `false` when there is none.
    pub(super) fn write(
        &self,
        now: Time,
        transit: &Transit,
        error: Error,
        from: IpAddr,
        frame: &mut Frame,
    ) -> bool {
        let tables = &self.vrfs[transit.vrf].tables;
        error.write(now, frame, transit.end, from, OWN_MAC, |address| {
            tables.is_local(address.into())
        })
    }

    /// The address from which a report about a packet leaves by `hop`: the packet's destination if it is the router's, and
    /// else that of the port, or of another if it has none.
    pub(super) fn source(&self, transit: &Transit, hop: Hop) -> Option<IpAddr> {
        let vrf = &self.vrfs[transit.vrf];
        if vrf.tables.is_own(transit.destination) && !transit.to_group {
            return Some(transit.destination);
        }
        // Linux reports with the address of the port of arrival, of IPv4 with that of the port by which the report leaves.
        let arrival = self.ports.get(usize::from(transit.from));
        if let Some(port) = arrival.filter(|_| transit.source.is_ipv6()) {
            let own = port.interface.source(transit.source);
            let mut own = own.into_iter().chain(port.global());
            if let Some(own) = own.find(|own| is_link_local(*own) == is_link_local(transit.source))
            {
                return Some(own);
            }
        }
        let port = &self.ports[usize::from(hop.port?)];
        let same = |own: &IpAddr| own.is_ipv4() == transit.source.is_ipv4();
        let near = port
            .interface
            .source(hop.via.filter(same).unwrap_or(transit.source));
        let any = || {
            vrf.own
                .addresses()
                .map(|own| own.network.address)
                .find(same)
        };
        near.or_else(any)
    }

    /// Reports a packet whose next hop has not answered to its sender.
    pub(super) fn unresolved(&mut self, now: Time, port: usize, frame: Frame, out: &mut Out) {
        let vrf = self.ports[port].vrf;
        let Some(mut transit) = Transit::read(&frame, NONE, vrf) else {
            return out.drop(frame, reason::NEIGHBOUR);
        };
        let crossing = self.crossing.as_ref();
        transit.crossed = crossing.is_some_and(|crossing| {
            let tables = &self.vrfs[vrf].tables;
            crossing.has_crossed(&transit, tables, || super::key(&frame, &transit))
        });
        let Some(frame) = self.unresolved_at_border(now, &transit, frame, out) else {
            return;
        };
        // The router's own packets have no sender.
        if self.vrfs[vrf].tables.is_own(transit.source) && !transit.crossed {
            return out.drop(frame, reason::NEIGHBOUR);
        }
        let hop = self.hop(&self.back(&transit), &frame);
        if let (Some(border), Some(by)) = (&self.border, hop.and_then(|hop| hop.port)) {
            transit.translated = border.has_entered(&transit, by, port);
        }
        self.fail(now, &transit, Error::Address, reason::NEIGHBOUR, frame, out);
    }
}
