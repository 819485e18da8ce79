//! The querier of a link (RFC 2236 sections 3 and 7, RFC 3376 section 6.6, RFC 2710, RFC 3810 section 7.6).
//!
//! A [`Querier`] says which queries leave, and when: general ones, and those for groups that hosts have left. On a link with
//! several the one with the lowest address sends; the others wait until it is silent.

use crate::membership::Limits;
use crate::message::{Family, Query, Version};
use alloc::vec::Vec;
use core::net::IpAddr;
use node::{ConfigError, Time};

/// Maximum number of groups for which queries wait.
pub const MAX_ASKED: usize = 256;

/// Variables of a querier (RFC 3376 section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Version of its queries; of MLD `2` is MLDv1, `3` is MLDv2.
    pub version: Version,
    /// Robustness variable, 2 to 7: messages that may be lost, plus 1.
    pub robustness: u8,
    /// Interval of general queries, 1 s to 31,744 s.
    pub interval: Time,
    /// Maximum response time of general queries, less than `interval`.
    pub response: Time,
    /// Interval of queries for groups that a host has left, 100 ms to 25 s.
    pub last_member: Time,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            version: Version::Three,
            robustness: 2,
            interval: Time::from_secs(125),
            response: Time::from_secs(10),
            last_member: Time::from_secs(1),
        }
    }
}

impl Config {
    /// Checks the ranges.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(2..=7).contains(&self.robustness) {
            return Err(ConfigError::new(
                "robustness",
                "the robustness variable is 2 to 7",
            ));
        }
        let (least, most) = (Time::from_secs(1), Time::from_secs(31_744));
        if !(least..=most).contains(&self.interval) {
            return Err(ConfigError::new(
                "interval",
                "queries leave every 1 s to 31744 s",
            ));
        }
        if self.response >= self.interval || self.response < Time::from_ms(100) {
            let reason = "the response time is at least 100 ms and less than the interval";
            return Err(ConfigError::new("response", reason));
        }
        let (least, most) = (Time::from_ms(100), Time::from_secs(25));
        if !(least..=most).contains(&self.last_member) {
            return Err(ConfigError::new(
                "last_member",
                "queries after a leave have 100 ms to 25 s",
            ));
        }
        Ok(())
    }

    /// Times by which memberships end.
    pub fn limits(&self) -> Limits {
        let robustness = u64::from(self.robustness);
        Limits {
            membership: self.interval * robustness + self.response,
            last_member: self.last_member * robustness,
        }
    }

    /// `Other Querier Present Interval`.
    fn other_querier(&self) -> Time {
        self.interval * self.robustness.into() + Time::from_ps(self.response.as_ps() / 2)
    }
}

/// Queries for one group that are still to be sent.
#[derive(Clone, Debug)]
struct Asked {
    group: IpAddr,
    sources: Vec<IpAddr>,
    left: u8,
    at: Time,
}

/// The querier of one family on one link.
#[derive(Clone, Debug)]
pub struct Querier {
    config: Config,
    family: Family,
    /// When the next general query leaves.
    general: Time,
    /// General queries at the start that leave after a quarter of the interval.
    startup: u8,
    /// The address of the querier that is heard, and until when it counts.
    other: Option<(IpAddr, Time)>,
    asked: Vec<Asked>,
    /// Queries for which there was no room.
    refused: u64,
}

impl Querier {
    /// A querier that begins at once.
    pub fn new(config: Config, family: Family) -> Querier {
        Querier {
            startup: config.robustness,
            config,
            family,
            general: Time::ZERO,
            other: None,
            asked: Vec::new(),
            refused: 0,
        }
    }

    /// Whether it sends queries, as far as it knows at `now`.
    pub fn is_active(&self, now: Time) -> bool {
        self.other.is_none_or(|(_, until)| until <= now)
    }

    /// The other querier of the link.
    pub fn other(&self, now: Time) -> Option<IpAddr> {
        self.other
            .filter(|(_, until)| *until > now)
            .map(|(address, _)| address)
    }

    /// Number of queries for which there was no room.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes a query of another querier; `own` is the address that this one has on the link. The lower address wins; queries
    /// without an address take no part.
    pub fn handle_query(&mut self, now: Time, source: IpAddr, own: Option<IpAddr>) {
        if source.is_unspecified() {
            return;
        }
        let rival = match self.other(now) {
            Some(other) => Some(other),
            None => own.filter(|own| !own.is_unspecified()),
        };
        if rival.is_none_or(|rival| source <= rival) {
            let until = now + self.config.other_querier();
            self.other = Some((source, until));
            self.general = self.general.max(until);
        }
    }

    /// Asks for a group, or some of its sources, as often as the robustness variable says.
    pub fn ask(&mut self, now: Time, group: IpAddr, sources: Vec<IpAddr>) {
        // Older versions have no queries for sources.
        if self.config.version != Version::Three && !sources.is_empty() {
            return;
        }
        let is_full = self.asked.len() >= MAX_ASKED;
        let known = self
            .asked
            .iter_mut()
            .find(|asked| asked.group == group && asked.sources.is_empty() == sources.is_empty());
        let (left, at) = (self.config.robustness, now);
        match known {
            Some(asked) => {
                asked.left = left;
                for source in sources {
                    if !asked.sources.contains(&source)
                        && asked.sources.len() < crate::membership::MAX_SOURCES
                    {
                        asked.sources.push(source);
                    }
                }
            }
            None if is_full => self.refused += 1,
            None => self.asked.push(Asked {
                group,
                sources,
                left,
                at,
            }),
        }
    }

    /// The next query that leaves at `now`; asked until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Query> {
        if !self.is_active(now) {
            self.asked.clear();
            return None;
        }
        let query = |group, sources, max_response| Query {
            version: self.config.version,
            group,
            sources,
            max_response,
            suppress: false,
            robustness: self.config.robustness,
            interval: self.config.interval,
        };
        if self.general <= now {
            let wait = match self.startup {
                0 | 1 => self.config.interval,
                _ => Time::from_ps(self.config.interval.as_ps() / 4),
            };
            self.startup = self.startup.saturating_sub(1);
            self.general = now + wait;
            return Some(query(None, Vec::new(), self.config.response));
        }
        let index = self.asked.iter().position(|asked| asked.at <= now)?;
        let asked = &mut self.asked[index];
        asked.left -= 1;
        asked.at = now + self.config.last_member;
        let (group, is_last) = (asked.group, asked.left == 0);
        let sources = match is_last {
            true => self.asked.swap_remove(index).sources,
            false => asked.sources.clone(),
        };
        Some(query(Some(group), sources, self.config.last_member))
    }

    /// When something is due.
    pub fn next_wake(&self) -> Time {
        self.asked
            .iter()
            .map(|asked| asked.at)
            .min()
            .unwrap_or(Time::MAX)
            .min(self.general)
    }

    /// IP family of its queries.
    pub fn family(&self) -> Family {
        self.family
    }
}
