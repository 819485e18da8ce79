//! Addresses that the interface finds for itself, routers, and redirects.

use super::{Interface, UNSPECIFIED};
use crate::address::InterfaceAddress;
use crate::addresses::Due;
use crate::discovery::{self, RouterAdvertisement};
use crate::neighbours::Heard;
use crate::routes::Route;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use node::{Out, Time};

impl Interface {
    /// Timers of addresses and routers.
    pub(super) fn configure(&mut self, now: Time, out: &mut Out) {
        while let Some(due) = self.addresses.poll(now) {
            self.scratch.clear();
            match due {
                Due::Probe(address) => {
                    let own = match address {
                        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                        IpAddr::V6(_) => UNSPECIFIED,
                    };
                    discovery::request(self.mac, own, address, None, &mut self.scratch);
                    self.emit(out);
                }
                Due::Announce(address) => self.announce(address, out),
                Due::Changed => {}
            }
        }
        let routers = self.routers.as_mut();
        let own = routers.and_then(|one| one.poll(now, &self.addresses, &mut self.routes));
        if let Some(own) = own {
            self.scratch.clear();
            discovery::router_solicitation(self.mac, own, &mut self.scratch);
            self.emit(out);
        }
    }

    fn announce(&mut self, address: IpAddr, out: &mut Out) {
        if let IpAddr::V4(address) = address {
            self.scratch.clear();
            discovery::announcement(self.mac, address, &mut self.scratch);
            self.emit(out);
        }
    }

    /// Another interface uses an address, or asks whether it is free.
    pub(super) fn conflict(&mut self, now: Time, address: IpAddr, uses: bool, out: &mut Out) {
        if let Some(address) = self.addresses.conflict(now, address, uses) {
            self.announce(address, out);
        }
    }

    pub(super) fn hear_router(
        &mut self,
        now: Time,
        router: IpAddr,
        message: &RouterAdvertisement,
        out: &mut Out,
    ) {
        let (Some(routers), IpAddr::V6(source)) = (&mut self.routers, router) else {
            return;
        };
        let (addresses, routes) = (&mut self.addresses, &mut self.routes);
        let mtu = routers.hear(now, source, message, addresses, routes);
        // A link's MTU never makes an interface's longer.
        self.mtu = self.mtu.min(mtu.map_or(self.mtu, |mtu| mtu as usize));
        if let Some(mac) = message.mac {
            self.learn(now, router, Heard::Request(mac), out);
        }
    }

    /// Follows a redirect of the router that is the next hop of the destination now (RFC 4861 section 8.3).
    pub(super) fn redirect(
        &mut self,
        now: Time,
        router: IpAddr,
        [target, destination]: [Ipv6Addr; 2],
        mac: Option<[u8; 6]>,
        out: &mut Out,
    ) {
        let current = self.routes.next_hop(destination.into());
        if !self.redirects || current != Some(router) {
            return;
        }
        let route = Route {
            to: InterfaceAddress {
                address: destination.into(),
                prefix: 128,
            },
            via: (target != destination).then_some(target.into()),
        };
        if self.routes.replace(route)
            && let Some(mac) = mac
        {
            self.learn(now, target.into(), Heard::Request(mac), out);
        }
    }
}
