//! IPv6: prefixes of devices, decisions, and attacks.

use crate::stage::{GATEWAY, ROUTER, Sent, Stage, mac, question};
use core::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use dhcp::datagram;
use dhcp::leases::Range;
use dhcp::v6::message::{
    self, ALL_SERVERS, CLIENT_PORT, Item, Kind, Message, Resource, SERVER_PORT, duid, option,
};
use dhcp::v6::policy::{Grant, Policy, Request};
use dhcp::v6::server::{Arrival, Server, Settings as ServerSettings};
use home::dhcpv6::Dhcpv6;
use home::discovery::link_local;
use home::home::{News, NoJournal};
use home::networks::{Network, Networks};
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use ip::discovery::{Message as Discovery, request, router_solicitation};
use ip::header;
use node::Time;
use packet::ethernet::Mac;
use std::borrow::Cow;

const PERMIT: Change = Change::Admission(Admission::Permitted);
const DENY: Change = Change::Admission(Admission::Denied);

fn v6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn server() -> Ipv6Addr {
    v6("2001:db8:53::80")
}

/// Delegates one prefix to any client.
#[derive(Debug)]
struct One {
    prefix: Ipv6Addr,
}

impl Policy for One {
    fn decide(&mut self, _: Time, _: &Request<'_>) -> Result<Grant<'_>, &'static str> {
        Ok(Grant {
            addresses: Cow::Borrowed(&[]),
            prefixes: Cow::Owned(vec![Range::one(self.prefix.into())]),
            length: 56,
            on_link: 128,
            preferred: Time::from_secs(3600),
            valid: Time::from_secs(7200),
            renewal: Some(Time::from_secs(15)),
            options: Cow::Borrowed(&[]),
        })
    }
}

/// The router, which delegates a prefix.
struct Upstream(Server<One>);

impl Upstream {
    fn new(prefix: &str) -> Upstream {
        let prefix = v6(prefix);
        Upstream(Server::new(
            One { prefix },
            ServerSettings::new(duid(ROUTER.0)),
        ))
    }

    /// Advances time by seconds, and answers the home's messages for its prefix. Returns the other frames that left the switch.
    fn run(&mut self, stage: &mut Stage, seconds: u64) -> Vec<Sent> {
        let mut others = Vec::new();
        for _ in 0..seconds {
            stage.run(Time::from_secs(1));
            let mut sent = stage.take_sent();
            while let Some((port, frame)) = (!sent.is_empty()).then(|| sent.remove(0)) {
                let message = datagram::read(&frame, SERVER_PORT).filter(|_| port == 1);
                let Some(message) = message else {
                    others.push((port, frame));
                    continue;
                };
                let arrival = Arrival {
                    port: 0,
                    link: None,
                    peer: link_local(GATEWAY),
                    to_group: true,
                };
                let mut reply = Vec::new();
                let answer = self
                    .0
                    .handle(stage.now, &arrival, message.payload, &mut reply);
                answer.expect("a good message").expect("an answer");
                let from = socket(link_local(ROUTER), SERVER_PORT);
                let to = socket(link_local(GATEWAY), CLIENT_PORT);
                sent.extend(stage.send(1, &udp((ROUTER, GATEWAY), from, to, &reply)));
            }
        }
        others
    }
}

fn socket(address: Ipv6Addr, port: u16) -> SocketAddr {
    SocketAddrV6::new(address, port, 0, 0).into()
}

fn udp(macs: (Mac, Mac), from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let mut frames = home::frame::Frames::default();
    frames.datagram(macs, from, to, payload).to_vec()
}

/// A home with two permitted devices at ports 2 and 3, slots 1 and 2, and a prefix.
fn stage(settings: Settings) -> (Stage, Upstream) {
    let home = Home::new(Plan::default(), Box::new(NoJournal));
    let mut stage = Stage::new(home, settings);
    for index in 0..2 {
        stage
            .join(2 + u32::from(index), mac(index))
            .expect("an address");
        stage.change(mac(index), PERMIT);
    }
    let mut upstream = Upstream::new("2001:db8:100::");
    upstream.run(&mut stage, 3);
    assert_eq!(stage.counter("prefixes"), 1);
    (stage, upstream)
}

/// An address of a device: number `last` of the link of a slot.
fn own(slot: u16, last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0x100, 2 * slot, 0, 0, 0, last)
}

fn outward(from: Ipv6Addr, port: u16) -> Vec<u8> {
    udp(
        (mac(0), GATEWAY),
        socket(from, port),
        socket(server(), 9),
        b"text",
    )
}

