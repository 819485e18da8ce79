//! Services on a router: frames that they get, addresses and routes that they change.

use crate::hand::*;
use ip::header::{self, UDP};
use ip::service::{Change, Link, ROUTED, Service};
use node::{Frame, Node, Out, Port, Statistics, Time};
use router::router::{Config, Router};

/// Answers datagrams to port 53 from whatever address the router leaves by, and makes the changes that it was given.
#[derive(Debug, Default)]
struct Answerer {
    taken: u64,
    links: usize,
    changes: Vec<Change>,
    /// Whether it asks 198.51.100.53 when it is woken.
    asks: bool,
    answers: u64,
}

impl Service for Answerer {
    fn handle_frame(
        &mut self,
        _: Time,
        link: &Link<'_>,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let Some(packet) = header::read(&frame).filter(|packet| packet.protocol == UDP) else {
            return Some(frame);
        };
        if frame[packet.payload + 2..][..2] == 5353_u16.to_be_bytes() {
            self.answers += 1;
            out.done(frame);
            return None;
        }
        if frame[packet.payload + 2..][..2] != [0, 53] {
            return Some(frame);
        }
        self.taken += 1;
        let none = match packet.source.is_ipv4() {
            true => address("0.0.0.0"),
            false => address("::"),
        };
        assert!(link.interface.addresses().count() > 0 && link.mtu == 1500);
        let mut answer = out.frame();
        answer.resize(packet.payload + 8 + 5);
        answer[packet.payload + 8..].copy_from_slice(b"hello");
        header::write(&mut answer, none, packet.source, UDP);
        header::write_udp(&mut answer, (none, 53), (packet.source, 1024));
        out.send(ROUTED, answer);
        out.done(frame);
        None
    }

    fn wake(&mut self, _: Time, links: &[Link<'_>], out: &mut Out) {
        self.links = links.len();
        if self.asks {
            let (none, server) = (address("0.0.0.0"), address("198.51.100.53"));
            let mut question = out.frame();
            question.resize(14 + 20 + 8 + 5);
            header::write(&mut question, none, server, UDP);
            header::write_udp(&mut question, (none, 5353), (server, 53));
            out.send(ROUTED, question);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop()
    }

    fn count(&self, all: &mut Statistics) {
        all.counter("taken", self.taken);
        all.counter("links", self.links as u64);
        all.counter("answers", self.answers);
    }
}

fn hand(config: Config, changes: &[Change]) -> Hand {
    let service = Answerer {
        changes: changes.iter().rev().copied().collect(),
        ..Answerer::default()
    };
    let router = Router::new(config).expect("a good configuration");
    Hand {
        router: router
            .with_services(None, vec![Box::new(service)])
            .expect("a VRF"),
        now: Time::ZERO,
        out: Out::default(),
    }
}

/// A datagram to port 53 whose checksum is right.
fn question(port: u16, host: u8, to: &str) -> Vec<u8> {
    let mut frame = Frame::new(&udp(port, host, to, 20, |_| {}));
    let packet = header::read(&frame).expect("a packet");
    frame[packet.payload + 6..][..2].fill(0);
    let (from, to) = (packet.source, packet.destination);
    header::write_udp(&mut frame, (from, 1024), (to, 53));
    frame.to_vec()
}

#[test]
fn a_service_answers_for_the_address_of_the_port_by_which_its_answer_leaves() {
    let mut hand = hand(config(2, &["192.0.2.0/24 via 10.0.1.9"]), &[]);
    for (port, host) in [(0, 2), (1, 3)] {
        hand.learn(port, host);
        for own in ["10.0.1.1", "fd00:0::1", "10.0.0.1"] {
            let sent = hand.send(port, &question(port, host, own));
            let [(left, frame)] = &sent[..] else {
                panic!("{sent:?}");
            };
            assert_eq!((*left, &frame[..6]), (port, &host_mac(port, host)[..]));
            let packet = header::read(frame).expect("a packet");
            assert!(header::is_valid(frame, &packet));
            let expected = match packet.source.is_ipv4() {
                true => format!("10.0.{port}.1"),
                false => format!("fd00:{port}::1"),
            };
            assert_eq!(packet.source, address(&expected));
            assert_eq!(frame[packet.payload + 8..packet.end], *b"hello");
        }
    }
    assert_eq!(hand.counter("taken"), 6);
    // Others are forwarded, and a broadcast of the link is offered before the router ignores it.
    let mut broadcast = udp(0, 2, "255.255.255.255", 20, |_| {});
    broadcast[..6].fill(0xFF);
    assert_eq!(hand.send(0, &broadcast).len(), 1);
    hand.learn(1, 7);
    assert_eq!(hand.send(0, &udp(0, 2, "10.0.1.7", 20, |_| {})).len(), 1);
    assert_eq!((hand.counter("taken"), hand.counter("forwarded")), (7, 1));
}

#[test]
fn answers_to_a_service_come_in_through_the_nat_and_nothing_else_does() {
    let mut config = config(3, &["default via 10.0.2.9"]);
    config.port[2].outside = true;
    config.nat = Some(router::nat::Config::default());
    let service = Answerer {
        asks: true,
        ..Answerer::default()
    };
    let router = Router::new(config).expect("a good configuration");
    let mut hand = Hand {
        router: router
            .with_services(None, vec![Box::new(service)])
            .expect("a VRF"),
        now: Time::ZERO,
        out: Out::default(),
    };
    hand.learn(2, 9);
    let sent = hand.wake();
    let [(2, question)] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!(question[26..34], [10, 0, 2, 1, 198, 51, 100, 53]);
    // The answer of the server, of another one, and one to another port.
    let answer = |from: u8, port: u16| {
        let mut frame = Frame::new(question);
        let (to, from) = (address("10.0.2.1"), [198, 51, 100, from].into());
        frame[..6].copy_from_slice(&router_mac(2));
        frame[6..12].copy_from_slice(&host_mac(2, 9));
        frame[14..42].fill(0);
        header::write(&mut frame, from, to, UDP);
        header::write_udp(&mut frame, (from, 53), (to, port));
        frame.to_vec()
    };
    for (from, port, answers) in [(54, 5353, 0), (53, 5354, 0), (53, 5353, 1), (53, 5353, 2)] {
        hand.send(2, &answer(from, port));
        assert_eq!(hand.counter("answers"), answers, "{from} {port}");
    }
    assert_eq!(hand.counter("nat_unsolicited"), 2);
    hand.now += Time::from_secs(61);
    hand.send(2, &answer(53, 5353));
    assert_eq!(hand.counter("answers"), 2);
}

#[test]
fn a_nat_takes_the_address_that_a_service_brings_to_its_outside() {
    let change = |address: &str, present| Change::Address {
        port: Port(2),
        network: address.parse().expect("an address"),
        present,
    };
    let mut config = config(3, &["default via 10.0.2.9 dev 2 onlink"]);
    config.port[2].address.clear();
    config.port[2].outside = true;
    config.nat = Some(router::nat::Config::default());
    let outward = udp(0, 2, "198.51.100.7", 20, |_| {});
    // Without an address nothing leaves, and the sender hears of it.
    let mut hand = self::hand(config.clone(), &[]);
    hand.learn(0, 2);
    hand.wake();
    let report = hand.send(0, &outward);
    assert_eq!(
        (report[0].0, icmp(&report[0].1).map(|icmp| icmp.0)),
        (0, Some(3))
    );
    assert_eq!(hand.drops("the NAT has no external address yet"), 1);
    for (changes, source) in [
        (vec![change("10.0.2.1/24", true)], [10, 0, 2, 1]),
        (
            vec![
                change("10.0.2.1/24", true),
                change("10.0.2.5/24", true),
                change("10.0.2.1/24", false),
            ],
            [10, 0, 2, 5],
        ),
    ] {
        let mut hand = self::hand(config.clone(), &changes);
        hand.learn(0, 2);
        hand.wake();
        // The next hop answers the router, which then sends the waiting packet.
        let asked = hand.send(0, &outward);
        let mut answer = Frame::new(&asked[0].1);
        let arp = ip::discovery::read_arp(&answer).expect("an ARP request");
        ip::discovery::answer_arp(&mut answer, &arp, host_mac(2, 9));
        let sent = hand.send(2, &answer);
        let [(2, frame)] = &sent[..] else {
            panic!("{sent:?}");
        };
        assert_eq!(frame[26..30], source);
        assert_eq!(hand.counter("refused_changes"), 0);
    }
}

#[test]
fn addresses_and_routes_of_a_service_come_and_go() {
    let network = |text: &str| text.parse().expect("an address");
    let added = |present| {
        [
            Change::Address {
                port: Port(1),
                network: network("10.9.0.1/24"),
                present,
            },
            Change::Address {
                port: Port(1),
                network: network("fd09::1/64"),
                present,
            },
            Change::Route {
                to: network("192.0.2.1/24"),
                via: Some(address("10.9.0.7")),
                port: Port(1),
                present,
            },
        ]
    };
    // A port and a VRF that are not there, and an address that another port has.
    let wrong = [
        Change::Address {
            port: Port(7),
            network: network("10.8.0.1/24"),
            present: true,
        },
        Change::Address {
            port: Port(1),
            network: network("10.0.0.1/24"),
            present: true,
        },
    ];
    let all = [&added(true)[..], &wrong].concat();
    let mut hand = hand(config(2, &[]), &all);
    let routes = |hand: &Hand| hand.router.tables(Time::ZERO)[0].entries.clone();
    let before = routes(&hand);
    hand.wake();
    assert_eq!(
        (hand.counter("links"), hand.counter("refused_changes")),
        (2, 2)
    );
    assert_eq!(routes(&hand).len(), before.len() + 3, "{:?}", routes(&hand));
    // The router answers for the new addresses, and looks for the new next hop.
    let own = hand.send(0, &udp(0, 2, "10.9.0.1", 20, |_| {}));
    assert_eq!((own.len(), hand.counter("taken")), (1, 1));
    let asked = hand.send(0, &udp(0, 2, "192.0.2.9", 20, |_| {}));
    let [(1, request)] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(request[38..42], [10, 9, 0, 7]);
    assert_eq!(request[28..32], [10, 9, 0, 1]);

    let all = [&added(true)[..], &added(false)].concat();
    let mut gone = self::hand(config(2, &[]), &all);
    gone.wake();
    assert_eq!(
        (routes(&gone), gone.counter("refused_changes")),
        (before, 0)
    );
    let report = gone.send(0, &udp(0, 2, "10.9.0.1", 20, |_| {}));
    assert!(
        report
            .iter()
            .all(|(_, frame)| frame[12..14] == [8, 6] || icmp(frame).is_some())
    );
    assert_eq!(gone.counter("taken"), 0);
}

#[test]
fn a_vrf_without_ports_has_no_services() {
    let router = Router::new(config(2, &[])).expect("a good configuration");
    let refused = router.with_services(Some("red"), Vec::new());
    assert_eq!(refused.expect_err("no VRF").key, "vrf");
}
