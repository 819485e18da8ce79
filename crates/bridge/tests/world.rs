//! Switches with links between them, in virtual time; ports without a link are where the test sends and looks.

use bridge::switch::{Config, Switch};
use node::event::What;
use node::{Event, Frame, Node, Out, Port, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A switch and its port.
pub type End = (usize, u16);

/// Arrival, number, end and frame.
type Flight = (Time, u64, End, Vec<u8>);

pub struct World {
    pub switches: Vec<Switch>,
    outs: Vec<Out>,
    links: BTreeMap<End, (End, bool)>,
    pub now: Time,
    flight: BinaryHeap<Reverse<Flight>>,
    count: u64,
    /// Frames that have left by ports without a link.
    pub seen: Vec<(Time, End, Vec<u8>)>,
    /// Frames that have left by ports with a link.
    pub carried: BTreeMap<End, u64>,
}

const DELAY: Time = Time::from_us(5);

impl World {
    pub fn new(configs: Vec<Config>, links: &[[End; 2]]) -> World {
        let switches: Vec<Switch> = configs
            .into_iter()
            .map(|config| Switch::new(config).expect("good"))
            .collect();
        let mut world = World {
            outs: switches.iter().map(|_| Out::default()).collect(),
            switches,
            links: BTreeMap::new(),
            now: Time::ZERO,
            flight: BinaryHeap::new(),
            count: 0,
            seen: Vec::new(),
            carried: BTreeMap::new(),
        };
        for &[a, b] in links {
            world.links.insert(a, (b, true));
            world.links.insert(b, (a, true));
        }
        world
    }

    /// A link goes up or down, and both ends notice.
    pub fn set_link(&mut self, end: End, up: bool) {
        let (other, _) = self.links[&end];
        for (from, to) in [(end, other), (other, end)] {
            self.links.insert(from, (to, up));
            let (port, what) = (Port(from.1), What::Link(up));
            let event = Event {
                at: self.now,
                port,
                what,
            };
            self.switches[from.0].event(self.now, &event, &mut self.outs[from.0]);
            self.take(from.0);
        }
    }

    /// Nothing leaves by this end any more, and neither end notices.
    pub fn cut(&mut self, end: End) {
        let (other, _) = self.links[&end];
        self.links.insert(end, (other, false));
    }

    pub fn send(&mut self, end: End, frame: &[u8]) {
        self.arrive(end, frame);
    }

    fn arrive(&mut self, (switch, port): End, bytes: &[u8]) {
        let mut frame = Frame::new(bytes);
        frame.set_arrived(self.now);
        self.switches[switch].frames(
            self.now,
            Port(port),
            &mut vec![frame],
            &mut self.outs[switch],
        );
        self.take(switch);
    }

    fn take(&mut self, switch: usize) {
        for sent in self.outs[switch].sends() {
            let end = (switch, sent.port.0);
            match self.links.get(&end) {
                Some((other, true)) => {
                    *self.carried.entry(end).or_default() += 1;
                    self.count += 1;
                    self.flight.push(Reverse((
                        self.now + DELAY,
                        self.count,
                        *other,
                        sent.frame.to_vec(),
                    )));
                }
                Some((_, false)) => {}
                None => self.seen.push((self.now, end, sent.frame.to_vec())),
            }
        }
    }

    pub fn run(&mut self, until: Time) {
        loop {
            let wakes = self
                .switches
                .iter()
                .map(|switch| switch.next_wake().unwrap_or(Time::MAX));
            let (switch, wake) = wakes
                .enumerate()
                .min_by_key(|(_, at)| *at)
                .expect("a switch");
            let wake = wake.max(self.now);
            let arrival = self
                .flight
                .peek()
                .map_or(Time::MAX, |Reverse((at, ..))| *at);
            if wake.min(arrival) > until {
                break;
            }
            if arrival <= wake {
                let Reverse((at, _, end, bytes)) = self.flight.pop().expect("peeked");
                self.now = at;
                if self.links.get(&end).is_some_and(|(_, up)| *up) {
                    self.arrive(end, &bytes);
                }
            } else {
                self.now = wake;
                self.switches[switch].wake(wake, &mut self.outs[switch]);
                self.take(switch);
            }
        }
        self.now = until;
    }

    pub fn seconds(&mut self, seconds: u64) {
        self.run(self.now + Time::from_secs(seconds));
    }

    /// The ends without a link that data frames have left by since the last call, in order.
    pub fn ends(&mut self) -> Vec<End> {
        let data = |frame: &[u8]| frame[..5] != [1, 0x80, 0xC2, 0, 0];
        let mut ends: Vec<End> = self
            .seen
            .drain(..)
            .filter(|(_, _, frame)| data(frame))
            .map(|(_, end, _)| end)
            .collect();
        ends.sort();
        ends
    }

    pub fn counter(&self, switch: usize, name: &str) -> u64 {
        self.switches[switch]
            .statistics()
            .get(name)
            .unwrap_or_else(|| panic!("no counter {name}"))
    }

    pub fn drops(&self, switch: usize, reason: &str) -> u64 {
        let drops = self.outs[switch].drops().iter();
        drops
            .filter(|(known, _)| *known == reason)
            .map(|(_, count)| count)
            .sum()
    }

    pub fn table(&self, switch: usize, name: &str) -> Vec<String> {
        let tables = self.switches[switch].tables(self.now);
        let table = tables.into_iter().find(|table| table.name == name);
        table.unwrap_or_else(|| panic!("no table {name}")).entries
    }
}
