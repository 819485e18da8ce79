//! Makes probe trains of applications' packets, and takes them out at the far end: MinProbe's middlebox (paper 002 section 4.4.3).
//!
//! - **Ports:** 2: applications at 0, the network at 1.
//! - **Parameters:** `mode`, `modulate`: makes trains of what goes out by port 1; `extract`: stamps probes that come in by it; `forward`: neither. `flows`, none: which packets are
//!   probes, see [`Flow`]. `trains`, (20, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms); `gaps`, none: idle characters between packets in place of rates. `timeout`, 1 ms: when the oldest packet
//!   has waited so long, the train is made up with dummies; `dummy_size`, 792: their bytes with FCS. `method`, none: by which available bandwidth is estimated from what the far end says;
//!   `capacity`, 10 Gb/s, as of a [prober](super::prober). `replies`, true: whether the far end says it. `latency`, 4 us: how long all that passes takes;
//!   `longest`, 1518: bytes of the longest frame with FCS; `rate`, 10 Gb/s: of both ports. `room`, 10000: packets that may be held. `port`, 49153: the UDP port of dummies and replies; `session`, 0: whose they
//!   are; `listen`, 100 ms: a reply that takes longer is lost; `commands`, none: see [`Timed`]; `seed`, 0: for gaps that are drawn.
//! - **Counters:** `passed`; of modulation `probes`, `dummies`, `trains`, `short`: trains that could not be made up, `displaced`: packets that made way for what passes, `released`: that no train of a sample took, `held`: now; `added_mean_ns` and `added_most_ns`: what the application's
//!   packets waited beside the latency; `replies`, `lost`, `stray`, `answers`, `no_answers`, `available_bps`; of extraction `extracted`, `removed`: dummies; `refused`: commands.
//! - **Drops:** `too many held`, `dummy removed`.
//!
//! What is of no flow leaves exactly `latency` behind its first bit's arrival, so that gaps stay what they were to the bit, and trains make way for it: a packet of a train leaves later where something passes, and the gap that was sent is the
//! one that the estimator sees. Between samples packets of the flows pass too, those first that are held. A packet is known again at the far end by its contents, which must not change on the way (no NAT; on live ports no segmentation offload).

mod command;
mod flow;
mod frames;
mod pace;
mod train;

pub use command::{Command, CommandError, Mode};
pub use flow::{Flow, FlowError, FlowTable};
pub use frames::print;

use super::estimate::Method;
use super::message::Message;
use super::sample::{Estimate, Sample, Tell};
use crate::train::{Rates, Trains, wire_bits};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Rate, Statistics, Time, link};
use pace::Pace;
use train::Maker;

const INSIDE: Port = Port(0);
const OUTSIDE: Port = Port(1);
/// Maximum number of gaps that are kept for the controller.
const MAX_GAPS: usize = 10_000;
/// Interval between two polls for commands.
const CONTROL_POLL_INTERVAL: Time = Time::from_ms(5);

/// A command at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Timed {
    /// When.
    pub at: Time,
    /// The command, such as `set_mode forward`.
    pub run: String,
}

/// What a middlebox is made from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    pub mode: Mode,
    pub flows: Vec<Flow>,
    pub trains: Trains,
    pub gaps: Vec<u32>,
    pub timeout: Time,
    pub dummy_size: u16,
    pub method: Option<Method>,
    pub capacity: Rate,
    pub replies: bool,
    pub latency: Time,
    pub longest: u16,
    pub rate: Rate,
    pub room: usize,
    pub port: u16,
    pub session: u16,
    pub listen: Time,
    pub commands: Vec<Timed>,
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mode: Mode::Modulate,
            flows: Vec::new(),
            trains: Trains::MINPROBE,
            gaps: Vec::new(),
            timeout: Time::from_ms(1),
            dummy_size: 792,
            method: None,
            capacity: Rate::TEN_GIGABIT,
            replies: true,
            latency: Time::from_us(4),
            longest: 1518,
            rate: Rate::TEN_GIGABIT,
            room: 10_000,
            port: super::PORT,
            session: 0,
            listen: Time::from_ms(100),
            commands: Vec::new(),
            seed: 0,
        }
    }
}

