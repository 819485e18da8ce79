//! Spanning trees: RSTP (IEEE 802.1D-2004 clause 17), and STP (802.1D-1998) as RSTP's compatibility version.
//!
//! A [`Bridge`] does no I/O: its caller gives it BPDUs and the state of links, sends the BPDUs that it
//! asks for, and passes frames as [`is_learning`](Bridge::is_learning) and
//! [`is_forwarding`](Bridge::is_forwarding) say.
//!
//! | file | content |
//! |---|---|
//! | `bpdu` | BPDUs in frames |
//! | `vector` | identifiers, priority vectors, times |
//! | `config` | configuration |
//! | `port` | variables of a port |
//! | `machines` | the state machines |
//!
//! Differences from the standard: timers are exact instead of counts of seconds. With `version` STP,
//! received information lasts for the maximum age less its message age (802.1D-1998 section 8.6.14), and
//! a root port sends a notification only while a change is not acknowledged. A port that receives its
//! own BPDU stays blocked.
//!
//! Total cost: a port takes at most [`MAX_BPDUS`] BPDUs a second, and sends at most `hold_count` a second
//! more than it has sent in the seconds before. No table grows.

pub mod bpdu;
mod config;
mod machines;
mod port;
mod vector;

pub use config::{Config, Edge, PortConfig, Version};
pub use port::Role;
pub use vector::{BridgeId, PortId, Times, Vector};

use alloc::vec::Vec;
use bpdu::{BadBpdu, Bpdu, SenderRole};
use node::{ConfigError, Rate, Time};
use port::{Info, Migration, Port, Timer};
use vector::{time, units};

/// Maximum number of BPDUs that a port takes in one second. A neighbour sends up to 10.
pub const MAX_BPDUS: u32 = 64;
/// Time without BPDUs after which a port is at the edge, and between changes of protocol (`MigrateTime`).
const MIGRATE_TIME: Time = Time::from_secs(3);
const SECOND: Time = Time::from_secs(1);

/// Path cost of a link: 20,000,000 for 1 Mb/s, and less for more (table 17-3).
pub fn cost_of(rate: Rate) -> u32 {
    let cost = 20_000_000_000_000 / rate.bits_per_second().max(1);
    cost.clamp(1, 200_000_000) as u32
}

/// Cost where the rate is not known: that of 1 Gb/s.
const DEFAULT_COST: u32 = 20_000;

/// Counters of a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// BPDUs received that were valid.
    pub received: u64,
    /// BPDUs sent.
    pub sent: u64,
    /// Topology changes that this bridge has detected.
    pub topology_changes: u64,
    /// Changes of the root.
    pub root_changes: u64,
    /// Ports that a guard has disabled.
    pub guarded: u64,
}

/// A bridge of a spanning tree.
#[derive(Debug)]
pub struct Bridge {
    config: Config,
    id: BridgeId,
    times: Times,
    ports: Vec<Port>,
    root: Vector,
    root_port: Option<usize>,
    received: u64,
    sent: u64,
    topology_changes: u64,
    root_changes: u64,
    guarded: u64,
    /// A port learns or forwards that did not, or the other way round.
    changed: bool,
    /// The next port that [`Bridge::poll_transmit`] looks at.
    transmit_from: usize,
    /// Until when addresses age faster, with STP.
    fast_ageing_until: Time,
}

