//! Random multipath networks, as Fakeroute makes them (Vermeulen et al., IMC 2018, section 3): as data, and of routers in
//! simulated time.

use node::random::Random;
use node::{Channel, Frame, Graph, Node, Out, Port, Properties, Time};
use router::router::{Config as RouterConfig, Multipath, PortConfig, Router};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use trace::stopping::Stopping;
use trace::tracer::{Config, Trace};

/// Routers with their successors. The first is next to the source, the last next to the target.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub children: Vec<Vec<usize>>,
}

/// Kind of a diamond between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diamond {
    /// Branches without links between them; the number of routers of each.
    Plain(usize),
    /// Two rows, all routers of which are linked.
    Meshed,
    /// Two rows, of which the first router of the first has more successors than the others.
    Asymmetric,
    /// One branch has a router more than the others.
    Uneven,
}

impl Network {
    fn add(&mut self) -> usize {
        self.children.push(Vec::new());
        self.children.len() - 1
    }

    fn link(&mut self, from: usize, to: usize) {
        if !self.children[from].contains(&to) {
            self.children[from].push(to);
        }
    }

    fn row(&mut self, width: usize) -> Vec<usize> {
        (0..width).map(|_| self.add()).collect()
    }

    /// Diamonds in a row, each with its width.
    pub fn of(diamonds: &[(Diamond, usize)]) -> Network {
        let mut network = Network::default();
        let mut last = network.add();
        for &(diamond, width) in diamonds {
            let first = network.row(width);
            for one in &first {
                network.link(last, *one);
            }
            let mut ends = first.clone();
            match diamond {
                Diamond::Plain(length) => {
                    for _ in 1..length {
                        let next = network.row(width);
                        ends.iter()
                            .zip(&next)
                            .for_each(|(a, b)| network.link(*a, *b));
                        ends = next;
                    }
                }
                Diamond::Meshed => {
                    let next = network.row(width);
                    for a in &first {
                        next.iter().for_each(|b| network.link(*a, *b));
                    }
                    ends = next;
                }
                Diamond::Asymmetric => {
                    let next = network.row(width + 2);
                    for (index, b) in next.iter().enumerate() {
                        network.link(first[index % width * usize::from(index < width)], *b);
                    }
                    ends = next;
                }
                Diamond::Uneven => {
                    let longer = network.add();
                    network.link(first[0], longer);
                    ends[0] = longer;
                }
            }
            last = network.add();
            ends.iter().for_each(|end| network.link(*end, last));
        }
        network
    }

    /// Rows of routers between two routers. Each router of the wider of two rows has one link to the other row, as evenly as can be;
    /// with `is_meshed` it has a second one, to the next.
    pub fn of_rows(widths: &[usize], is_meshed: bool) -> Network {
        let mut network = Network::default();
        let mut last = vec![network.add()];
        for width in widths.iter().copied().chain([1]) {
            let next = network.row(width);
            let (wide, narrow) = (last.len().max(width), last.len().min(width));
            for index in 0..wide {
                for more in 0..=usize::from(is_meshed && narrow > 1) {
                    let other = (index + more) % narrow;
                    match last.len() >= width {
                        true => network.link(last[index], next[other]),
                        false => network.link(last[other], next[index]),
                    }
                }
            }
            last = next;
        }
        network
    }

    /// One to three diamonds of random kinds and widths.
    pub fn random(random: &mut Random) -> Network {
        let count = 1 + random.index(3);
        let diamonds: Vec<(Diamond, usize)> = (0..count)
            .map(|_| {
                let kind = match random.index(6) {
                    0 => Diamond::Meshed,
                    1 => Diamond::Asymmetric,
                    2 => Diamond::Uneven,
                    _ => Diamond::Plain(1 + random.index(2)),
                };
                let most = if kind == Diamond::Meshed { 5 } else { 15 };
                (kind, 2 + random.index(most))
            })
            .collect();
        Network::of(&diamonds)
    }