/// Who gives commands while it works.
pub trait Control: Send {
    /// The next command, if there is one.
    fn next(&mut self) -> Option<String>;
    /// What came of it: its lines, or why it is refused.
    fn answer(&mut self, answer: Result<String, CommandError>);
}

/// Is told the [print] of each packet of its flows that leaves, whose session it is, and its number: of those that are in no train, that of the last one that was.
pub type Mark = dyn FnMut(u32, u16, u64) + Send;

pub struct Middlebox {
    config: Config,
    flows: FlowTable,
    /// Commands that are still to come, the next one last.
    commands: Vec<Timed>,
    control: Option<Box<dyn Control>>,
    looked: Time,
    /// What leaves by each port.
    paces: [Pace; 2],
    maker: Maker,
    sample: Option<Sample>,
    tell: Box<Tell>,
    mark: Box<Mark>,
    /// Replies of this middlebox that wait for room.
    replies: VecDeque<Frame>,
    /// When the last probe came and was over, and gaps between probes in idle characters.
    last: Option<Time>,
    gaps: VecDeque<u64>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    passed: u64,
    extracted: u64,
    removed: u64,
    replies: u64,
    stray: u64,
    lost: u64,
    answers: u64,
    no_answers: u64,
    sum: f64,
    refused: u64,
}

impl Middlebox {
    /// A middlebox; who is told of estimates, and of each probe that leaves.
    ///
    /// # Errors
    /// When trains cannot be sent, a command makes no sense, or the longest frame takes longer than half of the latency.
    pub fn new(
        mut config: Config,
        tell: Box<Tell>,
        mark: Box<Mark>,
    ) -> Result<Middlebox, ConfigError> {
        let trains = config.trains.checked()?;
        if trains.rates == Rates::Adaptive {
            let reason = "a middlebox sends rates that are named: a sweep, or one";
            return Err(ConfigError::new("trains", reason));
        }
        for timed in &config.commands {
            let command = timed.run.parse::<Command>();
            command.map_err(|error| ConfigError::new("commands", error.to_string()))?;
        }
        let gaps: Vec<String> = config.gaps.iter().map(u32::to_string).collect();
        format!("set_gap {}", gaps.join(","))
            .parse::<Command>()
            .map_err(|error| ConfigError::new("gaps", error.to_string()))?;
        if !(64..=config.longest.max(64)).contains(&config.dummy_size) {
            let reason = "a dummy has 64 bytes to as many as `longest`";
            return Err(ConfigError::new("dummy_size", reason));
        }
        if config.timeout == Time::ZERO {
            return Err(ConfigError::new("timeout", "it is longer than nothing"));
        }
        let longest = usize::from(config.longest).saturating_sub(link::FCS);
        let pace = |port| {
            Pace::new(port, config.rate, config.latency, longest).ok_or_else(|| {
                let reason = "it is at least twice as long as the longest frame takes at this rate: what passes leaves a constant time behind the arrival of its first bit, and a packet of a train needs as much room before it";
                ConfigError::new("latency", reason)
            })
        };
        let mut flows = FlowTable::default();
        for flow in &config.flows {
            if !flows.add(*flow) {
                return Err(ConfigError::new("flows", CommandError::Full.to_string()));
            }
        }
        let mut commands = core::mem::take(&mut config.commands);
        commands.sort_by_key(|timed| core::cmp::Reverse(timed.at));
        let bits = wire_bits(usize::from(config.dummy_size).saturating_sub(link::FCS));
        Ok(Middlebox {
            paces: [pace(INSIDE)?, pace(OUTSIDE)?],
            maker: Maker::new(&config)
                .ok_or_else(|| ConfigError::new("trains", "there is no first rate"))?,
            sample: config
                .method
                .map(|method| Sample::new(method, config.session, config.capacity, bits)),
            flows,
            commands,
            control: None,
            looked: Time::ZERO,
            tell,
            mark,
            replies: VecDeque::new(),
            last: None,
            gaps: VecDeque::new(),
            counters: Counters::default(),
            config,
        })
    }

