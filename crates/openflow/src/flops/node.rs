//! The node that runs a module.

use super::bench::{Bench, Desk};
use super::probe::{self, Arrival};
use super::report::Report;
use super::{Module, SETTLE, Setup, rules};
use crate::channel::{Channels, Event, Peer, Settings};
use crate::handshake::Handshake;
use crate::message::{Config, Message, decode};
use ::node::{Frame, Node, Out, Port, Time};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

/// The port of the control channel.
pub const CONTROL: Port = Port(0);
/// The data channel by which probes leave.
pub const GENERATE: u16 = 1;
/// The data channel at which they arrive.
pub const CAPTURE: u16 = 2;

/// Probes written in one wake, at most.
const BURST: usize = 256;
/// How long the switch has to connect.
const PATIENCE: Time = Time::from_secs(20);

/// Takes the report when the test is over.
pub type Sink = Box<dyn FnMut(Report) + Send>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The switch is not there yet.
    Waiting,
    /// Hellos were exchanged; the switch is being cleared.
    Clearing,
    /// The module is at work.
    Running,
    /// The report is given.
    Over,
}

/// Runs a [`Module`]. Port 0 is the control channel, 1 and 2 are the data channels.
pub struct Flops {
    setup: Setup,
    module: Box<dyn Module>,
    sink: Sink,
    channels: Channels,
    peer: Option<Peer>,
    stage: Stage,
    desk: Desk,
    deadline: Time,
    scratch: Vec<u8>,
    probes: [u64; 2],
}

/// What a module is told.
enum Told<'a> {
    Start,
    Message(u32, &'a Message<'a>),
    Probe(&'a Arrival<'a>),
    Timer(u64),
    Taken,
}

impl Flops {
    /// For a test; `sink` gets the report.
    pub fn new(setup: Setup, module: Box<dyn Module>, sink: Sink) -> Flops {
        let settings = Settings {
            hold: usize::MAX,
            ..Settings::default()
        };
        Flops {
            setup,
            module,
            sink,
            channels: Channels::new(settings),
            peer: None,
            stage: Stage::Waiting,
            desk: Desk::default(),
            deadline: PATIENCE,
            scratch: Vec::new(),
            probes: [0; 2],
        }
    }

    fn tell(&mut self, now: Time, told: Told<'_>) {
        let mut bench = Bench {
            now,
            setup: self.setup,
            desk: &mut self.desk,
        };
        match told {
            Told::Start => self.module.start(&mut bench),
            Told::Message(xid, message) => self.module.message(&mut bench, xid, message),
            Told::Probe(arrival) => self.module.probe(&mut bench, arrival),
            Told::Timer(number) => self.module.timer(&mut bench, number),
            Told::Taken => self.module.taken(&mut bench),
        }
    }

    /// Sends what the module has written, and ends the test if it says so.
    fn settle(&mut self, now: Time, out: &mut Out) {
        loop {
            if let Some(peer) = self.peer
                && !self.desk.messages.is_empty()
            {
                self.channels.send(peer, &self.desk.messages);
                self.desk.messages.clear();
            }
            self.channels.flush(out);
            let idle = self
                .peer
                .is_none_or(|peer| self.channels.backlog(peer) == 0);
            if !(self.desk.watch && idle && self.stage == Stage::Running) {
                break;
            }
            self.desk.watch = false;
            self.tell(now, Told::Taken);
        }
        if self.desk.done && self.stage != Stage::Over {
            self.over();
        }
    }

    fn over(&mut self) {
        self.stage = Stage::Over;
        self.desk.streams.clear();
        self.desk.timers.clear();
        let mut report = self.module.report();
        report.test = self.module.name();
        report.faults.append(&mut self.desk.faults);
        (self.sink)(report);
    }

    fn fail(&mut self, what: alloc::string::String) {
        if self.stage != Stage::Over {
            self.desk.faults.push(what);
            self.over();
        }
    }

    fn batch(&mut self, now: Time, mut batch: crate::channel::Batch, out: &mut Out) {
        let mut channels =
            core::mem::replace(&mut self.channels, Channels::new(Settings::default()));
        while let Some(event) = batch.next(&mut channels) {
            match event {
                Event::Opened(peer) if self.peer.is_none() => {
                    self.peer = Some(peer);
                    Handshake::new(&[self.setup.version]).hello(0, &mut self.desk.messages);
                }
                // A switch has auxiliary connections, or somebody else dials: not ours.
                Event::Opened(_) => {}
                Event::Closed(peer, reason) => {
                    if self.peer == Some(peer) {
                        self.peer = None;
                        self.fail(format!("the switch is gone: {reason}"));
                    }
                }
                Event::Message(peer, bytes) if self.peer == Some(peer) => {
                    if self.stage == Stage::Waiting {
                        match Handshake::new(&[self.setup.version]).receive(bytes) {
                            Ok(Some((version, _))) => {
                                channels.agreed(peer, version.wire());
                                self.clear(now);
                            }
                            Ok(None) => {}
                            Err(failure) => self.fail(format!("{failure}")),
                        }
                        continue;
                    }
                    match decode(bytes) {
                        Ok((header, message)) => self.message(now, header.xid, &message),
                        Err(error) => self.desk.faults.push(format!("from the switch: {error}")),
                    }
                }
                Event::Message(..) => {}
            }
        }
        self.channels = channels;
        self.channels.finish(batch, out);
        self.settle(now, out);
    }

