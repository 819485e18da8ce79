//! Routing tables of one VRF, and the rules that choose among them.
//!
//! As in Linux a packet's destination is looked up among the router's own addresses first, then by the rules in the order of
//! their priorities, of which the last looks into the table [`MAIN`].

use crate::fib::Fib;
use crate::prefix::Prefix;
use crate::route::{Action, Hop, MAIN, Route};
use crate::rule::{Key, MAIN_PRIORITY, Rule, Selector, Verdict};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;
use ip::address::InterfaceAddress;

/// Maximum number of routes of a table.
pub const MAX_ROUTES: usize = 1 << 24;
/// Values of the table of local addresses.
const OWN: u32 = 0;
const BROADCAST: u32 = 1;

/// Effect of the tables on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// It is for the router itself.
    Own,
    /// It is for all stations of a network on a link.
    Broadcast,
    /// It goes to one of these; at least one.
    Forward(&'a [Hop]),
    /// It is dropped.
    Blackhole,
    /// It is dropped: the route says that the hosts cannot be reached.
    Unreachable,
    /// It is dropped: communication is prohibited.
    Prohibit,
    /// It is dropped: there is no route, or a rule says so.
    NoRoute,
}

/// A map of prefixes of both versions.
#[derive(Clone, Debug, Default)]
struct Both {
    v4: Fib<u32>,
    v6: Fib<u128>,
}

impl Both {
    #[inline]
    fn lookup(&self, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => self.v4.lookup(address.to_bits()),
            IpAddr::V6(address) => self.v6.lookup(address.to_bits()),
        }
    }

    fn exact(&self, to: Prefix) -> Option<u32> {
        match to.address() {
            IpAddr::V4(address) => self.v4.exact(address.to_bits(), to.length()),
            IpAddr::V6(address) => self.v6.exact(address.to_bits(), to.length()),
        }
    }

    fn insert(&mut self, to: Prefix, value: u32) {
        match to.address() {
            IpAddr::V4(address) => self.v4.insert(address.to_bits(), to.length(), value),
            IpAddr::V6(address) => self.v6.insert(address.to_bits(), to.length(), value),
        };
    }

    fn remove(&mut self, to: Prefix) {
        match to.address() {
            IpAddr::V4(address) => self.v4.remove(address.to_bits(), to.length()),
            IpAddr::V6(address) => self.v6.remove(address.to_bits(), to.length()),
        };
    }
}

/// One table.
#[derive(Clone, Debug, Default)]
struct Table {
    prefixes: Both,
    /// The routes of each prefix, by the prefix's value; the lowest metric first. Those of a value that is free are none.
    routes: Vec<Vec<Route>>,
    free: Vec<u32>,
}

impl Table {
    #[inline]
    fn lookup(&self, address: IpAddr) -> Option<&Route> {
        let value = self.prefixes.lookup(address)?;
        self.routes[value as usize].first()
    }

    /// Adds a route unless there is one with its prefix and metric.
    fn add(&mut self, route: Route) -> bool {
        let value = match self.prefixes.exact(route.to) {
            Some(value) => value,
            None if self.routes.len() - self.free.len() >= MAX_ROUTES => return false,
            None => {
                let value = self.free.pop().unwrap_or(self.routes.len() as u32);
                if value as usize == self.routes.len() {
                    self.routes.push(Vec::new());
                }
                self.prefixes.insert(route.to, value);
                value
            }
        };
        let routes = &mut self.routes[value as usize];
        let place = routes.partition_point(|one| one.metric < route.metric);
        if routes
            .get(place)
            .is_some_and(|one| one.metric == route.metric)
        {
            return false;
        }
        routes.insert(place, route);
        true
    }

    fn remove(&mut self, to: Prefix, metric: u32) -> Option<Route> {
        let value = self.prefixes.exact(to)?;
        let routes = &mut self.routes[value as usize];
        let place = routes.iter().position(|one| one.metric == metric)?;
        let route = routes.remove(place);
        if routes.is_empty() {
            self.prefixes.remove(to);
            self.free.push(value);
        }
        Some(route)
    }
}

/// The tables of one VRF.
#[derive(Clone, Debug)]
pub struct Tables {
    local: Both,
    tables: BTreeMap<u32, Table>,
    /// The table of nearly all packets, which is among the others when rules choose.
    main: Table,
    /// Rules about IPv4 and IPv6, in order; empty where only the table `main` is asked.
    rules: [Vec<(u32, Selector, Verdict)>; 2],
}

