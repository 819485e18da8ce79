//! Flows, their entries, and decisions that take effect at once.

use crate::stage::{GATEWAY, ROUTER, SERVER, Stage, mac, udp};
use core::net::{Ipv4Addr, SocketAddrV4};
use home::home::{News, NoJournal};
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use node::Time;
use packet::arp::Arp;
use packet::ethernet::Mac;

const PERMIT: Change = Change::Admission(Admission::Permitted);

fn at(address: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address, port)
}

/// A home with two permitted devices at ports 2 and 3.
fn stage(settings: Settings) -> (Stage, [Ipv4Addr; 2]) {
    let home = Home::new(Plan::default(), Box::new(NoJournal));
    let mut stage = Stage::new(home, settings);
    let addresses = [0, 1].map(|index| {
        let address = stage.join(2 + u32::from(index), mac(index)).expect("one");
        stage.change(mac(index), PERMIT);
        address
    });
    (stage, addresses)
}

fn outward(own: Ipv4Addr, port: u16) -> Vec<u8> {
    udp((mac(0), GATEWAY), at(own, port), at(SERVER, 9), b"text")
}

#[test]
fn a_flow_has_entries_in_both_directions_and_needs_the_program_once() {
    let (mut stage, [own, _]) = stage(Settings::default());
    let before = stage.counter("packet_ins");
    for _ in 0..5 {
        let sent = stage.send(2, &outward(own, 1));
        assert_eq!(sent.len(), 1);
        assert_eq!(
            (sent[0].0, &sent[0].1[..12]),
            (1, &[ROUTER.0, GATEWAY.0].concat()[..])
        );
        let reply = udp((ROUTER, GATEWAY), at(SERVER, 9), at(own, 1), b"text");
        let sent = stage.send(1, &reply);
        assert_eq!((sent[0].0, &sent[0].1[..6]), (2, &mac(0).0[..]));
    }
    assert_eq!(stage.counter("packet_ins"), before + 1);
    // The entries expire when the flow is idle.
    stage.run(Time::from_secs(35));
    assert_eq!(stage.counter("flows"), 0);
}

#[test]
fn between_devices_the_switch_is_a_router() {
    let (mut stage, [own, other]) = stage(Settings::default());
    for _ in 0..2 {
        let frame = udp((mac(0), GATEWAY), at(own, 1), at(other, 2), b"text");
        let sent = stage.send(2, &frame);
        let (port, frame) = &sent[0];
        assert_eq!(
            (*port, &frame[..12]),
            (3, &[mac(1).0, GATEWAY.0].concat()[..])
        );
        assert_eq!(home::frame::hops(frame), 63);
    }
    let mut last = udp((mac(0), GATEWAY), at(own, 1), at(other, 3), b"text");
    home::frame::set_hops(&mut last, 1);
    assert_eq!(stage.send(2, &last), []);
}

#[test]
fn an_evicted_device_sends_and_gets_nothing_at_once() {
    for change in [
        Change::Admission(Admission::Denied),
        Change::Admission(Admission::Waiting),
        Change::Blacklisted(true),
        Change::Forgotten,
    ] {
        let (mut stage, [own, other]) = stage(Settings::default());
        let across = udp((mac(1), GATEWAY), at(other, 1), at(own, 2), b"text");
        let reply = udp((ROUTER, GATEWAY), at(SERVER, 9), at(own, 1), b"text");
        assert_eq!(stage.send(2, &outward(own, 1)).len(), 1);
        assert_eq!(stage.send(3, &across).len(), 1);
        let before = stage.now;
        stage.change(mac(0), change.clone());
        assert_eq!(stage.now, before, "no time passes");
        assert_eq!(stage.send(2, &outward(own, 1)), [], "{change:?}");
        assert_eq!(stage.send(1, &reply), []);
        assert_eq!(stage.send(3, &across), []);
    }
}

#[test]
fn without_the_program_flows_go_on_and_strangers_stay_out() {
    let (mut stage, [own, _]) = stage(Settings::default());
    assert_eq!(stage.send(2, &outward(own, 1)).len(), 1);
    stage.is_connected = false;
    for _ in 0..30 {
        stage.run(Time::from_secs(10));
        assert_eq!(stage.send(2, &outward(own, 1)).len(), 1);
    }
    let stranger = udp((mac(7), GATEWAY), at(own, 1), at(SERVER, 9), b"text");
    assert_eq!(stage.send(4, &stranger), []);
    // After a restart all decisions hold.
    stage.is_connected = true;
    stage.run(Time::from_secs(60));
    assert_eq!(stage.send(2, &outward(own, 1)).len(), 1);
    assert_eq!(stage.send(4, &stranger), []);
}

fn refuges(stage: &Stage) -> usize {
    let home = stage.home.lock();
    let notices = home.notices(0).expect("all are kept");
    notices
        .filter(|notice| matches!(notice.news, News::Refuge(_)))
        .count()
}

#[test]
fn too_many_flows_of_a_device_become_one_entry() {
    let (mut stage, [own, _]) = stage(Settings {
        refuge: 10,
        ..Settings::default()
    });
    for port in 0..2_000 {
        assert_eq!(stage.send(2, &outward(own, port)).len(), 1, "{port}");
    }
    assert_eq!((refuges(&stage), stage.counter("refuges")), (1, 1));
    // Ten flows, the one above the limit, and the router's ARP.
    assert!(stage.counter("packet_ins") < 30);
    assert_eq!(stage.counter("flows"), 2);
    stage.run(Time::from_secs(2));
    let traffic = stage.home.lock().device(mac(0)).expect("known").traffic;
    assert_eq!(
        traffic.sent.0,
        2_000 - 11,
        "the first packet of an entry goes by the program"
    );
}

