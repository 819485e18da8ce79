//! What the kernel tells nodes of interfaces and queues, beside what `tc` and `ip` say in the same namespace. Without the rights to make
//! one, or without these programs, each test says that it was skipped.

use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options};
use live::statistics::{Feed, StatisticsError};
use live::world;
use node::event::{Event, Interface, Neighbour, Queue, Route, What};
use node::{Frame, Node, Out, Port, Properties, Rate, Time};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, UdpSocket};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Two namespaces and a pair between them: `v0` at 10.0.0.1, `v1` at 10.0.0.2.
struct Bed {
    near: Namespace,
    far: Namespace,
}

impl Bed {
    fn new() -> Option<Bed> {
        for program in ["tc", "ip"] {
            if Command::new(program).arg("-V").output().is_err() {
                println!("skipped: {program} is not installed");
                return None;
            }
        }
        let made = Namespace::new().and_then(|near| {
            let far = Namespace::new()?;
            let end = |namespace, name| VethEnd {
                namespace,
                name,
                mac: None,
            };
            veth([end(&near, "v0"), end(&far, "v1")], 1500)?;
            near.add_address("v0", [10, 0, 0, 1].into(), 24)?;
            far.add_address("v1", [10, 0, 0, 2].into(), 24)?;
            Ok(Bed { near, far })
        });
        match made {
            Ok(bed) => Some(bed),
            Err(NetnsError::Permission { doing }) => {
                println!("skipped: {doing} is not allowed here");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs a command line in the near namespace; what it prints.
    fn run(&self, line: &str) -> String {
        let mut words = line.split(' ');
        let mut command = self.near.command(words.next().unwrap());
        let output = command.args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, line: &str) -> Value {
        let text = self.run(line);
        match text.trim() {
            "" => Value::Array(Vec::new()),
            text => serde_json::from_str(text).unwrap(),
        }
    }

    fn feed(&self) -> Feed {
        let opened = self.near.enter(|| Feed::open(&[(Port(1), "v0")]));
        opened.unwrap().unwrap()
    }

    /// Sends so many datagrams of 1,000 bytes.
    fn send(&self, count: usize) {
        let sending = || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            for _ in 0..count {
                // A queue that is full says so, which is what is wanted here.
                let _ = socket.send_to(&[0; 1000], "10.0.0.2:9");
            }
        };
        self.near.enter(sending).unwrap();
    }
}

/// Everything that was told at once.
#[derive(Default, Debug, PartialEq, Eq)]
struct Told {
    interface: Interface,
    queues: BTreeMap<u32, Queue>,
    routes: Vec<Route>,
    neighbours: Vec<Neighbour>,
}

fn read(feed: &mut Feed, ms: u64) -> Told {
    let mut told = Told::default();
    let now = Time::from_ms(ms);
    let result = feed.read(now, &mut |Event { at, port, what }| {
        assert_eq!((port, at), (Port(1), now));
        match what {
            What::Link(_) | What::Departed(_) => panic!("the world tells of these"),
            What::Interface(interface) => told.interface = interface,
            What::Queue(queue) => {
                let other = told.queues.insert(queue.class, queue);
                assert_eq!(other, None);
            }
            What::Route(route) => told.routes.push(route),
            What::Neighbour(neighbour) => told.neighbours.push(neighbour),
        }
    });
    result.unwrap();
    told
}

fn bits(bits: u64) -> Option<Rate> {
    Rate::from_bits_per_second(bits)
}

/// What `tc -s -j qdisc` counts of a discipline.
fn counts(bed: &Bed, handle: &str) -> [u64; 6] {
    let all = bed.json("tc -s -j qdisc show dev v0");
    let mut all = all.as_array().unwrap().iter();
    let it = all.find(|it| it["handle"] == handle).unwrap();
    ["qlen", "backlog", "packets", "bytes", "drops", "overlimits"]
        .map(|key| it[key].as_u64().unwrap())
}

fn counted(queue: &Queue) -> [u64; 6] {
    [
        queue.packets.into(),
        queue.bytes,
        queue.sent_packets,
        queue.sent_bytes,
        queue.dropped,
        queue.overlimits,
    ]
}

/// What is told when nothing changes between two times of reading, and what is said in between.
fn beside<T>(feed: &mut Feed, mut say: impl FnMut() -> T) -> (Told, T) {
    for ms in 1000..2000 {
        let before = read(feed, ms);
        let said = say();
        if read(feed, ms) == before {
            return (before, said);
        }
    }
    panic!("something changes all the time");
}

#[test]
fn a_bucket_is_told_as_tc_shows_it() {
    let Some(bed) = Bed::new() else { return };
    let mut feed = bed.feed();
    let plain = read(&mut feed, 0);
    assert_eq!(
        plain.queues[&0],
        Queue {
            rate: bits(10_000_000_000),
            ..Queue::default()
        }
    );
    // One packet goes at once, and then one a second.
    bed.run("tc qdisc add dev v0 root handle 7: tbf rate 8kbit burst 1100 limit 5000");
    bed.send(20);
    let (told, said) = beside(&mut feed, || counts(&bed, "7:"));
    let queue = &told.queues[&0];
    assert_eq!((counted(queue), queue.rate), (said, bits(8_000)));
    assert_eq!(told.queues.len(), 1);
    assert!(
        queue.packets > 0 && queue.dropped > 0 && queue.overlimits > 0,
        "{queue:?}"
    );
    assert_eq!(queue.wait(), Some(Time::from_ms(queue.bytes)));
    // Changed, and taken away.
    bed.run("tc qdisc change dev v0 root handle 7: tbf rate 40gbit burst 1m limit 5000");
    assert_eq!(read(&mut feed, 3000).queues[&0].rate, bits(10_000_000_000));
    bed.run("tc qdisc change dev v0 root handle 7: tbf rate 5gbit burst 1m limit 5000");
    assert_eq!(read(&mut feed, 4000).queues[&0].rate, bits(5_000_000_000));
    bed.run("tc qdisc del dev v0 root");
    assert_eq!(read(&mut feed, 5000).queues[&0], plain.queues[&0]);
}

#[test]
fn classes_are_told_as_tc_shows_them() {
    let Some(bed) = Bed::new() else { return };
    bed.run("tc qdisc add dev v0 root handle 1: htb default 10");
    let mut feed = bed.feed();
    for class in [
        "parent 1: classid 1:1 htb rate 16kbit quantum 2000",
        "parent 1:1 classid 1:10 htb rate 8kbit ceil 12kbit burst 1100 quantum 2000",
        "parent 1:1 classid 1:20 htb rate 8kbit quantum 2000",
    ] {
        bed.run(&format!("tc class add dev v0 {class}"));
    }
    bed.run("tc qdisc add dev v0 parent 1:10 handle 10: bfifo limit 4000");
    bed.run("tc qdisc add dev v0 clsact");
    bed.send(20);
    let show = || {
        let root = counts(&bed, "1:");
        let leaf = counts(&bed, "10:");
        (root, leaf, bed.run("tc -s class show dev v0"))
    };
    let (told, (root, leaf, classes)) = beside(&mut feed, show);
    let keys: Vec<u32> = told.queues.keys().copied().collect();
    assert_eq!(keys, [0, 0x1_0001, 0x1_0010, 0x1_0020, 0x10_0000]);
    assert_eq!(counted(&told.queues[&0]), root);
    assert_eq!(counted(&told.queues[&0x10_0000]), leaf);
    assert!(root[0] > 0 && root[4] > 0, "{root:?}");
    // A class has no count of what waits, drops and overlimits in JSON.
    let queue = &told.queues[&0x1_0010];
    let part = classes
        .split("class htb ")
        .find(|part| part.starts_with("1:10 "))
        .unwrap();
    let sent = format!(
        " Sent {} bytes {} pkt (dropped {}, overlimits {} ",
        queue.sent_bytes, queue.sent_packets, queue.dropped, queue.overlimits
    );
    let backlog = format!(" backlog {}b {}p", queue.bytes, queue.packets);
    assert!(
        part.contains(&sent) && part.contains(&backlog),
        "{part}: {queue:?}"
    );
    let rates = told.queues.values().map(|queue| queue.rate);
    let rates: Vec<Option<Rate>> = rates.collect();
    let wanted = [16_000, 16_000, 12_000, 8_000].map(bits);
    assert_eq!(rates[..4], wanted);
    // Fewer classes, and other rates.
    bed.run("tc class del dev v0 classid 1:20");
    bed.run("tc class change dev v0 parent 1:1 classid 1:10 htb rate 9kbit quantum 2000");
    let told = read(&mut feed, 3000);
    assert!(!told.queues.contains_key(&0x1_0020));
    assert_eq!(told.queues[&0].rate, bits(9_000));
}

#[test]
fn an_interface_is_told_as_ip_shows_it() {
    let Some(bed) = Bed::new() else { return };
    let mut feed = bed.feed();
    bed.send(10);
    let (told, said) = beside(&mut feed, || bed.json("ip -s -j link show dev v0"));
    let way = |way: &str| {
        let counts = &said[0]["stats64"][way];
        ["packets", "bytes", "dropped", "errors"].map(|key| counts[key].as_u64().unwrap())
    };
    let Interface { received, sent, .. } = told.interface;
    let of =
        |counts: node::event::Counts| [counts.packets, counts.bytes, counts.dropped, counts.errors];
    assert_eq!((of(received), of(sent)), (way("rx"), way("tx")));
    assert!(sent.packets >= 10);
    assert_eq!((told.interface.mtu, told.interface.up), (1500, true));
    assert_eq!(told.interface.rate, bits(10_000_000_000));
    bed.run("ip link set v0 mtu 1400");
    bed.far.set_down("v1").unwrap();
    let told = read(&mut feed, 3000);
    assert_eq!((told.interface.mtu, told.interface.up), (1400, false));
    bed.far.set_up("v1").unwrap();
    assert!(read(&mut feed, 4000).interface.up);
}

/// The routes that `ip` shows: destination, length, router, metric.
fn shown(bed: &Bed) -> BTreeSet<(IpAddr, u8, Option<IpAddr>, u32)> {
    let mut shown = BTreeSet::new();
    for (line, any, longest) in [
        ("ip -4 -j route show table main", "0.0.0.0", 32),
        ("ip -6 -j route show table main", "::", 128),
    ] {
        for route in bed.json(line).as_array().unwrap() {
            let to = route["dst"].as_str().unwrap();
            let to = if to == "default" {
                format!("{any}/0")
            } else {
                to.into()
            };
            let (to, prefix) = match to.split_once('/') {
                Some((to, prefix)) => (to.to_string(), prefix.parse().unwrap()),
                None => (to, longest),
            };
            let metric = route["metric"].as_u64().unwrap_or(0) as u32;
            let router = |it: &Value| -> Option<IpAddr> {
                let via = it["gateway"].as_str().or(it["via"]["host"].as_str())?;
                Some(via.parse().unwrap())
            };
            let to: IpAddr = to.parse().unwrap();
            match route["nexthops"].as_array() {
                Some(ways) => {
                    shown.extend(ways.iter().map(|way| (to, prefix, router(way), metric)));
                }
                None => drop(shown.insert((to, prefix, router(route), metric))),
            }
        }
    }
    shown
}

#[test]
fn routes_are_told_at_the_beginning_and_as_they_change() {
    let Some(bed) = Bed::new() else { return };
    bed.near
        .add_address("v0", "fd00::1".parse().unwrap(), 64)
        .unwrap();
    bed.run("ip route add default via 10.0.0.2");
    let mut feed = bed.feed();
    let mut known = BTreeSet::new();
    let mut ms = 0;
    let mut follow = |feed: &mut Feed| {
        ms += 1000;
        let told = read(feed, ms).routes;
        for route in &told {
            let entry = (route.to, route.prefix, route.via, route.metric);
            match route.there {
                true => assert!(known.insert(entry), "{entry:?} is told again"),
                false => assert!(known.remove(&entry), "{entry:?} was not there"),
            }
        }
        assert_eq!(known, shown(&bed));
        told.len()
    };
    assert!(follow(&mut feed) >= 3);
    assert_eq!(follow(&mut feed), 0);
    for line in [
        "ip route add 10.1.0.0/16 via 10.0.0.2 metric 5",
        "ip route replace 10.1.0.0/16 via 10.0.0.3 metric 5",
        "ip route add 10.2.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.0.3",
        "ip route add 10.3.0.0/16 via inet6 fd00::9 dev v0",
        "ip -6 route add fd01::/48 via fd00::2",
        "ip route del 10.2.0.0/16",
    ] {
        bed.run(line);
        let changed = follow(&mut feed);
        assert!(changed > 0, "{line}");
    }
    // What the kernel takes away without a word of it.
    bed.run("ip link set v0 down");
    assert!(follow(&mut feed) > 0);
}

#[test]
fn neighbours_are_told_at_the_beginning_and_as_they_change() {
    let Some(bed) = Bed::new() else { return };
    bed.run("ip neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev v0 nud permanent");
    let mut feed = bed.feed();
    let mut known = BTreeMap::new();
    let mut ms = 0;
    let mut follow = |feed: &mut Feed| {
        ms += 1000;
        for neighbour in read(feed, ms).neighbours {
            match neighbour.mac {
                None => drop(known.remove(&neighbour.address)),
                Some(mac) => drop(known.insert(neighbour.address, (mac, neighbour.reachable))),
            }
        }
        let shown = bed.json("ip -j neigh show dev v0");
        let shown = shown.as_array().unwrap().iter().filter_map(|it| {
            let mac = it["lladdr"].as_str()?.split(':');
            let mac: Vec<u8> = mac
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect();
            let states = it["state"].as_array().unwrap();
            let known = states
                .iter()
                .any(|state| state == "REACHABLE" || state == "PERMANENT");
            let address: IpAddr = it["dst"].as_str()?.parse().unwrap();
            Some((address, (mac.try_into().unwrap(), known)))
        });
        let shown: BTreeMap<IpAddr, ([u8; 6], bool)> = shown.collect();
        assert_eq!(known, shown);
        known.len()
    };
    assert_eq!(follow(&mut feed), 1);
    bed.send(1);
    assert_eq!(follow(&mut feed), 2);
    bed.run("ip neigh replace 10.0.0.7 lladdr 02:00:00:00:00:08 dev v0 nud stale");
    assert_eq!(follow(&mut feed), 2);
    bed.run("ip neigh del 10.0.0.7 dev v0");
    assert_eq!(follow(&mut feed), 1);
    bed.run("ip neigh flush dev v0");
    follow(&mut feed);
}

#[test]
fn an_interface_that_goes_is_said_once_and_taken_again_when_it_is_back() {
    let Some(bed) = Bed::new() else { return };
    let opened = bed
        .near
        .enter(|| Feed::open(&[(Port(0), "lo"), (Port(1), "nowhere")]));
    assert!(
        matches!(opened.unwrap(), Err(StatisticsError::NotThere { name }) if name == "nowhere")
    );
    let opened = bed
        .near
        .enter(|| Feed::open(&[(Port(0), "lo"), (Port(1), "v0")]));
    let mut feed = opened.unwrap().unwrap();
    let look = |feed: &mut Feed, ms: u64| {
        let mut up = [None; 2];
        let mut routes = 0;
        let result = feed.read(Time::from_ms(ms), &mut |event| match event.what {
            What::Interface(interface) => up[usize::from(event.port.0)] = Some(interface.up),
            What::Route(route) => routes += if route.there { 1 } else { -1 },
            _ => {}
        });
        (result.map_err(|error| error.to_string()), up, routes)
    };
    assert_eq!(look(&mut feed, 0), (Ok(()), [Some(true), Some(true)], 1));
    bed.near.remove("v0").unwrap();
    let (result, up, routes) = look(&mut feed, 1000);
    let said = "the interface v0 was removed: nothing is known of it until there is one of that name again";
    assert_eq!(
        (result, up, routes),
        (Err(said.into()), [Some(true), Some(false)], -1)
    );
    assert_eq!(look(&mut feed, 2000), (Ok(()), [Some(true), None], 0));
    bed.run("ip link add v0 type veth peer name v2");
    assert_eq!(
        look(&mut feed, 3000),
        (Ok(()), [Some(true), Some(false)], 0)
    );
    bed.run("ip link set v0 name v3");
    bed.run("ip link set v3 up");
    bed.run("ip link set v2 up");
    // It is still the same by another name.
    assert_eq!(look(&mut feed, 4000), (Ok(()), [Some(true), Some(true)], 0));
}

/// Keeps what it is told.
struct Listener(Arc<Mutex<Vec<Event>>>);

impl Node for Listener {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: Some(Time::from_ms(5)),
            ..Properties::of(1)
        }
    }