    /// The same, with somebody who gives commands.
    #[must_use]
    pub fn with_control(self, control: Box<dyn Control>) -> Middlebox {
        Middlebox {
            control: Some(control),
            ..self
        }
    }

    /// Carries out a command; says what it answers.
    ///
    /// # Errors
    /// When there is no room for a flow, or it is not there.
    pub fn command(&mut self, command: Command) -> Result<String, CommandError> {
        fn lines(lines: impl Iterator<Item = String>) -> String {
            lines.map(|line| line + "\n").collect()
        }
        match command {
            Command::SetMode(mode) => self.config.mode = mode,
            Command::SetGap(gaps) => self.maker.set_gaps(gaps),
            Command::FlowAdd(flow) if !self.flows.add(flow) => return Err(CommandError::Full),
            Command::FlowRemove(flow) if !self.flows.remove(&flow) => {
                return Err(CommandError::NoFlow);
            }
            Command::FlowAdd(_) | Command::FlowRemove(_) => {}
            Command::Flows => return Ok(lines(self.flows.iter().map(ToString::to_string))),
            Command::Gaps => return Ok(lines(self.gaps.iter().map(ToString::to_string))),
            Command::Counters => {
                let statistics = self.statistics();
                let counters = statistics.counters.iter();
                return Ok(lines(
                    counters.map(|(name, value)| format!("{name} {value}")),
                ));
            }
        }
        Ok(String::new())
    }

    /// Carries out what is due.
    fn obey(&mut self, now: Time) {
        while let Some(timed) = self.commands.pop_if(|timed| timed.at <= now) {
            let done = timed.run.parse().and_then(|command| self.command(command));
            self.counters.refused += u64::from(done.is_err());
        }
        let Some(mut control) = self.control.take() else {
            return;
        };
        if now >= self.looked + CONTROL_POLL_INTERVAL {
            self.looked = now;
            while let Some(text) = control.next() {
                let done = text.parse().and_then(|command| self.command(command));
                self.counters.refused += u64::from(done.is_err());
                control.answer(done);
            }
        }
        self.control = Some(control);
    }

    /// A frame of an application.
    fn inside(&mut self, now: Time, frame: Frame, out: &mut Out) {
        let is_own = self.config.mode == Mode::Modulate && self.flows.matches(&frame);
        if !is_own || !self.maker.wants(now) {
            if is_own && let Some((print, number)) = self.maker.beside(&frame) {
                (self.mark)(print, self.config.session, number);
            }
            self.counters.passed += 1;
            return self.paces[1].pass(frame);
        }
        if let Err(frame) = self.maker.hold(now, frame) {
            out.drop(frame, "too many held");
        }
    }

    /// A frame of the network.
    fn outside(&mut self, now: Time, frame: Frame, out: &mut Out) {
        let message = Message::of_frame(&frame).filter(|it| it.session == self.config.session);
        match (self.config.mode, message) {
            // Replies come also when it modulates no more.
            (Mode::Modulate | Mode::Forward, Some(message)) if message.came.is_some() => {
                self.reply(now, message);
                return out.done(frame);
            }
            (Mode::Extract, None) if self.flows.matches(&frame) => self.extract(&frame, out),
            (Mode::Extract, Some(message)) if message.came.is_none() => {
                self.extract(&frame, out);
                self.counters.removed += 1;
                return out.drop(frame, "dummy removed");
            }
            _ => {}
        }
        self.counters.passed += 1;
        self.paces[0].pass(frame);
    }

