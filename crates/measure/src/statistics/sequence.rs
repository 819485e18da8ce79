//! Loss and order of one probe stream, within a window of fixed size.

use core::ops::AddAssign;

/// How far behind the highest sequence a frame may arrive and still be known as late or as a copy.
pub const WINDOW: u64 = 1024;
const WORDS: usize = (WINDOW / 64) as usize;

/// What became of a stream's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Sequences from 0 up to the highest seen that have not arrived.
    pub lost: u64,
    /// Arrived behind a higher sequence.
    pub reordered: u64,
    /// Arrived again.
    pub duplicates: u64,
    /// More than [`WINDOW`] behind: too old to be told as late or as a copy; still counted as lost.
    pub stale: u64,
}

impl AddAssign for Order {
    fn add_assign(&mut self, other: Order) {
        self.lost += other.lost;
        self.reordered += other.reordered;
        self.duplicates += other.duplicates;
        self.stale += other.stale;
    }
}

/// One stream, which begins with sequence 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// The sequence that comes next if nothing happens.
    next: u64,
    /// Which of the [`WINDOW`] sequences before `next` have arrived, at the bit of their remainder.
    seen: [u64; WORDS],
    order: Order,
}

impl Sequence {
    pub(super) fn see(&mut self, sequence: u64) {
        if sequence >= self.next {
            let skipped = sequence - self.next;
            self.order.lost += skipped;
            if skipped >= WINDOW {
                self.seen = [0; WORDS];
            } else {
                (self.next..sequence).for_each(|missing| self.mark(missing, false));
            }
            self.mark(sequence, true);
            self.next = sequence + 1;
        } else if self.next - sequence > WINDOW {
            self.order.stale += 1;
        } else if self.is_marked(sequence) {
            self.order.duplicates += 1;
        } else {
            self.mark(sequence, true);
            self.order.reordered += 1;
            self.order.lost -= 1;
        }
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    fn is_marked(&self, sequence: u64) -> bool {
        let bit = sequence % WINDOW;
        self.seen[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    fn mark(&mut self, sequence: u64, seen: bool) {
        let bit = sequence % WINDOW;
        let word = &mut self.seen[(bit / 64) as usize];
        *word = *word & !(1 << (bit % 64)) | u64::from(seen) << (bit % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(sequences: impl IntoIterator<Item = u64>) -> Order {
        let mut stream = Sequence::default();
        sequences
            .into_iter()
            .for_each(|sequence| stream.see(sequence));
        stream.order()
    }

    #[test]
    fn loss_at_the_head_and_in_the_middle_is_counted() {
        let lost = Order {
            lost: 5,
            ..Order::default()
        };
        assert_eq!(order([2, 3, 7, 8]), lost);
        assert_eq!(order(0..5_000), Order::default());
    }

    #[test]
    fn a_late_frame_is_no_longer_lost_and_a_second_one_is_a_copy() {
        let expected = Order {
            lost: 1,
            reordered: 1,
            duplicates: 2,
            stale: 0,
        };
        assert_eq!(order([0, 3, 1, 1, 3]), expected);
    }

    #[test]
    fn what_comes_from_beyond_the_window_is_stale() {
        let stale = order([0, 2_000, 2_000 - WINDOW, 2_001 - WINDOW]);
        assert_eq!((stale.stale, stale.reordered, stale.lost), (1, 1, 1_998));
    }

    #[test]
    fn the_window_forgets_what_it_has_left_behind() {
        // 5 arrived; its remainder comes round again as a sequence that did not.
        let later = (0..10).chain([5 + WINDOW + 1, 5 + WINDOW]);
        assert_eq!(order(later).duplicates, 0);
    }
}
