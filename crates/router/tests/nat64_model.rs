//! Random flows through a NAT64 and through a model of RFC 6146, written from its text: a list of BIB entries with their sessions, which is
//! searched from its beginning. The keys vary: prefix, mapping, filtering, refresh, limits.
//!
//! Of choices that the RFC leaves, an external port, the model takes the one that was made and judges it. It differs from section 3.5 in
//! what `nat64` says: a packet from outside makes no session.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ip::header;
use node::random::Random;
use node::{Frame, Time};
use packet::ipv4::protocol::{ICMP, ICMPV6, TCP, UDP};
use router::nat::{self, config::Behaviour, config::Refresh};
use router::nat64::{Config, Nat64, Verdict};
use router::siit::Prefix;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
const EXTERNAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const KINDS: [Behaviour; 3] = [
    Behaviour::EndpointIndependent,
    Behaviour::AddressDependent,
    Behaviour::AddressAndPortDependent,
];
const PREFIXES: [&str; 6] = [
    "64:ff9b::/96",
    "2001:db8::/32",
    "2001:db8:100::/40",
    "2001:db8:122::/48",
    "2001:db8:122:344::/64",
    "2001:db8:122:344::/96",
];

/// State of a TCP session (section 3.5.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tcp {
    V6Init,
    Established,
    V6Fin,
    V4Fin,
    BothFin,
    Trans,
}

#[derive(Clone, Debug)]
struct Session {
    remote: (Ipv4Addr, u16),
    expires: Time,
    tcp: Option<Tcp>,
}

#[derive(Clone, Debug)]
struct Bib {
    protocol: u8,
    host: (Ipv6Addr, u16),
    external: u16,
    first: (Ipv4Addr, u16),
    sessions: Vec<Session>,
}

fn same(behaviour: Behaviour, a: (Ipv4Addr, u16), b: (Ipv4Addr, u16)) -> bool {
    match behaviour {
        Behaviour::EndpointIndependent => true,
        Behaviour::AddressDependent => a.0 == b.0,
        Behaviour::AddressAndPortDependent => a == b,
    }
}

impl Session {
    fn lifetime(protocol: u8, tcp: Option<Tcp>) -> Time {
        Time::from_secs(match (protocol, tcp) {
            (TCP, Some(Tcp::Established | Tcp::V6Fin | Tcp::V4Fin)) => 7_440,
            (TCP, _) => 240,
            (UDP, _) => 300,
            _ => 60,
        })
    }

    /// Takes a packet of one side into account.
    fn take(&mut self, now: Time, protocol: u8, is_v6: bool, flags: u8, refreshes: bool) {
        let Some(state) = self.tcp else {
            if refreshes {
                self.expires = now + Session::lifetime(protocol, None);
            }
            return;
        };
        let (is_syn, is_fin, is_rst) = (flags & SYN != 0, flags & FIN != 0, flags & RST != 0);
        let plain_syn = flags == SYN;
        let (next, renews) = match (state, is_v6) {
            (Tcp::V6Init, true) => (Tcp::V6Init, plain_syn),
            (Tcp::V6Init, false) if is_syn && !is_rst => (Tcp::Established, true),
            (Tcp::V6Init, false) => (Tcp::V6Init, false),
            (Tcp::BothFin | Tcp::Trans, true) if plain_syn => (Tcp::V6Init, true),
            (Tcp::BothFin, _) => (Tcp::BothFin, false),
            (Tcp::Trans, _) if is_rst => (Tcp::Trans, false),
            (Tcp::Trans, _) => (Tcp::Established, true),
            (_, _) if is_rst => (Tcp::Trans, true),
            (Tcp::Established, true) if is_fin => (Tcp::V6Fin, true),
            (Tcp::Established, false) if is_fin => (Tcp::V4Fin, true),
            (Tcp::V6Fin, false) | (Tcp::V4Fin, true) if is_fin => (Tcp::BothFin, true),
            (state, _) => (state, true),
        };
        self.tcp = Some(next);
        if renews {
            self.expires = now + Session::lifetime(protocol, Some(next));
        }
    }
}

