//! DTP at scale: a model that walks only the messages, with no blocks and no frames between them.
//!
//! [`Network`] runs the same [`Device`]s as a world does, on the same links of blocks, and comes to the same counters, tick for tick: the
//! clocks, the crossing from one to the other and its lots are those of the block-level links, on a line that is idle. Tests of `sim` hold one
//! against the other.
//!
//! It goes by events, message for message, where anything but beacons is said: while links come up, join, or go down. Else
//! it goes by slices of some rounds of beacons, in which of each beacon no more is asked than whether it can change
//! anything; in a network whose clocks agree six of seven cannot. Where in a slice something else comes up (a beacon out of range, a
//! peer to be given up) the slice is walked again by events.
//!
//! What is not modelled: frames, wrong bits, and what nodes above do. LOG messages, beacons of different intervals in one network,
//! cables of less than 4 ticks, other rules than the maximum and faulty clocks are, but only by events.

mod events;
mod slices;

use super::{Base, Device, port};
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use events::Events;
use node::clock::Ticks;
use node::link::is_down;
use node::sublayer::Fifo;
use node::{Level, Link, Oscillator, Port, Statistics, Sublayer, Time};
use slices::Slices;

/// Why there is no model of a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A link at the level of frames.
    #[error("link {0} is at the level of frames: DTP's messages are in blocks")]
    Frames(usize),
    /// A link with wrong bits.
    #[error("link {0} has wrong bits, which only a simulation of blocks has")]
    BitErrors(usize),
    /// A link to a device or port that is not there.
    #[error("link {link} ends at port {port} of device {device}, which is not there")]
    NoSuchPort {
        /// The link.
        link: usize,
        /// The device.
        device: usize,
        /// Its port.
        port: Port,
    },
    /// A device whose ports have different clocks.
    #[error("device {0} has one clock, but its links have different ones for it")]
    TwoClocks(usize),
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Messages that left, and changes, walked by events.
    pub events: u64,
    /// Beacons that were walked in slices.
    pub beacons: u64,
    /// Those of them that could change something when they were looked at, or of which a clock's phase had to be found anew.
    pub looked_at: u64,
    /// Slices.
    pub slices: u64,
    /// Those that were walked again, by events.
    pub walked_again: u64,
}

/// Devices with DTP, and the links between them.
pub struct Network {
    devices: Vec<Device>,
    ticks: Vec<Ticks>,
    lanes: Vec<Lane>,
    /// By device and port, the lane that goes out.
    out: Vec<Vec<Option<usize>>>,
    /// Links that go down or come up: the next is the last.
    changes: Vec<Change>,
    /// How fast clocks change at most, ppm a second.
    steepest: f64,
    now: Time,
    events: Events,
    /// While there are only beacons.
    slices: Option<Slices>,
    work: Work,
}

/// When, at which device and port, and whether it is up from then on.
type Change = (Time, usize, Port, bool);

/// One direction of a link.
struct Lane {
    from: (usize, Port),
    to: (usize, Port),
    delay: Time,
    down: Vec<[Time; 2]>,
    lots: Lots,
    flying: VecDeque<Flight>,
    /// From when on the sender wants to say something, as it was asked last.
    asked: Option<u64>,
    /// The tick of the block that it will get, and when that is.
    planned: Option<(u64, Time)>,
    /// The first tick whose block is not taken.
    free: u64,
}

/// A message on its way.
#[derive(Clone, Copy)]
struct Flight {
    at: Time,
    tick: u64,
    bits: u64,
}

/// The lots of a lane's FIFO, by the number of the message: those of the last 64 that began to be drawn, and of the 64 before.
struct Lots {
    fifo: Fifo,
    drawn: u64,
    held: [u64; 2],
    /// Messages so far.
    messages: u64,
}

impl Lots {
    fn held(&mut self, message: u64) -> u64 {
        let word = message / 64;
        while self.drawn <= word {
            self.held = [self.held[1], self.fifo.holds_of_64()];
            self.drawn += 1;
        }
        let which = if word + 1 == self.drawn { 1 } else { 0 };
        self.held[which] >> (message % 64) & 1
    }

    /// Those of some messages, at most 64 from this one on: the lowest bit is its own.
    fn next_held(&mut self, message: u64, messages: u8) -> u64 {
        let Some(last) = u64::from(messages).checked_sub(1) else {
            return 0;
        };
        self.held(message + last);
        if self.drawn == message / 64 + 1 {
            return self.held[1] >> (message % 64);
        }
        let shift = message % 64;
        self.held[0] >> shift | (self.held[1] << 1) << (63 - shift)
    }
}

