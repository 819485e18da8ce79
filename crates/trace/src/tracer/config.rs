//! Configuration of a tracer.

use crate::discovery::Algorithm;
use crate::probe::Protocol;
use crate::stopping::MIN_ALPHA;
use alloc::format;
use core::net::IpAddr;
use node::{ConfigError, Time};
use packet::ethernet::Mac;

/// Largest `alpha`: a search that misses every second branch is none.
const MAX_ALPHA: f64 = 0.5;
/// Largest `max_hops`.
const MAX_HOPS: u8 = 64;
/// Largest `probes`, `rounds` and `rate`.
const MAX_COUNT: u32 = 1_000_000;

/// Configuration of a tracer. Defaults are those of the [module](super).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// The target.
    pub target: IpAddr,
    /// The source of probes.
    pub source: IpAddr,
    /// Its MAC address.
    pub mac: Mac,
    /// The router to the target; `None`: the target is on the link.
    pub gateway: Option<IpAddr>,
    /// Protocol of probes.
    pub protocol: Protocol,
    /// The way in which paths are looked for.
    pub algorithm: Algorithm,
    /// TTL of the first hop, at least 1.
    pub first_hop: u8,
    /// TTL of the last hop, at most 64.
    pub max_hops: u8,
    /// Probes to each interface in a round.
    pub probes: u32,
    /// Number of rounds.
    pub rounds: u32,
    /// How often a probe without an answer is sent while paths are looked for.
    pub attempts: u32,
    /// Maximum number of probes a second.
    pub rate: u32,
    /// A probe without an answer after this time is lost.
    pub timeout: Time,
    /// Probability of missing an interface after any of `branchings` branching points.
    pub alpha: f64,
    /// Number of branching points of the route among which `alpha` is divided; with 1 it holds for each.
    pub branchings: u32,
    /// Silent hops in a row after which the search ends.
    pub gap: u8,
    /// Destination port; `None`: 33434, or 80 with TCP.
    pub port: Option<u16>,
    /// Distinguishes traces of one host.
    pub identifier: u16,
    /// Time of the first probe.
    pub start: Time,
    /// Whether it answers for its source address.
    pub answers: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            target: [198, 18, 0, 2].into(),
            source: [198, 18, 0, 1].into(),
            mac: Mac([2, 0, 0, 0, 0, 1]),
            gateway: None,
            protocol: Protocol::default(),
            algorithm: Algorithm::default(),
            first_hop: 1,
            max_hops: 30,
            probes: 3,
            rounds: 1,
            attempts: 2,
            rate: 20,
            timeout: Time::from_secs(1),
            alpha: 0.05,
            branchings: 1,
            gap: 5,
            port: None,
            identifier: 0x5754,
            start: Time::from_us(1),
            answers: true,
        }
    }
}

impl Config {
    /// Time between two probes.
    pub fn interval(&self) -> Time {
        Time::from_ps(Time::from_secs(1).as_ps() / u64::from(self.rate.max(1)))
    }

    /// Part of `alpha` for each branching point. By Boole's inequality the probability of any failure is at most the sum of all.
    pub fn share(&self) -> f64 {
        self.alpha / f64::from(self.branchings.max(1))
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let is_v4 = self.target.is_ipv4();
        for (key, address) in [("source", Some(self.source)), ("gateway", self.gateway)] {
            if address.is_some_and(|address| address.is_ipv4() != is_v4) {
                let reason = format!("use the same IP version as `target`, {}", self.target);
                return Err(ConfigError::new(key, reason));
            }
        }
        for (key, count) in [
            ("probes", self.probes),
            ("rounds", self.rounds),
            ("attempts", self.attempts),
            ("rate", self.rate),
            ("branchings", self.branchings),
        ] {
            if !(1..=MAX_COUNT).contains(&count) {
                let reason = format!("use a number from 1 to {MAX_COUNT}");
                return Err(ConfigError::new(key, reason));
            }
        }
        if !(1..=MAX_HOPS).contains(&self.max_hops) {
            let reason = format!("use a number from 1 to {MAX_HOPS}");
            return Err(ConfigError::new("max_hops", reason));
        }
        if !(1..=self.max_hops).contains(&self.first_hop) {
            let reason = format!("use a number from 1 to `max_hops`, {}", self.max_hops);
            return Err(ConfigError::new("first_hop", reason));
        }
        if !(MIN_ALPHA..=MAX_ALPHA).contains(&self.alpha) {
            let reason = format!("use a probability from {MIN_ALPHA} to {MAX_ALPHA}");
            return Err(ConfigError::new("alpha", reason));
        }
        if self.share() < MIN_ALPHA {
            let max = self.alpha / MIN_ALPHA;
            let reason = format!("use at most {max}: `alpha` for each is {MIN_ALPHA} at least");
            return Err(ConfigError::new("branchings", reason));
        }
        if self.timeout == Time::ZERO {
            return Err(ConfigError::new("timeout", "use a time above 0"));
        }
        if self.gap == 0 {
            return Err(ConfigError::new("gap", "use a number from 1"));
        }
        Ok(())
    }
}
