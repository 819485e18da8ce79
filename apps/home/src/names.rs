//! Names of addresses, from the DNS responses to each device and from reverse lookups.
//!
//! A flow to an address is judged by the names that the device itself has looked up for it. For an address that it has not
//! looked up, the names in responses to other devices count, and after them the name from a reverse lookup (paper 003,
//! section 4.4.2). The owner of an address chooses its reverse name, so that name can deny a flow and never permit one.

use crate::domains::Domains;
use core::net::IpAddr;
use dns::lru::Lru;
use node::Time;
use packet::ethernet::Mac;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of addresses of a device.
const MAX_OF_DEVICE: usize = 512;
/// Maximum number of addresses of all devices together.
const MAX_ADDRESSES: usize = 8_192;
/// Maximum number of names of an address.
const MAX_NAMES: usize = 4;
/// An address is remembered for its TTL, and at least for this time: programs often use addresses beyond the TTL.
const MIN_MEMORY: Time = Time::from_secs(3600);
/// Time after which an address without a name is looked up again.
const NO_NAME: Time = Time::from_secs(300);

/// Names of an address.
#[derive(Clone, Debug, Default)]
struct Known {
    names: Vec<Arc<str>>,
    until: Time,
    /// Result of a reverse lookup, which may be empty.
    reverse: Option<Option<Arc<str>>>,
}

impl Known {
    fn add(&mut self, name: &Arc<str>, until: Time) {
        self.until = self.until.max(until);
        if self.names.contains(name) {
            return;
        }
        if self.names.len() >= MAX_NAMES {
            self.names.remove(0);
        }
        self.names.push(name.clone());
    }
}

/// Judgement of a flow to or from an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Permitted; the value says whether the device has looked the address up.
    Permitted(bool),
    /// Denied because of this name, if there is one.
    Denied(Option<Arc<str>>),
    /// A reverse lookup is needed.
    Unknown,
}

/// All known names of addresses.
#[derive(Debug, Default)]
pub struct Names {
    devices: BTreeMap<Mac, Lru<IpAddr, Known>>,
    all: Lru<IpAddr, Known>,
}

impl Names {
    /// Records that a device has received an address for a name.
    pub fn note(&mut self, now: Time, mac: Mac, name: &Arc<str>, address: IpAddr, ttl: u32) {
        let until = now + Time::from_secs(ttl.into()).max(MIN_MEMORY);
        let own = self.devices.entry(mac).or_default();
        for (table, most) in [(own, MAX_OF_DEVICE), (&mut self.all, MAX_ADDRESSES)] {
            known(table, most, address).add(name, until);
        }
    }

    /// Records the result of a reverse lookup.
    pub fn note_reverse(&mut self, now: Time, address: IpAddr, name: Option<Arc<str>>) {
        let memory = if name.is_some() { MIN_MEMORY } else { NO_NAME };
        let known = known(&mut self.all, MAX_ADDRESSES, address);
        known.until = known.until.max(now + memory);
        known.reverse = Some(name);
    }

    /// Judges a flow of a device to or from an address.
    pub fn judge(&mut self, now: Time, mac: Mac, domains: &Domains, address: IpAddr) -> Judgement {
        let own = self.devices.get_mut(&mac);
        let own = own.and_then(|own| own.get(&address));
        let own = own.filter(|known| now < known.until);
        if !domains.restrict() {
            return Judgement::Permitted(own.is_some());
        }
        let denied = |name: &&Arc<str>| !domains.permits(name);
        if let Some(known) = own {
            if let Some(name) = known
                .names
                .first()
                .filter(|_| known.names.iter().all(|name| denied(&name)))
            {
                return Judgement::Denied(Some(name.clone()));
            }
            return Judgement::Permitted(true);
        }
        let known = self.all.get(&address).filter(|known| now < known.until);
        if let Some(name) = known
            .as_ref()
            .and_then(|known| known.names.iter().find(denied))
        {
            return Judgement::Denied(Some(name.clone()));
        }
        if domains.others_denied {
            return Judgement::Denied(None);
        }
        match known.map(|known| (known.names.is_empty(), &known.reverse)) {
            Some((_, Some(Some(name)))) if denied(&name) => Judgement::Denied(Some(name.clone())),
            Some((false, _) | (_, Some(_))) => Judgement::Permitted(false),
            _ => Judgement::Unknown,
        }
    }

    /// The names that are known now, those of one device and those of all, which never expire: for a rehearsal.
    #[must_use]
    pub fn frozen(&self, now: Time, mac: Mac) -> Names {
        let freeze = |table: &Lru<IpAddr, Known>| {
            let mut frozen = Lru::default();
            for (address, known) in table.iter().filter(|(_, known)| now < known.until) {
                let until = Time::MAX;
                frozen.insert(
                    *address,
                    Known {
                        until,
                        ..known.clone()
                    },
                );
            }
            frozen
        };
        let own = self.devices.get(&mac).map(|own| (mac, freeze(own)));
        Names {
            devices: own.into_iter().collect(),
            all: freeze(&self.all),
        }
    }

