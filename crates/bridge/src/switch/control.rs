//! State of a switch's protocols, and its effect on the ports.
//!
//! A group of links is one port of the spanning tree, of the table of stations and of snooping: its first port stands for
//! it ("logical port").

use super::config::{Config, Copied, PortConfig};
use crate::lacp::Group;
use crate::snooping::{self, Snooper};
use crate::stp::{self, Bridge, Version};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use node::event::What;
use node::random::split_mix;
use node::{ConfigError, Event, Time};
use packet::ethernet::Mac;

/// Index of the address of a switch among the numbers of its seed.
const MAC_INDEX: u64 = 0x0180_C200_0000;

/// State of the protocols.
#[derive(Debug)]
pub(super) struct Control {
    pub mac: Mac,
    pub stp: Option<Bridge>,
    pub groups: Vec<Group>,
    /// For each port the index of its group.
    group_of: Vec<Option<usize>>,
    /// For each port the logical port.
    pub logical: Vec<u16>,
    link: Vec<bool>,
    pub snooper: Option<Snooper>,
    /// For each port the ports that get copies of frames that arrive.
    pub copies_in: Vec<Vec<u16>>,
    /// The same of frames that leave.
    pub copies_out: Vec<Vec<u16>>,
    /// Whether a port is for the copies of a mirror alone.
    pub is_destination: Vec<bool>,
    pub mirrored: u64,
    /// Logical ports that forward.
    pub forwarding: Vec<u16>,
    pub learns: Vec<bool>,
    pub forwards: Vec<bool>,
    pub ageing: Time,
    pub is_started: bool,
    pub next: Time,
}

/// Configurations of all ports, defaults included.
fn ports(config: &Config) -> Result<Vec<PortConfig>, ConfigError> {
    let mut all: Vec<PortConfig> = (0..config.ports)
        .map(|port| PortConfig {
            port,
            ..PortConfig::default()
        })
        .collect();
    for (index, port) in config.port.iter().enumerate() {
        let is_double = config.port[..index]
            .iter()
            .any(|other| other.port == port.port);
        match all.get_mut(usize::from(port.port)) {
            Some(place) if !is_double => *place = *port,
            _ => {
                let reason = format!("port {} is not one of the switch, or has two", port.port);
                return Err(ConfigError::new("port", reason));
            }
        }
    }
    Ok(all)
}

impl Control {
    /// The state at the start; `None` for a switch without any of the protocols.
    pub(super) fn new(config: &Config) -> Result<Option<Control>, ConfigError> {
        let ports = ports(config)?;
        if config.stp.is_none()
            && config.lag.is_empty()
            && config.snooping.is_none()
            && config.mirror.is_empty()
        {
            return Ok(None);
        }
        let count = usize::from(config.ports);
        let [_, _, bytes @ ..] = split_mix(config.seed, MAC_INDEX).to_be_bytes();
        let local = Mac([
            bytes[0] & 0xFC | 2,
            bytes[1],
            bytes[2],
            bytes[3],
            bytes[4],
            bytes[5],
        ]);
        let mac = config.mac.unwrap_or(local);
        let trees: Vec<stp::PortConfig> = ports
            .iter()
            .map(|port| stp::PortConfig {
                cost: port.cost,
                priority: port.priority,
                edge: port.edge,
                bpdu_guard: port.bpdu_guard,
                root_guard: port.root_guard,
                point_to_point: port.point_to_point,
            })
            .collect();
        let tree = |version: Version| stp::Config {
            version,
            priority: config.bridge_priority,
            mac,
            hello: config.hello,
            max_age: config.max_age,
            forward_delay: config.forward_delay,
            hold_count: config.hold_count,
        };
        let snooped: Vec<snooping::PortConfig> = ports
            .iter()
            .map(|port| snooping::PortConfig {
                router: port.router,
                fast_leave: port.fast_leave,
            })
            .collect();
        let stp = config.stp.map(|version| Bridge::new(tree(version), &trees));
        let snooper = config.snooping.clone();
        let snooper = snooper.map(|config| Snooper::new(config, &snooped, mac));
        let mut control = Control {
            mac,
            stp: stp.transpose()?,
            groups: Vec::new(),
            group_of: vec![None; count],
            logical: (0..config.ports).collect(),
            link: vec![true; count],
            snooper: snooper.transpose()?,
            copies_in: vec![Vec::new(); count],
            copies_out: vec![Vec::new(); count],
            is_destination: vec![false; count],
            mirrored: 0,
            forwarding: Vec::with_capacity(count),
            learns: vec![false; count],
            forwards: vec![false; count],
            ageing: config.ageing,
            is_started: false,
            next: Time::ZERO,
        };
        control.add_groups(config)?;
        control.add_mirrors(config)?;
        Ok(Some(control))
    }

    fn add_groups(&mut self, config: &Config) -> Result<(), ConfigError> {
        for lag in &config.lag {
            let group = Group::new(lag.clone(), self.mac)?;
            for &port in &lag.ports {
                match self.group_of.get_mut(usize::from(port)) {
                    Some(place @ None) => *place = Some(self.groups.len()),
                    _ => {
                        let reason =
                            format!("port {port} is not one of the switch, or is in two groups");
                        return Err(ConfigError::new("lag", reason));
                    }
                }
                self.logical[usize::from(port)] = group.port();
            }
            self.groups.push(group);
        }
        Ok(())
    }

