//! Every probe of a trace, for archives.

use crate::discovery::Probe;
use crate::probe::Answer;
use alloc::vec::Vec;
use node::Time;

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its TTL and flow.
    pub probe: Probe,
    /// Number of earlier attempts without an answer.
    pub attempt: u32,
    /// Whether it belongs to the search, not to the rounds after it.
    pub is_discovery: bool,
    /// Its number, which is IPv4's identification too.
    pub number: u16,
    /// Time at which it left.
    pub departed: Time,
    /// Index of the interface at its hop that it counts for; `None` while it is outstanding, or when it counts for none.
    pub vertex: Option<usize>,
    /// The answer, with the time of its arrival.
    pub answer: Option<(Time, Answer)>,
    /// Entry of the attempt before.
    previous: Option<usize>,
}

/// Probes in the order of departure, up to a limit.
#[derive(Debug, Default)]
pub(super) struct Log {
    limit: usize,
    entries: Vec<Sent>,
    left_out: u64,
}

impl Log {
    pub fn new(limit: usize) -> Log {
        Log {
            limit,
            ..Log::default()
        }
    }

    pub fn entries(&self) -> &[Sent] {
        &self.entries
    }

    /// Number of probes beyond the limit.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Adds a probe; returns its entry.
    pub fn add(
        &mut self,
        (probe, is_discovery): (Probe, bool),
        (attempt, previous): (u32, Option<usize>),
        number: u16,
        departed: Time,
    ) -> Option<usize> {
        if self.entries.len() >= self.limit {
            self.left_out += u64::from(self.limit > 0);
            return None;
        }
        self.entries.push(Sent {
            probe,
            attempt,
            is_discovery,
            number,
            departed,
            vertex: None,
            answer: None,
            previous,
        });
        Some(self.entries.len() - 1)
    }

    pub fn departed(&mut self, entry: Option<usize>, at: Time) {
        if let Some(entry) = entry {
            self.entries[entry].departed = at;
        }
    }

    /// Assigns an answered or lost probe, and the attempts before it, to a vertex.
    pub fn result(
        &mut self,
        entry: Option<usize>,
        vertex: Option<usize>,
        answer: Option<(Time, Answer)>,
    ) {
        let mut next = entry;
        if let Some(entry) = entry {
            self.entries[entry].answer = answer;
        }
        while let Some(entry) = next {
            self.entries[entry].vertex = vertex;
            next = self.entries[entry].previous;
        }
    }
}
