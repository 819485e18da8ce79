//! Questions of RFC 5780 (section 4), with which a host finds out what kind of NAT is on its path:
//! each of the nine pairs of kinds answers as it is configured.

use super::packets::*;
use core::net::Ipv4Addr;
use node::Time;
use router::nat::config::*;
use router::nat::{Config, Nat, Verdict};

const CLIENT: End = (Ipv4Addr::new(10, 0, 0, 2), 5_004);
/// The server's two addresses and two ports.
const PRIMARY: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const ALTERNATE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 8);
const PORTS: [u16; 2] = [3_478, 3_479];

const BEHAVIOURS: [Behaviour; 3] = [
    Behaviour::EndpointIndependent,
    Behaviour::AddressDependent,
    Behaviour::AddressAndPortDependent,
];

/// A client and a server, and the NAT between them.
struct Path {
    nat: Nat,
    now: Time,
    is_tcp: bool,
}

impl Path {
    fn new(config: Config, is_tcp: bool) -> Path {
        let config = Config {
            external: vec![Ipv4Addr::new(192, 0, 2, 1).into()],
            ..config
        };
        Path {
            nat: Nat::new(config, 3).unwrap(),
            now: Time::ZERO,
            is_tcp,
        }
    }

    fn packet(&self, source: End, destination: End) -> Packet {
        match self.is_tcp {
            true => Packet::tcp(source, destination, SYN),
            false => Packet::udp(source, destination),
        }
    }

    /// A binding request: the client's endpoint as the server sees it.
    fn mapped(&mut self, client: End, server: End) -> End {
        let mut frame = self.packet(client, server).frame();
        assert_eq!(self.nat.outbound(self.now, &mut frame), Verdict::Translated);
        ends(&frame).0
    }

    /// Whether a packet from one of the server's endpoints reaches the client.
    fn reaches(&mut self, from: End, mapped: End, client: End) -> bool {
        let mut frame = self.packet(from, mapped).frame();
        match self.nat.inbound(self.now, &mut frame) {
            Verdict::Translated => {
                assert_eq!(ends(&frame), (from, client));
                true
            }
            Verdict::Drop(_) => false,
            other => panic!("{other:?}"),
        }
    }
}

/// Tests I to III of section 4.3.
fn mapping_of(path: &mut Path) -> Behaviour {
    let first = path.mapped(CLIENT, (PRIMARY, PORTS[0]));
    let second = path.mapped(CLIENT, (ALTERNATE, PORTS[0]));
    if first == second {
        return Behaviour::EndpointIndependent;
    }
    match path.mapped(CLIENT, (ALTERNATE, PORTS[1])) == second {
        true => Behaviour::AddressDependent,
        false => Behaviour::AddressAndPortDependent,
    }
}

/// Tests I to III of section 4.4.
fn filtering_of(path: &mut Path) -> Behaviour {
    let client = (CLIENT.0, 6_000);
    let mapped = path.mapped(client, (PRIMARY, PORTS[0]));
    assert!(path.reaches((PRIMARY, PORTS[0]), mapped, client));
    if path.reaches((ALTERNATE, PORTS[1]), mapped, client) {
        return Behaviour::EndpointIndependent;
    }
    match path.reaches((PRIMARY, PORTS[1]), mapped, client) {
        true => Behaviour::AddressDependent,
        false => Behaviour::AddressAndPortDependent,
    }
}

/// Section 4.5: whether a packet to the client's own mapped endpoint comes back, from its external
/// source.
fn hairpins(path: &mut Path) -> bool {
    let (client, other) = ((CLIENT.0, 7_000), (CLIENT.0, 7_001));
    let mapped = path.mapped(client, (PRIMARY, PORTS[0]));
    // Filtering applies here, too: both endpoints send.
    let own = path.mapped(other, (PRIMARY, PORTS[0]));
    let mut open = path.packet(client, own).frame();
    path.nat.hairpin(path.now, &mut open);
    let mut frame = path.packet(other, mapped).frame();
    match path.nat.hairpin(path.now, &mut frame) {
        Verdict::Translated => {
            let (source, destination) = ends(&frame);
            assert_eq!((source.0, destination), (mapped.0, client), "REQ-9a");
            true
        }
        _ => false,
    }
}

/// Section 4.6: the lifetime of a mapping, in seconds, by a search over packets that come after a
/// pause.
fn lifetime_of(path: &mut Path) -> u64 {
    let server = (PRIMARY, PORTS[0]);
    let (mut short, mut long) = (0, 20_000);
    while long - short > 1 {
        let pause = (short + long) / 2;
        let client = (CLIENT.0, 8_000);
        let mapped = path.mapped(client, server);
        path.now += Time::from_secs(pause);
        match path.reaches(server, mapped, client) {
            true => short = pause,
            false => long = pause,
        }
        path.now += Time::from_secs(20_000);
    }
    long
}

