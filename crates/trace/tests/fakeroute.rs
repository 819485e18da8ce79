//! A tracer alone with a multipath network that is only data, as Fakeroute has it (Vermeulen et al., IMC 2018, section 3): each flow takes
//! a random path, and each hop answers. Thousands of traces take seconds.

use crate::network::Network;
use ip::header::{self, ETHERNET};
use ip::icmp::Error;
use ip::{Interface, host::Host};
use node::random::{Random, seed_of};
use node::{Frame, Node, Out, Port, Time};
use packet::mpls::Label;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use trace::tracer::{Config, Trace};

const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// A network, and the behaviour of its routers.
pub struct World {
    pub network: Network,
    pub is_v4: bool,
    pub seed: u64,
    /// Routers that never answer.
    pub silent: BTreeSet<usize>,
    /// Whether the target answers.
    pub target_answers: bool,
    /// Probability that an answer is lost.
    pub loss: f64,
    /// Label stacks with which probes arrive at a router, top first.
    pub labels: BTreeMap<usize, Vec<Label>>,
}

impl World {
    pub fn new(network: Network, is_v4: bool, seed: u64) -> World {
        World {
            network,
            is_v4,
            seed,
            silent: BTreeSet::new(),
            target_answers: true,
            loss: 0.0,
            labels: BTreeMap::new(),
        }
    }

    fn address(&self, four: [u8; 4], six: [u16; 2]) -> IpAddr {
        match self.is_v4 {
            true => four.into(),
            false => [0x2001, 0xDB8, 0, six[0], 0, 0, 0, six[1]].into(),
        }
    }

    pub fn target(&self) -> IpAddr {
        self.address([203, 0, 113, 9], [9, 9])
    }

    pub fn router(&self, number: usize) -> IpAddr {
        let [high, low] = (number as u16).to_be_bytes();
        self.address([10, 1, high, low], [1, number as u16])
    }

    pub fn number(&self, address: IpAddr) -> Option<usize> {
        if address == self.target() {
            return None;
        }
        let all = 0..self.network.children.len();
        Some(
            all.into_iter()
                .find(|one| self.router(*one) == address)
                .expect("a router"),
        )
    }

    /// A tracer of the network.
    pub fn tracer(&self, change: impl FnOnce(&mut Config)) -> Trace {
        let mut config = Config {
            source: self.address([198, 51, 100, 9], [2, 9]),
            gateway: Some(self.address([198, 51, 100, 1], [2, 1])),
            target: self.target(),
            rate: 10_000,
            timeout: Time::from_ms(50),
            probes: 1,
            ..Config::default()
        };
        change(&mut config);
        Trace::new(config).expect("a good configuration")
    }

    /// Runs a tracer to its end. Returns the end time.
    pub fn run(&self, trace: &mut Trace) -> Time {
        let mut route = Route::new(self, trace.config());
        let mut out = Out::default();
        let mut now = Time::ZERO;
        while !trace.is_over() {
            let wake = trace.next_wake().unwrap_or(Time::MAX);
            let answer = route.answers.first_key_value().map(|((at, _), _)| *at);
            now = now.max(wake.min(answer.unwrap_or(Time::MAX)));
            assert!(now < Time::MAX, "it waits for nothing");
            match route.answers.first_entry() {
                Some(first) if first.key().0 <= now => {
                    let mut frame = first.remove();
                    frame.set_arrived(now);
                    trace.frames(now, Port(0), &mut vec![frame], &mut out);
                }
                _ => trace.wake(now, &mut out),
            }
            let sends: Vec<_> = out.sends().collect();
            for departure in sends {
                route.take(now, departure.frame);
            }
        }
        now
    }
}

/// The way of probes and answers.
struct Route<'a> {
    world: &'a World,
    random: Random,
    gateway: Interface,
    target: Host,
    /// Frames for the tracer, by time and number.
    answers: BTreeMap<(Time, u64), Frame>,
    count: u64,
}

