//! A shell pipe as a node: packets are lines on its standard input, and each line of its standard output is a packet.
//!
//! - **Ports:** 2, or 1. What comes in by port 0 goes to `command`, and what that writes leaves by port 1; the other direction there is
//!   `back`, or packets pass as they are. With one port both are that port.
//! - **Counters:** `packets` that came in; `bytes` of those, without FCS; `written` by the programs; `bad`: lines that are no packets;
//!   `past`: packets whose stamp was past, and which left at once; `unsettled`: times that a program worked for longer than `patience`.
//! - **Drops:** `the program has ended`; `the program reads too slowly`; `too long for the program`.
//!
//! It is what stands between `< DIR/0` and `> DIR/1` of a mount, and the stamps mean what they mean there (FORMATS section 3): a packet
//! has that of its arrival, and leaves when the stamp says that the program gives it; at once, if that is past. So `sed` leaves
//! departures alone, and a script that adds a second to each stamp delays packets by a second.
//!
//! In simulated time no time passes while a program works, but what [`Config::cost`] says. It is given a packet, and has done all that it
//! can when it and all that it has started sleep; then simulated time goes on. What it does later, by the machine's clock,
//! is sent when the node is called next.

use super::answer::{Answer, Answers};
use super::metadata::Lines;
use super::program::{Program, Setting};
use super::{Io, MAX_UNREAD_BYTES, Metadata, give, say};
use node::event::Event;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use packet::line::Form;
use packet::{Departure, Stamp, Tick};
use std::path::PathBuf;

/// How soon its output is looked at, and how late at most, on live ports.
const SOON: Time = Time::from_us(20);
const LATE: Time = Time::from_ms(1);

/// What leaves at once and sets a timer is given so much time, in which a port can have sent its preamble: so the timer holds
/// when its first bit really leaves.
const MARK_LEAD: Time = Time::from_us(10);

/// What programs, and how they are spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The command line, for `sh -c`.
    pub command: String,
    /// That of the other direction; without it packets pass.
    pub back: Option<String>,
    /// 1 or 2.
    pub ports: u16,
    /// Records instead of lines.
    pub raw: bool,
    /// Lines begin with the stamp.
    pub time: bool,
    /// The unit of stamps.
    pub tick: Tick,
    /// What the programs' standard input and output are; else as [`Io::of`] finds best.
    pub io: Option<Io>,
    /// What they are told in lines that begin with `#`.
    pub metadata: Vec<Metadata>,
    /// How old what they are told of queues and interfaces may be.
    pub age: Time,
    /// How often they are told the time though no packet comes.
    pub wake: Option<Time>,
    /// How long a program may work in simulated time, on the machine's clock.
    pub patience: Time,
    /// The folder that they are in.
    pub folder: Option<PathBuf>,
    /// Simulated time: no time passes while a program works.
    pub simulated: bool,
    /// What a packet takes, in simulated time.
    pub cost: Time,
}

impl Config {
    /// Lines with stamps of 8 ns, two ports, nothing the other direction.
    pub fn new(command: &str) -> Config {
        Config {
            command: command.into(),
            back: None,
            ports: 2,
            raw: false,
            time: true,
            tick: Tick::EIGHT_NS,
            io: None,
            metadata: Vec::new(),
            age: Time::from_ms(1),
            wake: None,
            patience: Time::from_secs(10),
            folder: None,
            simulated: false,
            cost: Time::ZERO,
        }
    }
}

/// The node. See the [module](self).
pub struct Pipe {
    config: Config,
    /// By the port where packets come in.
    directions: [Option<Direction>; 2],
    wake: Time,
    look: Time,
    pause: Time,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    packets: u64,
    bytes: u64,
    written: u64,
    bad: u64,
    past: u64,
    unsettled: u64,
}

/// A program.
struct Direction {
    command: String,
    /// Where what it writes leaves.
    out: Port,
    program: Option<Program>,
    started: bool,
    answers: Answers,
    metadata: Lines,
    /// In ticks; 1 to 7 are in use.
    timers: [u64; 8],
}

const ENDED: &str = "the program has ended";
const SLOW: &str = "the program reads too slowly";
const TOO_LONG: &str = "too long for the program";

impl Pipe {
    /// A node whose programs are started at time 0.
    pub fn new(config: Config) -> Pipe {
        let direction = |command: &str, out| Direction {
            command: command.into(),
            out: Port(out),
            program: None,
            started: false,
            answers: Answers::new(config.raw),
            metadata: Lines::new(if config.raw { &[] } else { &config.metadata }),
            timers: [0; 8],
        };
        let forth = direction(&config.command, config.ports.min(2) - 1);
        let back = config.back.as_ref().map(|command| direction(command, 0));
        Pipe {
            directions: [Some(forth), back],
            wake: Time::ZERO,
            look: Time::ZERO,
            pause: SOON,
            counts: Counts::default(),
            config,
        }
    }

    /// Has a program do what it can, and sends what it has written.
    fn attend(&mut self, now: Time, direction: usize, out: &mut Out) {
        let (config, counts) = (&self.config, &mut self.counts);
        let Some(direction) = &mut self.directions[direction] else {
            return;
        };
        direction.start(config);
        let Some(program) = &mut direction.program else {
            return;
        };
        let runs = match config.simulated {
            true => match program.settle(&mut direction.answers, config.patience.as_ns()) {
                Some(runs) => runs,
                None => {
                    if counts.unsettled == 0 {
                        say(format_args!(
                            "{}: still at work; simulated time goes on",
                            direction.command
                        ));
                    }
                    counts.unsettled += 1;
                    true
                }
            },
            false => {
                program.write();
                program.read(&mut direction.answers)
            }
        };
        if direction.take(now, config, counts, out) {
            self.pause = SOON;
        }
        if !runs && let Some(program) = direction.program.take() {
            say(format_args!("{}: {}", direction.command, program.end()));
        }
    }
}