fn solicitation(mac: Mac) -> Vec<u8> {
    let mut frame = Vec::new();
    router_solicitation(mac.0, link_local(mac), &mut frame);
    frame
}

/// Prefixes of the advertisements among frames: port, MAC address, prefix, valid lifetime, lifetime of the router.
fn advertised(sent: &[Sent]) -> Vec<(u32, Mac, Ipv6Addr, u32, u64)> {
    let mut all = Vec::new();
    for (port, frame) in sent {
        let packet = header::read(frame);
        let Some(Discovery::Router(router)) = packet.and_then(|one| Discovery::read(frame, &one))
        else {
            continue;
        };
        let to = Mac(*frame.first_chunk().expect("a frame"));
        let lifetime = router.lifetime.as_ns() / 1_000_000_000;
        let prefixes = router.prefixes.iter().flatten();
        all.extend(prefixes.map(|one| (*port, to, one.address, one.valid, lifetime)));
    }
    all
}

#[test]
fn a_permitted_device_is_advertised_a_link_of_its_own() {
    let home = Home::new(Plan::default(), Box::new(NoJournal));
    let mut stage = Stage::new(home, Settings::default());
    let mut upstream = Upstream::new("2001:db8:100::");
    upstream.run(&mut stage, 3);
    // A device without IPv4 is found by its solicitation, and waits.
    assert_eq!(stage.send(2, &solicitation(mac(0))), []);
    assert!(
        !stage
            .home
            .lock()
            .device(mac(0))
            .expect("found")
            .is_admitted()
    );
    stage.change(mac(0), PERMIT);
    let sent = stage.take_sent();
    assert_eq!(advertised(&sent), [(2, mac(0), own(1, 0), 5400, 1800)]);
    let frame = &sent[0].1;
    // L clear, A set, P set (RFC 9762); M and O.
    let prefix = frame
        .windows(3)
        .position(|bytes| bytes == [3, 4, 64])
        .expect("a prefix");
    assert_eq!((frame[prefix + 3], frame[54 + 5]), (0x50, 0xC0));
    // It asks: once a second has an answer.
    stage.run(Time::from_secs(1));
    let answers = (0..50).flat_map(|_| stage.send(2, &solicitation(mac(0))));
    assert_eq!(advertised(&answers.collect::<Vec<_>>()).len(), 1);
}

#[test]
fn a_flow_has_entries_in_both_directions_and_needs_the_program_once() {
    let (mut stage, _) = stage(Settings::default());
    let before = stage.counter("packet_ins");
    for _ in 0..5 {
        let sent = stage.send(2, &outward(own(1, 7), 1));
        assert_eq!(
            (sent[0].0, &sent[0].1[..12]),
            (1, &[ROUTER.0, GATEWAY.0].concat()[..])
        );
        let reply = udp(
            (ROUTER, GATEWAY),
            socket(server(), 9),
            socket(own(1, 7), 1),
            b"text",
        );
        let sent = stage.send(1, &reply);
        assert_eq!((sent[0].0, &sent[0].1[..6]), (2, &mac(0).0[..]));
    }
    assert_eq!(stage.counter("packet_ins"), before + 1);
    assert_eq!(
        stage.home.lock().device(mac(0)).expect("known").addresses,
        [own(1, 7)]
    );
}

#[test]
fn one_entry_can_stand_for_all_flows_of_a_device() {
    let (mut stage, _) = stage(Settings {
        exact: false,
        ..Settings::default()
    });
    let before = stage.counter("packet_ins");
    for last in 2..50 {
        assert_eq!(stage.send(2, &outward(own(1, last), last))[0].0, 1);
        let delegated = udp(
            (mac(0), GATEWAY),
            socket(v6("2001:db8:100:3::9"), last),
            socket(server(), 9),
            b"text",
        );
        assert_eq!(stage.send(2, &delegated)[0].0, 1);
    }
    assert_eq!(stage.counter("packet_ins"), before + 1);
    // The entry is for its own network alone.
    assert_eq!(stage.send(2, &outward(own(2, 1), 1)), []);
    let across = udp(
        (mac(0), GATEWAY),
        socket(own(1, 7), 1),
        socket(own(2, 1), 2),
        b"text",
    );
    assert_eq!(stage.send(2, &across)[0].0, 3);
}

