//! IPv6 networks of a home: each device has a /63 of its own in each, which is what its /30 is in IPv4.
//!
//! The lower /64 is the device's link, from which it makes addresses (RFC 8273). The upper /64 is delegated to a device that asks for
//! it by DHCPv6 (RFC 9663). The number of the /63 is the device's slot, so that a restart changes nothing and the owner of an address
//! is known from the address. `::1` of the link is the gateway, `::2` the address by DHCPv6. Slot 0 is the router's.

use core::net::Ipv6Addr;
use node::Time;

/// Maximum number of networks: a local one, the delegated one, and those that it has replaced.
pub const MAX_NETWORKS: usize = 4;
/// Minimum and maximum length of a network's prefix, bits. One of 62 bits has room for one device.
const MIN_LENGTH: u8 = 16;
const MAX_LENGTH: u8 = 62;
/// Length of the prefix of a device, bits.
pub const DEVICE_LENGTH: u8 = 63;
/// Length of the prefix of a link, bits.
pub const LINK_LENGTH: u8 = 64;
/// Time for which a withdrawn network is advertised with lifetimes of zero (RFC 9096 section 3.5).
const WITHDRAWN: Time = Time::from_secs(7200);
/// Maximum number of slots.
const MAX_SLOTS: u128 = 1 << 14;

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its first address.
    pub address: Ipv6Addr,
    /// Length of its prefix, bits.
    pub length: u8,
    /// Time until which new connections may use it.
    pub preferred_until: Time,
    /// Time until which it is valid.
    pub valid_until: Time,
    /// Whether the provider has withdrawn it. Its packets are dropped, and devices learn that it is gone.
    pub is_withdrawn: bool,
}

/// A network that cannot be one of a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an IPv6 network of a home has a prefix of {MIN_LENGTH} to {MAX_LENGTH} bits and no bits after it, such as fd12:3456:789a::/48"
)]
pub struct BadNetwork;

impl Network {
    /// A network with lifetimes.
    ///
    /// # Errors
    /// When the prefix is too short or too long, or the address has bits after it.
    pub fn new(
        address: Ipv6Addr,
        length: u8,
        preferred_until: Time,
        valid_until: Time,
    ) -> Result<Network, BadNetwork> {
        let is_network = (MIN_LENGTH..=MAX_LENGTH).contains(&length)
            && u128::from(address).trailing_zeros() >= 128 - u32::from(length)
            && !address.is_multicast();
        is_network
            .then_some(Network {
                address,
                length,
                preferred_until,
                valid_until,
                is_withdrawn: false,
            })
            .ok_or(BadNetwork)
    }

    /// Whether it is a local one, which the Internet does not route (RFC 4193).
    pub fn is_local(&self) -> bool {
        self.address.is_unique_local()
    }

    /// Number of slots, with that of the router: 2 to 16,384.
    pub fn slots(&self) -> u16 {
        (1_u128 << (DEVICE_LENGTH - self.length)).min(MAX_SLOTS) as u16
    }

    /// The /63 of a slot, `None` when the network has no room for it.
    pub fn device(&self, slot: u16) -> Option<Ipv6Addr> {
        let offset = u128::from(slot) << (128 - DEVICE_LENGTH);
        (slot < self.slots()).then(|| (u128::from(self.address) | offset).into())
    }

    /// The /64 of a slot's link.
    pub fn link(&self, slot: u16) -> Option<Ipv6Addr> {
        self.device(slot)
    }

    /// The /64 that the device of a slot may have delegated.
    pub fn delegated(&self, slot: u16) -> Option<Ipv6Addr> {
        let device = u128::from(self.device(slot)?);
        Some((device | 1 << (128 - LINK_LENGTH)).into())
    }

    /// The gateway of a slot.
    pub fn gateway(&self, slot: u16) -> Option<Ipv6Addr> {
        Some((u128::from(self.device(slot)?) | 1).into())
    }

    /// The address that the device of a slot gets by DHCPv6.
    pub fn address_of(&self, slot: u16) -> Option<Ipv6Addr> {
        Some((u128::from(self.device(slot)?) | 2).into())
    }

    /// Whether an address is one of the network.
    pub fn holds(&self, address: Ipv6Addr) -> bool {
        (u128::from(address) ^ u128::from(self.address)) >> (128 - self.length) == 0
    }

    /// The slot of an address of the network.
    pub fn slot(&self, address: Ipv6Addr) -> Option<u16> {
        let number = (u128::from(address) ^ u128::from(self.address)) >> (128 - DEVICE_LENGTH);
        let slot = u16::try_from(number).ok()?;
        (self.holds(address) && slot < self.slots()).then_some(slot)
    }
}

/// The networks of a home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Networks([Option<Network>; MAX_NETWORKS]);

impl Networks {
    /// All networks.
    pub fn iter(&self) -> impl Iterator<Item = &Network> {
        self.0.iter().flatten()
    }

    /// The networks whose packets are forwarded.
    pub fn usable(&self) -> impl Iterator<Item = &Network> {
        self.iter().filter(|network| !network.is_withdrawn)
    }

    /// The network of an address.
    pub fn of(&self, address: Ipv6Addr) -> Option<&Network> {
        self.iter().find(|network| network.holds(address))
    }

    /// The slot of an address of a usable network.
    pub fn slot(&self, address: Ipv6Addr) -> Option<u16> {
        let network = self.of(address).filter(|network| !network.is_withdrawn)?;
        network.slot(address)
    }

