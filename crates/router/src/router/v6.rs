//! IPv6 packets as they arrive.

use super::{Router, Transit, reason};
use core::net::IpAddr;
use ip::extensions::{self, Refusal};
use ip::header::{ETHERNET, ICMPV6};
use ip::icmp::Error;
use node::{Frame, Out, Time};
use packet::ipv6::Ipv6View;

/// Refusal to send a packet on because of its source, with the error to its sender if there is one.
pub(super) fn refusal(transit: &Transit) -> Option<Option<Error>> {
    match transit.source {
        IpAddr::V6(source) if source.is_unspecified() => Some(None),
        IpAddr::V6(source) if source.is_unicast_link_local() => Some(Some(Error::Scope)),
        _ => None,
    }
}

impl Router {
    /// Takes an IPv6 packet, with the checks of Linux's `ip6_rcv`.
    pub(super) fn v6(&mut self, now: Time, from: u16, vrf: usize, mut frame: Frame, out: &mut Out) {
        let Some(transit) = Transit::read(&frame, from, vrf) else {
            return out.drop(frame, reason::BAD_HEADER);
        };
        frame.resize(transit.end);
        let Ok(ip) = Ipv6View::new(&frame[ETHERNET..]) else {
            return out.drop(frame, reason::BAD_HEADER);
        };
        let (source, destination) = (ip.source(), ip.destination());
        if source.is_loopback() || source.is_multicast() {
            return out.drop(frame, reason::SOURCE);
        }
        // Groups of no scope, and of one node (RFC 4291 section 2.7).
        let stays = destination.is_multicast() && destination.octets()[1] & 15 <= 1;
        if destination.is_loopback() || stays {
            return out.drop(frame, reason::DESTINATION);
        }
        let is_discovery = is_discovery(&ip);
        match extensions::refusal(&frame[ETHERNET..]) {
            None => {}
            Some(Refusal::Silent) => return out.drop(frame, reason::OPTIONS),
            Some(Refusal::Option(at)) => {
                let error = Error::Option(at);
                return self.fail(now, &transit, error, reason::OPTIONS, frame, out);
            }
        }
        let arrived = self.arrive_at_filter(now, transit, frame, out);
        let Some((transit, frame)) = arrived else {
            return;
        };
        // Of groups only those of the link are the router's, and its interface knows them.
        let for_link = destination.is_multicast() || destination.is_unicast_link_local();
        if for_link || is_discovery {
            if let Some(frame) = self.enter_filter(now, &transit, frame, out) {
                self.link_frame(now, from, frame, out);
            }
            return;
        }
        if let Some((transit, frame)) = self.cross(now, transit, frame, out) {
            self.route(now, &transit, frame, out);
        }
    }
}

/// Whether a packet is a message of neighbour discovery for an address of this link: those have not been forwarded (RFC 4861
/// section 7.1).
fn is_discovery(ip: &Ipv6View<'_>) -> bool {
    let kind = ip.payload().first();
    ip.next_header() == ICMPV6 && matches!(kind, Some(133..=137)) && ip.hop_limit() == 255
}