    /// Stamps a probe, and tells.
    fn extract(&mut self, frame: &Frame, out: &mut Out) {
        self.counters.extracted += 1;
        let (came, rate) = (frame.arrived(), self.config.rate);
        if let Some(over) = self.last {
            let bits = (came - over).as_secs_f64() * rate.bits_per_second() as f64;
            if self.gaps.len() == MAX_GAPS {
                self.gaps.pop_front();
            }
            self.gaps.push_back((bits / 8.0 + 0.5) as u64);
        }
        // Behind it come idle characters, of which the least gap are some.
        let bits = wire_bits(frame.len()) - 8 * link::GAP as u64;
        self.last = Some(came + rate.time_of(bits, 0).0);
        if !self.config.replies {
            return;
        }
        let Some(sequence) = print(frame) else {
            return;
        };
        let message = Message {
            session: self.config.session,
            sequence,
            came: Some(came),
        };
        let mut bytes = Vec::new();
        if frames::reply(frame, message, self.config.port, &mut bytes).is_some() {
            let mut reply = out.frame();
            reply.extend(&bytes);
            self.replies.push_back(reply);
        }
    }

    fn reply(&mut self, now: Time, message: Message) {
        match self.maker.came(message) {
            true => self.counters.replies += 1,
            false => self.counters.stray += 1,
        }
        self.judge(now);
    }

    /// Judges trains whose replies are all there, or are not waited for any more.
    fn judge(&mut self, now: Time) {
        while let Some(train) = self.maker.judge(now) {
            self.counters.lost += train.observed().lost() as u64;
            if let Some(sample) = &mut self.sample {
                sample.see(now, &train.observed(), train.first, train.dummy_bits);
                if train.is_last
                    && let Some(estimate) = sample.end(now)
                {
                    self.answer(estimate);
                }
            }
        }
    }

    fn answer(&mut self, estimate: Estimate) {
        match estimate.answer.estimate {
            Some(interval) => {
                self.counters.answers += 1;
                self.counters.sum += interval.value;
            }
            None => self.counters.no_answers += 1,
        }
        (self.tell)(estimate);
    }

    /// Gives the world what is certain.
    fn give(&mut self, now: Time, out: &mut Out) {
        self.paces[0].place(now, None, out);
        loop {
            let reply = self.replies.front().map(|reply| (now, reply.len()));
            let own = reply.or_else(|| self.maker.next(now, out));
            let Some(at) = self.paces[1].place(now, own, out) else {
                return;
            };
            let frame = match self.replies.pop_front() {
                Some(reply) => reply,
                None => {
                    let Some((frame, probe)) = self.maker.leave(at) else {
                        return;
                    };
                    if let Some((print, number)) = probe {
                        (self.mark)(print, self.config.session, number);
                    }
                    frame
                }
            };
            out.send_at(OUTSIDE, at, frame);
        }
    }
}

impl Node for Middlebox {
    fn properties(&self) -> Properties {
        Properties {
            endless: self.control.as_ref().map(|_| "waits for commands"),
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.obey(now);
        for frame in frames.drain(..) {
            match port {
                INSIDE => self.inside(now, frame, out),
                _ => self.outside(now, frame, out),
            }
            self.give(now, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.obey(now);
        self.judge(now);
        self.give(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        let reply = self.replies.front().map(|reply| (self.looked, reply.len()));
        let own = reply.or_else(|| self.maker.planned());
        let own = own.map(|own| self.paces[1].wake_for(own.0, own));
        let control = self
            .control
            .as_ref()
            .map(|_| self.looked + CONTROL_POLL_INTERVAL);
        let command = self.commands.last().map(|timed| timed.at);
        let maker = self.maker.next_wake();
        [own, control, command, maker].into_iter().flatten().min()
    }

    fn statistics(&self) -> Statistics {
        let counters = &self.counters;
        let mean = counters.sum / counters.answers.max(1) as f64;
        let mut statistics = Statistics::default();
        let mut count = |name, value| statistics.counter(name, value);
        count("passed", counters.passed);
        self.maker.count(&mut count);
        for (name, value) in [
            ("replies", counters.replies),
            ("lost", counters.lost),
            ("stray", counters.stray),
            ("answers", counters.answers),
            ("no_answers", counters.no_answers),
            ("available_bps", mean as u64),
            ("extracted", counters.extracted),
            ("removed", counters.removed),
            ("refused", counters.refused),
        ] {
            count(name, value);
        }
        statistics
    }
}

#[cfg(test)]
mod tests;
