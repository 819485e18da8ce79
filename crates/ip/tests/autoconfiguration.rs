//! Duplicate detection, addresses and routes from routers, redirects.

use crate::frames::*;
use core::net::{IpAddr, Ipv6Addr};
use ip::addresses::Status;
use ip::interface::Config;
use ip::neighbours::State;
use ip::routers::with_mac;
use node::Time;
use packet::arp::Arp;
use packet::icmpv6::Icmpv6;
use packet::ipv6::Ipv6View;

const ROUTER: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 1);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

fn detecting(address: &str, seed: u64) -> Hand {
    Hand::new(Config {
        mac: OWN,
        addresses: vec![address.parse().unwrap()],
        detects_duplicates: true,
        seed,
        ..Config::default()
    })
}

fn status(hand: &Hand) -> Vec<Status> {
    hand.interface.addresses().map(|own| own.status).collect()
}

/// A router advertisement: lifetime in seconds, options.
fn advertisement(lifetime: u16, options: &[u8]) -> Vec<u8> {
    let message = Icmpv6::Other {
        kind: 134,
        code: 0,
        rest: 64 << 24 | u32::from(lifetime),
    };
    let body = [&[0; 8][..], options].concat();
    discovery(ROUTER, ALL_NODES, message, &body)
}

fn prefix_option(prefix: &str, flags: u8, valid: u32, preferred: u32) -> Vec<u8> {
    let (address, length) = prefix.split_once('/').unwrap();
    let mut option = vec![3, 4, length.parse().unwrap(), flags];
    option.extend(valid.to_be_bytes());
    option.extend(preferred.to_be_bytes());
    option.extend([0; 4]);
    option.extend(address.parse::<Ipv6Addr>().unwrap().octets());
    option
}

#[test]
fn tentative_ipv4_address_is_probed_announced_and_then_used() {
    for seed in 0..50 {
        let mut hand = detecting("10.0.0.2/24", seed);
        let question = arp(PEER, [10, 0, 0, 1], [10, 0, 0, 2]);
        assert!(hand.frame(&question).is_empty());
        assert_eq!(hand.interface.source(v4(1)), None);
        let sent = hand.until(Time::from_secs(20));
        let times: Vec<u64> = sent.iter().map(|(ms, _)| *ms).collect();
        let arps: Vec<Arp> = sent
            .iter()
            .map(|(_, f)| Arp::parse(&f[14..]).unwrap())
            .collect();
        assert_eq!(arps.len(), 5, "{times:?}");
        // RFC 5227 section 2.1.1.
        assert!(times[0] < 1_000);
        for probe in 0..2 {
            assert!(
                (1_000..=2_000).contains(&(times[probe + 1] - times[probe])),
                "{times:?}"
            );
        }
        assert_eq!(
            [times[3] - times[2], times[4] - times[3]].map(|ms| ms / 10),
            [200, 200]
        );
        for (index, arp) in arps.iter().enumerate() {
            assert_eq!(arp.target.octets(), [10, 0, 0, 2]);
            assert_eq!(arp.sender.is_unspecified(), index < 3);
        }
        assert_eq!(status(&hand), [Status::Preferred]);
        assert_eq!(hand.frame(&question).len(), 1);
    }
}

#[test]
fn tentative_ipv6_address_is_asked_for_once_and_then_used() {
    let mut hand = detecting("fd00::2/64", 3);
    let sent = hand.until(Time::from_secs(20));
    let ip = Ipv6View::new(&sent[0].1[14..]).unwrap();
    assert_eq!(sent.len(), 1);
    assert!(ip.source().is_unspecified() && sent[0].0 < 1_000);
    assert_eq!(
        ip.destination(),
        "ff02::1:ff00:2".parse::<Ipv6Addr>().unwrap()
    );
    // No option names a MAC address.
    assert_eq!(ip.payload().len(), 24);
    assert_eq!(status(&hand), [Status::Preferred]);
    // Another that wants it gets an answer to all.
    let target = "fd00::2".parse().unwrap();
    let question = Icmpv6::NeighbourSolicitation { target };
    let group = ip::discovery::solicited_node(target);
    let sent = hand.frame(&discovery(Ipv6Addr::UNSPECIFIED, group, question, &[]));
    assert_eq!(sent[0][..6], [0x33, 0x33, 0, 0, 0, 1]);
}

