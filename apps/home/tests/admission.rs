//! Random joins, decisions, packets and attacks, against a small model of who may send to whom.

use crate::stage::{GATEWAY, PORTS, ROUTER, SERVER, Sent, Stage, mac, udp};
use core::net::{Ipv4Addr, SocketAddrV4};
use dhcp::v4::message::Kind;
use home::home::NoJournal;
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use node::Time;
use node::random::Random;
use packet::arp::Arp;
use packet::ethernet::Mac;

/// A device in the test's model.
#[derive(Clone, Debug)]
struct Guest {
    mac: Mac,
    port: u32,
    address: Option<Ipv4Addr>,
    admission: Admission,
    blacklisted: bool,
    is_decided: bool,
}

impl Guest {
    fn is_admitted(&self) -> bool {
        self.address.is_some() && self.admission == Admission::Permitted && !self.blacklisted
    }
}

/// The ports and receivers of the frames that contain this text.
fn places(sent: &[Sent], text: &[u8]) -> Vec<(u32, Mac)> {
    let with_text = sent
        .iter()
        .filter(|(_, frame)| frame.windows(text.len()).any(|part| part == text));
    with_text
        .map(|(port, frame)| (*port, Mac(*frame.first_chunk().expect("a frame"))))
        .collect()
}

fn at(address: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address, port)
}

struct Run {
    stage: Stage,
    random: Random,
    guests: Vec<Guest>,
    step: u64,
    delivered: u64,
    refused: u64,
}

impl Run {
    fn new(seed: u64, settings: Settings) -> Run {
        // Two guests at each port but that of the router, as behind a switch without OpenFlow.
        let guests = (0..10).map(|index| Guest {
            mac: mac(index),
            port: 2 + u32::from(index) % u32::from(PORTS - 1),
            address: None,
            admission: Admission::Waiting,
            blacklisted: false,
            is_decided: false,
        });
        Run {
            stage: Stage::new(Home::new(Plan::default(), Box::new(NoJournal)), settings),
            random: Random::new(seed),
            guests: guests.collect(),
            step: 0,
            delivered: 0,
            refused: 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end as u64) as usize
    }

    fn text(&self) -> Vec<u8> {
        format!("step {:016}", self.step).into_bytes()
    }

