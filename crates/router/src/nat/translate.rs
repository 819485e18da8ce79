//! Translation of a packet in each direction.

use super::config::{Refresh, Unsolicited};
use super::endpoint::Endpoint;
use super::headers::{End, Kind, Packet, Quote};
use super::tcp::{ACK, FIN, RST, SYN, State, Way};
use super::{Nat, Verdict};
use node::{Frame, Time};
use packet::ipv4::protocol;

/// Reasons why a packet is dropped.
const NOT_FIRST: &str = "outbound packet that must not begin a session";
const STRAY_ERROR: &str = "ICMP error about no session";
const UNSOLICITED: &str = "inbound packet that no mapping admits";
pub(super) const NO_PORT: &str = "no free external port";
const NO_ADDRESS: &str = "the NAT has no external address yet";
const SHARED: &str = "external port in use with the same remote endpoint";
const OVER_LIMIT: &str = "too many NAT sessions";
const OVER_HOST_LIMIT: &str = "too many NAT sessions of one host";
const NO_HAIRPIN: &str = "hairpinning is off";

/// Time for which a connection of the router itself is remembered after each of its packets.
const OWN_TIMEOUT: Time = Time::from_secs(60);

impl Nat {
    /// Translates a packet from the inside to the outside: its source address, and its port or ICMP
    /// identifier. The frame has an Ethernet header and a whole IPv4 packet.
    pub fn outbound(&mut self, now: Time, frame: &mut Frame) -> Verdict {
        self.expire(now);
        match Packet::read(frame) {
            Ok(Some(packet)) => self.out(frame, &packet),
            Ok(None) => Verdict::NotForNat,
            Err(reason) => self.malformed(reason),
        }
    }

    /// Translates a packet that arrived on the outside for an external address: its destination
    /// address, and its port or ICMP identifier.
    pub fn inbound(&mut self, now: Time, frame: &mut Frame) -> Verdict {
        self.expire(now);
        match Packet::read(frame) {
            Ok(Some(packet)) => self.into(frame, &packet, false),
            Ok(None) => Verdict::NotForNat,
            Err(reason) => self.malformed(reason),
        }
    }

    /// Translates a packet from the inside to an external address: its source as
    /// [`outbound`](Nat::outbound) does, and then its destination as [`inbound`](Nat::inbound)
    /// does, filtering included (RFC 4787 REQ-9, RFC 5508 REQ-7). A query of ICMP is for the
    /// router.
    pub fn hairpin(&mut self, now: Time, frame: &mut Frame) -> Verdict {
        self.expire(now);
        let packet = match Packet::read(frame) {
            Ok(Some(packet)) => packet,
            Ok(None) => return Verdict::NotForNat,
            Err(reason) => return self.malformed(reason),
        };
        if matches!(packet.kind, Kind::Request | Kind::Reply | Kind::OtherIcmp) {
            return Verdict::NotForNat;
        }
        if !self.config.hairpin {
            return match self.config.unsolicited {
                Unsolicited::Local => Verdict::NotForNat,
                _ => Verdict::Drop(NO_HAIRPIN),
            };
        }
        let verdict = self.out(frame, &packet);
        if verdict != Verdict::Translated {
            return verdict;
        }
        match Packet::read(frame) {
            Ok(Some(packet)) => {
                let verdict = self.into(frame, &packet, true);
                self.counters.hairpinned += u64::from(verdict == Verdict::Translated);
                match verdict {
                    // The source has changed already: the router could not answer it.
                    Verdict::NotForNat => Verdict::Drop(UNSOLICITED),
                    verdict => verdict,
                }
            }
            // Translation has not changed its form.
            _ => Verdict::Drop(UNSOLICITED),
        }
    }

    /// The router itself sends a packet from an external address: answers, and errors about it, are for the router.
    pub fn note_own(&mut self, now: Time, frame: &Frame) {
        self.expire(now);
        if let Ok(Some(packet)) = Packet::read(frame)
            && self.is_external(packet.source.address)
            && matches!(
                packet.kind,
                Kind::Tcp(_) | Kind::Udp | Kind::Request | Kind::Other
            )
        {
            let until = self.now + OWN_TIMEOUT;
            let (external, remote) = (packet.source, packet.destination);
            let own = &mut self.own;
            own.note(self.now, packet.protocol, external, remote, until);
        }
    }

    fn malformed(&mut self, reason: &'static str) -> Verdict {
        self.counters.malformed += 1;
        Verdict::Drop(reason)
    }

    fn out(&mut self, frame: &mut Frame, packet: &Packet) -> Verdict {
        let begins = match packet.kind {
            Kind::Error(quote) => return self.error_out(frame, packet, &quote),
            Kind::Reply | Kind::OtherIcmp => return self.invalid(),
            Kind::Tcp(flags) => State::begin(flags, self.config.pickup).map(Some),
            Kind::Request | Kind::Udp | Kind::Other => Some(None),
        };
        let (number, inside, remote) = (packet.protocol, packet.source, packet.destination);
        let external = match self.forwards.external(number, inside) {
            Some(external) => external,
            None => match self.session_out(packet, begins) {
                Ok(external) => external,
                Err(verdict) => return verdict,
            },
        };
        if let Kind::Tcp(flags) = packet.kind
            && flags & SYN != 0
        {
            self.held.forget(external, remote);
        }
        packet.rewrite(frame, End::Source, external);
        self.counters.outbound += 1;
        Verdict::Translated
    }

