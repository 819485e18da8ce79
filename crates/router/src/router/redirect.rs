//! ICMP redirects, with Linux's conditions and limits: a sender on the link that could have reached the next hop by itself gets a
//! redirect. Those of IPv4 (`ip_rt_send_redirect`) come at growing intervals, those of IPv6 (`ip6_forward`, `ndisc_send_redirect`) share
//! the tokens of errors, of the destination and of the sender.

use super::{Router, Transit};
use crate::mpls::Labels;
use crate::route::Hop;
use crate::tables::Decision;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;
use ip::discovery::Redirect;
use ip::header::ETHERNET;
use ip::icmp::Error;
use node::{Frame, Out, Time};

/// Time after the first redirect to a sender in which no other goes to it; it doubles with each
/// (`redirect_load`).
const LOAD: Time = Time::from_ms(20);
/// Number of redirects to a sender that does not follow them (`redirect_number`).
const MAX_REDIRECTS: u32 = 9;
/// Time without a reason for a redirect after which a sender counts as new (`redirect_silence`).
const SILENCE: Time = Time::from_ms(20 << 10);
/// Maximum number of senders that are remembered.
const MAX_SENDERS: usize = 4096;

/// Redirects sent.
#[derive(Debug, Default)]
pub(super) struct Redirects {
    /// Number of redirects to a sender, and the time of the last reason for one.
    senders: BTreeMap<IpAddr, (u32, Time)>,
    /// Memory of the last message of IPv6, for the next.
    message: Vec<u8>,
    /// Whether the packet at hand came with labels. Its sender has not chosen the router as next hop of the packet, and gets no redirect.
    pub is_labelled: bool,
}

impl Redirects {
    /// Whether a redirect goes to a sender now.
    fn allows(&mut self, now: Time, sender: IpAddr) -> bool {
        if self.senders.len() >= MAX_SENDERS && !self.senders.contains_key(&sender) {
            self.senders.retain(|_, (_, last)| *last + SILENCE > now);
            if self.senders.len() >= MAX_SENDERS {
                return false;
            }
        }
        let (count, last) = self.senders.entry(sender).or_insert((0, now));
        if *last + SILENCE < now {
            *count = 0;
        }
        if *count >= MAX_REDIRECTS {
            *last = now;
            return false;
        }
        let allowed = *count == 0 || *last + LOAD * (1 << *count) < now;
        if allowed {
            (*count, *last) = (*count + 1, now);
        }
        allowed
    }

    /// Number of redirects to a sender.
    fn count(&self, sender: IpAddr) -> u32 {
        self.senders.get(&sender).map_or(0, |(count, _)| *count)
    }
}

impl Router {
    /// The link that the sender of a packet is on: that of `port` if there are several.
    fn link_of_sender(&self, transit: &Transit, port: Option<u16>, frame: &Frame) -> Option<Hop> {
        let tables = &self.vrfs[transit.vrf].tables;
        let back = Transit {
            source: transit.destination,
            destination: transit.source,
            ..*transit
        };
        match tables.decide(transit.source, || super::key(frame, &back)) {
            Decision::Forward(hops) => {
                let links = || hops.iter().filter(|one| one.via.is_none());
                let own = links().find(|one| one.port == port);
                own.or(links().next()).copied()
            }
            _ => None,
        }
    }

    /// Whether the sender of a packet is on the link of a port.
    fn is_on_link(&self, transit: &Transit, port: Option<u16>, frame: &Frame) -> bool {
        let link = self.link_of_sender(transit, port, frame);
        link.is_some_and(|link| link.port == port)
    }

