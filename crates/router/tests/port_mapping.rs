//! PCP and NAT-PMP: ports 0 and 1 are the inside, port 2 with 10.0.2.1 the outside.

mod model;
mod nat64;
mod pinholes;

use crate::hand::*;
use core::net::{IpAddr, Ipv4Addr};
use ip::header;
use node::{Frame, Node, Time};
use router::nat::{self, config::Behaviour};
use router::port_mapping;
use router::router::{Config, Router};

const NONCE: [u8; 12] = *b"twelve bytes";

fn hand(change: impl FnOnce(&mut nat::Config, &mut port_mapping::Config)) -> Hand {
    let mut config = config(3, &["default via 10.0.2.9"]);
    config.port[2].outside = true;
    let (mut nat, mut server) = (nat::Config::default(), port_mapping::Config::default());
    change(&mut nat, &mut server);
    let mut hand = Hand::new(Config {
        nat: Some(nat),
        port_mapping: Some(server),
        ..config
    });
    hand.learn(0, 2);
    hand.learn(0, 3);
    hand.learn(2, 9);
    hand
}

/// A datagram from a host of a port to the router's address on it.
fn request(port: u16, host: u8, payload: &[u8]) -> Frame {
    let own = format!("10.0.{port}.1");
    let mut frame = Frame::new(&udp(port, host, &own, payload.len(), |_| {}));
    frame[42..].copy_from_slice(payload);
    let from: IpAddr = [10, 0, port as u8, host].into();
    header::write_udp(&mut frame, (from, 6_000), (address(&own), 5_351));
    frame
}

/// The payload of the one datagram that goes back to a host of port 0.
fn ask(hand: &mut Hand, host: u8, payload: &[u8]) -> Vec<u8> {
    let sent = hand.send(0, &request(0, host, payload));
    let [(0, frame)] = &sent[..] else {
        panic!("{} frames", sent.len());
    };
    let packet = header::read(frame).unwrap();
    assert!(header::is_valid(frame, &packet));
    assert_eq!(packet.destination, IpAddr::from([10, 0, 0, host]));
    assert_eq!(
        frame[34..38],
        [0x14, 0xE7, 0x17, 0x70],
        "ports 5351 and 6000"
    );
    frame[42..packet.end].to_vec()
}

fn mapped(address: [u8; 4]) -> [u8; 16] {
    Ipv4Addr::from(address).to_ipv6_mapped().octets()
}

/// A request of PCP.
fn pcp(host: u8, opcode: u8, seconds: u32, rest: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![2, opcode, 0, 0];
    bytes.extend(seconds.to_be_bytes());
    bytes.extend(mapped([10, 0, 0, host]));
    rest.iter().for_each(|part| bytes.extend(*part));
    bytes
}

/// The part of MAP: for UDP, a port inside, a wish.
fn map(nonce: &[u8; 12], port: u16, wish: u16) -> Vec<u8> {
    let mut bytes = nonce.to_vec();
    bytes.extend([17, 0, 0, 0]);
    bytes.extend(port.to_be_bytes());
    bytes.extend(wish.to_be_bytes());
    bytes.extend(mapped([0; 4]));
    bytes
}