    /// The external endpoint of an outbound packet, whose session is found or made. `begins` is
    /// `None` for a packet that must not begin one.
    fn session_out(
        &mut self,
        packet: &Packet,
        begins: Option<Option<State>>,
    ) -> Result<Endpoint, Verdict> {
        let ends = [packet.source, packet.destination];
        let found = self.session_between(packet.protocol, ends, begins, None);
        let (session, external, is_new) = found?;
        if !is_new {
            self.seen(session, packet.kind, Way::Out);
        }
        Ok(external)
    }

    /// The session of an inside and a remote endpoint, which is found or made, with `wish` for its external endpoint; and
    /// whether it is new.
    pub(super) fn session_between(
        &mut self,
        number: u8,
        [inside, remote]: [Endpoint; 2],
        begins: Option<Option<State>>,
        wish: Option<Endpoint>,
    ) -> Result<(u32, Endpoint, bool), Verdict> {
        let mapping = self.sessions.mapping(number, inside, remote);
        if let Some(mapping) = mapping {
            let external = self.sessions.mappings[mapping].external;
            if let Some(session) = self.sessions.session_of(mapping, remote) {
                if self.sessions.sessions[session].mapping != mapping {
                    self.counters.no_port += 1;
                    return Err(Verdict::Prohibit(SHARED));
                }
                return Ok((session, external, false));
            }
        }
        let Some(tcp) = begins else {
            return Err(self.invalid());
        };
        self.has_room(inside).map_err(Verdict::Prohibit)?;
        let (mapping, external) = match mapping {
            Some(mapping) => (mapping, self.sessions.mappings[mapping].external),
            None => {
                let external = self.take_port(number, inside, remote, wish)?;
                self.counters.mappings_made += 1;
                let sessions = &mut self.sessions;
                let mapping = sessions.add_mapping(number, inside, external, remote);
                (mapping, external)
            }
        };
        let session = self.sessions.add_session(self.now, mapping, remote, tcp);
        self.pool.add_session(inside.address);
        self.counters.sessions_made += 1;
        Ok((session, external, true))
    }