    /// The network from which devices get leases by DHCPv6: the one with the longest preferred lifetime, a global one first.
    pub fn best(&self, now: Time) -> Option<&Network> {
        let all = self.usable().filter(|network| network.valid_until > now);
        all.max_by_key(|network| (!network.is_local(), network.preferred_until))
    }

    /// Whether devices reach the Internet from one of them.
    pub fn reach_internet(&self, now: Time) -> bool {
        let mut all = self.usable();
        all.any(|network| !network.is_local() && network.valid_until > now)
    }

    /// Adds a network, or renews its lifetimes. Returns whether it is new. Without room it replaces the one that ends first.
    pub fn set(&mut self, new: Network) -> bool {
        let same = |known: &&mut Option<Network>| {
            known.is_some_and(|known| (known.address, known.length) == (new.address, new.length))
        };
        if let Some(known) = self.0.iter_mut().find(same) {
            let was_withdrawn = known.is_some_and(|known| known.is_withdrawn);
            *known = Some(new);
            return was_withdrawn;
        }
        let ends = |place: &&mut Option<Network>| place.map(|network| network.valid_until);
        if let Some(place) = self.0.iter_mut().min_by_key(ends) {
            *place = Some(new);
        }
        true
    }

    /// Withdraws the global networks that `keep` does not name. Returns them.
    pub fn withdraw_others(&mut self, now: Time, keep: Option<(Ipv6Addr, u8)>) -> Vec<Network> {
        let mut gone = Vec::new();
        for network in self.0.iter_mut().flatten() {
            let is_kept = keep == Some((network.address, network.length));
            if !is_kept && !network.is_withdrawn && !network.is_local() {
                network.is_withdrawn = true;
                network.preferred_until = now;
                network.valid_until = now + WITHDRAWN;
                gone.push(*network);
            }
        }
        gone
    }

    /// Removes the networks whose time is over. Returns those that were usable.
    pub fn expire(&mut self, now: Time) -> Vec<Network> {
        let mut gone = Vec::new();
        for place in &mut self.0 {
            if let Some(network) = place.take_if(|network| network.valid_until <= now)
                && !network.is_withdrawn
            {
                gone.push(network);
            }
        }
        gone
    }

    /// Time at which the next network ends.
    pub fn next_end(&self) -> Option<Time> {
        let ends = self.iter().map(|network| network.valid_until);
        ends.filter(|end| *end < Time::MAX).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str, length: u8) -> Network {
        let address = text.parse().expect("an address");
        Network::new(address, length, Time::MAX, Time::MAX).expect("a network")
    }

    #[test]
    fn each_slot_has_a_link_and_a_delegated_prefix_of_its_own() {
        for (length, slots) in [(62, 2), (60, 8), (56, 128), (48, 16_384), (32, 16_384)] {
            let network = network("2001:db8::", length);
            assert_eq!(network.slots(), slots);
            for slot in [0, 1, slots / 2, slots - 1] {
                let (link, delegated) = (network.link(slot), network.delegated(slot));
                let [link, delegated] = [link, delegated].map(|one| one.expect("room"));
                assert_eq!(u128::from(delegated) - u128::from(link), 1 << 64);
                for address in [link, delegated] {
                    let last = u128::from(address) | u128::from(u64::MAX);
                    assert_eq!(network.slot(address), Some(slot));
                    assert_eq!(network.slot(last.into()), Some(slot));
                }
            }
            assert_eq!(network.device(slots), None);
        }
        assert_eq!(
            network("2001:db8::", 56).slot("2001:db8:0:100::".parse().expect("an address")),
            None
        );
    }

    #[test]
    fn networks_without_room_or_with_bits_after_the_prefix_are_none() {
        for (text, length) in [
            ("2001:db8::", 63),
            ("2001:db8::", 8),
            ("2001:db8::1", 56),
            ("ff02::", 48),
        ] {
            let address = text.parse().expect("an address");
            assert_eq!(
                Network::new(address, length, Time::MAX, Time::MAX),
                Err(BadNetwork),
                "{text}/{length}"
            );
        }
    }

    #[test]
    fn a_new_prefix_withdraws_the_old_one_and_leaves_the_local_one() {
        let mut networks = Networks::default();
        let (local, old, new) = (
            network("fd00:1::", 48),
            network("2001:db8:1::", 56),
            network("2001:db8:2::", 56),
        );
        assert!(networks.set(local) && networks.set(old) && !networks.set(old));
        let now = Time::from_secs(100);
        let gone = networks.withdraw_others(now, Some((new.address, new.length)));
        assert!(networks.set(new));
        assert_eq!(
            gone.iter().map(|gone| gone.address).collect::<Vec<_>>(),
            [old.address]
        );
        assert_eq!(networks.best(now), Some(&new));
        assert_eq!(networks.slot(old.link(3).expect("room")), None);
        assert_eq!(networks.slot(new.link(3).expect("room")), Some(3));
        assert_eq!(networks.slot(local.link(3).expect("room")), Some(3));
        networks.withdraw_others(now, None);
        assert_eq!(
            (networks.best(now), networks.reach_internet(now)),
            (Some(&local), false)
        );
        assert!(networks.expire(now + WITHDRAWN).is_empty());
        assert_eq!(networks.iter().count(), 1);
    }
}
