//! Rehearsals of decisions: they agree with what happens when the decision is made and the same flows are sent again.

#[path = "identity/households.rs"]
#[allow(dead_code, reason = "the test of identities uses the rest")]
mod households;
#[allow(dead_code, reason = "other tests use the rest")]
mod stage;

use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use home::flows::FlowKey;
use home::home::NoJournal;
use home::plan::Plan;
use home::record::{FlowRow, Record};
use home::rehearse::{Fate, Past, fates, join_directions, rehearse};
use home::{Admission, Change, Home, Settings};
use households::Random;
use node::Time;
use packet::ethernet::Mac;
use parking_lot::Mutex;
use stage::{DNS, GATEWAY, ROUTER, Sent, Stage, mac, question, udp};
use std::collections::BTreeSet;
use std::sync::Arc;

const PERMIT: Change = Change::Admission(Admission::Permitted);
const NAMES: [&str; 6] = [
    "www.good.example",
    "cdn.good.example",
    "bad.example",
    "ads.bad.example",
    "video.example",
    "news.example",
];
const DOMAINS: [&str; 5] = [
    "good.example",
    "bad.example",
    "ads.bad.example",
    "video.example",
    "example",
];

/// Rows of the table Flows.
#[derive(Clone, Default)]
struct Rows(Arc<Mutex<Vec<Past>>>);

impl Record for Rows {
    fn flow(&mut self, row: &FlowRow) {
        self.0.lock().push(Past {
            key: FlowKey {
                protocol: row.protocol,
                source: row.source,
                destination: row.destination,
                ports: row.ports,
            },
            ends: (row.from, row.to),
            first: row.at.as_ns(),
            last: row.at.as_ns(),
            bytes: row.bytes,
        });
    }
}

fn at(address: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address, port)
}

fn server(index: u64) -> Ipv4Addr {
    Ipv4Addr::new(198, 51, 100, 1 + index as u8)
}

/// A home of the test: three permitted devices at the ports 2 to 4. The first one is the subject.
struct Lab {
    stage: Stage,
    own: [Ipv4Addr; 3],
    random: Random,
    rows: Rows,
    settings: Settings,
    asked: BTreeSet<IpAddr>,
}

impl Lab {
    fn new(seed: u64) -> Lab {
        let mut random = Random::new(seed);
        let settings = Settings {
            exact: random.happens(800),
            refuge: if random.happens(300) { 8 } else { 1000 },
            ..Settings::default()
        };
        let rows = Rows::default();
        let home = Home::new(Plan::default(), Box::new(NoJournal));
        let mut stage = Stage::with_record(home, settings.clone(), Box::new(rows.clone()));
        let own = [0, 1, 2].map(|index| {
            let address = stage.join(2 + u32::from(index), mac(index)).expect("one");
            stage.change(mac(index), PERMIT);
            address
        });
        let settings = Settings {
            mac: GATEWAY,
            ..settings
        };
        Lab {
            stage,
            own,
            random,
            rows,
            settings,
            asked: BTreeSet::new(),
        }
    }

    /// A decision about the subject.
    fn change(&mut self) -> Change {
        let domain = DOMAINS[self.random.below(DOMAINS.len() as u64) as usize];
        match self.random.below(12) {
            0 => Change::Admission(Admission::Denied),
            1 => Change::Paused(true),
            2 => Change::Blacklisted(true),
            3 => Change::OthersDenied(true),
            4 => Change::OthersDenied(false),
            5 => Change::Domain(domain.into(), None),
            6..8 => Change::Domain(domain.into(), Some(true)),
            _ => Change::Domain(domain.into(), Some(false)),
        }
    }

    /// A device looks a name up. Several names have the same address.
    fn look_up(&mut self) {
        let index = self.random.below(2) as u16;
        let name = NAMES[self.random.below(NAMES.len() as u64) as usize];
        let own = self.own[usize::from(index)];
        let query = udp(
            (mac(index), GATEWAY),
            at(own, 4444),
            at(DNS, 53),
            &question(name, 1),
        );
        let sent = self.stage.send(2 + u32::from(index), &query);
        let address = server(self.random.below(8));
        if let Some(query) = sent.iter().find(|(port, _)| *port == 1) {
            self.stage.reply(query, 1, &address.octets());
        }
    }

