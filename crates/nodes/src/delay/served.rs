//! A rate at work.

use super::spec::Shaping;
use alloc::collections::VecDeque;
use node::Time;

/// A rate at work.
#[derive(Debug)]
pub struct Served {
    shaping: Shaping,
    /// When the last frame is through, and what is left of a picosecond.
    free: (Time, u64),
    /// When the last frame left, which a bucket lets through before that.
    left: Time,
    /// When each frame that may still be waited for is through; with how many may wait.
    queue: Option<(VecDeque<Time>, usize)>,
}

impl Served {
    /// A free line; at most `most` frames wait for it, `None` for any number.
    pub fn new(shaping: Shaping, most: Option<usize>) -> Served {
        Served {
            shaping,
            free: (Time::ZERO, 0),
            left: Time::ZERO,
            queue: most.map(|most| (VecDeque::new(), most)),
        }
    }

    /// When the last frame is through.
    pub fn free(&self) -> Time {
        self.free.0
    }

    /// When a frame that is ready at `ready` is through; `None` when too many wait already.
    pub fn through(&mut self, ready: Time, len: usize) -> Option<Time> {
        if let Some((queue, most)) = &mut self.queue {
            while queue.len() > *most && queue.front().is_some_and(|&at| at <= ready) {
                queue.pop_front();
            }
            let ahead = queue.len() - queue.partition_point(|&at| at <= ready);
            if ahead > *most {
                return None;
            }
        }
        let Shaping {
            rate,
            packet_overhead,
            cell_size,
            cell_overhead,
            burst,
        } = self.shaping;
        let mut bytes = (len as i64 + i64::from(packet_overhead)).max(0) as u64;
        if cell_size > 0 {
            let cell = i64::from(cell_size) + i64::from(cell_overhead);
            bytes = bytes.div_ceil(cell_size.into()) * cell.max(0) as u64;
        }
        let (free, rest) = self.free;
        let (start, carry) = match ready > free {
            true => (ready, 0),
            false => (free, rest),
        };
        let (time, rest) = rate.time_of(8 * bytes, carry);
        self.free = (start + time, rest);
        // A bucket that was full at `start` has tokens for this frame as long before it would be through at the rate alone as the depth lasts.
        let ahead = rate.time_of(8 * u64::from(burst), 0).0;
        let through = (self.free.0 - ahead).max(ready).max(self.left);
        let through = if burst == 0 { self.free.0 } else { through };
        self.left = through;
        if let Some((queue, _)) = &mut self.queue {
            queue.push_back(through);
        }
        Some(through)
    }
}
