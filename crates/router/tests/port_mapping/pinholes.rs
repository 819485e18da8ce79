//! PCP for pinholes in the firewall: port 0 is the inside with fd00:0::/64, port 2 with fd00:2::/64 the outside.

use super::nat64::{ask, frame, host, pcp};
use super::{NONCE, option, result};
use crate::hand::*;
use core::net::Ipv6Addr;
use ip::header;
use node::{Frame, Node, Time};
use router::port_mapping::Config as ServerConfig;
use router::router::{Config, Router};

const RULES: &str = "table inet home {
    chain forward {
        type filter hook forward priority filter; policy drop;
        ct state established,related accept
        iif 0 accept
    }
}
";

fn hand(rules: &str, change: impl FnOnce(&mut ServerConfig)) -> Hand {
    let mut config = config(3, &[]);
    config.port[2].outside = true;
    let mut server = ServerConfig::default();
    change(&mut server);
    let mut hand = Hand::new(Config {
        firewall: Some(rules.into()),
        port_mapping: Some(server),
        ..config
    });
    for port in [0, 2] {
        hand.learn(port, 2);
        hand.learn(port, 9);
    }
    hand
}

/// The part of MAP for UDP, with the wish for an external address.
fn map(nonce: [u8; 12], port: u16, wish: (u16, Ipv6Addr)) -> Vec<u8> {
    let mut bytes = nonce.to_vec();
    bytes.extend([17, 0, 0, 0]);
    bytes.extend(port.to_be_bytes());
    bytes.extend(wish.0.to_be_bytes());
    bytes.extend(wish.1.octets());
    bytes
}

const ANY: (u16, Ipv6Addr) = (0, Ipv6Addr::UNSPECIFIED);

/// Whether a datagram between host `outside` of port 2 and host 2 of port 0 passes, inwards or outwards.
fn passes(hand: &mut Hand, outside: u8, ports: [u16; 2], inwards: bool) -> bool {
    let (from, to) = match inwards {
        true => ((2, outside), (0, 2)),
        false => ((0, 2), (2, outside)),
    };
    let [source, destination] = [from, to].map(|(port, host)| format!("fd00:{port}::{host}"));
    let mut frame = Frame::new(&udp(from.0, from.1, &destination, 8, |_| {}));
    let ends = match inwards {
        true => ports,
        false => [ports[1], ports[0]],
    };
    let (source, destination) = (address(&source), address(&destination));
    header::write_udp(&mut frame, (source, ends[0]), (destination, ends[1]));
    let sent = hand.send(from.0, &frame);
    sent.iter().any(|(port, _)| *port == to.0)
}

#[test]
fn a_pinhole_lets_connections_in_until_its_time_is_over() {
    let mut hand = hand(RULES, |_| {});
    assert!(!passes(&mut hand, 9, [7, 4_000], true));
    let answer = ask(&mut hand, &pcp(host(2), 1, 600, &[&map(NONCE, 4_000, ANY)]));
    assert_eq!(result(&answer), (0, 600, 4_000));
    assert_eq!(answer[44..60], host(2).octets(), "the host's own address");
    assert!(passes(&mut hand, 9, [7, 4_000], true));
    assert!(
        passes(&mut hand, 9, [7, 4_000], true),
        "again before an answer"
    );
    assert!(!passes(&mut hand, 9, [7, 4_001], true));
    let tables = hand.router.tables(hand.now);
    let lines = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
    assert_eq!(lines("pinholes").entries, ["udp [fd00::2]:4000 any 600 s"]);
    // The connection outlives the pinhole, and a new one does not pass.
    assert!(passes(&mut hand, 9, [7, 4_000], false));
    hand.now = Time::from_secs(601);
    assert!(!passes(&mut hand, 9, [8, 4_000], true));
    assert_eq!(hand.counter("pinholes_granted"), 1);
}

#[test]
fn the_rules_decide_whether_pinholes_count() {
    let mut hand = hand(&RULES.replace("established,related", "established"), |_| {});
    let answer = ask(&mut hand, &pcp(host(2), 1, 600, &[&map(NONCE, 4_000, ANY)]));
    assert_eq!(result(&answer).0, 0);
    assert!(!passes(&mut hand, 9, [7, 4_000], true));
}

