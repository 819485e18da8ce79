//! A device and the decisions about it.

use crate::domains::Domains;
use node::Time;
use packet::ethernet::Mac;

/// Decision of people about a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Admission {
    /// Nothing is decided: it has an address for 30 s at a time, and reaches nothing.
    #[default]
    Waiting,
    /// It may use the network.
    Permitted,
    /// It gets no address, and reaches nothing.
    Denied,
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its MAC address.
    pub mac: Mac,
    /// Number of its /30, from 1.
    pub slot: u16,
    /// Whether it may use the network.
    pub admission: Admission,
    /// Whether it may not associate: its EAPOL frames are dropped.
    pub blacklisted: bool,
    /// Whether it is paused: while it is permitted, it keeps its address and reaches nothing.
    pub paused: bool,
    /// Domains that it may reach.
    pub domains: Domains,
    /// The name that people gave it.
    pub name: Option<String>,
    /// The person to whom it belongs.
    pub person: Option<String>,
    /// The name that it gives itself, by DHCP.
    pub host_name: Option<String>,
    /// First and last time that it was seen; not kept over a restart.
    pub seen: Option<(Time, Time)>,
    /// End of its lease, while it has one.
    pub lease_end: Option<Time>,
    /// Its port of the switch, where that is known.
    pub port: Option<u32>,
    /// Traffic since the start.
    pub traffic: Traffic,
    /// Whether the journal has it: from the first decision about it on.
    pub kept: bool,
    /// Whether a decision that restricts it holds, and could not be kept yet.
    pub unsaved: bool,
    /// Its Wi-Fi link, where it has one.
    pub wifi: Option<Wifi>,
}

/// Figures of a Wi-Fi link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wifi {
    /// Signal strength, dBm.
    pub signal: i8,
    /// Share of frames that were sent again, 0 to 1.
    pub retransmitted: f32,
}

/// Traffic of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets and bytes from the device.
    pub sent: (u64, u64),
    /// Packets and bytes to the device.
    pub received: (u64, u64),
    /// Bytes to or from addresses whose names the device has not looked up.
    pub not_looked_up: u64,
    /// Flows that were dropped.
    pub refused: u64,
}

impl Device {
    /// A device that nobody has decided about.
    pub fn new(mac: Mac, slot: u16) -> Device {
        Device {
            mac,
            slot,
            admission: Admission::Waiting,
            blacklisted: false,
            paused: false,
            domains: Domains::default(),
            name: None,
            person: None,
            host_name: None,
            seen: None,
            lease_end: None,
            port: None,
            traffic: Traffic::default(),
            wifi: None,
            kept: false,
            unsaved: false,
        }
    }

    /// Whether its packets are forwarded.
    pub fn is_admitted(&self) -> bool {
        self.admission == Admission::Permitted && !self.blacklisted && !self.paused
    }

    /// Whether no decision was ever made about it, so that it can make room for another.
    pub fn is_undecided(&self) -> bool {
        !self.kept && !self.unsaved
    }

    /// The name for people: the one they gave, else its own, else the MAC address.
    pub fn label(&self) -> String {
        let given = self.name.as_ref().or(self.host_name.as_ref());
        given.cloned().unwrap_or_else(|| self.mac.to_string())
    }
}
