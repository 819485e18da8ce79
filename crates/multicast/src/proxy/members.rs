//! Members on the downstream links, and the proxy's reports upstream.

use super::{Proxy, SWEEP, index};
use crate::host::{Filter, Host};
use crate::membership::Membership;
use crate::message::{self, Family, Message, Received};
use alloc::vec::Vec;
use core::net::IpAddr;
use node::{Port, Time};

impl Proxy {
    pub(super) fn handle_message(&mut self, now: Time, port: Port, received: Received) {
        let family = Family::of(received.source);
        let is_query = matches!(received.message, Message::Query(_));
        self.queries += u64::from(is_query);
        self.reports += u64::from(!is_query);
        if port.0 == self.config.upstream {
            match &received.message {
                Message::Query(query) => self.hosts[index(family)].handle_query(now, query),
                Message::Report(_, group) => self.hosts[index(family)].handle_report(now, *group),
                _ => {}
            }
            return;
        }
        let Some(at) = self
            .downstream
            .iter()
            .position(|down| down.known.port == port)
        else {
            return;
        };
        let limits = self.config.queries.limits();
        match received.message {
            Message::Query(query) => {
                let down = &mut self.downstream[at];
                let own = down.known.own(family);
                down.queriers[index(family)].handle_query(now, received.source, own);
                // The querier of the link is another one: its queries lower the timers (RFC 3376 section 6.6.1).
                if let Some(membership) = query.group.and_then(|group| down.groups.get_mut(&group))
                    && !query.suppress
                {
                    match query.sources.is_empty() {
                        true => membership.lower_group(now, limits),
                        false => membership.lower_sources(now, &query.sources, limits),
                    }
                }
            }
            Message::Report(version, group) => {
                if let Some(membership) = self.member(now, at, group) {
                    membership.handle_report(now, version, limits);
                }
                self.update(now, group);
            }
            Message::Leave(group) => {
                let down = &mut self.downstream[at];
                if let Some(membership) = down.groups.get_mut(&group)
                    && membership.accepts_leave(now)
                    && down.queriers[index(family)].is_active(now)
                {
                    membership.lower_group(now, limits);
                    down.queriers[index(family)].ask(now, group, Vec::new());
                }
            }
            Message::Records(records) => {
                for record in &records {
                    let is_known = self.downstream[at].groups.contains_key(&record.group);
                    if record.is_leave() && !is_known {
                        continue;
                    }
                    let Some(membership) = self.member(now, at, record.group) else {
                        continue;
                    };
                    let ask = membership.handle_record(now, record, limits);
                    self.refused += ask.refused as u64;
                    let down = &mut self.downstream[at];
                    let querier = &mut down.queriers[index(family)];
                    if let Some(membership) = down.groups.get_mut(&record.group)
                        && querier.is_active(now)
                    {
                        if ask.group {
                            membership.lower_group(now, limits);
                            querier.ask(now, record.group, Vec::new());
                        }
                        if !ask.sources.is_empty() {
                            membership.lower_sources(now, &ask.sources, limits);
                            querier.ask(now, record.group, ask.sources);
                        }
                    }
                    self.update(now, record.group);
                }
            }
        }
    }

    /// The membership of a link, made if there is room.
    pub(super) fn member(
        &mut self,
        now: Time,
        at: usize,
        group: IpAddr,
    ) -> Option<&mut Membership> {
        if !message::is_reported(group) {
            return None;
        }
        let down = &mut self.downstream[at];
        if down.groups.len() >= self.config.groups && !down.groups.contains_key(&group) {
            self.refused += 1;
            return None;
        }
        self.sweep_at = self.sweep_at.min(now + SWEEP);
        Some(down.groups.entry(group).or_default())
    }

    /// Reports upstream the merged membership of the downstream links (section 4.1).
    pub(super) fn update(&mut self, now: Time, group: IpAddr) {
        if !message::is_reported(group) {
            return;
        }
        let mut merged = Filter::default();
        for down in &self.downstream {
            let Some(membership) = down.groups.get(&group) else {
                continue;
            };
            let (exclude, sources) = membership.filter(now);
            merged = merge(merged, Filter { exclude, sources });
        }
        if !self.hosts[index(Family::of(group))].set(now, group, merged) {
            self.refused += 1;
        }
    }

    pub(super) fn sweep(&mut self, now: Time) {
        let mut ended = Vec::new();
        let mut is_empty = true;
        for down in &mut self.downstream {
            down.groups.retain(|group, membership| {
                let before = membership.filter(now);
                let is_alive = membership.expire(now);
                if !is_alive
                    || membership.filter(now) != before
                    || self.hosts[index(Family::of(*group))]
                        .filter(*group)
                        .is_none()
                {
                    ended.push(*group);
                }
                is_alive
            });
            is_empty &= down.groups.is_empty();
        }
        // A source or a mode may have ended since the last sweep without being taken out of a list.
        let known = self
            .hosts
            .iter()
            .flat_map(Host::groups)
            .map(|(group, _)| group);
        ended.extend(known);
        ended.sort();
        ended.dedup();
        ended.into_iter().for_each(|group| self.update(now, group));
        self.sweep_at = if is_empty { Time::MAX } else { now + SWEEP };
    }
}

/// Merges two filters (RFC 4605 section 4.1, RFC 3376 section 3.2).
fn merge(a: Filter, b: Filter) -> Filter {
    let (mut exclude, sources) = match (a.exclude, b.exclude) {
        (false, false) => {
            let mut all = a.sources;
            let more = b.sources.into_iter().filter(|source| !all.contains(source));
            let more: Vec<IpAddr> = more.collect();
            all.extend(more);
            (false, all)
        }
        (true, true) => {
            let both = a
                .sources
                .into_iter()
                .filter(|source| b.sources.contains(source));
            (true, both.collect())
        }
        (true, false) => (
            true,
            a.sources
                .into_iter()
                .filter(|source| !b.sources.contains(source))
                .collect(),
        ),
        (false, true) => (
            true,
            b.sources
                .into_iter()
                .filter(|source| !a.sources.contains(source))
                .collect(),
        ),
    };
    let mut sources: Vec<IpAddr> = sources;
    sources.sort();
    // More sources than a report has room for: all are asked for.
    if sources.len() > crate::membership::MAX_SOURCES {
        (exclude, sources) = (true, Vec::new());
    }
    Filter { exclude, sources }
}
