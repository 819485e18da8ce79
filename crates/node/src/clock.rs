//! A port's own time.
//!
//! [`Clock`] is that of an [`Oscillator`] as a function of the true time, and back; [`Ticks`] counts it in ticks of 10GBASE-R.
//!
//! An oscillator that is off by `y` shows `t + E(t)` at the true time `t`, where `E` is the integral of
//! `y`. It is computed from where its law last changed - never from where it was asked last - so no
//! error accumulates. Deviations are kept to 2^-64 and their slopes to 2^-104 a picosecond, so over the
//! 213 days of a run own time is within 2 ps of what the oscillator's figures say, and and it is a
//! function of the time alone: what was asked before changes nothing. With a deviation of 0 it is exact.

use crate::oscillator::MAX_PPM;
use crate::{Oscillator, Time};
use alloc::vec;
use alloc::vec::Vec;

/// Own time: picoseconds, with 32 bits behind the point.
pub type Own = u128;

/// So much own time to a picosecond.
pub const PICOSECOND: Own = 1 << 32;

/// Within so many picoseconds the law is taken from one base: products stay small.
const WINDOW: u64 = 1 << 32;

/// The law of the deviation from one time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    from: u64,
    /// Deviation there, 2^-64.
    rate: i64,
    /// How it changes, 2^-104 a picosecond.
    slope: i64,
    /// `E` there, 2^-64 ps.
    ahead: i128,
}

impl Piece {
    /// `E` and the deviation, this long behind the piece's start.
    fn after(&self, dt: u64) -> (i128, i64) {
        let dt = i128::from(dt);
        let turned = i128::from(self.slope) * dt;
        let (high, low) = (turned >> 41, turned & ((1 << 41) - 1));
        let ahead = self.ahead + i128::from(self.rate) * dt + high * dt + ((low * dt) >> 41);
        (ahead, self.rate + (turned >> 40) as i64)
    }
}

/// The part of the law that is at hand.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: u64,
    /// How many picoseconds it is good for, less one.
    last: u64,
    own: Own,
    rate: i64,
    slope: i64,
}

/// A port's own time, as a function of the true one, and back.
#[derive(Clone, Debug)]
pub struct Clock {
    pieces: Vec<Piece>,
    window: Window,
}

impl Clock {
    /// That of an oscillator that was checked.
    pub fn new(oscillator: &Oscillator) -> Clock {
        let pieces = law(oscillator);
        let mut clock = Clock {
            pieces,
            window: Window {
                from: 0,
                last: 0,
                own: 0,
                rate: 0,
                slope: 0,
            },
        };
        clock.enter(0);
        clock
    }

    /// What the clock shows at a time.
    #[inline]
    pub fn own(&mut self, at: u64) -> Own {
        if at.wrapping_sub(self.window.from) > self.window.last {
            self.enter(at);
        }
        let window = &self.window;
        let dt = i128::from(at - window.from);
        let mut ahead = i128::from(window.rate) * dt;
        if window.slope != 0 {
            ahead += ((i128::from(window.slope) * dt) >> 41) * dt;
        }
        window.own.wrapping_add_signed((dt << 32) + (ahead >> 32))
    }

    /// The first picosecond at which the clock shows this or more; the last of all when there is none.
    #[inline]
    pub fn when(&mut self, own: Own) -> u64 {
        let short = |from: Own| own.wrapping_sub(from) as i128;
        let mut at = advance(self.window.from, short(self.window.own) >> 32);
        loop {
            let missing = short(self.own(at));
            if missing > 0 {
                if at == u64::MAX {
                    return at;
                }
                at = advance(at, ((missing - 1) >> 32) + 1);
                continue;
            }
            // A picosecond is a little more or less than one of its own.
            let over = -missing;
            if over < 0xFFF0_0000 || at == 0 {
                return at;
            }
            if over >> 32 > 1 {
                at = advance(at, -(over >> 32));
            } else if short(self.own(at - 1)) > 0 {
                return at;
            } else {
                at -= 1;
            }
        }
    }

    /// The deviation at a time, 2^-64.
    fn deviation(&self, at: u64) -> i64 {
        let piece = &self.pieces[self.piece_at(at)];
        piece.after(at - piece.from).1
    }

    fn piece_at(&self, at: u64) -> usize {
        self.pieces.partition_point(|piece| piece.from <= at) - 1
    }

    #[cold]
    fn enter(&mut self, at: u64) {
        let index = self.piece_at(at);
        let piece = &self.pieces[index];
        let from = piece.from.max(at & !(WINDOW - 1));
        let (ahead, rate) = piece.after(from - piece.from);
        let next = self.pieces.get(index + 1);
        let end = next.map_or(u64::MAX, |next| next.from - 1);
        self.window = Window {
            from,
            last: end.min(at | (WINDOW - 1)) - from,
            own: (Own::from(from) << 32).wrapping_add_signed(ahead >> 32),
            rate,
            slope: piece.slope,
        };
    }
}

fn advance(at: u64, by: i128) -> u64 {
    (i128::from(at) + by).clamp(0, i128::from(u64::MAX)) as u64
}

/// 2^-64 in a part per million, and 2^-104 a picosecond in one per second.
const PPM: f64 = 18_446_744_073_709_551_616.0 / 1e6;
const PPM_A_SECOND: f64 = PPM * 1_099_511_627_776.0 / 1e12;