    fn add_mirrors(&mut self, config: &Config) -> Result<(), ConfigError> {
        let wrong = |reason| Err(ConfigError::new("mirror", reason));
        for mirror in &config.mirror {
            let to = usize::from(mirror.to);
            if mirror.to >= config.ports || self.group_of[to].is_some() {
                return wrong("the port of the copies is one of the switch, in no group");
            }
            self.is_destination[to] = true;
        }
        for mirror in &config.mirror {
            for &from in &mirror.from {
                let at = usize::from(from);
                if from >= config.ports || self.is_destination[at] {
                    return wrong(
                        "frames are copied from ports of the switch that carry no copies",
                    );
                }
                let copies = match mirror.direction {
                    Copied::In => [true, false],
                    Copied::Out => [false, true],
                    Copied::Both => [true; 2],
                };
                for (list, is_on) in [&mut self.copies_in[at], &mut self.copies_out[at]]
                    .into_iter()
                    .zip(copies)
                {
                    if is_on && !list.contains(&mirror.to) {
                        list.push(mirror.to);
                    }
                }
            }
        }
        Ok(())
    }

    /// All links are up that have not been reported down.
    pub(super) fn start(&mut self, now: Time) {
        self.is_started = true;
        for port in 0..self.link.len() {
            if self.link[port] && !self.is_destination[port] {
                self.link_changed(now, port as u16, true);
            }
        }
    }

    fn link_changed(&mut self, now: Time, port: u16, up: bool) {
        match self.group_of[usize::from(port)] {
            Some(group) => self.groups[group].handle_link(now, port, up),
            None => self.logical_changed(now, port, up),
        }
    }

    fn logical_changed(&mut self, now: Time, port: u16, up: bool) {
        if let Some(stp) = &mut self.stp {
            stp.handle_link(now, port, up);
        }
        if let Some(snooper) = &mut self.snooper
            && !up
        {
            snooper.handle_link_down(port);
        }
    }

    pub(super) fn handle_event(&mut self, now: Time, event: &Event) {
        let port = usize::from(event.port.0);
        match event.what {
            What::Link(up) if port < self.link.len() => {
                let changed = core::mem::replace(&mut self.link[port], up) != up;
                if self.is_started && changed && !self.is_destination[port] {
                    self.link_changed(now, event.port.0, up);
                }
            }
            What::Interface(interface) if port < self.link.len() => {
                if let (Some(stp), Some(rate)) = (&mut self.stp, interface.rate) {
                    stp.handle_rate(now, self.logical[port], rate);
                }
            }
            _ => {}
        }
    }

    pub(super) fn wake(&mut self, now: Time) {
        if let Some(stp) = &mut self.stp {
            stp.wake(now);
        }
        self.groups.iter_mut().for_each(|group| group.wake(now));
        if let Some(snooper) = &mut self.snooper {
            snooper.wake(now);
        }
    }

    /// Passes changes of groups on to the spanning tree, and of the tree to the ports. The ports that forward are
    /// computed again when something has changed.
    pub(super) fn refresh(&mut self, now: Time) {
        for index in 0..self.groups.len() {
            if self.groups[index].poll_change() {
                let up = !self.groups[index].distributing().is_empty();
                let port = self.groups[index].port();
                self.logical_changed(now, port, up);
            }
        }
        self.forwarding.clear();
        for port in 0..self.link.len() as u16 {
            let at = usize::from(port);
            let is_logical = self.logical[at] == port && !self.is_destination[at];
            let is_up =
                self.group_of[at].is_none_or(|group| !self.groups[group].distributing().is_empty());
            let passes = |of: fn(&Bridge, u16) -> bool| {
                is_logical && is_up && self.stp.as_ref().is_none_or(|stp| of(stp, port))
            };
            self.learns[at] = passes(Bridge::is_learning);
            self.forwards[at] = passes(Bridge::is_forwarding);
            if self.forwards[at] {
                self.forwarding.push(port);
            }
        }
    }

    pub(super) fn logical(&self, port: u16) -> u16 {
        self.logical[usize::from(port)]
    }

    /// The group that a port is in.
    pub(super) fn group(&mut self, port: u16) -> Option<&mut Group> {
        let index = self.group_of[usize::from(port)]?;
        Some(&mut self.groups[index])
    }

    /// Whether frames that arrive at a port are taken, as far as its group goes.
    pub(super) fn collects(&self, port: u16) -> bool {
        let group = self.group_of[usize::from(port)];
        group.is_none_or(|group| self.groups[group].is_collecting(port))
    }

    /// The port by which a frame for a logical port leaves.
    #[inline]
    pub(super) fn link_of(&self, logical: u16, frame: &[u8]) -> Option<u16> {
        match self.group_of[usize::from(logical)] {
            None => Some(logical),
            Some(group) => self.groups[group].link_of(frame),
        }
    }

    pub(super) fn plan(&mut self, now: Time) {
        let stp = self.stp.as_ref().and_then(|stp| stp.next_wake(now));
        let groups = self.groups.iter().filter_map(|group| group.next_wake(now));
        let snooper = self.snooper.as_ref().and_then(Snooper::next_wake);
        self.next = groups.chain(stp).chain(snooper).min().unwrap_or(Time::MAX);
    }

    pub(super) fn next_wake(&self) -> Option<Time> {
        (self.next != Time::MAX).then_some(self.next)
    }

    /// Path costs are by the rates of links, which the world states once.
    pub(super) fn statistics_age(&self) -> Option<Time> {
        self.stp.as_ref().map(|_| Time::MAX)
    }

    pub(super) fn endless(&self) -> Option<&'static str> {
        let sends = self
            .groups
            .iter()
            .any(|group| group.next_wake(Time::ZERO).is_some());
        let queries = self
            .snooper
            .as_ref()
            .is_some_and(|snooper| snooper.next_wake().is_some());
        (self.stp.is_some() || sends || queries || !self.groups.is_empty())
            .then_some("sends messages of its protocols")
    }
}
