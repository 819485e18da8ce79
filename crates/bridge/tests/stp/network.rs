//! Bridges, links between them, and the time: BPDUs take a while, and may be lost.

use bridge::stp::bpdu::Bpdu;
use bridge::stp::{Bridge, Config, PortConfig, Role, Version};
use node::random::Random;
use node::{Frame, Time};
use packet::ethernet::Mac;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An end of a link: bridge and port.
pub type End = (usize, u16);

/// Arrival, number, bridge, port and frame.
type Flight = (Time, u64, usize, u16, Vec<u8>);

#[derive(Clone, Debug)]
pub struct Link {
    pub ends: [End; 2],
    pub up: bool,
    pub delay: Time,
}

#[derive(Clone, Debug)]
pub struct BridgeSpec {
    pub config: Config,
    pub ports: Vec<PortConfig>,
}

pub struct Network {
    pub specs: Vec<BridgeSpec>,
    pub bridges: Vec<Bridge>,
    pub links: Vec<Link>,
    pub now: Time,
    pub random: Random,
    /// Probability that a BPDU is lost.
    pub loss: f64,
    /// Instants at which frames could go round.
    pub loops: u64,
    /// For how long they could.
    pub looped: Time,
    looped_since: Option<Time>,
    pub last_change: Time,
    flight: BinaryHeap<Reverse<Flight>>,
    sent: u64,
    wakes: Vec<Time>,
}

/// A random connected network, with links in parallel and links from a bridge to itself.
pub fn random(seed: u64, count: usize, version: Version) -> Network {
    let mut random = Random::new(seed);
    let mut specs: Vec<BridgeSpec> = (0..count)
        .map(|number| BridgeSpec {
            config: Config {
                version,
                priority: 4096 * random.below(16) as u16,
                mac: Mac([2, 0, random.below(200) as u8, 0, 0, number as u8]),
                ..Config::default()
            },
            ports: Vec::new(),
        })
        .collect();
    let mut links = Vec::new();
    let extra = random.index(count + 2);
    for number in 0..count - 1 + extra {
        let (a, b) = match number {
            _ if number < count - 1 => (number + 1, random.index(number + 1)),
            _ => (random.index(count), random.index(count)),
        };
        let ends = [a, b].map(|bridge| {
            let ports = &mut specs[bridge].ports;
            ports.push(PortConfig {
                cost: Some(1 + random.below(if number % 3 == 0 { 3 } else { 200_000 }) as u32),
                priority: 16 * random.below(16) as u8,
                ..PortConfig::default()
            });
            (bridge, ports.len() as u16 - 1)
        });
        let delay = Time::from_us(1 + random.below(1000));
        links.push(Link {
            ends,
            up: true,
            delay,
        });
    }
    Network::new(specs, links, seed)
}

/// A ring of bridges with equal costs and links of 10 us.
pub fn ring(count: usize, version: Version) -> Network {
    let specs = (0..count).map(|number| BridgeSpec {
        config: Config {
            version,
            mac: Mac([2, 0, 0, 0, 0, number as u8]),
            ..Config::default()
        },
        ports: vec![
            PortConfig {
                cost: Some(20_000),
                ..PortConfig::default()
            };
            2
        ],
    });
    let links = (0..count).map(|number| Link {
        ends: [(number, 0), ((number + 1) % count, 1)],
        up: true,
        delay: Time::from_us(10),
    });
    Network::new(specs.collect(), links.collect(), 1)
}

impl Network {
    pub fn new(specs: Vec<BridgeSpec>, links: Vec<Link>, seed: u64) -> Network {
        let bridges = specs
            .iter()
            .map(|spec| Bridge::new(spec.config, &spec.ports).unwrap());
        let bridges: Vec<Bridge> = bridges.collect();
        let mut network = Network {
            wakes: vec![Time::MAX; specs.len()],
            specs,
            bridges,
            links,
            now: Time::ZERO,
            random: Random::new(seed ^ 77),
            loss: 0.0,
            loops: 0,
            looped: Time::ZERO,
            looped_since: None,
            last_change: Time::ZERO,
            flight: BinaryHeap::new(),
            sent: 0,
        };
        for link in 0..network.links.len() {
            network.set_link(link, true);
        }
        network
    }

