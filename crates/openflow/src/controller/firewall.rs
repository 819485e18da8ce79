//! A firewall: each new flow is held against a list of rules, of which the first that fits decides.
//!
//! What is refused gets an entry that drops it; what is allowed goes on to the next program. That one's entries must
//! match whole flows ([`exact`](super::learning::Config::exact)), else more would pass than was looked at. ARP and what
//! is neither ARP nor IPv4 follows the rules without addresses, protocol and ports only.
//!
//! - **Parameters:** `rules`, a list of `action` (`allow` or `deny`) and what they are for: `source`, `destination` (prefixes such as
//!   `10.0.0.0/8`), `protocol` (a number, or `icmp`, `tcp`, `udp`), `source_port`, `destination_port`, `switch` (its number), `in_port`,
//!   `ethertype`. `otherwise`, allow: for what no rule is for. `idle_timeout`, 60 s, and `priority`, 2: of entries that drop.
//! - **Counters:** `allowed`, `denied`.

use super::{App, Handle, Headers, Verdict};
use crate::channel::Peer;
use crate::list::List;
use crate::matching::Match;
use crate::message::{FlowMod, PacketIn};
use alloc::vec::Vec;

/// What becomes of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Decision {
    /// It goes on.
    #[default]
    Allow,
    /// It is dropped.
    Deny,
}

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub address: [u8; 4],
    /// How many bits of it count, up to 32.
    pub length: u8,
}

impl Prefix {
    /// Whether an address is among them.
    pub fn holds(&self, address: [u8; 4]) -> bool {
        let mask = u32::MAX.checked_shl(32 - u32::from(self.length.min(32)));
        let differs = u32::from_be_bytes(address) ^ u32::from_be_bytes(self.address);
        differs & mask.unwrap_or(0) == 0
    }
}

/// A rule; what it does not say fits everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Rule {
    /// What becomes of flows that it fits.
    pub action: Decision,
    /// IPv4 source.
    pub source: Option<Prefix>,
    /// IPv4 destination.
    pub destination: Option<Prefix>,
    /// Protocol of IPv4.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::config::protocol"))]
    pub protocol: Option<u8>,
    /// TCP or UDP source port.
    pub source_port: Option<u16>,
    /// TCP or UDP destination port.
    pub destination_port: Option<u16>,
    /// The switch that the packet came to first.
    pub switch: Option<u64>,
    /// The port that it came by.
    pub in_port: Option<u32>,
    pub ethertype: Option<u16>,
}

impl Rule {
    fn fits(&self, switch: u64, in_port: u32, headers: &Headers) -> bool {
        let ip = headers.ipv4.filter(|_| headers.ethertype == 0x0800);
        let protocol = headers.protocol.filter(|_| ip.is_some());
        let transport = headers
            .transport
            .filter(|_| matches!(protocol, Some(6 | 17)));
        let within = |rule: Option<Prefix>, address: Option<[u8; 4]>| {
            rule.is_none_or(|rule| address.is_some_and(|address| rule.holds(address)))
        };
        fn same<T: PartialEq>(rule: Option<T>, value: Option<T>) -> bool {
            rule.is_none() || rule == value
        }
        within(self.source, ip.map(|ip| ip.0))
            && within(self.destination, ip.map(|ip| ip.1))
            && same(self.protocol, protocol)
            && same(self.source_port, transport.map(|ports| ports.0))
            && same(self.destination_port, transport.map(|ports| ports.1))
            && same(self.switch, Some(switch))
            && same(self.in_port, Some(in_port))
            && same(self.ethertype, Some(headers.ethertype))
    }
}

/// What the program is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// What becomes of flows that no rule fits.
    pub otherwise: Decision,
    /// Seconds without a packet after which an entry that drops goes; 0 for never.
    pub idle_timeout: u16,
    /// The priority of entries that drop.
    pub priority: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            rules: Vec::new(),
            otherwise: Decision::Allow,
            idle_timeout: 60,
            priority: 2,
        }
    }
}

#[derive(Debug)]
pub struct Firewall {
    config: Config,
    allowed: u64,
    denied: u64,
}

impl Firewall {
    /// One with these rules.
    pub fn new(config: Config) -> Firewall {
        Firewall {
            config,
            allowed: 0,
            denied: 0,
        }
    }
}

impl App for Firewall {
    fn name(&self) -> &'static str {
        "firewall"
    }

    fn packet_in(
        &mut self,
        switch: Peer,
        packet: &PacketIn<'_>,
        handle: &mut Handle<'_>,
    ) -> Verdict {
        let Some(headers) = Headers::read(packet.data) else {
            return Verdict::Done;
        };
        let in_port = packet.in_port();
        let at = handle.network().attachment(switch, in_port);
        let datapath = at.map_or(0, |at| at.datapath);
        let rules = self.config.rules.iter();
        let decided = rules
            .filter(|rule| rule.fits(datapath, in_port.0, &headers))
            .map(|rule| rule.action)
            .next();
        if decided.unwrap_or(self.config.otherwise) == Decision::Allow {
            self.allowed += 1;
            return Verdict::Pass;
        }
        self.denied += 1;
        let (fields, count) = headers.fields(in_port);
        let flow = FlowMod {
            matching: Match::new(&fields[..count]),
            priority: self.config.priority,
            idle_timeout: self.config.idle_timeout,
            // The kept packet goes the way of the others: nowhere.
            buffer: packet.buffer,
            instructions: List::EMPTY,
            ..FlowMod::default()
        };
        // The switch may be gone meanwhile.
        let _ = handle.flow_mod(switch, &flow);
        Verdict::Done
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        visit("allowed", self.allowed);
        visit("denied", self.denied);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_holds_what_begins_alike() {
        let prefix = |length| Prefix {
            address: [10, 1, 0, 0],
            length,
        };
        assert!(prefix(16).holds([10, 1, 255, 3]));
        assert!(!prefix(16).holds([10, 2, 0, 0]));
        assert!(prefix(0).holds([192, 0, 2, 1]));
        assert!(prefix(32).holds([10, 1, 0, 0]));
        assert!(!prefix(32).holds([10, 1, 0, 1]));
    }
}
