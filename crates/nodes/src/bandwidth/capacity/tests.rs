//! A client and a server over a link in simulated time.

use super::client::{Client, End};
use super::rates::Table;
use super::server::{self, Test};
use super::*;
use alloc::collections::BTreeMap;
use node::random::Random;
use packet::udpstp::{Integrity, Message, SendingRate, Setup, SetupAnswer};
use std::vec::Vec;

const CONTROL: u16 = 24601;
const TEST: u16 = 40001;
const CLOCK: Clock = Clock {
    epoch_ns: 1_800_000_000_000_000_000,
};

/// One way of the link: a rate at the IP layer, a queue, and what is lost besides.
struct Path {
    bits_per_second: u64,
    queue: Time,
    delay: Time,
    loss: f64,
    free: Time,
    random: Random,
}

impl Path {
    fn new(megabits: u64, seed: u64) -> Path {
        Path {
            bits_per_second: megabits * 1_000_000,
            queue: Time::from_ms(40),
            delay: Time::from_ms(5),
            loss: 0.0,
            free: Time::ZERO,
            random: Random::new(seed),
        }
    }

    /// When a datagram arrives; `None`: it does not.
    fn arrival(&mut self, now: Time, len: usize) -> Option<Time> {
        let from = self.free.max(now);
        if from > now + self.queue || self.random.chance(self.loss) {
            return None;
        }
        let bits = 8 * (len as u64 + u64::from(IPV4_OVERHEAD));
        self.free = from + Time::from_ps(bits * 1_000_000_000_000 / self.bits_per_second);
        Some(self.free + self.delay)
    }
}

/// A port for a test, with a cookie that no other has.
fn granted(port: u16) -> server::Grant {
    let integrity = Integrity {
        mode: 0,
        unix_time: 1_800_000_001,
        digest: [port as u8; 32],
        key: 2,
    };
    server::Grant { port, integrity }
}

struct World {
    now: Time,
    client: Client,
    test: Option<Test>,
    up: Path,
    down: Path,
    /// Datagrams on the way, by their arrival: to the client, from which port; or to the server, to which port.
    flying: BTreeMap<(Time, u64), (bool, u16, Vec<u8>)>,
    number: u64,
    server_is_there: bool,
    limits: server::Limits,
    /// Changes bits of one datagram in a hundred of the test, with checksums put right.
    noise: Option<Random>,
}

impl World {
    fn new(settings: Settings, megabits: u64) -> World {
        World {
            now: Time::ZERO,
            client: Client::new(settings, 7, CONTROL, false, CLOCK, Time::ZERO),
            test: None,
            up: Path::new(megabits, 1),
            down: Path::new(megabits, 2),
            flying: BTreeMap::new(),
            number: 0,
            server_is_there: true,
            limits: server::Limits::default(),
            noise: None,
        }
    }

    fn fly(&mut self, up: bool, port: u16, bytes: &[u8], segment: usize) {
        for datagram in bytes.chunks(segment) {
            let way = if up { &mut self.up } else { &mut self.down };
            if let Some(at) = way.arrival(self.now, datagram.len()) {
                self.number += 1;
                let mut datagram = datagram.to_vec();
                if port != CONTROL
                    && let Some(random) = &mut self.noise
                    && random.chance(0.01)
                {
                    for _ in 0..=random.below(4) {
                        // Headers: what follows is padding.
                        let bit = random.below(8 * datagram.len().min(204) as u64);
                        datagram[(bit / 8) as usize] ^= 1 << (bit % 8);
                    }
                }
                self.flying.insert((at, self.number), (!up, port, datagram));
            }
        }
    }

    fn send(&mut self) {
        let mut out = Vec::new();
        while let Some(transmit) = self.client.poll_transmit(self.now, &mut out) {
            self.fly(true, transmit.port.unwrap(), &out, transmit.segment);
            out.clear();
        }
        loop {
            let test = self.test.as_mut();
            let Some(transmit) = test.and_then(|test| test.poll_transmit(self.now, &mut out))
            else {
                break;
            };
            self.fly(false, TEST, &out, transmit.segment);
            out.clear();
        }
    }

