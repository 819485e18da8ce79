//! PAUSE and PFC: lossless links, exact times, storms and deadlocks.

use node::outcome::Direction;
use node::random::Random;
use node::{Channel, Frame, Graph, Node, NodeId, Out, Outcome, Port, Properties, Rate, Size, Time};
use packet::pause::Pause;
use queue::egress::{PortQueue, QueueEvent};
use queue::pause::{self, Config, Event};
use queue::{fifo, prio};
use sim::{Options, run};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// Sends frames at given times by its one port, and keeps what arrives.
#[derive(Default)]
struct Talker {
    frames: VecDeque<(Time, Vec<u8>)>,
    heard: Heard,
}

impl Node for Talker {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            let heard = (frame.arrived(), frame.to_vec());
            self.heard.lock().unwrap().push(heard);
            out.done(frame);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while let Some((_, bytes)) = self.frames.pop_front_if(|(at, _)| *at <= now) {
            let mut frame = out.frame();
            frame.extend(&bytes);
            out.send(Port(0), frame);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.frames.front().map(|(at, _)| *at)
    }
}

/// Sends each frame out of the port that its first byte names.
struct Router(usize);

impl Node for Router {
    fn properties(&self) -> Properties {
        Properties::of(self.0)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for mut frame in frames.drain(..) {
            let port = Port(frame[0].into());
            // The next router's port comes after it.
            frame[..6].rotate_left(1);
            out.send(port, frame);
        }
    }
}

/// A frame of a priority: its first bytes are the ports of the routers on its way.
fn frame(way: &[u8], priority: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    bytes[..way.len()].copy_from_slice(way);
    bytes[12..16].copy_from_slice(&[0x81, 0, priority << 5, 0]);
    bytes
}

/// Pauses, storms and queue lengths at the sender of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    asked: Vec<(Time, Pause)>,
    paused: Vec<(Time, pause::Pauses)>,
    /// Maximum number of bytes from the port that the node has buffered.
    most: u64,
    overflows: u64,
    storms: u64,
    unknown: u64,
}

type All = Arc<Mutex<BTreeMap<(usize, usize), Seen>>>;

/// Eight bands without a limit, the highest priority first.
fn bands() -> queue::Config {
    let band = queue::Config::Fifo(fifo::Config {
        limit: u32::MAX,
        ..fifo::Config::default()
    });
    queue::Config::Prio(prio::Config {
        bands: vec![band; 8],
        priomap: (0..8).rev().collect(),
        ..prio::Config::default()
    })
}

/// Queues for both directions of all links, with pauses.
fn queues(graph: &Graph, config: &Config, queue: &queue::Config) -> (Vec<PortQueue>, All) {
    let all = All::default();
    let mut queues = Vec::new();
    for (index, link) in graph.links.iter().enumerate() {
        for way in Direction::BOTH {
            let configs = [Some(config.clone()), Some(config.clone())];
            let (queue, all) = (queue.clone(), all.clone());
            queues.push(PortQueue {
                link: index,
                direction: way,
                make: Box::new(move || queue.build(1).unwrap()),
                see: Some(Box::new(move |event| {
                    let QueueEvent::Pause { at, event } = event else {
                        return;
                    };
                    let mut all = all.lock().unwrap();
                    let seen = all.entry((index, way.index())).or_default();
                    match event {
                        Event::Asked(pause) => seen.asked.push((*at, *pause)),
                        Event::Paused(until) => seen.paused.push((*at, *until)),
                        Event::Arrived { waiting } => seen.most = seen.most.max(*waiting),
                        Event::Overflow { .. } => seen.overflows += 1,
                        Event::Storm { .. } => seen.storms += 1,
                        Event::Unknown => seen.unknown += 1,
                    }
                })),
                pause: pause::Port::new(&link.channels, &configs, way).unwrap(),
            });
        }
    }
    (queues, all)
}

/// Runs a graph with pauses on all links.
fn paused(
    graph: Graph,
    config: &Config,
    queue: &queue::Config,
    options: Options,
) -> (Outcome, BTreeMap<(usize, usize), Seen>) {
    let (disciplines, all) = queues(&graph, config, queue);
    let options = Options {
        disciplines,
        ..options
    };
    let outcome = run(graph, options).unwrap();
    let all = all.lock().unwrap().clone();
    (outcome, all)
}

fn channel(rate: Rate, delay: Time) -> Channel {
    Channel {
        rate: Some(rate),
        delay,
        ..Channel::default()
    }
}

fn gigabits(count: u64) -> Rate {
    Rate::from_bits_per_second(count * 1_000_000_000).unwrap()
}

type Heard = Arc<Mutex<Vec<(Time, Vec<u8>)>>>;

