//! Link aggregation: groups of links as one, by LACP or without (IEEE 802.1AX-2014).
//!
//! A [`Group`] does no I/O. Its caller gives it frames to [`pdu::DESTINATION`] and the state of links,
//! sends the LACPDUs that it asks for, takes frames only from members that
//! [collect](Group::is_collecting), and sends each frame by [`Group::link_of`].
//!
//! All members that have the same partner and partner's key as the first one with a partner are the
//! group; others wait. A link whose partner does not speak LACP carries nothing. Frames with one hash
//! keep their order while the set of links stays as it is.
//!
//! Total cost: a port takes at most [`MAX_PDUS`] frames a second, answers markers only among these, and
//! sends at most three LACPDUs a second. No table grows.

pub mod hash;
mod member;
pub mod pdu;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
pub use hash::Hash;
use member::{Member, Mux, Receive};
use node::{ConfigError, Time};
use packet::ethernet::Mac;
use pdu::{BadPdu, End, Pdu, State};

/// Maximum number of frames of Slow Protocols that a port takes in one second. A neighbour sends up to
/// 10 (802.3 annex 57A).
pub const MAX_PDUS: u32 = 64;
/// Interval of LACPDUs with a short timeout (`Fast_Periodic_Time`).
const FAST: Time = Time::from_secs(1);
/// Interval of LACPDUs with a long timeout (`Slow_Periodic_Time`).
const SLOW: Time = Time::from_secs(30);
/// `Short_Timeout_Time`.
const SHORT_TIMEOUT: Time = Time::from_secs(3);
/// `Long_Timeout_Time`.
const LONG_TIMEOUT: Time = Time::from_secs(90);
/// `Aggregate_Wait_Time`.
const WAIT: Time = Time::from_secs(2);

/// How the links of a group are agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Mode {
    /// LACP, which speaks first.
    #[default]
    Active,
    /// LACP, which speaks when the partner does.
    Passive,
    /// Without LACP: every link that is up.
    Static,
}

/// How often the partner must send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Pace {
    /// Every 30 s; lost after 90 s.
    #[default]
    Slow,
    /// Every second; lost after 3 s.
    Fast,
}

/// Configuration of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// Its ports, at least 1, each in one group only.
    pub ports: Vec<u16>,
    /// How links are agreed on.
    pub mode: Mode,
    /// How often the partner must send.
    pub rate: Pace,
    /// Fields of a frame that choose its link.
    pub hash: Hash,
    /// Priority of this system.
    pub system_priority: u16,
    /// Priority of the ports.
    pub port_priority: u16,
    /// Key; `None` for the number of the first port plus 1.
    pub key: Option<u16>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            ports: Vec::new(),
            mode: Mode::Active,
            rate: Pace::Slow,
            hash: Hash::Layer2,
            system_priority: 32_768,
            port_priority: 32_768,
            key: None,
        }
    }
}

/// Counters of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Valid LACPDUs and markers received.
    pub received: u64,
    /// LACPDUs sent.
    pub sent: u64,
    /// Markers answered.
    pub markers: u64,
}

/// A group of links.
#[derive(Debug)]
pub struct Group {
    config: Config,
    members: Vec<Member>,
    /// Ports that distribute, in order.
    distributing: Vec<u16>,
    counters: Counters,
    changed: bool,
}

impl Group {
    /// A group whose links are down. `system` is the address of the switch.
    ///
    /// # Errors
    /// When it has no port.
    pub fn new(config: Config, system: Mac) -> Result<Group, ConfigError> {
        let Some(&first) = config.ports.first() else {
            return Err(ConfigError::new("lag", "a group has at least 1 port"));
        };
        let key = config.key.unwrap_or(first.saturating_add(1));
        let members = config.ports.iter().map(|&port| Member {
            port,
            actor: End {
                system_priority: config.system_priority,
                system,
                key,
                port_priority: config.port_priority,
                port: port.saturating_add(1),
                state: State::default(),
            },
            ..Member::default()
        });
        Ok(Group {
            members: members.collect(),
            distributing: Vec::with_capacity(config.ports.len()),
            counters: Counters::default(),
            changed: false,
            config,
        })
    }

    /// The number that stands for the group: its first port.
    pub fn port(&self) -> u16 {
        self.config.ports[0]
    }

    /// Its ports.
    pub fn ports(&self) -> &[u16] {
        &self.config.ports
    }

