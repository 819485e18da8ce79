//! Reading the time.

use super::counter::Counter;
use super::map::{Map, SIZE};
use super::{MAGIC, PageError, VERSION};
use ::capture::file::open_named;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

/// What a clock is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is known yet.
    Unset = 0,
    /// It follows another, or is the one that others follow.
    Set = 1,
    /// It has lost the one that it followed, and goes on alone.
    Alone = 2,
    /// Its writer has ended in order.
    Ended = 3,
}

impl State {
    fn of(number: u64) -> State {
        match number {
            1 => State::Set,
            2 => State::Alone,
            3 => State::Ended,
            _ => State::Unset,
        }
    }
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Nanoseconds since the clock's epoch, which is 1970.
    pub ns: u64,
    /// How far that may be off, nanoseconds.
    pub bound_ns: u64,
    /// Another era, another time: it was set, and not only steered.
    pub era: u32,
    /// Seconds that it is ahead of UTC, as far as anybody has said.
    pub ahead_of_utc_s: i32,
    pub state: State,
    /// Nothing has been heard of the writer for two seconds, or it has ended: the time is what the last line says, and the bound grows.
    pub stale: bool,
    /// How long ago the page was written, nanoseconds.
    pub age_ns: u64,
}

/// A page that somebody else writes.
#[derive(Debug)]
pub struct Reader {
    map: Map,
    counter: Counter,
}

impl Reader {
    /// Opens a page.
    ///
    /// # Errors
    /// When it is not there, or no page that can be read here.
    pub fn open(path: &Path) -> Result<Reader, PageError> {
        let open = |source| PageError::Open {
            path: path.into(),
            source,
        };
        let other = || PageError::Other { path: path.into() };
        let file = match open_named(path) {
            Ok(file) => file,
            // A FIFO, a device, a folder.
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(other()),
            Err(error) => return Err(open(error)),
        };
        if file.metadata().map_err(open)?.len() != SIZE as u64 {
            return Err(other());
        }
        let map = Map::new(&file, false).map_err(open)?;
        if map.magic.load(Acquire) != MAGIC {
            return Err(other());
        }
        let version = map.version.load(Relaxed);
        if version != VERSION {
            let path = path.into();
            return Err(PageError::Version { path, version });
        }
        let number = map.counter.load(Relaxed);
        let counter = Counter::of(number).ok_or_else(|| PageError::Counter {
            path: path.into(),
            counter: number,
        })?;
        Ok(Reader { map, counter })
    }

    /// The time now; `None` while nothing is known.
    #[inline]
    pub fn read(&self) -> Option<Reading> {
        loop {
            let sequence = self.map.sequence.load(Acquire);
            let slot = &self.map.slots[(sequence & 1) as usize];
            let [begin, ns, rest, tick, bound, growth, era, stale] =
                slot.each_ref().map(|word| word.load(Relaxed));
            let ticks = self.counter.read();
            fence(Acquire);
            if self.map.sequence.load(Relaxed) != sequence {
                continue;
            }
            let state = State::of(growth >> 32);
            if state == State::Unset {
                return None;
            }
            // Another processor's counter may be a little behind.
            let passed = (ticks.wrapping_sub(begin) as i64).max(0) as u64;
            let since = (u128::from(passed) * u128::from(tick) + (u128::from(rest) << 24)) >> 56;
            let since = since as u64;
            let grown = u128::from(since) * u128::from(growth & 0xFFFF_FFFF) / 1_000_000_000;
            return Some(Reading {
                ns: ns.wrapping_add(since),
                bound_ns: bound.saturating_add(grown as u64),
                era: (era >> 32) as u32,
                ahead_of_utc_s: era as u32 as i32,
                state,
                stale: passed > stale || state == State::Ended,
                age_ns: since,
            });
        }
    }

    /// The process that writes, or has written last.
    pub fn writer(&self) -> u32 {
        self.map.writer.load(Relaxed) as u32
    }

    /// The name of the counter.
    pub fn counter(&self) -> &'static str {
        self.counter.name()
    }
}
