//! The page for guests: what a device that waits can reach of it, and nothing else.

use crate::stage::{GATEWAY, ROUTER, SERVER, Stage, mac};
use core::net::Ipv4Addr;
use home::home::NoJournal;
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use node::Time;
use packet::arp::Arp;
use packet::ethernet::Mac;

const PAGE: Ipv4Addr = Ipv4Addr::new(10, 2, 255, 254);
const PORT: u16 = 8480;

/// A frame with a segment of TCP without payload.
fn tcp(macs: (Mac, Mac), from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Vec<u8> {
    let mut frame = [macs.1.0, macs.0.0].concat();
    frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame.extend(from.0.octets());
    frame.extend(to.0.octets());
    let sum: u32 = frame[14..34]
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend(from.1.to_be_bytes());
    frame.extend(to.1.to_be_bytes());
    frame.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xFF, 0xFF, 0, 0, 0, 0]);
    frame
}

struct Guest {
    stage: Stage,
    address: Ipv4Addr,
}

impl Guest {
    fn new(guests: Option<u16>) -> Guest {
        let settings = Settings {
            guests,
            ..Settings::default()
        };
        let mut stage = Stage::new(Home::new(Plan::default(), Box::new(NoJournal)), settings);
        let address = stage.join(2, mac(1)).expect("an address");
        Guest { stage, address }
    }

    /// Whether a segment of the guest reaches the router.
    fn reaches(&mut self, from: Ipv4Addr, to: (Ipv4Addr, u16)) -> bool {
        let frame = tcp((mac(1), GATEWAY), (from, 50_000), to);
        let sent = self.stage.send(2, &frame);
        sent.iter()
            .any(|(port, frame)| *port == 1 && frame[..6] == ROUTER.0 && frame[6..12] == GATEWAY.0)
    }

    /// Whether the router learns where to send packets to the guest.
    fn is_found(&mut self) -> bool {
        let request = Arp::request(ROUTER, Ipv4Addr::new(10, 2, 255, 253), self.address);
        let request = home::frame::arp(Mac::BROADCAST, ROUTER, &request);
        let sent = self.stage.send(1, &request);
        sent.iter()
            .any(|(port, frame)| *port == 1 && frame[..6] == ROUTER.0 && frame[12..14] == [8, 6])
    }

    /// Whether a segment from the router reaches the guest.
    fn gets(&mut self, from: (Ipv4Addr, u16)) -> bool {
        let frame = tcp((ROUTER, GATEWAY), from, (self.address, 50_000));
        let sent = self.stage.send(1, &frame);
        sent.iter()
            .any(|(port, frame)| *port == 2 && frame[..6] == mac(1).0)
    }
}

#[test]
fn a_device_that_waits_reaches_the_page_and_nothing_else() {
    let mut guest = Guest::new(Some(PORT));
    let own = guest.address;
    assert!(guest.is_found());
    // After a packet to another address the switch drops all of the device.
    assert!(!guest.reaches(own, (SERVER, 80)));
    assert!(guest.reaches(own, (PAGE, PORT)) && guest.gets((PAGE, PORT)));
    for to in [
        (PAGE, 8443),
        (PAGE, 22),
        (PAGE, PORT + 1),
        (SERVER, PORT),
        (Ipv4Addr::new(10, 2, 0, 1), PORT),
    ] {
        assert!(!guest.reaches(own, to), "{to:?}");
    }
    assert!(!guest.gets((PAGE, 8443)) && !guest.gets((SERVER, PORT)) && !guest.gets((SERVER, 80)));
    // With the address of another device it would be taken for that one.
    assert!(!guest.reaches(Ipv4Addr::new(10, 2, 0, 10), (PAGE, PORT)));
    assert!(!guest.reaches(Ipv4Addr::UNSPECIFIED, (PAGE, PORT)));
    // It uses no flows, however many segments it sends.
    for _ in 0..100 {
        assert!(guest.reaches(own, (PAGE, PORT)));
    }
    assert_eq!(guest.stage.counter("flows"), 0);
    assert_eq!(guest.stage.counter("guests_page"), 102);
}

#[test]
fn a_decision_holds_for_the_page_too() {
    let mut guest = Guest::new(Some(PORT));
    let own = guest.address;
    guest
        .stage
        .change(mac(1), Change::Admission(Admission::Permitted));
    guest.stage.join(2, mac(1)).expect("an address");
    assert!(guest.reaches(own, (PAGE, PORT)) && guest.gets((PAGE, PORT)));
    assert!(guest.reaches(own, (SERVER, 80)));
    for change in [
        Change::Paused(true),
        Change::Admission(Admission::Denied),
        Change::Blacklisted(true),
    ] {
        guest.stage.change(mac(1), change);
        assert!(!guest.reaches(own, (PAGE, PORT)) && !guest.gets((PAGE, PORT)));
        assert!(!guest.is_found());
        guest.stage.run(Time::from_secs(1));
    }
    // Waiting again, it has no lease before it asks, but its address is still its own.
    guest.stage.change(mac(1), Change::Blacklisted(false));
    guest
        .stage
        .change(mac(1), Change::Admission(Admission::Waiting));
    guest.stage.join(2, mac(1)).expect("an address");
    assert!(guest.reaches(own, (PAGE, PORT)) && !guest.reaches(own, (SERVER, 80)));
}

#[test]
fn without_the_setting_nothing_reaches_the_page() {
    let mut guest = Guest::new(None);
    assert!(!guest.is_found());
    assert!(!guest.reaches(guest.address, (PAGE, PORT)) && !guest.gets((PAGE, PORT)));
}
