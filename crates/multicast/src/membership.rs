//! Membership of one group on one link, or behind one port of a bridge: filter mode, sources and their timers
//! (RFC 3376 section 6.4, RFC 3810 section 7.4).
//!
//! The tables of the RFCs, for hosts of all versions: an older report is an `IS_EX` without sources, a leave is a
//! `TO_IN` without sources.

use crate::message::{Record, RecordKind, Version};
use alloc::vec::Vec;
use core::net::IpAddr;
use node::Time;

/// Maximum number of sources of a group. More are refused, and counted.
pub const MAX_SOURCES: usize = 64;

/// A source that is wanted until a time; with a timer of zero, one that is not wanted by any host in EXCLUDE mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source {
    address: IpAddr,
    until: Time,
}

/// Times by which memberships end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `Group Membership Interval`: after the last report.
    pub membership: Time,
    /// `Last Member Query Time`: after a leave.
    pub last_member: Time,
}

/// Queries that a change asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// For the group: `Q(G)`.
    pub group: bool,
    /// For some of its sources: `Q(G, A)`.
    pub sources: Vec<IpAddr>,
    /// Sources for which there was no room.
    pub refused: usize,
}

/// State of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// The group timer; zero in INCLUDE mode.
    exclude_until: Time,
    sources: Vec<Source>,
    /// Until when there are hosts of IGMPv1, and of IGMPv2 or MLDv1.
    older_until: [Time; 2],
}

impl Membership {
    /// Takes a report of version 1 or 2.
    pub fn handle_report(&mut self, now: Time, version: Version, limits: Limits) {
        let until = now + limits.membership;
        self.exclude_until = until;
        // All sources are wanted.
        self.sources.retain(|source| source.until > now);
        if version != Version::Three {
            self.older_until[usize::from(version == Version::Two)] = until;
        }
    }

    /// Whether a leave counts: not while there are hosts of IGMPv1 (RFC 2236 section 5).
    pub fn accepts_leave(&self, now: Time) -> bool {
        self.older_until[0] <= now
    }

    /// Takes a group record of version 3.
    pub fn handle_record(&mut self, now: Time, record: &Record, limits: Limits) -> Ask {
        let mut ask = Ask::default();
        self.expire(now);
        // With older hosts (RFC 3376 section 7.3.2): blocks are ignored, sources of TO_EX too; with IGMPv1 TO_IN as well.
        let has = self.older_until.map(|until| until > now);
        let is_older = has.contains(&true);
        let sources: &[IpAddr] = match record.kind {
            RecordKind::Block if is_older => return ask,
            RecordKind::ToInclude if has[0] => return ask,
            RecordKind::ToExclude if is_older => &[],
            _ => &record.sources,
        };
        let until = now + limits.membership;
        let is_exclude = self.exclude_until > now;
        let running = |source: &Source| source.until > now;
        match record.kind {
            RecordKind::IsInclude | RecordKind::Allow | RecordKind::ToInclude => {
                if record.kind == RecordKind::ToInclude {
                    let old = self.sources.iter().filter(|source| running(source));
                    let gone = old.filter(|source| !sources.contains(&source.address));
                    ask.sources = gone.map(|source| source.address).collect();
                    ask.group = is_exclude;
                }
                for &source in sources {
                    self.put(source, until, &mut ask);
                }
            }
            RecordKind::IsExclude | RecordKind::ToExclude => {
                let change = record.kind == RecordKind::ToExclude;
                // New sources: unwanted from INCLUDE; in EXCLUDE wanted for a while.
                let fresh = match (is_exclude, change) {
                    (false, _) => Time::ZERO,
                    (true, false) => until,
                    (true, true) => self.exclude_until,
                };
                self.sources
                    .retain(|source| sources.contains(&source.address));
                for &source in sources {
                    if !self.knows(source) {
                        self.put(source, fresh, &mut ask);
                    }
                }
                if change {
                    let wanted = self.sources.iter().filter(|source| running(source));
                    ask.sources = wanted.map(|source| source.address).collect();
                }
                self.exclude_until = until;
            }
            RecordKind::Block => {
                for &source in sources {
                    if is_exclude && !self.knows(source) {
                        self.put(source, self.exclude_until, &mut ask);
                    }
                }
                let wanted = self.sources.iter().filter(|source| running(source));
                let blocked = wanted.filter(|source| sources.contains(&source.address));
                ask.sources = blocked.map(|source| source.address).collect();
            }
        }
        ask
    }

    fn knows(&self, address: IpAddr) -> bool {
        self.sources.iter().any(|source| source.address == address)
    }

    fn put(&mut self, address: IpAddr, until: Time, ask: &mut Ask) {
        let is_full = self.sources.len() >= MAX_SOURCES;
        let known = self
            .sources
            .iter_mut()
            .find(|source| source.address == address);
        match known {
            Some(source) => source.until = until,
            None if is_full => ask.refused += 1,
            None => self.sources.push(Source { address, until }),
        }
    }

    /// A query for the group has been sent, or seen: without an answer the membership ends after `last_member`
    /// (RFC 3376 section 6.6.1).
    pub fn lower_group(&mut self, now: Time, limits: Limits) {
        if self.exclude_until > now {
            self.exclude_until = self.exclude_until.min(now + limits.last_member);
        }
    }

    /// The same for some sources.
    pub fn lower_sources(&mut self, now: Time, sources: &[IpAddr], limits: Limits) {
        let running = self.sources.iter_mut().filter(|source| source.until > now);
        for source in running.filter(|source| sources.contains(&source.address)) {
            source.until = source.until.min(now + limits.last_member);
        }
    }

    /// Removes expired entries. `false`: there is no member left.
    pub fn expire(&mut self, now: Time) -> bool {
        if self.exclude_until <= now {
            self.exclude_until = Time::ZERO;
            self.sources.retain(|source| source.until > now);
        }
        self.is_alive(now)
    }

    /// Whether any host wants anything.
    pub fn is_alive(&self, now: Time) -> bool {
        self.exclude_until > now || self.sources.iter().any(|source| source.until > now)
    }

    /// Whether packets from a source are wanted.
    #[inline]
    pub fn wants(&self, now: Time, source: IpAddr) -> bool {
        let mut sources = self.sources.iter();
        let known = sources.find(|known| known.address == source);
        match known {
            Some(known) => known.until > now,
            None => self.exclude_until > now,
        }
    }

    /// Filter mode and sources: in EXCLUDE mode those that no host wants, in INCLUDE mode those that some host wants.
    pub fn filter(&self, now: Time) -> (bool, Vec<IpAddr>) {
        let is_exclude = self.exclude_until > now;
        let sources = self
            .sources
            .iter()
            .filter(|source| (source.until > now) != is_exclude);
        (is_exclude, sources.map(|source| source.address).collect())
    }

    /// The next time at which something ends.
    pub fn deadline(&self, now: Time) -> Option<Time> {
        let group = (self.exclude_until > now).then_some(self.exclude_until);
        let sources = self.sources.iter().map(|source| source.until);
        sources.filter(|&until| until > now).chain(group).min()
    }
}
