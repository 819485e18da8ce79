//! A machine in exact simulated time on which a script runs: its sockets, their endpoints, and the wire to them.

use super::super::super::{Endpoint, Stack};
use super::call::Call;
use super::compare::Mapping;
use super::reader::Stop;
use super::script::{Action, At, Event, Script};
use super::settings::Settings;
use super::socket::{Blocked, Descriptor};
use super::wire::{Left, Sent};
use core::net::{IpAddr, SocketAddr};
use node::{Out, Time};
use std::collections::{BTreeMap, VecDeque};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Deviation of a time by default, as packetdrill has it.
const TOLERANCE: Time = Time::from_ms(4);
/// Time zero of a script.
pub const BEGIN: Time = Time::from_secs(1);
/// Timeout for a packet whose time is not checked.
const OUTBOUND_TIMEOUT: Time = Time::from_secs(120);
/// Of a script that does as it should as far as it is in the subset.
pub const REST_PASSES: &str = "the rest passes";
/// Times at which endpoints may act between two events.
const MAX_STEPS: u32 = 100_000;
const PORTS: [u16; 2] = [8080, 40_000];
/// Names of calls and their arguments that only ask Linux, or have no effect on what leaves: without an equal they are passed over.
const PASSED_OVER: [&str; 6] = [
    "getsockopt",
    "MSG_ERRQUEUE",
    "SO_TIMESTAMPING",
    "IP_TOS",
    "IP_MTU_DISCOVER",
    "SO_MARK",
];

/// IP versions that a script runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V4,
    V6,
}

/// A connection, or what a packet without one belongs to.
pub struct Connection {
    pub end: Endpoint,
    pub remote: SocketAddr,
    pub own: SocketAddr,
    /// The listener that it is of, until it is accepted.
    pub listener: Option<i64>,
    pub mapping: Mapping,
    /// A reset has arrived.
    pub is_reset: bool,
    /// The error of the reset has been reported.
    pub has_failed: bool,
    /// When data arrived last.
    pub data_at: Time,
    pub due: Time,
    /// The handshake has ended.
    pub was_open: bool,
}

/// Socket of the script's packets: that of the last call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tested {
    Nothing,
    Listener(i64),
    Connection(usize),
}

/// See the [module](self).
pub struct Machine {
    pub now: Time,
    pub settings: Settings,
    pub descriptors: BTreeMap<i64, Descriptor>,
    pub connections: Vec<Connection>,
    pub tested: Tested,
    /// A call that blocks, with its line, and from when to when it may end.
    blocked: Option<(usize, Blocked, Call, Time)>,
    pub stack: Stack,
    pub out: Out,
    version: Version,
    pub tolerance: Time,
    /// Time of a tick of timestamps, if these are compared.
    pub tick: Option<Time>,
    /// Segments are compared one by one, as they leave.
    pub is_strict: bool,
    pub left: VecDeque<Left>,
    /// Difference of live and scripted numbers of the far end.
    pub offset: u32,
    /// Time of the last event, if that was a packet that arrived.
    arrived: Option<Time>,
    /// The first event that was passed over.
    passed_over: Option<Stop>,
}

/// Runs a script; `seed` chooses the first sequence numbers.
///
/// # Errors
/// The first event that did not happen as it should, or that is not in the subset.
pub fn run(script: &Script, version: Version, seed: u64) -> Result<(), Stop> {
    let mut machine = Machine::new(script, version, seed)?;
    for event in &script.events {
        let run = machine.event(event);
        let run = run.map_err(|reason| Stop {
            line: event.line,
            reason,
        });
        match run {
            Err(stop) if is_passed_over(event, &stop) => {
                machine.passed_over.get_or_insert(stop);
            }
            run => run?,
        }
    }
    machine.finish_blocked()?;
    match machine.passed_over {
        Some(Stop { line, reason }) => Err(Stop {
            line,
            reason: format!("{reason}; {REST_PASSES}"),
        }),
        None => Ok(()),
    }
}

