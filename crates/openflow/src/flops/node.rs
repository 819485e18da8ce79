//! The node that runs a module.

use super::bench::{Agent, Bench, Requests, Value};
use super::probe::{self, Arrival};
use super::report::Report;
use super::{Module, SETTLE, Setup, rules};
use crate::channel::{Channels, Event, Peer, Settings};
use crate::handshake::Handshake;
use crate::message::{Config, Message, decode};
use ::node::{Frame, Node, Out, Port, Time};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::Properties;
use node::Statistics;

/// The port of the control channel.
pub const CONTROL: Port = Port(0);
/// The data channel by which probes leave.
pub const GENERATE: u16 = 1;
/// The data channel at which they arrive.
pub const CAPTURE: u16 = 2;
/// The ends of the cable, if there is one: where probes leave, and where they arrive.
pub const CABLE: [u16; 2] = [3, 4];

/// Probes written in one wake, at most.
const BURST: usize = 256;
/// Interval between two polls for answers of the agent.
const POLL_INTERVAL: Time = Time::from_ms(1);
/// Timeout until the switch has connected.
const CONNECT_TIMEOUT: Time = Time::from_secs(20);

/// Takes the report of each test when it is over.
pub type Sink = Box<dyn FnMut(Report) + Send>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The switch is not there yet.
    Waiting,
    /// Hellos were exchanged; the switch is being cleared.
    Clearing,
    /// The module is at work.
    Running,
    /// All reports are given.
    Over,
}

/// Runs [`Module`]s, one after another. Port 0 is the control channel, 1 and 2 are the data channels.
pub struct Flops {
    setup: Setup,
    /// The one under way, and those behind it.
    modules: VecDeque<Box<dyn Module>>,
    sink: Sink,
    channels: Channels,
    peer: Option<Peer>,
    stage: Stage,
    requests: Requests,
    deadline: Time,
    /// The barrier behind which the switch has no entries.
    cleared: u32,
    agent: Option<Box<dyn Agent>>,
    /// Questions without an answer, and when the agent is looked at again.
    questions: usize,
    look: Time,
    scratch: Vec<u8>,
    probes: [u64; 2],
}

/// What a module is told.
enum Notification<'a> {
    Start,
    Message(u32, &'a Message<'a>),
    Probe(&'a Arrival<'a>),
    Timer(u64),
    Taken,
    Value(Value),
}

impl Flops {
    /// For these tests; `sink` gets the report of each.
    pub fn new(
        setup: Setup,
        modules: impl IntoIterator<Item = Box<dyn Module>>,
        sink: Sink,
    ) -> Flops {
        let settings = Settings {
            hold: usize::MAX,
            ..Settings::default()
        };
        Flops {
            setup,
            modules: modules.into_iter().collect(),
            sink,
            channels: Channels::new(settings),
            peer: None,
            stage: Stage::Waiting,
            requests: Requests::default(),
            deadline: CONNECT_TIMEOUT,
            cleared: 0,
            agent: None,
            questions: 0,
            look: Time::ZERO,
            scratch: Vec::new(),
            probes: [0; 2],
        }
    }

    /// With somebody who answers what modules ask.
    pub fn with_agent(mut self, agent: Box<dyn Agent>) -> Flops {
        self.agent = Some(agent);
        self
    }

    /// Passes questions on, and what was answered.
    fn consult(&mut self, now: Time) {
        let Some(agent) = &mut self.agent else {
            self.requests.questions.clear();
            return;
        };
        for name in self.requests.questions.drain(..) {
            agent.ask(&name);
            self.questions += 1;
        }
        while let Some(value) = self.agent.as_mut().and_then(|agent| agent.take()) {
            self.questions = self.questions.saturating_sub(1);
            if self.stage == Stage::Running {
                self.notify(now, Notification::Value(value));
            }
        }
        self.look = now + POLL_INTERVAL;
    }

    fn notify(&mut self, now: Time, notification: Notification<'_>) {
        let mut bench = Bench {
            now,
            setup: self.setup,
            requests: &mut self.requests,
        };
        let Some(module) = self.modules.front_mut() else {
            return;
        };
        match notification {
            Notification::Start => module.start(&mut bench),
            Notification::Message(xid, message) => module.message(&mut bench, xid, message),
            Notification::Probe(arrival) => module.probe(&mut bench, arrival),
            Notification::Timer(number) => module.timer(&mut bench, number),
            Notification::Taken => module.taken(&mut bench),
            Notification::Value(value) => module.value(&mut bench, value),
        }
    }

    /// Sends what the module has written, and ends the test if it says so.
    fn settle(&mut self, now: Time, out: &mut Out) {
        loop {
            if let Some(peer) = self.peer
                && !self.requests.messages.is_empty()
            {
                self.channels.send(peer, &self.requests.messages);
                self.requests.messages.clear();
            }
            self.channels.flush(out);
            let idle = self
                .peer
                .is_none_or(|peer| self.channels.backlog(peer) == 0);
            if !(self.requests.watch && idle && self.stage == Stage::Running) {
                break;
            }
            self.requests.watch = false;
            self.notify(now, Notification::Taken);
        }
        if self.requests.done && self.stage == Stage::Running {
            self.over();
            if self.modules.is_empty() {
                self.stage = Stage::Over;
            } else {
                self.clear(now);
                self.settle(now, out);
            }
        }
    }