    /// Sends a redirect to the sender of an IPv6 packet that leaves by its port of arrival. Of the next hop the link-local address must be
    /// known, unless it is the destination itself (RFC 4861 section 8.2). A sender whose address is on another link gets it there, as
    /// in Linux.
    pub(super) fn redirect_v6(
        &mut self,
        now: Time,
        transit: &Transit,
        hop: Hop,
        frame: &Frame,
        out: &mut Out,
    ) {
        let next = hop.via.unwrap_or(transit.destination);
        let (IpAddr::V6(target), IpAddr::V6(destination), IpAddr::V6(to)) =
            (next, transit.destination, transit.source)
        else {
            return;
        };
        let port = &self.ports[usize::from(transit.from)];
        let may_redirect = port.redirects && !self.redirects.is_labelled;
        if !may_redirect || !self.limit.allows_redirect(now, transit.destination) {
            return;
        }
        let interface = &port.interface;
        let own = interface
            .addresses()
            .find_map(|own| match own.network.address {
                IpAddr::V6(address) if address.is_unicast_link_local() => Some(address),
                _ => None,
            });
        let is_usable = target == destination || target.is_unicast_link_local();
        let Some(own) = own.filter(|_| is_usable) else {
            return;
        };
        let here = Hop {
            via: None,
            labels: Labels::default(),
            ..hop
        };
        let on_link = match to.is_unicast_link_local() {
            true => Some(here),
            false => self.link_of_sender(transit, hop.port, frame),
        };
        let Some(on_link) = on_link.filter(|_| self.limit.allows_redirect(now, transit.source))
        else {
            return;
        };
        let interface = &self.ports[usize::from(transit.from)].interface;
        let mut message = core::mem::take(&mut self.redirects.message);
        message.clear();
        let redirect = Redirect {
            target,
            destination,
            mac: interface.neighbour_mac(next),
            packet: &frame[ETHERNET..],
        };
        let mac = self.ports[usize::from(on_link.port.unwrap_or(transit.from))].mac;
        redirect.build(mac, own, to, &mut message);
        let mut report = out.frame();
        report.extend(&message);
        self.redirects.message = message;
        self.counters.redirects += 1;
        self.send_report(now, transit, on_link, report, out);
    }

    /// Sends a redirect to the sender of a packet if its link has a better next hop.
    pub(super) fn redirect(
        &mut self,
        now: Time,
        transit: &Transit,
        hop: Hop,
        frame: &Frame,
        out: &mut Out,
    ) {
        let port = &self.ports[usize::from(transit.from)];
        let may_redirect = port.redirects && !self.redirects.is_labelled;
        if hop.port != Some(transit.from) || !may_redirect {
            return;
        }
        let IpAddr::V4(gateway) = hop.via.unwrap_or(transit.destination) else {
            return;
        };
        let is_on_link = self.is_on_link(transit, hop.port, frame);
        if !is_on_link || !self.redirects.allows(now, transit.source) {
            return;
        }
        if self.redirects.count(transit.source) == 1 {
            self.limit.empty(now, transit.source);
        }
        let on_link = Hop {
            via: None,
            labels: Labels::default(),
            ..hop
        };
        let from = self.source(transit, on_link);
        let mut report = out.copy(frame);
        let error = Error::Redirect(gateway);
        match from.is_some_and(|from| self.write(now, transit, error, from, &mut report)) {
            true => {
                self.counters.redirects += 1;
                self.send_report(now, transit, on_link, report, out);
            }
            false => out.done(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_that_does_not_follow_gets_nine_redirects_at_growing_intervals() {
        let mut redirects = Redirects::default();
        let sender = IpAddr::from([10, 0, 0, 1]);
        let mut sent = alloc::vec![];
        for ms in 0..40_000 {
            if redirects.allows(Time::from_ms(ms), sender) {
                sent.push(ms);
            }
        }
        // 40 ms after the first, 80 ms after the second ...: the doubled time must be over.
        assert_eq!(sent[..4], [0, 41, 122, 283]);
        assert_eq!(sent.len(), 9);
        assert!(redirects.allows(Time::from_ms(40_000 + (20 << 10)), sender));
    }

    #[test]
    fn forged_senders_cost_bounded_memory() {
        let mut redirects = Redirects::default();
        for sender in 0..10_000_u32 {
            redirects.allows(
                Time::from_us(sender.into()),
                IpAddr::from(sender.to_be_bytes()),
            );
        }
        assert_eq!(redirects.senders.len(), MAX_SENDERS);
        let later = Time::from_secs(60);
        assert!(redirects.allows(later, IpAddr::from([1; 4])));
    }
}
