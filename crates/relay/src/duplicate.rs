//! Sends packets over two paths at once, and takes what comes first: a loss on one of them costs nothing.
//!
//! - **Ports:** 1 + n: port 0 is the near side, port i leads to path i. The same node stands at the far side.
//! - **Parameters:** `match`, every IP packet: [rules](crate::rule), of which one must match; `paths`, 2, at most 16; `window`, 4096: how many
//!   packets of a stream one path may be behind the other; `streams`, 64: from how many senders packets are taken together; `hold`, 1 s: after how long
//!   without news from a sender its old numbers are taken for new ones; `stream`: the sender's own name, an odd number made from the seed
//!   unless it is given, which must differ between nodes that send to the same one; `protocol`, 253, one of RFC 3692's numbers for experiments; `mtu`: the longest packet that paths carry;
//!   left out, as the interfaces say.
//! - **Counters:** `packets`; `bytes`, without FCS; `duplicated`; `too_long`: matched, but with a header too long for a path, and sent by the first one only;
//!   `plain`: as little, for other reasons (fragments; packets for the next router; not matched); `first`: restored and sent on;
//!   `copies`: those that came once more; `streams`, `restarts`: senders that are known, and that restarted.
//! - **Drops:** `copy`; `stale copy`: so far behind that nobody knows; `header of a copy cut off`, `copy of another version`, `damaged copy`.
//!
//! Behind the IP header, whose protocol becomes `protocol`, stand 16 bytes, numbers in network order:
//!
//! | octets | what |
//! |---|---|
//! | 0, 1 | the mark `57 44` |
//! | 2 | version (4 bits, 1) and 4 bits of 0 |
//! | 3 | the protocol that was replaced |
//! | 4-7 | check: Ethernet's CRC-32 over octets 2, 3, 8 to 15, and the packet's bytes behind them |
//! | 8-11 | stream |
//! | 12-15 | number in the stream |
//!
//! Routers forward such packets as any others, and the far side restores them bit for bit. Nothing is kept back to put packets in order.

mod header;
mod window;

pub use header::{Fault, HEADER, MARK, Number, VERSION, is_marked, number, restore};
pub use window::{Verdict, Windows};

use crate::encapsulation::{Offsets, PROTOCOL, locate};
use crate::rule::{Headers, Rule, any_matches};
use alloc::format;
use alloc::vec::Vec;
use node::ConfigError;
use node::event::{Event, What};
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

/// Maximum number of paths.
pub const MAX_PATHS: usize = 16;
/// Maximum window, packets.
pub const MAX_WINDOW: usize = 1 << 20;
/// Maximum number of senders.
pub const MAX_STREAMS: usize = 1024;
const NEAR: Port = Port(0);
/// Interfaces' MTUs seldom change.
const AGE: Time = Time::from_secs(1);

/// Configuration of the node.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Packets that are duplicated; empty: all IP packets.
    #[cfg_attr(feature = "serde", serde(rename = "match"))]
    pub matching: Vec<Rule>,
    /// How many paths, 2 to [`MAX_PATHS`].
    pub paths: u16,
    /// Packets, 64 to [`MAX_WINDOW`].
    pub window: usize,
    /// Senders, 1 to [`MAX_STREAMS`].
    pub streams: usize,
    /// When a sender that counts from the beginning again is believed.
    pub hold: Time,
    /// The sender's name; `None`: made from `seed`.
    pub stream: Option<u32>,
    /// The number in the IP header.
    pub protocol: u8,
    /// The longest packet, bytes behind the Ethernet header; `None`: as the interfaces say.
    pub mtu: Option<usize>,
    /// Where the name comes from.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            matching: Vec::new(),
            paths: 2,
            window: 4096,
            streams: 64,
            hold: Time::from_secs(1),
            stream: None,
            protocol: PROTOCOL,
            mtu: None,
            seed: 0,
        }
    }
}

/// The node. See the [module](self).
#[derive(Debug)]
pub struct Duplicate {
    config: Config,
    stream: u32,
    sequence: u32,
    windows: Windows,
    /// Of each path, as far as it is known.
    mtus: Vec<Option<usize>>,
    packets: u64,
    bytes: u64,
    duplicated: u64,
    too_long: u64,
    plain: u64,
    first: u64,
    copies: u64,
}