#[test]
fn an_address_that_another_has_or_wants_is_not_used() {
    let target: Ipv6Addr = "fd00::2".parse().unwrap();
    let group = ip::discovery::solicited_node(target);
    let solicitation = Icmpv6::NeighbourSolicitation { target };
    let taken = Icmpv6::NeighbourAdvertisement { target, flags: 1 };
    for (address, conflict) in [
        ("10.0.0.2/24", arp(PEER, [0; 4], [10, 0, 0, 2])),
        ("10.0.0.2/24", arp(PEER, [10, 0, 0, 2], [10, 0, 0, 7])),
        (
            "fd00::2/64",
            discovery(Ipv6Addr::UNSPECIFIED, group, solicitation, &[]),
        ),
        ("fd00::2/64", discovery(target, ALL_NODES, taken, &[])),
    ] {
        let mut hand = detecting(address, 1);
        hand.until(Time::from_secs(1));
        assert!(hand.frame(&conflict).is_empty());
        assert_eq!(status(&hand), [Status::Duplicate], "{address}");
        assert!(hand.until(Time::from_secs(30)).is_empty());
        assert_eq!(
            hand.interface
                .source(address.split('/').next().unwrap().parse().unwrap()),
            None
        );
    }
    // The interface's own probe, sent back by a loop, is no conflict.
    let mut hand = detecting("10.0.0.2/24", 1);
    hand.until(Time::from_secs(1));
    hand.frame(&arp(OWN, [0; 4], [10, 0, 0, 2]));
    assert_eq!(status(&hand), [Status::Tentative]);
}

#[test]
fn an_address_in_use_is_defended_once_in_ten_seconds() {
    let mut hand = detecting("10.0.0.2/24", 1);
    hand.until(Time::from_secs(20));
    let conflict = arp(PEER, [10, 0, 0, 2], [10, 0, 0, 7]);
    for second in [20, 31, 42] {
        hand.now = Time::from_secs(second);
        assert_eq!(hand.frame(&conflict).len(), 1, "an announcement");
    }
    hand.now = Time::from_secs(51);
    assert!(hand.frame(&conflict).is_empty());
    assert_eq!(status(&hand), [Status::Duplicate]);
}

fn automatic() -> Hand {
    Hand::new(Config {
        mac: OWN,
        detects_duplicates: true,
        autoconfiguration: true,
        ..Config::default()
    })
}

#[test]
fn routers_give_addresses_routes_and_an_mtu() {
    let mut hand = automatic();
    let sent = hand.until(Time::from_secs(20));
    let kinds: Vec<u8> = sent.iter().map(|(_, frame)| icmp(frame).0[0]).collect();
    assert_eq!(kinds, [135, 133, 133, 133]);
    let local = with_mac("fe80::".parse().unwrap(), OWN);
    assert_eq!(local, "fe80::ff:fe00:2".parse::<Ipv6Addr>().unwrap());
    assert_eq!(Ipv6View::new(&sent[1].1[14..]).unwrap().source(), local);

    let mut options = [&[1, 1][..], &PEER].concat();
    options.extend([5, 1, 0, 0, 0, 0, 5, 0x78]);
    options.extend(prefix_option("2001:db8::/64", 0xC0, 3_600, 1_800));
    hand.frame(&advertisement(1_800, &options));
    assert_eq!(
        hand.interface.neighbour(hand.now, ROUTER.into()),
        Some(State::Stale)
    );
    hand.until(Time::from_secs(30));
    let own = with_mac("2001:db8::".parse().unwrap(), OWN);
    let far: IpAddr = "2001:db8:1::1".parse().unwrap();
    assert_eq!(hand.interface.source(far), Some(own.into()));
    assert_eq!(hand.interface.max_payload(far), 1_400 - 40);
    let sent = hand.send(far, &udp(OWN, own.into(), far, [1, 2], b"x"));
    assert_eq!((sent.len(), &sent[0][..6]), (1, &PEER[..]));
    // Lifetimes end: the router's, then the address's.
    hand.until(Time::from_secs(1_821));
    assert!(hand.send(far, &[0; 60]).is_empty());
    assert!(status(&hand).contains(&Status::Deprecated));
    hand.until(Time::from_secs(3_700));
    assert_eq!(hand.interface.addresses().count(), 1);
}

