//! Authentication of devices by IEEE 802.1X (paper 003, section 4.4.2).
//!
//! The gateway forwards EAPOL between devices and the authenticator, such as hostapd, which reports its results here. An
//! authentication belongs to the switch port at which it was made: a device with the same MAC address at another port has none.
//! The state is lost at a restart, and the authenticator repeats it.

use node::Time;

/// Time after the last frame of an exchange during which no other port can start one.
const EXCHANGE_TIME: Time = Time::from_secs(10);

/// Authentication of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authentication {
    /// Whether the device reaches nothing without it.
    pub is_required: bool,
    /// Switch port of its last EAPOL frame, or of the packet for which it was asked.
    pub asked_at: Option<u32>,
    /// Time of that frame.
    asked: Time,
    /// Switch port at which it is authenticated.
    pub at: Option<u32>,
    /// Identity with which it is authenticated, if known.
    pub identity: Option<String>,
    /// Time from which on it may be asked again.
    pub(crate) ask_after: Time,
}

impl Authentication {
    /// Whether a device at this port lacks a required authentication.
    pub fn is_missing(&self, port: Option<u32>) -> bool {
        self.is_required && (self.at.is_none() || self.at != port)
    }

    /// Renumbers the port of a device, as in a copy of the home.
    pub(crate) fn move_to(&mut self, from: Option<u32>, port: u32) {
        self.at = self.at.filter(|at| Some(*at) == from).map(|_| port);
    }

    /// Starts or continues an exchange at a port. Returns `false` if there is one at another port.
    pub(crate) fn ask(&mut self, now: Time, port: u32) -> bool {
        let is_elsewhere = self.asked_at.is_some_and(|at| at != port);
        if is_elsewhere && now < self.asked + EXCHANGE_TIME {
            return false;
        }
        (self.asked_at, self.asked) = (Some(port), now);
        true
    }
}