    /// Sends the first packet of a flow. Answers reverse lookups at random. Returns whether it left, and whether its address was looked up.
    fn send(&mut self, past: &Past) -> (bool, bool) {
        let end = |address: IpAddr| match address {
            IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::new(192, 0, 2, 1),
            IpAddr::V4(address) => address,
            IpAddr::V6(_) => unreachable!("the test is about IPv4"),
        };
        let ports = match past.key.protocol {
            0 => (49_152, 443),
            _ => past.key.ports.expect("ports"),
        };
        let (from, to) = (
            at(end(past.key.source), ports.0),
            at(end(past.key.destination), ports.1),
        );
        let port = |end: Option<Mac>| {
            let index = end.map(|end| (0..3).find(|index| mac(*index) == end).expect("a device"));
            index.map_or(1, |index| 2 + u32::from(index))
        };
        let source = past.ends.0.unwrap_or(ROUTER);
        let mut frame = udp((source, GATEWAY), from, to, b"flow");
        if past.key.protocol == 6 {
            frame[23] = 6;
            home::frame::set_hops(&mut frame, 64);
        }
        let mut sent = self.stage.send(port(past.ends.0), &frame);
        let is_query = |(port, frame): &&Sent| *port == 1 && frame[30..34] == DNS.octets();
        let query = sent.iter().find(is_query).cloned();
        if let Some(query) = &query {
            let name = NAMES[self.random.below(NAMES.len() as u64) as usize];
            let mut data = Vec::new();
            for label in name.split('.').chain([""]) {
                data.push(label.len() as u8);
                data.extend(label.as_bytes());
            }
            sent.extend(self.stage.reply(query, 12, &data));
        }
        let has_left = sent
            .iter()
            .any(|(at, frame)| *at == port(past.ends.1) && frame.ends_with(b"flow"));
        (has_left, query.is_some())
    }

    /// A random flow of the subject: to a server, from one, or with another device.
    fn flow(&mut self) -> Past {
        let (own, other) = (self.own[0], server(self.random.below(10)));
        let ports = (
            1024 + self.random.below(4000) as u16,
            [80, 443, 53][self.random.below(3) as usize],
        );
        let inner = 1 + self.random.below(2) as u16;
        let device = self.own[usize::from(inner)];
        let protocol = if self.random.happens(500) { 6 } else { 17 };
        let ports = if protocol == 17 && ports.1 == 53 {
            (ports.0, 54)
        } else {
            ports
        };
        let (source, destination, ends) = match self.random.below(8) {
            0 => (device, own, (Some(mac(inner)), Some(mac(0)))),
            1 => (own, device, (Some(mac(0)), Some(mac(inner)))),
            2 => (other, own, (None, Some(mac(0)))),
            _ => (own, other, (Some(mac(0)), None)),
        };
        Past {
            key: FlowKey {
                protocol,
                source: source.into(),
                destination: destination.into(),
                ports: Some(ports),
            },
            ends,
            first: 0,
            last: 0,
            bytes: 0,
        }
    }
}

/// One random run. Returns how many flows passed, broke, and had no verdict.
fn run(seed: u64) -> [u32; 3] {
    let mut lab = Lab::new(seed);
    for _ in 0..lab.random.below(4) {
        let domain = DOMAINS[lab.random.below(DOMAINS.len() as u64) as usize];
        let rule = Change::Domain(domain.into(), Some(lab.random.happens(400)));
        lab.stage.change(mac(0), rule);
    }
    for _ in 0..40 {
        if lab.random.happens(300) {
            lab.look_up();
        }
        let flow = lab.flow();
        // The second packet has an entry, which is recorded.
        lab.send(&flow);
        lab.send(&flow);
        let pause = Time::from_ms(lab.random.below(2500));
        lab.stage.run(pause);
    }
    lab.stage.run(Time::from_secs(2));
    let mut flows = join_directions(lab.rows.0.lock().clone());
    flows.sort_by_key(|past| past.first);
    let change = lab.change();
    let (now, settings) = (lab.stage.now, lab.settings.clone());
    let copy = lab.stage.home.lock().copy(now, mac(0));
    let rehearsal = rehearse(&copy, &settings, now, (mac(0), &change), &flows).expect("a device");
    let mut candidate = copy.copy(now, mac(0));
    candidate
        .change(now, mac(0), change.clone())
        .expect("known");
    let expected = fates(candidate, &settings, now, &flows);

    // All entries of the flows before are gone.
    lab.stage.change(mac(0), change.clone());
    let mut counts = [0; 3];
    let start = lab.stage.now;
    for (past, expected) in flows.iter().zip(expected) {
        let target = start + Time::from_ns(past.first - flows[0].first);
        lab.stage.run(Time::from_ps(
            target.as_ps().saturating_sub(lab.stage.now.as_ps()),
        ));
        let other = if past.ends.0 == Some(mac(0)) {
            past.key.destination
        } else {
            past.key.source
        };
        let (has_left, has_asked) = lab.send(past);
        let context = format!("seed {seed}, {change:?}, {past:?}: {expected:?}");
        match expected {
            Fate::Passed => assert!(has_left && !has_asked, "{context}"),
            Fate::Dropped => assert!(!has_left && !has_asked, "{context}"),
            Fate::Unknown if past.key.protocol == 0 => {}
            Fate::Unknown => assert!(has_asked || lab.asked.contains(&other), "{context}"),
        }
        if has_asked {
            lab.asked.insert(other);
        }
        counts[match expected {
            Fate::Passed => 0,
            Fate::Dropped => 1,
            Fate::Unknown => 2,
        }] += 1;
    }
    let broken: u64 = rehearsal.breaks.iter().map(|group| group.flows).sum();
    assert!(broken <= u64::from(counts[1]), "seed {seed}: {rehearsal:?}");
    counts
}

