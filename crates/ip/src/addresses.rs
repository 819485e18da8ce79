//! The addresses of an interface: duplicate detection (RFC 4862 section 5.4, RFC 5227) and lifetimes.

use crate::address::InterfaceAddress;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::{IpAddr, Ipv6Addr};
use node::Time;
use node::random::Random;

/// Maximum number of addresses of an interface that routers' advertisements make; more are refused.
pub const MAX_ADDRESSES: usize = 16;
/// Random delay of the first probe (`PROBE_WAIT` of RFC 5227, `MAX_RTR_SOLICITATION_DELAY` of RFC 4861).
const FIRST_DELAY: Time = Time::from_secs(1);
/// Probes of an IPv4 address, and the minimum and maximum time between two (RFC 5227 section 1.1).
const PROBES_V4: u32 = 3;
const MIN_PROBE_INTERVAL: Time = Time::from_secs(1);
const MAX_PROBE_INTERVAL: Time = Time::from_secs(2);
/// Time after the last probe in which a conflict may still show.
const ANNOUNCE_WAIT: Time = Time::from_secs(2);
const ANNOUNCEMENTS: u32 = 2;
const ANNOUNCE_INTERVAL: Time = Time::from_secs(2);
/// Minimum time between two defences of an address.
const DEFEND_INTERVAL: Time = Time::from_secs(10);
/// `DupAddrDetectTransmits` of RFC 4862, and the time in which a conflict may show (`RETRANS_TIMER`).
const PROBES_V6: u32 = 1;
const WAIT_V6: Time = Time::from_secs(1);

/// State of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Another interface may have it: it is not used yet.
    Tentative,
    /// In use.
    Preferred,
    /// In use where no other serves.
    Deprecated,
    /// Another interface has it: it is not used.
    Duplicate,
}

/// An address of the interface.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The address and its prefix.
    pub network: InterfaceAddress,
    /// Its state.
    pub status: Status,
    /// Time at which it stops being preferred.
    pub preferred_until: Time,
    /// Time at which it is taken away.
    pub valid_until: Time,
    /// Whether a router's prefix made it.
    pub from_router: bool,
    sent: u32,
    timer: Option<Time>,
    defended: Option<Time>,
}

impl Own {
    /// Whether packets to it are for this interface.
    pub fn is_assigned(&self) -> bool {
        matches!(self.status, Status::Preferred | Status::Deprecated)
    }

    fn timeout(&self) -> Time {
        let lifetime = match self.status {
            Status::Preferred => self.preferred_until.min(self.valid_until),
            _ => self.valid_until,
        };
        self.timer.unwrap_or(Time::MAX).min(lifetime)
    }
}

/// A timer of an address that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Ask whether another interface has it.
    Probe(IpAddr),
    /// Tell all that it is this interface's.
    Announce(IpAddr),
    /// Its state has changed.
    Changed,
}

/// All addresses.
#[derive(Debug)]
pub(crate) struct Addresses {
    all: Vec<Own>,
    detects: bool,
    random: Random,
    next: Time,
}

impl Addresses {
    pub fn new(detects: bool, seed: u64) -> Addresses {
        Addresses {
            all: Vec::new(),
            detects,
            random: Random::new(seed),
            next: Time::MAX,
        }
    }

    /// Adds an address; `false` when it is there or there is no room.
    pub fn add(
        &mut self,
        now: Time,
        network: InterfaceAddress,
        lifetimes: Option<[Time; 2]>,
    ) -> bool {
        let known = self
            .all
            .iter()
            .any(|own| own.network.address == network.address);
        if known || (lifetimes.is_some() && self.all.len() >= MAX_ADDRESSES) {
            return false;
        }
        let [preferred_until, valid_until] = lifetimes.unwrap_or([Time::MAX; 2]);
        let delay = self.detects.then(|| self.random_until(FIRST_DELAY));
        self.all.push(Own {
            network,
            status: match self.detects {
                true => Status::Tentative,
                false => Status::Preferred,
            },
            preferred_until,
            valid_until,
            from_router: lifetimes.is_some(),
            sent: 0,
            timer: delay.map(|delay| now + delay),
            defended: None,
        });
        self.reckon();
        true
    }