impl Tables {
    /// Tables without routes, and these rules.
    pub fn new(rules: &[Rule]) -> Tables {
        let sorted = |is_v4: bool| {
            let own = rules.iter().filter(|rule| rule.is_v4 == is_v4);
            let mut all: Vec<_> = own
                .map(|rule| {
                    let priority = rule.priority.unwrap_or(MAIN_PRIORITY - 1);
                    (priority, rule.selector.clone(), rule.verdict)
                })
                .collect();
            all.sort_by_key(|rule| rule.0);
            if !all.is_empty() {
                all.push((MAIN_PRIORITY, Selector::default(), Verdict::Lookup(MAIN)));
                let last = Verdict::Lookup(MAIN - 1);
                all.push((MAIN_PRIORITY + 1, Selector::default(), last));
            }
            all
        };
        Tables {
            local: Both::default(),
            tables: BTreeMap::new(),
            main: Table::default(),
            rules: [sorted(true), sorted(false)],
        }
    }

    /// Adds an address of the router, and its network's broadcast address (RFC 919); not the network itself.
    pub fn add_address(&mut self, own: InterfaceAddress) {
        self.local.insert(Prefix::new(own.address, 128), OWN);
        if let IpAddr::V4(address) = own.address
            && (1..31).contains(&own.prefix)
        {
            let last = address | core::net::Ipv4Addr::from_bits(u32::MAX >> own.prefix);
            let to = Prefix::new(last.into(), 32);
            if self.local.exact(to).is_none() {
                self.local.insert(to, BROADCAST);
            }
        }
    }

    /// Whether an address is one of the router's.
    #[inline]
    pub fn is_own(&self, address: IpAddr) -> bool {
        self.local.lookup(address) == Some(OWN)
    }

    /// Whether an address is one of the router's, or the broadcast address of one of its networks.
    #[inline]
    pub fn is_local(&self, address: IpAddr) -> bool {
        self.local.lookup(address).is_some()
    }

    /// Adds a route, whose hops all name a port; `false` when there is one with its prefix, table and metric, or no room.
    pub fn add(&mut self, route: Route) -> bool {
        match route.table {
            MAIN => self.main.add(route),
            other => self.tables.entry(other).or_default().add(route),
        }
    }

    /// Removes the route of a prefix with a metric from a table, and gives it.
    pub fn remove(&mut self, table: u32, to: Prefix, metric: u32) -> Option<Route> {
        match table {
            MAIN => self.main.remove(to, metric),
            other => self.tables.get_mut(&other)?.remove(to, metric),
        }
    }

    /// The decision about a packet to `destination`; `key` is asked where rules choose the table.
    #[inline]
    pub fn decide(&self, destination: IpAddr, key: impl FnOnce() -> Key) -> Decision<'_> {
        match self.local.lookup(destination) {
            Some(OWN) => return Decision::Own,
            Some(_) => return Decision::Broadcast,
            None => {}
        }
        let rules = &self.rules[usize::from(destination.is_ipv6())];
        match rules.is_empty() {
            true => follow(self.main.lookup(destination)).unwrap_or(Decision::NoRoute),
            false => self.by_rules(rules, destination, &key()),
        }
    }

    fn by_rules(
        &self,
        rules: &[(u32, Selector, Verdict)],
        destination: IpAddr,
        key: &Key,
    ) -> Decision<'_> {
        for (_, selector, verdict) in rules {
            if !selector.selects(key) {
                continue;
            }
            let table = match verdict {
                Verdict::Lookup(MAIN) => Some(&self.main),
                Verdict::Lookup(table) => self.tables.get(table),
                Verdict::Blackhole => return Decision::Blackhole,
                Verdict::Unreachable => return Decision::NoRoute,
                Verdict::Prohibit => return Decision::Prohibit,
            };
            let found = table.and_then(|table| follow(table.lookup(destination)));
            if let Some(decision) = found {
                return decision;
            }
        }
        Decision::NoRoute
    }

    /// All routes: those of the table `main` first, in order of their prefixes.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        let tables = self.tables.values();
        core::iter::once(&self.main)
            .chain(tables)
            .flat_map(|table| {
                let v4 = table.prefixes.v4.iter().map(|route| route.2);
                let v6 = table.prefixes.v6.iter().map(|route| route.2);
                v4.chain(v6).flat_map(|value| &table.routes[value as usize])
            })
    }
}