fn talker(graph: &mut Graph, name: String, frames: VecDeque<(Time, Vec<u8>)>) -> (NodeId, Heard) {
    let talker = Talker {
        frames,
        ..Talker::default()
    };
    let heard = talker.heard.clone();
    (graph.add(name, Box::new(talker)), heard)
}

/// An incast: `senders` send at the same time to one receiver through a router, whose frames back keep all lines busy.
struct Incast {
    senders: usize,
    each: usize,
    mtu: usize,
    lens: Vec<usize>,
    priority: u8,
    rate: Rate,
    delay: Time,
}

impl Incast {
    fn graph(&self) -> (Graph, Heard) {
        let mut graph = Graph::default();
        let to = self.senders as u8;
        let router = graph.add("router", Box::new(Router(self.senders + 1)));
        // Frames back are of another priority, and keep the lines on which pauses travel busy.
        let back = (0..self.each * self.senders)
            .map(|number| frame(&[(number % self.senders) as u8], 0, self.mtu));
        let back = back.map(|frame| (Time::ZERO, frame)).collect();
        for sender in 0..self.senders {
            let lens = self.lens.iter().cycle().skip(sender);
            let frames = lens.take(self.each);
            let frames = frames.map(|len| (Time::ZERO, frame(&[to], self.priority, *len)));
            let (node, _) = talker(&mut graph, format!("sender{sender}"), frames.collect());
            let channel = channel(self.rate, self.delay);
            graph.connect((node, 0), (router, sender as u16), channel);
        }
        let (node, heard) = talker(&mut graph, "receiver".into(), back);
        let channel = channel(self.rate, self.delay);
        graph.connect((node, 0), (router, self.senders as u16), channel);
        (graph, heard)
    }
}

#[test]
fn an_incast_loses_nothing_with_the_computed_headroom_at_any_rate_delay_and_mtu() {
    let mut random = Random::new(5);
    let mut fullest = 0.0f64;
    for round in 0..120 {
        let mut draw = |bound: u64| random.below(bound);
        let mtu = [64, 594, 1514, 9014][draw(4) as usize];
        let rates = [1, 10, 25, 100];
        let incast = Incast {
            senders: 2 + draw(4) as usize,
            each: 150,
            mtu,
            // All of the largest, or mixed.
            lens: match draw(2) {
                0 => vec![mtu],
                _ => (0..7)
                    .map(|_| 64 + draw(mtu as u64 - 63) as usize)
                    .collect(),
            },
            priority: 3,
            rate: gigabits(rates[draw(4) as usize]),
            delay: Time::from_ns(draw(2) * draw(20_000)),
        };
        let line = channel(incast.rate, incast.delay);
        let reaction = Time::from_ns(draw(2) * draw(2_000));
        let least = pause::min_quanta(&line, &line, mtu as u32, reaction).unwrap();
        let config = Config {
            priorities: match draw(3) {
                0 => Vec::new(),
                _ => vec![3, 5],
            },
            xoff: Size::from_bytes(draw(10 * mtu as u64)),
            xon: [None, Some(Size::from_bytes(0))][draw(2) as usize],
            mtu: mtu as u32,
            quanta: [u16::MAX, least + 200, least][draw(3) as usize],
            reaction,
            ..Config::default()
        };
        let (graph, heard) = incast.graph();
        let link = graph.links[0].channels.clone();
        let room = pause::headroom_needed(&link[0], &link[1], config.mtu, config.reaction).unwrap();
        let (_, all) = paused(graph, &config, &bands(), Options::default());
        assert_eq!(
            heard.lock().unwrap().len(),
            incast.senders * incast.each,
            "{round}"
        );
        for (at, seen) in &all {
            assert_eq!((seen.overflows, seen.unknown), (0, 0), "{round} {at:?}");
            let limit = config.xoff.bytes() + room;
            assert!(seen.most <= limit, "{round}: {} above {limit}", seen.most);
            let used = seen.most.saturating_sub(config.xoff.bytes());
            fullest = fullest.max(used as f64 / room as f64);
        }
        let asked: usize = all.values().map(|seen| seen.asked.len()).sum();
        assert!(asked > 0, "{round}: nothing was paused");
    }
    // The formula exceeds the worst case by two frames at most.
    assert!((0.8..=1.0).contains(&fullest), "{fullest}");
}

#[test]
fn less_than_the_headroom_loses_frames_and_counts_them() {
    let incast = Incast {
        senders: 4,
        each: 400,
        mtu: 1514,
        lens: vec![1514],
        priority: 3,
        rate: gigabits(10),
        delay: Time::from_us(5),
    };
    let (graph, heard) = incast.graph();
    let link = graph.links[0].channels.clone();
    let room = pause::headroom_needed(&link[0], &link[1], 1514, Time::ZERO).unwrap();
    let config = Config {
        priorities: vec![3],
        headroom: Some(Size::from_bytes(room / 2)),
        ..Config::default()
    };
    let (_, all) = paused(graph, &config, &bands(), Options::default());
    let lost: u64 = all.values().map(|seen| seen.overflows).sum();
    assert!(lost > 0);
    assert_eq!(heard.lock().unwrap().len() as u64 + lost, 4 * 400);
}