    fn member(&mut self, port: u16) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.port == port)
    }

    /// The link of a port has come up, or gone down.
    pub fn handle_link(&mut self, now: Time, port: u16, up: bool) {
        let mut defaults = State(State::AGGREGATION | State::DEFAULTED);
        defaults.set(State::ACTIVITY, self.config.mode == Mode::Active);
        defaults.set(State::SHORT_TIMEOUT, self.config.rate == Pace::Fast);
        if let Some(member) = self.member(port) {
            member.restart(now, up, defaults);
            self.run(now);
        }
    }

    /// Takes a frame to [`pdu::DESTINATION`]. `true`: it is a marker whose answer must be sent, see
    /// [`Pdu::answer_marker`].
    ///
    /// # Errors
    /// When the frame is not valid, or comes in excess of [`MAX_PDUS`] a second.
    pub fn handle_frame(&mut self, now: Time, port: u16, frame: &[u8]) -> Result<bool, BadPdu> {
        let is_static = self.config.mode == Mode::Static;
        let Some(member) = self.member(port).filter(|member| member.link) else {
            return Err(BadPdu("LACPDU at a port without a link"));
        };
        if now >= member.received_until {
            (member.received_until, member.received) = (now + FAST, 0);
        }
        member.received += 1;
        if member.received > MAX_PDUS {
            return Err(BadPdu("more than 64 LACPDUs in a second"));
        }
        match Pdu::parse_frame(frame)? {
            Pdu::Lacp { .. } if is_static => return Err(BadPdu("LACPDU in a group without LACP")),
            Pdu::Lacp { actor, partner } => {
                if actor.system == member.actor.system {
                    return Err(BadPdu("LACPDU of this switch itself"));
                }
                member.handle(now, &actor, &partner);
                self.run(now);
            }
            Pdu::Marker => {
                self.counters.markers += 1;
                self.counters.received += 1;
                return Ok(true);
            }
            Pdu::MarkerResponse => {}
        }
        self.counters.received += 1;
        Ok(false)
    }

    /// Runs the timers that have expired.
    pub fn wake(&mut self, now: Time) {
        self.run(now);
    }

    fn run(&mut self, now: Time) {
        if self.config.mode == Mode::Static {
            let up = self.members.iter().filter(|member| member.link);
            self.set_distributing(up.map(|member| member.port).collect());
            return;
        }
        self.members
            .iter_mut()
            .for_each(|member| member.expire(now));
        self.select();
        // A member passes at most four states in one event.
        for member in &mut self.members {
            while member.multiplex(now) {
                self.changed = true;
            }
        }
        let distributing = self
            .members
            .iter()
            .filter(|member| member.mux == Mux::Distributing);
        self.set_distributing(distributing.map(|member| member.port).collect());
    }

    fn set_distributing(&mut self, ports: Vec<u16>) {
        self.changed |= self.distributing != ports;
        self.distributing = ports;
    }

    /// Selection (6.4.14): the members that have the partner of the group. The group keeps the partner
    /// that it has while a link to it is in use.
    fn select(&mut self) {
        let partner = |member: &Member| {
            (
                member.partner.system_priority,
                member.partner.system,
                member.partner.key,
            )
        };
        let is_candidate = |member: &&Member| {
            member.link
                && member.receive == Receive::Current
                && member.partner.state.has(State::AGGREGATION)
        };
        let in_use = |member: &&Member| member.selected && member.mux == Mux::Distributing;
        let candidates = self.members.iter().filter(is_candidate);
        let kept = candidates
            .clone()
            .find(in_use)
            .or(candidates.clone().find(|member| member.selected));
        let reference =
            kept.or(candidates.min_by_key(|member| (member.actor.port_priority, member.port)));
        let reference = reference.map(partner);
        for member in &mut self.members {
            let may_stay = member.receive == Receive::Expired && member.selected;
            let is_right =
                (may_stay || is_candidate(&&*member)) && Some(partner(member)) == reference;
            member.selected = is_right;
        }
    }

    /// When [`wake`](Group::wake) is due.
    pub fn next_wake(&self, now: Time) -> Option<Time> {
        if self.config.mode == Mode::Static {
            return None;
        }
        let deadlines = self
            .members
            .iter()
            .filter_map(|member| member.deadline(now));
        deadlines.min()
    }

    /// The next LACPDU to send: the port, its end and the partner's; asked after each call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(u16, End, End)> {
        if self.config.mode == Mode::Static {
            return None;
        }
        let member = self.members.iter_mut().find_map(|member| {
            let leaves = member.take_departure(now);
            leaves.then_some(&*member)
        })?;
        self.counters.sent += 1;
        Some((member.port, member.actor, member.partner))
    }

    /// Whether something has changed since the last call: links that collect or distribute.
    pub fn poll_change(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    /// Whether frames that arrive at a port are taken.
    pub fn is_collecting(&self, port: u16) -> bool {
        let mut members = self.members.iter().filter(|member| member.port == port);
        members.any(|member| match self.config.mode {
            Mode::Static => member.link,
            _ => member.actor.state.has(State::COLLECTING),
        })
    }

    /// The ports that frames are sent by.
    pub fn distributing(&self) -> &[u16] {
        &self.distributing
    }

    /// The port by which a frame leaves; `None` while no link distributes.
    pub fn link_of(&self, frame: &[u8]) -> Option<u16> {
        match self.distributing.len() {
            0 => None,
            1 => Some(self.distributing[0]),
            count => Some(self.distributing[self.config.hash.of(frame) as usize % count]),
        }
    }

    /// Counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// One line about each port.
    pub fn entries(&self) -> impl Iterator<Item = String> + '_ {
        self.members.iter().map(|member| {
            let state = match self.config.mode {
                Mode::Static if member.link => "distributing",
                Mode::Static => "detached",
                _ => member.mux.name(),
            };
            let partner = match member.receive {
                Receive::Current | Receive::Expired if member.partner.port != 0 => format!(
                    " partner {} key {} port {}",
                    member.partner.system, member.partner.key, member.partner.port
                ),
                _ => String::new(),
            };
            format!(
                "group {} port {} {state}{partner}",
                self.port(),
                member.port
            )
        })
    }
}
