//! PCP over IPv6 for hosts behind a NAT64: port 0 is the inside with fd00:0::/64, port 2 with 10.0.2.1 the outside.

use super::{NONCE, mapped, option, reaches, result};
use crate::hand::*;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};
use ip::header;
use node::random::Random;
use node::{Frame, Node, Time};
use router::nat::{self, Nat};
use router::nat64::{self, Nat64};
use router::port_mapping::{Config as ServerConfig, Server};
use router::router::Config;

/// The part of MAP: protocol, a port inside, a wish.
fn map(protocol: u8, port: u16, wish: (u16, [u8; 4])) -> Vec<u8> {
    let mut bytes = NONCE.to_vec();
    bytes.extend([protocol, 0, 0, 0]);
    bytes.extend(port.to_be_bytes());
    bytes.extend(wish.0.to_be_bytes());
    bytes.extend(mapped(wish.1));
    bytes
}

/// A request with its client's address.
pub fn pcp(client: Ipv6Addr, opcode: u8, seconds: u32, rest: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![2, opcode, 0, 0];
    bytes.extend(seconds.to_be_bytes());
    bytes.extend(client.octets());
    rest.iter().for_each(|part| bytes.extend(*part));
    bytes
}

pub fn host(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, number)
}

/// An address as hosts inside see it.
fn embedded(address: [u8; 4]) -> Ipv6Addr {
    let [a, b] = [[address[0], address[1]], [address[2], address[3]]].map(u16::from_be_bytes);
    Ipv6Addr::new(0x64, 0xFF9B, 0, 0, 0, 0, a, b)
}

/// The option PREFIX64 of a request (RFC 7225 section 4.2).
fn asks_prefix() -> Vec<u8> {
    let mut data = vec![0, 12];
    data.extend([0; 12]);
    data.extend([0, 0]);
    option(129, &data)
}

fn hand(prefix: &str, third_party: bool) -> Hand {
    let mut config = config(3, &["default via 10.0.2.9"]);
    config.port[2].outside = true;
    let mut hand = Hand::new(Config {
        nat64: Some(nat64::Config {
            prefix: prefix.parse().unwrap(),
            ..nat64::Config::default()
        }),
        port_mapping: Some(ServerConfig {
            third_party,
            ..ServerConfig::default()
        }),
        ..config
    });
    for port in [0, 1, 2] {
        hand.learn(port, 2);
        hand.learn(port, 9);
    }
    hand
}

/// A request that host 2 of a port sends to the router's address on it, in a frame.
pub fn frame(port: u16, payload: &[u8]) -> Vec<u8> {
    let own = format!("fd00:{port}::1");
    let mut frame = Frame::new(&udp(port, 2, &own, payload.len(), |_| {}));
    frame[62..].copy_from_slice(payload);
    let from = address(&format!("fd00:{port}::2"));
    header::write_udp(&mut frame, (from, 6_000), (address(&own), 5_351));
    frame.to_vec()
}

pub fn ask(hand: &mut Hand, payload: &[u8]) -> Vec<u8> {
    let sent = hand.send(0, &frame(0, payload));
    let [(0, frame)] = &sent[..] else {
        panic!("{} frames", sent.len());
    };
    let packet = header::read(frame).expect("a packet");
    assert!(header::is_valid(frame, &packet));
    assert_eq!(packet.destination, IpAddr::V6(host(2)));
    frame[62..packet.end].to_vec()
}

#[test]
fn a_host_behind_the_nat64_gets_a_mapping_and_the_prefix() {
    let mut hand = hand("2001:db8:64::/96", false);
    let request = pcp(
        host(2),
        1,
        600,
        &[&map(17, 4_000, (40_000, [0; 4])), &asks_prefix()],
    );
    let answer = ask(&mut hand, &request);
    assert_eq!(result(&answer), (0, 600, 40_000));
    assert_eq!(answer[44..60], mapped([10, 0, 2, 1]));
    let mut option = vec![129, 0, 0, 16, 0, 12];
    option.extend(&address_octets("2001:db8:64::")[..12]);
    option.extend([0, 0]);
    assert_eq!(answer[60..], option);
    assert_eq!(answer.len(), request.len());
    assert_eq!(reaches(&mut hand, 7, 40_000), Some(4_000));
    assert_eq!(reaches(&mut hand, 7, 40_001), None);
    let tables = hand.router.tables(hand.now);
    let lines = |name: &str| {
        let table = tables.iter().find(|table| table.name == name);
        table.expect("a table").entries.clone()
    };
    assert_eq!(
        lines("nat64 port mappings"),
        ["udp [fd00::2]:4000 any pcp 600 s"]
    );
    assert_eq!(lines("nat64").len(), 1);
    // Announcements tell the prefix, too.
    let answer = ask(&mut hand, &pcp(host(2), 0, 0, &[&asks_prefix()]));
    assert_eq!((answer[3], answer.len()), (0, 44));
    hand.now = Time::from_secs(601);
    assert_eq!(reaches(&mut hand, 7, 40_000), None);
    assert_eq!(hand.counter("nat64_port_mapping_granted"), 1);
}