impl<'a> Route<'a> {
    fn new(world: &'a World, config: &Config) -> Route<'a> {
        Route {
            world,
            random: Random::new(seed_of(world.seed, "answers", &[])),
            gateway: Interface::new(ip::Config {
                mac: ROUTER_MAC,
                addresses: config.gateway.map(Into::into).into_iter().collect(),
                ..ip::Config::default()
            }),
            target: Host::from(Interface::new(ip::Config {
                mac: ROUTER_MAC,
                addresses: [config.target.into()].into(),
                limits_errors: false,
                ..ip::Config::default()
            })),
            answers: BTreeMap::new(),
            count: 0,
        }
    }

    fn deliver(&mut self, at: Time, frame: Frame) {
        self.count += 1;
        self.answers.insert((at, self.count), frame);
    }

    fn take(&mut self, now: Time, frame: Frame) {
        let packet = header::read(&frame).filter(|one| one.destination == self.world.target());
        let Some(packet) = packet else {
            let mut out = Out::default();
            self.gateway.handle_frame(now, frame, &mut out);
            let replies: Vec<_> = out.sends().collect();
            for reply in replies {
                self.deliver(now + Time::from_us(10), reply.frame);
            }
            return;
        };
        let ttl = if self.world.is_v4 {
            frame[ETHERNET + 8]
        } else {
            frame[ETHERNET + 7]
        };
        let flow = flow(&frame, &packet);
        let place = self.place(flow, ttl);
        let lost = self.random.unit() < self.world.loss;
        let jitter = Time::from_ns(self.random.index(900_000) as u64);
        let at = now + Time::from_ms(u64::from(ttl)) + jitter;
        match place {
            Some(router) if !self.world.silent.contains(&router) && !lost => {
                let error = self.error(now, frame, packet.end, router);
                self.deliver(at, error);
            }
            None if self.world.target_answers && !lost => {
                let mut out = Out::default();
                self.target.frames(now, Port(0), &mut vec![frame], &mut out);
                // The host asks for the MAC address of the source before its first answer.
                let replies: Vec<_> = out.sends().collect();
                for reply in replies {
                    self.deliver(at, reply.frame);
                }
            }
            _ => {}
        }
    }

    /// The router at which a probe of a flow ends; `None` stands for the target.
    fn place(&self, flow: u64, ttl: u8) -> Option<usize> {
        let mut router = 0;
        for _ in 1..ttl {
            let children = &self.world.network.children[router];
            if children.is_empty() {
                return None;
            }
            let names = [flow.to_string(), router.to_string()];
            let seed = seed_of(self.world.seed, "flow", &[&names[0], &names[1]]);
            router = children[Random::new(seed).index(children.len())];
        }
        Some(router)
    }

    fn error(&self, now: Time, mut frame: Frame, end: usize, router: usize) -> Frame {
        // With the TTL at arrival, 1.
        let place = if self.world.is_v4 { 8 } else { 7 };
        frame[ETHERNET + place] = 1;
        if self.world.is_v4 {
            frame[ETHERNET + 10..ETHERNET + 12].fill(0);
            let sum = packet::checksum::checksum(&frame[ETHERNET..ETHERNET + 20]);
            frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
        }
        let to: [u8; 6] = frame[6..12].try_into().expect("six bytes");
        let from = self.world.router(router);
        let written = Error::HopLimit.write(now, &mut frame, end, from, ROUTER_MAC, |_| false);
        assert!(written, "a probe can be answered");
        frame[..6].copy_from_slice(&to);
        if let Some(labels) = self.world.labels.get(&router) {
            ip::extended::add_labels(&mut frame, labels);
        }
        frame
    }
}

/// The fields that load balancers hash, without the addresses, which are the same: ports or the first word of ICMP.
fn flow(frame: &[u8], packet: &header::Packet) -> u64 {
    let word: [u8; 4] = frame[packet.payload..][..4].try_into().expect("a header");
    u64::from(u32::from_be_bytes(word)) << 8 | u64::from(packet.protocol)
}

/// Routers that a trace has found, by TTL as [`Network::hops`] has them.
pub fn found(trace: &Trace, world: &World) -> Vec<BTreeSet<Option<usize>>> {
    let hops = trace.graph().hops().map(|(_, hop)| {
        let known = hop.vertices.iter().filter_map(|one| one.address);
        known.map(|address| world.number(address)).collect()
    });
    hops.collect()
}

#[test]
fn a_trace_through_data_finds_what_a_trace_through_routers_finds() {
    let mut random = Random::new(1);
    for seed in 0..40 {
        let world = World::new(Network::random(&mut random), seed % 2 == 0, seed);
        let mut trace = world.tracer(|config| config.alpha = 1e-6);
        world.run(&mut trace);
        assert!(trace.is_reached() && trace.ignored() == 0, "{seed}");
        assert_eq!(found(&trace, &world), world.network.hops(), "{seed}");
    }
}
