//! Sends two packets that go opposite ways as one over a way that both sides hear: XOR network coding of the two-way relay.
//!
//! Two sides that exchange packets by a relay, whose way back to them they both hear - a satellite's downlink, a radio channel - need two
//! transmissions there for each exchange. The relay sends the two packets' exclusive or instead; each side knows its own, and takes the other out.
//!
//! - **Ports:** 3. With the role `relay`: ports 0 and 1 lead to the two sides, port 2 is the way that both hear. With the role `end`: port 0 is
//!   the side itself, port 1 leads up to the relay, port 2 is the way that both hear.
//! - **Parameters:** `role`; `protocol`, 253, one of RFC 3692's numbers for experiments. Of a relay: `hold`, 5 ms: the longest that a packet waits for a partner, but never longer than the
//!   queue of port 2 is where that is known; `most`, 256: packets of each side that wait; `match`, every IP packet: [rules](crate::rule) for what is coded;
//!   `mtu`: the longest packet on port 2; left out, as the interface says. Of an end: `memory`, 4096: how many of its packets it knows.
//! - **Counters:** `packets`; `bytes`, without FCS; `coded`: packets of two, sent or received; `plain`: sent, or received, as they were; `alone`: of these,
//!   those for which no partner came in time; `too_long`: with a partner, but too long together with the header; `own`: heard by the end that had sent them.
//! - **Drops:** `came by the shared way`, of a relay; of an end `own packet`, `coded packet cut off`, `coded packet of another version`, `damaged coded packet`,
//!   `neither packet is known`.
//!
//! A coded packet has the first one's IP header, with `protocol`, and behind it 48 bytes, numbers in network order:
//!
//! | octets | what |
//! |---|---|
//! | 0, 1 | the mark `57 58` |
//! | 2, 3 | version (4 bits, 1), and 12 bits of 0 |
//! | 4-7 | the first packet's name |
//! | 8, 9 | its length |
//! | 10, 11 | its traffic class and hop limit |
//! | 12-23 | its destination and source on the link |
//! | 24-43 | the same of the second packet |
//! | 44-47 | check: Ethernet's CRC-32 of octets 2 to 43 |
//!
//! and then the exclusive or of both packets, the shorter one filled up with zeros. A name is the CRC-32 of a packet without what routers change: traffic class, hop
//! limit, IPv4's header checksum, which are 0 for it, and in the exclusive or. So nobody numbers anything, a packet that was lost or came twice does no harm to others, and the name
//! is the check of what comes out. Decoded packets are what the relay got, bit for bit.

mod coded;
mod memory;

pub use coded::{Entry, Fault, HEADER, MARK, VERSION, Whole, decode, encode, is_marked};
pub use memory::Memory;

use crate::backlog::Backlog;
use crate::encapsulation::PROTOCOL;
use crate::rule::{Headers, Rule, any_matches};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use node::ConfigError;
use node::event::{Event, What};
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

/// Maximum number of packets that wait for a partner, and of packets that an end knows.
pub const MAX_PACKETS: usize = 65_536;
const NEAR: Port = Port(0);
const UP: Port = Port(1);
const SHARED: Port = Port(2);
/// How old may be what is known of the queue.
const AGE: Time = Time::from_ms(1);

/// On which side of the shared way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Role {
    /// It sends there.
    #[default]
    Relay,
    /// It hears it.
    End,
}

/// What it is made from.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Whether it codes or decodes.
    pub role: Role,
    /// Which packets are coded; empty: all IP packets.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub matching: Vec<Rule>,
    /// How long a packet waits for a partner; 0: nothing is coded.
    pub hold: Time,
    /// Packets of each side that wait, 1 to [`MAX_PACKETS`].
    pub most: usize,
    /// Packets that an end knows, 1 to [`MAX_PACKETS`].
    pub memory: usize,
    /// The number in the IP header.
    pub protocol: u8,
    /// The longest packet on the shared way, bytes behind the Ethernet header; `None`: as the interface says.
    pub mtu: Option<usize>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            role: Role::Relay,
            matching: Vec::new(),
            hold: Time::from_ms(5),
            most: 256,
            memory: 4096,
            protocol: PROTOCOL,
            mtu: None,
        }
    }
}

/// A packet that waits for a partner.
#[derive(Debug)]
struct Waiting {
    until: Time,
    whole: Whole,
    frame: Frame,
}

/// The node. See the [module](self).
#[derive(Debug)]
pub struct Xor {
    config: Config,
    /// What waits of either side; of one of them nothing, since two would have left together.
    waiting: [VecDeque<Waiting>; 2],
    backlog: Backlog,
    mtu: Option<usize>,
    memory: Memory,
    scratch: [Vec<u8>; 2],
    packets: u64,
    bytes: u64,
    coded: u64,
    plain: u64,
    alone: u64,
    too_long: u64,
    own: u64,
}

impl Xor {
    /// A new one.
    ///
    /// # Errors
    /// When a number is out of its range.
    pub fn new(config: Config) -> Result<Xor, ConfigError> {
        for (key, number) in [("most", config.most), ("memory", config.memory)] {
            if !(1..=MAX_PACKETS).contains(&number) {
                return Err(ConfigError {
                    key,
                    reason: format!("from 1 to {MAX_PACKETS} packets"),
                });
            }
        }
        let memory = match config.role {
            Role::Relay => 1,
            Role::End => config.memory,
        };
        Ok(Xor {
            waiting: [VecDeque::new(), VecDeque::new()],
            backlog: Backlog::default(),
            mtu: config.mtu,
            memory: Memory::new(memory),
            scratch: [Vec::new(), Vec::new()],
            config,
            packets: 0,
            bytes: 0,
            coded: 0,
            plain: 0,
            alone: 0,
            too_long: 0,
            own: 0,
        })
    }

