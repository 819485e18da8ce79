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

/// One stream, which begins with sequence 0. Probes carry sequence numbers modulo 2^32; each is extended to the value nearest to the previous one.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// The sequence that comes next if nothing happens, of which the stream tells the low 32 bits.
    next: u64,
    /// Which of the [`WINDOW`] sequences before `next` have arrived, at the bit of their remainder.
    seen: [u64; WORDS],
    order: Order,
}

impl Sequence {
    pub(super) fn see(&mut self, sequence: u32) {
        let ahead = i64::from(sequence.wrapping_sub(self.next as u32) as i32);
        let sequence = match self.next {
            // Of the first nothing is known but that it is not before 0.
            0 => u64::from(sequence),
            next => next
                .checked_add_signed(ahead)
                .unwrap_or(u64::from(sequence)),
        };
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

    fn order(sequences: impl IntoIterator<Item = u32>) -> Order {
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
        let stale = order([0, 2_000, 2_000 - WINDOW as u32, 2_001 - WINDOW as u32]);
        assert_eq!((stale.stale, stale.reordered, stale.lost), (1, 1, 1_998));
    }

    #[test]
    fn the_window_forgets_what_it_has_left_behind() {
        // 5 arrived; its remainder comes round again as a sequence that did not.
        let later = (0..10).chain([5 + WINDOW as u32 + 1, 5 + WINDOW as u32]);
        assert_eq!(order(later).duplicates, 0);
    }

    #[test]
    fn a_stream_goes_on_behind_the_highest_number() {
        let mut stream = Sequence::default();
        // Steps of a third of the numbers, then some one by one: late, twice, and one that is missing.
        for at in [0, 1 << 30, 1 << 31, 3 << 30] {
            stream.see(at);
        }
        let lost = stream.order().lost;
        assert_eq!(lost, (3 << 30) + 1 - 4);
        for at in [u32::MAX - 1, 1, u32::MAX, 1, 2] {
            stream.see(at);
        }
        let order = stream.order();
        let between = u64::from(u32::MAX) - 1 - (3 << 30) - 1;
        assert_eq!(order.lost, lost + between + 1, "0 of the second round");
        assert_eq!((order.reordered, order.duplicates, order.stale), (1, 1, 0));
    }
}
