//! Writing a page.

use super::counter::Counter;
use super::map::{Map, SIZE};
use super::reader::State;
use super::{GROWTH_PPB, MAGIC, PageError, VERSION};
use ::capture::clock::now_ns;
use measure::clock::ClockReading;
use node::Time;
use node::timekeeper::Timekeeper;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::fence;

/// Between two lines, where the clock was not corrected.
const INTERVAL_NS: u64 = 100_000_000;
/// Between two samples of the counter: those of a writer that corrects a clock more often would lie so close that their own error makes the
/// rate.
const APART_NS: u64 = 1_000_000;
/// Time without a new line after which the writer counts as gone, ns.
const STALE_NS: u64 = 2_000_000_000;
/// Samples of the counter whose mean counts.
const WINDOW: usize = 10;
/// In which time the page makes up for what it is off.
const HORIZON_PS: f64 = 1e12;
/// Maximum change of the rate for that, a fraction.
const MAX_SLEW: f64 = 500e-6;
/// Minimum error that is stepped, not slewed, ps: it starts another era.
const STEP_PS: i128 = 1_000_000_000;
/// Corrections whose rates tell how far the true one may be from the last.
const RATES: usize = 16;
/// Readings of both clocks, of which the one counts that took the least.
const TRIES: u32 = 5;

/// A page that this process writes.
#[derive(Debug)]
pub struct Publisher {
    map: Map,
    /// Held as long as this lives: its lock is what keeps others from writing.
    _file: File,
    counter: Counter,
    /// CLOCK_MONOTONIC in picoseconds, by the counter.
    keeper: Timekeeper,
    last: Option<Line>,
    reading: Option<ClockReading>,
    /// Those that the clock had, parts in 10^12.
    rates: VecDeque<i64>,
    written_ns: u64,
    sampled_ns: u64,
    era: u32,
}

/// What the page says.
#[derive(Clone, Copy, Debug)]
struct Line {
    ticks: u64,
    shown_ps: i128,
    ps_per_tick: f64,
    bound_ps: u128,
    /// By how much the bound grows where nobody corrects the line, parts in 10^9.
    growth_ppb: u32,
    ahead_of_utc_s: i16,
}

impl Line {
    fn at(&self, ticks: u64) -> i128 {
        let passed = ticks.wrapping_sub(self.ticks) as i64;
        self.shown_ps + (passed as f64 * self.ps_per_tick) as i128
    }
}

impl Publisher {
    /// Makes a page, or goes on with one whose writer has gone, so that who reads it need not open it again. It takes some 20 ms, in which the
    /// counter is measured.
    ///
    /// # Errors
    /// When it cannot be made, is something else, or somebody else writes it.
    pub fn create(path: &Path) -> Result<Publisher, PageError> {
        let open = |source| PageError::Open {
            path: path.into(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o644);
        options.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK);
        let file = options.open(path).map_err(open)?;
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            return Err(match error.kind() {
                io::ErrorKind::WouldBlock => PageError::Busy { path: path.into() },
                _ => open(error),
            });
        }
        let about = file.metadata().map_err(open)?;
        let other = || PageError::Other { path: path.into() };
        match (about.is_file(), about.len()) {
            (true, 0) => file.set_len(SIZE as u64).map_err(open)?,
            (true, length) if length == SIZE as u64 => {}
            _ => return Err(other()),
        }
        let map = Map::new(&file, true).map_err(open)?;
        let (magic, version) = (map.magic.load(Acquire), map.version.load(Relaxed));
        if about.len() > 0 && magic != MAGIC {
            return Err(other());
        }
        if magic == MAGIC && version != VERSION {
            let path = path.into();
            return Err(PageError::Version { path, version });
        }
        let counter = Counter::best();
        let current = &map.slots[(map.sequence.load(Relaxed) & 1) as usize];
        let mut publisher = Publisher {
            era: (current[6].load(Relaxed) >> 32) as u32,
            map,
            _file: file,
            counter,
            keeper: Timekeeper::new(WINDOW),
            last: None,
            reading: None,
            rates: VecDeque::with_capacity(RATES),
            written_ns: 0,
            sampled_ns: 0,
        };
        for _ in 0..20 {
            publisher.sample();
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        // By another counter nothing that the page says holds.
        publisher.write(None, State::Unset);
        let page = &publisher.map;
        page.counter.store(counter.number(), Relaxed);
        page.writer.store(std::process::id().into(), Relaxed);
        page.version.store(VERSION, Relaxed);
        page.magic.store(MAGIC, Release);
        Ok(publisher)
    }

    /// Takes both clocks down, where that is due; the counter then.
    fn sample(&mut self) -> u64 {
        let now = now_ns();
        if now < self.sampled_ns + APART_NS {
            return self.counter.read();
        }
        self.sampled_ns = now;
        let tries = (0..TRIES).map(|_| {
            let before = self.counter.read();
            let now = now_ns();
            let width = self.counter.read().wrapping_sub(before);
            (width, before.wrapping_add(width / 2), now)
        });
        let (_, ticks, now) = tries.min().expect("there were some");
        self.keeper.sample(ticks, i128::from(now) * 1_000);
        ticks
    }