    fn arrive(&mut self, to_client: bool, port: u16, bytes: &[u8]) {
        if to_client {
            return self.client.handle(self.now, port, bytes);
        }
        if !self.server_is_there {
            return;
        }
        if port != CONTROL {
            if let Some(test) = &mut self.test {
                test.handle(self.now, bytes);
            }
            return;
        }
        let mut out = Vec::new();
        let setup = server::setup(bytes, |_| Ok(granted(TEST)), &mut out).unwrap();
        // Clocks of different machines: the server's is 3 s behind.
        let clock = Clock {
            epoch_ns: CLOCK.epoch_ns - 3_000_000_000,
        };
        self.test = setup.map(|setup| Test::new(setup, false, self.limits, clock, self.now));
        let len = out.len();
        self.fly(false, CONTROL, &out, len);
    }

    /// What comes next; `false`: nothing does.
    fn step(&mut self) -> bool {
        self.send();
        let wakes = [
            self.client.next_wake(),
            self.test.as_ref().and_then(Test::next_wake),
            self.flying.first_key_value().map(|(key, _)| key.0),
        ];
        let Some(next) = wakes.into_iter().flatten().min() else {
            return false;
        };
        assert!(next < Time::from_secs(60), "it does not end");
        self.now = self.now.max(next);
        self.client.wake(self.now);
        if let Some(test) = &mut self.test {
            test.wake(self.now);
        }
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to_client, port, bytes) = entry.remove();
            self.arrive(to_client, port, &bytes);
        }
        true
    }

    /// Until the client is through, and the server.
    fn run(&mut self) -> End {
        while self.step() {}
        self.client.end().expect("nothing is to come any more")
    }

    fn best(&self) -> f64 {
        let rates = self.client.intervals().iter().map(|interval| interval.rate);
        rates.fold(0.0, f64::max)
    }
}

fn short(direction: Direction) -> Settings {
    Settings {
        direction,
        test_time: 5,
        ..Settings::default()
    }
}

#[test]
fn both_ways_find_the_capacity_of_the_link() {
    for direction in [Direction::Upstream, Direction::Downstream] {
        let mut world = World::new(short(direction), 50);
        assert_eq!(world.run(), End::Complete, "{direction:?}");
        let best = world.best();
        assert!((49.5e6..50.1e6).contains(&best), "{direction:?}: {best}");
        let test = world.test.as_ref().unwrap();
        assert!(test.is_complete(), "{direction:?}");
        assert_eq!(world.client.intervals().len(), 5);
        let held = held_by(world.client.settings(), world.client.intervals());
        assert_eq!(held, Held::Path, "{direction:?}");
        assert_eq!(test.intervals().len(), 5);
        assert_eq!(world.client.least_round_trip(), Some(10));
        let ([sent, _], [_, received]) = match direction {
            Direction::Upstream => (world.client.traffic(), test.traffic()),
            Direction::Downstream => (test.traffic(), world.client.traffic()),
        };
        assert!(sent.datagrams > received.datagrams, "the queue overflowed");
        assert!(received.bytes * 8 > 5 * 40_000_000 * 9 / 10);
        for faults in [world.client.faults(), test.faults()] {
            assert_eq!(*faults, Faults::default(), "{direction:?}");
        }
    }
}

#[test]
fn a_link_that_the_search_has_not_filled_in_time_has_a_lower_bound() {
    for direction in [Direction::Upstream, Direction::Downstream] {
        let mut world = World::new(short(direction), 5_000);
        assert_eq!(world.run(), End::Complete, "{direction:?}");
        let held = held_by(world.client.settings(), world.client.intervals());
        assert_eq!(held, Held::Search, "{direction:?}");
        assert!(world.best() < 1.1e9, "{direction:?}");
    }
}

#[test]
fn algorithm_c_finds_it_too() {
    let settings = Settings {
        algorithm: Algorithm::C,
        test_time: 8,
        ..Settings::default()
    };
    let mut world = World::new(settings, 50);
    assert_eq!(world.run(), End::Complete);
    assert!((49.0e6..50.1e6).contains(&world.best()), "{}", world.best());
}

