//! Congestion windows: slow start with HyStart++ (RFC 9406), Reno (RFC 5681), Cubic (RFC 9438), DCTCP (RFC 8257).
//!
//! A congestion mark reduces a window as a loss does, also that of Cubic, as in Linux: its factor is not that of RFC 8511. Only DCTCP
//! reduces by the share of marks.

use super::bbr::{Ack, Bbr};
use super::dctcp::Dctcp;
use super::{Congestion, behind};
use alloc::boxed::Box;
use node::Time;

/// Segments that may leave at once after a recovery: an initial window of RFC 6928.
const MAX_BURST: f64 = 10.0;
/// RFC 9438 section 4.6 and 4.1.
const BETA: f64 = 0.7;
/// RFC 9438 section 4.3. Linux, and ns-3, keep it when W_est has reached the window before the
/// reduction, where the RFC goes on with 1: at 1 % loss and 20 ms that makes a fifth more goodput.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
const C: f64 = 0.4;
/// Linux updates Cubic's growth rate when the window has grown by a segment, and otherwise after this time (tcp_cubic.c, HZ/32).
/// After a loss on a shorter path the window hardly grows until then, so Cubic is slower than Reno there.
const RECOMPUTE_AFTER: Time = Time::from_us(31_250);
/// Acknowledged segments for one segment of growth: at most 20 before the first loss, and at least 2
/// (tcp_cubic.c; in RFC 9438 section 4.4 the latter is 1.5 windows a round trip).
const MAX_COUNT_BEFORE_LOSS: f64 = 20.0;
const MIN_COUNT: f64 = 2.0;
/// The same on the flat part of the curve, in windows.
const FLAT_COUNT: f64 = 100.0;
/// Segments by which one acknowledgement may grow the window in slow start (RFC 9406 section 4.3).
const MAX_GROWTH: f64 = 8.0;
/// RFC 9406 section 4.3.
const SAMPLES: u32 = 8;
const MIN_THRESHOLD: Time = Time::from_ms(4);
const MAX_THRESHOLD: Time = Time::from_ms(16);
const GROWTH_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;

/// The congestion window of one direction. Windows are in bytes.
pub(super) struct Control {
    kind: Congestion,
    mss: f64,
    window: f64,
    threshold: f64,
    /// The initial window, in segments.
    initial: f64,
    cubic: Cubic,
    dctcp: Dctcp,
    /// In its place everything but the segment size is BBR's.
    bbr: Option<Box<Bbr>>,
    round: Round,
}

/// Sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Loss,
    Mark,
}

/// State of Cubic since the last reduction.
#[derive(Clone, Copy, Default)]
struct Cubic {
    /// W_max; 0 before the first loss.
    most: f64,
    /// The plateau of the curve: W_max, or the window if that is greater.
    origin: f64,
    /// Begin of the epoch; `None` until the window grows.
    since: Option<Time>,
    k: f64,
    /// W_est.
    friendly: f64,
    /// Bytes acknowledged since W_est was computed.
    acknowledged: f64,
    /// Acknowledged bytes for one byte of growth; time of the last update, and whole segments of the window then.
    count: f64,
    computed: Time,
    segments: f64,
}

/// A round of the initial slow start.
struct Round {
    end: Option<u32>,
    samples: u32,
    least: Time,
    before: Time,
    /// Conservative slow start: its baseline and the rounds that are left.
    conservative: Option<(Time, u32)>,
}

/// Window and threshold before a reduction, in case that it proves wrong.
#[derive(Clone, Copy)]
pub(super) struct Before {
    window: f64,
    threshold: f64,
    cubic: Cubic,
}

impl Control {
    /// With an initial window of `initial` segments.
    pub fn new(kind: Congestion, mss: u64, initial: u32) -> Control {
        let segments = initial;
        let initial = f64::from(initial);
        Control {
            kind,
            mss: mss as f64,
            window: initial * mss as f64,
            threshold: f64::MAX,
            initial,
            cubic: Cubic::default(),
            dctcp: Dctcp::new(),
            bbr: (kind == Congestion::Bbr).then(|| Box::new(Bbr::new(mss, segments))),
            round: Round {
                end: None,
                samples: 0,
                least: Time::MAX,
                before: Time::MAX,
                conservative: None,
            },
        }
    }

