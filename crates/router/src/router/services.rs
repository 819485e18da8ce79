//! Services on the router: its links as they see them, the packets that they send, the addresses and routes that they change.

use super::{NONE, Router, Transit, is_link_local, reason};
use crate::prefix::Prefix;
use crate::route::{Action, Hop, MAIN, Route};
use alloc::vec::Vec;
use core::net::IpAddr;
use ip::address::InterfaceAddress;
use ip::service::{self, Change, Link};
use node::{Frame, Out, Port, Time};

/// Metric of the routes that services add.
const METRIC: u32 = 1024;

impl Router {
    /// Offers a frame that has arrived by a port to the services; returns it if it is for none of them.
    pub(super) fn offer(
        &mut self,
        now: Time,
        from: u16,
        frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        let port = self.ports.get(usize::from(from))?;
        let services = &mut self.vrfs[port.vrf].services;
        if services.is_empty() {
            return Some(frame);
        }
        let link = Link {
            port: Port(from),
            interface: &port.interface,
            mtu: port.mtu,
        };
        let vrf = port.vrf;
        let rest = services.offer(now, &link, frame, out);
        self.after_services(now, vrf, from, out);
        rest
    }

    /// Wakes the services.
    pub(super) fn wake_services(&mut self, now: Time, out: &mut Out) {
        for vrf in 0..self.vrfs.len() {
            let services = &mut self.vrfs[vrf].services;
            if services.next_wake().is_none_or(|at| at > now) {
                continue;
            }
            let ports = self.ports.iter().enumerate();
            let links = ports.filter(|(_, port)| port.vrf == vrf);
            let links: Vec<Link<'_>> = links
                .map(|(number, port)| Link {
                    port: Port(number as u16),
                    interface: &port.interface,
                    mtu: port.mtu,
                })
                .collect();
            services.wake(now, &links, out);
            self.after_services(now, vrf, NONE, out);
        }
    }

    /// Makes the changes of services, and routes the packets that they have sent.
    fn after_services(&mut self, now: Time, vrf: usize, link: u16, out: &mut Out) {
        let mut changes = core::mem::take(&mut self.changes);
        self.vrfs[vrf].services.take_changes(&mut changes);
        for change in changes.drain(..) {
            self.change(now, vrf, change);
        }
        self.changes = changes;
        self.settle(now, vrf, link, out);
    }

    fn change(&mut self, now: Time, vrf: usize, change: Change) {
        match change {
            Change::Address {
                port,
                network,
                present,
            } => {
                if self.has_port(port, vrf) {
                    match present {
                        true => self.add_address(now, port, network),
                        false => self.remove_address(port, network),
                    }
                }
            }
            Change::Route {
                to,
                via,
                port,
                present,
            } => {
                let hop = Hop {
                    via,
                    port: Some(port.0),
                    onlink: true,
                    ..Hop::default()
                };
                if self.has_port(port, vrf) {
                    self.change_route(vrf, to, hop, METRIC, present);
                }
            }
        }
    }

    fn has_port(&mut self, port: Port, vrf: usize) -> bool {
        let known = self.ports.get(usize::from(port.0));
        let known = known.is_some_and(|port| port.vrf == vrf);
        self.counters.refused_changes += u64::from(!known);
        known
    }

    fn add_address(&mut self, now: Time, port: Port, network: InterfaceAddress) {
        let number = usize::from(port.0);
        let vrf = self.ports[number].vrf;
        if self.vrfs[vrf].tables.is_own(network.address) {
            self.counters.refused_changes += 1;
            return;
        }
        let at = &mut self.ports[number];
        if network.address.is_ipv6() && !at.has_v6 {
            at.has_v6 = true;
            let own = ip::routers::link_local(at.mac);
            at.interface.add_address(now, own);
        }
        at.interface.add_address(now, network);
        let vrf_state = &mut self.vrfs[vrf];
        vrf_state.own.add_address(now, network);
        vrf_state.tables.add_address(network);
        self.change_connected(port, network, true);
        self.counters.refused_changes += u64::from(!self.renumber_border(port));
    }

    fn remove_address(&mut self, port: Port, network: InterfaceAddress) {
        let number = usize::from(port.0);
        let vrf = self.ports[number].vrf;
        let interface = &self.ports[number].interface;
        let has = interface.addresses().any(|own| own.network == network);
        if is_link_local(network.address) || !has {
            self.counters.refused_changes += 1;
            return;
        }
        self.ports[number].interface.remove_address(network);
        let ports = self.ports.iter().filter(|port| port.vrf == vrf);
        let rest = ports.flat_map(|port| port.interface.addresses().map(|own| own.network));
        let vrf = &mut self.vrfs[vrf];
        vrf.own.remove_address(network);
        vrf.tables.remove_address(network);
        // Another address may have the same broadcast address.
        rest.filter(|own| !is_link_local(own.address))
            .for_each(|own| vrf.tables.add_address(own));
        let prefix = |own: InterfaceAddress| Prefix::new(own.address, own.prefix);
        let interface = &self.ports[number].interface;
        let shared = interface
            .addresses()
            .any(|own| prefix(own.network) == prefix(network));
        if !shared {
            self.change_connected(port, network, false);
        }
        self.counters.refused_changes += u64::from(!self.renumber_border(port));
    }

    fn change_connected(&mut self, port: Port, network: InterfaceAddress, present: bool) {
        let hop = Hop {
            port: Some(port.0),
            ..Hop::default()
        };
        let metric = super::config::connected_metric(network);
        let vrf = self.ports[usize::from(port.0)].vrf;
        self.change_route(vrf, network, hop, metric, present);
    }

    fn change_route(
        &mut self,
        vrf: usize,
        to: InterfaceAddress,
        hop: Hop,
        metric: u32,
        present: bool,
    ) {
        let to = Prefix::new(to.address, to.prefix);
        let state = &mut self.vrfs[vrf];
        let route = Route {
            to,
            action: Action::Forward([hop].into()),
            metric,
            table: MAIN,
            vrf: state.name.clone(),
        };
        let done = match present {
            // Of several addresses in one network the first makes the route, as in Linux.
            true => state.tables.add(route).is_ok() || hop.via.is_none(),
            false => state.tables.remove(MAIN, to, metric).is_some(),
        };
        self.counters.refused_changes += u64::from(!done);
    }

    /// Fills in the source of a service's packet that has none, from the port by which it leaves. Returns the frame unless there is no
    /// route.
    pub(super) fn fill_source(
        &mut self,
        vrf: usize,
        link: u16,
        mut frame: Frame,
        out: &mut Out,
    ) -> Option<Frame> {
        if self.vrfs[vrf].services.is_empty() || !service::lacks_source(&frame) {
            return Some(frame);
        }
        let transit = Transit::own(&frame, link, vrf)?;
        let source: Option<IpAddr> = self.hop(&transit, &frame).and_then(|hop| {
            let port = &self.ports[usize::from(hop.port?)];
            port.interface
                .source(hop.via.unwrap_or(transit.destination))
        });
        match source {
            Some(source) => {
                service::set_source(&mut frame, source);
                Some(frame)
            }
            None => {
                out.drop(frame, reason::NO_ROUTE);
                None
            }
        }
    }
}
