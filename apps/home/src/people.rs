//! The people of a home: the owners of devices, and limits of all devices of a person.
//!
//! A person exists as the owner of devices. Only people with a limit or a pause are stored.

use crate::bedtime::Bedtime;
use crate::limits::{Limits, Quota};
use packet::ethernet::Mac;

/// Maximum number of people with limits.
pub const MAX_PEOPLE: usize = 64;

/// A person with limits.
#[derive(Clone, Debug, Default)]
pub struct Person {
    /// Whether all devices of the person are paused.
    pub paused: bool,
    /// Limits of all devices of the person together.
    pub limits: Limits,
}

/// A change of a person's stored state.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonChange {
    /// Whether all devices are paused.
    Paused(bool),
    /// Times of the week in which they are paused.
    Bedtime(Bedtime),
    /// Bytes a day of all devices together; `None`: no limit.
    Quota(Option<Quota>),
}

/// A device or a person, as the owner of used bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A device.
    Device(Mac),
    /// A person.
    Person(String),
}

impl Person {
    /// Whether nothing holds for it.
    pub(crate) fn is_empty(&self) -> bool {
        !self.paused && self.limits.is_empty()
    }

    /// Applies a change.
    pub(crate) fn apply(&mut self, change: &PersonChange) {
        match change.clone() {
            PersonChange::Paused(paused) => self.paused = paused,
            PersonChange::Bedtime(bedtime) => self.limits.set_bedtime(bedtime),
            PersonChange::Quota(quota) => self.limits.set_quota(quota),
        }
    }
}