    /// Changes the segment size before anything is sent.
    pub fn begin(&mut self, mss: u64) {
        self.mss = mss as f64;
        self.window = self.initial * self.mss;
        if let Some(bbr) = &mut self.bbr {
            bbr.begin(mss);
        }
    }

    /// Changes the segment size of a connection in use; the window keeps its bytes.
    pub fn set_mss(&mut self, mss: u64) {
        self.mss = mss as f64;
        if let Some(bbr) = &mut self.bbr {
            bbr.set_mss(mss);
        }
    }

    /// The window, in bytes.
    pub fn window(&self) -> u64 {
        match (&self.bbr, self.kind) {
            (Some(bbr), _) => bbr.window(),
            (None, Congestion::None) => u64::MAX / 4,
            (None, _) => self.window as u64,
        }
    }

    /// The slow start threshold, in bytes.
    pub fn threshold(&self) -> u64 {
        self.threshold as u64
    }

    pub fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// The model of the path, if the window follows one.
    pub fn bbr(&mut self) -> Option<&mut Bbr> {
        self.bbr.as_deref_mut()
    }

    /// The rate of departures, in bytes a second, if that is not by the window.
    pub fn pace(&self) -> Option<f64> {
        self.bbr.as_ref()?.pace()
    }

    /// Takes an acknowledgement, for a model of the path.
    pub fn model(&mut self, ack: &Ack, draw: u64) {
        if let Some(bbr) = &mut self.bbr {
            bbr.take(ack, draw);
        }
    }

    /// After a time-out one segment leaves; `flight` bytes are in flight.
    pub fn time_out(&mut self, flight: u64) {
        match &mut self.bbr {
            Some(bbr) => bbr.time_out(flight),
            None => self.set_window(flight + self.mss as u64),
        }
    }

    /// Sets the window: by proportional rate reduction, or after a time-out.
    pub fn set_window(&mut self, window: u64) {
        self.window = (window as f64).max(self.mss);
    }

    /// Takes what an acknowledgement of everything before `number` says of marks: `marked` of `delivered` bytes were. `next` is the end
    /// of what was sent.
    pub fn estimate(&mut self, number: u32, next: u32, delivered: u64, marked: u64) {
        if self.kind == Congestion::Dctcp {
            self.dctcp.take(number, next, delivered, marked);
        }
    }

    /// Reduces threshold and window after a loss or a mark; `flight` bytes were sent and not acknowledged.
    pub fn reduce(&mut self, flight: u64, sign: Sign) -> Before {
        let before = Before {
            window: self.window,
            threshold: self.threshold,
            cubic: self.cubic,
        };
        self.round.conservative = None;
        if let Some(bbr) = &mut self.bbr {
            if sign == Sign::Loss {
                bbr.lose();
            }
            return before;
        }
        if self.kind == Congestion::Dctcp && sign == Sign::Mark {
            // A part of a segment counts: with few in flight and few marks whole ones would leave the window as it is.
            let window = self.window.min(flight as f64 + self.mss);
            self.threshold = (window * self.dctcp.factor()).max(2.0 * self.mss);
            self.window = self.threshold;
            return before;
        }
        // A window that was not used says nothing about the path.
        let window = self.window.min(flight as f64);
        let beta = match self.kind {
            Congestion::Cubic => BETA,
            _ => 0.5,
        };
        let fast_convergence = window < self.cubic.most;
        self.cubic = Cubic {
            most: match fast_convergence {
                true => window * (1.0 + BETA) / 2.0,
                false => window,
            },
            ..Cubic::default()
        };
        // Whole segments, as Linux counts them: with few in flight the rest is a fair share of the window.
        self.threshold = (libm::floor(window * beta / self.mss) * self.mss).max(2.0 * self.mss);
        self.window = self.threshold;
        before
    }

    /// Takes a reduction back; `pipe` bytes are in flight. The window is reached by slow start, without a burst.
    pub fn undo(&mut self, before: Before, pipe: u64) {
        if let Some(bbr) = &mut self.bbr {
            return bbr.undo();
        }
        self.threshold = before.threshold.max(before.window);
        self.window = before.window.max(self.window);
        self.cubic = before.cubic;
        self.moderate(pipe);
    }