    /// Routers by TTL; `None` stands for the target.
    pub fn hops(&self) -> Vec<BTreeSet<Option<usize>>> {
        let mut hops = vec![BTreeSet::from([Some(0)])];
        loop {
            let last = hops.last().expect("a hop").iter().flatten();
            let next: BTreeSet<_> = last.flat_map(|router| self.successors(*router)).collect();
            if next.is_empty() {
                return hops;
            }
            hops.push(next);
        }
    }

    pub fn successors(&self, router: usize) -> Vec<Option<usize>> {
        match self.children[router].is_empty() {
            true => vec![None],
            false => self.children[router].iter().copied().map(Some).collect(),
        }
    }

    /// Probability that the MDA misses a successor of any router, as the failures of routers are independent.
    pub fn failure(&self, alpha: f64) -> f64 {
        let mut stopping = Stopping::new(alpha);
        let hops = self.hops();
        let routers = hops.iter().flatten().flatten();
        let success: f64 = routers
            .map(|router| 1.0 - stopping.failure(self.children[*router].len()))
            .product();
        1.0 - success
    }

    /// Number of branching points, by hop.
    pub fn branchings(&self) -> usize {
        let hops = self.hops();
        let routers = hops.iter().flatten().flatten();
        routers
            .filter(|router| self.children[**router].len() > 1)
            .count()
    }
}

/// A tracer in a graph, and in the hands of a test.
struct Shared(Arc<Mutex<Trace>>);

impl Shared {
    fn with<R>(&self, act: impl FnOnce(&mut Trace) -> R) -> R {
        act(&mut self.0.lock().expect("one thread"))
    }
}

impl Node for Shared {
    fn properties(&self) -> Properties {
        self.with(|node| node.properties())
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        self.with(|node| node.frames(now, port, frames, out));
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.with(|node| node.wake(now, out));
    }

    fn next_wake(&self) -> Option<Time> {
        self.with(|node| node.next_wake())
    }
}

/// Network of simulated routers between a tracer and a host.
pub struct Simulated {
    pub network: Network,
    pub multipath: Multipath,
    pub is_v4: bool,
    pub seed: u64,
    pub loss: f64,
    pub icmp_limit: bool,
}

impl Simulated {
    pub fn new(network: Network, seed: u64) -> Simulated {
        Simulated {
            network,
            multipath: Multipath::L4,
            is_v4: true,
            seed,
            loss: 0.0,
            icmp_limit: false,
        }
    }

    pub fn target(&self) -> IpAddr {
        let text = if self.is_v4 {
            "203.0.113.9"
        } else {
            "2001:db8:2::9"
        };
        text.parse().expect("an address")
    }

    /// Address of an end of a link: 1 is nearer to the source.
    fn address(&self, link: usize, end: usize) -> String {
        match self.is_v4 {
            true => format!("10.{}.{}.{end}", link >> 8, link & 255),
            false => format!("fd00:{link:x}::{end}"),
        }
    }

    fn prefix(&self) -> usize {
        if self.is_v4 { 24 } else { 64 }
    }

    /// Routers by the addresses of their links towards the source. An IPv6 router answers with any of them, as the
    /// selection of source addresses says.
    pub fn names(&self) -> BTreeMap<IpAddr, usize> {
        let mut names = BTreeMap::new();
        let first = if self.is_v4 {
            "198.51.100.1"
        } else {
            "2001:db8:1::1"
        };
        names.insert(first.parse().expect("an address"), 0);
        let links = self.network.children.iter().flatten();
        for (link, child) in links.enumerate() {
            names.insert(self.address(link, 2).parse().expect("an address"), *child);
        }
        names
    }

    /// Runs a trace to its end.
    pub fn trace(&self, change: impl FnOnce(&mut Config)) -> Arc<Mutex<Trace>> {
        let [source, gateway] = match self.is_v4 {
            true => ["198.51.100.9", "198.51.100.1"],
            false => ["2001:db8:1::9", "2001:db8:1::1"],
        };
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let mut config = Config {
            target: self.target(),
            source: address(source),
            gateway: Some(address(gateway)),
            rate: 5_000,
            probes: 1,
            timeout: Time::from_ms(100),
            ..Config::default()
        };
        change(&mut config);
        let tracer = Trace::new(config).expect("a good configuration");
        let tracer = Arc::new(Mutex::new(tracer));
        let graph = self.graph(Shared(tracer.clone()), gateway);
        let options = sim::Options {
            seed: self.seed,
            ..sim::Options::default()
        };
        sim::run(graph, options).expect("a good graph");
        tracer
    }