#[test]
fn a_paused_priority_does_not_stop_the_others() {
    let mut graph = Graph::default();
    let frames = (0..100).flat_map(|_| [3, 0].map(|of| (Time::ZERO, frame(&[], of, 1000))));
    let (a, _) = talker(&mut graph, "a".into(), frames.collect());
    let mut pause = Vec::new();
    let mut times = [None; 8];
    times[3] = Some(u16::MAX);
    Pause::Priorities(times).build([2, 0, 0, 0, 0, 9].into(), &mut pause);
    let (b, heard) = talker(&mut graph, "b".into(), [(Time::ZERO, pause)].into());
    graph.connect((a, 0), (b, 0), channel(gigabits(10), Time::ZERO));
    let config = Config {
        priorities: vec![3],
        ..Config::default()
    };
    let (_, all) = paused(graph, &config, &bands(), Options::default());
    let until = all[&(0, 0)].paused[0].1[3];
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 200);
    let early = heard.iter().filter(|(at, _)| *at < until);
    let of_three = early
        .clone()
        .filter(|(_, frame)| frame[14] >> 5 == 3)
        .count();
    // One had begun before the pause arrived.
    assert_eq!((of_three, early.count()), (1, 101));
}

#[test]
fn a_pause_lasts_its_quanta_to_the_picosecond() {
    for (rate, quantum) in [
        (10, 51_200),
        (25, 20_480),
        (40, 12_800),
        (100, 5_120),
        (200, 2_560),
    ] {
        for quanta in [1u16, 2, 3, 100, 1_000, 65_535] {
            for is_link in [true, false] {
                let mut graph = Graph::default();
                // Some frame waits at all times.
                let (a, _) = talker(
                    &mut graph,
                    "a".into(),
                    (0..60).map(|_| (Time::ZERO, frame(&[], 3, 64))).collect(),
                );
                let mut bytes = Vec::new();
                let pause = match is_link {
                    true => Pause::Link(quanta),
                    false => Pause::Priorities([Some(quanta); 8]),
                };
                pause.build([2, 0, 0, 0, 0, 9].into(), &mut bytes);
                let (b, heard) = talker(&mut graph, "b".into(), [(Time::ZERO, bytes)].into());
                graph.connect((a, 0), (b, 0), channel(gigabits(rate), Time::from_ns(7)));
                let config = Config {
                    priorities: if is_link {
                        Vec::new()
                    } else {
                        (0..8).collect()
                    },
                    ..Config::default()
                };
                let (_, all) = paused(graph, &config, &bands(), Options::default());
                let (at, until) = all[&(0, 0)].paused[0];
                let lasts = Time::from_ps(u64::from(quanta) * quantum);
                assert_eq!(until[3], at + lasts, "{rate} {quanta}");
                let heard = heard.lock().unwrap();
                assert_eq!(heard.len(), 60);
                // A line that is busy at the end of the pause is free when its frame ends.
                let bit = Time::from_ps(1_000 / rate);
                let each = bit * (8 * (64 + 24));
                let begun = at.as_ps().div_ceil(each.as_ps());
                let free = each * begun;
                let next = free.max(until[3]) + bit * 64 + Time::from_ns(7);
                assert_eq!(heard[begun as usize].0, next, "{rate} {quanta} {is_link}");
            }
        }
    }
}

#[test]
fn a_frame_that_is_flooded_counts_once_until_its_last_copy_has_left() {
    let mut graph = Graph::default();
    let hub = graph.add("hub", Box::new(crate::cast::Hub(4)));
    let frames = (0..200).map(|_| (Time::ZERO, frame(&[], 3, 1000)));
    let (source, _) = talker(&mut graph, "source".into(), frames.collect());
    graph.connect(
        (source, 0),
        (hub, 0),
        channel(gigabits(10), Time::from_us(1)),
    );
    let mut all_heard = Vec::new();
    // The first copies leave at once, the last waits for the slowest line.
    for (port, rate) in [(1, 10), (2, 5), (3, 2)] {
        let (node, heard) = talker(&mut graph, format!("sink{port}"), VecDeque::new());
        graph.connect(
            (hub, port),
            (node, 0),
            channel(gigabits(rate), Time::from_us(1)),
        );
        all_heard.push(heard);
    }
    let config = Config {
        xoff: Size::from_bytes(10_000),
        ..Config::default()
    };
    let (_, all) = paused(graph, &config, &bands(), Options::default());
    for heard in all_heard {
        assert_eq!(heard.lock().unwrap().len(), 200);
    }
    let seen = &all[&(0, 1)];
    assert!(seen.most > 10_000 && seen.overflows == 0, "{seen:?}");
    // The last pause frame allowed the source to send.
    let (_, last) = seen.asked.last().unwrap();
    assert_eq!(*last, Pause::Link(0));
}

