//! DTP, the Datacenter Time Protocol: clocks that agree to a few ticks, by messages in the idle blocks of 10GBASE-R
//! (paper 002 section 4.5).
//!
//! - **Ports:** those of the node above, on links at the level of blocks.
//! - **Parameters:** `rule`, maximum; `slew`, 500 ppm; `alpha`, 3, or 0 where the rule is another; `beacon`, 200 ticks; `log`, none; `start`, 0; `fault`, none; `commands`, none.
//! - **Counters:** see [`Device`]'s `statistics`.
//!
//! A [`Device`] is algorithm 4: its counter goes up by one with each tick of its oscillator, and is never behind that of one of its
//! ports. Each port is algorithm 3: it measures the delay to its peer, and tells and hears counters in beacons.
//!
//! What the paper leaves open, and how it is here:
//! - An INIT-ACK may have to wait for a frame to end. What it waited is added to the counter in it, so that the delay that is measured is the
//!   line's on a full one too.
//! - A BEACON-JOIN moves a counter as far as it says, so one wrong bit could move a whole network's. It follows a BEACON-MSB, is said
//!   twice, and counts when both agree.
//! - Counters have 106 bits and wrap; of two the one that is less than half of all ahead is the greater.
//! - What to do about a clock that is faulty and fast: see [`Rule`].
//! - Between a local counter and the global one no time passes (T5 takes no tick).

mod command;
mod fault;
mod hearing;
pub mod message;
pub mod network;
mod port;
mod rule;

pub use command::{At, Command, CommandError, Mode};
pub use fault::Fault;
pub use rule::Rule;

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::ConfigError;
use node::sublayer::Sublayer;
use node::{Port, Statistics};
use port::{Heard, Side};

/// Counters have so many bits.
pub const BITS: u32 = 106;

/// What DTP in a device is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// What the counter follows.
    pub rule: Rule,
    /// By how much it is faster or slower than its oscillator at the most, where the rule is not the maximum: 101 to 10,000 ppm. The more, the
    /// longer a network whose oscillators are 200 ppm apart may be, and the faster a faulty clock that is followed.
    pub slew: u32,
    /// What is taken off a round trip before it is halved, ticks, 0 to 8: so that no delay is measured too long, which would have
    /// counters chase each other. Default 3; 0 where the rule is not the maximum: there an error to one side is no better than one to the other.
    pub alpha: Option<u8>,
    /// From one beacon to the next, ticks, 2 to 1,000,000; longer where the line is full of frames. The bound of 4 ticks a hop is for
    /// less than 5,000. Where the rule is not the
    /// maximum at most 1,000,000 over `slew`: the ticks from one that is put in to the next.
    pub beacon: u32,
    /// From one LOG message to the next, ticks: what the far end measures from them is in its counters. Default none.
    pub log: Option<u32>,
    /// What the counter begins with.
    pub start: u64,
    /// What is wrong with the clock.
    pub fault: Option<Fault>,
    /// Commands at times of the run: see [`Command`]. Default none.
    pub commands: Vec<At>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            rule: Rule::Maximum,
            slew: 500,
            alpha: None,
            beacon: 200,
            log: None,
            start: 0,
            fault: None,
            commands: Vec::new(),
        }
    }
}

impl Config {
    /// What is taken off a round trip.
    pub fn alpha(&self) -> u8 {
        self.alpha.unwrap_or(match self.rule {
            Rule::Maximum => 3,
            Rule::Gradient | Rule::Average => 0,
        })
    }

    /// From one tick that is put in, or left out, to the next at the least, ticks.
    fn look_every(&self) -> u64 {
        1_000_000 / u64::from(self.slew)
    }

    /// The most ticks from one beacon to the next.
    fn longest_beacon(&self) -> u32 {
        match self.rule {
            Rule::Maximum => 1_000_000,
            Rule::Gradient | Rule::Average => self.look_every() as u32,
        }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// The first key that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within =
            |key, value: u32, least: u32, most: u32, unit| match (least..=most).contains(&value) {
                true => Ok(()),
                false => {
                    let reason = format!("{least} to {most} {unit}");
                    Err(ConfigError::new(key, reason))
                }
            };
        within("slew", self.slew, 101, 10_000, "ppm")?;
        let most = self.longest_beacon();
        let within = |key, value, least, most| within(key, value, least, most, "ticks");
        within("alpha", self.alpha().into(), 0, 8)?;
        within("beacon", self.beacon, 2, most)?;
        self.fault.as_ref().map_or(Ok(()), Fault::check)?;
        for command in &self.commands {
            // The number of ports is not known here.
            command.read(usize::MAX, most)?;
        }
        within("log", self.log.unwrap_or(2), 2, 1_000_000_000)
    }
}