    /// Sends a datagram of a guest, and checks by which port it leaves.
    fn check(&mut self, from_port: u32, frame: &[u8], expected: Vec<(u32, Mac)>) {
        let text = self.text();
        let sent = self.stage.send(from_port, frame);
        let mut found = places(&sent, &text);
        let mut expected = expected;
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "step {}: {:#?}", self.step, self.guests);
        match expected.is_empty() {
            true => self.refused += 1,
            false => self.delivered += 1,
        }
    }

    /// Removes the guests that a flood evicted. Those with a decision must remain.
    fn forget_evicted(&mut self) {
        let home = self.stage.home.lock();
        for guest in &mut self.guests {
            if guest.address.is_some() && home.device(guest.mac).is_none() {
                assert!(!guest.is_decided, "step {}: {guest:?}", self.step);
                guest.address = None;
            }
        }
    }

    fn one_step(&mut self) {
        self.step += 1;
        self.forget_evicted();
        let (index, other) = (self.below(self.guests.len()), self.below(self.guests.len()));
        let (guest, peer) = (self.guests[index].clone(), self.guests[other].clone());
        let text = self.text();
        let own = guest.address.unwrap_or(Ipv4Addr::new(10, 2, 0, 222));
        let ports = (4000 + self.below(20) as u16, 5000 + self.below(3) as u16);
        let macs = (guest.mac, GATEWAY);
        match self.below(14) {
            0 | 1 => self.join(index),
            2 => self.decide(index),
            // To the Internet.
            3 | 4 => {
                let frame = udp(macs, at(own, ports.0), at(SERVER, ports.1), &text);
                let expected = guest.is_admitted().then_some((1, ROUTER));
                self.check(guest.port, &frame, expected.into_iter().collect());
            }
            // To another device.
            5 | 6 => {
                let Some(to) = peer.address.filter(|_| index != other) else {
                    return;
                };
                let frame = udp(macs, at(own, ports.0), at(to, ports.1), &text);
                let may = guest.is_admitted() && peer.is_admitted();
                let expected = may.then_some((peer.port, peer.mac));
                self.check(guest.port, &frame, expected.into_iter().collect());
            }
            // From the Internet.
            7 => {
                let frame = udp(
                    (ROUTER, GATEWAY),
                    at(SERVER, ports.1),
                    at(own, ports.0),
                    &text,
                );
                let expected = guest.is_admitted().then_some((guest.port, guest.mac));
                self.check(1, &frame, expected.into_iter().collect());
            }
            // With the IP address of another device, or one that no device has.
            8 => {
                let stolen = peer.address.filter(|_| index != other);
                let from = stolen.unwrap_or(Ipv4Addr::new(10, 2, 9, self.step as u8));
                let frame = udp(macs, at(from, ports.0), at(SERVER, ports.1), &text);
                self.check(guest.port, &frame, Vec::new());
            }
            // With the MAC address of a device at another port.
            9 => {
                if guest.port == peer.port {
                    return;
                }
                let from = peer.address.unwrap_or(own);
                let frame = udp(
                    (peer.mac, GATEWAY),
                    at(from, ports.0),
                    at(SERVER, ports.1),
                    &text,
                );
                self.check(guest.port, &frame, Vec::new());
            }
            // Past the gateway.
            10 => {
                let to = peer.address.unwrap_or(SERVER);
                let frame = udp(
                    (guest.mac, peer.mac),
                    at(own, ports.0),
                    at(to, ports.1),
                    &text,
                );
                self.check(guest.port, &frame, Vec::new());
            }
            11 => self.broadcast(&guest, own, &text),
            12 => self.attack(&guest),
            _ => {
                let time = Time::from_ms(self.random.below(40_000));
                self.stage.run(time);
                self.arp(&guest);
            }
        }
    }

    fn join(&mut self, index: usize) {
        let guest = self.guests[index].clone();
        let is_closed = guest.blacklisted || guest.admission == Admission::Denied;
        let address = self.stage.join(guest.port, guest.mac);
        assert_eq!(
            address.is_none(),
            is_closed,
            "step {}: {guest:?}",
            self.step
        );
        if let Some(address) = address {
            let known = guest.address.unwrap_or(address);
            assert_eq!(known, address, "the address stays");
            self.guests[index].address = Some(address);
            let request = self
                .stage
                .dhcp(guest.port, guest.mac, Kind::Request, Some(address));
            let lease = if guest.admission == Admission::Permitted {
                3600
            } else {
                30
            };
            assert_eq!(request, Some((Kind::Ack, address, lease)));
        }
    }

    fn decide(&mut self, index: usize) {
        let guest = &self.guests[index];
        // Devices that never appeared are unknown.
        if guest.address.is_none() {
            return;
        }
        let mac = guest.mac;
        let change = match self.below(14) {
            0..=6 | 11 | 12 => Change::Admission(Admission::Permitted),
            7 => Change::Admission(Admission::Denied),
            8 => Change::Admission(Admission::Waiting),
            9 => Change::Blacklisted(true),
            10 => Change::Blacklisted(false),
            _ => Change::Forgotten,
        };
        self.stage.change(mac, change.clone());
        let guest = &mut self.guests[index];
        guest.is_decided = change != Change::Forgotten;
        match change {
            Change::Admission(admission) => guest.admission = admission,
            Change::Blacklisted(blacklisted) => guest.blacklisted = blacklisted,
            _ => {
                (guest.address, guest.admission) = (None, Admission::Waiting);
                guest.blacklisted = false;
            }
        }
    }

    fn broadcast(&mut self, guest: &Guest, own: Ipv4Addr, text: &[u8]) {
        let gateway = Ipv4Addr::from(u32::from(own) - 1);
        let to = match self.below(2) {
            0 => Ipv4Addr::BROADCAST,
            _ => home::frame::broadcast_of(gateway),
        };
        let frame = udp((guest.mac, Mac::BROADCAST), at(own, 137), at(to, 137), text);
        let others = self.guests.iter().filter(|other| other.mac != guest.mac);
        let others = others.filter(|other| other.is_admitted() && guest.is_admitted());
        let expected = others.map(|other| (other.port, other.mac)).collect();
        self.check(guest.port, &frame, expected);
    }

    /// Frames that must not pass and must not disturb others: new devices, malformed packets, ARP for other devices' addresses.
    fn attack(&mut self, guest: &Guest) {
        let text = self.text();
        for _ in 0..20 {
            let stranger = Mac([2, 6, 6, 6, self.below(256) as u8, self.below(256) as u8]);
            self.stage.dhcp(guest.port, stranger, Kind::Discover, None);
            let own = Ipv4Addr::new(10, 2, 77, 2);
            let frame = udp((stranger, GATEWAY), at(own, 1), at(SERVER, 1), &text);
            self.check(guest.port, &frame, Vec::new());
        }
        let mut frame = udp((guest.mac, GATEWAY), at(SERVER, 1), at(SERVER, 1), &text);
        for _ in 0..20 {
            let at = 12 + self.below(frame.len() - 28);
            frame[at] = self.below(256) as u8;
            let length = 14 + self.below(frame.len() - 14);
            let sent = self.stage.send(guest.port, &frame[..length]);
            assert!(sent.iter().all(|(port, _)| *port == guest.port));
        }
        let victim = Arp::request(guest.mac, Ipv4Addr::new(10, 2, 0, 1), own_or(guest));
        let mut arp = [Mac::BROADCAST.0, guest.mac.0].concat();
        arp.extend([8, 6]);
        victim.build(&mut arp);
        assert_eq!(self.stage.send(guest.port, &arp), []);
    }

    /// The gateway answers the ARP of devices that have an address.
    fn arp(&mut self, guest: &Guest) {
        let Some(own) = guest.address else {
            return;
        };
        let gateway = Ipv4Addr::from(u32::from(own) - 1);
        let mut frame = [Mac::BROADCAST.0, guest.mac.0].concat();
        frame.extend([8, 6]);
        Arp::request(guest.mac, own, gateway).build(&mut frame);
        let sent = self.stage.send(guest.port, &frame);
        let is_closed = guest.blacklisted || guest.admission == Admission::Denied;
        assert_eq!(sent.is_empty(), is_closed, "step {}: {guest:?}", self.step);
    }
}

