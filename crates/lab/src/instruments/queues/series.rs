//! The state of a queue at equal intervals.

use ::report::{Column, Table, Unit, Value};
use node::{Channel, Time};
use queue::egress::QueueEvent;
use queue::{Backlog, Verdict};

/// Maximum number of samples of a queue; the series ends with them.
pub(super) const MAX_SAMPLES: usize = 1_000_000;

/// A queue at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    backlog: Backlog,
    /// Packets since the start.
    sent: u64,
    dropped: u64,
    marked: u64,
}

/// The samples of a queue.
#[derive(Clone, Debug)]
pub(super) struct Series {
    every: Time,
    /// Time of the next sample.
    next: Time,
    now: Sample,
    samples: Vec<Sample>,
}

impl Series {
    /// Samples at times 0, `every`, twice `every` and so on.
    pub fn new(every: Time) -> Series {
        Series {
            every,
            next: Time::ZERO,
            now: Sample::default(),
            samples: Vec::new(),
        }
    }

    pub fn see(&mut self, event: &QueueEvent<'_>) {
        match event {
            QueueEvent::Offered { at, packet, .. } => {
                self.pass(*at);
                self.now.backlog.add(packet.len);
            }
            QueueEvent::Flushed { at } => {
                self.pass(*at);
                self.now.backlog = Backlog::default();
            }
            QueueEvent::Decided(decision) => match decision.verdict {
                Verdict::Dropped => {
                    self.pass(decision.at);
                    self.now.backlog.remove(decision.packet.len);
                    self.now.dropped += 1;
                }
                Verdict::Marked => self.now.marked += 1,
            },
            QueueEvent::Sent { at, backlog, .. } => {
                self.pass(*at);
                self.now.backlog = *backlog;
                self.now.sent += 1;
            }
            QueueEvent::Pause { .. } => {}
        }
    }

    /// Takes the samples before `until`. A sample covers the events before its time.
    pub fn pass(&mut self, until: Time) {
        while self.next < until && self.samples.len() < MAX_SAMPLES {
            self.samples.push(self.now);
            self.next += self.every;
        }
    }

    /// Whether there is no room for more samples.
    pub fn is_full(&self) -> bool {
        self.samples.len() >= MAX_SAMPLES
    }

    /// Adds the samples to a table.
    pub fn rows(&self, at: &str, channel: &Channel, table: &mut Table) {
        let mut time = Time::ZERO;
        for sample in &self.samples {
            // Time on the line of the packets in the queue.
            let wait = channel.rate.map(|rate| {
                let overhead = sample.backlog.packets * u64::from(channel.gap + OVERHEAD);
                rate.time_of(8 * (sample.backlog.bytes + overhead), 0).0
            });
            table.push([
                at.into(),
                time.into(),
                sample.backlog.packets.into(),
                sample.backlog.bytes.into(),
                wait.map_or(Value::None, Value::from),
                sample.sent.into(),
                sample.dropped.into(),
                sample.marked.into(),
            ]);
            time += self.every;
        }
    }
}

/// Preamble and FCS of a frame, bytes.
const OVERHEAD: u32 = 12;

/// A table for the samples of all queues.
pub(super) fn table() -> Table {
    Table::new(
        "queue_series",
        [
            Column::new("at", "queue at"),
            Column::new("time", "time").of(Unit::Time),
            Column::new("packets", "packets"),
            Column::new("backlog", "backlog").of(Unit::Bytes),
            Column::new("wait", "wait").of(Unit::Time),
            Column::new("sent", "sent"),
            Column::new("dropped", "dropped"),
            Column::new("marked", "marked"),
        ],
    )
}
