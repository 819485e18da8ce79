//! Interception of DNS, and flows judged by names.

use crate::stage::{GATEWAY, SERVER, Sent, Stage, mac, question, udp};
use core::net::{Ipv4Addr, SocketAddrV4};
use home::dns::Denied;
use home::home::{News, NoJournal};
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use node::Time;

const PERMIT: Change = Change::Admission(Admission::Permitted);
/// An address that answers no query.
const OTHER: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);

fn at(address: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address, port)
}

/// A home with permitted devices at ports 2 and 3; the first may not reach `bad.example`.
fn stage(settings: Settings) -> (Stage, [Ipv4Addr; 2]) {
    let home = Home::new(Plan::default(), Box::new(NoJournal));
    let mut stage = Stage::new(home, settings);
    let addresses = [0, 1].map(|index| {
        let address = stage.join(2 + u32::from(index), mac(index)).expect("one");
        stage.change(mac(index), PERMIT);
        address
    });
    stage.change(mac(0), Change::Domain("bad.example".into(), Some(false)));
    (stage, addresses)
}

/// Queries a name. Returns the frames that leave the switch.
fn ask(stage: &mut Stage, index: u16, own: Ipv4Addr, name: &str) -> Vec<Sent> {
    let frame = udp(
        (mac(index), GATEWAY),
        at(own, 4444),
        at(OTHER, 53),
        &question(name, 1),
    );
    stage.send(2 + u32::from(index), &frame)
}

fn code(sent: &[Sent]) -> u8 {
    sent[0].1[45] & 15
}

/// Whether a datagram of a device to an address leaves.
fn passes(stage: &mut Stage, index: u16, own: Ipv4Addr, to: Ipv4Addr) -> bool {
    let frame = udp((mac(index), GATEWAY), at(own, 7), at(to, 443), b"text");
    let sent = stage.send(2 + u32::from(index), &frame);
    sent.iter()
        .any(|(port, frame)| *port == 1 && frame.ends_with(b"text"))
}

#[test]
fn queries_are_answered_in_the_name_of_the_server_that_was_asked() {
    let (mut stage, [own, _]) = stage(Settings::default());
    let sent = ask(&mut stage, 0, own, "good.example");
    let sent = stage.reply(&sent[0], 1, &SERVER.octets());
    let (port, frame) = &sent[0];
    assert_eq!((*port, &frame[..6]), (2, &mac(0).0[..]));
    assert_eq!(
        frame[26..36],
        [
            8,
            8,
            8,
            8,
            own.octets()[0],
            own.octets()[1],
            own.octets()[2],
            own.octets()[3],
            0,
            53
        ]
    );
    assert_eq!(frame[42..44], [0x12, 0x34]);
    // The second time from the cache.
    let sent = ask(&mut stage, 0, own, "good.example");
    assert_eq!((sent[0].0, code(&sent)), (2, 0));
}

#[test]
fn a_denied_domain_does_not_exist_or_is_refused() {
    for (denied, expected) in [(Denied::Nxdomain, 3), (Denied::Refused, 5)] {
        let (mut stage, [own, other]) = stage(Settings {
            denied,
            ..Settings::default()
        });
        for name in ["bad.example", "WWW.Bad.Example", "a.b.bad.example"] {
            let sent = ask(&mut stage, 0, own, name);
            assert_eq!((sent[0].0, code(&sent)), (2, expected), "{name}");
        }
        // For the device alone.
        assert_eq!(ask(&mut stage, 1, other, "bad.example")[0].0, 1);
        let home = stage.home.lock();
        let notices = home.notices(0).expect("all are kept");
        let denied = notices.filter(|notice| matches!(notice.news, News::DomainDenied(_)));
        assert_eq!(denied.count(), 1, "notices are not a flood");
    }
}

#[test]
fn a_flow_to_an_address_that_others_looked_up_under_a_denied_name_is_dropped() {
    let (mut stage, [own, other]) = stage(Settings::default());
    let sent = ask(&mut stage, 1, other, "www.bad.example");
    stage.reply(&sent[0], 1, &SERVER.octets());
    assert!(passes(&mut stage, 1, other, SERVER));
    assert!(!passes(&mut stage, 0, own, SERVER));
    // Another site at the same address.
    let sent = ask(&mut stage, 0, own, "good.example");
    stage.reply(&sent[0], 1, &SERVER.octets());
    stage.run(Time::from_secs(31));
    assert!(passes(&mut stage, 0, own, SERVER));
}

