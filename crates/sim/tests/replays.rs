//! A replay of what a queue was offered gives each packet the fate that it had in the simulation.

use crate::cast::sink;
use crate::disciplines::{all, on};
use node::random::Random;
use node::{Channel, Frame, Graph, Node, Out, Port, Probability, Properties, Rate, Time};
use queue::cake::AckFilter;
use queue::egress::QueueEvent;
use queue::replay::{Fate, Offer, Replay};
use queue::{Config, Reason, Segment, Verdict};
use sim::{Options, Sim};
use std::sync::{Arc, Mutex};

/// Seed of the queue in `on`.
const SEED: u64 = 7;

/// Sends IPv4 packets of several flows, some ECN-capable, in bursts and pauses.
struct Flows {
    random: Random,
    left: u32,
    at: Time,
    /// Mean pause between two bursts, ns.
    pause: u64,
    /// Whether it sends pure TCP ACKs in place of UDP.
    acks: bool,
}

impl Node for Flows {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        frames.drain(..).for_each(|frame| out.done(frame));
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if now < self.at {
            return;
        }
        for _ in 0..(1 + self.random.below(12)).min(self.left.into()) {
            let flow = self.random.below(5) as u8;
            let len = match self.acks {
                true => 40,
                false => 40 + self.random.below(1_400) as usize,
            };
            let mut frame = out.frame();
            frame.extend(&[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0, 0x45]);
            // DSCP and ECN.
            frame.extend(&[(flow << 5) | self.random.below(4) as u8]);
            frame.extend(&(len as u16).to_be_bytes());
            let protocol = if self.acks { 6 } else { 17 };
            frame.extend(&[0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, flow, 10, 0, 1, 1]);
            frame.extend(&[10, flow, 20, 20]);
            if self.acks {
                frame.extend(&[0; 4]);
                frame.extend(&(10_000 - self.left).to_be_bytes());
                frame.extend(&[0x50, 0x10]);
            }
            frame.resize(14 + len);
            // Some are handed over before they are to leave.
            let ahead = Time::from_ns(self.random.below(2) * self.random.below(3_000));
            out.send_at(Port(0), now + ahead, frame);
            self.left -= 1;
        }
        self.at = now + Time::from_ns(1 + self.random.below(2 * self.pause));
    }

    fn next_wake(&self) -> Option<Time> {
        (self.left > 0).then_some(self.at)
    }
}

/// Offers and fates, in order of the offers.
#[derive(Default)]
struct Seen {
    offers: Vec<Offer>,
    fates: Vec<Fate>,
    segments: Vec<Option<Segment>>,
    /// Index of the offer of each handle.
    index: Vec<usize>,
}

impl Seen {
    fn see(&mut self, event: &QueueEvent<'_>) {
        match *event {
            QueueEvent::Offered {
                at,
                packet,
                segment,
                when,
                ..
            } => {
                self.segments.resize(self.offers.len(), None);
                self.segments.push(segment.copied());
                let handle = packet.handle as usize;
                self.index.resize(self.index.len().max(handle + 1), 0);
                self.index[handle] = self.offers.len();
                let (len, facts) = (packet.len, packet.facts);
                self.offers.push(Offer::Packet {
                    at,
                    len,
                    facts,
                    when,
                });
                self.fates.push(Fate::Waiting);
            }
            QueueEvent::Flushed { at } => {
                self.offers.push(Offer::Flush { at });
                self.fates.push(Fate::Waiting);
            }
            QueueEvent::Decided(decision) => {
                self.decide(decision.packet.handle, Fate::of(decision));
            }
            QueueEvent::Sent { at, packet, .. } => self.decide(packet.handle, Fate::Sent(at)),
            QueueEvent::Pause { .. } => unreachable!("no link of these has pauses"),
        }
    }

