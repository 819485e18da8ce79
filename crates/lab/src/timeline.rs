//! What happens over time, in a bounded space.

use node::Time;
use std::collections::VecDeque;

/// Maximum number of stretches of time. When there would be more, each becomes twice as long.
const MAX_STRETCHES: usize = 2048;
/// Picoseconds of a stretch at first.
const FIRST: u64 = 1 << 20;

/// Numbers over time: of each stretch of time one, which is made of those within it.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    width: u64,
    stretches: Vec<u64>,
    /// Makes one of two numbers.
    join: fn(u64, u64) -> u64,
}

impl Timeline {
    /// Of each stretch the sum.
    pub fn sums() -> Timeline {
        Timeline {
            width: FIRST,
            stretches: Vec::new(),
            join: u64::saturating_add,
        }
    }

    /// Of each stretch the greatest.
    pub fn peaks() -> Timeline {
        Timeline {
            join: u64::max,
            ..Timeline::sums()
        }
    }

    /// Takes in a number.
    pub fn add(&mut self, at: Time, value: u64) {
        while at.as_ps() / self.width >= MAX_STRETCHES as u64 {
            self.halve();
        }
        let index = (at.as_ps() / self.width) as usize;
        if index >= self.stretches.len() {
            self.stretches.resize(index + 1, 0);
        }
        self.stretches[index] = (self.join)(self.stretches[index], value);
    }

    fn halve(&mut self) {
        let join = self.join;
        let pairs = self.stretches.chunks(2);
        self.stretches = pairs
            .map(|pair| pair.iter().copied().fold(0, join))
            .collect();
        self.width *= 2;
    }

    /// Takes in a number that holds from one time to another.
    fn fill(&mut self, from: Time, to: Time, value: u64) {
        self.add(to, value);
        let (first, last) = (from.as_ps() / self.width, to.as_ps() / self.width);
        for stretch in &mut self.stretches[first as usize..=last as usize] {
            *stretch = (self.join)(*stretch, value);
        }
    }

    /// At most so many stretches from zero to `ended`: how long each is in picoseconds, and the numbers.
    pub fn of_at_most(&self, most: usize, ended: Time) -> (u64, Vec<u64>) {
        let mut all = self.clone();
        let wanted = |width: u64| ended.as_ps().div_ceil(width).max(1);
        while wanted(all.width) > most.max(1) as u64 {
            all.halve();
        }
        let stretches = wanted(all.width) as usize;
        all.stretches.resize(stretches.max(all.stretches.len()), 0);
        (all.width, all.stretches)
    }

    /// The greatest number.
    pub fn most(&self) -> u64 {
        self.stretches.iter().copied().max().unwrap_or(0)
    }
}

/// How many frames wait for a direction of a link, over time.
#[derive(Debug)]
pub(crate) struct Queue {
    pub length: Timeline,
    /// When those that wait leave.
    leave: VecDeque<Time>,
    /// Number of waiting frames since the last call, where departures are not known.
    steady: u64,
    /// Up to when it is known.
    last: Time,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            length: Timeline::peaks(),
            leave: VecDeque::new(),
            steady: 0,
            last: Time::ZERO,
        }
    }
}

impl Queue {
    /// Notes that a frame was offered to the link, with its departure and the number of waiting frames, itself included. Without a
    /// departure, `waiting` frames wait until the next call.
    pub fn see(&mut self, now: Time, waiting: u32, departed: Option<Time>) {
        self.pass(now);
        let Some(departed) = departed else {
            self.steady = waiting.into();
            return self.length.add(now, self.steady);
        };
        self.leave.push_back(departed);
        // Who leaves at once does not wait.
        while self.leave.len() > waiting as usize {
            self.leave.pop_front();
        }
        self.length.add(now, waiting.into());
    }

    /// Nothing came until a time: those that waited have left one after the other.
    pub fn pass(&mut self, until: Time) {
        while let Some(left) = self.leave.front().copied().filter(|left| *left <= until) {
            self.length.fill(self.last, left, self.leave.len() as u64);
            self.last = left;
            self.leave.pop_front();
        }
        let waiting = self.steady.max(self.leave.len() as u64);
        self.length.fill(self.last, until, waiting);
        self.last = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_grow_and_nothing_is_lost() {
        let mut line = Timeline::sums();
        for n in 0..100_000u64 {
            line.add(Time::from_us(n), 3);
        }
        assert!(line.stretches.len() <= MAX_STRETCHES);
        assert_eq!(line.stretches.iter().sum::<u64>(), 300_000);
        let (width, few) = line.of_at_most(10, Time::from_ms(100));
        assert!(few.len() <= 10 && width * few.len() as u64 >= 100_000_000_000);
        assert_eq!(few.iter().sum::<u64>(), 300_000);
    }

    #[test]
    fn a_queue_drains_where_nothing_more_comes() {
        let mut queue = Queue::default();
        // Three frames at once: the first leaves at once, the others a microsecond later each.
        queue.see(Time::ZERO, 0, Some(Time::ZERO));
        queue.see(Time::ZERO, 1, Some(Time::from_us(10)));
        queue.see(Time::ZERO, 2, Some(Time::from_us(20)));
        queue.pass(Time::from_us(30));
        let (width, lengths) = queue.length.of_at_most(64, Time::from_us(40));
        let at = |us: u64| lengths[(us * 1_000_000 / width) as usize];
        assert_eq!((at(0), at(10), at(20), at(30)), (2, 2, 1, 0));
    }
}
