//! A NAT as the RFCs describe it, in the plainest form: a list of mappings that is searched from
//! its beginning.
//!
//! Where an RFC leaves a choice - which port - the model takes the implementation's and judges
//! whether it was allowed.

mod ports;

use super::packets::*;
use core::net::Ipv4Addr;
use node::Time;
use router::nat::config::*;

#[derive(Clone, Debug)]
pub struct Session {
    pub remote: End,
    pub expires: Time,
    pub replied: bool,
    /// Flags seen of a TCP connection: outbound, inbound.
    pub tcp: Option<Connection>,
}

/// A TCP connection (RFC 7857 section 2).
#[derive(Clone, Debug, Default)]
pub struct Connection {
    opened_by_answer: bool,
    open: bool,
    fin_out: bool,
    fin_in: bool,
    reset: bool,
}

#[derive(Clone, Debug)]
pub struct Mapping {
    pub protocol: u8,
    pub inside: End,
    pub external: End,
    first_remote: End,
    pub sessions: Vec<Session>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The translated packet.
    Packet(Box<Packet>),
    /// The packet with any of these endpoints as its source, when it makes a mapping.
    New(Vec<End>),
    NotForNat,
    Drop,
    Prohibit,
}

pub struct Model {
    pub config: Config,
    addresses: Vec<Ipv4Addr>,
    pub mappings: Vec<Mapping>,
    pub held: Vec<(Time, End, End, Packet)>,
    /// Datagrams for the router itself: external and remote endpoint, and the end of each.
    pub strangers: Vec<(End, End, Time)>,
    /// Last port of each address and protocol, for sequential ports.
    last: Vec<(Ipv4Addr, u8, u16)>,
    pub now: Time,
}

/// Part of a remote endpoint that counts.
fn part(kind: Behaviour, protocol: u8, remote: End) -> Option<End> {
    match kind {
        _ if ![TCP, UDP, ICMP].contains(&protocol) => Some(remote),
        Behaviour::EndpointIndependent => None,
        Behaviour::AddressDependent => Some((remote.0, 0)),
        Behaviour::AddressAndPortDependent => Some(remote),
    }
}

impl Model {
    pub fn new(config: Config) -> Model {
        let addresses = config.external.iter();
        let addresses = addresses.flat_map(|range| range.first.to_bits()..=range.last.to_bits());
        Model {
            addresses: addresses.map(Ipv4Addr::from).collect(),
            config,
            mappings: vec![],
            held: vec![],
            strangers: vec![],
            last: vec![],
            now: Time::ZERO,
        }
    }

    pub fn advance(&mut self, now: Time) {
        self.now = now;
        for mapping in &mut self.mappings {
            mapping.sessions.retain(|session| session.expires > now);
        }
        self.mappings.retain(|mapping| !mapping.sessions.is_empty());
    }

    pub fn sessions(&self) -> usize {
        self.mappings
            .iter()
            .map(|mapping| mapping.sessions.len())
            .sum()
    }

    fn is_external(&self, address: Ipv4Addr) -> bool {
        self.addresses.contains(&address)
    }

    fn forward_of_inside(&self, protocol: u8, inside: End) -> Option<End> {
        let all = self.config.forward.iter();
        let mut of = all.filter(|forward| number(forward) == protocol);
        let found = of.find(|forward| end(forward.inside) == inside)?;
        Some(end(found.external))
    }

    fn forward_of_external(&self, protocol: u8, external: End) -> Option<End> {
        let all = self.config.forward.iter();
        let mut of = all.filter(|forward| number(forward) == protocol);
        let found = of.find(|forward| end(forward.external) == external)?;
        Some(end(found.inside))
    }

    /// Index of the mapping with this session, and of the session.
    fn session(&self, protocol: u8, external: End, remote: End) -> Option<(usize, usize)> {
        self.mappings
            .iter()
            .enumerate()
            .find_map(|(index, mapping)| {
                if (mapping.protocol, mapping.external) != (protocol, external) {
                    return None;
                }
                let mut sessions = mapping.sessions.iter();
                let found = sessions.position(|session| session.remote == remote)?;
                Some((index, found))
            })
    }

