//! Mappings and sessions.
//!
//! A mapping binds an inside endpoint to an external one, for all remote endpoints or some. A
//! session is a mapping and one remote endpoint. Only packets of inside hosts make either; a
//! mapping lives as long as one of its sessions.

use super::config::{Behaviour, Config};
use super::endpoint::{Endpoint, Tuple};
use super::index::{NONE, Slab, TupleIndex};
use super::tcp::State;
use super::timers::{Timed, Timer, Timers};
use node::Time;
use packet::ipv4::protocol;

/// An inside endpoint and its external one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub protocol: u8,
    pub inside: Endpoint,
    pub external: Endpoint,
    /// Part of the remote endpoint that the mapping is for.
    scope: Endpoint,
    /// The session that was made last.
    newest: u32,
    /// Mappings of the same inside endpoint, where mappings follow each other.
    older: u32,
    newer: u32,
}

/// A mapping and a remote endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub mapping: u32,
    /// Copies of the mapping's fields: an inbound packet needs no more of it.
    pub protocol: u8,
    pub inside: Endpoint,
    pub remote: Endpoint,
    /// State of a TCP connection.
    pub tcp: Option<State>,
    pub is_replied: bool,
    pub timer: Timer,
    /// Time at which the session ends at the earliest.
    keep: Time,
    /// Sessions of the same mapping.
    older: u32,
    newer: u32,
}

impl Timed for Session {
    fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

/// Remote endpoints that may send to a mapping, and the number of sessions by which they may.
#[derive(Clone, Copy, Debug)]
struct Filter {
    mapping: u32,
    sessions: u32,
}

/// All mappings and sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    mapping: Behaviour,
    filtering: Behaviour,
    /// Mappings by inside endpoint and scope.
    by_inside: TupleIndex,
    /// The mapping that an inside endpoint got last; only where `reuse` asks for it.
    by_source: Option<TupleIndex>,
    /// Sessions by external and remote endpoint.
    by_remote: TupleIndex,
    /// Filters by external endpoint and that part of the remote one which matters.
    by_filter: TupleIndex,
    pub mappings: Slab<Mapping>,
    pub sessions: Slab<Session>,
    filters: Slab<Filter>,
    timers: Timers,
    timeouts: Timeouts,
}

/// Timeouts of sessions.
#[derive(Clone, Copy, Debug)]
struct Timeouts {
    udp: Time,
    udp_well_known: Time,
    udp_unreplied: Option<Time>,
    tcp_established: Time,
    tcp_transitory: Time,
    icmp: Time,
    other: Time,
}

impl Timeouts {
    fn of(&self, session: &Session) -> Time {
        match (session.protocol, session.tcp) {
            (_, Some(state)) if state.is_established() => self.tcp_established,
            (_, Some(_)) => self.tcp_transitory,
            (protocol::UDP, None) => {
                let all = match session.remote.id {
                    ..1_024 => self.udp_well_known,
                    _ => self.udp,
                };
                let unreplied = self.udp_unreplied.filter(|_| !session.is_replied);
                unreplied.unwrap_or(all)
            }
            (protocol::ICMP, None) => self.icmp,
            _ => self.other,
        }
    }
}

/// The part of a remote endpoint that matters to a behaviour. Protocols without ports or
/// identifiers are distinguished by the remote address in any case.
fn part(behaviour: Behaviour, number: u8, remote: Endpoint) -> Endpoint {
    let has_id = matches!(number, protocol::TCP | protocol::UDP | protocol::ICMP);
    match behaviour {
        _ if !has_id => remote,
        Behaviour::EndpointIndependent => Endpoint::ANY,
        Behaviour::AddressDependent => Endpoint { id: 0, ..remote },
        Behaviour::AddressAndPortDependent => remote,
    }
}

impl Sessions {
    pub fn new(config: &Config, mut keys: impl FnMut() -> u64) -> Sessions {
        let mut index = || TupleIndex::new([keys(), keys()]);
        Sessions {
            mapping: config.mapping,
            filtering: config.filtering,
            by_inside: index(),
            by_source: config.reuse.then(&mut index),
            by_remote: index(),
            by_filter: index(),
            mappings: Slab::new(),
            sessions: Slab::new(),
            filters: Slab::new(),
            timers: Timers::default(),
            timeouts: Timeouts {
                udp: config.udp,
                udp_well_known: config.udp_well_known,
                udp_unreplied: config.udp_unreplied,
                tcp_established: config.tcp_established,
                tcp_transitory: config.tcp_transitory,
                icmp: config.icmp,
                other: config.other,
            },
        }
    }

