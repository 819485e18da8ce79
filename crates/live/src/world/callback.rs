//! A program in any language as a node: packets on its standard input, answers on its standard output (the callbacks of paper 004
//! section 4.2).
//!
//! Each packet is a line ([`packet::line`], without timestamp: the first field is the destination) or, with [`Config::raw`], a record
//! ([`packet::record`]). For each the program gives one answer, in the order of the packets; it may read many before it does:
//!
//! | answer | as a line | as a record |
//! |---|---|---|
//! | THROUGH: the packet goes on as it came | the same line, or `through` | the same frame |
//! | MODIFY: it goes on like this | another line | another frame |
//! | DROP | `drop`, or an empty line | a header of length 0 |
//! | another packet, ahead of the answer to the next | `+` and its line | a record whose timestamp word is 0 |
//!
//! A line that begins with `#` is no answer. What came by port 0 leaves by port 1, and the other way round; so does what is sent beside it.
//!
//! What the program writes must get out, and what it reads must get in: most programs do either in blocks unless they speak to a
//! terminal. So lines go by a pseudo-terminal, in raw mode, and unchanged sed, grep, Python and every awk answer each packet at once.
//! A pipe is four to ten times as fast; it serves where the command's own text says that it flushes ([`Io::of`]), and for records.
//!
//! **When there is no answer.** A packet that has waited for [`Config::patience`], that finds 4,096 packets or 4 MiB ahead of it,
//! or no program, goes on unchanged or is dropped, as [`Config::open`] says. An answer that comes later than that is read and
//! forgotten, so that the others still fit their packets. A program that ends is started again, a second after its last
//! start at the soonest; so is one whose records are out of step.

mod answer;
mod idle;
mod metadata;
pub mod pipe;
mod program;

pub use metadata::Metadata;

use answer::{Answer, Answers};
use metadata::Lines;
use node::event::Event;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::line::Form;
use packet::{Packet, Stamp, Tick, line, record};
use program::{Program, Setting};
use std::collections::VecDeque;
use std::fmt::Arguments;
use std::io::{self, Write};
use std::path::PathBuf;

/// Maximum number of packets that the program has not answered yet.
const MAX_PENDING_PACKETS: usize = 4096;
/// Maximum number of bytes that the program has not read yet.
const MAX_UNREAD_BYTES: usize = 4 << 20;
/// Delay before a program is started again.
const AGAIN: Time = Time::from_secs(1);
/// Interval at which a program without pending packets is polled.
const IDLE: Time = Time::from_ms(10);

/// The program and its protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The command line, for `sh -c`.
    pub command: String,
    /// Records instead of lines.
    pub raw: bool,
    /// Whether packets without an answer go on as they came; else they are dropped.
    pub open: bool,
    /// How long an answer may take. Default 1 s.
    pub patience: Time,
    /// What the program's standard input and output are.
    pub io: Io,
    /// What it is told in lines that begin with `#`, see [`Metadata`]; not with records. Default nothing.
    pub metadata: Vec<Metadata>,
    /// How old what it is told of queues and interfaces may be. Default 1 ms.
    pub age: Time,
    /// How often it is told the time though no packet comes, so that it may send some of its own. Default never.
    pub wake: Option<Time>,
    /// The folder that it is in. Default ours.
    pub folder: Option<PathBuf>,
    /// In simulated time: each packet's answer is waited for, and took [`Config::cost`]. Default no.
    pub simulated: bool,
    /// What an answer takes, in simulated time. Default nothing.
    pub cost: Time,
}

/// What a program's standard input and output are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// A pseudo-terminal: programs read and write by the line.
    Terminal,
    /// Pipes: several times as fast, for programs that flush what they write and do not wait for a full block of input.
    Pipes,
}

impl Io {
    /// Pipes where a command shows that its author has seen to flushing, as in `fflush()`, `flush=True`, `sed -u`; else a terminal.
    pub fn of(command: &str) -> Io {
        const FLUSHES: [&str; 7] = [
            "flush",
            "buffered", // --line-buffered, --unbuffered, PYTHONUNBUFFERED
            "stdbuf",
            "sed -u",
            "python -u",
            "python3 -u",
            "-W interactive",
        ];
        match FLUSHES.iter().any(|sign| command.contains(sign)) {
            true => Io::Pipes,
            false => Io::Terminal,
        }
    }
}

impl std::str::FromStr for Io {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Io, &'static str> {
        match text {
            "terminal" => Ok(Io::Terminal),
            "pipes" => Ok(Io::Pipes),
            _ => Err("it is terminal or pipes"),
        }
    }
}

impl Config {
    /// A command that speaks lines.
    pub fn new(command: &str) -> Config {
        Config {
            command: command.into(),
            raw: false,
            open: false,
            patience: Time::from_secs(1),
            io: Io::of(command),
            metadata: Vec::new(),
            age: Time::from_ms(1),
            wake: None,
            folder: None,
            simulated: false,
            cost: Time::ZERO,
        }
    }
}

