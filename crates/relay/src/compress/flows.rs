//! What the packets of each flow have shown: how much compressing them saves, and what it takes.

use crate::codec::Algorithm;
use alloc::vec;
use alloc::vec::Vec;
use node::Time;

/// Maximum number of flows that are known at a time.
pub const MAX_FLOWS: usize = 1 << 20;
/// Places that a flow may have; of those the one not used for longest is given up.
const WAYS: usize = 4;
/// Classes of sizes by the highest bit: up to 255, 511, 1023, and more bytes.
const CLASSES: usize = 4;
/// 1 as a ratio.
const WHOLE: u32 = 1 << 15;
/// Expected compression ratio of packets that were never compressed, as a part of [`WHOLE`].
const HOPED: u16 = (WHOLE / 2) as u16;
/// Number of consecutive packets that did not become shorter after which a flow is no longer
/// compressed.
const MISSES: u8 = 3;
/// Packets that pass before the first new try, and the most.
const QUIET: [u32; 2] = [64, 16_384];
/// Number of compressed packets after which another algorithm is tried.
const EXPLORE: u16 = 512;

/// What one algorithm has shown with one flow's packets of one class of sizes: sliding means.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    /// Compressed by original size, in units of 1/32768.
    ratio: u16,
    /// Whether anything was shown.
    seen: bool,
    /// What it takes, in ns.
    cost: u32,
}

impl Shown {
    fn cost(&self) -> Time {
        Time::from_ns(self.cost.into())
    }

    fn add(&mut self, ratio: u32, cost: Option<Time>) {
        let ratio = ratio.min(WHOLE);
        let cost = cost.map(|cost| u32::try_from(cost.as_ns()).unwrap_or(u32::MAX));
        if !self.seen {
            (self.seen, self.ratio) = (true, ratio as u16);
            self.cost = cost.unwrap_or(self.cost);
            return;
        }
        // An eighth of what is new.
        self.ratio = ((u32::from(self.ratio) * 7 + ratio) / 8) as u16;
        if let Some(cost) = cost {
            // One interruption of the processor is not what compressing takes.
            let cost = u64::from(cost).min(u64::from(self.cost) * 4 + 1_000);
            self.cost = ((u64::from(self.cost) * 7 + cost) / 8) as u32;
        }
    }
}

/// What is known of one flow's packets of one class of sizes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    shown: [Shown; Algorithm::ALL.len()],
    /// Packets in a row that did not become shorter.
    misses: u8,
    /// How often a new try has failed.
    failed: u8,
    /// Packets to pass before the next try.
    quiet: u32,
    /// Compressed packets since another algorithm had its try.
    since: u16,
}

impl Known {
    /// R; of an algorithm that was not tried yet what is hoped for: a little better than the best of the others.
    pub fn ratio(&self, algorithm: Algorithm) -> f64 {
        let shown = &self.shown[algorithm as usize];
        let ratio = match shown.seen {
            true => shown.ratio,
            false => {
                let others = self.shown.iter().filter(|shown| shown.seen);
                let best = others.map(|shown| shown.ratio / 8 * 7).min();
                best.map_or(HOPED, |best| best.min(HOPED))
            }
        };
        f64::from(ratio) / f64::from(WHOLE)
    }

    /// C.
    pub fn cost(&self, algorithm: Algorithm) -> Time {
        self.shown[algorithm as usize].cost()
    }

    /// Whether the flow has shown that it cannot be made shorter, and is to be left in peace this time too.
    pub fn is_quiet(&mut self) -> bool {
        if self.misses < MISSES {
            return false;
        }
        self.quiet = self.quiet.saturating_sub(1);
        self.quiet > 0
    }

    /// Whether it is time to try another algorithm than the best.
    pub fn explores(&mut self) -> bool {
        self.since += 1;
        if self.since < EXPLORE {
            return false;
        }
        self.since = 0;
        true
    }

    /// Takes down what compressing `before` bytes to `after` has shown; `after` is `before` when it did not become shorter.
    pub fn learn(&mut self, algorithm: Algorithm, before: usize, after: usize, cost: Option<Time>) {
        let ratio = after as u64 * u64::from(WHOLE) / before.max(1) as u64;
        self.shown[algorithm as usize].add(ratio as u32, cost);
        if after < before {
            if self.failed > 0 {
                // The flow is another than it was: the others have shown nothing of it.
                for other in Algorithm::ALL
                    .into_iter()
                    .filter(|other| *other != algorithm)
                {
                    self.shown[other as usize].seen = false;
                }
                self.shown[algorithm as usize].ratio = ratio as u16;
            }
            (self.misses, self.failed) = (0, 0);
            return;
        }
        self.misses = self.misses.saturating_add(1).min(MISSES);
        if self.misses == MISSES {
            let [first, most] = QUIET;
            self.quiet = most.min(first << self.failed);
            self.failed = (self.failed + 1).min(16);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// The hash of its addresses and ports. Two flows with one hash share what they have shown: no packet is the worse for it.
    hash: u32,
    /// When it was last looked for, by a count of looks; zero for a free place.
    used: u32,
    known: [Known; CLASSES],
}

#[derive(Debug)]
pub struct Flows {
    flows: Vec<Flow>,
    looks: u32,
    /// What all flows together have shown: what is expected of a new one to take.
    all: [Known; CLASSES],
    /// Flows that were given up for others.
    pub evicted: u64,
}

impl Flows {
    /// Room for at least this many.
    pub fn new(flows: usize) -> Flows {
        Flows {
            flows: vec![Flow::default(); flows.next_power_of_two().max(WAYS)],
            looks: 0,
            all: Default::default(),
            evicted: 0,
        }
    }

    /// What is known of the flow with this hash, for packets of `len` bytes.
    pub fn known(&mut self, hash: u32, len: usize) -> &mut Known {
        // The count begins again before it would pass its end: everything is as old as everything else then.
        if self.looks == u32::MAX {
            self.flows
                .iter_mut()
                .for_each(|flow| flow.used = flow.used.min(1));
            self.looks = 1;
        }
        self.looks += 1;
        let sets = self.flows.len() / WAYS;
        let first = (hash as usize & (sets - 1)) * WAYS;
        let set = &mut self.flows[first..first + WAYS];
        let there = |flow: &Flow| flow.used > 0 && flow.hash == hash;
        let way = match set.iter().position(there) {
            Some(way) => way,
            None => {
                let oldest = set.iter().enumerate().min_by_key(|(_, flow)| flow.used);
                let way = oldest.map_or(0, |(way, _)| way);
                self.evicted += u64::from(set[way].used > 0);
                let mut known = [Known::default(); CLASSES];
                for (known, all) in known.iter_mut().zip(&self.all) {
                    for (shown, all) in known.shown.iter_mut().zip(&all.shown) {
                        shown.cost = all.cost;
                    }
                }
                set[way] = Flow {
                    hash,
                    used: 0,
                    known,
                };
                way
            }
        };
        set[way].used = self.looks;
        &mut set[way].known[class(len)]
    }

    /// Takes down what compressing a packet of `len` bytes has taken, for flows to come.
    pub fn learn_cost(&mut self, algorithm: Algorithm, len: usize, cost: Time) {
        self.all[class(len)].shown[algorithm as usize].add(WHOLE, Some(cost));
    }
}

fn class(len: usize) -> usize {
    match len {
        0..256 => 0,
        256..512 => 1,
        512..1024 => 2,
        _ => 3,
    }
}