/// Ten errors a trial are no congestion: of 200 datagrams at 50 Mb/s one in a hundred is lost.
#[test]
fn loss_by_chance_does_not_hide_the_capacity() {
    for direction in [Direction::Upstream, Direction::Downstream] {
        let mut world = World::new(short(direction), 50);
        (world.up.loss, world.down.loss) = (0.01, 0.01);
        // A single lost request is sent again.
        assert_eq!(world.run(), End::Complete, "{direction:?}");
        let best = world.best();
        assert!((48.5e6..50.1e6).contains(&best), "{direction:?}: {best}");
        let lost = |interval: &Interval| interval.sums.errors[0];
        assert!(world.client.intervals().iter().any(|i| lost(i) > 0));
    }
}

#[test]
fn one_rate_is_sent_all_the_time_where_it_is_asked_for() {
    let settings = Settings {
        row: Some(20),
        ..short(Direction::Downstream)
    };
    let mut world = World::new(settings, 50);
    assert_eq!(world.run(), End::Complete);
    for interval in world.client.intervals() {
        assert!((interval.rate - 20e6).abs() < 0.3e6, "{}", interval.rate);
        assert_eq!(interval.sums.errors, [0; 3]);
    }
}

#[test]
fn a_server_has_limits_of_time_and_rate() {
    let settings = Settings {
        test_time: 30,
        ..short(Direction::Downstream)
    };
    let mut world = World::new(settings, 50);
    world.limits = server::Limits {
        test_time: 5,
        rate: 20e6,
    };
    assert_eq!(world.run(), End::Complete);
    assert_eq!(world.client.settings().test_time, 5);
    assert_eq!(world.client.intervals().len(), 5);
    let best = world.best();
    assert!((19.5e6..20.1e6).contains(&best), "{best}");
}

/// The address of a request may be forged: who is there has to speak before he gets more than a few datagrams.
#[test]
fn a_rate_that_is_asked_for_is_not_sent_before_the_client_has_told_of_load() {
    let setup = Setup {
        version: 20,
        connections: 1,
        ..Setup::default()
    };
    let limits = server::Limits::default();
    let mut test = Test::new(setup, false, limits, CLOCK, Time::ZERO);
    let settings = Settings {
        row: Some(1000),
        ..short(Direction::Downstream)
    };
    let mut bytes = Vec::new();
    Message::Activation(settings.activation()).build(&mut bytes);
    test.handle(Time::ZERO, &bytes);
    let (mut now, mut out) = (Time::ZERO, Vec::new());
    while !test.is_over() {
        test.wake(now);
        while test.poll_transmit(now, &mut out).is_some() {}
        now = test.next_wake().map_or(now, |at| at.max(now));
    }
    assert_eq!(now, RECEIVE_TIMEOUT);
    assert!(out.len() < 100_000, "{}", out.len());
}

#[test]
fn an_answer_that_is_lost_is_given_again() {
    let mut world = World::new(short(Direction::Downstream), 50);
    while world.test.as_ref().is_none_or(|test| !test.is_testing()) {
        world.step();
    }
    // The answer to the activation, and the first load, come to nobody.
    world.send();
    world.flying.clear();
    assert_eq!(world.run(), End::Complete);
    assert!(world.best() > 45e6, "{}", world.best());
}

#[test]
fn a_client_that_is_stopped_tells_the_server() {
    for direction in [Direction::Upstream, Direction::Downstream] {
        let mut world = World::new(short(direction), 50);
        while world.client.intervals().len() < 2 {
            world.step();
        }
        world.client.stop(world.now);
        let at = world.now;
        assert_eq!(world.run(), End::Stopped, "{direction:?}");
        assert!(world.test.as_ref().unwrap().is_complete());
        assert!(world.now < at + Time::from_ms(500), "{direction:?}");
        assert_eq!(world.client.intervals().len(), 2);
    }
}