/// A ring of routers, each with a host whose frames go two routers on: PFC's circular buffer dependency.
fn ring(config: &Config, options: Options) -> (usize, Outcome, BTreeMap<(usize, usize), Seen>) {
    const ROUTERS: usize = 3;
    let mut graph = Graph::default();
    let routers: Vec<NodeId> = (0..ROUTERS)
        .map(|number| graph.add(format!("r{number}"), Box::new(Router(3))))
        .collect();
    let mut all = Vec::new();
    for number in 0..ROUTERS {
        // Port 0: the host; port 1: the next router; port 2: the one before.
        let next = routers[(number + 1) % ROUTERS];
        graph.connect(
            (routers[number], 1),
            (next, 2),
            channel(gigabits(10), Time::from_us(1)),
        );
        let frames = (0..2_000).map(|_| (Time::ZERO, frame(&[1, 1, 0], 3, 1000)));
        let (host, heard) = talker(&mut graph, format!("h{number}"), frames.collect());
        graph.connect(
            (host, 0),
            (routers[number], 0),
            channel(gigabits(10), Time::from_us(1)),
        );
        all.push(heard);
    }
    let (outcome, seen) = paused(graph, config, &bands(), options);
    let heard = all.iter().map(|heard| heard.lock().unwrap().len()).sum();
    (heard, outcome, seen)
}

#[test]
fn a_ring_of_pauses_is_a_deadlock_that_the_watchdog_counts() {
    let config = Config {
        priorities: vec![3],
        xoff: Size::from_bytes(20_000),
        watchdog: Time::from_ms(5),
        ..Config::default()
    };
    let options = || Options {
        until: Some(Time::from_ms(40)),
        ..Options::default()
    };
    let (heard, _, seen) = ring(&config, options());
    assert!(heard < 6_000, "{heard}: no deadlock");
    let overflows: u64 = seen.values().map(|seen| seen.overflows).sum();
    assert_eq!(overflows, 0);
    // The three directions of the ring stay paused, and so do the hosts.
    let storms: Vec<_> = seen
        .iter()
        .filter(|(_, seen)| seen.storms == 1)
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(storms, [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)]);
    // Without PFC of their priority the same frames pass.
    let other = Config {
        priorities: vec![4],
        ..config.clone()
    };
    let (heard, _, seen) = ring(&other, options());
    assert_eq!(heard, 6_000);
    assert!(
        seen.values()
            .all(|seen| seen.asked.is_empty() && seen.storms == 0)
    );
}

#[test]
fn pauses_are_the_same_in_several_parts() {
    let config = Config {
        priorities: vec![3],
        xoff: Size::from_bytes(20_000),
        watchdog: Time::from_ms(1),
        ..Config::default()
    };
    let options = |threads, whole_for| Options {
        until: Some(Time::from_ms(6)),
        threads,
        whole_for,
        ..Options::default()
    };
    let whole = ring(&config, options(1, 0));
    for (threads, whole_for) in [(2, 0), (3, 0), (2, 500), (3, 5_000)] {
        let parts = ring(&config, options(threads, whole_for));
        assert_eq!(parts.0, whole.0);
        assert_eq!(parts.1.links, whole.1.links);
        assert_eq!(parts.2, whole.2);
    }
}

#[test]
fn a_receiver_that_pauses_for_ever_is_a_storm_and_the_pause_ends_with_it() {
    let mut graph = Graph::default();
    let frames = (0..10).map(|_| (Time::from_us(1), frame(&[], 3, 64)));
    let (a, _) = talker(&mut graph, "a".into(), frames.collect());
    // A pause of 3.36 ms each millisecond, for half a second.
    let storm = (0..500).map(|number| {
        let mut bytes = Vec::new();
        Pause::Link(u16::MAX).build([2, 0, 0, 0, 0, 9].into(), &mut bytes);
        (Time::from_ms(number), bytes)
    });
    let (b, heard) = talker(&mut graph, "b".into(), storm.collect());
    graph.connect((a, 0), (b, 0), channel(gigabits(10), Time::ZERO));
    let (_, all) = paused(
        graph,
        &Config::default(),
        &queue::Config::default(),
        Options::default(),
    );
    let seen = &all[&(0, 0)];
    assert_eq!(seen.paused.len(), 500);
    assert_eq!(seen.storms, 1);
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 10);
    assert!(heard[0].0 > Time::from_ms(499) + Time::from_us(3_355));
}