/// The node. See the [module](self).
pub struct Callback {
    config: Config,
    program: Option<Program>,
    /// When the program may be started next.
    start: Time,
    /// Packets that it owes an answer for.
    asked: VecDeque<Asked>,
    answers: Answers,
    metadata: Lines,
    /// When it is told the time next.
    wake: Time,
    /// The latest time that was told.
    now: Time,
    /// When it is looked for answers next.
    look: Time,
    counts: Counts,
}

/// A packet, until it is answered.
struct Asked {
    /// `None` once it has been given up.
    frame: Option<Frame>,
    port: Port,
    since: Time,
}

#[derive(Default)]
struct Counts {
    packets: u64,
    through: u64,
    modified: u64,
    injected: u64,
    unanswered: u64,
    late: u64,
    unasked: u64,
    starts: u64,
}

const ENDED: &str = "the program has ended";
const STALLED: &str = "no answer in time";
const STALLED_RAW: &str = "no answer in time; does the program flush what it writes?";
const STALLED_PIPES: &str =
    "no answer in time; does the program flush what it writes? (else --io terminal)";
const FULL: &str = "too many wait for an answer";
const WRONG: &str = "an answer that is no packet";

impl Callback {
    /// A node whose program is started with the first call.
    pub fn new(config: Config) -> Callback {
        Callback {
            answers: Answers::new(config.raw),
            metadata: Lines::new(if config.raw { &[] } else { &config.metadata }),
            wake: Time::ZERO,
            config,
            program: None,
            start: Time::ZERO,
            asked: VecDeque::new(),
            now: Time::ZERO,
            look: Time::ZERO,
            counts: Counts::default(),
        }
    }

    /// What becomes of a packet without an answer.
    fn give_up(&mut self, frame: Frame, port: Port, reason: &'static str, out: &mut Out) {
        self.counts.unanswered += 1;
        match self.config.open {
            true => self.send(port, frame, out),
            false => out.drop(frame, reason),
        }
    }

    /// Sends what came by `port` on.
    fn send(&self, port: Port, frame: Frame, out: &mut Out) {
        let far = Port(1 - port.0.min(1));
        match self.config.simulated && self.config.cost > Time::ZERO {
            true => out.send_at(far, self.now + self.config.cost, frame),
            false => out.send(far, frame),
        }
    }

    /// Has the program running, if it may be.
    fn attend(&mut self, now: Time, out: &mut Out) {
        if self.program.is_none() && now >= self.start {
            self.start = now + AGAIN;
            self.counts.starts += 1;
            // Records end at no newline, so a terminal would not make programs write them.
            let terminal = self.config.io == Io::Terminal && !self.config.raw;
            let setting = Setting {
                terminal,
                folder: self.config.folder.clone(),
                settles: self.config.simulated,
            };
            match Program::start(&self.config.command, &setting) {
                Ok(program) => {
                    self.metadata.begin();
                    self.program = Some(program);
                }
                Err(error) => say(format_args!("{}: {error}", self.config.command)),
            }
        }
        let Some(program) = &mut self.program else {
            return;
        };
        let alive = match self.config.simulated {
            true => {
                let settled = program.settle(&mut self.answers, self.config.patience.as_ns());
                settled.unwrap_or(true)
            }
            false => {
                program.write();
                program.read(&mut self.answers)
            }
        };
        let fits = self.take_answers(out);
        if alive && fits {
            return;
        }
        let how = match fits {
            true => self.program.take().map(Program::end),
            false => {
                drop(self.program.take());
                Some("its records are out of step".into())
            }
        };
        let meanwhile = match self.config.open {
            true => "pass",
            false => "are dropped",
        };
        say(format_args!(
            "{}: {}; packets {meanwhile} until it runs again",
            self.config.command,
            how.unwrap_or_default(),
        ));
        self.answers = Answers::new(self.config.raw);
        while let Some(asked) = self.asked.pop_front() {
            if let Some(frame) = asked.frame {
                self.give_up(frame, asked.port, ENDED, out);
            }
        }
    }

    /// Does what the answers say; whether they are in step.
    fn take_answers(&mut self, out: &mut Out) -> bool {
        loop {
            let answer = match self.answers.next() {
                Answer::None => return true,
                Answer::OutOfStep => return false,
                Answer::Beside(by) => {
                    // Beside the packet that is answered next, or away from here if nobody waits.
                    let port = self.asked.front().map_or(Port(0), |asked| asked.port);
                    let port = by.map_or(port, |by| Port(1 - by.0.min(1)));
                    let mut frame = out.frame();
                    frame.extend(self.answers.packet());
                    frame.set_arrived(self.now);
                    self.counts.injected += 1;
                    self.send(port, frame, out);
                    continue;
                }
                answer => answer,
            };
            let Some(Asked { frame, port, .. }) = self.asked.pop_front() else {
                self.counts.unasked += 1;
                continue;
            };
            let Some(mut frame) = frame else {
                self.counts.late += 1;
                continue;
            };
            match answer {
                Answer::Drop => out.drop(frame, "dropped by the program"),
                Answer::Wrong => self.give_up(frame, port, WRONG, out),
                Answer::Packet if *self.answers.packet() != *frame => {
                    let packet = self.answers.packet();
                    frame.resize(packet.len());
                    frame.copy_from_slice(packet);
                    self.counts.modified += 1;
                    self.send(port, frame, out);
                }
                _ => {
                    self.counts.through += 1;
                    self.send(port, frame, out);
                }
            }
        }
    }