    fn decide(&mut self, handle: u32, fate: Fate) {
        let own = &mut self.fates[self.index[handle as usize]];
        if *own == Fate::Waiting {
            *own = fate;
        }
    }
}

/// The discipline with some of its parameters changed at random.
fn varied(config: &Config, seed: u64) -> Config {
    let mut random = Random::new(seed ^ 0x0B5);
    let mut config = config.clone();
    for nth in 0..config.parameters().len() {
        let before = config.clone();
        let own = &mut config.parameters()[nth].1;
        let value = match own.is_switch() {
            true => random.below(2),
            false if random.below(3) == 0 => (own.get() * (25 + random.below(300))).div_ceil(100),
            false => own.get(),
        };
        if !own.set(value) || config.build(SEED).is_err() {
            config = before;
        }
    }
    config
}

/// Runs a random sequence over a link with the discipline; the link goes down and up meanwhile.
fn seen(config: &Config, seed: u64) -> (Channel, Seen) {
    seen_of(config, seed, false)
}

fn seen_of(config: &Config, seed: u64, acks: bool) -> (Channel, Seen) {
    let mut random = Random::new(seed);
    let mut draw = |bound: u64| random.below(bound);
    let channel = Channel {
        rate: Rate::from_bits_per_second(1 + 1_000_000 * (100 + draw(9_900))),
        delay: Time::from_us(draw(20)),
        loss: Probability::new(0.02).unwrap(),
        gap: draw(30) as u32,
        ..Channel::default()
    };
    let flows = Flows {
        left: 600,
        at: Time::from_ns(draw(2_000)),
        pause: 300 + draw(9_000),
        random: Random::new(seed ^ 0xF10),
        acks,
    };
    let mut graph = Graph::default();
    let a = graph.add("a", Box::new(flows));
    let b = graph.add("b", sink().0);
    graph.connect((a, 0), (b, 0), channel.clone());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let own = seen.clone();
    let mut queue = on(0, config.clone());
    queue.see = Some(Box::new(move |event| own.lock().unwrap().see(event)));
    let options = Options {
        seed,
        disciplines: vec![queue],
        ..Options::default()
    };
    let mut sim = Sim::new(graph, options).unwrap();
    if draw(2) == 0 {
        sim.advance_to(Time::from_us(draw(800)), u32::MAX).unwrap();
        sim.set_link(0, false).unwrap();
        sim.advance_to(sim.now() + Time::from_us(draw(60)), u32::MAX)
            .unwrap();
        sim.set_link(0, true).unwrap();
    }
    sim.advance().unwrap();
    drop(sim);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (channel, seen)
}

#[test]
fn a_replay_gives_each_packet_the_fate_that_it_had() {
    let (mut packets, mut dropped, mut marked) = (0, 0, 0);
    for (number, config) in all().into_iter().enumerate() {
        for seed in 0..40 {
            let config = varied(&config, seed);
            let (channel, seen) = seen(&config, 1_000 * number as u64 + seed);
            let replay = Replay::new(&channel, SEED, &seen.offers);
            for (index, fate) in seen.fates.iter().enumerate().step_by(11) {
                if let Offer::Flush { .. } = seen.offers[index] {
                    continue;
                }
                let again = replay.fate(&config, index).unwrap();
                assert_eq!(again, *fate, "seed {seed}, packet {index}, {config:?}");
                packets += 1;
                dropped += u32::from(matches!(fate, Fate::Decided(Verdict::Dropped, ..)));
                marked += u32::from(matches!(fate, Fate::Decided(Verdict::Marked, ..)));
            }
        }
    }
    assert!(
        packets > 3_000 && dropped > 300 && marked > 100,
        "{packets} {dropped} {marked}"
    );
}

