//! The thread of a [`Pacer`](super::Pacer).

mod hand_over;

use super::departures::{BATCH, Departures, Wanted};
use super::queue::{Chunk, Entry, Queue};
use super::{Idle, Lead, PaceReport, Shared};
use crate::port::Transmit;
use ::capture::clock::now_ns;
use ::capture::signal;
use hand_over::UnderWay;
use packet::{Departure, Tick};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a stamp for a timer is waited for.
const MARK_STAMP_NS: u64 = 200_000;
/// How long a departure is waited for between two looks at the queue.
const DEPARTURE_WAIT: Duration = Duration::from_millis(1);
/// After so many in a row that did not come, no more are waited for.
const SILENCE: u32 = 4;

/// The thread's side.
pub struct Worker {
    shared: Arc<Shared>,
    tx: Box<dyn Transmit>,
    tick: Tick,
    departures: Departures,
    lead: Lead,
    report: PaceReport,
    /// Stamps for timers that did not come, in a row.
    silent_marks: u32,
    /// What a port that keeps the time itself has and has not sent.
    under_way: VecDeque<UnderWay>,
    /// What comes behind the chunk in hand, taken while there was time: at its end a writer may hold the lock and not run.
    ahead: Chunk,
}

/// What the thread does while it waits.
struct Waiting<'a> {
    queue: &'a Queue,
    tx: &'a mut dyn Transmit,
    frame: &'a [u8],
}

impl Idle for Waiting<'_> {
    fn sleep(&mut self, time: Duration) -> bool {
        !signal::stop_requested() && self.queue.sleep(time)
    }

    fn warm(&mut self) {
        std::hint::black_box(
            self.frame
                .iter()
                .step_by(64)
                .fold(0, |sum, byte| sum ^ byte),
        );
        self.tx.warm();
    }
}

fn is_mark(entry: &Entry) -> bool {
    matches!(entry.departure, Departure::Mark(_))
}

/// The counter's time at which it has reached so many ticks, rounded up: never early.
pub fn ns_of(tick: Tick, ticks: u64) -> u64 {
    u64::try_from(tick.ps(ticks).div_ceil(1000)).unwrap_or(u64::MAX)
}

impl Shared {
    /// When a packet is wanted to leave, in ns; `None` for at once. Behind a mark that is not sent yet
    /// the answer is not final.
    fn wanted(&self, tick: Tick, departure: Departure) -> Option<u64> {
        match departure {
            Departure::Now | Departure::Mark(_) => None,
            Departure::At(ticks) => Some(ns_of(tick, ticks)),
            Departure::After(timer, ticks) => {
                let timer = self.timers[usize::from(timer.number())].load(Ordering::Acquire);
                Some(ns_of(tick, timer).saturating_add(ns_of(tick, ticks)))
            }
        }
    }
}

impl Worker {
    /// Nothing sent yet.
    pub fn new(tx: Box<dyn Transmit>, tick: Tick, shared: Arc<Shared>) -> Worker {
        Worker {
            shared,
            lead: Lead::known(tx.known_latency()),
            tx,
            tick,
            departures: Departures::default(),
            report: PaceReport::default(),
            silent_marks: 0,
            under_way: VecDeque::new(),
            ahead: Chunk::default(),
        }
    }

    /// Runs until the queue ends, or the port does.
    pub fn run(mut self) -> PaceReport {
        if self.tx.timekeeper().is_none() {
            self.departures = Departures::on_this_thread();
        }
        let mut chunk = Chunk::default();
        while self.take(&mut chunk) {
            let writer = self.shared.queue.writer();
            self.departures.waiter().accompany(writer);
            let mut next = 0;
            while next < chunk.entries().len() && self.report.error.is_none() {
                let departed = match self.tx.timekeeper() {
                    None => self.depart(&chunk, next),
                    Some(keeper) => self.hand_over(&chunk, next, keeper.ahead),
                };
                match departed {
                    Some(behind) => next = behind,
                    None => break,
                }
            }
            if let Err(error) = self.tx.flush() {
                self.report.error.get_or_insert(error);
            }
            let left = chunk.entries().len() - next;
            self.report.unsent += left as u64;
            if left > 0 || self.report.error.is_some() {
                break;
            }
        }
        self.settle_all();
        if let Err(error) = self.tx.finish() {
            self.report.error.get_or_insert(error);
        }
        self.report.unsent += (self.ahead.entries().len() + self.shared.queue.close()) as u64;
        self.report.timing = self.departures.timing(self.lead.ns(), self.tx.method());
        let waiter = self.departures.waiter();
        self.report.real_time = waiter.real_time();
        self.report.pauses = waiter.pauses;
        self.report.longest_pause_ns = waiter.longest_pause;
        self.report.past = self.shared.past.load(Ordering::Relaxed);
        self.report.port = self.tx.counters();
        self.report
    }

    /// The next packets, waiting for them; `false` when nothing more will come.
    fn take(&mut self, chunk: &mut Chunk) -> bool {
        // While a port that keeps the time has something to tell, it is listened to.
        while self.ahead.entries().is_empty() && self.settle(DEPARTURE_WAIT) {
            self.shared.queue.try_take(&mut self.ahead);
        }
        if self.ahead.entries().is_empty() {
            return self.shared.queue.take(chunk);
        }
        chunk.clear();
        std::mem::swap(chunk, &mut self.ahead);
        true
    }