/// A rate is of what came, and not of what messages say of themselves.
#[test]
fn load_counts_as_long_as_it_is() {
    let mut world = World::new(short(Direction::Downstream), 50);
    while world.client.intervals().is_empty() {
        world.step();
    }
    let before = world.client.traffic()[1].bytes;
    let mut bytes = Vec::new();
    let load = packet::udpstp::Load {
        sequence: 1 << 20,
        payload: 60_000,
        ..Default::default()
    };
    Message::Load(load).build(&mut bytes);
    world.client.handle(world.now, TEST, &bytes);
    assert_eq!(world.client.traffic()[1].bytes, before + 32);
    assert_eq!(world.client.faults().wrong_lengths, 1);
}

/// RFC 9946's messages have no checksum of their own: what a faulty device on the path changes, and
/// UDP's sum hides, is in the figures unless it is impossible.
#[test]
fn a_path_that_changes_bits_gives_no_figure_that_cannot_be_true_and_is_reported() {
    let mut implausible = [0, 0];
    for seed in 0..24 {
        let direction = [Direction::Upstream, Direction::Downstream][seed as usize % 2];
        let mut world = World::new(short(direction), 5);
        world.noise = Some(Random::new(seed));
        world.run();
        let ms = (world.now.as_ns() / 1_000_000) as u32 + 2;
        let [sent, received] = world.client.traffic();
        let most = 2 * sent.datagrams.max(received.datagrams);
        for Interval { rate, sums, .. } in world.client.intervals() {
            assert!((0.0..1e9).contains(rate), "seed {seed}: {rate}");
            let [least, most_varied, ..] = sums.variation;
            assert!(most_varied <= ms, "seed {seed}: {sums:?}");
            assert!(sums.round_trip[1] <= ms, "seed {seed}: {sums:?}");
            assert!(least == udpstp::NO_VALUE || least <= most_varied);
            assert!(u64::from(sums.datagrams) <= most, "seed {seed}: {sums:?}");
        }
        let trip = world.client.least_round_trip();
        assert!(trip.is_none_or(|trip| trip <= ms), "seed {seed}: {trip:?}");
        let faults = world.client.faults();
        implausible[seed as usize % 2] += faults.implausible + faults.bad_sums;
    }
    assert!(implausible[0] > 0 && implausible[1] > 0, "{implausible:?}");
}

#[test]
fn a_wrong_time_or_number_is_counted_and_changes_no_figure() {
    let mut world = World::new(short(Direction::Downstream), 50);
    while world.client.intervals().is_empty() {
        world.step();
    }
    let mut other = world.client.clone();
    let stamp = |ms: i64| {
        let ns =
            (CLOCK.epoch_ns - 3_000_000_000) as i64 + world.now.as_ns() as i64 + ms * 1_000_000;
        Stamp {
            seconds: (ns / 1_000_000_000) as u32,
            nanoseconds: (ns % 1_000_000_000) as u32,
        }
    };
    let mut hear = |load: packet::udpstp::Load| {
        let mut bytes = Vec::new();
        Message::Load(load).build(&mut bytes);
        bytes.resize(1_000, 0);
        other.handle(world.now, TEST, &bytes);
        other.faults().implausible
    };
    let usual = packet::udpstp::Load {
        sequence: 1 << 20,
        payload: 1_000,
        left: stamp(-7),
        ..Default::default()
    };
    let far = stamp(-3_600_000);
    let zero = Stamp::default();
    assert_eq!(hear(usual), 1, "status_left was never sent by anybody");
    let answered = packet::udpstp::Load {
        status_left: zero,
        sequence: 1 << 21,
        ..usual
    };
    assert_eq!(hear(answered), 1, "the same answer counts once");
    for (load, count) in [
        (
            packet::udpstp::Load {
                left: far,
                sequence: (1 << 21) + 1,
                ..answered
            },
            2,
        ),
        (
            packet::udpstp::Load {
                left: stamp(3_600_000),
                sequence: (1 << 21) + 2,
                ..answered
            },
            3,
        ),
        (
            packet::udpstp::Load {
                sequence: u32::MAX,
                ..answered
            },
            4,
        ),
        (
            packet::udpstp::Load {
                sequence: 0,
                ..answered
            },
            5,
        ),
        (
            packet::udpstp::Load {
                status_left: far,
                sequence: (1 << 21) + 3,
                ..answered
            },
            6,
        ),
        (
            packet::udpstp::Load {
                sequence: (1 << 21) + 4,
                status_left: far,
                ..answered
            },
            6,
        ),
    ] {
        assert_eq!(hear(load), count, "{load:?}");
    }
}

