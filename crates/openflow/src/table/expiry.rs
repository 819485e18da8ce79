//! When entries go of themselves: a heap that is put right when it is looked at.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use node::Time;

/// Deadlines of entries, by number and serial number. One that is out of date does no harm: whoever takes it looks.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    heap: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// How many are of entries that are gone, at most.
    stale: usize,
}

/// As many stale deadlines are always borne.
const BORNE: usize = 64;

impl Expiry {
    pub fn push(&mut self, deadline: Option<Time>, entry: u32, serial: u32) {
        if let Some(deadline) = deadline {
            self.heap.push(Reverse((deadline, entry, serial)));
        }
    }

    /// Takes what is due.
    pub fn pop(&mut self, now: Time) -> Option<(u32, u32)> {
        let Reverse((at, ..)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        let Reverse((_, entry, serial)) = self.heap.pop()?;
        Some((entry, serial))
    }

    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Says that an entry has gone. When most are stale they are thrown out, so that there are never many more than
    /// entries.
    pub fn forget(&mut self, live: impl Fn(u32, u32) -> bool) {
        self.stale += 1;
        if self.stale < BORNE || self.stale * 2 < self.heap.len() {
            return;
        }
        self.stale = 0;
        let mut all: Vec<_> = core::mem::take(&mut self.heap).into_vec();
        all.retain(|Reverse((_, entry, serial))| live(*entry, *serial));
        self.heap = all.into();
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// The one with the first deadline for which this holds; looks at all.
    pub fn first(&self, wanted: impl Fn(u32, u32) -> bool) -> Option<u32> {
        let fitting = self.heap.iter().filter(|Reverse((_, e, s))| wanted(*e, *s));
        fitting
            .min_by_key(|Reverse((at, ..))| *at)
            .map(|Reverse((_, entry, _))| *entry)
    }
}
