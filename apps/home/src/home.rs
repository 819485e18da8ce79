//! State of a home: its devices, and the decisions about them.
//!
//! A decision is a [`Change`]. One that restricts a device takes effect at once and is stored after that. One that permits
//! something is stored before it takes effect. After a call without an error, a restart neither loses a permission nor lifts a
//! denial. A device is stored with the first decision about it, so that a flood of new devices writes nothing.
//!
//! The parts of the router (DHCP, DNS, forwarding) and its API share one [`Home`] behind a lock. They read changes from
//! [`Home::notices`], after the number of the last notice that they have seen.

mod again;
mod authentication;
mod people;
#[cfg(test)]
mod tests;

pub use again::MAX_DIFFERENT;
pub use people::USE_INTERVAL;

use crate::bedtime::Bedtime;
use crate::calendar::Calendar;
use crate::device::{Admission, Device};
use crate::domains::{self, BadDomain};
use crate::identity::Evidence;
use crate::limits::{Held, Quota, Used};
use crate::names::{Judgement, Names};
use crate::networks::{Network, Networks};
use crate::people::{MAX_PEOPLE, Owner, Person, PersonChange};
use crate::plan::Plan;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::Time;
use packet::ethernet::Mac;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A home that several parts share.
pub type Shared = Arc<Mutex<Home>>;

/// Maximum number of notices that are kept.
const MAX_NOTICES: usize = 4096;
/// Maximum length of a name, bytes.
const MAX_NAME: usize = 64;
/// Maximum number of IPv6 addresses that are remembered of a device; the ones that it used last.
pub const MAX_ADDRESSES: usize = 8;
/// Maximum number of devices without a decision; a new one evicts the least recently seen one.
pub const MAX_WAITING: usize = 256;

/// A change of a device's stored state.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new, and has this slot.
    Found(u16),
    /// It is forgotten; its slot is free.
    Forgotten,
    /// A decision about its admission.
    Admission(Admission),
    /// Whether it may not associate.
    Blacklisted(bool),
    /// Whether a permitted device is paused: it keeps its address, and reaches nothing.
    Paused(bool),
    /// A rule for a domain; `None` removes it.
    Domain(String, Option<bool>),
    /// Whether names without a rule are denied.
    OthersDenied(bool),
    /// Its name.
    Name(Option<String>),
    /// Its owner.
    Person(Option<String>),
    /// Its host name, from DHCP.
    HostName(String),
    /// Times of the week in which it is paused.
    Bedtime(Bedtime),
    /// Bytes a day; `None`: no limit.
    Quota(Option<Quota>),
    /// Evidence about its identity, from its messages.
    Evidence(Evidence),
    /// It is this earlier device under another MAC address: it takes over all decisions, and the earlier one is forgotten.
    Again(#[serde(serialize_with = "as_text")] Mac),
    /// It is another device than this one.
    NotAgain(#[serde(serialize_with = "as_text")] Mac),
}

fn as_text<S: serde::Serializer>(mac: &Mac, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(mac)
}

impl Change {
    /// Whether it takes effect only after it is stored: it permits more than before, or the device would be permitted again
    /// after a restart.
    pub fn is_kept_first(&self) -> bool {
        matches!(
            self,
            Change::Forgotten
                | Change::Admission(Admission::Permitted | Admission::Waiting)
                | Change::Blacklisted(false)
                | Change::Paused(false)
                | Change::Domain(_, Some(true) | None)
                | Change::OthersDenied(false)
                | Change::Bedtime(_)
                | Change::Quota(_)
        )
    }
}

/// Stores changes so that they survive a restart. The first change of each device is [`Change::Found`].
pub trait Journal: Send {
    /// Stores a change. After it returns, the change survives a crash of the process or of the machine.
    ///
    /// # Errors
    /// The reason why it could not be stored.
    fn keep(&mut self, mac: Mac, change: &Change) -> Result<(), String>;

    /// Stores a person with limits, or removes one. It survives a crash like a change.
    ///
    /// # Errors
    /// The reason why it could not be stored.
    fn keep_person(&mut self, name: &str, person: Option<&Person>) -> Result<(), String>;

    /// Stores the bytes that devices and people have used since a reset.
    ///
    /// # Errors
    /// The reason why they could not be stored.
    fn keep_used(&mut self, used: &[(Owner, Used)]) -> Result<(), String>;
}

/// Stores nothing: for simulated time and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn keep(&mut self, _: Mac, _: &Change) -> Result<(), String> {
        Ok(())
    }

    fn keep_person(&mut self, _: &str, _: Option<&Person>) -> Result<(), String> {
        Ok(())
    }

    fn keep_used(&mut self, _: &[(Owner, Used)]) -> Result<(), String> {
        Ok(())
    }
}

