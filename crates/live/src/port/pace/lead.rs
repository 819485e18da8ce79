//! Aiming ahead: how long the kernel takes from the call to the moment at which it hands a frame to the
//! driver, learned from its own stamps of some departures.

use super::ErrorMeter;
use crate::port::Transmit;

/// Latencies that count.
const RECENT: usize = 32;
/// Minimum number of known latencies for a lead.
const ENOUGH: usize = 8;
/// At first each departure is stamped, then one in this number.
const ONE_IN: u32 = 32;
/// Maximum number of polls for a timestamp.
const MAX_STAMP_POLLS: u32 = 8;
/// Number of consecutive missing timestamps after which no more are requested.
const SILENCE: u32 = 4;
/// Maximum lead of a send call, ns: no frame leaves earlier than this before its requested time.
pub const MAX_LEAD_NS: u64 = 10_000;

/// One port's latency.
#[derive(Debug, Default)]
pub struct Lead {
    cautious: bool,
    /// Ring of the latest latencies, ns.
    recent: [u64; RECENT],
    known: usize,
    lead: u64,
    /// Departures since a stamp was asked for.
    since: u32,
    silent: u32,
    asked: Option<Asked>,
}

/// A stamp that is to come.
#[derive(Clone, Copy, Debug)]
struct Asked {
    began: u64,
    wanted: Option<u64>,
    looks: u32,
}

impl Lead {
    /// One that begins with a latency that was measured before, ns; 0 for none.
    pub fn known(latency: u64) -> Lead {
        Lead {
            lead: latency.min(MAX_LEAD_NS),
            ..Lead::default()
        }
    }

    /// One that counts on the least latency that was seen of late: hardly any frame leaves early, the
    /// middle of them some 100 ns later.
    pub fn cautious() -> Lead {
        Lead {
            cautious: true,
            ..Lead::default()
        }
    }

    /// One that stays as it is, ns: how long before its time a frame is given to a port that keeps the time itself.
    pub fn fixed(ns: u64) -> Lead {
        Lead {
            lead: ns,
            silent: SILENCE,
            ..Lead::default()
        }
    }

    /// How long before its time a frame is to be given to the port, ns.
    pub fn ns(&self) -> u64 {
        self.lead
    }

    /// Before a departure: asks for a stamp if it is time for one. Returns whether the kernel will.
    pub fn ask(&mut self, tx: &mut dyn Transmit) -> bool {
        self.since += 1;
        let due = self.known < RECENT || self.since >= ONE_IN;
        let asked = due && self.silent < SILENCE && self.asked.is_none() && tx.ask_for_stamp();
        if asked {
            self.since = 0;
        }
        asked
    }

    /// After that departure: the call began at `began`, and if somebody had asked for a time, it was
    /// wanted at `wanted`, both in ns.
    pub fn asked(&mut self, wanted: Option<u64>, began: u64) {
        self.asked = Some(Asked {
            began,
            wanted,
            looks: 0,
        });
    }

    /// Looks for the stamp, after a departure or while there is time.
    pub fn look(&mut self, tx: &mut dyn Transmit, errors: &mut ErrorMeter) {
        let Some(asked) = &mut self.asked else { return };
        while let Some(stamp) = tx.take_stamp() {
            // One from before is that of a departure that was given up.
            if stamp >= asked.began {
                if let Some(wanted) = asked.wanted {
                    errors.stamped(wanted, stamp);
                }
                let latency = stamp - asked.began;
                self.silent = 0;
                self.asked = None;
                return self.learn(latency);
            }
        }
        asked.looks += 1;
        if asked.looks >= MAX_STAMP_POLLS {
            self.asked = None;
            self.silent += 1;
        }
    }

    fn learn(&mut self, latency: u64) {
        self.recent[self.known % RECENT] = latency;
        self.known += 1;
        // Not forever, lest it run over.
        if self.known == 3 * RECENT {
            self.known = 2 * RECENT;
        }
        let count = self.known.min(RECENT);
        if count >= ENOUGH {
            let mut sorted = self.recent;
            sorted[..count].sort_unstable();
            // Low among them: a frame is better late by the call's jitter than early by it.
            let place = if self.cautious { 0 } else { count / 4 };
            self.lead = sorted[place].min(MAX_LEAD_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{PortError, TxCounters};

    /// Stamps each frame so long after it was asked for.
    #[derive(Default)]
    struct Stamper {
        stamps: Vec<u64>,
        asked: u32,
    }

    impl Transmit for Stamper {
        fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
            Ok(frames.len())
        }

        fn counters(&self) -> TxCounters {
            TxCounters::default()
        }

        fn ask_for_stamp(&mut self) -> bool {
            self.asked += 1;
            true
        }

        fn take_stamp(&mut self) -> Option<u64> {
            self.stamps.pop()
        }
    }

    fn depart(lead: &mut Lead, port: &mut Stamper, errors: &mut ErrorMeter, latency: Option<u64>) {
        if lead.ask(port) {
            lead.asked(Some(1_000_000), 1_000_000);
            port.stamps
                .extend(latency.map(|latency| 1_000_000 + latency));
        }
        lead.look(port, errors);
    }

    #[test]
    fn the_lead_is_low_among_what_the_kernel_takes_and_bounded() {
        let (mut lead, mut port) = (Lead::default(), Stamper::default());
        let mut errors = ErrorMeter::default();
        for latency in [900, 700, 800, 1000, 9000, 850, 760] {
            depart(&mut lead, &mut port, &mut errors, Some(latency));
            assert_eq!(lead.ns(), 0, "not from so few");
        }
        depart(&mut lead, &mut port, &mut errors, Some(950));
        assert_eq!(lead.ns(), 800);
        for _ in 0..10_000 {
            depart(&mut lead, &mut port, &mut errors, Some(90_000));
        }
        assert_eq!(lead.ns(), MAX_LEAD_NS);
        let stamped = errors.report().stamped;
        assert!((300..500).contains(&stamped), "{stamped} of 10,000");
    }

    #[test]
    fn a_cautious_lead_is_the_least_that_was_seen_of_late() {
        let (mut lead, mut port) = (Lead::cautious(), Stamper::default());
        let mut errors = ErrorMeter::default();
        for latency in (0..2 * RECENT as u64).map(|n| 500 + n) {
            while lead.known as u64 + 500 <= latency {
                depart(&mut lead, &mut port, &mut errors, Some(latency));
            }
        }
        assert_eq!(lead.ns(), 500 + RECENT as u64);
    }

    #[test]
    fn a_port_that_never_stamps_is_asked_no_more() {
        let (mut lead, mut port) = (Lead::default(), Stamper::default());
        let mut errors = ErrorMeter::default();
        for _ in 0..1_000 {
            depart(&mut lead, &mut port, &mut errors, None);
        }
        assert_eq!((port.asked, lead.ns()), (SILENCE, 0));
    }

    #[test]
    fn the_stamp_of_a_departure_given_up_is_not_taken_for_another() {
        let (mut lead, mut port) = (Lead::default(), Stamper::default());
        let mut errors = ErrorMeter::default();
        port.stamps = vec![1_000_500, 999_000];
        assert!(lead.ask(&mut port));
        lead.asked(Some(1_000_000), 1_000_000);
        lead.look(&mut port, &mut errors);
        assert_eq!(lead.recent[0], 500);
    }
}
