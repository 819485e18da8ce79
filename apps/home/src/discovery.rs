//! Router advertisements for each device (RFC 8273): which ones, to which device, and when.
//!
//! An advertisement goes to the MAC address of one permitted device, and has that device's link in each network. The prefixes are not on
//! the link, so that all traffic passes the router, and have the flag P: a device that can asks for a delegated prefix (RFC 9762).
//! Devices that are not permitted get none. A device that loses its permission, or a network that is withdrawn, is
//! advertised with lifetimes of zero (RFC 9096).

use crate::networks::{LINK_LENGTH, Network, Networks};
use dhcp::advertisement::{ALL_NODES, Advertisement, Prefix, Route};
use node::Time;
use packet::ethernet::Mac;
use std::collections::{BTreeMap, BTreeSet};

/// Lifetime of the router.
const ROUTER_LIFETIME: Time = Time::from_secs(1800);
/// Limits of a prefix's lifetimes (`ND_PREFERRED_LIMIT`, `ND_VALID_LIMIT`, RFC 9096 section 3.4).
pub const PREFERRED_LIMIT: Time = Time::from_secs(2700);
/// The same for the valid lifetime.
pub const VALID_LIMIT: Time = Time::from_secs(5400);
/// Number of advertisements after a change, and the time between two.
const CHANGED: u32 = 3;
const CHANGED_INTERVAL: Time = Time::from_secs(4);
/// Time between two advertisements without a change.
const INTERVAL: Time = Time::from_secs(600);
/// Minimum time between two answers to the solicitations of a device.
const ANSWER_INTERVAL: Time = Time::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Advertised {
    next: Time,
    /// Number of advertisements that follow soon.
    soon: u32,
    answered: Option<Time>,
}

/// Times of the advertisements to all devices. One takes about 100 bytes.
#[derive(Debug, Default)]
pub struct Schedule {
    slots: BTreeMap<u16, Advertised>,
    queue: BTreeSet<(Time, u16)>,
}

impl Schedule {
    /// Schedules three advertisements after a change for the device of a slot, the first one now.
    pub fn change(&mut self, now: Time, slot: u16) {
        let answered = self.slots.get(&slot).and_then(|one| one.answered);
        self.put(
            slot,
            Advertised {
                next: now,
                soon: CHANGED,
                answered,
            },
        );
    }

    /// The content for all devices that have had an advertisement has changed.
    pub fn change_all(&mut self, now: Time) {
        let slots: Vec<u16> = self.slots.keys().copied().collect();
        slots.into_iter().for_each(|slot| self.change(now, slot));
    }

    /// Handles a solicitation from the device of a slot. Returns `false` if its last answer was too recent.
    pub fn solicit(&mut self, now: Time, slot: u16) -> bool {
        let known = self.slots.get(&slot).copied();
        let last = known.and_then(|one| one.answered);
        if last.is_some_and(|at| now < at + ANSWER_INTERVAL) {
            return false;
        }
        let soon = known.map_or(1, |one| one.soon.max(1));
        self.put(
            slot,
            Advertised {
                next: now,
                soon,
                answered: Some(now),
            },
        );
        true
    }

    /// Removes a slot. Returns whether its device has had an advertisement.
    pub fn remove(&mut self, slot: u16) -> bool {
        let old = self.slots.remove(&slot);
        old.is_some_and(|old| self.queue.remove(&(old.next, slot)))
    }

    fn put(&mut self, slot: u16, one: Advertised) {
        if let Some(old) = self.slots.insert(slot, one) {
            self.queue.remove(&(old.next, slot));
        }
        self.queue.insert((one.next, slot));
    }

    /// The next slot whose advertisement is due.
    pub fn due(&mut self, now: Time) -> Option<u16> {
        let (at, slot) = *self.queue.first().filter(|(at, _)| *at <= now)?;
        let one = self.slots.get(&slot).copied()?;
        debug_assert_eq!(one.next, at);
        let soon = one.soon.saturating_sub(1);
        let next = now + if soon > 0 { CHANGED_INTERVAL } else { INTERVAL };
        self.put(slot, Advertised { next, soon, ..one });
        Some(slot)
    }

    /// Time of the next advertisement.
    pub fn next(&self) -> Option<Time> {
        self.queue.first().map(|(at, _)| *at)
    }
}

/// Remaining lifetime, up to a limit.
pub fn rest(now: Time, until: Time, limit: Time) -> Time {
    (until.max(now) - now).min(limit)
}

/// The advertisement for the device of a slot; with `is_last`, all lifetimes are zero.
pub fn advertisement(now: Time, networks: &Networks, slot: u16, is_last: bool) -> Advertisement {
    let lifetime = |network: &Network, until: Time, limit| match is_last || network.is_withdrawn {
        true => Time::ZERO,
        false => rest(now, until, limit),
    };
    let prefixes = networks.iter().filter_map(|network| {
        Some(Prefix {
            address: network.link(slot)?,
            length: LINK_LENGTH,
            on_link: false,
            autonomous: true,
            delegated: true,
            preferred: lifetime(network, network.preferred_until, PREFERRED_LIMIT),
            valid: lifetime(network, network.valid_until, VALID_LIMIT),
        })
    });
    let reaches = !is_last && networks.reach_internet(now);
    let local = networks.iter().filter(|network| network.is_local());
    let routes = local.map(|network| Route {
        address: network.address,
        length: network.length,
        preference: dhcp::advertisement::Preference::Medium,
        lifetime: lifetime(network, network.valid_until, ROUTER_LIFETIME),
    });
    let server = networks.best(now).and_then(|best| best.gateway(slot));
    Advertisement {
        hop_limit: 64,
        managed: true,
        other: true,
        // Without a global prefix it is no default router (RFC 7084 L-4); the local network has a route.
        lifetime: if reaches { ROUTER_LIFETIME } else { Time::ZERO },
        prefixes: prefixes.collect(),
        routes: routes.collect(),
        name_servers: server.filter(|_| !is_last).into_iter().collect(),
        name_lifetime: ROUTER_LIFETIME,
        ..Advertisement::default()
    }
}

/// The frame of an advertisement from the gateway to a device.
pub fn frame(gateway: Mac, device: Mac, one: &Advertisement) -> Vec<u8> {
    let mut frame = Vec::new();
    let own = (gateway.0, link_local(gateway));
    // The group's address in a frame for one device (RFC 6085): no link-local address of it needs to be known.
    one.write(own, (device.0, ALL_NODES), &mut frame);
    frame
}

/// The link-local address of a MAC address.
pub fn link_local(mac: Mac) -> core::net::Ipv6Addr {
    ip::routers::with_mac(core::net::Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), mac.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_advertised_three_times_and_then_rarely() {
        let mut schedule = Schedule::default();
        schedule.change(Time::ZERO, 1);
        let mut times = Vec::new();
        while times.len() < 5 {
            let now = schedule.next().expect("one slot");
            assert_eq!(schedule.due(now), Some(1));
            times.push(now.as_secs_f64());
        }
        assert_eq!(times, [0.0, 4.0, 8.0, 608.0, 1208.0]);
        assert!(schedule.remove(1) && !schedule.remove(1));
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn solicitations_are_answered_once_a_second() {
        let mut schedule = Schedule::default();
        let asked = (0..10_000).filter(|ms| schedule.solicit(Time::from_ms(*ms), 1));
        assert_eq!(asked.count(), 10);
    }
}
