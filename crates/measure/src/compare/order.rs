//! Reordering, as RFC 4737 has it.

use alloc::vec::Vec;
use node::Histogram;

/// Maximum reordering extent, the number of arrivals that are remembered. A greater extent is
/// reported as this.
pub const MAX_EXTENT: u64 = 1 << 16;

/// Packets that arrived after one that had been sent later.
#[derive(Clone, Debug, Default)]
pub struct Reordering {
    arrivals: u64,
    /// Arrivals, by their number among them, at which a greater number was sent than ever before; in a
    /// ring, and how many there have been.
    records: Vec<(u64, u64)>,
    recorded: u64,
    /// The greatest number, plus one.
    next: u64,
    late: u64,
    extents: Histogram,
}

impl Reordering {
    /// A packet arrives which was the one of this number when it was sent.
    pub(super) fn arrive(&mut self, number: u64) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        if number >= self.next {
            self.next = number + 1;
            let record = (arrival, number);
            match self.records.len() < MAX_EXTENT as usize {
                true => self.records.push(record),
                false => self.records[(self.recorded % MAX_EXTENT) as usize] = record,
            }
            self.recorded += 1;
            return;
        }
        self.late += 1;
        // The first that arrived before it though sent later is a record.
        let kept = self.records.len() as u64;
        let (mut low, mut high) = (self.recorded - kept, self.recorded);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.records[(middle % MAX_EXTENT) as usize].1 > number {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        let (before, _) = self.records[(low % MAX_EXTENT) as usize];
        self.extents.record((arrival - before).min(MAX_EXTENT));
    }

    /// Packets that arrived, duplicates left out.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Those that are reordered (Type-P-Reordered, section 3.3).
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Their share (section 4.1).
    pub fn ratio(&self) -> f64 {
        self.late as f64 / self.arrivals.max(1) as f64
    }

    /// Their extents (section 4.2.1): how many arrivals before each the first one was that had been
    /// sent later.
    pub fn extents(&self) -> &Histogram {
        &self.extents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[u64]) -> Reordering {
        let mut order = Reordering::default();
        numbers.iter().for_each(|number| order.arrive(*number));
        order
    }

    #[test]
    fn the_examples_of_the_rfc_come_out() {
        // As in RFC 4737 section 7.1: what was sent 4th arrives behind the 5th and the 6th.
        let late = of(&[1, 2, 3, 5, 6, 4, 7]);
        assert_eq!((late.late(), late.extents().max()), (1, 2));
        let late = of(&[1, 4, 5, 6, 2, 3]);
        assert_eq!(late.late(), 2);
        assert_eq!((late.extents().min(), late.extents().max()), (3, 4));
    }

    #[test]
    fn lost_packets_are_no_reordering() {
        assert_eq!(of(&[0, 5, 6, 100]).late(), 0);
        assert_eq!(of(&[]).ratio(), 0.0);
    }

    #[test]
    fn an_extent_beyond_what_is_remembered_is_told_as_the_longest() {
        let mut order = Reordering::default();
        (1..=3 * MAX_EXTENT).for_each(|number| order.arrive(number));
        order.arrive(0);
        assert_eq!(order.extents().max(), MAX_EXTENT);
    }
}
