//! What happens at a hook, counted where others may look while it runs.

use super::waits::Waits;
use crate::kernel::thread::lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Defines [`Counters`] and [`Snapshot`] of the same counts; `longest_ns` is the greatest of all threads', the others are added up.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one thread. Only that thread writes; all are since the beginning, but `held`, which is now.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: AtomicU64,)*
            /// The longest of those, ns.
            pub longest_ns: AtomicU64,
            /// How many waited for how long.
            pub waits: Waits,
        }

        /// Counts of all threads together at one moment; see [`Counters`] for what they are.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Snapshot {
            /// When it was taken, on CLOCK_MONOTONIC, ns.
            pub at_ns: u64,
            $($(#[$doc])* pub $name: u64,)*
            /// The longest of those, ns.
            pub longest_ns: u64,
            /// How many waited for how long: see [`waits::percentile`](super::waits::percentile).
            pub waits: Vec<u64>,
            /// The counters of the nodes, by name, added up over the threads; up to a tenth of a second old.
            pub node: Vec<(String, u64)>,
            /// What the nodes dropped, by reason, likewise.
            pub drops: Vec<(String, u64)>,
        }

        impl Snapshot {
            fn add(&mut self, counters: &Counters) {
                $(self.$name += counters.$name.load(Ordering::Relaxed);)*
                let longest = counters.longest_ns.load(Ordering::Relaxed);
                self.longest_ns = self.longest_ns.max(longest);
                counters.waits.add_to(&mut self.waits);
            }
        }
    };
}

counters! {
    /// Packets given to the node.
    packets,
    /// Bytes of those, IP header and all.
    bytes,
    /// Packets that went on as they came.
    accepted,
    /// Bytes of those.
    accepted_bytes,
    /// Packets that went on with other bytes.
    changed,
    /// Bytes of those, as they went on.
    changed_bytes,
    /// Packets that ended here: the node gave them up, or sent them another way than the kernel would have.
    dropped,
    /// Packets of the node's own, copies, and those sent another way than the kernel would have.
    injected,
    /// Bytes of those.
    injected_bytes,
    /// Packets that wait for the node's answer, or for their time.
    held,
    /// Packets that the kernel could not give us: the queue was full or the socket was. What became of them is as
    /// [`Fail`](super::Fail) says.
    overruns,
    /// Packets that the kernel gave us cut short, and that were therefore not shown to a node that changes them.
    truncated,
    /// Verdicts that the kernel refused: it had dropped the packet itself, because an interface went down.
    refused_verdicts,
    /// Too long for the way out, and in need of an answer to their sender, which was given (ICMP `fragmentation needed`,
    /// ICMPv6 `packet too big`).
    too_big,
    /// Injected packets that left as fragments.
    fragmented,
    /// Injected packets that the kernel would not take.
    refused,
    /// Frames that the node sent and that hold no IP packet.
    no_packet,
    /// Frames that were to leave at a time when too many did so already.
    no_room,
    /// From when a packet was read to its verdict, all together, ns.
    waited_ns,
    /// Processor time of the thread, ns.
    processor_ns,
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

/// What a node says of itself.
#[derive(Debug, Default)]
pub(super) struct NodeCounters {
    pub node: Vec<(String, u64)>,
    pub drops: Vec<(String, u64)>,
}

/// Lets others look at a hook while it runs. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    threads: Arc<Vec<ThreadCounters>>,
}

/// Where one thread puts what is to be seen.
#[derive(Debug, Default)]
pub(super) struct ThreadCounters {
    pub counters: Counters,
    node: Mutex<NodeCounters>,
}

impl ThreadCounters {
    /// Changes what the thread's node says of itself.
    pub fn change(&self, change: impl FnOnce(&mut NodeCounters)) {
        change(&mut lock(&self.node));
    }
}

impl Monitor {
    /// With a place for so many threads.
    pub(super) fn new(threads: usize) -> Monitor {
        Monitor {
            threads: Arc::new((0..threads).map(|_| ThreadCounters::default()).collect()),
        }
    }

    /// The counts of one thread.
    pub(super) fn thread(&self, thread: usize) -> &ThreadCounters {
        &self.threads[thread]
    }

    /// The counts of each thread.
    pub fn threads(&self) -> impl Iterator<Item = &Counters> {
        self.threads.iter().map(|thread| &thread.counters)
    }

    /// All counts together, as they are now.
    pub fn snapshot(&self) -> Snapshot {
        let mut sum = Snapshot {
            at_ns: ::capture::clock::now_ns(),
            ..Snapshot::default()
        };
        for thread in self.threads.iter() {
            sum.add(&thread.counters);
            let said = lock(&thread.node);
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
        for index in 0..2 {
            let thread = monitor.thread(index);
            Counters::add(&thread.counters.packets, 3);
            Counters::set(&thread.counters.longest_ns, 5 + index as u64);
            thread.change(|said| said.node = vec![("packets".into(), 3), ("odd".into(), 1)]);
        }
        let sum = monitor.snapshot();
        assert_eq!((sum.packets, sum.longest_ns), (6, 6));
        assert_eq!(sum.node, [("packets".into(), 6), ("odd".into(), 2)]);
    }
}