/// A change that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such device.
    #[error("there is no device {0}")]
    NoDevice(Mac),
    /// A group address.
    #[error("{0} is the address of a group, not of a device")]
    Group(Mac),
    /// All slots are in use by devices with decisions.
    #[error("all {0} networks of devices are in use; forget a device")]
    Full(u16),
    /// The text is not a domain.
    #[error(transparent)]
    Domain(#[from] BadDomain),
    /// Too many rules.
    #[error("a device has at most {} rules for domains", domains::MAX_RULES)]
    Rules,
    /// The name is too long or has control characters.
    #[error("a name has 1 to {MAX_NAME} bytes and no control characters")]
    Name,
    /// No device belongs to the person.
    #[error("no device belongs to this person; name the person as the owner of a device first")]
    NoPerson,
    /// Too many people with limits.
    #[error("at most {MAX_PEOPLE} people have limits")]
    People,
    /// No decision about the earlier device could be taken over.
    #[error("there is no decision about {0}")]
    Undecided(Mac),
    /// There is a decision about the new device, which would be lost.
    #[error(
        "there is a decision about {0} already; only a waiting device can be an earlier one again"
    )]
    Decided(Mac),
    /// Too many devices that it is not.
    #[error(
        "a device is compared with at most {MAX_DIFFERENT} others by people; permit, deny or forget it"
    )]
    Different,
    /// The change could not be stored.
    #[error("the change was not kept: {0}")]
    NotKept(String),
}

/// News of a device, for the parts of the router and the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The stored state of the device has changed.
    Changed(Change),
    /// It has a lease until this time.
    Lease(Time),
    /// Its lease has ended.
    LeaseEnded,
    /// It sent a query for a denied name.
    DomainDenied(String),
    /// It has too many flows: one entry for all of them replaces single ones (paper 003, section 4.4.4).
    Refuge(u32),
    /// Its authentication by IEEE 802.1X has begun or ended.
    Authenticated(bool),
    /// It used an address that is not its own.
    Spoofed(IpAddr),
    /// It reaches nothing for some time, or the reason for that has changed.
    Held(Held),
    /// It is no longer held.
    Released,
    /// Its owner's stored state has changed.
    Owner(PersonChange),
    /// It seems to be this earlier device under another MAC address.
    Again(Mac),
}

/// News of a device, with its number and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Numbers count up from 1.
    pub number: u64,
    /// Router time.
    pub at: Time,
    /// The device.
    pub mac: Mac,
    /// The news.
    pub news: News,
}

