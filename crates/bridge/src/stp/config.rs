//! Configuration of a spanning tree.

use alloc::format;
use node::{ConfigError, Time};
use packet::ethernet::Mac;

/// Protocol of a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Version {
    /// 802.1D-1998: Configuration BPDUs, and states that change by timers alone.
    Stp,
    /// 802.1D-2004, clause 17; STP towards bridges that have nothing else.
    #[default]
    Rstp,
}

/// Whether a port is at the edge: without a bridge behind it, so that it forwards at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Edge {
    /// It becomes one when no BPDU has arrived for 3 s; of RSTP.
    #[default]
    Auto,
    /// It is one until a BPDU arrives.
    Yes,
    /// It is none.
    No,
}

/// Configuration of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// Path cost, 1 to 200,000,000; `None` for that of its rate.
    pub cost: Option<u32>,
    /// Priority, a multiple of 16 up to 240.
    pub priority: u8,
    /// Whether it is at the edge.
    pub edge: Edge,
    /// Whether a BPDU disables the port until its link goes down.
    pub bpdu_guard: bool,
    /// Whether the port never becomes the root port: `restrictedRole` of 802.1Q section 13.27.64.
    pub root_guard: bool,
    /// Whether its link has two ends; proposals need that.
    pub point_to_point: bool,
}

impl Default for PortConfig {
    fn default() -> PortConfig {
        PortConfig {
            cost: None,
            priority: 128,
            edge: Edge::Auto,
            bpdu_guard: false,
            root_guard: false,
            point_to_point: true,
        }
    }
}

/// Configuration of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Protocol.
    pub version: Version,
    /// Priority, a multiple of 4096: the lower, the more likely it is the root.
    pub priority: u16,
    /// Address of the bridge.
    pub mac: Mac,
    /// Interval of messages, 1 s to 10 s.
    pub hello: Time,
    /// Age from which on information is not valid, 6 s to 40 s.
    pub max_age: Time,
    /// Duration of listening and of learning without an agreement, 4 s to 30 s.
    pub forward_delay: Time,
    /// Maximum number of BPDUs of a port in one second, 1 to 10 (`TxHoldCount`).
    pub hold_count: u8,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            version: Version::Rstp,
            priority: 32_768,
            mac: Mac([2, 0, 0, 0, 0, 1]),
            hello: Time::from_secs(2),
            max_age: Time::from_secs(20),
            forward_delay: Time::from_secs(15),
            hold_count: 6,
        }
    }
}

/// Maximum number of ports: 12 bits of a port identifier.
pub(super) const MAX_PORTS: u16 = 4095;

impl Config {
    /// Checks ranges, and that timers fit each other: 2 (forward delay - 1 s) >= max age >= 2 (hello + 1 s)
    /// (section 17.14).
    pub(super) fn check(&self, ports: &[PortConfig]) -> Result<(), ConfigError> {
        let within = |key, value: Time, from: u64, to: u64| match value {
            value if value < Time::from_secs(from) || value > Time::from_secs(to) => Err(
                ConfigError::new(key, format!("a bridge has {from} s to {to} s")),
            ),
            _ => Ok(()),
        };
        within("hello", self.hello, 1, 10)?;
        within("max_age", self.max_age, 6, 40)?;
        within("forward_delay", self.forward_delay, 4, 30)?;
        let second = Time::from_secs(1);
        if (self.forward_delay - second) * 2 < self.max_age
            || self.max_age < (self.hello + second) * 2
        {
            let reason = "2 x (forward_delay - 1 s) >= max_age >= 2 x (hello + 1 s) must hold";
            return Err(ConfigError::new("max_age", reason));
        }
        if !self.priority.is_multiple_of(4096) {
            let reason = "the priority of a bridge is a multiple of 4096";
            return Err(ConfigError::new("bridge_priority", reason));
        }
        if !(1..=10).contains(&self.hold_count) {
            let reason = "a port sends 1 to 10 BPDUs in a second";
            return Err(ConfigError::new("hold_count", reason));
        }
        if self.mac.is_group() {
            return Err(ConfigError::new("mac", "a bridge's address is no group"));
        }
        if ports.len() > MAX_PORTS.into() {
            let reason = "a spanning tree has bridges of up to 4095 ports";
            return Err(ConfigError::new("ports", reason));
        }
        for port in ports {
            if port
                .cost
                .is_some_and(|cost| !(1..=200_000_000).contains(&cost))
            {
                let reason = "the cost of a port is 1 to 200000000";
                return Err(ConfigError::new("cost", reason));
            }
            if !port.priority.is_multiple_of(16) {
                let reason = "the priority of a port is a multiple of 16";
                return Err(ConfigError::new("priority", reason));
            }
        }
        Ok(())
    }
}
