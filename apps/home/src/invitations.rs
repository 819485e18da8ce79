//! Invitations: a guest who waits and opens the link of one is permitted without a further question.
//!
//! A code has 128 random bits. The store has only its SHA-256, so a link is shown once, when it is made. An invitation ends at its
//! expiry, when a number of devices have used it, and when it is revoked; the devices stay permitted. It works for a device that
//! waits for a decision, which the address of the request names: the control program drops packets from other addresses.

use crate::clock::Clock;
use crate::device::{Admission, Device};
use crate::home::{Change, Refused, Shared};
use crate::secret::random;
use crate::store::{Store, StoreError};
use core::net::IpAddr;
use packet::ethernet::Mac;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Maximum number of invitations that are valid at a time.
pub const MAX_INVITATIONS: usize = 16;
/// Maximum number of devices of an invitation.
pub const MAX_DEVICES: u16 = 20;
/// Maximum validity, hours: 30 days.
pub const MAX_HOURS: u32 = 720;
/// Time for which an invitation is shown after its expiry, seconds: 7 days.
const SHOWN: u64 = 7 * 86_400;
const SETTING: &str = "invitations";

/// An invitation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Invitation {
    /// Names it in the API.
    pub id: String,
    /// SHA-256 of the code, in hexadecimal digits.
    hash: String,
    /// Unix time of its expiry, seconds.
    pub expires: u64,
    /// Number of devices that may use it.
    pub devices: u16,
    /// Owner of the devices that use it.
    pub person: Option<String>,
    /// Whether it is revoked.
    pub is_revoked: bool,
    /// Devices that have used it.
    pub used: Vec<Use>,
}

/// A use of an invitation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Use {
    /// MAC address of the device.
    pub mac: String,
    /// Its label at that time.
    pub label: String,
    /// Unix time, seconds.
    pub at: u64,
}

/// An invitation to be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Validity, hours.
    pub hours: u32,
    /// Number of devices.
    pub devices: u16,
    /// Owner of the devices. Default: none.
    #[serde(default)]
    pub person: Option<String>,
}

/// An invitation that was not made, revoked or accepted.
#[derive(Debug, thiserror::Error)]
pub enum InvitationError {
    /// A number is out of its range.
    #[error("an invitation is for 1 to {MAX_DEVICES} devices and 1 to {MAX_HOURS} hours")]
    Range,
    /// Too many are valid.
    #[error("{MAX_INVITATIONS} invitations are valid, which is the limit; revoke one")]
    Many,
    /// No such invitation.
    #[error("there is no such invitation")]
    None,
    /// No page for guests.
    #[error("this router has no page for guests")]
    NoPage,
    /// The request does not come from a device that waits.
    #[error("this device does not wait for a decision; ask the household")]
    NotWaiting,
    /// The code is wrong or the invitation has ended.
    #[error("this invitation is not valid, or no longer; ask for another one")]
    Code,
    /// Too many wrong codes.
    #[error("too many wrong codes: try again in {0} s")]
    Limited(u64),
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random,
    /// The device could not be permitted.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The invitations of a home.
pub struct Invitations {
    home: Shared,
    store: Store,
    clock: Clock,
    list: Mutex<Vec<Invitation>>,
}

impl Invitations {
    /// Loads the invitations of the store.
    ///
    /// # Errors
    /// When the store cannot be read or has invalid ones.
    pub fn open(home: Shared, store: Store, clock: Clock) -> Result<Invitations, StoreError> {
        let list = match store.setting(SETTING)? {
            Some(text) => serde_json::from_slice(&text)
                .map_err(|error| StoreError::Row(format!("invitations ({error})")))?,
            None => Vec::new(),
        };
        Ok(Invitations {
            home,
            store,
            clock,
            list: Mutex::new(list),
        })
    }

