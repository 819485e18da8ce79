//! Nodes at the kernel's own hooks: two hosts and a router in namespaces, with the hosts' real stacks. Without the rights to make
//! them each test says that it was skipped.
#![allow(
    clippy::disallowed_methods,
    reason = "these tests wait for other programs"
)]

mod length;
mod rules;

use live::netns::{Namespace, NetnsError, Route, VethEnd, veth};
use live::port::{self, Options};
use live::world::hook::{
    Config, Fail, Hook, HookError, QueueError, Report, Runner, Snapshot, lead,
};
use node::event::{Event, What};
use node::{Frame, Node, Out, Port, Properties, Time};
use std::collections::{BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Hosts `a` and `b`, and the router `r` between them: its `r0` leads to `a`, its `r1` to `b`, its `r2` to `c`, which has b's addresses.
struct Bed {
    a: Namespace,
    r: Namespace,
    b: Namespace,
    c: Namespace,
}

const A: [&str; 2] = ["10.0.0.1", "fd00::1"];
const B: [&str; 2] = ["10.0.1.1", "fd00:1::1"];
const ROUTER: [[&str; 2]; 2] = [["10.0.0.254", "fd00::fe"], ["10.0.1.254", "fd00:1::fe"]];

/// Of the addresses: IPv4, IPv6.
const FAMILIES: [usize; 2] = [0, 1];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

impl Bed {
    fn new() -> Option<Bed> {
        match Bed::make() {
            Ok(bed) => Some(bed),
            Err(NetnsError::Permission { doing }) => {
                println!("skipped: {doing} is not allowed here");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn make() -> Result<Bed, NetnsError> {
        let (a, r) = (Namespace::new()?, Namespace::new()?);
        let (b, c) = (Namespace::new()?, Namespace::new()?);
        let end = |namespace, name| VethEnd {
            namespace,
            name,
            mac: None,
        };
        veth([end(&a, "eth0"), end(&r, "r0")], 1500)?;
        veth([end(&r, "r1"), end(&b, "eth0")], 1500)?;
        veth([end(&r, "r2"), end(&c, "eth0")], 1500)?;
        for namespace in [&a, &r, &b, &c] {
            // Without the second in which an address is not used yet.
            namespace.enter(|| {
                for folder in std::fs::read_dir("/proc/sys/net/ipv6/conf").unwrap() {
                    std::fs::write(folder.unwrap().path().join("accept_dad"), "0").unwrap();
                }
            })?;
        }
        let bits = |address: IpAddr| if address.is_ipv4() { 24 } else { 64 };
        for (host, own, side) in [(&a, A, 0), (&b, B, 1), (&c, B, 1)] {
            for family in FAMILIES {
                let (own, via) = (ip(own[family]), ip(ROUTER[side][family]));
                host.add_address("eth0", own, bits(own))?;
                if !std::ptr::eq(host, &c) {
                    r.add_address(["r0", "r1"][side], via, bits(via))?;
                }
                host.add_route(&Route {
                    to: (
                        if own.is_ipv4() {
                            ip("0.0.0.0")
                        } else {
                            ip("::")
                        },
                        0,
                    ),
                    via: Some(via),
                    on: None,
                })?;
            }
        }
        r.enter(|| {
            for switch in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
                std::fs::write(format!("/proc/sys/net/{switch}"), "1").unwrap();
            }
        })?;
        Ok(Bed { a, r, b, c })
    }

    fn relay(&self, config: &Config, nodes: Vec<Box<dyn Node>>) -> Runner {
        let started = self.r.enter(|| Runner::start(config, nodes)).unwrap();
        started.unwrap_or_else(|error| panic!("{error}"))
    }

    /// A socket at host `b`.
    fn sink(&self, family: usize, port: u16) -> UdpSocket {
        sink(&self.b, family, port)
    }

    /// A socket at host `a` that sends to `b`.
    fn source(&self, family: usize, port: u16) -> UdpSocket {
        let socket = self.a.enter(|| {
            let socket = UdpSocket::bind((ip(A[family]), 0)).unwrap();
            socket.connect((ip(B[family]), port)).unwrap();
            socket
        });
        socket.unwrap()
    }

    /// Round trips from `a` to `b`, ms.
    fn ping(&self, family: usize, count: u32) -> Vec<f64> {
        ping(&self.a, B[family], count)
    }
}

/// Round trips, ms, of requests that are answered, however long that takes on a machine that does much else.
fn ping(from: &Namespace, to: &str, count: u32) -> Vec<f64> {
    let output = from
        .command("ping")
        .args(["-n", "-i0.05", "-W20", "-c", &count.to_string(), to])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let times = text
        .lines()
        .filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok());
    times.collect()
}

fn sink(host: &Namespace, family: usize, port: u16) -> UdpSocket {
    let bound = host.enter(|| UdpSocket::bind((ip(B[family]), port)));
    bound.unwrap().unwrap()
}

/// What comes within a time, if anything comes.
fn within(socket: &UdpSocket, time: Duration) -> Option<Vec<u8>> {
    socket.set_read_timeout(Some(time)).unwrap();
    let mut bytes = vec![0; 65_536];
    let len = socket.recv(&mut bytes).ok()?;
    bytes.truncate(len);
    Some(bytes)
}

/// The next packet, which is to come, however long that takes on a machine that does much else.
fn next(socket: &UdpSocket) -> Option<Vec<u8>> {
    within(socket, Duration::from_secs(20))
}

/// As many packets as are to come, and those that come behind them.
fn come(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
    let wanted = (0..count).map_while(|_| next(socket));
    let more = || within(socket, Duration::from_millis(700));
    wanted.chain(std::iter::from_fn(more)).collect()
}

fn config() -> Config {
    Config {
        on: vec!["r0".into(), "r1".into()],
        ..Config::default()
    }
}

fn matching(filter: &str) -> Config {
    Config {
        filter: filter.into(),
        ..config()
    }
}

fn end(relay: Runner) -> Snapshot {
    let Report {
        counts, trouble, ..
    } = relay.wait(Some(Duration::ZERO));
    assert!(trouble.is_none(), "{trouble:?}");
    counts
}

/// A node of so many ports that does this with each frame.
struct Each<F> {
    ports: usize,
    changes: bool,
    act: F,
}

impl<F: FnMut(Time, Port, Frame, &mut Out) + Send> Node for Each<F> {
    fn properties(&self) -> Properties {
        Properties {
            changes_frames: self.changes,
            ..Properties::of(self.ports)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            (self.act)(now, port, frame, out);
        }
    }
}

fn each(act: impl FnMut(Time, Port, Frame, &mut Out) + Send + 'static) -> Vec<Box<dyn Node>> {
    vec![Box::new(Each {
        ports: 2,
        changes: true,
        act,
    })]
}

fn other(port: Port) -> Port {
    Port(1 - port.0)
}

fn through() -> Vec<Box<dyn Node>> {
    vec![Box::new(relay::through::Through::default())]
}

#[test]
fn packets_go_through_as_they_came_both_ways_in_both_families() {
    let Some(bed) = Bed::new() else { return };
    let relay = bed.relay(&config(), through());
    for family in FAMILIES {
        assert_eq!(bed.ping(family, 4).len(), 4, "{}", B[family]);
    }
    let counts = end(relay);
    assert!(counts.accepted >= 16, "{counts:?}");
    assert_eq!(counts.accepted, counts.packets);
    assert_eq!((counts.changed, counts.dropped, counts.injected), (0, 0, 0));
}

#[test]
fn a_changed_packet_arrives_changed() {
    let Some(bed) = Bed::new() else { return };
    // Exchanged words keep the checksum right, which the receiver checks.
    let relay = bed.relay(
        &matching("udp port 7001"),
        each(|_, port, mut frame, out| {
            let len = frame.len();
            frame[len - 4..].rotate_left(2);
            out.send(other(port), frame);
        }),
    );
    for family in FAMILIES {
        let (sink, source) = (bed.sink(family, 7001), bed.source(family, 7001));
        source.send(b"abcd").unwrap();
        assert_eq!(next(&sink).as_deref(), Some(&b"cdab"[..]), "{}", B[family]);
    }
    let counts = end(relay);
    assert_eq!((counts.packets, counts.changed), (2, 2));
}

#[test]
fn only_packets_that_the_filter_names_reach_the_node() {
    let Some(bed) = Bed::new() else { return };
    let relay = bed.relay(
        &matching("udp port 7002"),
        each(|_, _, frame, out| out.drop(frame, "unwanted")),
    );
    for family in FAMILIES {
        let kept = bed.sink(family, 7003);
        let lost = bed.sink(family, 7002);
        bed.source(family, 7002).send(b"lost").unwrap();
        bed.source(family, 7003).send(b"kept").unwrap();
        assert_eq!(next(&kept).as_deref(), Some(&b"kept"[..]));
        assert!(come(&lost, 0).is_empty());
    }
    let counts = end(relay);
    assert_eq!((counts.packets, counts.dropped), (2, 2));
    assert_eq!(counts.drops, [("unwanted".into(), 2)]);
}

/// Keeps frames, and sends them when it is woken.
struct Recorder {
    kept: VecDeque<(Time, Port, Frame)>,
}

impl Node for Recorder {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, _: &mut Out) {
        for frame in frames.drain(..) {
            let at = now + Time::from_ms(30);
            self.kept.push_back((at, port, frame));
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while let Some((_, port, frame)) = self.kept.pop_front_if(|(at, ..)| *at <= now) {
            out.send(other(port), frame);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.kept.front().map(|(at, ..)| *at)
    }
}

#[test]
fn packets_that_are_kept_or_sent_at_a_time_wait() {
    let Some(bed) = Bed::new() else { return };
    let at = each(|now, port, frame, out| {
        out.send_at(other(port), now + Time::from_ms(30), frame);
    });
    let kept: Vec<Box<dyn Node>> = vec![Box::new(Recorder {
        kept: VecDeque::new(),
    })];
    for nodes in [at, kept] {
        let relay = bed.relay(&config(), nodes);
        let times = bed.ping(0, 4);
        assert_eq!(times.len(), 4);
        assert!(times.iter().all(|&ms| ms >= 60.0), "{times:?}");
        let counts = end(relay);
        assert_eq!((counts.accepted, counts.held), (8, 0), "{counts:?}");
        assert!(counts.longest_ns >= 30_000_000);
    }
}

#[test]
fn a_copy_is_injected_beside_the_packet() {
    let Some(bed) = Bed::new() else { return };
    let relay = bed.relay(
        &matching("udp port 7004"),
        each(|_, port, frame, out| {
            let copy = out.copy(&frame);
            out.send(other(port), copy);
            out.send(other(port), frame);
        }),
    );
    for family in FAMILIES {
        let (sink, source) = (bed.sink(family, 7004), bed.source(family, 7004));
        source.send(b"twice").unwrap();
        for _ in 0..2 {
            assert_eq!(next(&sink).as_deref(), Some(&b"twice"[..]), "{}", B[family]);
        }
        assert!(come(&sink, 0).is_empty());
    }
    let counts = end(relay);
    assert_eq!((counts.accepted, counts.injected), (2, 2));
}

#[test]
fn a_packet_that_is_sent_another_way_leaves_there_and_not_where_it_would_have() {
    let Some(bed) = Bed::new() else { return };
    let node = Each {
        ports: 3,
        changes: false,
        act: |_, _, frame, out: &mut Out| out.send(Port(2), frame),
    };
    let config = Config {
        on: vec!["r0".into(), "r1".into(), "r2".into()],
        ..matching("udp port 7005")
    };
    let relay = bed.relay(&config, vec![Box::new(node)]);
    let (would, does) = (bed.sink(0, 7005), sink(&bed.c, 0, 7005));
    bed.source(0, 7005).send(b"over there").unwrap();
    assert_eq!(next(&does).as_deref(), Some(&b"over there"[..]));
    assert!(come(&would, 0).is_empty());
    let counts = end(relay);
    assert_eq!((counts.dropped, counts.injected), (1, 1));
}

/// Collects the ports that facts are about.
struct Curious {
    about: Arc<Mutex<BTreeSet<u16>>>,
}

impl Node for Curious {
    fn properties(&self) -> Properties {
        Properties {
            statistics_age: Some(Time::from_ms(10)),
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            assert_eq!(self.about.lock().unwrap().len(), 2, "told before");
            out.send(other(port), frame);
        }
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        if let What::Interface(interface) = event.what {
            assert!(interface.up && interface.mtu == 1500);
            self.about.lock().unwrap().insert(event.port.0);
        }
    }
}

#[test]
fn a_node_is_told_of_its_ports_interfaces_before_packets() {
    let Some(bed) = Bed::new() else { return };
    let about = Arc::new(Mutex::new(BTreeSet::new()));
    let node = Curious {
        about: about.clone(),
    };
    let relay = bed.relay(&config(), vec![Box::new(node)]);
    assert_eq!(bed.ping(0, 2).len(), 2);
    end(relay);
    assert_eq!(*about.lock().unwrap(), BTreeSet::from([0, 1]));
}

#[test]
fn a_frame_without_an_ip_packet_is_refused_with_a_count() {
    let Some(bed) = Bed::new() else { return };
    let mut turn = 0;
    let relay = bed.relay(
        &matching("udp port 7007"),
        each(move |_, port, mut frame, out| {
            turn += 1;
            match turn {
                1 => frame[13] = 6,
                2 => frame[14] = 0x65,
                3 => frame.resize(20),
                _ => frame.resize(3),
            }
            out.send(other(port), frame);
        }),
    );
    let (sink, source) = (bed.sink(0, 7007), bed.source(0, 7007));
    for _ in 0..4 {
        source.send(b"nothing of this comes").unwrap();
    }
    assert!(come(&sink, 0).is_empty());
    let counts = end(relay);
    assert_eq!((counts.no_packet, counts.dropped), (4, 4), "{counts:?}");
}

#[test]
fn a_node_that_stalls_holds_up_only_what_was_led_to_it_and_fails_as_chosen() {
    let Some(bed) = Bed::new() else { return };
    for fail in [Fail::Open, Fail::Closed] {
        let free = Arc::new(Mutex::new(()));
        let (lock, stalls) = (free.clone(), Arc::new(AtomicUsize::new(0)));
        let stall = stalls.clone();
        let config = Config {
            fail,
            length: 8,
            ..matching("udp port 7009")
        };
        let held = lock.lock().unwrap();
        let node = each(move |_, port, frame, out| {
            stall.fetch_add(1, Ordering::SeqCst);
            drop(free.lock().unwrap());
            out.send(other(port), frame);
        });
        let relay = bed.relay(&config, node);
        let (sink, source) = (bed.sink(0, 7009), bed.source(0, 7009));
        source.send(&[0]).unwrap();
        let begun = Instant::now();
        while stalls.load(Ordering::SeqCst) == 0 && begun.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(1));
        }
        for number in 1..40 {
            source.send(&[number]).unwrap();
        }
        // The machine's other packets know nothing of it.
        assert_eq!(bed.ping(0, 3).len(), 3);
        let numbers = |range: std::ops::Range<u8>| {
            let came = come(&sink, range.len()).into_iter();
            let came: Vec<u8> = came.map(|bytes| bytes[0]).collect();
            assert_eq!(came, range.collect::<Vec<u8>>());
        };
        numbers(match fail {
            Fail::Open => 8..40,
            Fail::Closed => 0..0,
        });
        drop(held);
        numbers(0..8);
        let counts = end(relay);
        assert_eq!(counts.accepted, 8);
        if fail == Fail::Closed {
            assert_eq!(counts.overruns, 32, "{counts:?}");
        }
    }
}

#[test]
fn what_a_node_keeps_at_the_end_is_answered_as_chosen() {
    let Some(bed) = Bed::new() else { return };
    for (fail, comes) in [(Fail::Open, 1), (Fail::Closed, 0)] {
        let config = Config {
            fail,
            ..matching("udp port 7010")
        };
        let mut kept = Vec::new();
        let relay = bed.relay(&config, each(move |_, _, frame, _| kept.push(frame)));
        let (sink, source) = (bed.sink(0, 7010), bed.source(0, 7010));
        source.send(b"kept").unwrap();
        assert!(come(&sink, 0).is_empty());
        assert_eq!(end(relay).held, 1);
        assert_eq!(come(&sink, comes).len(), comes);
    }
}

#[test]
fn threads_have_queues_of_their_own_and_a_flow_stays_in_order() {
    let Some(bed) = Bed::new() else { return };
    let seen: Vec<Arc<AtomicUsize>> = (0..2).map(|_| Arc::default()).collect();
    let node = |count: &Arc<AtomicUsize>| {
        let count = count.clone();
        each(move |_, port, frame, out| {
            count.fetch_add(1, Ordering::Relaxed);
            out.send(other(port), frame);
        })
        .remove(0)
    };
    let nodes = seen.iter().map(node).collect();
    let relay = bed.relay(&matching("udp port 7011"), nodes);
    assert_eq!(relay.queues().len(), 2);
    let sink = bed.sink(0, 7011);
    // The kernel tells flows apart by their addresses.
    for host in 2..34 {
        let address = ip(&format!("10.0.0.{host}"));
        bed.a.add_address("eth0", address, 24).unwrap();
        let source = bed.a.enter(|| UdpSocket::bind((address, 0)).unwrap());
        let source = source.unwrap();
        source.connect((ip(B[0]), 7011)).unwrap();
        for number in 0..5 {
            source.send(&[host, number]).unwrap();
        }
    }
    let mut expected = [0; 34];
    for _ in 0..32 * 5 {
        let packet = next(&sink).expect("a packet");
        let number = &mut expected[usize::from(packet[0])];
        assert_eq!(packet[1], *number, "of {}", packet[0]);
        *number += 1;
    }
    let counts = end(relay);
    assert_eq!(counts.accepted, 160);
    let each: Vec<usize> = seen
        .iter()
        .map(|seen| seen.load(Ordering::Relaxed))
        .collect();
    assert_eq!(each.iter().sum::<usize>(), 160);
    assert!(each.iter().all(|&count| count > 0), "{each:?}");
}

#[test]
fn nothing_is_allocated_for_a_packet_in_steady_state() {
    let Some(bed) = Bed::new() else { return };
    for changes in [false, true] {
        let counts = Arc::new(Mutex::new(Vec::new()));
        let seen = counts.clone();
        let node = Each {
            ports: 2,
            changes,
            act: move |_, port, mut frame: Frame, out: &mut Out| {
                let mut seen = seen.lock().unwrap();
                if seen.len() < seen.capacity() {
                    seen.push(allocations::of_this_thread());
                }
                if changes {
                    frame[0] |= 0;
                }
                out.send(other(port), frame);
            },
        };
        *counts.lock().unwrap() = Vec::with_capacity(4000);
        let relay = bed.relay(&matching("udp port 7013"), vec![Box::new(node)]);
        let (sink, source) = (bed.sink(0, 7013), bed.source(0, 7013));
        for _ in 0..4000 {
            source.send(&[1; 100]).unwrap();
            next(&sink).expect("a packet");
        }
        end(relay);
        let counts = counts.lock().unwrap();
        let (first, last) = (counts[2000], counts[3999]);
        // Once a second the kernel is asked what it dropped, which is a file to read.
        assert!(last - first < 200, "{} in 2000 packets", last - first);
    }
}

#[test]
fn iperf3_goes_through_nodes_that_change_and_nodes_that_do_not() {
    let Some(bed) = Bed::new() else { return };
    if Command::new("iperf3").arg("-v").output().is_err() {
        return println!("skipped: iperf3 is not installed");
    }
    let writes = each(|_, port, mut frame, out| {
        frame[0] |= 0;
        out.send(other(port), frame);
    });
    for (nodes, name) in [(through(), "through"), (writes, "writes")] {
        let relay = bed.relay(&config(), nodes);
        for family in FAMILIES {
            let mut server = bed.b.command("iperf3");
            let mut server = server
                .args(["-s", "-1", "-p", "7200"])
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            // The server may not listen yet.
            let client = || {
                let mut client = bed.a.command("iperf3");
                client.args(["-c", B[family], "-p", "7200", "-t", "1"]);
                client.output().unwrap()
            };
            let output = (0..300)
                .map(|_| client())
                .inspect(|output| {
                    if !output.status.success() {
                        sleep(Duration::from_millis(100));
                    }
                })
                .find(|output| output.status.success())
                .expect("the server answers");
            let _ = server.kill();
            let _ = server.wait();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && text.contains("receiver"),
                "{name}: {text}"
            );
        }
        let counts = end(relay);
        assert!(counts.bytes > 10 << 20, "{name}: {counts:?}");
        assert_eq!((counts.dropped, counts.refused), (0, 0), "{name}");
    }
}
