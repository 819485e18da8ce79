//! The control interface of figure D.25 (paper 002, appendix D): commands that read and set a running device.

use super::{Device, MASK, Rule};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use node::ConfigError;
use node::{Port, Time};

/// A tick of 10GBASE-R.
const PS_A_TICK: u64 = 6_400;

/// Ports whose counters a device follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The greatest of all ports' counters: algorithm 4.
    #[default]
    Switch,
    /// That of port 0 only; the other ports announce it.
    Nic,
}

/// A command, by the names of figure D.25 without `dtp_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Reset,
    SetCounter(u128),
    ReadDelay(usize),
    ReadState(usize),
    ReadError(usize),
    ReadLocalCounter(usize),
    ReadGlobalCounter,
    SetBeaconInterval(usize, u32),
    ReadBeaconInterval(usize),
    ReceivedMessages(usize),
    SentMessages(usize),
    ReceivedErrors(usize),
    SetMode(Mode),
    GetMode,
}

/// All commands with their arguments.
pub const FORMS: &str = "reset, set_cnt COUNTER, read_delay PORT, read_state PORT, read_error PORT, read_local_cnt PORT, read_global_cnt, \
     set_beacon_interval PORT TICKS, read_beacon_interval PORT, debug_rcvd_msg PORT, debug_sent_msg PORT, debug_rcvd_err PORT, \
     set_mode switch|nic, get_mode";

/// A line that is no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no command of DTP: {FORMS}")]
pub struct CommandError(String);

impl FromStr for Command {
    type Err = CommandError;

    fn from_str(line: &str) -> Result<Command, CommandError> {
        let wrong = || CommandError(line.trim().into());
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.first().ok_or_else(wrong)?;
        let name = name.strip_prefix("dtp_").unwrap_or(name);
        let port = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        Ok(match (name, &words[1..]) {
            ("reset", []) => Command::Reset,
            ("set_cnt", [counter]) => {
                let counter: u128 = counter.parse().map_err(|_| wrong())?;
                if counter > MASK {
                    return Err(wrong());
                }
                Command::SetCounter(counter)
            }
            ("read_delay", [at]) => Command::ReadDelay(port(at)?),
            ("read_state", [at]) => Command::ReadState(port(at)?),
            ("read_error", [at]) => Command::ReadError(port(at)?),
            ("read_local_cnt", [at]) => Command::ReadLocalCounter(port(at)?),
            ("read_global_cnt" | "read_cnt", []) => Command::ReadGlobalCounter,
            ("set_beacon_interval", [at, ticks]) => {
                Command::SetBeaconInterval(port(at)?, ticks.parse().map_err(|_| wrong())?)
            }
            ("read_beacon_interval", [at]) => Command::ReadBeaconInterval(port(at)?),
            ("debug_rcvd_msg", [at]) => Command::ReceivedMessages(port(at)?),
            ("debug_sent_msg", [at]) => Command::SentMessages(port(at)?),
            ("debug_rcvd_err", [at]) => Command::ReceivedErrors(port(at)?),
            ("set_mode", ["switch"]) => Command::SetMode(Mode::Switch),
            ("set_mode", ["nic"]) => Command::SetMode(Mode::Nic),
            ("get_mode", []) => Command::GetMode,
            _ => return Err(wrong()),
        })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Switch => "switch",
            Mode::Nic => "nic",
        })
    }
}

impl Command {
    /// The port that it names.
    fn port(&self) -> Option<usize> {
        match *self {
            Command::ReadDelay(port)
            | Command::ReadState(port)
            | Command::ReadError(port)
            | Command::ReadLocalCounter(port)
            | Command::SetBeaconInterval(port, _)
            | Command::ReadBeaconInterval(port)
            | Command::ReceivedMessages(port)
            | Command::SentMessages(port)
            | Command::ReceivedErrors(port) => Some(port),
            _ => None,
        }
    }