impl Direction {
    /// Starts the program, once.
    fn start(&mut self, config: &Config) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let io = config.io.unwrap_or_else(|| Io::of(&self.command));
        let setting = Setting {
            terminal: io == Io::Terminal && !config.raw,
            folder: config.folder.clone(),
            settles: config.simulated,
        };
        match Program::start(&self.command, &setting) {
            Ok(program) => self.program = Some(program),
            Err(error) => say(format_args!("{}: {error}", self.command)),
        }
    }

    /// Sends what the program has written; whether there was any.
    fn take(&mut self, now: Time, config: &Config, counts: &mut Counts, out: &mut Out) -> bool {
        let mut any = false;
        loop {
            let by = match self.answers.next() {
                Answer::None => return any,
                Answer::Packet => self.out,
                Answer::Beside(port) => port
                    .filter(|port| port.0 < config.ports)
                    .unwrap_or(self.out),
                // An empty line, as of a filter that takes everything out of one.
                Answer::Drop => continue,
                Answer::Wrong | Answer::Through => {
                    counts.bad += 1;
                    continue;
                }
                Answer::OutOfStep => {
                    say(format_args!(
                        "{}: its records are out of step",
                        self.command
                    ));
                    self.program = None;
                    return any;
                }
            };
            let Some(at) = self.departure(now, config, counts) else {
                counts.bad += 1;
                continue;
            };
            any = true;
            counts.written += 1;
            let mut frame = out.frame();
            frame.extend(self.answers.packet());
            frame.set_arrived(now);
            match at > now {
                true => out.send_at(by, at, frame),
                false => out.send(by, frame),
            }
        }
    }

    /// When the packet that was said last is to leave; `None` if its stamp is none.
    fn departure(&mut self, now: Time, config: &Config, counts: &mut Counts) -> Option<Time> {
        let soonest = now
            + if config.simulated {
                config.cost
            } else {
                Time::ZERO
            };
        let time = |ticks| {
            let ps = u64::try_from(config.tick.ps(ticks)).unwrap_or(u64::MAX);
            Time::from_ps(ps)
        };
        let ticks = |time: Time| config.tick.count(time.as_ps().into());
        let word = match self.answers.stamp() {
            Some(Stamp::Word(word)) => word,
            Some(Stamp::Date(_)) => return None,
            None => 0,
        };
        let at = match Departure::from_word(word).ok()? {
            Departure::Now => return Some(soonest),
            Departure::Mark(timer) => {
                let at = time(ticks(soonest + MARK_LEAD));
                self.timers[usize::from(timer.number())] = ticks(at);
                return Some(at);
            }
            Departure::At(at) => time(at),
            Departure::After(timer, after) => {
                let marked = self.timers[usize::from(timer.number())];
                time(marked.saturating_add(after))
            }
        };
        counts.past += u64::from(at < soonest);
        Some(at.max(soonest))
    }
}

impl Pipe {
    fn frame(&mut self, now: Time, port: Port, frame: Frame, out: &mut Out) {
        self.counts.packets += 1;
        self.counts.bytes += frame.len() as u64;
        let at = port.index();
        let Some(direction) = &mut self.directions[at] else {
            return out.send(Port(0), frame);
        };
        direction.start(&self.config);
        let Some(program) = &mut direction.program else {
            return out.drop(frame, ENDED);
        };
        let unread = program.unread();
        if unread.len() >= MAX_UNREAD_BYTES {
            return out.drop(frame, SLOW);
        }
        direction.metadata.write(now, Some(port), unread);
        let word = self.config.tick.count(frame.arrived().as_ps().into());
        let form = (!self.config.raw).then_some(Form {
            time: self.config.time,
            hash: false,
        });
        match give(&frame, word, form, unread) {
            Ok(()) => out.done(frame),
            Err(_) => return out.drop(frame, TOO_LONG),
        }
        self.attend(now, at, out);
        self.pause = SOON;
        self.look = now + self.pause;
    }
}

impl Node for Pipe {
    fn properties(&self) -> Properties {
        let mut directions = self.directions.iter().flatten();
        let wants = directions.any(|direction| direction.metadata.wants_statistics());
        Properties {
            statistics_age: wants.then_some(self.config.age),
            ..Properties::of(self.config.ports.into())
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        if now >= self.wake {
            self.wake = self.config.wake.map_or(Time::MAX, |every| now + every);
            for direction in self.directions.iter_mut().flatten() {
                if let (Some(program), Some(_)) = (&mut direction.program, self.config.wake) {
                    direction.metadata.write(now, None, program.unread());
                }
            }
        }
        for direction in 0..2 {
            self.attend(now, direction, out);
        }
        self.pause = (self.pause + self.pause).min(LATE);
        self.look = now + self.pause;
    }

    fn next_wake(&self) -> Option<Time> {
        let next = match self.config.simulated {
            true => self.wake,
            false => self.look.min(self.wake),
        };
        (next < Time::MAX).then_some(next)
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        for direction in self.directions.iter_mut().flatten() {
            direction.metadata.record(event);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.counts.packets),
            ("bytes", self.counts.bytes),
            ("written", self.counts.written),
            ("bad", self.counts.bad),
            ("past", self.counts.past),
            ("unsettled", self.counts.unsettled),
        ])
    }
}
