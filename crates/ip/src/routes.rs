//! Routes by prefix: the longest that matches a destination gives the next hop.

use crate::address::InterfaceAddress;
use alloc::vec::Vec;
use core::net::IpAddr;

/// Maximum number of routes of an interface; more are refused.
pub const MAX_ROUTES: usize = 256;

/// A route: all addresses with a prefix, and the next hop to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The destinations.
    pub to: InterfaceAddress,
    /// The next hop; `None` when the destinations are on the link.
    pub via: Option<IpAddr>,
}

impl Route {
    /// The route of all destinations that have no longer one.
    pub fn default_via(gateway: IpAddr) -> Route {
        let any = match gateway {
            IpAddr::V4(_) => IpAddr::from([0; 4]),
            IpAddr::V6(_) => IpAddr::from([0; 16]),
        };
        Route {
            to: InterfaceAddress {
                address: any,
                prefix: 0,
            },
            via: Some(gateway),
        }
    }
}

/// The routes of an interface.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Longest prefix first; of one length those on the link before those with a next hop, and else by age.
    routes: Vec<Route>,
}

impl Routes {
    /// Adds a route, unless it is there; `false` when there is no room.
    pub fn add(&mut self, route: Route) -> bool {
        if self.routes.contains(&route) {
            return true;
        }
        if self.routes.len() >= MAX_ROUTES {
            return false;
        }
        let rank = |route: &Route| (255 - route.to.prefix, route.via.is_some());
        let place = self
            .routes
            .partition_point(|known| rank(known) <= rank(&route));
        self.routes.insert(place, route);
        true
    }

    /// Takes a route out.
    pub fn remove(&mut self, route: Route) {
        self.routes.retain(|known| *known != route);
    }

    /// Replaces the route of exactly this prefix.
    pub fn replace(&mut self, route: Route) -> bool {
        self.routes.retain(|known| known.to != route.to);
        self.add(route)
    }

    /// The address to resolve for a destination: its own, or a router's.
    pub fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        let route = self.routes.iter().find(|route| route.to.contains(to))?;
        Some(route.via.unwrap_or(to))
    }

    /// Whether an address is resolved by itself.
    pub fn is_on_link(&self, address: IpAddr) -> bool {
        self.next_hop(address) == Some(address)
    }

    /// All routes, longest prefix first.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::net::Ipv4Addr;
    use node::random::Random;

    fn route(text: &str, via: Option<&str>) -> Route {
        Route {
            to: InterfaceAddress {
                address: text.split('/').next().unwrap().parse().unwrap(),
                prefix: text.split('/').nth(1).unwrap().parse().unwrap(),
            },
            via: via.map(|via| via.parse().unwrap()),
        }
    }

    #[test]
    fn the_longest_prefix_counts_and_the_link_before_a_gateway() {
        let mut routes = Routes::default();
        for one in [
            Route::default_via("10.0.0.254".parse().unwrap()),
            route("10.0.0.0/24", None),
            route("10.0.0.128/25", Some("10.0.0.253")),
            route("0.0.0.0/0", None),
            route("fd00::/64", None),
        ] {
            assert!(routes.add(one) && routes.add(one));
        }
        let hop = |to: &str| {
            let hop = routes.next_hop(to.parse().unwrap());
            hop.map(|hop| std::string::ToString::to_string(&hop))
        };
        assert_eq!(hop("10.0.0.3").as_deref(), Some("10.0.0.3"));
        assert_eq!(hop("10.0.0.200").as_deref(), Some("10.0.0.253"));
        assert_eq!(hop("192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(hop("fd00::7").as_deref(), Some("fd00::7"));
        assert_eq!(hop("fd01::7"), None);
        routes.remove(route("0.0.0.0/0", None));
        assert_eq!(
            routes.next_hop("192.0.2.1".parse().unwrap()),
            Some("10.0.0.254".parse().unwrap())
        );
        assert_eq!(routes.iter().count(), 4);
    }

    #[test]
    fn random_tables_agree_with_a_search_of_all_prefixes() {
        let mut random = Random::new(7);
        for _ in 0..300 {
            let mut routes = Routes::default();
            let mut all = vec![];
            for number in 0..random.below(20) {
                let length = random.below(33) as u8;
                let bits = (random.bits() as u32) & 0x0F0F_F0F0;
                // The prefix with its other bits cleared, so that a prefix is there once.
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                let to = InterfaceAddress {
                    address: Ipv4Addr::from_bits(bits & mask).into(),
                    prefix: length,
                };
                if all.iter().all(|known: &Route| known.to != to) {
                    let via = Some(Ipv4Addr::from_bits(number as u32 + 1).into());
                    all.push(Route { to, via });
                    routes.add(Route { to, via });
                }
            }
            for _ in 0..50 {
                let to = Ipv4Addr::from_bits((random.bits() as u32) & 0x0F0F_F0F0).into();
                let longest = all.iter().filter(|route| route.to.contains(to));
                let longest = longest.max_by_key(|route| route.to.prefix);
                assert_eq!(routes.next_hop(to), longest.and_then(|route| route.via));
            }
        }
    }
}
