//! Probes that wait for an answer.

use crate::discovery::Probe;
use crate::graph::Flow;
use crate::probe::MAX_NUMBER;
use alloc::collections::{BTreeMap, VecDeque};
use node::Time;

/// Maximum number of outstanding probes.
const MAX_OUTSTANDING: usize = 4096;

/// A probe that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub probe: Probe,
    /// How often it was sent.
    pub tries: u32,
    /// Whether it belongs to the search, not to the rounds after it.
    pub is_discovery: bool,
    /// Entry in the log.
    pub entry: Option<usize>,
    pub departed: Time,
    pub deadline: Time,
}

/// Outstanding probes by number.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    probes: BTreeMap<u16, Waiting>,
    /// In the order of departure, with those that were answered.
    order: VecDeque<(Time, u16)>,
    last: u16,
}

impl Outstanding {
    pub fn is_full(&self) -> bool {
        self.order.len() >= MAX_OUTSTANDING
    }

    pub fn is_empty(&self) -> bool {
        self.probes.is_empty()
    }

    /// Adds a probe; gives its number.
    pub fn add(&mut self, waiting: Waiting) -> u16 {
        // There are far fewer outstanding probes than numbers.
        loop {
            self.last = self.last % MAX_NUMBER + 1;
            if !self.probes.contains_key(&self.last) {
                break;
            }
        }
        self.probes.insert(self.last, waiting);
        self.order.push_back((waiting.deadline, self.last));
        self.last
    }

    /// Sets the departure time of the last probe; returns its entry in the log.
    pub fn departed(&mut self, at: Time) -> Option<usize> {
        let waiting = self.probes.get_mut(&self.last)?;
        waiting.departed = at;
        waiting.entry
    }

    /// Sets the log entry of the last probe.
    pub fn logged(&mut self, entry: Option<usize>) {
        if let Some(waiting) = self.probes.get_mut(&self.last) {
            waiting.entry = entry;
        }
    }

    /// Takes the probe with a number and, where the answer shows it, a flow.
    pub fn take(&mut self, number: u16, flow: Option<Flow>) -> Option<Waiting> {
        let waiting = self.probes.get(&number)?;
        if flow.is_some_and(|flow| flow != waiting.probe.flow) {
            return None;
        }
        let taken = self.probes.remove(&number);
        self.forget_answered();
        taken
    }

    /// Removes a probe that has timed out.
    pub fn expired(&mut self, now: Time) -> Option<Waiting> {
        self.forget_answered();
        let (deadline, number) = *self.order.front()?;
        if deadline > now {
            return None;
        }
        self.order.pop_front();
        self.probes.remove(&number)
    }

    pub fn deadline(&self) -> Option<Time> {
        self.order.front().map(|(deadline, _)| *deadline)
    }

    /// Removes what was answered from the front of the order, so that the first is outstanding. Of a number that is in use
    /// again the old entry has another deadline.
    fn forget_answered(&mut self) {
        while let Some((deadline, number)) = self.order.front() {
            let waiting = self.probes.get(number);
            if waiting.is_some_and(|waiting| waiting.deadline == *deadline) {
                break;
            }
            self.order.pop_front();
        }
    }
}
