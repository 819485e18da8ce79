//! Who sends load: bursts of two transmitters, as the table's rows say.

use super::rates::{MAX_BURST, MIN_INTERVAL_US};
use super::{Clock, DEAF, Faults, Traffic, Transmit};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use node::random::Random;
use node::{Histogram, Time};
use packet::udpstp::{
    Action, IPV4_OVERHEAD, IPV6_MORE, LOAD, Load, MIN_LOAD_LEN, RANDOM_SIZE, SendingRate, Stamp,
    Status,
};

/// A burst that is later than this does not catch up: what was to leave in between is left out.
const TOO_LATE: Time = Time::from_ms(10);
/// Maximum number of datagrams of one call, the limit of segmentation offload.
const SEGMENTS: usize = 64;
/// Maximum size of the datagrams of one call, bytes, the limit of segmentation offload.
const MAX_BATCH_BYTES: usize = 65_000;
/// Maximum payload length, bytes.
const MAX_PAYLOAD_LEN: u32 = 65_535 - IPV4_OVERHEAD;

/// A sender of load.
#[derive(Clone, Debug)]
pub struct Sender {
    clock: Clock,
    ipv6: bool,
    rate: SendingRate,
    /// When each transmitter sends next.
    due: [Option<Time>; 2],
    /// Lengths of the datagrams of bursts that are due.
    ready: VecDeque<u16>,
    sequence: u32,
    /// Arrival of the last status message, and its content.
    heard: Time,
    status: Option<(u32, Stamp)>,
    status_errors: u16,
    action: Action,
    stops: u32,
    random: Random,
    pub(super) start: Time,
    pub(super) sent: Traffic,
}

impl Sender {
    /// Begins to send.
    pub fn new(clock: Clock, ipv6: bool, rate: SendingRate, now: Time) -> Sender {
        let mut sender = Sender {
            clock,
            ipv6,
            rate: SendingRate::default(),
            due: [None; 2],
            ready: VecDeque::new(),
            sequence: 0,
            heard: now,
            status: None,
            status_errors: 0,
            action: Action::Test,
            stops: 0,
            random: Random::new(clock.epoch_ns),
            start: now,
            sent: Traffic::default(),
        };
        sender.set_rate(rate, now);
        sender
    }

    /// How it sends from now on.
    pub fn set_rate(&mut self, rate: SendingRate, now: Time) {
        self.rate = rate;
        for (due, interval) in self.due.iter_mut().zip([rate.interval1, rate.interval2]) {
            *due = match (*due, interval) {
                (_, 0) => None,
                (None, us) => Some(now + Time::from_us(u64::from(us))),
                // The next burst was to come much later.
                (Some(at), us) => Some(at.min(now + Time::from_us(u64::from(us)))),
            };
        }
    }

    /// The peer has sent a status message.
    pub fn status(&mut self, now: Time, status: &Status, faults: &mut Faults) {
        let last = self.status.map_or(0, |(sequence, _)| sequence);
        let missed = i64::from(status.sequence) - i64::from(last) - 1;
        self.status_errors = match u16::try_from(missed) {
            Ok(missed) => missed,
            Err(_) if missed < 0 => u16::MAX,
            Err(_) => u16::MAX - 1,
        };
        faults.missed[0] += missed.max(0) as u64;
        self.heard = now;
        self.status = Some((status.sequence.max(last), status.left));
    }

    /// From here on load says so, a datagram at a time.
    pub fn stop(&mut self) {
        self.action = Action::Stop;
    }

    /// Load messages that said so.
    pub fn stops(&self) -> u32 {
        self.stops
    }

    /// When the last status message came.
    pub fn heard(&self) -> Time {
        self.heard
    }

    /// When the next burst is due.
    pub fn next_wake(&self) -> Option<Time> {
        match self.ready.is_empty() {
            true => self.due.into_iter().flatten().min(),
            false => Some(Time::ZERO),
        }
    }