impl Bridge {
    /// A bridge whose ports have no link.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(config: Config, ports: &[PortConfig]) -> Result<Bridge, ConfigError> {
        config.check(ports)?;
        let id = BridgeId::new(config.priority, config.mac);
        let times = Times {
            message_age: 0,
            max_age: units(config.max_age),
            hello: units(config.hello),
            forward_delay: units(config.forward_delay),
        };
        let root = Vector {
            root: id,
            bridge: id,
            ..Vector::default()
        };
        let ports = ports.iter().enumerate().map(|(index, &config)| Port {
            id: PortId::new(config.priority, index as u16),
            cost: config.cost.unwrap_or(DEFAULT_COST),
            config,
            port_times: times,
            oper_edge: config.edge == Edge::Yes,
            ..Port::default()
        });
        Ok(Bridge {
            ports: ports.collect(),
            config,
            id,
            times,
            root,
            root_port: None,
            received: 0,
            sent: 0,
            topology_changes: 0,
            root_changes: 0,
            guarded: 0,
            changed: false,
            transmit_from: 0,
            fast_ageing_until: Time::ZERO,
        })
    }

    /// The link of a port has come up, or gone down; a port that a guard has disabled is enabled again.
    pub fn handle_link(&mut self, now: Time, port: u16, up: bool) {
        let rstp = self.config.version == Version::Rstp;
        let times = self.times;
        let Some(port) = self.ports.get_mut(usize::from(port)) else {
            return;
        };
        if port.link == up {
            return;
        }
        port.link = up;
        port.is_guarded = false;
        if up {
            port.oper_edge = port.config.edge == Edge::Yes;
            (port.rcvd_rstp, port.rcvd_stp) = (false, false);
            port.migration = Migration::Checking;
            port.send_rstp = rstp;
            port.mdelay_while = Timer(now + MIGRATE_TIME);
            port.edge_delay_while = Timer(now + MIGRATE_TIME);
            (port.tx_count, port.new_info) = (0, true);
            port.hello_when = Timer(now + time(times.hello));
            port.port_times = times;
        } else {
            port.disable();
        }
        self.run(now);
    }

    /// The rate of a port's link is known: its cost, unless that is configured.
    pub fn handle_rate(&mut self, now: Time, port: u16, rate: Rate) {
        let Some(port) = self.ports.get_mut(usize::from(port)) else {
            return;
        };
        let cost = port.config.cost.unwrap_or_else(|| cost_of(rate));
        if cost != port.cost {
            port.cost = cost;
            port.reselect = true;
            port.selected = false;
            self.run(now);
        }
    }

    /// Takes the BPDU of a frame that has arrived at a port.
    ///
    /// # Errors
    /// When the BPDU is not valid, or comes in excess of [`MAX_BPDUS`] a second.
    pub fn handle_frame(&mut self, now: Time, port: u16, frame: &[u8]) -> Result<(), BadBpdu> {
        let index = usize::from(port);
        let Some(port) = self.ports.get_mut(index) else {
            return Err(BadBpdu("no such port"));
        };
        if now >= port.received_until {
            (port.received_until, port.received) = (now + SECOND, 0);
        }
        port.received += 1;
        if port.received > MAX_BPDUS {
            return Err(BadBpdu("more than 64 BPDUs in a second"));
        }
        let bpdu = Bpdu::parse_frame(frame)?;
        if !port.is_enabled() {
            return Err(BadBpdu("BPDU at a disabled port"));
        }
        self.received += 1;
        if port.config.bpdu_guard {
            port.is_guarded = true;
            port.disable();
            self.guarded += 1;
            self.run(now);
            return Ok(());
        }
        // A version that is STP reads an RST BPDU as a Configuration BPDU (9.3.4).
        match bpdu {
            Bpdu::Rst(..) => port.rcvd_rstp = true,
            _ => port.rcvd_stp = true,
        }
        port.oper_edge = false;
        port.edge_delay_while = Timer(now + MIGRATE_TIME);
        self.receive(now, index, &bpdu);
        self.run(now);
        Ok(())
    }

    /// The RECEIVE state of the port information machine (17.27), and those after it.
    fn receive(&mut self, now: Time, index: usize, bpdu: &Bpdu) {
        let (own, version) = (self.id, self.config.version);
        let port = &mut self.ports[index];
        let (Bpdu::Configuration(vector, times, flags) | Bpdu::Rst(vector, times, flags)) = bpdu
        else {
            port.rcvd_tcn = true;
            return;
        };
        let is_rst = matches!(bpdu, Bpdu::Rst(..));
        if vector.bridge == own && vector.port == port.id {
            (port.disputed, port.agreed) = (true, false);
            return;
        }
        let same_source = vector.bridge.mac() == port.port_priority.bridge.mac()
            && vector.port.number() == port.port_priority.port.number();
        let is_same = *vector == port.port_priority;
        if flags.role == SenderRole::Designated {
            let is_repeated =
                is_same && *times == port.port_times && port.info_is == Info::Received;
            let is_superior = *vector < port.port_priority || same_source;
            if !is_repeated && !is_superior {
                // recordDispute, as corrected in 802.1Q-2005 section 13.26.9
                if is_rst && flags.learning {
                    (port.disputed, port.agreed) = (true, false);
                }
                return;
            }
            if !is_repeated {
                (port.agreed, port.proposing) = (false, false);
                port.agree &= port.info_is == Info::Received && *vector <= port.port_priority;
                (port.port_priority, port.port_times) = (*vector, *times);
                port.info_is = Info::Received;
                (port.reselect, port.selected) = (true, false);
            }
            port.proposed |= is_rst && flags.proposal;
            port.rcvd_info_while = Timer(match version {
                _ if times.aged().message_age > times.max_age => now,
                Version::Rstp => now + time(times.hello) * 3,
                Version::Stp => now + (time(times.max_age) - time(times.message_age)),
            });
        } else if is_rst && flags.role != SenderRole::Unknown && *vector >= port.port_priority {
            // recordAgreement
            let agreed = version == Version::Rstp && port.config.point_to_point && flags.agreement;
            port.agreed = agreed;
            port.proposing &= !agreed;
        } else {
            return;
        }
        port.rcvd_tc |= flags.topology_change;
        port.rcvd_tc_ack |= flags.topology_change_ack;
    }

    /// Runs the timers that have expired. Early calls do no harm.
    pub fn wake(&mut self, now: Time) {
        let hello = time(self.times.hello);
        for port in self.ports.iter_mut().filter(|port| port.is_enabled()) {
            while port.tx_count > 0 && port.tx_tick.is_zero(now) {
                port.tx_count -= 1;
                port.tx_tick = Timer(port.tx_tick.0 + SECOND);
            }
            if port.hello_when.is_zero(now) {
                port.hello_when = Timer(now + hello);
                let has_change = port.role == Role::Root && !port.tc_while.is_zero(now);
                port.new_info |= port.role == Role::Designated || has_change;
            }
        }
        self.run(now);
    }

    /// When [`wake`](Bridge::wake) is due.
    pub fn next_wake(&self, now: Time) -> Option<Time> {
        let deadlines = self.ports.iter().filter_map(|port| port.deadline(now));
        deadlines.min()
    }

    /// The next BPDU to send, and the port; asked after each call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(u16, Bpdu)> {
        while self.transmit_from < self.ports.len() {
            let index = self.transmit_from;
            self.transmit_from += 1;
            let port = &mut self.ports[index];
            let may = port.is_enabled() && port.is_settled() && port.new_info;
            if !may || port.tx_count >= self.config.hold_count {
                continue;
            }
            port.new_info = false;
            let has_words = match port.role {
                Role::Designated => true,
                Role::Disabled => false,
                Role::Root => port.send_rstp || !port.tc_while.is_zero(now),
                Role::Alternate | Role::Backup => port.send_rstp,
            };
            if !has_words {
                continue;
            }
            if port.tx_count == 0 {
                port.tx_tick = Timer(now + SECOND);
            }
            port.tx_count += 1;
            let bpdu = port.bpdu(now);
            port.tc_ack = false;
            self.sent += 1;
            return Some((index as u16, bpdu));
        }
        self.transmit_from = 0;
        None
    }

    /// Whether a port has begun or ceased to learn or to forward since the last call.
    pub fn poll_change(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    /// The ports whose addresses must be forgotten since the last call, by [`Bridge::take_flush`].
    pub fn needs_flush(&self) -> bool {
        self.ports.iter().any(|port| port.flush)
    }

    /// Whether a port's addresses must be forgotten; not true again until the topology changes again.
    /// With STP they age faster instead: see [`Bridge::ageing`].
    pub fn take_flush(&mut self, now: Time, port: u16) -> bool {
        let delay = time(self.root_times().forward_delay);
        let Some(port) = self.ports.get_mut(usize::from(port)) else {
            return false;
        };
        let flush = core::mem::take(&mut port.flush);
        if flush && self.config.version == Version::Stp && port.role != Role::Disabled {
            self.fast_ageing_until = now + delay;
            return false;
        }
        flush
    }

    /// The time after which addresses age out, if that is shorter than usual because the topology has
    /// changed (802.1D-1998 section 7.9.2).
    pub fn ageing(&self, now: Time) -> Option<Time> {
        (now < self.fast_ageing_until).then(|| time(self.root_times().forward_delay))
    }

    /// The times of the root, as this bridge knows them.
    fn root_times(&self) -> Times {
        let port = self.root_port.map(|index| &self.ports[index]);
        port.map_or(self.times, |port| port.port_times)
    }

    /// Whether addresses are learned from frames that arrive at a port.
    pub fn is_learning(&self, port: u16) -> bool {
        self.port(port).is_some_and(|port| port.learning)
    }

    /// Whether frames pass a port.
    pub fn is_forwarding(&self, port: u16) -> bool {
        self.port(port).is_some_and(|port| port.forwarding)
    }

    /// Whether a port is at the edge.
    pub fn is_edge(&self, port: u16) -> bool {
        self.port(port).is_some_and(|port| port.oper_edge)
    }

    /// Whether a guard has disabled a port.
    pub fn is_guarded(&self, port: u16) -> bool {
        self.port(port).is_some_and(|port| port.is_guarded)
    }

    /// Whether a port sends RST BPDUs; else those of STP.
    pub fn sends_rstp(&self, port: u16) -> bool {
        self.port(port).is_some_and(|port| port.send_rstp)
    }

    /// Role of a port.
    pub fn role(&self, port: u16) -> Role {
        self.port(port).map_or(Role::Disabled, |port| port.role)
    }

    /// Path cost of a port.
    pub fn cost(&self, port: u16) -> u32 {
        self.port(port).map_or(0, |port| port.cost)
    }

    /// Priority vector of a port: that of the designated port of its link.
    pub fn vector(&self, port: u16) -> Vector {
        self.port(port)
            .map_or(Vector::default(), |port| port.port_priority)
    }

    fn port(&self, port: u16) -> Option<&Port> {
        self.ports.get(usize::from(port))
    }

    /// Identifier of this bridge.
    pub fn id(&self) -> BridgeId {
        self.id
    }

    /// The root, and the cost of the path to it.
    pub fn root(&self) -> (BridgeId, u32) {
        (self.root.root, self.root.cost)
    }

    /// The root port; `None` in the root itself.
    pub fn root_port(&self) -> Option<u16> {
        self.root_port.map(|index| index as u16)
    }

    /// Counters.
    pub fn counters(&self) -> Counters {
        Counters {
            received: self.received,
            sent: self.sent,
            topology_changes: self.topology_changes,
            root_changes: self.root_changes,
            guarded: self.guarded,
        }
    }
}
