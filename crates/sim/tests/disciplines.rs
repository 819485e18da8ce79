//! Links with a queue discipline in place of their FIFO.

use crate::cast::{Source, sink};
use node::link::LinkCounters;
use node::outcome::Direction;
use node::random::Random;
use node::{
    Channel, Event, Frame, Graph, Level, Node, Oscillator, Out, Port, Probability, Properties,
    QueueLimit, Rate, StampId, Time, event::What, link::Clocks,
};
use queue::{Config, fifo};
use sim::{Options, PortQueue, QueueEvent, Sim, run};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

fn on(link: usize, config: Config) -> PortQueue {
    PortQueue {
        link,
        direction: Direction::Forth,
        make: Box::new(move || config.build(7).unwrap()),
        see: None,
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

/// A source over a link whose parameters are drawn, with the channel's own FIFO or with a discipline: what was seen and counted.
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
        // From half of what fits to twice as much, now and then all at once.
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