#[test]
fn between_devices_the_switch_is_a_router() {
    let (mut stage, _) = stage(Settings::default());
    for _ in 0..2 {
        let frame = udp(
            (mac(0), GATEWAY),
            socket(own(1, 7), 1),
            socket(own(2, 8), 2),
            b"text",
        );
        let sent = stage.send(2, &frame);
        assert_eq!(
            (sent[0].0, &sent[0].1[..12]),
            (3, &[mac(1).0, GATEWAY.0].concat()[..])
        );
        assert_eq!(home::frame::hops(&sent[0].1), 63);
    }
    stage.change(mac(1), DENY);
    let frame = udp(
        (mac(0), GATEWAY),
        socket(own(1, 7), 1),
        socket(own(2, 8), 2),
        b"text",
    );
    assert_eq!(stage.send(2, &frame), []);
}

#[test]
fn an_evicted_device_sends_and_gets_nothing_at_once() {
    for change in [
        DENY,
        Change::Admission(Admission::Waiting),
        Change::Blacklisted(true),
        Change::Forgotten,
    ] {
        let (mut stage, _) = stage(Settings::default());
        assert_eq!(stage.send(2, &outward(own(1, 7), 1)).len(), 1);
        stage.change(mac(0), change.clone());
        let last = advertised(&stage.take_sent());
        if change != Change::Forgotten {
            assert_eq!(last, [(2, mac(0), own(1, 0), 0, 0)], "{change:?}");
        }
        assert_eq!(stage.send(2, &outward(own(1, 7), 1)), [], "{change:?}");
        let reply = udp(
            (ROUTER, GATEWAY),
            socket(server(), 9),
            socket(own(1, 7), 1),
            b"text",
        );
        assert_eq!(stage.send(1, &reply), [], "{change:?}");
        stage.run(Time::from_secs(2));
        assert_eq!(stage.send(2, &solicitation(mac(0))), [], "{change:?}");
    }
}

#[test]
fn a_new_prefix_replaces_the_old_one_at_all_devices() {
    let (mut stage, mut upstream) = stage(Settings::default());
    assert_eq!(stage.send(2, &outward(own(1, 7), 1)).len(), 1);
    upstream.0.policy().prefix = v6("2001:db8:200::");
    let sent = upstream.run(&mut stage, 20);
    let advertised = advertised(&sent);
    for (port, slot) in [(2, 1), (3, 2)] {
        let new = Ipv6Addr::new(0x2001, 0xDB8, 0x200, 2 * slot, 0, 0, 0, 0);
        let of_port = advertised.iter().filter(|one| one.0 == port);
        let lifetimes = |prefix| {
            of_port
                .clone()
                .filter(|one| one.2 == prefix)
                .map(|one| one.3)
                .collect::<Vec<_>>()
        };
        assert!(lifetimes(own(slot, 0)).contains(&0), "{advertised:?}");
        assert!(lifetimes(new).iter().all(|valid| *valid > 0) && !lifetimes(new).is_empty());
    }
    assert_eq!(stage.send(2, &outward(own(1, 7), 1)), []);
    assert_eq!(stage.counter("dropped_withdrawn_prefix"), 1);
    assert_eq!(stage.send(2, &outward(v6("2001:db8:200:2::7"), 1)).len(), 1);
}

#[test]
fn without_a_prefix_a_local_network_reaches_the_home_alone() {
    let mut home = Home::new(Plan::default(), Box::new(NoJournal));
    let local = Network::new(v6("fd00:1::"), 48, Time::MAX, Time::MAX).expect("a network");
    home.networks.set(local);
    let mut stage = Stage::new(home, Settings::default());
    for index in 0..2 {
        stage
            .join(2 + u32::from(index), mac(index))
            .expect("an address");
        stage.change(mac(index), PERMIT);
    }
    stage.run(Time::from_secs(2));
    let sent = stage.send(2, &solicitation(mac(0)));
    assert_eq!(
        advertised(&sent),
        [(2, mac(0), v6("fd00:1:0:2::"), 5400, 0)]
    );
    let frame = udp(
        (mac(0), GATEWAY),
        socket(v6("fd00:1:0:2::7"), 1),
        socket(v6("fd00:1:0:4::7"), 2),
        b"text",
    );
    assert_eq!(stage.send(2, &frame)[0].0, 3);
}