/// The pieces of an oscillator's law, the first from 0 on.
fn law(oscillator: &Oscillator) -> Vec<Piece> {
    let points = oscillator.temperature.as_slice();
    let degrees = |at: u64| degrees(points, at);
    let cold = degrees(0);
    let mut knots = vec![0];
    if oscillator.per_degree != 0.0 {
        let times = points.iter().map(|(time, _)| time.as_ps());
        knots.extend(times.filter(|&time| time > 0));
    }
    let mut pieces = Vec::new();
    for (index, &from) in knots.iter().enumerate() {
        let seconds = from as f64 / 1e12;
        let warmer = degrees(from) - cold;
        let ppm = oscillator.offset + oscillator.drift * seconds + oscillator.per_degree * warmer;
        let mut slope = oscillator.drift;
        let next = knots.get(index + 1).copied();
        if let Some(next) = next {
            let warming = (degrees(next) - degrees(from)) / ((next - from) as f64 / 1e12);
            slope += oscillator.per_degree * warming;
        }
        let rate = (ppm * PPM) as i128;
        let slope = (slope * PPM_A_SECOND) as i64;
        within(&mut pieces, from, next.unwrap_or(u64::MAX), rate, slope);
    }
    for index in 1..pieces.len() {
        let before: Piece = pieces[index - 1];
        pieces[index].ahead = before.after(pieces[index].from - before.from).0;
    }
    pieces
}

/// The temperature at a time; 0 where none is known.
fn degrees(points: &[(Time, f64)], at: u64) -> f64 {
    let behind = points.partition_point(|(time, _)| time.as_ps() <= at);
    match (behind.checked_sub(1).map(|i| points[i]), points.get(behind)) {
        (None, None) => 0.0,
        (Some((_, only)), None) | (None, Some(&(_, only))) => only,
        (Some((from, cold)), Some(&(to, warm))) => {
            let (from, to) = (from.as_ps(), to.as_ps());
            cold + (warm - cold) * ((at - from) as f64 / (to - from) as f64)
        }
    }
}

/// Adds the law from one time to another, held within what an oscillator may be off.
fn within(pieces: &mut Vec<Piece>, mut from: u64, to: u64, mut rate: i128, slope: i64) {
    let most = (MAX_PPM * PPM) as i128;
    // How long until the rate has gone this far.
    let time_of = |far: i128| match slope {
        0 => u64::MAX,
        _ => u64::try_from((far << 40) / i128::from(slope).abs()).unwrap_or(u64::MAX),
    };
    loop {
        let side = if rate > 0 { most } else { -most };
        let outward = (slope > 0) == (rate > 0) && slope != 0;
        let out = rate.abs() > most || rate.abs() == most && outward;
        let lasts = match out {
            true if outward || slope == 0 => u64::MAX,
            true => time_of(rate.abs() - most).saturating_add(1),
            false if slope > 0 => time_of(most - rate).saturating_add(1),
            false => time_of(most + rate).saturating_add(1),
        };
        pieces.push(Piece {
            from,
            rate: if out { side } else { rate } as i64,
            slope: if out { 0 } else { slope },
            ahead: 0,
        });
        let end = from.saturating_add(lasts);
        if end >= to {
            return;
        }
        rate += (i128::from(slope) * i128::from(lasts)) >> 40;
        from = end;
    }
}

/// Own time of a tick of 6.4 ns: of one block of 10GBASE-R.
pub const TICK: Own = 25 << 40;

/// A port's own time, in ticks.
#[derive(Clone, Debug)]
pub struct Ticks(Clock);

impl Ticks {
    /// Of an oscillator that was checked.
    pub fn new(oscillator: &Oscillator) -> Ticks {
        Ticks(Clock::new(oscillator))
    }

    /// The tick at a time.
    #[inline]
    pub fn at(&mut self, time: Time) -> u64 {
        self.split(time).0
    }

    /// The first tick that begins at a time or behind it.
    #[inline]
    pub fn next(&mut self, time: Time) -> u64 {
        let (tick, rest) = self.split(time);
        tick + u64::from(rest > 0)
    }

    /// The tick at a time, and how much own time of it is over.
    #[inline]
    pub fn split(&mut self, time: Time) -> (u64, u64) {
        let own = self.0.own(time.as_ps());
        // Own time is below 2^97, so this fits, and spares a division of 128 bits.
        let tick = (own >> 40) as u64 / 25;
        (tick, (own - Own::from(tick) * TICK) as u64)
    }

    /// When a tick begins.
    #[inline]
    pub fn when(&mut self, tick: u64) -> Time {
        Time::from_ps(self.0.when(Own::from(tick) * TICK))
    }
}

/// The times at which it may change which of two clocks is the faster, `first` being seen `delay`
/// later: between two of them their difference only grows or only shrinks.
pub fn turns(first: &Clock, second: &Clock, delay: u64) -> Vec<u64> {
    let of_first = first
        .pieces
        .iter()
        .map(|piece| piece.from.saturating_add(delay));
    let of_second = second.pieces.iter().map(|piece| piece.from);
    let mut times: Vec<u64> = of_first.chain(of_second).collect();
    times.sort_unstable();
    times.dedup();
    let mut crossings = Vec::new();
    for (index, &from) in times.iter().enumerate() {
        let there = first.piece_at(from.saturating_sub(delay));
        let here = second.piece_at(from);
        let gains = i128::from(first.pieces[there].slope) - i128::from(second.pieces[here].slope);
        let lead = i128::from(first.deviation(from.saturating_sub(delay)))
            - i128::from(second.deviation(from));
        if lead != 0 && gains != 0 && (lead > 0) != (gains > 0) {
            let until = times.get(index + 1).map_or(u64::MAX, |next| *next);
            let after = (lead.abs() << 40) / gains.abs();
            let crossing = i128::from(from) + after;
            if crossing < i128::from(until) {
                crossings.push(crossing as u64);
            }
        }
    }
    times.extend(crossings);
    times.sort_unstable();
    times.retain(|&time| time > 0);
    times
}

#[cfg(test)]
mod tests;