    /// Takes all entries away, so that each test begins alike.
    fn clear(&mut self, now: Time) {
        self.stage = Stage::Clearing;
        let (setup, desk) = (self.setup, &mut self.desk);
        let mut bench = Bench { now, setup, desk };
        bench.send(&Message::FeaturesRequest);
        bench.send(&Message::SetConfig(Config {
            flags: 0,
            miss_send_len: 0xffff,
        }));
        rules::delete_all(&mut bench);
        bench.send(&Message::BarrierRequest);
    }

    fn message(&mut self, now: Time, xid: u32, message: &Message<'_>) {
        match (self.stage, message) {
            (Stage::Clearing, Message::BarrierReply) => {
                self.stage = Stage::Running;
                self.desk.timer_start(now + SETTLE);
            }
            (Stage::Running, Message::Error(error)) => {
                let text = format!(
                    "the switch refused: error type {}, code {}",
                    error.kind, error.code
                );
                if self.desk.faults.len() < 20 {
                    self.desk.faults.push(text);
                }
                self.tell(now, Told::Message(xid, message));
            }
            (Stage::Running, _) => self.tell(now, Told::Message(xid, message)),
            _ => {}
        }
    }

    /// Sends the probes that are due, and says when the next one is.
    fn generate(&mut self, now: Time, out: &mut Out) {
        for (stream, sent) in &mut self.desk.streams {
            for _ in 0..BURST {
                let at = stream.start + stream.gap * *sent;
                if *sent >= stream.count || at > now {
                    break;
                }
                stream.write(*sent, &mut self.scratch);
                let mut frame = out.frame();
                frame.extend(&self.scratch);
                out.send_at(Port(GENERATE), at, frame);
                *sent += 1;
                self.probes[0] += 1;
            }
        }
    }
}

/// The number of the timer that starts the module.
const START: u64 = u64::MAX;

impl Desk {
    fn timer_start(&mut self, at: Time) {
        self.timers_set += 1;
        self.timers.insert((at, self.timers_set), START);
    }

    /// When the probe with this tag left.
    fn left(&self, tag: probe::Tag) -> Option<Time> {
        let found = self
            .streams
            .iter()
            .find(|(stream, _)| stream.number == tag.stream);
        let (stream, sent) = found?;
        (tag.number < *sent).then(|| stream.start + stream.gap * tag.number)
    }
}

impl Node for Flops {
    fn ports(&self) -> usize {
        3
    }

    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        if port == CONTROL {
            // What is measured is when a message came, not when this node's thread got round to it.
            let came = frame.arrived();
            let batch = self.channels.frame(now, port, frame);
            self.batch(came, batch, out);
            return;
        }
        if self.stage == Stage::Running
            && let Some(tag) = probe::read(&frame)
        {
            self.probes[1] += 1;
            let arrival = Arrival {
                channel: port.0,
                tag,
                left: self.desk.left(tag),
                at: frame.arrived(),
                frame: &frame,
            };
            self.tell(now, Told::Probe(&arrival));
            self.settle(now, out);
        }
        out.done(frame);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if self.stage == Stage::Over {
            return;
        }
        if self.stage == Stage::Waiting && now >= self.deadline {
            self.fail("no switch has connected in 20 s".into());
            return;
        }
        if self.channels.next_wake().is_some_and(|at| at <= now) {
            let batch = self.channels.wake(now);
            self.batch(now, batch, out);
        }
        while let Some((&(at, key), &number)) = self.desk.timers.first_key_value() {
            if at > now || self.stage == Stage::Over {
                break;
            }
            self.desk.timers.remove(&(at, key));
            let told = if number == START {
                Told::Start
            } else {
                Told::Timer(number)
            };
            self.tell(now, told);
            self.settle(now, out);
        }
        self.generate(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        if self.stage == Stage::Over {
            return None;
        }
        let timer = self.desk.timers.keys().next().map(|(at, _)| *at);
        let streams = self.desk.streams.iter();
        let next = streams
            .filter(|(stream, sent)| *sent < stream.count)
            .map(|(stream, sent)| stream.start + stream.gap * *sent)
            .min();
        let deadline = (self.stage == Stage::Waiting).then_some(self.deadline);
        let all = [timer, next, deadline, self.channels.next_wake()];
        all.into_iter().flatten().min()
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        visit("probes sent", self.probes[0]);
        visit("probes received", self.probes[1]);
    }
}