#[test]
fn a_replay_with_an_ack_filter_gives_each_packet_the_fate_that_it_had() {
    let (mut filtered, mut saved) = (0, 0);
    for (seed, ack_filter) in (0..).zip([AckFilter::On, AckFilter::Aggressive].repeat(4)) {
        let config = Config::Cake(queue::cake::Config {
            bandwidth: Rate::from_bits_per_second(300_000_000),
            ack_filter,
            ..Default::default()
        });
        let (channel, seen) = seen_of(&config, seed, true);
        let replay = Replay::new(&channel, SEED, &seen.offers).with_segments(&seen.segments);
        for (index, fate) in seen.fates.iter().enumerate() {
            if let Offer::Flush { .. } = seen.offers[index] {
                continue;
            }
            assert_eq!(replay.fate(&config, index), Ok(*fate), "{seed} {index}");
            if let Fate::Decided(verdict, Reason::AckFilter, ..) = *fate {
                filtered += 1;
                if filtered % 50 == 0 {
                    let (changes, _) = replay.changes(&config, index, verdict);
                    let mut own = changes.iter().filter(|it| it.parameter == "ack_filter");
                    saved += u32::from(own.next().is_some_and(|change| change.to == "off"));
                }
            }
        }
    }
    assert!(filtered > 300 && saved > 5, "{filtered} {saved}");
}

#[test]
fn a_change_of_a_parameter_that_is_named_saves_the_packet() {
    let (mut decisions, mut saved) = (0, 0);
    for (number, config) in all().into_iter().enumerate() {
        for seed in 0..12 {
            let config = varied(&config, seed);
            let (channel, seen) = seen(&config, 1_000 * number as u64 + seed);
            let replay = Replay::new(&channel, SEED, &seen.offers);
            let decided = seen.fates.iter().enumerate();
            let decided = decided.filter(|(_, fate)| matches!(fate, Fate::Decided(..)));
            for (index, fate) in decided.step_by(40) {
                let Fate::Decided(verdict, ..) = *fate else {
                    continue;
                };
                let (changes, all_tried) = replay.changes(&config, index, verdict);
                assert!(all_tried && changes.is_sorted_by_key(|change| change.ratio == 0.0));
                decisions += 1;
                saved += u32::from(!changes.is_empty());
                for change in changes {
                    // By another way than the search: the value is read back from its text.
                    let (mut config, mut channel) = (config.clone(), channel.clone());
                    match change.parameter == queue::replay::LINK_RATE {
                        true => channel.rate = Some(change.to.parse().unwrap()),
                        false => set(&mut config, &change.parameter, &change.to),
                    }
                    let replay = Replay::new(&channel, SEED, &seen.offers);
                    let is_saved = match replay.fate(&config, index).unwrap() {
                        Fate::Sent(_) => true,
                        Fate::Decided(other, ..) => verdict == Verdict::Dropped && other != verdict,
                        Fate::Waiting => false,
                    };
                    assert!(
                        is_saved,
                        "seed {seed}, packet {index}, {change:?}, {config:?}"
                    );
                }
            }
        }
    }
    assert!(
        decisions > 50 && saved * 10 > decisions * 9,
        "{decisions} {saved}"
    );
}

/// Sets a parameter to a value as a file has it.
fn set(config: &mut Config, name: &str, to: &str) {
    use queue::parameter::Quantity;
    let mut parameters = config.parameters();
    let own = parameters.iter_mut().find(|(known, _)| known == name);
    match &mut own.unwrap().1 {
        Quantity::Count(count) => **count = to.parse().unwrap(),
        Quantity::Time(time) => **time = to.parse().unwrap(),
        Quantity::Size(size) => **size = to.parse().unwrap(),
        Quantity::Rate(rate) => **rate = to.parse().unwrap(),
        Quantity::Factor(factor) => **factor = to.parse().unwrap(),
        Quantity::Switch(is_on) => **is_on = to.parse().unwrap(),
        Quantity::AckFilter(filter) => {
            let mut all = AckFilter::ALL.into_iter();
            **filter = all.find(|filter| filter.name() == to).unwrap();
        }
    }
}
