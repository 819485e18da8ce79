//! What both ends of a test have: load that goes or comes, and what was seen of it.

use super::receiver::{Receiver, longest_ms};
use super::sender::Sender;
use super::{Clock, Faults, Interval, Settings, Traffic, Transmit};
use alloc::boxed::Box;
use alloc::vec::Vec;
use node::{Histogram, Time};
use packet::udpstp::{Message, NO_VALUE, SendingRate, Status, SubInterval};

/// Load, as this end has it.
#[derive(Clone, Debug)]
pub enum Flow {
    /// Not yet, or not any more.
    None,
    /// It sends.
    Sending(Sender),
    /// It receives.
    Receiving(Box<Receiver>),
}

/// An end of a test.
#[derive(Clone, Debug)]
pub struct Side {
    pub clock: Clock,
    pub ipv6: bool,
    pub flow: Flow,
    pub faults: Faults,
    /// By how many ns each burst of load was late when it left.
    pub late: Histogram,
    /// Of flows that are over, or as the peer tells it.
    intervals: Vec<Interval>,
    sub_interval: u32,
    sent: Traffic,
    received: Traffic,
}

impl Side {
    pub fn new(clock: Clock, ipv6: bool) -> Side {
        Side {
            clock,
            ipv6,
            flow: Flow::None,
            faults: Faults::default(),
            late: Histogram::with_precision(5),
            intervals: Vec::new(),
            sub_interval: 0,
            sent: Traffic::default(),
            received: Traffic::default(),
        }
    }

    /// Whether load goes.
    pub fn is_testing(&self) -> bool {
        !matches!(self.flow, Flow::None)
    }

    /// The sub-intervals that are over, as the receiver of load saw them.
    pub fn intervals(&self) -> &[Interval] {
        match &self.flow {
            Flow::Receiving(receiver) => &receiver.intervals,
            _ => &self.intervals,
        }
    }

    /// Load sent, and received.
    pub fn traffic(&self) -> [Traffic; 2] {
        match &self.flow {
            Flow::Sending(sender) => [sender.sent, self.received],
            Flow::Receiving(receiver) => [self.sent, receiver.received],
            Flow::None => [self.sent, self.received],
        }
    }

    /// From now on it sends.
    pub fn send(&mut self, rate: SendingRate, now: Time) {
        self.flow = Flow::Sending(Sender::new(self.clock, self.ipv6, rate, now));
    }

    /// From now on it receives.
    pub fn receive(&mut self, settings: Settings, now: Time) {
        let receiver = Receiver::new(self.clock, settings, self.ipv6, now);
        self.flow = Flow::Receiving(Box::new(receiver));
    }

    /// No more load. What was seen stays.
    pub fn end(&mut self) {
        self.intervals = self.intervals().to_vec();
        [self.sent, self.received] = self.traffic();
        self.flow = Flow::None;
    }

    /// When the next burst, or the next status message, is due.
    pub fn next_wake(&self) -> Time {
        match &self.flow {
            Flow::None => Time::MAX,
            Flow::Sending(sender) => sender.next_wake().unwrap_or(Time::MAX),
            Flow::Receiving(receiver) => receiver.next_status(),
        }
    }

    /// Makes bursts that are due. The receiver whose status message is due, if it is.
    pub fn wake(&mut self, now: Time) -> Option<&mut Receiver> {
        match &mut self.flow {
            Flow::None => None,
            Flow::Sending(sender) => {
                sender.wake(now, &mut self.faults, &mut self.late);
                None
            }
            Flow::Receiving(receiver) => receiver.is_due(now).then_some(receiver),
        }
    }

    /// The message in a datagram. What is none is counted.
    pub fn parse(&mut self, bytes: &[u8]) -> Option<Message> {
        Message::parse(bytes)
            .map_err(|error| {
                self.faults.unreadable.0 += 1;
                self.faults.unreadable.1 = error.0;
            })
            .ok()
    }

    /// What the receiver of load tells this sender.
    pub fn status(&mut self, now: Time, status: &Status) -> Option<&mut Sender> {
        let Flow::Sending(sender) = &mut self.flow else {
            return None;
        };
        sender.status(now, status, &mut self.faults);
        if status.sub_interval != self.sub_interval {
            self.sub_interval = status.sub_interval;
            match is_plausible(&status.last, sender.sent, now - sender.start) {
                true => self.intervals.push(Interval::new(&status.last, self.ipv6)),
                false => self.faults.bad_sums += 1,
            }
        }
        Some(sender)
    }

    /// Appends a message.
    pub fn message(message: Message, port: Option<u16>, out: &mut Vec<u8>) -> Transmit {
        let begin = out.len();
        message.build(out);
        Transmit {
            segment: out.len() - begin,
            port,
        }
    }
}

/// Whether the sums of a sub-interval can be true of a test that has sent this much for this long.
fn is_plausible(sums: &SubInterval, sent: Traffic, age: Time) -> bool {
    let ms = longest_ms(age);
    let delays =
        |least: u32, most: u32| least == NO_VALUE || (least <= most && u64::from(most) <= ms);
    let [least, most, ..] = sums.variation;
    // A datagram that the network duplicates is received twice.
    u64::from(sums.datagrams) <= 2 * sent.datagrams
        && sums.bytes <= 2 * sent.bytes
        && u64::from(sums.time) <= 1_000 * ms
        && u64::from(sums.total_time) <= ms
        && u64::from(sums.errors[0]) <= sent.datagrams
        && delays(least, most)
        && delays(sums.round_trip[0], sums.round_trip[1])
}