    fn inside_key(&self, number: u8, inside: Endpoint, remote: Endpoint) -> Tuple {
        Tuple::new(number, inside, part(self.mapping, number, remote))
    }

    fn filter_key(&self, number: u8, external: Endpoint, remote: Endpoint) -> Tuple {
        Tuple::new(number, external, part(self.filtering, number, remote))
    }

    /// The mapping that an inside endpoint has for a remote one.
    pub fn mapping(&self, number: u8, inside: Endpoint, remote: Endpoint) -> Option<u32> {
        self.by_inside.get(self.inside_key(number, inside, remote))
    }

    /// The session between an external and a remote endpoint.
    pub fn session(&self, number: u8, external: Endpoint, remote: Endpoint) -> Option<u32> {
        self.by_remote.get(Tuple::new(number, external, remote))
    }

    /// The session of a mapping and a remote endpoint, or that of another mapping with the same
    /// external endpoint.
    pub fn session_of(&self, mapping: u32, remote: Endpoint) -> Option<u32> {
        let Mapping {
            protocol,
            external,
            newest,
            ..
        } = self.mappings[mapping];
        // Most mappings have one session.
        if newest != NONE && self.sessions[newest].remote == remote {
            return Some(newest);
        }
        self.session(protocol, external, remote)
    }

    /// The mapping at an external endpoint to which filtering lets a remote one send that has no
    /// session.
    pub fn admitted(&self, number: u8, external: Endpoint, remote: Endpoint) -> Option<u32> {
        let filter = self
            .by_filter
            .get(self.filter_key(number, external, remote))?;
        Some(self.filters[filter].mapping)
    }

    /// Adds a mapping, to which a session must be added next.
    pub fn add_mapping(
        &mut self,
        number: u8,
        inside: Endpoint,
        external: Endpoint,
        remote: Endpoint,
    ) -> u32 {
        let scope = part(self.mapping, number, remote);
        let mapping = self.mappings.insert(Mapping {
            protocol: number,
            inside,
            external,
            scope,
            newest: NONE,
            older: NONE,
            newer: NONE,
        });
        self.by_inside
            .insert(Tuple::new(number, inside, scope), mapping);
        if let Some(index) = &mut self.by_source {
            let key = Tuple::new(number, inside, Endpoint::ANY);
            if let Some(older) = index.get(key) {
                self.mappings[older].newer = mapping;
                self.mappings[mapping].older = older;
                index.remove(key);
            }
            index.insert(key, mapping);
        }
        mapping
    }

    /// The mapping that an inside endpoint got last, for any remote endpoint.
    pub fn latest(&self, number: u8, inside: Endpoint) -> Option<u32> {
        let key = Tuple::new(number, inside, Endpoint::ANY);
        self.by_source.as_ref()?.get(key)
    }

    fn remove_mapping(&mut self, number: u32) {
        let mapping = self.mappings[number];
        let key = Tuple::new(mapping.protocol, mapping.inside, mapping.scope);
        self.by_inside.remove(key);
        if let Some(index) = &mut self.by_source {
            if mapping.older != NONE {
                self.mappings[mapping.older].newer = mapping.newer;
            }
            if mapping.newer != NONE {
                self.mappings[mapping.newer].older = mapping.older;
            } else {
                let key = Tuple::new(mapping.protocol, mapping.inside, Endpoint::ANY);
                index.remove(key);
                if mapping.older != NONE {
                    index.insert(key, mapping.older);
                }
            }
        }
        self.mappings.remove(number);
    }

    /// Adds a new session, and starts its timer.
    pub fn add_session(
        &mut self,
        now: Time,
        mapping: u32,
        remote: Endpoint,
        tcp: Option<State>,
    ) -> u32 {
        let Mapping {
            protocol,
            inside,
            external,
            newest,
            ..
        } = self.mappings[mapping];
        let mut session = Session {
            mapping,
            protocol,
            inside,
            remote,
            tcp,
            is_replied: false,
            timer: Timer::default(),
            keep: Time::ZERO,
            older: newest,
            newer: NONE,
        };
        session.timer.expires = now + self.timeouts.of(&session);
        let number = self.sessions.insert(session);
        if newest != NONE {
            self.sessions[newest].newer = number;
        }
        self.mappings[mapping].newest = number;
        let key = Tuple::new(protocol, external, remote);
        self.by_remote.insert(key, number);
        self.join_filter(mapping, key, remote);
        self.timers.start(&mut self.sessions, number);
        number
    }