    /// Makes an invitation. Returns it and its code.
    ///
    /// # Errors
    /// When a value is out of its range, too many invitations are valid, or it could not be stored.
    pub fn make(&self, wanted: Wanted) -> Result<(Invitation, String), InvitationError> {
        let person = wanted.person.filter(|person| !person.is_empty());
        if person
            .as_ref()
            .is_some_and(|person| !crate::home::is_name(person))
        {
            return Err(Refused::Name.into());
        }
        if !(1..=MAX_DEVICES).contains(&wanted.devices) || !(1..=MAX_HOURS).contains(&wanted.hours)
        {
            return Err(InvitationError::Range);
        }
        let now = self.clock.unix();
        let mut list = self.list.lock();
        let mut new: Vec<Invitation> = list.clone();
        new.retain(|each| now < each.expires.saturating_add(SHOWN));
        if new.iter().filter(|each| each.is_valid(now)).count() >= MAX_INVITATIONS {
            return Err(InvitationError::Many);
        }
        // Those that have ended and are only shown make room.
        if new.len() >= 4 * MAX_INVITATIONS
            && let Some(ended) = new.iter().position(|each| !each.is_valid(now))
        {
            new.remove(ended);
        }
        let code = random::<16>().map_err(|_| InvitationError::Random)?;
        let made = Invitation {
            id: random::<4>().map_err(|_| InvitationError::Random)?,
            hash: digest(&code),
            expires: now + u64::from(wanted.hours) * 3600,
            devices: wanted.devices,
            person,
            is_revoked: false,
            used: Vec::new(),
        };
        new.push(made.clone());
        self.keep(&new)?;
        *list = new;
        Ok((made, code))
    }

    /// Ends an invitation. Devices that have used it stay permitted.
    ///
    /// # Errors
    /// When there is no such invitation, or the change could not be stored; it is revoked all the same until a restart.
    pub fn revoke(&self, id: &str) -> Result<(), InvitationError> {
        let mut list = self.list.lock();
        let found = list.iter_mut().find(|each| each.id == id);
        found.ok_or(InvitationError::None)?.is_revoked = true;
        Ok(self.keep(&list)?)
    }

    /// All invitations, the latest first.
    pub fn list(&self) -> Vec<Invitation> {
        let now = self.clock.unix();
        let list = self.list.lock();
        let shown = list
            .iter()
            .rev()
            .filter(|each| now < each.expires.saturating_add(SHOWN));
        shown.cloned().collect()
    }

    /// The device that waits at an address.
    ///
    /// # Errors
    /// When there is none.
    pub fn waiting(&self, address: IpAddr) -> Result<Mac, InvitationError> {
        let home = self.home.lock();
        let device = home.owner(address.to_canonical());
        let device =
            device.filter(|device| device.admission == Admission::Waiting && !device.blacklisted);
        device
            .map(|device| device.mac)
            .ok_or(InvitationError::NotWaiting)
    }

    /// Permits the device at an address by a code. Returns its label.
    ///
    /// # Errors
    /// When no device waits there, the code is wrong, the invitation has ended, or the decision could not be stored.
    pub fn accept(&self, address: IpAddr, code: &str) -> Result<String, InvitationError> {
        let mac = self.waiting(address)?;
        let (now, hash) = (self.clock.unix(), digest(code));
        let mut list = self.list.lock();
        // Comparing digests leaks nothing about the code through timing.
        let found = list
            .iter()
            .position(|each| each.hash == hash && each.is_valid(now))
            .ok_or(InvitationError::Code)?;
        let label = self.home.lock().device(mac).map(Device::label);
        list[found].used.push(Use {
            mac: mac.to_string(),
            label: label.clone().unwrap_or_default(),
            at: now,
        });
        // The use is stored first: after a crash the invitation is used once more, and not once less.
        let person = list[found].person.clone();
        let kept = self.keep(&list).map_err(InvitationError::from);
        if let Err(error) = kept.and_then(|()| self.permit(mac, person)) {
            list[found].used.pop();
            // A store that fails has the use; so the invitation is for one device less.
            let _ = self.keep(&list);
            return Err(error);
        }
        Ok(label.unwrap_or_default())
    }

    /// Permits a device that waits.
    fn permit(&self, mac: Mac, person: Option<String>) -> Result<(), InvitationError> {
        let at = self.clock.now();
        let mut home = self.home.lock();
        // A person may have decided in the meantime.
        let device = home.device(mac);
        let is_waiting = device.is_some_and(|device| device.admission == Admission::Waiting);
        if !is_waiting {
            return Err(InvitationError::NotWaiting);
        }
        if person.is_some() {
            home.change(at, mac, Change::Person(person))?;
        }
        Ok(home.change(at, mac, Change::Admission(Admission::Permitted))?)
    }

    fn keep(&self, list: &[Invitation]) -> Result<(), StoreError> {
        let text = serde_json::to_vec(list).map_err(|error| StoreError::Row(error.to_string()))?;
        self.store.set(SETTING, &text)
    }
}

impl Invitation {
    /// Whether a device may use it at a Unix time, in seconds.
    pub fn is_valid(&self, now: u64) -> bool {
        !self.is_revoked && now < self.expires && self.used.len() < usize::from(self.devices)
    }
}

fn digest(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
