//! Routing tables of one VRF, and the rules that choose among them.
//!
//! As in Linux a packet's destination is looked up among the router's own addresses first, then by the rules in the order of
//! their priorities, of which the last looks into the table [`MAIN`].

use crate::fib::Fib;
use crate::prefix::Prefix;
use crate::route::{Action, Hop, MAIN, Route};
use crate::rule::{Key, MAIN_PRIORITY, Rule, Selector, Verdict};
use alloc::borrow::Cow;
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

    fn insert(&mut self, to: Prefix, value: u32) -> Option<u32> {
        match to.address() {
            IpAddr::V4(address) => self.v4.insert(address.to_bits(), to.length(), value),
            IpAddr::V6(address) => self.v6.insert(address.to_bits(), to.length(), value),
        }
    }

    fn change_all(&mut self, entries: &[(Prefix, Option<u32>)]) {
        let v4 = entries
            .iter()
            .filter_map(|&(to, value)| match to.address() {
                IpAddr::V4(address) => Some((address.to_bits(), to.length(), value)),
                IpAddr::V6(_) => None,
            });
        self.v4.change_all(v4);
        let v6 = entries
            .iter()
            .filter_map(|&(to, value)| match to.address() {
                IpAddr::V4(_) => None,
                IpAddr::V6(address) => Some((address.to_bits(), to.length(), value)),
            });
        self.v6.change_all(v6);
    }

    fn remove(&mut self, to: Prefix) -> Option<u32> {
        match to.address() {
            IpAddr::V4(address) => self.v4.remove(address.to_bits(), to.length()),
            IpAddr::V6(address) => self.v6.remove(address.to_bits(), to.length()),
        }
    }
}

/// Actions by number. Most prefixes share one of a few, which a processor's cache then holds, and neighbours in the trie are one.
#[derive(Clone, Debug, Default)]
struct Actions {
    numbers: BTreeMap<Action, u32>,
    /// Actions with the number of their prefixes; an unused one keeps its place.
    all: Vec<(Action, usize)>,
    free: Vec<u32>,
}

impl Actions {
    /// The number of an action for one more prefix.
    fn take(&mut self, action: &Action) -> u32 {
        if let Some(&number) = self.numbers.get(action) {
            self.all[number as usize].1 += 1;
            return number;
        }
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        let entry = (action.clone(), 1);
        match self.all.get_mut(number as usize) {
            Some(unused) => *unused = entry,
            None => self.all.push(entry),
        }
        self.numbers.insert(action.clone(), number);
        number
    }

    /// Releases the action of one prefix.
    fn give(&mut self, number: u32) {
        let (action, count) = &mut self.all[number as usize];
        *count -= 1;
        if *count == 0 {
            self.numbers.remove(action);
            self.free.push(number);
        }
    }
}

/// One table.
#[derive(Clone, Debug, Default)]
struct Table {
    /// The number of each prefix's action.
    prefixes: Both,
    actions: Actions,
    /// The routes of each prefix, the lowest metric first.
    routes: BTreeMap<Prefix, Vec<Route>>,
    /// Ports whose links are down: their hops do not count.
    down: Vec<u16>,
}

impl Table {
    #[inline]
    fn lookup(&self, address: IpAddr) -> Option<&Action> {
        let number = self.prefixes.lookup(address)?;
        Some(&self.actions.all[number as usize].0)
    }

    /// Adds routes at the cost of building the trie once.
    ///
    /// # Errors
    /// The first route that cannot be added; those before it are.
    fn add_all(&mut self, routes: Vec<Route>) -> Result<(), Route> {
        let mut result = Ok(());
        let mut changed = Vec::with_capacity(routes.len());
        for route in routes {
            let to = route.to;
            if let Err(route) = self.insert(route) {
                result = Err(route);
                break;
            }
            changed.push(to);
        }
        changed.sort_unstable();
        changed.dedup();
        self.update_all(&changed);
        result
    }

    /// Sets the links that are down, and the actions of all prefixes with routes by a port whose link has changed.
    fn set_down(&mut self, down: &[u16]) {
        let is_changed = |port: Option<u16>| {
            port.is_some_and(|port| down.contains(&port) != self.down.contains(&port))
        };
        let is_affected = |route: &Route| match &route.action {
            Action::Forward(hops) => hops.iter().any(|hop| is_changed(hop.port)),
            _ => false,
        };
        let all = self.routes.iter();
        let changed = all.filter(|(_, routes)| routes.iter().any(is_affected));
        let changed: Vec<Prefix> = changed.map(|(to, _)| *to).collect();
        self.down = down.into();
        self.update_all(&changed);
    }