    fn frames(&mut self, _: Time, _: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.done(frame);
        }
    }

    fn event(&mut self, now: Time, event: &Event, _: &mut Out) {
        assert!(event.at <= now);
        self.0.lock().unwrap().push(*event);
    }
}

#[test]
fn a_node_on_an_interface_is_told_of_it() {
    let Some(bed) = Bed::new() else { return };
    bed.run("tc qdisc add dev v0 root handle 7: tbf rate 8kbit burst 1100 limit 5000");
    bed.send(20);
    let told = Arc::new(Mutex::new(Vec::new()));
    let node = Box::new(Listener(told.clone()));
    let run = || {
        let port = port::open(&"v0".parse().unwrap(), &Options::default()).unwrap();
        let until = Some(Time::from_ms(200));
        world::on_ports("listener", node, vec![port], until).unwrap()
    };
    let ended = bed.near.enter(run).unwrap();
    assert!(ended.trouble.is_none());
    let told = told.lock().unwrap();
    let queues = told.iter().filter_map(|event| match event.what {
        What::Queue(queue) => Some(queue),
        _ => None,
    });
    let queues: Vec<Queue> = queues.collect();
    assert!(queues.len() > 2, "{told:?}");
    let waits = |queue: &Queue| queue.bytes > 0 && queue.rate == bits(8_000);
    assert!(queues.iter().all(waits), "{queues:?}");
    let route = |event: &&Event| matches!(event.what, What::Route(_));
    assert_eq!(told.iter().filter(route).count(), 1);
}

#[test]
fn reading_again_and_again_allocates_nothing() {
    let Some(bed) = Bed::new() else { return };
    bed.run("tc qdisc add dev v0 root handle 1: htb default 10");
    for class in 10..40 {
        let rate = "htb rate 1mbit quantum 2000";
        bed.run(&format!(
            "tc class add dev v0 parent 1: classid 1:{class} {rate}"
        ));
    }
    let mut feed = bed.feed();
    assert_eq!(read(&mut feed, 0).queues.len(), 31);
    let mut facts = 0;
    let before = allocations::of_this_thread();
    for ms in 1..100 {
        feed.read(Time::from_ms(ms), &mut |_| facts += 1).unwrap();
    }
    assert_eq!(allocations::of_this_thread() - before, 0);
    assert_eq!(facts, 99 * 32);
}