/// Whether what follows an event outside the subset can be checked all the same.
fn is_passed_over(event: &Event, stop: &Stop) -> bool {
    let is_harmless = match &event.action {
        Action::Code(_) => true,
        Action::Shell(lines) => lines.contains("nstat"),
        Action::Call(call) => PASSED_OVER.iter().any(|name| {
            call.name == *name || call.arguments.iter().any(|argument| argument.has(name))
        }),
        Action::Inbound(_) | Action::Outbound(_) => false,
    };
    is_harmless && stop.reason.starts_with("not in the subset")
}

impl Machine {
    fn new(script: &Script, version: Version, seed: u64) -> Result<Machine, Stop> {
        let mut tolerance = TOLERANCE;
        let (mut tick, mut is_strict) = (None, false);
        for (name, value) in &script.options {
            let number = value.parse().map(Time::from_us);
            let refused = Stop {
                line: 1,
                reason: format!("not in the subset: option --{name}={value}"),
            };
            match (name.as_str(), number) {
                ("tolerance_usecs", Ok(time)) => tolerance = time,
                ("tcp_ts_tick_usecs", Ok(time)) => tick = (time > Time::ZERO).then_some(time),
                // Of these only the addresses would matter; they are the same for all scripts.
                ("ip_version" | "local_ip" | "remote_ip" | "send_omit_free", _) => {}
                // Long packets arrive in one piece here, as there.
                ("mss", _) => {}
                ("strict_segments", _) => is_strict = true,
                _ => return Err(refused),
            }
        }
        // So that a segment holds 1460 bytes with both.
        let mtu = if version == Version::V4 { 1500 } else { 1520 };
        let mut random = node::random::Random::new(seed);
        Ok(Machine {
            now: BEGIN,
            settings: Settings::new(mtu),
            descriptors: BTreeMap::new(),
            connections: Vec::new(),
            tested: Tested::Nothing,
            blocked: None,
            stack: Stack::new(mtu, seed),
            out: Out::default(),
            version,
            tolerance,
            tick,
            is_strict,
            left: VecDeque::new(),
            offset: random.bits() as u32,
            arrived: None,
            passed_over: None,
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), String> {
        let is_arrival = matches!(event.action, Action::Inbound(_));
        let base = self.arrived.filter(|_| is_arrival).unwrap_or(self.now);
        let (from, to, base) = match event.at {
            At::Any => (self.now, self.now + OUTBOUND_TIMEOUT, base),
            At::Between {
                is_relative,
                from,
                to,
            } => {
                let base = if is_relative { base } else { BEGIN };
                (base + from, base + to, base)
            }
        };
        self.arrived = is_arrival.then_some(from.max(self.now));
        if let Action::Outbound(packet) = &event.action {
            return self.leaves(packet, from, to);
        }
        self.advance(from)?;
        if self.now > to + self.tolerance {
            let late = (self.now - to).as_secs_f64();
            return Err(format!("the events before it end {late:.6} s too late"));
        }
        match &event.action {
            Action::Inbound(packet) => self.arrive(packet),
            Action::Outbound(_) => Ok(()),
            Action::Shell(lines) => {
                self.settings.shell(lines)?;
                self.stack.set_mtu(self.settings.mtu);
                Ok(())
            }
            Action::Code(code) => super::code::run(code, &|name| self.value(name)),
            Action::Call(call) => {
                let ends = event.ends.map(|ends| base + ends);
                self.call(event.line, call, ends)
            }
        }
    }

    /// Lets time pass.
    pub fn advance(&mut self, to: Time) -> Result<(), String> {
        for _ in 0..MAX_STEPS {
            let next = self.connections.iter().enumerate();
            let next = next
                .map(|(index, connection)| (connection.due, index))
                .min();
            let Some((_, index)) = next.filter(|(due, _)| *due <= to) else {
                self.now = self.now.max(to);
                return Ok(());
            };
            self.now = self.now.max(self.connections[index].due);
            self.drive(index)?;
        }
        Err("an endpoint acts without end".to_string())
    }

    /// Lets an endpoint send what it has to send.
    pub fn drive(&mut self, index: usize) -> Result<(), String> {
        let mut sent = Sent::default();
        let connection = &mut self.connections[index];
        connection.due = connection.end.drive(self.now, &mut sent, &mut self.out);
        connection.was_open |= connection.end.is_synchronised();
        self.collect(index, sent)?;
        self.attend()
    }

    /// A connection of which packets of the script are from now on.
    pub fn adopt(&mut self, end: Endpoint, own: SocketAddr, remote: SocketAddr) -> usize {
        // Only packets of the connection that the script is about are looked at.
        self.left.clear();
        self.connections.push(Connection {
            end,
            remote,
            own,
            listener: None,
            mapping: Mapping::new(self.offset),
            is_reset: false,
            has_failed: false,
            data_at: self.now,
            due: Time::MAX,
            was_open: false,
        });
        let index = self.connections.len() - 1;
        self.tested = Tested::Connection(index);
        index
    }

    /// The two ends of the next connection: the own one and the far one. The end that opens it has the port that no other has.
    pub fn ends(&self, opens: bool) -> (SocketAddr, SocketAddr) {
        let [own, remote] = match self.version {
            Version::V4 => ["192.168.0.1", "192.0.2.1"],
            Version::V6 => ["fd3d:0a0b:17d6::1", "fd3d:fa7b:d17d::1"],
        };
        let [own, remote] = [own, remote].map(|text| text.parse::<IpAddr>().expect("an address"));
        let [fixed, first] = PORTS;
        let other = first + self.connections.len() as u16;
        let (own_port, remote_port) = if opens {
            (other, fixed)
        } else {
            (fixed, other)
        };
        (
            SocketAddr::new(own, own_port),
            SocketAddr::new(remote, remote_port),
        )
    }

    /// Makes a call, or begins one that blocks until `ends`.
    fn call(&mut self, line: usize, call: &Call, ends: Option<Time>) -> Result<(), String> {
        self.finish_blocked().map_err(|stop| stop.reason)?;
        let Some(blocked) = self.begin(call)? else {
            return self.ends_in_time(line, ends.unwrap_or(self.now));
        };
        match ends {
            Some(ends) => {
                self.blocked = Some((line, blocked, call.clone(), ends));
                self.attend()
            }
            None => Err("the call blocks".to_string()),
        }
    }

    /// Lets a call that blocks go on.
    pub fn attend(&mut self) -> Result<(), String> {
        let Some((line, mut blocked, call, ends)) = self.blocked.take() else {
            return Ok(());
        };
        let Some(outcome) = self.attempt(&mut blocked)? else {
            self.blocked = Some((line, blocked, call, ends));
            return Ok(());
        };
        outcome.check(&call)?;
        self.ends_in_time(line, ends)
    }

    /// Whether a call that ends now ends when it should.
    fn ends_in_time(&self, line: usize, ends: Time) -> Result<(), String> {
        let off = Time::from_ps(self.now.as_ps().abs_diff(ends.as_ps()));
        match off <= self.tolerance {
            true => Ok(()),
            false => Err(format!(
                "the call of line {line} ends at {:.6} s, and the script wants {:.6} s",
                (self.now - BEGIN).as_secs_f64(),
                (ends - BEGIN).as_secs_f64()
            )),
        }
    }

    fn finish_blocked(&mut self) -> Result<(), Stop> {
        let Some((line, _, _, ends)) = &self.blocked else {
            return Ok(());
        };
        let (line, latest) = (*line, *ends + self.tolerance);
        let stop = |reason| Stop { line, reason };
        while self.blocked.is_some() && self.now < latest {
            let due = self
                .connections
                .iter()
                .map(|connection| connection.due)
                .min();
            let next = due.unwrap_or(latest).min(latest);
            self.advance(next).map_err(stop)?;
        }
        match &self.blocked {
            None => Ok(()),
            Some(_) => Err(stop("the call does not end".to_string())),
        }
    }
}
