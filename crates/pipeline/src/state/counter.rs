//! Arrays of counters.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering};

pub use p4::ir::Unit;

/// An array of counters of packets and bytes. Both are always counted; `unit` says which of them the program asked for.
#[derive(Debug)]
pub struct Counter {
    /// What the program asked for.
    pub unit: Unit,
    counts: Box<[[AtomicU64; 2]]>,
}

impl Counter {
    /// All zero.
    #[must_use]
    pub fn new(unit: Unit, size: usize) -> Self {
        Counter {
            unit,
            counts: (0..size).map(|_| Default::default()).collect(),
        }
    }

    #[must_use]
    pub fn size(&self) -> usize {
        self.counts.len()
    }

    /// Counts a packet; beyond the end nothing happens.
    #[inline]
    pub fn count(&self, index: u64, bytes: u64) {
        // One thread's packets count here, so that a load and a store are enough; the control plane's `set` may be lost to one packet.
        if let Some([packets, octets]) = self.counts.get(index as usize) {
            packets.store(
                packets.load(Ordering::Relaxed).wrapping_add(1),
                Ordering::Relaxed,
            );
            octets.store(
                octets.load(Ordering::Relaxed).wrapping_add(bytes),
                Ordering::Relaxed,
            );
        }
    }

    /// Packets and bytes.
    #[must_use]
    pub fn read(&self, index: usize) -> Option<(u64, u64)> {
        let [packets, octets] = self.counts.get(index)?;
        Some((
            packets.load(Ordering::Relaxed),
            octets.load(Ordering::Relaxed),
        ))
    }

    /// The numbers themselves, packets and bytes in turn.
    #[must_use]
    pub fn cells(&self) -> &[AtomicU64] {
        self.counts.as_flattened()
    }

    /// Sets packets and bytes, and says whether there is such an index.
    pub fn set(&self, index: usize, packets: u64, bytes: u64) -> bool {
        let Some([first, second]) = self.counts.get(index) else {
            return false;
        };
        first.store(packets, Ordering::Relaxed);
        second.store(bytes, Ordering::Relaxed);
        true
    }
}