#[test]
fn a_device_with_denied_domains_has_no_refuge() {
    let (mut stage, [own, _]) = stage(Settings {
        refuge: 10,
        ..Settings::default()
    });
    let rule = Change::Domain("bad.example".into(), Some(false));
    stage.change(mac(0), rule);
    // An address without a name, by a reverse lookup that is not answered.
    assert_eq!(
        stage
            .send(2, &outward(own, 0))
            .iter()
            .filter(|(_, frame)| frame.ends_with(b"text"))
            .count(),
        0
    );
    stage.run(Time::from_secs(4));
    let passed = (1..100).filter(|port| !stage.send(2, &outward(own, *port)).is_empty());
    assert_eq!(passed.count(), 9);
    assert_eq!(stage.counter("refuges"), 0);
    assert!(refuges(&stage) > 0);
}

#[test]
fn traffic_is_counted_for_sender_and_receiver() {
    let (mut stage, [own, other]) = stage(Settings::default());
    for _ in 0..11 {
        stage.send(2, &outward(own, 1));
        let frame = udp((mac(0), GATEWAY), at(own, 1), at(other, 2), b"text");
        stage.send(2, &frame);
    }
    stage.run(Time::from_secs(2));
    let home = stage.home.lock();
    let [sent, received] = [0, 1].map(|index| home.device(mac(index)).expect("known").traffic);
    // The control program handles the first packet of each flow.
    assert_eq!(sent.sent.0, 20);
    assert_eq!(received.received.0, 10);
    assert!(sent.not_looked_up > 0 && sent.not_looked_up < sent.sent.1);
}

#[test]
fn a_device_at_another_port_moves_by_arp() {
    let (mut stage, [own, other]) = stage(Settings::default());
    assert_eq!(stage.send(2, &outward(own, 1)).len(), 1);
    assert_eq!(stage.send(5, &outward(own, 1)), []);
    let mut arp = [Mac::BROADCAST.0, mac(0).0].concat();
    arp.extend([8, 6]);
    let gateway = Ipv4Addr::from(u32::from(own) - 1);
    Arp::request(mac(0), own, gateway).build(&mut arp);
    assert_eq!(stage.send(5, &arp).len(), 1);
    assert_eq!(stage.send(5, &outward(own, 1)).len(), 1);
    let frame = udp((mac(1), GATEWAY), at(other, 1), at(own, 2), b"text");
    assert_eq!(stage.send(3, &frame)[0].0, 5);
}

#[test]
fn the_gateway_answers_pings_and_arp_for_it_alone() {
    let (mut stage, [own, other]) = stage(Settings::default());
    let gateway = Ipv4Addr::from(u32::from(own) - 1);
    for (target, answers) in [(gateway, 1), (other, 1), (own, 0), (SERVER, 0)] {
        let mut arp = [Mac::BROADCAST.0, mac(0).0].concat();
        arp.extend([8, 6]);
        Arp::request(mac(0), own, target).build(&mut arp);
        assert_eq!(stage.send(2, &arp).len(), answers, "{target}");
    }
    // A probe for its own address (RFC 5227).
    let mut arp = [Mac::BROADCAST.0, mac(0).0].concat();
    arp.extend([8, 6]);
    Arp::request(mac(0), Ipv4Addr::UNSPECIFIED, own).build(&mut arp);
    assert_eq!(stage.send(2, &arp), []);
    let mut ping = udp((mac(0), GATEWAY), at(own, 0), at(gateway, 0), &[0; 8]);
    ping[23] = 1;
    home::frame::set_hops(&mut ping, 64);
    ping[34..42].copy_from_slice(&[8, 0, 0xE5, 0xCA, 0x12, 0x34, 0, 1]);
    let sent = stage.send(2, &ping);
    assert_eq!(
        (sent[0].0, sent[0].1[34], &sent[0].1[36..38]),
        (2, 0, &[0xED, 0xCA][..])
    );
}

#[test]
fn a_fragment_follows_the_first_one() {
    let (mut stage, [own, _]) = stage(Settings::default());
    let mut first = udp((mac(0), GATEWAY), at(own, 1), at(SERVER, 9), &[7; 64]);
    first[20] = 0x20;
    home::frame::set_hops(&mut first, 64);
    let mut later = first.clone();
    later[20..22].copy_from_slice(&[0, 9]);
    home::frame::set_hops(&mut later, 64);
    assert_eq!(stage.send(2, &first).len(), 1);
    assert_eq!(stage.send(2, &later).len(), 1);
    assert_eq!(stage.send(2, &later).len(), 1);
}

/// A query of multicast DNS for printers.
const MDNS: &[u8] = b"\0\0\0\0\0\x01\0\0\0\0\0\0\x04_ipp\x04_tcp\x05local\0\0\x0c\0\x01";

#[test]
fn multicast_dns_reaches_permitted_devices_from_their_gateways() {
    let (mut stage, [own, other]) = stage(Settings::default());
    stage.join(4, mac(2)).expect("an address");
    let group = Ipv4Addr::new(224, 0, 0, 251);
    let to = Mac([1, 0, 0x5E, 0, 0, 251]);
    let frame = udp((mac(0), to), at(own, 5353), at(group, 5353), MDNS);
    let sent = stage.send(2, &frame);
    assert_eq!(sent.len(), 1, "only the permitted one");
    let (port, copy) = &sent[0];
    assert_eq!((*port, &copy[..6]), (3, &mac(1).0[..]));
    assert_eq!(copy[26..30], (u32::from(other) - 1).to_be_bytes());
    assert_eq!(home::frame::hops(copy), 255);
    assert_eq!(&copy[42..], MDNS);
}