    /// Removes an address.
    pub fn remove(&mut self, address: IpAddr) {
        self.all.retain(|own| own.network.address != address);
        self.reckon();
    }

    pub fn iter(&self) -> impl Iterator<Item = &Own> {
        self.all.iter()
    }

    /// Changes the lifetimes of addresses that a router's prefix made.
    pub fn renew(&mut self, mut change: impl FnMut(&mut Own)) {
        let automatic = self.all.iter_mut().filter(|own| own.from_router);
        for own in automatic {
            change(own);
        }
        self.reckon();
    }

    /// Whether packets to an address are for this interface.
    #[inline]
    pub fn contains(&self, address: IpAddr) -> bool {
        let mut all = self.all.iter();
        all.any(|own| own.network.address == address && own.is_assigned())
    }

    /// Source address of packets to `to` by the next hop `hop` (RFC 6724 section 5). In this order, it prefers the destination
    /// itself, equal scope, addresses that are not deprecated, the prefix of the hop, the label of the destination, and the
    /// longest common prefix (rules 1, 2, 3, 5, 6 and 8).
    pub fn source(&self, to: IpAddr, hop: IpAddr) -> Option<IpAddr> {
        let same = |own: &&Own| own.network.address.is_ipv4() == to.is_ipv4() && own.is_assigned();
        let own = self.all.iter().filter(same);
        let rank = |own: &&Own| {
            let scope = is_link_local(own.network.address) != is_link_local(to);
            let deprecated = own.status == Status::Deprecated;
            let address = own.network.address;
            let (label, common) = match (address, to) {
                (IpAddr::V6(own_address), IpAddr::V6(to)) => {
                    let common = (own_address.to_bits() ^ to.to_bits()).leading_zeros();
                    (
                        label(own_address) != label(to),
                        common.min(own.network.prefix.into()),
                    )
                }
                _ => (false, 0),
            };
            // The source of packets to an own address is that address.
            (
                address != to,
                scope,
                deprecated,
                !own.network.contains(hop),
                label,
                Reverse(common),
            )
        };
        own.min_by_key(rank).map(|own| own.network.address)
    }

    /// Another interface uses an address, or asks whether it is free; gives an address to defend by an announcement.
    pub fn conflict(&mut self, now: Time, address: IpAddr, uses: bool) -> Option<IpAddr> {
        let own = self
            .all
            .iter_mut()
            .find(|own| own.network.address == address)?;
        let defended = match own.status {
            Status::Tentative => {
                (own.status, own.timer) = (Status::Duplicate, None);
                None
            }
            // RFC 5227 section 2.4 b; an IPv6 address in use is kept (RFC 4862 section 5.4.4).
            Status::Preferred | Status::Deprecated if uses && self.detects && address.is_ipv4() => {
                let recent = own
                    .defended
                    .is_some_and(|time| now < time + DEFEND_INTERVAL);
                match recent {
                    true => {
                        (own.status, own.timer) = (Status::Duplicate, None);
                        None
                    }
                    false => {
                        own.defended = Some(now);
                        Some(address)
                    }
                }
            }
            _ => None,
        };
        self.reckon();
        defended
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        (self.next < Time::MAX).then_some(self.next)
    }

    pub fn poll(&mut self, now: Time) -> Option<Due> {
        if self.next > now {
            return None;
        }
        let index = self.all.iter().position(|own| own.timeout() <= now)?;
        let due = self.expire(now, index);
        self.reckon();
        Some(due)
    }