    /// The action of a prefix: that of its first route that has a hop by a link that is up.
    fn action(&self, to: Prefix) -> Option<Cow<'_, Action>> {
        let routes = self.routes.get(&to)?;
        if self.down.is_empty() {
            return routes.first().map(|route| Cow::Borrowed(&route.action));
        }
        let is_up = |hop: &&Hop| !hop.port.is_some_and(|port| self.down.contains(&port));
        routes.iter().find_map(|route| match &route.action {
            Action::Forward(hops) => {
                let hops: Vec<Hop> = hops.iter().filter(is_up).copied().collect();
                (!hops.is_empty()).then_some(Cow::Owned(Action::Forward(hops)))
            }
            other => Some(Cow::Borrowed(other)),
        })
    }

    /// The number of the action of a prefix, with the old one released.
    fn renumber(&mut self, to: Prefix) -> Option<u32> {
        let action = self.action(to).map(Cow::into_owned);
        let number = action.map(|action| self.actions.take(&action));
        if let Some(old) = self.prefixes.exact(to) {
            self.actions.give(old);
        }
        number
    }

    fn update_all(&mut self, changed: &[Prefix]) {
        let entries: Vec<_> = changed.iter().map(|&to| (to, self.renumber(to))).collect();
        self.prefixes.change_all(&entries);
    }

    /// Adds a route.
    ///
    /// # Errors
    /// The route, when there is one with its prefix and metric, or no room.
    fn add(&mut self, route: Route) -> Result<(), Route> {
        let to = route.to;
        self.insert(route)?;
        self.update(to);
        Ok(())
    }

    /// Adds a route to the list of its prefix.
    fn insert(&mut self, route: Route) -> Result<(), Route> {
        let to = route.to;
        if self.routes.len() >= MAX_ROUTES && !self.routes.contains_key(&to) {
            return Err(route);
        }
        let routes = self.routes.entry(to).or_default();
        let place = routes.partition_point(|one| one.metric < route.metric);
        let known = routes.get(place);
        if known.is_some_and(|one| one.metric == route.metric) {
            return Err(route);
        }
        routes.insert(place, route);
        Ok(())
    }

    fn remove(&mut self, to: Prefix, metric: u32) -> Option<Route> {
        let routes = self.routes.get_mut(&to)?;
        let place = routes.iter().position(|one| one.metric == metric)?;
        let route = routes.remove(place);
        if routes.is_empty() {
            self.routes.remove(&to);
        }
        self.update(to);
        Some(route)
    }

    fn update(&mut self, to: Prefix) {
        let old = self.prefixes.exact(to);
        match self.renumber(to) {
            number if number == old => {}
            Some(number) => drop(self.prefixes.insert(to, number)),
            None => drop(self.prefixes.remove(to)),
        }
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
        if let Some(last) = broadcast(own)
            && self.local.exact(last).is_none()
        {
            self.local.insert(last, BROADCAST);
        }
    }

    /// Removes an address of the router, and its network's broadcast address; add those of other addresses again.
    pub fn remove_address(&mut self, own: InterfaceAddress) {
        self.local.remove(Prefix::new(own.address, 128));
        if let Some(last) = broadcast(own) {
            self.local.remove(last);
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

    /// Adds a route, each hop of which names its port.
    ///
    /// # Errors
    /// The route, when there is one with its prefix, table and metric, or no room.
    pub fn add(&mut self, route: Route) -> Result<(), Route> {
        self.table(route.table).add(route)
    }

    /// As [`add`](Tables::add), for many routes at once.
    ///
    /// # Errors
    /// A route that cannot be added.
    pub fn add_all(&mut self, routes: impl IntoIterator<Item = Route>) -> Result<(), Route> {
        let mut by_table = BTreeMap::<u32, Vec<Route>>::new();
        for route in routes {
            by_table.entry(route.table).or_default().push(route);
        }
        let mut all = by_table.into_iter();
        all.try_for_each(|(number, routes)| self.table(number).add_all(routes))
    }

    fn table(&mut self, number: u32) -> &mut Table {
        match number {
            MAIN => &mut self.main,
            other => {
                let down = &self.main.down;
                let empty = || Table {
                    down: down.clone(),
                    ..Table::default()
                };
                self.tables.entry(other).or_insert_with(empty)
            }
        }
    }

    /// A port's link goes down or comes up: hops by it count no more or count again, and where none is left the next route does.
    pub fn set_link(&mut self, port: u16, up: bool) {
        let mut down = self.main.down.clone();
        down.retain(|one| *one != port);
        if !up {
            down.push(port);
        }
        self.main.set_down(&down);
        self.tables
            .values_mut()
            .for_each(|table| table.set_down(&down));
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
        let tables = core::iter::once(&self.main).chain(tables);
        tables.flat_map(|table| table.routes.values().flatten())
    }
}

/// The broadcast address of an address's network, if it has one.
fn broadcast(own: InterfaceAddress) -> Option<Prefix> {
    match own.address {
        IpAddr::V4(address) if (1..31).contains(&own.prefix) => {
            let last = address | core::net::Ipv4Addr::from_bits(u32::MAX >> own.prefix);
            Some(Prefix::new(last.into(), 32))
        }
        _ => None,
    }
}

/// The decision of a route's action; `None`: the next rule decides.
#[inline]
fn follow(action: Option<&Action>) -> Option<Decision<'_>> {
    match action? {
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
    use alloc::vec;
    use node::random::Random;

    fn tables(rules: &[&str], routes: &[&str]) -> Tables {
        let rules: Vec<Rule> = rules.iter().map(|text| text.parse().unwrap()).collect();
        let mut tables = Tables::new(&rules);
        for text in routes {
            tables.add(text.parse().unwrap()).expect(text);
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
        assert!(
            tables
                .add("10.0.0.0/8 dev 3 metric 5".parse().unwrap())
                .is_err()
        );
        let to = "10.0.0.0/8".parse().unwrap();
        assert!(tables.remove(MAIN, to, 0).is_some());
        assert!(tables.remove(MAIN, to, 0).is_none());
        assert_eq!(port(&tables, "10.0.0.1", "10.0.0.2"), Some(1));
        assert!(tables.remove(MAIN, to, 5).is_some());
        assert_eq!(port(&tables, "10.0.0.1", "10.0.0.2"), None);
    }

    #[test]
    fn random_changes_agree_with_a_list_of_routes() {
        let mut random = Random::new(9);
        let (mut tables, mut list) = (Tables::default(), Vec::<Route>::new());
        let mut down = Vec::<u16>::new();
        let hop = |port: u64| Hop {
            port: Some(port as u16),
            ..Hop::default()
        };
        for _ in 0..20_000 {
            if random.chance(0.01) {
                let port = 1 + random.below(4) as u16;
                let is_up = random.chance(0.5);
                down.retain(|one| *one != port);
                down.extend((!is_up).then_some(port));
                tables.set_link(port, is_up);
            }
            let length = random.below(33) as u8;
            let to = IpAddr::from((random.bits() as u32 & 0x8181_0303).to_be_bytes());
            let route = Route {
                to: Prefix::new(to, length),
                action: match random.below(6) {
                    0 => Action::Blackhole,
                    port if port < 4 => Action::Forward(vec![hop(port)]),
                    port => Action::Forward(vec![hop(port - 3), hop(port - 1)]),
                },
                metric: random.below(3) as u32,
                table: MAIN,
                vrf: None,
            };
            let known = list
                .iter()
                .position(|one| (one.to, one.metric) == (route.to, route.metric));
            match known {
                Some(at) if random.chance(0.5) => {
                    let gone = list.swap_remove(at);
                    assert_eq!(tables.remove(MAIN, gone.to, gone.metric), Some(gone));
                }
                known => {
                    assert_eq!(tables.add(route.clone()).is_ok(), known.is_none());
                    list.extend(known.is_none().then_some(route));
                }
            }
            let address = IpAddr::from((random.bits() as u32 & 0x8181_0303).to_be_bytes());
            let alive = |route: &Route| match &route.action {
                Action::Forward(hops) => {
                    let is_up = |hop: &&Hop| !down.contains(&hop.port.unwrap());
                    let hops: Vec<Hop> = hops.iter().filter(is_up).copied().collect();
                    (!hops.is_empty()).then_some(Action::Forward(hops))
                }
                other => Some(other.clone()),
            };
            let matching = list.iter().filter(|route| route.to.contains(address));
            let best = matching
                .filter(|route| alive(route).is_some())
                .max_by_key(|route| (route.to.length(), u32::MAX - route.metric));
            let action = best.and_then(alive);
            let wanted = action
                .as_ref()
                .map(|action| follow(Some(action)).expect("a decision"));
            let key = || panic!("there are no rules");
            assert_eq!(
                tables.decide(address, key),
                wanted.unwrap_or(Decision::NoRoute)
            );
        }
        assert_eq!(tables.routes().count(), list.len());
        down.iter().for_each(|port| tables.set_link(*port, true));
        // All at once they make the same tables.
        let mut whole = Tables::default();
        whole.add_all(list.clone()).expect("each is there once");
        assert!(whole.add_all(list.iter().take(1).cloned()).is_err());
        for _ in 0..2_000 {
            let address = IpAddr::from((random.bits() as u32 & 0x8181_0303).to_be_bytes());
            let key = || panic!("there are no rules");
            assert_eq!(whole.decide(address, key), tables.decide(address, key));
        }
        assert!(tables.main.actions.all.len() <= 7);
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
