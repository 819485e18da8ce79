//! State machines of IEEE 802.1D-2004 sections 17.22 to 17.31, for one event at a time.
//!
//! A machine that stays in a state by itself only to hold a timer at its start value does so here by
//! [`HELD`]: the timer begins to run when the role changes. Conditions and names are the standard's.

use super::config::{Edge, Version};
use super::port::{HELD, Info, Migration, Port, Role, Timer};
use super::vector::{PortId, Vector, time};
use super::{Bridge, MIGRATE_TIME};
use node::Time;

/// Maximum number of rounds of all machines after one event. Measured on random graphs with losses: up to 9.
const MAX_ROUNDS: usize = 64;

impl Bridge {
    /// Runs all machines until none changes its state.
    pub(super) fn run(&mut self, now: Time) {
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for index in 0..self.ports.len() {
                changed |= self.detect(now, index);
                changed |= self.inform(now, index);
            }
            changed |= self.select();
            for index in 0..self.ports.len() {
                changed |= match self.ports[index].selected_role {
                    _ if !self.ports[index].is_settled() => false,
                    role if role != self.ports[index].role => self.enter(now, index, role),
                    Role::Disabled => self.blocked(index),
                    Role::Root => self.root_transitions(now, index),
                    Role::Designated => self.designated_transitions(now, index),
                    Role::Alternate | Role::Backup => self.alternate(index),
                };
                changed |= self.pass(index);
                changed |= self.topology_change(now, index);
            }
            if !changed {
                return;
            }
        }
        debug_assert!(false, "the state machines do not come to rest");
    }

    /// Duration of listening and learning of a port (`forwardDelay`, section 17.20.5).
    fn forward_delay(&self, index: usize) -> Time {
        let port = &self.ports[index];
        match port.send_rstp {
            true => time(port.port_times.hello),
            false => time(port.port_times.forward_delay),
        }
    }

    /// Protocol migration and bridge detection (17.24, 17.25).
    fn detect(&mut self, now: Time, index: usize) -> bool {
        let rstp = self.config.version == Version::Rstp;
        let port = &mut self.ports[index];
        let before = (port.migration, port.oper_edge);
        match port.migration {
            Migration::Checking if port.mdelay_while.is_zero(now) => {
                port.migration = Migration::Sensing;
                (port.rcvd_rstp, port.rcvd_stp) = (false, false);
            }
            Migration::SelectingStp if port.mdelay_while.is_zero(now) => {
                port.migration = Migration::Sensing;
                (port.rcvd_rstp, port.rcvd_stp) = (false, false);
            }
            Migration::Sensing if rstp && !port.send_rstp && port.rcvd_rstp => {
                port.migration = Migration::Checking;
                port.send_rstp = true;
                port.mdelay_while = Timer(now + MIGRATE_TIME);
            }
            Migration::Sensing if port.send_rstp && port.rcvd_stp => {
                port.migration = Migration::SelectingStp;
                port.send_rstp = false;
                port.mdelay_while = Timer(now + MIGRATE_TIME);
            }
            _ => {}
        }
        let silent = port.edge_delay_while.is_zero(now) && port.send_rstp && port.proposing;
        if port.is_enabled() && port.config.edge == Edge::Auto && silent {
            port.oper_edge = true;
        }
        before != (port.migration, port.oper_edge)
    }

    /// Port information (17.27), without the receipt of messages.
    fn inform(&mut self, now: Time, index: usize) -> bool {
        let port = &mut self.ports[index];
        match port.info_is {
            Info::Disabled if port.is_enabled() => {}
            Info::Received if port.rcvd_info_while.is_zero(now) && !port.updt_info => {}
            Info::Disabled | Info::Received | Info::Mine | Info::Aged => {
                if !(port.selected && port.updt_info && port.info_is != Info::Disabled) {
                    return false;
                }
                // UPDATE
                let better =
                    port.info_is == Info::Mine && port.designated_priority <= port.port_priority;
                (port.proposing, port.proposed) = (false, false);
                port.agreed &= better;
                port.synced &= port.agreed;
                port.port_priority = port.designated_priority;
                port.port_times = port.designated_times;
                port.updt_info = false;
                port.info_is = Info::Mine;
                port.new_info = true;
                return true;
            }
        }
        port.info_is = Info::Aged;
        (port.reselect, port.selected) = (true, false);
        true
    }

    /// Port role selection (17.28), with `updtRolesTree` (17.21.25).
    fn select(&mut self) -> bool {
        if !self.ports.iter().any(|port| port.reselect) {
            return false;
        }
        self.ports.iter_mut().for_each(|port| port.reselect = false);
        let own = Vector {
            root: self.id,
            cost: 0,
            bridge: self.id,
            port: PortId(0),
        };
        let path = |port: &Port| Vector {
            cost: port.port_priority.cost.saturating_add(port.cost),
            ..port.port_priority
        };
        let candidates = self.ports.iter().enumerate().filter(|(_, port)| {
            let foreign = port.port_priority.bridge.mac() != self.id.mac();
            port.info_is == Info::Received && foreign && !port.config.root_guard
        });
        let best = candidates.min_by_key(|(_, port)| (path(port), port.id));
        let best = best.filter(|(_, port)| path(port) < own);
        let (root, vector, times) = match best {
            Some((index, port)) => (Some(index), path(port), port.port_times.aged()),
            None => (None, own, self.times),
        };
        if self.root.root != vector.root {
            self.root_changes += 1;
        }
        (self.root, self.root_port) = (vector, root);
        for (index, port) in self.ports.iter_mut().enumerate() {
            port.designated_priority = Vector {
                bridge: self.id,
                port: port.id,
                ..vector
            };
            port.designated_times = times;
            port.designated_times.hello = self.times.hello;
            let is_better = port.designated_priority < port.port_priority;
            let (role, update) = match port.info_is {
                Info::Disabled => (Role::Disabled, false),
                Info::Aged => (Role::Designated, true),
                Info::Mine => {
                    let same = port.port_priority == port.designated_priority
                        && port.port_times == port.designated_times;
                    (Role::Designated, !same)
                }
                Info::Received if root == Some(index) => (Role::Root, false),
                Info::Received if is_better => (Role::Designated, true),
                Info::Received if port.port_priority.bridge.mac() == self.id.mac() => {
                    (Role::Backup, false)
                }
                Info::Received => (Role::Alternate, false),
            };
            (port.selected_role, port.updt_info) = (role, update);
            port.selected = true;
        }
        true
    }

    /// A port gets another role (17.29): the timers that the old one has held begin to run.
    fn enter(&mut self, now: Time, index: usize, role: Role) -> bool {
        let forward_delay = self.forward_delay(index);
        let rstp = self.config.version == Version::Rstp;
        let port = &mut self.ports[index];
        match port.role {
            Role::Root => port.rr_while = Timer(now + time(port.port_times.forward_delay)),
            Role::Backup => port.rb_while = Timer(now + time(port.port_times.hello) * 2),
            _ => {}
        }
        match port.role {
            // Listening lasts for the forward delay in STP (802.1D-1998 section 8.4.2), for the maximum age here.
            Role::Disabled if rstp => port.fd_while = Timer(now + time(port.port_times.max_age)),
            Role::Disabled | Role::Alternate | Role::Backup => {
                port.fd_while = Timer(now + forward_delay);
            }
            _ => {}
        }
        port.role = role;
        match role {
            Role::Root => port.rr_while = Timer(HELD),
            Role::Designated => {}
            Role::Disabled | Role::Alternate | Role::Backup => {
                (port.learn, port.forward) = (false, false);
                port.fd_while = Timer(HELD);
                port.rr_while = Timer(Time::ZERO);
                if role == Role::Backup {
                    port.rb_while = Timer(HELD);
                }
                // Blocked at once: ALTERNATE_PORT and DISABLED_PORT follow.
                (port.synced, port.sync, port.re_root) = (true, false, false);
            }
        }
        true
    }

    fn blocked(&mut self, index: usize) -> bool {
        let port = &mut self.ports[index];
        let changed = !port.synced || port.sync || port.re_root;
        (port.synced, port.sync, port.re_root) = (true, false, false);
        changed
    }

    fn all_synced(&self) -> bool {
        self.ports.iter().all(|port| {
            port.is_settled()
                && port.role == port.selected_role
                && (port.synced || port.role == Role::Root)
        })
    }

    /// Answers a proposal: `PROPOSED` and `AGREED` of root and alternate ports.
    fn agree(&mut self, index: usize) -> bool {
        let all_synced = self.all_synced();
        let port = &mut self.ports[index];
        if (all_synced && !port.agree) || (port.proposed && port.agree) {
            if port.role == Role::Root {
                port.sync = false;
            }
            (port.proposed, port.agree, port.new_info) = (false, true, true);
            true
        } else if port.proposed && !port.agree {
            port.proposed = false;
            self.ports.iter_mut().for_each(|port| port.sync = true);
            true
        } else {
            false
        }
    }

    fn root_transitions(&mut self, now: Time, index: usize) -> bool {
        if self.agree(index) {
            return true;
        }
        let forward_delay = self.forward_delay(index);
        if !self.ports[index].forward && !self.ports[index].re_root {
            self.ports.iter_mut().for_each(|port| port.re_root = true);
            return true;
        }
        let mut others = self
            .ports
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        let re_rooted = others.all(|(_, port)| port.rr_while.is_zero(now));
        let rstp = self.config.version == Version::Rstp;
        let port = &mut self.ports[index];
        let may = port.fd_while.is_zero(now) || (re_rooted && port.rb_while.is_zero(now) && rstp);
        if may && !port.learn {
            port.fd_while = Timer(now + forward_delay);
            port.learn = true;
            true
        } else if may && !port.forward {
            port.fd_while = Timer(Time::ZERO);
            port.forward = true;
            true
        } else if port.re_root && port.forward {
            port.re_root = false;
            true
        } else {
            false
        }
    }

    fn designated_transitions(&mut self, now: Time, index: usize) -> bool {
        let forward_delay = self.forward_delay(index);
        let port = &mut self.ports[index];
        let retired = port.rr_while.is_zero(now);
        let may = (port.fd_while.is_zero(now) || port.agreed || port.oper_edge)
            && (retired || !port.re_root)
            && !port.sync;
        let must_discard =
            (port.sync && !port.synced) || (port.re_root && !retired) || port.disputed;
        if must_discard && !port.oper_edge && (port.learn || port.forward) {
            (port.learn, port.forward, port.disputed) = (false, false, false);
            port.fd_while = Timer(now + forward_delay);
        } else if !port.forward && !port.agreed && !port.proposing && !port.oper_edge {
            port.proposing = true;
            let delay = match port.config.point_to_point {
                true => MIGRATE_TIME,
                false => time(port.port_times.max_age),
            };
            port.edge_delay_while = Timer(now + delay);
            port.new_info = true;
        } else if (!port.learning && !port.forwarding && !port.synced)
            || (port.agreed && !port.synced)
            || (port.oper_edge && !port.synced)
            || (port.sync && port.synced)
        {
            port.rr_while = Timer(Time::ZERO);
            (port.synced, port.sync) = (true, false);
        } else if retired && port.re_root {
            port.re_root = false;
        } else if may && !port.learn {
            port.learn = true;
            port.fd_while = Timer(now + forward_delay);
        } else if may && !port.forward {
            port.forward = true;
            port.fd_while = Timer(Time::ZERO);
            port.agreed = port.send_rstp;
        } else {
            return false;
        }
        true
    }

    fn alternate(&mut self, index: usize) -> bool {
        self.agree(index) || self.blocked(index)
    }

    /// Port state transition (17.30): the frames of a port pass, or do not, from here on.
    fn pass(&mut self, index: usize) -> bool {
        let port = &mut self.ports[index];
        let changed = (port.learning, port.forwarding) != (port.learn, port.forward);
        if changed {
            self.changed = true;
            (port.learning, port.forwarding) = (port.learn, port.forward);
        }
        changed
    }

    /// Topology change (17.31).
    fn topology_change(&mut self, now: Time, index: usize) -> bool {
        let port = &mut self.ports[index];
        let is_active = matches!(port.role, Role::Root | Role::Designated);
        let has_news = port.rcvd_tc || port.rcvd_tcn || port.rcvd_tc_ack || port.tc_prop;
        if !port.tc_active {
            if !port.tc_learning {
                port.tc_learning = port.learn;
                return port.tc_learning;
            }
            if is_active && port.forward && !port.oper_edge {
                // DETECTED
                port.tc_active = true;
                self.topology_changes += 1;
                self.new_tc_while(now, index);
                self.propagate(index);
                self.ports[index].new_info = true;
                return true;
            }
            if has_news {
                (port.rcvd_tc, port.rcvd_tcn) = (false, false);
                (port.rcvd_tc_ack, port.tc_prop) = (false, false);
                return true;
            }
            if !is_active && !port.learn && !port.learning {
                // INACTIVE
                (port.tc_learning, port.flush) = (false, true);
                (port.tc_while, port.tc_ack) = (Timer(Time::ZERO), false);
                return true;
            }
            return false;
        }
        if !is_active || port.oper_edge {
            port.tc_active = false;
        } else if port.rcvd_tcn {
            port.rcvd_tcn = false;
            port.rcvd_tc = true;
            self.new_tc_while(now, index);
        } else if port.rcvd_tc {
            port.rcvd_tc = false;
            if port.role == Role::Designated {
                port.tc_ack = true;
            }
            self.propagate(index);
        } else if port.tc_prop {
            (port.tc_prop, port.flush) = (false, true);
            self.new_tc_while(now, index);
        } else if port.rcvd_tc_ack {
            port.rcvd_tc_ack = false;
            port.tc_while = Timer(Time::ZERO);
        } else {
            return false;
        }
        true
    }

    fn propagate(&mut self, from: usize) {
        for (index, port) in self.ports.iter_mut().enumerate() {
            port.tc_prop |= index != from;
        }
    }

    fn new_tc_while(&mut self, now: Time, index: usize) {
        let times = self.root_times();
        let port = &mut self.ports[index];
        if port.tc_while.is_zero(now) {
            if port.send_rstp {
                port.tc_while = Timer(now + time(self.times.hello) + Time::from_secs(1));
                port.new_info = true;
            } else {
                port.tc_while = Timer(now + time(times.max_age) + time(times.forward_delay));
            }
        }
    }
}