    fn expire(&mut self, now: Time, index: usize) -> Due {
        let interval =
            MIN_PROBE_INTERVAL + self.random_until(MAX_PROBE_INTERVAL - MIN_PROBE_INTERVAL);
        let own = &mut self.all[index];
        if own.valid_until <= now {
            self.all.remove(index);
            return Due::Changed;
        }
        let address = own.network.address;
        let (probes, wait) = match address.is_ipv4() {
            true => (PROBES_V4, ANNOUNCE_WAIT),
            false => (PROBES_V6, WAIT_V6),
        };
        if own.timer.is_none_or(|timer| timer > now) {
            own.status = Status::Deprecated;
            return Due::Changed;
        }
        if own.status == Status::Tentative && own.sent < probes {
            own.sent += 1;
            let last = own.sent == probes;
            own.timer = Some(now + if last { wait } else { interval });
            return Due::Probe(address);
        }
        if own.status == Status::Tentative {
            (own.status, own.sent) = (Status::Preferred, 0);
            if address.is_ipv6() {
                own.timer = None;
                return Due::Changed;
            }
        }
        own.sent += 1;
        own.timer = (own.sent < ANNOUNCEMENTS).then(|| now + ANNOUNCE_INTERVAL);
        Due::Announce(address)
    }

    fn reckon(&mut self) {
        let times = self.all.iter().map(Own::timeout);
        self.next = times.min().unwrap_or(Time::MAX);
    }

    fn random_until(&mut self, bound: Time) -> Time {
        Time::from_ps(self.random.below(bound.as_ps()))
    }
}

/// Label of an address in the default policy table (RFC 6724 section 2.1).
fn label(address: Ipv6Addr) -> u8 {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => 0,
        [0, 0, 0, 0, 0, 0xFFFF, ..] => 4,
        [0, 0, 0, 0, 0, 0, ..] => 3,
        [0x2001, 0, ..] => 5,
        [0x2002, ..] => 2,
        [0x3FFE, ..] => 12,
        [first, ..] if first & 0xFE00 == 0xFC00 => 13,
        [first, ..] if first & 0xFFC0 == 0xFEC0 => 11,
        _ => 1,
    }
}

/// Whether an address reaches no further than the link.
fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => {
            let [first, second, ..] = address.octets();
            address.is_unicast_link_local() || (first == 0xFF && second & 15 <= 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    /// Source of packets to an address, from an interface with these addresses; `!` marks deprecated ones.
    fn source(to: &str, own: &[&str]) -> IpAddr {
        let mut addresses = Addresses::new(false, 1);
        for text in own {
            let plain = text.trim_end_matches('!');
            let network = format!("{plain}/64").parse().expect("an address");
            assert!(addresses.add(Time::ZERO, network, Some([Time::MAX; 2])));
            if text.ends_with('!') {
                let ended = |one: &mut Own| {
                    if one.network.address == network.address {
                        one.status = Status::Deprecated;
                    }
                };
                addresses.renew(ended);
            }
        }
        let (to, router) = (to.parse().expect("an address"), "fe80::99".parse());
        addresses
            .source(to, router.expect("an address"))
            .expect("one")
    }

    #[test]
    fn sources_are_those_of_the_examples_of_rfc_6724_section_10_1() {
        for (to, own, expected) in [
            ("2001:db8:1::1", ["2001:db8:3::1", "fe80::1"], 0),
            ("ff05::1", ["2001:db8:3::1", "fe80::1"], 0),
            ("2001:db8:1::1", ["2001:db8:1::1!", "2001:db8:2::1"], 0),
            ("fe80::1", ["fe80::2!", "2001:db8:1::1"], 0),
            ("2001:db8:1::1", ["2001:db8:1::2", "2001:db8:3::2"], 0),
            (
                "2002:c633:6401::1",
                ["2002:c633:6401::d5e3", "2001:db8:1::2"],
                0,
            ),
            // Local addresses (RFC 4193), and the longer common prefix.
            (
                "2001:db8:53::80",
                ["fd12:3456:789a:6::1", "2001:db8:1::2"],
                1,
            ),
            (
                "fd12:3456:789a:2::1",
                ["2001:db8:1::2", "fd12:3456:789a:6::1"],
                1,
            ),
            ("fd12:3456:789a:2::1", ["fd00::1", "fd12:3456:789b::1"], 1),
        ] {
            let [first, second] = own;
            for order in [[first, second], [second, first]] {
                let chosen = own[expected].trim_end_matches('!').parse::<IpAddr>();
                assert_eq!(Ok(source(to, &order)), chosen, "{to} {order:?}");
            }
        }
    }
}
