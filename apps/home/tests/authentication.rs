//! Random authentications, moves, decisions and forged frames, against a small model of who may send.

use crate::stage::{GATEWAY, SERVER, Stage, mac, udp};
use core::net::{Ipv4Addr, SocketAddrV4};
use home::home::NoJournal;
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use node::Time;
use node::random::Random;
use packet::ethernet::Mac;

/// Port of the authenticator, and its MAC address.
const AUTHENTICATOR: u32 = 8;
const HOSTAPD: Mac = Mac([2, 0, 0, 0, 8, 8]);
/// Ports of devices: 2 to 5.
const PORTS: u64 = 4;

/// A device of the model.
#[derive(Clone, Debug)]
struct Guest {
    mac: Mac,
    port: u32,
    address: Ipv4Addr,
    is_permitted: bool,
    is_blacklisted: bool,
    /// Port of its last EAPOL frame that passed, and at which it is authenticated.
    asked_at: Option<u32>,
    asked: Time,
    at: Option<u32>,
}

impl Guest {
    /// Whether it may start or continue an exchange at a port.
    fn may_ask(&self, now: Time, port: u32) -> bool {
        let is_free = self.asked_at == Some(port) || self.asked + Time::from_secs(10) <= now;
        is_free && !self.is_blacklisted && self.at.is_none_or(|at| at == port)
    }
}

fn eapol(from: Mac, to: Mac) -> Vec<u8> {
    let mut frame = [to.0, from.0].concat();
    frame.extend([0x88, 0x8E, 1, 1, 0, 0]);
    frame.resize(60, 0);
    frame
}

/// The group to which clients send EAPOL (IEEE 802.1X-2020, table 11-1).
const PAE: Mac = Mac([0x01, 0x80, 0xC2, 0, 0, 3]);

struct Run {
    stage: Stage,
    random: Random,
    guests: Vec<Guest>,
    passed: u32,
    refused: u32,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut home = Home::new(Plan::default(), Box::new(NoJournal));
        home.require_authentication();
        let settings = Settings {
            authenticator: Some(AUTHENTICATOR),
            ..Settings::default()
        };
        let mut stage = Stage::new(home, settings);
        let join = |index: u16| {
            let (mac, port) = (mac(index), 2 + u32::from(index) % PORTS as u32);
            let address = stage.join(port, mac).expect("an address");
            Guest {
                mac,
                port,
                address,
                is_permitted: false,
                is_blacklisted: false,
                asked_at: Some(port),
                asked: stage.now,
                at: None,
            }
        };
        let guests = (0..6).map(join).collect();
        stage.home.lock().take_unauthenticated();
        Run {
            stage,
            random: Random::new(seed),
            guests,
            passed: 0,
            refused: 0,
        }
    }

    fn step(&mut self) {
        let index = self.random.below(self.guests.len() as u64) as usize;
        let guest = self.guests[index].clone();
        let port = 2 + self.random.below(PORTS) as u32;
        let now = self.stage.now;
        match self.random.below(12) {
            0 => {
                self.guests[index].is_permitted = self.random.below(4) > 0;
                let admission = match self.guests[index].is_permitted {
                    true => Admission::Permitted,
                    false => Admission::Denied,
                };
                self.stage.change(guest.mac, Change::Admission(admission));
            }
            1 => {
                let is_blacklisted = self.random.below(4) == 0;
                self.guests[index].is_blacklisted = is_blacklisted;
                self.stage
                    .change(guest.mac, Change::Blacklisted(is_blacklisted));
            }
            2 | 3 => self.ask(index, port),
            4 => {
                // The authenticator accepts the device.
                let is_known =
                    self.stage
                        .home
                        .lock()
                        .authenticated(now, guest.mac, None, Some("guest"));
                assert!(is_known);
                self.guests[index].at = guest.asked_at;
                self.guests[index].port = guest.asked_at.expect("a port");
                self.stage.run(Time::ZERO);
            }
            5 => {
                self.stage.home.lock().end_authentication(now, guest.mac);
                self.guests[index].at = None;
                self.stage.run(Time::ZERO);
            }
            6 => {
                // A cable is pulled.
                self.stage.home.lock().end_authentications_at(now, port);
                for each in &mut self.guests {
                    each.at = each.at.filter(|at| *at != port);
                }
                self.stage.run(Time::ZERO);
            }
            _ => {
                // Half of the packets are the device's own.
                let is_own = self.random.below(2) == 0;
                self.send(index, guest.at.filter(|_| is_own).unwrap_or(port));
            }
        }
        let pause = self.random.below(3) * 2500;
        self.stage.run(Time::from_ms(1 + pause));
    }

    /// Sends EAPOL of a device, or of an attacker with its address, from a port.
    fn ask(&mut self, index: usize, port: u32) {
        let guest = self.guests[index].clone();
        let sent = self.stage.send(port, &eapol(guest.mac, PAE));
        let passes = guest.may_ask(self.stage.now, port);
        let to: Vec<u32> = sent.iter().map(|(to, _)| *to).collect();
        let expected = if passes { vec![AUTHENTICATOR] } else { vec![] };
        assert_eq!(to, expected, "{guest:?} from {port}");
        if passes {
            self.guests[index].asked_at = Some(port);
            self.guests[index].asked = self.stage.now;
        }
        // The reply goes where the device asked.
        let sent = self.stage.send(AUTHENTICATOR, &eapol(HOSTAPD, guest.mac));
        let to: Vec<u32> = sent.iter().map(|(to, _)| *to).collect();
        assert_eq!(to, [self.guests[index].asked_at.expect("a port")]);
    }

    /// Sends a packet of a device, or of an attacker with its address, from a port.
    fn send(&mut self, index: usize, port: u32) {
        let guest = self.guests[index].clone();
        let from = SocketAddrV4::new(guest.address, 1000);
        let to = SocketAddrV4::new(SERVER, 80);
        let frame = udp((guest.mac, GATEWAY), from, to, b"text");
        let sent = self.stage.send(port, &frame);
        let may = guest.is_permitted && !guest.is_blacklisted && guest.at == Some(port);
        let expected: &[u32] = if may { &[1] } else { &[] };
        let to: Vec<u32> = sent.iter().map(|(to, _)| *to).collect();
        assert_eq!(to, expected, "{guest:?} from {port}");
        match may {
            true => self.passed += 1,
            false => self.refused += 1,
        }
        // A packet of an unauthenticated device has it asked, so that replies go to its port.
        let is_asked = self.stage.home.lock().take_unauthenticated() == [guest.mac];
        if is_asked {
            assert!(guest.at.is_none() && guest.may_ask(self.stage.now, port));
            self.guests[index].asked_at = Some(port);
            self.guests[index].asked = self.stage.now;
        }
    }
}