    /// Gives up what has waited too long.
    fn lose_patience(&mut self, now: Time, out: &mut Out) {
        let reason = match (self.config.raw, self.config.io) {
            (true, _) => STALLED_RAW,
            (_, Io::Pipes) => STALLED_PIPES,
            (_, Io::Terminal) => STALLED,
        };
        // In simulated time what has not answered by now will not.
        let patience = match self.config.simulated {
            true => Time::ZERO,
            false => self.config.patience,
        };
        let limit = now - patience.min(now) + Time::from_ps(self.config.simulated.into());
        let old = |asked: &Asked| asked.since < limit && now >= patience;
        let first = self.asked.iter().position(|asked| asked.frame.is_some());
        let Some(first) = first.filter(|&first| old(&self.asked[first])) else {
            return;
        };
        for place in first..self.asked.len() {
            let asked = &mut self.asked[place];
            if asked.since >= limit {
                break;
            }
            let port = asked.port;
            if let Some(frame) = asked.frame.take() {
                self.give_up(frame, port, reason, out);
            }
        }
    }

    /// When to look next: soon after a question, and the later the longer it stands.
    fn plan(&mut self, now: Time) {
        let waiting = self.asked.iter().find(|asked| asked.frame.is_some());
        if self.config.simulated {
            self.look = self.wake;
            return;
        }
        self.look = match waiting {
            Some(asked) => {
                let pause = (now - asked.since.min(now)).as_ns() / 8;
                now + Time::from_ns(pause.clamp(20_000, 1_000_000))
            }
            None => now + IDLE,
        };
    }
}

/// Writes a packet down for a program: as a line of a form, or as a record.
fn give(
    frame: &[u8],
    word: u64,
    form: Option<Form>,
    unread: &mut Vec<u8>,
) -> Result<(), packet::BadLength> {
    let packet = Packet {
        stamp: Some(Stamp::Word(word)),
        hash: None,
        bytes: frame,
    };
    match form {
        Some(form) => line::encode(&packet, form, unread),
        None => record::encode(&packet, unread),
    }
}

/// Says something on standard error; if that is on a full disk, packets go on all the same.
fn say(text: Arguments<'_>) {
    let _ = io::stderr().write_all(format!("wire: {text}\n").as_bytes());
}

impl Node for Callback {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: self.metadata.wants_statistics().then_some(self.config.age),
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.now = now;
        if !self.config.simulated || self.program.is_none() {
            self.attend(now, out);
        }
        for frame in frames.drain(..) {
            self.counts.packets += 1;
            let Some(program) = &mut self.program else {
                self.give_up(frame, port, ENDED, out);
                continue;
            };
            let unread = program.unread();
            if self.asked.len() >= MAX_PENDING_PACKETS || unread.len() >= MAX_UNREAD_BYTES {
                self.give_up(frame, port, FULL, out);
                continue;
            }
            self.metadata.write(now, Some(port), unread);
            // Never zero, by which the program would tell its own.
            let word = Tick::EIGHT_NS.count(now.as_ps().into()).max(1);
            let form = (!self.config.raw).then_some(Form {
                time: false,
                hash: false,
            });
            match give(&frame, word, form, unread) {
                Ok(()) => self.asked.push_back(Asked {
                    frame: Some(frame),
                    port,
                    since: now,
                }),
                Err(_) => self.give_up(frame, port, "too long for the program", out),
            }
        }
        self.attend(now, out);
        if self.config.simulated {
            self.lose_patience(now, out);
        }
        self.plan(now);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.now = now;
        if now >= self.wake {
            self.wake = self.config.wake.map_or(Time::MAX, |every| now + every);
            if let (Some(program), Some(_)) = (&mut self.program, self.config.wake) {
                self.metadata.write(now, None, program.unread());
            }
        }
        self.attend(now, out);
        self.lose_patience(now, out);
        self.plan(now);
    }

    fn next_wake(&self) -> Option<Time> {
        let next = self.look.min(self.wake);
        (next < Time::MAX).then_some(next)
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        self.metadata.record(event);
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.counts.packets),
            ("through", self.counts.through),
            ("modified", self.counts.modified),
            ("injected", self.counts.injected),
            ("unanswered", self.counts.unanswered),
            ("late_answers", self.counts.late),
            ("answers_to_nothing", self.counts.unasked),
            ("starts", self.counts.starts),
        ])
    }
}