#[test]
fn who_is_not_there_does_not_answer() {
    let mut world = World::new(short(Direction::Upstream), 50);
    world.server_is_there = false;
    assert_eq!(world.run(), End::NoAnswer);
    assert_eq!(world.now, RECEIVE_TIMEOUT);
}

#[test]
fn both_ends_give_up_when_the_link_breaks() {
    for direction in [Direction::Upstream, Direction::Downstream] {
        let mut world = World::new(short(direction), 50);
        while world.client.intervals().is_empty() {
            world.step();
        }
        (world.up.loss, world.down.loss) = (1.0, 1.0);
        let at = world.now;
        assert_eq!(world.run(), End::Silent, "{direction:?}");
        assert!(world.now <= at + RECEIVE_TIMEOUT + Time::from_ms(100));
        assert!(!world.test.as_ref().unwrap().is_complete());
    }
}

/// Each server has one setting of jumbo datagrams: the client takes it.
#[test]
fn a_refusal_for_jumbo_datagrams_is_answered_by_asking_without() {
    let mut client = Client::new(Settings::default(), 7, CONTROL, false, CLOCK, Time::ZERO);
    let ask = |client: &mut Client| {
        client.wake(Time::ZERO);
        let mut out = Vec::new();
        client.poll_transmit(Time::ZERO, &mut out).unwrap();
        match Message::parse(&out) {
            Ok(Message::Setup(setup)) => setup,
            other => panic!("{other:?}"),
        }
    };
    let request = ask(&mut client);
    assert!(request.jumbo);
    let answer = |client: &mut Client, answer: SetupAnswer, version: u16| {
        let (answer, port) = (Some(answer), 0);
        let mut out = Vec::new();
        let response = Setup {
            version,
            answer,
            port,
            ..request
        };
        Message::Setup(response).build(&mut out);
        client.handle(Time::ZERO, CONTROL, &out);
    };
    answer(&mut client, SetupAnswer::BAD_JUMBO, 20);
    assert!(!ask(&mut client).jumbo);
    answer(&mut client, SetupAnswer::BAD_VERSION, 19);
    let end = client.end().unwrap();
    assert_eq!(end, End::Refused(SetupAnswer::BAD_VERSION, 19));
    let told = "the server refuses: it speaks another version of the protocol, 19 and not 20";
    assert_eq!(std::format!("{end}"), told);
}

/// The server may not know yet that the test before is over.
#[test]
fn a_server_without_room_is_asked_again_for_some_seconds() {
    for free_after in [0, 1, 5, 100] {
        let mut client = Client::new(Settings::default(), 7, CONTROL, false, CLOCK, Time::ZERO);
        let (mut now, mut requests) = (Time::ZERO, 0);
        while client.end().is_none() {
            client.wake(now);
            let mut request = Vec::new();
            if let Some(transmit) = client.poll_transmit(now, &mut request) {
                // It asks the test that it was granted.
                if transmit.port == Some(TEST) {
                    break;
                }
                let granted = match requests {
                    count if count < free_after => Err(SetupAnswer::FULL),
                    _ => Ok(granted(TEST)),
                };
                requests += 1;
                let mut answer = Vec::new();
                server::setup(&request, |_| granted, &mut answer).unwrap();
                client.handle(now, CONTROL, &answer);
            }
            now += Time::from_ms(10);
            assert!(now < Time::from_secs(5));
        }
        match free_after {
            100 => {
                assert_eq!(client.end(), Some(End::Refused(SetupAnswer::FULL, 20)));
                assert!((4..10).contains(&requests), "{requests}");
            }
            _ => assert_eq!((client.end(), requests), (None, free_after + 1)),
        }
    }
}