    fn mapping(&self, protocol: u8, inside: End, remote: End) -> Option<usize> {
        let kind = self.config.mapping;
        self.mappings.iter().position(|mapping| {
            (mapping.protocol, mapping.inside) == (protocol, inside)
                && part(kind, protocol, mapping.first_remote) == part(kind, protocol, remote)
        })
    }

    /// The mapping to which filtering lets a remote endpoint send.
    fn admitted(&self, protocol: u8, external: End, remote: End) -> Option<usize> {
        let kind = self.config.filtering;
        self.mappings.iter().position(|mapping| {
            (mapping.protocol, mapping.external) == (protocol, external)
                && mapping.sessions.iter().any(|session| {
                    part(kind, protocol, session.remote) == part(kind, protocol, remote)
                })
        })
    }

    fn timeout(&self, protocol: u8, session: &Session) -> Time {
        let config = &self.config;
        match protocol {
            TCP => {
                let tcp = session.tcp.as_ref().unwrap();
                let closed = tcp.reset || (tcp.fin_out && tcp.fin_in);
                match tcp.open && !closed {
                    true => config.tcp_established,
                    false => config.tcp_transitory,
                }
            }
            UDP if !session.replied && config.udp_unreplied.is_some() => {
                config.udp_unreplied.unwrap()
            }
            UDP if session.remote.1 < 1_024 => config.udp_well_known,
            UDP => config.udp,
            ICMP => config.icmp,
            _ => config.other,
        }
    }

    fn restart(&mut self, (mapping, session): (usize, usize)) {
        let protocol = self.mappings[mapping].protocol;
        let timeout = self.timeout(protocol, &self.mappings[mapping].sessions[session]);
        self.mappings[mapping].sessions[session].expires = self.now + timeout;
    }

    fn seen(&mut self, at: (usize, usize), body: &Body, outbound: bool) {
        let session = &mut self.mappings[at.0].sessions[at.1];
        session.replied |= !outbound;
        let restarts = match (body, &mut session.tcp) {
            (Body::Tcp(flags), Some(tcp)) => tcp.packet(*flags, outbound),
            _ => outbound || self.config.refresh == Refresh::Both,
        };
        if restarts {
            self.restart(at);
        }
    }

    fn refused(&self) -> Answer {
        match self.config.unsolicited {
            Unsolicited::Local => Answer::NotForNat,
            _ => Answer::Drop,
        }
    }

    pub fn outbound(&mut self, packet: &Packet) -> Answer {
        let (protocol, inside, remote) = (packet.protocol(), packet.source, packet.destination);
        let mut tcp = None;
        let mut may_begin = true;
        match &packet.body {
            Body::Error(_, quoted, _) => return self.error_out(packet, quoted),
            Body::Query(kind) if !is_request(*kind) => return self.refused(),
            Body::Message(_) => return self.refused(),
            Body::Tcp(flags) => {
                let flags = flags & (SYN | ACK | FIN | RST);
                may_begin = match self.config.pickup {
                    true => flags == SYN || flags == ACK,
                    false => flags == SYN || flags == SYN | ACK,
                };
                tcp = Some(Connection {
                    opened_by_answer: flags == SYN | ACK,
                    open: flags == ACK,
                    ..Connection::default()
                });
            }
            _ => {}
        }
        if let Some(external) = self.forward_of_inside(protocol, inside) {
            self.open(packet, external);
            return from(packet, external);
        }
        let mapping = self.mapping(protocol, inside, remote);
        if let Some(index) = mapping {
            let external = self.mappings[index].external;
            match self.session(protocol, external, remote) {
                Some(at) if at.0 == index => {
                    self.seen(at, &packet.body, true);
                    self.open(packet, external);
                    return from(packet, external);
                }
                Some(_) => return Answer::Prohibit,
                None => {}
            }
        }
        if !may_begin {
            return self.refused();
        }
        let of_host = self
            .mappings
            .iter()
            .filter(|mapping| mapping.inside.0 == inside.0);
        let of_host: usize = of_host.map(|mapping| mapping.sessions.len()).sum();
        if self.sessions() >= self.config.sessions || of_host >= self.config.sessions_per_host {
            return Answer::Prohibit;
        }
        let Some(index) = mapping else {
            let allowed = self.allowed(packet);
            return match allowed.is_empty() {
                true => Answer::Prohibit,
                false => Answer::New(allowed),
            };
        };
        let external = self.mappings[index].external;
        self.add_session(index, remote, tcp);
        self.open(packet, external);
        from(packet, external)
    }

