//! The accounts of a discipline: backlog, counters, and the list of decisions.

use crate::decision::{Backlog, Decision, Decisions, Reason, State, Verdict};
use crate::packet::{Ecn, Packet};
use node::Time;

/// Totals since the discipline was made. Packets and bytes that were offered are those sent,
/// dropped, and in the backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets and bytes that arrived.
    pub offered: Backlog,
    /// Packets and bytes that left by `dequeue`.
    pub sent: Backlog,
    /// Packets and bytes that were dropped.
    pub dropped: Backlog,
    /// Packets of `dropped` that CAKE's ACK filter dropped.
    pub filtered: u64,
    /// Packets that were marked. A packet counts once for each mark.
    pub marked: u64,
}

/// Keeps the accounts, so that each discipline states a decision once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    pub backlog: Backlog,
    pub counters: Counters,
}

impl Ledger {
    /// A packet arrives; it is stamped and part of the backlog until it is sent or dropped.
    #[inline]
    pub fn offer(&mut self, now: Time, packet: &mut Packet) {
        packet.enqueued = now;
        self.counters.offered.add(packet.len);
        self.backlog.add(packet.len);
    }

    /// A packet leaves.
    #[inline]
    pub fn send(&mut self, packet: &Packet) {
        self.counters.sent.add(packet.len);
        self.backlog.remove(packet.len);
    }

    /// A packet is dropped.
    pub fn drop(
        &mut self,
        now: Time,
        packet: Packet,
        (reason, state): (Reason, State),
        flow: Option<u32>,
        out: &mut Decisions,
    ) {
        out.push(Decision {
            at: now,
            packet,
            verdict: Verdict::Dropped,
            reason,
            backlog: self.backlog,
            flow,
            class: None,
            depth: 0,
            state,
        });
        self.count_drop(reason, packet.len);
    }

    fn count_drop(&mut self, reason: Reason, len: u32) {
        self.counters.dropped.add(len);
        self.counters.filtered += u64::from(reason == Reason::AckFilter);
        self.backlog.remove(len);
    }

    /// A packet is marked; it must be capable of it.
    pub fn mark(
        &mut self,
        now: Time,
        packet: &mut Packet,
        (reason, state): (Reason, State),
        flow: Option<u32>,
        out: &mut Decisions,
    ) {
        debug_assert!(packet.facts.ecn.is_capable());
        packet.facts.ecn = Ecn::Ce;
        out.push(Decision {
            at: now,
            packet: *packet,
            verdict: Verdict::Marked,
            reason,
            backlog: self.backlog,
            flow,
            class: None,
            depth: 0,
            state,
        });
        self.counters.marked += 1;
    }

    /// Takes over the decisions of the child `class`, which are those of `out` from the index
    /// `from` on.
    pub fn adopt(&mut self, out: &mut Decisions, from: usize, class: Option<u32>) {
        for decision in &mut out[from..] {
            decision.class = class.or(decision.class);
            decision.depth += u32::from(class.is_some());
            match decision.verdict {
                Verdict::Dropped => self.count_drop(decision.reason, decision.packet.len),
                Verdict::Marked => self.counters.marked += 1,
            }
        }
    }
}