/// The state of a home.
pub struct Home {
    /// The addresses.
    pub plan: Plan,
    /// The IPv6 networks, which come and go.
    pub networks: Networks,
    /// Names of addresses; lost at a restart.
    pub names: Names,
    /// Local time.
    pub calendar: Calendar,
    pub(crate) devices: BTreeMap<Mac, Device>,
    pub(crate) people: BTreeMap<String, Person>,
    pub(crate) next_settle: Option<Time>,
    pub(crate) next_save: Time,
    pub(crate) unsaved_use: u64,
    slots: BTreeMap<u16, Mac>,
    notices: VecDeque<Notice>,
    number: u64,
    pub(crate) journal: Box<dyn Journal>,
    has_unsaved: bool,
    /// Whether limits no longer change with time.
    pub(crate) is_frozen: bool,
    /// Time at which the bucket of comparisons is empty.
    compared: Time,
    pub(crate) requires_authentication: bool,
    /// Devices that the authenticator must ask.
    pub(crate) unauthenticated: Vec<Mac>,
    wake: Vec<Box<dyn Fn() + Send>>,
}

impl Home {
    /// A home without devices.
    pub fn new(plan: Plan, journal: Box<dyn Journal>) -> Home {
        Home {
            plan,
            networks: Networks::default(),
            calendar: Calendar::default(),
            people: BTreeMap::new(),
            next_settle: None,
            next_save: Time::ZERO,
            unsaved_use: 0,
            names: Names::default(),
            devices: BTreeMap::new(),
            slots: BTreeMap::new(),
            notices: VecDeque::new(),
            number: 0,
            journal,
            has_unsaved: false,
            is_frozen: false,
            compared: Time::ZERO,
            requires_authentication: false,
            unauthenticated: Vec::new(),
            wake: Vec::new(),
        }
    }

    /// Wraps it for sharing.
    pub fn shared(self) -> Shared {
        Arc::new(Mutex::new(self))
    }

    /// Adds a stored device at the start. Returns `false` if its slot is in use or not in the plan.
    pub fn restore(&mut self, device: Device) -> bool {
        let mut device = Device {
            kept: true,
            ..device
        };
        device.authentication.is_required = self.requires_authentication;
        let slot = device.slot;
        let is_free = (1..self.plan.slots()).contains(&slot) && !self.slots.contains_key(&slot);
        if is_free && !self.devices.contains_key(&device.mac) {
            self.slots.insert(slot, device.mac);
            self.devices.insert(device.mac, device);
            return true;
        }
        false
    }

    /// Adds a function that is called after each notice. It must not lock the home.
    pub fn on_notice(&mut self, wake: impl Fn() + Send + 'static) {
        self.wake.push(Box::new(wake));
    }