    /// Increments the number of sessions in the filter of a mapping `key` and a remote endpoint.
    fn join_filter(&mut self, mapping: u32, key: Tuple, remote: Endpoint) {
        let Mapping {
            protocol, external, ..
        } = self.mappings[mapping];
        let filter = self.filter_key(protocol, external, remote);
        match self.by_filter.get(filter) {
            Some(filter) => self.filters[filter].sessions += 1,
            // The session is the filter.
            None if filter == key => {}
            None => {
                let sessions = 1;
                let number = self.filters.insert(Filter { mapping, sessions });
                self.by_filter.insert(filter, number);
            }
        }
    }

    /// Decrements the number of sessions in its filter.
    fn leave_filter(&mut self, protocol: u8, external: Endpoint, remote: Endpoint) {
        let key = self.filter_key(protocol, external, remote);
        if let Some(filter) = self.by_filter.get(key) {
            self.filters[filter].sessions -= 1;
            if self.filters[filter].sessions == 0 {
                self.by_filter.remove(key);
                self.filters.remove(filter);
            }
        }
    }

    /// Restarts a session's timer.
    pub fn restart(&mut self, now: Time, number: u32) {
        let session = &mut self.sessions[number];
        let before = session.timer.expires;
        session.timer.expires = (now + self.timeouts.of(session)).max(session.keep);
        if session.timer.expires < before {
            self.timers.change(&mut self.sessions, number);
        }
    }

    /// Restarts a session's timer, and lets it end at `until` at the earliest.
    pub fn keep(&mut self, now: Time, number: u32, until: Time) {
        self.sessions[number].keep = until;
        self.restart(now, number);
    }

    /// Changes the remote endpoint of a session and restarts its timer. A mapping for one remote endpoint changes with it, unless
    /// the inside endpoint already has a mapping for the new endpoint; then nothing changes.
    pub fn move_to(&mut self, now: Time, number: u32, remote: Endpoint) {
        let old = self.sessions[number];
        let mapping = self.mappings[old.mapping];
        let (protocol, external) = (mapping.protocol, mapping.external);
        let scope = part(self.mapping, protocol, remote);
        if scope != mapping.scope {
            let key = Tuple::new(protocol, mapping.inside, scope);
            if self.by_inside.get(key).is_some() {
                return;
            }
            let before = Tuple::new(protocol, mapping.inside, mapping.scope);
            self.by_inside.remove(before);
            self.by_inside.insert(key, old.mapping);
            self.mappings[old.mapping].scope = scope;
        }
        self.by_remote
            .remove(Tuple::new(protocol, external, old.remote));
        self.leave_filter(protocol, external, old.remote);
        let session = &mut self.sessions[number];
        (session.remote, session.keep) = (remote, Time::ZERO);
        let key = Tuple::new(protocol, external, remote);
        self.by_remote.insert(key, number);
        self.join_filter(old.mapping, key, remote);
        self.restart(now, number);
    }

    /// Ends a session's time at `now`.
    pub fn end(&mut self, now: Time, number: u32) {
        self.sessions[number].timer.expires = now;
        self.timers.change(&mut self.sessions, number);
    }

    /// The session of a mapping that was made last.
    pub fn newest(&self, mapping: u32) -> u32 {
        self.mappings[mapping].newest
    }

    /// Removes the next session whose time is over; returns it, and whether its mapping ended with
    /// it.
    pub fn expire(&mut self, now: Time) -> Option<(Mapping, bool)> {
        let number = self.timers.expired(now, &mut self.sessions)?;
        Some(self.remove(number))
    }

    fn remove(&mut self, number: u32) -> (Mapping, bool) {
        self.timers.stop(&mut self.sessions, number);
        let session = self.sessions[number];
        let mapping = self.mappings[session.mapping];
        let key = Tuple::new(mapping.protocol, mapping.external, session.remote);
        self.by_remote.remove(key);
        self.leave_filter(mapping.protocol, mapping.external, session.remote);
        if session.older != NONE {
            self.sessions[session.older].newer = session.newer;
        }
        match session.newer {
            NONE => self.mappings[session.mapping].newest = session.older,
            newer => self.sessions[newer].older = session.older,
        }
        self.sessions.remove(number);
        let is_last = self.mappings[session.mapping].newest == NONE;
        if is_last {
            self.remove_mapping(session.mapping);
        }
        (mapping, is_last)
    }

    /// Time at which the next session may expire; [`Time::MAX`] when there is none.
    pub fn first(&self) -> Time {
        self.timers.first()
    }

    /// All sessions with their mappings.
    pub fn iter(&self) -> impl Iterator<Item = (&Mapping, &Session)> {
        self.timers.numbers().map(|number| {
            let session = &self.sessions[number];
            (&self.mappings[session.mapping], session)
        })
    }
}