fn address_octets(text: &str) -> [u8; 16] {
    text.parse::<Ipv6Addr>().unwrap().octets()
}

#[test]
fn a_shorter_prefix_has_a_suffix() {
    let mut hand = hand("2001:db8:122:300::/56", false);
    let answer = ask(&mut hand, &pcp(host(2), 0, 0, &[&asks_prefix()]));
    let mut expected = vec![129, 0, 0, 16, 0, 7];
    expected.extend(&address_octets("2001:db8:122:300::")[..12]);
    expected.extend([0, 0]);
    assert_eq!(answer[24..], expected);
}

#[test]
fn what_a_host_may_not_ask_is_refused_with_its_code() {
    let part = map(17, 4_000, (40_000, [0; 4]));
    let mut refusing = hand("64:ff9b::/96", false);
    let third = option(1, &host(9).octets());
    for (request, code) in [
        (pcp(host(3), 1, 600, &[&part]), 12),
        (pcp(host(2), 1, 600, &[&part, &third]), 5),
        (pcp(host(2), 1, 600, &[&part, &option(129, &[0; 4])]), 6),
        (
            pcp(host(2), 1, 600, &[&part, &asks_prefix(), &asks_prefix()]),
            6,
        ),
        (pcp(host(2), 7, 600, &[&part]), 4),
        (pcp(host(2), 1, 600, &[&part[..8]]), 3),
        (pcp(host(2), 1, 600, &[&map(132, 4_000, (0, [0; 4]))]), 9),
        (pcp(host(2), 1, 600, &[&map(17, 0, (0, [0; 4]))]), 9),
    ] {
        assert_eq!(result(&ask(&mut refusing, &request)).0, code, "{request:?}");
    }
    let mut allowing = hand("64:ff9b::/96", true);
    let answer = ask(&mut allowing, &pcp(host(2), 1, 600, &[&part, &third]));
    assert_eq!(result(&answer).0, 2, "no hosts behind a NAT64 by name");
    // NAT-PMP has no IPv6, and the outside gets no answers.
    assert!(refusing.send(0, &frame(0, &[0, 0])).is_empty());
    let outside = pcp(address("fd00:2::2").to_string().parse().unwrap(), 0, 0, &[]);
    assert!(refusing.send(2, &frame(2, &outside)).is_empty());
}

#[test]
fn filters_and_peers_are_those_that_the_host_sees() {
    let mut hand = hand("2001:db8:64::/96", false);
    let seen = "2001:db8:64::10.0.2.9".parse::<Ipv6Addr>().unwrap();
    let filter = |length: u8, port: u16| {
        let mut data = vec![0, length];
        data.extend(port.to_be_bytes());
        data.extend(seen.octets());
        option(3, &data)
    };
    let part = map(17, 4_000, (40_000, [0; 4]));
    let answer = ask(&mut hand, &pcp(host(2), 1, 600, &[&part, &filter(128, 7)]));
    assert_eq!(result(&answer), (0, 600, 40_000));
    assert_eq!(reaches(&mut hand, 7, 40_000), Some(4_000));
    assert_eq!(reaches(&mut hand, 8, 40_000), None);
    // A prefix of the IPv4 address, and one that is too short for the NAT64's.
    let answer = ask(&mut hand, &pcp(host(2), 1, 600, &[&part, &filter(120, 0)]));
    assert_eq!(result(&answer).0, 0);
    assert_eq!(reaches(&mut hand, 8, 40_000), Some(4_000));
    let answer = ask(&mut hand, &pcp(host(2), 1, 600, &[&part, &filter(95, 0)]));
    assert_eq!(result(&answer).0, 6);
    let mut peer = map(17, 5_000, (41_000, [0; 4]));
    peer.extend([0, 9, 0, 0]);
    peer.extend(seen.octets());
    let answer = ask(&mut hand, &pcp(host(2), 2, 600, &[&peer]));
    let (code, lifetime, external) = result(&answer);
    assert_eq!((code, lifetime), (0, 600));
    assert_eq!(reaches(&mut hand, 9, external), Some(5_000));
    hand.now = Time::from_secs(590);
    assert_eq!(reaches(&mut hand, 9, external), Some(5_000), "kept");
}

