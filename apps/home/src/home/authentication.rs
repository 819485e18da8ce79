//! Authentication of the devices of a home.

use super::{Home, News};
use crate::device::Device;
use node::Time;
use packet::ethernet::Mac;

/// Maximum length of an identity, bytes; longer ones are cut.
const MAX_IDENTITY: usize = 64;
/// Interval between two requests to a device.
const ASK_INTERVAL: Time = Time::from_secs(5);
/// Maximum number of devices that wait for the authenticator.
const MAX_UNAUTHENTICATED: usize = 256;

impl Home {
    /// Requires authentication of all devices. To be called before any device is known.
    pub fn require_authentication(&mut self) {
        self.requires_authentication = true;
    }

    /// Whether devices reach nothing without authentication.
    pub fn requires_authentication(&self) -> bool {
        self.requires_authentication
    }

    /// Records an EAPOL frame of a device, which is not authenticated at another port. Returns `false` if it must be dropped: the device
    /// has asked at another port a short time ago. Otherwise an attacker with its MAC address could take the result of its exchange.
    pub fn asks_for_authentication(&mut self, now: Time, mac: Mac, port: u32) -> bool {
        let device = self.device_mut(mac);
        device.is_some_and(|device| device.authentication.ask(now, port))
    }

    /// Has the authenticator ask a device that sends packets and lacks a required authentication: some clients, such as wpa_supplicant
    /// after a cable was plugged in again, wait for that. At most once in 5 s for each device.
    pub fn needs_authentication(&mut self, now: Time, mac: Mac, port: u32) {
        let Some(device) = self.device_mut(mac).filter(|device| !device.blacklisted) else {
            return;
        };
        let authentication = &mut device.authentication;
        let is_missing = authentication.is_required && authentication.at.is_none();
        if !is_missing || now < authentication.ask_after {
            return;
        }
        if !authentication.ask(now, port) {
            return;
        }
        authentication.ask_after = now + ASK_INTERVAL;
        if self.unauthenticated.len() < MAX_UNAUTHENTICATED {
            self.unauthenticated.push(mac);
            self.wake();
        }
    }

    /// Takes the devices that the authenticator must ask.
    pub fn take_unauthenticated(&mut self) -> Vec<Mac> {
        core::mem::take(&mut self.unauthenticated)
    }

    /// Records that the authenticator has accepted a device at `port`, by default the port of its last EAPOL frame. Returns `false`
    /// if there is no such device or its port is unknown.
    pub fn authenticated(
        &mut self,
        now: Time,
        mac: Mac,
        port: Option<u32>,
        identity: Option<&str>,
    ) -> bool {
        let Some(device) = self.device_mut(mac) else {
            return false;
        };
        let Some(port) = port.or(device.authentication.asked_at) else {
            return false;
        };
        let identity = identity.map(|text| {
            let shown = text.chars().filter(|each| !each.is_control());
            let mut length = 0;
            let within = shown.take_while(|each| {
                length += each.len_utf8();
                length <= MAX_IDENTITY
            });
            within.collect::<String>()
        });
        let is_news = device.authentication.at != Some(port);
        device.authentication.at = Some(port);
        let identity = identity.filter(|text| !text.is_empty());
        device.authentication.identity = identity.clone();
        if is_news {
            // The device is where it has just authenticated. Its entries, which the notice deletes, lead to the port before.
            device.port = Some(port);
            self.notify(now, mac, News::Authenticated(true));
        }
        if let Some(identity) = identity {
            self.note(now, mac, |evidence| evidence.note_eapol(&identity));
        }
        true
    }

    /// Records the end of a device's authentication.
    pub fn end_authentication(&mut self, now: Time, mac: Mac) {
        let ended = self
            .device_mut(mac)
            .and_then(|device| device.authentication.at.take());
        if ended.is_some() {
            self.notify(now, mac, News::Authenticated(false));
        }
    }

    /// Ends the authentications of a port, whose cable was pulled.
    pub fn end_authentications_at(&mut self, now: Time, port: u32) {
        let ended = self
            .devices()
            .filter(|device| device.authentication.at == Some(port));
        let ended: Vec<Mac> = ended.map(|device: &Device| device.mac).collect();
        for mac in ended {
            self.end_authentication(now, mac);
        }
    }
}
