//! One way of sending, measured.

use super::{CalibrateError, Plan, Trial};
use crate::kernel::scheduling::real_time;
use crate::kernel::thread;
use crate::port::calibration::with_latency;
use crate::port::pace::{Idle, MAX_LEAD_NS, PaceReport, Pacer, Waiter};
use crate::port::{Method, Port, PortError, Receive, Transmit};
use ::capture::clock::now_ns;
use ::capture::signal::{self, Stopped};
use node::outcome::Spread;
use node::{Histogram, Time};
use packet::{Departure, Tick};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NS: Time = Time::from_ns(1);
/// Departures by which the latency is learned.
const LEARN: u64 = 400;
/// From here to the first departure, ns.
const START_NS: u64 = 20_000_000;
/// Our frames: the local experimental EtherType, and a word.
const TYPE: [u8; 2] = [0x88, 0xb5];
const WORD: &[u8; 8] = b"wirecal\0";
const NUMBER: usize = 22;
const LEN: usize = 60;
/// The clocks are compared to so many ns.
const CLOCKS_NS: u64 = 150;
/// How long frames may be under way at the end.
const WAIT: Duration = Duration::from_millis(50);

/// Sends from one port to the other.
pub fn run(
    near: Port,
    far: Port,
    choice: Option<Method>,
    plan: Plan,
) -> Result<Trial, CalibrateError> {
    let (from, to) = (near.info.name.clone(), far.info.name.clone());
    let frame = Frame::new(far.info.mac, near.info.mac);
    let gap = (plan.gap.as_nanos() as u64).max(1_000) / 8 * 8;
    let (mut tx, mut rx) = (near.tx, far.rx);
    // Nobody uses the other halves, but a TAP interface goes with the last of its own.
    let _halves = (near.rx, far.tx);
    let (calls, seen) = both(&mut *rx, LEARN, || learn(&mut *tx, &frame, gap))?;
    let calls = calls?;
    let mut latency = Histogram::default();
    let mut inside = 0;
    for (&(began, ended), &at) in calls.iter().zip(&seen) {
        if at > 0 {
            latency.record(at.saturating_sub(began));
            inside += u64::from(at + CLOCKS_NS >= began && at <= ended + CLOCKS_NS);
        }
    }
    let received = latency.total();
    if signal::stop_requested() {
        return Err(CalibrateError::Stopped(Stopped));
    }
    if received < LEARN / 2 {
        let sent = LEARN;
        return Err(CalibrateError::NotConnected {
            from,
            to,
            sent,
            received,
        });
    }
    let inside = inside * 20 >= received * 19;
    // Stamps taken outside the call tell of the way to them, not of the way to the driver.
    let lead = match inside {
        true => latency.value_at(25, 100).min(MAX_LEAD_NS),
        false => 0,
    };
    let count = plan.count.max(1);
    let tx = with_latency(tx, lead);
    let (paced, seen) = both(&mut *rx, count, || paced(tx, &frame, gap, count))?;
    let (start, report) = paced?;
    if let Some(error) = report.error {
        return Err(error.into());
    }
    if signal::stop_requested() {
        return Err(CalibrateError::Stopped(Stopped));
    }
    let wanted = |n: usize| start + n as u64 * gap;
    let judged = Judged::new(&seen, wanted, gap);
    let lead_ns = match report.timing.stamped {
        0 => lead,
        _ => report.timing.lead.as_ns(),
    };
    Ok(Trial {
        method: report.timing.method,
        choice,
        sent: report.sent,
        received: seen.iter().filter(|&&at| at > 0).count() as u64,
        timing: report.timing,
        far: judged.far,
        jitter: judged.jitter,
        gaps: judged.gaps,
        earliest: judged.earliest,
        latency: latency.spread(NS),
        least_latency: Time::from_ns(latency.min()),
        inside,
        lead_ns,
    })
}

/// A frame with a number.
struct Frame([u8; LEN]);

impl Frame {
    fn new(to: Option<[u8; 6]>, from: Option<[u8; 6]>) -> Frame {
        let mut bytes = [0; LEN];
        bytes[..6].copy_from_slice(&to.unwrap_or([0xff; 6]));
        bytes[6..12].copy_from_slice(&from.unwrap_or([2, 0, 0, 0, 0, 1]));
        bytes[12..14].copy_from_slice(&TYPE);
        bytes[14..NUMBER].copy_from_slice(WORD);
        Frame(bytes)
    }

    fn with(&self, number: u64) -> [u8; LEN] {
        let mut bytes = self.0;
        bytes[NUMBER..NUMBER + 8].copy_from_slice(&number.to_be_bytes());
        bytes
    }

    fn number(bytes: &[u8]) -> Option<u64> {
        let ours = bytes.get(12..14)? == TYPE && bytes.get(14..NUMBER)? == WORD;
        let number = bytes.get(NUMBER..NUMBER + 8).filter(|_| ours)?;
        number.try_into().ok().map(u64::from_be_bytes)
    }
}

