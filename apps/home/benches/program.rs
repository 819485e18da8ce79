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
use home::flows::FlowKey;
use home::home::NoJournal;
use home::plan::Plan;
use home::rehearse::{Past, rehearse};
use home::{Admission, Change, Home, Settings};
use node::Time;
use stage::{DNS, GATEWAY, SERVER, Stage, mac, question, udp};
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
            let start = Instant::now();
            let sent = send(
                &mut stage,
                index,
                at(*own, 1000 + flow),
                at(SERVER, 443),
                b"text",
            );
            times.push(start.elapsed());
            assert_eq!(sent, 1);
        }
        stage.run(Time::from_ms(10));
    }
    times
}

/// Sends a datagram of a device, from one of its ports.
fn send(
    stage: &mut Stage,
    index: u16,
    from: SocketAddrV4,
    to: SocketAddrV4,
    payload: &[u8],
) -> usize {
    let frame = udp((mac(index), GATEWAY), from, to, payload);
    stage.send(port(index), &frame).len()
}

/// A device looks up the server's name.
fn resolve(stage: &mut Stage, index: u16, own: Ipv4Addr) {
    let query = question("good.example", 1);
    let frame = udp((mac(index), GATEWAY), at(own, 4444), at(DNS, 53), &query);
    for sent in stage.send(port(index), &frame) {
        if sent.0 == 1 {
            stage.reply(&sent, 1, &SERVER.octets());
        }
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
                &question(name, 1),
            );
            let start = Instant::now();
            let sent = stage.send(port(index), &frame);
            times.push(start.elapsed());
            assert_eq!((sent.len(), sent[0].0), (1, port(index)));
        }
    }
    times
}

/// A domain is denied for one of 500 devices, with flows to 500 addresses that it has looked up.
fn rehearsals(count: u64) -> Vec<Duration> {
    let (stage, addresses) = home(500);
    let (now, own) = (stage.now, addresses[0]);
    let other = |index: u64| Ipv4Addr::new(198, 51, (index / 250) as u8, (index % 250) as u8);
    let mut home = stage.home.lock();
    for index in 0..500 {
        let name = format!("www.site{index}.example").as_str().into();
        home.names.note(now, mac(0), &name, other(index).into(), 60);
    }
    let flows: Vec<Past> = (0..count)
        .map(|index| Past {
            key: FlowKey {
                protocol: 6,
                source: own.into(),
                destination: other(index % 500).into(),
                ports: Some((1024 + (index % 60_000) as u16, 443)),
            },
            ends: (Some(mac(0)), None),
            first: index * 3600 * 1_000_000_000 / count,
            last: index * 3600 * 1_000_000_000 / count,
            bytes: 1000,
        })
        .collect();
    let change = Change::Domain("site7.example".into(), Some(false));
    let run = |_| {
        let start = Instant::now();
        let settings = Settings::default();
        let rehearsal = rehearse(&home, &settings, now, (mac(0), &change), &flows).expect("known");
        assert_eq!(rehearsal.breaks[0].flows, count / 500);
        start.elapsed()
    };
    (0..5).map(run).collect()
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
            let sent = send(
                &mut stage,
                index,
                at(*own, 1000 + flow),
                at(SERVER, 443),
                b"text",
            );
            assert_eq!(sent, 1);
        }
    }
    println!(
        "500 devices with {} flows: {:.1} MB with the switch, {before:.1} MB before",
        stage.counter("flows") / 2,
        memory()
    );
    // Last, since memory that it frees would count above.
    show("rehearsal of 10,000 flows of an hour", rehearsals(10_000));
}