    fn graph(&self, tracer: Shared, gateway: &str) -> Graph {
        let count = self.network.children.len();
        let mut ports: Vec<Vec<String>> = vec![Vec::new(); count];
        let mut to_target: Vec<Vec<String>> = vec![Vec::new(); count];
        let mut to_source: Vec<Option<String>> = vec![None; count];
        ports[0].push(gateway.into());
        let mut links = Vec::new();
        let pairs = self.network.children.iter().enumerate();
        let pairs = pairs.flat_map(|(from, all)| all.iter().map(move |to| (from, *to)));
        for (link, (from, to)) in pairs.enumerate() {
            links.push(((from, ports[from].len()), (to, ports[to].len())));
            ports[from].push(self.address(link, 1));
            ports[to].push(self.address(link, 2));
            to_target[from].push(self.address(link, 2));
            to_source[to].get_or_insert(self.address(link, 1));
        }
        let (near, host) = match self.is_v4 {
            true => ("203.0.113.1", "203.0.113.0/24"),
            false => ("2001:db8:2::1", "2001:db8:2::/64"),
        };
        let source = if self.is_v4 {
            "198.51.100.0/24"
        } else {
            "2001:db8:1::/64"
        };
        let host_port = ports[count - 1].len();
        ports[count - 1].push(near.into());
        let mut graph = Graph::default();
        let tracer = graph.add("tracer", Box::new(tracer));
        let target = ip::host::Host::from(ip::Interface::new(ip::Config {
            addresses: [self.target().into()].into(),
            limits_errors: self.icmp_limit,
            ..ip::Config::default()
        }));
        let target = graph.add("target", Box::new(target));
        for index in 0..count {
            let port = |address: &String| PortConfig {
                address: vec![
                    format!("{address}/{}", self.prefix())
                        .parse()
                        .expect("an address"),
                ],
                ..PortConfig::default()
            };
            let mut routes = Vec::new();
            if !to_target[index].is_empty() {
                let hops = to_target[index]
                    .iter()
                    .map(|via| format!(" nexthop via {via}"));
                routes.push(format!("{host}{}", hops.collect::<String>()));
            }
            if let Some(via) = &to_source[index] {
                routes.push(format!("{source} via {via}"));
            }
            let router = Router::new(RouterConfig {
                port: ports[index].iter().map(port).collect(),
                route: routes
                    .iter()
                    .map(|text| text.parse().expect("a route"))
                    .collect(),
                multipath: self.multipath,
                icmp_limit: self.icmp_limit,
                seed: node::random::seed_of(self.seed, "router", &[&index.to_string()]),
                ..RouterConfig::default()
            });
            graph.add(
                format!("r{index}"),
                Box::new(router.expect("a good router")),
            );
        }
        let router = |index: usize| node::graph::NodeId(index + 2);
        let channel = Channel {
            delay: Time::from_us(100),
            ..Channel::default()
        };
        for ((a, a_port), (b, b_port)) in links {
            let ends = ((router(a), a_port as u16), (router(b), b_port as u16));
            let lossy = Channel {
                loss: node::random::Probability::new(self.loss).expect("a probability"),
                ..channel.clone()
            };
            graph.connect(ends.0, ends.1, lossy);
        }
        graph.connect((tracer, 0), (router(0), 0), channel.clone());
        graph.connect((router(count - 1), host_port as u16), (target, 0), channel);
        graph
    }
}

/// Routers that a trace has found, by TTL as [`Network::hops`] has them.
pub fn found(trace: &Trace, simulated: &Simulated) -> Vec<BTreeSet<Option<usize>>> {
    let names = simulated.names();
    let hops = trace.graph().hops().map(|(_, hop)| {
        let addresses = hop.vertices.iter().filter_map(|one| one.address);
        let routers = addresses.map(|address| match address == simulated.target() {
            true => None,
            false => Some(*names.get(&address).expect("a router's address")),
        });
        routers.collect()
    });
    hops.collect()
}
