//! Time of the control program and its switch: DHCP for devices that start at the same time, the first packet of a flow, and
//! interception of DNS. All work is counted: the switch, the messages on the control channel, and the program.
//!
//! `cargo bench -p wireline-home --no-default-features`
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

#[path = "../tests/stage.rs"]
#[allow(dead_code)]
mod stage;

use core::net::{Ipv4Addr, SocketAddrV4};
use dhcp::v4::message::Kind;
use home::home::NoJournal;
use home::plan::Plan;
use home::{Admission, Change, Home, Settings};
use node::Time;
use stage::{DNS, GATEWAY, ROUTER, SERVER, Stage, mac, udp};
use std::time::{Duration, Instant};

fn at(address: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address, port)
}

/// Median, 99th percentile and maximum.
fn show(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let rank = |share: usize| times[(times.len() - 1) * share / 100];
    let [median, high, max] = [rank(50), rank(99), rank(100)].map(|time| time.as_secs_f64() * 1e6);
    println!("{what:<44} median {median:8.1} us, p99 {high:8.1} us, max {max:8.1} us");
}

fn home(devices: u16) -> (Stage, Vec<Ipv4Addr>) {
    let mut stage = Stage::new(
        Home::new(Plan::default(), Box::new(NoJournal)),
        Settings::default(),
    );
    let addresses = (0..devices)
        .map(|index| {
            let address = stage.join(port(index), mac(index)).expect("an address");
            stage.change(mac(index), Change::Admission(Admission::Permitted));
            address
        })
        .collect();
    (stage, addresses)
}

fn port(index: u16) -> u32 {
    2 + u32::from(index) % 7
}

/// Resident memory of this process, MB.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0.0) * 4096.0 / 1e6
}

/// All devices send their first message at the same time, and the next one when the response arrives.
fn dhcp_at_once(devices: u16) -> Vec<Duration> {
    let mut stage = Stage::new(
        Home::new(Plan::default(), Box::new(NoJournal)),
        Settings::default(),
    );
    let start = Instant::now();
    let offers: Vec<_> = (0..devices)
        .map(|index| stage.dhcp(port(index), mac(index), Kind::Discover, None))
        .collect();
    let mut times = Vec::new();
    for (index, offer) in (0..).zip(offers) {
        let (_, address, _) = offer.expect("an offer");
        let answer = stage.dhcp(port(index), mac(index), Kind::Request, Some(address));
        assert_eq!(answer.map(|(kind, ..)| kind), Some(Kind::Ack));
        times.push(start.elapsed());
    }
    times
}

fn first_packets(is_restricted: bool) -> Vec<Duration> {
    let (mut stage, addresses) = home(100);
    if is_restricted {
        for index in 0..100 {
            stage.change(
                mac(index),
                Change::Domain("bad.example".into(), Some(false)),
            );
            resolve(&mut stage, index, addresses[usize::from(index)]);
        }
    }
    let mut times = Vec::new();
    for flow in 0..90_u16 {
        for (index, own) in (0..).zip(&addresses) {
            let frame = udp(
                (mac(index), GATEWAY),
                at(*own, 1000 + flow),
                at(SERVER, 443),
                b"text",
            );
            let start = Instant::now();
            let sent = stage.send(port(index), &frame);
            times.push(start.elapsed());
            assert_eq!(sent.len(), 1);
        }
        stage.run(Time::from_ms(10));
    }
    times
}

fn question(name: &str) -> Vec<u8> {
    let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    message
}

/// A device looks up the server's name.
fn resolve(stage: &mut Stage, index: u16, own: Ipv4Addr) {
    let frame = udp(
        (mac(index), GATEWAY),
        at(own, 4444),
        at(DNS, 53),
        &question("good.example"),
    );
    for (to, frame) in stage.send(port(index), &frame) {
        if to != 1 {
            continue;
        }
        let own = u16::from_be_bytes([frame[34], frame[35]]);
        let mut message = frame[42..].to_vec();
        let end = 12
            + message[12..]
                .iter()
                .position(|byte| *byte == 0)
                .expect("a root")
            + 5;
        message.truncate(end);
        message[2..4].copy_from_slice(&[0x81, 0x80]);
        message[4..12].copy_from_slice(&[0, 1, 0, 1, 0, 0, 0, 0]);
        message.extend([0xC0, 12, 0, 1, 0, 1, 0, 0, 0x0E, 0x10, 0, 4]);
        message.extend(SERVER.octets());
        let reply = udp(
            (ROUTER, GATEWAY),
            at(DNS, 53),
            at(Ipv4Addr::new(10, 2, 0, 2), own),
            &message,
        );
        stage.send(1, &reply);
    }
}

fn queries(name: &str) -> Vec<Duration> {
    let (mut stage, addresses) = home(100);
    for index in 0..100 {
        stage.change(
            mac(index),
            Change::Domain("bad.example".into(), Some(false)),
        );
        resolve(&mut stage, index, addresses[usize::from(index)]);
    }
    let mut times = Vec::new();
    for round in 0..100_u16 {
        for (index, own) in (0..).zip(&addresses) {
            let frame = udp(
                (mac(index), GATEWAY),
                at(*own, 1024 + round),
                at(DNS, 53),
                &question(name),
            );
            let start = Instant::now();
            let sent = stage.send(port(index), &frame);
            times.push(start.elapsed());
            assert_eq!((sent.len(), sent[0].0), (1, port(index)));
        }
    }
    times
}

fn main() {
    // `cargo test` runs this, too.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    show("address for one of 100 devices at once", dhcp_at_once(100));
    show("first packet of a flow", first_packets(false));
    show("the same, judged by names", first_packets(true));
    show("query answered from the cache", queries("good.example"));
    show("query for a denied domain", queries("bad.example"));
    let before = memory();
    let (mut stage, addresses) = home(500);
    for flow in 0..20_u16 {
        for (index, own) in (0..).zip(&addresses) {
            let frame = udp(
                (mac(index), GATEWAY),
                at(*own, 1000 + flow),
                at(SERVER, 443),
                b"text",
            );
            assert_eq!(stage.send(port(index), &frame).len(), 1);
        }
    }
    println!(
        "500 devices with {} flows: {:.1} MB with the switch, {before:.1} MB before",
        stage.counter("flows") / 2,
        memory()
    );
}
