//! A device and the decisions about it.

use crate::authentication::Authentication;
use crate::domains::Domains;
use crate::identity::{Evidence, Question};
use crate::limits::{Held, Limits};
use core::net::Ipv6Addr;
use node::Time;
use packet::ethernet::Mac;

/// Time since the last sighting for which a device counts as asking. Clients without a decision ask every 15 s, half of their
/// lease of 30 s, and back off to about 64 s without a response (RFC 2131, section 4.1).
const ASKING: Time = Time::from_secs(120);

/// Decision about a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Admission {
    /// No decision yet: it gets an address for 30 s at a time, and reaches nothing.
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
    /// Bedtime and quota of its own.
    pub limits: Limits,
    /// Whether a limit of its own or of its owner is in force.
    pub held: Option<Held>,
    /// Name that a person gave it.
    pub name: Option<String>,
    /// Owner of the device.
    pub person: Option<String>,
    /// Host name that it sends in DHCP.
    pub host_name: Option<String>,
    /// Evidence about its identity.
    pub evidence: Evidence,
    /// Devices that it is not, as a person has said: at most 32, in order.
    pub different: Vec<Mac>,
    /// The last question whether it is an earlier device; [`crate::Home::question`] says whether it is open.
    pub question: Option<Question>,
    /// Number of questions since the last answer.
    pub asked: u8,
    /// First and last time that it was seen; lost at a restart.
    pub seen: Option<(Time, Time)>,
    /// End of its lease, while it has one.
    pub lease_end: Option<Time>,
    /// IPv6 addresses of its own that it used last, the latest first; lost at a restart.
    pub addresses: Vec<Ipv6Addr>,
    /// Its switch port, if known.
    pub port: Option<u32>,
    /// Its authentication by IEEE 802.1X; lost at a restart.
    pub authentication: Authentication,
    /// Traffic since the start.
    pub traffic: Traffic,
    /// Whether the journal has it, which is so from the first decision on.
    pub kept: bool,
    /// Whether a restricting decision is in force but not stored yet.
    pub unsaved: bool,
    /// Its Wi-Fi link, if it has one.
    pub wifi: Option<Wifi>,
}

/// Figures of a Wi-Fi link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wifi {
    /// Signal strength, dBm.
    pub signal: i8,
    /// Share of frames that were retransmitted, 0 to 1, if the driver reports it.
    pub retransmitted: Option<f32>,
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
    /// A device without a decision.
    pub fn new(mac: Mac, slot: u16) -> Device {
        Device {
            mac,
            slot,
            admission: Admission::Waiting,
            blacklisted: false,
            paused: false,
            domains: Domains::default(),
            limits: Limits::default(),
            held: None,
            name: None,
            person: None,
            host_name: None,
            evidence: Evidence::default(),
            different: Vec::new(),
            question: None,
            asked: 0,
            seen: None,
            lease_end: None,
            addresses: Vec::new(),
            port: None,
            authentication: Authentication::default(),
            traffic: Traffic::default(),
            wifi: None,
            kept: false,
            unsaved: false,
        }
    }

    /// Whether its packets are forwarded.
    pub fn is_admitted(&self) -> bool {
        let is_open = self.admission == Admission::Permitted && !self.blacklisted;
        let is_authenticated = !self.authentication.is_missing(self.port);
        is_open && is_authenticated && !self.paused && self.held.is_none()
    }

    /// Whether there was never a decision about it, so that it may be evicted for a new device.
    pub fn is_undecided(&self) -> bool {
        !self.kept && !self.unsaved
    }

    /// Whether it waits for a decision and was seen a short time ago.
    pub fn is_asking(&self, now: Time) -> bool {
        let is_recent = |(_, last): (Time, Time)| now < last + ASKING;
        self.admission == Admission::Waiting && self.seen.is_some_and(is_recent)
    }

    /// Display name: the given name, else the host name, else the MAC address.
    pub fn label(&self) -> String {
        let given = self.name.as_ref().or(self.host_name.as_ref());
        given.cloned().unwrap_or_else(|| self.mac.to_string())
    }
}
