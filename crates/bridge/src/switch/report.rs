//! Counters and tables of a switch's protocols.

use super::control::Control;
use crate::lacp::{self, Group};
use crate::stp::Bridge;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use node::outcome::Table;
use node::{Statistics, Time};

impl Control {
    pub(super) fn count(&self, all: &mut Statistics) {
        if let Some(stp) = &self.stp {
            let counters = stp.counters();
            all.counter("bpdus", counters.received);
            all.counter("bpdus_sent", counters.sent);
            all.counter("topology_changes", counters.topology_changes);
            all.counter("root_changes", counters.root_changes);
            all.counter("guarded", counters.guarded);
        }
        if !self.groups.is_empty() {
            let sum = |of: fn(lacp::Counters) -> u64| {
                self.groups.iter().map(|group| of(group.counters())).sum()
            };
            all.counter("lacpdus", sum(|of| of.received));
            all.counter("lacpdus_sent", sum(|of| of.sent));
            all.counter("markers", sum(|of| of.markers));
        }
        if let Some(snooper) = &self.snooper {
            let counters = snooper.counters();
            all.counter("reports", counters.reports);
            all.counter("queries", counters.queries);
            all.counter("queries_sent", counters.sent);
            all.counter("memberships", snooper.memberships() as u64);
            all.counter("not_joined", counters.refused);
        }
        if self.is_destination.contains(&true) {
            all.counter("mirrored", self.mirrored);
        }
    }

    pub(super) fn tables(&self, now: Time) -> Vec<Table> {
        let mut all = Vec::new();
        let mut add = |name: &str, entries: Vec<String>| {
            all.push(Table {
                name: name.into(),
                entries,
            });
        };
        if let Some(stp) = &self.stp {
            add("spanning tree", tree_entries(stp, &self.logical));
        }
        if !self.groups.is_empty() {
            add(
                "link aggregation",
                self.groups.iter().flat_map(Group::entries).collect(),
            );
        }
        if let Some(snooper) = &self.snooper {
            add("multicast groups", snooper.entries(now));
        }
        all
    }
}

/// The bridge, and each of its ports: role, state, cost, and the designated bridge.
fn tree_entries(stp: &Bridge, logical: &[u16]) -> Vec<String> {
    let (root, cost) = stp.root();
    let mut lines = vec![match stp.root_port() {
        None => format!("bridge {} is the root", stp.id()),
        Some(port) => format!("bridge {} root {root} cost {cost} port {port}", stp.id()),
    }];
    for port in (0..logical.len() as u16).filter(|&port| logical[usize::from(port)] == port) {
        let state = match (stp.is_learning(port), stp.is_forwarding(port)) {
            (_, true) => "forwarding",
            (true, false) => "learning",
            _ if stp.is_guarded(port) => "disabled by BPDU guard",
            _ => "discarding",
        };
        let edge = if stp.is_edge(port) { " edge" } else { "" };
        let version = if stp.sends_rstp(port) { "" } else { " STP" };
        lines.push(format!(
            "port {port} {} {state} cost {} designated {}{edge}{version}",
            stp.role(port).name(),
            stp.cost(port),
            stp.vector(port).bridge,
        ));
    }
    lines
}
