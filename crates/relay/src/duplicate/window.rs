//! Which of the last packets of a stream have come.

use alloc::vec;
use alloc::vec::Vec;
use node::Time;

/// What is to be done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has not been here before.
    New,
    Copy,
    /// It is so far behind that nobody knows.
    Stale,
}

/// The streams that are known, and what has come of each. Of more than there is room for, the one that was
/// heard least recently is forgotten.
#[derive(Debug)]
pub struct Windows {
    streams: Vec<Stream>,
    most: usize,
    /// Words of 64 packets.
    words: usize,
    /// After so long without anything new, what is behind is taken for a new beginning.
    hold: Time,
    restarts: u64,
}

#[derive(Debug)]
struct Stream {
    name: u32,
    highest: u32,
    /// One bit for each packet, at its number modulo the size.
    seen: Vec<u64>,
    advanced: Time,
    heard: Time,
}

impl Windows {
    /// For `most` streams, at least one, of whose last `packets` is known which have come; rounded up to a power of two from 64.
    pub fn new(most: usize, packets: usize, hold: Time) -> Windows {
        Windows {
            streams: Vec::new(),
            most: most.max(1),
            words: packets.max(64).next_power_of_two() / 64,
            hold,
            restarts: 0,
        }
    }

    /// A packet has come.
    pub fn receive(&mut self, now: Time, name: u32, sequence: u32) -> Verdict {
        let words = self.words;
        let Some(index) = self.streams.iter().position(|stream| stream.name == name) else {
            let mut stream = match self.streams.len() < self.most {
                true => Stream {
                    name,
                    highest: 0,
                    seen: vec![0; words],
                    advanced: now,
                    heard: now,
                },
                false => self.oldest(),
            };
            stream.name = name;
            stream.begin(now, sequence);
            self.streams.push(stream);
            return Verdict::New;
        };
        let stream = &mut self.streams[index];
        stream.heard = now;
        let verdict = stream.receive(now, sequence);
        if verdict != Verdict::Stale || now - stream.advanced < self.hold {
            return verdict;
        }
        // The sender counts from the beginning again: what it sends would be stale for ever.
        stream.begin(now, sequence);
        self.restarts += 1;
        Verdict::New
    }

    /// Takes out the stream that was heard least recently.
    fn oldest(&mut self) -> Stream {
        let oldest = (0..self.streams.len()).min_by_key(|index| self.streams[*index].heard);
        self.streams.swap_remove(oldest.unwrap_or(0))
    }

    /// How many streams there are.
    pub fn count(&self) -> usize {
        self.streams.len()
    }

    /// How often a stream has begun again.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }
}

impl Stream {
    /// Nothing but this one has come.
    fn begin(&mut self, now: Time, sequence: u32) {
        self.seen.fill(0);
        self.highest = sequence;
        self.advanced = now;
        self.heard = now;
        self.mark(sequence);
    }

    /// Notes a packet; whether it was noted before.
    fn mark(&mut self, sequence: u32) -> bool {
        let at = sequence as usize % (self.seen.len() * 64);
        let (word, bit) = (&mut self.seen[at / 64], 1 << (at % 64));
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    fn receive(&mut self, now: Time, sequence: u32) -> Verdict {
        let size = self.seen.len() as u32 * 64;
        let ahead = sequence.wrapping_sub(self.highest);
        if ahead == 0 || ahead > u32::MAX / 2 {
            if self.highest.wrapping_sub(sequence) >= size {
                return Verdict::Stale;
            }
            return match self.mark(sequence) {
                true => Verdict::Copy,
                // The sender is there, and what comes is not from before its restart.
                false => {
                    self.advanced = now;
                    Verdict::New
                }
            };
        }
        // The numbers in between have their places free.
        match ahead >= size {
            true => self.seen.fill(0),
            false => {
                for number in 1..ahead {
                    let at = self.highest.wrapping_add(number) as usize % size as usize;
                    self.seen[at / 64] &= !(1 << (at % 64));
                }
                let at = sequence as usize % size as usize;
                self.seen[at / 64] &= !(1 << (at % 64));
            }
        }
        self.highest = sequence;
        self.advanced = now;
        self.mark(sequence);
        Verdict::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use node::random::Random;

    fn windows() -> Windows {
        Windows::new(2, 256, Time::from_secs(1))
    }

    #[test]
    fn each_number_is_new_once_in_any_order_within_the_window() {
        let mut random = Random::new(1);
        for begin in [0u32, u32::MAX - 700] {
            let mut windows = windows();
            let mut known = BTreeSet::new();
            for step in 0..4_000u32 {
                let number = step / 2 + random.below(200) as u32;
                let verdict = windows.receive(Time::ZERO, 7, begin.wrapping_add(number));
                let wanted = match known.insert(number) {
                    true => Verdict::New,
                    false => Verdict::Copy,
                };
                assert_eq!(verdict, wanted, "{number} in step {step}");
            }
        }
    }

    #[test]
    fn what_is_behind_the_window_is_stale_until_the_sender_has_begun_anew() {
        let mut windows = windows();
        assert_eq!(windows.receive(Time::ZERO, 7, 10_000), Verdict::New);
        assert_eq!(windows.receive(Time::ZERO, 7, 10_000 - 255), Verdict::New);
        assert_eq!(windows.receive(Time::ZERO, 7, 10_000 - 256), Verdict::Stale);
        // As long as new ones come, old ones are old ones.
        for ms in 0..3_000 {
            assert_eq!(
                windows.receive(Time::from_ms(ms), 7, 10_001 + ms as u32),
                Verdict::New
            );
            assert_eq!(
                windows.receive(Time::from_ms(ms), 7, ms as u32),
                Verdict::Stale
            );
        }
        assert_eq!(windows.receive(Time::from_ms(3_998), 7, 0), Verdict::Stale);
        assert_eq!(windows.receive(Time::from_ms(3_999), 7, 1), Verdict::New);
        assert_eq!(windows.receive(Time::from_ms(3_999), 7, 1), Verdict::Copy);
        assert_eq!(windows.receive(Time::from_ms(3_999), 7, 2), Verdict::New);
        assert_eq!(windows.restarts(), 1);
    }

    #[test]
    fn a_leap_forgets_what_was_before_and_nothing_else() {
        let mut windows = windows();
        for number in 0..256 {
            windows.receive(Time::ZERO, 7, number);
        }
        assert_eq!(windows.receive(Time::ZERO, 7, 400), Verdict::New);
        for number in 145..256 {
            assert_eq!(windows.receive(Time::ZERO, 7, number), Verdict::Copy);
        }
        for number in 256..400 {
            assert_eq!(windows.receive(Time::ZERO, 7, number), Verdict::New);
        }
        assert_eq!(windows.receive(Time::ZERO, 7, 1 << 30), Verdict::New);
        assert_eq!(windows.receive(Time::ZERO, 7, (1 << 30) - 1), Verdict::New);
    }

    #[test]
    fn of_too_many_streams_the_one_unheard_of_for_longest_goes() {
        let mut windows = windows();
        for (at, name) in [(1, 1), (2, 2), (3, 1), (4, 3)] {
            windows.receive(Time::from_ms(at), name, 5);
        }
        assert_eq!(windows.count(), 2);
        assert_eq!(windows.receive(Time::from_ms(5), 1, 5), Verdict::Copy);
        assert_eq!(windows.receive(Time::from_ms(6), 2, 5), Verdict::New);
    }
}