fn own_or(guest: &Guest) -> Ipv4Addr {
    guest.address.unwrap_or(SERVER)
}

fn run(seeds: core::ops::Range<u64>, settings: &Settings) {
    let (mut delivered, mut refused) = (0, 0);
    for seed in seeds.clone() {
        let mut run = Run::new(seed, settings.clone());
        for _ in 0..400 {
            run.one_step();
        }
        (delivered, refused) = (delivered + run.delivered, refused + run.refused);
        let devices = run.stage.home.lock().devices().count();
        assert!(devices <= home::home::MAX_WAITING + run.guests.len());
        assert_eq!(
            run.stage.counter("errors"),
            0,
            "the switch takes all entries"
        );
    }
    let runs = seeds.end - seeds.start;
    assert!(
        delivered > 20 * runs && refused > 200 * runs,
        "{delivered} {refused}"
    );
}

#[test]
fn packets_pass_only_between_permitted_devices() {
    run(0..12, &Settings::default());
}

#[test]
fn packets_pass_only_between_permitted_devices_with_one_entry_a_host() {
    let exact = false;
    run(
        100..106,
        &Settings {
            exact,
            ..Settings::default()
        },
    );
}

#[test]
fn packets_pass_only_between_permitted_devices_in_the_refuge() {
    let refuge = 3;
    run(
        200..206,
        &Settings {
            refuge,
            ..Settings::default()
        },
    );
}