impl Duplicate {
    /// A new one.
    ///
    /// # Errors
    /// When a number is out of its range.
    pub fn new(config: Config) -> Result<Duplicate, ConfigError> {
        let wrong = |key, reason| Err(ConfigError { key, reason });
        let paths = usize::from(config.paths);
        if !(2..=MAX_PATHS).contains(&paths) {
            return wrong("paths", format!("from 2 to {MAX_PATHS}"));
        }
        if !(64..=MAX_WINDOW).contains(&config.window) {
            return wrong("window", format!("from 64 to {MAX_WINDOW} packets"));
        }
        if !(1..=MAX_STREAMS).contains(&config.streams) {
            return wrong("streams", format!("from 1 to {MAX_STREAMS}"));
        }
        let drawn = Random::new(config.seed).bits() as u32 | 1;
        Ok(Duplicate {
            stream: config.stream.unwrap_or(drawn),
            sequence: 0,
            windows: Windows::new(config.streams, config.window, config.hold),
            mtus: alloc::vec![config.mtu; paths],
            config,
            packets: 0,
            bytes: 0,
            duplicated: 0,
            too_long: 0,
            plain: 0,
            first: 0,
            copies: 0,
        })
    }

    /// Where the packet is that is to be duplicated, if it is one; else it is counted why not.
    fn matched(&mut self, frame: &Frame) -> Option<Offsets> {
        let offsets = locate(frame).ok().filter(|offsets| {
            // A numbered one from somebody else would be restored too early.
            offsets.protocol() != self.config.protocol
                && !offsets.stays()
                && any_matches(&self.config.matching, Headers::read(frame).as_ref())
        });
        let Some(offsets) = offsets else {
            self.plain += 1;
            return None;
        };
        let longest = self.mtus.iter().flatten().min().copied();
        let longest = longest
            .unwrap_or(packet::MAX_WIRE_FRAME_LEN)
            .min(packet::MAX_WIRE_FRAME_LEN);
        if offsets.end() - offsets.ip() + HEADER > longest {
            self.too_long += 1;
            return None;
        }
        Some(offsets)
    }

    /// From the near side.
    fn outbound(&mut self, mut frame: Frame, out: &mut Out) {
        let Some(offsets) = self.matched(&frame) else {
            return out.send(Port(1), frame);
        };
        let own = Number {
            stream: self.stream,
            sequence: self.sequence,
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.duplicated += 1;
        number(&mut frame, &offsets, self.config.protocol, own);
        for path in 2..=self.config.paths {
            let copy = out.copy(&frame);
            out.send(Port(path), copy);
        }
        out.send(Port(1), frame);
    }

    /// From a path.
    fn inbound(&mut self, now: Time, mut frame: Frame, out: &mut Out) {
        let offsets = locate(&frame).ok();
        let marked = offsets.filter(|offsets| {
            offsets.protocol() == self.config.protocol && is_marked(&frame, offsets)
        });
        let Some(offsets) = marked else {
            return out.send(NEAR, frame);
        };
        let number = match restore(&mut frame, &offsets) {
            Ok(number) => number,
            Err(fault) => return out.drop(frame, fault.reason()),
        };
        match self.windows.receive(now, number.stream, number.sequence) {
            Verdict::New => {
                self.first += 1;
                out.send(NEAR, frame);
            }
            Verdict::Copy => {
                self.copies += 1;
                out.drop(frame, "copy");
            }
            Verdict::Stale => out.drop(frame, "stale copy"),
        }
    }
}

impl Node for Duplicate {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: self.config.mtu.is_none().then_some(AGE),
            ..Properties::of(1 + usize::from(self.config.paths))
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.packets += 1;
            self.bytes += frame.len() as u64;
            match port {
                NEAR => self.outbound(frame, out),
                _ => self.inbound(now, frame, out),
            }
        }
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        let index = event.port.index().checked_sub(1);
        let mtu = index.and_then(|index| self.mtus.get_mut(index));
        if let (Some(mtu), What::Interface(interface)) = (mtu, &event.what)
            && self.config.mtu.is_none()
        {
            *mtu = (interface.mtu != 0).then_some(interface.mtu as usize);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("duplicated", self.duplicated),
            ("too_long", self.too_long),
            ("plain", self.plain),
            ("first", self.first),
            ("copies", self.copies),
            ("streams", self.windows.count() as u64),
            ("restarts", self.windows.restarts()),
        ])
    }
}