    /// Checks it for a device of `ports` ports whose beacon interval is at most `longest` ticks.
    ///
    /// # Errors
    /// Why it cannot.
    fn check(&self, ports: usize, longest: u32) -> Result<(), String> {
        if let Some(port) = self.port().filter(|port| *port >= ports) {
            return Err(format!(
                "there is no port {port}: there are {ports}, from 0"
            ));
        }
        match self {
            Command::SetBeaconInterval(_, ticks) if !(2..=longest).contains(ticks) => {
                Err(format!("beacons are 2 to {longest} ticks apart"))
            }
            _ => Ok(()),
        }
    }
}

/// A command at a time of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct At {
    /// The time, of the device's own oscillator.
    pub at: Time,
    /// The command, such as `set_beacon_interval 0 1000`.
    pub run: String,
}

impl At {
    /// The tick, and the command.
    ///
    /// # Errors
    /// When the command is unknown, or invalid for the device.
    pub fn read(&self, ports: usize, longest: u32) -> Result<(u64, Command), ConfigError> {
        let command: Command = self
            .run
            .parse()
            .map_err(|error: CommandError| ConfigError::new("commands", error.to_string()))?;
        let checked = command.check(ports, longest);
        checked.map_err(|why| ConfigError::new("commands", format!("`{}`: {why}", self.run)))?;
        Ok((self.at.as_ps().div_ceil(PS_A_TICK), command))
    }
}

impl Device {
    /// Executes a command at a tick of the oscillator, and returns its answer.
    ///
    /// # Errors
    /// When the command is unknown, or invalid for this device.
    pub fn obey(&mut self, tick: u64, line: &str) -> Result<String, String> {
        let command: Command = line
            .parse()
            .map_err(|error: CommandError| error.to_string())?;
        command.check(self.sides.len(), self.longest_beacon)?;
        Ok(self.run(tick, &command))
    }

    /// Runs the commands that are due by this tick.
    pub(super) fn run_due(&mut self, tick: u64) {
        while let Some((at, command)) = self.commands.front() {
            if *at > tick {
                break;
            }
            let command = command.clone();
            self.commands.pop_front();
            self.run(tick, &command);
        }
    }

    fn run(&mut self, tick: u64, command: &Command) -> String {
        let tick = self.counted(tick);
        let global = self.global(tick);
        let side = |port: &usize| &self.sides[*port];
        match command {
            Command::Reset => {
                self.sides
                    .iter_mut()
                    .filter(|side| side.is_up())
                    .for_each(|side| side.up(tick, global));
                String::new()
            }
            Command::SetCounter(counter) => {
                self.move_to(tick, super::Base::of(*counter, tick), None);
                String::new()
            }
            Command::SetBeaconInterval(port, ticks) => {
                self.sides[*port].set_interval(tick, (*ticks).into());
                String::new()
            }
            Command::SetMode(mode) => {
                self.set_mode(*mode);
                String::new()
            }
            Command::ReadDelay(port) => match side(port).delay() {
                Some(delay) => delay.to_string(),
                None => "not measured".into(),
            },
            Command::ReadState(port) => side(port).state().into(),
            Command::ReadError(port) => side(port).out_of_range().to_string(),
            Command::ReadLocalCounter(port) => side(port).local().at(tick).to_string(),
            Command::ReadGlobalCounter => match self.running {
                true => global.at(tick).to_string(),
                false => "0".into(),
            },
            Command::ReadBeaconInterval(port) => side(port).interval().to_string(),
            Command::ReceivedMessages(port) => side(port).heard().to_string(),
            Command::SentMessages(port) => side(port).sent().to_string(),
            Command::ReceivedErrors(port) => side(port).damaged().to_string(),
            Command::GetMode => self.mode.to_string(),
        }
    }

