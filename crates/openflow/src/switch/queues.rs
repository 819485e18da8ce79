//! Queues of a port: the most each may send, and how they share the port.
//!
//! Without least rates a frame leaves at once, or when its queue's highest rate lets it: what waits for the wire waits in the link
//! behind the port. With a least rate of any queue the port itself sends one frame after the other, at its own rate, and start-time fair
//! queueing (Goyal, Vin and Cheng, SIGCOMM 1996) chooses the next: a queue weighs its least rate; what no queue was promised is
//! shared evenly by those without one, of which frames of no queue are one. So whatever has frames waiting gets its weight's part at
//! least, to within a frame, and what others leave is shared by the same weights.
//!
//! A port with a queue discipline sends by that instead: the number of the queue chooses the class.

mod disciplined;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use disciplined::Disciplined;
use node::{Frame, Rate, Time};

/// Maximum number of frames that wait in a queue.
const MAX_QUEUE_LEN: usize = 1024;

/// A thousand tenths of a percent: all of the port.
pub(super) const WHOLE: u32 = 1_000;

#[derive(Debug)]
pub(super) struct Queue {
    pub number: u32,
    /// Minimum and maximum rate, in tenths of a percent of the port's, as reported to controllers;
    /// `None` if not set.
    pub min_rate: Option<u16>,
    pub max_rate: Option<u16>,
    /// Its rate limit.
    limit: Option<Rate>,
    waiting: VecDeque<Frame>,
    /// When the next may leave, and the part of a picosecond that is missing to it.
    free_at: Time,
    carry: u64,
    /// Its part of the port; 0: what nobody else wants.
    weight: u64,
    /// Where the first that waits begins, and where the last that left ended, in the port's virtual time.
    start: u128,
    finish: u128,
    pub packets: u64,
    pub bytes: u64,
    pub errors: u64,
    pub created: Time,
}

/// The wire time of a frame, in bits: with preamble, check sequence and gap.
fn bits(frame: &Frame) -> u64 {
    (frame.len().max(60) as u64 + 24) * 8
}

impl Queue {
    pub fn new(number: u32, min_rate: Option<u16>, max_rate: Option<u16>, port: Rate) -> Queue {
        let share = |tenths: u16| port.bits_per_second() / 1_000 * u64::from(tenths);
        Queue {
            number,
            min_rate,
            max_rate,
            limit: max_rate.and_then(|tenths| Rate::from_bits_per_second(share(tenths))),
            waiting: VecDeque::new(),
            free_at: Time::ZERO,
            carry: 0,
            weight: 0,
            start: 0,
            finish: 0,
            packets: 0,
            bytes: 0,
            errors: 0,
            created: Time::ZERO,
        }
    }

    /// The least rate, of which none is zero.
    fn least(&self) -> u64 {
        self.min_rate.unwrap_or(0).into()
    }

    /// Whether its rate lets a frame leave.
    fn may_send(&self, now: Time) -> bool {
        self.limit.is_none() || self.free_at <= now
    }

    /// A frame leaves, and was not kept by the wire before this time.
    fn account(&mut self, since: Time, frame: &Frame) {
        if let Some(limit) = self.limit {
            let (time, carry) = limit.time_of(bits(frame), self.carry);
            (self.free_at, self.carry) = (self.free_at.max(since) + time, carry);
        }
        self.packets += 1;
        self.bytes += frame.len() as u64;
    }
}

/// What becomes of a frame.
#[derive(Debug)]
pub(super) enum Offered {
    /// It leaves now.
    Leaves(Frame),
    Waits,
    /// There is no room for it.
    Full(Frame),
}

/// The queues of a port.
#[derive(Debug)]
pub(super) struct Queues {
    all: Vec<Queue>,
    wire: Option<Wire>,
    disciplined: Option<(queue::Config, u64, Disciplined)>,
}

/// Creates a discipline from checked parameters.
fn build(config: &queue::Config, seed: u64) -> Box<dyn queue::Discipline> {
    let built = config.build(seed);
    built.expect("the switch's parameters were checked")
}

/// The wire behind a port whose queues share it.
#[derive(Debug)]
struct Wire {
    rate: Rate,
    /// When the last frame began, and when it has left.
    began: Time,
    free_at: Time,
    carry: u64,
    /// Frames of no queue.
    others: Queue,
    /// Of all that wait.
    count: usize,
    /// The virtual time: where the frame that left last began.
    time: u128,
}

/// Of a bit, in virtual time of weight one.
const SCALE: u128 = 1 << 32;

impl Queues {
    /// Queues of a port of this rate.
    pub fn new(mut all: Vec<Queue>, rate: Rate) -> Queues {
        let promised: u64 = all.iter().map(Queue::least).sum();
        let wire = (promised > 0).then(|| {
            let mut others = Queue::new(0, None, None, rate);
            let without = all.iter().filter(|queue| queue.least() == 0).count() as u64 + 1;
            let rest = u64::from(WHOLE).saturating_sub(promised);
            for queue in all.iter_mut().chain([&mut others]) {
                // As whole numbers: in parts of a thousand times so many that share the rest.
                queue.weight = match queue.least() {
                    0 => rest,
                    least => least * without,
                };
            }
            Wire {
                rate,
                began: Time::ZERO,
                free_at: Time::ZERO,
                carry: 0,
                others,
                count: 0,
                time: 0,
            }
        });
        Queues {
            all,
            wire,
            disciplined: None,
        }
    }

