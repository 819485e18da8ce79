//! Limits of devices and of people in a home.
//!
//! The limits depend on the time. [`Home::settle`] compares them with the time and with the traffic, and holds or releases devices.
//! A held device is treated as a paused one.

use super::{Change, Home, News, Refused};
use crate::device::Device;
use crate::limits::{Held, Later, Limits, Used, Why};
use crate::people::{MAX_PEOPLE, Owner, Person, PersonChange};
use node::Time;
use packet::ethernet::Mac;
use std::collections::BTreeSet;

/// Maximum time between two looks at the limits: the clock of the machine may be set.
const SETTLE_INTERVAL: Time = Time::from_secs(10);
/// Maximum time for which traffic is counted against quotas and not stored. A crash loses it.
pub const USE_INTERVAL: Time = Time::from_secs(30);

impl Home {
    /// The people with limits, by name.
    pub fn people(&self) -> impl Iterator<Item = (&str, &Person)> {
        self.people.iter().map(|(name, person)| (&**name, person))
    }

    /// A person with limits.
    pub fn person(&self, name: &str) -> Option<&Person> {
        self.people.get(name)
    }

    /// Names of all people: owners of devices, and people with limits.
    pub fn names_of_people(&self) -> BTreeSet<&str> {
        let owners = self.devices().filter_map(|device| device.person.as_deref());
        owners
            .chain(self.people.keys().map(|name| &**name))
            .collect()
    }

    /// Adds a stored person at the start.
    pub fn restore_person(&mut self, name: String, person: Person) {
        self.people.insert(name, person);
    }

    /// Changes what holds for all devices of a person. It takes effect after it is stored, except a pause.
    ///
    /// # Errors
    /// When the name is not one, there are too many people with limits, or the change could not be stored. A pause is in force all the same.
    pub fn change_person(
        &mut self,
        now: Time,
        name: &str,
        change: PersonChange,
    ) -> Result<(), Refused> {
        if !super::is_name(name) {
            return Err(Refused::Name);
        }
        let is_new = !self.people.contains_key(name);
        if is_new && !self.names_of_people().contains(name) {
            return Err(Refused::NoPerson);
        }
        if is_new && self.people.len() >= MAX_PEOPLE {
            return Err(Refused::People);
        }
        let mut person = self.people.get(name).cloned().unwrap_or_default();
        person.apply(&change);
        let kept = match person.is_empty() {
            true => self.journal.keep_person(name, None),
            false => self.journal.keep_person(name, Some(&person)),
        };
        let kept = kept.map_err(Refused::NotKept);
        if kept.is_err() && change != PersonChange::Paused(true) {
            return kept;
        }
        match person.is_empty() {
            true => self.people.remove(name),
            false => self.people.insert(name.into(), person),
        };
        self.settle(now);
        let own = |device: &&Device| device.person.as_deref() == Some(name);
        let macs: Vec<Mac> = self.devices().filter(own).map(|each| each.mac).collect();
        for mac in macs {
            self.notify(now, mac, News::Owner(change.clone()));
        }
        kept
    }

    /// Adds traffic of a device since the last poll; that with the Internet counts against quotas.
    pub fn count(
        &mut self,
        mac: Mac,
        is_sent: bool,
        (packets, bytes): (u64, u64),
        is_outside: bool,
    ) {
        let Some(device) = self.devices.get_mut(&mac) else {
            return;
        };
        let traffic = match is_sent {
            true => &mut device.traffic.sent,
            false => &mut device.traffic.received,
        };
        traffic.0 += packets;
        traffic.1 += bytes;
        if !is_outside {
            return;
        }
        let person = device.person.as_ref();
        let person = person.and_then(|name| self.people.get_mut(name));
        let is_reached = device.limits.count(bytes);
        if is_reached | person.is_some_and(|person| person.limits.count(bytes)) {
            self.next_settle = Some(Time::ZERO);
        }
    }

    /// Time of the next look at the limits; `None` without limits.
    pub fn next_settle(&self) -> Option<Time> {
        self.next_settle
    }

    /// Limits no longer change with time and traffic: for a rehearsal.
    pub fn freeze(&mut self) {
        (self.is_frozen, self.next_settle) = (true, None);
    }

    /// Compares all limits with the time and the traffic. Devices are held or released, with notices. Used bytes are stored when it is due.
    pub fn settle(&mut self, now: Time) {
        if self.is_frozen {
            self.next_settle = None;
            return;
        }
        let unix = self.calendar.unix(now);
        let mut next: Option<u64> = None;
        let mut has_limits = false;
        let mut look = |limits: &mut Limits, calendar: &_| {
            has_limits |= !limits.is_empty();
            let held = limits.held(calendar, unix);
            next = next.into_iter().chain(limits.next()).min();
            held
        };
        let mut of_people = std::collections::BTreeMap::new();
        for (name, person) in &mut self.people {
            let held = look(&mut person.limits, &self.calendar);
            let paused = person.paused.then_some(Held {
                why: Why::Owner,
                until: None,
            });
            of_people.insert(name.clone(), paused.max_by_end(held));
        }
        let mut changed = Vec::new();
        for device in self.devices.values_mut() {
            let own = match device.limits.is_empty() {
                true => None,
                false => look(&mut device.limits, &self.calendar),
            };
            let owner = device.person.as_ref().and_then(|name| of_people.get(name));
            let held = own.max_by_end(owner.copied().flatten());
            if held != device.held {
                device.held = held;
                changed.push((device.mac, held));
            }
        }
        for (mac, held) in &changed {
            self.notify(now, *mac, held.map_or(News::Released, News::Held));
        }
        let is_reached = |held: &Option<Held>| held.is_some_and(|held| held.why == Why::Quota);
        if now >= self.next_save || changed.iter().any(|(_, held)| is_reached(held)) {
            self.next_save = now + USE_INTERVAL;
            self.save_used();
        }
        let change = next.map(|next| now + Time::from_secs(next.saturating_sub(unix).max(1)));
        let times = [Some(now + SETTLE_INTERVAL), Some(self.next_save), change];
        self.next_settle = times.into_iter().flatten().min().filter(|_| has_limits);
    }

    /// Stores the used bytes that are not stored yet. A failure is counted, and the next call tries again.
    pub fn save_used(&mut self) {
        let devices = self.devices.values_mut();
        let devices = devices.map(|device| (Owner::Device(device.mac), &mut device.limits));
        let people = self.people.iter_mut();
        let people = people.map(|(name, each)| (Owner::Person(name.clone()), &mut each.limits));
        let mut unsaved: Vec<_> = devices
            .chain(people)
            .filter(|(_, limits)| limits.is_unsaved)
            .collect();
        let rows: Vec<(Owner, Used)> = unsaved
            .iter()
            .map(|(owner, limits)| (owner.clone(), limits.used))
            .collect();
        if rows.is_empty() {
            return;
        }
        match self.journal.keep_used(&rows) {
            Ok(()) => {
                for (_, limits) in &mut unsaved {
                    limits.is_unsaved = false;
                }
            }
            Err(_) => self.unsaved_use += 1,
        }
    }

    /// Number of times that used bytes could not be stored.
    pub fn unsaved_use(&self) -> u64 {
        self.unsaved_use
    }

    /// Whether a change of a device can change what is in force.
    pub(crate) fn concerns_limits(change: &Change) -> bool {
        matches!(
            change,
            Change::Person(_) | Change::Bedtime(_) | Change::Quota(_)
        )
    }
}