    /// Algorithm 4's maximum is over the ports that the counter follows: with those of `switch` it takes up local counters that are ahead.
    fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        for (index, side) in self.sides.iter_mut().enumerate() {
            side.set_followed(mode == Mode::Switch || index == 0);
        }
        if self.rule == Rule::Maximum {
            for index in 0..self.sides.len() {
                let side = &self.sides[index];
                if side.is_followed() && side.delay().is_some() {
                    self.raise(side.local());
                }
            }
        }
    }

    /// Whether the device's counter follows a port.
    pub(super) fn follows(&self, port: Port) -> bool {
        self.sides[port.index()].is_followed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtp::message::Message;
    use crate::dtp::{BITS, Config};
    use node::Sublayer;

    fn ask(device: &mut Device, tick: u64, line: &str) -> String {
        device.obey(tick, line).unwrap()
    }

    #[test]
    fn the_names_of_the_paper_are_read() {
        assert_eq!("dtp_read_delay 3".parse(), Ok(Command::ReadDelay(3)));
        assert_eq!("set_mode nic".parse(), Ok(Command::SetMode(Mode::Nic)));
        for line in [
            "",
            "set_mode",
            "read_delay",
            "read_delay x",
            "set_cnt -1",
            "set_cnt 81129638414606681695789005144064",
        ] {
            assert!(line.parse::<Command>().is_err(), "{line}");
        }
        assert_eq!(
            (1u128 << BITS).to_string(),
            "81129638414606681695789005144064"
        );
    }

    #[test]
    fn a_device_that_runs_is_asked_and_set() {
        let mut device = Device::new(&Config::default(), 2).unwrap();
        assert_eq!(ask(&mut device, 5, "read_state 0"), "DOWN");
        device.link(10, Port(0), true);
        device.link(10, Port(1), true);
        assert_eq!(ask(&mut device, 20, "read_state 0"), "INIT");
        assert_eq!(ask(&mut device, 20, "read_global_cnt"), "10");
        assert_ne!(device.fill(21, Port(0)), 0);
        assert_eq!(ask(&mut device, 22, "read_state 0"), "SENT");
        assert_eq!(ask(&mut device, 22, "read_delay 0"), "not measured");
        ask(&mut device, 30, "set_cnt 1000000");
        assert_eq!(ask(&mut device, 35, "read_cnt"), "1000005");
        assert_eq!(ask(&mut device, 35, "read_local_cnt 1"), "1000005");
        assert_eq!(device.counter(40), 1_000_010);
        ask(&mut device, 40, "set_beacon_interval 1 1000");
        assert_eq!(ask(&mut device, 40, "read_beacon_interval 0"), "200");
        assert_eq!(ask(&mut device, 40, "read_beacon_interval 1"), "1000");
        assert!(device.obey(40, "set_beacon_interval 1 1").is_err());
        assert!(
            device
                .obey(40, "read_delay 2")
                .unwrap_err()
                .contains("no port 2")
        );
        assert_eq!(ask(&mut device, 40, "get_mode"), "switch");
    }

    #[test]
    fn in_mode_nic_the_counter_follows_port_0_alone_and_switch_takes_up_the_others() {
        let mut device = Device::new(&Config::default(), 2).unwrap();
        for port in [Port(0), Port(1)] {
            device.link(10, port, true);
            device.fill(11, port);
            device.take(60, port, Message::InitAck(11).encode());
            assert_eq!(device.delay(port), Some(23));
        }
        ask(&mut device, 61, "set_mode nic");
        // A peer at port 1 whose counter gains 5 ticks between two beacons: 150 ticks, which is not too many.
        for beacon in 1..=30 {
            let tick = 100 + 200 * beacon;
            let counter = tick - 10 + 5 * beacon;
            device.take(tick, Port(1), Message::Beacon(counter - 23).encode());
            assert_eq!(ask(&mut device, tick, "read_state 1"), "SYNC");
            assert_eq!(
                ask(&mut device, tick, "read_local_cnt 1"),
                counter.to_string()
            );
            assert_eq!(device.counter(tick), u128::from(tick - 10));
        }
        ask(&mut device, 6_200, "set_mode switch");
        assert_eq!(device.counter(6_200), 6_190 + 150);
        // Three more are too many.
        for beacon in 31..=33 {
            let tick = 100 + 200 * beacon;
            let counter = tick - 10 + 5 * beacon;
            device.take(tick, Port(1), Message::Beacon(counter - 23).encode());
        }
        assert_eq!(ask(&mut device, 6_800, "read_state 1"), "GIVEN UP");
    }
}