#[test]
fn a_rehearsal_agrees_with_what_happens_afterwards() {
    let seeds: u64 =
        std::env::var("HOME_ROUNDS").map_or(150, |text| text.parse().expect("a number"));
    let mut total = [0; 3];
    for seed in 1..=seeds {
        for (total, count) in total.iter_mut().zip(run(seed)) {
            *total += count;
        }
    }
    println!(
        "{} flows passed, {} were dropped, {} had no verdict",
        total[0], total[1], total[2]
    );
    assert!(total.iter().all(|count| *count > 50), "{total:?}");
}

/// A permitted device with flows to servers that it has looked up, one in a second.
fn busy(count: u64) -> (Home, Vec<Past>) {
    let mut home = Home::new(Plan::default(), Box::new(NoJournal));
    for index in 0..50 {
        home.seen_at(Time::ZERO, mac(index), Some(2 + u32::from(index) % 4))
            .expect("a slot");
        home.change(Time::ZERO, mac(index), PERMIT).expect("known");
    }
    let own = home.plan.device(home.device(mac(0)).expect("there").slot);
    let address = |index: u64| Ipv4Addr::new(198, 51, (index / 250) as u8, (index % 250) as u8);
    for index in 0..500 {
        let name: Arc<str> = format!("www.site{index}.example").into();
        home.names
            .note(Time::ZERO, mac(0), &name, address(index).into(), 60);
    }
    let flows = (0..count).map(|index| Past {
        key: FlowKey {
            protocol: if index % 3 == 0 { 17 } else { 6 },
            source: own.into(),
            destination: address(index % 500).into(),
            ports: Some((1024 + (index % 60_000) as u16, 443)),
        },
        ends: (Some(mac(0)), None),
        first: index * 3600 * 1_000_000_000 / count,
        last: index * 3600 * 1_000_000_000 / count + 1,
        bytes: 1000,
    });
    let flows = flows.collect();
    (home, flows)
}

#[test]
fn the_flows_of_a_busy_hour_are_replayed() {
    let (home, flows) = busy(10_000);
    let now = Time::from_secs(10);
    let change = Change::Domain("site7.example".into(), Some(false));
    #[expect(clippy::disallowed_methods, reason = "the time that it takes")]
    let start = std::time::Instant::now();
    let settings = Settings::default();
    let rehearsal = rehearse(&home, &settings, now, (mac(0), &change), &flows).expect("known");
    println!("10,000 flows of an hour: {:?}", start.elapsed());
    assert_eq!(rehearsal.flows, 10_000);
    assert_eq!(rehearsal.breaks.len(), 1, "{:?}", rehearsal.breaks);
    let group = &rehearsal.breaks[0];
    assert_eq!(
        (group.name.as_str(), group.app.as_str()),
        ("www.site7.example", "web (HTTPS)")
    );
    assert_eq!((group.flows, group.bytes), (20, 20_000));
    assert_eq!(rehearsal.unknown, []);
    assert!(!rehearsal.may_begin);
    // The home itself has not changed.
    assert!(!home.device(mac(0)).expect("there").domains.restrict());
    for change in [
        Change::Paused(true),
        Change::Admission(Admission::Denied),
        Change::OthersDenied(true),
    ] {
        let rehearsal =
            rehearse(&home, &settings, now, (mac(0), &change), &flows[..500]).expect("known");
        let broken: u64 = rehearsal.breaks.iter().map(|group| group.flows).sum();
        assert_eq!(broken, 500, "{change:?}");
    }
    let change = Change::Domain("site7.example".into(), Some(true));
    let rehearsal =
        rehearse(&home, &settings, now, (mac(0), &change), &flows[..100]).expect("known");
    assert!(rehearsal.may_begin && rehearsal.breaks.is_empty());
}
