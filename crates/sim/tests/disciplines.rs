//! Links with a queue discipline in place of their FIFO.

use crate::cast::{Source, sink};
use node::link::LinkCounters;
use node::outcome::Direction;
use node::random::Random;
use node::{
    Channel, Event, Frame, Graph, Level, Node, Oscillator, Out, Port, Probability, Properties,
    QueueLimit, Rate, StampId, Time, event::What, link::Clocks,
};
use queue::egress::{PortQueue, QueueEvent};
use queue::{Config, fifo};
use sim::{Options, Sim, run};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

pub fn on(link: usize, config: Config) -> PortQueue {
    PortQueue {
        link,
        direction: Direction::Forth,
        make: Box::new(move || config.build(7).unwrap()),
        see: None,
        pause: Default::default(),
    }
}

fn fifo(limit: QueueLimit) -> Config {
    Config::Fifo(match limit {
        QueueLimit::Packets(limit) => fifo::Config {
            limit,
            ..fifo::Config::default()
        },
        QueueLimit::Bytes(bytes) => fifo::Config {
            limit: u32::MAX,
            bytes: Some(node::Size::from_bytes(bytes)),
            ..fifo::Config::default()
        },
    })
}

/// Runs a source over a link with random parameters, with the channel's own FIFO or a discipline. Returns arrivals and counters.
fn drawn(
    seed: u64,
    discipline: Option<fn(QueueLimit) -> Config>,
) -> (Vec<(Time, Time, u32, usize)>, LinkCounters) {
    let mut random = Random::new(seed);
    let mut draw = |bound: u64| random.below(bound);
    let is_block = draw(3) == 0;
    let rate = match is_block {
        true => Rate::TEN_GIGABIT,
        false => Rate::from_bits_per_second(1_000_000 * (1 + draw(12_000))).unwrap(),
    };
    let len = 60 + draw(1_455) as usize;
    let time = rate.time_of(8 * (len as u64 + 24), 0).0;
    let source = Source {
        count: 300,
        len,
        start: Time::from_ns(draw(3_000)),
        // From half of the line's rate to twice as much; sometimes all at once.
        gap: match draw(6) {
            0 => Time::ZERO,
            _ => Time::from_ps(time.as_ps() * (50 + draw(150)) / 100),
        },
        ahead: Time::from_ns(draw(4_000)),
        sent: 0,
    };
    let queue = match draw(2) {
        0 => QueueLimit::Packets(1 + draw(40) as u32),
        _ => QueueLimit::Bytes(2_000 + draw(60_000)),
    };
    let chance = |percent: u64| Probability::new(percent as f64 / 100.0).unwrap();
    let oscillator = |ppm: u64| Oscillator {
        offset: ppm as f64 - 100.0,
        ..Oscillator::default()
    };
    let channel = Channel {
        rate: Some(rate),
        delay: Time::from_ns(draw(5_000)),
        queue,
        loss: chance(draw(2) * draw(20)),
        duplicate: chance(draw(2) * draw(20)),
        reorder: chance(draw(2) * draw(20)),
        reorder_by: Time::from_ns(draw(9_000)),
        down: match draw(4) {
            0 => vec![[Time::from_us(20), Time::from_us(20 + 1 + draw(60))]],
            _ => Vec::new(),
        },
        level: match is_block {
            true => Level::Block(Clocks {
                sender: oscillator(draw(200)),
                receiver: oscillator(draw(200)),
                ..Clocks::default()
            }),
            false => Level::Frame,
        },
        ..Channel::default()
    };
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let a = graph.add("a", Box::new(source));
    let b = graph.add("b", node);
    graph.connect((a, 0), (b, 0), channel);
    let options = Options {
        seed,
        disciplines: discipline
            .iter()
            .map(|config| on(0, config(queue)))
            .collect(),
        ..Options::default()
    };
    let outcome = run(graph, options).unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, outcome.links[0][0])
}

