//! Devices that come again under another MAC address: evidence, questions, and the answers of people.

use super::{Change, Home, News, Refused};
use crate::device::{Admission, Device};
use crate::identity::{Evidence, Question, Sighting, suggest};
use node::Time;
use packet::ethernet::Mac;

/// Maximum number of devices about which a person has said that a device is another one.
pub const MAX_DIFFERENT: usize = 32;
/// Maximum number of questions about a device until a person answers one.
const MAX_QUESTIONS: u8 = 4;
/// Comparisons of a device with all others: burst, and the time that each one takes from it. Without the limit a flood of new
/// devices would cause one for each message.
const BURST: u64 = 50;
const INTERVAL: Time = Time::from_ms(20);

impl Device {
    pub(super) fn sighting(&self) -> Sighting<'_> {
        Sighting {
            mac: self.mac,
            evidence: &self.evidence,
            seen: self.seen,
        }
    }
}

impl Home {
    /// Adds evidence about the identity of a known device. `note` returns whether it is new. A waiting device is compared with all
    /// others, and people are asked if it seems to be one of them.
    pub fn note(&mut self, now: Time, mac: Mac, note: impl FnOnce(&mut Evidence) -> bool) {
        let Some(device) = self.devices.get_mut(&mac) else {
            return;
        };
        if note(&mut device.evidence) && device.kept {
            let change = Change::Evidence(device.evidence.clone());
            // Evidence that is not stored is noted again with the next message.
            let _ = self.journal.keep(mac, &change);
        }
        self.suspect(now, mac);
    }

    fn suspect(&mut self, now: Time, mac: Mac) {
        let Some(device) = self.devices.get(&mac) else {
            return;
        };
        if device.admission != Admission::Waiting || device.asked >= MAX_QUESTIONS {
            return;
        }
        if self.question(device).is_some() || device.evidence.is_empty() {
            return;
        }
        let idle = self.compared.max(now);
        if idle + INTERVAL > now + Time::from_ps(INTERVAL.as_ps() * BURST) {
            return;
        }
        self.compared = idle + INTERVAL;
        let earlier = self.devices.values().filter(|earlier| {
            !earlier.is_undecided()
                && earlier.admission != Admission::Waiting
                && !device.different.contains(&earlier.mac)
        });
        let suggested = suggest(&device.sighting(), earlier.map(Device::sighting));
        let question = suggested.map(|(earlier, weight)| Question {
            earlier,
            reasons: weight.reasons,
        });
        let earlier = question.as_ref().map(|question| question.earlier);
        if let Some(device) = self.devices.get_mut(&mac) {
            device.asked += u8::from(question.is_some());
            device.question = question;
        }
        if let Some(earlier) = earlier {
            self.notify(now, mac, News::Again(earlier));
        }
    }

    /// The open question about a device. It closes when the earlier device is present, is gone, or is waiting itself.
    pub fn question<'a>(&self, device: &'a Device) -> Option<&'a Question> {
        let question = device.question.as_ref()?;
        let earlier = self.devices.get(&question.earlier)?;
        let is_open = device.admission == Admission::Waiting
            && earlier.admission != Admission::Waiting
            && !device.sighting().overlaps(&earlier.sighting());
        is_open.then_some(question)
    }

    /// Stores all that is in force about an earlier device. Returns it.
    fn stored(&mut self, mac: Mac) -> Result<Device, Refused> {
        let device = self.devices.get(&mac).ok_or(Refused::NoDevice(mac))?;
        let device = device.clone();
        if device.is_undecided() || device.admission == Admission::Waiting {
            return Err(Refused::Undecided(mac));
        }
        if device.unsaved {
            self.keep_all(&device)?;
            if let Some(device) = self.devices.get_mut(&mac) {
                (device.kept, device.unsaved) = (true, false);
            }
        }
        Ok(device)
    }

    /// Moves everything that people have decided about an earlier device to a waiting one, in one write, and forgets the earlier one.
    pub(super) fn join(&mut self, now: Time, mac: Mac, earlier: Mac) -> Result<(), Refused> {
        let new = self.devices.get(&mac).ok_or(Refused::NoDevice(mac))?;
        if new.admission != Admission::Waiting {
            return Err(Refused::Decided(mac));
        }
        let new = new.clone();
        if new.mac == earlier {
            return Err(Refused::NoDevice(earlier));
        }
        let old = self.stored(earlier)?;
        let mut evidence = old.evidence;
        evidence.merge(new.evidence);
        let joined = Device {
            evidence,
            question: None,
            asked: 0,
            host_name: new.host_name.or(old.host_name),
            seen: new.seen,
            lease_end: new.lease_end,
            addresses: new.addresses,
            port: new.port,
            traffic: new.traffic,
            wifi: new.wifi,
            mac,
            slot: new.slot,
            kept: true,
            unsaved: false,
            ..old
        };
        if !new.kept {
            self.keep(mac, &Change::Found(new.slot))?;
            if let Some(name) = &joined.host_name {
                self.keep(mac, &Change::HostName(name.clone()))?;
            }
        }
        self.keep(mac, &Change::Evidence(joined.evidence.clone()))?;
        self.keep(mac, &Change::Again(earlier))?;
        self.slots.remove(&old.slot);
        self.devices.remove(&earlier);
        self.devices.insert(mac, joined);
        // Devices that are not the earlier one are not this one.
        self.lose(mac);
        for device in self.devices.values_mut() {
            if let Some(other) = device.different.iter_mut().find(|other| **other == earlier) {
                *other = mac;
                device.different.sort_unstable();
            }
        }
        self.names.rename(earlier, mac);
        self.notify(now, earlier, News::Changed(Change::Forgotten));
        self.notify(now, mac, News::Changed(Change::Again(earlier)));
        self.settle(now);
        Ok(())
    }

    /// Records that a device is another one than an earlier device.
    pub(super) fn part(&mut self, now: Time, mac: Mac, earlier: Mac) -> Result<(), Refused> {
        let device = self.devices.get(&mac).ok_or(Refused::NoDevice(mac))?;
        let device = device.clone();
        if mac == earlier {
            return Err(Refused::NoDevice(earlier));
        }
        if device.different.contains(&earlier) {
            return Ok(());
        }
        if device.different.len() >= MAX_DIFFERENT {
            return Err(Refused::Different);
        }
        self.stored(earlier)?;
        if device.is_undecided() || device.unsaved {
            self.keep_all(&device)?;
        }
        self.keep(mac, &Change::NotAgain(earlier))?;
        if let Some(device) = self.devices.get_mut(&mac) {
            (device.kept, device.unsaved, device.asked) = (true, false, 0);
            device.different.push(earlier);
            device.different.sort_unstable();
            device.question = None;
        }
        self.notify(now, mac, News::Changed(Change::NotAgain(earlier)));
        self.suspect(now, mac);
        Ok(())
    }

    /// Removes what others know of a device that is gone.
    pub(super) fn lose(&mut self, gone: Mac) {
        for device in self.devices.values_mut() {
            device.different.retain(|other| *other != gone);
        }
    }
}