#[test]
fn each_pair_of_kinds_answers_as_it_is_configured() {
    for (mapping, filtering) in BEHAVIOURS.iter().flat_map(|&a| BEHAVIOURS.map(|b| (a, b))) {
        for (is_tcp, hairpin) in [(false, false), (false, true), (true, false), (true, true)] {
            let config = Config {
                mapping,
                filtering,
                hairpin,
                ..Config::default()
            };
            let mut path = Path::new(config, is_tcp);
            assert_eq!(mapping_of(&mut path), mapping);
            assert_eq!(filtering_of(&mut path), filtering);
            // An endpoint with one mapping for each remote endpoint cannot be reached at another's.
            let can = hairpin
                && (mapping == Behaviour::EndpointIndependent
                    || filtering == Behaviour::EndpointIndependent);
            assert_eq!(
                hairpins(&mut path),
                can,
                "{mapping:?} {filtering:?} {is_tcp}"
            );
            let lifetime = if is_tcp { 240 } else { 300 };
            assert_eq!(lifetime_of(&mut path), lifetime);
        }
    }
}

#[test]
fn ports_are_preserved_where_they_are_free() {
    for ports in [Ports::Preserve, Ports::Sequential, Ports::Random] {
        let config = Config {
            ports,
            ..Config::default()
        };
        let mut path = Path::new(config, false);
        let server = (PRIMARY, PORTS[0]);
        let clients = (0..200).map(|host| (Ipv4Addr::new(10, 0, 1, host), 5_004 + u16::from(host)));
        let kept = clients.map(|client| path.mapped(client, server).1 == client.1);
        let kept = kept.filter(|&kept| kept).count();
        match ports {
            Ports::Preserve => assert_eq!(kept, 200),
            _ => assert!(kept < 4, "{kept}"),
        }
        // A second host with the same port gets another, of the same parity and range.
        for port in [5_004, 5_005, 80, 81] {
            let own = path
                .mapped(((PRIMARY.to_bits() + 1).into(), port), server)
                .1;
            let others = path
                .mapped(((PRIMARY.to_bits() + 2).into(), port), server)
                .1;
            assert!(own != others && own % 2 == port % 2 && others % 2 == port % 2);
            assert_eq!([own < 1_024, others < 1_024], [port < 1_024; 2], "REQ-3a");
        }
    }
}

#[test]
fn the_port_after_an_even_one_is_that_of_the_next() {
    let config = Config {
        contiguity: true,
        ..Config::default()
    };
    let mut path = Path::new(config, false);
    for port in (6_000..6_400).step_by(2) {
        let rtp = path.mapped((CLIENT.0, port), (PRIMARY, 1)).1;
        let rtcp = path.mapped((CLIENT.0, port + 1), (PRIMARY, 2)).1;
        assert_eq!((rtp % 2, rtcp), (0, rtp + 1));
    }
}

#[test]
fn inbound_packets_keep_a_mapping_only_with_refresh_both() {
    for (refresh, lives) in [(Refresh::Outbound, false), (Refresh::Both, true)] {
        let filtering = Behaviour::EndpointIndependent;
        let config = Config {
            refresh,
            filtering,
            ..Config::default()
        };
        let mut path = Path::new(config, false);
        let mapped = path.mapped(CLIENT, (PRIMARY, PORTS[0]));
        for (minute, from) in (1..=10).flat_map(|n| [(n, PRIMARY), (n, ALTERNATE)]) {
            path.now = Time::from_secs(60 * minute);
            let reaches = path.reaches((from, PORTS[1]), mapped, CLIENT);
            assert_eq!(reaches, lives || minute < 5);
        }
    }
}

#[test]
fn linux_looks_endpoint_independent_until_two_hosts_have_one_port() {
    let mut path = Path::new(Config::linux(), false);
    assert_eq!(mapping_of(&mut path), Behaviour::EndpointIndependent);
    let filter = |path: &mut Path, from| {
        let mut frame = Packet::udp(from, (Ipv4Addr::new(192, 0, 2, 1), CLIENT.1)).frame();
        path.nat.inbound(path.now, &mut frame)
    };
    assert_eq!(filter(&mut path, (PRIMARY, PORTS[1])), Verdict::NotForNat);
    assert_eq!(filter(&mut path, (PRIMARY, PORTS[0])), Verdict::Translated);
    let second = (Ipv4Addr::new(10, 0, 0, 3), CLIENT.1);
    // The same external endpoint serves both hosts as long as their remote endpoints differ.
    assert_eq!(path.mapped(second, (PRIMARY, 53)).1, CLIENT.1);
    assert_ne!(path.mapped(second, (PRIMARY, PORTS[0])).1, CLIENT.1);
}
