//! ICMP redirects of IPv4, with Linux's conditions and limits (`ip_rt_send_redirect`): a sender on the link that could have
//! reached the next hop by itself gets a redirect.

use super::{Router, Transit};
use crate::route::Hop;
use crate::tables::Decision;
use alloc::collections::BTreeMap;
use core::net::IpAddr;
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
        if hop.port != Some(transit.from) || !port.redirects {
            return;
        }
        let IpAddr::V4(gateway) = hop.via.unwrap_or(transit.destination) else {
            return;
        };
        let tables = &self.vrfs[transit.vrf].tables;
        let back = Transit {
            source: transit.destination,
            destination: transit.source,
            ..*transit
        };
        let is_on_link = match tables.decide(transit.source, || super::key(frame, &back)) {
            Decision::Forward(hops) => hops
                .iter()
                .any(|one| one.via.is_none() && one.port == hop.port),
            _ => false,
        };
        if !is_on_link || !self.redirects.allows(now, transit.source) {
            return;
        }
        if self.redirects.count(transit.source) == 1 {
            self.limit.empty(now, transit.source);
        }
        let on_link = Hop { via: None, ..hop };
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
