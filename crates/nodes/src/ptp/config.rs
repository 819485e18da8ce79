//! What a clock is made from.

use crate::clock;
use crate::switch;
use alloc::format;
use core::net::Ipv4Addr;
use node::ConfigError;
use node::Time;
use packet::ethernet::Mac;

/// What a clock does with PTP's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Type {
    /// It is a master or a slave at one port.
    #[default]
    Ordinary,
    /// It is a slave at one of its ports, and a master at others.
    Boundary,
    /// It passes them on, and tells how long they were inside.
    Transparent,
}

/// Whether it may be a master, or a slave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Role {
    /// As the best master clock algorithm finds.
    #[default]
    Auto,
    /// Always a master, whoever else there is.
    Master,
    /// Never a master.
    Slave,
}

/// How the delay is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Mechanism {
    /// A slave asks its master.
    #[default]
    EndToEnd,
    /// Each end of a link asks the other.
    Peer,
}

/// What carries the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Transport {
    #[default]
    Ethernet,
    Udp,
}

/// What a clock is made from. The logarithms are those of seconds to the base 2, as in linuxptp.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// What it does with messages.
    pub clock_type: Type,
    /// 1 to 4096.
    pub ports: u16,
    pub role: Role,
    pub delay: Mechanism,
    pub transport: Transport,
    /// Its address, with `transport` `udp`.
    pub address: Ipv4Addr,
    /// Its MAC address, from which its identity is made.
    pub mac: Mac,
    /// Messages of other domains are none of its business.
    pub domain: u8,
    /// By which masters are compared first: the lower, the better.
    pub priority1: u8,
    /// By which they are compared after their quality.
    pub priority2: u8,
    /// What its time is worth: 6 for a primary reference, 248 by default.
    pub class: u8,
    /// Between announcements: -3 to 4.
    pub log_announce_interval: i8,
    /// Announcements that may be missing: 2 to 255.
    pub announce_timeout: u8,
    /// Between Syncs of a master: -7 to 4.
    pub log_sync_interval: i8,
    /// Between questions about the delay, in the mean: -7 to 5.
    pub log_delay_interval: i8,
    /// Questions about the delay of which the median counts: 1 to 1000.
    pub delay_filter: usize,
    /// Its own clock.
    pub clock: clock::Config,
    /// Whether it only measures, and is never set.
    pub free_running: bool,
    /// Beyond this offset the clock is set, not steered, also when it was set before; `None`: never again.
    pub step_threshold: Option<Time>,
    /// Of the servo: 0 to 1.
    pub proportional: f64,
    /// Of the servo: 0 to 1.
    pub integral: f64,
    /// Offsets before count for nothing but the trace.
    pub settle: Time,
    /// What the switch in it is like; its `ports` are those of the clock.
    pub switch: switch::Config,
    /// What is drawn by lot comes from this.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            clock_type: Type::Ordinary,
            ports: 1,
            role: Role::Auto,
            delay: Mechanism::EndToEnd,
            transport: Transport::Ethernet,
            address: Ipv4Addr::new(198, 18, 0, 1),
            mac: Mac([2, 0, 0, 0, 0, 1]),
            domain: 0,
            priority1: 128,
            priority2: 128,
            class: 248,
            log_announce_interval: 0,
            announce_timeout: 3,
            log_sync_interval: 0,
            log_delay_interval: 0,
            delay_filter: 10,
            clock: clock::Config::default(),
            free_running: false,
            step_threshold: None,
            proportional: 0.7,
            integral: 0.3,
            settle: Time::ZERO,
            switch: switch::Config::default(),
            seed: 0,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let within = |key, value: f64, least: f64, most: f64| match (least..=most).contains(&value)
        {
            true => Ok(()),
            false => Err(ConfigError::new(key, format!("{least} to {most}"))),
        };
        within("ports", self.ports.into(), 1.0, 4096.0)?;
        if self.clock_type == Type::Ordinary && self.ports > 2 {
            let reason = "an ordinary clock has 1 port, or 2 in line";
            return Err(ConfigError::new("ports", reason));
        }
        let announce = self.log_announce_interval.into();
        within("log_announce_interval", announce, -3.0, 4.0)?;
        within("announce_timeout", self.announce_timeout.into(), 2.0, 255.0)?;
        within(
            "log_sync_interval",
            self.log_sync_interval.into(),
            -7.0,
            4.0,
        )?;
        within(
            "log_delay_interval",
            self.log_delay_interval.into(),
            -7.0,
            5.0,
        )?;
        within("delay_filter", self.delay_filter as f64, 1.0, 1000.0)?;
        within("proportional", self.proportional, 0.0, 1.0)?;
        within("integral", self.integral, 0.0, 1.0)?;
        if self.mac.is_group() {
            return Err(ConfigError::new(
                "mac",
                "a clock's own address is no group's",
            ));
        }
        if self.switch.seed != 0 {
            let reason = "`seed` of the clock is that of the switch in it, too";
            return Err(ConfigError::new("switch", reason));
        }
        Ok(())
    }

    /// How many ports speak PTP; a transparent clock's only of the delay of their links.
    pub(super) fn speaking(&self) -> usize {
        match self.clock_type {
            Type::Ordinary => 1,
            Type::Boundary => self.ports.into(),
            Type::Transparent if self.delay == Mechanism::Peer => self.ports.into(),
            Type::Transparent => 0,
        }
    }
}
