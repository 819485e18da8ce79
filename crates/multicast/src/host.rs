//! The host side of one family on one link: reports when something changes, and when a querier asks
//! (RFC 2236 section 3, RFC 3376 section 5, RFC 3810 section 6).
//!
//! A change of mode, and one that follows another before that has been sent as often as the robustness variable says, is sent
//! with all sources (`TO_IN`, `TO_EX`); other changes as `ALLOW` and `BLOCK`.

use crate::message::{Message, Query, Record, RecordKind, Version};
use alloc::vec::Vec;
use core::net::IpAddr;
use node::Time;
use node::random::Random;

/// Maximum number of groups. More are refused.
pub const MAX_GROUPS: usize = 4096;
/// Number of times that a change is sent (robustness variable).
const REPEATS: u8 = 2;
/// Maximum time between them (`Unsolicited Report Interval`).
const UNSOLICITED: Time = Time::from_secs(1);
/// `Older Version Querier Present Timeout`, with the default interval of queries.
const OLDER_QUERIER: Time = Time::from_secs(260);
/// Maximum number of records of a report: 1500 bytes with a few sources each.
const MAX_RECORDS: usize = 32;

/// Sources that are wanted: all but some, or only some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// All sources but those named.
    pub exclude: bool,
    /// Sources.
    pub sources: Vec<IpAddr>,
}

impl Filter {
    /// All sources.
    pub fn all() -> Filter {
        Filter {
            exclude: true,
            sources: Vec::new(),
        }
    }

    /// Whether no source is wanted.
    pub fn is_none(&self) -> bool {
        !self.exclude && self.sources.is_empty()
    }

    /// Whether a source is wanted.
    pub fn wants(&self, source: IpAddr) -> bool {
        self.sources.contains(&source) != self.exclude
    }
}

#[derive(Clone, Debug)]
struct Joined {
    group: IpAddr,
    filter: Filter,
    change: Vec<Record>,
    left: u8,
    change_at: Time,
    response_at: Option<Time>,
    /// This host has sent the last report of the group: it says when it leaves (RFC 2236 section 3).
    is_reporter: bool,
}

/// The memberships of a host.
#[derive(Debug)]
pub struct Host {
    version: Version,
    /// Until when a querier of version 1, and of version 2, is present.
    older_until: [Time; 2],
    groups: Vec<Joined>,
    random: Random,
}

impl Host {
    /// A host without memberships that speaks at most `version`.
    pub fn new(version: Version, seed: u64) -> Host {
        Host {
            version,
            older_until: [Time::ZERO; 2],
            groups: Vec::new(),
            random: Random::new(seed),
        }
    }

    /// The version that it speaks.
    pub fn version(&self, now: Time) -> Version {
        let older = match self.older_until.map(|until| until > now) {
            [true, _] => Version::One,
            [_, true] => Version::Two,
            _ => Version::Three,
        };
        older.min(self.version)
    }

    /// Sets the sources that are wanted of a group: [`Filter::all`] joins it, [`Filter::default`] leaves it. `false`: there is no
    /// room for another group.
    pub fn set(&mut self, now: Time, group: IpAddr, filter: Filter) -> bool {
        let place = self.groups.iter().position(|joined| joined.group == group);
        let Some(place) =
            place.or_else(|| (self.groups.len() < MAX_GROUPS).then_some(self.groups.len()))
        else {
            return filter.is_none();
        };
        if place == self.groups.len() {
            if filter.is_none() {
                return true;
            }
            self.groups.push(Joined {
                group,
                filter: Filter::default(),
                change: Vec::new(),
                left: 0,
                change_at: now,
                response_at: None,
                is_reporter: false,
            });
        }
        let joined = &mut self.groups[place];
        if joined.filter == filter {
            return true;
        }
        let missing = |from: &Filter, other: &Filter| -> Vec<IpAddr> {
            let all = from
                .sources
                .iter()
                .filter(|source| !other.sources.contains(source));
            all.copied().collect()
        };
        let record = |kind, sources| Record {
            kind,
            group,
            sources,
        };
        let (added, gone) = (
            missing(&filter, &joined.filter),
            missing(&joined.filter, &filter),
        );
        joined.change =
            if filter.exclude != joined.filter.exclude || joined.left > 0 || filter.is_none() {
                let kind = if filter.exclude {
                    RecordKind::ToExclude
                } else {
                    RecordKind::ToInclude
                };
                [record(kind, filter.sources.clone())].into()
            } else {
                let (allow, block) = if filter.exclude {
                    (gone, added)
                } else {
                    (added, gone)
                };
                let records = [
                    record(RecordKind::Allow, allow),
                    record(RecordKind::Block, block),
                ];
                records
                    .into_iter()
                    .filter(|record| !record.sources.is_empty())
                    .collect()
            };
        joined.filter = filter;
        (joined.left, joined.change_at) = (REPEATS, now);
        true
    }