#[test]
fn a_flow_to_an_address_that_was_not_looked_up_waits_for_its_name() {
    for (name, may_pass) in [
        ("\x03www\x03bad\x07example\0", false),
        ("\x03www\x04good\x07example\0", true),
    ] {
        let (mut stage, [own, other]) = stage(Settings::default());
        assert!(
            passes(&mut stage, 1, other, SERVER),
            "a device without denied domains"
        );
        let frame = udp((mac(0), GATEWAY), at(own, 7), at(SERVER, 443), b"text");
        let sent = stage.send(2, &frame);
        assert_eq!(sent.len(), 1);
        assert!(sent[0].1.windows(8).any(|part| part == b"\x07in-addr"));
        let sent = stage.reply(&sent[0], 12, name.as_bytes());
        assert_eq!(
            sent.iter().any(|(_, frame)| frame.ends_with(b"text")),
            may_pass
        );
        assert_eq!(passes(&mut stage, 0, own, SERVER), may_pass);
    }
}

#[test]
fn a_decision_about_a_domain_ends_its_flows_at_once() {
    let (mut stage, [own, _]) = stage(Settings::default());
    let sent = ask(&mut stage, 0, own, "ads.example");
    stage.reply(&sent[0], 1, &SERVER.octets());
    assert!(passes(&mut stage, 0, own, SERVER));
    stage.change(mac(0), Change::Domain("ads.example".into(), Some(false)));
    assert!(!passes(&mut stage, 0, own, SERVER));
    stage.change(mac(0), Change::Domain("ads.example".into(), None));
    assert!(passes(&mut stage, 0, own, SERVER));
}

#[test]
fn a_device_that_may_reach_some_domains_only_reaches_no_other_address() {
    let (mut stage, [own, _]) = stage(Settings::default());
    stage.change(mac(0), Change::OthersDenied(true));
    stage.change(mac(0), Change::Domain("good.example".into(), Some(true)));
    assert!(!passes(&mut stage, 0, own, SERVER));
    let sent = ask(&mut stage, 0, own, "other.example");
    assert_eq!(code(&sent), 3);
    let sent = ask(&mut stage, 0, own, "www.good.example");
    stage.reply(&sent[0], 1, &SERVER.octets());
    stage.run(Time::from_secs(31));
    assert!(passes(&mut stage, 0, own, SERVER));
}

#[test]
fn an_address_of_the_home_for_a_name_outside_is_refused() {
    let (mut stage, [own, other]) = stage(Settings::default());
    let sent = ask(&mut stage, 0, own, "rebind.example");
    let sent = stage.reply(&sent[0], 1, &other.octets());
    assert_eq!((sent[0].0, code(&sent)), (2, 5));
    // From the cache, too.
    let sent = ask(&mut stage, 0, own, "rebind.example");
    assert_eq!((sent[0].0, code(&sent)), (2, 5));
    assert_eq!(stage.counter("dns_rebinding"), 2);
}

#[test]
fn dns_by_tcp_is_open_to_devices_without_denied_domains_only() {
    let (mut stage, [own, other]) = stage(Settings::default());
    for (index, address, expected) in [(0, own, 0), (1, other, 1)] {
        let mut syn = udp(
            (mac(index), GATEWAY),
            at(address, 999),
            at(OTHER, 53),
            &[0; 12],
        );
        syn[23] = 6;
        home::frame::set_hops(&mut syn, 64);
        let sent = stage.send(2 + u32::from(index), &syn);
        assert_eq!(sent.len(), expected);
    }
}

#[test]
fn a_waiting_device_gets_no_names() {
    let (mut stage, _) = stage(Settings::default());
    let own = stage.join(4, mac(2)).expect("an address");
    assert_eq!(ask(&mut stage, 2, own, "good.example"), []);
}