#[test]
fn a_fifo_as_a_discipline_does_what_the_channels_own_does_to_the_picosecond() {
    let mut dropped = 0;
    for seed in 0..600 {
        let (plain, own) = drawn(seed, None);
        let (queued, counters) = drawn(seed, Some(fifo));
        // At the level of blocks the channel's own queue is emptied by whole columns of 3.2 ns, so that within one of them it may be
        // another frame that finds it full.
        if own.line.is_some() && own.queue_full > 0 {
            let sent = own.sent.abs_diff(counters.sent);
            assert!(
                sent <= 1 + own.sent / 50,
                "seed {seed}: {own:?} {counters:?}"
            );
            continue;
        }
        let differ = plain.iter().zip(&queued).find(|(own, other)| own != other);
        assert_eq!(differ, None, "seed {seed}, {own:?}");
        assert_eq!(plain.len(), queued.len(), "seed {seed}");
        // A frame that leaves at once has been in the discipline, but did not wait.
        if own.line.is_none() {
            let waited = own.longest_queue.max(1);
            assert_eq!(counters.longest_queue, waited, "seed {seed}");
        }
        let longest_queue = own.longest_queue;
        let counters = LinkCounters {
            longest_queue,
            ..counters
        };
        assert_eq!(own, counters, "seed {seed}");
        dropped += own.queue_full;
    }
    assert!(dropped > 10_000, "{dropped}");
}

/// Each discipline, with little space and short times so that it acts on a few hundred packets.
pub fn all() -> Vec<Config> {
    let fifo = || Box::new(fifo(QueueLimit::Packets(30)));
    let mega = |rate: u64| Rate::from_bits_per_second(1_000_000 * rate).unwrap();
    let (target, interval) = (Time::from_us(5), Time::from_us(100));
    vec![
        *fifo(),
        Config::Codel(queue::codel::Config {
            target,
            interval,
            ..Default::default()
        }),
        Config::FqCodel(queue::fq_codel::Config {
            target,
            interval,
            limit: 60,
            ..Default::default()
        }),
        Config::Pie(queue::pie::Config {
            target,
            tupdate: Time::from_us(50),
            ..Default::default()
        }),
        Config::Red(queue::red::Config::default()),
        Config::DualPi2(queue::dualpi2::Config::default()),
        Config::Cake(queue::cake::Config {
            bandwidth: Some(mega(3_000)),
            ..Default::default()
        }),
        Config::Tbf(queue::tbf::Config::new(
            mega(2_000),
            node::Size::from_bytes(20_000),
        )),
        Config::Drr(queue::drr::Config::default()),
        Config::Prio(queue::prio::Config::default()),
    ]
}