    /// Says what a clock is, where that is news: it was corrected, or 100 ms are over. `start_ns` is the counter at the time zero that its times
    /// are of.
    pub fn publish(&mut self, reading: &ClockReading, start_ns: u64) {
        let now = now_ns();
        if self.reading.as_ref() == Some(reading) && now < self.written_ns + INTERVAL_NS {
            return;
        }
        self.written_ns = now;
        let was = self.reading.replace(*reading);
        let ticks = self.sample();
        if was.is_none_or(|was| was.offsets != reading.offsets) {
            if self.rates.len() == RATES {
                self.rates.pop_front();
            }
            self.rates.push_back(reading.rate_ppt);
        }
        let (Some(bound_ps), Some(monotonic)) = (reading.bound_ps, self.keeper.at(ticks)) else {
            return self.write(None, State::Unset);
        };
        let world = monotonic - i128::from(start_ns) * 1_000;
        let rate = reading.rate_ppt as f64 * 1e-12;
        let passed = world - i128::from(reading.at.as_ps());
        let target = reading.shown_ps + passed + (passed as f64 * rate) as i128;
        let same = was.is_some_and(|was| was.steps == reading.steps);
        let predicted = self.last.map(|line| line.at(ticks));
        let predicted = predicted.filter(|at| same && (target - at).abs() < STEP_PS);
        let off = predicted.map_or(0, |at| target - at);
        let slew = (off as f64 / HORIZON_PS).clamp(-MAX_SLEW, MAX_SLEW);
        self.era = self.era.wrapping_add(u32::from(predicted.is_none()));
        let heard = reading.offset.map_or(Time::ZERO, |(at, _)| at);
        let silent = (world - i128::from(heard.as_ps())).max(0) as u128;
        let swing_ppb = self.swing_ppb();
        let wander = match reading.follows || reading.offset.is_some() {
            true => silent * u128::from(GROWTH_PPB.saturating_add(swing_ppb)) / 1_000_000_000,
            false => 0,
        };
        let own = off.unsigned_abs() + self.keeper.spread() as u128;
        let rate_error = self.keeper.rate_error().unwrap_or(0.0);
        let line = Line {
            ticks,
            // What the page has said is rounded down; no less than that.
            shown_ps: predicted.map_or(target, |at| at + 1),
            ps_per_tick: self.keeper.rate() * (1.0 + rate) * (1.0 + slew),
            bound_ps: u128::from(bound_ps) + wander + own,
            // Left alone, the line goes on making up for what is made up for already.
            growth_ppb: GROWTH_PPB
                .saturating_add(swing_ppb)
                .saturating_add(((slew.abs() + rate_error) * 1e9) as u32),
            ahead_of_utc_s: reading.ahead_of_utc_s,
        };
        let state = match reading.follows || reading.offset.is_none() {
            true => State::Set,
            false => State::Alone,
        };
        self.last = Some(line);
        self.write(Some(line), state);
    }

    /// How far the servo's rates are apart, parts in 10^9: each makes up for an offset too, so the true rate is among them, and no single one is it.
    fn swing_ppb(&self) -> u32 {
        let (least, most) = (self.rates.iter().min(), self.rates.iter().max());
        let swing_ppt = most.zip(least).map_or(0, |(most, least)| most - least);
        u32::try_from(swing_ppt / 1_000).unwrap_or(u32::MAX)
    }

    fn write(&self, line: Option<Line>, state: State) {
        let era = u64::from(self.era) << 32;
        let words = line.map_or([0, 0, 0, 0, 0, 0, era, 0], |line| {
            // Before 1970 there is no time.
            let shown = line.shown_ps.max(0);
            let per_ns = line.ps_per_tick / 1_000.0;
            [
                line.ticks,
                (shown / 1_000) as u64,
                (((shown % 1_000) << 32) / 1_000) as u64,
                (per_ns * (1u64 << 56) as f64) as u64,
                u64::try_from(line.bound_ps / 1_000 + 1).unwrap_or(u64::MAX),
                u64::from(line.growth_ppb) | (state as u64) << 32,
                u64::from(i32::from(line.ahead_of_utc_s) as u32) | era,
                (STALE_NS as f64 / per_ns) as u64,
            ]
        });
        let sequence = self.map.sequence.load(Relaxed).wrapping_add(1);
        // Who still reads this slot has to see that another one is told.
        fence(Release);
        let slot = &self.map.slots[(sequence & 1) as usize];
        for (word, value) in slot.iter().zip(words) {
            word.store(value, Relaxed);
        }
        self.map.sequence.store(sequence, Release);
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if let Some(line) = self.last {
            self.write(Some(line), State::Ended);
        }
    }
}
