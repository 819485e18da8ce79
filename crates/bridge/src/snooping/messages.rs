//! Messages that a snooper sees, and the memberships that they make and end.

use super::{ROUTER_TIME, SWEEP, Snooper, index};
use alloc::vec::Vec;
use core::net::IpAddr;
use multicast::membership::{Limits, Membership};
use multicast::message::{self, Family, Message, Query, Received};
use node::Time;

impl Snooper {
    pub(super) fn handle_message(&mut self, now: Time, port: u16, vlan: u16, received: Received) {
        let limits = self.config.queries.limits();
        match received.message {
            Message::Query(query) => self.handle_query(now, port, vlan, received.source, &query),
            Message::Report(version, group) => {
                if let Some(membership) = self.member(now, port, vlan, group) {
                    membership.handle_report(now, version, limits);
                }
            }
            Message::Leave(group) => self.handle_leave(now, port, vlan, group),
            Message::Records(records) => {
                for record in &records {
                    // A leave, and a block, of a group without members changes nothing.
                    let is_known = self.groups.contains_key(&(vlan, record.group));
                    if record.sources.is_empty() && record.is_leave() && !is_known {
                        continue;
                    }
                    if record.is_leave() && self.ports[usize::from(port)].config.fast_leave {
                        self.remove(port, vlan, record.group);
                        continue;
                    }
                    let Some(membership) = self.member(now, port, vlan, record.group) else {
                        continue;
                    };
                    let ask = membership.handle_record(now, record, limits);
                    self.counters.refused += ask.refused as u64;
                    let is_active = self.is_querier(now, Family::of(record.group));
                    if !is_active {
                        continue;
                    }
                    let querier = &mut self.queriers[index(Family::of(record.group))];
                    let membership = self.groups.get_mut(&(vlan, record.group));
                    let membership =
                        membership.and_then(|all| all.iter_mut().find(|(of, _)| *of == port));
                    if let Some((_, membership)) = membership {
                        if ask.group {
                            membership.lower_group(now, limits);
                            querier.ask(now, record.group, Vec::new());
                        }
                        if !ask.sources.is_empty() {
                            membership.lower_sources(now, &ask.sources, limits);
                            querier.ask(now, record.group, ask.sources);
                        }
                    }
                }
            }
        }
    }

    pub(super) fn is_querier(&self, now: Time, family: Family) -> bool {
        self.config.querier && self.queriers[index(family)].is_active(now)
    }

    pub(super) fn handle_query(
        &mut self,
        now: Time,
        port: u16,
        vlan: u16,
        source: IpAddr,
        query: &Query,
    ) {
        self.counters.queries += 1;
        let family = index(Family::of(source));
        if let Some(group) = query.group {
            let robustness = match query.robustness {
                0 => self.config.queries.robustness,
                stated => stated,
            };
            let limits = Limits {
                membership: Time::ZERO,
                last_member: query.max_response * robustness.into(),
            };
            let members = self.groups.get_mut(&(vlan, group));
            for (_, membership) in members.into_iter().flatten().filter(|_| !query.suppress) {
                match query.sources.is_empty() {
                    true => membership.lower_group(now, limits),
                    false => membership.lower_sources(now, &query.sources, limits),
                }
            }
        }
        if source.is_unspecified() {
            return;
        }
        self.queriers[family].handle_query(now, source, Some(self.own[family]));
        if now >= self.querier_until[family] && !self.is_querier(now, Family::of(source)) {
            self.querier_from[family] = now + query.max_response;
        }
        self.querier_until[family] = now + ROUTER_TIME;
        self.ports[usize::from(port)].router_until[family] = now + ROUTER_TIME;
    }

    pub(super) fn handle_leave(&mut self, now: Time, port: u16, vlan: u16, group: IpAddr) {
        self.counters.reports += 1;
        let limits = self.config.queries.limits();
        let is_active = self.is_querier(now, Family::of(group));
        let members = self.groups.get_mut(&(vlan, group));
        let member = members.and_then(|all| all.iter_mut().find(|(of, _)| *of == port));
        let Some((_, membership)) = member.filter(|(_, membership)| membership.accepts_leave(now))
        else {
            return;
        };
        if self.ports[usize::from(port)].config.fast_leave {
            self.remove(port, vlan, group);
        } else if is_active {
            membership.lower_group(now, limits);
            self.queriers[index(Family::of(group))].ask(now, group, Vec::new());
        }
    }

    /// The membership of a port, made if there is room.
    pub(super) fn member(
        &mut self,
        now: Time,
        port: u16,
        vlan: u16,
        group: IpAddr,
    ) -> Option<&mut Membership> {
        self.counters.reports += 1;
        if !message::is_reported(group) {
            return None;
        }
        let key = (vlan, group);
        let known = self
            .groups
            .get(&key)
            .and_then(|all| all.iter().position(|(of, _)| *of == port));
        let is_full = |snooper: &Snooper| {
            snooper.memberships >= snooper.config.memberships
                || snooper.ports[usize::from(port)].memberships
                    >= snooper.config.memberships_per_port
        };
        if known.is_none() && is_full(self) {
            // At most once in a second: it looks at all.
            if self.sweep_at > now + SWEEP - Time::from_secs(1) {
                self.counters.refused += 1;
                return None;
            }
            self.sweep(now);
            if is_full(self) {
                self.counters.refused += 1;
                return None;
            }
        }
        let members = self.groups.entry(key).or_default();
        let place = match members.iter().position(|(of, _)| *of == port) {
            Some(place) => place,
            None => {
                members.push((port, Membership::default()));
                self.memberships += 1;
                self.ports[usize::from(port)].memberships += 1;
                self.sweep_at = self.sweep_at.min(now + SWEEP);
                members.len() - 1
            }
        };
        Some(&mut members[place].1)
    }

    pub(super) fn remove(&mut self, port: u16, vlan: u16, group: IpAddr) {
        if let Some(members) = self.groups.get_mut(&(vlan, group)) {
            let before = members.len();
            members.retain(|(of, _)| *of != port);
            self.memberships -= before - members.len();
            self.ports[usize::from(port)].memberships -= before - members.len();
            if members.is_empty() {
                self.groups.remove(&(vlan, group));
            }
        }
    }
}