/// The decision of a route; `None`: the next rule decides.
#[inline]
fn follow(route: Option<&Route>) -> Option<Decision<'_>> {
    match &route?.action {
        Action::Forward(hops) => Some(Decision::Forward(hops)),
        Action::Blackhole => Some(Decision::Blackhole),
        Action::Unreachable => Some(Decision::Unreachable),
        Action::Prohibit => Some(Decision::Prohibit),
        Action::Throw => None,
    }
}

impl Default for Tables {
    fn default() -> Tables {
        Tables::new(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(rules: &[&str], routes: &[&str]) -> Tables {
        let rules: Vec<Rule> = rules.iter().map(|text| text.parse().unwrap()).collect();
        let mut tables = Tables::new(&rules);
        for text in routes {
            assert!(tables.add(text.parse().unwrap()), "{text}");
        }
        tables
    }

    /// The port by which a packet leaves.
    fn port(tables: &Tables, source: &str, destination: &str) -> Option<u16> {
        let destination = destination.parse().unwrap();
        let key = || Key {
            source: source.parse().unwrap(),
            destination,
            iif: Some(0),
            tos: 0,
            protocol: 17,
            ports: Some([1, 53]),
        };
        match tables.decide(destination, key) {
            Decision::Forward(hops) => hops[0].port,
            _ => None,
        }
    }

    #[test]
    fn rules_are_asked_in_order_until_a_table_has_a_route() {
        let tables = tables(
            &[
                "from 10.1.0.0/16 lookup 100",
                "dport 53 lookup 200",
                "from 10.9.0.0/16 priority 5 prohibit",
                "from 10.1.9.0/24 lookup 300",
            ],
            &[
                "10.2.0.0/16 dev 1",
                "10.2.0.0/16 dev 2 table 100",
                "throw 10.2.3.0/24 table 100",
                "10.2.3.0/24 dev 3 table 200",
                "10.2.4.0/24 dev 4 table 253",
            ],
        );
        assert_eq!(port(&tables, "10.1.0.1", "10.2.0.1"), Some(2));
        assert_eq!(port(&tables, "10.3.0.1", "10.2.0.1"), Some(1));
        assert_eq!(port(&tables, "10.1.0.1", "10.2.3.1"), Some(3));
        assert_eq!(port(&tables, "10.9.0.1", "10.2.0.1"), None);
        // The table `default` is asked last of all.
        assert_eq!(port(&tables, "10.3.0.1", "10.2.4.1"), Some(1));
        assert_eq!(port(&tables, "fd00::1", "fd00::2"), None);
        assert_eq!(tables.routes().count(), 5);
    }

    #[test]
    fn of_two_routes_the_lower_metric_counts_until_it_is_removed() {
        let mut tables = tables(&[], &["10.0.0.0/8 dev 1 metric 5", "10.0.0.0/8 dev 2"]);
        assert_eq!(port(&tables, "10.0.0.1", "10.0.0.2"), Some(2));
        assert!(!tables.add("10.0.0.0/8 dev 3 metric 5".parse().unwrap()));
        let to = "10.0.0.0/8".parse().unwrap();
        assert!(tables.remove(MAIN, to, 0).is_some());
        assert!(tables.remove(MAIN, to, 0).is_none());
        assert_eq!(port(&tables, "10.0.0.1", "10.0.0.2"), Some(1));
        assert!(tables.remove(MAIN, to, 5).is_some());
        assert_eq!(port(&tables, "10.0.0.1", "10.0.0.2"), None);
    }

    #[test]
    fn own_and_broadcast_addresses_come_before_all_routes() {
        let mut tables = tables(&["blackhole"], &["0.0.0.0/0 dev 1"]);
        tables.add_address("10.0.0.1/24".parse().unwrap());
        tables.add_address("10.0.0.255/23".parse().unwrap());
        tables.add_address("10.1.0.0/31".parse().unwrap());
        let decide = |to: &str| {
            let to = to.parse().unwrap();
            let key = || panic!("rules are not asked");
            tables.decide(to, key)
        };
        assert_eq!(decide("10.0.0.1"), Decision::Own);
        assert_eq!(decide("10.0.0.255"), Decision::Own);
        assert_eq!(decide("10.0.1.255"), Decision::Broadcast);
        assert_eq!(decide("10.1.0.0"), Decision::Own);
        assert_eq!(port(&tables, "10.0.0.1", "10.1.0.1"), None);
    }
}