    /// The implementation has chosen an endpoint for a packet that makes a mapping.
    pub fn adopt(&mut self, packet: &Packet, external: End) -> Answer {
        let tcp = match packet.body {
            Body::Tcp(flags) => Some(Connection {
                opened_by_answer: flags & (SYN | ACK) == SYN | ACK,
                open: flags & (SYN | ACK) == ACK,
                ..Connection::default()
            }),
            _ => None,
        };
        let protocol = packet.protocol();
        self.mappings.push(Mapping {
            protocol,
            inside: packet.source,
            external,
            first_remote: packet.destination,
            sessions: vec![],
        });
        self.last
            .retain(|last| (last.0, last.1) != (external.0, protocol));
        self.last.push((external.0, protocol, external.1));
        self.add_session(self.mappings.len() - 1, packet.destination, tcp);
        self.open(packet, external);
        from(packet, external)
    }

    fn add_session(&mut self, index: usize, remote: End, tcp: Option<Connection>) {
        let sessions = &mut self.mappings[index].sessions;
        sessions.push(Session {
            remote,
            expires: Time::ZERO,
            replied: false,
            tcp,
        });
        let last = sessions.len() - 1;
        self.restart((index, last));
    }

    /// An outbound SYN ends the wait of an inbound one (RFC 5382 REQ-4).
    fn open(&mut self, packet: &Packet, external: End) {
        if matches!(packet.body, Body::Tcp(flags) if flags & SYN != 0) {
            let remote = packet.destination;
            self.held
                .retain(|held| (held.1, held.2) != (external, remote));
        }
    }

    pub fn inbound(&mut self, packet: &Packet, is_hairpin: bool) -> Answer {
        let (protocol, remote, external) = (packet.protocol(), packet.source, packet.destination);
        match &packet.body {
            Body::Error(_, quoted, _) => return self.error_in(packet, quoted),
            Body::Query(kind) if is_request(*kind) => return Answer::NotForNat,
            Body::Message(_) => return Answer::NotForNat,
            _ => {}
        }
        if let Some(at) = self.session(protocol, external, remote) {
            self.seen(at, &packet.body, false);
            return to(packet, self.mappings[at.0].inside);
        }
        if let Some(inside) = self.forward_of_external(protocol, external) {
            return to(packet, inside);
        }
        if let Some(index) = self.admitted(protocol, external, remote) {
            if protocol != TCP && self.config.refresh == Refresh::Both {
                self.restart((index, self.mappings[index].sessions.len() - 1));
            }
            return to(packet, self.mappings[index].inside);
        }
        if is_hairpin {
            return Answer::Drop;
        }
        let is_syn = matches!(packet.body, Body::Tcp(flags) if flags & 23 == SYN);
        let waits = |held: &(Time, End, End, Packet)| (held.1, held.2) == (external, remote);
        if self.config.unsolicited == Unsolicited::Hold
            && is_syn
            && self.held.len() < 256
            && !self.held.iter().any(waits)
        {
            let until = self.now + Time::from_secs(6);
            self.held.push((until, external, remote, packet.clone()));
        }
        if self.config.unsolicited == Unsolicited::Local
            && self.config.unsolicited_occupies
            && protocol == UDP
        {
            let until = self.now + self.config.udp_unreplied.unwrap_or(self.config.udp);
            self.strangers
                .retain(|known| (known.0, known.1) != (external, remote));
            self.strangers.push((external, remote, until));
        }
        self.refused()
    }

