//! Strict priority: a band is served only while all bands before it have nothing to send.
//!
//! - **Parameters:** `bands`, three FIFOs of 1000 packets; `by`, `priority`; `priomap`, tc's.
//! - **Reasons:** those of the bands, which the decision's `class` names.
//!
//! tc's `prio` chooses the band by Linux's `skb->priority`, which it derives from the TOS byte or a
//! VLAN tag; here [`Facts::priority`](crate::Facts::priority) is the tag's or the class selector,
//! and `by = "dscp"` takes a longer map. Linux gives a shaper's band its turn again when it is
//! ready, and serves lower bands until then, as here; in ns-3 (`PrioQueueDisc`) a filter may choose
//! the band.
//!
//! A band sends nothing while the priority of its next packet is paused ([`pause`](crate::pause)),
//! even if it has packets of other priorities.

use crate::Config as Any;
use crate::child::Child;
use crate::classify::{By, Classifier};
use crate::decision::{Backlog, Decisions};
use crate::discipline::Discipline;
use crate::ledger::{Counters, Ledger};
use crate::packet::Packet;
use crate::pause::{PRIORITIES, Pauses};
use crate::segment::Segment;
use alloc::vec;
use alloc::vec::Vec;
use node::random::split_mix;
use node::{ConfigError, Time};

/// Parameters of strict priority.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Disciplines of the bands, the first served first; 1 to 65536. Default three FIFOs of 1000
    /// packets.
    pub bands: Vec<Any>,
    /// Fact that chooses the band. Default the priority.
    pub by: By,
    /// Band of each priority, DSCP or queue, counted from 0; values without an entry have the last band.
    /// Default tc's: 1 2 2 2 1 2 0 0, then 1.
    pub priomap: Vec<u32>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            bands: vec![Any::default(); 3],
            by: By::Priority,
            priomap: [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1].into(),
        }
    }
}

/// Strict priority.
#[derive(Debug)]
pub struct Prio {
    bands: Vec<Child>,
    classifier: Classifier,
    ledger: Ledger,
    /// End of each priority's pause.
    paused: Pauses,
}

impl Prio {
    /// Empty bands.
    ///
    /// # Errors
    /// For a number of bands or a map out of range, and for a band that cannot be made.
    pub fn new(config: &Config, seed: u64) -> Result<Prio, ConfigError> {
        let classifier = Classifier::new(
            "bands",
            config.bands.len(),
            config.by,
            &config.priomap,
            seed,
        )?;
        let bands = (0..).zip(&config.bands);
        let bands =
            bands.map(|(class, band)| Child::new(band, split_mix(seed, class.into()), Some(class)));
        Ok(Prio {
            bands: bands.collect::<Result<_, _>>()?,
            classifier,
            ledger: Ledger::default(),
            paused: Pauses::default(),
        })
    }
}

/// End of the pause of a packet's priority.
fn end_of_pause(paused: &Pauses, packet: &Packet) -> Time {
    paused[usize::from(packet.facts.priority) % PRIORITIES]
}

impl Discipline for Prio {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Decisions) {
        self.enqueue_segment(now, packet, None, out);
    }

    fn reads_segments(&self) -> bool {
        self.bands.iter().any(Child::reads_segments)
    }

    fn enqueue_segment(
        &mut self,
        now: Time,
        mut packet: Packet,
        segment: Option<&Segment>,
        out: &mut Decisions,
    ) {
        self.ledger.offer(now, &mut packet);
        let band = self.classifier.class_of(&packet) as usize;
        self.bands[band].enqueue(now, packet, segment, &mut self.ledger, out);
    }

    fn dequeue(&mut self, now: Time, out: &mut Decisions) -> Option<Packet> {
        for band in &mut self.bands {
            let head = band.peek(now, &mut self.ledger, out);
            if head.is_some_and(|head| end_of_pause(&self.paused, head) <= now) {
                let packet = band.take()?;
                self.ledger.send(&packet);
                return Some(packet);
            }
        }
        None
    }

    fn next_time(&self, now: Time) -> Option<Time> {
        let times = self.bands.iter().filter_map(|band| match band.held() {
            Some(head) => Some(now.max(end_of_pause(&self.paused, head))),
            None => band.next_time(now),
        });
        times.min()
    }

    fn pause(&mut self, until: &Pauses) -> bool {
        self.paused = *until;
        true
    }

    fn classes_of(&self, packet: &Packet, path: &mut Vec<u32>) {
        let class = self.classifier.class_of(packet) as usize;
        self.bands[class].classes_of(packet, path);
    }

    fn shares_queue(&self, a: &Packet, b: &Packet, depth: u32) -> bool {
        let class = self.classifier.class_of(a);
        let is_same = || class == self.classifier.class_of(b);
        depth == 0 || is_same() && self.bands[class as usize].shares_queue(a, b, depth)
    }

    fn backlog(&self) -> Backlog {
        self.ledger.backlog
    }

    fn counters(&self) -> Counters {
        self.ledger.counters
    }
}