/// A counter less the tick at which it is read: what stays as it is while nothing happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Base(u128);

impl Base {
    fn of(counter: u128, tick: u64) -> Base {
        Base(counter.wrapping_sub(tick.into()) & MASK)
    }

    fn at(self, tick: u64) -> u128 {
        self.0.wrapping_add(tick.into()) & MASK
    }

    /// By how much it is ahead of another; negative if it is behind.
    fn ahead_of(self, other: Base) -> i128 {
        const REST: u32 = u128::BITS - BITS;
        (self.0.wrapping_sub(other.0) << REST) as i128 >> REST
    }

    fn plus(self, ticks: i64) -> Base {
        Base(self.0.wrapping_add_signed(ticks.into()) & MASK)
    }
}

const MASK: u128 = (1 << BITS) - 1;

/// DTP in a device: algorithm 4 over the ports, or another rule.
#[derive(Clone, Debug)]
pub struct Device {
    rule: Rule,
    fault: Option<Fault>,
    start: u128,
    global: Base,
    /// The last tick at which something was heard, and the global counter before that.
    began: (u64, Base),
    /// The tick that is left out is the one behind this, so that the counter never goes back.
    held_at: Option<u64>,
    /// When the neighbours are looked at next, by a rule that does, and how often that is.
    look_at: u64,
    look_every: u64,
    /// Ticks that were put in, and left out.
    steps: [u64; 2],
    /// Whether a link is up: else the counter stands.
    running: bool,
    mode: Mode,
    /// The most ticks from one beacon to the next that a command may set.
    longest_beacon: u32,
    /// Commands that wait, by the oscillator's tick at which they are due.
    commands: VecDeque<(u64, Command)>,
    sides: Vec<Side>,
}

impl Device {
    /// With so many ports, all of them without a link.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: &Config, ports: usize) -> Result<Device, ConfigError> {
        config.check()?;
        let longest_beacon = config.longest_beacon();
        let commands = config.commands.iter();
        let commands = commands.map(|command| command.read(ports, longest_beacon));
        let mut commands = commands.collect::<Result<Vec<_>, _>>()?;
        commands.sort_by_key(|(tick, _)| *tick);
        let side = Side::new(config);
        Ok(Device {
            rule: config.rule,
            fault: config.fault.clone(),
            start: config.start.into(),
            global: Base::default(),
            began: (0, Base::default()),
            held_at: None,
            look_at: 0,
            look_every: config.look_every(),
            steps: [0; 2],
            running: false,
            mode: Mode::Switch,
            longest_beacon,
            commands: commands.into(),
            sides: (0..ports).map(|_| side.clone()).collect(),
        })
    }

    /// The same, with another counter to begin with, of which the low 106 bits count.
    pub fn starting_at(self, start: u128) -> Device {
        Device {
            start: start & MASK,
            ..self
        }
    }

    /// T5.
    fn raise(&mut self, local: Base) {
        if local.ahead_of(self.global) > 0 {
            self.global = local;
        }
    }

    /// T5 for a beacon that has moved the local counter of a port to `local` at a tick, before its
    /// peer is charged for it.
    fn raise_by(&mut self, port: Port, tick: u64, local: Base) {
        if self.began.0 != tick {
            self.began = (tick, self.global);
        }
        let leads = local.ahead_of(self.began.1) as i64;
        if self.follows(port) && !self.sides[port.index()].charge(tick, leads) {
            self.raise(local);
        }
    }

    /// Sets the global counter and those of the ports. All ports except `from` announce it.
    fn move_to(&mut self, tick: u64, counter: Base, from: Option<usize>) {
        (self.global, self.held_at) = (counter, None);
        self.began = (tick, counter);
        for (port, side) in self.sides.iter_mut().enumerate() {
            side.join(tick, counter, from != Some(port));
        }
    }

    /// The clock's tick when the oscillator is at one.
    fn counted(&self, tick: u64) -> u64 {
        match &self.fault {
            Some(fault) => fault.counted(tick),
            None => tick,
        }
    }

    /// The global counter at a tick of the clock.
    fn global(&self, tick: u64) -> Base {
        match self.held_at == Some(tick) {
            true => self.global.plus(1),
            false => self.global,
        }
    }

    /// Puts in a tick, or leaves one out, by how far neighbours are ahead.
    fn follow(&mut self, tick: u64) {
        if tick < self.look_at {
            return;
        }
        self.look_at = tick + self.look_every;
        let ahead = self.sides.iter_mut().filter_map(Side::take_estimate);
        let step = self.rule.step(ahead);
        self.global = self.global.plus(step);
        self.held_at = (step < 0).then_some(tick);
        self.steps[0] += u64::from(step > 0);
        self.steps[1] += u64::from(step < 0);
    }

    /// Whether it does as its oscillator and algorithm 4 say.
    fn is_plain(&self) -> bool {
        let commanded = !self.commands.is_empty() || self.mode != Mode::Switch;
        self.rule == Rule::Maximum && self.fault.is_none() && !commanded
    }

    /// The delay that a port has measured, ticks; `None` as long as it has not.
    pub fn delay(&self, port: Port) -> Option<i64> {
        self.sides.get(port.index())?.delay()
    }
}