impl Network {
    /// Device `n` is at the ends of links that name node `n`. The same seed gives the same lots as a run of
    /// a graph with these links whose nodes are called "0", "1" and so on.
    ///
    /// # Errors
    /// When a link is not one of blocks between ports that are there, or has wrong bits.
    pub fn new(devices: Vec<Device>, links: &[Link], seed: u64) -> Result<Network, NetworkError> {
        let mut clocks: Vec<Option<&Oscillator>> = vec![None; devices.len()];
        let ports = devices.iter().map(|device| vec![None; device.sides.len()]);
        let mut out: Vec<Vec<Option<usize>>> = ports.collect();
        let (mut lanes, mut changes) = (Vec::new(), Vec::new());
        for (link, Link { ends, channels }) in links.iter().enumerate() {
            for (direction, channel) in channels.iter().enumerate() {
                let [from, to] = [ends[direction], ends[1 - direction]];
                let [from, to] = [(from.node.0, from.port), (to.node.0, to.port)];
                let Level::Block(pair) = &channel.level else {
                    return Err(NetworkError::Frames(link));
                };
                if channel.bit_error > 0.0 {
                    return Err(NetworkError::BitErrors(link));
                }
                let (device, port) = from;
                let lane = lanes.len();
                let place = out
                    .get_mut(device)
                    .and_then(|ports| ports.get_mut(port.index()));
                match place {
                    Some(place) => *place = Some(lane),
                    None => return Err(NetworkError::NoSuchPort { link, device, port }),
                }
                for (device, own) in [(device, &pair.sender), (to.0, &pair.receiver)] {
                    match clocks.get_mut(device) {
                        Some(Some(known)) if *known != own => {
                            return Err(NetworkError::TwoClocks(device));
                        }
                        Some(known) => *known = Some(own),
                        None => {}
                    }
                }
                // As of nodes that have numbers for names.
                let [out, into] = [from.0, to.0].map(|device| device.to_string());
                let lots = channel.seed_of(seed, (&out, from.1), (&into, to.1));
                let seen = channel.changes();
                changes.extend(seen.map(|(at, up)| (at, to.0, to.1, up)));
                lanes.push(Lane {
                    from,
                    to,
                    delay: channel.delay,
                    down: channel.down.clone(),
                    lots: Lots {
                        fifo: Fifo::new(pair.fifo, lots),
                        drawn: 0,
                        held: [0; 2],
                        messages: 0,
                    },
                    flying: VecDeque::new(),
                    asked: None,
                    planned: None,
                    free: 0,
                });
            }
        }
        changes.sort_by_key(|&(at, ..)| core::cmp::Reverse(at));
        let exact = Oscillator::default();
        let clocks = || clocks.iter().map(|clock| clock.unwrap_or(&exact));
        let mut network = Network {
            ticks: clocks().map(Ticks::new).collect(),
            steepest: clocks().map(Oscillator::steepest).fold(0.0, f64::max),
            devices,
            lanes,
            out,
            changes,
            now: Time::ZERO,
            events: Events::default(),
            slices: None,
            work: Work::default(),
        };
        network.begin();
        Ok(network)
    }

    /// Lets happen what happens up to a time.
    pub fn advance(&mut self, to: Time) {
        while self.now < to {
            match self.slices.take() {
                Some(slices) => self.walk_slice(slices, to),
                None => {
                    self.walk_events(to);
                    self.slices = self.begin_slices(to);
                }
            }
        }
        // What happens at this very time.
        if self.slices.is_none() {
            self.walk_events(to);
        }
    }

    /// The counters of all devices now, behind all that happens at this time.
    pub fn counters(&mut self) -> Vec<u128> {
        let now = self.now;
        let ticks = self.ticks.iter_mut().map(|ticks| ticks.at(now));
        match &mut self.slices {
            Some(slices) => slices.counters(&self.devices, ticks),
            None => {
                let both = self.devices.iter().zip(ticks);
                both.map(|(device, tick)| device.counter(tick)).collect()
            }
        }
    }

    /// The counters that devices keep of themselves, as [`Device`] tells them; beacons that are on their way may be counted as heard.
    pub fn statistics(&mut self) -> Vec<Statistics> {
        if let Some(slices) = self.slices.take() {
            self.end_slices(slices);
        }
        self.devices.iter().map(Sublayer::statistics).collect()
    }

    /// How much was done so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    fn side(&mut self, (device, port): (usize, Port)) -> &mut port::Side {
        &mut self.devices[device].sides[port.index()]
    }
}

/// What of a counter changes while its beacons are followed; the rest cannot.
fn low(base: Base) -> u64 {
    base.0 as u64
}