#[test]
fn filters_and_peers_narrow_a_pinhole() {
    let mut hand = hand(RULES, |_| {});
    let filter = |length: u8, port: u16| {
        let mut data = vec![0, length];
        data.extend(port.to_be_bytes());
        data.extend(Ipv6Addr::new(0xFD00, 2, 0, 0, 0, 0, 0, 9).octets());
        option(3, &data)
    };
    let part = map(NONCE, 4_000, ANY);
    let answer = ask(&mut hand, &pcp(host(2), 1, 600, &[&part, &filter(128, 7)]));
    assert_eq!(result(&answer).0, 0);
    assert!(passes(&mut hand, 9, [7, 4_000], true));
    assert!(!passes(&mut hand, 9, [8, 4_000], true) && !passes(&mut hand, 2, [7, 4_000], true));
    let answer = ask(&mut hand, &pcp(host(2), 1, 600, &[&part, &filter(64, 0)]));
    assert_eq!(result(&answer).0, 0);
    assert!(passes(&mut hand, 2, [9, 4_000], true));
    assert_eq!(
        result(&ask(
            &mut hand,
            &pcp(host(2), 1, 600, &[&part, &filter(129, 0)])
        ))
        .0,
        6
    );
    let many: Vec<u8> = (0..9).flat_map(|port| filter(128, 100 + port)).collect();
    assert_eq!(
        result(&ask(&mut hand, &pcp(host(2), 1, 600, &[&part, &many]))).0,
        13
    );
    let mut peer = map(NONCE, 5_000, ANY);
    peer.extend([0, 11, 0, 0]);
    peer.extend(Ipv6Addr::new(0xFD00, 2, 0, 0, 0, 0, 0, 9).octets());
    assert_eq!(
        result(&ask(&mut hand, &pcp(host(2), 2, 600, &[&peer]))),
        (0, 600, 5_000)
    );
    assert!(passes(&mut hand, 9, [11, 5_000], true));
    assert!(!passes(&mut hand, 9, [12, 5_000], true) && !passes(&mut hand, 2, [11, 5_000], true));
}

#[test]
fn what_a_host_may_not_ask_is_refused_with_its_code() {
    let mut own = hand(RULES, |server| server.per_host = 2);
    let part = map(NONCE, 4_000, ANY);
    assert_eq!(result(&ask(&mut own, &pcp(host(2), 1, 600, &[&part]))).0, 0);
    let third = option(1, &host(9).octets());
    let exact = option(2, &[]);
    for (request, code) in [
        (
            pcp(host(2), 1, 600, &[&map(*b"another host", 4_000, ANY)]),
            2,
        ),
        (pcp(host(2), 1, 0, &[&map(*b"another host", 4_000, ANY)]), 2),
        (pcp(host(3), 1, 600, &[&part]), 12),
        (pcp(host(2), 1, 600, &[&part, &third]), 5),
        (
            pcp(
                host(2),
                1,
                600,
                &[&map(NONCE, 4_002, (4_002, host(3))), &exact],
            ),
            11,
        ),
        (
            pcp(
                host(2),
                1,
                600,
                &[&map(NONCE, 4_002, (4_003, host(2))), &exact],
            ),
            11,
        ),
        (pcp(host(2), 1, 600, &[&map(NONCE, 4_002, ANY), &exact]), 6),
        (
            pcp(
                host(2),
                1,
                600,
                &[&map(NONCE, 4_002, (4_002, host(2))), &exact],
            ),
            0,
        ),
        (pcp(host(2), 1, 600, &[&map(NONCE, 4_005, ANY)]), 10),
        (pcp(host(2), 1, 0, &[&part]), 0),
        (pcp(host(2), 1, 600, &[&map(NONCE, 4_005, ANY)]), 0),
    ] {
        assert_eq!(result(&ask(&mut own, &request)).0, code, "{request:?}");
    }
    // With THIRD_PARTY allowed it is no pinhole's.
    let mut other = hand(RULES, |server| server.third_party = true);
    assert_eq!(
        result(&ask(&mut other, &pcp(host(2), 1, 600, &[&part, &third]))).0,
        2
    );
    // The outside gets no answers.
    let outside = pcp(Ipv6Addr::new(0xFD00, 2, 0, 0, 0, 0, 0, 2), 1, 600, &[&part]);
    assert!(other.send(2, &frame(2, &outside)).is_empty());
}

#[test]
fn a_host_that_forges_addresses_costs_no_more_than_the_limits() {
    let config = ServerConfig {
        mappings: 50,
        ..ServerConfig::default()
    };
    let mut pinholes = config.pinholes().unwrap();
    let mut granted = 0;
    for number in 0..1_000 {
        let client = Ipv6Addr::new(0xFD00, 0, 0, 0, 1, 0, 0, number);
        let mut answer = Vec::new();
        let request = pcp(client, 1, 100_000, &[&map(NONCE, 4_000, ANY)]);
        assert!(pinholes.datagram(Time::ZERO, client, &request, &mut answer));
        assert!(answer.len() <= request.len());
        granted += u32::from(answer[3] == 0);
    }
    assert_eq!((granted, pinholes.len()), (50, 50));
    // Their places come back with the time.
    let client = host(2);
    let mut answer = Vec::new();
    let request = pcp(client, 1, 600, &[&map(NONCE, 4_000, ANY)]);
    assert!(pinholes.datagram(Time::from_secs(86_401), client, &request, &mut answer));
    assert_eq!((answer[3], pinholes.len()), (0, 1));
}

#[test]
fn port_mappings_need_something_to_map_at() {
    let refused = Router::new(Config {
        port_mapping: Some(ServerConfig::default()),
        ..config(2, &[])
    });
    assert!(refused.unwrap_err().to_string().contains("firewall"));
}