    /// All devices, by their MAC addresses.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.values()
    }

    /// A device.
    pub fn device(&self, mac: Mac) -> Option<&Device> {
        self.devices.get(&mac)
    }

    /// A device, for updates of state that a restart loses: sightings and traffic.
    pub fn device_mut(&mut self, mac: Mac) -> Option<&mut Device> {
        self.devices.get_mut(&mac)
    }

    /// The device with this address of the home.
    pub fn at(&self, address: Ipv4Addr) -> Option<&Device> {
        let slot = self.plan.slot(address)?;
        let device = self.of_slot(slot)?;
        (self.plan.device(slot) == address).then_some(device)
    }

    /// The device with this address of the home, in IPv6 one of its network.
    pub fn owner(&self, address: IpAddr) -> Option<&Device> {
        match address {
            IpAddr::V4(address) => self.at(address),
            IpAddr::V6(address) => self.of_slot(self.networks.slot(address)?),
        }
    }

    /// Whether an address belongs to this home.
    pub fn holds(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.plan.holds(address),
            IpAddr::V6(address) => self.networks.of(address).is_some(),
        }
    }

    /// Records that a device uses an IPv6 address of its own.
    pub fn note_address(&mut self, mac: Mac, address: Ipv6Addr) {
        let networks = self.networks;
        let Some(device) = self.devices.get_mut(&mac) else {
            return;
        };
        if device.addresses.first() == Some(&address) {
            return;
        }
        device
            .addresses
            .retain(|known| *known != address && networks.slot(*known).is_some());
        device.addresses.insert(0, address);
        device.addresses.truncate(MAX_ADDRESSES);
    }

    /// Judges a flow of a device to or from an address outside. `None`: there is no such device.
    pub fn judge(&mut self, now: Time, mac: Mac, address: IpAddr) -> Option<Judgement> {
        let device = self.devices.get(&mac)?;
        Some(self.names.judge(now, mac, &device.domains, address))
    }

    /// A copy for a rehearsal of decisions about a device: names and networks do not expire, limits stay as they are after
    /// [`freeze`](Home::freeze), and nothing is stored.
    #[must_use]
    pub fn copy(&self, now: Time, mac: Mac) -> Home {
        let mut copy = Home::new(self.plan, Box::new(NoJournal));
        for network in self.networks.usable() {
            copy.networks.set(Network {
                preferred_until: Time::MAX,
                valid_until: Time::MAX,
                ..*network
            });
        }
        copy.names = self.names.frozen(now, mac);
        copy.devices = self.devices.clone();
        copy.slots = self.slots.clone();
        copy.calendar = self.calendar.clone();
        copy.people = self.people.clone();
        copy
    }

    /// The device of a slot.
    pub fn of_slot(&self, slot: u16) -> Option<&Device> {
        self.devices.get(self.slots.get(&slot)?)
    }

    /// Adds a device that has not been seen yet, so that a decision about it can be made in advance.
    ///
    /// # Errors
    /// When the address is one of a group, no slot is free, or a new device could not be stored.
    pub fn add(&mut self, now: Time, mac: Mac) -> Result<(), Refused> {
        match self.devices.contains_key(&mac) {
            true => Ok(()),
            false => self.find(now, mac),
        }
    }

    /// Records a sighting of a device; a new one gets a slot.
    ///
    /// # Errors
    /// When the address is one of a group, or no slot is free.
    pub fn seen(&mut self, now: Time, mac: Mac) -> Result<&mut Device, Refused> {
        self.seen_at(now, mac, None)
    }

    /// Records a sighting of a device at a switch port; a new one gets a slot. With too many new devices, one of the port that has
    /// most of them is evicted, those without a lease first: a flood at a port affects only that port.
    ///
    /// # Errors
    /// When the address is one of a group, or no slot is free.
    pub fn seen_at(
        &mut self,
        now: Time,
        mac: Mac,
        port: Option<u32>,
    ) -> Result<&mut Device, Refused> {
        self.add(now, mac)?;
        let device = self.devices.get_mut(&mac).ok_or(Refused::NoDevice(mac))?;
        device.seen = Some((device.seen.map_or(now, |(first, _)| first), now));
        device.port = port.or(device.port);
        Ok(device)
    }

    fn find(&mut self, now: Time, mac: Mac) -> Result<(), Refused> {
        if mac.is_group() || mac == Mac::default() {
            return Err(Refused::Group(mac));
        }
        let full = Refused::Full(self.plan.slots() - 1);
        let undecided = self.devices.values().filter(|device| device.is_undecided());
        let is_full = self.slots.len() >= usize::from(self.plan.slots() - 1);
        if is_full || undecided.clone().count() >= MAX_WAITING {
            let mut ports: BTreeMap<Option<u32>, usize> = BTreeMap::new();
            undecided
                .clone()
                .for_each(|device| *ports.entry(device.port).or_default() += 1);
            let busiest = ports.into_iter().max_by_key(|(_, count)| *count);
            let (port, _) = busiest.ok_or(full.clone())?;
            let oldest = undecided
                .filter(|device| device.port == port)
                .min_by_key(|device| {
                    let last = device.seen.map(|(_, last)| last);
                    (device.lease_end.is_some(), last)
                });
            let oldest = oldest.ok_or(full.clone())?.mac;
            self.change(now, oldest, Change::Forgotten)?;
        }
        // The lowest free slot, so that the same devices in the same order have the same addresses.
        let slot = (1..self.plan.slots())
            .find(|slot| !self.slots.contains_key(slot))
            .ok_or(full)?;
        self.slots.insert(slot, mac);
        let mut device = Device::new(mac, slot);
        device.authentication.is_required = self.requires_authentication;
        self.devices.insert(mac, device);
        self.notify(now, mac, News::Changed(Change::Found(slot)));
        Ok(())
    }

    /// Makes a decision about a device that is known.
    ///
    /// # Errors
    /// When there is no such device, the change is invalid, or it could not be stored. A change that restricts the device takes
    /// effect all the same, and [`retry`](Home::retry) stores it later.
    pub fn change(&mut self, now: Time, mac: Mac, change: Change) -> Result<(), Refused> {
        let change = match checked(change)? {
            Change::Again(earlier) => return self.join(now, mac, earlier),
            Change::NotAgain(earlier) => return self.part(now, mac, earlier),
            change => change,
        };
        let device = self.devices.get(&mac).ok_or(Refused::NoDevice(mac))?;
        let mut changed = device.clone();
        if !apply(&mut changed, &change) {
            return Err(Refused::Rules);
        }
        let kept = match change {
            Change::HostName(_) | Change::Forgotten if device.is_undecided() => Ok(()),
            _ if device.kept && !device.unsaved => self.keep(mac, &change),
            Change::Forgotten => self.keep(mac, &change),
            _ => {
                let kept = match device.unsaved {
                    true => self.keep_all(&changed),
                    false => self.keep_all(&device.clone()),
                };
                kept.and_then(|()| self.keep(mac, &change))
            }
        };
        if kept.is_err() && change.is_kept_first() {
            return kept;
        }
        if !matches!(change, Change::HostName(_)) || !changed.is_undecided() {
            changed.kept |= kept.is_ok();
            changed.unsaved = kept.is_err();
            self.has_unsaved |= kept.is_err();
        }
        match change {
            Change::Forgotten => {
                self.slots.remove(&changed.slot);
                self.devices.remove(&mac);
                self.lose(mac);
            }
            _ => {
                self.devices.insert(mac, changed);
            }
        }
        let concerns_limits = Home::concerns_limits(&change);
        self.notify(now, mac, News::Changed(change));
        if concerns_limits {
            self.settle(now);
        }
        kept
    }

    /// Whether a decision is in force that could not be stored yet.
    pub fn has_unsaved(&self) -> bool {
        self.has_unsaved
    }

    /// Stores the decisions that are in force and not stored yet.
    ///
    /// # Errors
    /// When a decision still cannot be stored.
    pub fn retry(&mut self) -> Result<(), Refused> {
        let unsaved = self.devices.values().filter(|device| device.unsaved);
        let unsaved: Vec<Mac> = unsaved.map(|device| device.mac).collect();
        for mac in unsaved {
            let device = self.devices.get(&mac).ok_or(Refused::NoDevice(mac))?;
            self.keep_all(&device.clone())?;
            if let Some(device) = self.devices.get_mut(&mac) {
                (device.kept, device.unsaved) = (true, false);
            }
        }
        self.has_unsaved = false;
        Ok(())
    }

    /// Stores all decisions about a device, its admission last, so that at no time more is permitted.
    fn keep_all(&mut self, device: &Device) -> Result<(), Refused> {
        // A new device is kept as it is found: what is as at the beginning is no decision.
        let known = match device.kept || device.unsaved {
            true => Vec::new(),
            false => changes(&Device::new(device.mac, device.slot)),
        };
        if !device.kept {
            self.keep(device.mac, &Change::Found(device.slot))?;
        }
        for change in changes(device) {
            if !known.contains(&change) {
                self.keep(device.mac, &change)?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, mac: Mac, change: &Change) -> Result<(), Refused> {
        self.journal.keep(mac, change).map_err(Refused::NotKept)
    }

    /// Adds news of a device.
    pub fn notify(&mut self, now: Time, mac: Mac, news: News) {
        if self.notices.len() >= MAX_NOTICES {
            self.notices.pop_front();
        }
        self.number += 1;
        self.notices.push_back(Notice {
            number: self.number,
            at: now,
            mac,
            news,
        });
        self.wake();
    }

    /// Wakes the parts that wait for news.
    pub(crate) fn wake(&self) {
        for wake in &self.wake {
            wake();
        }
    }

    /// Number of the last notice.
    pub fn last_notice(&self) -> u64 {
        self.number
    }

    /// Number of notices that are kept.
    pub fn notice_count(&self) -> u64 {
        self.notices.len() as u64
    }

    /// The notices after this number. `None`: some of them are no longer kept, and all devices must be looked at.
    pub fn notices(&self, after: u64) -> Option<impl Iterator<Item = &Notice>> {
        let first = self.number + 1 - self.notices.len() as u64;
        let skipped = (after + 1).checked_sub(first)?;
        Some(
            self.notices
                .iter()
                .skip(usize::try_from(skipped).unwrap_or(usize::MAX)),
        )
    }
}

/// Whether a text may be the name of a device or of a person.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// A change in its stored form: domains in lower case, names checked.
fn checked(change: Change) -> Result<Change, Refused> {
    match change {
        Change::Domain(text, rule) => Ok(Change::Domain(domains::domain(&text)?, rule)),
        Change::Name(Some(ref name))
        | Change::Person(Some(ref name))
        | Change::HostName(ref name)
            if !is_name(name) =>
        {
            Err(Refused::Name)
        }
        other => Ok(other),
    }
}

/// Changes after [`Change::Found`] that lead from a new device to this one.
fn changes(device: &Device) -> Vec<Change> {
    let name = |name: &Option<String>| name.clone().map(Some);
    let rules = device.domains.rules();
    let mut changes: Vec<Change> = rules
        .map(|(domain, permitted)| Change::Domain(domain.into(), Some(permitted)))
        .collect();
    changes.extend(device.host_name.clone().map(Change::HostName));
    let evidence = Some(&device.evidence).filter(|evidence| !evidence.is_empty());
    changes.extend(evidence.cloned().map(Change::Evidence));
    changes.extend(device.different.iter().copied().map(Change::NotAgain));
    changes.extend(name(&device.name).map(Change::Name));
    changes.extend(name(&device.person).map(Change::Person));
    if !device.limits.bedtime.is_empty() {
        changes.push(Change::Bedtime(device.limits.bedtime.clone()));
    }
    changes.extend(device.limits.quota.map(|quota| Change::Quota(Some(quota))));
    changes.push(Change::OthersDenied(device.domains.others_denied));
    changes.push(Change::Paused(device.paused));
    changes.push(Change::Blacklisted(device.blacklisted));
    changes.push(Change::Admission(device.admission));
    changes
}

/// Applies a change to a device. Returns `false` if it has too many rules.
pub fn apply(device: &mut Device, change: &Change) -> bool {
    match change.clone() {
        Change::Found(slot) => device.slot = slot,
        Change::Forgotten | Change::Again(_) => {}
        Change::Evidence(evidence) => device.evidence = evidence,
        Change::NotAgain(other) => device.different.push(other),
        Change::Admission(admission) => device.admission = admission,
        Change::Blacklisted(blacklisted) => device.blacklisted = blacklisted,
        Change::Paused(paused) => device.paused = paused,
        Change::Domain(domain, rule) => return device.domains.set(&domain, rule),
        Change::OthersDenied(denied) => device.domains.others_denied = denied,
        Change::Name(name) => device.name = name,
        Change::Person(person) => device.person = person,
        Change::HostName(name) => device.host_name = Some(name),
        Change::Bedtime(bedtime) => device.limits.set_bedtime(bedtime),
        Change::Quota(quota) => device.limits.set_quota(quota),
    }
    true
}