    /// Gets the packet at `index` ready, waits until it has to be given to the port, and sends it with those
    /// behind it that are due as well; returns what is next, or `None` when it is not to leave any more.
    fn depart(&mut self, chunk: &Chunk, index: usize) -> Option<usize> {
        let entries = &chunk.entries()[index..];
        let (frame, lead) = (chunk.frame(index), self.lead.ns());
        let wanted = self.shared.wanted(self.tick, entries[0].departure);
        let next = self.next(entries).saturating_sub(lead);
        let timely = wanted.is_some_and(|wanted| wanted >= entries[0].asked);
        let stamped = timely && self.lead.ask(&mut *self.tx);
        // What a timer is to hold is the real departure, so that its packet is always stamped.
        let may = is_mark(&entries[0]) && self.silent_marks < SILENCE;
        let marked = may && self.tx.ask_for_stamp();
        self.tx.prepare(frame);
        let mut waiting = Waiting {
            queue: &self.shared.queue,
            tx: &mut *self.tx,
            frame,
        };
        let now = self
            .departures
            .until(wanted.unwrap_or(0), lead, &mut waiting)?;
        // From here to the call lies nothing that could be done before. One frame needs no list: a cold one takes longer than all else.
        let (alone, mut several): ([&[u8]; 1], [&[u8]; BATCH]);
        let frames: &[&[u8]] = match now < next {
            true => {
                alone = [frame];
                &alone
            }
            false => {
                let count = self.due(entries, now + lead);
                several = [&[]; BATCH];
                for (offset, frame) in several[..count].iter_mut().enumerate() {
                    *frame = chunk.frame(index + offset);
                }
                &several[..count]
            }
        };
        let (report, shared) = (&mut self.report, &self.shared);
        let mut dealt_with = 0;
        let call = Departures::send(&mut *self.tx, frames, false, |result| match result {
            Ok(sent) => {
                let taken = &frames[dealt_with..dealt_with + sent];
                report.rate.add(taken.iter().map(|frame| frame.len()));
                dealt_with += sent;
                report.sent += sent as u64;
                shared.sent.store(report.sent, Ordering::Relaxed);
            }
            Err(error) if error.is_end() => report.error = Some(error),
            Err(error) => {
                dealt_with += 1;
                report.refused += 1;
                shared.refused.store(report.refused, Ordering::Relaxed);
                report.refusal.get_or_insert(error);
            }
        });
        let last = call.left_at(call.left.saturating_sub(1));
        self.report.rate.left(call.began, last);
        if let Departure::Mark(timer) = entries[0].departure {
            let stamp = marked.then(|| self.stamp_of_mark(call.began)).flatten();
            let at = u128::from(stamp.unwrap_or(call.began + lead)) * 1000;
            let timer = &self.shared.timers[usize::from(timer.number())];
            timer.store(self.tick.count(at), Ordering::Release);
            let stamped = &self.shared.stamped_marks;
            stamped.fetch_add(stamp.is_some().into(), Ordering::Relaxed);
            let longest = &self.shared.longest_mark;
            longest.fetch_max(call.took, Ordering::Relaxed);
            self.shared.marks.fetch_add(1, Ordering::Release);
        }
        let (tick, shared) = (self.tick, &self.shared);
        let wanted = entries[..call.left].iter().map(|entry| {
            let at = shared.wanted(tick, entry.departure)?;
            let late = at < entry.asked;
            shared.late.fetch_add(late.into(), Ordering::Relaxed);
            Some(Wanted { at, late })
        });
        self.departures
            .account(&call, &mut *self.tx, &mut self.lead, stamped, wanted);
        if self.ahead.entries().is_empty() {
            self.shared.queue.try_take(&mut self.ahead);
        }
        Some(index + call.left)
    }

    /// The kernel's stamp of a packet whose call began at `began`, if it comes soon: drivers mostly
    /// stamp within the call.
    fn stamp_of_mark(&mut self, began: u64) -> Option<u64> {
        let end = now_ns() + MARK_STAMP_NS;
        loop {
            // Looked for at least once behind the end: the thread may have stood still meanwhile.
            let last = now_ns() > end;
            match self.tx.take_stamp() {
                // An older one is of another packet.
                Some(stamp) if stamp >= began => {
                    self.silent_marks = 0;
                    return Some(stamp);
                }
                None if last => break,
                _ => std::hint::spin_loop(),
            }
        }
        self.silent_marks += 1;
        None
    }

    /// The time from which on more than the first packet is due; `u64::MAX` for never.
    fn next(&self, entries: &[Entry]) -> u64 {
        match entries {
            // A mark goes alone, so that its time is its own and those behind it know it.
            [first, ..] if is_mark(first) => u64::MAX,
            [_, second, ..] if !is_mark(second) => {
                self.shared.wanted(self.tick, second.departure).unwrap_or(0)
            }
            _ => u64::MAX,
        }
    }

    /// How many packets, from the first on, are due at this time.
    fn due(&self, entries: &[Entry], time: u64) -> usize {
        let more = entries[1..].iter().take(BATCH - 1).take_while(|entry| {
            let wanted = || self.shared.wanted(self.tick, entry.departure);
            !is_mark(entry) && wanted().is_none_or(|at| at <= time)
        });
        1 + more.count()
    }
}