    /// The latest name of an address: that which the device has looked up, else one of any device or of a reverse lookup.
    pub fn name(&self, mac: Mac, address: IpAddr) -> Option<&Arc<str>> {
        let own = self.devices.get(&mac).and_then(|own| own.peek(&address));
        let all = self.all.peek(&address);
        own.and_then(|known| known.names.last())
            .or_else(|| all.and_then(|known| known.names.last()))
            .or_else(|| all.and_then(|known| known.reverse.as_ref()?.as_ref()))
    }

    /// Gives the names of a device to the device that it is under another MAC address.
    pub fn rename(&mut self, earlier: Mac, mac: Mac) {
        if let Some(own) = self.devices.remove(&earlier) {
            self.devices.insert(mac, own);
        }
    }

    /// Removes a device.
    pub fn forget(&mut self, mac: Mac) {
        self.devices.remove(&mac);
    }

    /// Number of addresses that are remembered.
    pub fn len(&self) -> usize {
        let own: usize = self.devices.values().map(Lru::len).sum();
        own + self.all.len()
    }

    /// Whether no address is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn known(table: &mut Lru<IpAddr, Known>, most: usize, address: IpAddr) -> &mut Known {
    if table.peek(&address).is_none() {
        if table.len() >= most {
            table.pop_oldest();
        }
        table.insert(address, Known::default());
    }
    table.get(&address).expect("it was just added")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(203, 0, 113, 1));

    fn domains(rules: &[(&str, bool)], others_denied: bool) -> Domains {
        let mut domains = Domains::default();
        for (domain, permitted) in rules {
            domains.set(domain, Some(*permitted));
        }
        domains.others_denied = others_denied;
        domains
    }

    #[test]
    fn an_address_is_judged_by_the_names_of_its_device_then_of_others_then_of_its_owner() {
        let (now, mac, other) = (Time::ZERO, Mac([2; 6]), Mac([4; 6]));
        let strict = domains(&[("bad.example", false)], false);
        let mut names = Names::default();
        let free = Domains::default();
        let judge = |names: &mut Names, domains| names.judge(now, mac, domains, ADDRESS);
        assert_eq!(judge(&mut names, &free), Judgement::Permitted(false));
        assert_eq!(judge(&mut names, &strict), Judgement::Unknown);
        names.note_reverse(now, ADDRESS, None);
        assert_eq!(judge(&mut names, &strict), Judgement::Permitted(false));
        let bad: Arc<str> = "www.bad.example".into();
        names.note_reverse(now, ADDRESS, Some(bad.clone()));
        assert_eq!(
            judge(&mut names, &strict),
            Judgement::Denied(Some(bad.clone()))
        );
        let mut names = Names::default();
        names.note(now, other, &bad, ADDRESS, 60);
        assert_eq!(
            judge(&mut names, &strict),
            Judgement::Denied(Some(bad.clone()))
        );
        // Two sites at one address: the device has looked up the good one.
        names.note(now, mac, &"good.example".into(), ADDRESS, 60);
        assert_eq!(judge(&mut names, &strict), Judgement::Permitted(true));
        let later = domains(&[("good.example", false)], false);
        assert!(matches!(
            judge(&mut names, &later),
            Judgement::Denied(Some(_))
        ));
    }

    #[test]
    fn the_owner_of_an_address_cannot_permit_it() {
        let (now, mac) = (Time::ZERO, Mac([2; 6]));
        let only = domains(&[("good.example", true)], true);
        let mut names = Names::default();
        names.note_reverse(now, ADDRESS, Some("good.example".into()));
        assert_eq!(
            names.judge(now, mac, &only, ADDRESS),
            Judgement::Denied(None)
        );
        names.note(now, mac, &"good.example".into(), ADDRESS, 60);
        assert_eq!(
            names.judge(now, mac, &only, ADDRESS),
            Judgement::Permitted(true)
        );
        let later = now + MIN_MEMORY;
        assert_eq!(
            names.judge(later, mac, &only, ADDRESS),
            Judgement::Denied(None)
        );
    }

    #[test]
    fn a_device_that_looks_up_much_takes_bounded_memory() {
        let mut names = Names::default();
        for address in 0..50_000_u32 {
            let name: Arc<str> = format!("n{address}.example").into();
            let address = core::net::Ipv4Addr::from(address).into();
            names.note(Time::ZERO, Mac([2; 6]), &name, address, 60);
            names.note(Time::ZERO, Mac([2; 6]), &name, ADDRESS, 60);
        }
        assert_eq!(names.len(), MAX_OF_DEVICE + MAX_ADDRESSES);
    }
}