/// The same random requests to a NAT of IPv4 and to a NAT64: the same results, ports and lifetimes.
#[test]
fn a_nat64_grants_what_a_nat_of_ipv4_grants() {
    let external = vec!["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()];
    for seed in 0..40 {
        let nat = nat::Config {
            external: external.clone(),
            ..nat::Config::default()
        };
        let server = ServerConfig {
            per_host: 5,
            mappings: 12,
            ..ServerConfig::default()
        };
        let mut servers = [0, 1].map(|_| Server::new(server.clone(), seed).unwrap());
        let config = nat64::Config {
            nat: nat.clone(),
            ..nat64::Config::default()
        };
        let mut nat64 = Nat64::new(config, seed).unwrap();
        let mut nat = Nat::new(nat, seed).unwrap();
        let mut random = Random::new(seed);
        let (mut now, mut granted) = (Time::ZERO, 0);
        for _ in 0..300 {
            now += Time::from_secs(random.below(60));
            let number = 2 + random.below(4) as u8;
            let opcode = [0, 1, 1, 1, 2][random.index(5)];
            let seconds = [0, 60, 300, 4_000, 1_000_000][random.index(5)];
            let port = 4_000 + random.below(6) as u16;
            let wish = (
                40_000 + random.below(4) as u16,
                [192, 0, 2, random.below(4) as u8],
            );
            let remote = [198, 51, 100, random.below(3) as u8];
            let part = map([6, 17, 17, 132][random.index(4)], port, wish);
            let (filters, exact) = (random.below(3), random.chance(0.2));
            let filter_length = 100 + random.below(29) as u8;
            let body = |remote: [u8; 16]| {
                let mut body = part.clone();
                match opcode {
                    0 => body.clear(),
                    2 => {
                        body.extend([0, 9, 0, 0]);
                        body.extend(remote);
                    }
                    _ => {
                        for _ in 0..filters {
                            let mut data = vec![0, filter_length, 0, 80];
                            data.extend(remote);
                            body.extend(option(3, &data));
                        }
                        if exact {
                            body.extend(option(2, &[]));
                        }
                    }
                }
                body
            };
            let v4 = Ipv4Addr::new(10, 0, 0, number);
            let requests = [
                pcp(
                    v4.to_ipv6_mapped(),
                    opcode,
                    seconds,
                    &[&body(mapped(remote))],
                ),
                pcp(
                    host(number.into()),
                    opcode,
                    seconds,
                    &[&body(embedded(remote).octets())],
                ),
            ];
            let mut answers = [Vec::new(), Vec::new()];
            let client = SocketAddrV4::new(v4, 6_000);
            assert!(servers[0].datagram(now, &mut nat, client, &requests[0], &mut answers[0]));
            let client = host(number.into());
            assert!(servers[1].datagram_v6(now, &mut nat64, client, &requests[1], &mut answers[1]));
            assert_eq!(result(&answers[0]), result(&answers[1]), "seed {seed}");
            assert!(answers[1].len() <= requests[1].len().max(24));
            granted += u32::from(opcode != 0 && answers[0][3] == 0);
            if answers[0][3] == 0 && opcode != 0 {
                assert_eq!(answers[0][44..60], answers[1][44..60], "external address");
            }
        }
        assert!(granted > 40, "{granted}");
        assert_eq!(servers[0].len(), servers[1].len());
    }
}

#[test]
fn a_host_that_forges_addresses_costs_no_more_than_the_limits() {
    let mut server = Server::new(
        ServerConfig {
            mappings: 50,
            ..ServerConfig::default()
        },
        1,
    )
    .unwrap();
    let mut nat64 = Nat64::new(
        nat64::Config {
            nat: nat::Config {
                external: vec!["192.0.2.1".parse().unwrap()],
                ..nat::Config::default()
            },
            hosts: 60,
            ..nat64::Config::default()
        },
        1,
    )
    .unwrap();
    let mut codes = [0_u32; 16];
    for number in 0..1_000 {
        let client = Ipv6Addr::new(0xFD00, 0, 0, 0, 1, 0, 0, number);
        let request = pcp(client, 1, 100_000, &[&map(17, 4_000, (0, [0; 4]))]);
        let mut answer = Vec::new();
        assert!(server.datagram_v6(Time::ZERO, &mut nat64, client, &request, &mut answer));
        codes[usize::from(answer[3])] += 1;
    }
    let [_, _, hosts_with_sessions, numbers] = nat64.sizes();
    assert!(
        numbers <= 60 && hosts_with_sessions <= 50,
        "{:?}",
        nat64.sizes()
    );
    assert_eq!((codes[0], server.len()), (50, 50));
    assert_eq!(codes[0] + codes[8] + codes[10], 1_000, "{codes:?}");
}