    /// Ends a recovery: at most [`MAX_BURST`] segments may leave at once (RFC 6582 section 3.2, step 3).
    pub fn moderate(&mut self, pipe: u64) {
        let most = pipe as f64 + MAX_BURST * self.mss;
        if self.window > most && self.bbr.is_none() {
            self.threshold = self.threshold.max(self.window);
            self.window = most;
        }
    }

    /// Begins again after an idle time longer than the time-out (RFC 5681 section 4.1; threshold of RFC 2861).
    pub fn restart(&mut self) {
        let initial = self.initial * self.mss;
        if self.window > initial && self.bbr.is_none() {
            self.threshold = self.threshold.max(0.75 * self.window);
            self.window = initial;
        }
        self.cubic.since = None;
    }

    /// Grows after `bytes` were delivered.
    pub fn grow(&mut self, now: Time, bytes: u64, round_trip: Option<Time>) {
        let (mss, bytes) = (self.mss, bytes as f64);
        if self.is_slow_start() {
            let growth = bytes.min(MAX_GROWTH * mss);
            self.window += match self.round.conservative {
                Some(_) => growth / GROWTH_DIVISOR,
                None => growth,
            };
            self.window = self.window.min(self.threshold);
            return;
        }
        if self.kind != Congestion::Cubic {
            self.window += mss * bytes / self.window;
            return;
        }
        self.cubic.acknowledged += bytes;
        let segments = libm::floor(self.window / mss);
        let waited = now - self.cubic.computed;
        if self.cubic.since.is_none() || self.cubic.segments != segments || waited > RECOMPUTE_AFTER
        {
            (self.cubic.segments, self.cubic.computed) = (segments, now);
            self.compute_count(now, bytes, round_trip.unwrap_or(Time::ZERO));
        }
        self.window += bytes / self.cubic.count;
    }

    /// Updates the acknowledged bytes for one byte of growth.
    fn compute_count(&mut self, now: Time, bytes: f64, rtt: Time) {
        let (mss, window) = (self.mss, self.window);
        let cubic = &mut self.cubic;
        let since = *cubic.since.get_or_insert_with(|| {
            cubic.friendly = window;
            cubic.acknowledged = bytes;
            cubic.origin = cubic.most.max(window);
            cubic.k = libm::cbrt((cubic.origin - window) / (C * mss));
            now
        });
        let t = (now - since + rtt).as_secs_f64() - cubic.k;
        let above = C * mss * t * t * t + cubic.origin - window;
        cubic.count = match above > 0.0 {
            true => window / above,
            false => FLAT_COUNT * window / mss,
        };
        if cubic.most == 0.0 {
            cubic.count = cubic.count.min(MAX_COUNT_BEFORE_LOSS);
        }
        cubic.friendly += ALPHA * mss * core::mem::take(&mut cubic.acknowledged) / window;
        if cubic.friendly > window {
            cubic.count = cubic.count.min(window / (cubic.friendly - window));
        }
        cubic.count = cubic.count.max(MIN_COUNT);
    }

    /// Watches the round trips of Cubic's initial slow start, which ends when they grow, before a queue overflows (RFC 9406).
    /// `number` is acknowledged, `next` is the end of what was sent.
    pub fn watch(&mut self, number: u32, next: u32, sample: Option<Time>) {
        if self.kind != Congestion::Cubic || self.threshold < f64::MAX {
            return;
        }
        let round = &mut self.round;
        if round.end.is_none_or(|end| !behind(end, number)) {
            round.end = Some(next);
            (round.before, round.least, round.samples) = (round.least, Time::MAX, 0);
            if let Some((_, left)) = &mut round.conservative {
                *left -= 1;
                if *left == 0 {
                    self.threshold = self.window;
                    return;
                }
            }
        }
        let Some(sample) = sample else { return };
        round.least = round.least.min(sample);
        round.samples += 1;
        if round.samples < SAMPLES {
            return;
        }
        match round.conservative {
            None if round.before < Time::MAX => {
                let growth = Time::from_ps(round.before.as_ps() / 8);
                let growth = growth.clamp(MIN_THRESHOLD, MAX_THRESHOLD);
                if round.least >= round.before + growth {
                    round.conservative = Some((round.least, CONSERVATIVE_ROUNDS));
                }
            }
            Some((baseline, _)) if round.least < baseline => round.conservative = None,
            _ => {}
        }
    }
}