    /// Queues of a port with a discipline, whose parameters were checked.
    pub fn disciplined(all: Vec<Queue>, rate: Rate, config: &queue::Config, seed: u64) -> Queues {
        let disciplined = Disciplined::new(build(config, seed), rate);
        Queues {
            all,
            wire: None,
            disciplined: Some((config.clone(), seed, disciplined)),
        }
    }

    /// A frame that the port's discipline has dropped.
    pub fn lost(&mut self) -> Option<Frame> {
        self.disciplined.as_mut()?.2.lost()
    }

    pub fn iter(&self) -> core::slice::Iter<'_, Queue> {
        self.all.iter()
    }

    /// Takes a frame for a queue; of one that there is not, for none.
    #[inline]
    pub fn offer(&mut self, now: Time, frame: Frame, number: u32) -> Offered {
        if let Some((.., own)) = &mut self.disciplined {
            own.offer(now, frame, number, &mut self.all);
            return Offered::Waits;
        }
        if self.all.is_empty() {
            return Offered::Leaves(frame);
        }
        let own = self.all.iter_mut().find(|queue| queue.number == number);
        if let Some(wire) = &mut self.wire {
            return wire.offer(own, frame);
        }
        let Some(queue) = own else {
            return Offered::Leaves(frame);
        };
        if queue.waiting.is_empty() && queue.may_send(now) {
            queue.account(now, &frame);
            return Offered::Leaves(frame);
        }
        queue.keep(frame)
    }

    /// The next frame that may leave by now.
    pub fn next(&mut self, now: Time) -> Option<Frame> {
        if let Some((.., own)) = &mut self.disciplined {
            return own.next(now, &mut self.all);
        }
        let may = |queue: &&mut Queue| !queue.waiting.is_empty() && queue.may_send(now);
        let Some(wire) = &mut self.wire else {
            let queue = self.all.iter_mut().find(may)?;
            let frame = queue.waiting.pop_front()?;
            queue.account(now, &frame);
            return Some(frame);
        };
        if wire.count == 0 || wire.free_at > now {
            return None;
        }
        let queues = self.all.iter_mut().chain([&mut wire.others]).filter(may);
        // What weighs nothing comes behind all others.
        let queue = queues.min_by_key(|queue| (queue.weight == 0, queue.start))?;
        let frame = queue.waiting.pop_front()?;
        // A frame that waits for the one on the wire does not lower its queue's highest rate by that.
        queue.account(if wire.free_at == now { wire.began } else { now }, &frame);
        if queue.weight > 0 {
            wire.time = wire.time.max(queue.start);
            queue.finish =
                queue.start + u128::from(bits(&frame)) * SCALE / u128::from(queue.weight);
            queue.start = queue.finish;
        }
        wire.count -= 1;
        let (time, carry) = wire.rate.time_of(bits(&frame), wire.carry);
        (wire.began, wire.carry) = (wire.free_at.max(now), carry);
        wire.free_at = wire.began + time;
        Some(frame)
    }

    /// When a frame that waits may leave.
    pub fn next_wake(&self) -> Option<Time> {
        if let Some((.., own)) = &self.disciplined {
            return own.next_wake();
        }
        let others = self.wire.iter().map(|wire| &wire.others);
        let waiting = self
            .all
            .iter()
            .chain(others)
            .filter(|queue| !queue.waiting.is_empty());
        let first = waiting.map(|queue| queue.free_at).min()?;
        Some(
            self.wire
                .as_ref()
                .map_or(first, |wire| first.max(wire.free_at)),
        )
    }

    /// Takes all that waits.
    pub fn drain(&mut self) -> impl Iterator<Item = Frame> {
        let others = self.wire.iter_mut().map(|wire| {
            wire.count = 0;
            &mut wire.others
        });
        let disciplined = self.disciplined.iter_mut();
        let disciplined =
            disciplined.flat_map(|(config, seed, own)| own.drain(build(config, *seed)));
        self.all
            .iter_mut()
            .chain(others)
            .flat_map(|queue| queue.waiting.drain(..))
            .chain(disciplined)
    }
}

impl Queue {
    fn keep(&mut self, frame: Frame) -> Offered {
        if self.waiting.len() >= MAX_QUEUE_LEN {
            self.errors += 1;
            return Offered::Full(frame);
        }
        self.waiting.push_back(frame);
        Offered::Waits
    }
}

impl Wire {
    fn offer(&mut self, own: Option<&mut Queue>, frame: Frame) -> Offered {
        let queue = own.unwrap_or(&mut self.others);
        if queue.waiting.is_empty() {
            // What it did not use is gone.
            queue.start = queue.finish.max(self.time);
        }
        let offered = queue.keep(frame);
        self.count += usize::from(matches!(offered, Offered::Waits));
        offered
    }
}