fn option(code: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![code, 0];
    bytes.extend((data.len() as u16).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// Code, lifetime in seconds, and external port of an answer.
fn result(answer: &[u8]) -> (u8, u32, u16) {
    assert_eq!(answer[0], 2);
    assert_eq!(answer[1] & 0x80, 0x80);
    assert_eq!(answer.len() % 4, 0);
    let lifetime = u32::from_be_bytes(answer[4..8].try_into().unwrap());
    let port = answer
        .get(42..44)
        .map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
    (answer[3], lifetime, port)
}

/// Whether a datagram from an outside host to an external port reaches the host inside, and at which port.
fn reaches(hand: &mut Hand, from: u16, external: u16) -> Option<u16> {
    let mut frame = Frame::new(&udp(2, 9, "10.0.2.1", 8, |_| {}));
    let ends: [IpAddr; 2] = [[10, 0, 2, 9].into(), [10, 0, 2, 1].into()];
    header::write_udp(&mut frame, (ends[0], from), (ends[1], external));
    let sent = hand.send(2, &frame);
    let found = sent.iter().find(|(port, _)| *port == 0)?;
    let packet = header::read(&found.1)?;
    let port = found.1.get(packet.payload + 2..packet.payload + 4)?;
    Some(u16::from_be_bytes([port[0], port[1]]))
}

#[test]
fn a_mapping_lets_any_remote_host_in_until_its_time_is_over() {
    let mut hand = hand(|_, _| {});
    let answer = ask(
        &mut hand,
        2,
        &pcp(2, 1, 600, &[&map(&NONCE, 4_000, 40_000)]),
    );
    assert_eq!(result(&answer), (0, 600, 40_000));
    assert_eq!(answer[24..36], NONCE);
    assert_eq!(answer[44..60], mapped([10, 0, 2, 1]));
    assert_eq!(reaches(&mut hand, 7, 40_000), Some(4_000));
    assert_eq!(reaches(&mut hand, 8, 40_001), None);
    let rows = hand.router.tables(hand.now);
    let nat = rows.iter().find(|table| table.name == "nat").unwrap();
    assert_eq!(
        nat.entries,
        ["udp 10.0.0.2:4000 10.0.2.1:40000 any mapped 600 s"]
    );
    let owners = rows
        .iter()
        .find(|table| table.name == "port mappings")
        .unwrap();
    assert_eq!(owners.entries, ["udp 10.0.0.2:4000 any pcp 600 s"]);
    // Packets from the mapped port leave from the external port.
    let mut out = Frame::new(&udp(0, 2, "198.51.100.7", 8, |_| {}));
    let ends: [IpAddr; 2] = [[10, 0, 0, 2].into(), [198, 51, 100, 7].into()];
    header::write_udp(&mut out, (ends[0], 4_000), (ends[1], 53));
    let sent = hand.send(0, &out);
    assert_eq!(sent[0].1[34..36], 40_000_u16.to_be_bytes());
    hand.now = Time::from_secs(599);
    assert_eq!(reaches(&mut hand, 7, 40_000), Some(4_000));
    hand.now = Time::from_secs(600);
    assert_eq!(reaches(&mut hand, 7, 40_000), None);
}

#[test]
fn lifetimes_are_kept_in_range_renewed_and_ended_by_the_owner_alone() {
    let mut hand = hand(|_, _| {});
    let body = map(&NONCE, 4_000, 0);
    let first = ask(&mut hand, 2, &pcp(2, 1, 1, &[&body]));
    let (0, 120, external) = result(&first) else {
        panic!("{first:?}");
    };
    let long = ask(&mut hand, 2, &pcp(2, 1, u32::MAX, &[&body]));
    assert_eq!(result(&long), (0, 86_400, external), "the same port");
    let stranger = map(b"another time", 4_000, 0);
    hand.now = Time::from_secs(400);
    for seconds in [0, 600] {
        let answer = ask(&mut hand, 2, &pcp(2, 1, seconds, &[&stranger]));
        assert_eq!(result(&answer).0, 2, "not authorized");
        assert_eq!(result(&answer).1, 86_000, "as long as the mapping lives");
    }
    // NAT-PMP has no nonce, and may not end it either.
    let pmp = [0, 1, 0, 0, 0x0F, 0xA0, 0, 0, 0, 0, 0, 0];
    assert_eq!(ask(&mut hand, 2, &pmp)[..4], [0, 129, 0, 2]);
    assert_eq!(reaches(&mut hand, 7, external), Some(4_000));
    let gone = ask(&mut hand, 2, &pcp(2, 1, 0, &[&body]));
    assert_eq!((result(&gone).0, result(&gone).1), (0, 0));
    assert_eq!(reaches(&mut hand, 7, external), None);
    // One that is not there has ended.
    assert_eq!(result(&ask(&mut hand, 2, &pcp(2, 1, 0, &[&body]))).0, 0);
}

#[test]
fn each_error_of_a_request_has_its_code() {
    let mut hand = hand(|_, _| {});
    let body = map(&NONCE, 4_000, 0);
    let mut tcp_all = body.clone();
    tcp_all[12] = 0;
    let mut sctp = body.clone();
    sctp[12] = 132;
    let good = pcp(2, 1, 600, &[&body]);
    let with = |options: &[u8]| pcp(2, 1, 600, &[&body, options]);
    let mut mismatch = good.clone();
    mismatch[23] = 3;
    let mut version = good.clone();
    version[0] = 3;
    let peer = |peer: [u8; 4], port: u16| {
        let rest = [&port.to_be_bytes()[..], &[0, 0], &mapped(peer)].concat();
        pcp(2, 2, 600, &[&body, &rest])
    };
    let cases: [(&str, Vec<u8>, u8); 17] = [
        ("another version", version, 1),
        ("cut off", good[..40].to_vec(), 3),
        ("not whole words", [&good[..], &[0]].concat(), 3),
        ("short", good[..20].to_vec(), 3),
        ("too long", [&good[..], &[128; 1_048]].concat(), 3),
        ("an unknown operation", pcp(2, 9, 0, &[]), 4),
        ("another address", mismatch, 12),
        ("a mandatory option", with(&option(99, &[])), 5),
        ("an option cut off", with(&[3, 0, 0, 20]), 6),
        (
            "third party, which is off",
            with(&option(1, &mapped([10, 0, 0, 3]))),
            5,
        ),
        ("a filter too short", with(&option(3, &[0; 16])), 6),
        (
            "an IPv6 filter",
            with(&option(
                3,
                &[
                    0, 64, 0, 0, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                ],
            )),
            6,
        ),
        ("failure without a port", with(&option(2, &[])), 6),
        ("all protocols with a port", pcp(2, 1, 600, &[&tcp_all]), 3),
        ("SCTP", pcp(2, 1, 600, &[&sctp]), 9),
        ("all ports", pcp(2, 1, 600, &[&map(&NONCE, 0, 0)]), 9),
        ("a peer without a port", peer([198, 51, 100, 7], 0), 3),
    ];
    for (name, request, code) in cases {
        let answer = ask(&mut hand, 2, &request);
        assert_eq!(answer[3], code, "{name}");
        assert!(
            answer.len() <= request.len().next_multiple_of(4).max(24),
            "{name}"
        );
        assert!(answer.len() <= 1_100);
        assert_ne!(result(&answer).1, 0, "{name}: errors have a lifetime");
    }
    // An optional option is ignored, and not answered.
    let answer = ask(&mut hand, 2, &with(&option(200, &[1, 2, 3, 4])));
    assert_eq!((result(&answer).0, answer.len()), (0, 60));
    // No request: a response, and less than two bytes.
    let mut response = good;
    response[1] |= 0x80;
    assert!(hand.send(0, &request(0, 2, &response)).is_empty());
    assert!(hand.send(0, &request(0, 2, &[2])).is_empty());
    assert_eq!(hand.counter("port_mapping_ignored"), 2);
}

#[test]
fn filters_decide_who_may_send_and_failure_may_be_preferred() {
    let mut hand = hand(|_, _| {});
    let body = map(&NONCE, 4_000, 40_000);
    let filter = |length: u8, port: u16| {
        let mut data = vec![0, length];
        data.extend(port.to_be_bytes());
        data.extend(mapped([10, 0, 2, 9]));
        option(3, &data)
    };
    let one = ask(&mut hand, 2, &pcp(2, 1, 600, &[&body, &filter(128, 7)]));
    assert_eq!((result(&one), one.len()), ((0, 600, 40_000), 60 + 24));
    assert_eq!(reaches(&mut hand, 7, 40_000), Some(4_000));
    assert_eq!(reaches(&mut hand, 8, 40_000), None);
    // Another one is added, and then all are removed.
    ask(&mut hand, 2, &pcp(2, 1, 600, &[&body, &filter(120, 8)]));
    assert_eq!(reaches(&mut hand, 8, 40_000), Some(4_000));
    assert_eq!(reaches(&mut hand, 9, 40_000), None);
    ask(&mut hand, 2, &pcp(2, 1, 600, &[&body, &filter(0, 0)]));
    assert_eq!(reaches(&mut hand, 9, 40_000), Some(4_000));
    let many: Vec<u8> = (1..=9).flat_map(|port| filter(128, port)).collect();
    let answer = ask(&mut hand, 2, &pcp(2, 1, 600, &[&body, &many]));
    assert_eq!(result(&answer).0, 13);
    // The port is in use, and another host wants this one alone.
    let wish = [&map(&NONCE, 4_000, 40_000)[..], &option(2, &[])].concat();
    let answer = ask(&mut hand, 3, &pcp(3, 1, 600, &[&wish]));
    assert_eq!((result(&answer).0, result(&answer).1), (11, 30));
    let answer = ask(
        &mut hand,
        3,
        &pcp(3, 1, 600, &[&map(&NONCE, 4_000, 40_000)]),
    );
    assert!(result(&answer).0 == 0 && result(&answer).2 != 40_000);
}

#[test]
fn a_peer_keeps_its_session_and_a_mapping_takes_the_sessions_port() {
    let mut hand = hand(|nat, _| nat.filtering = Behaviour::AddressAndPortDependent);
    let remote = [&53_u16.to_be_bytes()[..], &[0, 0], &mapped([10, 0, 2, 9])].concat();
    let peer = pcp(2, 2, 3_600, &[&map(&NONCE, 4_000, 0), &remote]);
    let answer = ask(&mut hand, 2, &peer);
    let (0, 3_600, external) = result(&answer) else {
        panic!("{answer:?}");
    };
    assert_eq!(answer.len(), 80);
    // Half an hour later nothing else has kept it, and only the peer may send.
    hand.now = Time::from_secs(1_800);
    assert_eq!(reaches(&mut hand, 53, external), Some(4_000));
    assert_eq!(reaches(&mut hand, 54, external), None);
    let answer = ask(&mut hand, 2, &pcp(2, 1, 600, &[&map(&NONCE, 4_000, 0)]));
    assert_eq!(result(&answer), (0, 600, external));
    assert_eq!(reaches(&mut hand, 54, external), Some(4_000));
    hand.now = Time::from_secs(2_401);
    assert_eq!(
        reaches(&mut hand, 54, external),
        None,
        "the mapping has ended"
    );
    assert_eq!(
        reaches(&mut hand, 53, external),
        Some(4_000),
        "the session has not"
    );
    hand.now = Time::from_secs(3_601);
    assert_eq!(reaches(&mut hand, 53, external), None);
    assert_eq!(hand.router.statistics().get("nat_mappings_ended"), Some(1));
}

#[test]
fn nat_pmp_gives_the_address_and_mappings_and_ends_all_of_a_protocol() {
    let mut hand = hand(|_, _| {});
    hand.now = Time::from_secs(9);
    let answer = ask(&mut hand, 2, &[0, 0]);
    assert_eq!(answer, [0, 128, 0, 0, 0, 0, 0, 9, 10, 0, 2, 1]);
    let ask_for = |operation: u8, port: u8, seconds: u8| {
        [0, operation, 0, 0, 16, port, 156, 64, 0, 0, seconds, 0]
    };
    let first = ask(&mut hand, 2, &ask_for(1, 1, 4));
    assert_eq!(
        first,
        [0, 129, 0, 0, 0, 0, 0, 9, 16, 1, 156, 64, 0, 0, 4, 0]
    );
    let second = ask(&mut hand, 2, &ask_for(1, 2, 4));
    assert!(second[..4] == [0, 129, 0, 0] && second[10..12] != [156, 64]);
    let tcp = ask(&mut hand, 2, &ask_for(2, 1, 4));
    assert_eq!(tcp[10..12], [156, 64], "ports of TCP are others");
    assert_eq!(reaches(&mut hand, 1, 40_000), Some(4_097));
    assert_eq!(
        ask(&mut hand, 2, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])[..4],
        [0, 129, 0, 0]
    );
    assert_eq!(reaches(&mut hand, 1, 40_000), None);
    let left = hand.router.tables(hand.now);
    let left = left
        .iter()
        .find(|table| table.name == "port mappings")
        .unwrap();
    assert_eq!(left.entries, ["tcp 10.0.0.2:4097 any nat-pmp 1024 s"]);
    assert_eq!(
        ask(&mut hand, 2, &[0, 9])[..4],
        [0, 137, 0, 5],
        "unknown operation"
    );
}

#[test]
fn versions_are_negotiated() {
    let mut only_pmp = hand(|_, server| server.pcp = false);
    let answer = ask(&mut only_pmp, 2, &pcp(2, 0, 0, &[]));
    assert_eq!(answer[..4], [0, 128, 0, 1]);
    let mut only_pcp = hand(|_, server| server.nat_pmp = false);
    let answer = ask(&mut only_pcp, 2, &[0, 0]);
    assert_eq!((answer.len(), &answer[..4]), (24, &[2, 128, 0, 1][..]));
}

#[test]
fn requests_from_the_outside_and_from_other_links_are_dropped() {
    let mut hand = hand(|_, _| {});
    let body = pcp(2, 1, 600, &[&map(&NONCE, 4_000, 40_000)]);
    assert!(hand.send(2, &request(2, 9, &body)).is_empty());
    // A host on port 1 takes the address of one on port 0.
    let mut forged = request(0, 2, &body);
    forged[..6].copy_from_slice(&router_mac(1));
    assert!(hand.send(1, &forged).is_empty());
    assert_eq!(hand.counter("nat_mappings_made"), 0);
    assert_eq!(hand.counter("port_mapping_requests"), 0);
}

#[test]
fn a_third_party_may_ask_where_that_is_allowed() {
    let mut hand = hand(|_, server| server.third_party = true);
    let own = map(&NONCE, 4_000, 40_000);
    let third = |address: [u8; 4]| option(1, &mapped(address));
    let answer = ask(
        &mut hand,
        3,
        &pcp(3, 1, 600, &[&own, &third([10, 0, 0, 2])]),
    );
    assert_eq!((result(&answer), answer.len()), ((0, 600, 40_000), 80));
    assert_eq!(reaches(&mut hand, 7, 40_000), Some(4_000));
    let answer = ask(
        &mut hand,
        3,
        &pcp(3, 1, 600, &[&own, &third([10, 0, 0, 3])]),
    );
    assert_eq!(result(&answer).0, 6, "its own address");
    let answer = ask(
        &mut hand,
        3,
        &pcp(3, 1, 600, &[&own, &third([10, 0, 2, 1])]),
    );
    assert_eq!(result(&answer).0, 2, "the router's");
}

#[test]
fn a_start_is_announced_ten_times_on_the_links_inside() {
    let mut hand = hand(|_, _| {});
    let mut times = Vec::new();
    while hand
        .router
        .next_wake()
        .is_some_and(|at| at < Time::from_secs(300))
    {
        let sent = hand.wake();
        let is_announcement =
            |frame: &[u8]| frame[30..38] == [224, 0, 0, 1, 0x14, 0xE7, 0x14, 0xE6];
        let announced: Vec<_> = sent
            .iter()
            .filter(|(_, frame)| is_announcement(frame))
            .collect();
        if announced.is_empty() {
            continue;
        }
        let ports: Vec<u16> = announced.iter().map(|(port, _)| *port).collect();
        assert_eq!(ports, [0, 0, 1, 1]);
        assert_eq!(announced[0].1[42..44], [2, 128]);
        assert_eq!(announced[1].1[42..46], [0, 128, 0, 0]);
        assert_eq!(announced[0].1[..6], [1, 0, 0x5E, 0, 0, 1]);
        times.push(hand.now.as_ns() / 1_000_000);
    }
    assert_eq!(
        times,
        [
            0, 250, 750, 1_750, 3_750, 7_750, 15_750, 31_750, 63_750, 127_750
        ]
    );
}

#[test]
fn a_server_needs_a_nat_and_limits_in_range() {
    let error = |change: fn(&mut Config)| {
        let mut keys = config(2, &[]);
        keys.port_mapping = Some(port_mapping::Config::default());
        change(&mut keys);
        Router::new(keys).map(drop).unwrap_err().to_string()
    };
    assert!(error(|_| {}).contains("there is no `nat`"));
    let in_range = |keys: &mut Config| {
        keys.port[1].outside = true;
        keys.nat = Some(nat::Config::default());
        let server = keys.port_mapping.as_mut().unwrap();
        server.min_lifetime = Time::from_secs(99_999_999);
    };
    assert!(error(in_range).contains("lifetimes are"));
}