#[test]
fn stolen_addresses_and_rogue_routers_are_dropped_and_counted() {
    let (mut stage, _) = stage(Settings::default());
    // Sources: another device's, the gateway's, one outside.
    for source in [own(2, 7), own(1, 1), v6("2001:db8:53::1"), v6("::1")] {
        assert_eq!(stage.send(2, &outward(source, 1)), [], "{source}");
    }
    assert_eq!(stage.counter("dropped_spoofed"), 4);
    let notices = stage
        .home
        .lock()
        .notices(0)
        .expect("kept")
        .filter(|notice| matches!(notice.news, News::Spoofed(_)))
        .count();
    assert_eq!(notices, 4);
    // The device at port 2 wants addresses of the other and of the gateway: both are defended.
    let unspecified = Ipv6Addr::UNSPECIFIED.into();
    for target in [own(2, 7), own(1, 1), link_local(GATEWAY)] {
        let mut probe = Vec::new();
        request(mac(0).0, unspecified, target.into(), None, &mut probe);
        let sent = stage.send(2, &probe);
        let packet = header::read(&sent[0].1).expect("a packet");
        let answer = Discovery::read(&sent[0].1, &packet);
        assert!(
            matches!(answer, Some(Discovery::Advertisement { target: at, .. }) if at == target)
        );
    }
    // Its own are not.
    let mut probe = Vec::new();
    request(mac(0).0, unspecified, own(1, 7).into(), None, &mut probe);
    assert_eq!(stage.send(2, &probe), []);
    // Advertisements of a router, of another one's address, and of a DHCPv6 server.
    let rogue = home::discovery::frame(
        mac(0),
        Mac::BROADCAST,
        &dhcp::advertisement::Advertisement::default(),
    );
    assert_eq!(stage.send(2, &rogue), []);
    assert_eq!(stage.counter("dropped_rogue_router_advertisement"), 1);
    let stolen = home::frame::six::advertisement(mac(0), own(2, 7), mac(1), Some(own(2, 9)));
    assert_eq!(stage.send(2, &stolen), []);
    let macs = (mac(0), mac(1));
    let reply = udp(
        macs,
        socket(link_local(mac(0)), SERVER_PORT),
        socket(link_local(mac(1)), CLIENT_PORT),
        &[7, 0, 0, 1],
    );
    assert_eq!(stage.send(2, &reply), []);
    assert_eq!(stage.counter("dropped_rogue_DHCPv6"), 1);
    // Past the gateway, to the MAC address of the other.
    let direct = udp(
        (mac(0), mac(1)),
        socket(own(1, 7), 1),
        socket(own(2, 7), 2),
        b"text",
    );
    assert_eq!(stage.send(2, &direct), []);
}

#[test]
fn the_gateway_answers_solicitations_and_pings() {
    let (mut stage, _) = stage(Settings::default());
    for target in [link_local(GATEWAY), own(1, 1)] {
        let mut ask = Vec::new();
        request(
            mac(0).0,
            link_local(mac(0)).into(),
            target.into(),
            None,
            &mut ask,
        );
        let sent = stage.send(2, &ask);
        let packet = header::read(&sent[0].1).expect("a packet");
        assert!(header::is_valid(&sent[0].1, &packet));
        // Router, solicited, override: without the first a host would no longer use the router.
        assert_eq!(sent[0].1[54 + 4], 0xE0);
    }
}

#[test]
fn scans_fill_neither_the_switch_nor_the_memory() {
    let (mut stage, _) = stage(Settings {
        refuge: 100,
        ..Settings::default()
    });
    for last in 0..1500 {
        let from = udp(
            (ROUTER, GATEWAY),
            socket(server(), 9),
            socket(own(1, last + 2), 1),
            b"text",
        );
        stage.send(1, &from);
        let mut ask = Vec::new();
        request(
            mac(1).0,
            link_local(mac(1)).into(),
            own(1, last).into(),
            None,
            &mut ask,
        );
        assert_eq!(stage.send(3, &ask), []);
        let mut probe = Vec::new();
        request(
            mac(1).0,
            Ipv6Addr::UNSPECIFIED.into(),
            own(2, last + 2).into(),
            None,
            &mut probe,
        );
        stage.send(3, &probe);
    }
    assert!(stage.counter("flows") <= 202, "{}", stage.counter("flows"));
    let home = stage.home.lock();
    assert_eq!(
        home.device(mac(1)).expect("known").addresses.len(),
        home::home::MAX_ADDRESSES
    );
}

/// A message of a DHCPv6 client that wants an address and a prefix.
fn wants(kind: Kind, duid: &[u8], iaid: u32, server: Option<&[u8]>) -> Vec<u8> {
    let mut message = Vec::new();
    message::begin(&mut message, kind, 7);
    message::write(&mut message, option::CLIENT_ID, |out| out.extend(duid));
    message::write(&mut message, option::REQUEST, |out| out.extend([0, 23]));
    match server {
        Some(server) => message::write(&mut message, option::SERVER_ID, |out| out.extend(server)),
        None => message::write(&mut message, option::RAPID_COMMIT, |_| {}),
    }
    for resource in [Resource::Address, Resource::Prefix] {
        message::write_association(&mut message, resource, iaid, [0; 2], |_| {});
    }
    message
}