#[test]
fn a_server_refuses_what_it_cannot_do() {
    let answer = |change: fn(&mut Setup), granted: Result<server::Grant, SetupAnswer>| {
        let mut request = Setup {
            version: 20,
            connections: 1,
            ..Setup::default()
        };
        change(&mut request);
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        Message::Setup(request).build(&mut bytes);
        let made = server::setup(&bytes, |_| granted, &mut out).unwrap();
        // The source address may be forged, so it gets no more bytes than it sent.
        assert_eq!(out.len(), bytes.len());
        match Message::parse(&out) {
            Ok(Message::Setup(setup)) => {
                assert_eq!(
                    made,
                    (setup.answer == Some(SetupAnswer::OK)).then_some(setup)
                );
                (setup.answer.unwrap(), setup.integrity)
            }
            other => panic!("{other:?}"),
        }
    };
    let granted = granted(TEST);
    assert_eq!(
        answer(|_| {}, Ok(granted)),
        (SetupAnswer::OK, granted.integrity)
    );
    let none = Integrity::default();
    for refusal in [
        SetupAnswer::FULL,
        SetupAnswer::KEY_WANTED,
        SetupAnswer::NO_KEYS,
    ] {
        assert_eq!(answer(|_| {}, Err(refusal)), (refusal, none));
    }
    let version = answer(|request| request.version = 11, Ok(granted));
    assert_eq!(version, (SetupAnswer::BAD_VERSION, none));
    let connections = answer(|request| request.connections = 0, Ok(granted));
    assert_eq!(connections, (SetupAnswer::BAD_CONNECTIONS, none));
    let unread = server::setup(&[0; 56], |_| Ok(granted), &mut Vec::new());
    assert!(unread.is_err());
}

#[test]
fn an_activation_repeats_what_the_answer_has_shown_and_is_signed_with_a_key() {
    for key in [None, Some(3u8)] {
        let sign = |key: u8| client::Signer::new(move |bytes| [bytes[9] ^ key; 32]);
        let settings = short(Direction::Downstream);
        let mut client =
            Client::new(settings, 7, CONTROL, false, CLOCK, Time::ZERO).with_key(key.map(sign));
        let ask = |client: &mut Client, now: Time| {
            client.wake(now);
            let mut out = Vec::new();
            client.poll_transmit(now, &mut out).unwrap();
            out
        };
        let asked = ask(&mut client, Time::ZERO);
        let Ok(Message::Setup(request)) = Message::parse(&asked) else {
            panic!("{asked:?}");
        };
        assert_eq!(request.integrity.mode, u8::from(key.is_some()));
        let (granted, mut answer) = (granted(TEST), Vec::new());
        server::setup(&asked, |_| Ok(granted), &mut answer).unwrap();
        client.handle(Time::ZERO, CONTROL, &answer);
        let bytes = ask(&mut client, Time::from_ms(1));
        let activation = server::activation(&bytes).unwrap();
        let digest = match key {
            None => granted.integrity.digest,
            Some(key) => sign(key).digest(&activation, &granted.integrity),
        };
        let expected = Integrity {
            digest,
            ..granted.integrity
        };
        assert_eq!(activation.integrity, expected);
        let mut rejection = Vec::new();
        server::reject(&activation, &mut rejection);
        assert_eq!(rejection.len(), bytes.len());
        client.handle(Time::from_ms(2), TEST, &rejection);
        assert_eq!(client.end(), Some(End::Rejected));
    }
}