/// A transport header with data and a right checksum: ports, or the identifier of an echo.
fn frame(
    source: IpAddr,
    to: IpAddr,
    protocol: u8,
    ids: [u16; 2],
    flags: u8,
    random: &mut Random,
) -> Frame {
    let mut body: Vec<u8> = match protocol {
        TCP => vec![0; 20],
        _ => vec![0; 8],
    };
    body.extend((0..random.below(40)).map(|_| random.bits() as u8));
    let is_echo = matches!(protocol, ICMP | ICMPV6);
    match is_echo {
        true => {
            body[0] = match (protocol, flags) {
                (ICMP, 0) => 0,
                (ICMP, _) => 8,
                (_, 0) => 128,
                _ => 129,
            };
            body[4..6].copy_from_slice(&ids[0].max(ids[1]).to_be_bytes());
        }
        false => {
            body[..2].copy_from_slice(&ids[0].to_be_bytes());
            body[2..4].copy_from_slice(&ids[1].to_be_bytes());
        }
    }
    let at = match protocol {
        TCP => {
            (body[12], body[13]) = (0x50, flags);
            16
        }
        UDP => {
            let length = body.len() as u16;
            body[4..6].copy_from_slice(&length.to_be_bytes());
            6
        }
        _ => 2,
    };
    let sum = match protocol {
        ICMP => packet::checksum::checksum(&body),
        _ => header::pseudo(source, to, protocol)
            .sum(body.len())
            .plus(&body)
            .udp_checksum(),
    };
    body[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    let mut frame = Frame::new(&vec![0; 14 + header::length(source) + body.len()]);
    let start = frame.len() - body.len();
    frame[start..].copy_from_slice(&body);
    header::write(&mut frame, source, to, protocol);
    frame
}

/// Source, destination, and both ports or the identifier of a packet that was translated, whose checksums are right.
fn read(frame: &[u8]) -> (IpAddr, IpAddr, [u16; 2]) {
    let packet = header::read(frame).expect("a packet");
    assert!(header::is_valid(frame, &packet));
    let body = &frame[packet.payload..packet.end];
    let word = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    let ids = match packet.protocol {
        TCP | UDP => [word(0), word(2)],
        _ => [word(4), word(4)],
    };
    (packet.source, packet.destination, ids)
}

struct Model {
    bibs: Vec<Bib>,
    mapping: Behaviour,
    filtering: Behaviour,
    refresh: Refresh,
    sessions: usize,
    per_host: usize,
}

impl Model {
    fn expire(&mut self, now: Time) {
        for bib in &mut self.bibs {
            bib.sessions.retain(|session| session.expires > now);
        }
        self.bibs.retain(|bib| !bib.sessions.is_empty());
    }

    /// Judges a packet of an IPv6 host; `port` is the external port it got, if it was translated.
    fn out(
        &mut self,
        now: Time,
        protocol: u8,
        host: (Ipv6Addr, u16),
        remote: (Ipv4Addr, u16),
        flags: u8,
        port: Option<u16>,
    ) {
        let mapping = self.mapping;
        let total: usize = self.bibs.iter().map(|bib| bib.sessions.len()).sum();
        let own = self.bibs.iter().filter(|bib| bib.host.0 == host.0);
        let of_host: usize = own.map(|bib| bib.sessions.len()).sum();
        let is_full = total >= self.sessions || of_host >= self.per_host;
        let begins = protocol != TCP || flags == SYN || flags == SYN | ACK;
        let used: Vec<u16> = self
            .bibs
            .iter()
            .filter(|bib| bib.protocol == protocol)
            .map(|bib| bib.external)
            .collect();
        let is_it = |bib: &&mut Bib| {
            bib.protocol == protocol && bib.host == host && same(mapping, bib.first, remote)
        };
        let known = self.bibs.iter_mut().find(is_it);
        if let Some(bib) = known {
            if let Some(session) = bib
                .sessions
                .iter_mut()
                .find(|session| session.remote == remote)
            {
                session.take(now, protocol, true, flags, true);
                return assert_eq!(port, Some(bib.external));
            }
            if !begins || is_full {
                return assert_eq!(port, None);
            }
            bib.sessions.push(new(now, protocol, remote));
            return assert_eq!(port, Some(bib.external));
        }
        if !begins || is_full {
            return assert_eq!(port, None);
        }
        let port = port.expect("a new binding");
        assert!(!used.contains(&port), "an external port of two hosts");
        assert!(protocol == ICMPV6 || port >= 1_024);
        assert!(
            protocol != UDP || port % 2 == host.1 % 2,
            "parity (RFC 6146 section 3.5.1.1)"
        );
        self.bibs.push(Bib {
            protocol,
            host,
            external: port,
            first: remote,
            sessions: vec![new(now, protocol, remote)],
        });
    }

    /// The host that a packet from outside reaches.
    fn inward(
        &mut self,
        now: Time,
        protocol: u8,
        remote: (Ipv4Addr, u16),
        port: u16,
        flags: u8,
    ) -> Option<(Ipv6Addr, u16)> {
        let filtering = self.filtering;
        let both = self.refresh == Refresh::Both;
        let bib = self
            .bibs
            .iter_mut()
            .find(|bib| bib.protocol == protocol && bib.external == port)?;
        if let Some(session) = bib
            .sessions
            .iter_mut()
            .find(|session| session.remote == remote)
        {
            session.take(now, protocol, false, flags, both);
            return Some(bib.host);
        }
        let mut all = bib.sessions.iter();
        all.find(|session| same(filtering, session.remote, remote))?;
        let newest = bib.sessions.last_mut().filter(|_| both && protocol != TCP);
        if let Some(newest) = newest {
            newest.expires = now + Session::lifetime(protocol, None);
        }
        Some(bib.host)
    }
}

fn new(now: Time, protocol: u8, remote: (Ipv4Addr, u16)) -> Session {
    let tcp = (protocol == TCP).then_some(Tcp::V6Init);
    let expires = now + Session::lifetime(protocol, tcp);
    Session {
        remote,
        expires,
        tcp,
    }
}

#[test]
fn random_flows_have_the_bindings_sessions_and_filters_of_rfc_6146() {
    let mut translated = [0; 2];
    for seed in 0..54 {
        let mut random = Random::new(seed);
        let prefix: Prefix = PREFIXES[seed as usize % 6].parse().unwrap();
        let (sessions, per_host) = (8 + random.index(60), 4 + random.index(30));
        let refresh = [Refresh::Outbound, Refresh::Both][random.index(2)];
        let (mapping, filtering) = (KINDS[seed as usize % 3], KINDS[seed as usize / 3 % 3]);
        let mut nat64 = Nat64::new(
            Config {
                prefix,
                nat: nat::Config {
                    external: vec![EXTERNAL.into()],
                    mapping,
                    filtering,
                    refresh,
                    sessions,
                    sessions_per_host: per_host,
                    ..nat::Config::default()
                },
                ..Config::default()
            },
            seed,
        )
        .unwrap();
        let mut model = Model {
            bibs: Vec::new(),
            mapping,
            filtering,
            refresh,
            sessions,
            per_host,
        };
        let mut now = Time::ZERO;
        for _ in 0..3_000 {
            now += match random.below(40) {
                0 => Time::from_secs(random.below(400)),
                _ => Time::from_ms(random.below(2_000)),
            };
            model.expire(now);
            let number = [UDP, TCP, ICMPV6][random.index(3)];
            let remote = (
                Ipv4Addr::new(198, 51, 100, 1 + random.below(3) as u8),
                if number == ICMPV6 {
                    0
                } else {
                    2_000 + random.below(2) as u16
                },
            );
            let flags = match number {
                TCP => [SYN, SYN | ACK, ACK, FIN | ACK, RST][random.index(5)],
                _ => 0,
            };
            if random.below(2) == 0 {
                let host = Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 1 + random.below(4) as u16);
                let own = (host, 3_000 + random.below(3) as u16);
                let to = prefix.embed(remote.0).unwrap();
                // An answer to a SYN that filtering has let in begins another kind of session.
                let flags = if flags == SYN | ACK { ACK } else { flags };
                let mut packet = frame(
                    host.into(),
                    to.into(),
                    number,
                    [own.1, remote.1],
                    flags,
                    &mut random,
                );
                let verdict = nat64.outbound(now, &mut packet, false);
                let port = (verdict == Verdict::ToV4).then(|| {
                    let (source, destination, ids) = read(&packet);
                    assert_eq!((source, destination), (EXTERNAL.into(), remote.0.into()));
                    assert!(number == ICMPV6 || ids[1] == remote.1);
                    ids[0]
                });
                model.out(now, number, own, remote, flags, port);
                translated[0] += usize::from(port.is_some());
            } else {
                let known = model.bibs.get(random.index(model.bibs.len()));
                let port = known.map_or(5_000, |bib| bib.external);
                let protocol = if number == ICMPV6 { ICMP } else { number };
                let ids = [remote.1, port];
                let mut packet = frame(
                    remote.0.into(),
                    EXTERNAL.into(),
                    protocol,
                    ids,
                    flags,
                    &mut random,
                );
                let verdict = nat64.inbound(now, &mut packet);
                let expected = model.inward(now, number, remote, port, flags);
                let found = matches!(verdict, Verdict::ToV6 { .. }).then(|| {
                    let (source, destination, ids) = read(&packet);
                    assert_eq!(source, IpAddr::V6(prefix.embed(remote.0).unwrap()));
                    let IpAddr::V6(host) = destination else {
                        panic!("an IPv4 packet");
                    };
                    (host, ids[1])
                });
                assert_eq!(
                    found, expected,
                    "{verdict:?} {number} {remote:?} {port} {:?}",
                    model.bibs
                );
                translated[1] += usize::from(found.is_some());
            }
            let expected: usize = model.bibs.iter().map(|bib| bib.sessions.len()).sum();
            nat64.expire(now);
            let [mappings, sessions, ..] = nat64.sizes();
            assert_eq!((mappings, sessions), (model.bibs.len(), expected));
        }
    }
    assert!(
        translated[0] > 30_000 && translated[1] > 10_000,
        "{translated:?}"
    );
}