    /// Sends something that both are to hear.
    fn share(&mut self, now: Time, frame: Frame, out: &mut Out) {
        self.backlog.send(now, frame.len());
        out.send(SHARED, frame);
    }

    /// At the relay, from one of the sides.
    fn relay(&mut self, now: Time, side: usize, frame: Frame, out: &mut Out) {
        let whole = Whole::read(&frame).filter(|whole| {
            whole.protocol(&frame) != self.config.protocol
                && any_matches(&self.config.matching, Headers::read(&frame).as_ref())
        });
        let Some(whole) = whole else {
            // It does not overtake those before it.
            self.flush(now, side, Time::MAX, out);
            self.plain += 1;
            return self.share(now, frame, out);
        };
        if let Some(partner) = self.waiting[1 - side].pop_front() {
            return self.pair(
                now,
                partner,
                Waiting {
                    until: now,
                    whole,
                    frame,
                },
                out,
            );
        }
        let wait = self.backlog.wait(now).unwrap_or(self.config.hold);
        let until = now + wait.min(self.config.hold);
        let queue = &mut self.waiting[side];
        if until == now && queue.is_empty() {
            self.plain += 1;
            self.alone += 1;
            return self.share(now, frame, out);
        }
        queue.push_back(Waiting {
            until,
            whole,
            frame,
        });
        if queue.len() > self.config.most {
            self.alone(now, side, out);
        }
    }

    /// Two packets that have found each other.
    fn pair(&mut self, now: Time, first: Waiting, second: Waiting, out: &mut Out) {
        let longer = first.whole.len().max(second.whole.len());
        let longest = self
            .mtu
            .unwrap_or(packet::MAX_WIRE_FRAME_LEN)
            .min(packet::MAX_WIRE_FRAME_LEN - 14);
        if first.whole.coded_len(longer) > longest {
            self.too_long += 2;
            self.plain += 2;
            self.share(now, first.frame, out);
            return self.share(now, second.frame, out);
        }
        let mut coded = out.frame();
        encode(
            &mut coded,
            (&first.frame, &first.whole),
            (&second.frame, &second.whole),
            self.config.protocol,
            &mut self.scratch,
        );
        self.coded += 1;
        out.done(first.frame);
        out.done(second.frame);
        self.share(now, coded, out);
    }

    /// Sends the first that waits of a side as it is.
    fn alone(&mut self, now: Time, side: usize, out: &mut Out) {
        if let Some(first) = self.waiting[side].pop_front() {
            self.plain += 1;
            self.alone += 1;
            self.share(now, first.frame, out);
        }
    }

    /// Sends what has waited until `due`.
    fn flush(&mut self, now: Time, side: usize, due: Time, out: &mut Out) {
        while self.waiting[side]
            .front()
            .is_some_and(|first| first.until <= due)
        {
            self.alone(now, side, out);
        }
    }

    /// At an end, from the side itself.
    fn remember(&mut self, frame: Frame, out: &mut Out) {
        if let Some(whole) = Whole::read(&frame) {
            let bare = &mut self.scratch[0];
            let entry = Entry::of(&frame, &whole, bare);
            self.memory.keep(&entry, bare);
        }
        out.send(UP, frame);
    }

    /// At an end, from the relay.
    fn receive(&mut self, frame: Frame, out: &mut Out) {
        let Some(whole) = Whole::read(&frame) else {
            self.plain += 1;
            return out.send(NEAR, frame);
        };
        let (memory, bare) = (&self.memory, &mut self.scratch[0]);
        if whole.protocol(&frame) == self.config.protocol && is_marked(&frame, &whole) {
            let mut restored = out.frame();
            let decoded = decode(&frame, &whole, &mut restored, bare, |entry| {
                memory.get(entry)
            });
            return match decoded {
                Ok(()) => {
                    self.coded += 1;
                    restored.set_arrived(frame.arrived());
                    out.done(frame);
                    out.send(NEAR, restored);
                }
                Err(fault) => {
                    out.done(restored);
                    out.drop(frame, fault.reason());
                }
            };
        }
        let entry = Entry::of(&frame, &whole, bare);
        if memory.get(&entry).is_some() {
            self.own += 1;
            return out.drop(frame, "own packet");
        }
        self.plain += 1;
        out.send(NEAR, frame);
    }
}

impl Node for Xor {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: (self.config.role == Role::Relay).then_some(AGE),
            ..Properties::of(3)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.packets += 1;
            self.bytes += frame.len() as u64;
            match (self.config.role, port) {
                (Role::Relay, SHARED) => out.drop(frame, "came by the shared way"),
                (Role::Relay, side) => self.relay(now, side.index(), frame, out),
                (Role::End, NEAR) => self.remember(frame, out),
                (Role::End, _) => self.receive(frame, out),
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        for side in 0..2 {
            self.flush(now, side, now, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let first = |queue: &VecDeque<Waiting>| queue.front().map(|first| first.until);
        self.waiting.iter().filter_map(first).min()
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        if event.port != SHARED {
            return;
        }
        self.backlog.update(event);
        if let What::Interface(interface) = &event.what
            && self.config.mtu.is_none()
        {
            self.mtu = (interface.mtu != 0).then_some(interface.mtu as usize);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("coded", self.coded),
            ("plain", self.plain),
            ("alone", self.alone),
            ("too_long", self.too_long),
            ("own", self.own),
        ])
    }
}