#[test]
fn no_frame_is_lost_from_the_count_whatever_the_discipline_does() {
    let mut drops = 0;
    for (number, config) in all().into_iter().enumerate() {
        for seed in 0..12 {
            let mut random = Random::new(1_000 * number as u64 + seed);
            let mut draw = |bound: u64| random.below(bound);
            let mut graph = Graph::default();
            let (node, seen) = sink();
            let count = 400;
            let source = Source {
                count,
                len: 60 + draw(1_400) as usize,
                start: Time::from_ns(draw(2_000)),
                gap: Time::from_ns(50 + draw(1_500)),
                ahead: Time::from_ns(draw(3_000)),
                sent: 0,
            };
            let a = graph.add("a", Box::new(source));
            let b = graph.add("b", node);
            let channel = Channel {
                rate: Rate::from_bits_per_second(1_000_000_000 * (1 + draw(10))),
                delay: Time::from_us(draw(20)),
                loss: Probability::new(0.02).unwrap(),
                ..Channel::default()
            };
            graph.connect((a, 0), (b, 0), channel);
            let told = Arc::new(Mutex::new([0; 2]));
            let own = told.clone();
            let mut queue = on(0, config.clone());
            queue.see = Some(Box::new(move |event| {
                let place = match event {
                    QueueEvent::Sent { .. } => 0,
                    QueueEvent::Decided(decision)
                        if decision.verdict == queue::Verdict::Dropped =>
                    {
                        1
                    }
                    _ => return,
                };
                own.lock().unwrap()[place] += 1;
            }));
            let options = Options {
                seed,
                disciplines: vec![queue],
                ..Options::default()
            };
            let mut sim = Sim::new(graph, options).unwrap();
            // The link goes down and comes up while frames wait and are on their way.
            sim.advance_to(Time::from_us(draw(200)), u32::MAX).unwrap();
            sim.set_link(0, false).unwrap();
            sim.advance_to(sim.now() + Time::from_us(draw(60)), u32::MAX)
                .unwrap();
            sim.set_link(0, true).unwrap();
            let half = sim.now() + Time::from_us(draw(60));
            sim.advance_to(half, u32::MAX).unwrap();
            for _ in 0..2 {
                let counters = sim.outcome().links[0][0];
                let on_its_way = counters.in_flight.unwrap();
                assert_eq!(on_its_way, sim.in_flight().count() as u64);
                let arrived = counters.delivered.unwrap();
                assert_eq!(arrived, seen.lock().unwrap().len() as u64);
                assert_eq!(
                    arrived + on_its_way + counters.lost,
                    counters.sent,
                    "{config:?} {counters:?}"
                );
                sim.advance().unwrap();
            }
            let counters = sim.outcome().links[0][0];
            let dropped = counters.queue_full + counters.dropped_early;
            let [sent, refused] = *told.lock().unwrap();
            assert_eq!(counters.in_flight, Some(0), "{config:?}");
            assert_eq!(counters.sent + dropped, u64::from(count), "{config:?}");
            assert_eq!(refused, dropped, "{config:?}");
            assert!(sent <= counters.sent, "{config:?}");
            let times: Vec<Time> = seen.lock().unwrap().iter().map(|it| it.0).collect();
            assert!(times.is_sorted());
            drops += dropped;
        }
    }
    assert!(drops > 1_000, "{drops}");
}

/// Sends frames with timestamp requests, some ahead of their departure, and records the answers.
struct Asks {
    at: Option<Time>,
    told: Arc<Mutex<Vec<(u32, Time)>>>,
}

impl Node for Asks {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        frames.drain(..).for_each(|frame| out.done(frame));
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        // Departures wake the node, too.
        if self.at.take_if(|at| *at <= now).is_none() {
            return;
        }
        for number in 0..100u32 {
            let mut frame = out.frame();
            frame.extend(&number.to_be_bytes());
            frame.resize(60 + 10 * number as usize);
            frame.ask_for_stamp(StampId(NonZeroU32::new(number + 1).unwrap()));
            match number % 3 {
                0 => out.send(Port(0), frame),
                _ => out.send_at(Port(0), now + Time::from_ns(400 * u64::from(number)), frame),
            }
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.at
    }

    fn event(&mut self, now: Time, event: &Event, _: &mut Out) {
        if let What::Departed(StampId(id)) = event.what {
            assert_eq!(now, event.at);
            self.told.lock().unwrap().push((id.get() - 1, event.at));
        }
    }
}

#[test]
fn a_node_is_told_when_each_of_its_frames_leaves_a_discipline() {
    let delay = Time::from_us(3);
    for config in all() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut graph = Graph::default();
        let asks = Asks {
            at: Some(Time::from_us(1)),
            told: told.clone(),
        };
        let (node, seen) = sink();
        let a = graph.add("a", Box::new(asks));
        let b = graph.add("b", node);
        let channel = Channel {
            delay,
            ..Channel::default()
        };
        graph.connect((a, 0), (b, 0), channel);
        let options = Options {
            disciplines: vec![on(0, config.clone())],
            ..Options::default()
        };
        run(graph, options).unwrap();
        let seen = seen.lock().unwrap();
        let left: Vec<(u32, Time)> = seen.iter().map(|it| (it.2, it.1 - delay)).collect();
        assert_eq!(*told.lock().unwrap(), left, "{config:?}");
        assert!(left.len() >= 30, "{config:?}");
    }
}