    /// # Errors
    /// The limit that an inside host's next session would exceed.
    pub(super) fn has_room(&mut self, inside: Endpoint) -> Result<(), &'static str> {
        if self.sessions.sessions.len() >= self.config.sessions {
            self.counters.over_limit += 1;
            return Err(OVER_LIMIT);
        }
        if self.pool.sessions_of(inside.address) >= self.config.sessions_per_host {
            self.counters.over_host_limit += 1;
            return Err(OVER_HOST_LIMIT);
        }
        Ok(())
    }

    fn take_port(
        &mut self,
        number: u8,
        inside: Endpoint,
        remote: Endpoint,
        wish: Option<Endpoint>,
    ) -> Result<Endpoint, Verdict> {
        let sessions = &self.sessions;
        let external = |mapping: u32| sessions.mappings[mapping].external;
        let latest = sessions.latest(number, inside).map(external);
        // RTCP's port is the odd one after RTP's (RFC 4787 section 4.2.3).
        let wants_next = self.config.contiguity && number == protocol::UDP && inside.id % 2 == 1;
        let id = inside.id.wrapping_sub(1);
        let before = wants_next.then_some(Endpoint { id, ..inside });
        let before = before.and_then(|before| sessions.mapping(number, before, remote));
        let next = before.map(external).and_then(|before| {
            let id = before.id.checked_add(1)?;
            Some(Endpoint { id, ..before })
        });
        let (now, strangers, own) = (self.now, &self.strangers, &self.own);
        let is_free = |external| {
            let is_strange = strangers.contains(now, number, external, remote)
                || own.contains(now, number, external, remote);
            !is_strange && sessions.session(number, external, remote).is_none()
        };
        let taken = self
            .pool
            .take(number, inside, [latest, next.or(wish)], is_free);
        taken.ok_or_else(|| {
            self.counters.no_port += 1;
            Verdict::Prohibit(match self.pool.is_empty() {
                true => NO_ADDRESS,
                false => NO_PORT,
            })
        })
    }

    /// An outbound packet that neither belongs to a session nor may begin one.
    fn invalid(&mut self) -> Verdict {
        self.counters.not_first += 1;
        match self.config.unsolicited {
            Unsolicited::Local => Verdict::NotForNat,
            _ => Verdict::Drop(NOT_FIRST),
        }
    }

    /// Takes a packet into account that belongs to a session.
    fn seen(&mut self, number: u32, kind: Kind, way: Way) {
        let session = &mut self.sessions.sessions[number];
        session.is_replied |= way == Way::In;
        let restarts = match (kind, session.tcp) {
            (Kind::Tcp(flags), Some(state)) => {
                let next = state.after(way, flags);
                session.tcp = Some(next);
                state.restarts(next, way, flags)
            }
            _ => way == Way::Out || self.config.refresh == Refresh::Both,
        };
        if restarts {
            self.sessions.restart(self.now, number);
        }
    }

    fn into(&mut self, frame: &mut Frame, packet: &Packet, is_hairpin: bool) -> Verdict {
        match packet.kind {
            Kind::Error(quote) => return self.error_in(frame, packet, &quote),
            Kind::Request | Kind::OtherIcmp => return Verdict::NotForNat,
            Kind::Tcp(_) | Kind::Udp | Kind::Reply | Kind::Other => {}
        }
        let (number, remote, external) = (packet.protocol, packet.source, packet.destination);
        let inside = if let Some(session) = self.sessions.session(number, external, remote) {
            self.seen(session, packet.kind, Way::In);
            self.sessions.sessions[session].inside
        } else if self.own.contains(self.now, number, external, remote) {
            return Verdict::NotForNat;
        } else if let Some(target) = self.forwards.target(number, external) {
            if !target.allows(remote) {
                return self.unsolicited(frame, packet, is_hairpin);
            }
            target.inside
        } else if let Some(mapping) = self.sessions.admitted(number, external, remote) {
            let is_tcp = matches!(packet.kind, Kind::Tcp(_));
            if !is_tcp && self.config.refresh == Refresh::Both {
                let newest = self.sessions.newest(mapping);
                self.sessions.restart(self.now, newest);
            }
            self.sessions.mappings[mapping].inside
        } else {
            return self.unsolicited(frame, packet, is_hairpin);
        };
        packet.rewrite(frame, End::Destination, inside);
        self.counters.inbound += 1;
        Verdict::Translated
    }

    fn unsolicited(&mut self, frame: &Frame, packet: &Packet, is_hairpin: bool) -> Verdict {
        self.counters.unsolicited += 1;
        if is_hairpin {
            return Verdict::Drop(UNSOLICITED);
        }
        match (self.config.unsolicited, packet.kind) {
            (Unsolicited::Local, kind) => {
                if kind == Kind::Udp && self.config.unsolicited_occupies {
                    let until = self.now + self.config.udp_unreplied.unwrap_or(self.config.udp);
                    let (external, remote) = (packet.destination, packet.source);
                    self.strangers
                        .note(self.now, packet.protocol, external, remote, until);
                }
                return Verdict::NotForNat;
            }
            (Unsolicited::Hold, Kind::Tcp(flags)) if flags & (SYN | ACK | RST | FIN) == SYN => {
                let (external, remote) = (packet.destination, packet.source);
                let is_held = self.held.hold(self.now, external, remote, frame);
                self.counters.syns_held += u64::from(is_held);
            }
            _ => {}
        }
        Verdict::Drop(UNSOLICITED)
    }

    /// An error from the inside about a packet that came in (RFC 5508 REQ-5).
    fn error_out(&mut self, frame: &mut Frame, packet: &Packet, quote: &Quote) -> Verdict {
        let (number, remote, inside) = (quote.protocol, quote.source, quote.destination);
        let sessions = &self.sessions;
        let forwarded = self.forwards.external(number, inside);
        let external = forwarded.or_else(|| {
            let mapping = sessions.mapping(number, inside, remote)?;
            let external = sessions.mappings[mapping].external;
            let own = sessions.session(number, external, remote);
            let own = own.map(|session| sessions.sessions[session].mapping);
            let admitted = own.or_else(|| sessions.admitted(number, external, remote));
            (admitted == Some(mapping)).then_some(external)
        });
        // A query from the outside is never let in.
        let Some(external) = external.filter(|_| !quote.is_request) else {
            return self.stray_error();
        };
        let inner = (End::Destination, external);
        packet.rewrite_error(frame, quote, inner, (End::Source, external.address));
        self.counters.outbound += 1;
        Verdict::Translated
    }

    /// An error from the outside about a packet that went out (RFC 5508 REQ-4).
    fn error_in(&mut self, frame: &mut Frame, packet: &Packet, quote: &Quote) -> Verdict {
        let (number, external, remote) = (quote.protocol, quote.source, quote.destination);
        // Forged otherwise: an error goes to the source of the packet.
        if packet.destination.address != external.address {
            return self.stray_error();
        }
        if self.own.contains(self.now, number, external, remote) {
            return Verdict::NotForNat;
        }
        let session = self.sessions.session(number, external, remote);
        let inside = match session {
            Some(session) => Some(self.sessions.sessions[session].inside),
            None => self.forwards.inside(number, external),
        };
        let Some(inside) = inside.filter(|_| !quote.is_reply) else {
            return self.stray_error();
        };
        let inner = (End::Source, inside);
        packet.rewrite_error(frame, quote, inner, (End::Destination, inside.address));
        self.counters.inbound += 1;
        Verdict::Translated
    }

    fn stray_error(&mut self) -> Verdict {
        self.counters.stray_errors += 1;
        match self.config.unsolicited {
            Unsolicited::Local => Verdict::NotForNat,
            _ => Verdict::Drop(STRAY_ERROR),
        }
    }
}