    /// Takes a query of the link's querier.
    pub fn handle_query(&mut self, now: Time, query: &Query) {
        match query.version {
            Version::One => self.older_until[0] = now + OLDER_QUERIER,
            Version::Two => self.older_until[1] = now + OLDER_QUERIER,
            Version::Three => {}
        }
        let response = query.max_response.as_ps();
        let joined = self.groups.iter_mut().filter(|joined| {
            !joined.filter.is_none() && query.group.is_none_or(|group| group == joined.group)
        });
        for joined in joined {
            let at = now + Time::from_ps(self.random.below(response));
            joined.response_at = Some(joined.response_at.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// Takes a report of another host: with versions 1 and 2 one report of a group is enough.
    pub fn handle_report(&mut self, now: Time, group: IpAddr) {
        if self.version(now) == Version::Three {
            return;
        }
        let joined = self.groups.iter_mut().find(|joined| joined.group == group);
        if let Some(joined) = joined
            && joined.response_at.take().is_some()
        {
            joined.is_reporter = false;
        }
    }

    /// Sources that are wanted of a group.
    pub fn filter(&self, group: IpAddr) -> Option<&Filter> {
        let joined = self.groups.iter().find(|joined| joined.group == group);
        joined
            .map(|joined| &joined.filter)
            .filter(|filter| !filter.is_none())
    }

    /// The groups that it is in, with their sources.
    pub fn groups(&self) -> impl Iterator<Item = (IpAddr, &Filter)> {
        let all = self.groups.iter().filter(|joined| !joined.filter.is_none());
        all.map(|joined| (joined.group, &joined.filter))
    }

    /// The next message that leaves at `now`; asked until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Message> {
        match self.version(now) {
            Version::Three => self.poll_records(now),
            version => self.poll_report(now, version),
        }
    }

    fn poll_records(&mut self, now: Time) -> Option<Message> {
        let mut records = Vec::new();
        let random = &mut self.random;
        self.groups.retain_mut(|joined| {
            if records.len() >= MAX_RECORDS {
                return true;
            }
            if joined.left > 0 && joined.change_at <= now {
                joined.left -= 1;
                joined.change_at = now + Time::from_ps(1 + random.below(UNSOLICITED.as_ps()));
                records.extend(joined.change.iter().cloned());
            }
            if joined.response_at.is_some_and(|at| at <= now) {
                joined.response_at = None;
                let kind = if joined.filter.exclude {
                    RecordKind::IsExclude
                } else {
                    RecordKind::IsInclude
                };
                records.push(Record {
                    kind,
                    group: joined.group,
                    sources: joined.filter.sources.clone(),
                });
            }
            joined.left > 0 || !joined.filter.is_none()
        });
        (!records.is_empty()).then_some(Message::Records(records))
    }

    fn poll_report(&mut self, now: Time, version: Version) -> Option<Message> {
        let due = |joined: &Joined| {
            (joined.left > 0 && joined.change_at <= now)
                || joined.response_at.is_some_and(|at| at <= now)
        };
        loop {
            let index = self.groups.iter().position(due)?;
            let joined = &mut self.groups[index];
            let group = joined.group;
            if joined.filter.is_none() {
                let speaks = joined.is_reporter && version != Version::One;
                self.groups.swap_remove(index);
                if speaks {
                    return Some(Message::Leave(group));
                }
                continue;
            }
            joined.response_at = None;
            if joined.left > 0 && joined.change_at <= now {
                joined.left -= 1;
                joined.change_at = now + Time::from_ps(1 + self.random.below(UNSOLICITED.as_ps()));
            }
            joined.is_reporter = true;
            return Some(Message::Report(version, group));
        }
    }

    /// When [`poll_transmit`](Host::poll_transmit) is due.
    pub fn next_wake(&self) -> Option<Time> {
        let all = self.groups.iter().flat_map(|joined| {
            let change = (joined.left > 0).then_some(joined.change_at);
            [change, joined.response_at]
        });
        all.flatten().min()
    }
}