impl Sublayer for Device {
    fn link(&mut self, tick: u64, port: Port, up: bool) {
        self.run_due(tick);
        let tick = self.counted(tick);
        let Some(side) = self.sides.get_mut(port.index()) else {
            return;
        };
        if !up {
            side.down();
            self.running = self.sides.iter().any(Side::is_up);
            return;
        }
        if !self.running {
            self.global = Base::of(self.start, tick);
            self.held_at = None;
            self.running = true;
        }
        side.up(tick, self.global);
    }

    fn due(&self, port: Port) -> Option<u64> {
        let due = self.sides.get(port.index())?.due()?;
        let due = match &self.fault {
            Some(fault) => fault.tick_of(due),
            None => due,
        };
        let command = self.commands.front().map(|(tick, _)| *tick);
        Some(command.map_or(due, |tick| due.min(tick)))
    }

    fn fill(&mut self, tick: u64, port: Port) -> u64 {
        self.run_due(tick);
        let tick = self.counted(tick);
        let global = self.global(tick);
        let side = self.sides.get_mut(port.index());
        let message = side.and_then(|side| side.fill(tick, global));
        message.map_or(0, message::Message::encode)
    }

    fn take(&mut self, tick: u64, port: Port, bits: u64) {
        self.run_due(tick);
        let tick = self.counted(tick);
        let (index, global) = (port.index(), self.global(tick));
        if self.began.0 != tick {
            self.began = (tick, global);
        }
        let began = self.began.1;
        let Some(side) = self.sides.get_mut(index) else {
            return;
        };
        match side.take(tick, [global, began], bits) {
            Heard::Nothing => {}
            Heard::Local(local) if self.follows(port) => self.raise(local),
            Heard::Estimate if self.follows(port) => self.follow(tick),
            Heard::Join(counter) if self.follows(port) => self.move_to(tick, counter, Some(index)),
            // In mode `nic` the counter follows port 0 only.
            Heard::Local(_) | Heard::Estimate | Heard::Join(_) => {}
        }
    }

    fn counter(&self, tick: u64) -> u128 {
        match self.running {
            true => {
                let tick = self.counted(tick);
                self.global(tick).at(tick)
            }
            false => 0,
        }
    }

    fn command(&mut self, tick: u64, line: &str) -> Result<String, String> {
        self.run_due(tick);
        self.obey(tick, line)
    }

    /// `dtp_beacons_sent`, `dtp_beacons_heard`; `dtp_jumps`: beacons that moved a local counter, and `dtp_greatest_jump`, ticks;
    /// `dtp_joins`: BEACON-JOINs that moved the global one; `dtp_out_of_range`: beacons more than 8 ticks off; `dtp_damaged`: messages in
    /// which a wrong bit showed; `dtp_given_up`: peers that jumped too often; of LOG messages `dtp_log_minus_N` and `dtp_log_N`, how many told
    /// that this end is N ticks behind or ahead; `dtp_delay_N`: what port N has measured, ticks; where the rule is not the maximum,
    /// `dtp_put_in` and `dtp_left_out`: ticks.
    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        port::tell(&self.sides, &mut statistics);
        if self.rule != Rule::Maximum {
            let [put_in, left_out] = self.steps;
            statistics.counter("dtp_put_in", put_in);
            statistics.counter("dtp_left_out", left_out);
        }
        for (port, side) in self.sides.iter().enumerate() {
            if let Some(delay) = side.delay() {
                statistics.counter(&format!("dtp_delay_{port}"), delay.max(0) as u64);
            }
        }
        statistics
    }
}