    fn error_in(&self, packet: &Packet, quoted: &Packet) -> Answer {
        let (protocol, external, remote) = (quoted.protocol(), quoted.source, quoted.destination);
        let is_reply = matches!(quoted.body, Body::Query(kind) if !is_request(kind));
        let session = self.session(protocol, external, remote);
        let inside = session.map(|at| self.mappings[at.0].inside);
        let inside = inside.or_else(|| self.forward_of_external(protocol, external));
        match inside {
            Some(inside) if !is_reply && packet.destination.0 == external.0 => {
                let quoted = Packet {
                    source: inside,
                    ..quoted.clone()
                };
                let destination = (inside.0, 0);
                error(
                    Packet {
                        destination,
                        ..packet.clone()
                    },
                    quoted,
                )
            }
            _ => self.refused(),
        }
    }

    fn error_out(&self, packet: &Packet, quoted: &Packet) -> Answer {
        let (protocol, remote, inside) = (quoted.protocol(), quoted.source, quoted.destination);
        let is_request = matches!(quoted.body, Body::Query(kind) if is_request(kind));
        let external = self.forward_of_inside(protocol, inside).or_else(|| {
            let index = self.mapping(protocol, inside, remote)?;
            let external = self.mappings[index].external;
            let own = self.session(protocol, external, remote).map(|at| at.0);
            let may = own.or_else(|| self.admitted(protocol, external, remote));
            (may == Some(index)).then_some(external)
        });
        match external {
            Some(external) if !is_request => {
                let quoted = Packet {
                    destination: external,
                    ..quoted.clone()
                };
                let source = (external.0, 0);
                error(
                    Packet {
                        source,
                        ..packet.clone()
                    },
                    quoted,
                )
            }
            _ => self.refused(),
        }
    }

    pub fn hairpin_is_refused(&self, packet: &Packet) -> Option<Answer> {
        match packet.body {
            Body::Query(_) | Body::Message(_) => Some(Answer::NotForNat),
            _ if !self.config.hairpin => Some(self.refused()),
            _ => None,
        }
    }

    /// Every endpoint at an external address that packets from the outside may try.
    pub fn targets(&self) -> Vec<(u8, End)> {
        let mappings = self.mappings.iter();
        let mut all: Vec<(u8, End)> = mappings.map(|m| (m.protocol, m.external)).collect();
        let forwards = self.config.forward.iter();
        all.extend(forwards.map(|forward| (number(forward), end(forward.external))));
        all.retain(|(_, external)| self.is_external(external.0));
        all
    }
}

impl Connection {
    /// Takes a packet into account; whether it restarts the timer.
    fn packet(&mut self, flags: u8, outbound: bool) -> bool {
        let [syn, ack, fin, rst] = [SYN, ACK, FIN, RST].map(|flag| flags & flag != 0);
        let closed = self.fin_out && self.fin_in;
        if (closed || self.reset) && outbound && syn && !ack && !fin && !rst {
            *self = Connection::default();
            return true;
        }
        if closed {
            return false;
        }
        if !self.open {
            let confirms = if self.opened_by_answer { ack } else { syn };
            self.open = confirms && !outbound && !rst;
            return self.open || (outbound && syn);
        }
        if rst {
            let again = self.reset;
            *self = Connection {
                open: true,
                reset: true,
                ..Connection::default()
            };
            return !again;
        }
        if self.reset {
            self.reset = false;
            return true;
        }
        match outbound {
            true => self.fin_out |= fin,
            false => self.fin_in |= fin,
        }
        true
    }
}

fn number(forward: &Forward) -> u8 {
    match forward.protocol {
        Transport::Tcp => TCP,
        Transport::Udp => UDP,
    }
}

fn end(socket: core::net::SocketAddrV4) -> End {
    (*socket.ip(), socket.port())
}

fn from(packet: &Packet, source: End) -> Answer {
    Answer::Packet(Box::new(Packet {
        source,
        ..packet.clone()
    }))
}

fn to(packet: &Packet, destination: End) -> Answer {
    Answer::Packet(Box::new(Packet {
        destination,
        ..packet.clone()
    }))
}

fn error(outer: Packet, quoted: Packet) -> Answer {
    let Body::Error(kind, _, length) = outer.body else {
        unreachable!("an error stays one");
    };
    let body = Body::Error(kind, Box::new(quoted), length);
    Answer::Packet(Box::new(Packet { body, ..outer }))
}
