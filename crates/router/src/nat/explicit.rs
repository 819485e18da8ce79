//! Mappings that hosts ask for by a port control protocol (RFC 6887).
//!
//! An explicit mapping has any remote endpoint, or those of its filters, whatever the kind of the NAT: a host inside that
//! sends from its inside endpoint is seen at its external one. Connections by it have no sessions, and end with it.

use super::Nat;
use super::config::{Behaviour, Transport};
use super::endpoint::Endpoint;
use super::forwards::{RemoteFilter, Target, number_of};
use super::tcp::State;
use alloc::vec::Vec;
use core::net::SocketAddrV4;
use node::Time;

/// Wish for an external endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Suggestion {
    /// Any.
    #[default]
    None,
    /// This one, or another. An unspecified address or port 0 is any.
    Wish(SocketAddrV4),
    /// This one alone.
    Exact(SocketAddrV4),
}

/// Why there is no mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// No external port is free.
    NoPort,
    /// The suggested external endpoint cannot be given.
    NotSuggested,
    /// Too many sessions, or too many of the host.
    Limit,
}

/// An explicit or static mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Its external endpoint.
    pub external: SocketAddrV4,
    /// Time at which it ends; [`Time::MAX`] for a static one.
    pub until: Time,
}

impl Nat {
    /// Makes an explicit mapping of an inside endpoint until `until`, or changes time and filters of the one that is there. A
    /// static mapping stays as it is. Ports are those of `port_range`.
    ///
    /// # Errors
    /// See [`MapError`].
    pub fn map(
        &mut self,
        now: Time,
        protocol: Transport,
        inside: SocketAddrV4,
        suggestion: Suggestion,
        until: Time,
        filters: &[RemoteFilter],
    ) -> Result<Mapped, MapError> {
        self.expire(now);
        let (number, inside) = (number_of(protocol), Endpoint::from(inside));
        let known = self.forwards.external(number, inside);
        if let Suggestion::Exact(wish) = suggestion
            && known.is_some_and(|known| !known.matches(wish.into()))
        {
            return Err(MapError::NotSuggested);
        }
        let external = match known {
            Some(external) => external,
            None => self.reserve(number, inside, suggestion)?,
        };
        let known = self.forwards.target(number, external);
        if !known.is_some_and(Target::is_static) {
            let target = Target {
                inside,
                expires: until.max(self.now),
                filters: filters.into(),
            };
            self.forwards.insert(number, external, target);
        }
        let until = self.forwards.target(number, external);
        Ok(Mapped {
            external: external.into(),
            until: until.map_or(self.now, |target| target.expires),
        })
    }

    /// An external endpoint for an explicit mapping: that of the mapping which the inside endpoint has for all remote hosts,
    /// or a new one.
    fn reserve(
        &mut self,
        number: u8,
        inside: Endpoint,
        suggestion: Suggestion,
    ) -> Result<Endpoint, MapError> {
        let (wish, is_exact) = match suggestion {
            Suggestion::None => (Endpoint::ANY, false),
            Suggestion::Wish(wish) => (wish.into(), false),
            Suggestion::Exact(wish) => (wish.into(), true),
        };
        let shared = self.shared(number, inside);
        if let Some(external) = shared
            && self.forwards.target(number, external).is_none()
        {
            if is_exact && !external.matches(wish) {
                return Err(MapError::NotSuggested);
            }
            self.pool.share(number, inside, external);
            return Ok(external);
        }
        let taken = self.pool.take_explicit(number, inside, wish, is_exact);
        taken.ok_or(match is_exact {
            true => MapError::NotSuggested,
            false => MapError::NoPort,
        })
    }

    /// External endpoint of the mapping by sessions that an inside endpoint has for all remote hosts.
    fn shared(&self, number: u8, inside: Endpoint) -> Option<Endpoint> {
        let is_one = self.config.mapping == Behaviour::EndpointIndependent;
        let mapping = self.sessions.mapping(number, inside, Endpoint::ANY);
        let mapping = mapping.filter(|_| is_one)?;
        Some(self.sessions.mappings[mapping].external)
    }