/// What a server tells is not believed blindly: bursts without bound would be sent.
#[test]
fn rates_that_cannot_be_sent_are_passed_over_and_counted() {
    let mut world = World::new(short(Direction::Upstream), 50);
    while world.client.intervals().is_empty() {
        world.step();
    }
    let sound = Table::new(false, false).row(1);
    for change in [
        (|rate: &mut SendingRate| rate.burst1 = 1 << 30) as fn(&mut SendingRate),
        |rate| rate.interval2 = 1,
        |rate| rate.addon2 = 70_000,
        |rate| *rate = SendingRate::default(),
    ] {
        let mut rate = sound;
        (rate.burst1, rate.payload1, rate.interval1) = (1, 1222, 100);
        change(&mut rate);
        let mut bytes = Vec::new();
        let status = packet::udpstp::Status {
            sequence: 1_000,
            rate,
            ..Default::default()
        };
        Message::Status(status).build(&mut bytes);
        let before = world.client.faults().bad_rates;
        world.client.handle(world.now, TEST, &bytes);
        assert_eq!(world.client.faults().bad_rates, before + 1, "{rate:?}");
    }
    assert_eq!(world.run(), End::Complete);
}

#[test]
fn what_is_no_message_is_counted_and_changes_nothing() {
    let mut world = World::new(short(Direction::Downstream), 50);
    let mut random = Random::new(9);
    while world.test.is_none() || world.client.intervals().len() < 2 {
        world.step();
        let now = world.now;
        let noise: Vec<u8> = (0..random.below(300))
            .map(|_| random.bits() as u8)
            .collect();
        world.client.handle(now, TEST, &noise);
        if let Some(test) = &mut world.test {
            test.handle(now, &noise);
        }
        // From another port than that of the test.
        let mut load = Vec::new();
        Message::Load(packet::udpstp::Load::default()).build(&mut load);
        world.client.handle(now, 9, &load);
    }
    assert!(world.client.faults().unreadable.0 > 100);
    assert!(world.client.faults().unexpected > 100);
    assert!(world.test.as_ref().unwrap().faults().unreadable.0 > 100);
    assert_eq!(world.run(), End::Complete);
    assert!((49.0e6..50.1e6).contains(&world.best()), "{}", world.best());
}

fn second(mbps: u32, lost: u32, round_trip: u32) -> Interval {
    Interval {
        end: 0.0,
        rate: f64::from(mbps) * 1e6,
        sums: SubInterval {
            errors: [lost, 0, 0],
            round_trip: [0, round_trip],
            ..SubInterval::default()
        },
    }
}

#[test]
fn a_rate_that_still_rose_at_the_end_is_a_lower_bound_and_so_is_one_that_was_given() {
    let search = Settings::default();
    let rising = [100, 300, 500, 700].map(|mbps| second(mbps, 0, 1));
    assert_eq!(held_by(&search, &rising), Held::Search);
    // A stumble that was left behind is none of the path's limits.
    let mut stumbled = rising;
    stumbled[1].sums.errors[0] = 100;
    assert_eq!(held_by(&search, &stumbled), Held::Search);
    let flat = [100, 300, 500, 500].map(|mbps| second(mbps, 0, 1));
    assert_eq!(held_by(&search, &flat), Held::Rate);
    let one = Settings {
        row: Some(500),
        ..search
    };
    let steady = [500; 4].map(|mbps| second(mbps, 0, 1));
    assert_eq!(held_by(&one, &steady), Held::Rate);
}

#[test]
fn congestion_in_the_best_interval_or_behind_it_is_the_paths() {
    let search = Settings::default();
    for last in [second(700, 11, 1), second(700, 0, 30)] {
        let intervals = [second(300, 0, 1), second(500, 0, 1), last];
        assert_eq!(held_by(&search, &intervals), Held::Path);
    }
    let back = [second(500, 0, 1), second(300, 40, 90), second(350, 0, 1)];
    assert_eq!(held_by(&search, &back), Held::Path);
    // Losses that a trial may have, and one way's delay, where the round trip counts, change nothing.
    let mut few = second(700, 10, 29);
    few.sums.variation = [0, 100, 0, 0];
    assert_eq!(held_by(&search, &[second(300, 0, 1), few]), Held::Search);
    let one_way = Settings {
        one_way: true,
        ..search
    };
    assert_eq!(held_by(&one_way, &[second(300, 0, 1), few]), Held::Path);
    assert_eq!(held_by(&search, &[]), Held::Path);
}
