//! What happens at a hook, counted where others may look while it runs.

use super::waits::Waits;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts of one thread. Only that thread writes; all are since the beginning, but `held`, which is now.
#[derive(Debug, Default)]
pub struct Counters {
    /// Packets given to the node.
    pub packets: AtomicU64,
    /// Bytes of those, IP header and all.
    pub bytes: AtomicU64,
    /// Packets that went on as they came.
    pub accepted: AtomicU64,
    /// Bytes of those.
    pub accepted_bytes: AtomicU64,
    /// Packets that went on with other bytes.
    pub changed: AtomicU64,
    /// Bytes of those, as they went on.
    pub changed_bytes: AtomicU64,
    /// Packets that ended here: the node gave them up, or sent them another way than the kernel would have.
    pub dropped: AtomicU64,
    /// Packets of the node's own, copies, and those sent another way than the kernel would have.
    pub injected: AtomicU64,
    /// Bytes of those.
    pub injected_bytes: AtomicU64,
    /// Packets that wait for the node's answer, or for their time.
    pub held: AtomicU64,
    /// Packets that the kernel could not give us: the queue was full or the socket was. What became of them is as
    /// [`Fail`](super::Fail) says.
    pub overruns: AtomicU64,
    /// Packets that the kernel gave us cut short, and that were therefore not shown to a node that changes them.
    pub truncated: AtomicU64,
    /// Verdicts that the kernel refused: it had dropped the packet itself, because an interface went down.
    pub refused_verdicts: AtomicU64,
    /// Too long for the way out, and in need of an answer to their sender, which was given (ICMP `fragmentation needed`,
    /// ICMPv6 `packet too big`).
    pub too_big: AtomicU64,
    /// Injected packets that left as fragments.
    pub fragmented: AtomicU64,
    /// Injected packets that the kernel would not take.
    pub refused: AtomicU64,
    /// Frames that the node sent and that hold no IP packet.
    pub no_packet: AtomicU64,
    /// Frames that were to leave at a time when too many did so already.
    pub no_room: AtomicU64,
    /// From when a packet was read to its verdict, all together, ns.
    pub waited_ns: AtomicU64,
    /// The longest of those, ns.
    pub longest_ns: AtomicU64,
    /// How many waited for how long.
    pub waits: Waits,
    /// Processor time of the thread, ns.
    pub processor_ns: AtomicU64,
}

impl Counters {
    /// Adds to a count; for the one thread that writes it.
    pub(super) fn add(count: &AtomicU64, more: u64) {
        // Only one thread writes, so that nothing is lost between the two, at less cost than a locked addition.
        count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    /// Sets a count.
    pub(super) fn set(count: &AtomicU64, value: u64) {
        count.store(value, Ordering::Relaxed);
    }
}

/// Counts of all threads together at one moment; see [`Counters`] for what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `Counters`")]
pub struct Snapshot {
    /// When it was taken, on CLOCK_MONOTONIC, ns.
    pub at_ns: u64,
    pub packets: u64,
    pub bytes: u64,
    pub accepted: u64,
    pub accepted_bytes: u64,
    pub changed: u64,
    pub changed_bytes: u64,
    pub dropped: u64,
    pub injected: u64,
    pub injected_bytes: u64,
    pub held: u64,
    pub overruns: u64,
    pub truncated: u64,
    pub refused_verdicts: u64,
    pub too_big: u64,
    pub fragmented: u64,
    pub refused: u64,
    pub no_packet: u64,
    pub no_room: u64,
    pub waited_ns: u64,
    pub longest_ns: u64,
    /// How many waited for how long: see [`waits::percentile`](super::waits::percentile).
    pub waits: Vec<u64>,
    pub processor_ns: u64,
    /// The counters of the nodes, by name, added up over the threads; up to a tenth of a second old.
    pub node: Vec<(String, u64)>,
    /// What the nodes dropped, by reason, likewise.
    pub drops: Vec<(String, u64)>,
}

/// What a node says of itself.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub node: Vec<(String, u64)>,
    pub drops: Vec<(String, u64)>,
}

/// Lets others look at a hook while it runs. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    threads: Arc<Vec<Place>>,
}

/// Where one thread puts what is to be seen.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub counters: Counters,
    said: Mutex<Said>,
}

impl Place {
    /// Changes what the thread's node says of itself.
    pub fn say(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Monitor {
    /// With a place for so many threads.
    pub(super) fn new(threads: usize) -> Monitor {
        Monitor {
            threads: Arc::new((0..threads).map(|_| Place::default()).collect()),
        }
    }

    /// The place of a thread.
    pub(super) fn place(&self, thread: usize) -> &Place {
        &self.threads[thread]
    }

    /// The counts of each thread.
    pub fn threads(&self) -> impl Iterator<Item = &Counters> {
        self.threads.iter().map(|place| &place.counters)
    }

    /// All counts together, as they are now.
    pub fn snapshot(&self) -> Snapshot {
        let mut sum = Snapshot {
            at_ns: crate::clock::now_ns(),
            ..Snapshot::default()
        };
        for place in self.threads.iter() {
            let counters = &place.counters;
            let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
            sum.packets += get(&counters.packets);
            sum.bytes += get(&counters.bytes);
            sum.accepted += get(&counters.accepted);
            sum.accepted_bytes += get(&counters.accepted_bytes);
            sum.changed += get(&counters.changed);
            sum.changed_bytes += get(&counters.changed_bytes);
            sum.dropped += get(&counters.dropped);
            sum.injected += get(&counters.injected);
            sum.injected_bytes += get(&counters.injected_bytes);
            sum.held += get(&counters.held);
            sum.overruns += get(&counters.overruns);
            sum.truncated += get(&counters.truncated);
            sum.refused_verdicts += get(&counters.refused_verdicts);
            sum.too_big += get(&counters.too_big);
            sum.fragmented += get(&counters.fragmented);
            sum.refused += get(&counters.refused);
            sum.no_packet += get(&counters.no_packet);
            sum.no_room += get(&counters.no_room);
            sum.waited_ns += get(&counters.waited_ns);
            sum.longest_ns = sum.longest_ns.max(get(&counters.longest_ns));
            counters.waits.add_to(&mut sum.waits);
            sum.processor_ns += get(&counters.processor_ns);
            let said = place.said.lock().unwrap_or_else(PoisonError::into_inner);
            merge(&mut sum.node, &said.node);
            merge(&mut sum.drops, &said.drops);
        }
        sum
    }
}

/// Adds counts to those of the same name.
fn merge(sum: &mut Vec<(String, u64)>, more: &[(String, u64)]) {
    for (name, count) in more {
        match sum.iter_mut().find(|(known, _)| known == name) {
            Some((_, total)) => *total = total.saturating_add(*count),
            None => sum.push((name.clone(), *count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_up_and_names_are_kept() {
        let monitor = Monitor::new(2);
        for thread in 0..2 {
            let place = monitor.place(thread);
            Counters::add(&place.counters.packets, 3);
            Counters::set(&place.counters.longest_ns, 5 + thread as u64);
            place.say(|said| said.node = vec![("packets".into(), 3), ("odd".into(), 1)]);
        }
        let sum = monitor.snapshot();
        assert_eq!((sum.packets, sum.longest_ns), (6, 6));
        assert_eq!(sum.node, [("packets".into(), 6), ("odd".into(), 2)]);
    }
}