    /// Ends the explicit mapping of an inside endpoint; whether there was one.
    pub fn unmap(&mut self, now: Time, protocol: Transport, inside: SocketAddrV4) -> bool {
        self.expire(now);
        let (number, inside) = (number_of(protocol), Endpoint::from(inside));
        let Some(external) = self.forwards.external(number, inside) else {
            return false;
        };
        let target = self.forwards.target(number, external);
        if target.is_none_or(Target::is_static) {
            return false;
        }
        self.forwards.remove(number, external);
        self.released(number, inside, external);
        true
    }

    /// Frees the port of an explicit mapping that has ended.
    pub(super) fn released(&mut self, number: u8, inside: Endpoint, external: Endpoint) {
        let is_used = self.shared(number, inside) == Some(external);
        self.pool.release(number, inside, external, is_used);
    }

    /// The explicit or static mapping of an inside endpoint.
    pub fn mapped(&self, protocol: Transport, inside: SocketAddrV4) -> Option<Mapped> {
        let number = number_of(protocol);
        let external = self.forwards.external(number, inside.into())?;
        let target = self.forwards.target(number, external)?;
        let until = target.expires;
        let external = external.into();
        (until > self.now).then_some(Mapped { external, until })
    }

    /// The inside endpoint of an explicit or static mapping, and its mapping.
    pub fn mapped_at(
        &self,
        protocol: Transport,
        external: SocketAddrV4,
    ) -> Option<(SocketAddrV4, Mapped)> {
        let target = self.forwards.target(number_of(protocol), external.into())?;
        let until = target.expires;
        let inside = target.inside.into();
        (until > self.now).then_some((inside, Mapped { external, until }))
    }

    /// Filters of an explicit mapping.
    pub fn filters(&self, protocol: Transport, inside: SocketAddrV4) -> Vec<RemoteFilter> {
        let number = number_of(protocol);
        let external = self.forwards.external(number, inside.into());
        let target = external.and_then(|external| self.forwards.target(number, external));
        target.map_or_else(Vec::new, |target| target.filters.clone())
    }

    /// Makes or keeps the session of an inside and a remote endpoint until `until` at least (RFC 6887 section 12); its external
    /// endpoint. An endpoint with an explicit mapping has no sessions.
    ///
    /// # Errors
    /// See [`MapError`].
    pub fn keep_session(
        &mut self,
        now: Time,
        protocol: Transport,
        [inside, remote]: [SocketAddrV4; 2],
        suggestion: Suggestion,
        until: Time,
    ) -> Result<SocketAddrV4, MapError> {
        self.expire(now);
        let number = number_of(protocol);
        let (inside, remote) = (inside.into(), remote.into());
        let (wish, is_exact) = match suggestion {
            Suggestion::None => (Endpoint::ANY, false),
            Suggestion::Wish(wish) => (wish.into(), false),
            Suggestion::Exact(wish) => (wish.into(), true),
        };
        let fits = |external: Endpoint| !is_exact || external.matches(wish);
        if let Some(external) = self.forwards.external(number, inside) {
            return match fits(external) {
                true => Ok(external.into()),
                false => Err(MapError::NotSuggested),
            };
        }
        let tcp = (protocol == Transport::Tcp).then_some(State::Opening);
        let found = self.session_between(number, [inside, remote], Some(tcp), Some(wish));
        let (session, external, is_new) = match found {
            Ok(found) => found,
            Err(super::Verdict::Prohibit(reason)) if reason == super::translate::NO_PORT => {
                return Err(MapError::NoPort);
            }
            Err(_) => return Err(MapError::Limit),
        };
        if fits(external) {
            self.sessions.keep(self.now, session, until);
            return Ok(external.into());
        }
        if is_new {
            self.sessions.end(self.now, session);
            self.expire(now);
        }
        Err(MapError::NotSuggested)
    }
}