    /// Gives the report of the test under way; the next one begins where it ended.
    fn over(&mut self) {
        self.requests.streams.clear();
        self.requests.timers.clear();
        (self.requests.done, self.requests.watch) = (false, false);
        let Some(mut module) = self.modules.pop_front() else {
            return;
        };
        let mut report = module.report();
        report.test = module.name().into();
        report.version = Some(self.setup.version);
        report.faults.append(&mut self.requests.faults);
        (self.sink)(report);
    }

    /// Ends this test and those that were to come.
    fn fail(&mut self, what: String) {
        while !self.modules.is_empty() {
            self.requests.faults.push(what.clone());
            self.over();
        }
        self.stage = Stage::Over;
    }

    fn batch(&mut self, now: Time, mut batch: crate::channel::Batch, out: &mut Out) {
        let mut channels =
            core::mem::replace(&mut self.channels, Channels::new(Settings::default()));
        while let Some(event) = batch.next(&mut channels) {
            match event {
                Event::Opened(peer) if self.peer.is_none() => {
                    self.peer = Some(peer);
                    Handshake::new(&[self.setup.version]).hello(0, &mut self.requests.messages);
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
                        Err(error) => self
                            .requests
                            .faults
                            .push(format!("from the switch: {error}")),
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
        let (setup, requests) = (self.setup, &mut self.requests);
        let mut bench = Bench {
            now,
            setup,
            requests,
        };
        bench.send(&Message::FeaturesRequest);
        bench.send(&Message::SetConfig(Config {
            flags: 0,
            miss_send_len: 0xffff,
        }));
        rules::delete_all(&mut bench);
        self.cleared = bench.send(&Message::BarrierRequest);
    }

    fn message(&mut self, now: Time, xid: u32, message: &Message<'_>) {
        match (self.stage, message) {
            (Stage::Clearing, Message::BarrierReply) if xid == self.cleared => {
                self.stage = Stage::Running;
                self.requests.timer_start(now + SETTLE);
            }
            (Stage::Running, Message::Error(error)) => {
                let module = self.modules.front();
                if !module.is_some_and(|module| module.measures_refusals())
                    && self.requests.faults.len() < 20
                {
                    self.requests.faults.push(format!(
                        "the switch refused: error type {}, code {}",
                        error.kind, error.code
                    ));
                }
                self.notify(now, Notification::Message(xid, message));
            }
            (Stage::Running, _) => self.notify(now, Notification::Message(xid, message)),
            _ => {}
        }
    }

    /// Sends the probes that are due, and says when the next one is.
    fn generate(&mut self, now: Time, out: &mut Out) {
        for (stream, sent) in &mut self.requests.streams {
            for _ in 0..BURST {
                let at = stream.start + stream.gap * *sent;
                if *sent >= stream.count || at > now {
                    break;
                }
                stream.write(*sent, &mut self.scratch);
                let mut frame = out.frame();
                frame.extend(&self.scratch);
                let port = match stream.by_cable {
                    true => CABLE[0],
                    false => GENERATE,
                };
                out.send_at(Port(port), at, frame);
                *sent += 1;
                self.probes[0] += 1;
            }
        }
    }
}

/// The number of the timer that starts the module.
const START: u64 = u64::MAX;

impl Requests {
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

impl Flops {
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
                left: self.requests.left(tag),
                at: frame.arrived(),
                frame: &frame,
            };
            self.notify(now, Notification::Probe(&arrival));
            self.settle(now, out);
        }
        out.done(frame);
    }
}

impl Node for Flops {
    fn properties(&self) -> Properties {
        Properties::of(if self.setup.cable { 5 } else { 3 })
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
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
        while let Some((&(at, key), &number)) = self.requests.timers.first_key_value() {
            if at > now || self.stage == Stage::Over {
                break;
            }
            self.requests.timers.remove(&(at, key));
            let notification = if number == START {
                Notification::Start
            } else {
                Notification::Timer(number)
            };
            self.notify(now, notification);
            self.settle(now, out);
        }
        if !self.requests.questions.is_empty() || self.questions > 0 && self.look <= now {
            self.consult(now);
            self.settle(now, out);
        }
        self.generate(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        if self.stage == Stage::Over {
            return None;
        }
        let timer = self.requests.timers.keys().next().map(|(at, _)| *at);
        let streams = self.requests.streams.iter();
        let next = streams
            .filter(|(stream, sent)| *sent < stream.count)
            .map(|(stream, sent)| stream.start + stream.gap * *sent)
            .min();
        let deadline = (self.stage == Stage::Waiting).then_some(self.deadline);
        let look = (self.questions > 0).then_some(self.look);
        let all = [timer, next, deadline, look, self.channels.next_wake()];
        all.into_iter().flatten().min()
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("probes sent", self.probes[0]),
            ("probes received", self.probes[1]),
        ])
    }
}