fn items(reply: &[u8]) -> Vec<Item> {
    let message = Message::new(reply).expect("a message");
    message
        .options
        .associations()
        .flat_map(|one| one.items().collect::<Vec<_>>())
        .collect()
}

#[test]
fn a_device_that_asks_has_a_prefix_and_an_address_by_dhcpv6() {
    let (mut stage, _) = stage(Settings::default());
    let from = socket(link_local(mac(0)), CLIENT_PORT);
    let ask = |message: &[u8]| {
        udp(
            (mac(0), Mac([0x33, 0x33, 0, 1, 0, 2])),
            from,
            socket(ALL_SERVERS, SERVER_PORT),
            message,
        )
    };
    let solicit = wants(Kind::Solicit, &duid(mac(0).0), 1, None);
    let sent = stage.send(2, &ask(&solicit));
    let reply = datagram::read(&sent[0].1, CLIENT_PORT).expect("an answer");
    let items: Vec<_> = items(reply.payload)
        .iter()
        .map(|item| (item.address, item.length))
        .collect();
    assert_eq!(items, [(own(1, 2), 128), (v6("2001:db8:100:3::"), 64)]);
    let message = Message::new(reply.payload).expect("a message");
    assert_eq!(
        message.options.find(option::DNS),
        Some(&own(1, 1).octets()[..])
    );
    // A denied device gets no answer.
    stage.change(mac(0), DENY);
    stage.take_sent();
    assert_eq!(stage.send(2, &ask(&solicit)), []);
    assert_eq!(stage.counter("dhcpv6_denied"), 1);
}

#[test]
fn a_flood_of_identifiers_takes_two_leases() {
    let mut networks = Networks::default();
    let network = Network::new(v6("2001:db8:100::"), 56, Time::MAX, Time::MAX).expect("a network");
    networks.set(network);
    let mut server = Dhcpv6::new(GATEWAY);
    let peer = (link_local(mac(0)), true);
    for number in 0..5_000_u32 {
        let message = wants(Kind::Solicit, &number.to_be_bytes(), number, None);
        let port = server.handle(Time::ZERO, &networks, 1, peer, &message);
        assert_eq!(port, Some(CLIENT_PORT));
        assert_eq!(items(&server.reply).len(), 2);
    }
    assert_eq!(server.len(), 2);
}

#[test]
fn a_denied_domain_is_denied_over_ipv6_too() {
    let (mut stage, _) = stage(Settings::default());
    stage.change(mac(0), Change::Domain("ads.example".into(), Some(false)));
    let ask = |name| {
        udp(
            (mac(0), GATEWAY),
            socket(own(1, 7), 4000),
            socket(own(1, 1), 53),
            &question(name, 28),
        )
    };
    // A denied name has its answer at once.
    let sent = stage.send(2, &ask("ads.example"));
    let response = datagram::read(&sent[0].1, 4000).expect("a response");
    assert_eq!(response.payload[3] & 15, 3);
    // Another one goes to the server; the flow to its address is permitted.
    let query = stage.send(2, &ask("www.example"));
    let sent = stage.reply(&query[0], 28, &server().octets());
    let response = datagram::read(&sent[0].1, 4000).expect("a response");
    assert_eq!(
        (response.source, response.payload[3] & 15),
        (socket(own(1, 1), 53), 0)
    );
    assert_eq!(stage.send(2, &outward(own(1, 7), 1))[0].0, 1);
    // An address that was not looked up is looked up in reverse: the packet waits, and its name denies it.
    let other = socket(v6("2001:db8:66::66"), 9);
    let frame = udp((mac(0), GATEWAY), socket(own(1, 7), 1), other, b"text");
    let query = stage.send(2, &frame);
    assert_eq!(query.len(), 1);
    assert!(
        query[0]
            .1
            .windows(9)
            .any(|bytes| bytes == b"\x03ip6\x04arpa")
    );
    assert_eq!(stage.reply(&query[0], 12, b"\x03ads\x07example\0"), []);
    assert_eq!(stage.send(2, &frame), []);
    assert_eq!(stage.counter("dropped_denied_domain"), 1);
}

#[test]
fn a_home_without_ipv6_drops_it_in_the_switch() {
    let home = Home::new(Plan::default(), Box::new(NoJournal));
    let mut stage = Stage::new(
        home,
        Settings {
            ipv6: false,
            ..Settings::default()
        },
    );
    let before = stage.counter("packet_ins");
    assert_eq!(stage.send(2, &solicitation(mac(0))), []);
    stage.run(Time::from_secs(2));
    assert_eq!(
        (stage.counter("packet_ins"), stage.counter("ipv6_dropped")),
        (before, 1)
    );
}