#[test]
fn only_authenticated_devices_send_and_only_from_their_port() {
    let (mut passed, mut refused) = (0, 0);
    for seed in 0..60 {
        let mut run = Run::new(seed);
        for _ in 0..200 {
            run.step();
        }
        passed += run.passed;
        refused += run.refused;
    }
    assert!(passed > 200 && refused > 1000, "{passed} {refused}");
}

#[test]
fn a_flood_of_eapol_neither_reaches_the_authenticator_nor_evicts_devices_of_other_ports() {
    let mut run = Run::new(1);
    let permit = Change::Admission(Admission::Permitted);
    let first = run.guests[0].clone();
    run.stage.change(first.mac, permit);
    let mut forwarded = 0;
    for index in 0..5000_u16 {
        forwarded += run.stage.send(4, &eapol(mac(1000 + index), PAE)).len();
        run.stage.run(Time::from_us(200));
    }
    // A burst of 200, and 50 a second.
    assert!((200..=252).contains(&forwarded), "{forwarded}");
    let home = run.stage.home.lock();
    let guests = run.guests.iter().filter(|guest| guest.port != 4);
    assert!(
        guests
            .into_iter()
            .all(|guest| home.device(guest.mac).is_some())
    );
}

#[test]
fn the_authenticator_sends_only_eapol_and_only_to_devices() {
    let mut run = Run::new(1);
    let guest = run.guests[0].clone();
    let from = SocketAddrV4::new(guest.address, 1000);
    let to = SocketAddrV4::new(SERVER, 80);
    let other = udp((HOSTAPD, GATEWAY), from, to, b"text");
    for frame in [other, eapol(HOSTAPD, PAE), eapol(HOSTAPD, mac(999))] {
        assert_eq!(run.stage.send(AUTHENTICATOR, &frame), []);
    }
    for counter in [
        "dropped_not_eapol_of_the_authenticator",
        "dropped_eapol_to_a_group",
        "dropped_eapol_to_no_device",
    ] {
        assert_eq!(run.stage.counter(counter), 1, "{counter}");
    }
    assert!(run.stage.home.lock().device(HOSTAPD).is_none());
}