    /// A link goes up or down, and both ends notice.
    pub fn set_link(&mut self, link: usize, up: bool) {
        self.links[link].up = up;
        for (bridge, port) in self.links[link].ends {
            self.bridges[bridge].handle_link(self.now, port, up);
            self.after(bridge);
        }
    }

    /// Sends the pending BPDUs of a bridge.
    fn after(&mut self, bridge: usize) {
        while let Some((port, bpdu)) = self.bridges[bridge].poll_transmit(self.now) {
            self.send(bridge, port, &bpdu);
        }
        if self.bridges[bridge].poll_change() {
            self.last_change = self.now;
            self.look_for_loops();
        }
        let next = self.bridges[bridge].next_wake(self.now);
        self.wakes[bridge] = next.unwrap_or(Time::MAX);
    }

    fn send(&mut self, bridge: usize, port: u16, bpdu: &Bpdu) {
        let from = (bridge, port);
        let Some(link) = self.links.iter().find(|link| link.ends.contains(&from)) else {
            return;
        };
        let to = link.ends[usize::from(link.ends[0] == from)];
        if !link.up || self.random.chance(self.loss) {
            return;
        }
        let mut frame = Frame::new(&[]);
        bpdu.build_frame(Mac([2, 0, 0, 0, 0, 1]), &mut frame);
        self.sent += 1;
        let at = self.now + link.delay;
        self.flight
            .push(Reverse((at, self.sent, to.0, to.1, frame.to_vec())));
    }

    pub fn run(&mut self, until: Time) {
        loop {
            let wake = self
                .wakes
                .iter()
                .copied()
                .enumerate()
                .min_by_key(|(_, at)| *at);
            let (bridge, wake) = wake.expect("a bridge");
            let arrival = self
                .flight
                .peek()
                .map_or(Time::MAX, |Reverse((at, ..))| *at);
            if wake.min(arrival) > until {
                break;
            }
            if arrival <= wake {
                let Reverse((at, _, bridge, port, bytes)) = self.flight.pop().expect("peeked");
                self.now = at;
                let is_up = self
                    .links
                    .iter()
                    .any(|link| link.up && link.ends.contains(&(bridge, port)));
                if is_up {
                    self.bridges[bridge]
                        .handle_frame(at, port, &bytes)
                        .expect("a good BPDU");
                    self.after(bridge);
                }
            } else {
                self.now = wake;
                self.bridges[bridge].wake(wake);
                self.after(bridge);
            }
        }
        self.now = until;
    }

    /// Whether frames can go round: links whose two ends forward have a cycle.
    fn look_for_loops(&mut self) {
        let mut parents: Vec<usize> = (0..self.bridges.len()).collect();
        fn top(parents: &mut [usize], mut at: usize) -> usize {
            while parents[at] != at {
                at = parents[at];
            }
            at
        }
        let mut is_loop = false;
        for link in self.links.iter().filter(|link| link.up) {
            let forwards = |&(bridge, port): &End| self.bridges[bridge].is_forwarding(port);
            if link.ends.iter().all(forwards) {
                let [a, b] = link.ends.map(|(bridge, _)| top(&mut parents, bridge));
                is_loop |= a == b;
                parents[a] = b;
            }
        }
        match (is_loop, self.looped_since) {
            (true, None) => {
                self.loops += 1;
                self.looped_since = Some(self.now);
            }
            (false, Some(since)) => {
                self.looped += self.now - since;
                self.looped_since = None;
            }
            _ => {}
        }
    }

    pub fn is_looped(&self) -> bool {
        self.looped_since.is_some()
    }

    /// Compares with the tree that the standard's rules give, computed for the whole network at once.
    pub fn check_tree(&self, label: &str) {
        let roles = super::model::roles(&self.specs, &self.links);
        for (bridge, spec) in self.specs.iter().enumerate() {
            for port in 0..spec.ports.len() as u16 {
                let node = &self.bridges[bridge];
                let role = roles[bridge][usize::from(port)];
                assert_eq!(
                    node.role(port),
                    role,
                    "{label}: port {port} of bridge {bridge}"
                );
                let forwards = matches!(role, Role::Root | Role::Designated);
                assert_eq!(
                    node.is_forwarding(port),
                    forwards,
                    "{label}: {bridge}.{port} {role:?}"
                );
            }
        }
    }
}
