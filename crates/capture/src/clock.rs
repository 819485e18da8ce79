//! The counter that all ports of a machine share: CLOCK_MONOTONIC, zero at boot.

use std::sync::OnceLock;

/// Reads a clock that every Linux has, in nanoseconds.
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result; the clocks used here always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds on CLOCK_MONOTONIC: the counter behind every stamp and departure.
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds on CLOCK_MONOTONIC_RAW, which nobody steers.
pub fn raw_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// The wall-clock time of the counter's zero, in nanoseconds since 1970, as it is now.
///
/// It moves only when somebody sets the machine's clock: slewing turns both clocks alike.
pub fn epoch_ns() -> u64 {
    sample().0
}

/// The difference between the wall clock and the counter, and how far off it may be.
///
/// The best of a few readings: one that was interrupted between the clocks is told by its width.
fn sample() -> (u64, u64) {
    (0..4)
        .map(|_| {
            let before = now_ns();
            let wall = read(libc::CLOCK_REALTIME);
            let width = now_ns() - before;
            (wall.saturating_sub(before + width / 2), width)
        })
        .min_by_key(|&(_, width)| width)
        .expect("four readings were made")
}

/// Turns the kernel's wall-clock stamps into the counter's time.
///
/// It keeps one offset as long as that agrees with the clocks, so that the reading's own jitter does
/// not get into the stamps. After a step of the wall clock, stamps taken before it are told by not
/// fitting between the previous stamp and now, and get the old offset.
#[derive(Debug)]
pub struct Converter {
    offset: u64,
    old: u64,
    now: u64,
    last: u64,
}

impl Converter {
    /// A converter. All of a process begin with one reading, so that the stamps of two ports, or of both
    /// directions of one, have the same error, and what lies between two stamps has none.
    pub fn new() -> Converter {
        static FIRST: OnceLock<u64> = OnceLock::new();
        let offset = *FIRST.get_or_init(|| sample().0);
        let mut converter = Converter {
            offset,
            old: offset,
            now: now_ns(),
            last: 0,
        };
        // The wall clock may have been set since.
        converter.refresh();
        converter
    }

    /// Reads the clocks again; before each batch of stamps.
    pub fn refresh(&mut self) {
        let before = now_ns();
        let wall = read(libc::CLOCK_REALTIME);
        self.now = now_ns();
        let width = self.now - before;
        let offset = wall.saturating_sub(before + width / 2);
        // A few hundred ns are the reading's own error; a step is whatever cannot be that.
        if offset.abs_diff(self.offset) > width + 500 {
            let (offset, _) = sample();
            self.old = self.offset;
            self.offset = offset;
        }
    }

    /// The counter's time of a wall-clock stamp, both in ns. Never later than the last
    /// [`refresh`](Converter::refresh).
    pub fn convert(&mut self, wall: u64) -> u64 {
        let fits = |at: u64| at <= self.now && at >= self.last;
        let mut at = wall.saturating_sub(self.offset);
        if !fits(at) && self.old != self.offset {
            let by_old = wall.saturating_sub(self.old);
            if fits(by_old) {
                at = by_old;
            }
        }
        at = at.min(self.now);
        self.last = self.last.max(at);
        at
    }
}

impl Default for Converter {
    fn default() -> Converter {
        Converter::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_survive_a_step_of_the_wall_clock() {
        let (offset, old) = (1_000_000, 5_000_000);
        let mut converter = Converter {
            offset,
            old,
            now: 10_000,
            last: 8_000,
        };
        assert_eq!(converter.convert(offset + 9_000), 9_000);
        assert_eq!(converter.convert(old + 9_500), 9_500);
    }

    #[test]
    fn a_stamp_is_never_later_than_now() {
        let mut converter = Converter::new();
        converter.refresh();
        assert!(converter.convert(u64::MAX) <= now_ns());
    }

    #[test]
    fn the_epoch_and_the_counter_make_the_wall_clock() {
        let wall = read(libc::CLOCK_REALTIME);
        let made = epoch_ns() + now_ns();
        assert!(made >= wall - 1_000_000, "{made} {wall}");
    }
}