#[test]
fn short_lifetimes_do_not_take_an_address_away_within_two_hours() {
    let mut hand = automatic();
    hand.until(Time::from_secs(5));
    let day = 86_400;
    hand.frame(&advertisement(
        0,
        &prefix_option("2001:db8::/64", 0xC0, day, day),
    ));
    hand.frame(&advertisement(
        0,
        &prefix_option("2001:db8::/64", 0xC0, 0, 0),
    ));
    let own = hand.interface.addresses().nth(1).unwrap();
    assert_eq!(own.valid_until, hand.now + Time::from_secs(7_200));
}

#[test]
fn advertisements_that_break_a_rule_or_are_too_many_change_nothing_or_little() {
    let good = prefix_option("2001:db8::/64", 0xC0, 3_600, 1_800);
    let mut hop = advertisement(1_800, &good);
    hop[21] = 254;
    let mut from = advertisement(1_800, &good);
    from[22] = 0x20;
    let mut endless = advertisement(1_800, &good);
    endless[14 + 40 + 16 + 1] = 0;
    for bad in [
        hop,
        from,
        endless,
        advertisement(0, &prefix_option("2001:db8::/64", 0xC0, 1_800, 3_600)),
        advertisement(0, &prefix_option("2001:db8::/63", 0x40, 3_600, 1_800)),
        advertisement(0, &prefix_option("fe80::/64", 0xC0, 3_600, 1_800)),
        advertisement(0, &prefix_option("2001:db8::/64", 0, 3_600, 1_800)),
    ] {
        let mut hand = automatic();
        hand.until(Time::from_secs(5));
        let before = hand.interface.routes().count();
        hand.frame(&bad);
        assert_eq!(hand.interface.addresses().count(), 1);
        assert_eq!(hand.interface.routes().count(), before);
    }
    let mut hand = automatic();
    for number in 0..1_000 {
        let prefix = format!("2001:db8:{number:x}::/64");
        hand.frame(&advertisement(
            1_800,
            &prefix_option(&prefix, 0xC0, 3_600, 1_800),
        ));
    }
    assert!(hand.interface.addresses().count() <= ip::addresses::MAX_ADDRESSES);
    assert!(hand.interface.routes().count() <= 20);
}

#[test]
fn redirects_of_the_current_router_are_followed_if_wanted() {
    let far: Ipv6Addr = "2001:db8:1::1".parse().unwrap();
    let better: Ipv6Addr = "fe80::9".parse().unwrap();
    let redirect = |router: Ipv6Addr| {
        let message = Icmpv6::Other {
            kind: 137,
            code: 0,
            rest: 0,
        };
        let mut body = [better.octets(), far.octets()].concat();
        body.extend([2, 1, 2, 0, 0, 0, 0, 9]);
        discovery(router, "fd00::2".parse().unwrap(), message, &body)
    };
    for (wanted, router, moves) in [
        (true, ROUTER, true),
        (true, "fe80::7".parse().unwrap(), false),
        (false, ROUTER, false),
    ] {
        let mut hand = Hand::new(Config {
            redirects: wanted,
            addresses: vec!["fd00::2/64".parse().unwrap(), "fe80::2/64".parse().unwrap()],
            routes: vec![ip::routes::Route::default_via(ROUTER.into())],
            mac: OWN,
            ..Config::default()
        });
        hand.frame(&redirect(router));
        let hop = hand
            .interface
            .routes()
            .find(|route| route.to.contains(far.into()));
        assert_eq!(hop.unwrap().via == Some(better.into()), moves);
    }
}