    /// Makes bursts that are due, and tells by how many ns each is late.
    pub fn wake(&mut self, now: Time, faults: &mut Faults, late: &mut Histogram) {
        for which in 0..2 {
            // What was not taken yet is not piled up.
            let Some(at) = self.due[which].filter(|at| *at <= now && self.ready.is_empty()) else {
                continue;
            };
            let interval = [self.rate.interval1, self.rate.interval2][which];
            let next = at + Time::from_us(u64::from(interval));
            late.record((now - at).as_ns());
            let too_late = now > next + TOO_LATE;
            faults.late_bursts += u64::from(too_late);
            let again = now + Time::from_us(u64::from(interval));
            self.due[which] = Some(if too_late { again } else { next });
            self.burst(which);
        }
    }

    fn burst(&mut self, which: usize) {
        let rate = self.rate;
        let (payload, burst, addon) = match which {
            0 => (rate.payload1, rate.burst1, 0),
            _ => (rate.payload2, rate.burst2, rate.addon2),
        };
        let most = match self.action {
            Action::Test => burst,
            Action::Stop => burst.min(1),
        };
        if most > 0 {
            let length = self.length(payload);
            self.ready.extend((0..most).map(|_| length));
        }
        if addon > 0 {
            let length = self.length(addon);
            self.ready.push_back(length);
        }
    }

    /// Of a datagram, in this version of IP.
    fn length(&mut self, size: u32) -> u16 {
        let less = if self.ipv6 { IPV6_MORE } else { 0 };
        let most = size & !RANDOM_SIZE;
        let least = MIN_LOAD_LEN.min(most);
        let length = match size & RANDOM_SIZE {
            0 => most,
            _ => least + self.random.below(u64::from(most - least) + 1) as u32,
        };
        length.saturating_sub(less).max(LOAD as u32) as u16
    }

    /// Appends datagrams that are to leave now.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        let segment = usize::from(*self.ready.front()?);
        let header = Load {
            action: self.action,
            deaf: now > self.heard + DEAF,
            sequence: 0,
            payload: 0,
            status_errors: self.status_errors,
            status_left: self.status.map_or(Stamp::default(), |(_, left)| left),
            left: self.clock.stamp(now),
            held: match self.status {
                Some(_) => ((now - self.heard).as_ns() + 500_000)
                    .div_euclid(1_000_000)
                    .min(u64::from(u16::MAX)) as u16,
                None => 0,
            },
        };
        let begin = out.len();
        for _ in 0..SEGMENTS {
            let Some(&length) = self.ready.front() else {
                break;
            };
            let (bytes, at) = (usize::from(length), out.len());
            if bytes > segment || at - begin + bytes > MAX_BATCH_BYTES.max(segment) {
                break;
            }
            self.ready.pop_front();
            self.sequence = self.sequence.wrapping_add(1);
            let load = Load {
                sequence: self.sequence,
                payload: length,
                ..header
            };
            load.build(out);
            out.resize(at + bytes, 0);
            self.sent.add(bytes);
            self.stops += u32::from(self.action == Action::Stop);
            if bytes < segment {
                break;
            }
        }
        Some(Transmit {
            segment,
            port: None,
        })
    }
}

/// Whether a rate that a server tells can be sent.
pub fn is_sendable(rate: &SendingRate) -> bool {
    let size = |bytes: u32| bytes & !RANDOM_SIZE <= MAX_PAYLOAD_LEN;
    let transmitter = |interval: u32, payload: u32, burst: u32| {
        size(payload)
            && burst <= MAX_BURST
            && (interval == 0 || interval >= MIN_INTERVAL_US)
            && (burst == 0 || payload & !RANDOM_SIZE >= LOAD as u32)
    };
    transmitter(rate.interval1, rate.payload1, rate.burst1)
        && transmitter(rate.interval2, rate.payload2, rate.burst2)
        && size(rate.addon2)
        // It would send nothing any more.
        && (rate.interval1 > 0 || rate.interval2 > 0)
}
