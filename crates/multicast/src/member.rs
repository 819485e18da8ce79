//! A member of groups: a service of a host that joins them, counts their packets, and leaves.
//!
//! - **Parameters:** `groups`: as `239.1.1.1`, or `232.1.1.1 from 10.0.0.9 10.0.0.8` for some sources, or `239.1.1.1 except
//!   10.0.0.9`. `version`, 3: of its reports at most. `at`, 0: when it joins. `until`, never: when it leaves.
//! - **Counters:** `group_packets`, `group_bytes`: of packets that it wants, bytes of IP; `group_unwanted`: packets to its groups from
//!   other sources; `group_reports`: messages sent; `group_unsent`: messages of MLD that need a link-local address.

use crate::host::{Filter, Host};
use crate::link::{Known, earliest, to_group};
use crate::message::{self, Family, Message, Version};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::str::FromStr;
use ip::service::{Link, Service};
use node::outcome::Table;
use node::{ConfigError, Frame, Out, Statistics, Time};

/// A group, and the sources that are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group.
    pub group: IpAddr,
    /// Its sources.
    pub filter: Filter,
}

/// A text that is no [`Group`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a group is an address such as 239.1.1.1 or ff05::1, alone, or with `from` or `except` and addresses of up to 64 sources"
)]
pub struct BadGroup;

impl FromStr for Group {
    type Err = BadGroup;

    fn from_str(text: &str) -> Result<Group, BadGroup> {
        let mut words = text.split_whitespace();
        let group: IpAddr = words
            .next()
            .and_then(|word| word.parse().ok())
            .ok_or(BadGroup)?;
        let exclude = match words.next() {
            None | Some("except") => true,
            Some("from") => false,
            Some(_) => return Err(BadGroup),
        };
        let sources: Vec<IpAddr> = words
            .map(|word| word.parse().map_err(|_| BadGroup))
            .collect::<Result<_, _>>()?;
        let fits = sources
            .iter()
            .all(|source| source.is_ipv4() == group.is_ipv4());
        let is_named = exclude || !sources.is_empty();
        match message::is_reported(group)
            && fits
            && is_named
            && sources.len() <= crate::membership::MAX_SOURCES
        {
            true => Ok(Group {
                group,
                filter: Filter { exclude, sources },
            }),
            false => Err(BadGroup),
        }
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Group: "a group, such as \"239.1.1.1\"");

/// Configuration of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Groups, at least 1.
    pub groups: Vec<Group>,
    /// Version that it speaks at most.
    pub version: Version,
    /// When it joins.
    pub at: Time,
    /// When it leaves.
    pub until: Option<Time>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            groups: Vec::new(),
            version: Version::Three,
            at: Time::ZERO,
            until: None,
        }
    }
}

/// The service.
#[derive(Debug)]
pub struct Member {
    config: Config,
    link: Option<Known>,
    hosts: [Host; 2],
    /// Times of joining and leaving that are still to come.
    plan: [Option<Time>; 2],
    is_started: bool,
    packets: u64,
    bytes: u64,
    unwanted: u64,
    reports: u64,
    unsent: u64,
}

impl Member {
    /// A member that has not joined yet.
    ///
    /// # Errors
    /// When there is no group, or it leaves before it joins.
    pub fn new(config: Config, seed: u64) -> Result<Member, ConfigError> {
        if config.groups.is_empty() || config.groups.len() > crate::host::MAX_GROUPS {
            return Err(ConfigError::new("groups", "a member has 1 to 4096 groups"));
        }
        if config.until.is_some_and(|until| until <= config.at) {
            return Err(ConfigError::new(
                "until",
                "a member leaves after it has joined",
            ));
        }
        let host = |number| Host::new(config.version, node::random::split_mix(seed, number));
        Ok(Member {
            link: None,
            hosts: [host(0), host(1)],
            plan: [Some(config.at), config.until],
            is_started: false,
            packets: 0,
            bytes: 0,
            unwanted: 0,
            reports: 0,
            unsent: 0,
            config,
        })
    }

    fn host(&mut self, family: Family) -> &mut Host {
        &mut self.hosts[usize::from(family == Family::V6)]
    }

    fn transmit(&mut self, now: Time, out: &mut Out) {
        let Some(link) = self.link else { return };
        for family in Family::BOTH {
            while let Some(message) = self.host(family).poll_transmit(now) {
                match link.send(&message, family, out) {
                    true => self.reports += 1,
                    false => self.unsent += 1,
                }
            }
        }
    }
}

/// The service, for a node with this seed.
///
/// # Errors
/// Those of [`Member::new`].
pub fn make(config: &Config, seed: u64) -> Result<Box<dyn Service>, ConfigError> {
    Ok(Box::new(Member::new(config.clone(), seed)?))
}

impl Service for Member {
    fn handle_frame(
        &mut self,
        now: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let packet = match to_group(&frame) {
            Some(packet) if frame[0] & 1 == 1 => packet,
            _ => return Some(frame),
        };
        if let Some(received) = message::parse_frame(&frame, 14) {
            self.link = Some(Known::new(link));
            match received {
                Ok(received) => {
                    let host = self.host(Family::of(received.source));
                    match &received.message {
                        Message::Query(query) => host.handle_query(now, query),
                        Message::Report(_, group) => host.handle_report(now, *group),
                        _ => {}
                    }
                    self.transmit(now, out);
                    out.done(frame);
                }
                Err(reason) => out.drop(frame, reason.0),
            }
            return None;
        }
        let filter = self.host(Family::of(packet.group)).filter(packet.group);
        let Some(is_wanted) = filter.map(|filter| filter.wants(packet.source)) else {
            return Some(frame);
        };
        match is_wanted {
            true => {
                self.packets += 1;
                self.bytes += packet.length as u64;
            }
            false => self.unwanted += 1,
        }
        out.done(frame);
        None
    }

    fn wake(&mut self, now: Time, links: &[Link<'_>], out: &mut Out) {
        self.is_started = true;
        self.link = links.first().map(Known::new);
        let [join, leave] = self.plan.map(|at| at.is_some_and(|at| at <= now));
        if join || leave {
            for index in 0..self.config.groups.len() {
                let Group { group, filter } = self.config.groups[index].clone();
                let filter = if leave { Filter::default() } else { filter };
                self.host(Family::of(group)).set(now, group, filter);
            }
            self.plan[usize::from(leave)] = None;
        }
        self.transmit(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        if !self.is_started {
            return Some(Time::ZERO);
        }
        earliest(
            self.plan
                .into_iter()
                .chain(self.hosts.iter().map(Host::next_wake)),
        )
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("group_packets", self.packets);
        all.counter("group_bytes", self.bytes);
        all.counter("group_unwanted", self.unwanted);
        all.counter("group_reports", self.reports);
        all.counter("group_unsent", self.unsent);
    }

    fn tables(&self, _: Time) -> Vec<Table> {
        let groups = self.hosts.iter().flat_map(Host::groups);
        let entries: Vec<String> = groups
            .map(|(group, filter)| {
                let mode = if filter.exclude { "exclude" } else { "include" };
                format!("{group} {mode} {:?}", filter.sources)
            })
            .collect();
        vec![Table {
            name: "multicast groups".into(),
            entries,
        }]
    }
}
