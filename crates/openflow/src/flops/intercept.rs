//! Figure 3.3: the latency of packet-in and of packet-out, by the rate of packets.

use super::probe::{self, Arrival, Stream};
use super::report::{Report, Row};
use super::{Bench, CAPTURE, Module, SETTLE, rules};
use crate::message::{Message, PacketOut};
use crate::port::PortNo;
use ::node::Time;
use alloc::format;
use alloc::vec::Vec;

/// Which way packets cross the control channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a port to the controller.
    In,
    /// From the controller to a port.
    Out,
}

/// How it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which way.
    pub direction: Direction,
    /// Packets a second, one rate after another: each at least 1.
    pub rates: Vec<u64>,
    /// How long each.
    pub time: Time,
    /// Bytes of a packet.
    pub length: usize,
}

/// Measures the control channel with packets on it.
pub struct Intercept {
    settings: Settings,
    at: usize,
    stream: Stream,
    scratch: Vec<u8>,
    rows: Vec<Row>,
    /// Packet-outs of this rate so far.
    sent: u64,
}

/// Timers.
const BEGIN: u64 = 0;
const END: u64 = 1;
const SEND: u64 = 2;
/// Maximum number of packet-outs of one rate.
const MAX_PACKET_OUTS: u64 = 10_000_000;

impl Intercept {
    /// Nothing measured yet.
    pub fn new(settings: Settings) -> Intercept {
        let stream = Stream {
            number: 0,
            start: Time::ZERO,
            gap: Time::from_ms(1),
            count: 0,
            length: settings.length,
            flows: (0, 1),
            tagged: false,
            by_cable: false,
        };
        Intercept {
            settings,
            at: 0,
            stream,
            scratch: Vec::new(),
            rows: Vec::new(),
            sent: 0,
        }
    }

    fn begin(&mut self, bench: &mut Bench<'_>) {
        let Some(&rate) = self.settings.rates.get(self.at) else {
            bench.finish();
            return;
        };
        let rate = rate.clamp(1, 1_000_000_000);
        self.rows.push(Row::new(format!("{rate}/s"), rate));
        self.stream.number += 1;
        self.stream.start = bench.now() + SETTLE;
        self.stream.gap = Time::from_ps(1_000_000_000_000 / rate);
        let count = self.settings.time.as_ps() / self.stream.gap.as_ps().max(1);
        self.stream.count = count.clamp(1, MAX_PACKET_OUTS);
        self.sent = 0;
        match self.settings.direction {
            Direction::In => bench.generate(self.stream),
            Direction::Out => bench.timer(self.stream.start, SEND),
        }
        let end = self.stream.start + self.stream.gap * self.stream.count;
        bench.timer(end + SETTLE * 5, END);
    }

    /// Sends the packet-out that is due.
    fn send(&mut self, bench: &mut Bench<'_>) {
        self.stream.write(self.sent, &mut self.scratch);
        let actions = [rules::forward(&bench.setup())];
        bench.send(&Message::PacketOut(PacketOut {
            buffer: None,
            in_port: PortNo::CONTROLLER,
            actions: (&actions).into(),
            data: &self.scratch,
        }));
        self.sent += 1;
        if self.sent < self.stream.count {
            bench.timer(self.left(self.sent), SEND);
        }
    }

    fn left(&self, number: u64) -> Time {
        self.stream.start + self.stream.gap * number
    }

    fn take(&mut self, tag: probe::Tag, at: Time) {
        let left = self.left(tag.number);
        if tag.stream == self.stream.number
            && let Some(row) = self.rows.last_mut()
        {
            row.received += 1;
            row.add("latency", at - left);
        }
    }
}

impl Module for Intercept {
    fn name(&self) -> &str {
        match self.settings.direction {
            Direction::In => "packet-in",
            Direction::Out => "packet-out",
        }
    }

    fn start(&mut self, bench: &mut Bench<'_>) {
        rules::everything(bench, 1, &[rules::intercept()]);
        bench.send(&Message::BarrierRequest);
    }

    fn message(&mut self, bench: &mut Bench<'_>, _xid: u32, message: &Message<'_>) {
        match message {
            Message::BarrierReply => bench.timer(bench.now() + SETTLE, BEGIN),
            Message::Error(_) => {
                if let Some(row) = self.rows.last_mut() {
                    row.refused += 1;
                }
            }
            Message::PacketIn(packet) if self.settings.direction == Direction::In => {
                if let Some(tag) = probe::read(packet.data) {
                    self.take(tag, bench.now());
                }
            }
            _ => {}
        }
    }

    fn timer(&mut self, bench: &mut Bench<'_>, number: u64) {
        match number {
            BEGIN => self.begin(bench),
            SEND => self.send(bench),
            _ => {
                let sent = match self.settings.direction {
                    Direction::In => bench.stop(self.stream.number),
                    Direction::Out => self.sent,
                };
                if let Some(row) = self.rows.last_mut() {
                    row.sent = sent;
                }
                self.at += 1;
                self.begin(bench);
            }
        }
    }

    fn probe(&mut self, _bench: &mut Bench<'_>, arrival: &Arrival<'_>) {
        if self.settings.direction == Direction::Out && arrival.channel == CAPTURE {
            self.take(arrival.tag, arrival.at);
        }
    }

    fn report(&mut self) -> Report {
        Report {
            of: "packets a second".into(),
            rows: core::mem::take(&mut self.rows),
            ..Report::default()
        }
    }
}