/// Sends and receives at once; what the sender says, and the stamp of each frame, 0 for none.
fn both<T: Send>(
    rx: &mut dyn Receive,
    count: u64,
    send: impl FnOnce() -> T + Send,
) -> Result<(T, Vec<u64>), PortError> {
    let mut seen = vec![0; count as usize];
    let done = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let body = || {
            let sent = send();
            done.store(true, Ordering::Release);
            sent
        };
        let sender = thread::spawn_scoped(scope, "sender", body).map_err(no_thread)?;
        loop {
            let last = done.load(Ordering::Acquire);
            let got = rx.receive(WAIT, &mut |packet| {
                let number = Frame::number(packet.bytes);
                if let Some(at) = number.and_then(|number| seen.get_mut(number as usize)) {
                    *at = packet.at_ns;
                }
            })?;
            if last && got == 0 {
                break;
            }
        }
        match sender.join() {
            Ok(sent) => Ok(sent),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    sent.map(|sent: T| (sent, seen))
}

/// Keeps the way warm while it waits.
struct Warming<'a>(&'a mut dyn Transmit);

impl Idle for Warming<'_> {
    fn sleep(&mut self, time: Duration) -> bool {
        std::thread::park_timeout(time);
        !signal::stop_requested()
    }

    fn warm(&mut self) {
        self.0.warm();
    }
}

/// When each call began and ended.
fn learn(tx: &mut dyn Transmit, frame: &Frame, gap: u64) -> Result<Vec<(u64, u64)>, PortError> {
    let mut waiter = Waiter::new(real_time());
    let start = now_ns() + START_NS;
    let mut calls = Vec::with_capacity(LEARN as usize);
    for n in 0..LEARN {
        let bytes = frame.with(n);
        tx.prepare(&bytes);
        if waiter.until(start + n * gap, &mut Warming(tx)).is_none() {
            break;
        }
        let began = now_ns();
        tx.send(&[&bytes])?;
        calls.push((began, now_ns()));
    }
    Ok(calls)
}

fn no_thread(source: io::Error) -> PortError {
    PortError::Io {
        name: "calibrate".into(),
        doing: "sending and receiving at once",
        source,
    }
}

/// Sends on a schedule; when it began, and what came of it.
fn paced(
    tx: Box<dyn Transmit>,
    frame: &Frame,
    gap: u64,
    count: u64,
) -> Result<(u64, PaceReport), PortError> {
    let pacer = Pacer::start(tx, Tick::EIGHT_NS).map_err(no_thread)?;
    let start = now_ns() / 8 * 8 + START_NS;
    for n in 0..count {
        let at = Departure::At((start + n * gap) / 8);
        if pacer.submit(at, &frame.with(n)).is_err() {
            break;
        }
    }
    Ok((start, pacer.finish()))
}

/// What the far stamps say.
struct Judged {
    far: Spread,
    jitter: Spread,
    gaps: Spread,
    earliest: Time,
}

impl Judged {
    fn new(seen: &[u64], wanted: impl Fn(usize) -> u64, gap: u64) -> Judged {
        let (mut far, mut gaps) = (Histogram::default(), Histogram::default());
        let (mut offsets, mut earliest) = (Vec::with_capacity(seen.len()), 0);
        for (n, &at) in seen.iter().enumerate().filter(|&(_, &at)| at > 0) {
            far.record(at.abs_diff(wanted(n)));
            earliest = earliest.max(wanted(n).saturating_sub(at));
            offsets.push(at as i64 - wanted(n) as i64);
        }
        for pair in seen.windows(2).filter(|pair| pair[0] > 0 && pair[1] > 0) {
            gaps.record(pair[1].abs_diff(pair[0]).abs_diff(gap));
        }
        offsets.sort_unstable();
        let middle = offsets.get(offsets.len() / 2).copied().unwrap_or(0);
        let mut jitter = Histogram::default();
        for offset in offsets {
            jitter.record(offset.abs_diff(middle));
        }
        Judged {
            far: far.spread(NS),
            jitter: jitter.spread(NS),
            gaps: gaps.spread(NS),
            earliest: Time::from_ns(earliest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_judged_with_and_without_what_they_have_in_common() {
        // Wanted every 1000 ns; all 100 late, one 50 more, one lost.
        let seen = [10_100, 11_100, 12_150, 0, 14_100];
        let judged = Judged::new(&seen, |n| 10_000 + n as u64 * 1_000, 1_000);
        let ns = |spread: Spread| (spread.p50.as_ns(), spread.max.as_ns());
        assert_eq!(ns(judged.far), (100, 150));
        assert_eq!(ns(judged.jitter), (0, 50));
        assert_eq!(ns(judged.gaps), (0, 50));
        assert_eq!(judged.earliest, Time::ZERO);
    }

    #[test]
    fn our_frames_are_known_by_their_word_and_others_are_not() {
        let frame = Frame::new(None, None);
        assert_eq!(Frame::number(&frame.with(77)), Some(77));
        let mut other = frame.with(77);
        other[15] ^= 1;
        assert_eq!(Frame::number(&other), None);
        assert_eq!(Frame::number(&frame.with(77)[..20]), None);
    }
}
