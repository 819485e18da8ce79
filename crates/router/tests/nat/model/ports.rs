//! External endpoints that the RFCs and the keys allow a new mapping.

use super::super::packets::*;
use super::{Mapping, Model, number};
use core::net::Ipv4Addr;
use router::nat::config::*;

impl Model {
    /// External endpoints that a new mapping may have.
    pub(super) fn allowed(&self, packet: &Packet) -> Vec<End> {
        let protocol = packet.protocol();
        let own = |mapping: &&Mapping| mapping.inside.0 == packet.source.0;
        let paired = self
            .mappings
            .iter()
            .find(own)
            .map(|mapping| mapping.external.0);
        let paired = paired.filter(|_| self.config.pooling == Pooling::Paired);
        let addresses = self.addresses.iter();
        let addresses = addresses.filter(|&&address| paired.is_none_or(|paired| paired == address));
        let at = |&address: &Ipv4Addr| self.allowed_at(packet, address);
        addresses.flat_map(at).filter(|_| protocol > 0).collect()
    }

    fn allowed_at(&self, packet: &Packet, address: Ipv4Addr) -> Vec<End> {
        let (protocol, inside, remote) = (packet.protocol(), packet.source, packet.destination);
        let config = &self.config;
        let shared = ![TCP, UDP, ICMP].contains(&protocol) || config.overload;
        let mut in_use = vec![false; 65_536];
        for mapping in &self.mappings {
            let mut sessions = mapping.sessions.iter();
            if (mapping.protocol, mapping.external.0) == (protocol, address)
                && (!shared || sessions.any(|session| session.remote == remote))
            {
                in_use[usize::from(mapping.external.1)] = true;
            }
        }
        let forwards = config.forward.iter();
        for forward in forwards.filter(|forward| number(forward) == protocol) {
            if *forward.external.ip() == address {
                in_use[usize::from(forward.external.port())] = true;
            }
        }
        for (external, far, until) in &self.strangers {
            let counts = protocol == UDP && config.overload && *until > self.now;
            if counts && (external.0, *far) == (address, remote) {
                in_use[usize::from(external.1)] = true;
            }
        }
        let is_free = |port: u16| !in_use[usize::from(port)];
        if ![TCP, UDP, ICMP].contains(&protocol) {
            return Vec::from_iter(is_free(0).then_some((address, 0)));
        }
        let all = config.port_range.first()..=config.port_range.last();
        let range = match (config.low_ports, inside.1) {
            _ if config.port_blocks.is_some() => all,
            _ if protocol == ICMP => 0..=65_535,
            (LowPorts::SameRange, ..1_024) => 1..=1_023,
            (LowPorts::Linux, ..512) => 1..=511,
            (LowPorts::Linux, ..1_024) => 600..=1_023,
            _ => all,
        };
        let block = |port: u16| {
            let blocks = config.port_blocks.unwrap();
            (port - config.port_range.first()) / blocks.size
        };
        let mut ports: Vec<u16> = range.clone().filter(|&port| is_free(port)).collect();
        if let Some(blocks) = config.port_blocks {
            let with_ports = self.mappings.iter();
            let with_ports = with_ports.filter(|m| [TCP, UDP, ICMP].contains(&m.protocol));
            let here: Vec<&Mapping> = with_ports.filter(|m| m.external.0 == address).collect();
            let held = |of: &dyn Fn(&Mapping) -> bool| -> Vec<u16> {
                let mappings = here.iter().filter(|mapping| of(mapping));
                let mut all: Vec<u16> = mappings.map(|mapping| block(mapping.external.1)).collect();
                all.sort();
                all.dedup();
                all
            };
            let own = held(&|mapping| mapping.inside.0 == inside.0);
            let others = held(&|mapping| mapping.inside.0 != inside.0);
            let whole = config.port_range.len() / blocks.size;
            ports.retain(|&port| block(port) < whole && !others.contains(&block(port)));
            let in_own: Vec<u16> = ports
                .iter()
                .copied()
                .filter(|&p| own.contains(&block(p)))
                .collect();
            if !in_own.is_empty() {
                ports = in_own;
            } else if own.len() >= blocks.per_host.into() {
                ports.clear();
            }
            if config.ports == Ports::Preserve && ports.contains(&inside.1) && own.is_empty() {
                // The first free block need not be that of the inside port.
                return ports.into_iter().map(|port| (address, port)).collect();
            }
            if own.len() > 1 || ports.iter().any(|&p| block(p) != block(ports[0])) {
                // The order of blocks is not specified, so neither is the rest.
                return ports.into_iter().map(|port| (address, port)).collect();
            }
        }
        let next = (inside.1 % 2 == 1 && protocol == UDP && config.contiguity)
            .then(|| self.mapping(UDP, (inside.0, inside.1 - 1), remote))
            .flatten()
            .map(|index| self.mappings[index].external)
            .filter(|before| before.0 == address)
            .and_then(|before| before.1.checked_add(1));
        let mut own = self.mappings.iter().rev();
        let latest = own.find(|m| (m.protocol, m.inside) == (protocol, inside));
        let latest = latest.map(|latest| latest.external);
        if let Some((_, port)) = latest.filter(|latest| config.reuse && latest.0 == address)
            && is_free(port)
        {
            return vec![(address, port)];
        }
        let kept = (config.ports == Ports::Preserve).then_some(inside.1);
        let is_kept = |port: &u16| {
            ports.contains(port)
                || (config.low_ports == LowPorts::Linux
                    && config.port_blocks.is_none()
                    && is_free(*port))
        };
        let first = next.filter(|port| ports.contains(port));
        if let Some(port) = first.or(kept.filter(is_kept)) {
            return vec![(address, port)];
        }
        if config.parity && protocol == UDP {
            let like = |port: &u16| port % 2 == inside.1 % 2;
            if ports.iter().any(like) {
                ports.retain(like);
            }
        }
        if config.ports == Ports::Sequential && config.port_blocks.is_none() {
            let last = self
                .last
                .iter()
                .find(|last| (last.0, last.1) == (address, protocol));
            let last = last.map(|last| last.2).filter(|last| range.contains(last));
            let later = ports
                .iter()
                .find(|&&port| last.is_none_or(|last| port > last));
            ports = Vec::from_iter(later.or(ports.first()).copied());
        }
        ports.into_iter().map(|port| (address, port)).collect()
    }
}
